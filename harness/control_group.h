/* harness/control_group.h: where this process's own control group is, in the unified hierarchy (version 2) or a controller's own
 * (version 1). */
#ifndef LAGGARD_HARNESS_CONTROL_GROUP_H
#define LAGGARD_HARNESS_CONTROL_GROUP_H

#include <limits.h>
#include <stdbool.h>

struct control_group {
    int version;
    char mount[PATH_MAX];  /* where its hierarchy is mounted */
    char folder[PATH_MAX]; /* its own folder there; "": outside of what is mounted (a container that shares its host's tree) */
};
/* Pure: the texts of /proc/self/mountinfo and /proc/self/cgroup. version 2: `controller` does not matter, since the unified
 * hierarchy has one tree; whether the controller is there is said by the folder's cgroup.controllers. False: there is no such
 * hierarchy. */
bool control_group_parse(const char *mountinfo, const char *cgroup, int version, const char *controller,
                         struct control_group *group);
/* Of this process, now. */
bool control_group_find(int version, const char *controller, struct control_group *group);

#endif
