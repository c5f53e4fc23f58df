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
 * Conventions. Every function that can fail returns 0 or a negative gcb_status; results go out through
 * pointers, which are not touched on failure unless said. `diag` may be NULL; on failure it holds one
 * line of words. Tensors are arrays of float32, message bytes are little-endian and the same on every
 * machine, with any number of threads (docs/format.md; a whole-message FFT is the one exception).
 * Nothing here prints, exits or reads the environment.
 *
 * Thread safety: distinct coders may be used from distinct threads; one coder from one at a time.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a function of the library returns: 0, or one of these. */
enum gcb_status {
    GCB_OK = 0,
    GCB_E_NOMEM = -1,       /* an allocation failed, or a limit on memory would be passed */
    GCB_E_NOSPACE = -2,     /* an output buffer is too small */
    GCB_E_INVALID = -3,     /* an argument, option or parameter makes no sense */
    GCB_E_CORRUPT = -4,     /* a message or file is damaged, cut or hostile */
    GCB_E_IO = -5,          /* the operating system refused to read or write */
    GCB_E_NONFINITE = -6,   /* an infinity or NaN where none is allowed */
    GCB_E_BACKEND = -7,     /* the asked-for device or backend is not available */
    GCB_E_MISMATCH = -8,    /* a message does not fit the coder it was given to */
    GCB_E_UNSUPPORTED = -9, /* valid, but not known to this build, version or method */
    GCB_E_INTERNAL = -10,   /* a promise of the library's own was broken */
    GCB_E_DEVICE = -11,     /* a device failed while it worked */
    GCB_E_UNVERIFIED = -12, /* a result was checked, and is wrong */
};

/* A short static text for a status; never NULL. */
const char *gcb_status_text(int status);

/* Version of the library, "major.minor.patch", static. */
const char *gcb_version(void);

#define GCB_DIAG_TEXT 480

/* What went wrong, in one line, without a newline. Caller-owned plain data; text is cut to fit. */
struct gcb_diag {
    int status;
    char text[GCB_DIAG_TEXT];
};

/* Type of a tensor where it came from. Codecs see float32; a message remembers the source type. */
enum gcb_dtype { GCB_F32 = 0, GCB_F16 = 1, GCB_BF16 = 2, GCB_F64 = 3, GCB_DTYPE_COUNT };

enum gcb_nonfinite {
    GCB_NONFINITE_ERROR,   /* encode looks (one read) and fails with GCB_E_NONFINITE */
    GCB_NONFINITE_RAW,     /* encode looks, and sends such a tensor raw, bits kept */
    GCB_NONFINITE_TRUSTED, /* the caller has looked: no read is spent; the result is unspecified, but
                              memory-safe, if it was wrong */
};

/* Zero-initialise; every zero field means its default. */
struct gcb_options {
    uint64_t seed;                /* of random methods; 0 means 1 */
    int threads;                  /* 0 means 1 */
    enum gcb_nonfinite nonfinite; /* default: error */
    enum gcb_dtype source;        /* type the tensor had before it became float32 */
    const char *path;      /* name of the tensor, part of the key of random draws; NULL is "" */
    uint64_t max_elements; /* gcb_decoder_open refuses messages of more; 0 means 2^34 */
    int checksum;          /* not 0: gcb_encode appends an XXH3-64, which gcb_decode checks */
};

struct gcb_coder;

/*
 * A coder that encodes tensors of n elements with the method `spec`, "name:key=value,...", as
 * `gcbench methods` lists them. Takes all memory that encoding needs. `*out` is owned by the caller.
 * GCB_E_INVALID: unknown method or key, value out of range, or a combination that makes no sense.
 */
int gcb_encoder_open(struct gcb_coder **out, const char *spec, uint64_t n,
                     const struct gcb_options *options, struct gcb_diag *diag);

/*
 * A coder that decodes messages like this one (same method, element count and parameters). `message`
 * is borrowed for the call and may be hostile: GCB_E_CORRUPT, GCB_E_UNSUPPORTED.
 */
int gcb_decoder_open(struct gcb_coder **out, const void *message, size_t length,
                     const struct gcb_options *options, struct gcb_diag *diag);

void gcb_coder_close(struct gcb_coder *coder); /* NULL is fine */

/* Elements of the tensors this coder takes or gives. */
uint64_t gcb_coder_elements(const struct gcb_coder *coder);

/* Longest message this encoder writes, in bytes. */
size_t gcb_coder_bound(const struct gcb_coder *coder);

/*
 * Encodes x (n floats, borrowed) into out (capacity cap, at least the bound, else GCB_E_NOSPACE may
 * result) and sets *length. Neither allocates nor reads a clock. The same x, step, worker, path and seed
 * give the same bytes.
 */
int gcb_encode(struct gcb_coder *coder, uint64_t step, uint32_t worker, const float *x, void *out,
               size_t cap, size_t *length, struct gcb_diag *diag);

/*
 * Decodes into x (n floats). Any bytes are survived: the result is 0, GCB_E_CORRUPT, GCB_E_UNSUPPORTED (a
 * newer version, unknown flags) or GCB_E_MISMATCH, and nothing outside x is written. On failure x is
 * unspecified.
 */
int gcb_decode(struct gcb_coder *coder, const void *message, size_t length, float *x,
               struct gcb_diag *diag);

/* What a message says of itself. Every field is validated against `length`. */
struct gcb_message_info {
    uint64_t elements;
    uint64_t payload_bytes;
    uint32_t header_bytes; /* everything but the payload, checksum included */
    enum gcb_dtype source;
    int stored;       /* raw values follow instead of the codec's payload */
    int has_checksum; /* whether one is there; gcb_decode checks it */
    unsigned codec;   /* wire id, docs/format.md */
};
int gcb_message_info(struct gcb_message_info *info, const void *message, size_t length,
                     struct gcb_diag *diag);

#ifdef __cplusplus
}
#endif

#endif
