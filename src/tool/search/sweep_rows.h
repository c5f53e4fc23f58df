#ifndef SRC_TOOL_SEARCH_SWEEP_ROWS_H
#define SRC_TOOL_SEARCH_SWEEP_ROWS_H

#include "src/tool/rows/row.h"
#include "src/tool/rows/sink.h"
#include "src/tool/search/match_run.h"

/* What a sweep adds to a summary (docs/rows.md). */
struct gcb_sweep_row {
    bool compared; /* the Pareto set is known */
    bool pareto;
    bool matching;                        /* settings were searched for */
    const struct gcb_match_search *match; /* of this one; NULL: none, as for a baseline */
    const struct gcb_run_total *total;    /* as measured in the end */
};
void gcb_rows_sweep(struct gcb_row *row, const struct gcb_sweep_row *sweep);

/* The records of `sweep`. */
#define GCB_SWEEP_RECORDS (GCB_RESULT_RECORDS | GCB_RECORD_BIT(GCB_RECORD_SWEEP))

#endif
