/* test_planted_links.c: symbolic links that were put where a file is to be made: captures follow none, other outputs one's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/foreign_link.h"
#include "harness/capture_files.h"
#include "tests/unit/skipping.h"

enum { ANOTHER_USER = 1234 };

static char folder[] = "/tmp/laggard-planted.XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return unlink("planted") == 0 && chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void a_capture_follows_no_link(void **state)
{
    (void)state;
    struct err err;
    int fd = -1;
    assert_int_equal(symlink("target", "planted"), 0);
    cleanup(close_fd) int directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(capture_files_open(directory, ".", "planted", &fd, &err), -ERR_HOST);
    assert_non_null(strstr(err.text, "cannot make the capture file './planted'"));
    assert_int_equal(access("target", F_OK), -1);
}

static void only_another_users_link_is_refused(void **state)
{
    (void)state;
    struct err err;
    assert_int_equal(foreign_link_refuse("nothing", &err), 0);
    assert_int_equal(foreign_link_refuse(".", &err), 0);
    assert_int_equal(foreign_link_refuse("planted", &err), 0);
    if (lchown("planted", ANOTHER_USER, ANOTHER_USER) < 0)
        SKIP_BECAUSE("only root gives a link to another user");
    assert_int_equal(foreign_link_refuse("planted", &err), -ERR_HOST);
    assert_non_null(strstr(err.text, "cannot write 'planted': it is a link that user 1234 made"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_capture_follows_no_link),
                                       cmocka_unit_test(only_another_users_link_is_refused)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
