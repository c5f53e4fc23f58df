#ifndef TESTS_SUPPORT_DEVICE_SLOT_H
#define TESTS_SUPPORT_DEVICE_SLOT_H

/* Slots of several workers (gcb_device_encoder_open) beside the messages of the CPU. A failure fails
 * the running cmocka test. */
#include "src/gcbench.h"
#include "src/lib/device/load.h"

#define SLOT_WORKERS 3
#define SLOT_HEAD 256 /* bytes before the payload */

/* A worker on the device and on the CPU. */
struct slot_worker {
    struct gcb_device_stream *stream;
    struct gcb_encoder *cpu;
    float *x, *x_dev, *residual_dev, *residual;
    void *scratch_dev;
    uint8_t *message;
    size_t length;
};

/* All workers of a method. */
struct slot_party {
    const struct gcb_device *device;
    struct gcb_device_encoder *e;
    struct gcb_sum *sum;
    uint64_t n;
    size_t slot;
    uint8_t *slots_dev;
    float *out_dev, *out, *want;
    struct slot_worker worker[SLOT_WORKERS];
};

/* Opens and closes the encoders, streams and arrays of all workers. Residuals are 0. */
void slot_party_open(struct slot_party *p, const struct gcb_device *device, const char *spec,
                     uint64_t n);
void slot_party_close(struct slot_party *p);
/* Copies to or from host memory on a worker's stream, and waits. */
void slot_party_copy(const struct slot_party *p, unsigned worker, void *to, const void *from,
                     uint64_t bytes, enum gcb_device_copy how);
/* Uploads the workers' tensors of a step. */
void slot_party_load(struct slot_party *p, unsigned step);
/* Queues the encoding of each worker on its stream. */
void slot_party_encode(struct slot_party *p, unsigned step);
/* Queues the mean of all slots on the first worker's stream. */
void slot_party_sum(struct slot_party *p);
/* Waits for all streams. */
void slot_party_wait(struct slot_party *p);

/* Slots, means and residuals of some steps equal the CPU's, bit for bit. */
void device_same_slots(const struct gcb_device *device, const char *spec, uint64_t n);
extern const char *const device_slots[]; /* specs of methods with slots; ends with NULL */

#endif
