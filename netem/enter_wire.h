/* enter_wire.h: what the two sides of netem/enter.h say to each other, in packets of a SOCK_SEQPACKET connection.
 *
 *   asker  -> warden  struct enter_header, with ENTER_DESCRIPTORS descriptors: a sealed memfd that holds the words, and the
 *                     program's three streams. The words are strings, each with its NUL: node, folder, arguments, environment.
 *   warden -> asker   struct enter_answer: started, or why not
 *   asker  -> warden  struct enter_signal, any number of times
 *   warden -> asker   struct enter_answer: ended
 *
 * Both sides are one host and, as the version makes sure, one layout. */
#ifndef LAGGARD_NETEM_ENTER_WIRE_H
#define LAGGARD_NETEM_ENTER_WIRE_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct err;

enum {
    ENTER_MAGIC = 0x7267616c, /* "lagr" */
    ENTER_VERSION = 1,
    ENTER_DESCRIPTORS = 4,
    ENTER_WORDS_BYTES_MAX = 8 << 20,
    ENTER_TEXT_BYTES = 1024,
};
enum enter_flag { ENTER_TERMINAL = 1 };
enum enter_answer_kind { ENTER_STARTED, ENTER_REFUSED, ENTER_ENDED };

struct enter_header {
    uint32_t magic, version, flags, argument_count, environment_count, reserved;
    uint64_t open_files;
};
struct enter_answer {
    uint32_t kind;
    int32_t code;                /* refused: enum err_kind; ended: status or signal number */
    uint32_t exited;             /* ended */
    char text[ENTER_TEXT_BYTES]; /* refused */
};
struct enter_signal {
    int32_t number;
};

struct enter_words {
    const char *node, *directory;
    char **arguments, **environment; /* NULL-terminated */
};
/* Pure. Strings point into `bytes`; the lists are the arena's. ERR_USAGE when the words are not those that the header announces. */
int enter_parse(const struct enter_header *header, char *bytes, size_t length, struct arena *arena, struct enter_words *words,
                struct err *err);

#endif
