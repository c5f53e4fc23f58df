/*
 * Tensors and specs, for the encoder. An input is a byte of options, a spec that ends with a NUL
 * byte, and floats. What is encoded must decode to the same tensor twice, within the encoder's
 * bound.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/gcbench.h"
#include "tests/fuzz/fuzz.h"

static void decode(float *x, const uint8_t *message, size_t length)
{
    struct gcb_decoder *decoder = NULL;
    struct gcb_diag diag = {0};

    fuzz_require(!gcb_decoder_open_like(&decoder, message, length, NULL, &diag),
                 "own messages open", &diag);
    fuzz_require(!gcb_decode(decoder, message, length, x, &diag), "own messages decode", &diag);
    gcb_decoder_close(decoder);
}

/* Encodes x into a block of exactly `cap` bytes. Returns the status. */
static int encode(uint8_t **message, size_t *length, struct gcb_encoder *coder, const float *x,
                  size_t cap)
{
    static const int allowed[] = {GCB_E_NONFINITE, GCB_E_NOSPACE, 0};
    struct gcb_diag diag = {0};
    int err;

    *message = malloc(cap ? cap : 1);
    if (!*message)
        abort();
    err = gcb_encode(coder, 3, 1, x, *message, cap, length, &diag);
    fuzz_require_status(err, &diag, allowed);
    return err;
}

/* An encoder that continues from a saved state gives the same bytes as the encoder that was
 * saved. */
static void check_state(const char *spec, const struct gcb_options *options, struct gcb_encoder *e,
                        const float *x, uint64_t n)
{
    const size_t bytes = ((size_t)n + 1) * sizeof(float);
    const size_t kept_bytes = gcb_encoder_kept_bytes(e);
    struct gcb_memory_state state = {
        .size = sizeof(state),
        .residual = malloc(bytes),
        .momentum = malloc(bytes),
        .kept = malloc(kept_bytes + 1),
        .kept_bytes = kept_bytes,
    };
    struct gcb_memory_view view = {
        .size = sizeof(view),
        .residual = state.residual,
        .momentum = state.momentum,
        .kept = state.kept,
        .kept_bytes = kept_bytes,
    };
    struct gcb_encoder *restored = NULL;
    struct gcb_diag diag = {0};
    uint8_t *message[2];
    size_t length[2] = {0};
    int err[2];

    fuzz_require(!gcb_encoder_save(e, &state, &diag), "a state can be saved", &diag);
    memcpy(view.counters, state.counters, sizeof(view.counters));
    fuzz_require(!gcb_encoder_open(&restored, spec, n, options, &diag), "it opens again", &diag);
    fuzz_require(!gcb_encoder_restore(restored, &view, &diag), "a state can be restored", &diag);
    for (int i = 0; i < 2; i++)
        err[i] = encode(&message[i], &length[i], i ? restored : e, x, gcb_encoder_bound(e));
    fuzz_require(err[0] == err[1] && length[0] == length[1] &&
                     memcmp(message[0], message[1], length[0]) == 0,
                 "a restored encoder continues", NULL);
    for (int i = 0; i < 2; i++)
        free(message[i]);
    free(state.residual);
    free(state.momentum);
    free(state.kept);
    gcb_encoder_close(restored);
}

static void check(const char *spec, const struct gcb_options *options, const float *x, uint64_t n)
{
    static const int allowed[] = {GCB_E_INVALID, GCB_E_UNSUPPORTED, GCB_E_NOMEM, 0};
    struct gcb_encoder *coder = NULL, *again = NULL;
    struct gcb_diag diag = {0};
    uint8_t *message[3];
    size_t length[3] = {0}, bound;
    float *back = malloc(((size_t)n + 1) * sizeof(*back));
    const int opened = gcb_encoder_open(&coder, spec, n, options, &diag);
    int err;

    fuzz_require_status(opened, &diag, allowed);
    if (opened) {
        free(back);
        return;
    }
    fuzz_require(!gcb_encoder_open(&again, spec, n, options, &diag), "a spec opens twice", &diag);
    bound = gcb_encoder_bound(coder);
    err = encode(&message[0], &length[0], coder, x, bound);
    fuzz_require(err != GCB_E_NOSPACE, "the bound is enough", NULL);
    fuzz_require(encode(&message[1], &length[1], again, x, bound) == err, "encoding repeats", NULL);
    if (!err && length[0]) { /* with a delay, the first step sends nothing */
        fuzz_require(length[0] <= bound, "the bound holds", NULL);
        fuzz_require(length[0] == length[1] && memcmp(message[0], message[1], length[0]) == 0,
                     "equal coders give equal messages", NULL);
        decode(back, message[0], length[0]);
        for (uint64_t i = 0; i < n; i++)
            fuzz_require(options->nonfinite == GCB_NONFINITE_RAW || isfinite(back[i]),
                         "finite tensors decode to finite ones", NULL);
        gcb_encoder_close(again);
        fuzz_require(!gcb_encoder_open(&again, spec, n, options, &diag), "it opens again", &diag);
        fuzz_require(encode(&message[2], &length[2], again, x, length[0] - 1) == GCB_E_NOSPACE,
                     "a byte less is too little", NULL);
        free(message[2]);
    }
    for (int i = 0; i < 2; i++)
        free(message[i]);
    free(back);
    check_state(spec, options, coder, x, n);
    gcb_encoder_close(coder);
    gcb_encoder_close(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data + 1, 0, size - 1) : NULL;
    struct gcb_options options = {.size = sizeof(options), .path = "x"};
    uint64_t n;
    float *x;

    if (!end)
        return 0;
    options.nonfinite = data[0] & 1 ? GCB_NONFINITE_RAW : GCB_NONFINITE_ERROR;
    options.source = (enum gcb_dtype)(data[0] >> 1 & 3);
    options.checksum = data[0] >> 3 & 1;
    options.threads = data[0] >> 4 & 3;
    n = (uint64_t)(data + size - end - 1) / sizeof(*x);
    if (n > FUZZ_MAX_ELEMENTS)
        n = FUZZ_MAX_ELEMENTS;
    x = malloc(((size_t)n + 1) * sizeof(*x));
    memcpy(x, end + 1, (size_t)n * sizeof(*x));
    check((const char *)data + 1, &options, x, n);
    free(x);
    return 0;
}
