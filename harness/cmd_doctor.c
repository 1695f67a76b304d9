/* cmd_doctor.c: `laggard doctor`: what this host can do; exit code 3 when no campaign with delayed links can run here. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/options.h"
#include "base/text.h"
#include "harness/commands.h"
#include "harness/doctor.h"
#include "harness/doctor_noise.h"
#include "results/store.h"

struct doctor_options {
    bool json, list;
    const char *root, *noise;
};
static const struct option_row doctor_rows[] = {
    {.name = "json", .type = OPTION_FLAG, .offset = offsetof(struct doctor_options, json), .help = "print one JSON document"},
    {.name = "checks",
     .type = OPTION_FLAG,
     .offset = offsetof(struct doctor_options, list),
     .help = "ask nothing: print the checks with their levels, a table in Markdown"},
    {.name = "root",
     .type = OPTION_STRING,
     .offset = offsetof(struct doctor_options, root),
     .value_name = "FOLDER",
     .help = "read /proc, /sys and /dev below this folder; what is tried and measured is this host"},
    {.name = "noise",
     .type = OPTION_STRING,
     .offset = offsetof(struct doctor_options, noise),
     .value_name = "DB",
     .help = "measure for a few seconds how steady this host is, too, and store it with the last campaign of this database"},
    {0},
};
const struct option_table cmd_doctor_table = {
    .command = "doctor",
    .usage = "[CHECK]... [--json] [--checks] [--root FOLDER] [--noise DB]",
    .summary = "Says what this host can do, and the remedy for what it cannot.",
    .rows = doctor_rows,
    .positional_minimum = 0,
    .positional_maximum = -1,
};

static void print_list(void)
{
    printf("| Check | Level | Question |\n| --- | --- | --- |\n");
    for (int i = 0; i < doctor_check_count(); i++) {
        const struct doctor_check *check = doctor_check_at(i);
        printf("| `%s` | %s | %s |\n", check->name, doctor_level_names[check->level], check->question);
    }
}

static void print_text(const struct doctor_check *const *asked, const struct doctor_finding *findings, int count)
{
    static const char *const marks[DOCTOR_STATE_COUNT] = {"?", "yes", "no"};
    for (int i = 0; i < count; i++)
        printf("%-4s %-18s %s\n", marks[findings[i].state], asked[i]->name,
               findings[i].found                     ? findings[i].found
               : findings[i].state == DOCTOR_UNKNOWN ? "this host does not tell"
                                                     : asked[i]->question);
    for (int level = 0; level < DOCTOR_LEVEL_COUNT; level++)
        for (int i = 0; i < count; i++)
            if ((int)asked[i]->level == level && findings[i].remedy)
                printf("\n%s: %s: %s\n", doctor_level_names[level], asked[i]->name, findings[i].remedy);
}

static void print_json(const struct doctor_check *const *asked, const struct doctor_finding *findings, int count, bool able,
                       const struct doctor_noise *noise)
{
    cleanup(text_free) struct text out = {0};
    struct json json = {.out = &out};
    json_begin_object(&json, NULL);
    json_bool(&json, "able", able);
    json_begin_array(&json, "checks");
    for (int i = 0; i < count; i++) {
        json_begin_object(&json, NULL);
        json_string(&json, "name", asked[i]->name);
        json_string(&json, "level", doctor_level_names[asked[i]->level]);
        json_string(&json, "question", asked[i]->question);
        json_string(&json, "state", doctor_state_names[findings[i].state]);
        json_string(&json, "found", findings[i].found);
        json_string(&json, "remedy", findings[i].remedy);
        json_begin_object(&json, "numbers");
        for (int n = 0; n < findings[i].number_count; n++)
            json_double(&json, findings[i].numbers[n].name, findings[i].numbers[n].value);
        json_end_object(&json);
        json_end_object(&json);
    }
    json_end_array(&json);
    if (noise) {
        json_begin_object(&json, "noise");
        doctor_noise_json(noise, &json);
        json_end_object(&json);
    }
    json_end_object(&json);
    printf("%s\n", out.bytes);
}

static void print_noise(const struct doctor_noise *noise)
{
    printf("\nnoise: woken up late by %.3f ms (median), %.3f ms (99 %%), %.3f ms at most\n", noise->late_p50_ns / 1e6,
           noise->late_p99_ns / 1e6, noise->late_most_ns / 1e6);
    printf("noise: the same work took %.1f ms, then %.1f ms; a piece of it %.3f ms (median), %.3f ms (99 %%)\n",
           noise->compute_first_ns / 1e6, noise->compute_second_ns / 1e6, noise->piece_p50_ns / 1e6, noise->piece_p99_ns / 1e6);
    if (noise->round_trips > 0)
        printf("noise: a frame there and back over a veth pair took %.3f ms (median), %.3f ms (99 %%) of %d\n",
               noise->round_trip_p50_ns / 1e6, noise->round_trip_p99_ns / 1e6, noise->round_trips);
    else
        printf("noise: no frames were sent: %s\n", noise->no_round_trips);
}

/* Those that were named, or all. */
static int choose(int argc, char **argv, const struct doctor_check **asked, int *count, struct err *err)
{
    const char *names[64];
    *count = argc > 0 ? argc : doctor_check_count();
    if (*count > doctor_check_count())
        return err_set(err, ERR_USAGE, "doctor knows %d checks and was asked for %d", doctor_check_count(), argc);
    for (int i = 0; i < doctor_check_count(); i++)
        names[i] = doctor_check_at(i)->name;
    for (int i = 0; i < *count; i++) {
        asked[i] = argc > 0 ? doctor_check_find(argv[i]) : doctor_check_at(i);
        if (asked[i])
            continue;
        const char *near = options_nearest(argv[i], names, (size_t)doctor_check_count());
        if (near)
            return err_set(err, ERR_USAGE, "unknown check '%s', did you mean '%s'?", argv[i], near);
        return err_set(err, ERR_USAGE, "unknown check '%s'; `laggard doctor --checks` lists them", argv[i]);
    }
    return 0;
}

int cmd_doctor(int argc, char **argv, struct err *err)
{
    struct doctor_options options = {.root = ""};
    int named, count;
    int result = options_parse(&cmd_doctor_table, argc, argv, &options, &named, err);
    if (result != 0)
        return result < 0 ? result : 0;
    cleanup(arena_cleanup) struct arena *arena = arena_new();
    const struct doctor_check **asked = arena_new_array(arena, const struct doctor_check *, (size_t)doctor_check_count());
    struct doctor_finding *findings = arena_new_array(arena, struct doctor_finding, (size_t)doctor_check_count());
    if ((result = choose(named, argv, asked, &count, err)) < 0)
        return result;
    struct stat root;
    if (options.root[0] && (stat(options.root, &root) < 0 || !S_ISDIR(root.st_mode)))
        return err_set(err, ERR_USAGE, "--root: there is no folder '%s'; name one with copies of another host's proc, sys and dev",
                       options.root);
    if (options.list && (named > 0 || options.json || options.noise))
        return err_set(err, ERR_USAGE, "--checks prints all checks, as Markdown, and asks nothing: leave %s out",
                       named > 0      ? "their names"
                       : options.json ? "--json"
                                      : "--noise");
    if (options.list) {
        print_list();
        return 0;
    }
    struct doctor_noise noise;
    int64_t campaign_id = 0;
    if (options.noise &&
        ((result = store_check(options.noise, err)) < 0 || (result = doctor_noise_campaign(options.noise, &campaign_id, err)) < 0))
        return result;
    struct doctor_host host = {.root = options.root, .folder = ".", .user = geteuid(), .arena = arena};
    if ((result = fabric_probe(&host.fabric, err)) < 0)
        return result;
    bool able = true;
    for (int i = 0; i < count; i++) {
        asked[i]->look(&host, &findings[i]);
        able &= asked[i]->level != DOCTOR_NEEDED || findings[i].state == DOCTOR_YES;
    }
    if (options.noise)
        doctor_noise_measure(&noise);
    if (options.json)
        print_json(asked, findings, count, able, options.noise ? &noise : NULL);
    else
        print_text(asked, findings, count);
    if (options.noise && !options.json)
        print_noise(&noise);
    if (options.noise && (result = doctor_noise_store(options.noise, campaign_id, &noise, err)) < 0)
        return result;
    if (able)
        return 0;
    return err_set(
        err, ERR_HOST,
        "this host cannot run campaigns with delayed links; what is missing stands above (the virtual world needs none of "
        "it: laggard run FILE --world virtual)");
}
