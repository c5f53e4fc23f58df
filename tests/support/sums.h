#ifndef TESTS_SUPPORT_SUMS_H
#define TESTS_SUPPORT_SUMS_H

#include "src/lib/coder/coder.h"

/* What tests of sums share: the definition of a sum, written again and simply. */

/* acc[i] += weight * x[i]; the product is rounded to float32, then the sum. */
void sums_add(float *acc, const float *x, uint64_t n, float weight);

/* Index of the first element whose bits differ; n if there is none. All NaNs are the same. */
uint64_t sums_first_difference(const float *a, const float *b, uint64_t n);

/* Decodes a message of n elements with a new decoder, one thread and C kernels. `segment`: as in
 * gcb_codec_env. Returns a status of gcb_coder_create_decoder, gcb_message_check or
 * gcb_coder_decode; GCB_E_MISMATCH: not n elements. */
int sums_decode(float *x, const uint8_t *message, size_t length, uint64_t n, uint64_t segment);

/* True if a decoder of this message would have a canvas. False for messages that do not open. */
bool sums_has_canvas(const uint8_t *message, size_t length);

#endif
