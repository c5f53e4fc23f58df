/* Linked into a copy of the command for the test of sums: every message is added with twice its
 * weight. The linker sends the calls of both functions here (--wrap). */
#include "src/lib/sum/sum.h"

int __real_gcb_sum_add(struct gcb_sum *sum, const void *message, size_t length, float weight,
                       struct gcb_diag *diag);
int __real_gcb_sum_add_checked(struct gcb_sum *sum, const void *message, size_t length,
                               float weight, struct gcb_diag *diag);
int __wrap_gcb_sum_add(struct gcb_sum *sum, const void *message, size_t length, float weight,
                       struct gcb_diag *diag);
int __wrap_gcb_sum_add_checked(struct gcb_sum *sum, const void *message, size_t length,
                               float weight, struct gcb_diag *diag);

int __wrap_gcb_sum_add(struct gcb_sum *sum, const void *message, size_t length, float weight,
                       struct gcb_diag *diag)
{
    return __real_gcb_sum_add(sum, message, length, 2.0f * weight, diag);
}

int __wrap_gcb_sum_add_checked(struct gcb_sum *sum, const void *message, size_t length,
                               float weight, struct gcb_diag *diag)
{
    return __real_gcb_sum_add_checked(sum, message, length, 2.0f * weight, diag);
}
