#ifndef TESTS_CONTRACT_TEAM_H
#define TESTS_CONTRACT_TEAM_H

#include "src/lib/exchange/exchange.h"

/* All workers of an exchange in one process, for checks that ask what happens: nothing here fails a
 * test. */

#define TEAM_MOST 9 /* workers */
#define TEAM_ROUNDS 64

/* What the workers give. Worker w's tensor has n elements. */
struct team_case {
    const struct gcb_method *method;
    unsigned workers;
    uint64_t n;
    const uint64_t *shape; /* NULL: unknown */
    unsigned rank;
    const float *x[TEAM_MOST];
    float weights[TEAM_MOST];
    int threads;
    enum gcb_nonfinite nonfinite;
};

/* Bytes on their way from a worker to another. */
struct parcel {
    uint8_t *bytes; /* a block of exactly this length, so that sanitizers see every overrun */
    size_t length;
};

struct team {
    const struct team_case *c;
    struct gcb_exchange *e[TEAM_MOST];
    float *update[TEAM_MOST], *own[TEAM_MOST]; /* of the last step */
    struct parcel sent[TEAM_MOST][TEAM_MOST];  /* [from][to]; only [from][0] if all get the same */
    uint32_t from[TEAM_MOST]; /* in a GCB_ROUND_SHIFT: the worker that sends to this one */
    bool backwards;           /* values are combined from the last worker on */
    unsigned leave;           /* the step is left after this many rounds; 0: never */
    /* changes what worker 0 gets; may be NULL */
    void (*damage)(void *ctx, unsigned round, uint32_t from, struct parcel *parcel);
    void *ctx;
    struct gcb_diag diag; /* of the call that failed */
    /* of the last step */
    unsigned rounds;
    struct gcb_round round[TEAM_ROUNDS]; /* of worker 0, without data */
};

/* Why the last call returned false. */
extern char team_why[GCB_DIAG_TEXT + 80];

/* Opens all workers' exchanges. Close the team also after a failure. */
bool team_open(struct team *t, const struct team_case *c);
/* Runs a step, and returns whether all calls succeeded and all workers had the same rounds. */
bool team_step(struct team *t, uint64_t step, const float *const *x);
void team_close(struct team *t);

#endif
