/* A source of synthetic tensors. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"
#include "src/tool/read/source_private.h"
#include "src/tool/read/synthetic.h"

/* Writes n with the largest unit of which it is a multiple: 4096 as "4K", 4097 as "4097". */
static void size_text(char out[48], uint64_t n)
{
    static const char *const units[] = {"", "K", "M", "G", "T"};
    size_t unit = 0;

    for (; n && n % 1024 == 0 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
        n /= 1024;
    snprintf(out, 48, "%" PRIu64 "%s", n, units[unit]);
}

/* Refuses a path that a tensor already has. */
static int check_path_is_new(const struct gcb_source *s, const char *path, struct gcb_diag *diag)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->tensors[i].path, path) == 0)
            return gcb_invalid(diag, "the synthetic tensor %s is given twice", gcb_show(path).text);
    return 0;
}

/* Appends a tensor of this shape and distribution. */
static int add_tensor(struct gcb_source *s, const struct gcb_source_synthetic *in,
                      const struct gcb_shape_row *shape, struct gcb_diag *diag)
{
    struct gcb_tensor t = {.file = GCB_SOURCE_SYNTHETIC,
                           .element = GCB_ELEMENT_FP32,
                           .dtype = GCB_F32,
                           .index = -1,
                           .rank = shape->rank,
                           .count = gcb_shape_elements(shape)};
    size_t cap = s->cap; /* capacity of s->synthetic, which grows with s->tensors */
    char path[160];
    int err;

    snprintf(path, sizeof(path), "%.60s/%.20s%s%.90s", in->name, in->layout ? in->layout : "",
             in->layout ? "/" : "", shape->name);
    err = check_path_is_new(s, path, diag);
    if (err)
        return err;
    t.path = t.dataset = gcb_strings_add(&s->strings, path, strlen(path));
    memcpy(t.dims, shape->dims, sizeof(shape->dims));
    gcb_must_grow(&s->tensors, &s->cap, s->count, sizeof(*s->tensors));
    gcb_must_grow(&s->synthetic, &cap, s->count, sizeof(*s->synthetic));
    s->synthetic[s->count] = in->dist;
    s->tensors[s->count++] = t;
    return 0;
}

/* Appends the tensors of an input: those of a network, or one tensor. */
static int add_input(struct gcb_source *s, const struct gcb_source_synthetic *in,
                     struct gcb_diag *diag)
{
    struct gcb_shape_row rows[GCB_LAYOUT_ROWS] = {{.rank = 1, .dims = {in->elements}}};
    const size_t count = in->layout ? gcb_network_layout(rows, in->layout) : 1;
    int err = 0;

    if (count == 0)
        return gcb_network_unknown(in->layout, "", diag);
    if (!in->layout)
        size_text(rows[0].name, in->elements);
    for (size_t i = 0; !err && i < count; i++)
        err = add_tensor(s, in, &rows[i], diag);
    return err;
}

int gcb_source_open_synthetic(struct gcb_source **out, const struct gcb_source_synthetic *inputs,
                              size_t count, uint64_t seed, struct gcb_diag *diag)
{
    struct gcb_source *s = gcb_must_zero(1, sizeof(*s));
    int err = 0;

    s->seed = seed;
    for (size_t i = 0; !err && i < count; i++)
        err = add_input(s, &inputs[i], diag);
    if (!err && s->count == 0)
        err = gcb_invalid(diag, "no synthetic tensor given");
    if (err)
        gcb_source_close(s);
    else
        *out = s;
    return err;
}
