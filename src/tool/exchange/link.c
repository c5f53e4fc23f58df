#include "src/tool/exchange/link.h"

#include <string.h>

#include "src/lib/base/diag.h"
#include "src/tool/base/clock.h"
#include "src/tool/base/memory.h"
#include "src/tool/measure/stats.h"

#define LEAST_BYTES 4
#define MOST_BYTES (1 << 28)

/*
 * Returns the number of transfers in a sample: as many as the steps of an all-reduce in a ring, but
 * at least 2. To save time there are at most 6, and at most 3 from 1 MiB on. Below 64 KiB there are
 * 20, because one transfer is too short for the clock.
 */
static unsigned count_transfers(uint64_t bytes, unsigned ranks)
{
    const unsigned most = bytes < 1 << 20 ? 6 : 3;
    unsigned steps = 2 * (ranks - 1);

    if (bytes < 1 << 16)
        return 20;
    if (steps > most)
        steps = most;
    return steps < 2 ? 2 : steps; /* a first transfer, and one that follows */
}

int gcb_link_init(struct gcb_link *link, uint64_t largest, unsigned ranks, size_t repeats,
                  struct gcb_diag *diag)
{
    const uint64_t most = largest < MOST_BYTES ? largest : MOST_BYTES;

    memset(link, 0, sizeof(*link));
    link->out = gcb_alloc_zero(most, 1);
    link->in = gcb_alloc_zero(most, 1);
    if (!link->out || !link->in)
        return gcb_diag_nomem(diag, 2 * most, "a transfer");
    for (enum gcb_pattern pattern = 0; pattern < GCB_PATTERNS; pattern++)
        for (uint64_t bytes = LEAST_BYTES; bytes < 4 * most; bytes *= 4) {
            struct gcb_link_size *size = &link->sizes[link->count++];

            size->pattern = pattern;
            size->bytes = (int)(bytes < most ? bytes : most);
            size->inner = count_transfers((uint64_t)size->bytes, ranks);
            size->first = gcb_must_zero(2 * (uint64_t)repeats, sizeof(*size->first));
            size->seconds = size->first + repeats;
        }
    return 0;
}

void gcb_link_fini(struct gcb_link *link)
{
    for (size_t i = 0; i < link->count; i++)
        gcb_free(link->sizes[i].first);
    gcb_free(link->out);
    gcb_free(link->in);
    memset(link, 0, sizeof(*link));
}

/* Makes a transfer and returns its seconds on this rank. Before the transfer, each rank goes over
 * the bytes four times, because ranks also encode or add before each transfer of an exchange. This
 * work is not timed. Without the work, the ranks of a slow network would fall into a rhythm in
 * which one direction waits for the other. */
static double time_transfer(struct gcb_link *link, const struct gcb_link_size *size,
                            struct gcb_net *net)
{
    double begin;

    for (int pass = 0; pass < 4; pass++)
        for (int i = 0; i < size->bytes; i++)
            link->out[i] = (uint8_t)(link->out[i] + link->in[i]);
    begin = gcb_clock();
    gcb_net_transfer(net, size->pattern, link->out, link->in, size->bytes);
    return gcb_clock() - begin;
}

void gcb_link_sample(struct gcb_link *link, struct gcb_net *net)
{
    for (size_t i = 0; i < link->count; i++) {
        struct gcb_link_size *size = &link->sizes[i];
        double times[2] = {0.0}; /* of the first transfer, and the mean of those that follow */

        /* a transfer that is not timed: MPI may connect two ranks only at their first transfer */
        gcb_net_transfer(net, size->pattern, link->out, link->in, size->bytes);
        gcb_net_barrier(net);
        times[0] = time_transfer(link, size, net);
        for (unsigned k = 1; k < size->inner; k++)
            times[1] += time_transfer(link, size, net) / (size->inner - 1);
        gcb_net_max(net, times, 2);
        size->first[size->samples] = times[0];
        size->seconds[size->samples++] = times[1];
    }
}

void gcb_rows_link(struct gcb_row *row, const struct gcb_net *net, const struct gcb_link_size *size)
{
    const struct gcb_stats first = gcb_stats_make(size->first, size->samples);
    const struct gcb_stats stats = gcb_stats_make(size->seconds, size->samples);

    gcb_row_init(row, GCB_RECORD_LINK);
    gcb_row_text(row, GCB_FIELD_MPI, gcb_net_library(net));
    gcb_row_text(row, GCB_FIELD_PATTERN, gcb_pattern_names[size->pattern]);
    gcb_row_u64(row, GCB_FIELD_WORKERS, gcb_net_ranks(net));
    gcb_row_u64(row, GCB_FIELD_BYTES, (uint64_t)size->bytes);
    gcb_row_real(row, GCB_FIELD_SECONDS, stats.median);
    gcb_row_real(row, GCB_FIELD_SECONDS_MIN, stats.min);
    gcb_row_real(row, GCB_FIELD_SECONDS_MAX, stats.max);
    gcb_row_real(row, GCB_FIELD_SECONDS_LOW, stats.low);
    gcb_row_real(row, GCB_FIELD_SECONDS_HIGH, stats.high);
    gcb_row_real(row, GCB_FIELD_FIRST_SECONDS, first.median);
    gcb_row_real(row, GCB_FIELD_FIRST_SECONDS_LOW, first.low);
    gcb_row_real(row, GCB_FIELD_FIRST_SECONDS_HIGH, first.high);
    gcb_row_real(row, GCB_FIELD_BANDWIDTH_GBIT, 8e-9 * size->bytes / stats.median);
    gcb_row_reals(row, GCB_FIELD_SECONDS_SAMPLES, size->seconds, size->samples);
}
