/* foreign_link.c: links of other users at the place of an output file; see foreign_link.h. */
#include "base/foreign_link.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

int foreign_link_refuse(const char *path, struct err *err)
{
    struct stat there;
    if (lstat(path, &there) < 0 || !S_ISLNK(there.st_mode) || there.st_uid == geteuid() || there.st_uid == 0)
        return 0;
    return err_set(
        err, ERR_HOST,
        "cannot write '%s': it is a link that user %u made, who would choose what is written over; name the file that it "
        "leads to, or remove the link",
        path, (unsigned)there.st_uid);
}
