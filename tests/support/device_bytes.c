#include <stdlib.h>

#include "tests/support/device_made.h"
#include "tests/support/test.h"

/* The CPU's message of x, without a checksum, so that the decoder reads changed bytes. */
static struct made take(struct gcb_frame *frame, struct gcb_rbuf *payload, const char *spec,
                        const float *x, uint64_t n)
{
    const struct gcb_step at = {.step = 3};
    struct gcb_coder_config config;
    struct gcb_method m;
    struct made made;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    device_configure(&config, NULL, n);
    config.checksum = false;
    made = device_encode_cpu(&m, &config, &at, x);
    assert_int_equal(made.err, 0);
    assert_int_equal(gcb_frame_parse(frame, payload, made.bytes, made.length, NULL), 0);
    return made;
}

void device_same_each_byte(const struct gcb_device *device, const char *spec, const float *x,
                           uint64_t n, uint64_t from, uint64_t to)
{
    struct gcb_rbuf payload;
    struct gcb_frame frame;
    struct made made = take(&frame, &payload, spec, x, n);
    uint8_t *bytes = made.bytes + (payload.data - made.bytes);

    to = to < frame.payload_bytes ? to : frame.payload_bytes;
    for (uint64_t i = from; i < to; i++) {
        const uint8_t was = bytes[i];
        const uint8_t others[] = {i % 2 ? 0xff : 0x00, was ^ 0x80, (uint8_t)(was + 1)};

        for (size_t k = 0; k < sizeof(others); k++) {
            bytes[i] = others[k];
            device_same_decoded(device, spec, &made, n, true);
        }
        bytes[i] = was;
    }
    free(made.bytes);
}

void device_same_cut(const struct gcb_device *device, const char *spec, const float *x, uint64_t n)
{
    struct gcb_rbuf payload;
    struct gcb_frame frame;
    struct made made = take(&frame, &payload, spec, x, n);

    for (uint64_t left = frame.payload_bytes; left-- > 0;) {
        made.behind += frame.payload_bytes - left;
        frame.payload_bytes = left;
        gcb_frame_patch(&frame, made.bytes);
        made.length = gcb_frame_head(&frame) + left;
        device_same_decoded(device, spec, &made, n, false);
    }
    free(made.bytes);
}
