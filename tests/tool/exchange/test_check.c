/* The comparison of an exchange with a serial one: what a network may change, and what it may
 * not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/exchange/check.h"
#include "src/tool/run/promises.h"
#include "tests/support/party.h"
#include "tests/support/test.h"

enum { N = 3000, WORKERS = 4 };

/* What a network does to the values of a round: adds them in the order of workers from `first` on,
 * and then changes the first value by `error` of itself. */
struct network {
    unsigned first;
    double error;
    struct gcb_check *check;
};

static void carry(void *ctx, unsigned round, const struct gcb_round *sent, void *values)
{
    const struct network *network = ctx;
    const size_t bytes = sent[0].bytes;
    uint8_t *sum = malloc(bytes);

    memcpy(sum, sent[network->first].data, bytes);
    for (unsigned i = 1; i < WORKERS; i++)
        gcb_reduction_combine(sent[0].reduction, sum, sent[(network->first + i) % WORKERS].data,
                              bytes);
    if (sent[0].reduction == GCB_SUM_F32)
        *(float *)(void *)sum *= 1.0f + (float)network->error;
    else if (network->error != 0.0)
        sum[0] ^= 1;
    memcpy(values, sum, bytes);
    gcb_check_record(network->check, &sent[0], &(struct gcb_arrival){values, bytes});
    free(sum);
}

/* Returns how many elements of the update differ from the serial one's. */
static uint64_t compare(const char *spec, unsigned first, double error)
{
    const struct party_options o = {.workers = WORKERS};
    struct gcb_check check = {.workers = WORKERS};
    struct network network = {first, error, &check};
    float *update = malloc(N * sizeof(*update));
    struct party moved, serial;
    struct gcb_diag diag;
    uint64_t differ;

    party_open(&moved, spec, N, &o);
    moved.local.combine = carry;
    moved.local.ctx = &network;
    moved.local.observe = NULL;
    party_fill(&moved, 3, 1.0f);
    for (unsigned w = 0; w < WORKERS; w++)
        assert_int_equal(gcb_exchange_begin(moved.e[w], 0, moved.x[w], &diag), 0);
    assert_int_equal(gcb_local_run(&moved.local, moved.e, &diag), 0);
    assert_int_equal(gcb_exchange_finish(moved.e[0], moved.update[0], &diag), 0);

    party_open(&serial, spec, N, &o);
    party_fill(&serial, 3, 1.0f);
    for (unsigned w = 0; w < WORKERS; w++)
        assert_int_equal(gcb_exchange_begin(serial.e[w], 0, serial.x[w], &diag), 0);
    assert_int_equal(gcb_check_serial(&check, serial.e, &diag), 0);
    assert_int_equal(gcb_exchange_finish(serial.e[0], update, &diag), 0);
    differ = gcb_promise_differing(update, moved.update[0], N);
    gcb_check_fini(&check);
    party_close(&moved);
    party_close(&serial);
    free(update);
    return differ;
}

static void floats_may_be_added_in_any_order(void **state)
{
    for (unsigned first = 0; first < WORKERS; first++) {
        assert_int_equal(compare("identity", first, 0.0), 0);
        assert_int_equal(compare("fp16", first, 0.0), 0);
        assert_int_equal(compare("bf16", first, 0.0), 0);
        assert_int_equal(compare("randomk", first, 0.0), 0);
        assert_int_equal(compare("terngrad:collective=allreduce", first, 0.0), 0);
    }
}

static void a_wrong_value_is_found(void **state)
{
    assert_int_equal(compare("identity", 0, 1e-5), 1);
    assert_true(compare("identity", 2, 1e-5) > 1); /* no order is accepted any more */
    assert_true(compare("terngrad:collective=allreduce", 0, 1.0) > 0);
}

RUN_TESTS(cmocka_unit_test(floats_may_be_added_in_any_order),
          cmocka_unit_test(a_wrong_value_is_found))
