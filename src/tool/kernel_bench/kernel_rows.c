#include <math.h>

#include "src/tool/kernel_bench/kernels.h"

static json_t *array_of(const struct gcb_samples *s)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < s->count; i++)
        if (json_array_append_new(array, gcb_row_make_real(s->seconds[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

void gcb_kernels_row(struct gcb_row *row, const struct gcb_kernel_result *r, bool samples)
{
    const struct gcb_stats *stats = &r->samples->stats;

    gcb_row_init(row, "kernel");
    gcb_row_text(row, "family", r->family);
    gcb_row_text(row, "kernel", r->kernel);
    gcb_row_text(row, "isa", r->isa);
    gcb_row_u64(row, "threads", 1);
    gcb_row_text(row, "cache", gcb_kernel_size_names[r->size]);
    gcb_row_text(row, "status", r->agrees ? "ok" : "failed");
    gcb_row_u64(row, "elements", r->elements);
    gcb_row_u64(row, "bytes", r->bytes);
    gcb_row_u64(row, "calls", r->calls);
    gcb_row_real(row, "seconds", stats->median);
    gcb_row_real(row, "seconds_min", stats->min);
    gcb_row_real(row, "seconds_mad", stats->mad);
    gcb_row_real(row, "seconds_low", stats->low);
    gcb_row_real(row, "seconds_high", stats->high);
    if (samples)
        gcb_row_json(row, "seconds_samples", array_of(r->samples));
    else
        gcb_row_null(row, "seconds_samples");
    gcb_row_text(row, "stop_reason", gcb_stop_name(r->samples->stop));
    gcb_row_real(row, "gbps", r->gbps);
    gcb_row_real(row, "bandwidth_share", r->bandwidth_share);
    gcb_row_real(row, "speedup", r->speedup);
}
