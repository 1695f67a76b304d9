/* harness/capture_files.h: the files of a trial's captures: DIRECTORY/CAMPAIGN-ORDER-TIME-LINK-DIRECTION.pcap. */
#ifndef LAGGARD_HARNESS_CAPTURE_FILES_H
#define LAGGARD_HARNESS_CAPTURE_FILES_H

#include <stdint.h>

struct arena;
struct err;

/* Why no file can be made there (ERR_HOST); makes nothing. The directory itself, or what of its path is not there yet, need not
 * exist. */
int capture_files_check(const char *directory, struct err *err);
/* Makes what of the directory is missing and opens it. */
int capture_files_directory(const char *directory, int *directory_fd, struct err *err);

struct capture_file_name {
    const char *campaign; /* or what else runs */
    int order;            /* of the trial among all of the campaign; negative: it is none */
    int64_t started_unix_ns;
    const char *link, *direction;
};
const char *capture_files_name(const struct capture_file_name *name, struct arena *arena);
/* For writing, new: a file of that name is an error, never written over. */
int capture_files_open(int directory_fd, const char *directory, const char *name, int *fd, struct err *err);

#endif
