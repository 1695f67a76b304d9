/* harness/output_file.h: a file that an option names. It gets its name when it is complete: what stood there stays until then, and
 * stays for good when the command fails; nothing else is left, also of a command that is killed, where the file system has files
 * without a name. What is no regular file (a device, a pipe) is written directly. Never over a database. */
#ifndef LAGGARD_HARNESS_OUTPUT_FILE_H
#define LAGGARD_HARNESS_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct err;

struct output_file {
    FILE *stream;
    char *path, *temporary; /* the name that it is to have, and has meanwhile */
    bool nameless;          /* it has none meanwhile; neither: it has its name */
};

/* append: behind what stands there, and at once. ERR_USAGE: a database stands there; ERR_HOST: nothing can be written there, or
 * another user's link is there. */
int output_file_open(const char *path, bool append, struct output_file *file, struct err *err);
/* Closes it, and gives it its name. ERR_HOST: it could not be written wholly; output_file_discard() is still to be called. */
int output_file_commit(struct output_file *file, struct err *err);
/* For cleanup(): closes it; what has not got its name is removed. */
void output_file_discard(struct output_file *file);

#endif
