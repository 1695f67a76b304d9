/* awake.c: asks the kernel for processors that do not sleep; see awake.h. */
#include "base/awake.h"

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "base/cleanup.h"

static const char DEVICE[] = "/dev/cpu_dma_latency";

int awake_hold(void)
{
    const int32_t latency_us = 0;
    int fd = open(DEVICE, O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, &latency_us, sizeof(latency_us)) != (ssize_t)sizeof(latency_us))
        close_fd(&fd);
    return fd;
}

bool awake_possible(void)
{
    return access(DEVICE, W_OK) == 0;
}
