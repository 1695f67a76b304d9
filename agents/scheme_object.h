/* agents/scheme_object.h: schemes of the user's own, from a shared object that exports SCHEME_OBJECT (scheme.h). They join the
 * table of schemes for the life of the process. */
#ifndef LAGGARD_AGENTS_SCHEME_OBJECT_H
#define LAGGARD_AGENTS_SCHEME_OBJECT_H

#include "schemas/settings.h"

struct err;

/* The object's schemes are in the table from then on. An object that was loaded before is loaded no second time; one that has
 * changed since is an error. With a `sha256` (hexadecimal; NULL: any) a file of another digest is not loaded. `object` has strings
 * that live as long as the process, and the path as it was given. ERR_USAGE: there is no such file, it is no shared object, it has
 * no schemes, they are of another version, or a name is taken. */
int scheme_object_load(const char *path, const char *sha256, struct scheme_object *object, struct err *err);

#endif
