/* test_doctor.c: each check of doctor that reads the host's files: given a folder with a /proc and a /sys of its own, the answer,
 * the sentence and the remedy; and that nothing fails where all of it is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "harness/doctor.h"

enum { FILES_MAX = 4, ORDINARY = 1000 };
static char root[] = "/tmp/laggard-test-doctor-XXXXXX";

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static void empty_root(void)
{
    nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    assert_int_equal(mkdir(root, 0755), 0);
}

static void write_file(const char *path, const char *text)
{
    char full[PATH_MAX];
    snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
    }
    cleanup(close_file) FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
}

static const struct fabric_host able = {.root = true,
                                        .user_namespaces = true,
                                        .tun = true,
                                        .tbf = true,
                                        .ifb = true,
                                        .clsact = true,
                                        .netem = true,
                                        .packets = true,
                                        .rules = true},
                                unable = {.missing = "No network can be built: it is forbidden."};

static const struct example {
    const char *check;
    const struct fabric_host *fabric;
    struct {
        const char *path, *text;
    } files[FILES_MAX];
    enum doctor_state state;
    const char *found, *remedy;
} examples[] = {
    {"root", &able, {{0}}, DOCTOR_YES, NULL, NULL},
    {"root", &unable, {{0}}, DOCTOR_NO, NULL, NULL},
    {"namespaces", &able, {{0}}, DOCTOR_YES, NULL, NULL},
    {"namespaces", &unable, {{0}}, DOCTOR_NO, NULL, "No network can be built: it is forbidden. Remedy: run laggard as root"},
    {"user namespaces",
     &unable,
     {{"/proc/sys/user/max_user_namespaces", "0\n"}},
     DOCTOR_NO,
     NULL,
     "as root: sysctl -w user.max_user_namespaces=10000"},
    {"user namespaces",
     &unable,
     {{"/proc/sys/user/max_user_namespaces", "4096\n"}, {"/proc/sys/kernel/unprivileged_userns_clone", "0\n"}},
     DOCTOR_NO,
     NULL,
     "as root: sysctl -w kernel.unprivileged_userns_clone=1"},
    {"user namespaces",
     &unable,
     {{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n"}},
     DOCTOR_NO,
     NULL,
     "as root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
    {"user namespaces",
     &unable,
     {{"/proc/self/status", "Name:\tlaggard\nSeccomp:\t2\n"}},
     DOCTOR_NO,
     NULL,
     "start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined, or with --cap-add SYS_ADMIN "
     "--cap-add NET_ADMIN"},
    {"namespace limits", &able, {{0}}, DOCTOR_UNKNOWN, NULL, NULL},
    {"namespace limits",
     &able,
     {{"/proc/sys/user/max_net_namespaces", "5000\n"}, {"/proc/sys/user/max_uts_namespaces", "4000\n"}},
     DOCTOR_YES,
     "user.max_*_namespaces are 4000 or more",
     NULL},
    {"unprivileged clone", &able, {{0}}, DOCTOR_YES, "this kernel has no such switch", NULL},
    {"unprivileged clone",
     &able,
     {{"/proc/sys/kernel/unprivileged_userns_clone", "0\n"}},
     DOCTOR_NO,
     "it is 0",
     "as root: sysctl -w kernel.unprivileged_userns_clone=1"},
    {"apparmor",
     &able,
     {{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n"}},
     DOCTOR_NO,
     "it is 1",
     "as root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
    {"seccomp", &able, {{"/proc/self/status", "Name:\tx\nSeccomp:\t0\n"}}, DOCTOR_YES, "none", NULL},
    {"seccomp",
     &able,
     {{"/proc/self/status", "Name:\tx\nSeccomp:\t2\n"}},
     DOCTOR_NO,
     "a filter that lets namespaces be made",
     NULL},
    {"tbf", &unable, {{0}}, DOCTOR_NO, NULL, "as root: modprobe sch_tbf, or boot a kernel with CONFIG_NET_SCH_TBF"},
    {"tun",
     &unable,
     {{0}},
     DOCTOR_NO,
     NULL,
     "as root: modprobe tun; mkdir -p /dev/net; mknod /dev/net/tun c 10 200; chmod 666 /dev/net/tun; a container is started with "
     "--device /dev/net/tun"},
    {"ifb", &unable, {{0}}, DOCTOR_NO, NULL, "as root: modprobe ifb"},
    {"clsact", &unable, {{0}}, DOCTOR_NO, "not tried without ifb", "as root: modprobe -a sch_ingress cls_u32 act_mirred"},
    {"netem", &unable, {{0}}, DOCTOR_NO, NULL, "as root: modprobe -a sch_netem ifb sch_ingress cls_u32 act_mirred"},
    {"delays", &able, {{0}}, DOCTOR_YES, NULL, NULL},
    {"delays", &unable, {{0}}, DOCTOR_NO, NULL, "No network can be built: it is forbidden."},
    {"policy rules", &unable, {{0}}, DOCTOR_NO, NULL, "boot a kernel with CONFIG_IP_MULTIPLE_TABLES"},
    {"packet sockets", &unable, {{0}}, DOCTOR_NO, NULL, "as root: modprobe af_packet, or boot a kernel with CONFIG_PACKET"},
    {"neighbours", &able, {{0}}, DOCTOR_UNKNOWN, NULL, NULL},
    {"neighbours",
     &able,
     {{"/proc/sys/net/ipv4/neigh/default/gc_thresh3", "191\n"}},
     DOCTOR_NO,
     "gc_thresh3 is 191",
     "as root: sysctl -w net.ipv4.neigh.default.gc_thresh3=4096 net.ipv4.neigh.default.gc_thresh2=2048"},
    {"neighbours", &able, {{"/proc/sys/net/ipv4/neigh/default/gc_thresh3", "192\n"}}, DOCTOR_YES, "gc_thresh3 is 192", NULL},
    {"cgroups", &able, {{0}}, DOCTOR_UNKNOWN, NULL, NULL},
    {"cgroups",
     &able,
     {{"/proc/self/mountinfo", "30 1 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"},
      {"/proc/self/cgroup", "0::/user\n"},
      {"/sys/fs/cgroup/user/cgroup.controllers", "cpu memory pids\n"}},
     DOCTOR_YES,
     "v2 /sys/fs/cgroup/user (cpu memory pids, writable)",
     NULL},
    {"processors",
     &able,
     {{"/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-2,8\n"}, {"/sys/devices/system/cpu/online", "0-15\n"}},
     DOCTOR_YES,
     "4 of 0-15 online, allowed 0-2,8",
     NULL},
    {"processors",
     &able,
     {{"/proc/self/status", "Name:\tx\nCpus_allowed_list:\t3\n"}},
     DOCTOR_NO,
     "1 of those online, allowed 3",
     "taskset -pc 0-7 $$, or give the container or virtual machine more of them (--cpuset-cpus 0-7)"},
    {"cpu quota",
     &able,
     {{"/proc/self/mountinfo", "30 1 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"},
      {"/proc/self/cgroup", "0::/pod/own\n"},
      {"/sys/fs/cgroup/pod/cpu.max", "150000 100000\n"},
      {"/sys/fs/cgroup/pod/own/cpu.max", "max 100000\n"}},
     DOCTOR_NO,
     "1.5 processors (/sys/fs/cgroup/pod)",
     "docker update --cpu-quota -1 CONTAINER, or systemctl set-property --runtime UNIT CPUQuota="},
    {"cpu quota",
     &able,
     {{"/proc/self/mountinfo", "31 1 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"},
      {"/proc/self/cgroup", "4:cpu:/\n"},
      {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
      {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}},
     DOCTOR_YES,
     "no quota",
     NULL},
    {"governor",
     &able,
     {{"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"}},
     DOCTOR_NO,
     "powersave",
     "as root: cpupower frequency-set -g performance"},
    {"governor", &able, {{0}}, DOCTOR_UNKNOWN, "this kernel does not set frequencies, as in most virtual machines", NULL},
    {"turbo",
     &able,
     {{"/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"}},
     DOCTOR_NO,
     "on",
     "as root: echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"},
    {"turbo",
     &able,
     {{"/sys/devices/system/cpu/cpufreq/boost", "1\n"}},
     DOCTOR_NO,
     "on",
     "as root: echo 0 > /sys/devices/system/cpu/cpufreq/boost"},
    {"smt",
     &able,
     {{"/sys/devices/system/cpu/smt/active", "1\n"}},
     DOCTOR_NO,
     "on",
     "as root: echo off > /sys/devices/system/cpu/smt/control"},
    {"steal", &able, {{"/proc/stat", "cpu  500 0 400 90 0 0 0 10 7 0\ncpu0 1 1 1\n"}}, DOCTOR_YES, "1.0 %", NULL},
    {"steal",
     &able,
     {{"/proc/stat", "cpu  400 0 400 100 0 0 0 100 0 0\n"}},
     DOCTOR_NO,
     "10.0 %",
     "give the virtual machine processors of its own: on the host, virsh vcpupin MACHINE VCPU PROCESSOR, or a kind of machine with "
     "dedicated processors"},
    {"clock source",
     &able,
     {{"/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"}},
     DOCTOR_NO,
     "hpet",
     "as root: echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, or boot with clocksource=tsc "
     "tsc=reliable"},
};

static void assert_same_text(const char *check, const char *what, const char *found, const char *expected)
{
    if (strcmp(found ? found : "(none)", expected ? expected : "(none)") != 0)
        fail_msg("%s: the %s is '%s', not '%s'", check, what, found ? found : "(none)", expected ? expected : "(none)");
}

static void each_check_answers_by_what_it_reads(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        const struct example *example = &examples[i];
        cleanup(arena_cleanup) struct arena *arena = arena_new();
        struct doctor_host host = {.root = root, .folder = root, .user = ORDINARY, .arena = arena, .fabric = *example->fabric};
        struct doctor_finding finding = {0};
        empty_root();
        for (int f = 0; f < FILES_MAX && example->files[f].path; f++)
            write_file(example->files[f].path, example->files[f].text);
        const struct doctor_check *check = doctor_check_find(example->check);
        assert_non_null(check);
        check->look(&host, &finding);
        assert_same_text(example->check, "answer", doctor_state_names[finding.state], doctor_state_names[example->state]);
        assert_same_text(example->check, "finding", finding.found, example->found);
        assert_same_text(example->check, "remedy", finding.remedy, example->remedy);
    }
}

static void namespaces_too_few_are_told_with_how_many_are_needed(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct doctor_host host = {.root = root, .folder = root, .user = ORDINARY, .arena = arena, .fabric = able};
    struct doctor_finding finding = {0};
    empty_root();
    write_file("/proc/sys/user/max_net_namespaces", "9\n");
    doctor_check_find("namespace limits")->look(&host, &finding);
    assert_int_equal(finding.state, DOCTOR_NO);
    assert_memory_equal(finding.found, "user.max_net_namespaces is 9; 64 nodes need ", 44);
    assert_string_equal(finding.remedy, "as root: sysctl -w user.max_net_namespaces=10000");
}

static void root_that_may_make_no_namespaces_is_in_a_container(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct doctor_host host = {.root = root, .folder = root, .user = 0, .arena = arena, .fabric = unable};
    struct doctor_finding finding = {0};
    empty_root();
    doctor_check_find("user namespaces")->look(&host, &finding);
    assert_string_equal(finding.remedy, "start the container with --security-opt seccomp=unconfined --security-opt "
                                        "apparmor=unconfined, or with --cap-add SYS_ADMIN --cap-add NET_ADMIN");
}

/* Whatever is missing: an answer, and with a no, almost always a remedy. */
static void every_check_bears_an_empty_host(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct doctor_host host = {.root = root, .folder = root, .user = ORDINARY, .arena = arena, .fabric = unable};
    empty_root();
    for (int i = 0; i < doctor_check_count(); i++) {
        const struct doctor_check *check = doctor_check_at(i);
        struct doctor_finding finding = {0};
        check->look(&host, &finding);
        if (finding.state == DOCTOR_NO && strcmp(check->name, "root") != 0)
            assert_non_null(finding.remedy);
        assert_ptr_equal(doctor_check_find(check->name), check); /* names are unique */
    }
    assert_int_equal(rmdir(root), 0); /* nothing was left in it */
    assert_int_equal(mkdir(root, 0755), 0);
}

static void a_folder_that_cannot_be_written_has_a_sentence(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct doctor_host host = {.root = root, .folder = "/proc/no/such/folder", .arena = arena, .fabric = able};
    struct doctor_finding finding = {0};
    doctor_check_find("disk")->look(&host, &finding);
    assert_int_equal(finding.state, DOCTOR_NO);
    assert_string_equal(finding.found, "nothing can be written into /proc/no/such/folder: No such file or directory");
    assert_string_equal(finding.remedy, "put the database elsewhere: laggard run FILE --db /tmp/NAME.db");
}

static int make_root(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_check_answers_by_what_it_reads),
        cmocka_unit_test(namespaces_too_few_are_told_with_how_many_are_needed),
        cmocka_unit_test(root_that_may_make_no_namespaces_is_in_a_container),
        cmocka_unit_test(every_check_bears_an_empty_host),
        cmocka_unit_test(a_folder_that_cannot_be_written_has_a_sentence),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
