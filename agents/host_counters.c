/* host_counters.c: what the kernel counts about this agent: TCP timeouts of its namespace, private memory, and how long its threads
 * ran and waited for a processor. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agents/agent_internal.h"
#include "base/cleanup.h"
#include "base/units.h"

enum { TEXT_BYTES = 32768 };

void host_counters_open(struct host_counters *counters)
{
    counters->netstat_fd = open("/proc/self/net/netstat", O_RDONLY | O_CLOEXEC);
    counters->memory_fd = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    counters->timeouts_before = host_counters_timeouts(counters);
}

void host_counters_close(struct host_counters *counters)
{
    close_fd(&counters->netstat_fd);
    close_fd(&counters->memory_fd);
    for (int i = 0; i < THREAD_COUNT; i++)
        close_fd(&counters->schedule_fds[i]);
}

/* From the beginning to the end, or to the end of the buffer. */
static bool read_text(int fd, char text[static TEXT_BYTES])
{
    size_t length = 0;
    ssize_t got = 0;
    while (fd >= 0 && length < TEXT_BYTES - 1 && (got = pread(fd, text + length, TEXT_BYTES - 1 - length, (off_t)length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
    return length > 0;
}

/* What does not read as a count is unknown, like a kernel without it. */
static uint64_t number(const char *word)
{
    uint64_t value = 0;
    return units_parse_unsigned(word, 0, UINT64_MAX, &value, NULL) == 0 ? value : 0;
}

/* /proc/net/netstat: a line of names, then a line of values, both starting with "TcpExt:". */
static uint64_t find_in_columns(char *text, const char *group, const char *name)
{
    char *names = strstr(text, group);
    char *values = names ? strstr(names + 1, group) : NULL;
    if (!values)
        return 0;
    values[-1] = '\0'; /* the newline: ends the names */
    char *name_rest, *value_rest;
    char *name_word = strtok_r(names, " ", &name_rest), *value_word = strtok_r(values, " \n", &value_rest);
    while (name_word && value_word) {
        if (strcmp(name_word, name) == 0)
            return number(value_word);
        name_word = strtok_r(NULL, " ", &name_rest);
        value_word = strtok_r(NULL, " \n", &value_rest);
    }
    return 0;
}

uint64_t host_counters_timeouts(const struct host_counters *counters)
{
    char text[TEXT_BYTES];
    return read_text(counters->netstat_fd, text) ? find_in_columns(text, "TcpExt:", "TCPTimeouts") : 0;
}

/* /proc/PID/smaps_rollup: "Private_Dirty:      1234 kB". */
static uint64_t kilobytes(const char *text, const char *key)
{
    const char *found = strstr(text, key);
    if (!found)
        return 0;
    found += strlen(key);
    found += strspn(found, " ");
    char word[24];
    snprintf(word, sizeof(word), "%.*s", (int)strcspn(found, " \n"), found);
    return number(word) << 10;
}

uint64_t host_counters_private_bytes(const struct host_counters *counters)
{
    char text[TEXT_BYTES];
    if (!read_text(counters->memory_fd, text))
        return 0;
    return kilobytes(text, "Private_Clean:") + kilobytes(text, "Private_Dirty:");
}

static void close_folder(DIR **folder)
{
    if (*folder)
        closedir(*folder);
}

/* The numbers of this process's threads are those of the PID namespace that /proc shows, not the ones that gettid() gives. */
void host_counters_open_threads(struct host_counters *counters)
{
    char self[64] = "", path[300];
    cleanup(close_folder) DIR *folder = opendir("/proc/self/task");
    if (!folder || readlink("/proc/thread-self", self, sizeof(self) - 1) < 0)
        return;
    const char *slash = strrchr(self, '/');
    for (struct dirent *entry; slash && (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        int thread = strcmp(entry->d_name, slash + 1) == 0 ? THREAD_LOOP : THREAD_COMPUTE;
        snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", entry->d_name);
        close_fd(&counters->schedule_fds[thread]);
        counters->schedule_fds[thread] = open(path, O_RDONLY | O_CLOEXEC);
        counters->threads[thread] = true;
    }
}

/* "busy wait slices"; all 0 where the kernel counts nothing. */
static struct processor_use use_of(const struct host_counters *counters, int thread)
{
    char text[TEXT_BYTES], *rest = text;
    if (!counters->threads[thread] && thread != THREAD_LOOP)
        return (struct processor_use){0};
    if (!read_text(counters->schedule_fds[thread], text))
        return (struct processor_use){-1, -1};
    const char *busy = strsep(&rest, " "), *wait = rest ? strsep(&rest, " ") : "";
    struct processor_use use = {(int64_t)number(busy), (int64_t)number(wait)};
    return use.busy_ns > 0 || thread != THREAD_LOOP ? use : (struct processor_use){-1, -1};
}

void host_counters_begin(struct host_counters *counters)
{
    for (int i = 0; i < THREAD_COUNT; i++)
        counters->use_before[i] = use_of(counters, i);
}

void host_counters_end(struct host_counters *counters)
{
    for (int i = 0; i < THREAD_COUNT; i++) {
        struct processor_use now = use_of(counters, i), before = counters->use_before[i];
        bool known = now.busy_ns >= before.busy_ns && now.wait_ns >= before.wait_ns && before.busy_ns >= 0;
        struct processor_use *use = &counters->use[i];
        *use = known && use->busy_ns >= 0 ? (struct processor_use){use->busy_ns + now.busy_ns - before.busy_ns,
                                                                   use->wait_ns + now.wait_ns - before.wait_ns}
                                          : (struct processor_use){-1, -1};
    }
}
