#ifndef SRC_TOOL_ROWS_ANSWER_H
#define SRC_TOOL_ROWS_ANSWER_H

#include "src/tool/rows/row.h"

/*
 * The answers of commands: which method to use, for fewer bytes or for a faster exchange. All words
 * about this are made here. No error predicts how well a network trains (docs/payoff.md), so
 * methods are told apart by the kind of their error first.
 */
enum gcb_error_kind {
    GCB_ERROR_EXACT, /* nearly exact: a small error */
    GCB_ERROR_NOISE, /* an error that is right on average */
    /* rounds to nearest, shrinks or drops: needs a memory, and a training that confirms it */
    GCB_ERROR_LASTING,
    GCB_ERROR_LOUD, /* noise above the limit */
    GCB_ERROR_KINDS
};
/* "exact", "noise", "lasting", "loud" */
extern const char *const gcb_error_kinds[GCB_ERROR_KINDS];

#define GCB_ERROR_EXACT_MOST 0.05
#define GCB_ERROR_NOISE_MOST 0.35
#define GCB_ERROR_LASTING_MOST 0.05 /* of an error that is noise */

struct gcb_answer_item {
    const char *name;
    double error; /* NAN: not known, the item is left out */
    /* how much of the error lasts; NAN: not measured, then nothing of an unbiased method's error
     * lasts, and all of other errors */
    double lasting;
    bool unbiased, memory, baseline;
    double gain;      /* how many times fewer bytes than the bar, or as fast */
    double low, high; /* ends of its interval; NAN: unknown */
    /* how many times as fast a training step is with the method; NAN: unknown, then gain decides */
    double step;
    double speed; /* of encoding, GB/s; NAN: unknown */
};

/* Returns what is known of a method: whether it is a baseline, unbiased, and has a memory.
 * Everything else is unknown. */
struct gcb_answer_item gcb_answer_item_of(const struct gcb_method *m);

struct gcb_answer {
    const struct gcb_answer_item *items; /* borrowed */
    size_t count;
    const char *bar; /* what gains are compared with: "fp16" */
    bool times;      /* gains are about time, otherwise about bytes */
    /* largest errors of these kinds; 0: GCB_ERROR_EXACT_MOST, GCB_ERROR_NOISE_MOST */
    double exact, noise;

    /* ---- of gcb_answer_choose; SIZE_MAX: none ---- */

    size_t best; /* the nearly exact one with the most gain, if that is 1.1 or more */
    /* the noise with the most gain, if that is 1.2 times that of `best`, or without it 1.2 or
     * more */
    size_t noisy;
    /* of those with a memory whose error lasts, up to the limit of noise: the most gain, if it is
     * more */
    size_t trained;
};
#define GCB_ANSWER_GAIN 1.1
/* gains so near to the most count as the same: then the smaller error decides */
#define GCB_ANSWER_CLOSE 0.95
#define GCB_ANSWER_NOISE_GAIN 1.2

enum gcb_error_kind gcb_answer_kind(const struct gcb_answer *a, const struct gcb_answer_item *item);
/* True if the item may be recommended when its gain is enough: it is no baseline, its error is
 * known, and it has a memory if its error lasts. */
bool gcb_answer_usable(const struct gcb_answer *a, const struct gcb_answer_item *item);
/* Returns how many times as fast a step is with the item, or its gain if that is not known. */
double gcb_answer_worth(const struct gcb_answer_item *item);
/* Returns the usable item of a kind that is worth most and has an error of at most `most`. If
 * several items are worth about as much, returns the one with the smallest error.
 * SIZE_MAX: none. */
size_t gcb_answer_best(const struct gcb_answer *a, enum gcb_error_kind kind, double most);
void gcb_answer_choose(struct gcb_answer *a);

/* Appends how an item compares: "is 1.30 times as fast as fp16". */
void gcb_answer_gain(char *out, size_t size, const struct gcb_answer *a,
                     const struct gcb_answer_item *x);

/* Writes the answer, after gcb_answer_choose, cut to `size`. Returns out. */
char *gcb_answer_text(char *out, size_t size, const struct gcb_answer *a);

/* Row `answer`: the text, and what was chosen. `a` may be NULL: only the text. */
void gcb_answer_row(struct gcb_row *row, const char *text, const struct gcb_answer *a);

#endif
