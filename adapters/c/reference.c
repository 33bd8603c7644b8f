/*
 * A correct idempotent service behind an adapter, or one with a known fault:
 *
 *     reference [--fault duplicate-write|body-blind|sliding-expiry|forget-on-loss]
 *
 * To connect your own service, see README.md.
 */
#define _POSIX_C_SOURCE 200809L

#include "retryproof.h"

enum {
    RETENTION_TICKS = 6,
    MAX_RECORDS = 16,
    MAX_TEXT = 64,
    CREATED = 201,
    REPLAYED = 200,
    CONFLICT = 409
};

static const char *const fault_names[] = {"duplicate-write", "body-blind", "sliding-expiry",
                                          "forget-on-loss"};
enum fault { DUPLICATE_WRITE, BODY_BLIND, SLIDING_EXPIRY, FORGET_ON_LOSS, NO_FAULT };

struct record {
    char key[MAX_TEXT];
    char item[MAX_TEXT];
    int order;
    int deadline;
};

/* Takes orders under idempotency keys, with a clock that the test sets. */
struct service {
    enum fault fault;
    struct record records[MAX_RECORDS];
    int now;
    int orders;
};

struct answer {
    int status;
    int order; /* 0: refused */
};

/* The key's record, or the place for one; NULL if there is no room. */
static struct record *find(struct service *service, const char *key)
{
    struct record *place = NULL;
    for (int i = 0; i < MAX_RECORDS; i++) {
        struct record *record = &service->records[i];
        if (record->order != 0 && strcmp(record->key, key) == 0) {
            return record;
        }
        if (record->order == 0 && place == NULL) {
            place = record;
        }
    }
    return place;
}

static struct answer create(struct service *service, struct record *record, const char *key,
                            const char *item, int deadline)
{
    snprintf(record->key, MAX_TEXT, "%s", key);
    snprintf(record->item, MAX_TEXT, "%s", item);
    record->order = ++service->orders;
    record->deadline = deadline;
    return (struct answer){CREATED, record->order};
}

static struct answer order(struct service *service, struct record *record, const char *key,
                           const char *item)
{
    if (record->order == 0 || service->now >= record->deadline) {
        return create(service, record, key, item, service->now + RETENTION_TICKS);
    }
    if (strcmp(record->item, item) != 0 && service->fault != BODY_BLIND) {
        return (struct answer){CONFLICT, 0};
    }
    if (service->fault == DUPLICATE_WRITE) {
        return create(service, record, key, item, record->deadline);
    }
    if (service->fault == SLIDING_EXPIRY) {
        record->deadline = service->now + RETENTION_TICKS;
    }
    return (struct answer){REPLAYED, record->order};
}

static void answer_was_lost(const struct service *service, struct record *record, int status)
{
    if (service->fault == FORGET_ON_LOSS && status != CONFLICT) {
        record->order = 0;
    }
}

static int reset(void *context)
{
    struct service *service = context;
    *service = (struct service){.fault = service->fault};
    return 0;
}

static int step(void *context, const struct retryproof_operation *operation,
                struct retryproof_observation *observation)
{
    struct service *service = context;
    struct record *record = find(service, operation->key);
    if (record == NULL || strlen(operation->key) >= MAX_TEXT ||
        strlen(operation->value) >= MAX_TEXT) {
        return retryproof_fail("there is no room for key %s", operation->key);
    }
    service->now = operation->at;
    struct answer answer = order(service, record, operation->key, operation->value);
    if (operation->lost) {
        answer_was_lost(service, record, answer.status);
        answer = (struct answer){0, 0};
    }
    *observation = (struct retryproof_observation){answer.status, answer.order, service->orders};
    return 0;
}

static enum fault fault_named(const char *name)
{
    int fault = 0;
    while (fault < NO_FAULT && strcmp(fault_names[fault], name) != 0) {
        fault++;
    }
    return (enum fault)fault;
}

int main(int argc, char **argv)
{
    static struct service service = {.fault = NO_FAULT};
    char name[MAX_TEXT] = "reference";
    if (argc == 3 && strcmp(argv[1], "--fault") == 0) {
        service.fault = fault_named(argv[2]);
        snprintf(name, sizeof name, "reference with %s", argv[2]);
    }
    if (argc != 1 && service.fault == NO_FAULT) {
        fprintf(stderr, "usage: reference [--fault NAME]\n");
        return EXIT_FAILURE;
    }
    struct retryproof_adapter adapter = {
        .name = name, .context = &service, .reset = reset, .step = step};
    return retryproof_serve(&adapter);
}
