/* results/export_trace_chrome.c: a trace as Chrome's trace events; see export_trace_internal.h. Names are JSON strings; a time of
 * n ns is n / 1000 us with three decimals, so that it stays exact.
 *
 * Source: "Trace Event Format", docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. */
#include <inttypes.h>

#include "results/export_trace_internal.h"

/* A member that the writer of JSON does not know: a number of us out of ns. */
static void add_us(struct text *out, const char *key, int64_t ns)
{
    int64_t whole = ns / 1000, part = ns % 1000;
    text_printf(out, ",\"%s\":%s%" PRId64 ".%03d", key, ns < 0 ? "-" : "", whole < 0 ? -whole : whole,
                (int)(part < 0 ? -part : part));
}

static void begin_event(struct trace_out *out, struct json *json, const char *phase, const char *name)
{
    text_clear(&out->packet);
    text_add(&out->packet, out->some ? ",\n" : "\n");
    out->some = true;
    *json = (struct json){.out = &out->packet};
    json_begin_object(json, NULL);
    json_string(json, "ph", phase);
    json_string(json, "name", name);
}

static void end_event(struct trace_out *out, struct json *json)
{
    json_end_object(json);
    fwrite(out->packet.bytes, 1, out->packet.length, out->stream);
}

static void add_name(struct json *json, const char *name)
{
    json_begin_object(json, "args");
    json_string(json, "name", name);
    json_end_object(json);
}

static void begin(struct trace_out *out)
{
    fprintf(out->stream, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
}

static void end(struct trace_out *out)
{
    fprintf(out->stream, "\n]}\n");
}

static void process(struct trace_out *out, int64_t number, const char *name)
{
    struct json json;
    begin_event(out, &json, "M", "process_name");
    json_integer(&json, "pid", number);
    add_name(&json, name);
    end_event(out, &json);
}

/* What belongs to no process has no track here. */
static void track(struct trace_out *out, int64_t process_number, int64_t number, const char *name)
{
    struct json json;
    if (process_number == 0)
        return;
    begin_event(out, &json, "M", "thread_name");
    json_integer(&json, "pid", process_number);
    json_integer(&json, "tid", number);
    add_name(&json, name);
    end_event(out, &json);
}

/* One end of an arrow: at a slice's begin it leaves ("s"), at another's end it arrives ("f"). */
static void write_arrow(struct trace_out *out, const struct trace_slice *slice, const char *phase, uint64_t message, int64_t at_ns)
{
    struct json json;
    begin_event(out, &json, phase, "message");
    json_string(&json, "cat", "message");
    json_integer(&json, "id", (int64_t)message);
    json_integer(&json, "pid", slice->process);
    json_integer(&json, "tid", slice->track);
    add_us(&out->packet, "ts", at_ns);
    if (phase[0] == 'f')
        json_string(&json, "bp", "e");
    end_event(out, &json);
}

static void slice(struct trace_out *out, const struct trace_slice *slice)
{
    static const char *const flags[] = {"overrun", "cancelled", "discarded"};
    struct json json;
    begin_event(out, &json, "X", slice->name);
    json_integer(&json, "pid", slice->process);
    json_integer(&json, "tid", slice->track);
    add_us(&out->packet, "ts", slice->begin_ns);
    add_us(&out->packet, "dur", (int64_t)((uint64_t)slice->end_ns - (uint64_t)slice->begin_ns)); /* damaged: any times */
    json_begin_object(&json, "args");
    json_integer(&json, "round", slice->round);
    json_integer(&json, "bytes", slice->moved_bytes);
    if (slice->peer)
        json_string(&json, "peer", slice->peer);
    for (int f = 0; f < 3; f++)
        if (slice->flags >> f & 1)
            json_bool(&json, flags[f], true);
    json_end_object(&json);
    end_event(out, &json);
    if (slice->sent)
        write_arrow(out, slice, "s", slice->sent, slice->begin_ns);
    if (slice->received)
        write_arrow(out, slice, "f", slice->received, slice->end_ns);
}

/* A counter is told by its process and name. */
static void counter_track(struct trace_out *out, const struct trace_counter *counter)
{
    (void)out;
    (void)counter;
}

static void counter(struct trace_out *out, const struct trace_counter *counter, int64_t at_ns, int64_t value)
{
    struct json json;
    text_clear(&out->body);
    text_printf(&out->body, "%s (%s)%s%s", counter->name, counter->unit == TRACE_BYTES ? "bytes" : "segments",
                counter->label[0] ? " " : "", counter->label);
    begin_event(out, &json, "C", out->body.bytes);
    json_integer(&json, "pid", counter->process);
    add_us(&out->packet, "ts", at_ns);
    json_begin_object(&json, "args");
    json_integer(&json, "value", value);
    json_end_object(&json);
    end_event(out, &json);
}

static void event(struct trace_out *out, int64_t process_number, int64_t track_number, int64_t at_ns, const char *kind,
                  const char *text)
{
    struct json json;
    (void)track_number;
    begin_event(out, &json, "i", kind);
    json_string(&json, "s", process_number ? "p" : "g");
    if (process_number)
        json_integer(&json, "pid", process_number);
    add_us(&out->packet, "ts", at_ns);
    json_begin_object(&json, "args");
    json_string(&json, "text", text);
    json_end_object(&json);
    end_event(out, &json);
}

const struct trace_form_operations trace_chrome = {.begin = begin,
                                                   .process = process,
                                                   .track = track,
                                                   .slice = slice,
                                                   .counter_track = counter_track,
                                                   .counter = counter,
                                                   .event = event,
                                                   .end = end};
