/*
 * How long a copy takes that fits in the second-level cache, with warm caches and after they were emptied, by flushing lines
 * and by walking over a buffer (docs/method.md, cold caches). Run it on an idle machine; a cold copy takes several times as
 * long, of the fastest calls: other work empties caches too.
 *
 *   cold_copy [REPEAT]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/cpu_flags.h"
#include "src/tool/timing/measure.h"

#define BYTES (256u << 10)

static int copy(void *job, struct gcb_diag *diag)
{
    unsigned char *two = job;

    (void)diag;
    memcpy(two + BYTES, two, BYTES);
    return 0;
}

static int fastest(double *seconds, void *two, unsigned repeat, struct gcb_evict *evict)
{
    const struct gcb_timing timing = {.warmup = 1, .repeat = repeat, .evict = evict};
    const struct gcb_operation op = {.run = copy, .job = two};
    struct gcb_samples s;
    int err = gcb_samples_init(&s, &timing, NULL);

    if (!err)
        err = gcb_measure(&s, &timing, &op, NULL);
    *seconds = s.stats.min;
    gcb_samples_fini(&s);
    return err;
}

int main(int argc, char **argv)
{
    const unsigned repeat = argc > 1 ? (unsigned)atoi(argv[1]) : 99;
    const struct gcb_queue queue = {.threads = 1};
    unsigned char *two = calloc(2, BYTES);
    double warm, cold;
    int err = two ? fastest(&warm, two, repeat, NULL) : -1;

    for (int walk = 0; !err && walk < 2; walk++) {
        struct gcb_evict evict;

        err = gcb_evict_init(&evict, &queue, walk ? 0 : gcb_cpu_detect(), NULL);
        if (!err)
            err = fastest(&cold, two, repeat, &evict);
        if (!err)
            printf("%s %.0f MB: %.1f us warm, %.1f us cold, %.1f times\n",
                   evict.flush.lines ? "flushes" : "walks over", (double)evict.bytes / 1e6,
                   1e6 * warm, 1e6 * cold, cold / warm);
        gcb_evict_fini(&evict);
    }
    free(two);
    return err != 0;
}
