#ifndef TESTS_SUPPORT_TRIP_H
#define TESTS_SUPPORT_TRIP_H

/*
 * What codec tests share: a tensor through an encoder and a decoder, tensors with a known
 * distribution, and norms in double. Everything that can fail fails the running cmocka test.
 */
#include "src/lib/coder/coder.h"

/* Zero-initialise: one thread, C kernels, seed 0, path "", step and worker 0, float32. */
struct trip_options {
    uint64_t seed, step, segment;
    uint32_t worker;
    const char *path;
    int threads;
    unsigned flags; /* of the CPU */
    enum gcb_dtype source;
    enum gcb_nonfinite nonfinite;
    bool checksum;
};

struct trip {
    struct gcb_coder *encoder, *decoder;
    uint8_t *message;
    size_t length;
    uint64_t n, clamped;
    float *back; /* n floats */
    struct gcb_message_parts parts;
};

/* Fills a config; it borrows queue and kernels, which it sets too. */
void trip_configure(struct gcb_coder_config *config, struct gcb_queue *queue,
                    struct gcb_kernels *kernels, const struct trip_options *o, uint64_t n);

/* Each starts from a zeroed trip. `o` may be NULL. trip_run is encode, then decode and describe. */
void trip_encode(struct trip *t, const char *spec, const float *x, uint64_t n,
                 const struct trip_options *o);
void trip_decode(struct trip *t, const struct trip_options *o);
void trip_run(struct trip *t, const char *spec, const float *x, uint64_t n,
              const struct trip_options *o);
void trip_free(struct trip *t); /* zeroes it */

/* True if this build has no FFTW, and a transform of n elements in these chunks needs it. chunk = 0:
 * one chunk. trip_need_fftw then skips the rest of the running test. */
bool trip_lacks_fftw(uint64_t n, uint64_t chunk);
void trip_need_fftw(uint64_t n, uint64_t chunk);

/* ||x - t->back||^2 / ||x||^2 of a run of its own. */
double trip_error(const char *spec, const float *x, uint64_t n, const struct trip_options *o);

/* Squared norm, and squared distance, in double. */
double trip_norm(const float *x, uint64_t n);
double trip_distance(const float *x, const float *y, uint64_t n);

/* Independent draws from repeatable generators. */
enum trip_law { TRIP_GAUSS, TRIP_LAPLACE, TRIP_STUDENT3, TRIP_AR9 /* Gaussian, correlation 0.9 */ };
void trip_fill(float *x, uint64_t n, enum trip_law law, uint64_t seed);

/* A new tensor of a law; free() it. */
float *trip_tensor(uint64_t n, enum trip_law law, uint64_t seed);

#endif
