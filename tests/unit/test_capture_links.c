/* test_capture_links.c: which links are captured, by name, index and command line, and where their files go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "harness/capture_files.h"
#include "harness/capture_links.h"

static const struct link links[] = {{.name = "w0-router"}, {.name = "w1-router"}, {.name = "0"}};
static const struct topology topology = {.links = links, .link_count = 3};

/* The links that the words mean, as "0 2"; or the sentence. */
static const char *found(const char *words, struct arena *arena)
{
    struct capture_settings capture = capture_links_standard();
    struct err err = {0};
    const int *list;
    int count, position;
    if (capture_links_parse(words, arena, &capture, &err) < 0 ||
        capture_links_find(&capture, &topology, arena, &list, &count, &position, &err) < 0) {
        assert_int_equal(err.kind, ERR_USAGE);
        return arena_strdup(arena, err.text);
    }
    const char *text = "";
    for (int i = 0; i < count; i++)
        text = arena_printf(arena, "%s%s%d", text, i ? " " : "", list[i]);
    return text;
}

static void links_by_name_and_index(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    assert_string_equal(found("all", arena), "0 1 2");
    assert_string_equal(found("none", arena), "");
    assert_string_equal(found("w1-router,w0-router", arena), "0 1");
    assert_string_equal(found("1", arena), "1");
    assert_string_equal(found("0", arena), "2"); /* a name before an index */
    assert_string_equal(found("w0-router,w1-router,w0-router", arena), "link w0-router is named twice");
    assert_string_equal(found("3", arena), "there is no link '3': the first one is 'w0-router', and indexes go from 0 to 2");
    assert_non_null(strstr(found("99999999999999999999", arena), "there is no link"));
    assert_non_null(strstr(found("-1", arena), "there is no link"));
    assert_non_null(strstr(found("w0-router,all", arena), "there is no link 'all'"));
    static const char *const holes[] = {"", ",", "w0-router,", ",w0-router", "0,,1"};
    for (size_t i = 0; i < sizeof(holes) / sizeof(holes[0]); i++)
        assert_non_null(strstr(found(holes[i], arena), "with commas between them"));
}

static void too_many_links(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    struct link *many = arena_new_array(arena, struct link, CAPTURED_LINKS_MOST + 1);
    for (int i = 0; i <= CAPTURED_LINKS_MOST; i++)
        many[i].name = "l";
    struct topology large = {.links = many, .link_count = CAPTURED_LINKS_MOST};
    struct capture_settings capture = {.all = true};
    struct err err = {0};
    const int *list;
    int count, position;
    assert_int_equal(capture_links_find(&capture, &large, arena, &list, &count, &position, &err), 0);
    assert_int_equal(count, CAPTURED_LINKS_MOST);
    large.link_count++;
    assert_int_equal(capture_links_find(&capture, &large, arena, &list, &count, &position, &err), -ERR_USAGE);
    assert_string_equal(err.text, "129 links are to be captured, at most 128 can be: name some of them");
    assert_int_equal(position, -1);
}

static void the_command_line_takes_the_place_of_links_alone(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct cell cells[] = {
        {.settings.capture = {.all = true, .directory = "there", .snap_bytes = 64, .size_bytes = 5000}},
        {.settings.capture = {0}},
    };
    struct plan plan = {.cells = cells, .cell_count = 2};
    struct err err = {0};
    assert_int_equal(capture_links_override("w0-router", arena, &plan, &err), 0);
    for (int c = 0; c < 2; c++) {
        assert_false(plan.cells[c].settings.capture.all);
        assert_int_equal(plan.cells[c].settings.capture.link_count, 1);
        assert_string_equal(plan.cells[c].settings.capture.links[0], "w0-router");
    }
    assert_string_equal(plan.cells[0].settings.capture.directory, "there");
    assert_int_equal(plan.cells[0].settings.capture.size_bytes, 5000);
    assert_string_equal(plan.cells[1].settings.capture.directory, "captures");
    assert_int_equal(plan.cells[1].settings.capture.snap_bytes, 128);
    assert_true(cells[0].settings.capture.all); /* not touched */
    assert_int_equal(capture_links_override("none", arena, &plan, &err), 0);
    assert_false(capture_links_wanted(&plan.cells[0].settings.capture));
    assert_null(plan.cells[0].settings.capture.directory);
}

static void names_of_files(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct capture_file_name name = {.campaign = "ring-vs-ps",
                                           .order = 12,
                                           .started_unix_ns = INT64_C(1772366400) * NS_PER_S + 7 * NS_PER_MS + 999,
                                           .link = "w0-router",
                                           .direction = "forward"};
    assert_string_equal(capture_files_name(&name, arena), "ring-vs-ps-0012-20260301T120000.007Z-w0-router-forward.pcap");
}

static void files_are_new(void **state)
{
    (void)state;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    char place[] = "/tmp/test_capture_links.XXXXXX";
    assert_non_null(mkdtemp(place));
    const char *directory = arena_printf(arena, "%s/a/b", place), *path = arena_printf(arena, "%s/f", directory);
    struct err err = {0};
    struct stat status;
    int directory_fd, fd;
    assert_int_equal(capture_files_check(directory, &err), 0);
    assert_int_not_equal(stat(directory, &status), 0); /* checking makes nothing */
    assert_int_equal(capture_files_directory(directory, &directory_fd, &err), 0);
    assert_int_equal(capture_files_check(directory, &err), 0);
    assert_int_equal(capture_files_open(directory_fd, directory, "f", &fd, &err), 0);
    close(fd);
    assert_int_equal(capture_files_open(directory_fd, directory, "f", &fd, &err), -ERR_HOST);
    assert_non_null(strstr(err.text, "never written over"));
    assert_int_equal(symlinkat("/tmp/elsewhere-that-is-not-there", directory_fd, "link"), 0);
    assert_int_equal(capture_files_open(directory_fd, directory, "link", &fd, &err), -ERR_HOST); /* not through a link either */
    assert_int_equal(capture_files_check(path, &err), -ERR_HOST);
    assert_non_null(strstr(err.text, "is no directory"));
    assert_int_equal(capture_files_check(arena_printf(arena, "%s/g", path), &err), -ERR_HOST);
    unlinkat(directory_fd, "link", 0);
    unlinkat(directory_fd, "f", 0);
    close(directory_fd);
    rmdir(directory);
    rmdir(arena_printf(arena, "%s/a", place));
    rmdir(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_by_name_and_index),
        cmocka_unit_test(too_many_links),
        cmocka_unit_test(the_command_line_takes_the_place_of_links_alone),
        cmocka_unit_test(names_of_files),
        cmocka_unit_test(files_are_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
