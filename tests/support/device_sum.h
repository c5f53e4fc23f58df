#ifndef TESTS_SUPPORT_DEVICE_SUM_H
#define TESTS_SUPPORT_DEVICE_SUM_H

/* Compares sums of messages on a device with the CPU's. A failure fails the running cmocka test. */
#include "src/lib/sum/device_sum.h"
#include "src/lib/sum/sum.h"
#include "tests/support/trip.h"

/* A sum on the CPU and the same sum on a device. */
struct device_sum {
    const struct gcb_device *device;
    struct gcb_sum *cpu;
    struct gcb_device_sum *dev;
    struct gcb_device_batch *batch; /* for copies */
    void *result;                   /* device memory */
    uint64_t n;
    double allowed; /* how far the two may differ if the sum has transforms */
};

void device_sum_open(struct device_sum *s, const struct gcb_device *device, const char *spec,
                     uint64_t n);
void device_sum_close(struct device_sum *s);
/* Adds the message on both sides, with the same outcome, which is returned. */
int device_sum_add(struct device_sum *s, const struct trip *t, float weight);
/* Finishes both sums. They must be equal, bit for bit. `near`: each message may add 1e-6 of its
 * norm to the difference. */
void device_sum_compare(struct device_sum *s, const char *what, bool near);

/* Adds a message of each spec to a sum of the first spec, twice, because the second sum begins at
 * zero. With transforms, the sums are compared within the tolerance. */
void device_same_sum(const struct gcb_device *device, const char *const *specs, size_t count,
                     uint64_t n);
/* The same with four messages of one spec. */
void device_same_sums(const struct gcb_device *device, const char *spec, uint64_t n);
extern const char *const device_sums[]; /* specs of every way to add; ends with NULL */

#endif
