/* harness/doctor.h: what `laggard doctor` asks of a host: one row of a table a check, each with its level, its question and, where
 * the answer is no, a remedy that a user can type.
 *
 * Theory of operation. What needs the kernel's own answer is tried once, in scratch namespaces (netem/fabric.h); what the kernel
 * tells about itself is read below `root`, "" for this host or a folder with a copy of another one's /proc, /sys and /dev, as tests
 * have it. What cannot be read is unknown, never an error. Checks run in the order of the table, one after the other. */
#ifndef LAGGARD_HARNESS_DOCTOR_H
#define LAGGARD_HARNESS_DOCTOR_H

#include <stddef.h>
#include <sys/types.h>

#include "netem/fabric.h"

struct arena;
struct err;
struct json;

enum doctor_level { DOCTOR_NEEDED, DOCTOR_RECOMMENDED, DOCTOR_INFORMATION, DOCTOR_LEVEL_COUNT };
enum doctor_state { DOCTOR_UNKNOWN, DOCTOR_YES, DOCTOR_NO, DOCTOR_STATE_COUNT };

struct doctor_host {
    const char *root;   /* before every path that is read; "": this host */
    const char *folder; /* where a database would go; disk speed is measured there */
    uid_t user;         /* whose privileges count */
    struct arena *arena;
    struct fabric_host fabric; /* as tried */
};

enum { DOCTOR_NUMBERS_MAX = 3 };
struct doctor_finding {
    enum doctor_state state;
    const char *found;  /* what was found; NULL: the question says it all */
    const char *remedy; /* a sentence with a command or a setting; NULL: there is none to give */
    struct {
        const char *name; /* with the unit at its end */
        double value;
    } numbers[DOCTOR_NUMBERS_MAX]; /* what was measured */
    int number_count;
};

struct doctor_check {
    const char *name;
    enum doctor_level level;
    const char *question;
    void (*look)(const struct doctor_host *host, struct doctor_finding *finding);
};
int doctor_check_count(void);
const struct doctor_check *doctor_check_at(int index);
const struct doctor_check *doctor_check_find(const char *name); /* NULL: there is none of this name */
extern const char *const doctor_level_names[DOCTOR_LEVEL_COUNT];
extern const char *const doctor_state_names[DOCTOR_STATE_COUNT];

#endif
