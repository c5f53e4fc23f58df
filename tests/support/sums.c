#include "tests/support/sums.h"

#include <string.h>

/* Stores to volatile variables make the compiler round the product before the sum. */
void sums_add(float *acc, const float *x, uint64_t n, float weight)
{
    for (uint64_t i = 0; i < n; i++) {
        volatile float product = weight * x[i];

        acc[i] += product;
    }
}

uint64_t sums_first_difference(const float *a, const float *b, uint64_t n)
{
    uint64_t i = 0;

    while (i < n && (memcmp(&a[i], &b[i], sizeof(*a)) == 0 || (a[i] != a[i] && b[i] != b[i])))
        i++;
    return i;
}

static int open_decoder(struct gcb_coder **out, const uint8_t *message, size_t length,
                        uint64_t segment)
{
    struct gcb_kernels kernels;
    const struct gcb_coder_config config = {.env = {.segment = segment, .kernels = &kernels},
                                            .max_elements = UINT64_C(1) << 20};

    gcb_kernels_init(&kernels, 0);
    return gcb_coder_create_decoder(out, message, length, &config, NULL);
}

int sums_decode(float *x, const uint8_t *message, size_t length, uint64_t n, uint64_t segment)
{
    const struct gcb_mview out = {.data = x, .count = n};
    struct gcb_coder *decoder = NULL;
    int err = open_decoder(&decoder, message, length, segment);

    if (!err)
        err = gcb_message_check(message, length, 0, NULL);
    if (!err)
        err = gcb_coder_decode(decoder, message, length, &out, NULL);
    gcb_coder_destroy(decoder);
    return err;
}

bool sums_has_canvas(const uint8_t *message, size_t length)
{
    struct gcb_coder *decoder = NULL;
    const bool has = !open_decoder(&decoder, message, length, 0) && gcb_coder_has_canvas(decoder);

    gcb_coder_destroy(decoder);
    return has;
}
