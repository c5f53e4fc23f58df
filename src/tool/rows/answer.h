#ifndef SRC_TOOL_ROWS_ANSWER_H
#define SRC_TOOL_ROWS_ANSWER_H

#include "src/tool/rows/row.h"

/*
 * The answers of commands: which method to use, for fewer bytes or for a faster exchange. No error
 * predicts how well a network trains (docs/payoff.md), so an answer may recommend a method for each
 * of the first three of these kinds of errors.
 */
enum gcb_error_kind {
    GCB_ERROR_EXACT, /* the error is small: the method is nearly exact */
    GCB_ERROR_NOISE, /* the error is larger, but averages out over steps */
    /* The error does not average out, because the method rounds to nearest, shrinks or drops
     * values. The method needs a memory, and a training that confirms its use. */
    GCB_ERROR_LASTING,
    GCB_ERROR_LOUD, /* noise above the limit */
    GCB_ERROR_KINDS
};
/* The names of the kinds in rows: "exact", "noise", "lasting", "loud". */
extern const char *const gcb_error_kinds[GCB_ERROR_KINDS];

/* The largest errors that count as nearly exact and as noise, if the user gives no other limits,
 * and the largest lasting part of an error that counts as noise. All are relative L2 errors;
 * docs/payoff.md has their reasons. */
#define GCB_ERROR_EXACT_MOST 0.05
#define GCB_ERROR_NOISE_MOST 0.35
#define GCB_ERROR_LASTING_MOST 0.05

/* A method, or a way of `payoff` (a method over a collective), with its figures. Errors are
 * relative L2 errors. */
struct gcb_answer_item {
    const char *name; /* borrowed */
    double error;     /* NAN: unknown, so the item is never recommended */
    /* the part of the error that does not average out; NAN: not measured, which counts as 0 for an
     * unbiased method, and as the whole error for any other method */
    double lasting;
    bool unbiased, memory, baseline;
    double gain; /* how many times fewer bytes than gcb_answer.bar, or how many times as fast */
    double low, high; /* ends of the confidence interval of `gain`; NAN: unknown */
    double step;      /* how many times as fast a training step is as with the bar; NAN: unknown */
    double speed;     /* of encoding, GB/s; NAN: unknown */
};

/* Returns an item with what a method tells of itself: whether it is a baseline, is unbiased, and
 * has a memory. The name is NULL. All figures are NAN, except the gain, which is 0. */
struct gcb_answer_item gcb_answer_item_of(const struct gcb_method *m);

struct gcb_answer {
    const struct gcb_answer_item *items; /* borrowed */
    size_t count;
    const char *bar; /* borrowed; name of what gains are compared with, such as "fp16" */
    bool times;      /* gains are about time, otherwise about bytes */
    /* the largest errors that count as nearly exact and as noise; 0: GCB_ERROR_EXACT_MOST,
     * GCB_ERROR_NOISE_MOST */
    double exact, noise;

    /* Indices of the items that gcb_answer_choose recommends; SIZE_MAX: none. */

    size_t best; /* the best nearly exact item, if it is worth GCB_ANSWER_GAIN or more */
    /* the best item whose error is noise, if it is worth at least GCB_ANSWER_NOISE_GAIN times as
     * much as `best`, or as the bar if `best` is SIZE_MAX */
    size_t noisy;
    /* the best item of the kind GCB_ERROR_LASTING with an error of at most `noise`, if it is worth
     * GCB_ANSWER_GAIN or more, and no less than `best` and `noisy`; it has a memory */
    size_t trained;
};
/* An item that is worth less than this is never recommended. */
#define GCB_ANSWER_GAIN 1.1
/* Noise has to be worth this many times as much as a nearly exact item, or as the bar. */
#define GCB_ANSWER_NOISE_GAIN 1.2
/* Items whose worth is at least this share of the largest worth count as equal. */
#define GCB_ANSWER_CLOSE 0.95

/* Returns the kind of the item's error, which must be known. */
enum gcb_error_kind gcb_answer_kind(const struct gcb_answer *a, const struct gcb_answer_item *item);
/* True if the item is no baseline, its error is known, and it has a memory if its error lasts.
 * Other items are never recommended. */
bool gcb_answer_usable(const struct gcb_answer *a, const struct gcb_answer_item *item);
/* Returns what items are compared by: `step`, or `gain` if `step` is unknown. */
double gcb_answer_worth(const struct gcb_answer_item *item);
/* Returns the index of the usable item that is worth most among the items of a kind with an error
 * of at most `most`. If several items are worth about as much (GCB_ANSWER_CLOSE), returns the item
 * with the smallest error. Returns SIZE_MAX if there is no such item. */
size_t gcb_answer_best(const struct gcb_answer *a, enum gcb_error_kind kind, double most);
/* Sets `best`, `noisy` and `trained`. */
void gcb_answer_choose(struct gcb_answer *a);

/* Appends how an item compares with the bar, such as "is 1.30 times as fast as fp16", to the text
 * in `out` (size bytes in all). */
void gcb_answer_gain(char *out, size_t size, const struct gcb_answer *a,
                     const struct gcb_answer_item *x);

/* Writes the answer to `out`, cut to `size` bytes. Call it after gcb_answer_choose. Returns out. */
char *gcb_answer_text(char *out, size_t size, const struct gcb_answer *a);

/* Starts a row `answer` with the text, and with what `a` recommends unless `a` is NULL. The caller
 * releases the row. */
void gcb_answer_row(struct gcb_row *row, const char *text, const struct gcb_answer *a);

#endif
