/* warden_forks.c: starts programs of laggard's own as forks of one process that has loaded the program (base/fork_server.h).
 *
 * The process is started first of all, so that it loads while the first places are made, and ended once every program runs: then
 * the warden, process 1, is their parent. Where it does not answer, the programs are started one by one, and say what is wrong. */
#include "netem/warden_internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"

enum { ANSWER_PATIENCE_MS = 5000 };

bool warden_forks(const struct warden *warden, const struct fabric_program *program)
{
    const struct fabric_program *first = warden->fork_program;
    return first && program->forks && !program->outside && program->environment == first->environment &&
           program->descriptor_count <= FORK_DESCRIPTORS_MOST && strcmp(program->path, first->path) == 0;
}

static int prepare_server(void *context)
{
    const struct warden *warden = context;
    if (warden_keep_output(warden->null_fd) < 0)
        return errno;
    setrlimit(RLIMIT_NOFILE, &warden->files_before);
    return 0;
}

void warden_begin_forks(struct warden *warden)
{
    const struct fabric_spec *spec = warden->setup->spec;
    const struct fabric_program *first = NULL;
    for (int i = 0; i < spec->program_count && !first; i++)
        if (spec->programs[i].forks && !spec->programs[i].outside)
            first = &spec->programs[i];
    if (!first)
        return;
    struct process_spec process = {
        .path = first->path, .environment = first->environment, .before_exec = prepare_server, .context = warden};
    struct err err;
    if (fork_server_begin(&process, &warden->forks, &err) < 0)
        log_debug("%s", err.text);
    else
        warden->fork_program = first;
}

bool warden_forks_known(struct warden *warden, bool wait)
{
    if (!warden->fork_program || warden->forks.answered)
        return true;
    bool known = fork_server_known(&warden->forks, wait ? ANSWER_PATIENCE_MS : 0);
    if (!known && !wait)
        return false;
    if (!warden->forks.answered) {
        log_debug("%s is no fork server: its processes are started one by one", warden->fork_program->path);
        warden_end_forks(warden);
    }
    return true;
}

int warden_fork(struct warden *warden, const struct fabric_program *program, int *report_fd, struct err *err)
{
    const char *name = warden->setup->spec->topology->places[program->place].name;
    cleanup(text_free) struct text title = {0};
    for (int i = 0; program->arguments[i]; i++)
        text_printf(&title, "%s%s", i > 0 ? " " : "", program->arguments[i]);
    struct fork_spec spec = {.title = title.bytes ? title.bytes : "",
                             .network_fd = warden->network.places[program->place].namespace_fd,
                             .host_name = name,
                             .cgroup_fd = program->cgroup_fd,
                             .descriptors = program->descriptors,
                             .descriptor_count = program->descriptor_count};
    return fork_server_fork(&warden->forks, program->path, &spec, report_fd, err);
}

void warden_end_forks(struct warden *warden)
{
    fork_server_end(&warden->forks);
    warden->fork_program = NULL;
}
