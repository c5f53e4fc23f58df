#ifndef CLI_COMPRESS_COMPRESS_TABLE_H
#define CLI_COMPRESS_COMPRESS_TABLE_H

#include "cli/base/output.h"
#include "src/tool/run/groups.h"
#include "src/tool/run/losses.h"
#include "src/tool/run/policy.h"

/* The results of a run that `compress` prints as tables and notes, below the heading. */
struct compress_view {
    const struct gcb_method *methods; /* in the order of `result` */
    size_t given; /* number of methods that the user named; the others are baselines */
    const struct gcb_run_result *result;
    const struct gcb_policy *policy; /* of methods[0]; NULL: none */
    const struct gcb_groups *groups; /* results by group; NULL without --per */
    const struct gcb_losses *losses; /* NULL: losses are not shown */
    enum gcb_field sort;             /* field to sort by; GCB_FIELD_NONE: keep the order given */
    size_t top;       /* number of groups or tensors shown; 0: all groups, or five tensors */
    unsigned repeat;  /* timed runs of each message; 0: as many as needed */
    bool whole_model; /* the scope is `model`, so no larger scope can be suggested */
};

int compress_show(const struct compress_view *view, const struct out_report *report,
                  struct gcb_diag *diag);

#endif
