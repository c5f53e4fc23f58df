#ifndef TESTS_TOOL_VERIFY_SABOTEUR_H
#define TESTS_TOOL_VERIFY_SABOTEUR_H

#include "src/tool/run/promises.h"

/* A backend that stands between the checks of promises and the real coders, and breaks one promise
 * at a time. */

enum fault {
    NONE,
    LEAVES_OUT,
    WRITES_OUTSIDE,
    MAKES_NAN,
    FLICKERS,
    FAILS,
    ENDS,
    FORGETS,
    WEARS_OUT,
    BY_THREADS,
    BY_ISA,
    TOO_LONG,
    ODD_PARTS,
    FEWER_KEPT,
    TAKES_CUT,
    TAKES_MORE,
    NUDGES,
    DOUBLES,
    SHRINKS,
    SHRINKS_MUCH,
    NEGATES,
    DROPS_LARGEST,
    ONE_WORKER,
    ONE_SEED,
    SHIFTS,
    SCATTERS,
    OTHER_BYTES,
    DEVICE_FAILS,
    IGNORES_WEIGHTS,
    ADDS_DAMAGED,
    CHANGES_REFUSED,
};

struct saboteur {
    enum fault fault;
    unsigned calls;
    const struct gcb_kernels *own; /* kernels that are not the plain ones */
    size_t added;                  /* length of the last message that was added to a sum */
};

/* The functions of struct gcb_promise_backend; ctx is a struct saboteur. */
int saboteur_encode(void *ctx, const struct gcb_promise_job *job, struct gcb_wbuf *out,
                    struct gcb_diag *diag);
int saboteur_decode(void *ctx, const struct gcb_promise_job *job, const void *message,
                    size_t length, const struct gcb_mview *out, struct gcb_message_parts *parts,
                    struct gcb_diag *diag);
int saboteur_add(void *ctx, struct gcb_sum *sum, const void *message, size_t length, float weight,
                 struct gcb_diag *diag);

#endif
