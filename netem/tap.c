/* tap.c: TAP devices for the relay. */
#include "netem/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "base/err.h"

static int explain_open(int error, struct err *err)
{
    const char *remedy = "";
    if (error == EACCES || error == EPERM)
        remedy = " (this user may not open it; as root: chmod 666 /dev/net/tun)";
    else if (error == ENOENT || error == ENODEV || error == ENXIO)
        remedy = " (the kernel's module is not loaded; as root: modprobe tun)";
    else if (error == EMFILE)
        remedy = " (raise the limit of open files: ulimit -n)";
    return err_set_errno(err, ERR_HOST, error, "cannot open /dev/net/tun%s", remedy);
}

int tap_open(const char *name, int index, int *fd, struct err *err)
{
    cleanup(close_fd) int opened = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (opened < 0)
        return explain_open(errno, err);
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
    unsigned wanted_index = (unsigned)index;
    int send_buffer = INT_MAX; /* what the receiving stack has not read yet must not block the relay */
    const char *step = "the device itself";
    int code = ioctl(opened, TUNSETIFINDEX, &wanted_index);
    if (code == 0)
        code = ioctl(opened, TUNSETIFF, &request);
    if (code == 0) {
        step = "its offloads";
        code = ioctl(opened, TUNSETOFFLOAD, (unsigned long)(TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6));
    }
    if (code == 0) {
        step = "its persistence or its send buffer";
        code = ioctl(opened, TUNSETPERSIST, 1UL) < 0 ? -1 : ioctl(opened, TUNSETSNDBUF, &send_buffer);
    }
    if (code < 0)
        return err_set_errno(err, ERR_HOST, errno, "cannot make TAP device %s: %s", name, step);
    *fd = steal_fd(&opened);
    return 0;
}
