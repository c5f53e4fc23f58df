#include <string.h>

#include "cli/base/output.h"
#include "src/lib/base/cpu_flags.h"
#include "src/lib/base/text.h"
#include "src/lib/device/load.h"
#include "src/lib/lowrank/blas.h"
#include "src/tool/base/host.h"
#include "src/tool/measure/bandwidth.h"
#include "src/tool/read/child.h"
#include "src/tool/rows/environment.h"
#include "src/tool/rows/number.h"

struct info_options {
    struct opt_show show;
    int threads;
};

/* clang-format off */
static const struct opt_row rows[] = {
    {OPT_ROW("threads", INT, info_options, threads), .min = 1, .max = GCB_THREADS_MOST,
     .help = "threads that measure bandwidth (default 1)"},
    {.name = NULL},
};
/* clang-format on */

/* The facts that `gcbench info` prints. */
struct facts {
    struct gcb_build build;
    struct gcb_host host;
    struct gcb_bandwidth bandwidth;
    struct gcb_device device; /* what could be found out, even if there is no GPU */
    struct gcb_diag gpu;      /* why there is no GPU */
    struct gcb_diag blas;     /* why there is no OpenBLAS */
    bool has_blas;
    bool has_gpu;
    int threads;
    const char *isa;
};

static int gather_facts(struct facts *f, const struct info_options *o, struct gcb_diag *diag)
{
    const struct gcb_queue queue = {.threads = o->threads ? o->threads : 1};

    memset(f, 0, sizeof(*f));
    gcb_environment_build(&f->build);
    gcb_host_read(&f->host);
    f->threads = queue.threads;
    f->isa = gcb_cpu_isa_name(gcb_cpu_detect());
    f->has_gpu = gcb_device_open(&f->device, 0, &f->gpu) == 0;
    f->has_blas = gcb_blas_open(1, &f->blas) == 0;
    return gcb_bandwidth_measure(&f->bandwidth, &queue, 0, diag);
}

static void print_build(FILE *out, const struct gcb_build *b)
{
    fprintf(out, "version     gcbench %s\n", gcb_version());
    fprintf(out, "revision    %s%s\n", b->revision[0] ? b->revision : "unknown",
            b->dirty ? ", with local changes" : "");
    fprintf(out, "build       %s, %s, %s\n", b->type, b->compiler, b->flags);
    if (strcmp(b->sanitize, "none") != 0)
        fprintf(out, "            with sanitizers (%s): times mean nothing\n", b->sanitize);
    fprintf(out, "build id    %s\n", b->id[0] ? b->id : "none");
    fprintf(out, "hdf5        read in a child process %s\n",
            gcb_sandbox_filters() ? "with few system calls"
                                  : "(this kernel or build does not restrict its system calls)");
}

/* Prints the device or why there is none, then the CUDA libraries if the module was found. */
static void print_gpu(FILE *out, const struct facts *f)
{
    const struct gcb_device_facts *d = &f->device.facts;
    char name[160], text[192];

    if (f->has_gpu) {
        fprintf(out, "gpu         %s, %s, compute capability %u.%u\n",
                gcb_escape(name, sizeof(name), d->name), gcb_bytes(text, (double)d->memory_bytes),
                d->major, d->minor);
    } else {
        fprintf(out, "gpu         none\n");
        opt_wrap(out, f->gpu.text, 0, 12);
    }
    if (d->runtime[0]) {
        opt_wrapf(out, fprintf(out, "cuda       "), 12, " runtime %s, driver %s, %s", d->runtime,
                  d->driver[0] ? d->driver : "none",
                  d->fft[0] ? d->fft : "no cuFFT, which Fourier transforms of most lengths need");
    }
}

static void print_host(FILE *out, const struct facts *f)
{
    const struct gcb_host *h = &f->host;
    char text[32];

    fprintf(out, "processor   %s\n", h->cpu_model[0] ? h->cpu_model : "unknown");
    fprintf(out, "kernels     %s (the widest this processor runs)\n", f->isa);
    if (h->cpus > 0)
        fprintf(out, "cpus        %d that this process may use\n", h->cpus);
    fprintf(out, "governor    %s\n", h->governor[0] ? h->governor : "unknown");
    if (h->load1 >= 0.0)
        fprintf(out, "load        %.2f\n", h->load1);
    fprintf(out, "memory      %s\n", gcb_bytes(text, (double)h->memory_bytes));
    fprintf(out, "system      %s\n", h->kernel[0] ? h->kernel : "unknown");
    print_gpu(out, f);
}

static void print_openblas(FILE *out, const struct facts *f)
{
    struct gcb_blas_facts b;

    if (!f->has_blas) {
        fprintf(out, "openblas    cannot be used\n");
        opt_wrap(out, f->blas.text, 0, 12);
        return;
    }
    gcb_blas_facts(&b);
    fprintf(out, "openblas    %s, kernel %s\n", b.version[0] ? b.version : "unknown version",
            b.kernel[0] ? b.kernel : "unknown");
    if (b.faster)
        opt_wrapf(out, 0, 12,
                  "slow: low-rank methods may take several times as long as with kernel %s, which "
                  "this processor can run; set OPENBLAS_CORETYPE=%s, or unset it",
                  b.faster, b.faster);
}

static int info_run(const void *options, const struct opt_list *operands, struct cmd_context *ctx)
{
    const struct info_options *o = options;
    struct out_report r = {.stream = NULL};
    char version[32], bytes[32], text[512] = "";
    const char *name;
    struct gcb_row row;
    struct facts f;
    int err = operands->count ? gcb_diag_set(ctx->diag, GCB_E_INVALID,
                                             "info takes no operand; see `gcbench help info`")
                              : gather_facts(&f, o, ctx->diag);

    if (!err)
        err = out_open(&r, &o->show, NULL, NULL, GCB_RECORD_BIT(GCB_RECORD_ENVIRONMENT), ctx);
    if (err) {
        out_close(&r);
        return err;
    }
    if (r.table) {
        print_build(r.out, &f.build);
        print_host(r.out, &f);
        for (size_t i = 0; gcb_environment_library(&name, version, i); i++)
            gcb_append(text, sizeof(text), "%s %s %s", i ? "," : "", name, version);
        opt_wrap(r.out, text, fprintf(r.out, "libraries  "), 12);
        print_openblas(r.out, &f);
        fprintf(r.out,
                "bandwidth   read %.1f, fill %.1f, copy %.1f GB/s with %d thread%s over %s\n",
                f.bandwidth.read_gbps, f.bandwidth.fill_gbps, f.bandwidth.copy_gbps, f.threads,
                f.threads == 1 ? "" : "s", gcb_bytes(bytes, (double)f.bandwidth.bytes));
    }
    gcb_environment_row(&row, &(struct gcb_environment){.argc = ctx->argc,
                                                        .argv = ctx->argv,
                                                        .isa = f.isa,
                                                        .threads = f.threads,
                                                        .device = "cpu",
                                                        .bandwidth = &f.bandwidth,
                                                        .bandwidth_count = 1});
    err = out_put(&r, &row, ctx->diag);
    out_close(&r);
    return err;
}

static const struct opt_group groups[] = {
    {.title = "What to measure", .rows = rows},
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
