/* build_info.c: the build's own facts as strings. */
#include "harness/build_info.h"

const char build_info_version[] = LAGGARD_VERSION;
const char build_info_revision[] = LAGGARD_REVISION;
const char build_info_flags[] = LAGGARD_FLAGS;
const char build_info_mode[] = LAGGARD_MODE;
