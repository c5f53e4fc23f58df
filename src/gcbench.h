#ifndef GCBENCH_H
#define GCBENCH_H

/*
 * libgcbench: gradient compressors that produce real messages.
 *
 *     struct gcb_encoder *e;
 *     gcb_encoder_open(&e, "fft:theta=0.9", n, NULL, &diag);
 *     void *message = malloc(gcb_encoder_bound(e));
 *     gcb_encode(e, step, worker, x, message, gcb_encoder_bound(e), &length, &diag);
 *     gcb_encoder_close(e);
 *
 * Conventions:
 *   - A function that can fail returns 0 or a negative enum gcb_status. Results go out through
 *     pointers. After a failure they are unchanged, if nothing else is said.
 *   - If a pointer is NULL and nothing here allows that, a function changes nothing, and returns
 *     GCB_E_INVALID, or 0 if its result is a number of bytes or elements. An array without elements
 *     may be NULL.
 *   - `diag` may be NULL. After a failure it holds a message of one line.
 *   - A tensor is an array of float32, if options.input does not say otherwise. The caller owns all
 *     arrays. No object keeps a pointer to an array after a call, except a sum to its tensor `into`
 *     (gcb_sum_open), and an exchange to its tensor and its update during a step
 *     (gcb_exchange_begin, gcb_exchange_sum_into).
 *   - The same input gives the same message on all machines, with any number of threads
 *     (docs/format.md). The only exceptions are an FFT or DCT of a length that goes through FFTW
 *     (docs/method.md), and powersgd without `tile`, whose products are OpenBLAS's.
 *   - No function prints, exits or reads the environment.
 *
 * Threads may use different objects at the same time. Only one thread at a time may use an object.
 * A call needs up to 256 KiB of the calling thread's stack.
 *
 * A process may fork while other threads are in the library. The child can open objects, and use
 * all that no other thread was using at that moment. A fork waits while a thread plans an FFT,
 * loads OpenBLAS or the CUDA module, or multiplies matrices with OpenBLAS.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What functions that can fail return. */
enum gcb_status {
    GCB_OK = 0,
    GCB_E_NOMEM = -1,       /* an allocation failed, or a limit on memory is too low */
    GCB_E_NOSPACE = -2,     /* an output buffer is too small */
    GCB_E_INVALID = -3,     /* an argument, option or parameter is invalid */
    GCB_E_CORRUPT = -4,     /* a message or file is damaged, cut or hostile */
    GCB_E_IO = -5,          /* the operating system refused to read or write */
    GCB_E_NONFINITE = -6,   /* an infinity or NaN where none is allowed */
    GCB_E_BACKEND = -7,     /* the device or backend is not available */
    GCB_E_MISMATCH = -8,    /* a message or saved state does not fit the object */
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

/* Element types. Methods work on float32. */
enum gcb_dtype { GCB_F32 = 0, GCB_F16 = 1, GCB_BF16 = 2, GCB_F64 = 3 };

/* What to do with a tensor that has an infinity or NaN. The check, which GCB_NONFINITE_TRUSTED
 * saves, reads the tensor once. */
enum gcb_nonfinite {
    /* gcb_encode refuses the tensor with GCB_E_NONFINITE. */
    GCB_NONFINITE_ERROR,
    /*
     * gcb_encode sends the tensor raw, in the type options.source. If that is the type of the
     * input, the elements stay bit for bit the same. The only exception is a signalling NaN of 16
     * bits, which may become quiet.
     */
    GCB_NONFINITE_RAW,
    /*
     * gcb_encode does not check. If a value is not finite, the message is unspecified, but no call
     * reads or writes outside its arrays. An encoder with a memory checks, and fails like
     * GCB_NONFINITE_ERROR: an infinity would stay in its memory.
     */
    GCB_NONFINITE_TRUSTED,
};

/*
 * Options. Zero-initialise and set `size`; every other zero field means its default. Where a
 * function takes options, NULL means all defaults.
 */
struct gcb_options {
    /* sizeof(struct gcb_options); tells a newer library which fields the caller has. At most
     * 4096. Here and in the other structs with a size, a size that ends within a field is
     * GCB_E_INVALID. */
    size_t size;

    /* ---- options of most objects ---- */

    /* Threads that work on one tensor, at most 256; 0 means 1. If the system starts fewer, fewer
     * work. */
    int threads;
    /* The tensor's dimensions, at most 32, whose product must be n. Copied. NULL: not known. */
    unsigned rank;
    const uint64_t *shape;

    /* ---- options of encoders and exchanges ---- */

    uint64_t seed;    /* for the draws of random methods; 0 means 1 */
    const char *path; /* the tensor's name, part of the key of random draws; copied. NULL: "" */
    enum gcb_nonfinite nonfinite; /* default: GCB_NONFINITE_ERROR */
    /* Type of the elements that gcb_encode reads: GCB_F32, GCB_F16 or GCB_BF16. 16-bit elements are
     * little-endian. */
    enum gcb_dtype input;
    /*
     * The tensor's type, recorded in the message. Raw messages are in this type (GCB_F64: in
     * float32). 0: as `input`. GCB_F32 is 0, so a 16-bit input cannot be recorded as float32;
     * convert such a tensor to float32 before.
     */
    enum gcb_dtype source;
    /* Workers that send a gradient in each step; 0 means 1. Used by exchanges and "clip-norm". */
    unsigned workers;
    int checksum; /* not 0: gcb_encode appends an XXH3-64, and gcb_decode checks it */

    /* ---- options of objects that are opened from a message ---- */

    uint64_t max_elements; /* messages with more are refused; 0: 2^34 */

    /* ---- options of exchanges ---- */

    uint32_t worker; /* this worker's number, from 0 */
    /* `workers` factors, all finite: an exchange gives the sum of weights[i] times the tensor of
     * worker i. The same for all workers. Copied. NULL: each is 1 / workers, so that the sum is the
     * mean. */
    const float *weights;

    /* ---- options of encoders, decoders and exchanges ---- */

    /*
     * If x is several tensors, one after the other: the rank of the first, its dimensions, the rank
     * of the second and so on, as {4, 16, 3, 3, 3, 1, 16}. joined_length counts these numbers. A
     * rank is at most 32, and the elements of all tensors are n. Copied. NULL: x is one tensor, or
     * the shapes are not known.
     */
    const uint64_t *joined;
    size_t joined_length;
};

/* ---- methods of your own ---- */

/* What random draws may depend on. */
struct gcb_own_at {
    uint64_t seed, step;
    uint32_t worker;
};

/*
 * A method that this library does not have. Its functions return 0, or a status below 0 with words
 * in diag; the library's function that called them returns the same. The library holds no lock
 * while it calls them. Several threads may call them at the same time if several objects are used.
 * Zero-initialise and set `size`.
 */
struct gcb_own_method {
    size_t size;
    /* Printable, with a '/', as in "python/mine", because no name of gcbench's own methods has a
     * '/'. It must not have a space, ':', ',' or '='. At most 63 bytes. Copied. */
    const char *name;
    /* "bits=3": shown after the name, and part of each spec. Printable, at most 127 bytes. Copied.
     * NULL: "" */
    const char *params;
    void *ctx; /* passed to the functions */
    /* Sets *bytes to the most bytes of a message of n elements. */
    int (*bound)(void *ctx, uint64_t n, size_t *bytes, struct gcb_diag *diag);
    /* Writes the message of n elements to `out`, which has room for `room` bytes, and the number of
     * its bytes to *length. The elements are finite, except with GCB_NONFINITE_TRUSTED. The same
     * arguments must give the same bytes. */
    int (*encode)(void *ctx, const struct gcb_own_at *at, const float *x, uint64_t n, void *out,
                  size_t room, size_t *length, struct gcb_diag *diag);
    /* Decodes a message into x[0..n). The message may be damaged or hostile. */
    int (*decode)(void *ctx, const void *message, size_t length, float *x, uint64_t n,
                  struct gcb_diag *diag);
};

/*
 * Adds a method to this process, for all specs from now on: "python/mine:bits=3,memory=ef". All
 * processes that exchange its messages must add the same methods in the same order. Not
 * thread-safe: no other call may run. Adding the same name and parameters again replaces the
 * functions. GCB_E_INVALID: the name or the parameters are malformed, or a function is missing.
 * GCB_E_UNSUPPORTED: more than 15 methods. GCB_E_NOMEM.
 */
int gcb_method_add(const struct gcb_own_method *method, struct gcb_diag *diag);

/* ---- encoders ---- */

struct gcb_encoder;

/*
 * Opens an encoder for tensors of n elements and allocates the memory that encoding needs, with the
 * exceptions that gcb_encode names. `spec` is a method, "name:key=value,...", as listed by `gcbench
 * methods`. The caller owns *out.
 * GCB_E_INVALID: the method or a key is unknown, a value or an option is out of range, or the
 * combination is impossible. GCB_E_UNSUPPORTED: a transform of this length needs FFTW, which this
 * build does not have. GCB_E_BACKEND: powersgd without `tile` needs OpenBLAS, which was not found
 * or does not run on this CPU. GCB_E_NOMEM.
 *
 * Some methods have a memory ("topk:memory=ef", "sbc", "dgc", "demo"; docs/replay.md): the encoder
 * keeps what it did not send, and adds it to the next tensor. Each tensor of each worker then needs
 * its own encoder. Encoders refuse, with GCB_E_INVALID, what only exchanges can do: "memory=gmc"
 * and "memory=ef21", which need the sum of all workers' tensors, and any "collective" except
 * allgather.
 */
int gcb_encoder_open(struct gcb_encoder **out, const char *spec, uint64_t n,
                     const struct gcb_options *options, struct gcb_diag *diag);

/* Frees an encoder. NULL is fine. */
void gcb_encoder_close(struct gcb_encoder *encoder);

/* Largest number of bytes of a message. */
size_t gcb_encoder_bound(const struct gcb_encoder *encoder);

/*
 * Number of bytes of a message if all messages have the same length; 0 if lengths vary, or if some
 * steps send nothing ("delay"). A tensor that is sent raw, because it has an infinity or NaN or
 * because the method overflows, may have another length, up to gcb_encoder_bound.
 */
size_t gcb_encoder_length(const struct gcb_encoder *encoder);

/*
 * Encodes x (n elements of the type options.input) into `out`, which has room for `cap` bytes, and
 * sets *length to the message's bytes. *length is 0 if this step sends nothing ("delay"). Without a
 * memory, the same x, step, worker, path and seed give the same bytes. (redsync and powersgd also
 * depend on the steps before: redsync uses thresholds again, powersgd its Q.) Reads no clock. May
 * allocate only in the FFT library, in OpenBLAS and, with a memory, for the first messages after
 * gcb_encoder_open or gcb_encoder_set.
 *
 * With a memory, x is added to what earlier steps did not send, the sum is encoded, and the encoder
 * keeps the sum minus what the receiver will decode. If x has an infinity or NaN, or if the sum
 * overflows, then GCB_NONFINITE_RAW sends x itself raw, also in a step that would send nothing, and
 * the memory stays as it was. The other values of enum gcb_nonfinite make the call fail.
 *
 * GCB_E_NOSPACE: without a memory, the message does not fit `out`; with a memory, cap is below
 * gcb_encoder_bound. GCB_E_NONFINITE: see enum gcb_nonfinite. GCB_E_NOMEM: an allocation failed.
 * After a failure `out` is unspecified. The encoder's memory is as before the call, except after
 * GCB_E_NOMEM and a failure of a method of your own (gcb_method_add): then x was added to the
 * memory, as in a step that sends nothing.
 */
int gcb_encode(struct gcb_encoder *encoder, uint64_t step, uint32_t worker, const void *x,
               void *out, size_t cap, size_t *length, struct gcb_diag *diag);

/*
 * Gives the L2 norm of all tensors of this worker together, for the next call of gcb_encode that
 * succeeds or adds x to the memory: "clip-norm" of dgc limits this norm instead of the tensor's
 * own. The norm is that of the values in x. An infinite or NaN norm makes gcb_encode do what it
 * does for a tensor with a NaN. An encoder that does not clip when gcb_encode is called ignores the
 * norm. GCB_E_INVALID: the norm is negative.
 */
int gcb_encoder_set_norm(struct gcb_encoder *encoder, double norm, struct gcb_diag *diag);

/*
 * Changes a parameter of the method between two steps, as text: ("theta", "0.99"). The memory and
 * redsync's threshold stay; what else the method keeps (powersgd's Q) may begin anew.
 * gcb_encoder_bound and gcb_encoder_length change. Decoders must change too if a message carries
 * the parameter (bits, for example). May allocate. After a failure the encoder is as before.
 * GCB_E_INVALID: the key is unknown, the value is out of range, makes no sense with the other
 * parameters or is refused by gcb_encoder_open, or the key is "memory". GCB_E_UNSUPPORTED,
 * GCB_E_BACKEND, GCB_E_NOMEM: as gcb_encoder_open.
 */
int gcb_encoder_set(struct gcb_encoder *encoder, const char *key, const char *value,
                    struct gcb_diag *diag);

/*
 * What an encoder or an exchange keeps from step to step, for checkpoints. Zero-initialise and set
 * `size`. The caller owns the arrays. `residual` and `momentum` have n elements.
 */
struct gcb_memory_state {
    size_t size;     /* sizeof(struct gcb_memory_state) */
    float *residual; /* what was not sent; ef21: what has arrived; NULL: not wanted */
    /* The momentum (dgc, delay), the last update (gmc: divided by the sum of the weights; ef21), or
     * the residual after the last message (loco). NULL: not wanted. */
    float *momentum;
    /* Steps since the last message (delay) or since the residual was cleared (loco), and redsync's
     * threshold. All 0 in a new encoder. */
    uint64_t counters[8];
    /* The array for everything else that the method keeps, such as powersgd's Q. It has
     * `kept_bytes` bytes, at least gcb_encoder_kept_bytes. Only the same version of the library can
     * read its contents. NULL: not wanted. */
    void *kept;
    size_t kept_bytes; /* if `kept` is not NULL, saving sets this to the bytes that it wrote */
};

/* Number of bytes that gcb_encoder_save writes to `kept`; 0 for most methods. gcb_encoder_set may
 * change it. */
size_t gcb_encoder_kept_bytes(const struct gcb_encoder *encoder);

/*
 * Copies the state of an encoder. An array that the method does not have becomes 0. GCB_E_INVALID:
 * the size is impossible, or a field that this library does not know is not 0. GCB_E_NOSPACE:
 * kept_bytes is too small.
 */
int gcb_encoder_save(const struct gcb_encoder *encoder, struct gcb_memory_state *state,
                     struct gcb_diag *diag);

/* A saved state that is only read: the fields of struct gcb_memory_state. Zero-initialise and set
 * `size`. */
struct gcb_memory_view {
    size_t size;           /* sizeof(struct gcb_memory_view) */
    const float *residual; /* NULL: all 0 */
    const float *momentum; /* NULL: all 0 */
    uint64_t counters[8];
    const void *kept; /* NULL: as in a new encoder */
    size_t kept_bytes;
};

/*
 * Restores a saved state in an encoder of the same method, count and options. Then the encoder
 * gives the same bytes as the saved encoder would. The state may be hostile. After a failure the
 * encoder is as before. GCB_E_INVALID: as gcb_encoder_save. GCB_E_MISMATCH: the method cannot have
 * this state. GCB_E_NONFINITE: an array has an infinity or NaN.
 */
int gcb_encoder_restore(struct gcb_encoder *encoder, const struct gcb_memory_view *saved,
                        struct gcb_diag *diag);

/* ---- decoders ---- */

struct gcb_decoder;

/*
 * Opens a decoder for the messages of an encoder with this method and n elements, and allocates all
 * memory that decoding needs; but with a parameter `tile`, gcb_decode allocates if the tensors'
 * shapes are not those of the message before. Parameters that a message does not carry (theta, for
 * example) may differ from the encoder's. The caller owns *out. Errors: as gcb_encoder_open.
 */
int gcb_decoder_open(struct gcb_decoder **out, const char *spec, uint64_t n,
                     const struct gcb_options *options, struct gcb_diag *diag);

/*
 * Opens a decoder for messages like `message` (`length` bytes): of the same method, element count
 * and parameters. The message is only read during the call and may be hostile. If the message is a
 * raw tensor, the decoder learns its method from the first message that is not. The caller owns
 * *out. GCB_E_CORRUPT: damaged, or more than options->max_elements elements. GCB_E_UNSUPPORTED: an
 * unknown method, version or flag, or a transform that needs FFTW (gcb_encoder_open).
 * GCB_E_BACKEND: as gcb_encoder_open. GCB_E_INVALID: an option. GCB_E_NOMEM.
 */
int gcb_decoder_open_like(struct gcb_decoder **out, const void *message, size_t length,
                          const struct gcb_options *options, struct gcb_diag *diag);

/* Frees a decoder. NULL is fine. */
void gcb_decoder_close(struct gcb_decoder *decoder);

/* Number of elements of a tensor of this decoder. */
uint64_t gcb_decoder_elements(const struct gcb_decoder *decoder);

/*
 * Decodes a message of `length` bytes into x (n floats). The message may be hostile; nothing
 * outside x is written. After a failure x is unspecified. GCB_E_CORRUPT: damaged.
 * GCB_E_UNSUPPORTED: a newer version or unknown flags. GCB_E_MISMATCH: another method, element
 * count or parameter than the decoder's; diag says which, with both values. GCB_E_NOMEM: no memory
 * for the FFT library or for tiles (gcb_decoder_open). A decoder that was opened from a raw tensor
 * may also return an error of gcb_decoder_open_like when it learns its method.
 */
int gcb_decode(struct gcb_decoder *decoder, const void *message, size_t length, float *x,
               struct gcb_diag *diag);

/* ---- methods ---- */

/* A method with its default values. The caller sets `size`. The texts are static. */
struct gcb_method_info {
    size_t size; /* sizeof(struct gcb_method_info) */
    const char *name;
    const char *summary; /* what it does, in one line */
    const char *source;  /* the publication */
    const char *promise; /* what is guaranteed of its error */
    /* "name:key=value,..." with all parameters that have a meaning with the default values, except
     * "memory=none" and "collective" */
    char spec[512];
};

/*
 * Describes method `index`, counted from 0, in the order of `gcbench methods`. Fields that this
 * library does not know become 0. GCB_E_INVALID: info->size is impossible. GCB_E_UNSUPPORTED: there
 * are no more methods.
 */
int gcb_method_info(struct gcb_method_info *info, size_t index, struct gcb_diag *diag);

/* ---- messages ---- */

/* What the header of a message says. The caller sets `size`. */
struct gcb_message_info {
    size_t size;       /* sizeof(struct gcb_message_info) */
    uint64_t elements; /* of the tensor */
    uint64_t payload_bytes;
    uint32_t header_bytes; /* everything except the payload: header, parameters, checksum */
    enum gcb_dtype source; /* the tensor's type: options.source of the encoder */
    int stored;            /* not 0: the payload is the raw tensor */
    int has_checksum;      /* not 0: gcb_decode checks it */
    unsigned codec;        /* wire id: docs/format.md */
};

/*
 * Reads and checks the header of a message of `length` bytes, but not the checksum. A field that
 * this library does not know becomes 0. GCB_E_INVALID: info->size is impossible.
 * GCB_E_CORRUPT, GCB_E_UNSUPPORTED: as gcb_decode.
 */
int gcb_message_info(struct gcb_message_info *info, const void *message, size_t length,
                     struct gcb_diag *diag);

/*
 * The weighted sum of messages, which may come from several workers. A sparse message costs time
 * only for the elements that it keeps, and messages of a method with a transform share one inverse
 * transform: for them a sum costs less than decoding all messages. Any other message costs about as
 * much as its decoding. docs/method.md defines the result: float32 additions in the order of the
 * calls, so that all workers who add the same messages in the same order get the same bits, with
 * any number of threads (except with FFTW over a whole message).
 */
struct gcb_sum;

/*
 * Opens a sum of tensors of n elements, for messages of the method `spec`. Messages of other
 * methods can be added too, but those with another transform or chunk cost a decoding each. `into`
 * (n floats) is the caller's tensor, which the sum uses as its accumulator and may write in every
 * call until gcb_sum_close; NULL: the sum allocates its own. The caller owns *out. Options:
 * threads. Errors: as gcb_encoder_open.
 */
int gcb_sum_open(struct gcb_sum **out, const char *spec, uint64_t n, float *into,
                 const struct gcb_options *options, struct gcb_diag *diag);

/*
 * Opens a sum for messages like `message` (`length` bytes, maybe hostile), which gives the method
 * and n. The message is not added. If the message is a raw tensor, the first added message that is
 * not gives the method. `into` and *out are as in gcb_sum_open. Options: threads, max_elements.
 * Errors: as gcb_decoder_open_like.
 */
int gcb_sum_open_like(struct gcb_sum **out, const void *message, size_t length, float *into,
                      const struct gcb_options *options, struct gcb_diag *diag);

/* Frees a sum. NULL is fine. */
void gcb_sum_close(struct gcb_sum *sum);

/*
 * Adds `weight` times the decoded tensor of a message (`length` bytes, maybe hostile). The message
 * is checked before anything is added, so after a failure the sum is as before. May allocate for
 * the first message, and for a message with other parameters than earlier messages. GCB_E_CORRUPT,
 * GCB_E_UNSUPPORTED: as gcb_decode. GCB_E_MISMATCH: another number of elements. GCB_E_INVALID: the
 * weight is not finite. GCB_E_NOMEM.
 */
int gcb_sum_add(struct gcb_sum *sum, const void *message, size_t length, float weight,
                struct gcb_diag *diag);

/*
 * Writes the sum to x (n floats), or to the tensor `into` if x is NULL. Then a new sum begins at
 * zero. Without a message the sum is zero. GCB_E_INVALID: x and `into` are NULL. GCB_E_NOMEM: the
 * sum is as before, and x is unspecified.
 */
int gcb_sum_finish(struct gcb_sum *sum, float *x, struct gcb_diag *diag);

/* ---- exchanges ---- */

/*
 * One worker's part in an exchange. All workers give a tensor, and all get the weighted sum of the
 * tensors, as far as the method keeps it. A step takes one round or more, or none if it sends
 * nothing ("delay"). In each round the library says which bytes to move and how; the caller moves
 * them, for example by MPI or NCCL, and hands over what arrived:
 *
 *     struct gcb_round round = {.size = sizeof(round)};
 *     gcb_exchange_begin(e, step, x, &diag);
 *     while (gcb_exchange_next(e, &round, &diag) == 1)
 *         ... for each array that arrives: gcb_exchange_receive(e, from, data, length, &diag);
 *     gcb_exchange_finish(e, update, &diag);
 *
 * All workers must call these functions for the same steps, with the same method, count, shapes,
 * seed, path, workers and weights. Then all get the same update, bit for bit, if GCB_ROUND_REDUCE
 * gives all of them the same bits. Methods that call FFTW or OpenBLAS also need the same library
 * and CPU model for that.
 */
struct gcb_exchange;

enum gcb_round_kind {
    GCB_ROUND_GATHER,  /* all-gather: every worker gets the bytes of all workers */
    GCB_ROUND_SCATTER, /* all-to-all: a worker has other bytes for each worker */
    GCB_ROUND_REDUCE,  /* all-reduce: every worker gets the combination of all workers' values */
    GCB_ROUND_SHIFT,   /* a worker sends its bytes to one other worker, or nothing */
};

/* How values are combined, element by element. All workers have the same number of them. */
enum gcb_reduction {
    GCB_SUM_F32,
    /* IEEE binary16. Each sum of two is rounded to nearest, ties to even. It saturates: two finite
     * values never give an infinity. */
    GCB_SUM_F16,
    GCB_SUM_BF16, /* bfloat16; rounds and saturates as GCB_SUM_F16 */
    GCB_SUM_I8,   /* no sum of the workers' values overflows */
    GCB_SUM_I16,  /* no sum of the workers' values overflows */
    GCB_MAX_F32,  /* no value is negative or NaN */
};

/* What a worker has to send in a round. The caller sets `size`. */
struct gcb_round {
    size_t size; /* sizeof(struct gcb_round) */
    enum gcb_round_kind kind;
    enum gcb_reduction reduction; /* only for GCB_ROUND_REDUCE */
    const void *data; /* this worker's bytes, valid until the round's first gcb_exchange_receive */
    size_t bytes;     /* bytes of `data` */
    /* GCB_ROUND_SCATTER: the number of bytes for each worker; these bytes follow one another in
     * `data`. NULL in other rounds. */
    const size_t *parts;
    /* GCB_ROUND_SHIFT: the worker that gets this worker's bytes, and the worker whose bytes this
     * worker gets; its own number: nothing is sent, or nothing arrives */
    uint32_t to, from;
};

/* Number of bytes of one value that is combined: 1, 2 or 4. */
size_t gcb_reduction_size(enum gcb_reduction reduction);
/* Sets acc[i] to acc[i] combined with one[i]. Both are aligned for their type. `bytes` is a
 * multiple of gcb_reduction_size(reduction). For callers whose network library lacks this
 * all-reduce. */
void gcb_reduction_combine(enum gcb_reduction reduction, void *acc, const void *one, size_t bytes);

/*
 * Opens worker options->worker's part in exchanges of tensors of n elements. `spec` is a method;
 * its "collective" (docs/exchange.md) says how messages travel. Each tensor needs its own exchange.
 * The caller owns *out. Options: all, except that `input` must be GCB_F32, and `workers` at most
 * 2^20. Errors: as gcb_encoder_open.
 */
int gcb_exchange_open(struct gcb_exchange **out, const char *spec, uint64_t n,
                      const struct gcb_options *options, struct gcb_diag *diag);

/* Frees an exchange. NULL is fine. */
void gcb_exchange_close(struct gcb_exchange *exchange);

/*
 * Begins a step with this worker's tensor x (n floats, which must stay valid and unchanged until
 * gcb_exchange_finish). With a memory, x is added to what earlier steps did not send. A step that
 * was begun and not finished ends here; its tensor then counts as not sent, also after a failure of
 * gcb_exchange_next or gcb_exchange_receive. GCB_E_NONFINITE: x has an infinity or NaN, or the
 * memory would get one; the memory is as before. But with GCB_NONFINITE_RAW the step goes on: all
 * workers get an update with infinities or NaNs, and no memory keeps them. In a step that sends
 * nothing, such a tensor is left out. GCB_E_NOMEM: from the FFT library, or for a list of elements
 * (collectives oktopk and spardl); x counts as not sent.
 */
int gcb_exchange_begin(struct gcb_exchange *exchange, uint64_t step, const float *x,
                       struct gcb_diag *diag);

/*
 * After gcb_exchange_begin: names the array (n floats) that gcb_exchange_finish will write. Returns
 * 1 if messages are added there as they arrive (collective "allgather"): the array may be x, and
 * its values are lost if the step fails. Returns 0 if the collective reads x until the end (all
 * others): nothing has changed, and the array must not be x. The call may set the array to zero,
 * which costs no time while the first round's bytes travel (after the first gcb_exchange_next).
 * GCB_E_INVALID: no step was begun, or something was received.
 */
int gcb_exchange_sum_into(struct gcb_exchange *exchange, float *update, struct gcb_diag *diag);

/*
 * Fills *round with what to send next and returns 1. Returns 0 if no round is left. In a step that
 * sends nothing ("delay") there is no round. GCB_E_INVALID: no step was begun, the round before has
 * not received everything, or round->size is impossible, or too small for the fields `to` and
 * `from` of a shift (then the step cannot go on). GCB_E_NOMEM: the step cannot go on. With the
 * collectives oktopk and spardl this is possible in any step, and with "select=mask" in steps in
 * which the workers agree on a mask. Otherwise it is possible only in the first step in which
 * "powersgd" or "countsketch" cannot represent a worker's tensor (docs/exchange.md). Then the
 * tensors themselves are added up, which needs n floats. The call allocates them once, and keeps
 * them for later steps.
 */
int gcb_exchange_next(struct gcb_exchange *exchange, struct gcb_round *round,
                      struct gcb_diag *diag);

/*
 * Hands over what arrived in this round. In GCB_ROUND_GATHER and GCB_ROUND_SCATTER: the bytes of
 * each worker, this worker included, in the order of their numbers. In GCB_ROUND_REDUCE: the
 * combined values, once, with `from` 0, aligned for their type. In GCB_ROUND_SHIFT: once, the bytes
 * of worker round->from; no bytes if that is this worker. The bytes may be hostile, but this
 * worker's own bytes must arrive as they were sent (GCB_E_CORRUPT). GCB_E_INVALID: no round is
 * open, or it is not the turn of worker `from`; nothing has changed. After another failure the step
 * cannot go on. GCB_E_CORRUPT, GCB_E_MISMATCH, GCB_E_UNSUPPORTED: as gcb_sum_add. GCB_E_NOMEM.
 */
int gcb_exchange_receive(struct gcb_exchange *exchange, uint32_t from, const void *data,
                         size_t length, struct gcb_diag *diag);

/*
 * Ends the step: writes the weighted sum to `update` (n floats; x only if gcb_exchange_sum_into
 * returned 1 for it), and tells the memory what arrived of this worker's tensor. In a step that
 * sends nothing the update is 0. GCB_E_INVALID: no step was begun, or a round is left. GCB_E_NOMEM:
 * the step has not ended and `update` is unspecified; call this again with the same array.
 */
int gcb_exchange_finish(struct gcb_exchange *exchange, float *update, struct gcb_diag *diag);

/* Gives the L2 norm of all tensors of this worker together, for the next gcb_exchange_begin: see
 * gcb_encoder_set_norm. */
int gcb_exchange_set_norm(struct gcb_exchange *exchange, double norm, struct gcb_diag *diag);

/*
 * Changes a parameter of the method between two steps, as gcb_encoder_set does. All workers must
 * make the same change. A step that was begun ends. GCB_E_INVALID: also if the key is "collective".
 */
int gcb_exchange_set(struct gcb_exchange *exchange, const char *key, const char *value,
                     struct gcb_diag *diag);

/*
 * For checkpoints: the same as gcb_encoder_kept_bytes, gcb_encoder_save and gcb_encoder_restore,
 * between two steps. All workers must save after the same step, and restore together, all with
 * `kept` or all without. Then the next steps give the same updates, bit for bit, as without a
 * restart. Without `kept`, what the method and the collective keep besides the memory (powersgd's
 * Q, oktopk's regions) begins anew. Restoring ends a step that was begun. GCB_E_NOMEM: the exchange
 * is as before.
 */
size_t gcb_exchange_kept_bytes(const struct gcb_exchange *exchange);
int gcb_exchange_save(const struct gcb_exchange *exchange, struct gcb_memory_state *state,
                      struct gcb_diag *diag);
int gcb_exchange_restore(struct gcb_exchange *exchange, const struct gcb_memory_view *saved,
                         struct gcb_diag *diag);

/* ---- messages that stay on a GPU ---- */

/*
 * An encoder of tensors in the memory of a CUDA device, for messages that never leave devices. Its
 * calls only queue work on the caller's stream and return: they do not wait, allocate, or copy to
 * the host. The messages are those of gcb_encode, byte for byte, in slots of constant size, which
 * a collective such as NCCL's all-gather can send between devices:
 *
 *     gcb_device_encoder_open(&e, 0, "topk:theta=0.99,memory=ef", n, NULL, &diag);
 *     gcb_device_encode(e, step, rank, x, residual, slot, scratch, stream, &diag);
 *     ncclAllGather(slot, slots, gcb_device_slot_bytes(e), ncclUint8, comm, stream);
 *     gcb_device_sum_slots(e, slots, workers, NULL, mean, scratch, stream, &diag);
 *
 * The methods are those whose messages have a constant length and no transform: identity, fp16,
 * bf16, float, affine, codebook, range, qsgd with "coding=fixed", terngrad, natural, randomk, and
 * topk with "index=u32" or "index=bitmap" and a selection that always keeps the same number of
 * elements ("select=topk", "trimmed" or "chunk"); also their presets, such as fp8. The memory is
 * "memory=ef" or none.
 */
struct gcb_device_encoder;

/* The first bytes of a slot. They are valid when the work has ended. The payload begins at byte 256
 * of the slot. */
struct gcb_slot_head {
    uint64_t payload_bytes;
    uint64_t clamped; /* elements that were clamped to the method's range */
    /* 0, GCB_E_NONFINITE if the tensor (with the residual) has an infinity or NaN, or another
     * status if the method cannot represent the tensor */
    int32_t status;
    /* bit pattern of the largest magnitude, a float32, in the tensor (with the residual) */
    uint32_t largest;
};

/*
 * Opens an encoder for tensors of n elements on CUDA device number `device`. `spec` is as in
 * gcb_encoder_open. If messages of the method would be longer than the tensor, slots hold the
 * tensor itself. Options: rank, shape, seed, path. The caller owns *out. GCB_E_BACKEND: no CUDA
 * module, driver or device. GCB_E_UNSUPPORTED: the method has no slots. GCB_E_INVALID, GCB_E_NOMEM:
 * as gcb_encoder_open.
 */
int gcb_device_encoder_open(struct gcb_device_encoder **out, unsigned device, const char *spec,
                            uint64_t n, const struct gcb_options *options, struct gcb_diag *diag);

/* Frees an encoder. NULL is fine. Allowed while queued work still runs. */
void gcb_device_encoder_close(struct gcb_device_encoder *encoder);

/* Number of bytes of a slot, a multiple of 256. */
size_t gcb_device_slot_bytes(const struct gcb_device_encoder *encoder);

/* Number of bytes of scratch that is enough for an encoding and for a sum of `workers` slots. For
 * an encoding only, `workers` may be 0. */
size_t gcb_device_scratch_bytes(const struct gcb_device_encoder *encoder, unsigned workers);

/*
 * Queues the encoding of x (n floats) into a slot, on a cudaStream_t of the encoder's device.
 *
 * With "memory=ef" (and only then) there is a residual: n floats, all 0 before the first step. Then
 * x becomes x + decay * residual, this sum is encoded, and the residual becomes what was not sent.
 * If the slot's status is not 0 afterwards, nothing counts as sent: after GCB_E_NONFINITE the
 * residual is as before, otherwise it is the sum. x is unspecified then.
 *
 * All arrays are in the device's memory, aligned to 16 bytes (GCB_E_INVALID), and belong to the
 * caller; those of 0 floats may be NULL. The calling thread's current device stays as it is. Calls
 * on one stream may share scratch. GCB_E_DEVICE, GCB_E_NOMEM: CUDA refused to queue something; the
 * arrays are unspecified then.
 */
int gcb_device_encode(struct gcb_device_encoder *encoder, uint64_t step, uint32_t worker, float *x,
                      float *residual, void *slot, void *scratch, void *stream,
                      struct gcb_diag *diag);

/*
 * Queues the weighted sum of `workers` slots, which follow one another in memory, into `out` (n
 * floats). `weights` is in host memory; NULL: each is 1 / workers. The sum has the bits of gcb_sum.
 * If a slot's status is not 0, or its payload is damaged, all of `out` becomes NaN, so that a
 * gradient scaler skips the step. Errors: as gcb_device_encode; GCB_E_INVALID also if `workers` is
 * 0 or a weight is not finite.
 */
int gcb_device_sum_slots(struct gcb_device_encoder *encoder, const void *slots, unsigned workers,
                         const float *weights, float *out, void *scratch, void *stream,
                         struct gcb_diag *diag);

#ifdef __cplusplus
}
#endif

#endif
