/* err.h: an error is a sentence (what was tried, on what, why it failed, what to do) and a kind that decides the exit code.
 *
 * A fallible function returns 0, or a negative enum err_kind, and takes a trailing struct err * that it writes only on
 * failure. Callers add context in front with err_wrap(). Passing NULL for the struct err is allowed everywhere. */
#ifndef LAGGARD_BASE_ERR_H
#define LAGGARD_BASE_ERR_H

enum err_kind {
    ERR_NONE = 0,
    ERR_USAGE,       /* the command line or a file is wrong:       exit code 2 */
    ERR_HOST,        /* privilege, kernel or file system refuses:  exit code 3 */
    ERR_TRIAL,       /* a trial failed while running:              exit code 4 */
    ERR_BASELINE,    /* a baseline is missing or not comparable:   exit code 6 */
    ERR_INTERRUPTED, /* SIGINT or SIGTERM asked to stop:           exit code 130 */
    ERR_KIND_COUNT
};

struct err {
    enum err_kind kind;
    char text[1024]; /* UTF-8, no trailing newline; truncated with "..." when too long */
};

/* Writes the sentence; returns -kind, so that `return err_set(err, ...)` works. */
int err_set(struct err *err, enum err_kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same, with ": " and strerror(error_number) appended. */
int err_set_errno(struct err *err, enum err_kind kind, int error_number, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Puts "context: " before the text; keeps the kind. Returns -kind (or -ERR_HOST if err is NULL). */
int err_wrap(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The process exit code for a kind: the one table of docs/commands.md. */
int err_exit_code(enum err_kind kind);

#endif
