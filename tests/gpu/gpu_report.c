/*
 * The report of `./dev gpu`, a page of Markdown, from the rows of its steps, of check_device, of
 * `gcbench bench` and of the comparison with PyTorch. A figure without a row is shown as "not
 * measured".
 *
 *   gpu_report FILE...     exit status 1: something failed, or a file cannot be read
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/gpu/gpu_report.h"

/* A wanted share of the copy bandwidth: the time that these bytes need at it, divided by the kernel
 * time. */
struct wanted {
    const char *label;
    const char *method, *key; /* of the row: its method, and text that its spec contains */
    const char *not_key;      /* text that its spec must not contain; NULL: none */
    double reads;             /* reads of the tensor, each of 4 bytes per element */
    bool message;             /* the message counts too */
    double share;
};

/* Wanted shares of encoding. */
static const struct wanted encode_wanted[] = {
    {"fp16", "fp16", "", NULL, 1, true, 0.80},
    {"bf16", "bf16", "", NULL, 1, true, 0.80},
    {"range, maximum and mantissa given", "range", "mantissa=4", NULL, 1, true, 0.80},
    {"range, maximum given", "range", "max=1", "mantissa=4", 2, true,
     0.80}, /* finds its mantissa */
    {"range", "range", "max=0", NULL, 1, true, 0.65},
    {"qsgd, a norm per bucket", "qsgd", "", NULL, 1, true, 0.65},
    {"terngrad", "terngrad", "", NULL, 2, true, 0.65},
    {"topk, exact", "topk", "", "theta=0.99", 2, false, 0.60},
    {"topk, 1 of 100", "topk", "theta=0.99", NULL, 1, true, 0.60},
    {"sbc", "sbc", "", NULL, 1, true, 0.65},
    {"redsync, threshold reused", "redsync", "", NULL, 1, true, 0.65},
    {"dgc", "dgc", "", NULL, 1, true, 0.65},
    {"randomk", "randomk", "", NULL, 1, true, 0.65},
    {"fft in chunks", "fft", "chunk=4096", NULL, 1, true, 0.25},
    {"fft in chunks, chunk-local", "sparse", "transform=fft", NULL, 1, true, 0.50},
    {"dct in chunks", "dct-range", "", NULL, 1, true, 0.20},
    {"dct in chunks, chunk-local", "demo", "", NULL, 1, true, 0.50},
};
#define ENCODE_ROWS (sizeof(encode_wanted) / sizeof(*encode_wanted))
#define DECODE_SHARE 0.70

static const char *or_unknown(const char *text)
{
    return text[0] ? text : "not known";
}

static void print_head(const struct report *r)
{
    printf("# A run on a GPU\n\n");
    printf("| | |\n|---|---|\n");
    printf("| GPU | %s |\n| driver | %s |\n", or_unknown(r->gpu), or_unknown(r->driver));
    printf("| date | %s |\n| revision | %s |\n", or_unknown(r->date), or_unknown(r->revision));
    printf("| processor | %s |\n", or_unknown(r->cpu));
    if (isfinite(r->copy_gbps))
        printf("| copy bandwidth, bytes read and written | %.0f GB/s |\n", r->copy_gbps);
    else
        printf("| copy bandwidth | not measured |\n");
}

/* The steps of the run: which ended, which were stopped. */
static void print_steps(const struct report *r)
{
    printf("\n## Steps\n\n| step | result | |\n|---|---|---|\n");
    for (size_t i = 0; i < r->step_count; i++)
        printf("| %s | %s | %s |\n", r->steps[i].name, r->steps[i].status, r->steps[i].reason);
}

/* There are very many checks: a number for those that passed, a table of the others. */
static void print_checks(const struct report *r)
{
    size_t ok = 0, fed = 0;

    printf("\n## Against the CPU\n\n");
    for (size_t i = 0; i < r->check_count; i++) {
        ok += strcmp(r->checks[i].status, "ok") == 0;
        fed += r->checks[i].fed;
    }
    printf("%zu cases tested, %zu the same as on the CPU, %zu of them also with error feedback.\n",
           r->check_count, ok, fed);
    printf("\n| not the same | result | |\n|---|---|---|\n");
    for (size_t i = 0; i < r->check_count; i++)
        if (strcmp(r->checks[i].status, "ok") != 0)
            printf("| `%s` | %s | %s |\n", r->checks[i].name, r->checks[i].status,
                   r->checks[i].reason);
}

static bool fits(const struct measured *m, const struct wanted *w)
{
    return strcmp(m->method, w->method) == 0 && strstr(m->spec, w->key) &&
           !(w->not_key && strstr(m->spec, w->not_key));
}

static const struct plain *row_of(const struct plain *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

/* Fills *out from time_device's row for `label`. False: there is none, because bench times it or it
 * was not timed. */
static bool find_timing(const struct report *r, const char *label, struct measured *out)
{
    const struct plain *t = row_of(r->timings, r->timing_count, label);

    if (!t)
        return false;
    *out = (struct measured){.elements = t->elements,
                             .wire_bytes = t->wire_bytes,
                             .encode = t->seconds,
                             .decode = NAN,
                             .launches = t->launches};
    snprintf(out->reason, sizeof(out->reason), "%s", t->reason);
    return true;
}

static const struct measured *find(const struct report *r, const struct wanted *w)
{
    for (size_t i = 0; i < r->speeds; i++)
        if (fits(&r->speed[i], w))
            return &r->speed[i];
    return NULL;
}

static void print_share(double limit, double seconds, double wanted, const char *why)
{
    if (!(seconds > 0.0) || !(limit > 0.0))
        printf(" | | %.2f | not measured%s%s |\n", wanted, why[0] ? ": " : "", why);
    else
        printf(" %.3f ms | %.3f ms | %.2f | %.2f%s |\n", seconds * 1e3, limit * 1e3, wanted,
               limit / seconds, limit / seconds >= wanted ? "" : ", less than wanted");
}

static void print_speed(const struct report *r)
{
    static const struct measured none = {.encode = NAN, .decode = NAN};

    printf(
        "\n## Speed\n\nThe limit is the time that the bytes which must be moved need at the copy "
        "bandwidth. Reached is limit / kernel time.\n\n"
        "| encode | launches | kernel time | limit | wanted | reached "
        "|\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < ENCODE_ROWS; i++) {
        const struct wanted *w = &encode_wanted[i];
        struct measured timed;
        const struct measured *found = find_timing(r, w->label, &timed) ? &timed : find(r, w);
        const struct measured *m = found ? found : &none;
        const double bytes = 4.0 * w->reads * m->elements + (w->message ? m->wire_bytes : 0.0);

        printf("| %s | ", w->label);
        if (isfinite(m->launches) && m->encode > 0.0)
            printf("%.0f", m->launches);
        printf(" |");
        print_share(bytes / r->copy_gbps / 1e9, m->encode, w->share, m->reason);
    }
    printf("\n| decode | kernel time | limit | wanted | reached |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < ENCODE_ROWS; i++) {
        const struct measured *found = find(r, &encode_wanted[i]), *m = found ? found : &none;

        printf("| %s |", encode_wanted[i].label);
        print_share((4.0 * m->elements + m->wire_bytes) / r->copy_gbps / 1e9, m->decode,
                    DECODE_SHARE, m->reason);
    }
}

static const struct wanted *wanted_of(const char *label)
{
    for (size_t i = 0; i < ENCODE_ROWS; i++)
        if (strcmp(encode_wanted[i].label, label) == 0)
            return &encode_wanted[i];
    return NULL;
}

static void print_against(const struct report *r, const char *torch, const struct wanted *w,
                          const char *wanted)
{
    const struct plain *t = row_of(r->torch, r->torch_count, torch);
    const struct measured *m = find(r, w);

    printf("| `%s` | %s |", torch, w->label);
    if (t && m && t->seconds > 0.0 && m->encode > 0.0 && t->elements == m->elements)
        printf(" %.3f ms | %.3f ms | %s | %.2f |\n", t->seconds * 1e3, m->encode * 1e3, wanted,
               t->seconds / m->encode);
    else
        printf(" | | %s | not measured |\n", wanted);
}

static const struct wanted whole_fft = {"fft, whole", "fft", "", "chunk=4096", 1, true, 0};

static void print_transform(const struct report *r)
{
    const struct plain *own = row_of(r->timings, r->timing_count, "cuFFT's own r2c");
    const struct measured *m = find(r, &whole_fft);

    printf("\n## Against cuFFT\n\n| | cuFFT's own r2c | ours, whole | wanted | reached "
           "|\n|---|---|---|---|---|\n| fft, whole |");
    if (own && m && own->seconds > 0.0 && m->encode > 0.0 && own->elements == m->elements)
        printf(" %.3f ms | %.3f ms | 1.5 times at most | %.2f |\n", own->seconds * 1e3,
               m->encode * 1e3, m->encode / own->seconds);
    else
        printf(" | | 1.5 times at most | not measured%s%s |\n", own && own->reason[0] ? ": " : "",
               own ? own->reason : "");
}

static void print_launches(const struct report *r)
{
    static const char prefix[] = "small: ";

    printf("\n## Launches of a small tensor\n\n| quantiser | elements | wanted | reached "
           "|\n|---|---|---|---|\n");
    for (size_t i = 0; i < r->timing_count; i++) {
        const struct plain *t = &r->timings[i];

        if (strncmp(t->name, prefix, strlen(prefix)) != 0)
            continue;
        printf("| `%s` | %.0f | 3 at most |", t->name + strlen(prefix), t->elements);
        if (isfinite(t->launches))
            printf(" %.0f%s |\n", t->launches, t->launches > 3 ? ", more than wanted" : "");
        else
            printf(" not measured: %s |\n", t->reason);
    }
}

/* The row called `prefix` + `spec`. The rows of groups and of single messages differ in the
 * prefix. */
static const struct plain *timing_of(const struct report *r, const char *prefix, const char *spec)
{
    char name[TEXT];

    snprintf(name, sizeof(name), "%s%s", prefix, spec);
    return row_of(r->timings, r->timing_count, name);
}

static void print_group_row(const struct report *r, const struct plain *t, const char *spec)
{
    const struct plain *one = timing_of(r, "small: ", spec),
                       *each = timing_of(r, "one by one: ", spec);

    printf("| `%s` | %.0f |", spec, t->elements);
    if (!(t->seconds > 0.0) || !each || !(each->seconds > 0.0) || !one || !(one->launches > 0.0))
        printf(" | | | | | not measured%s%s |\n", t->reason[0] ? ": " : "", t->reason);
    else
        printf(" %.0f%s | %.0f | %.0f | %.3f ms | %.3f ms | %.1f |\n", t->launches,
               t->launches > one->launches ? ", more than wanted" : "", one->launches,
               each->launches, t->seconds * 1e3, each->seconds * 1e3, each->seconds / t->seconds);
}

static void print_group(const struct report *r)
{
    static const char prefix[] = "group: ";

    printf(
        "\n## A network's tensors, each a message\n\nResNet-50's 161, in a group and one by one. "
        "Wanted are the launches of one message.\n\n| quantiser | elements | launches | wanted "
        "| one by one | kernel time | one by one | times as fast |\n"
        "|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < r->timing_count; i++)
        if (strncmp(r->timings[i].name, prefix, strlen(prefix)) == 0)
            print_group_row(r, &r->timings[i], r->timings[i].name + strlen(prefix));
}

static void print_torch(const struct report *r)
{
    printf(
        "\n## Against PyTorch and CUB\n\nThe same number of elements. Reached is their time / our "
        "time.\n\n| theirs | ours | their time | ours | wanted | reached "
        "|\n|---|---|---|---|---|---|\n");
    print_against(r, "torch.topk", wanted_of("topk, exact"), "5 at least");
    print_against(r, "CUB's selection of 15 %", wanted_of("topk, exact"), "");
    print_against(r, "CUB's reduction to the maximum", wanted_of("range"), "");
    print_against(r, "torch.fft.rfft", &whole_fft, "");
    print_against(r, "qsgd of plain torch", wanted_of("qsgd, a norm per bucket"), "");
    for (size_t i = 0; i < r->torch_count; i++)
        if (r->torch[i].reason[0])
            printf("\n%s: %s\n", r->torch[i].name, r->torch[i].reason);
}

int main(int argc, char **argv)
{
    static struct report r;
    struct gcb_diag diag = {0};

    r.copy_gbps = NAN;
    for (int i = 1; i < argc; i++)
        if (gcb_results_read(NULL, argv[i], GCB_RESULTS_ALL, report_take, &r, &diag)) {
            fprintf(stderr, "gpu_report: %s\n", diag.text);
            return 1;
        }
    print_head(&r);
    print_steps(&r);
    print_checks(&r);
    print_speed(&r);
    print_transform(&r);
    print_launches(&r);
    print_group(&r);
    print_torch(&r);
    printf("\n%s\n", r.broken ? "**Something failed: see above.**" : "Nothing failed.");
    if (fflush(stdout))
        return 1;
    return r.broken;
}
