#include "src/lib/sum/sum.h"

#include "src/lib/api/options.h"

/* Public functions that open a sum. src/lib/sum/sum.c has the other functions of struct gcb_sum. */

int gcb_sum_open(struct gcb_sum **out, const char *spec, uint64_t n, float *into,
                 const struct gcb_options *options, struct gcb_diag *diag)
{
    struct gcb_settings s;
    const int err = gcb_settings_open(&s, out, "the place for the sum", spec, n, options, diag);

    return err ? err : gcb_sum_create(out, &s.method, into, &s.config, diag);
}

int gcb_sum_open_like(struct gcb_sum **out, const void *message, size_t length, float *into,
                      const struct gcb_options *options, struct gcb_diag *diag)
{
    struct gcb_settings s;
    struct gcb_frame frame;
    const int err = gcb_settings_open_like(&s, out, "the place for the sum", &frame, message,
                                           length, options, diag);

    return err ? err : gcb_sum_create_like(out, message, length, into, &s.config, diag);
}
