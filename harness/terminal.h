/* harness/terminal.h: the user's terminal, passed through to a program on a node by a pseudo-terminal.
 *
 * Theory of operation. A program on a node cannot have the user's terminal itself as its controlling one: that belongs to the
 * user's session. So it gets a pseudo-terminal with the same settings and size, in place of those standard streams that are a
 * terminal (a stream that leads to a file or a pipe stays what it is), while the user's own terminal is raw: every key, Ctrl-C and
 * Ctrl-Z too, goes to the program's side, and what a key means is decided there. The terminal gets its settings back on every way
 * out, deadly signals included; after SIGKILL by terminal_guard.h. Only SIGSTOP leaves it raw, until SIGCONT (or `reset`). */
#ifndef LAGGARD_HARNESS_TERMINAL_H
#define LAGGARD_HARNESS_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "harness/terminal_guard.h"

struct err;
struct loop;
struct watch;

enum { TERMINAL_STREAMS = 3, TERMINAL_BUFFER_BYTES = 4096 };

struct terminal {
    bool used;                     /* standard input is a terminal; otherwise all the calls below do nothing */
    int streams[TERMINAL_STREAMS]; /* for the program: ends of the pseudo-terminal, or 0, 1, 2 */
    int master, slave, signal_fd;
    bool raw;
    struct termios before;
    struct terminal_guard guard;
    struct loop *loop;
    struct watch *input, *output, *changes;
    char keys[TERMINAL_BUFFER_BYTES]; /* typed, and not yet taken by the program's side */
    size_t key_count;
};
#define TERMINAL_NONE ((struct terminal){.master = -1, .slave = -1, .signal_fd = -1, .guard = TERMINAL_GUARD_NONE})

/* Chooses the streams, and makes the pseudo-terminal where it is needed. */
int terminal_open(struct terminal *terminal, struct err *err);
/* The program has its streams. From now on the terminal is raw, and `loop` carries bytes and changes of size. */
int terminal_start(struct terminal *terminal, struct loop *loop, struct err *err);
/* Shows what the program wrote last, and gives the terminal its settings back. Also for cleanup(); before loop_free(). */
void terminal_finish(struct terminal *terminal);

#endif
