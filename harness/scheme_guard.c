/* scheme_guard.c: see scheme_guard.h. The sentence is made beforehand: a handler of a crash may write and no more. It raises the
 * signal once more, which then has its usual end, also when it came from outside and no instruction would crash again. A handler
 * that is there already, such as a sanitizer's, stays. */
#include "harness/scheme_guard.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "harness/yaml_document.h"

static const struct {
    int number;
    const char *words;
} signals[] = {
    {SIGSEGV, "laggard: error: killed by SIGSEGV"}, {SIGBUS, "laggard: error: killed by SIGBUS"},
    {SIGILL, "laggard: error: killed by SIGILL"},   {SIGFPE, "laggard: error: killed by SIGFPE"},
    {SIGABRT, "laggard: error: killed by SIGABRT"},
};
enum { SIGNALS = sizeof(signals) / sizeof(signals[0]), STACK_BYTES = 1 << 16 };

static struct {
    pid_t process; /* 0: not open; what it forks is another one */
    bool watching;
    char objects[300]; /* "'./mine.so', './other.so'": which of them it was nobody can tell */
    char blame[600];
    char stack[STACK_BYTES]; /* that of who crashed may be used up */
} state;

static void say(const char *words)
{
    if (write(STDERR_FILENO, words, strlen(words)) < 0 || write(STDERR_FILENO, state.blame, strlen(state.blame)) < 0)
        return; /* there is nobody to tell */
}

static void on_crash(int number)
{
    for (int i = 0; i < SIGNALS && getpid() == state.process; i++)
        if (signals[i].number == number)
            say(signals[i].words);
    raise(number); /* blocked until the handler has returned; SA_RESETHAND */
}

static void on_exit_by_others(void)
{
    if (getpid() != state.process)
        return;
    say("laggard: error: ended by exit(), which laggard never calls");
    _exit(err_exit_code(ERR_HOST));
}

void scheme_guard_open(void)
{
    state.process = getpid();
}

void scheme_guard_close(void)
{
    state.process = 0;
}

/* A campaign file may be read more than once, and name several. */
static void add_object(const char *path)
{
    char quoted[sizeof(struct yaml_printable) + 2];
    const size_t length = strlen(state.objects);
    snprintf(quoted, sizeof(quoted), "'%s'", yaml_document_printable(path).text);
    if (strstr(state.objects, quoted))
        return;
    const char *between = length > 0 ? ", " : "";
    if (length + strlen(between) + strlen(quoted) < sizeof(state.objects))
        snprintf(state.objects + length, sizeof(state.objects) - length, "%s%s", between, quoted);
}

void scheme_guard_watch(const char *path)
{
    if (state.process == 0)
        return;
    add_object(path);
    snprintf(
        state.blame, sizeof(state.blame),
        ", with schemes of %s at work in this process: the fault is most likely theirs; finished trials are stored, and in the "
        "world 'emulated' schemes run in processes of their own\n",
        state.objects);
    if (state.watching)
        return;
    state.watching = true;
    atexit(on_exit_by_others);
    const stack_t stack = {.ss_sp = state.stack, .ss_size = sizeof(state.stack)};
    stack_t there_is;
    if (sigaltstack(NULL, &there_is) == 0 && there_is.ss_flags & SS_DISABLE)
        sigaltstack(&stack, NULL);
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction there, action = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND | SA_ONSTACK};
        if (sigaction(signals[i].number, NULL, &there) == 0 && there.sa_handler == SIG_DFL)
            sigaction(signals[i].number, &action, NULL);
    }
}
