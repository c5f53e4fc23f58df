/* Messages, for everything that reads one. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "src/gcbench.h"

/* Decodes into a block of exactly the needed size, so that a write past its end is seen. */
static void decode_twice(struct gcb_decoder *coder, const uint8_t *data, size_t size)
{
    static const int allowed[] = {GCB_E_CORRUPT, GCB_E_MISMATCH, 0};
    const size_t bytes = (size_t)gcb_decoder_elements(coder) * sizeof(float);
    float *x[2];
    int status[2];

    for (int i = 0; i < 2; i++) {
        struct gcb_diag diag = {0};

        x[i] = malloc(bytes ? bytes : 1);
        if (!x[i])
            abort();
        memset(x[i], i ? 0xA5 : 0, bytes);
        status[i] = gcb_decode(coder, data, size, x[i], &diag);
        fuzz_require_status(status[i], &diag, allowed);
    }
    fuzz_require(status[0] == status[1], "decoding twice ends the same", NULL);
    if (!status[0]) /* each element was written, and depends only on the message */
        fuzz_require(memcmp(x[0], x[1], bytes) == 0, "decoding twice gives the same", NULL);
    free(x[0]);
    free(x[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int info_allowed[] = {GCB_E_CORRUPT, GCB_E_UNSUPPORTED, 0};
    static const int open_allowed[] = {GCB_E_CORRUPT, GCB_E_UNSUPPORTED, GCB_E_NOMEM, 0};
    const struct gcb_options options = {.size = sizeof(options), .max_elements = FUZZ_MAX_ELEMENTS};
    struct gcb_message_info info = {.size = sizeof(info)};
    struct gcb_decoder *coder = NULL;
    struct gcb_diag diag = {0};
    const int known = gcb_message_info(&info, data, size, &diag);
    int opened;

    fuzz_require_status(known, &diag, info_allowed);
    diag = (struct gcb_diag){0};
    opened = gcb_decoder_open_like(&coder, data, size, &options, &diag);
    fuzz_require_status(opened, &diag, open_allowed);
    if (opened)
        return 0;

    fuzz_require(known == 0, "a message that opens has info", &diag);
    fuzz_require(info.header_bytes + info.payload_bytes == size,
                 "header and payload are the message", &diag);
    fuzz_require(info.elements == gcb_decoder_elements(coder), "info and coder agree", &diag);
    fuzz_require(info.elements <= FUZZ_MAX_ELEMENTS, "the limit on elements holds", &diag);
    decode_twice(coder, data, size);
    gcb_decoder_close(coder);
    return 0;
}
