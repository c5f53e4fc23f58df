#include "cli/base/bench_options.h"

#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/run/trial.h"

/* Defaults of --precision (half of the median's confidence interval, as a share of the median), of
 * --time-budget (in seconds) and of --max-samples. */
#define PRECISION 0.02
#define TIME_BUDGET 30.0
#define MAX_SAMPLES 10000
/* Default of --min-time without --repeat, in seconds: least time of all timed calls of a
 * measurement together. In less time, one disturbance could slow down all calls. */
#define MIN_TIME 0.005

static const char *const cache_words[] = {"warm", "cold", "both", NULL};

/* clang-format off */
const struct opt_row bench_suite_rows[] = {
    {OPT_ROW("suite", TEXT, bench_own, suite), .metavar = "NAME|FILE",
     .help = "suite of cases to measure: default, quick, ci, paper-fft, paper-redsync, paper-sbc "
             "or FILE.json"},
    {.name = NULL},
};

const struct opt_row bench_case_rows[] = {
    {OPT_ROW("scope", LIST, bench_own, scopes), .metavar = "LIST", .choices = opt_scopes,
     .help = "what one message covers: tensor (default), bucket, model"},
    {OPT_ROW("device", LIST, bench_own, devices), .metavar = "LIST", .choices = opt_devices,
     .help = "where to run: cpu (default), cuda[:N]"},
    {OPT_ROW("threads", LIST, bench_own, threads), .metavar = "LIST",
     .help = "threads that work on one message, such as 1,2,4 (default 1)"},
    {OPT_ROW("cache", LIST, bench_own, caches), .metavar = "WHAT", .choices = cache_words,
     .help = "caches before each timed run: warm (default), cold (emptied) or both"},
    {.name = NULL},
};

const struct opt_row bench_timing_rows[] = {
    {OPT_ROW("precision", REAL, bench_own, precision), .metavar = "SHARE", .min = 1e-6, .max = 1,
     .help = "measure until the 95 % confidence interval of the median is within +- this share "
             "of it (default 0.02), or time is up"},
    {OPT_ROW("time-budget", TIME, bench_own, time_budget), .min = 0.001, .max = 604800,
     .help = "time for all measurements together (default 30s)"},
    {OPT_ROW("max-time", TIME, bench_own, max_time), .min = 1e-6, .max = 86400,
     .help = "longest time for one measurement"},
    {OPT_ROW("max-samples", INT, bench_own, max_samples), .min = 1, .max = 1e6,
     .help = "most timed runs in one measurement (default 10000)"},
    {.name = NULL},
};

const struct opt_row bench_kernels_rows[] = {
    {OPT_ROW("kernels", FLAG, bench_kernels_options, kernels),
     .help = "time this build's kernels instead of methods; operands are globs on FAMILY/KERNEL, "
             "FAMILY or KERNEL"},
    {OPT_ROW("size", LIST, bench_kernels_options, sizes), .metavar = "l1|l2|memory",
     .help = "with --kernels: arrays that fit the L1 cache, the L2 cache or only memory; "
             "repeatable (default all)"},
    {.name = NULL},
};

const struct opt_row bench_show_rows[] = {
    {OPT_ROW("samples", FLAG, bench_own, samples),
     .help = "write the time of every single run, in json"},
    {OPT_ROW("no-bandwidth", FLAG, bench_own, no_bandwidth),
     .help = "do not measure memory bandwidth; results then do not say which share of it a "
             "method reaches"},
    {OPT_ROW("no-sums", FLAG, bench_own, no_sums),
     .help = "do not time sums of messages, only encoding and decoding"},
    {.name = NULL},
};
/* clang-format on */

#define WORD sizeof(((struct gcb_suite_plan *)NULL)->devices[0]) /* room for a value's text */

/* Adds a value of --scope, --device, --threads or --cache to the plan. */
typedef int take_fn(struct gcb_suite_plan *s, const char *text, struct gcb_diag *diag);

static int take_scope(struct gcb_suite_plan *s, const char *text, struct gcb_diag *diag)
{
    int scope = 0;
    const int err = gcb_choose(&scope, "--", "scope", opt_scopes, text, diag);

    if (!err)
        s->scopes[s->scope_count++] = (enum gcb_scope)scope;
    return err;
}

static int take_device(struct gcb_suite_plan *s, const char *text, struct gcb_diag *diag)
{
    if (s->device_count == GCB_SUITE_DEVICES)
        return gcb_invalid(diag, "--device: name at most %d devices", GCB_SUITE_DEVICES);
    memcpy(s->devices[s->device_count++], text, strlen(text) + 1);
    return 0;
}

static int take_threads(struct gcb_suite_plan *s, const char *text, struct gcb_diag *diag)
{
    uint64_t n;

    if (!gcb_parse_u64(text, &n) || n < 1 || n > GCB_THREADS_MOST)
        return gcb_invalid(diag, "--threads: %s is not between 1 and %d", gcb_show(text).text,
                           GCB_THREADS_MOST);
    s->threads[s->thread_count++] = (int)n;
    return 0;
}

static int take_cache(struct gcb_suite_plan *s, const char *text, struct gcb_diag *diag)
{
    int choice = 0;
    const int err = gcb_choose(&choice, "--", "cache", cache_words, text, diag);

    if (!err && s->cache_count && (choice == GCB_CACHES || s->cache_count == GCB_CACHES))
        return gcb_invalid(diag, "--cache: both already means warm and cold: give only one value");
    for (int c = 0; !err && c < GCB_CACHES; c++)
        if (choice == c || choice == GCB_CACHES)
            s->caches[s->cache_count++] = (enum gcb_cache)c;
    return err;
}

/* Copies at[0..n) to words[count]. The array has room for the longest list, that of --threads.
 * GCB_E_INVALID: the word is empty, too long, or among the `count` words before it, or there is no
 * room. */
static int add_word(char words[GCB_SUITE_THREADS][WORD], size_t count, const char *at, size_t n,
                    const char *option, struct gcb_diag *diag)
{
    if (n == 0 || n >= WORD || count == GCB_SUITE_THREADS)
        return gcb_invalid(diag, "--%s: write 1 to %d items of 1 to %zu characters, with commas",
                           option, GCB_SUITE_THREADS, WORD - 1);
    snprintf(words[count], WORD, "%.*s", (int)n, at);
    for (size_t k = 0; k < count; k++)
        if (strcmp(words[k], words[count]) == 0)
            return gcb_invalid(diag, "--%s: %s is given twice", option, words[k]);
    return 0;
}

/* Adds the values of a list option to the plan; only `first` if the option is not given. An item of
 * the list may be a list with commas. */
static int take_list(struct gcb_suite_plan *s, const struct opt_list *list, const char *option,
                     take_fn *take, const char *first, struct gcb_diag *diag)
{
    char words[GCB_SUITE_THREADS][WORD];
    size_t count = 0;
    int err = list->count ? 0 : take(s, first, diag);

    for (size_t i = 0; !err && i < list->count; i++) {
        const char *at = list->items[i];

        do {
            const size_t n = strcspn(at, ",");

            err = add_word(words, count, at, n, option, diag);
            if (!err)
                err = take(s, words[count++], diag);
            at += n;
        } while (!err && *at++ == ',');
    }
    return err;
}

/* True if an option is given that has a meaning only if runs go on until the median is precise
 * enough. */
static bool is_adaptive(const struct bench_own *own)
{
    return own->precision > 0.0 || own->time_budget > 0.0 || own->max_samples;
}

/* Sets how often and how long messages are timed. With only --repeat, the number of runs is fixed,
 * so that two processes do the same work. Without --repeat, runs go on until the median is precise
 * enough or a limit is reached. */
static int take_timing(struct gcb_suite_plan *s, const struct bench_options *o,
                       struct gcb_diag *diag)
{
    const struct bench_own *own = &o->own;
    struct gcb_timing *t = &s->timing;

    t->repeat = (unsigned)o->timing.repeat;
    t->warmup = o->timing.warmup >= 0 ? (unsigned)o->timing.warmup : 1;
    t->min_time = o->timing.min_time;
    t->max_time = own->max_time;
    if (t->repeat)
        return is_adaptive(own)
                   ? gcb_invalid(diag, "--repeat fixes the number of runs: leave out --precision, "
                                       "--time-budget and --max-samples, or --repeat")
                   : 0;
    t->precision = own->precision > 0.0 ? own->precision : PRECISION;
    t->max_samples = own->max_samples ? (size_t)own->max_samples : MAX_SAMPLES;
    t->min_time = t->min_time > 0.0 ? t->min_time : MIN_TIME;
    s->time_budget = own->time_budget > 0.0 ? own->time_budget : TIME_BUDGET;
    return 0;
}

int bench_fill(struct bench_options *out, const struct gcb_suite *suite, struct gcb_diag *diag)
{
    struct gcb_diag why = {0};
    int err = 0;

    opt_begin(&cmd_bench.spec, out);
    for (size_t i = 0; !err && i < suite->pair_count; i++) {
        const char *key = suite->pairs[2 * i], *text = suite->pairs[2 * i + 1];

        /* a suite may come from others, and a plug-in runs code */
        if (strstr(text, "plugin:") || strstr(text, "exec:"))
            err = gcb_diag_set(&why, GCB_E_INVALID,
                               "a suite cannot name a plug-in: give --method yourself");
        /* "all" sets no option: without --method, all methods run */
        else if (strcmp(key, "methods") != 0 || strcmp(text, "all") != 0)
            err = opt_set_field(&cmd_bench.spec, out, key, text, &why);
    }
    return err ? gcb_diag_set(diag, err, "suite %s: %s", suite->file, why.text) : 0;
}

int bench_take_suite(struct bench_options *o, struct bench_options *filled, struct gcb_suite *suite,
                     bool files, struct gcb_diag *diag)
{
    static const char *const choosing[] = {"dataset", "exclude", "step", "worker", "order", NULL};
    const char *name;
    int err = 0;

    if (o->own.suite || !files)
        err = gcb_suite_load(suite, o->own.suite ? o->own.suite : "default", diag);
    if (!err)
        err = bench_fill(filled, suite, diag);
    /* --repeat contradicts the options of is_adaptive, so the options of the command line remove
     * those of the suite */
    if (o->timing.repeat) {
        filled->own.precision = filled->own.time_budget = 0.0;
        filled->own.max_samples = 0;
    }
    if (is_adaptive(&o->own))
        filled->timing.repeat = 0;
    opt_merge(&cmd_bench.spec, o, filled);
    if (err || files)
        return err;
    name = opt_first_set(&cmd_bench.spec, o, choosing);
    if (name)
        return gcb_invalid(diag, "--%s chooses from a file: name a file", name);
    if (suite->input_count == 0)
        return gcb_invalid(diag, "suite '%s' has no inputs: name a file", suite->name);
    return 0;
}

int bench_plan(struct gcb_suite_plan *out, const struct bench_options *o, struct gcb_diag *diag)
{
    int err;

    memset(out, 0, sizeof(*out));
    err = take_list(out, &o->own.scopes, "scope", take_scope, "tensor", diag);
    if (!err)
        err = take_list(out, &o->own.devices, "device", take_device, "cpu", diag);
    if (!err)
        err = take_list(out, &o->own.threads, "threads", take_threads, "1", diag);
    if (!err)
        err = take_list(out, &o->own.caches, "cache", take_cache, "warm", diag);
    return err ? err : take_timing(out, o, diag);
}

int bench_methods(struct gcb_method **out, size_t *count, const struct bench_options *o,
                  struct gcb_diag *diag)
{
    size_t at = 0;
    int err = opt_methods_resolve(out, count, &o->methods, opt_methods_all, diag);

    while (!err && at < *count && strcmp((*out)[at].name, "identity") != 0)
        at++;
    if (!err && at == *count)
        err = opt_methods_append(out, count, "identity", diag);
    if (!err)
        err = opt_methods_append(out, count, "identity", diag); /* room for memcpy */
    if (err)
        return err;
    /* memcpy goes directly after identity, with which it is compared */
    memmove(*out + at + 2, *out + at + 1, (*count - at - 2) * sizeof(**out));
    (*out)[at + 1] = gcb_copy_method;
    return 0;
}

int bench_check_kernels(const struct bench_options *o, struct gcb_diag *diag)
{
    static const char *const unused[] = {
        "method",       "suite",        "scope",  "device",    "threads",   "cache",
        "time-budget",  "step",         "worker", "dataset",   "histogram", "spectrum",
        "exclude",      "order",        "dense",  "nonfinite", "shard",     "output-layer",
        "min-elements", "bucket-bytes", NULL};
    const char *name = opt_first_set(&cmd_bench.spec, o, unused);

    return name ? gcb_invalid(diag,
                              "--%s has no meaning with --kernels: kernels read no tensors and run "
                              "on one thread of the cpu",
                              name)
                : 0;
}
