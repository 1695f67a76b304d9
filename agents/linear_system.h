/* agents/linear_system.h: small dense systems of linear equations, for coded schemes: in double, with a fixed order of operations,
 * so that every machine finds the same bits. */
#ifndef LAGGARD_AGENTS_LINEAR_SYSTEM_H
#define LAGGARD_AGENTS_LINEAR_SYSTEM_H

#include <stdbool.h>

/* Solves matrix x = right: matrix has size rows of as many columns, right one number a row. Both are overwritten, right with x.
 * false: the matrix is singular as far as doubles can tell, and x is not to be used. About size^3 / 3 multiplications. */
bool linear_system_solve(double *matrix, double *right, int size);

#endif
