#ifndef SRC_TOOL_VERIFY_PROMISES_H
#define SRC_TOOL_VERIFY_PROMISES_H

#include "src/lib/codec/coder.h"

/*
 * What methods promise, as checks on a user's own tensor (docs/verify.md). A promise is a row: its claim, its source,
 * which methods it binds (by their capabilities, their codec's `bounds` and their stages, never by name), and how it
 * is looked into. Rows stand in promises_trip.c, promises_error.c, promises_sparse.c and promises_random.c.
 */

/* How messages are made and read: fresh coders each time, unless a test stands in between. */
struct gcb_promise_job {
    const struct gcb_method *method;
    struct gcb_coder_config config; /* the queue is borrowed; env.count elements at x */
    struct gcb_step at;
    const float *x;
    unsigned repeats; /* encodes by one coder, of which the last counts */
};
struct gcb_promise_trip {
    /* appends the message to `out` */
    int (*encode)(void *ctx, const struct gcb_promise_job *job, struct gcb_wbuf *out,
                  struct gcb_diag *diag);
    /* `parts` may be NULL */
    int (*decode)(void *ctx, const struct gcb_promise_job *job, const void *message, size_t length,
                  const struct gcb_mview *out, struct gcb_message_parts *parts,
                  struct gcb_diag *diag);
    void *ctx;
    bool
        device; /* it is a device's: what is promised of those is looked into, and of CPUs is not */
};
extern const struct gcb_promise_trip gcb_promise_coders;

/* A tensor, what it is coded by, and room to do it in. */
struct gcb_promise_bench {
    struct gcb_promise_job job;
    const struct gcb_promise_trip *trip;
    double energy;  /* sum of x^2 */
    uint64_t bound; /* the longest message its coder promises */
    struct gcb_wbuf message, other;
    float *y, *z; /* decoded; GCB_PROMISE_GUARD floats stand before and behind each */
    float *room;
    uint8_t *bytes;
    /* of the last gcb_promise_send */
    struct gcb_message_parts parts;
    bool stored;
    struct gcb_diag
        failure; /* status 0: none. What kept a check from being made: memory, the device */
};
#define GCB_PROMISE_GUARD 16
#define GCB_PROMISE_RUNS 32                    /* seeds of what is checked by statistics */
#define GCB_PROMISE_SAMPLE (UINT64_C(1) << 20) /* of the first so many elements */

/*
 * `config` has env, source type, kernels and one thread; `trip` NULL: gcb_promise_coders. x has env.count finite elements and is
 * borrowed. GCB_E_NOMEM, or why the method cannot be bound to the tensor.
 */
int gcb_promise_bench_init(struct gcb_promise_bench *b, const struct gcb_method *method,
                           const struct gcb_coder_config *config, const struct gcb_step *at,
                           const float *x, const struct gcb_promise_trip *trip,
                           struct gcb_diag *diag);
void gcb_promise_bench_fini(struct gcb_promise_bench *b); /* zeroed is fine */

enum gcb_promise_status { GCB_PROMISE_KEPT, GCB_PROMISE_BROKEN, GCB_PROMISE_IDLE };
struct gcb_promise_outcome {
    enum gcb_promise_status status; /* IDLE: this tensor says nothing about it */
    double value, limit; /* what was measured, and the most it may be; NAN where it is no number */
    char words[200];     /* what is wrong, or why nothing is said; escaped */
};

struct gcb_promise {
    const char *name, *claim, *source;
    bool (*binds)(const struct gcb_method *m);
    /* 0 with *out filled, or a negative status: it could not be looked into */
    int (*check)(struct gcb_promise_bench *b, struct gcb_promise_outcome *out,
                 struct gcb_diag *diag);
};
/* Of those that say something where `trip` (NULL: the CPU's coders) makes messages; NULL past the end. */
const struct gcb_promise *gcb_promise_at(size_t i, const struct gcb_promise_trip *trip);

/* ---- for the files of rows ---- */

extern const struct gcb_promise gcb_promises_trip[], gcb_promises_error[], gcb_promises_sparse[],
    gcb_promises_random[], gcb_promises_cpu[],
    gcb_promises_device[]; /* each ends with a row without a name */

/* Encodes b->job into b->message and decodes it to b->y; GCB_E_CORRUPT and the like are a broken promise, and `out` says so:
 * returns false then. Where memory or a device failed that is b->failure, and `out` means nothing. */
bool gcb_promise_send(struct gcb_promise_bench *b, struct gcb_promise_outcome *out);
/* The same of another job, as large at most, whose outcome is in b->other and b->z. */
bool gcb_promise_send_other(struct gcb_promise_bench *b, const struct gcb_promise_job *job,
                            struct gcb_promise_outcome *out);
/* As send_other with b->job, by another trip. */
bool gcb_promise_send_by(struct gcb_promise_bench *b, const struct gcb_promise_trip *trip,
                         struct gcb_promise_outcome *out);

int gcb_promise_kept(struct gcb_promise_outcome *out, double value, double limit);
int gcb_promise_broken(struct gcb_promise_outcome *out, double value, double limit,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));
int gcb_promise_idle(struct gcb_promise_outcome *out, const char *why);
/* Kept up to `limit`, else broken with these words. */
int gcb_promise_at_most(struct gcb_promise_outcome *out, double value, double limit,
                        const char *words);

/*
 * What rounding near float32's least step, u = 2^-149, may do to a decoded tensor, as a share of its norm: 2u sqrt(n L) over the
 * norm, n elements in transforms of L each (1: none), because kept values stand there 1 / sqrt(L) as large before the inverse
 * makes elements of them. From 1 on nothing need be left, and a promise about energies says nothing.
 */
double gcb_promise_rounding(const struct gcb_promise_bench *b, const struct gcb_method *m);
#define GCB_PROMISE_STEP 0x1p-149
#define GCB_PROMISE_TINY "so small that rounding to float32's least step may leave nothing"

/* Name of a choice parameter's value, or "" where the method has none of that name. */
const char *gcb_promise_choice(const struct gcb_method *m, const char *key);
/* Sum of (x - y)^2, and of y^2, in double. */
double gcb_promise_distance(const float *x, const float *y, uint64_t n);
double gcb_promise_energy(const float *y, uint64_t n);

/* Is err one of memory or of the device, and not of the message? Then it is b->failure, with the words of `why`. */
void gcb_promise_note_failure(struct gcb_promise_bench *b, int err, const struct gcb_diag *why);

#endif
