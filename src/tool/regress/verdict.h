#ifndef SRC_TOOL_REGRESS_VERDICT_H
#define SRC_TOOL_REGRESS_VERDICT_H

#include "src/tool/regress/match.h"
#include "src/tool/rows/row.h"
#include "src/tool/rows/sink.h"

/* What was compared, and what came out. docs/method.md (Regressions) has the rules. */
enum gcb_quantity {
    GCB_OF_CASE,   /* is it there, and does it run? */
    GCB_OF_SIZE,   /* bytes of the messages */
    GCB_OF_ERROR,  /* relative L2 error */
    GCB_OF_ENCODE, /* seconds */
    GCB_OF_DECODE,
    GCB_OF_KERNEL,
    GCB_OF_ENCODE_COUNT, /* instructions */
    GCB_OF_DECODE_COUNT,
    GCB_QUANTITIES
};

enum gcb_verdict_kind {
    GCB_SAME,
    GCB_FAST,
    GCB_SLOW,
    GCB_AMBIGUOUS,
    GCB_NOT_COMPARED,
    GCB_LARGER,
    GCB_SMALLER,
    GCB_WORSE,
    GCB_BETTER,
    GCB_NEW,
    GCB_GONE,
    GCB_VERDICT_KINDS
};

struct gcb_verdict {
    struct gcb_match match; /* borrowed cases */
    enum gcb_quantity quantity;
    enum gcb_verdict_kind kind;
    double base, next, ratio; /* ratio: next / base */
    double low, high;         /* of the ratio, 95 % */
    double delta;             /* 1 / (1 + delta) to 1 + delta counts as the same */
    double p;                 /* adjusted for the number of comparisons */
    uint64_t pairs;
    bool accepted; /* a wanted change */
    bool advisory; /* shown, and never fails */
    char *reason;  /* the cause, one line; NULL where nothing is to say; owned */
};

struct gcb_verdicts {
    struct gcb_verdict *items;
    size_t count, cap;
};

/*
 * The rule of all that is measured: what an interval of the ratio new / base says. GCB_SLOW: all of it is above 1 + delta;
 * GCB_FAST: below 1 / (1 + delta), which is as far from 1, so that two builds swapped get the same verdicts the other way
 * round; GCB_SAME: within both; GCB_AMBIGUOUS: anything else, NAN too.
 */
enum gcb_verdict_kind gcb_verdict_judge(double low, double high, double delta);

/* A verdict of this quantity and kind with no figures yet. NULL: no memory. */
struct gcb_verdict *gcb_verdicts_add(struct gcb_verdicts *v, const struct gcb_match *match,
                                     enum gcb_quantity quantity, enum gcb_verdict_kind kind);
void gcb_verdicts_fini(struct gcb_verdicts *v); /* zeroed is fine */
/* The cause in words (printf style). GCB_E_NOMEM. */
int gcb_verdict_say(struct gcb_verdict *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

const struct gcb_case *gcb_verdict_case(const struct gcb_verdict *v); /* base's, or the new one's */
const char *gcb_quantity_name(enum gcb_quantity q);                   /* "encode" */
const char *gcb_verdict_name(enum gcb_verdict_kind k);                /* "NOT-COMPARED" */
/* What to do about it: a static text, NULL where nothing is. */
const char *gcb_verdict_advice(const struct gcb_verdict *v);

/* Does it break the build: SLOW, LARGER, WORSE or GONE, neither accepted nor advisory? */
bool gcb_verdict_fails(const struct gcb_verdict *v);

/*
 * Marks verdicts whose case matches the glob as accepted: on its name, its label, or the method's spec, each alone or
 * with the quantity behind it ("NAME encode"). Returns how many.
 */
size_t gcb_verdicts_accept(struct gcb_verdicts *v, const char *pattern);

/* Of all verdicts. */
struct gcb_verdict_counts {
    size_t kinds[GCB_VERDICT_KINDS];
    size_t accepted; /* of those that would fail */
    size_t fails, unsure;
};
void gcb_verdicts_count(struct gcb_verdict_counts *out, const struct gcb_verdicts *v);

/* The `verdict` row (docs/rows.md). */
void gcb_verdict_row(struct gcb_row *row, const struct gcb_verdict *v);
extern const struct gcb_columns gcb_verdict_columns;

/* What a comparison was, as a whole. */
struct gcb_verdict_total {
    const char *form;          /* "files", "turns", "counts" */
    const json_t *base, *next; /* environment rows; may be NULL */
    uint64_t pairs, repeat;    /* of processes; calls of each case in one; 0 where there are none */
    double seconds, budget;    /* NAN where there is none */
    bool interrupted;
    int exit;
};
/* The `regress` row, last of its stream. */
void gcb_verdict_total_row(struct gcb_row *row, const struct gcb_verdict_total *total,
                           const struct gcb_verdicts *v);

#endif
