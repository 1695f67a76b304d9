/* capture_file.h: one pcap file with times in nanoseconds, of whole records whatever happens to the disk. */
#ifndef LAGGARD_NETEM_CAPTURE_FILE_H
#define LAGGARD_NETEM_CAPTURE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/capture.h"

struct err;
struct capture_file;

/* Takes the empty file. Nothing is written once size_bytes (0: not limited) would be passed, or a write has failed. NULL on
 * failure. */
struct capture_file *capture_file_new(int fd, uint64_t snap_bytes, uint64_t size_bytes, struct err *err);
/* A frame of Ethernet of `length` bytes, of which `captured` are at hand. */
void capture_file_add(struct capture_file *file, int64_t unix_ns, const uint8_t *bytes, size_t captured, size_t length);
/* What was added is in the file from now on. */
void capture_file_flush(struct capture_file *file);
/* Sets the members of *summary about the file. */
void capture_file_sum(const struct capture_file *file, struct packet_summary *summary);
void capture_file_free(struct capture_file *file); /* NULL allowed; flushes and closes */

#endif
