#ifndef SRC_LIB_DEVICE_MODULE_H
#define SRC_LIB_DEVICE_MODULE_H

#include "kernels/compare/compare_cuda.h"
#include "kernels/slot/slot_cuda.h"
#include "src/lib/codec/device.h"

/*
 * libgcbench-cuda.so exports one function, gcb_device_module. The function takes the table of the
 * core's functions (src/lib/device/core.h) and returns a struct gcb_device_module. It returns NULL
 * if the core's table has another version. The core reads the fields `version` and `size` of the
 * returned table before any other, and refuses a module of another version.
 *
 * A function that can fail returns 0 or a negative gcb_status, and writes one line of text if it
 * has a diag. GCB_E_BACKEND: something is missing. GCB_E_NOMEM: there is no memory, perhaps for a
 * launch. GCB_E_DEVICE: something else failed. A function with a stream only queues work; only
 * `wait` reports whether the work succeeded. Device memory that `alloc` returns is aligned to 256
 * bytes, and the host cannot read it. Copies between host and device go through pinned memory. A
 * stream is for one host thread at a time.
 */
#define GCB_DEVICE_MODULE_VERSION 14
#define GCB_DEVICE_MODULE_SYMBOL "gcb_device_module"

/* A device and the libraries that it needs, as far as they are known. */
struct gcb_device_facts {
    char name[128];        /* name of the device; "" if there is no device */
    char runtime[32];      /* version of the CUDA runtime, such as "13.0" */
    char driver[32];       /* the newest runtime that the driver supports; "" without a driver */
    char fft[64];          /* "cuFFT 12.0.0"; "" if it was not found */
    uint64_t memory_bytes; /* all memory of the device, not only what is free */
    uint64_t l2_bytes;     /* size of the level-2 cache */
    unsigned major, minor; /* compute capability */
    unsigned clock_mhz;    /* highest clock frequency of the multiprocessors; 0: unknown */
};

/* Directions of a copy: from host to device, from device to host, within the device. */
enum gcb_device_copy { GCB_COPY_IN, GCB_COPY_OUT, GCB_COPY_DEVICE };

struct gcb_cuda_fft;     /* cuFFT's plans for a message (src/lib/device/module/fft.h) */
struct gcb_device_event; /* a point in a stream's work */
struct gcb_device_clock; /* reads the clock frequency of a device */

struct gcb_device_memory_fns {
    /* Allocates memory, also for 0 bytes. After an error *out_dev is NULL. The message of
     * GCB_E_NOMEM says how much memory is free. */
    int (*alloc)(void **out_dev, uint64_t bytes, struct gcb_diag *diag);
    void (*free)(void *dev); /* waits for the device; NULL is fine */
    /* Allocates pinned host memory, also for 0 bytes. After an error *out is NULL. */
    int (*alloc_pinned)(void **out, uint64_t bytes, struct gcb_diag *diag);
    void (*free_pinned)(void *p); /* NULL is fine */
};

struct gcb_device_stream_fns {
    int (*create)(struct gcb_device_stream **out, struct gcb_diag *diag);
    void (*destroy)(struct gcb_device_stream *s); /* waits for queued work; NULL is fine */
    /* Waits for queued work. Returns 0, or GCB_E_DEVICE or GCB_E_NOMEM if any work or queueing has
     * failed since the stream was made. */
    int (*wait)(struct gcb_device_stream *s, struct gcb_diag *diag);
    /* Number of kernels, and of fills by codecs, that were queued since the stream was made. */
    uint64_t (*launches)(const struct gcb_device_stream *s);
    int (*copy)(struct gcb_device_stream *s, void *to, const void *from, uint64_t bytes,
                enum gcb_device_copy how);
    int (*zero)(struct gcb_device_stream *s, void *dev, uint64_t bytes);

    /* A stream that stands for one of the caller's streams (src/lib/coder/slot.h), which `point`
     * names. `wrap` makes it, and `unwrap` frees it without waiting; NULL is fine. */
    int (*wrap)(struct gcb_device_stream **out, struct gcb_diag *diag);
    void (*unwrap)(struct gcb_device_stream *s);
    /* Lets the stream stand for `handle`, a cudaStream_t, and forgets earlier failures. */
    void (*point)(struct gcb_device_stream *s, void *handle);
    /* Returns the first failure since `point` and describes it. If there is none, returns `err`. */
    int (*told)(const struct gcb_device_stream *s, int err, struct gcb_diag *diag);
};

struct gcb_device_event_fns {
    int (*create)(struct gcb_device_event **out, struct gcb_diag *diag);
    void (*destroy)(struct gcb_device_event *e); /* NULL is fine */
    /* The event happens when the work that is now queued on `s` has ended. */
    int (*record)(struct gcb_device_event *e, struct gcb_device_stream *s);
    /* Waits for both events. *out: seconds between the events, by the device's clock. */
    int (*seconds)(double *out, struct gcb_device_event *from, struct gcb_device_event *to,
                   struct gcb_diag *diag);
};

/* Functions that belong to no codec. They work on whole tensors. */
struct gcb_device_tensor_fns {
    /* Raises result->max_bits to the largest magnitude of x[0..n), as the bits of a float32. */
    int (*max_bits)(struct gcb_device_stream *s, const float *x_dev, uint64_t n,
                    struct gcb_device_result *result_dev);
    /* Does what max_bits does, for each message of a group. The caller has queued the copy of the
     * group's table. */
    int (*max_bits_group)(struct gcb_device_stream *s, const struct gcb_device_group *group);
    /* Converts a tensor to the raw payload of a stored message, in the type `source`. If
     * in->residual is not NULL, it becomes the part of the tensor that `source` cannot represent.
     * The caller has added the residual to in->x before, so in->compensated is 1. */
    int (*put_raw)(struct gcb_device_stream *s, enum gcb_dtype source, uint8_t *out_dev,
                   const struct gcb_device_input *in);
    /* Converts a raw payload in the type `source` to n floats. */
    int (*get_raw)(struct gcb_device_stream *s, enum gcb_dtype source, float *out_dev,
                   const uint8_t *in_dev, uint64_t n);
    /* Compares y with x (kernels/compare/compare_cuda.h), with `compare_scratch` bytes of
     * scratch. */
    uint64_t (*compare_scratch)(uint64_t n);
    int (*compare)(struct gcb_device_stream *s, struct gcb_cuda_comparison *out_dev,
                   const float *x_dev, const float *y_dev, uint64_t n, void *scratch_dev);
};

/* cuFFT's transform as the method fft calls it, for comparing times:
 * src/lib/device/module/fft.h. */
struct gcb_device_fft_fns {
    int (*create)(struct gcb_cuda_fft **out, uint64_t n, uint64_t chunk, unsigned ways,
                  const char *transform, struct gcb_diag *diag);
    void (*destroy)(struct gcb_cuda_fft *fft);
    uint64_t (*work)(const struct gcb_cuda_fft *fft);
    int (*forward)(struct gcb_device_stream *s, const struct gcb_cuda_fft *fft, float *bins,
                   const float *x, void *work);
};

/* What slots need besides the codecs: kernels/slot/slot_cuda.h. */
struct gcb_device_slot_fns {
    int (*begin)(struct gcb_device_stream *s, const struct gcb_device_input *in,
                 struct gcb_device_result *result_dev);
    int (*spare)(struct gcb_device_stream *s, const struct gcb_device_input *in,
                 const struct gcb_device_result *result_dev);
    int (*end)(struct gcb_device_stream *s, const struct gcb_device_input *in,
               struct gcb_device_result *result_dev, const struct gcb_cuda_slot_rest *rest);
    int (*poison)(struct gcb_device_stream *s, float *out_dev, uint64_t n,
                  const struct gcb_cuda_slots *slots);
};

/* The present clock frequency of the multiprocessors (src/lib/device/module/libraries.h). */
struct gcb_device_clock_fns {
    /* Returns NULL if the frequency of device `index` cannot be read. The caller frees the result
     * with `close`. */
    struct gcb_device_clock *(*open)(unsigned index);
    /* Returns the frequency in MHz; 0 if it is unknown or c is NULL. */
    unsigned (*mhz)(const struct gcb_device_clock *c);
    void (*close)(struct gcb_device_clock *c); /* NULL is fine */
};

struct gcb_device_module {
    uint32_t version;                      /* GCB_DEVICE_MODULE_VERSION */
    uint32_t size;                         /* sizeof(struct gcb_device_module) */
    const struct gcb_device_codec *codecs; /* a row without ops ends the list */

    /* Fills in the facts about device `index` that are known, even after an error. Returns 0, or
     * GCB_E_BACKEND if there is no driver or no such device. */
    int (*probe)(struct gcb_device_facts *facts, unsigned index, struct gcb_diag *diag);
    /* Selects device `index` for this host thread. Returns 0 or GCB_E_DEVICE. */
    int (*use)(unsigned index, struct gcb_diag *diag);
    /* Sets *index to the device that this host thread uses. Returns 0 or GCB_E_DEVICE. */
    int (*used)(unsigned *index, struct gcb_diag *diag);

    struct gcb_device_memory_fns memory;
    struct gcb_device_stream_fns stream;
    struct gcb_device_event_fns event;
    struct gcb_device_tensor_fns tensor;
    struct gcb_device_fft_fns fft;
    struct gcb_device_slot_fns slot;
    struct gcb_device_clock_fns clock;
};

struct gcb_device_core; /* src/lib/device/core.h */

typedef const struct gcb_device_module *gcb_device_module_fn(const struct gcb_device_core *core);

#endif
