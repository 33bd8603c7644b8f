/* Prints to stdout in reset, and fails in step. */
#define _POSIX_C_SOURCE 200809L

#include "retryproof.h"

static int reset(void *context)
{
    (void)context;
    puts("printed by the program");
    return system("echo printed by a child process");
}

static int step(void *context, const struct retryproof_operation *operation,
                struct retryproof_observation *observation)
{
    (void)context;
    (void)operation;
    (void)observation;
    return retryproof_fail("Größe 日本語 😀 \"quoted\" back\\slash\nnext line");
}

int main(void)
{
    struct retryproof_adapter adapter = {
        .name = "probe", .reset = reset, .step = step, .milliseconds_per_tick = 250};
    return retryproof_serve(&adapter);
}
