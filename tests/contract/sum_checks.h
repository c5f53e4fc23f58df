#ifndef TESTS_CONTRACT_SUM_CHECKS_H
#define TESTS_CONTRACT_SUM_CHECKS_H

#include "src/lib/sum/sum.h"

/* What the contract asks of sums of messages, as a list of named checks. */

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
    bool (*holds)(const struct sum_case *c);
    bool slow; /* damages many messages */
};

extern const struct sum_check sum_checks[]; /* a row without a name ends them */

#endif
