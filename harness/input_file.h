/* harness/input_file.h: the text files that campaigns name: traces of links, tables of jitter. */
#ifndef LAGGARD_HARNESS_INPUT_FILE_H
#define LAGGARD_HARNESS_INPUT_FILE_H

#include <stddef.h>

struct err;
struct text;

/* The whole of a regular file of at most `most` bytes (whole MiB). A UTF-8 byte order mark, which spreadsheets put in front, is
 * left out. ERR_USAGE calls the file what it is: "the trace". Does not wait for anybody, whatever lies there. */
int input_file_read(const char *path, const char *what, size_t most, struct text *out, struct err *err);

#endif
