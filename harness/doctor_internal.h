/* doctor_internal.h: what the checks of doctor share: reading below a root, and answers. */
#ifndef LAGGARD_HARNESS_DOCTOR_INTERNAL_H
#define LAGGARD_HARNESS_DOCTOR_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/control_group.h"
#include "harness/doctor.h"

enum { USUAL_NODES = 64 }; /* the largest usual campaign: so many nodes in a star of delayed links */

/* The first `bytes` - 1 bytes of a file of the host; false: it cannot be read. */
bool doctor_read(const struct doctor_host *host, const char *path, char *text, size_t bytes);
/* Its first line, in the arena; NULL: it cannot be read. */
const char *doctor_line(const struct doctor_host *host, const char *path);
/* Its first number; -1: it cannot be read, or begins with no number. */
int64_t doctor_number(const struct doctor_host *host, const char *path);
const char *doctor_path(const struct doctor_host *host, const char *path);

/* This process's control group of a hierarchy (harness/control_group.h); false: there is none, or the host does not tell. */
bool doctor_group(const struct doctor_host *host, int version, const char *controller, struct control_group *group);

void doctor_answer(struct doctor_finding *finding, bool good, const char *found, const char *remedy /* where it is not */);
void doctor_count(struct doctor_finding *finding, const char *name, double value);

typedef void doctor_look(const struct doctor_host *host, struct doctor_finding *finding);
/* doctor_namespaces.c */
doctor_look doctor_root, doctor_namespaces, doctor_user_namespaces, doctor_namespace_limits, doctor_unprivileged, doctor_apparmor,
    doctor_seccomp;
/* doctor_network.c */
doctor_look doctor_tbf, doctor_tun, doctor_ifb, doctor_clsact, doctor_netem, doctor_delays, doctor_rules, doctor_packets,
    doctor_neighbours;
/* doctor_limits.c */
doctor_look doctor_cgroups, doctor_cpu_limits, doctor_files, doctor_memlock, doctor_room;
/* doctor_processors.c */
doctor_look doctor_processors, doctor_quota, doctor_governor, doctor_turbo, doctor_smt, doctor_steal, doctor_clocksource,
    doctor_awake;
/* doctor_measured.c */
doctor_look doctor_timer, doctor_disk, doctor_blas;
/* doctor_programs.c */
doctor_look doctor_agent, doctor_data, doctor_gnuplot;

/* Sleeps to `count` absolute times, `step_ns` apart, and sorts by how much it woke up late. */
void doctor_sleep_late(int64_t *late_ns, int count, int64_t step_ns);

#endif
