#ifndef TESTS_CONTRACT_CASES_H
#define TESTS_CONTRACT_CASES_H

#include <stdbool.h>
#include <stddef.h>

#include "src/lib/codec/method.h"

#define CONTRACT_MAX 8192

/* Cases: every method at its defaults; with each number changed; and combinations of a codec's
 * choices, all on a device, and else with each two choices together in one. The last two kinds are
 * many, so they are brief: tested on fewer tensors. */
struct contract_case {
    struct gcb_method method;
    bool brief;
    /* True if the method transforms any length, for which this build lacks FFTW. There is at most one
     * such case, in place of all. */
    bool lacks_fftw;
};

/* Skips the running test if its case lacks FFTW. */
void contract_need_fftw(const struct contract_case *c);

extern struct contract_case contract_cases[];
extern size_t contract_count;

/* All cases, or those whose full spec contains `filter`; with on_device, without the codecs that
 * are CPU-only. */
void contract_generate(const char *filter, bool on_device);

#endif
