#ifndef TESTS_SUPPORT_DEVICE_CODER_H
#define TESTS_SUPPORT_DEVICE_CODER_H

/* Makes coders of which a test calls only the functions of src/lib/coder/device_coder.h, with a
 * batch of its own. */
#include "src/lib/coder/device_coder.h"

static inline struct gcb_coder_config device_coder_config(const struct gcb_device *on,
                                                          const struct gcb_coder_config *config)
{
    static struct gcb_place places[4]; /* one for each device that a test uses, as coders keep it */
    struct gcb_coder_config there = *config;
    size_t i = 0;

    while (i < 3 && places[i].device && places[i].device != on)
        i++;
    places[i].device = on;
    there.place = &places[i];
    return there;
}

static inline int device_coder_create(struct gcb_coder **out, const struct gcb_device *on,
                                      const struct gcb_method *method,
                                      const struct gcb_coder_config *config, struct gcb_diag *diag)
{
    const struct gcb_coder_config there = device_coder_config(on, config);

    return gcb_coder_create(out, method, &there, diag);
}

static inline int device_coder_create_decoder(struct gcb_coder **out, const struct gcb_device *on,
                                              const void *message, size_t length,
                                              const struct gcb_coder_config *config,
                                              struct gcb_diag *diag)
{
    const struct gcb_coder_config there = device_coder_config(on, config);

    return gcb_coder_create_decoder(out, message, length, &there, diag);
}

#endif
