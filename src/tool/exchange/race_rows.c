#include <math.h>

#include "src/tool/exchange/race.h"

struct gcb_stats gcb_lane_stats(const struct gcb_net *net, const struct gcb_lane *lane,
                                const double *samples)
{
    struct gcb_stats s = gcb_stats_make(samples, lane->repeats);

    if (gcb_net_simulated(net))
        s.low = s.high = s.median;
    return s;
}

static void put_interval(struct gcb_row *row, const struct gcb_stats *stats, enum gcb_field seconds,
                         enum gcb_field low, enum gcb_field high)
{
    gcb_row_real(row, seconds, stats->median);
    gcb_row_real(row, low, stats->low);
    gcb_row_real(row, high, stats->high);
}

static void put_times(struct gcb_row *row, const struct gcb_net *net, const struct gcb_lane *lane)
{
    const struct gcb_stats whole = gcb_lane_stats(net, lane, lane->seconds);
    const struct gcb_stats encode = gcb_lane_stats(net, lane, lane->phases[GCB_PHASE_ENCODE]);
    const struct gcb_stats wire = gcb_lane_stats(net, lane, lane->phases[GCB_PHASE_WIRE]);
    const struct gcb_stats sum = gcb_lane_stats(net, lane, lane->phases[GCB_PHASE_SUM]);

    gcb_row_real(row, GCB_FIELD_SECONDS_MIN, whole.min);
    gcb_row_real(row, GCB_FIELD_SECONDS_MAX, whole.max);
    put_interval(row, &whole, GCB_FIELD_SECONDS, GCB_FIELD_SECONDS_LOW, GCB_FIELD_SECONDS_HIGH);
    put_interval(row, &encode, GCB_FIELD_ENCODE_SECONDS, GCB_FIELD_ENCODE_SECONDS_LOW,
                 GCB_FIELD_ENCODE_SECONDS_HIGH);
    put_interval(row, &wire, GCB_FIELD_WIRE_SECONDS, GCB_FIELD_WIRE_SECONDS_LOW,
                 GCB_FIELD_WIRE_SECONDS_HIGH);
    put_interval(row, &sum, GCB_FIELD_SUM_SECONDS, GCB_FIELD_SUM_SECONDS_LOW,
                 GCB_FIELD_SUM_SECONDS_HIGH);
    gcb_row_real(row, GCB_FIELD_SIZES_SECONDS,
                 gcb_lane_stats(net, lane, lane->phases[GCB_PHASE_SIZES]).median);
    gcb_row_real(row, GCB_FIELD_CPU_SECONDS, gcb_lane_stats(net, lane, lane->cpu).median);
}

/* What one rank's link carried in a timed exchange, on average. */
static double link_bytes(const struct gcb_lane *lane, unsigned ranks)
{
    uint64_t bytes = 0;

    for (int k = 0; k < GCB_RACE_KINDS; k++)
        bytes += lane->traffic.bytes[k];
    return (double)bytes / ranks / (double)lane->repeats;
}

/* Means over the timed exchanges: of one rank. */
static void put_traffic(struct gcb_row *row, const struct gcb_lane *lane, unsigned ranks)
{
    static const enum gcb_field rounds[GCB_RACE_KINDS] = {
        [GCB_ROUND_GATHER] = GCB_FIELD_GATHER_ROUNDS,
        [GCB_ROUND_SCATTER] = GCB_FIELD_SCATTER_ROUNDS,
        [GCB_ROUND_REDUCE] = GCB_FIELD_REDUCE_ROUNDS,
    };
    static const enum gcb_field bytes[GCB_RACE_KINDS] = {
        [GCB_ROUND_GATHER] = GCB_FIELD_GATHER_BYTES,
        [GCB_ROUND_SCATTER] = GCB_FIELD_SCATTER_BYTES,
        [GCB_ROUND_REDUCE] = GCB_FIELD_REDUCE_BYTES,
    };
    const double exchanges = (double)ranks * (double)lane->repeats;
    const double others = ranks > 1 ? ranks - 1 : 1;

    for (int k = 0; k < GCB_RACE_KINDS; k++) {
        const double parts = k == GCB_ROUND_SCATTER ? others : 1.0;

        gcb_row_real(row, rounds[k], (double)lane->traffic.rounds[k] / exchanges / parts);
        gcb_row_real(row, bytes[k], (double)lane->traffic.bytes[k] / exchanges);
    }
    gcb_row_real(row, GCB_FIELD_SIZE_ROUNDS, (double)lane->traffic.sizes / exchanges);
}

void gcb_rows_exchange(struct gcb_row *row, const struct gcb_rows_setting *setting,
                       const struct gcb_net *net, const struct gcb_load *load,
                       const struct gcb_lane *lane, const char *file)
{
    const unsigned ranks = gcb_net_ranks(net);
    const double seconds = gcb_lane_stats(net, lane, lane->seconds).median;
    const double wire = gcb_lane_stats(net, lane, lane->phases[GCB_PHASE_WIRE]).median;
    struct gcb_exchange_params params;

    gcb_method_exchange(&params, &lane->method);
    gcb_row_init(row, GCB_RECORD_RACE);
    gcb_row_text(row, GCB_FIELD_FILE, file);
    gcb_rows_put_setting(row, setting, &lane->method);
    gcb_row_text(row, GCB_FIELD_COLLECTIVE, gcb_collective_names[params.collective]);
    gcb_row_text(row, GCB_FIELD_ALGORITHM, gcb_net_algorithm_names[lane->algorithm]);
    gcb_row_text(row, GCB_FIELD_MPI, gcb_net_library(net));
    gcb_row_u64(row, GCB_FIELD_WORKERS, ranks);
    gcb_row_text(row, GCB_FIELD_STATUS, lane->wrong ? "failed" : "ok");
    gcb_row_u64(row, GCB_FIELD_ELEMENTS, load->elements);
    gcb_row_u64(row, GCB_FIELD_MESSAGES, load->messages);
    gcb_row_u64(row, GCB_FIELD_INPUT_BYTES, load->input_bytes);
    gcb_row_u64(row, GCB_FIELD_WIRE_BYTES, lane->wire_bytes);
    gcb_row_u64(row, GCB_FIELD_ROUNDS, lane->rounds);
    gcb_row_u64(row, GCB_FIELD_REPLAY_LINK_BYTES, lane->link_bytes);
    put_traffic(row, lane, ranks);
    put_times(row, net, lane);
    gcb_row_real(row, GCB_FIELD_ALGBW_GBPS, 1e-9 * (double)load->input_bytes / seconds);
    gcb_row_real(row, GCB_FIELD_BUSBW_GBPS, 1e-9 * link_bytes(lane, ranks) / wire);
    gcb_row_bool(row, GCB_FIELD_VERIFIED, lane->verified);
    gcb_row_u64(row, GCB_FIELD_WRONG, lane->wrong);
    gcb_row_reals(row, GCB_FIELD_SECONDS_SAMPLES, lane->seconds, lane->repeats);
}
