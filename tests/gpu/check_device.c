/*
 * Tests every method on a real GPU. Its messages must be the CPU's, byte for byte; both sides must
 * decode them alike and refuse the same damaged ones; fused error feedback must give what the CPU's
 * memory around a coder gives. Methods with a transform library have tolerances. The tests are in
 * tests/support/device_trip.c, which the stand-in uses too; here the module is opened as the
 * command opens it.
 *
 *   check_device [--small | --quick] [--alone] [--device N] [--results FILE] [--patience SECONDS]
 *                [--part I/N] [--only PATTERN]
 *   check_device --probe [--device N]     only checks that the device can be used
 *   check_device --list                   only lists the cases
 *
 * Cases run in a child process, because a device that failed once does not work any more in the
 * same process, and a kernel may never end. After a case that fails, crashes or takes longer than
 * SECONDS (600), a new child continues. --alone: all cases run in this process, as
 * compute-sanitizer needs. --part: only every N-th case, from number I on. --only: cases whose names
 * match the pattern of a shell. A row is added to FILE after each case.
 *
 * Exit status 0: nothing differs from the CPU; 1: something differs; 3: no device.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/base/clock.h"
#include "src/tool/rows/row.h"
#include "tests/gpu/check_apart.h"
#include "tests/gpu/check_cases.h"
#include "tests/gpu/check_one.h"
#include "tests/support/cuda_host/host.h"
#include "tests/support/test.h"

static struct gcb_device device;
static const struct check_depth *depth;
static struct check_case *cases;
static size_t *chosen, case_count; /* numbers of the cases to run */
static const char *only = "*";
static unsigned device_index, part, parts = 1;

/* device_trip.c sets the order of threads on the stand-in; a device has its own. */
void gcb_host_schedule(enum gcb_host_order order, uint64_t seed)
{
}

/* Waits and allocations are not counted here. */
void gcb_host_count(struct gcb_host_counts *out)
{
    *out = (struct gcb_host_counts){0};
}

/* The module that device_here of device_trip.c would use. */
const struct gcb_device_module *gcb_device_module(const struct gcb_device_core *core);
const struct gcb_device_module *gcb_device_module(const struct gcb_device_core *core)
{
    return device.module;
}

static void check(void **state)
{
    struct outcome *o = *state;

    const size_t number = chosen[o->at];

    check_one(&device, depth, &cases[number], number, o);
}

/* Callback of check_apart.h. */
static void run_case(void *ctx, struct outcome *o, size_t at)
{
    const double start = gcb_clock();
    char name[300];
    const struct CMUnitTest test = {.name = check_case_name(name, sizeof(name), &cases[chosen[at]]),
                                    .test_func = check,
                                    .initial_state = o};

    printf("%s\n", name);
    fflush(stdout);
    if (_cmocka_run_group_tests("device", &test, 1, NULL, NULL))
        snprintf(o->reason, sizeof(o->reason), "the log says more");
    o->seconds = gcb_clock() - start;
}

static int open_device(void *ctx)
{
    struct gcb_diag diag = {0};
    const int err = gcb_device_open(&device, device_index, &diag);

    if (err)
        fprintf(stderr, "check_device: %s\n", diag.text);
    return err;
}

/* Where rows go, one after each check, so that a check that is killed leaves those before. */
struct results {
    FILE *file; /* NULL: nowhere */
    bool bad;
};

/* Callback of check_apart.h. */
static void write_row(void *ctx, const struct outcome *o)
{
    struct results *r = ctx;
    struct gcb_row row = {.json = json_pack("{s:s, s:i}", "record", "check", "schema", 1)};
    const struct check_case *c = &cases[chosen[o->at]];
    char name[300];

    gcb_row_text(&row, GCB_FIELD_SPEC, check_case_name(name, sizeof(name), c));
    r->bad |= json_object_set_new(row.json, "depth", json_string(depth->name)) ||
              json_object_set_new(row.json, "brief", json_boolean(c->kind == CHECK_BRIEF)) ||
              json_object_set_new(row.json, "feedback", json_boolean(o->fed));
    gcb_row_text(&row, GCB_FIELD_STATUS, o->status);
    gcb_row_text(&row, GCB_FIELD_REASON, o->reason[0] ? o->reason : NULL);
    gcb_row_real(&row, GCB_FIELD_SECONDS, o->seconds);
    if (r->file)
        r->bad |= json_dumpf(row.json, r->file, JSON_COMPACT) || fputc('\n', r->file) == EOF ||
                  fflush(r->file);
    gcb_row_fini(&row);
}

/* The exit status: 0, 1 or 3. */
static int run_all(bool alone, unsigned patience, const char *results)
{
    struct results rows = {.file = results ? fopen(results, "a") : NULL};
    const struct checking what = {.count = case_count,
                                  .patience = patience,
                                  .ctx = &rows,
                                  .open = open_device,
                                  .run = run_case,
                                  .done = write_row};
    struct outcome *out = calloc(case_count + 1, sizeof(*out));
    size_t ok = 0, bad = 0;
    int ended;

    rows.bad = results && !rows.file;
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
    }
    if (rows.file && fclose(rows.file))
        rows.bad = true;
    if (rows.bad) {
        fprintf(stderr, "check_device: cannot write %s\n", results);
        ended = ended ? ended : 1;
    }
    free(out);
    return ended;
}

/* Chooses the matching cases of the list; if asked for, only every parts-th of them. */
static int choose_cases(void)
{
    size_t count, found = 0;
    char name[300];

    cases = check_cases(&count, depth->stride, depth->wide);
    chosen = calloc(cases ? count : 1, sizeof(*chosen));
    if (!cases || !chosen)
        return 1;
    for (size_t i = 0; i < count; i++) {
        check_case_name(name, sizeof(name), &cases[i]);
        if (fnmatch(only, name, FNM_EXTMATCH) == 0 && found++ % parts == part)
            chosen[case_count++] = i;
    }
    return 0;
}

static void list(void)
{
    char name[300];

    for (size_t i = 0; i < case_count; i++)
        printf("%s%s\n", check_case_name(name, sizeof(name), &cases[chosen[i]]),
               cases[chosen[i]].kind == CHECK_BRIEF ? " (brief)" : "");
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

    depth = check_find_depth("full");
    for (int i = 1; i < argc; i++) {
        if (check_find_depth(argv[i]))
            depth = check_find_depth(argv[i]);
        else if (strcmp(argv[i], "--alone") == 0)
            alone = true;
        else if (strcmp(argv[i], "--probe") == 0)
            word = PROBE;
        else if (strcmp(argv[i], "--list") == 0)
            word = LIST;
        else if (strcmp(argv[i], "--results") == 0 && i + 1 < argc)
            results = argv[++i];
        else if (strcmp(argv[i], "--part") == 0 && i + 1 < argc &&
                 sscanf(argv[i + 1], "%u/%u", &part, &parts) == 2 && part < parts)
            i++;
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            only = argv[++i];
        else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
            device_index = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--patience") == 0 && i + 1 < argc)
            patience = (unsigned)strtoul(argv[++i], NULL, 10);
        else {
            fprintf(stderr, "check_device: unknown option '%s'\n", argv[i]);
            return 2;
        }
    }
    if (word == PROBE)
        return probe();
    ended = choose_cases();
    if (!ended && word == LIST)
        list();
    else if (!ended)
        ended = run_all(alone, patience, results);
    free(cases);
    free(chosen);
    return ended;
}
