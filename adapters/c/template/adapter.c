#define _POSIX_C_SOURCE 200809L

#include "retryproof.h"

static int reset(void *context)
{
    (void)context;
    return retryproof_fail("not connected yet: empty the service here");
}

static int step(void *context, const struct retryproof_operation *operation,
                struct retryproof_observation *observation)
{
    (void)context;
    (void)observation;
    /* Set the clock to operation->at, send operation->value under operation->key, count the
     * writes. Then
     * *observation = (struct retryproof_observation){.status = 201, .receipt = 1,
     *                                                .committed_writes = 1};
     * return 0; */
    return retryproof_fail("not connected yet: send %s here", operation->value);
}

int main(void)
{
    struct retryproof_adapter adapter = {.name = "my service", .reset = reset, .step = step};
    return retryproof_serve(&adapter);
}
