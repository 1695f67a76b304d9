/* test_arena.c: alignment, zeroing, disjoint blocks, and the end of the process when memory cannot be had. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"

static void blocks_are_zeroed_aligned_and_disjoint(void **state)
{
    (void)state;
    enum { BLOCKS = 4000 };
    static unsigned char *blocks[BLOCKS];
    static size_t sizes[BLOCKS];
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    size_t total = 0;
    for (size_t i = 0; i < BLOCKS; i++) {
        sizes[i] = i % 97 == 0 ? i * 37 : i % 150; /* zero bytes, small ones, and some larger than a chunk */
        blocks[i] = arena_alloc(arena, sizes[i]);
        total += sizes[i];
        assert_int_equal((uintptr_t)blocks[i] % (sizes[i] >= 64 ? 64 : 16), 0);
        for (size_t j = 0; j < sizes[i]; j++)
            assert_int_equal(blocks[i][j], 0);
        memset(blocks[i], (int)(i % 251) + 1, sizes[i]);
    }
    assert_int_equal(arena_bytes(arena), total);
    for (size_t i = 0; i < BLOCKS; i++)
        for (size_t j = 0; j < sizes[i]; j++)
            assert_int_equal(blocks[i][j], i % 251 + 1);
}

static void empty_blocks_differ(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    void *first = arena_alloc(arena, 0), *second = arena_calloc(arena, 0, 100);
    assert_non_null(first);
    assert_ptr_not_equal(first, second);
    assert_int_equal(arena_bytes(arena), 0);
}

static void a_large_block_leaves_the_current_chunk_in_use(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    char *before = arena_alloc(arena, 16);
    char *large = arena_alloc(arena, 100 << 20); /* not touched: costs no memory */
    char *after = arena_alloc(arena, 16);
    assert_non_null(large);
    assert_ptr_equal(after, before + 16);
}

static void copies(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    assert_string_equal(arena_strdup(arena, "ring"), "ring");
    assert_string_equal(arena_strdup(arena, ""), "");
    assert_string_equal(arena_strndup(arena, "ring", 2), "ri");
    assert_string_equal(arena_strndup(arena, "ring", 20), "ring");
    assert_string_equal(arena_printf(arena, "%s-%d", "k", 3), "k-3");
    assert_string_equal(arena_printf(arena, "%s", ""), "");
    assert_int_equal(strlen(arena_printf(arena, "%5000d", 1)), 5000);
    const int numbers[] = {3, 1, 2};
    int *copy = arena_copy(arena, numbers, sizeof(numbers));
    assert_memory_equal(copy, numbers, sizeof(numbers));
    assert_non_null(arena_copy(arena, NULL, 0));
    double *array = arena_new_array(arena, double, 10);
    assert_int_equal((uintptr_t)array % 64, 0);
    assert_true(array[9] == 0.0);
}

static int exit_status_of_allocation(size_t count, size_t each)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(9);
        struct arena *arena = arena_new();
        arena_calloc(arena, count, each);
        _exit(0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void overflow_and_exhaustion_end_the_process(void **state)
{
    (void)state;
    assert_int_equal(exit_status_of_allocation(SIZE_MAX / 2, 3), 3);
    assert_int_equal(exit_status_of_allocation(SIZE_MAX, 1), 3);
    assert_int_equal(exit_status_of_allocation(1, SIZE_MAX - 100), 3);
    assert_int_equal(exit_status_of_allocation(1, (size_t)PTRDIFF_MAX), 3);
    assert_int_equal(exit_status_of_allocation(10, 10), 0);
}

static void freeing_nothing_is_allowed(void **state)
{
    (void)state;
    struct arena *arena = NULL;
    arena_free(arena);
    arena_cleanup(&arena);
    arena = arena_new();
    arena_cleanup(&arena);
    assert_null(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_zeroed_aligned_and_disjoint),        cmocka_unit_test(empty_blocks_differ),
        cmocka_unit_test(a_large_block_leaves_the_current_chunk_in_use), cmocka_unit_test(copies),
        cmocka_unit_test(overflow_and_exhaustion_end_the_process),       cmocka_unit_test(freeing_nothing_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
