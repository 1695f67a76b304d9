/* campaign_events_internal.h: what the two files of the field `events` share: the keys of an event. */
#ifndef LAGGARD_HARNESS_CAMPAIGN_EVENTS_INTERNAL_H
#define LAGGARD_HARNESS_CAMPAIGN_EVENTS_INTERNAL_H

#include "campaign_internal.h"
#include "schemas/events.h"

enum event_key {
    KEY_AT,
    KEY_ROUND,
    KEY_DO,
    KEY_LINK,
    KEY_NODE,
    KEY_NODES,
    KEY_DIRECTION,
    KEY_TO,
    KEY_DOWN,
    KEY_UP,
    KEY_TIMES,
    KEY_FOR,
    KEY_FILE,
    KEY_FORMAT,
    KEY_REPEAT,
    KEY_COUNT
};

const char *campaign_event_key_name(enum event_key key);
int campaign_event_key_find(const char *word); /* -1: there is none */
/* `path` is the event's: "events.0". */
int campaign_event_key_read(const struct reader *reader, const struct yaml_value *value, const char *path, enum event_key key,
                            struct event_request *request);
void campaign_event_key_spell(enum event_key key, const struct event_request *request, struct text *out);
void campaign_event_key_schema(enum event_key key, struct json *json); /* members of an open JSON object */

#endif
