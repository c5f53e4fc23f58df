#ifndef CLI_COMPRESS_COMPRESS_OPTIONS_H
#define CLI_COMPRESS_COMPRESS_OPTIONS_H

#include "cli/base/table_options.h"
#include "src/tool/trial/groups.h"

/* What `compress` is told, and what follows from it before any file is touched. */
enum compress_per { COMPRESS_PER_DEFAULT = -1, COMPRESS_PER_NONE = GCB_PER_WORKER + 1 };

struct compress_own {
    int per; /* enum gcb_per, or one of compress_per */
    int top; /* 0: all groups, five tensors */
};

struct compress_options {
    struct opt_methods methods;
    struct opt_input input;
    struct opt_message message;
    struct opt_exec exec;
    struct opt_timing timing;
    struct opt_make make;
    struct compress_own own;
    struct opt_lines lines;
    struct opt_shapes shapes;
    struct opt_save save;
    struct opt_show show;
};

extern const struct opt_row compress_own_rows[];

/* Refuses what makes no sense together; *sort is set to the figure of --sort, or to NULL. */
int compress_check(gcb_tally_figure_fn **sort, const struct compress_options *o,
                   struct gcb_diag *diag);

/*
 * The methods given, `given` of them, and fp16 behind them unless it is one of them or not wanted: `count`
 * in all. Release *out with gcb_free, also on failure.
 */
int compress_methods(struct gcb_method **out, size_t *given, size_t *count,
                     const struct compress_options *o, struct gcb_diag *diag);

#endif
