#ifndef TESTS_SUPPORT_DEVICE_MADE_H
#define TESTS_SUPPORT_DEVICE_MADE_H

/* Shared by device_trip.c, device_bytes.c and device_feedback.c. */
#include "tests/support/device_trip.h"

/* A message, or the status that says why there is none. */
struct made {
    uint8_t *bytes;
    size_t length;
    int err;
    uint64_t clamped;
    uint64_t behind; /* bytes that stay on the device after the end of a shortened payload */
};

void device_configure(struct gcb_coder_config *config, const struct device_setting *s, uint64_t n);

struct made device_encode_cpu(const struct gcb_method *m, const struct gcb_coder_config *config,
                              const struct gcb_step *at, const float *x);

/* damaged: the changed header may name parameters that only the CPU supports. */
void device_same_decoded(const struct gcb_device *device, const char *spec, const struct made *made,
                         uint64_t n, bool damaged);

struct made device_encode_with(struct gcb_coder *c, const struct gcb_step *at, const float *x,
                               uint64_t n);

/* Both decoders return the status of the first failure, which may be that of creating the
 * decoder. */
int device_decode_cpu(const struct made *made, float *out, uint64_t n);
int device_decode_device(const struct gcb_device *device, const struct made *made, float *out,
                         uint64_t n);

/* Allocates device memory for a tensor and a payload, and a batch of one message. */
struct place {
    const struct gcb_device *device;
    struct gcb_device_batch *batch;
    void *tensor, *payload;
    struct gcb_device_message m;
};
void device_open_place(struct place *p, const struct gcb_device *device, uint64_t n,
                       uint64_t payload, uint64_t scratch);
void device_close_place(struct place *p);

/* True if the method of this spec uses a library's transform. */
bool device_tolerant(const char *spec);

/* Number of the first element that differs, or n. NaNs are equal to each other, because the bits of
 * a NaN are not promised. */
uint64_t device_first_unequal(const char *spec, const float *a, const float *b, uint64_t n);

/* ||a - b|| / ||a||; 0 if ||a|| is 0 or a value is not finite. */
double device_distance(const float *a, const float *b, uint64_t n);

#endif
