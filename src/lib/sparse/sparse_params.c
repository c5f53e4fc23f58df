#include <float.h>

#include "src/lib/sparse/select.h"
#include "src/lib/sparse/sparse.h"

static const char *const pad_names[] = {"none", "smooth", NULL};
static const char *const input_names[] = {"fp32", "fp16", NULL};
static const char *const quant_names[] = {"none", "asq", "ternary", NULL};
static const char *const agree_names[] = {"union", "moment", "leader", "sketch", NULL};

enum row {
    ROW_THETA,
    ROW_TRANSFORM,
    ROW_CHUNK,
    ROW_PAD,
    ROW_INPUT,
    ROW_SELECT,
    ROW_THRESHOLD,
    ROW_SAMPLE,
    ROW_FIT,
    ROW_STAGES,
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
    ROW_POSITIVES,
    ROW_FPR,
    ROW_TILE,
    ROW_AGREE,
    ROW_EVERY,
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
                   .needs = "select=topk|chunk|one-sided|alternate|trimmed|search|redsync|sampled|"
                            "sidco|mask",
                   .rate = GCB_RATE_DOWN},
    [ROW_TRANSFORM] = {GCB_PARAM("transform", CHOICE, struct gcb_sparse, transform),
                       .help = "transform that is applied before the selection",
                       .flags = GCB_PARAM_WIRE, .choices = gcb_transform_names},
    [ROW_CHUNK] = {GCB_PARAM("chunk", SIZE, struct gcb_sparse, chunk),
                   .help = "elements per chunk of the transform or of select=chunk, or per row of "
                           "agree=sketch; 0: the whole message",
                   .max = UINT32_MAX, .flags = GCB_PARAM_WIRE,
                   .needs = "transform=fft|dct|hadamard&tile=none;select=chunk&tile=none;"
                            "select=mask&agree=sketch"},
    [ROW_PAD] = {GCB_PARAM("pad", CHOICE, struct gcb_sparse, pad),
                 .help = "smooth: zeros make the last chunk a length that FFTs are fast at (even; "
                         "factors 2, 3, 5, 7)",
                 .def = GCB_TRANSFORM_PAD_SMOOTH, .absent = GCB_TRANSFORM_PAD_NONE,
                 .flags = GCB_PARAM_WIRE | GCB_PARAM_ADDED, .choices = pad_names,
                 .needs = "transform=fft|dct&tile=none"},
    [ROW_INPUT] = {GCB_PARAM("input", CHOICE, struct gcb_sparse, input),
                   .help =
                       "precision of the elements before the transform; the FFT paper uses fp16",
                   .choices = input_names, .needs = "transform=fft|dct|hadamard|mean|haar|random"},
    [ROW_SELECT] = {GCB_PARAM("select", CHOICE, struct gcb_sparse, select),
                    .help = "how positions are selected", .choices = gcb_selector_names},
    [ROW_THRESHOLD] = {GCB_PARAM("threshold", REAL, struct gcb_sparse, selection.p.threshold),
                       .help = "smallest magnitude that is kept", .def = 0.001,
                       .max = (double)FLT_MAX, .flags = GCB_PARAM_LABEL,
                       .needs = "select=threshold", .rate = GCB_RATE_DOWN},
    [ROW_SAMPLE] = {GCB_PARAM("sample", REAL, struct gcb_sparse, selection.p.sample),
                    .help = "share of positions from which the threshold is estimated", .def = 0.01,
                    .min = 1e-6, .max = 1, .needs = "select=sampled"},
    [ROW_FIT] = {GCB_PARAM("fit", CHOICE, struct gcb_sparse, selection.p.fit),
                 .help = "distribution whose quantile is the threshold; gamma: in the first stage",
                 .choices = gcb_sidco_fit_names, .needs = "select=sidco"},
    [ROW_STAGES] = {GCB_PARAM("stages", INT, struct gcb_sparse, selection.p.stages),
                    .help = "number of fits; 0: as many as the density needs", .max = 20,
                    .needs = "select=sidco"},
    [ROW_DENSE_BELOW] = {GCB_PARAM("dense-below", SIZE, struct gcb_sparse, selection.p.dense_below),
                         .help = "tensors below this many bytes are sent whole", .def = 131072,
                         .max = 1e18, .needs = "select=redsync"},
    [ROW_TRIMMED_BELOW] = {GCB_PARAM("trimmed-below", SIZE, struct gcb_sparse,
                                     selection.p.trimmed_below),
                           .help = "below this many bytes the selection is trimmed, not searched",
                           .def = 4194304, .max = 1e18, .needs = "select=redsync"},
    [ROW_INTERVAL] = {GCB_PARAM("interval", INT, struct gcb_sparse, selection.p.interval),
                      .help = "steps for which a searched threshold is used", .def = 5, .min = 1,
                      .max = 1000000, .needs = "select=redsync"},
    [ROW_QUANT] =
        {GCB_PARAM("quant", CHOICE, struct gcb_sparse, selection.p.quant),
         .help = "asq (redsync): alternate the sign from step to step, send one mean; ternary "
                 "(mask): an all-reduce adds -1, 0 or 1 times a shared scale",
         .choices = quant_names, .needs = "select=redsync|mask"},
    [ROW_VALUES] = {GCB_PARAM("values", CHOICE, struct gcb_sparse, values),
                    .help = "how kept values are sent", .flags = GCB_PARAM_WIRE,
                    .choices = gcb_values_names},
    [ROW_BITS] = {GCB_PARAM("bits", INT, struct gcb_sparse, v.range.bits),
                  .help = "bits of a value", .def = 10, .min = 2, .max = 16,
                  .flags = GCB_PARAM_WIRE | GCB_PARAM_LABEL, .needs = "values=range|uniform",
                  .rate = GCB_RATE_UP},
    [ROW_MANTISSA] =
        {GCB_PARAM("mantissa", INT, struct gcb_sparse, v.range.mantissa),
         .help = "mantissa bits of a value's code (a range float); 0: the best for the kept values",
         .max = 15, .needs = "values=range"},
    [ROW_MAX] = {GCB_PARAM("max", REAL, struct gcb_sparse, v.range.max),
                 .help = "larger values are clamped to this; 0: the largest kept value",
                 .max = (double)FLT_MAX, .needs = "values=range|uniform"},
    [ROW_ROUNDING] = {GCB_PARAM("rounding", CHOICE, struct gcb_sparse, v.range.rounding),
                      .help =
                          "how a value is rounded to its code (a range float); the paper truncates",
                      .choices = gcb_range_rounding_names, .needs = "values=range"},
    [ROW_INDEX] = {GCB_PARAM("index", CHOICE, struct gcb_sparse, index),
                   .help = "how kept positions are sent", .flags = GCB_PARAM_WIRE,
                   .choices = gcb_index_names},
    [ROW_POSITIVES] = {GCB_PARAM("positives", CHOICE, struct gcb_sparse, bloom.policy),
                       .help = "which positions of a Bloom filter are sent",
                       .choices = gcb_bloom_policy_names, .needs = "index=bloom"},
    [ROW_FPR] = {GCB_PARAM("fpr", REAL, struct gcb_sparse, bloom.fpr),
                 .help = "share of the other positions that a Bloom filter finds; 0: a tenth of "
                         "the density",
                 .max = 1, .flags = GCB_PARAM_OPEN_MAX, .needs = "index=bloom"},
    [ROW_TILE] = {GCB_PARAM("tile", TILE, struct gcb_sparse, tile),
                  .help = "what is transformed at a time: kernel, the last two dimensions of a "
                          "convolution's weights; AxB, tiles of a matrix whose sides are the "
                          "largest divisors up to A and B; none: see chunk",
                  .max = GCB_TILE_SIDE << 16 | GCB_TILE_SIDE, .absent = GCB_TILE_NONE,
                  .flags = GCB_PARAM_WIRE | GCB_PARAM_ADDED,
                  .needs = "transform=fft|dct|hadamard|mean|haar|random"},
    [ROW_AGREE] = {GCB_PARAM("agree", CHOICE, struct gcb_sparse, agree),
                   .help =
                       "whose elements all workers keep: all that one of them votes for (by its "
                       "tensor, or by a moving average of it), those of a leader in turn, or "
                       "the rows with the largest sketches",
                   .choices = agree_names, .needs = "select=mask"},
    [ROW_EVERY] = {GCB_PARAM("every", INT, struct gcb_sparse, every),
                   .help = "steps for which the workers keep the elements that they agreed on",
                   .def = 10, .min = 1, .max = 1000000, .needs = "select=mask"},
};

int gcb_sparse_check(const double *value, struct gcb_diag *diag)
{
    const struct gcb_transform *transform = gcb_transforms[(int)value[ROW_TRANSFORM]];
    const struct gcb_selector *selector = gcb_selectors[(int)value[ROW_SELECT]];
    const struct gcb_value_coder *values = &gcb_value_coders[(int)value[ROW_VALUES]];
    const uint64_t chunk = (uint64_t)value[ROW_CHUNK];

    if ((int)value[ROW_TRANSFORM] != GCB_TRANSFORM_NONE && value[ROW_TILE] > GCB_TILE_NONE)
        transform = &gcb_transform_tiles;
    else if (transform == &gcb_transform_tiles)
        return gcb_invalid(diag, "transform=%s needs tile=kernel or tile=AxB",
                           gcb_transform_names[(int)value[ROW_TRANSFORM]]);
    if (transform == &gcb_transform_hadamard && chunk & (chunk - 1))
        return gcb_invalid(diag, "transform=hadamard needs a chunk that is a power of two, or 0");
    if (selector->signed_order && transform->width == 2)
        return gcb_invalid(
            diag, "select=%s keeps values of one sign, but the bins of transform=%s are complex",
            gcb_selector_names[(int)value[ROW_SELECT]],
            gcb_transform_names[(int)value[ROW_TRANSFORM]]);
    if ((int)value[ROW_SELECT] == GCB_SELECT_MASK && transform != &gcb_transform_none)
        return gcb_invalid(diag, "select=mask keeps elements, so it needs transform=none");
    if (value[ROW_QUANT] > GCB_QUANT_NONE &&
        ((int)value[ROW_QUANT] == GCB_QUANT_TERNARY) != ((int)value[ROW_SELECT] == GCB_SELECT_MASK))
        return gcb_invalid(diag,
                           "quant=asq needs select=redsync, and quant=ternary needs select=mask");
    if ((int)value[ROW_QUANT] == GCB_QUANT_ASQ && transform->width == 2)
        return gcb_invalid(
            diag, "quant=asq keeps values of one sign, but the bins of transform=%s are complex",
            gcb_transform_names[(int)value[ROW_TRANSFORM]]);
    if (values->one_sign && !selector->signed_order)
        return gcb_invalid(diag,
                           "values=%s sends one mean for all values, which needs a selection of "
                           "one sign (select=one-sided or alternate)",
                           gcb_values_names[(int)value[ROW_VALUES]]);
    if ((int)value[ROW_VALUES] != GCB_VALUES_RANGE)
        return 0;
    return gcb_range_check((unsigned)value[ROW_BITS], (unsigned)value[ROW_MANTISSA], diag);
}

unsigned gcb_sparse_caps(const double *value)
{
    unsigned caps = 0;

    if (gcb_transforms[(int)value[ROW_TRANSFORM]]->pads &&
        (uint64_t)value[ROW_TILE] == GCB_TILE_NONE) {
        const uint64_t chunk = (uint64_t)value[ROW_CHUNK];

        /* some chunks may have a length that our own FFT does not have, and go through FFTW */
        if ((int)value[ROW_PAD] == GCB_TRANSFORM_PAD_NONE || !gcb_sparse_pads(chunk))
            caps |= GCB_CAP_LIBRARY_MATH | GCB_CAP_DEVICE_MATH;
        if (chunk == 0 || chunk > GCB_DEVICE_FFT_MOST)
            caps |= GCB_CAP_DEVICE_MATH;
    }
    if (gcb_selectors[(int)value[ROW_SELECT]]->stateful)
        caps |= GCB_CAP_STATEFUL;
    return caps;
}

/* Messages in a transform's bins leave no elements out, and RedSync sends small tensors whole. */
bool gcb_sparse_selects(const double *value, uint64_t count)
{
    const struct gcb_selection_params p = {
        .dense_below = (uint64_t)value[ROW_DENSE_BELOW],
        .trimmed_below = (uint64_t)value[ROW_TRIMMED_BELOW],
    };

    return (int)value[ROW_TRANSFORM] == GCB_TRANSFORM_NONE &&
           ((int)value[ROW_SELECT] != GCB_SELECT_REDSYNC ||
            gcb_redsync_path(&p, count) != GCB_REDSYNC_ALL);
}

/*
 * In the sparse collectives, workers send sums of other workers' elements. So positions must be
 * elements of the tensor, exactly those that are kept, and the value coder must accept values of
 * both signs and have no state. An all-reduce needs positions that all workers share. It adds
 * float32 or, with quant=ternary, integers, so no value coder is used.
 */
unsigned gcb_sparse_collectives(const double *value)
{
    unsigned can = 0;

    if ((int)value[ROW_TRANSFORM] != GCB_TRANSFORM_NONE ||
        gcb_value_coders[(int)value[ROW_VALUES]].one_sign ||
        (int)value[ROW_INDEX] == GCB_INDEX_BLOOM || (int)value[ROW_VALUES] == GCB_VALUES_FIT ||
        ((int)value[ROW_SELECT] == GCB_SELECT_REDSYNC && (int)value[ROW_QUANT] == GCB_QUANT_ASQ))
        return 0;
    for (unsigned c = 0; c < GCB_COLLECTIVES; c++)
        can |= gcb_collectives[c].sparse ? GCB_COLLECTIVE_BIT(c) : 0;
    if ((int)value[ROW_SELECT] == GCB_SELECT_MASK && (int)value[ROW_VALUES] == GCB_VALUES_FP32)
        can |= GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_ALLREDUCE);
    return can;
}
