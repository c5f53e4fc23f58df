#include "src/tool/replay/replay.h"

#include <math.h>

static void put_sizes(struct gcb_row *row, const struct gcb_tally *t, uint64_t input_bytes)
{
    gcb_row_u64(row, GCB_FIELD_MESSAGES, t->messages);
    gcb_row_u64(row, GCB_FIELD_INPUT_BYTES, input_bytes);
    gcb_row_u64(row, GCB_FIELD_COVERED_BYTES, t->input_bytes);
    gcb_rows_put_bytes(row, t);
}

static void put_staleness(struct gcb_row *row, uint64_t median, uint64_t p99, uint64_t max)
{
    gcb_row_u64(row, GCB_FIELD_STALENESS_P50, median);
    gcb_row_u64(row, GCB_FIELD_STALENESS_P99, p99);
    gcb_row_u64(row, GCB_FIELD_STALENESS_MAX, max);
}

void gcb_rows_replay_step(struct gcb_row *row, const struct gcb_rows_setting *setting,
                          const struct gcb_method *method, const struct gcb_replay_step *step)
{
    gcb_row_init(row, GCB_RECORD_REPLAY_STEP);
    gcb_row_u64(row, GCB_FIELD_INDEX, step->index);
    gcb_row_u64(row, GCB_FIELD_LOOP, step->loop);
    gcb_row_u64(row, GCB_FIELD_STEP, step->step);
    gcb_rows_put_setting(row, setting, method);
    gcb_row_real(row, GCB_FIELD_THETA, step->theta);
    gcb_row_real(row, GCB_FIELD_LR, step->lr);
    put_sizes(row, &step->tally, step->input_bytes);
    gcb_row_real(row, GCB_FIELD_RATIO, step->ratio);
    gcb_row_real(row, GCB_FIELD_DENSITY, step->density);
    gcb_row_real(row, GCB_FIELD_UNION_DENSITY, step->union_density);
    gcb_row_real(row, GCB_FIELD_ALPHA, step->alpha);
    gcb_row_real(row, GCB_FIELD_COSINE, step->cosine);
    gcb_row_real(row, GCB_FIELD_CUMULATIVE_ERROR, step->cumulative_error);
    gcb_row_real(row, GCB_FIELD_GRADIENT_NORM, step->gradient_norm);
    gcb_row_real(row, GCB_FIELD_RESIDUAL_NORM, step->residual_norm);
    gcb_row_real(row, GCB_FIELD_CONTRACTION, step->contraction);
    put_staleness(row, step->staleness_median, step->staleness_p99, step->staleness_max);
    gcb_row_real(row, GCB_FIELD_CLAMPED_SHARE, step->clamped_share);
}

void gcb_rows_replay(struct gcb_row *row, const struct gcb_rows_setting *setting,
                     const struct gcb_method *method, const struct gcb_replay_total *total,
                     const char *file)
{
    gcb_row_init(row, GCB_RECORD_REPLAY);
    gcb_row_text(row, GCB_FIELD_FILE, file);
    gcb_rows_put_setting(row, setting, method);
    gcb_row_text(row, GCB_FIELD_STATUS, total->interrupted ? "interrupted" : "ok");
    gcb_row_u64(row, GCB_FIELD_STEPS, total->steps);
    gcb_row_u64(row, GCB_FIELD_SILENT_STEPS, total->silent_steps);
    gcb_row_u64(row, GCB_FIELD_UNSENT_STEPS, total->unsent_steps);
    put_sizes(row, &total->tally, total->input_bytes);
    gcb_row_real(row, GCB_FIELD_RATIO, total->ratio);
    gcb_row_real(row, GCB_FIELD_DENSITY, total->density);
    gcb_row_real(row, GCB_FIELD_UNION_DENSITY, total->union_density);
    gcb_row_real(row, GCB_FIELD_ALPHA, total->alpha);
    gcb_row_real(row, GCB_FIELD_ALPHA_MAX, total->alpha_max);
    gcb_row_real(row, GCB_FIELD_COSINE, total->cosine);
    gcb_row_real(row, GCB_FIELD_CUMULATIVE_ERROR, total->cumulative_error);
    gcb_row_real(row, GCB_FIELD_GRADIENT_NORM, total->gradient_norm);
    gcb_row_real(row, GCB_FIELD_RESIDUAL_NORM, total->residual_norm);
    gcb_row_real(row, GCB_FIELD_RESIDUAL_MAX, total->residual_max);
    gcb_row_real(row, GCB_FIELD_CONTRACTION_MIN, total->contraction_min);
    gcb_row_real(row, GCB_FIELD_CONTRACTION_MEAN, total->contraction_mean);
    put_staleness(row, total->staleness_median, total->staleness_p99, total->staleness_max);
    gcb_row_real(row, GCB_FIELD_CLAMPED_SHARE, total->clamped_share);
    gcb_row_real(row, GCB_FIELD_BOUND_RATIO, total->bound_ratio);
    if (isnan(total->bound_ratio))
        gcb_row_null(row, GCB_FIELD_BOUND_HOLDS);
    else
        gcb_row_bool(row, GCB_FIELD_BOUND_HOLDS, total->bound_ratio <= 1.0);
}
