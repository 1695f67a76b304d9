/* control.c: the field tables of records.h and control.h. */
#include "schemas/control.h"

#include <assert.h>

static const struct wire_field span_fields[] = {
    WIRE_FIELD(span_record, round, WIRE_U32, "round, warm-up included"),
    WIRE_FIELD(span_record, kind, WIRE_U32, "enum span_kind"),
    WIRE_FIELD(span_record, peer, WIRE_U32, "node index, 2^32-1 where there is none"),
    WIRE_FIELD(span_record, flags, WIRE_U32, "enum span_flags"),
    WIRE_FIELD(span_record, begin_ns, WIRE_I64, "ns after the trial's start"),
    WIRE_FIELD(span_record, end_ns, WIRE_I64, "ns after the trial's start"),
    WIRE_FIELD(span_record, bytes, WIRE_U64, "payload or touched bytes"),
};
static const struct wire_table span_record_table = WIRE_TABLE(span_record, span_fields);

static const struct wire_field round_fields[] = {
    WIRE_FIELD(round_record, round, WIRE_U32, "round, warm-up included"),
    WIRE_FIELD(round_record, held_ns, WIRE_I64, "ns after the trial's start when the node held the new model"),
};
static const struct wire_table round_record_table = WIRE_TABLE(round_record, round_fields);

static const struct wire_field gradient_fields[] = {
    WIRE_FIELD(gradient_record, round, WIRE_U32, "update in which it was used, or that was being collected"),
    WIRE_FIELD(gradient_record, worker, WIRE_U32, "worker that computed it"),
    WIRE_FIELD(gradient_record, step, WIRE_U64, "the worker's number of the mini-batch"),
    WIRE_FIELD(gradient_record, staleness, WIRE_U32, "updates between the model it was computed at and the one it met"),
    WIRE_FIELD(gradient_record, order, WIRE_U32, "order of arrival in the round, from 0"),
    WIRE_FIELD(gradient_record, fate, WIRE_U32, "enum gradient_fate"),
    WIRE_FIELD(gradient_record, arrived_ns, WIRE_I64, "ns after the trial's start when all of it had come"),
};
static const struct wire_table gradient_record_table = WIRE_TABLE(gradient_record, gradient_fields);

static const struct wire_field evaluation_fields[] = {
    WIRE_FIELD(evaluation_record, round, WIRE_U32, "after this many rounds"),
    WIRE_FIELD(evaluation_record, at_ns, WIRE_I64, "ns after the trial's start"),
    WIRE_FIELD(evaluation_record, loss, WIRE_F64, "mean cross-entropy, nats"),
    WIRE_FIELD(evaluation_record, accuracy, WIRE_F64, "share of samples, 0 to 1"),
    WIRE_FIELD(evaluation_record, sample_count, WIRE_U64, "samples evaluated"),
};
static const struct wire_table evaluation_record_table = WIRE_TABLE(evaluation_record, evaluation_fields);

static const struct wire_field sample_fields[] = {
    WIRE_FIELD(sample_record, at_ns, WIRE_I64, "ns after the trial's start"),
    WIRE_FIELD(sample_record, retransmits, WIRE_U64, "TCP segments retransmitted since the connections were made"),
    WIRE_FIELD(sample_record, connections, WIRE_U32, "connections that are up"),
    WIRE_FIELD(sample_record, window_least_segments, WIRE_U32, "smallest congestion window of them"),
    WIRE_FIELD(sample_record, window_most_segments, WIRE_U32, "largest"),
    WIRE_FIELD(sample_record, unacknowledged_segments, WIRE_U32, "in flight, of all"),
    WIRE_FIELD(sample_record, round_trip_most_ns, WIRE_I64, "longest smoothed round trip, ns"),
};
static const struct wire_table sample_record_table = WIRE_TABLE(sample_record, sample_fields);

static const struct wire_field counter_fields[] = {
    WIRE_FIELD(node_counters, overruns, WIRE_U64, "compute spans whose real work took longer than drawn"),
    WIRE_FIELD(node_counters, compute_tasks, WIRE_U64, "compute tasks"),
    WIRE_FIELD(node_counters, gradient_mean_ns, WIRE_F64, "mean real work of a gradient, ns"),
    WIRE_FIELD(node_counters, sent_payload_bytes, WIRE_U64, "payload bytes sent"),
    WIRE_FIELD(node_counters, received_payload_bytes, WIRE_U64, "payload bytes received"),
    WIRE_FIELD(node_counters, sent_messages, WIRE_U64, "messages sent"),
    WIRE_FIELD(node_counters, received_messages, WIRE_U64, "messages received"),
    WIRE_FIELD(node_counters, discarded_messages, WIRE_U64, "messages received and not wanted"),
    WIRE_FIELD(node_counters, tcp_retransmits, WIRE_U64, "TCP segments retransmitted"),
    WIRE_FIELD(node_counters, tcp_timeouts, WIRE_U64, "TCP retransmission timeouts"),
    WIRE_FIELD(node_counters, timer_late_count, WIRE_U64, "timers over 1 ms late"),
    WIRE_FIELD(node_counters, timer_late_max_ns, WIRE_I64, "latest timer, ns"),
    WIRE_FIELD(node_counters, samples_lost, WIRE_U64, "looks at TCP's state for which there was no memory"),
    WIRE_FIELD(node_counters, spans_lost, WIRE_U64, "spans for which there was no memory"),
    WIRE_FIELD(node_counters, checks, WIRE_U64, "synthetic values compared with the exact mean"),
    WIRE_FIELD(node_counters, check_failures, WIRE_U64, "of which differed"),
    WIRE_FIELD(node_counters, peak_rss_bytes, WIRE_U64, "peak resident memory"),
    WIRE_FIELD(node_counters, private_bytes, WIRE_U64, "private dirty memory at the end"),
    WIRE_FIELD(node_counters, loop_busy_ns, WIRE_I64, "processor time of the event loop's thread, ns; -1: unknown"),
    WIRE_FIELD(node_counters, loop_wait_ns, WIRE_I64, "how long it was ready and had no processor, ns; -1: unknown"),
    WIRE_FIELD(node_counters, compute_busy_ns, WIRE_I64, "the same of the compute thread, 0: there is none"),
    WIRE_FIELD(node_counters, compute_wait_ns, WIRE_I64, "the same of the compute thread"),
};
static const struct wire_table node_counters_table = WIRE_TABLE(node_counters, counter_fields);

static const struct wire_field layer_fields[] = {WIRE_FIELD(control_layer, width, WIRE_U32, "units of a hidden layer")};
static const struct wire_table layer_table = WIRE_TABLE(control_layer, layer_fields);
static const struct wire_field value_fields[] = {WIRE_FIELD(control_value, value, WIRE_F64, "a scheme parameter")};
static const struct wire_table value_table = WIRE_TABLE(control_value, value_fields);
static const struct wire_field scheme_object_fields[] = {
    WIRE_FIELD(control_scheme_object, file, WIRE_STRING, "absolute path of a shared object with schemes"),
    WIRE_FIELD(control_scheme_object, sha256, WIRE_STRING, "its digest, hexadecimal"),
};
static const struct wire_table scheme_object_table = WIRE_TABLE(control_scheme_object, scheme_object_fields);
static const struct wire_field mark_fields[] = {WIRE_FIELD(control_mark, rounds_done, WIRE_U32, "rounds done, warm-up included")};
static const struct wire_table mark_table = WIRE_TABLE(control_mark, mark_fields);

static const struct wire_field message_size_fields[] = {
    WIRE_FIELD(control_message_size, bytes, WIRE_U64, "synthetic gradient, bytes"),
    WIRE_BLOB(control_message_size, prepared, prepared_bytes, "what the scheme prepared for this size"),
};
static const struct wire_table message_size_table = WIRE_TABLE(control_message_size, message_size_fields);

static const struct wire_field node_fields[] = {
    WIRE_FIELD(control_node, name, WIRE_STRING, "node name"),
    WIRE_FIELD(control_node, role, WIRE_U32, "enum node_role"),
    WIRE_FIELD(control_node, address, WIRE_U32, "IPv4"),
    WIRE_FIELD(control_node, slow_factor, WIRE_F64, "factor on that worker's drawn compute times"),
    WIRE_FIELD(control_node, samples, WIRE_U32, "training samples that worker owns, 0: no data"),
};
static const struct wire_table node_table = WIRE_TABLE(control_node, node_fields);

static const struct wire_field path_fields[] = {
    WIRE_FIELD(control_path, latency_ns, WIRE_I64, "one-way delay to that node, ns"),
    WIRE_FIELD(control_path, payload_bps, WIRE_U64, "payload bits a second to that node, 0: not limited"),
};
static const struct wire_table path_table = WIRE_TABLE(control_path, path_fields);

static const struct wire_field distribution_fields[] = {
    WIRE_FIELD(control_distribution, kind, WIRE_U32, "enum distribution_kind"),
    WIRE_FIELD(control_distribution, value_ns, WIRE_F64, "constant, ns"),
    WIRE_FIELD(control_distribution, mean_ns, WIRE_F64, "exponential, ns"),
    WIRE_FIELD(control_distribution, shift_ns, WIRE_F64, "shifted exponential, ns"),
    WIRE_FIELD(control_distribution, mu, WIRE_F64, "lognormal"),
    WIRE_FIELD(control_distribution, sigma, WIRE_F64, "lognormal"),
    WIRE_FIELD(control_distribution, unit_ns, WIRE_F64, "lognormal, ns"),
    WIRE_FIELD(control_distribution, scale_ns, WIRE_F64, "pareto, ns"),
    WIRE_FIELD(control_distribution, shape, WIRE_F64, "pareto"),
};
static const struct wire_table distribution_table = WIRE_TABLE(control_distribution, distribution_fields);

static const struct wire_field setup_fields[] = {
    WIRE_FIELD(control_setup, node, WIRE_U32, "this node's row of nodes"),
    WIRE_LIST(control_setup, nodes, node_count, &node_table, "the roster, workers first"),
    WIRE_LIST(control_setup, paths, path_count, &path_table, "this node's path to each, where the scheme asks for paths"),
    WIRE_FIELD(control_setup, port, WIRE_U32, "TCP port of every node"),
    WIRE_FIELD(control_setup, seed, WIRE_U64, "trial seed"),
    WIRE_FIELD(control_setup, cell, WIRE_U32, "cell index"),
    WIRE_FIELD(control_setup, scheme, WIRE_STRING, "scheme name"),
    WIRE_LIST(control_setup, scheme_objects, scheme_object_count, &scheme_object_table, "objects with schemes of the user's own"),
    WIRE_LIST(control_setup, values, value_count, &value_table, "scheme parameters in table order"),
    WIRE_FIELD(control_setup, model, WIRE_U32, "enum model_kind"),
    WIRE_FIELD(control_setup, dataset, WIRE_U32, "enum dataset_kind"),
    WIRE_FIELD(control_setup, gradients, WIRE_U32, "enum gradient_kind"),
    WIRE_FIELD(control_setup, dataset_path, WIRE_STRING, "folder of the IDX files"),
    WIRE_FIELD(control_setup, dataset_fd, WIRE_U32, "descriptor of the shared data set, 0: none"),
    WIRE_LIST(control_setup, layers, layer_count, &layer_table, "hidden layers"),
    WIRE_FIELD(control_setup, shard_split, WIRE_U32, "enum shard_kind"),
    WIRE_FIELD(control_setup, shard_alpha, WIRE_F64, "concentration of labels"),
    WIRE_FIELD(control_setup, shard_size_alpha, WIRE_F64, "concentration of shards' sizes, 0: equal"),
    WIRE_FIELD(control_setup, batch, WIRE_U32, "samples a worker and round"),
    WIRE_FIELD(control_setup, learning_rate, WIRE_F64, "learning rate"),
    WIRE_FIELD(control_setup, momentum, WIRE_F64, "momentum, 0: none"),
    WIRE_FIELD(control_setup, weight_decay, WIRE_F64, "weight decay, 0: none"),
    WIRE_FIELD(control_setup, decay_factor, WIRE_F64, "of the learning rate"),
    WIRE_FIELD(control_setup, decay_every, WIRE_U32, "rounds between decays of the learning rate, 0: none"),
    WIRE_FIELD(control_setup, rounds, WIRE_U32, "rounds of each size, warm-up included"),
    WIRE_FIELD(control_setup, warmup_rounds, WIRE_U32, "warm-up rounds of each size"),
    WIRE_FIELD(control_setup, evaluate_every, WIRE_U32, "rounds between evaluations, 0: only at the end"),
    WIRE_FIELD(control_setup, size_bytes, WIRE_U64, "synthetic gradient, bytes"),
    WIRE_LIST(control_setup, sizes, size_count, &message_size_table, "in place of it, sizes one after the other; rounds count on"),
    WIRE_FIELD(control_setup, byzantine, WIRE_U32, "1: this node's gradients are falsified"),
    WIRE_FIELD(control_setup, attack, WIRE_U32, "enum attack_kind"),
    WIRE_FIELD(control_setup, attack_factor, WIRE_F64, "factor of the attack"),
    WIRE_EMBED(control_setup, compute_time, &distribution_table, "compute times"),
    WIRE_FIELD(control_setup, record_spans, WIRE_U32, "1: record spans"),
    WIRE_FIELD(control_setup, sample_every_ns, WIRE_I64, "between looks at TCP's state, ns; 0: none"),
    WIRE_FIELD(control_setup, busy_wait_ns, WIRE_I64, "looking for messages before sleeping, ns; 0: none"),
    WIRE_LIST(control_setup, marks, mark_count, &mark_table,
              "when the node that tells of rounds sends PROGRESS at once, ascending"),
    WIRE_BLOB(control_setup, prepared, prepared_bytes, "what the scheme prepared for the cell"),
};
static const struct wire_table setup_table = WIRE_TABLE(control_setup, setup_fields);

static const struct wire_field listening_fields[] = {
    WIRE_FIELD(control_listening, blas, WIRE_STRING, "BLAS library and kernel, or empty"),
    WIRE_FIELD(control_listening, gradient_ns, WIRE_F64, "real work of one gradient while idle, ns"),
    WIRE_FIELD(control_listening, parameter_count, WIRE_U64, "floats in the model"),
};
static const struct wire_table listening_table = WIRE_TABLE(control_listening, listening_fields);

static const struct wire_field size_fields[] = {
    WIRE_FIELD(control_size, position, WIRE_U32, "row of SETUP's sizes: the one behind the present one"),
};
static const struct wire_table size_table = WIRE_TABLE(control_size, size_fields);
static const struct wire_field start_fields[] = {WIRE_FIELD(control_start, start_ns, WIRE_I64, "CLOCK_MONOTONIC, ns")};
static const struct wire_table start_table = WIRE_TABLE(control_start, start_fields);
static const struct wire_field progress_fields[] = {
    WIRE_FIELD(control_progress, rounds_done, WIRE_U32, "rounds done, warm-up included"),
    WIRE_FIELD(control_progress, at_ns, WIRE_I64, "CLOCK_MONOTONIC when they were, ns"),
};
static const struct wire_table progress_table = WIRE_TABLE(control_progress, progress_fields);

static const struct wire_field report_fields[] = {
    WIRE_LIST(control_report, rounds, round_count, &round_record_table, "when this node held each round's model"),
    WIRE_LIST(control_report, spans, span_count, &span_record_table, "spans in order of their end"),
    WIRE_LIST(control_report, gradients, gradient_count, &gradient_record_table, "what became of gradients, in order of arrival"),
    WIRE_LIST(control_report, evaluations, evaluation_count, &evaluation_record_table, "evaluations"),
    WIRE_LIST(control_report, samples, sample_count, &sample_record_table, "TCP's state over time"),
    WIRE_EMBED(control_report, counters, &node_counters_table, "counters"),
    WIRE_BLOB(control_report, model_sha256, model_sha256_bytes, "digest of the final model"),
};
static const struct wire_table report_table = WIRE_TABLE(control_report, report_fields);

static const struct wire_field peer_fields[] = {
    WIRE_FIELD(control_peer, node, WIRE_U32, "node index"),
    WIRE_FIELD(control_peer, lost, WIRE_U32, "1: lost"),
};
static const struct wire_table peer_table = WIRE_TABLE(control_peer, peer_fields);

static const struct wire_field failure_fields[] = {
    WIRE_FIELD(control_failure, round, WIRE_U32, "round in which it failed"),
    WIRE_FIELD(control_failure, text, WIRE_STRING, "a sentence"),
};
static const struct wire_table failure_table = WIRE_TABLE(control_failure, failure_fields);

const struct control_row control_operations[CONTROL_OPERATION_END] = {
    [CONTROL_SETUP] = {"setup", &setup_table, 0},
    [CONTROL_LISTENING] = {"listening", &listening_table, 1},
    [CONTROL_CONNECT] = {"connect", 0, 0},
    [CONTROL_READY] = {"ready", 0, 1},
    [CONTROL_START] = {"start", &start_table, 0},
    [CONTROL_PROGRESS] = {"progress", &progress_table, 1},
    [CONTROL_DONE] = {"done", 0, 1},
    [CONTROL_COLLECT] = {"collect", 0, 0},
    [CONTROL_REPORT] = {"report", &report_table, 1},
    [CONTROL_PEER] = {"peer", &peer_table, 0},
    [CONTROL_QUIT] = {"quit", 0, 0},
    [CONTROL_FAILURE] = {"failure", &failure_table, 1},
    [CONTROL_SIZE] = {"size", &size_table, 0},
};
