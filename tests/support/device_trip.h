#ifndef TESTS_SUPPORT_DEVICE_TRIP_H
#define TESTS_SUPPORT_DEVICE_TRIP_H

/*
 * Compares a method on a device with the CPU: messages, decoded tensors, residuals. The device is
 * the stand-in libgcbench-cuda-host.so (docs/gpu.md), or a GPU. Every failure fails the running
 * cmocka test.
 */
#include "src/lib/coder/device_coder.h"

struct device_setting {
    enum gcb_dtype source;
    enum gcb_nonfinite nonfinite;
    uint64_t seed, step, segment;
    uint32_t worker;
    bool coded; /* a raw message fails the test, because it compares nothing of the method */
    /* the device's FFT is the CPU's, so messages of methods that use it are compared byte for
     * byte */
    bool same_spectra;
};

/* The stand-in that this test is linked with, on its only device. */
void device_here(struct gcb_device *out);

/*
 * Encodes x on the CPU and on the device: both fail alike, or the messages are the same, byte for
 * byte, with the same count of clamped elements. Then decodes on both sides to the same floats, bit
 * for bit. `setting` may be NULL.
 *
 * For methods with GCB_CAP_DEVICE_MATH, the errors of the two messages differ by at most 1e-4, and
 * the two sides decode each message to within 1e-6 of its norm, as far as it is finite.
 */
void device_same(const struct gcb_device *device, const char *spec, const float *x, uint64_t n,
                 const struct device_setting *setting);

/*
 * For a spec that keeps nearly everything unchanged, so that both sides select the same: the
 * messages of CPU and device, both decoded by the CPU, are within 1e-6 log2(n) of the norm of x.
 */
void device_near_spectrum(const struct gcb_device *device, const char *spec, const float *x,
                          uint64_t n);

/* Makes `rounds` damaged copies of the message of x: CPU and device refuse the same ones, and
 * decode the others to the same floats. */
void device_same_damage(const struct gcb_device *device, const char *spec, const float *x,
                        uint64_t n, unsigned rounds, uint64_t seed);

/* The same with bytes [from, to) of the payload, as far as it has them: each gets several other
 * values in turn. */
void device_same_each_byte(const struct gcb_device *device, const char *spec, const float *x,
                           uint64_t n, uint64_t from, uint64_t to);
/* Shortens the payload of the message of x to every length, with a frame that says so: both sides
 * refuse the same ones. The device's memory still has the rest after the end. */
void device_same_cut(const struct gcb_device *device, const char *spec, const float *x, uint64_t n);

/*
 * Runs steps of n elements with error feedback (decay `carry`), fused into the encoder on the
 * device. Messages and residuals are bit for bit those of the unfused path, a memory
 * (src/lib/memory/memory.h) around a coder of the CPU or, with `itself`, of the device. With
 * `near`, for methods with GCB_CAP_DEVICE_MATH, the residuals of plain steps are also compared
 * with the CPU's, within 1e-4 of their norm.
 */
struct device_steps {
    enum gcb_dtype source;
    double carry;
    bool itself, near;
    /* steps of subnormals, of two scales, of zeros, of hostile values and last of infinities and
     * NaNs (which are sent raw), between plain ones; otherwise four plain steps */
    bool wild;
};
void device_same_steps(const struct gcb_device *device, const char *spec, uint64_t n,
                       const struct device_steps *how);

/* Four plain steps, compared with the CPU. */
void device_same_feedback(const struct gcb_device *device, const char *spec, uint64_t n,
                          enum gcb_dtype source, double carry);

/* Compares at a size at which blocks take more than one piece of work, with tensors whose last
 * pieces matter. */
void device_same_wide(const struct gcb_device *device, const char *spec, uint64_t n, uint64_t seed);

/* Does all of this for hostile tensors of each kind, of `sizes` elements (a list that ends with
 * ~0), in three orders of threads and blocks. */
void device_same_all(const struct gcb_device *device, const char *spec, const uint64_t *sizes);

#endif
