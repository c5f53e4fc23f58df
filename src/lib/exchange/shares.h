#ifndef SRC_LIB_EXCHANGE_SHARES_H
#define SRC_LIB_EXCHANGE_SHARES_H

#include "src/lib/exchange/collective.h"

/*
 * A tensor that is cut into shares, each of which travels as messages of its own. Shares are runs
 * of whole units, of about equal length. A unit is a bucket, so that no bucket is cut in two; if
 * the method has no buckets, a unit has 64 elements. If there would be less than a unit for each
 * share, a unit is one element.
 */

/* The largest number of workers. Each message of a step draws random numbers as a worker of its
 * own, whose number is below workers^2 + workers and must fit 32 bits. */
#define GCB_SHARE_WORKERS 65535u
#define GCB_SHARE_LENGTHS 4 /* shares have at most so many lengths besides 0: see gcb_share_begin */

struct gcb_shares {
    const struct gcb_collective_env *env;
    uint32_t count; /* number of shares before neighbours are joined */
    uint32_t run;   /* number of neighbouring shares that are joined into one; divides `count` */
    uint64_t unit;  /* shares begin at multiples of `unit` elements */
    /* Coders for shares of one length. */
    struct gcb_share_coders {
        uint64_t count;
        size_t room; /* most bytes of a message */
        struct gcb_coder *encoder, *decoder;
    } coders[GCB_SHARE_LENGTHS];
};

/* Cuts the tensor into `count` shares, joins each `run` neighbours into one share (1: joins none),
 * and makes coders. *s is zeroed before, and borrows `env`. The caller calls gcb_shares_fini, also
 * after a failure. Returns 0, GCB_E_INVALID if there are too many workers, or an error of
 * gcb_coder_create. */
int gcb_shares_init(struct gcb_shares *s, const struct gcb_collective_env *env, uint32_t count,
                    uint32_t run, struct gcb_diag *diag);
void gcb_shares_fini(struct gcb_shares *s);

/* Returns where a share begins. Shares are numbered after joining; the number after the last share
 * gives the end of the tensor. Before joining, a share has units / count units (rounded down), or
 * one more. The tensor may end within a unit. No share is longer than share 0. */
uint64_t gcb_share_begin(const struct gcb_shares *s, uint64_t share);
uint64_t gcb_share_length(const struct gcb_shares *s, uint64_t share);
/* The configuration of a coder for a share of `length` elements. */
struct gcb_coder_config gcb_share_config(const struct gcb_shares *s, uint64_t length);
/* Returns the coders for the length of a share that is not empty. */
struct gcb_share_coders *gcb_share_coders(struct gcb_shares *s, uint64_t share);

/* Appends the message of a share, with its checksum, to `out`, which needs room for
 * gcb_share_coders()->room bytes. x has the share's elements. raw: they have an infinity or NaN.
 * Returns 0 or an error of gcb_coder_encode. */
int gcb_share_encode(struct gcb_shares *s, uint64_t share, const struct gcb_step *at,
                     const float *x, bool raw, struct gcb_wbuf *out, struct gcb_diag *diag);
/* Checks the message of a share and decodes it to x (gcb_share_length floats). Returns 0,
 * GCB_E_CORRUPT (also for the checksum) or an error of gcb_coder_decode. */
int gcb_share_decode(struct gcb_shares *s, uint64_t share, const void *data, size_t length,
                     float *x, struct gcb_diag *diag);
/* Adds the sizes of a share's message to `parts`. Returns 0 or an error of gcb_coder_describe. */
int gcb_share_describe(struct gcb_shares *s, uint64_t share, const void *message, size_t length,
                       struct gcb_message_parts *parts, struct gcb_diag *diag);

/* The sum of the weights' magnitudes, or 1 if all weights are 0. Without negative weights it is
 * env->total, which is exactly 1 for default weights. */
float gcb_weights_magnitude(const struct gcb_collective_env *env);
/* True if all n elements of x, times `factor`, are finite. */
bool gcb_stays_finite(const struct gcb_collective_env *env, const float *x, float factor,
                      uint64_t n);
/* Allocates an array for an exchange (gcb_free), not initialised, unless *err is set. Sets *err to
 * GCB_E_NOMEM if that fails. Returns NULL if *err is set. */
void *gcb_exchange_allocate(uint64_t count, size_t size, int *err, struct gcb_diag *diag);

#endif
