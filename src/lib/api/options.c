#include "src/lib/api/options.h"

#include <inttypes.h>
#include <string.h>

const char *gcb_version(void)
{
    return GCB_VERSION_TEXT;
}

static int check_ranges(const struct gcb_options *o, struct gcb_diag *diag)
{
    if ((unsigned)o->source >= GCB_DTYPE_COUNT || (unsigned)o->input >= GCB_DTYPE_COUNT)
        return gcb_invalid(diag, "unknown element type %d",
                           (int)((unsigned)o->source >= GCB_DTYPE_COUNT ? o->source : o->input));
    if (o->input == GCB_F64)
        return gcb_invalid(diag, "input elements of float64 are not supported; give float32 "
                                 "elements, and set options.source to float64");
    if ((unsigned)o->nonfinite > GCB_NONFINITE_TRUSTED)
        return gcb_invalid(diag, "unknown value %d of options.nonfinite", (int)o->nonfinite);
    if (o->threads < 0 || o->threads > GCB_THREADS_MOST)
        return gcb_invalid(diag, "threads is %d, but must be 0 to %d", o->threads,
                           GCB_THREADS_MOST);
    return 0;
}

static int check_shape(const struct gcb_options *o, uint64_t n, struct gcb_diag *diag)
{
    char text[GCB_SHAPE_TEXT];
    uint64_t product = 1;
    bool overflows = false;

    if (!o->shape && o->rank == 0)
        return 0;
    if (!o->shape || o->rank > GCB_MAX_RANK)
        return gcb_invalid(diag, "options.rank is %u; give options.shape 0 to %d dimensions",
                           o->rank, GCB_MAX_RANK);
    for (unsigned i = 0; i < o->rank; i++)
        overflows |= __builtin_mul_overflow(product, o->shape[i], &product);
    if (!overflows && product == n)
        return 0;
    gcb_shape_text(text, o->rank, o->shape);
    return gcb_invalid(diag, "the shape is %s, but the tensor has %" PRIu64 " elements", text, n);
}

static int check_joined(const struct gcb_options *o, uint64_t n, struct gcb_diag *diag)
{
    uint64_t all = 0, product;
    bool sound = o->joined || o->joined_length == 0;
    size_t i = 0;

    if (!o->joined && sound)
        return 0;
    while (sound && i < o->joined_length) {
        const uint64_t rank = o->joined[i++];

        sound = rank <= GCB_MAX_RANK && rank <= o->joined_length - i;
        product = 1;
        for (uint64_t k = 0; sound && k < rank; k++)
            sound = !__builtin_mul_overflow(product, o->joined[i++], &product);
        sound = sound && !__builtin_add_overflow(all, product, &all);
    }
    return sound && all == n
               ? 0
               : gcb_invalid(diag,
                             "options.joined must have a rank of at most %d and as many dimensions "
                             "for each tensor, with %" PRIu64 " elements in all",
                             GCB_MAX_RANK, n);
}

/* Checks the options and fills everything in *s except the method. */
static int init(struct gcb_settings *s, const struct gcb_options *options, uint64_t n,
                struct gcb_diag *diag)
{
    static const struct gcb_options defaults = {.size = sizeof(defaults)};
    struct gcb_options *o = &s->options;
    int err = gcb_struct_copy(o, sizeof(*o), options ? options : &defaults, "gcb_options", diag);

    if (!err)
        err = check_ranges(o, diag);
    if (!err)
        err = check_shape(o, n, diag);
    if (!err)
        err = check_joined(o, n, diag);
    if (err)
        return err;
    s->queue.threads = o->threads ? o->threads : 1;
    s->config = (struct gcb_coder_config){
        .env = {.count = n,
                .shape = o->shape,
                .rank = o->rank,
                .joined = o->joined,
                .joined_length = o->joined_length,
                .seed = o->seed ? o->seed : 1,
                .path = o->path,
                .queue = &s->queue},
        .nonfinite = o->nonfinite,
        .source = o->source ? o->source : o->input,
        .checksum = o->checksum != 0,
        .max_elements = o->max_elements ? o->max_elements : UINT64_C(1) << 34,
    };
    return 0;
}

int gcb_settings_open(struct gcb_settings *s, const void *out, const char *what, const char *spec,
                      uint64_t n, const struct gcb_options *options, struct gcb_diag *diag)
{
    int err = gcb_need_both(out, what, spec, "the method", diag);

    if (!err)
        err = init(s, options, n, diag);
    return err ? err : gcb_method_parse(&s->method, spec, diag);
}

int gcb_settings_open_like(struct gcb_settings *s, const void *out, const char *what,
                           struct gcb_frame *frame, const void *message, size_t length,
                           const struct gcb_options *options, struct gcb_diag *diag)
{
    struct gcb_rbuf payload;
    int err = gcb_need(out, what, diag);

    if (!err)
        err = gcb_frame_parse(frame, &payload, message, length, diag);
    return err ? err : init(s, options, frame->count, diag);
}
