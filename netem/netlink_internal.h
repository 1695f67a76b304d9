/* netlink_internal.h: what the files around one netlink socket share. */
#ifndef LAGGARD_NETEM_NETLINK_INTERNAL_H
#define LAGGARD_NETEM_NETLINK_INTERNAL_H

/* Attributes that Debian 12's headers do not know yet; numbers from the kernel's if_link.h. */
enum { ATTRIBUTE_GSO_IPV4_MAX_SIZE = 63 };

#endif
