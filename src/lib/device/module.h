#ifndef SRC_LIB_DEVICE_MODULE_H
#define SRC_LIB_DEVICE_MODULE_H

#include "kernels/compare/compare_cuda.h"
#include "kernels/memory/memory_cuda.h"
#include "src/lib/codec/device.h"

/*
 * What libgcbench-cuda.so exports: one function, gcb_device_module, which takes the table of the core's functions
 * (src/lib/device/core.h) and returns this table, or NULL if the core's table is of another version. Plain C, versioned:
 * the core checks the first field before it uses anything else, and refuses a module of another version.
 *
 * Every function that can fail returns 0 or a negative gcb_status; where it takes a diag, that has one line of
 * words. GCB_E_BACKEND says that something is not there; GCB_E_DEVICE, that what is there failed. Functions that take a
 * stream only queue work on it, and say nothing of how that ends: `wait` does.
 * Device memory is aligned to 256 bytes and cannot be read by the host; copies between it and the host go through
 * pinned memory. One host thread at a time for a stream.
 */
#define GCB_DEVICE_MODULE_VERSION 5
#define GCB_DEVICE_MODULE_SYMBOL "gcb_device_module"

/* Of a device, and of the libraries it needs; as far as they could be found out. */
struct gcb_device_facts {
    char name[128];        /* of the device; "" where there is none */
    char runtime[32];      /* "13.0" */
    char driver[32];       /* the newest runtime it serves; "" without a driver */
    char fft[64];          /* "cuFFT 12.0.0"; "" where it was not found */
    uint64_t memory_bytes; /* of the device */
    uint64_t l2_bytes;
    unsigned major, minor, multiprocessors;
    unsigned clock_mhz; /* of its multiprocessors at most; 0: not known */
};

enum gcb_device_copy {
    GCB_COPY_IN,
    GCB_COPY_OUT,
    GCB_COPY_DEVICE
}; /* host to device, back, within */

struct gcb_cuda_fft;     /* opaque: plans */
struct gcb_device_event; /* opaque: a point in a stream's work */
struct gcb_device_clock; /* opaque */

struct gcb_device_module {
    uint32_t version;                      /* GCB_DEVICE_MODULE_VERSION */
    uint32_t size;                         /* of this struct */
    const struct gcb_device_codec *codecs; /* by wire id; ended by one without ops */

    /* Fills what can be found out; 0, or GCB_E_BACKEND with what is missing: no driver, no such device. */
    int (*probe)(struct gcb_device_facts *facts, unsigned index, struct gcb_diag *diag);
    /* Makes device `index` this host thread's. GCB_E_DEVICE. */
    int (*use)(unsigned index, struct gcb_diag *diag);

    /* 0 bytes give memory too. GCB_E_NOMEM; its words say how much is free. */
    int (*alloc)(void **out_dev, uint64_t bytes, struct gcb_diag *diag);
    void (*free)(void *dev); /* NULL is fine, here and below; waits for the device */
    int (*alloc_pinned)(void **out, uint64_t bytes, struct gcb_diag *diag);
    void (*free_pinned)(void *p);

    int (*stream_create)(struct gcb_device_stream **out, struct gcb_diag *diag);
    void (*stream_destroy)(struct gcb_device_stream *s); /* waits for what was queued */
    /* Waits for all that was queued. GCB_E_DEVICE, with words, if any of it, or the queueing, failed. */
    int (*wait)(struct gcb_device_stream *s, struct gcb_diag *diag);
    uint64_t (*launches)(const struct gcb_device_stream
                             *s); /* kernels, and fills that codecs queue, since it was made */
    int (*copy)(struct gcb_device_stream *s, void *to, const void *from, uint64_t bytes,
                enum gcb_device_copy how);
    int (*zero)(struct gcb_device_stream *s, void *dev, uint64_t bytes);

    int (*event_create)(struct gcb_device_event **out, struct gcb_diag *diag);
    void (*event_destroy)(struct gcb_device_event *e);
    int (*event_record)(struct gcb_device_event *e, struct gcb_device_stream *s);
    /* Later work of `s` begins only when the event was reached. */
    int (*event_follow)(struct gcb_device_event *e, struct gcb_device_stream *s);
    /* Waits for both; seconds of the device's clock between them. */
    int (*event_seconds)(double *out, struct gcb_device_event *from, struct gcb_device_event *to,
                         struct gcb_diag *diag);

    /* result->max_bits = max(result->max_bits, largest sign-cleared pattern of x[0..n)). */
    int (*max_bits)(struct gcb_device_stream *s, const float *x_dev, uint64_t n,
                    struct gcb_device_result *result_dev);
    /* The same of each message of a group that was queued before. */
    int (*max_bits_group)(struct gcb_device_stream *s, const struct gcb_device_group *group);
    /* A tensor raw, as a stored message holds it in `source`'s type, and back. With a residual, that becomes what
     * the source's type cannot hold (in->compensated is 1). */
    int (*put_raw)(struct gcb_device_stream *s, enum gcb_dtype source, uint8_t *out_dev,
                   const struct gcb_device_input *in);
    int (*get_raw)(struct gcb_device_stream *s, enum gcb_dtype source, float *out_dev,
                   const uint8_t *in_dev, uint64_t n);

    /* How close y is to x: kernels/compare/compare_cuda.h. */
    uint64_t (*compare_scratch)(uint64_t n);
    int (*compare)(struct gcb_device_stream *s, struct gcb_cuda_comparison *out_dev,
                   const float *x_dev, const float *y_dev, uint64_t n, void *scratch_dev);

    /* cuFFT's own transform, as the method fft has it called, for who compares times: src/lib/device/module/fft.h. */
    int (*fft_create)(struct gcb_cuda_fft **out, uint64_t n, uint64_t chunk, unsigned ways,
                      const char *transform, struct gcb_diag *diag);
    void (*fft_destroy)(struct gcb_cuda_fft *fft);
    uint64_t (*fft_work)(const struct gcb_cuda_fft *fft);
    int (*fft_forward)(struct gcb_device_stream *s, const struct gcb_cuda_fft *fft, float *bins,
                       const float *x, void *work);

    /* What a worker remembers between steps: kernels/memory/memory_cuda.h. */
    int (*memory_add)(struct gcb_device_stream *s, const struct gcb_cuda_memory *m,
                      const float *gradient_dev);
    int (*memory_sent)(struct gcb_device_stream *s, const struct gcb_cuda_memory *m,
                       const float *sent_dev, int masks);
    uint64_t (*memory_clip_scratch)(uint64_t n);
    int (*memory_clip)(struct gcb_device_stream *s, float *scale_dev, const float *gradient_dev,
                       uint64_t n, double limit, void *scratch_dev);

    /* The multiprocessors' clock as it is, by the driver: NULL where it cannot be told; MHz, 0 if not known. */
    struct gcb_device_clock *(*clock_open)(unsigned index);
    unsigned (*clock_mhz)(const struct gcb_device_clock *c); /* NULL is fine, here and below */
    void (*clock_close)(struct gcb_device_clock *c);
};

struct gcb_device_core; /* src/lib/device/core.h */

typedef const struct gcb_device_module *gcb_device_module_fn(const struct gcb_device_core *core);

#endif
