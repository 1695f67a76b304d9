/* results/export_trace_perfetto.c: a trace as Perfetto's TrackEvent packets; see export_trace_internal.h. A file is a message
 * Trace, which is nothing but packets, one after the other.
 *
 *     process       track_descriptor with process: its track has the node's events
 *     track         track_descriptor with the process' as parent; viewers show those of one name as one
 *     slice         SLICE_BEGIN, with its figures as annotations, and SLICE_END; both at once, since readers sort by time and keep
 *                   the order of packets where times are equal
 *     message       flow_ids in the send's SLICE_BEGIN, the same number in terminating_flow_ids in the receive's SLICE_END: then a
 *                   receive that began before its send still comes after it
 *     counter       track_descriptor with counter, then COUNTER
 *     event         INSTANT
 *
 * Times are ns after the start of the trial. Source: github.com/google/perfetto, protos/perfetto/trace/: trace.proto,
 * trace_packet.proto and track_event/{track_event,track_descriptor,process_descriptor,counter_descriptor,debug_annotation}.proto;
 * docs/reference/synthetic-track-event.md says how a program writes them by itself. */
#include "results/export_trace_internal.h"
#include "results/protobuf.h"

enum { TRACE_PACKET = 1 };
enum {
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE_ID = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_TRACK_DESCRIPTOR = 60,
    PACKET_FIRST_ON_SEQUENCE = 87
};
enum { SEQUENCE_STATE_CLEARED = 1 };
enum {
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_TRACK_UUID = 11,
    EVENT_NAME = 23,
    EVENT_COUNTER_VALUE = 30,
    EVENT_FLOW_IDS = 47,
    EVENT_TERMINATING_FLOW_IDS = 48
};
enum { TYPE_SLICE_BEGIN = 1, TYPE_SLICE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_PARENT_UUID = 5, TRACK_COUNTER = 8 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { COUNTER_UNIT = 3, COUNTER_UNIT_NAME = 6 };
enum { UNIT_SIZE_BYTES = 3 };
enum { ANNOTATION_BOOL = 2, ANNOTATION_INT = 4, ANNOTATION_STRING = 6, ANNOTATION_NAME = 10 };

/* Tracks and processes share one space of numbers here; zero is a track that viewers have anyway. */
static uint64_t uuid_of_process(int64_t process)
{
    return 2 * (uint64_t)process;
}

static uint64_t uuid_of_track(int64_t track)
{
    return 2 * (uint64_t)track + 1;
}

static void write_packet(struct trace_out *out)
{
    protobuf_varint(&out->packet, PACKET_SEQUENCE_ID, 1);
    text_clear(&out->part);
    protobuf_message(&out->part, TRACE_PACKET, &out->packet);
    fwrite(out->part.bytes, 1, out->part.length, out->stream);
    text_clear(&out->packet);
}

static void begin(struct trace_out *out)
{
    protobuf_varint(&out->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_STATE_CLEARED);
    protobuf_varint(&out->packet, PACKET_FIRST_ON_SEQUENCE, 1);
    write_packet(out);
}

static void end(struct trace_out *out)
{
    (void)out;
}

static void write_descriptor(struct trace_out *out)
{
    protobuf_message(&out->packet, PACKET_TRACK_DESCRIPTOR, &out->body);
    write_packet(out);
}

static void process(struct trace_out *out, int64_t number, const char *name)
{
    text_clear(&out->body);
    protobuf_varint(&out->body, TRACK_UUID, uuid_of_process(number));
    text_clear(&out->part);
    protobuf_varint(&out->part, PROCESS_PID, (uint64_t)number);
    protobuf_string(&out->part, PROCESS_NAME, name);
    protobuf_message(&out->body, TRACK_PROCESS, &out->part);
    write_descriptor(out);
}

static void begin_track(struct trace_out *out, int64_t process_number, int64_t number, const char *name)
{
    text_clear(&out->body);
    protobuf_varint(&out->body, TRACK_UUID, uuid_of_track(number));
    if (process_number)
        protobuf_varint(&out->body, TRACK_PARENT_UUID, uuid_of_process(process_number));
    protobuf_string(&out->body, TRACK_NAME, name);
}

static void track(struct trace_out *out, int64_t process_number, int64_t number, const char *name)
{
    begin_track(out, process_number, number, name);
    write_descriptor(out);
}

static void begin_event(struct trace_out *out, int64_t at_ns, uint64_t uuid, uint64_t type)
{
    protobuf_varint(&out->packet, PACKET_TIMESTAMP, (uint64_t)at_ns);
    text_clear(&out->body);
    protobuf_varint(&out->body, EVENT_TYPE, type);
    protobuf_varint(&out->body, EVENT_TRACK_UUID, uuid);
}

static void end_event(struct trace_out *out)
{
    protobuf_message(&out->packet, PACKET_TRACK_EVENT, &out->body);
    write_packet(out);
}

static void begin_annotation(struct trace_out *out, const char *name)
{
    text_clear(&out->part);
    protobuf_string(&out->part, ANNOTATION_NAME, name);
}

static void add_number(struct trace_out *out, const char *name, unsigned field, int64_t value)
{
    begin_annotation(out, name);
    protobuf_varint(&out->part, field, (uint64_t)value);
    protobuf_message(&out->body, EVENT_ANNOTATION, &out->part);
}

static void add_string(struct trace_out *out, const char *name, const char *value)
{
    begin_annotation(out, name);
    protobuf_string(&out->part, ANNOTATION_STRING, value);
    protobuf_message(&out->body, EVENT_ANNOTATION, &out->part);
}

static void slice(struct trace_out *out, const struct trace_slice *slice)
{
    static const char *const flags[] = {"overrun", "cancelled", "discarded"};
    begin_event(out, slice->begin_ns, uuid_of_track(slice->track), TYPE_SLICE_BEGIN);
    protobuf_string(&out->body, EVENT_NAME, slice->name);
    add_number(out, "round", ANNOTATION_INT, slice->round);
    add_number(out, "bytes", ANNOTATION_INT, slice->moved_bytes);
    if (slice->peer)
        add_string(out, "peer", slice->peer);
    for (int f = 0; f < 3; f++)
        if (slice->flags >> f & 1)
            add_number(out, flags[f], ANNOTATION_BOOL, 1);
    if (slice->sent)
        protobuf_fixed64(&out->body, EVENT_FLOW_IDS, slice->sent);
    end_event(out);
    begin_event(out, slice->end_ns, uuid_of_track(slice->track), TYPE_SLICE_END);
    if (slice->received)
        protobuf_fixed64(&out->body, EVENT_TERMINATING_FLOW_IDS, slice->received);
    end_event(out);
}

static void counter_track(struct trace_out *out, const struct trace_counter *counter)
{
    text_clear(&out->inner);
    text_add(&out->inner, counter->name);
    if (counter->label[0])
        text_printf(&out->inner, " %s", counter->label);
    begin_track(out, counter->process, counter->track, out->inner.bytes);
    text_clear(&out->part);
    if (counter->unit == TRACE_BYTES)
        protobuf_varint(&out->part, COUNTER_UNIT, UNIT_SIZE_BYTES);
    else
        protobuf_string(&out->part, COUNTER_UNIT_NAME, "segments");
    protobuf_message(&out->body, TRACK_COUNTER, &out->part);
    write_descriptor(out);
}

static void counter(struct trace_out *out, const struct trace_counter *counter, int64_t at_ns, int64_t value)
{
    begin_event(out, at_ns, uuid_of_track(counter->track), TYPE_COUNTER);
    protobuf_varint(&out->body, EVENT_COUNTER_VALUE, (uint64_t)value);
    end_event(out);
}

static void event(struct trace_out *out, int64_t process_number, int64_t track_number, int64_t at_ns, const char *kind,
                  const char *text)
{
    begin_event(out, at_ns, process_number ? uuid_of_process(process_number) : uuid_of_track(track_number), TYPE_INSTANT);
    protobuf_string(&out->body, EVENT_NAME, kind);
    add_string(out, "text", text);
    end_event(out);
}

const struct trace_form_operations trace_perfetto = {.begin = begin,
                                                     .process = process,
                                                     .track = track,
                                                     .slice = slice,
                                                     .counter_track = counter_track,
                                                     .counter = counter,
                                                     .event = event,
                                                     .end = end};
