#include "src/tool/kernel_bench/kernels.h"

void gcb_kernels_row(struct gcb_row *row, const struct gcb_kernel_result *r, bool samples)
{
    const struct gcb_stats *stats = &r->samples->stats;

    gcb_row_init(row, GCB_RECORD_KERNEL);
    gcb_row_text(row, GCB_FIELD_FAMILY, r->family);
    gcb_row_text(row, GCB_FIELD_KERNEL, r->kernel);
    gcb_row_text(row, GCB_FIELD_ISA, r->isa);
    gcb_row_u64(row, GCB_FIELD_THREADS, 1);
    gcb_row_text(row, GCB_FIELD_CACHE, gcb_kernel_size_names[r->size]);
    gcb_row_text(row, GCB_FIELD_STATUS, r->agrees ? "ok" : "failed");
    gcb_row_u64(row, GCB_FIELD_ELEMENTS, r->elements);
    gcb_row_u64(row, GCB_FIELD_BYTES, r->bytes);
    gcb_row_u64(row, GCB_FIELD_CALLS, r->calls);
    gcb_row_real(row, GCB_FIELD_SECONDS, stats->median);
    gcb_row_real(row, GCB_FIELD_SECONDS_MIN, stats->min);
    gcb_row_real(row, GCB_FIELD_SECONDS_MAD, stats->mad);
    gcb_row_real(row, GCB_FIELD_SECONDS_LOW, stats->low);
    gcb_row_real(row, GCB_FIELD_SECONDS_HIGH, stats->high);
    gcb_row_reals(row, GCB_FIELD_SECONDS_SAMPLES, samples ? r->samples->seconds : NULL,
                  r->samples->count);
    gcb_row_text(row, GCB_FIELD_STOP_REASON, gcb_stop_name(r->samples->stop));
    gcb_row_real(row, GCB_FIELD_GBPS, r->gbps);
    gcb_row_real(row, GCB_FIELD_BANDWIDTH_SHARE, r->bandwidth_share);
    gcb_row_real(row, GCB_FIELD_SPEEDUP, r->speedup);
}
