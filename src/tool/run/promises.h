#ifndef SRC_TOOL_RUN_PROMISES_H
#define SRC_TOOL_RUN_PROMISES_H

#include "src/lib/coder/coder.h"

struct gcb_sum;

/*
 * What methods promise, checked on a user's own tensor (docs/verify.md). A promise is a row: its
 * name, its claim, its source, the methods that it binds (applies to), and the check. Capabilities,
 * stages and the codec's error rule decide which methods it binds; names of methods never do.
 *
 * Rows about messages and their sums are in promises_message.c, about sparsifiers in
 * promises_sparse.c, about errors and draws in error_rules.c.
 */

/* One message to make and to read. */
struct gcb_promise_job {
    const struct gcb_method *method;
    struct gcb_coder_config config; /* queue and place are borrowed; env.count elements at x */
    struct gcb_step at;
    const float *x;
    unsigned repeats; /* how often one coder encodes x; the last message counts */
};

/* What encodes and decodes messages: coders, or a test that breaks promises. */
struct gcb_promise_backend {
    /* Appends the message to `out`. */
    int (*encode)(void *ctx, const struct gcb_promise_job *job, struct gcb_wbuf *out,
                  struct gcb_diag *diag);
    /* `parts` may be NULL. */
    int (*decode)(void *ctx, const struct gcb_promise_job *job, const void *message, size_t length,
                  const struct gcb_mview *out, struct gcb_message_parts *parts,
                  struct gcb_diag *diag);
    /* Adds a message to a sum. NULL: gcb_sum_add */
    int (*add)(void *ctx, struct gcb_sum *sum, const void *message, size_t length, float weight,
               struct gcb_diag *diag);
    void *ctx;
};
/* new coders for each message */
extern const struct gcb_promise_backend gcb_promise_coders;

enum gcb_promise_status {
    GCB_PROMISE_KEPT,
    GCB_PROMISE_BROKEN,
    GCB_PROMISE_IDLE, /* this tensor cannot show whether the promise is kept */
    GCB_PROMISE_STATUSES
};
struct gcb_promise_outcome {
    enum gcb_promise_status status;
    double value, limit; /* the measured value, and the largest allowed; NAN: no number */
    char words[200];     /* what is wrong, or why the check says nothing; escaped */
};

/* A tensor and a method, with the buffers that the checks need. */
struct gcb_promise_case {
    struct gcb_promise_job job;
    const struct gcb_promise_backend *backend;
    double energy;        /* sum of x^2 */
    uint64_t max_message; /* the longest message that the coder promises, in bytes */
    struct gcb_wbuf message, other;
    float *y, *z; /* decoded tensors, each between two guards of GCB_PROMISE_GUARD floats */
    float *floats;
    /* of the last message sent: its parts, and whether it was sent raw */
    struct gcb_message_parts parts;
    bool stored;
    struct gcb_promise_outcome outcome; /* outcome of the last check */
    /* status not 0: memory or the device failed, so the check says nothing */
    struct gcb_diag failure;
};
#define GCB_PROMISE_GUARD 16

/*
 * `config` has env, source type, place, kernels and one thread. `backend` NULL: gcb_promise_coders.
 * x has env.count finite elements and is borrowed. Returns GCB_E_NOMEM, or why the method cannot be
 * bound to the tensor.
 */
int gcb_promise_case_init(struct gcb_promise_case *c, const struct gcb_method *method,
                          const struct gcb_coder_config *config, const struct gcb_step *at,
                          const float *x, const struct gcb_promise_backend *backend,
                          struct gcb_diag *diag);
void gcb_promise_case_fini(struct gcb_promise_case *c); /* accepts a zeroed one */

/* Where a promise can be checked. */
enum gcb_promise_place { GCB_PROMISE_ANYWHERE, GCB_PROMISE_ON_CPU, GCB_PROMISE_ON_DEVICE };

struct gcb_promise {
    const char *name, *claim, *source;
    bool (*binds)(const struct gcb_method *m); /* NULL: the promise of an error rule */
    /* Fills c->outcome and returns its status. If c->failure.status is not 0, neither means
     * anything. */
    enum gcb_promise_status (*check)(struct gcb_promise_case *c);
    enum gcb_promise_place place;
};
/* The promises that can be checked on the CPU or on a device; NULL past the end. */
const struct gcb_promise *gcb_promise_at(size_t i, bool on_device);
bool gcb_promise_binds(const struct gcb_promise *p, const struct gcb_method *m);

/* ---- for the files of rows ---- */

/* Tables of promises. Each ends with a row without a name. */
extern const struct gcb_promise gcb_promises_message[], gcb_promises_error[], gcb_promises_sparse[],
    gcb_promises_random[];

/*
 * Encodes c->job into c->message and decodes that message into c->y. Returns false if this fails:
 * c->outcome is then a broken promise. If the cause is memory or a device, c->failure is set too.
 */
bool gcb_promise_send(struct gcb_promise_case *c);
/* Like gcb_promise_send, for another job that is no larger, into c->other and c->z. */
bool gcb_promise_send_other(struct gcb_promise_case *c, const struct gcb_promise_job *job);
/* Like gcb_promise_send, by coders on the host, into c->other and c->z. */
bool gcb_promise_send_here(struct gcb_promise_case *c);

/* Fill c->outcome and return its status. */
enum gcb_promise_status gcb_promise_kept(struct gcb_promise_case *c, double value, double limit);
enum gcb_promise_status gcb_promise_broken(struct gcb_promise_case *c, double value, double limit,
                                           const char *format, ...)
    __attribute__((format(printf, 4, 5)));
enum gcb_promise_status gcb_promise_idle(struct gcb_promise_case *c, const char *why);
/* Kept if value <= limit, otherwise broken, with a message that begins with `words`. */
enum gcb_promise_status gcb_promise_at_most(struct gcb_promise_case *c, double value, double limit,
                                            const char *words);

/*
 * Decoded values are multiples of the smallest float32, u = 2^-149. Returns by how much this
 * rounding may change a decoded tensor, as a share of its norm: 2u sqrt(n L) / ||x|| for n elements
 * in transforms of L elements (L = 1 without a transform), because the inverse transform multiplies
 * kept values by sqrt(L). If the result is 1 or more, rounding may leave nothing of the tensor, and
 * promises about energies say nothing.
 */
double gcb_promise_rounding(const struct gcb_promise_case *c, const struct gcb_method *m);
#define GCB_PROMISE_STEP 0x1p-149
#define GCB_PROMISE_TINY "the values are so small that float32 may round their errors to 0"

/* Name of a choice parameter's value, or "" if the method has no such parameter. */
const char *gcb_promise_choice(const struct gcb_method *m, const char *key);
/* Sum of (x - y)^2, and of y^2, in double. */
double gcb_promise_distance(const float *x, const float *y, uint64_t n);
double gcb_promise_energy(const float *y, uint64_t n);

/* If err is about memory or the device and not about the message, c->failure becomes err with the
 * message of `why`. */
void gcb_promise_note_failure(struct gcb_promise_case *c, int err, const struct gcb_diag *why);
/* The promise is broken, because `words` ("encoding fails"). Notes the failure, and returns
 * false. */
bool gcb_promise_fail(struct gcb_promise_case *c, int err, const char *words,
                      const struct gcb_diag *why);

/*
 * Error rules: how far each decoded element may be from the element that was encoded. A codec that
 * rounds every element by itself names its rule in `.error_rule` or `.error_rule_of`
 * (src/lib/codec/codec.h). Each row of the table in error_rules.c is a rule. `gcbench verify`, the
 * contract tests and the tests of the rules get everything from that row.
 *
 * A rule follows from the tensor and from the method's parameters. Only `range` reads its format
 * from the message.
 */

/* The error that one element may have. */
struct gcb_element_error {
    double most; /* |error| is at most this, whatever is drawn */
    /* For drawn rules: with probability `up` the element is rounded up, by step * (1 - up);
     * otherwise down, by step * up. If step is 0, nothing is drawn, and the error is exactly
     * `most`. */
    double step, up;
};
typedef void gcb_element_fn(void *ctx, uint64_t i, const struct gcb_element_error *e);

struct gcb_rule_input {
    const struct gcb_method *method;
    const float *x; /* count elements */
    uint64_t count;
    const void *message; /* length bytes; drawn rules do not read it */
    size_t length;
};

struct gcb_error_rule {
    const char *name;           /* as a codec names it */
    struct gcb_promise promise; /* binds (applies to) the methods that name this rule */
    bool drawn;                 /* every element is rounded stochastically */
    /* Calls `each` for every element in order. False: the message has no scale. */
    bool (*visit)(const struct gcb_rule_input *in, gcb_element_fn *each, void *ctx);
    /* For drawn rules: the largest mean of the squared error that the method's paper allows. NULL:
     * the paper gives the mean itself, which follows from `visit`. */
    double (*largest_mean)(const struct gcb_rule_input *in);
};

/* The rows in order; NULL past the end. */
const struct gcb_error_rule *gcb_error_rule_at(size_t i);
/* The rule that the method's codec names for these values, or NULL. */
const struct gcb_error_rule *gcb_error_rule_of(const struct gcb_method *m);

/* What float32 arithmetic may add to the error of element x of a drawn rule. */
double gcb_element_slack(float x, const struct gcb_element_error *e);

#endif
