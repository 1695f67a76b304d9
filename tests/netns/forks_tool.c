/* forks_tool.c: programs of a fabric that are forks of one process (base/fork_server.h), for forks.t.
 *
 *     forks_tool forks|single     builds a star of HOSTS; each program says what it finds itself to be; one is killed, the rest end
 *
 * FORKS_STAGE in the environment has the process that is to fork go wrong: exit, babble, silent (it never answers), killed
 * (before it answers), killed-then (at its second fork), fork-killed (the second fork ends before it can begin), early-end (each
 * ends as soon as it has begun; nobody has heard of it yet). */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fork_server.h"
#include "base/text.h"
#include "netem/fabric.h"
#include "netem/topology.h"

enum { HOSTS = 3, KILLED = 1, REPORT_BYTES = 1 << 16, PATIENCE_MS = 60000 };

/* ---- the programs ---- */

static void add_file(struct text *report, const char *path, const char *key)
{
    char line[4096];
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        if (!key || strncmp(line, key, strlen(key)) == 0)
            text_add(report, line);
    if (file)
        fclose(file);
}

static void add_descriptors(struct text *report)
{
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char path[300], target[256] = "";
        int fd = atoi(entry->d_name);
        snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        if (entry->d_name[0] == '.' || fd == dirfd(folder) || readlink(path, target, sizeof(target) - 1) < 0)
            continue;
        text_printf(report, "descriptor %d %s\n", fd, fd == 0 || fd > 2 ? target : "");
    }
    if (folder)
        closedir(folder);
}

static void add_command(struct text *report)
{
    char bytes[512];
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t length = file ? fread(bytes, 1, sizeof(bytes) - 1, file) : 0;
    for (size_t i = 0; i + 1 < length; i++)
        if (bytes[i] == '\0')
            bytes[i] = ' ';
    bytes[length] = '\0';
    text_printf(report, "command %s\n", bytes);
    if (file)
        fclose(file);
}

/* All by which a process that was forked could differ from one that was started. */
static int run_program(void)
{
    cleanup(text_free) struct text report = {0};
    char byte, host[128] = "", network[64] = "", names[64] = "", folder[512] = "";
    if (read(3, &byte, 1) != 1)
        return 1;
    gethostname(host, sizeof(host) - 1);
    if (readlink("/proc/self/ns/net", network, sizeof(network) - 1) < 0 ||
        readlink("/proc/self/ns/uts", names, sizeof(names) - 1) < 0 || !getcwd(folder, sizeof(folder)))
        return 2;
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    text_printf(&report, "host %s\nnamespaces %s %s\nparent %d\nsession %d\ngroup %d\nfiles %llu %llu\nfolder %s\numask %o\n", host,
                network, names, (int)getppid(), (int)getsid(0), (int)getpgid(0), (unsigned long long)files.rlim_cur,
                (unsigned long long)files.rlim_max, folder, (unsigned)umask(0));
    add_command(&report);
    add_descriptors(&report);
    add_file(&report, "/proc/self/comm", NULL);
    for (int i = 0; i < 9; i++)
        add_file(&report, "/proc/self/status",
                 (const char *const[]){"Uid", "Gid", "Groups", "NSpid", "Sig", "ShdPnd", "Cap", "NoNewPrivs", "Seccomp"}[i]);
    add_file(&report, "/proc/self/timerslack_ns", NULL);
    add_file(&report, "/proc/self/oom_score_adj", NULL);
    for (char **variable = environ; *variable; variable++)
        text_printf(&report, "environment %s\n", *variable);
    if (write(3, report.bytes, report.length) != (ssize_t)report.length)
        return 3;
    return read(3, &byte, 1) == 0 ? 0 : 4;
}

static int forks_before_death = 1;
static void die_in_time(void)
{
    if (forks_before_death-- == 0)
        raise(SIGKILL);
}
/* The child of the second fork; the counter of the first has gone with it. */
static void count_fork(void)
{
    forks_before_death--;
}
static void die_as_fork(void)
{
    if (forks_before_death < 0)
        raise(SIGKILL);
}

static void go_wrong(const char *stage)
{
    if (strcmp(stage, "exit") == 0)
        _exit(7);
    if (strcmp(stage, "killed") == 0)
        raise(SIGKILL);
    if (strcmp(stage, "babble") == 0 && send(3, "what?", 5, MSG_NOSIGNAL) < 0)
        _exit(1);
    if (strcmp(stage, "babble") == 0 || strcmp(stage, "silent") == 0)
        for (;;)
            pause();
    if (strcmp(stage, "killed-then") == 0)
        pthread_atfork(die_in_time, NULL, NULL);
    if (strcmp(stage, "fork-killed") == 0)
        pthread_atfork(count_fork, NULL, die_as_fork);
}

/* ---- the caller ---- */

static int fail(const struct err *err)
{
    fprintf(stderr, "forks_tool: %s\n", err->text);
    return err_exit_code(err->kind);
}

static int await_exits(struct fabric *fabric, int count)
{
    struct err err;
    while (count > 0) {
        struct pollfd wait = {.fd = fabric_event_fd(fabric), .events = POLLIN};
        int program, code = -1;
        struct process_exit how;
        if (poll(&wait, 1, PATIENCE_MS) != 1)
            return 4;
        for (; (code = fabric_next_exit(fabric, &program, &how, &err)) == 1; count--) {
            char text[64];
            printf("program %d: %s\n", program, process_describe(text, sizeof(text), &how));
        }
        if (code < 0)
            return fail(&err);
    }
    return 0;
}

static int run_caller(const char *self, bool forks)
{
    struct err err;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    cleanup(fabric_cleanup) struct fabric *fabric = NULL;
    struct settings settings = {.shape = SHAPE_STAR, .mtu = 1500, .congestion_control = "cubic"};
    struct topology topology;
    struct fabric_program programs[HOSTS];
    char *arguments[HOSTS][3];
    static char report[REPORT_BYTES];
    int pairs[HOSTS][2];
    int code = topology_build(&settings, HOSTS, 0, arena, &topology, &err);
    for (int i = 0; code == 0 && i < HOSTS; i++) {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[i]) < 0)
            return 3;
        arguments[i][0] = (char *)"forks_tool";
        arguments[i][1] = (char *)topology.places[i].name;
        arguments[i][2] = NULL;
        programs[i] = (struct fabric_program){.place = i,
                                              .path = self,
                                              .arguments = arguments[i],
                                              .descriptors = &pairs[i][1],
                                              .descriptor_count = 1,
                                              .early = true,
                                              .forks = forks};
    }
    if (code == 0)
        code =
            fabric_build(&(struct fabric_spec){.topology = &topology, .programs = programs, .program_count = HOSTS}, &fabric, &err);
    if (code < 0)
        return fail(&err);
    const char *stage = getenv("FORKS_STAGE");
    if (stage && strcmp(stage, "early-end") == 0)
        return await_exits(fabric, HOSTS);
    for (int i = 0; i < HOSTS; i++) {
        close_fd(&pairs[i][1]);
        ssize_t length = write(pairs[i][0], "g", 1) == 1 ? read(pairs[i][0], report, sizeof(report)) : 0;
        printf("%.*s\n", length > 0 ? (int)length : 0, report);
    }
    if (fabric_signal(fabric, KILLED, SIGKILL, &err) < 0)
        return fail(&err);
    code = await_exits(fabric, 1);
    for (int i = 0; i < HOSTS; i++)
        close_fd(&pairs[i][0]);
    return code == 0 ? await_exits(fabric, HOSTS - 1) : code;
}

int main(int argc, char **argv)
{
    char self[4096] = "";
    if (argc > 1 && strcmp(argv[1], FORK_SERVER_OPTION) == 0) {
        const char *stage = getenv("FORKS_STAGE") ? getenv("FORKS_STAGE") : "";
        go_wrong(stage);
        fork_server_serve(argc, argv);
        return strcmp(stage, "early-end") == 0 ? 9 : run_program();
    }
    if (argc == 2 && (strcmp(argv[1], "forks") == 0 || strcmp(argv[1], "single") == 0) &&
        readlink("/proc/self/exe", self, sizeof(self) - 1) > 0)
        return run_caller(self, argv[1][0] == 'f');
    return run_program();
}
