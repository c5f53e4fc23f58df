#ifndef TESTS_CONTRACT_SUM_CHECKS_H
#define TESTS_CONTRACT_SUM_CHECKS_H

#include "src/lib/sum/sum.h"

/* What the contract asks of sums of messages, as a list of named checks. */

/* The functions under test: src/gcbench.h and src/lib/sum/sum.h say what they do. A test of the checks puts functions with
 * a defect here. */
struct sum_fns {
    int (*create)(struct gcb_sum **out, const struct gcb_method *method, float *into,
                  const struct gcb_coder_config *config, struct gcb_diag *diag);
    int (*add)(struct gcb_sum *sum, const void *message, size_t length, float weight,
               struct gcb_diag *diag);
    int (*finish)(struct gcb_sum *sum, float *x, struct gcb_diag *diag);
    void (*close)(struct gcb_sum *sum);
};

#define SUM_MESSAGES 4

/* Messages of one method, and the tensors that they decode to. Message 2 is raw in a mixture. */
struct sum_case {
    const struct gcb_method *method;
    uint64_t n;
    struct {
        uint8_t *bytes;
        size_t length;
        float *decoded;
        bool fits; /* the message is added to the canvas */
    } message[SUM_MESSAGES];
    bool whole_fft; /* threads may change the last bits */
};

/* The tensor of worker w is x, shifted by 7 w elements. */
void sum_case_open(struct sum_case *c, const struct gcb_method *method, const float *x, uint64_t n,
                   bool mixture);
void sum_case_close(struct sum_case *c);

struct sum_check {
    const char *name;
    bool (*holds)(const struct sum_fns *f, const struct sum_case *c);
    bool slow; /* damages many messages */
};

extern const struct sum_check sum_checks[]; /* a row without a name ends them */

#endif
