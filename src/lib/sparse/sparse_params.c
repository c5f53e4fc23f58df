#include <string.h>

#include "src/lib/sparse/sparse.h"

static const char *const quants[] = {"none", "asq", NULL};

enum row {
    ROW_THETA,
    ROW_TRANSFORM,
    ROW_CHUNK,
    ROW_SELECT,
    ROW_THRESHOLD,
    ROW_SAMPLE,
    ROW_DENSE_BELOW,
    ROW_TRIMMED_BELOW,
    ROW_INTERVAL,
    ROW_QUANT,
    ROW_VALUES,
    ROW_BITS,
    ROW_MANTISSA,
    ROW_MAX,
    ROW_ROUNDING,
    ROW_INDEX,
    ROW_COUNT
};

const struct gcb_param gcb_sparse_params[ROW_COUNT + 1] = {
    [ROW_THETA] = {.name = "theta",
                   .help = "share of positions dropped",
                   .type = GCB_PARAM_REAL,
                   .offset = offsetof(struct gcb_sparse, theta),
                   .def = 0.85,
                   .max = 1,
                   .flags = GCB_PARAM_LABEL | GCB_PARAM_OPEN_MAX,
                   .complement = {"density", "p"},
                   .needs = "select=topk|chunk|one-sided|alternate|trimmed|search|redsync|sampled",
                   .rate = GCB_RATE_DOWN},
    [ROW_TRANSFORM] = {.name = "transform",
                       .help = "what the tensor goes through first",
                       .type = GCB_PARAM_CHOICE,
                       .offset = offsetof(struct gcb_sparse, transform),
                       .flags = GCB_PARAM_WIRE,
                       .choices = gcb_transform_names},
    [ROW_CHUNK] = {.name = "chunk",
                   .help = "elements of a transform or of a chunk-local choice; 0: the message",
                   .type = GCB_PARAM_SIZE,
                   .offset = offsetof(struct gcb_sparse, chunk),
                   .max = 4294967295.0,
                   .flags = GCB_PARAM_WIRE,
                   .needs = "transform=fft|dct|hadamard;select=chunk"},
    [ROW_SELECT] = {.name = "select",
                    .help = "how positions are chosen",
                    .type = GCB_PARAM_CHOICE,
                    .offset = offsetof(struct gcb_sparse, select),
                    .choices = gcb_selector_names},
    [ROW_THRESHOLD] = {.name = "threshold",
                       .help = "least magnitude that is kept",
                       .type = GCB_PARAM_REAL,
                       .offset = offsetof(struct gcb_sparse, selection.p.threshold),
                       .def = 0.001,
                       .max = 3.4028234663852886e38,
                       .flags = GCB_PARAM_LABEL,
                       .needs = "select=threshold",
                       .rate = GCB_RATE_DOWN},
    [ROW_SAMPLE] = {.name = "sample",
                    .help = "share of positions the threshold is taken from",
                    .type = GCB_PARAM_REAL,
                    .offset = offsetof(struct gcb_sparse, selection.p.sample),
                    .def = 0.01,
                    .min = 1e-6,
                    .max = 1,
                    .needs = "select=sampled"},
    [ROW_DENSE_BELOW] = {.name = "dense-below",
                         .help = "bytes of a tensor below which all of it is sent",
                         .type = GCB_PARAM_SIZE,
                         .offset = offsetof(struct gcb_sparse, selection.p.dense_below),
                         .def = 131072,
                         .max = 1e18,
                         .needs = "select=redsync"},
    [ROW_TRIMMED_BELOW] = {.name = "trimmed-below",
                           .help = "bytes below which selection is trimmed, not searched",
                           .type = GCB_PARAM_SIZE,
                           .offset = offsetof(struct gcb_sparse, selection.p.trimmed_below),
                           .def = 4194304,
                           .max = 1e18,
                           .needs = "select=redsync"},
    [ROW_INTERVAL] = {.name = "interval",
                      .help = "steps a searched threshold serves",
                      .type = GCB_PARAM_INT,
                      .offset = offsetof(struct gcb_sparse, selection.p.interval),
                      .def = 5,
                      .min = 1,
                      .max = 1000000,
                      .needs = "select=redsync"},
    [ROW_QUANT] = {.name = "quant",
                   .help = "asq: one sign a step, sent as its mean",
                   .type = GCB_PARAM_CHOICE,
                   .offset = offsetof(struct gcb_sparse, quant),
                   .choices = quants,
                   .needs = "select=redsync"},
    [ROW_VALUES] = {.name = "values",
                    .help = "how kept values are sent",
                    .type = GCB_PARAM_CHOICE,
                    .offset = offsetof(struct gcb_sparse, values),
                    .flags = GCB_PARAM_WIRE,
                    .choices = gcb_values_names},
    [ROW_BITS] = {.name = "bits",
                  .help = "bits of a value",
                  .type = GCB_PARAM_INT,
                  .offset = offsetof(struct gcb_sparse, v.range.bits),
                  .def = 10,
                  .min = 2,
                  .max = 16,
                  .flags = GCB_PARAM_WIRE | GCB_PARAM_LABEL,
                  .needs = "values=range|uniform",
                  .rate = GCB_RATE_UP},
    [ROW_MANTISSA] = {.name = "mantissa",
                      .help = "mantissa bits of a range float; 0: the best for the kept values",
                      .type = GCB_PARAM_INT,
                      .offset = offsetof(struct gcb_sparse, v.range.mantissa),
                      .max = 15,
                      .needs = "values=range"},
    [ROW_MAX] = {.name = "max",
                 .help = "largest value, beyond which values clamp; 0: from the kept values",
                 .type = GCB_PARAM_REAL,
                 .offset = offsetof(struct gcb_sparse, v.range.max),
                 .max = 3.4028234663852886e38,
                 .needs = "values=range|uniform"},
    [ROW_ROUNDING] = {.name = "rounding",
                      .help = "how a value becomes a range float; the paper truncates",
                      .type = GCB_PARAM_CHOICE,
                      .offset = offsetof(struct gcb_sparse, v.range.rounding),
                      .choices = gcb_range_rounding_names,
                      .needs = "values=range"},
    [ROW_INDEX] = {.name = "index",
                   .help = "how kept positions are sent",
                   .type = GCB_PARAM_CHOICE,
                   .offset = offsetof(struct gcb_sparse, index),
                   .flags = GCB_PARAM_WIRE,
                   .choices = gcb_index_names},
};

int gcb_choice(const char *const *names, const char *name)
{
    int i = 0;

    while (strcmp(names[i], name) != 0)
        i++;
    return i;
}

int gcb_sparse_check(const double *value, struct gcb_diag *diag)
{
    const struct gcb_transform *transform = gcb_transform_at((int)value[ROW_TRANSFORM]);
    const struct gcb_selector *selector = gcb_selector_at((int)value[ROW_SELECT]);
    const struct gcb_values *values = gcb_values_at((int)value[ROW_VALUES]);
    const uint64_t chunk = (uint64_t)value[ROW_CHUNK];

    if (strcmp(transform->name, "hadamard") == 0 && chunk & (chunk - 1))
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "transform=hadamard needs a chunk that is a power of two");
    if (selector->signed_order && transform->width == 2)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "select=%s keeps one sign, which the complex bins of transform=%s lack",
                            selector->name, transform->name);
    if ((int)value[ROW_QUANT] == GCB_QUANT_ASQ && transform->width == 2)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "quant=asq keeps one sign, which the complex bins of transform=%s lack",
                            transform->name);
    if (values->one_sign && !selector->signed_order)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "values=%s sends one mean for all, which needs a selection of one sign "
                            "(select=one-sided or alternate)",
                            values->name);
    if (strcmp(values->name, "range") != 0)
        return 0;
    return gcb_range_check((unsigned)value[ROW_BITS], (unsigned)value[ROW_MANTISSA], diag);
}

unsigned gcb_sparse_caps(const double *value)
{
    const char *transform = gcb_transform_names[(int)value[ROW_TRANSFORM]];
    unsigned caps = 0;

    if (strcmp(transform, "fft") == 0 || strcmp(transform, "dct") == 0)
        caps |= GCB_CAP_LIBRARY_MATH;
    if (value[ROW_SELECT] == gcb_choice(gcb_selector_names, "redsync"))
        caps |= GCB_CAP_STATEFUL;
    return caps;
}
