/* Linked with --wrap=gcb_exchange_finish and a failing allocator: rank 1 gets a wrong bit in every
 * update, and no memory in allocation number FAIL_AT of the environment. */
#include <stdlib.h>
#include <string.h>

#include "src/gcbench.h"
#include "tests/support/counted_alloc.h"

int __real_gcb_exchange_finish(struct gcb_exchange *e, float *update, struct gcb_diag *diag);
int __wrap_gcb_exchange_finish(struct gcb_exchange *e, float *update, struct gcb_diag *diag);

static int is_second(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");

    rank = rank ? rank : getenv("PMI_RANK"); /* MPICH's */
    return rank && strcmp(rank, "1") == 0;
}

__attribute__((constructor)) static void break_memory(void)
{
    const char *at = getenv("FAIL_AT");

    if (at && is_second())
        counted.fail_at = strtoul(at, NULL, 10);
}

int __wrap_gcb_exchange_finish(struct gcb_exchange *e, float *update, struct gcb_diag *diag)
{
    const int err = __real_gcb_exchange_finish(e, update, diag);

    if (!err && is_second())
        *(unsigned char *)update ^= 1;
    return err;
}
