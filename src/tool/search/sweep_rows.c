#include "src/tool/search/sweep_rows.h"

#include <math.h>

static const char *const match_fields[] = {"match_field",  "match_target", "match_reached",
                                           "match_beyond", "match_by",     "match_evaluations",
                                           "match_steady", "match_note"};
#define MATCH_FIELDS (sizeof(match_fields) / sizeof(match_fields[0]))

/* What has no setting, or failed, has not reached anything; `whole`: the search ended. */
static void put_match(struct gcb_row *row, const struct gcb_match_search *s,
                      const struct gcb_run_total *total, bool whole)
{
    const struct gcb_tally *tally = &total->tally;
    const bool measured = tally->messages && !total->failure.status;
    const double value = measured ? s->goal->figure(tally) : (double)NAN;
    char note[200];

    gcb_row_text(row, "match_field", s->goal->field);
    gcb_row_real(row, "match_target", s->goal->target);
    gcb_row_bool(row, "match_reached", gcb_match_meets(s->goal, value));
    gcb_row_text(row, "match_by", s->axis.param ? s->axis.param->name : NULL);
    gcb_row_u64(row, "match_evaluations", s->match.seen_count);
    if (whole && measured) {
        gcb_row_bool(row, "match_steady", s->found.steady);
        gcb_row_text(row, "match_note", gcb_match_words(note, s, tally));
    } else {
        gcb_row_null(row, "match_steady");
        gcb_row_text(row, "match_note",
                     measured ? "interrupted: the search may not have ended" : NULL);
    }
}

void gcb_rows_sweep(struct gcb_row *row, const struct gcb_sweep_row *sweep)
{
    if (sweep->compared)
        gcb_row_bool(row, "pareto", sweep->pareto);
    else
        gcb_row_null(row, "pareto");
    if (sweep->match)
        put_match(row, sweep->match, sweep->total, sweep->compared);
    for (size_t i = 0; sweep->matching && !sweep->match && i < MATCH_FIELDS; i++)
        gcb_row_null(row, match_fields[i]);
}

void gcb_sweep_columns(struct gcb_columns *out, const char *names[GCB_SWEEP_COLUMNS])
{
    size_t n = 0;

    for (; gcb_result_columns.names[n] && n + MATCH_FIELDS + 2 < GCB_SWEEP_COLUMNS; n++)
        names[n] = gcb_result_columns.names[n];
    names[n++] = "pareto";
    for (size_t i = 0; i < MATCH_FIELDS; i++)
        names[n++] = match_fields[i];
    names[n] = NULL;
    *out = (struct gcb_columns){gcb_result_columns.records, names};
}
