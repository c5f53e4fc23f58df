#include "src/lib/sum/sum.h"

#include "src/lib/api/options.h"

/* Public functions that open a sum. src/lib/sum/sum.c has the other functions of struct gcb_sum. */

int gcb_sum_open(struct gcb_sum **out, const char *spec, uint64_t n, float *into,
                 const struct gcb_options *options, struct gcb_diag *diag)
{
    struct gcb_settings settings;
    struct gcb_method method;
    int err = gcb_need_both(out, "the place for the sum", spec, "the method", diag);

    if (!err)
        err = gcb_settings_init(&settings, options, n, diag);
    if (!err)
        err = gcb_method_parse(&method, spec, diag);
    return err ? err : gcb_sum_create(out, &method, into, &settings.config, diag);
}

int gcb_sum_open_like(struct gcb_sum **out, const void *message, size_t length, float *into,
                      const struct gcb_options *options, struct gcb_diag *diag)
{
    struct gcb_settings settings;
    struct gcb_frame frame;
    struct gcb_rbuf payload;
    int err = gcb_need(out, "the place for the sum", diag);

    if (!err)
        err = gcb_frame_parse(&frame, &payload, message, length, diag);
    if (!err)
        err = gcb_settings_init(&settings, options, frame.count, diag);
    return err ? err : gcb_sum_create_like(out, message, length, into, &settings.config, diag);
}
