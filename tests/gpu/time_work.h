#ifndef TESTS_GPU_TIME_WORK_H
#define TESTS_GPU_TIME_WORK_H

/* One thing to time on a device, and the row that says what came of it. */
#include "src/lib/device/device_coder.h"
#include "src/lib/device/module/fft.h"

enum { TIME_WARM = 2, TIME_SAMPLES = 15, TIME_MOST = 161 /* messages */ };

/* Starts zeroed but for n and count. */
struct work {
    const struct gcb_device *device;
    struct gcb_device_batch *batch;
    struct gcb_device_event *from, *to;
    struct gcb_device_coder *coder[TIME_MOST];
    struct gcb_device_message m[TIME_MOST];
    struct gcb_cuda_fft *fft;
    void *tensor, *payload, *flush;
    uint64_t size[TIME_MOST]; /* of each message's tensor */
    size_t count;             /* of messages; 0: none, a transform alone */
    uint64_t n, step, launches, flush_bytes, wire_bytes;
    double samples[TIME_SAMPLES], scratch[TIME_SAMPLES];
};

/* Coders of the spec for all of the sizes, after which there are `count` of them. */
int work_make_coders(struct work *w, const char *spec, struct gcb_diag *diag);

/* The n elements of x on the device, and room for what comes of them: for payloads, or `bytes`. */
int work_take(struct work *w, const float *x, uint64_t bytes, uint64_t scratch,
              struct gcb_diag *diag);

/*
 * Runs it between two events, the device's L2 cache written over before, and writes a row with the median to standard output;
 * with `err`, of what came before, the row says that. Gives back all that was taken. Not 0: the row could not be written.
 */
int work_measure(struct work *w, const char *label, int err,
                 int (*run)(struct work *, struct gcb_diag *), struct gcb_diag *diag);

#endif
