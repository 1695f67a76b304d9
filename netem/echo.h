/* netem/echo.h: how long a frame takes there and back over a plain veth pair: what this host's kernel and scheduler add to every
 * message, and how unsteadily. */
#ifndef LAGGARD_NETEM_ECHO_H
#define LAGGARD_NETEM_ECHO_H

#include <stdint.h>

struct err;

/* Sends `count` frames of 64 bytes between two processes on the two ends of a veth pair, one after the other, `step_ns` apart, in
 * scratch namespaces that end with the measurement. round_trips_ns takes the times, ascending; returns how many there are: fewer
 * where a frame got lost or at_most_ns passed. ERR_HOST: no such pair can be made here. Blocks. */
int echo_measure(int64_t *round_trips_ns, int count, int64_t step_ns, int64_t at_most_ns, struct err *err);

#endif
