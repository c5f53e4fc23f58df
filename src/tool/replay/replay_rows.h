#ifndef SRC_TOOL_REPLAY_REPLAY_ROWS_H
#define SRC_TOOL_REPLAY_REPLAY_ROWS_H

#include "src/tool/replay/replay.h"
#include "src/tool/rows/sink.h"
#include "src/tool/trial/rows.h"

/* Rows of a replay (docs/rows.md), each to be released with gcb_row_fini. */
void gcb_rows_replay_step(struct gcb_row *row, const struct gcb_rows_setting *setting,
                          const struct gcb_method *method, const struct gcb_replay_step *step);

/* `file` names what was read. */
void gcb_rows_replay(struct gcb_row *row, const struct gcb_rows_setting *setting,
                     const struct gcb_method *method, const struct gcb_replay_total *total,
                     const char *file);

/* Those of csv and tsv. */
extern const struct gcb_columns gcb_replay_columns;

#endif
