#ifndef TESTS_LIB_API_ENCODERS_H
#define TESTS_LIB_API_ENCODERS_H

/* Public encoders for tests: failures end the test. */
#include <stdint.h>

#include "src/gcbench.h"

#define N 600 /* elements of all tensors */
#define ROOM 16384

/* NULL: default options. */
struct gcb_encoder *encoder_of(const char *spec, const struct gcb_options *o);

/* Encodes as worker 0 into ROOM bytes. Returns the length. */
size_t encode(struct gcb_encoder *e, uint64_t step, const float *g, uint8_t *out);

/* The gradient of a step. */
void gradient(float *g, uint64_t step);

/* The state of an encoder, with room for its arrays. */
struct saved {
    struct gcb_memory_state s;
    float residual[N], momentum[N];
    uint8_t kept[8192];
};

void save(struct saved *out, const struct gcb_encoder *e);
/* Returns the status. */
int restore(struct gcb_encoder *e, const struct saved *s, struct gcb_diag *diag);
/* Is the state of the encoder still this? */
void same_state(const struct saved *a, const struct gcb_encoder *e);

#endif
