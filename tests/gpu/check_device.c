/*
 * Every method on a real GPU: the same messages as the CPU's, byte for byte, decoded alike on both sides, damaged
 * ones refused alike; methods that transform by a library, within what is promised of them. The body is
 * tests/support/device_trip.c, as it is under the stand-in; here the module is opened as the command opens it.
 *
 *   check_device [--small] [--device N] [--results FILE]
 *   check_device --probe [--device N]     only: can the device be used?
 *
 * Exit status 0: all is the same; 1: something differs; 3: no device.
 */
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
#include "tests/support/cuda_host/host.h"
#include "tests/support/device_trip.h"

#define MAX_CASES 128
#define END (~UINT64_C(0))

/* What the defaults of all methods do not reach: branches of launchers and every packing. */
static const char *const more[] = {
    "range:rounding=truncate",
    "range:bits=2",
    "range:bits=5,mantissa=2",
    "range:bits=16,mantissa=11",
    "range:bits=12,max=1.5",
    "range:bits=7,max=0.25,mantissa=3",
    "range:max=1e-60",
    "range:bits=9,max=1e30,mantissa=5,rounding=truncate",
    "qsgd:norm=l2",
    "qsgd:bits=2,bucket=1",
    "qsgd:bits=8,bucket=4",
    "qsgd:bits=16,bucket=4096,norm=l2",
    "qsgd:levels=1,bucket=100",
    "qsgd:levels=5,bucket=100,norm=l2",
    "qsgd:bits=3,bucket=5000",
    "qsgd:levels=32767,bucket=9000,norm=l2",
    "qsgd:bucket=1000000,norm=l2",
    "qsgd:bucket=1000000",
    "terngrad:clip=0",
    "terngrad:clip=0.5,packing=base3",
    "terngrad:clip=0,packing=base3",
    "sparse:select=chunk,chunk=100,density=0.1",
    "sparse:select=chunk,chunk=20001,density=0.1,index=bitmap",
    "sparse:transform=hadamard,density=0.1",
    "sparse:transform=hadamard,chunk=64,select=chunk,density=0.1",
    "sparse:transform=dct,density=0.1",
    "sparse:transform=dct,chunk=64,density=0.1",
    "sparse:transform=dct,chunk=1000,density=0.1",
    "sparse:transform=dct,chunk=48,select=chunk,density=0.1,index=bitmap",
    "sparse:transform=fft,chunk=4096,select=chunk,density=0.0078125",
    "sparse:transform=fft,chunk=63,values=sign-mean,index=bitmap",
};

static const uint64_t all_sizes[] = {0,   1,    2,    7,    31,    32,     33,      511,
                                     513, 4095, 4096, 4097, 12289, 100003, 1048579, END};
static const uint64_t small_sizes[] = {0, 1, 33, 4097, END};

struct check_case {
    char spec[256];
    const char *status; /* NULL: did not come to its end */
    char reason[GCB_DIAG_TEXT];
    double seconds;
};

static struct gcb_device device;
static const uint64_t *sizes = all_sizes;
static struct check_case cases[MAX_CASES];
static size_t case_count;

/* device_trip.c asks the stand-in for orders of threads; a device has its own. */
void gcb_host_schedule(enum gcb_host_order order, uint64_t seed)
{
    (void)order;
    (void)seed;
}

/* What device_here of device_trip.c would adopt. */
const struct gcb_device_module *gcb_device_module(void);
const struct gcb_device_module *gcb_device_module(void)
{
    return device.module;
}

/* Does the method run there? Otherwise the case ends with the reason. */
static bool supported(struct check_case *c, const struct gcb_method *m)
{
    const struct gcb_coder_config config = {.env = {.count = 1000, .path = "a/b"}};
    struct gcb_device_coder *coder = NULL;
    struct gcb_diag diag = {0};
    const int err = gcb_device_coder_create(&coder, &device, m, &config, &diag);

    gcb_device_coder_destroy(coder);
    if (err == GCB_E_UNSUPPORTED)
        c->status = "unsupported";
    snprintf(c->reason, sizeof(c->reason), "%s", err ? diag.text : "");
    return !err;
}

static void check(void **state)
{
    struct check_case *c = *state;
    const double start = gcb_clock();
    struct gcb_method m;

    assert_int_equal(gcb_method_parse(&m, c->spec, NULL), 0);
    gcb_method_forget(&m); /* memories stand around coders */
    if (supported(c, &m)) {
        device_same_all(&device, c->spec, sizes);
        c->status = "ok";
    } else if (!c->status) {
        fail_msg("%s: %s", c->spec, c->reason);
    }
    c->seconds = gcb_clock() - start;
}

static void list_cases(void)
{
    struct gcb_method m;

    for (size_t i = 0; gcb_method_at(&m, i) && case_count < MAX_CASES; i++)
        snprintf(cases[case_count++].spec, sizeof(cases->spec), "%s", m.name);
    for (size_t i = 0; i < sizeof(more) / sizeof(*more) && case_count < MAX_CASES; i++)
        snprintf(cases[case_count++].spec, sizeof(cases->spec), "%s", more[i]);
}

static uint64_t count_sizes(void)
{
    uint64_t n = 0;

    while (sizes[n] != END)
        n++;
    return n;
}

static int write_rows(const char *path)
{
    FILE *f = fopen(path, "w");
    bool bad = !f;

    for (size_t i = 0; f && i < case_count; i++) {
        const struct check_case *c = &cases[i];
        struct gcb_row row;

        gcb_row_init(&row, "check");
        gcb_row_text(&row, "spec", c->spec);
        gcb_row_text(&row, "gpu", device.facts.name);
        gcb_row_text(&row, "driver", device.facts.driver);
        gcb_row_text(&row, "runtime", device.facts.runtime);
        gcb_row_u64(&row, "sizes", count_sizes());
        gcb_row_text(&row, "status", c->status ? c->status : "failed");
        gcb_row_text(&row, "reason", c->reason[0] ? c->reason : NULL);
        gcb_row_real(&row, "seconds", c->seconds);
        bad |= row.failed || json_dumpf(row.json, f, JSON_COMPACT) || fputc('\n', f) == EOF;
        gcb_row_fini(&row);
    }
    if (f && fclose(f))
        bad = true;
    if (bad)
        fprintf(stderr, "check_device: %s could not be written\n", path);
    return bad;
}

static int run_all(void)
{
    struct CMUnitTest tests[MAX_CASES];

    for (size_t i = 0; i < case_count; i++)
        tests[i] = (struct CMUnitTest){
            .name = cases[i].spec, .test_func = check, .initial_state = &cases[i]};
    return _cmocka_run_group_tests("device", tests, case_count, NULL, NULL);
}

int main(int argc, char **argv)
{
    const char *results = NULL;
    struct gcb_diag diag = {0};
    bool probe = false;
    unsigned index = 0;
    int failed;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--small") == 0)
            sizes = small_sizes;
        else if (strcmp(argv[i], "--probe") == 0)
            probe = true;
        else if (strcmp(argv[i], "--results") == 0 && i + 1 < argc)
            results = argv[++i];
        else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
            index = (unsigned)strtoul(argv[++i], NULL, 10);
        else {
            fprintf(stderr, "check_device: '%s' is no option\n", argv[i]);
            return 2;
        }
    }
    if (gcb_device_open(&device, index, &diag)) {
        fprintf(stderr, "check_device: %s\n", diag.text);
        return 3;
    }
    if (probe) {
        printf("%s, driver %s, runtime %s\n", device.facts.name, device.facts.driver,
               device.facts.runtime);
        return 0;
    }
    list_cases();
    failed = run_all();
    if (results && write_rows(results))
        return 1;
    return failed != 0;
}
