/* results/export_trace_messages.c: numbers of messages that have both ends; see export_trace_internal.h. Sends and receives are
 * read side by side, sorted by sender, receiver and order: what stands beside each other is one message. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "results/export_trace_internal.h"
#include "results/sqlite_wrap.h"

struct pair {
    int64_t sender, receiver;
    uint64_t sent, received; /* number of the next one; 0: they have no arrows */
};

struct trace_messages {
    int64_t send, receive; /* kinds of spans */
    struct pair *pairs;    /* sorted */
    size_t count;
};

static int compare(const void *a, const void *b)
{
    const struct pair *left = a, *right = b;
    int senders = (left->sender > right->sender) - (left->sender < right->sender);
    return senders ? senders : (left->receiver > right->receiver) - (left->receiver < right->receiver);
}

/* One side, on its next row. */
struct side {
    struct sql_statement *rows;
    struct pair pair;
    int64_t ns;
    int found; /* as sql_next() */
};

static void next(struct side *side, struct err *err)
{
    side->found = sql_next(side->rows, err);
    if (side->found <= 0)
        return;
    side->pair = (struct pair){.sender = sql_integer(side->rows, 0), .receiver = sql_integer(side->rows, 1)};
    side->ns = sql_integer(side->rows, 2);
}

static int begin(struct sql *sql, const char *query, int64_t trial, struct side *side, struct err *err)
{
    if (sql_prepare(sql, query, &side->rows, err) < 0)
        return -ERR_HOST;
    sql_start(side->rows);
    sql_put_integer(side->rows, trial);
    next(side, err);
    return side->found < 0 ? side->found : 0;
}

static bool is_at(const struct side *side, const struct pair *pair)
{
    return side->found > 0 && compare(&side->pair, pair) == 0;
}

/* All rows of the pair that comes first. Returns the number of its messages, 0 where they have no arrows. */
static uint64_t read_pair(struct side *sends, struct side *receives, struct pair *pair, struct err *err)
{
    bool matched = true;
    uint64_t messages = 0;
    *pair = receives->found <= 0 || (sends->found > 0 && compare(&sends->pair, &receives->pair) < 0) ? sends->pair : receives->pair;
    for (;; messages++) {
        bool sent = is_at(sends, pair), received = is_at(receives, pair);
        if (!sent && !received)
            return matched ? messages : 0;
        if (sent != received || receives->ns < sends->ns)
            matched = false;
        if (sent)
            next(sends, err);
        if (received)
            next(receives, err);
    }
}

static int read_pairs(struct side *sends, struct side *receives, struct arena *arena, struct trace_messages *messages,
                      struct err *err)
{
    size_t room = 0;
    uint64_t number = 1;
    while (sends->found > 0 || receives->found > 0) {
        if (messages->count == room) {
            struct pair *more = arena_new_array(arena, struct pair, room ? 2 * room : 16);
            if (room)
                memcpy(more, messages->pairs, room * sizeof(*more));
            messages->pairs = more;
            room = room ? 2 * room : 16;
        }
        struct pair *pair = &messages->pairs[messages->count++];
        uint64_t count = read_pair(sends, receives, pair, err);
        if (sends->found < 0 || receives->found < 0)
            return sends->found < 0 ? sends->found : receives->found;
        pair->sent = pair->received = count ? number : 0;
        number += count;
    }
    return 0;
}

int trace_messages_read(struct sql *sql, int64_t trial, struct arena *arena, struct trace_messages **messages, struct err *err)
{
    struct trace_messages *read = arena_new_object(arena, struct trace_messages);
    struct side sends = {0}, receives = {0};
    read->send = read->receive = -1;
    int result = sql_ask_integer(sql, "SELECT kind FROM span_kind WHERE name = 'send'", &read->send, err);
    if (result == 0)
        result = sql_ask_integer(sql, "SELECT kind FROM span_kind WHERE name = 'receive'", &read->receive, err);
    if (result == 0)
        result = begin(sql,
                       "SELECT node, peer, begin_ns FROM span WHERE trial_id = ? AND peer IS NOT NULL AND "
                       "kind = (SELECT kind FROM span_kind WHERE name = 'send') ORDER BY 1, 2, begin_ns, span_id",
                       trial, &sends, err);
    if (result == 0)
        result = begin(sql,
                       "SELECT peer, node, end_ns FROM span WHERE trial_id = ? AND peer IS NOT NULL AND "
                       "kind = (SELECT kind FROM span_kind WHERE name = 'receive') ORDER BY 1, 2, begin_ns, span_id",
                       trial, &receives, err);
    if (result == 0)
        result = read_pairs(&sends, &receives, arena, read, err);
    sql_finish(sends.rows);
    sql_finish(receives.rows);
    if (result == 0)
        *messages = read;
    return result;
}

void trace_messages_take(struct trace_messages *messages, int64_t kind, int64_t node, int64_t peer, struct trace_slice *slice)
{
    if ((kind != messages->send && kind != messages->receive) || messages->count == 0)
        return;
    struct pair wanted = {.sender = kind == messages->send ? node : peer, .receiver = kind == messages->send ? peer : node};
    struct pair *pair = bsearch(&wanted, messages->pairs, messages->count, sizeof(wanted), compare);
    if (!pair || !pair->sent)
        return;
    if (kind == messages->send)
        slice->sent = pair->sent++;
    else
        slice->received = pair->received++;
}
