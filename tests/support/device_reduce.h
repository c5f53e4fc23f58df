#ifndef TESTS_SUPPORT_DEVICE_REDUCE_H
#define TESTS_SUPPORT_DEVICE_REDUCE_H

/* Compares all-reduces on a device with the CPU's. A failure fails the running cmocka test. */
#include "src/lib/exchange/device_reduce.h"
#include "src/lib/exchange/exchange.h"

#define REDUCE_MOST 9

/* Zero-initialise: 2 workers, of 2, with equal weights, and finite tensors. */
struct reduce_options {
    unsigned workers;     /* that take part */
    unsigned of;          /* for how many the method is told to prepare; 0: as many as take part */
    const float *weights; /* of all `of` workers */
    float bad;            /* not 0: the middle element of the last worker's tensor */
    enum gcb_nonfinite nonfinite;
    enum {
        HONEST,
        RANDOM,
        ZERO
    } combined; /* other than honest: replaced by random bytes, or by zeros */
};

/*
 * Runs two steps of a method in which each worker is there twice, on the CPU (struct gcb_exchange)
 * and on the device. In each round both contribute the same bytes. Then both get the same combined
 * values. The updates, what arrived, and the clamped elements are the same, bit for bit. Returns 0,
 * or the error at which both stop.
 */
int device_same_reduce(const struct gcb_device *device, const char *spec, uint64_t n,
                       const struct reduce_options *o);

extern const char *const device_reduces[]; /* specs of every all-reduce; ends with NULL */

#endif
