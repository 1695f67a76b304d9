/* enter_find.c: which networks can be entered from here: the listening sockets of that name in /proc/net/unix. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "netem/enter.h"

#define PREFIX "laggard/enter/"

void enter_name(char name[ENTER_NAME_BYTES], uid_t uid, pid_t pid)
{
    snprintf(name, ENTER_NAME_BYTES, PREFIX "%u/%d", (unsigned)uid, (int)pid);
}

struct found {
    struct text list; /* of this user's */
    char name[ENTER_NAME_BYTES];
    int own;
    int others;
    uid_t other;        /* whose */
    const char *wanted; /* a name to look for; NULL */
    bool there;
    pid_t of;
    bool of_other; /* the network that was asked for is another user's */
};

/* What a process was started as; empty when it cannot be seen from here. */
static void add_command(struct text *list, pid_t pid)
{
    char path[32], bytes[200];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    cleanup(close_file) FILE *file = fopen(path, "re");
    size_t length = file ? fread(bytes, 1, sizeof(bytes) - 1, file) : 0;
    for (size_t i = 0; i + 1 < length; i++)
        if (bytes[i] == 0 || bytes[i] == '\n')
            bytes[i] = ' ';
    bytes[length] = 0;
    const char *base = strstr(bytes, "laggard ");
    if (length > 0)
        text_printf(list, " (%s)", base ? base : bytes);
}

static void take(struct found *found, const char *name)
{
    unsigned uid;
    int pid, end = 0;
    if (found->wanted && strcmp(name, found->wanted) == 0)
        found->there = true;
    if (sscanf(name, PREFIX "%u/%d%n", &uid, &pid, &end) != 2 || name[end] != 0)
        return;
    if (uid != geteuid()) {
        found->others++;
        if (!found->of_other)
            found->other = uid;
        found->of_other = found->of_other || pid == found->of;
        return;
    }
    text_printf(&found->list, "%s%d", found->own++ ? ", " : "", pid);
    add_command(&found->list, pid);
    snprintf(found->name, sizeof(found->name), "%s", name);
}

/* Lines are: number, references, protocol, flags, type, state, inode, path; the path of an abstract name begins with @. */
static int look(struct found *found, struct err *err)
{
    cleanup(close_file) FILE *file = fopen("/proc/net/unix", "re");
    char line[256];
    if (!file)
        return err_set_errno(err, ERR_HOST, errno, "cannot read /proc/net/unix, which lists the running networks");
    while (fgets(line, sizeof(line), file)) {
        unsigned long flags;
        int at = 0;
        const unsigned long listening = 1UL << 16;
        if (sscanf(line, "%*s %*s %*s %lx %*s %*s %*s %n", &flags, &at) != 1 || at == 0 || !(flags & listening) || line[at] != '@')
            continue;
        line[strcspn(line, "\n")] = 0;
        take(found, line + at + 1);
    }
    return 0;
}

static void found_clean(struct found *found)
{
    text_free(&found->list);
}

static int refuse_others(const struct found *found, struct err *err)
{
    const struct passwd *entry = getpwuid(found->other);
    char number[16];
    snprintf(number, sizeof(number), "%u", (unsigned)found->other);
    return err_set(err, ERR_USAGE, "%s of user %s%s: only that user can enter it%s",
                   found->of_other ? "this network is one" : "no network of this user is running here, but one",
                   entry ? entry->pw_name : number, found->of_other ? "" : " is", found->other == 0 ? " (sudo)" : "");
}

int enter_find(pid_t of, char name[ENTER_NAME_BYTES], struct err *err)
{
    char wanted[ENTER_NAME_BYTES] = "";
    const char *around = getenv("LAGGARD_ENTER");
    if (of > 0)
        enter_name(wanted, geteuid(), of);
    else if (around)
        snprintf(wanted, sizeof(wanted), "%s", around);
    cleanup(found_clean) struct found found = {.wanted = wanted, .of = of};
    int result = look(&found, err);
    if (result < 0)
        return result;
    if (found.there)
        snprintf(name, ENTER_NAME_BYTES, "%s", wanted);
    else if (found.of_other || (found.own == 0 && found.others > 0))
        return refuse_others(&found, err);
    else if (found.own == 0)
        return err_set(
            err, ERR_USAGE,
            "no network is running here: `laggard exec FILE` in another terminal holds one, and `laggard run` has one during "
            "each trial");
    else if (of > 0)
        return err_set(err, ERR_USAGE, "process %d has no network that can be entered; running are: %s", (int)of, found.list.bytes);
    else if (found.own > 1)
        return err_set(err, ERR_USAGE, "several networks are running; choose one by the number of its process, with --of: %s",
                       found.list.bytes);
    else
        snprintf(name, ENTER_NAME_BYTES, "%s", found.name);
    return 0;
}
