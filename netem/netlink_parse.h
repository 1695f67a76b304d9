/* netem/netlink_parse.h: what the kernel's answers hold, out of their bytes alone. A message may be cut short or have attributes of
 * any length: nothing behind its end is read, and what is missing counts as 0. The kernel would not send such; but what reads
 * memory that others wrote is to be safe by itself, and is tested so (tests/fuzz/fuzz_netlink.c). */
#ifndef LAGGARD_NETEM_NETLINK_PARSE_H
#define LAGGARD_NETEM_NETLINK_PARSE_H

#include <stdbool.h>

#include "netem/netlink.h"

struct nlmsghdr;

enum { NETLINK_WORDS_BYTES = 160 };

/* All three: the whole length that the header claims must be there. False: the message tells of something else. */
bool netlink_parse_device(const struct nlmsghdr *header, struct netlink_device *device);
bool netlink_parse_qdisc(const struct nlmsghdr *header, struct netlink_qdisc *qdisc); /* kind and options are in the message */
/* Of an NLMSG_ERROR: its error number, 0 of an acknowledgement; and the kernel's own words, or "". `words` may be NULL. */
int netlink_parse_failure(const struct nlmsghdr *header, char words[NETLINK_WORDS_BYTES]);

#endif
