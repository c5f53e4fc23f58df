#include "src/tool/rows/sink.h"

#include <errno.h>
#include <string.h>

#include "src/lib/base/alloc.h"

struct gcb_sink {
    const struct gcb_sink_ops *ops; /* NULL: rows are dropped */
    const struct gcb_columns *columns;
    FILE *file;
    const char *name;
};

static const struct gcb_sink_ops *const formats[GCB_FORMAT_COUNT] = {
    [GCB_FORMAT_JSON] = &gcb_sink_json,
    [GCB_FORMAT_CSV] = &gcb_sink_csv,
    [GCB_FORMAT_TSV] = &gcb_sink_tsv,
};

static const char *const result_records[] = {"result", "summary", NULL};

static const char *const result_names[] = {
    "record",
    "file",
    "step",
    "worker",
    "tensor",
    "scope",
    "order",
    "method",
    "spec",
    "device",
    "threads",
    "isa",
    "status",
    "elements",
    "input_dtype",
    "input_bytes",
    "wire_bytes",
    "header_bytes",
    "scale_bytes",
    "value_bytes",
    "index_bytes",
    "stored",
    "ratio",
    "ratio_vs_fp32",
    "bits_per_element",
    "nominal_bits_per_element",
    "entropy0_bits_per_element",
    "density_asked",
    "density",
    "kept",
    "clamped",
    "rel_l2",
    "cosine",
    "max_abs_error",
    "mean_error",
    "sign_agreement",
    "zeros_preserved",
    "snr_db",
    "accuracy_gain_bits",
    "encode_seconds",
    "encode_seconds_min",
    "encode_seconds_mad",
    "encode_seconds_low",
    "encode_seconds_high",
    "encode_seconds_samples",
    "decode_seconds",
    "decode_seconds_min",
    "decode_seconds_mad",
    "decode_seconds_low",
    "decode_seconds_high",
    "decode_seconds_samples",
    "stop_reason",
    "cache",
    "transform_seconds",
    "select_seconds",
    "quantise_seconds",
    "index_seconds",
    "encode_kernel_seconds",
    "encode_kernel_seconds_low",
    "encode_kernel_seconds_high",
    "encode_transfer_seconds",
    "decode_kernel_seconds",
    "decode_kernel_seconds_low",
    "decode_kernel_seconds_high",
    "decode_transfer_seconds",
    "encode_launches",
    "decode_launches",
    "device_bytes",
    "gpu_clock_mhz",
    "encode_gbps",
    "decode_gbps",
    "encode_bandwidth_share",
    "decode_bandwidth_share",
    "messages",
    "dense",
    "nonfinite",
    "suite",
    "reason",
    NULL,
};

const struct gcb_columns gcb_result_columns = {result_records, result_names};

/* What became of writing: the row's own status, or what the stream says. */
static int outcome(const struct gcb_sink *s, int err, struct gcb_diag *diag)
{
    if (err == GCB_E_NOMEM)
        return gcb_diag_nomem(diag, 0, "a row of results");
    if (!err) {
        errno = 0;
        if (fflush(s->file) == 0)
            return 0;
    }
    if (errno == EPIPE)
        return gcb_diag_set(diag, GCB_E_IO, "%s", "");
    return gcb_diag_set(diag, GCB_E_IO, "%s: cannot write: %s", s->name,
                        strerror(errno ? errno : EIO));
}

int gcb_sink_create(struct gcb_sink **out, enum gcb_format format, FILE *file, const char *name,
                    const struct gcb_columns *columns, struct gcb_diag *diag)
{
    struct gcb_sink *s = gcb_alloc_zero(1, sizeof(*s));
    int err = 0;

    if (!s)
        return gcb_diag_nomem(diag, sizeof(*s), "a sink");
    *s = (struct gcb_sink){formats[format], columns, file, name};
    errno = 0;
    if (s->ops && s->ops->begin)
        err = outcome(s, s->ops->begin(file, columns), diag);
    if (err) {
        gcb_sink_destroy(s);
        return err;
    }
    *out = s;
    return 0;
}

int gcb_sink_put(struct gcb_sink *s, const struct gcb_row *row, struct gcb_diag *diag)
{
    if (row->failed)
        return gcb_diag_nomem(diag, 0, "a row of results");
    if (!s->ops)
        return 0;
    errno = 0;
    return outcome(s, s->ops->put(s->file, row->json, s->columns), diag);
}

void gcb_sink_destroy(struct gcb_sink *s)
{
    gcb_free(s);
}
