#ifndef GCBENCH_H
#define GCBENCH_H

/*
 * libgcbench: gradient compressors that produce real messages.
 *
 *     struct gcb_coder *c;
 *     gcb_encoder_open(&c, "fft:theta=0.9", n, NULL, &diag);
 *     void *message = malloc(gcb_coder_bound(c));
 *     gcb_encode(c, step, worker, x, message, gcb_coder_bound(c), &length, &diag);
 *     gcb_coder_close(c);
 *
 * Conventions:
 *   - A function that can fail returns 0 or a negative enum gcb_status. Results go out through pointers; after a failure
 *     they are unchanged, if nothing else is said.
 *   - `diag` may be NULL. After a failure it holds a message of one line.
 *   - A tensor is an array of float32. The caller owns all arrays; a coder keeps no pointer to them.
 *   - The same input gives the same message on all machines, with any number of threads (docs/format.md). The only
 *     exception is an FFT over a whole message.
 *   - No function prints, exits or reads the environment.
 *
 * Threads may use different coders at the same time. Only one thread at a time may use a coder. A call needs up to 256 KiB of
 * the calling thread's stack.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Results of the functions. */
enum gcb_status {
    GCB_OK = 0,
    GCB_E_NOMEM = -1,       /* an allocation failed, or a limit on memory is too low */
    GCB_E_NOSPACE = -2,     /* an output buffer is too small */
    GCB_E_INVALID = -3,     /* an argument, option or parameter is invalid */
    GCB_E_CORRUPT = -4,     /* a message or file is damaged, cut or hostile */
    GCB_E_IO = -5,          /* the operating system refused to read or write */
    GCB_E_NONFINITE = -6,   /* an infinity or NaN where none is allowed */
    GCB_E_BACKEND = -7,     /* the device or backend is not available */
    GCB_E_MISMATCH = -8,    /* a message does not fit its decoder */
    GCB_E_UNSUPPORTED = -9, /* valid, but unknown to this build, version or method */
    GCB_E_INTERNAL = -10,   /* an error in the library itself */
    GCB_E_DEVICE = -11,     /* a device failed during its work */
    GCB_E_UNVERIFIED = -12, /* a result was checked and is wrong */
};

/* A short text for a status. Static, never NULL. */
const char *gcb_status_text(int status);

/* Version of the library, "major.minor.patch". Static. */
const char *gcb_version(void);

#define GCB_DIAG_TEXT 480

/* Why a function failed: one line without a newline, cut if it is too long. */
struct gcb_diag {
    int status;
    char text[GCB_DIAG_TEXT];
};

/* Element types of tensors at their source. Coders take float32; a message records the source type. */
enum gcb_dtype { GCB_F32 = 0, GCB_F16 = 1, GCB_BF16 = 2, GCB_F64 = 3, GCB_DTYPE_COUNT };

/* What to do with a tensor that has an infinity or NaN. The check reads the tensor once. */
enum gcb_nonfinite {
    GCB_NONFINITE_ERROR, /* gcb_encode checks the tensor and fails with GCB_E_NONFINITE */
    GCB_NONFINITE_RAW,   /* gcb_encode checks the tensor and sends it raw, bit for bit */
    GCB_NONFINITE_TRUSTED, /* gcb_encode does not check. If a value is not finite, the message is unspecified, but memory
                              stays safe */
};

/* Options of a coder. Zero-initialise; a zero field means its default. */
struct gcb_options {
    uint64_t seed; /* of random methods; 0: 1 */
    int threads; /* that work on one tensor; 0: 1, at most 256. If the system starts fewer, fewer work */
    enum gcb_nonfinite nonfinite; /* default: GCB_NONFINITE_ERROR */
    enum gcb_dtype source;        /* the tensor's type before it became float32 */
    const char *path; /* the tensor's name, part of the key of random draws; copied. NULL: "" */
    uint64_t max_elements; /* gcb_decoder_open refuses messages with more; 0: 2^34 */
    int checksum;          /* not 0: gcb_encode appends an XXH3-64, and gcb_decode checks it */
};

struct gcb_coder;

/*
 * Opens an encoder for tensors of n elements and allocates all memory that encoding needs. `spec` is a method,
 * "name:key=value,...", as listed by `gcbench methods`. The caller owns *out. GCB_E_INVALID: the method or a key is
 * unknown, a value is out of range, or the combination is impossible. GCB_E_NOMEM.
 */
int gcb_encoder_open(struct gcb_coder **out, const char *spec, uint64_t n,
                     const struct gcb_options *options, struct gcb_diag *diag);

/*
 * Opens a decoder for messages like `message` (`length` bytes): of the same method, element count and parameters. The
 * message is only read during the call and may be hostile. The caller owns *out. GCB_E_CORRUPT: damaged,
 * or more than options->max_elements elements. GCB_E_UNSUPPORTED: an unknown method, version or flag. GCB_E_NOMEM.
 */
int gcb_decoder_open(struct gcb_coder **out, const void *message, size_t length,
                     const struct gcb_options *options, struct gcb_diag *diag);

/* Frees an encoder or decoder. NULL is fine. */
void gcb_coder_close(struct gcb_coder *coder);

/* Number of elements of a tensor of this coder. */
uint64_t gcb_coder_elements(const struct gcb_coder *coder);

/* Largest number of bytes of a message of this encoder; 0 for a decoder. */
size_t gcb_coder_bound(const struct gcb_coder *coder);

/*
 * Encodes x (n floats) into `out`, which has room for `cap` bytes, and sets *length to the message's bytes. The same x,
 * step, worker, path and seed give the same bytes. (redsync also depends on the steps before: it uses thresholds again.)
 * Reads no clock, and only the FFT library may allocate. GCB_E_NOSPACE: cap is below gcb_coder_bound, and the encoder ran
 * out of room. GCB_E_NONFINITE: see enum gcb_nonfinite. GCB_E_NOMEM: the FFT library got no memory. GCB_E_MISMATCH: the coder
 * is a decoder.
 */
int gcb_encode(struct gcb_coder *coder, uint64_t step, uint32_t worker, const float *x, void *out,
               size_t cap, size_t *length, struct gcb_diag *diag);

/*
 * Decodes a message of `length` bytes into x (n floats). The message may be hostile; nothing outside x is written. After a
 * failure x is unspecified. GCB_E_CORRUPT: damaged. GCB_E_UNSUPPORTED: a newer version or unknown flags. GCB_E_MISMATCH:
 * another method, element count or parameter than the decoder's, or the coder is an encoder. GCB_E_NOMEM: the FFT library
 * got no memory.
 */
int gcb_decode(struct gcb_coder *coder, const void *message, size_t length, float *x,
               struct gcb_diag *diag);

/* What the header of a message says. */
struct gcb_message_info {
    uint64_t elements; /* of the tensor */
    uint64_t payload_bytes;
    uint32_t header_bytes; /* everything except the payload: header, parameters, checksum */
    enum gcb_dtype source;
    int stored;       /* not 0: the payload is the raw tensor */
    int has_checksum; /* not 0: gcb_decode checks it */
    unsigned codec;   /* wire id: docs/format.md */
};
/*
 * Reads the header of a message of `length` bytes and checks each field against `length`. GCB_E_CORRUPT,
 * GCB_E_UNSUPPORTED: as gcb_decode.
 */
int gcb_message_info(struct gcb_message_info *info, const void *message, size_t length,
                     struct gcb_diag *diag);

#ifdef __cplusplus
}
#endif

#endif
