/* control_group.c: finds this process's control groups; see control_group.h. */
#include "harness/control_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

enum { LINE_BYTES = 2 * PATH_MAX };

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

/* The line at *text without its newline; moves on. False: there is none. */
static bool next_line(const char **text, char line[LINE_BYTES])
{
    if (!**text)
        return false;
    size_t length = strcspn(*text, "\n");
    snprintf(line, LINE_BYTES, "%.*s", (int)(length < LINE_BYTES ? length : LINE_BYTES - 1), *text);
    *text += length + ((*text)[length] == '\n');
    return true;
}

/* The kernel writes a space in a path as \040, and likewise tab, newline and backslash. */
static void decode_octal(char *path)
{
    char *to = path;
    for (const char *from = path; *from;) {
        unsigned value;
        if (*from == '\\' && sscanf(from, "\\%3o", &value) == 1) {
            *to++ = (char)value;
            from += 4;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

/* Where the hierarchy is mounted, and which of its groups is the mount's root. */
static bool find_mount(const char *mountinfo, int version, const char *controller, char mount[PATH_MAX], char root[PATH_MAX])
{
    char line[LINE_BYTES], its_root[PATH_MAX], its_mount[PATH_MAX], type[64], options[1024];
    while (next_line(&mountinfo, line)) {
        const char *dash = strstr(line, " - ");
        if (!dash || sscanf(line, "%*u %*u %*s %4095s %4095s", its_root, its_mount) != 2 ||
            sscanf(dash, " - %63s %*s %1023s", type, options) != 2)
            continue;
        if (version == 2 ? strcmp(type, "cgroup2") != 0 : strcmp(type, "cgroup") != 0 || !has_word(options, controller))
            continue;
        decode_octal(its_root);
        decode_octal(its_mount);
        memcpy(mount, its_mount, PATH_MAX);
        memcpy(root, its_root, PATH_MAX);
        return true;
    }
    return false;
}

static bool find_path(const char *cgroup, int version, const char *controller, char path[PATH_MAX])
{
    char line[LINE_BYTES];
    while (next_line(&cgroup, line)) {
        char *names = strchr(line, ':'), *its_path = names ? strchr(names + 1, ':') : NULL;
        if (!its_path)
            continue;
        *its_path++ = '\0';
        names++;
        if (version == 2 ? names[0] != '\0' : !has_word(names, controller))
            continue;
        snprintf(path, PATH_MAX, "%.*s", PATH_MAX - 1, its_path);
        return true;
    }
    return false;
}

bool control_group_parse(const char *mountinfo, const char *cgroup, int version, const char *controller,
                         struct control_group *group)
{
    char mount[PATH_MAX], root[PATH_MAX], path[PATH_MAX];
    if (!find_mount(mountinfo, version, controller, mount, root) || !find_path(cgroup, version, controller, path))
        return false;
    size_t prefix = strcmp(root, "/") == 0 ? 0 : strlen(root);
    bool below = strncmp(path, root, prefix) == 0 && (prefix == 0 || path[prefix] == '/' || path[prefix] == '\0') &&
                 strncmp(path, "/..", 3) != 0;
    *group = (struct control_group){.version = version};
    memcpy(group->mount, mount, sizeof(mount));
    int length = snprintf(group->folder, sizeof(group->folder), "%s%s", mount,
                          strcmp(below ? path + prefix : "", "/") == 0 ? ""
                          : below ? path + prefix
                                  : "");
    if (!below || length < 0 || length >= (int)sizeof(group->folder))
        group->folder[0] = '\0';
    return true;
}

static bool read_text(const char *path, struct text *text)
{
    cleanup(close_file) FILE *file = fopen(path, "re");
    char buffer[4096];
    if (!file)
        return false;
    text_add(text, ""); /* an empty file is an empty text */
    for (size_t got; (got = fread(buffer, 1, sizeof(buffer), file)) > 0;)
        text_add_bytes(text, buffer, got);
    return true;
}

bool control_group_find(int version, const char *controller, struct control_group *group)
{
    cleanup(text_free) struct text mountinfo = {0}, cgroup = {0};
    return read_text("/proc/self/mountinfo", &mountinfo) && read_text("/proc/self/cgroup", &cgroup) &&
           control_group_parse(mountinfo.bytes, cgroup.bytes, version, controller, group);
}
