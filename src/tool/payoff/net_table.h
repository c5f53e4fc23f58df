#ifndef SRC_TOOL_PAYOFF_NET_TABLE_H
#define SRC_TOOL_PAYOFF_NET_TABLE_H

#include "src/tool/payoff/net_log.h"

/*
 * What the rows of a table mean: which test printed them, whether its results were right, and how
 * long each size takes. For net_log.c and net_saved.c, which read the rows.
 */

/* The columns of nccl-tests and rccl-tests, in text, CSV and JSON. */
enum gcb_net_column {
    GCB_NET_SIZE,
    GCB_NET_COUNT,
    GCB_NET_TYPE,
    GCB_NET_REDOP,
    GCB_NET_ROOT,
    GCB_NET_TIME,
    GCB_NET_ALGBW,
    GCB_NET_BUSBW,
    GCB_NET_WRONG,
    GCB_NET_WRONG_IN_PLACE, /* if a row has both */
    GCB_NET_NAME,           /* of the collective */
    GCB_NET_RANKS,
    GCB_NET_GPUS, /* of a rank */
    GCB_NET_IN_PLACE,
    GCB_NET_COLUMNS
};
/* Finds a column by its name in any of the formats. GCB_NET_COLUMNS: not one of these. */
enum gcb_net_column gcb_net_column_find(const char *name);

#define GCB_NET_CELL 32 /* bytes of a cell that are kept */
#define GCB_NET_NAME_MOST 64

/* A log while it is read. Functions that take it say what is wrong, without file and line, which
 * gcb_net_log_read adds. */
struct gcb_net_reading {
    struct gcb_net_log *out;
    unsigned workers; /* of gcb_net_log_read */
    const char *unit; /* "line" or "result" */
    size_t number;    /* of the row that is being read; 0: the file as a whole */
    size_t unused;    /* where the first table begins that was left out; 0: there is none */
    size_t failed;    /* where a test failed without a table; 0: nowhere */

    /* The rows of a table. Zeroed, it is empty. */
    struct gcb_net_draft {
        size_t line; /* where the table begins */
        /* the program or collective, as the log has it; "": not said */
        char name[GCB_NET_NAME_MOST];
        /* a test that is not read, and whose rows do not matter; "": none */
        char other[GCB_NET_NAME_MOST];
        bool osu; /* of an OSU benchmark: */
        enum gcb_net_test osu_test;
        unsigned ranks;    /* 0: not said */
        bool counts_wrong; /* GCB_NET_WRONG is a number of wrong values, and not an error */
        bool checked;      /* some row has this number */
        char type[GCB_NET_CELL], redop[GCB_NET_CELL];
        double algbw, busbw; /* of the row with the largest, whose ratio is the most exact */
        size_t count, cap;
        struct gcb_net_row {
            double bytes, seconds;
            bool in_place;
        } * rows;
    } draft;
};

/* Set the name of a program or collective, or the title of an OSU benchmark ("OSU MPI Latency Test
 * v7.4"), and `other` if it is not read. */
void gcb_net_draft_name(struct gcb_net_draft *d, const char *name);
void gcb_net_draft_title(struct gcb_net_draft *d, const char *title);
/* Adds a row. A column that it does not have is NULL. GCB_E_CORRUPT: no size or time, wrong
 * results, a time that is not positive, or another type or operation than in the rows before. */
int gcb_net_draft_row(struct gcb_net_draft *d, const char *const text[GCB_NET_COLUMNS],
                      struct gcb_diag *diag);
int gcb_net_draft_size(struct gcb_net_draft *d, double bytes, double seconds, bool in_place,
                       struct gcb_diag *diag);
void gcb_net_draft_clear(struct gcb_net_draft *d);
/* Ends a table, and clears the draft: stores the times of its sizes in the log, or its name if the
 * test is not read. */
int gcb_net_draft_finish(struct gcb_net_reading *r, struct gcb_diag *diag);

/* Cuts a line at each of these bytes. Without `empty`, cells without a byte are left out. Returns
 * the number of cells, at most `most`. */
size_t gcb_net_cut(char *cells[], size_t most, char *line, const char *at, bool empty);

/* Files that tests save: JSON of nccl-tests (-J), JSON and CSV of rccl-tests (-Z). The text is
 * changed. */
bool gcb_net_is_saved(const char *text);
int gcb_net_saved_read(struct gcb_net_reading *r, char *text, struct gcb_diag *diag);

#endif
