#ifndef TESTS_GPU_TIME_WORK_H
#define TESTS_GPU_TIME_WORK_H

/* Times work on a device and writes its row. */
#include "src/lib/coder/device_coder.h"
#include "src/lib/device/module/fft.h"

enum { TIME_WARM = 2, TIME_SAMPLES = 15, TIME_MOST = 161 /* messages */ };

/* All zero at first, except n and count. */
struct work {
    const struct gcb_device *device;
    struct gcb_device_batch *batch;
    struct gcb_device_event *from, *to;
    struct gcb_coder *coder[TIME_MOST];
    struct gcb_device_message m[TIME_MOST];
    struct gcb_cuda_fft *fft;
    void *tensor, *payload, *flush;
    uint64_t size[TIME_MOST]; /* elements of each message's tensor */
    size_t count;             /* messages; 0: only a transform is timed */
    uint64_t n, step, launches, flush_bytes, wire_bytes;
    double samples[TIME_SAMPLES], scratch[TIME_SAMPLES];
};

/* Makes a coder of the spec for each of the sizes; sets `count`. */
int work_make_coders(struct work *w, const char *spec, struct gcb_diag *diag);

/* Copies the n elements of x to the device, and allocates memory for the payloads, or `bytes`
 * bytes. */
int work_take(struct work *w, const float *x, uint64_t bytes, uint64_t scratch,
              struct gcb_diag *diag);

/*
 * Times the work by two events, with the device's L2 cache overwritten before each call, and writes
 * a row with the median to standard output. If `err` is not 0, an earlier step failed, and the row
 * says so. Frees everything. Not 0: the row could not be written.
 */
int work_measure(struct work *w, const char *label, int err,
                 int (*run)(struct work *, struct gcb_diag *), struct gcb_diag *diag);

#endif
