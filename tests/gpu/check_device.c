/*
 * Every method on a real GPU: the same messages as the CPU's, byte for byte, decoded alike on both sides, damaged
 * ones refused alike, error feedback fused as the CPU has it around its coders; methods that transform by a library,
 * within what is promised of them. The body is tests/support/device_trip.c, as it is under the stand-in; here the module
 * is opened as the command opens it.
 *
 *   check_device [--small | --quick] [--alone] [--device N] [--results FILE] [--patience SECONDS]
 *   check_device --probe [--device N]     only: can the device be used?
 *   check_device --list                   only: what it would be asked for
 *
 * A device that failed once answers nothing more in the process that has it, and a kernel may never end. So cases run in a
 * child, and behind one that fails, dies or takes longer than SECONDS (600) a new child goes on; --alone: all in this
 * process, until the first failure, as compute-sanitizer wants it.
 *
 * Exit status 0: all is the same; 1: something differs; 3: no device.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/base/clock.h"
#include "src/report/row.h"
#include "tests/gpu/check_apart.h"
#include "tests/gpu/check_cases.h"
#include "tests/kernels/check.h"
#include "tests/support/cuda_host/host.h"
#include "tests/support/device_trip.h"

#define END (~UINT64_C(0))

/* How much of it: a GPU; a GPU under compute-sanitizer; the stand-in, which is slow. */
struct depth {
    const char *name;
    uint64_t sizes[16], fed[8]; /* elements; of steps with error feedback */
    uint64_t few[8];            /* of brief cases, each with another kind of content */
    size_t stride;              /* one in so many of the combinations */
    bool once;                  /* all cases are brief */
    bool wide;                  /* those at sizes where blocks go on from piece to piece too */
};

static const struct depth depths[] = {
    {.name = "full",
     .sizes = {0, 1, 2, 7, 31, 32, 33, 511, 513, 4095, 4096, 4097, 12289, 100003, 1048579, END},
     .fed = {1, 33, 4097, 100003, 1048579, END},
     .few = {0, 1, 33, 4097, 100003, END},
     .stride = 1,
     .wide = true},
    {.name = "--small",
     .sizes = {0, 1, 33, 4097, END},
     .fed = {33, 4097, END},
     .few = {33, 4097, END},
     .stride = 41},
    {.name = "--quick", .fed = {70, END}, .few = {0, 33, 4097, END}, .stride = 41, .once = true},
};

static struct gcb_device device;
static const struct depth *depth = &depths[0];
static struct check_case *cases;
static size_t case_count;
static unsigned device_index;

/* device_trip.c asks the stand-in for orders of threads; a device has its own. */
void gcb_host_schedule(enum gcb_host_order order, uint64_t seed)
{
    (void)order;
    (void)seed;
}

/* Nor does it count waits and allocations. */
void gcb_host_count(struct gcb_host_counts *out)
{
    *out = (struct gcb_host_counts){0};
}

/* What device_here of device_trip.c would adopt. */
const struct gcb_device_module *gcb_device_module(void);
const struct gcb_device_module *gcb_device_module(void)
{
    return device.module;
}

/* Does the method run there? Otherwise the case ends with the reason. */
static bool supported(struct outcome *o, const char *spec)
{
    struct gcb_device_coder *coder = NULL;
    struct gcb_coder_config config = {.env = {.count = 1000, .path = "a/b"}};
    struct gcb_diag diag = {0};
    struct gcb_method m;
    int err;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    gcb_method_forget(&m);
    err = gcb_device_coder_create(&coder, &device, &m, &config, &diag);
    gcb_device_coder_destroy(coder);
    if (!err)
        return true;
    snprintf(o->reason, sizeof(o->reason), "%s", diag.text);
    if (err != GCB_E_UNSUPPORTED && (err != GCB_E_BACKEND || device.facts.fft[0]))
        fail_msg("%s: %s", spec, diag.text);
    snprintf(o->status, sizeof(o->status), "unsupported"); /* there, or without cuFFT */
    return false;
}

/* Content changes from size to size and from case to case. */
static void check_few(const char *spec, size_t at)
{
    for (size_t i = 0; depth->few[i] != END; i++) {
        const struct device_setting setting = {.seed = 7 + at, .step = at % 5, .worker = 3};
        const uint64_t n = depth->few[i];
        float *x = malloc((n + 1) * sizeof(float));

        check_fill(x, n, (enum check_fill)((at + i) % FILL_COUNT), at);
        device_same(&device, spec, x, n, &setting);
        check_fill(x, n, FILL_NOISE, at);
        if (n == 33)
            device_same_damage(&device, spec, x, n, 4, at);
        free(x);
    }
}

/* Has the device error feedback for it, fused into the encoder? */
static bool feeds_back(const char *spec)
{
    const struct gcb_coder_config config = {.env = {.count = 1, .path = "a/b", .feedback = true}};
    struct gcb_device_coder *c = NULL;
    struct gcb_method method;
    int err;

    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    err = gcb_device_coder_create(&c, &device, &method, &config, NULL);
    assert_true(!err || err == GCB_E_UNSUPPORTED);
    gcb_device_coder_destroy(c);
    return !err;
}

static void check_fed(struct outcome *o, const char *spec)
{
    struct gcb_method m;
    bool library;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    library = (gcb_method_caps(&m) & GCB_CAP_LIBRARY_MATH) != 0;
    o->fed = feeds_back(spec);
    for (size_t i = 0; o->fed && depth->fed[i] != END; i++) {
        const struct device_steps how = {
            .source = (enum gcb_dtype)(i % GCB_DTYPE_COUNT),
            .carry = i % 2 ? 0.7 : 1.0,
            .itself = library, /* whose spectra are not the CPU's */
        };

        device_same_steps(&device, spec, depth->fed[i], &how);
    }
}

static void check(void **state)
{
    struct outcome *o = *state;
    const struct check_case *c = &cases[o->at];

    if (!supported(o, c->spec))
        return;
    if (c->wide)
        device_same_wide(&device, c->spec, c->wide, o->at);
    else if (c->brief || depth->once)
        check_few(c->spec, o->at);
    else
        device_same_all(&device, c->spec, depth->sizes);
    if (!c->brief && !c->wide)
        check_fed(o, c->spec);
    snprintf(o->status, sizeof(o->status), "ok");
}

/* Of check_apart.h. */
static void run_case(void *ctx, struct outcome *o, size_t at)
{
    const double start = gcb_clock();
    const struct CMUnitTest test = {.name = cases[at].spec, .test_func = check, .initial_state = o};

    (void)ctx;
    printf("%s\n", cases[at].spec);
    fflush(stdout);
    if (_cmocka_run_group_tests("device", &test, 1, NULL, NULL))
        snprintf(o->reason, sizeof(o->reason), "see check.log");
    o->seconds = gcb_clock() - start;
}

static int open_device(void *ctx)
{
    struct gcb_diag diag = {0};
    const int err = gcb_device_open(&device, device_index, &diag);

    (void)ctx;
    if (err)
        fprintf(stderr, "check_device: %s\n", diag.text);
    return err;
}

static int write_rows(const char *path, const struct outcome *out)
{
    FILE *f = fopen(path, "w");
    bool bad = !f;

    for (size_t i = 0; f && i < case_count; i++) {
        const struct outcome *o = &out[i];
        struct gcb_row row;

        gcb_row_init(&row, "check");
        gcb_row_text(&row, "spec", cases[i].spec);
        gcb_row_text(&row, "depth", depth->name);
        gcb_row_bool(&row, "brief", cases[i].brief);
        gcb_row_u64(&row, "wide", cases[i].wide);
        gcb_row_bool(&row, "feedback", o->fed);
        gcb_row_text(&row, "status", o->status);
        gcb_row_text(&row, "reason", o->reason[0] ? o->reason : NULL);
        gcb_row_real(&row, "seconds", o->seconds);
        bad |= row.failed || json_dumpf(row.json, f, JSON_COMPACT) || fputc('\n', f) == EOF;
        gcb_row_fini(&row);
    }
    if (f && fclose(f))
        bad = true;
    if (bad)
        fprintf(stderr, "check_device: %s could not be written\n", path);
    return bad;
}

/* 0, 1 or 3. */
static int run_all(bool alone, unsigned patience, const char *results)
{
    const struct checking what = {
        .count = case_count, .patience = patience, .open = open_device, .run = run_case};
    struct outcome *out = calloc(case_count + 1, sizeof(*out));
    size_t ok = 0, bad = 0;
    int ended;

    if (!out)
        return 1;
    ended = alone ? check_alone(&what, out) : check_apart(&what, out);
    if (ended == 0) {
        for (size_t i = 0; i < case_count; i++) {
            ok += strcmp(out[i].status, "ok") == 0;
            bad += check_failed(&out[i]);
        }
        printf("%zu specs: %zu the same, %zu not supported there, %zu failed\n", case_count, ok,
               case_count - ok - bad, bad);
        ended = bad != 0;
        if (results && write_rows(results, out))
            ended = 1;
    }
    free(out);
    return ended;
}

static const struct depth *find_depth(const char *name)
{
    for (size_t i = 0; i < sizeof(depths) / sizeof(*depths); i++)
        if (strcmp(depths[i].name, name) == 0)
            return &depths[i];
    return NULL;
}

static void list(void)
{
    for (size_t i = 0; i < case_count; i++)
        if (cases[i].wide)
            printf("%s (%" PRIu64 " elements)\n", cases[i].spec, cases[i].wide);
        else
            printf("%s%s\n", cases[i].spec, cases[i].brief ? " (brief)" : "");
}

static int probe(void)
{
    if (open_device(NULL))
        return 3;
    printf("%s, driver %s, runtime %s\n", device.facts.name, device.facts.driver,
           device.facts.runtime);
    return 0;
}

int main(int argc, char **argv)
{
    const char *results = NULL;
    enum { CHECK, PROBE, LIST } word = CHECK;
    unsigned patience = 600;
    bool alone = false;
    int ended;

    for (int i = 1; i < argc; i++) {
        if (find_depth(argv[i]))
            depth = find_depth(argv[i]);
        else if (strcmp(argv[i], "--alone") == 0)
            alone = true;
        else if (strcmp(argv[i], "--probe") == 0)
            word = PROBE;
        else if (strcmp(argv[i], "--list") == 0)
            word = LIST;
        else if (strcmp(argv[i], "--results") == 0 && i + 1 < argc)
            results = argv[++i];
        else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
            device_index = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--patience") == 0 && i + 1 < argc)
            patience = (unsigned)strtoul(argv[++i], NULL, 10);
        else {
            fprintf(stderr, "check_device: '%s' is no option\n", argv[i]);
            return 2;
        }
    }
    if (word == PROBE)
        return probe();
    cases = check_cases(&case_count, depth->stride, depth->wide);
    if (!cases)
        return 1;
    if (word == LIST)
        list();
    ended = word == LIST ? 0 : run_all(alone, patience, results);
    free(cases);
    return ended;
}
