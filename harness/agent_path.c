/* agent_path.c: finds the agent program; see agent_path.h. */
#include "harness/agent_path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

int agent_path_find(char *path, size_t size, struct err *err)
{
    const char *given = getenv("LAGGARD_AGENT");
    if (given && given[0]) {
        snprintf(path, size, "%s", given);
    } else {
        char own[PATH_MAX];
        ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
        if (length < 0)
            return err_set_errno(err, ERR_HOST, errno, "finding this program's own file through /proc/self/exe");
        own[length] = 0;
        char *slash = strrchr(own, '/');
        snprintf(path, size, "%.*s/laggard-agent", (int)(slash - own), own);
    }
    struct stat status = {0};
    int error = access(path, X_OK) < 0 || stat(path, &status) < 0 ? errno : 0;
    if (error == 0 && !S_ISREG(status.st_mode)) /* a folder passes access(), and exec refuses it */
        error = S_ISDIR(status.st_mode) ? EISDIR : EACCES;
    if (error != 0)
        return err_set_errno(err, ERR_HOST, error,
                             "the agent program %s cannot be run (build it with `make`, or set LAGGARD_AGENT)", path);
    return 0;
}
