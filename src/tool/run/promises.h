#ifndef SRC_TOOL_RUN_PROMISES_H
#define SRC_TOOL_RUN_PROMISES_H

#include "src/lib/coder/coder.h"

struct gcb_sum;

/*
 * What methods promise, checked on a user's own tensor (docs/verify.md). A promise is a row of a
 * table: its name, its claim, its source, a function that tells which methods the promise binds
 * (applies to), and the check. Capabilities, stages and the codec's error rule decide which methods
 * a promise binds; names of methods never do.
 *
 * Promises about messages and their sums are in promises_message.c, about sparsifiers in
 * promises_sparse.c, about errors and random draws in error_rules.c.
 */

/* A message to encode and to decode. */
struct gcb_promise_job {
    const struct gcb_method *method;
    struct gcb_coder_config config; /* all its pointers are borrowed */
    struct gcb_step at;
    const float *x;   /* config.env.count elements; borrowed */
    unsigned repeats; /* how often one coder encodes x; only the last message is used */
};

/* What encodes and decodes messages: coders, or in tests functions that break promises. */
struct gcb_promise_backend {
    /* appends the message to `out` */
    int (*encode)(void *ctx, const struct gcb_promise_job *job, struct gcb_wbuf *out,
                  struct gcb_diag *diag);
    /* decodes a message, and sets *parts to its parts; `parts` may be NULL */
    int (*decode)(void *ctx, const struct gcb_promise_job *job, const void *message, size_t length,
                  const struct gcb_mview *out, struct gcb_message_parts *parts,
                  struct gcb_diag *diag);
    /* adds a message to a sum; NULL: gcb_sum_add */
    int (*add)(void *ctx, struct gcb_sum *sum, const void *message, size_t length, float weight,
               struct gcb_diag *diag);
    void *ctx;
};
/* Encodes and decodes each message with new coders. */
extern const struct gcb_promise_backend gcb_promise_coders;

enum gcb_promise_status {
    GCB_PROMISE_KEPT,
    GCB_PROMISE_BROKEN,
    GCB_PROMISE_IDLE, /* this tensor cannot show whether the promise is kept */
    GCB_PROMISE_STATUSES
};
struct gcb_promise_outcome {
    enum gcb_promise_status status;
    /* value: what the check measured, or which element, length or message is wrong; limit: what is
     * allowed, in most checks the largest value; NAN: no number */
    double value, limit;
    char words[200]; /* what is wrong, or why the check says nothing; escaped; may be "" */
};

/* A tensor and a method, with the buffers that the checks need. */
struct gcb_promise_case {
    struct gcb_promise_job job;
    const struct gcb_promise_backend *backend;
    double energy;           /* sum of x^2 */
    uint64_t max_message;    /* largest number of bytes of a message that the coder promises */
    struct gcb_wbuf message; /* written by gcb_promise_send */
    struct gcb_wbuf other;   /* written by gcb_promise_send_other and gcb_promise_send_here */
    float *y, *z;  /* decoded tensors, each between two guards of GCB_PROMISE_GUARD floats */
    float *floats; /* memory of y and z; owned */
    struct gcb_message_parts parts;     /* parts of the last message */
    bool stored;                        /* the last message was sent raw */
    struct gcb_promise_outcome outcome; /* outcome of the last check */
    /* if the status is not 0, the check says nothing, because memory or the device failed, a
     * library or the method is missing, or a parameter cannot be set */
    struct gcb_diag failure;
};
#define GCB_PROMISE_GUARD 16

/*
 * Prepares checks of a method on a tensor. `config` has source type, place and env, whose queue has
 * one thread. `backend` NULL: gcb_promise_coders. x has env.count finite elements. All pointers,
 * also those in *config, are borrowed until gcb_promise_case_fini, which must be called even after
 * a failure. Returns GCB_E_NOMEM, or the error of creating a coder for this method and tensor.
 */
int gcb_promise_case_init(struct gcb_promise_case *c, const struct gcb_method *method,
                          const struct gcb_coder_config *config, const struct gcb_step *at,
                          const float *x, const struct gcb_promise_backend *backend,
                          struct gcb_diag *diag);
void gcb_promise_case_fini(struct gcb_promise_case *c); /* zeroed is fine */

/* Where a promise can be checked. */
enum gcb_promise_place { GCB_PROMISE_ANYWHERE, GCB_PROMISE_ON_CPU, GCB_PROMISE_ON_DEVICE };

struct gcb_promise {
    const char *name, *claim, *source;
    bool (*binds)(const struct gcb_method *m); /* NULL: the promise of an error rule */
    /* fills c->outcome and returns its status; both mean nothing if c->failure.status is not 0 */
    enum gcb_promise_status (*check)(struct gcb_promise_case *c);
    enum gcb_promise_place place;
};
/* Returns promise i among the promises that can be checked on a device, or if `on_device` is false,
 * on the CPU; NULL past the end. */
const struct gcb_promise *gcb_promise_at(size_t i, bool on_device);
/* True if the promise applies to the method, by `binds` or as the codec's error rule. */
bool gcb_promise_binds(const struct gcb_promise *p, const struct gcb_method *m);

/* ---- for the files with tables of promises ---- */

/* Tables of promises. Each ends with a row without a name. */
extern const struct gcb_promise gcb_promises_message[], gcb_promises_error[], gcb_promises_sparse[],
    gcb_promises_random[];

/*
 * Encodes c->job into c->message and decodes that message into c->y. Returns false if this fails,
 * or if decoding leaves an element out, makes an infinity or NaN, or writes outside of c->y. Then
 * c->outcome is a broken promise, and gcb_promise_note_failure says when c->failure is set too.
 */
bool gcb_promise_send(struct gcb_promise_case *c);
/* Encodes another job into c->other, and decodes c->other into c->z. The job's tensor has at most
 * as many elements as that of c->job. Fails like gcb_promise_send. */
bool gcb_promise_send_other(struct gcb_promise_case *c, const struct gcb_promise_job *job);
/* Encodes c->job into c->other and decodes c->other into c->z, with gcb_promise_coders on the CPU,
 * whatever c->backend is. Fails like gcb_promise_send. */
bool gcb_promise_send_here(struct gcb_promise_case *c);

/* The next four functions fill c->outcome and return its status. */
enum gcb_promise_status gcb_promise_kept(struct gcb_promise_case *c, double value, double limit);
enum gcb_promise_status gcb_promise_broken(struct gcb_promise_case *c, double value, double limit,
                                           const char *format, ...)
    __attribute__((format(printf, 4, 5)));
enum gcb_promise_status gcb_promise_idle(struct gcb_promise_case *c, const char *why);
/* The promise is kept if value <= limit, and otherwise broken, with a text that begins with
 * `words`. */
enum gcb_promise_status gcb_promise_at_most(struct gcb_promise_case *c, double value, double limit,
                                            const char *words);

/* True if the last message was sent raw or all elements are zero, so that it shows nothing about
 * the method. Then the outcome is GCB_PROMISE_IDLE. */
bool gcb_promise_is_trivial(struct gcb_promise_case *c);

/*
 * Returns by how much rounding to multiples of the smallest positive float32, u = 2^-149, may
 * change a decoded tensor, as a share of the input's norm: 2u sqrt(n L) / ||x|| for n elements in
 * transforms of L elements (L = 1 without a transform). The factor sqrt(L) is there because the
 * inverse transform multiplies kept values by it. If the result is 1 or more, rounding may leave
 * nothing of the tensor, and promises about energies say nothing.
 */
double gcb_promise_rounding(const struct gcb_promise_case *c, const struct gcb_method *m);
#define GCB_PROMISE_STEP 0x1p-149 /* the smallest positive float32 */
#define GCB_PROMISE_TINY "the values are so small that float32 may round their errors to 0"

/* Returns the name of a choice parameter's value, or "" if the method has no such parameter. */
const char *gcb_promise_choice(const struct gcb_method *m, const char *key);
/* True if the method transforms tensors before it selects or quantises. */
bool gcb_promise_transforms(const struct gcb_method *m);
/* Returns the number of elements whose bits differ. */
uint64_t gcb_promise_differing(const float *x, const float *y, uint64_t n);
/* Returns the sum of (x - y)^2, in double precision. */
double gcb_promise_distance(const float *x, const float *y, uint64_t n);
/* Returns the sum of y^2, in double precision. */
double gcb_promise_energy(const float *y, uint64_t n);

/* If `err` is about memory, the device or a missing library or method, and not about the message,
 * sets c->failure to `err` with the text of `why`. */
void gcb_promise_note_failure(struct gcb_promise_case *c, int err, const struct gcb_diag *why);
/* Sets the outcome to a broken promise because of `err`. The outcome's text has `words`, such as
 * "encoding fails", and the text of `why`. Calls gcb_promise_note_failure. Returns false. */
bool gcb_promise_fail(struct gcb_promise_case *c, int err, const char *words,
                      const struct gcb_diag *why);

/*
 * Error rules: how far each decoded element may be from the element that was encoded. A codec that
 * rounds each element by itself names its rule in `.error_rule` or `.error_rule_of`
 * (src/lib/codec/codec.h). Each row of the table in error_rules.c is a rule, which `gcbench verify`
 * and the contract tests check.
 *
 * The allowed errors follow from the tensor and the method's parameters. Only the rule `range` also
 * needs the message, which has the format.
 */

/* The error that one element may have. */
struct gcb_element_error {
    double most; /* largest |error|, whatever is drawn */
    /* For drawn rules: with probability `up`, the element, or in most rules its magnitude, is
     * rounded up by step * (1 - up), and otherwise down by step * up. If step is 0, nothing is
     * drawn, and the error is exactly `most`. */
    double step, up;
};
/* Receives the allowed error of element i. */
typedef void gcb_element_fn(void *ctx, uint64_t i, const struct gcb_element_error *e);

/* The tensor and the method that a rule is applied to. */
struct gcb_rule_input {
    const struct gcb_method *method;
    const float *x; /* count elements */
    uint64_t count;
    const void *message; /* length bytes; only the rule `range` reads it; may be NULL for others */
    size_t length;
};

struct gcb_error_rule {
    const char *name;           /* as a codec names it */
    struct gcb_promise promise; /* binds (applies to) the methods that name this rule */
    bool drawn;                 /* elements are rounded stochastically */
    /* Calls `each` for every element in order. Returns false if the message has no scale. */
    bool (*visit)(const struct gcb_rule_input *in, gcb_element_fn *each, void *ctx);
    /* For drawn rules: returns the largest mean over all draws of ||x - x'||^2 (x': the decoded
     * tensor) that the method's paper allows. NULL: the paper gives the exact mean, which follows
     * from `visit`. */
    double (*largest_mean)(const struct gcb_rule_input *in);
};

/* Returns rule i of the table; NULL past the end. */
const struct gcb_error_rule *gcb_error_rule_at(size_t i);
/* Returns the rule that the codec names for the method's parameters; NULL if it names none. */
const struct gcb_error_rule *gcb_error_rule_of(const struct gcb_method *m);

/* Returns how much float32 arithmetic may add to the error of element x, whose allowed error is
 * *e. */
double gcb_element_slack(float x, const struct gcb_element_error *e);

#endif
