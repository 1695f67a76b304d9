/* capture_session.c: the captures of one network; see capture_session.h. */
#include "harness/capture_session.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/units.h"
#include "harness/capture_files.h"
#include "harness/capture_links.h"
#include "netem/fabric.h"

struct capture_session {
    const struct capture_settings *settings;
    const struct topology *topology;
    struct arena *arena;
    const int *links;
    int link_count, count; /* count: DIRECTIONS a link */
    int directory_fd;
    const char **names;           /* of files, within the directory; NULL: not made */
    struct fabric_capture *asked; /* file_fd -1: not open */
    struct capture_result *results;
};

static const char *const direction_names[DIRECTIONS] = DIRECTION_NAMES;

int capture_session_check(const struct capture_settings *settings, const struct topology *topology, const struct fabric_host *host,
                          struct arena *arena, struct err *err)
{
    const int *links;
    int count;
    if (!capture_links_wanted(settings))
        return 0;
    int result = capture_links_find(settings, topology, arena, &links, &count, NULL, err);
    if (result == 0 && !host->packets)
        return err_set(err, ERR_HOST,
                       "this host gives no packet sockets, which captures need: boot a kernel with CONFIG_PACKET, or give the "
                       "container CAP_NET_RAW");
    return result < 0 ? result : capture_files_check(settings->directory, err);
}

static int open_file(struct capture_session *session, int index, struct capture_file_name *name, struct err *err)
{
    const struct capture_settings *settings = session->settings;
    int link = session->links[index / DIRECTIONS], direction = index % DIRECTIONS, fd;
    name->link = session->topology->links[link].name;
    name->direction = direction_names[direction];
    const char *file = capture_files_name(name, session->arena);
    int result = capture_files_open(session->directory_fd, settings->directory, file, &fd, err);
    if (result < 0)
        return result;
    session->names[index] = file;
    session->asked[index] = (struct fabric_capture){.link = link,
                                                    .direction = direction,
                                                    .file_fd = fd,
                                                    .snap_bytes = settings->snap_bytes,
                                                    .size_bytes = settings->size_bytes};
    session->results[index] = (struct capture_result){.link = link,
                                                      .direction = direction,
                                                      .path = arena_printf(session->arena, "%s/%s", settings->directory, file),
                                                      .snap_bytes = settings->snap_bytes};
    return 0;
}

int capture_session_open(const struct capture_settings *settings, const struct topology *topology, const char *name, int order,
                         struct arena *arena, struct capture_session **session, struct err *err)
{
    *session = NULL;
    if (!capture_links_wanted(settings))
        return 0;
    struct capture_session *made = arena_new_object(arena, struct capture_session);
    *made = (struct capture_session){.settings = settings, .topology = topology, .arena = arena, .directory_fd = -1};
    int result = capture_links_find(settings, topology, arena, &made->links, &made->link_count, NULL, err);
    if (result < 0)
        return result;
    made->count = made->link_count * DIRECTIONS;
    made->names = arena_new_array(arena, const char *, (size_t)made->count);
    made->asked = arena_new_array(arena, struct fabric_capture, (size_t)made->count);
    made->results = arena_new_array(arena, struct capture_result, (size_t)made->count);
    for (int i = 0; i < made->count; i++)
        made->asked[i].file_fd = -1;
    *session = made;
    struct capture_file_name file = {.campaign = name, .order = order, .started_unix_ns = clock_wall_ns()};
    result = capture_files_directory(settings->directory, &made->directory_fd, err);
    for (int i = 0; i < made->count && result == 0; i++)
        result = open_file(made, i, &file, err);
    return result;
}

void capture_session_add(struct capture_session *session, struct fabric_spec *spec)
{
    if (!session)
        return;
    spec->captures = session->asked;
    spec->capture_count = session->count;
}

void capture_session_built(struct capture_session *session)
{
    for (int i = 0; session && i < session->count; i++)
        close_fd(&session->asked[i].file_fd);
}

/* One line about all of them: where one ring overflows, others do. */
static void say_what_is_missing(const struct capture_session *session)
{
    const struct capture_result *worst = NULL;
    int incomplete = 0;
    for (int i = 0; i < session->count; i++) {
        const struct capture_result *result = &session->results[i];
        if (result->summary.failed)
            log_warning("%s: %s", result->path, result->summary.reason);
        if (result->summary.dropped_count == 0)
            continue;
        incomplete++;
        if (!worst || result->summary.dropped_count > worst->summary.dropped_count)
            worst = result;
    }
    if (worst)
        log_warning("%d of %d capture%s missed packets, most of all link %s %s: %llu of %llu; their files and counts are not whole",
                    incomplete, session->count, units_plural(session->count), session->topology->links[worst->link].name,
                    direction_names[worst->direction], (unsigned long long)worst->summary.dropped_count,
                    (unsigned long long)(worst->summary.dropped_count + worst->summary.captured_count));
}

void capture_session_finish(struct capture_session *session, struct fabric *fabric, const struct capture_result **results,
                            int *count)
{
    *results = NULL;
    *count = 0;
    if (!session || !fabric)
        return;
    struct err err = {0};
    struct packet_summary *summaries = arena_new_array(session->arena, struct packet_summary, (size_t)session->count);
    bool failed = fabric_finish_captures(fabric, summaries, &err) < 0;
    const char *failure = failed ? arena_strdup(session->arena, err.text) : NULL;
    for (int i = 0; i < session->count; i++) {
        session->results[i].failure = failure;
        session->results[i].summary = summaries[i];
    }
    if (failed)
        log_warning("captures in %s are incomplete: %s", session->settings->directory, failure);
    else
        say_what_is_missing(session);
    *results = session->results;
    *count = session->count;
}

/* Files that got not even a header are of a network that never stood. */
void capture_session_close(struct capture_session *session)
{
    if (!session)
        return;
    for (int i = 0; i < session->count; i++) {
        struct stat status;
        close_fd(&session->asked[i].file_fd);
        if (session->names[i] && fstatat(session->directory_fd, session->names[i], &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            status.st_size == 0)
            unlinkat(session->directory_fd, session->names[i], 0);
    }
    close_fd(&session->directory_fd);
}
