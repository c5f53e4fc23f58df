#include "tests/gpu/check_one.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernels/check.h"
#include "tests/support/device_coder.h"
#include "tests/support/device_sets.h"
#include "tests/support/device_slot.h"
#include "tests/support/device_trip.h"
#include "tests/support/test.h"

#define END (~UINT64_C(0))

static const struct check_depth depths[] = {
    {.name = "full",
     .sizes = {0, 1, 2, 7, 31, 32, 33, 511, 513, 4095, 4096, 4097, 12289, 100003, 1048579, END},
     .fed = {1, 33, 4097, 100003, 1048579, END},
     .few = {0, 1, 33, 4097, 100003, END},
     .grouped = END,
     .stride = 1,
     .wide = true},
    {.name = "--small",
     .sizes = {0, 1, 33, 4097, END},
     .fed = {33, 4097, END},
     .few = {33, 4097, END},
     .grouped = 4097,
     .stride = 41},
    {.name = "--quick",
     .fed = {70, END},
     .few = {0, 33, 4097, END},
     .grouped = 513,
     .stride = 41,
     .once = true},
};

const struct check_depth *check_find_depth(const char *name)
{
    for (size_t i = 0; i < sizeof(depths) / sizeof(*depths); i++)
        if (strcmp(depths[i].name, name) == 0)
            return &depths[i];
    return NULL;
}

/* Checks that the method runs on the device; if not, ends the case with the reason. */
static bool supported(const struct gcb_device *device, struct outcome *o, const char *spec)
{
    struct gcb_coder *coder = NULL;
    struct gcb_coder_config config = {.env = {.count = 1000, .path = "a/b"}};
    struct gcb_diag diag = {0};
    struct gcb_method m;
    int err;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    gcb_method_forget(&m);
    err = device_coder_create(&coder, device, &m, &config, &diag);
    gcb_coder_destroy(coder);
    if (!err)
        return true;
    snprintf(o->reason, sizeof(o->reason), "%s", diag.text);
    if (err != GCB_E_UNSUPPORTED && (err != GCB_E_BACKEND || device->facts.fft[0]))
        fail_msg("%s: %s", spec, diag.text);
    snprintf(o->status, sizeof(o->status), "unsupported"); /* on this device, or without cuFFT */
    return false;
}

/* Each size and each case has another content. */
static void check_few(const struct gcb_device *device, const struct check_depth *depth,
                      const char *spec, size_t at)
{
    for (size_t i = 0; depth->few[i] != END; i++) {
        const struct device_setting setting = {.seed = 7 + at, .step = at % 5, .worker = 3};
        const uint64_t n = depth->few[i];
        float *x = malloc((n + 1) * sizeof(float));

        check_fill(x, n, (enum check_fill)((at + i) % FILL_COUNT), at);
        device_same(device, spec, x, n, &setting);
        check_fill(x, n, FILL_NOISE, at);
        if (n == 33)
            device_same_damage(device, spec, x, n, 4, at);
        free(x);
    }
}

/* True if the device's encoder has fused error feedback for this spec. */
static bool feeds_back(const struct gcb_device *device, const char *spec)
{
    const struct gcb_coder_config config = {.env = {.count = 1, .path = "a/b", .feedback = true}};
    struct gcb_coder *c = NULL;
    struct gcb_method method;
    int err;

    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    err = device_coder_create(&c, device, &method, &config, NULL);
    assert_true(!err || err == GCB_E_UNSUPPORTED);
    gcb_coder_destroy(c);
    return !err;
}

static void check_fed(const struct gcb_device *device, const char *spec, const uint64_t *sizes)
{
    struct gcb_method m;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    for (size_t i = 0; sizes[i] != END; i++) {
        const struct device_steps how = {
            .source = (enum gcb_dtype)(i % GCB_DTYPE_COUNT),
            .carry = i % 2 ? 0.7 : 1.0,
            .itself = gcb_method_caps(&m) &
                      GCB_CAP_DEVICE_MATH, /* the device's spectra are not those of the CPU */
        };

        device_same_steps(device, spec, sizes[i], &how);
    }
}

static void check_slots(const struct gcb_device *device, const char *spec, const uint64_t *sizes)
{
    for (size_t i = 0; sizes[i] != END; i++)
        device_same_slots(device, spec, sizes[i]);
}

void check_one(const struct gcb_device *device, const struct check_depth *depth,
               const struct check_case *c, size_t number, struct outcome *o)
{
    const uint64_t own[] = {c->count, END}, *fed = c->count ? own : depth->fed;
    const bool brief = c->kind == CHECK_BRIEF || depth->once;

    if (!supported(device, o, c->spec))
        return;
    if (c->kind == CHECK_WIDE)
        device_same_wide(device, c->spec, c->count, number);
    else if (c->kind == CHECK_GROUP)
        device_same_group(device, c->spec, depth->grouped);
    else if (c->kind == CHECK_SLOT)
        check_slots(device, c->spec, fed);
    else if (c->kind != CHECK_STEPS && brief)
        check_few(device, depth, c->spec, number);
    else if (c->kind == CHECK_WHOLE)
        device_same_all(device, c->spec, depth->sizes);
    o->fed = (c->kind == CHECK_WHOLE || c->kind == CHECK_STEPS) && feeds_back(device, c->spec);
    if (o->fed)
        check_fed(device, c->spec, fed);
    snprintf(o->status, sizeof(o->status), "ok");
}
