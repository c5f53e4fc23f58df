#include "src/tool/search/sweep_rows.h"

#include <math.h>

static const enum gcb_field match_fields[] = {GCB_FIELD_MATCH_FIELD,   GCB_FIELD_MATCH_TARGET,
                                              GCB_FIELD_MATCH_REACHED, GCB_FIELD_MATCH_BEYOND,
                                              GCB_FIELD_MATCH_BY,      GCB_FIELD_MATCH_EVALUATIONS,
                                              GCB_FIELD_MATCH_STEADY,  GCB_FIELD_MATCH_NOTE};
#define MATCH_FIELDS (sizeof(match_fields) / sizeof(match_fields[0]))

/* What has no setting, or failed, has not reached anything; `whole`: the search ended. */
static void put_match(struct gcb_row *row, const struct gcb_match_search *s,
                      const struct gcb_run_total *total, bool whole)
{
    const struct gcb_tally *tally = &total->tally;
    const bool measured = tally->messages && !total->failure.status;
    const double value = measured ? s->goal->figure(tally) : (double)NAN;
    char note[200];

    gcb_row_text(row, GCB_FIELD_MATCH_FIELD, gcb_field_name(s->goal->field));
    gcb_row_real(row, GCB_FIELD_MATCH_TARGET, s->goal->target);
    gcb_row_bool(row, GCB_FIELD_MATCH_REACHED, gcb_match_meets(s->goal, value));
    gcb_row_text(row, GCB_FIELD_MATCH_BY, s->axis.param ? s->axis.param->name : NULL);
    gcb_row_u64(row, GCB_FIELD_MATCH_EVALUATIONS, s->match.seen_count);
    if (whole && measured) {
        gcb_row_bool(row, GCB_FIELD_MATCH_STEADY, s->found.steady);
        gcb_row_text(row, GCB_FIELD_MATCH_NOTE, gcb_match_words(note, s, tally));
    } else {
        gcb_row_null(row, GCB_FIELD_MATCH_STEADY);
        gcb_row_text(row, GCB_FIELD_MATCH_NOTE,
                     measured ? "interrupted: the search may not have ended" : NULL);
    }
}

void gcb_rows_sweep(struct gcb_row *row, const struct gcb_sweep_row *sweep)
{
    if (sweep->compared)
        gcb_row_bool(row, GCB_FIELD_PARETO, sweep->pareto);
    else
        gcb_row_null(row, GCB_FIELD_PARETO);
    if (sweep->match)
        put_match(row, sweep->match, sweep->total, sweep->compared);
    for (size_t i = 0; sweep->matching && !sweep->match && i < MATCH_FIELDS; i++)
        gcb_row_null(row, match_fields[i]);
}
