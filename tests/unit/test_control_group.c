/* test_control_group.c: where a process's control groups are, by the kernel's own words on different hosts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "harness/control_group.h"

static void assert_group(const char *mountinfo, const char *cgroup, int version, const char *mount, const char *folder)
{
    struct control_group group;
    memset(&group, 'x', sizeof(group));
    assert_true(control_group_parse(mountinfo, cgroup, version, "cpu", &group));
    assert_int_equal(group.version, version);
    assert_string_equal(group.mount, mount);
    assert_string_equal(group.folder, folder);
}

static void assert_none(const char *mountinfo, const char *cgroup, int version)
{
    struct control_group group;
    assert_false(control_group_parse(mountinfo, cgroup, version, "cpu", &group));
}

/* Debian 12 with systemd: the unified hierarchy alone. */
static void unified(void **state)
{
    (void)state;
    static const char mounts[] =
        "22 28 0:20 / /sys rw,nosuid - sysfs sysfs rw\n"
        "30 22 0:26 / /sys/fs/cgroup rw,nosuid,nodev shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n";
    assert_group(mounts, "0::/user.slice/user-1000.slice/session-3.scope\n", 2, "/sys/fs/cgroup",
                 "/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope");
    assert_group(mounts, "0::/\n", 2, "/sys/fs/cgroup", "/sys/fs/cgroup");
    assert_none(mounts, "0::/\n", 1);
    assert_none("22 28 0:20 / /sys rw - sysfs sysfs rw\n", "0::/\n", 2);
    assert_none("", "", 2);
}

/* Controllers by themselves, some of them together, and an empty unified tree beside them. */
static void first_version(void **state)
{
    (void)state;
    static const char mounts[] = "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
                                 "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:3 - cgroup cgroup rw,cpu,cpuacct\n"
                                 "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    static const char groups[] = "9:name=systemd:/init.scope\n3:cpuset:/sets\n2:cpuacct,cpu:/a/b\n0::/init.scope\n";
    assert_group(mounts, groups, 1, "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct/a/b");
    assert_group(mounts, groups, 2, "/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified/init.scope");
    assert_none(mounts, "3:cpuset:/sets\n", 1);
    assert_none("32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n", groups, 1);
}

/* A container sees its own part of the tree as the root of the mount; without a cgroup namespace its path is the host's. */
static void containers(void **state)
{
    (void)state;
    static const char mounts[] = "900 890 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n";
    assert_group(mounts, "4:cpu,cpuacct:/docker/abc\n", 1, "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu");
    assert_group(mounts, "4:cpu,cpuacct:/docker/abc/inner\n", 1, "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu/inner");
    assert_group(mounts, "4:cpu,cpuacct:/docker/abcdef\n", 1, "/sys/fs/cgroup/cpu", "");
    assert_group(mounts, "4:cpu,cpuacct:/\n", 1, "/sys/fs/cgroup/cpu", "");
    assert_group("1 2 0:29 / /cg rw - cgroup2 none rw\n", "0::/../outside\n", 2, "/cg", "");
}

static void odd_paths(void **state)
{
    (void)state;
    assert_group("1 2 0:29 / /mnt/with\\040space\\134 rw - cgroup2 none rw", "0::/a b:c", 2, "/mnt/with space\\",
                 "/mnt/with space\\/a b:c");
    char groups[PATH_MAX + 16] = "0::/";
    memset(groups + strlen(groups), 'x', PATH_MAX - 8); /* longer than a path with the mount in front may be */
    assert_group("1 2 0:29 / /sys/fs/cgroup rw - cgroup2 none rw\n", groups, 2, "/sys/fs/cgroup", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unified),
        cmocka_unit_test(first_version),
        cmocka_unit_test(containers),
        cmocka_unit_test(odd_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
