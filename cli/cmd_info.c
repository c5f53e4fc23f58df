#include <string.h>

#include "cli/base/output.h"
#include "src/lib/base/cpu_flags.h"
#include "src/lib/base/text.h"
#include "src/lib/device/load.h"
#include "src/lib/lowrank/blas.h"
#include "src/tool/measure/bandwidth.h"
#include "src/tool/read/child.h"
#include "src/tool/rows/environment.h"
#include "src/tool/rows/number.h"

struct info_options {
    struct opt_show show;
    struct opt_exec exec;
};

#define INDENT 17 /* column, from 0, where values begin */

/* Prints a line for each field of the row: numbers, yes or no, texts, and the versions of
 * libraries. Leaves out lists, nulls, empty texts, and the two fields that every row has. */
static void print_facts(FILE *out, const struct gcb_row *row)
{
    const char *name, *library;
    json_t *value, *version;
    char text[1000];

    json_object_foreach(row->json, name, value)
    {
        const enum gcb_field field = gcb_field_find(name);

        text[0] = '\0';
        if (json_is_number(value) && field != GCB_FIELD_SCHEMA)
            gcb_field_number(text, field, json_number_value(value), 0);
        else if (json_is_boolean(value))
            gcb_append(text, sizeof(text), json_is_true(value) ? "yes" : "no");
        else if (json_is_string(value) && field != GCB_FIELD_RECORD)
            gcb_append(text, sizeof(text), "%s", json_string_value(value));
        json_object_foreach(value, library, version)
            gcb_append(text, sizeof(text), "%s%s %s", text[0] ? ", " : "", library,
                       json_string_value(version));
        if (text[0])
            opt_wrap(out, text, fprintf(out, "%-*s", INDENT, name), INDENT);
    }
}

/* Prints the first GPU, or why it cannot be used; then the CUDA libraries, if there is a CUDA
 * module. */
static void print_gpu(FILE *out)
{
    struct gcb_device device;
    const struct gcb_device_facts *d = &device.facts;
    struct gcb_diag why;
    char name[160], text[32];

    if (gcb_device_open(&device, 0, &why))
        opt_wrapf(out, fprintf(out, "%-*s", INDENT, "gpu"), INDENT, "none: %s", why.text);
    else
        fprintf(out, "%-*s%s, %s, compute capability %u.%u\n", INDENT, "gpu",
                gcb_escape(name, sizeof(name), d->name), gcb_bytes(text, (double)d->memory_bytes),
                d->major, d->minor);
    if (d->runtime[0])
        opt_wrapf(out, fprintf(out, "%-*s", INDENT, "cuda"), INDENT, "runtime %s, driver %s, %s",
                  d->runtime, d->driver[0] ? d->driver : "none",
                  d->fft[0] ? d->fft : "no cuFFT, which Fourier transforms of most lengths need");
}

/* Prints a line if OpenBLAS cannot be used or is slow. `why`: the outcome of gcb_blas_open. */
static void print_blas(FILE *out, const struct gcb_diag *why)
{
    struct gcb_blas_facts blas;

    gcb_blas_facts(&blas);
    if (why->status)
        opt_wrapf(out, 0, 0, "OpenBLAS cannot be used: %s", why->text);
    else if (blas.faster)
        opt_wrapf(out, 0, 0,
                  "OpenBLAS is slow: low-rank methods may take several times as long as with "
                  "kernel %s, which this processor can run; set OPENBLAS_CORETYPE=%s, or unset it",
                  blas.faster, blas.faster);
}

static int info_run(const void *options, const struct opt_list *operands, struct cmd_context *ctx)
{
    const struct info_options *o = options;
    const struct gcb_queue queue = {.threads = o->exec.threads ? o->exec.threads : 1};
    struct gcb_bandwidth bandwidth;
    const struct gcb_environment env = {
        .argc = ctx->argc,
        .argv = ctx->argv,
        .isa = gcb_cpu_isa_name(gcb_cpu_detect()),
        .threads = queue.threads,
        .device = "cpu",
        .bandwidth = &bandwidth,
        .bandwidth_count = 1,
    };
    struct out_report r = {.stream = NULL};
    struct gcb_diag no_blas = {.status = 0};
    struct gcb_row row;
    int err;

    if (operands->count)
        return gcb_invalid(ctx->diag, "info takes no operand; see `gcbench help info`");
    (void)gcb_blas_open(1, &no_blas);
    err = gcb_bandwidth_measure(&bandwidth, &queue, 0, ctx->diag);
    if (!err)
        err = out_open(&r, &o->show, NULL, NULL, GCB_RECORD_BIT(GCB_RECORD_ENVIRONMENT), ctx);
    if (!err) {
        gcb_environment_row(&row, &env);
        if (r.table) {
            print_facts(r.out, &row);
            fprintf(r.out, "%-*sread in a child process %s\n", INDENT, "input files",
                    gcb_sandbox_filters()
                        ? "with few system calls"
                        : "(this kernel or build does not restrict its system calls)");
            print_gpu(r.out);
            print_blas(r.out, &no_blas);
        }
        err = out_put(&r, &row, ctx->diag);
    }
    out_close(&r);
    return err;
}

static const struct opt_group groups[] = {
    OPT_GROUP("What to measure", opt_threads_rows, struct info_options, exec),
    OPT_GROUP("Output", opt_show_rows, struct info_options, show),
    {.rows = NULL},
};

const struct cmd cmd_info = {
    .name = "info",
    .summary = "this build and this machine: features, libraries, bandwidth",
    .usage = "info [options]",
    .examples = "  gcbench info\n"
                "  gcbench info --threads 8\n"
                "  gcbench info --format json\n",
    .spec = {.groups = groups},
    .operands = CMD_NOTHING,
    .size = sizeof(struct info_options),
    .run = info_run,
};
