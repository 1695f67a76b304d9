/* harness/build_info.h: what this build is, set by the Makefile for build_info.c alone. */
#ifndef LAGGARD_HARNESS_BUILD_INFO_H
#define LAGGARD_HARNESS_BUILD_INFO_H

extern const char build_info_version[];  /* "0.1.0" */
extern const char build_info_revision[]; /* "052d8c4", "052d8c4-dirty" or "unknown" */
extern const char build_info_flags[];    /* compiler and flags */
extern const char build_info_mode[];     /* release, debug, asan ... */

#endif
