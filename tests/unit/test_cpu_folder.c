/* test_cpu_folder.c: the folder of limited nodes, on an ordinary file system: what is left when it cannot be made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "harness/cpu_limit_internal.h"

static int lock_error; /* that locking fails with; 0: it does not */

/* In place of the C library's. */
int flock(int fd, int operation)
{
    errno = lock_error;
    return lock_error ? -1 : (int)syscall(SYS_flock, fd, operation);
}

static char place[] = "/tmp/laggard-cpu-folder.XXXXXX";

static int make_place(void **state)
{
    (void)state;
    return mkdtemp(place) ? 0 : -1;
}

/* Fails where something is left in it. */
static int remove_place(void **state)
{
    (void)state;
    return rmdir(place);
}

static void it_is_made_and_removed(void **state)
{
    (void)state;
    struct cpu_folder folder = {.own_fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .fd = -1};
    assert_true(folder.own_fd >= 0);
    assert_int_equal(cpu_folder_make(&folder), 0);
    assert_int_equal(faccessat(folder.own_fd, folder.name, F_OK, 0), 0);
    assert_int_equal(cpu_folder_await_clear(&folder, true, 0), 0);
    close_fd(&folder.fd);
    close_fd(&folder.own_fd);
    assert_int_equal(rmdir(place), 0);
    assert_int_equal(mkdir(place, 0700), 0);
}

static void without_descriptors_nothing_is_left(void **state)
{
    (void)state;
    struct rlimit before, now;
    struct cpu_folder folder = {.own_fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .fd = -1};
    int next = dup(folder.own_fd); /* the lowest number that is free */
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    now = before;
    now.rlim_cur = (rlim_t)next;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
    int code = cpu_folder_make(&folder);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    close_fd(&folder.own_fd);
    assert_int_equal(code, -EMFILE);
    assert_int_equal(folder.fd, -1);
    assert_int_equal(rmdir(place), 0);
    assert_int_equal(mkdir(place, 0700), 0);
}

static void without_locks_nothing_is_left(void **state)
{
    (void)state;
    struct cpu_folder folder = {.own_fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .fd = -1};
    lock_error = ENOLCK;
    int code = cpu_folder_make(&folder);
    lock_error = 0;
    close_fd(&folder.own_fd);
    assert_int_equal(code, -ENOLCK);
    assert_int_equal(folder.fd, -1);
    assert_int_equal(rmdir(place), 0);
    assert_int_equal(mkdir(place, 0700), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_made_and_removed),
                                       cmocka_unit_test(without_descriptors_nothing_is_left),
                                       cmocka_unit_test(without_locks_nothing_is_left)};
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
