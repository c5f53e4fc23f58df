#ifndef TESTS_SUPPORT_DEVICE_MADE_H
#define TESTS_SUPPORT_DEVICE_MADE_H

/* What device_trip.c and device_bytes.c share. */
#include "tests/support/device_trip.h"

/* A message, or why there is none. */
struct made {
    uint8_t *bytes;
    size_t length;
    int err;
    uint64_t clamped;
    uint64_t behind; /* bytes that stand on the device behind a payload that was cut */
};

void device_configure(struct gcb_coder_config *config, const struct device_setting *s, uint64_t n);

struct made device_encode_cpu(const struct gcb_method *m, const struct gcb_coder_config *config,
                              const struct gcb_step *at, const float *x);

/* `damaged`: the message may now say that it is of a kind that runs on the CPU only. */
void device_same_decoded(const struct gcb_device *device, const char *spec, const struct made *made,
                         uint64_t n, bool damaged);

#endif
