#include "src/tool/payoff/truth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/payoff/payoff_coding.h"

/* ---- rows ---- */

/* Reads a text of a row. NULL: no memory. */
static const char *keep(struct gcb_truths *t, const json_t *row, enum gcb_field field)
{
    const char *text = gcb_results_text(row, field);
    char shown[512];

    return gcb_strings_keep(&t->strings, gcb_escape(shown, sizeof(shown), text ? text : ""));
}

static int read_texts(struct gcb_truths *t, struct gcb_truth *x, const struct gcb_results_row *row)
{
    const struct {
        const char **to;
        enum gcb_field field;
    } texts[] = {
        {&x->file, GCB_FIELD_FILE},
        {&x->scope, GCB_FIELD_SCOPE},
        {&x->order_name, GCB_FIELD_ORDER},
        {&x->device, GCB_FIELD_DEVICE},
        {&x->isa, GCB_FIELD_ISA},
        {&x->mpi, GCB_FIELD_MPI},
        {&x->method, GCB_FIELD_METHOD},
        {&x->spec, GCB_FIELD_SPEC},
        {&x->collective, GCB_FIELD_COLLECTIVE},
        {&x->algorithm, GCB_FIELD_ALGORITHM},
    };
    char label[256];

    x->path = gcb_strings_keep(&t->strings, row->path);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        *texts[i].to = keep(t, row->json, texts[i].field);
        if (!*texts[i].to)
            return GCB_E_NOMEM;
    }
    x->label = gcb_strings_keep(&t->strings, gcb_method_label(label, sizeof(label), x->spec));
    return x->path && x->label ? 0 : GCB_E_NOMEM;
}

static void read_times(double out[GCB_BOUNDS], const json_t *row, enum gcb_field low,
                       enum gcb_field median, enum gcb_field high)
{
    const enum gcb_field fields[GCB_BOUNDS] = {low, median, high};

    for (int b = 0; b < GCB_BOUNDS; b++)
        out[b] = gcb_results_real(row, fields[b]);
}

static void read_numbers(struct gcb_truth *x, const json_t *row)
{
    x->threads = gcb_results_u64(row, GCB_FIELD_THREADS);
    x->workers = gcb_results_u64(row, GCB_FIELD_WORKERS);
    x->elements = gcb_results_u64(row, GCB_FIELD_ELEMENTS);
    x->messages = gcb_results_u64(row, GCB_FIELD_MESSAGES);
    x->input_bytes = gcb_results_u64(row, GCB_FIELD_INPUT_BYTES);
    x->gradient = 4.0 * (double)x->elements;
    read_times(x->seconds, row, GCB_FIELD_SECONDS_LOW, GCB_FIELD_SECONDS, GCB_FIELD_SECONDS_HIGH);
    read_times(x->encode, row, GCB_FIELD_ENCODE_SECONDS_LOW, GCB_FIELD_ENCODE_SECONDS,
               GCB_FIELD_ENCODE_SECONDS_HIGH);
    read_times(x->sum, row, GCB_FIELD_SUM_SECONDS_LOW, GCB_FIELD_SUM_SECONDS,
               GCB_FIELD_SUM_SECONDS_HIGH);
    x->wire = gcb_results_real(row, GCB_FIELD_WIRE_SECONDS);
    x->sizes = gcb_results_real(row, GCB_FIELD_SIZES_SECONDS);
    x->gather = (struct gcb_truth_rounds){gcb_results_real(row, GCB_FIELD_GATHER_ROUNDS),
                                          gcb_results_real(row, GCB_FIELD_GATHER_BYTES)};
    x->scatter = (struct gcb_truth_rounds){gcb_results_real(row, GCB_FIELD_SCATTER_ROUNDS),
                                           gcb_results_real(row, GCB_FIELD_SCATTER_BYTES)};
    x->reduce = (struct gcb_truth_rounds){gcb_results_real(row, GCB_FIELD_REDUCE_ROUNDS),
                                          gcb_results_real(row, GCB_FIELD_REDUCE_BYTES)};
    x->size_rounds = gcb_results_real(row, GCB_FIELD_SIZE_ROUNDS);
    x->baseline =
        strcmp(x->collective, "allreduce") == 0 && gcb_baseline_of(x->method) < GCB_BASELINES;
}

/* Returns what a usable row must have and this one lacks; NULL: nothing. */
static const char *find_gap(const struct gcb_truth *x)
{
    const double numbers[] = {x->encode[GCB_BOUND_MEDIAN], x->sum[GCB_BOUND_MEDIAN], x->wire,
                              x->sizes};
    const double rounds[] = {x->gather.count, x->gather.bytes, x->scatter.count, x->scatter.bytes,
                             x->reduce.count, x->reduce.bytes, x->size_rounds};

    if (!*x->method || !*x->spec)
        return "method and spec";
    if (x->workers < 1 || x->workers > GCB_PAYOFF_WORKERS)
        return "a number of workers that payoff knows";
    if (strcmp(x->algorithm, "library") != 0 && strcmp(x->algorithm, "ring") != 0 &&
        strcmp(x->algorithm, "doubling") != 0)
        return "an algorithm that payoff knows";
    if (!(x->seconds[GCB_BOUND_MEDIAN] > 0.0) || x->elements == 0)
        return "a time and elements";
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (!(numbers[i] >= 0.0))
            return "the times of its phases";
    if (!gcb_bounds_hold(x->seconds) || !gcb_bounds_hold(x->encode) || !gcb_bounds_hold(x->sum))
        return "intervals whose ends are in order";
    for (size_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++)
        if (!(rounds[i] >= 0.0))
            return "`gather_rounds` to `size_rounds`; measure again with this version";
    return NULL;
}

int gcb_truths_add(struct gcb_truths *t, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    const char *status = gcb_results_text(row->json, GCB_FIELD_STATUS), *gap;
    struct gcb_truth x = {.bar = SIZE_MAX, .order = t->count};
    char path[256];

    if (!status || strcmp(status, "ok") != 0)
        return 0;
    if (read_texts(t, &x, row) || gcb_grow(&t->items, &t->cap, t->count, sizeof(*t->items)))
        return gcb_diag_nomem(diag, 0, "measured exchanges");
    read_numbers(&x, row->json);
    gap = find_gap(&x);
    if (gap)
        return gcb_diag_set(diag, GCB_E_CORRUPT, "%s: line %llu: an exchange without %s",
                            gcb_escape(path, sizeof(path), row->path),
                            (unsigned long long)row->line, gap);
    if (x.workers > 1) /* one rank has no network */
        t->items[t->count++] = x;
    return 0;
}

void gcb_truths_fini(struct gcb_truths *t)
{
    gcb_free(t->items);
    gcb_strings_fini(&t->strings);
    memset(t, 0, sizeof(*t));
}

int gcb_truths_select(struct gcb_truths *t, const char *const *specs, size_t count,
                      struct gcb_diag *diag)
{
    size_t kept = 0;
    char shown[128];

    for (size_t s = 0; s < count; s++) {
        bool found = false;

        for (size_t i = 0; i < t->count; i++)
            found |=
                gcb_payoff_names(specs[s], t->items[i].method, t->items[i].spec, t->items[i].label);
        if (!found)
            return gcb_diag_set(diag, GCB_E_INVALID, "--method %s: not in the measured exchanges",
                                gcb_escape(shown, sizeof(shown), specs[s]));
    }
    for (size_t i = 0; i < t->count; i++) {
        bool wanted = t->items[i].baseline;

        for (size_t s = 0; s < count; s++)
            wanted |=
                gcb_payoff_names(specs[s], t->items[i].method, t->items[i].spec, t->items[i].label);
        if (wanted)
            t->items[kept++] = t->items[i];
    }
    t->count = kept;
    return 0;
}

/* ---- times of coding ---- */

/* Was the case measured on as many elements, messages and threads, with the same device and instruction set, and has it times
 * for the exchange's collective? `bench` measures no memory, so an exchange with one never fits. */
static bool fits(const struct gcb_truth *x, const struct gcb_payoff_case *c,
                 const struct gcb_method *exchanged)
{
    struct gcb_exchange_params params;
    struct gcb_memory_params memory;

    gcb_method_exchange(&params, exchanged);
    gcb_method_memory(&memory, exchanged);
    return memory.kind == GCB_MEMORY_NONE &&
           (x->baseline ||
            (c->collectives | c->lossy) & GCB_COLLECTIVE_BIT((unsigned)params.collective)) &&
           c->threads == x->threads && strcmp(c->isa, x->isa) == 0 &&
           strcmp(c->device, x->device) == 0 && c->exchanges > 0.0 &&
           c->total.elements == (double)x->elements * c->exchanges &&
           c->total.messages == (double)x->messages * c->exchanges;
}

static void take_coding(struct gcb_truth *x, const struct gcb_payoff_cases *cases,
                        const struct gcb_method *methods)
{
    struct gcb_payoff_exchanged exchanged = {.algorithm = x->algorithm,
                                             .workers = (unsigned)x->workers,
                                             .bytes = x->gradient,
                                             .messages = (double)x->messages};
    struct gcb_payoff_coding coding;

    if (gcb_method_parse(&exchanged.method, x->spec, NULL))
        return;
    for (size_t i = 0; i < cases->count && !x->benched; i++) {
        if (!methods[i].codec || !gcb_payoff_same_codec(&exchanged.method, &methods[i]) ||
            !fits(x, &cases->items[i], &exchanged.method))
            continue;
        gcb_payoff_coding(&coding, cases, &cases->items[i], &exchanged);
        if (!isfinite(coding.encode[GCB_BOUND_MEDIAN] + coding.sum[GCB_BOUND_MEDIAN] +
                      coding.add[GCB_BOUND_MEDIAN]))
            continue;
        memcpy(x->encode, coding.encode, sizeof(x->encode));
        memcpy(x->sum, coding.sum, sizeof(x->sum));
        memcpy(x->add, coding.add, sizeof(x->add));
        x->benched = true;
    }
}

int gcb_truths_take_coding(struct gcb_truths *t, const struct gcb_payoff_cases *cases,
                           struct gcb_diag *diag)
{
    struct gcb_method *methods = gcb_alloc_zero(cases->count, sizeof(*methods));

    if (!methods)
        return gcb_diag_nomem(diag, cases->count * sizeof(*methods), "methods");
    for (size_t i = 0; i < cases->count; i++)
        if (gcb_method_parse(&methods[i], cases->items[i].spec, NULL))
            methods[i].codec = NULL; /* of another build */
    for (size_t i = 0; i < t->count; i++)
        take_coding(&t->items[i], cases, methods);
    gcb_free(methods);
    return 0;
}

/* ---- predictions ---- */

/* Predicts the time on the wire. *adds: some of its steps were measured with their additions. */
static double wire_of(const struct gcb_truth *x, const struct gcb_link *link, enum gcb_bound bound,
                      bool *adds)
{
    const char *algorithm = strcmp(x->algorithm, "library") == 0 ? NULL : x->algorithm;
    const struct {
        enum gcb_collective collective;
        const struct gcb_truth_rounds *rounds;
    } kinds[] = {
        {GCB_COLLECTIVE_ALLGATHER, &x->gather},
        {GCB_COLLECTIVE_TWOSHOT, &x->scatter},
        {GCB_COLLECTIVE_ALLREDUCE, &x->reduce},
    };
    double seconds = 0.0;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        seconds += gcb_payoff_wire(link,
                                   &(struct gcb_payoff_rounds){.collective = kinds[i].collective,
                                                               .algorithm = algorithm,
                                                               .count = kinds[i].rounds->count,
                                                               .bytes = kinds[i].rounds->bytes},
                                   bound, adds);
    return seconds;
}

static void predict(struct gcb_truth *x, struct gcb_link link)
{
    bool adds = false;

    link.workers = (unsigned)x->workers;
    x->predicted_wire = wire_of(x, &link, GCB_BOUND_MEDIAN, &adds);
    x->predicted_sizes = gcb_payoff_sizes(&link, x->size_rounds, GCB_BOUND_MEDIAN);
    if (adds)
        memset(x->add, 0, sizeof(x->add));
    for (enum gcb_bound b = 0; b < GCB_BOUNDS; b++)
        x->predicted[b] = gcb_bound_of(x->encode, b) + gcb_bound_of(x->sum, b) +
                          gcb_bound_of(x->add, b) + wire_of(x, &link, b, NULL) +
                          gcb_payoff_sizes(&link, x->size_rounds, b);
}

/* Does an exchange beat a baseline? Both times have intervals. */
static enum gcb_payoff_answer beats(const double mine[GCB_BOUNDS], const double bar[GCB_BOUNDS])
{
    if (gcb_bound_of(mine, GCB_BOUND_HIGH) < gcb_bound_of(bar, GCB_BOUND_LOW))
        return GCB_PAYOFF_YES;
    return gcb_bound_of(mine, GCB_BOUND_LOW) >= gcb_bound_of(bar, GCB_BOUND_HIGH)
               ? GCB_PAYOFF_NO
               : GCB_PAYOFF_UNDECIDED;
}

#define KEY 12

/* What all exchanges of a group have in common. Equal texts have equal pointers. */
static void make_key(uint64_t out[KEY], const struct gcb_truth *x)
{
    const uint64_t key[KEY] = {
        (uintptr_t)x->path,   (uintptr_t)x->file, (uintptr_t)x->scope, (uintptr_t)x->order_name,
        (uintptr_t)x->device, (uintptr_t)x->isa,  (uintptr_t)x->mpi,   x->threads,
        x->workers,           x->elements,        x->messages,         x->input_bytes,
    };

    memcpy(out, key, sizeof(key));
}

static int by_key(const void *a, const void *b)
{
    const struct gcb_truth *x = a, *y = b;
    uint64_t first[KEY], second[KEY];
    int order;

    make_key(first, x);
    make_key(second, y);
    order = memcmp(first, second, sizeof(first));
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

static int by_group(const void *a, const void *b)
{
    const struct gcb_truth *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Orders the exchanges by groups. The number of a group is the place of its first row. */
static void group(struct gcb_truths *t)
{
    uint64_t last[KEY] = {0}, key[KEY];

    if (t->count)
        qsort(t->items, t->count, sizeof(*t->items), by_key);
    for (size_t i = 0; i < t->count; i++) {
        make_key(key, &t->items[i]);
        t->items[i].group =
            i && memcmp(key, last, sizeof(key)) == 0 ? t->items[i - 1].group : t->items[i].order;
        memcpy(last, key, sizeof(key));
    }
    if (t->count)
        qsort(t->items, t->count, sizeof(*t->items), by_group);
}

/* Judges the exchanges of a group, which are those from `begin` to before `end`. */
static void judge(struct gcb_truths *t, size_t begin, size_t end)
{
    const struct gcb_truth *bar = NULL, *predicted = NULL;

    for (size_t i = begin; i < end; i++) {
        const struct gcb_truth *o = &t->items[i];

        if (!o->baseline)
            continue;
        if (!bar || o->seconds[GCB_BOUND_MEDIAN] < bar->seconds[GCB_BOUND_MEDIAN])
            bar = o;
        if (!predicted || o->predicted[GCB_BOUND_MEDIAN] < predicted->predicted[GCB_BOUND_MEDIAN])
            predicted = o;
    }
    for (size_t i = begin; i < end; i++) {
        struct gcb_truth *x = &t->items[i];

        x->bar = bar ? (size_t)(bar - t->items) : SIZE_MAX;
        x->predicted_bar = bar ? (size_t)(predicted - t->items) : SIZE_MAX;
        x->answer = x->predicted_answer = GCB_PAYOFF_UNDECIDED;
        if (!bar || x->baseline)
            continue;
        x->answer = beats(x->seconds, bar->seconds);
        x->predicted_answer = beats(x->predicted, predicted->predicted);
    }
}

size_t gcb_truths_group_end(const struct gcb_truths *t, size_t begin)
{
    size_t end = begin + 1;

    while (end < t->count && t->items[end].group == t->items[begin].group)
        end++;
    return end;
}

void gcb_truths_judge(struct gcb_truths *t, const struct gcb_link *link)
{
    group(t);
    for (size_t i = 0; i < t->count; i++)
        predict(&t->items[i], *link);
    for (size_t i = 0, end; i < t->count; i = end) {
        end = gcb_truths_group_end(t, i);
        judge(t, i, end);
    }
}

double gcb_truth_share(const struct gcb_truth *x)
{
    return fmin(1.0, (x->wire + x->sizes) / x->seconds[GCB_BOUND_MEDIAN]);
}

static double ratio_of(const struct gcb_truth *x)
{
    return x->seconds[GCB_BOUND_MEDIAN] / x->predicted[GCB_BOUND_MEDIAN];
}

struct gcb_truth_summary gcb_truths_sum_up(const struct gcb_truths *t)
{
    struct gcb_truth_summary s = {.least = NAN, .most = NAN};

    for (size_t i = 0; i < t->count; i++) {
        const struct gcb_truth *x = &t->items[i];
        const double ratio = ratio_of(x);

        if (gcb_truth_share(x) >= 0.5) {
            s.on_wire++;
            s.near += fabs(ratio - 1.0) <= GCB_TRUTH_NEAR;
            s.least = fmin(ratio, s.least); /* fmin and fmax leave out NANs */
            s.most = fmax(ratio, s.most);
        }
        if (!x->baseline && x->answer != GCB_PAYOFF_UNDECIDED &&
            x->predicted_answer != GCB_PAYOFF_UNDECIDED) {
            s.decided++;
            s.agreed += x->answer == x->predicted_answer;
        }
    }
    return s;
}

/* ---- results ---- */

static void put_verdicts(struct gcb_row *row, const struct gcb_truths *t, const struct gcb_truth *x)
{
    const struct gcb_truth *bar = x->bar == SIZE_MAX ? NULL : &t->items[x->bar];
    const struct gcb_truth *predicted = bar ? &t->items[x->predicted_bar] : NULL;
    const bool judged = bar && !x->baseline;

    gcb_row_text(row, GCB_FIELD_BAR, predicted ? predicted->label : NULL);
    gcb_row_real(row, GCB_FIELD_SPEEDUP_BAR,
                 predicted ? predicted->predicted[GCB_BOUND_MEDIAN] / x->predicted[GCB_BOUND_MEDIAN]
                           : NAN);
    gcb_row_known_bool(row, GCB_FIELD_PAYS, judged && x->predicted_answer != GCB_PAYOFF_UNDECIDED,
                       x->predicted_answer == GCB_PAYOFF_YES);
    gcb_row_text(row, GCB_FIELD_MEASURED_BAR, bar ? bar->label : NULL);
    gcb_row_real(row, GCB_FIELD_MEASURED_SPEEDUP_BAR,
                 bar ? bar->seconds[GCB_BOUND_MEDIAN] / x->seconds[GCB_BOUND_MEDIAN] : NAN);
    gcb_row_known_bool(row, GCB_FIELD_MEASURED_PAYS, judged && x->answer != GCB_PAYOFF_UNDECIDED,
                       x->answer == GCB_PAYOFF_YES);
}

void gcb_truth_row(struct gcb_row *row, const struct gcb_truths *t, const struct gcb_truth *x,
                   const struct gcb_link *link)
{
    gcb_row_init(row, GCB_RECORD_PAYOFF);
    gcb_row_text(row, GCB_FIELD_MODEL, "measured");
    gcb_row_text(row, GCB_FIELD_RESULTS, x->path);
    gcb_row_text(row, GCB_FIELD_LINK_FILE, link->curve ? link->curve->path : NULL);
    gcb_row_text(row, GCB_FIELD_FILE, x->file);
    gcb_row_text(row, GCB_FIELD_METHOD, x->method);
    gcb_row_text(row, GCB_FIELD_SPEC, x->spec);
    gcb_row_text(row, GCB_FIELD_LABEL, x->label);
    gcb_row_bool(row, GCB_FIELD_BASELINE, x->baseline);
    gcb_row_text(row, GCB_FIELD_SCOPE, x->scope);
    gcb_row_text(row, GCB_FIELD_DEVICE, x->device);
    gcb_row_u64(row, GCB_FIELD_THREADS, x->threads);
    gcb_row_text(row, GCB_FIELD_ISA, x->isa);
    gcb_row_text(row, GCB_FIELD_COLLECTIVE, x->collective);
    gcb_row_text(row, GCB_FIELD_ALGORITHM, x->algorithm);
    gcb_row_text(row, GCB_FIELD_MPI, x->mpi);
    gcb_row_u64(row, GCB_FIELD_WORKERS, x->workers);
    gcb_row_real(row, GCB_FIELD_BANDWIDTH_GBIT, 8e-9 * link->bandwidth);
    gcb_row_real(row, GCB_FIELD_LATENCY_SECONDS, link->latency);
    gcb_row_real(row, GCB_FIELD_GRADIENT_BYTES, x->gradient);
    gcb_row_real(row, GCB_FIELD_EXCHANGE_MESSAGES, (double)x->messages);
    gcb_row_text(row, GCB_FIELD_CODING, x->benched ? "bench" : "ranks");
    gcb_row_real(row, GCB_FIELD_ENCODE_SECONDS, x->encode[GCB_BOUND_MEDIAN]);
    gcb_row_real(row, GCB_FIELD_SUM_SECONDS, x->sum[GCB_BOUND_MEDIAN] + x->add[GCB_BOUND_MEDIAN]);
    gcb_row_real(row, GCB_FIELD_WIRE_SECONDS, x->predicted_wire);
    gcb_row_real(row, GCB_FIELD_SIZES_SECONDS, x->predicted_sizes);
    gcb_row_real(row, GCB_FIELD_SECONDS, x->predicted[GCB_BOUND_MEDIAN]);
    gcb_row_real(row, GCB_FIELD_SECONDS_LOW, x->predicted[GCB_BOUND_LOW]);
    gcb_row_real(row, GCB_FIELD_SECONDS_HIGH, x->predicted[GCB_BOUND_HIGH]);
    gcb_row_real(row, GCB_FIELD_MEASURED_SECONDS, x->seconds[GCB_BOUND_MEDIAN]);
    gcb_row_real(row, GCB_FIELD_MEASURED_SECONDS_LOW, x->seconds[GCB_BOUND_LOW]);
    gcb_row_real(row, GCB_FIELD_MEASURED_SECONDS_HIGH, x->seconds[GCB_BOUND_HIGH]);
    gcb_row_real(row, GCB_FIELD_MEASURED_WIRE_SECONDS, x->wire);
    gcb_row_real(row, GCB_FIELD_MEASURED_SIZES_SECONDS, x->sizes);
    gcb_row_real(row, GCB_FIELD_MEASURED_RATIO, ratio_of(x));
    gcb_row_real(row, GCB_FIELD_MEASURED_WIRE_RATIO, x->wire / x->predicted_wire);
    gcb_row_real(row, GCB_FIELD_WIRE_SHARE, gcb_truth_share(x));
    put_verdicts(row, t, x);
}
