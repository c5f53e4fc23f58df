#include "src/tool/replay/replay.h"

#include <math.h>

static void put_sizes(struct gcb_row *row, const struct gcb_tally *t, uint64_t input_bytes)
{
    gcb_row_u64(row, "messages", t->messages);
    gcb_row_u64(row, "input_bytes", input_bytes);
    gcb_row_u64(row, "covered_bytes", t->input_bytes);
    gcb_rows_put_bytes(row, t);
}

static void put_staleness(struct gcb_row *row, uint64_t median, uint64_t p99, uint64_t max)
{
    gcb_row_u64(row, "staleness_p50", median);
    gcb_row_u64(row, "staleness_p99", p99);
    gcb_row_u64(row, "staleness_max", max);
}

void gcb_rows_replay_step(struct gcb_row *row, const struct gcb_rows_setting *setting,
                          const struct gcb_method *method, const struct gcb_replay_step *step)
{
    gcb_row_init(row, "replay_step");
    gcb_row_u64(row, "index", step->index);
    gcb_row_u64(row, "loop", step->loop);
    gcb_row_u64(row, "step", step->step);
    gcb_rows_put_setting(row, setting, method);
    gcb_row_real(row, "theta", step->theta);
    gcb_row_real(row, "lr", step->lr);
    put_sizes(row, &step->tally, step->input_bytes);
    gcb_row_real(row, "ratio", step->ratio);
    gcb_row_real(row, "density", step->density);
    gcb_row_real(row, "union_density", step->union_density);
    gcb_row_real(row, "alpha", step->alpha);
    gcb_row_real(row, "cosine", step->cosine);
    gcb_row_real(row, "cumulative_error", step->cumulative_error);
    gcb_row_real(row, "gradient_norm", step->gradient_norm);
    gcb_row_real(row, "residual_norm", step->residual_norm);
    gcb_row_real(row, "contraction", step->contraction);
    put_staleness(row, step->staleness_median, step->staleness_p99, step->staleness_max);
    gcb_row_real(row, "clamped_share", step->clamped_share);
}

void gcb_rows_replay(struct gcb_row *row, const struct gcb_rows_setting *setting,
                     const struct gcb_method *method, const struct gcb_replay_total *total,
                     const char *file)
{
    gcb_row_init(row, "replay");
    gcb_row_text(row, "file", file);
    gcb_rows_put_setting(row, setting, method);
    gcb_row_text(row, "status", total->interrupted ? "interrupted" : "ok");
    gcb_row_u64(row, "steps", total->steps);
    gcb_row_u64(row, "silent_steps", total->silent_steps);
    gcb_row_u64(row, "unsent_steps", total->unsent_steps);
    put_sizes(row, &total->tally, total->input_bytes);
    gcb_row_real(row, "ratio", total->ratio);
    gcb_row_real(row, "density", total->density);
    gcb_row_real(row, "union_density", total->union_density);
    gcb_row_real(row, "alpha", total->alpha);
    gcb_row_real(row, "alpha_max", total->alpha_max);
    gcb_row_real(row, "cosine", total->cosine);
    gcb_row_real(row, "cumulative_error", total->cumulative_error);
    gcb_row_real(row, "gradient_norm", total->gradient_norm);
    gcb_row_real(row, "residual_norm", total->residual_norm);
    gcb_row_real(row, "residual_max", total->residual_max);
    gcb_row_real(row, "contraction_min", total->contraction_min);
    gcb_row_real(row, "contraction_mean", total->contraction_mean);
    put_staleness(row, total->staleness_median, total->staleness_p99, total->staleness_max);
    gcb_row_real(row, "clamped_share", total->clamped_share);
    gcb_row_real(row, "bound_ratio", total->bound_ratio);
    if (isnan(total->bound_ratio))
        gcb_row_null(row, "bound_holds");
    else
        gcb_row_bool(row, "bound_holds", total->bound_ratio <= 1.0);
}

static const char *const records[] = {"replay_step", "replay", NULL};
static const char *const names[] = {
    "record",
    "file",
    "index",
    "loop",
    "step",
    "scope",
    "order",
    "method",
    "spec",
    "device",
    "threads",
    "isa",
    "status",
    "steps",
    "silent_steps",
    "unsent_steps",
    "theta",
    "lr",
    "messages",
    "input_bytes",
    "covered_bytes",
    "wire_bytes",
    "header_bytes",
    "scale_bytes",
    "value_bytes",
    "index_bytes",
    "stored",
    "dense",
    "ratio",
    "density",
    "union_density",
    "alpha",
    "alpha_max",
    "cosine",
    "cumulative_error",
    "gradient_norm",
    "residual_norm",
    "residual_max",
    "contraction",
    "contraction_min",
    "contraction_mean",
    "staleness_p50",
    "staleness_p99",
    "staleness_max",
    "clamped_share",
    "bound_ratio",
    "bound_holds",
    NULL,
};
const struct gcb_columns gcb_replay_columns = {records, names};
