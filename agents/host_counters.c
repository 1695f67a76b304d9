/* host_counters.c: what the kernel counts about this agent: TCP timeouts of its namespace, private memory. */
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
