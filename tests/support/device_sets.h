#ifndef TESTS_SUPPORT_DEVICE_SETS_H
#define TESTS_SUPPORT_DEVICE_SETS_H

/* Encodes and decodes many tensors on a device, in groups (src/lib/coder/device_coder.h) or one by
 * one. A failure fails the running cmocka test. */
#include "src/lib/coder/device_coder.h"

#define DEVICE_SET_MOST 161 /* most tensors: the number that ResNet-50 has */

/* Tensors of one step on the device, a coder for each, and their messages. */
struct device_set {
    const struct gcb_device *device;
    size_t count;
    uint64_t n[DEVICE_SET_MOST];
    struct gcb_coder *coder[DEVICE_SET_MOST];
    struct gcb_device_batch *batch;
    struct gcb_device_message m[DEVICE_SET_MOST];
    struct gcb_frame frame[DEVICE_SET_MOST];
    uint8_t *payloads;          /* the allocation of all payloads, if packed */
    float *tensors, *residuals; /* all in one allocation, each on a boundary of 256 bytes */
    uint64_t all;               /* floats of that allocation */
};

/* Options of a set. */
struct device_plan {
    const struct gcb_device *device;
    const char *const *specs; /* given to the tensors in turn */
    size_t spec_count;
    const uint64_t *sizes;
    size_t count;
    enum gcb_nonfinite nonfinite;
    bool feedback, alone; /* alone: encoded one at a time */
    bool packed;          /* payloads in one allocation, because the stand-in is slow with many */
    uint64_t scratch;     /* bytes; 0: as many as gcb_device_group_scratch says */
};

void device_set_open(struct device_set *s, const struct device_plan *plan);
void device_set_close(struct device_set *s);

/* The configuration of tensor i's coder. */
struct gcb_coder_config device_set_config(const struct device_set *s,
                                          const struct device_plan *plan, size_t i);

/* Fills in tensor i: hostile tensors of each kind in turn. */
void device_set_tensor(float *x, uint64_t n, size_t i);

/* Copies the tensors, and the residuals if there are any, to the device. */
void device_set_upload(struct device_set *s);

extern const struct gcb_step device_set_step; /* the step of all messages */

/* Queues the encoding of the set, and checks that this neither waits nor allocates. Returns the
 * launches. */
unsigned device_set_queue(struct device_set *s, const struct device_plan *plan);
/* The same, then waits and makes the frames. */
unsigned device_set_encode(struct device_set *s, const struct device_plan *plan);

/* Checks that frames, payloads, tensors and residuals of a group are those of single calls. Returns
 * the group's launches. */
unsigned device_set_as_alone(const struct device_plan *plan);

/* Decoders for a set's messages, whose payloads are still on the device, and a batch for them. */
void device_set_open_decoders(struct device_set *s);
/* Decodes the set over its tensors, which are filled with NaNs first. Returns the launches;
 * status[i] is that of message i. */
unsigned device_set_decode(struct device_set *s, bool alone, int *status);

/* Checks that p on the device of a and q on the device of b hold the same bytes. */
void device_set_same_bytes(struct device_set *a, struct device_set *b, const void *p, const void *q,
                           uint64_t bytes);

/* Specs of quantisers that encode groups, for every branch of their launchers, with the launches of
 * a message. */
struct device_quantiser {
    const char *spec;
    unsigned launches;
};
extern const struct device_quantiser device_quantisers[]; /* spec NULL at the end */

/* The sizes of ResNet-50's tensors, n[0..161), limited to `most` elements each. */
void device_set_resnet50(uint64_t *n, uint64_t most);

/*
 * Encodes ResNet-50's tensors as a group and compares the messages with the CPU's, byte for byte;
 * decodes them as a group and compares with the CPU's decoder. With error feedback, compares the
 * group with single calls on the device.
 */
void device_same_group(const struct gcb_device *device, const char *spec, uint64_t most);

#endif
