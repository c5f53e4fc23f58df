#ifndef TESTS_SUPPORT_DEVICE_SETS_H
#define TESTS_SUPPORT_DEVICE_SETS_H

/* Messages of many tensors on a device, in groups (src/lib/device/device_coder.h) or one by one. What fails fails the running
 * cmocka test. */
#include "src/lib/device/device_coder.h"

#define DEVICE_SET_MOST 161 /* tensors; as many as ResNet-50 has */

/* Tensors of one step on the device, a coder for each, and what is made of them. */
struct device_set {
    const struct gcb_device *device;
    size_t count;
    uint64_t n[DEVICE_SET_MOST];
    struct gcb_device_coder *coder[DEVICE_SET_MOST];
    struct gcb_device_batch *batch;
    struct gcb_device_message m[DEVICE_SET_MOST];
    struct gcb_frame frame[DEVICE_SET_MOST];
    uint8_t *payloads;          /* where they are packed */
    float *tensors, *residuals; /* one behind the other, from boundaries of 256 bytes on */
    uint64_t all;               /* their floats */
};

/* How a set is made. */
struct device_plan {
    const struct gcb_device *device;
    const char *const *specs; /* taken in turn */
    size_t spec_count;
    const uint64_t *sizes;
    size_t count;
    enum gcb_nonfinite nonfinite;
    bool feedback, alone; /* one at a time */
    bool packed;          /* payloads in one allocation: the stand-in is slow with many */
    uint64_t scratch;     /* 0: what groups ask for */
};

void device_set_open(struct device_set *s, const struct device_plan *plan);
void device_set_close(struct device_set *s);

/* Of the coder of tensor i. */
struct gcb_coder_config device_set_config(const struct device_set *s,
                                          const struct device_plan *plan, size_t i);

/* Tensor i of every set: hostile ones of each kind in turn. */
void device_set_tensor(float *x, uint64_t n, size_t i);

/* Puts the tensors there, and residuals if there are any. */
void device_set_upload(struct device_set *s);

extern const struct gcb_step device_set_step; /* of every message */

/* Queues the encoding of all of the set; returns the launches. Nothing waits and nothing is taken. */
unsigned device_set_queue(struct device_set *s, const struct device_plan *plan);
/* The same, run, and its frames. */
unsigned device_set_encode(struct device_set *s, const struct device_plan *plan);

/* Frames, payloads, tensors and residuals of a group are those of single calls; returns the launches of the group. */
unsigned device_set_as_alone(const struct device_plan *plan);

/* Decoders of a set's messages, whose payloads are on the device still, and a batch for them. */
void device_set_open_decoders(struct device_set *s);
/* Decodes all of the set to where its tensors were, which is filled with NaNs first; returns the launches, and how each
 * message ended in `status`. */
unsigned device_set_decode(struct device_set *s, bool alone, int *status);

/* p on the device of a, and q on that of b, hold the same bytes. */
void device_set_same_bytes(struct device_set *a, struct device_set *b, const void *p, const void *q,
                           uint64_t bytes);

/* Quantisers that know groups, through every branch of their launchers, with the launches of one message. */
struct device_quantiser {
    const char *spec;
    unsigned launches;
};
extern const struct device_quantiser device_quantisers[]; /* spec NULL at the end */

/* ResNet-50's tensors, n[0..161), none with more than `most` elements. */
void device_set_resnet50(uint64_t *n, uint64_t most);

/*
 * ResNet-50's tensors as messages of a group are the CPU's, byte for byte, and are decoded in a group to what the CPU makes
 * of them; and with error feedback those of single calls there.
 */
void device_same_group(const struct gcb_device *device, const char *spec, uint64_t most);

#endif
