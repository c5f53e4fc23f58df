#ifndef TESTS_CONTRACT_CASES_H
#define TESTS_CONTRACT_CASES_H

#include <stdbool.h>
#include <stddef.h>

#include "src/lib/codec/method.h"

/* Every method with each number away from its default, and every combination of choices. */
#define CONTRACT_MAX 8192

/* Combinations of choices are many: each of them meets fewer shapes. */
struct contract_case {
    struct gcb_method method;
    bool brief;
};

extern struct contract_case contract_cases[];
extern size_t contract_count;

/* All cases, or those whose full spec contains `filter`; with on_device, without the codecs that are CPU-only. */
void contract_generate(const char *filter, bool on_device);

#endif
