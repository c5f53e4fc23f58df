#include "src/tool/replay/replay.h"

#include <math.h>

#include "src/tool/rows/results.h"

static void put_rounds(struct gcb_row *row, const struct gcb_replay_traffic *f)
{
    json_t *bytes = json_array();

    for (unsigned i = 0; i < f->rounds; i++)
        gcb_json_append(bytes, json_integer((json_int_t)f->round_bytes[i]));
    gcb_row_u64(row, GCB_FIELD_ROUNDS, f->rounds);
    gcb_row_json(row, GCB_FIELD_ROUND_BYTES, bytes);
    gcb_row_u64(row, GCB_FIELD_REPLAY_LINK_BYTES, f->link_bytes);
}

/* Writes the setting and its method, the collective, and the number of workers and its origin. */
static void put_setting(struct gcb_row *row, const struct gcb_rows_setting *setting,
                        const struct gcb_method *method, const struct gcb_replay_plan *plan)
{
    gcb_rows_put_setting(row, setting, method);
    gcb_row_text(row, GCB_FIELD_COLLECTIVE, gcb_collective_names[gcb_method_collective(method)]);
    gcb_row_u64(row, GCB_FIELD_WORKERS, plan->workers);
    gcb_row_text(row, GCB_FIELD_WORKERS_FROM, gcb_replay_origin(plan));
}

/* Writes the figures `f` of a step or of all steps. Either `step` or `total` is NULL. */
static void put_figures(struct gcb_row *row, const struct gcb_method *method,
                        const struct gcb_replay_figures *f, const struct gcb_replay_step *step,
                        const struct gcb_replay_total *total)
{
    gcb_row_u64(row, GCB_FIELD_MESSAGES, f->sent.tally.messages);
    gcb_row_u64(row, GCB_FIELD_INPUT_BYTES, f->sent.input_bytes);
    gcb_row_u64(row, GCB_FIELD_COVERED_BYTES, f->sent.tally.input_bytes);
    gcb_rows_put_bytes(row, &f->sent.tally);
    put_rounds(row, &f->sent);
    gcb_row_real(row, GCB_FIELD_RATIO, f->ratio);
    gcb_row_real(row, GCB_FIELD_DENSITY, f->density);
    gcb_row_real(row, GCB_FIELD_UNION_DENSITY, f->union_density);
    gcb_row_real(row, GCB_FIELD_ALPHA, f->alpha);
    gcb_row_real(row, GCB_FIELD_VNMSE, f->alpha * f->alpha);
    if (total)
        gcb_row_real(row, GCB_FIELD_ALPHA_MAX, total->alpha_max);
    gcb_row_real(row, GCB_FIELD_COSINE, f->cosine);
    gcb_row_real(row, GCB_FIELD_SECOND_ERROR, f->second_error);
    gcb_row_real(row, GCB_FIELD_DROPPED, f->dropped);
    gcb_row_real(row, GCB_FIELD_CUMULATIVE_ERROR, f->cumulative_error);
    gcb_row_real(row, GCB_FIELD_GRADIENT_NORM, f->gradient_norm);
    gcb_row_real(row, GCB_FIELD_RESIDUAL_NORM, f->residual_norm);
    if (step)
        gcb_row_real(row, GCB_FIELD_CONTRACTION, step->contraction);
    if (total) {
        gcb_row_real(row, GCB_FIELD_RESIDUAL_MAX, total->residual_max);
        gcb_row_real(row, GCB_FIELD_CONTRACTION_MIN, total->contraction_min);
        gcb_row_real(row, GCB_FIELD_CONTRACTION_MEAN, total->contraction_mean);
    }
    gcb_row_u64(row, GCB_FIELD_STALENESS_P50, f->staleness_median);
    gcb_row_u64(row, GCB_FIELD_STALENESS_P99, f->staleness_p99);
    gcb_row_u64(row, GCB_FIELD_STALENESS_MAX, f->staleness_max);
    gcb_row_real(row, GCB_FIELD_OVERLAP, f->overlap);
    if (gcb_method_collective(method) == GCB_COLLECTIVE_HIERARCHICAL)
        gcb_row_u64(row, GCB_FIELD_BETWEEN_BYTES, f->sent.between_bytes);
    else
        gcb_row_null(row, GCB_FIELD_BETWEEN_BYTES);
}

void gcb_rows_replay_step(struct gcb_row *row, const struct gcb_rows_setting *setting,
                          const struct gcb_method *method, const struct gcb_replay_plan *plan,
                          const struct gcb_replay_step *step)
{
    gcb_row_init(row, GCB_RECORD_REPLAY_STEP);
    gcb_row_u64(row, GCB_FIELD_INDEX, step->index);
    gcb_row_u64(row, GCB_FIELD_LOOP, step->loop);
    gcb_row_u64(row, GCB_FIELD_STEP, step->step);
    put_setting(row, setting, method, plan);
    gcb_row_real(row, GCB_FIELD_THETA, step->theta);
    put_figures(row, method, &step->figures, step, NULL);
}

/* Writes why the method failed, and nulls instead of figures. */
static void put_failure(struct gcb_row *row, const struct gcb_replay_total *total)
{
    enum gcb_field columns[GCB_FIELDS];
    const size_t count = gcb_field_columns(columns, GCB_RECORD_BIT(GCB_RECORD_REPLAY));

    gcb_row_text(row, GCB_FIELD_STATUS, "failed");
    gcb_row_words(row, GCB_FIELD_REASON, total->failure.text);
    for (size_t i = 0; i < count; i++)
        if (!gcb_results_json(row->json, columns[i]))
            gcb_row_null(row, columns[i]);
}

void gcb_rows_replay(struct gcb_row *row, const struct gcb_rows_setting *setting,
                     const struct gcb_method *method, const struct gcb_replay_plan *plan,
                     const struct gcb_replay_total *total, const char *file)
{
    gcb_row_init(row, GCB_RECORD_REPLAY);
    gcb_row_text(row, GCB_FIELD_FILE, file);
    put_setting(row, setting, method, plan);
    if (total->failure.status) {
        put_failure(row, total);
        return;
    }
    gcb_row_text(row, GCB_FIELD_STATUS, total->interrupted ? "interrupted" : "ok");
    gcb_row_null(row, GCB_FIELD_REASON);
    gcb_row_u64(row, GCB_FIELD_STEPS, total->steps);
    gcb_row_u64(row, GCB_FIELD_SILENT_STEPS, total->silent_steps);
    gcb_row_u64(row, GCB_FIELD_UNSENT_STEPS, total->unsent_steps);
    put_figures(row, method, &total->figures, NULL, total);
    gcb_row_real(row, GCB_FIELD_BOUND_RATIO, total->bound_ratio);
    gcb_row_known_bool(row, GCB_FIELD_BOUND_HOLDS, !isnan(total->bound_ratio),
                       total->bound_ratio <= 1.0);
}
