#ifndef TESTS_SUPPORT_DEVICE_TRIP_H
#define TESTS_SUPPORT_DEVICE_TRIP_H

/*
 * Tensors through a method on a device, and whether its messages are the CPU's. With the module that
 * libgcbench-cuda-host.so is (docs/cuda.md), or with one that is opened on a machine with a GPU. Everything that
 * can fail fails the running cmocka test.
 */
#include "src/lib/device/device_coder.h"

struct device_setting {
    enum gcb_dtype source;
    enum gcb_nonfinite nonfinite;
    uint64_t seed, step, segment;
    uint32_t worker;
    bool
        coded; /* a message that goes raw fails the test: nothing of the method would have been compared */
    bool
        same_spectra; /* the FFT there is the CPU's: messages of methods that use it are compared byte for byte too */
};

/* The module of the library this test is linked with, on its only device. */
void device_here(struct gcb_device *out);

/*
 * Encodes x on the CPU and on the device; both fail alike, or the messages are the same, byte for byte, with the
 * same count of clamped elements. Then decodes on both: the same floats, bit for bit. `setting` may be NULL.
 *
 * Of methods with GCB_CAP_LIBRARY_MATH: the errors of both messages differ by 1e-4 at most, and either message is decoded
 * on both sides to within 1e-6 of its norm, as far as it is finite.
 */
void device_same(const struct gcb_device *device, const char *spec, const float *x, uint64_t n,
                 const struct device_setting *setting);

/*
 * Of a spec that keeps nearly everything as it is, so that the choice is the same: what CPU and device make of x, both
 * decoded by the CPU, is within 1e-6 log2(n) of its norm.
 */
void device_near_spectrum(const struct gcb_device *device, const char *spec, const float *x,
                          uint64_t n);

/* `rounds` damaged copies of the message of x: CPU and device refuse the same ones, and decode the others to the
 * same floats. */
void device_same_damage(const struct gcb_device *device, const char *spec, const float *x,
                        uint64_t n, unsigned rounds, uint64_t seed);

/* The same for bytes [from, to) of the payload, as far as it has them, each made several others in turn. */
void device_same_each_byte(const struct gcb_device *device, const char *spec, const float *x,
                           uint64_t n, uint64_t from, uint64_t to);
/* The message of x with a payload that is cut to every shorter length, its frame saying so: both sides refuse the same
 * ones, though on the device the rest still stands behind its end. */
void device_same_cut(const struct gcb_device *device, const char *spec, const float *x, uint64_t n);

/*
 * Steps of n elements with error feedback (decay `carry`), fused into the encoder on the device: messages and residuals
 * are bit for bit those of the unfused path, where src/lib/memory/memory.h stands around a coder. That is the CPU's, or
 * (`itself`) the device's own, encoded and decoded there without feedback. With `near`, of a method with
 * GCB_CAP_LIBRARY_MATH, plain steps' residuals are compared with the CPU's too: within 1e-4 of their norm.
 */
struct device_steps {
    enum gcb_dtype source;
    double carry;
    bool itself, near;
    /* tensors of denormals, of two scales, of zeros, hostile ones and, at last, infinities and NaNs between plain ones,
     * which go raw as they do on the CPU; else four plain ones */
    bool wild;
};
void device_same_steps(const struct gcb_device *device, const char *spec, uint64_t n,
                       const struct device_steps *how);

/* Four plain steps, against the CPU. */
void device_same_feedback(const struct gcb_device *device, const char *spec, uint64_t n,
                          enum gcb_dtype source, double carry);

/*
 * Twelve steps of a worker whose tensors stay on the device (src/lib/memory/device_memory.h): the memory that the spec asks for
 * around a coder and a decoder there; messages and what is left are the CPU's, bit for bit.
 */
void device_same_memory(const struct gcb_device *device, const char *spec, uint64_t n);
extern const char *const device_memories[]; /* specs of every kind of memory; NULL at the end */

/* At a size where blocks of launches go on from piece to piece: tensors of which the last pieces matter. */
void device_same_wide(const struct gcb_device *device, const char *spec, uint64_t n, uint64_t seed);

/* All of it for many tensors: hostile ones of each kind, of `sizes` elements (ended by ~0), in three orders of
 * threads and blocks. */
void device_same_all(const struct gcb_device *device, const char *spec, const uint64_t *sizes);

#endif
