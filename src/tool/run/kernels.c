#include "src/tool/run/kernels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "src/lib/base/text.h"
#include "src/tool/base/host.h"

const char *const gcb_kernel_size_names[] = {"l1", "l2", "memory", NULL};

/* Returns the number of floats of an array that is larger than the last-level cache. The array is
 * smaller if four such arrays would take more than a quarter of memory, but has at least 16 Mi
 * floats. */
static size_t memory_floats(void)
{
    const uint64_t cache = gcb_host_cache(), most = gcb_host_memory() / 4 / 4;
    size_t n = (size_t)1 << 24;

    while (n * sizeof(float) <= cache && 2 * n * sizeof(float) <= most)
        n *= 2;
    return n;
}

uint64_t gcb_kernels_floats(enum gcb_kernel_size size)
{
    if (size == GCB_KERNEL_MEMORY)
        return memory_floats();
    return size == GCB_KERNEL_L1 ? 4096 : 65536;
}

/* A sample covers at least this many floats, in several calls if a call has fewer. So a sample
 * takes much longer than reading the clock, and is still so short that other processes rarely
 * interrupt it. The number is constant, so that results of several runs can be compared. */
#define SAMPLE_FLOATS ((size_t)1 << 18)

/* Instruction sets, from the narrowest vectors to the widest. */
static const struct {
    const char *name;
    unsigned flags;
} isas[] = {
    {"c", 0},
    {"neon", GCB_CPU_NEON},
    {"avx2", GCB_CPU_AVX2},
    {"avx512", GCB_CPU_AVX2 | GCB_CPU_AVX512},
};
#define ISAS (sizeof(isas) / sizeof(isas[0]))

/* True if the glob matches the case's family, its name, or "family/name". */
static bool matches(const char *glob, const struct gcb_kernel_case *c)
{
    char name[64];

    snprintf(name, sizeof(name), "%s/%s", c->family, c->name);
    return gcb_glob(glob, name) || gcb_glob(glob, c->family) || gcb_glob(glob, c->name);
}

/* True if one of the globs matches the case, or there are no globs, and if this build has the
 * library of the case. */
static bool is_chosen(const struct gcb_kernels_config *config, const struct gcb_kernel_case *c)
{
    if (c->offset == GCB_KERNEL_LIBRARY && !gcb_fft_version())
        return false;
    for (size_t i = 0; i < config->glob_count; i++)
        if (matches(config->globs[i], c))
            return true;
    return config->glob_count == 0;
}

#define MOST_NAMES 160 /* most families and kernels that a glob may be corrected to */

/* Checks that the glob matches a case. Otherwise fails, and suggests a similar name. */
static int check_glob(const char *glob, struct gcb_diag *diag)
{
    const char *names[MOST_NAMES], *near;
    size_t count = 0;

    for (const struct gcb_kernel_case *c = gcb_kernel_cases; c->name; c++) {
        if (matches(glob, c))
            return 0;
        if (count + 2 <= MOST_NAMES) {
            names[count++] = c->family;
            names[count++] = c->name;
        }
    }
    near = gcb_suggest(glob, names, count);
    return gcb_invalid(diag, "no kernel is called '%s'%s%s%s", gcb_show(glob).text,
                       near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

int gcb_kernels_match(size_t *count, const struct gcb_kernels_config *config, struct gcb_diag *diag)
{
    int err = 0;

    *count = 0;
    for (size_t i = 0; !err && i < config->glob_count; i++)
        err = check_glob(config->globs[i], diag);
    for (const struct gcb_kernel_case *c = gcb_kernel_cases; !err && c->name; c++)
        *count += is_chosen(config, c);
    return err;
}

/* A run of the cases. */
struct bench {
    const struct gcb_kernels_config *config;
    const struct gcb_kernels_observer *observer;
    struct gcb_samples samples;
    struct gcb_kernels best; /* the fastest variants */
    size_t done, total;      /* cases; each counts once for each size */
    bool stopped;            /* the watch stopped the run */
};

/* The calls of one sample. */
struct calls {
    const struct gcb_kernel_case *c;
    struct gcb_kernel_job *job;
    size_t count;
};

static int run_calls(void *ctx, struct gcb_diag *diag)
{
    const struct calls *c = ctx;

    for (size_t i = 0; i < c->count; i++)
        c->c->run(c->job);
    return 0;
}

/* Returns a hash of job->out, unless it is NULL, and of what the kernel returned. */
static uint64_t digest(const struct gcb_kernel_job *job)
{
    return XXH3_64bits_withSeed(job->out, job->out ? job->out_bytes : 0, job->number);
}

/* Returns the least time in which memory could move the bytes of a call, divided by the call's time
 * `seconds`; NAN if the bandwidth was not measured. */
static double bandwidth_share(const struct bench *b, const struct gcb_kernel_job *job,
                              double seconds)
{
    const struct gcb_bandwidth *w = b->config->bandwidth;

    if (!w)
        return NAN;
    return ((double)job->read / w->read_gbps + (double)job->written / w->fill_gbps) / 1e9 / seconds;
}

/* The result of the C variant, with which the other variants are compared. */
struct reference {
    double seconds; /* NAN: not yet known */
    uint64_t digest;
};

/* Times one variant and gives the result to the observer. The C variant comes first and fills
 * *first. */
static int run_variant(struct bench *b, struct gcb_kernel_result *r, struct gcb_kernel_job *job,
                       const struct gcb_kernel_case *c, struct reference *first,
                       struct gcb_diag *diag)
{
    struct calls calls = {.c = c, .job = job, .count = (size_t)r->calls};
    const struct gcb_operation op = {.run = run_calls, .job = &calls};
    double seconds;
    int err;

    /* a variant that writes nothing must not pass with the output of the previous variant */
    job->number = 0;
    if (job->out)
        memset(job->out, 0xa5, job->out_bytes);
    err = gcb_measure(&b->samples, &b->config->timing, &op, diag);
    if (err)
        return err;
    gcb_samples_scale(&b->samples, &b->samples, 1.0 / (double)calls.count);
    seconds = b->samples.stats.median;
    if (isnan(first->seconds))
        *first = (struct reference){.seconds = seconds, .digest = digest(job)};
    else
        r->speedup = first->seconds / seconds;
    r->agrees = digest(job) == first->digest;
    r->spread = (b->samples.stats.high - b->samples.stats.low) / (2.0 * seconds);
    r->gbps = 4e-9 * (double)job->elements / seconds;
    r->bandwidth_share = r->size == GCB_KERNEL_MEMORY ? bandwidth_share(b, job, seconds) : NAN;
    return b->observer->result(b->observer->ctx, r, diag);
}

static bool stop_now(struct bench *b)
{
    b->stopped |= gcb_watch_stopped(&b->observer->watch);
    return b->stopped;
}

/* True if the case has a function for this instruction set that differs from the functions for all
 * narrower sets. `allowed`: flags of the instruction sets that may be used. */
static bool is_variant(const struct gcb_kernel_case *c, size_t isa, unsigned allowed)
{
    struct gcb_kernels own, other;

    if ((isas[isa].flags & allowed) != isas[isa].flags)
        return false;
    gcb_kernels_init(&own, isas[isa].flags);
    for (size_t i = 0; i < isa; i++) {
        if ((isas[i].flags & isas[isa].flags) != isas[i].flags)
            continue;
        gcb_kernels_init(&other, isas[i].flags);
        /* c->offset is that of a pointer to a function, and all such pointers have one size */
        if (memcmp((const char *)&own + c->offset, (const char *)&other + c->offset,
                   sizeof(gcb_philox_bytes_fn *)) == 0)
            return false;
    }
    return true;
}

/* Times all variants of a case, narrowest vectors first. */
static int run_variants(struct bench *b, struct gcb_kernel_result *r, struct gcb_kernel_job *job,
                        const struct gcb_kernel_case *c, struct gcb_diag *diag)
{
    struct reference first = {.seconds = NAN};
    int err = 0;

    if (c->offset == GCB_KERNEL_LIBRARY) {
        r->isa = "fftw";
        return run_variant(b, r, job, c, &first, diag);
    }
    for (size_t i = 0; !err && i < ISAS && !stop_now(b); i++) {
        if (!is_variant(c, i, b->config->flags))
            continue;
        r->isa = isas[i].name;
        r->speedup = NAN;
        gcb_kernels_init(&job->kernels, isas[i].flags);
        err = run_variant(b, r, job, c, &first, diag);
    }
    return err;
}

/* Prepares a case at one size and times its variants. */
static int run_case(struct bench *b, const struct gcb_kernel_case *c, enum gcb_kernel_size size,
                    struct gcb_diag *diag)
{
    const size_t n = gcb_kernels_floats(size);
    struct gcb_kernel_job job = {.kernels = b->best,
                                 .offset = c->offset,
                                 .n = n,
                                 .param = c->param,
                                 .norm = 2.0f,
                                 .elements = n};
    struct gcb_kernel_result r = {.family = c->family,
                                  .kernel = c->name,
                                  .size = size,
                                  .calls = n < SAMPLE_FLOATS ? SAMPLE_FLOATS / n : 1,
                                  .samples = &b->samples,
                                  .speedup = NAN};
    int err;

    c->prepare(&job);
    r.elements = job.elements;
    r.bytes = job.read + job.written;
    err = run_variants(b, &r, &job, c, diag);
    gcb_kernel_release(&job);
    b->done++;
    gcb_watch_show(&b->observer->watch, (double)b->done / (double)b->total);
    return err;
}

/* Runs a case at each chosen size. */
static int run_sizes(struct bench *b, const struct gcb_kernel_case *c, struct gcb_diag *diag)
{
    int err = 0;

    for (enum gcb_kernel_size size = 0; !err && size < GCB_KERNEL_SIZES; size++)
        if (b->config->sizes >> size & 1 && !stop_now(b))
            err = run_case(b, c, size, diag);
    return err;
}

int gcb_kernels_run(bool *interrupted, const struct gcb_kernels_config *config,
                    const struct gcb_kernels_observer *observer, struct gcb_diag *diag)
{
    struct bench b = {.config = config, .observer = observer};
    int err = gcb_kernels_match(&b.total, config, diag);

    *interrupted = false;
    if (err)
        return err;
    b.total *= (size_t)__builtin_popcount(config->sizes);
    gcb_kernels_init(&b.best, config->flags);
    gcb_samples_init(&b.samples, &config->timing);
    for (const struct gcb_kernel_case *c = gcb_kernel_cases; !err && c->name; c++)
        if (is_chosen(config, c))
            err = run_sizes(&b, c, diag);
    gcb_samples_fini(&b.samples);
    *interrupted = b.stopped;
    return err;
}

uint64_t gcb_kernels_bandwidth_bytes(void)
{
    const uint64_t bytes = memory_floats() * sizeof(float), least = UINT64_C(128) << 20;

    return bytes > least ? bytes : least;
}

void gcb_kernels_row(struct gcb_row *row, const struct gcb_kernel_result *r, bool samples)
{
    const struct gcb_stats *stats = &r->samples->stats;

    gcb_row_init(row, GCB_RECORD_KERNEL);
    gcb_row_text(row, GCB_FIELD_FAMILY, r->family);
    gcb_row_text(row, GCB_FIELD_KERNEL, r->kernel);
    gcb_row_text(row, GCB_FIELD_ISA, r->isa);
    gcb_row_u64(row, GCB_FIELD_THREADS, 1);
    gcb_row_text(row, GCB_FIELD_CACHE, gcb_kernel_size_names[r->size]);
    gcb_row_text(row, GCB_FIELD_STATUS, r->agrees ? "ok" : "failed");
    gcb_row_u64(row, GCB_FIELD_ELEMENTS, r->elements);
    gcb_row_u64(row, GCB_FIELD_BYTES, r->bytes);
    gcb_row_u64(row, GCB_FIELD_CALLS, r->calls);
    gcb_row_real(row, GCB_FIELD_SECONDS, stats->median);
    gcb_row_real(row, GCB_FIELD_SECONDS_MIN, stats->min);
    gcb_row_real(row, GCB_FIELD_SECONDS_MAD, stats->mad);
    gcb_row_real(row, GCB_FIELD_SECONDS_LOW, stats->low);
    gcb_row_real(row, GCB_FIELD_SECONDS_HIGH, stats->high);
    gcb_row_reals(row, GCB_FIELD_SECONDS_SAMPLES, samples ? r->samples->seconds : NULL,
                  r->samples->count);
    gcb_row_text(row, GCB_FIELD_STOP_REASON, gcb_stop_name(r->samples->stop));
    gcb_row_real(row, GCB_FIELD_GBPS, r->gbps);
    gcb_row_real(row, GCB_FIELD_BANDWIDTH_SHARE, r->bandwidth_share);
    gcb_row_real(row, GCB_FIELD_SPEEDUP, r->speedup);
}
