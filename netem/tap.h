/* tap.h: TAP devices for the relay. */
#ifndef LAGGARD_NETEM_TAP_H
#define LAGGARD_NETEM_TAP_H

struct err;

/* Makes a TAP in the current network namespace and opens it non-blocking: frames carry a 10-byte struct virtio_net_hdr, checksum
 * and segmentation offloads are on. The device stays when the descriptor is closed (closing a transient one costs about 20 ms) and
 * goes with its namespace. */
int tap_open(const char *name, int index, int *fd, struct err *err);

#endif
