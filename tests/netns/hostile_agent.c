/* hostile_agent.c: an agent program that means harm, for tests/e2e/hostile.t. It answers the control protocol well, and does
 * nothing else, until the operation at which the attack of node HOSTILE_NODE begins.
 *
 * usage: HOSTILE=ATTACK HOSTILE_NODE=w0 hostile_agent NODE, with the control socket at descriptor 3 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/frame.h"
#include "base/text.h"
#include "schemas/control.h"

enum { MUCH = 1 << 16 };

static void say(enum control_operation operation, const void *body)
{
    cleanup(text_free) struct text bytes = {0};
    if (control_operations[operation].body)
        wire_encode(control_operations[operation].body, body, &bytes);
    if (frame_send(CONTROL_FD, (uint16_t)operation, CONTROL_VERSION, bytes.bytes, bytes.length, NULL) < 0)
        _exit(0);
}

static void answer(enum control_operation order)
{
    static const struct control_listening listening = {.blas = ""};
    if (order == CONTROL_SETUP)
        say(CONTROL_LISTENING, &listening);
    else if (order == CONTROL_CONNECT)
        say(CONTROL_READY, NULL);
    else if (order == CONTROL_START)
        say(CONTROL_DONE, NULL);
}

static void tell(uint32_t rounds_done)
{
    struct control_progress progress = {.rounds_done = rounds_done};
    say(CONTROL_PROGRESS, &progress);
}

/* ---- attacks ---- */

static void flood(void)
{
    for (;;)
        tell(1);
}

static void flood_with_failures(void)
{
    struct control_failure failure = {.text = "\033[2Jmine"};
    for (;;)
        say(CONTROL_FAILURE, &failure);
}

/* Claims so many bytes and sends them, or more. */
static void claim(uint32_t length)
{
    static uint8_t bytes[MUCH];
    frame_header(bytes, CONTROL_REPORT, CONTROL_VERSION, length);
    while (send(CONTROL_FD, bytes, sizeof(bytes), MSG_NOSIGNAL) > 0)
        memset(bytes, 0, FRAME_HEADER_BYTES);
}

static void claim_much(void)
{
    claim(FRAME_BODY_MAX);
}

static void claim_all(void)
{
    claim(UINT32_MAX);
}

static void replay(void)
{
    answer(CONTROL_SETUP);
    answer(CONTROL_SETUP);
}

static void tell_of_a_billion(void)
{
    tell(1000000000);
}

static void report_at_once(void)
{
    puts("a result that is none");
    fflush(stdout);
    static const struct control_report nothing;
    say(CONTROL_REPORT, &nothing);
}

static void report_of_others(void)
{
    static const struct span_record spans[] = {{.peer = 65535}};
    static const struct control_report report = {.spans = spans, .span_count = 1};
    say(CONTROL_REPORT, &report);
}

static void report_a_billion_rounds(void)
{
    static struct round_record rounds[MUCH];
    for (uint32_t i = 0; i < MUCH; i++)
        rounds[i] = (struct round_record){.round = i * 16384};
    struct control_report report = {.rounds = rounds, .round_count = MUCH};
    say(CONTROL_REPORT, &report);
}

static void be_silent(void)
{
    for (;;)
        pause();
}

/* A child floods on, the process that is known ends. */
static void leave_a_child(void)
{
    if (fork() != 0)
        _exit(9);
    setsid();
    flood();
}

static void hear_nothing(void)
{
    shutdown(CONTROL_FD, SHUT_RD);
    flood();
}

static const struct attack {
    const char *name;
    enum control_operation at;
    void (*begin)(void);
} attacks[] = {
    {"flood", CONTROL_START, flood},
    {"failures", CONTROL_START, flood_with_failures},
    {"much", CONTROL_CONNECT, claim_much},
    {"all", CONTROL_COLLECT, claim_all},
    {"replay", CONTROL_SETUP, replay},
    {"billion", CONTROL_START, tell_of_a_billion},
    {"early", CONTROL_CONNECT, report_at_once},
    {"others", CONTROL_COLLECT, report_of_others},
    {"rounds", CONTROL_COLLECT, report_a_billion_rounds},
    {"silent", CONTROL_START, be_silent},
    {"child", CONTROL_START, leave_a_child},
    {"deaf", CONTROL_CONNECT, hear_nothing},
};

int main(int argc, char **argv)
{
    const char *name = getenv("HOSTILE"), *node = getenv("HOSTILE_NODE");
    const struct attack *attack = NULL;
    if (argc != 2 || !name || !node) /* it is no fork server, too */
        return 2;
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
        if (strcmp(attacks[i].name, name) == 0)
            attack = &attacks[i];
    if (!attack)
        return 2;
    struct frame_reader reader = {0};
    struct frame frame;
    for (;;) {
        int got = frame_reader_next(&reader, &frame, NULL);
        if (got < 0 || (got == 0 && frame_reader_fill(&reader, CONTROL_FD, NULL) < 0))
            return 0;
        if (got == 0) {
            usleep(1000);
            continue;
        }
        if (frame.operation == attack->at && strcmp(argv[1], node) == 0)
            attack->begin();
        else
            answer(frame.operation);
    }
}
