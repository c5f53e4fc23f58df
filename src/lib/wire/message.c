#include "src/lib/wire/message.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "src/lib/tensor/tensor.h"

#define FLAGS_KNOWN (GCB_WIRE_STORED | GCB_WIRE_CHECKSUM | GCB_WIRE_WIDE)
#define FLAGS_AT 5    /* offset of the flags */
#define FIXED_BYTES 8 /* bytes of the fields before the lengths */

static const uint8_t magic[3] = {'G', 'C', 'B'};

size_t gcb_frame_head(const struct gcb_frame *f)
{
    return FIXED_BYTES + (f->flags & GCB_WIRE_WIDE ? 16u : 8u) + f->param_bytes;
}

size_t gcb_frame_tail(const struct gcb_frame *f)
{
    return f->flags & GCB_WIRE_CHECKSUM ? GCB_CHECKSUM_BYTES : 0;
}

/* Appends a length in 4 bytes, or in 8 bytes if the frame is wide. */
static void put_length(const struct gcb_frame *f, struct gcb_wbuf *out, uint64_t v)
{
    if (f->flags & GCB_WIRE_WIDE)
        gcb_put_u64(out, v);
    else if (v <= UINT32_MAX)
        gcb_put_u32(out, (uint32_t)v);
    else
        out->failed = true; /* the length does not fit its field */
}

/* Writes the fields before the parameters. */
static void put_fields(const struct gcb_frame *f, struct gcb_wbuf *out)
{
    gcb_put(out, magic, sizeof(magic));
    gcb_put_u8(out, GCB_WIRE_VERSION);
    gcb_put_u8(out, f->codec);
    gcb_put_u8(out, f->flags);
    gcb_put_u8(out, (uint8_t)f->source);
    gcb_put_u8(out, f->param_bytes);
    put_length(f, out, f->count);
    put_length(f, out, f->payload_bytes);
}

void gcb_frame_write(const struct gcb_frame *f, struct gcb_wbuf *out)
{
    put_fields(f, out);
    gcb_put(out, f->params, f->param_bytes);
}

void gcb_frame_patch(const struct gcb_frame *f, uint8_t *head)
{
    struct gcb_wbuf out = {.data = head, .cap = gcb_frame_head(f) - f->param_bytes};

    put_fields(f, &out);
}

static uint64_t get_length(const struct gcb_frame *f, struct gcb_rbuf *in)
{
    return f->flags & GCB_WIRE_WIDE ? gcb_get_u64(in) : gcb_get_u32(in);
}

static int check_magic(struct gcb_rbuf *in, struct gcb_diag *diag)
{
    const uint8_t *p = gcb_rbuf_take(in, sizeof(magic));
    const uint8_t version = gcb_get_u8(in);

    if (!p || memcmp(p, magic, sizeof(magic)) != 0)
        return gcb_diag_set(diag, GCB_E_CORRUPT, "not a gcbench message");
    if (!in->failed && version != GCB_WIRE_VERSION)
        return gcb_diag_set(diag, version > GCB_WIRE_VERSION ? GCB_E_UNSUPPORTED : GCB_E_CORRUPT,
                            "the message has version %u, but this gcbench knows only version %u",
                            version, GCB_WIRE_VERSION);
    return 0;
}

/* Reads the fields after the version, and the parameters. If the message is cut, missing fields
 * become 0 and in->failed is set. */
static int get_fields(struct gcb_frame *f, struct gcb_rbuf *in, struct gcb_diag *diag)
{
    uint8_t source;
    const uint8_t *params;

    f->codec = gcb_get_u8(in);
    f->flags = gcb_get_u8(in);
    source = gcb_get_u8(in);
    f->param_bytes = gcb_get_u8(in);
    if (f->flags & ~FLAGS_KNOWN)
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED,
                            "the message has unknown flags 0x%02x; a newer gcbench may know them",
                            f->flags & ~FLAGS_KNOWN);
    if (source >= GCB_DTYPE_COUNT)
        return gcb_diag_set(diag, GCB_E_CORRUPT, "the message has the unknown element type %u",
                            source);
    if (f->param_bytes > GCB_WIRE_MAX_PARAMS)
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "the message has %u bytes of parameters; at most %u are allowed",
                            f->param_bytes, GCB_WIRE_MAX_PARAMS);
    f->source = (enum gcb_dtype)source;
    f->count = get_length(f, in);
    f->payload_bytes = get_length(f, in);
    params = gcb_rbuf_take(in, f->param_bytes);
    if (params)
        memcpy(f->params, params, f->param_bytes);
    return 0;
}

/* True if the payload is as long as the raw tensor. The division avoids an overflow. */
static bool holds_tensor(const struct gcb_frame *f)
{
    const size_t size = gcb_raw_size(f->source);

    return f->payload_bytes % size == 0 && f->payload_bytes / size == f->count;
}

/*
 * A wide frame is valid even if its lengths fit in 4 bytes: the encoder chooses the width from the
 * longest possible payload, before it knows the payload's length.
 */
int gcb_frame_parse(struct gcb_frame *f, struct gcb_rbuf *payload, const void *message,
                    size_t length, struct gcb_diag *diag)
{
    struct gcb_rbuf in = {.data = message, .len = length};
    struct gcb_frame got = {0};
    int err = length ? gcb_need(message, "the message", diag) : 0;

    if (!err)
        err = check_magic(&in, diag);
    if (!err)
        err = get_fields(&got, &in, diag);
    if (err)
        return err;
    if (in.failed || gcb_rbuf_left(&in) < gcb_frame_tail(&got))
        return gcb_diag_set(diag, GCB_E_CORRUPT, "the message is cut within its header (%zu bytes)",
                            length);
    if (gcb_rbuf_left(&in) - gcb_frame_tail(&got) != got.payload_bytes)
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "the message declares %" PRIu64 " bytes of payload, but has %zu",
                            got.payload_bytes, gcb_rbuf_left(&in) - gcb_frame_tail(&got));
    if (got.flags & GCB_WIRE_STORED && !holds_tensor(&got))
        return gcb_diag_set(diag, GCB_E_CORRUPT,
                            "the message declares %" PRIu64
                            " elements, which do not take its %" PRIu64 " bytes of payload",
                            got.count, got.payload_bytes);
    *f = got;
    *payload = (struct gcb_rbuf){.data = in.data + in.pos, .len = (size_t)got.payload_bytes};
    return 0;
}

static uint64_t checksum(const uint8_t *message, size_t length, uint64_t salt)
{
    return XXH3_64bits_withSeed(message, length - GCB_CHECKSUM_BYTES, salt);
}

void gcb_message_seal(uint8_t *message, size_t length, uint64_t salt)
{
    if (length >= FIXED_BYTES + GCB_CHECKSUM_BYTES && message[FLAGS_AT] & GCB_WIRE_CHECKSUM)
        gcb_store_u64(message + length - GCB_CHECKSUM_BYTES, checksum(message, length, salt));
}

int gcb_message_check(const uint8_t *message, size_t length, uint64_t salt, struct gcb_diag *diag)
{
    if (length < FIXED_BYTES)
        return gcb_diag_set(diag, GCB_E_CORRUPT, "the message is too short for a header");
    if (!(message[FLAGS_AT] & GCB_WIRE_CHECKSUM)) {
        struct gcb_frame frame;
        struct gcb_rbuf payload;

        return gcb_frame_parse(&frame, &payload, message, length, diag);
    }
    if (length < FIXED_BYTES + GCB_CHECKSUM_BYTES)
        return gcb_diag_set(diag, GCB_E_CORRUPT, "the message is too short for its checksum");
    if (gcb_load_u64(message + length - GCB_CHECKSUM_BYTES) != checksum(message, length, salt))
        return gcb_diag_set(diag, GCB_E_CORRUPT, "checksum does not match: the data is damaged");
    return 0;
}
