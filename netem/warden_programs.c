/* warden_programs.c: starts the programs of a fabric, each on its place, and signals them. */
#include "netem/warden_internal.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

int warden_list_programs(struct warden *warden, struct err *err)
{
    size_t count = (size_t)warden->setup->spec->program_count + 1;
    warden->programs = calloc(count, sizeof(*warden->programs));
    warden->reports = calloc(count, sizeof(*warden->reports));
    if (!warden->programs || !warden->reports)
        return err_set_errno(err, ERR_HOST, ENOMEM, "cannot list the programs");
    return warden_prepare_outside(warden, err);
}

struct placement { /* what a program's process does between fork and exec */
    int namespace_fd, null_fd, cgroup_fd;
    const char *host_name;
    const struct rlimit *files;
};

/* Standard output is the caller's, for results alone: a program of laggard's own says what it has to say on standard error. */
int warden_keep_output(int null_fd)
{
    return dup2(null_fd, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ? -1 : 0;
}

static int enter_place(void *context)
{
    const struct placement *placement = context;
    if (placement->cgroup_fd > 0 && write(placement->cgroup_fd, "0", 1) != 1) /* "0": whoever writes */
        return errno;
    if (setns(placement->namespace_fd, CLONE_NEWNET) < 0 || unshare(CLONE_NEWUTS) < 0 ||
        sethostname(placement->host_name, strlen(placement->host_name)) < 0 || warden_keep_output(placement->null_fd) < 0)
        return errno;
    setrlimit(RLIMIT_NOFILE, placement->files);
    return 0;
}

static int begin_program(struct warden *warden, int index, int *report_fd, struct err *err)
{
    const struct fabric_program *program = &warden->setup->spec->programs[index];
    const struct topology *topology = warden->setup->spec->topology;
    if (program->place < 0 || program->place >= topology->place_count)
        return err_set(err, ERR_USAGE, "program %s is to start on place %d of %d", program->path, program->place,
                       topology->place_count);
    if (program->outside) {
        int code = warden_begin_outside(warden, program, &warden->programs[index], report_fd, err);
        return code < 0 ? err_wrap(err, "node %s", topology->places[program->place].name) : 0;
    }
    if (warden_forks(warden, program)) {
        int code = warden_fork(warden, program, report_fd, err);
        return code < 0 ? err_wrap(err, "place %s", topology->places[program->place].name) : 0;
    }
    struct placement placement = {
        .namespace_fd = warden->network.places[program->place].namespace_fd,
        .null_fd = warden->null_fd,
        .cgroup_fd = program->cgroup_fd,
        .host_name = topology->places[program->place].name,
        .files = &warden->files_before,
    };
    struct process_spec spec = {.path = program->path,
                                .arguments = program->arguments,
                                .environment = program->environment,
                                .descriptors = program->descriptors,
                                .descriptor_count = program->descriptor_count,
                                .before_exec = enter_place,
                                .context = &placement};
    if (process_begin(&spec, &warden->programs[index], report_fd, err) < 0)
        return err_wrap(err, "place %s", placement.host_name);
    return 0;
}

static int confirm_program(struct warden *warden, int index, int *report_fd, struct err *err)
{
    const struct fabric_program *program = &warden->setup->spec->programs[index];
    struct process *process = &warden->programs[index];
    int code = program->outside                ? warden_confirm_outside(warden, program, process, report_fd, err)
               : warden_forks(warden, program) ? fork_server_confirm(&warden->forks, program->path, process, report_fd, err)
                                               : process_confirm(program->path, process, report_fd, err);
    if (code < 0)
        return err_wrap(err, "%s %s", program->outside ? "node" : "place",
                        warden->setup->spec->topology->places[program->place].name);
    warden_send_answer(warden, WARDEN_STARTED, 0, index, process->pid);
    return 0;
}

/* While this process makes the next place, the program of the one before loads on another processor. */
int warden_begin_place(void *context, int place, struct err *err)
{
    struct warden *warden = context;
    const struct fabric_spec *spec = warden->setup->spec;
    if (!warden_forks_known(warden, false))
        return 0;
    for (; warden->next_program < spec->program_count; warden->next_program++) {
        const struct fabric_program *program = &spec->programs[warden->next_program];
        if (program->place > place || program->place < 0)
            return 0;
        int code = program->early ? begin_program(warden, warden->next_program, &warden->reports[warden->next_program], err) : 0;
        if (code < 0)
            return code;
    }
    return 0;
}

/* Each start waits for exec, mostly in the kernel: side by side they use all processors. */
int warden_begin_programs(struct warden *warden, bool early, struct err *err)
{
    const struct fabric_spec *spec = warden->setup->spec;
    (void)warden_forks_known(warden, true);
    for (int i = early ? warden->next_program : 0; i < spec->program_count; i++) {
        if (spec->programs[i].early != early)
            continue;
        int code = begin_program(warden, i, &warden->reports[i], err);
        if (code < 0)
            return code;
    }
    return 0;
}

int warden_confirm_programs(struct warden *warden, struct err *err)
{
    const struct fabric_spec *spec = warden->setup->spec;
    for (int i = 0; i < spec->program_count; i++) {
        int code = confirm_program(warden, i, &warden->reports[i], err);
        if (code < 0)
            return code;
    }
    warden_end_forks(warden);
    for (int i = 0; i < spec->program_count; i++) { /* a program's end must close its sockets for the caller */
        for (unsigned d = 0; d < spec->programs[i].descriptor_count; d++)
            close(spec->programs[i].descriptors[d]);
        if (spec->programs[i].cgroup_fd > 0)
            close(spec->programs[i].cgroup_fd);
        for (int s = 0; spec->programs[i].streams && s < FABRIC_STREAMS; s++)
            if (spec->programs[i].streams[s] > STDERR_FILENO)
                close(spec->programs[i].streams[s]);
    }
    return 0;
}

int warden_signal_program(struct warden *warden, const struct warden_request *request, struct err *err)
{
    if (request->program < 0 || request->program >= warden->setup->spec->program_count)
        return err_set(err, ERR_TRIAL, "there is no program %d to signal", request->program);
    pid_t pid = warden->programs[request->program].pid;
    if (pid == 0)
        return err_set(err, ERR_TRIAL, "program %d has ended: it cannot be signalled", request->program);
    /* An outside program leads a group, in which its children are. */
    bool group = warden->setup->spec->programs[request->program].outside;
    if (kill(group ? -pid : pid, request->argument) < 0)
        return err_set_errno(err, ERR_TRIAL, errno, "cannot send signal %d to program %d", request->argument, request->program);
    return 0;
}
