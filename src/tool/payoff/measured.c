#include "src/tool/payoff/measured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/lib/codec/method.h"
#include "src/tool/base/memory.h"

/* ---- reading rows ---- */

/* The kinds of rounds that a row counts. TWOSHOT stands for the first half of a two-shot, an
 * all-to-all. RING stands for rounds in which each worker sends to the next; rows of older versions
 * lack the fields of RING. */
static const struct {
    enum gcb_collective collective;
    enum gcb_field count, bytes;
} kinds[] = {
    {GCB_COLLECTIVE_ALLGATHER, GCB_FIELD_GATHER_ROUNDS, GCB_FIELD_GATHER_BYTES},
    {GCB_COLLECTIVE_TWOSHOT, GCB_FIELD_SCATTER_ROUNDS, GCB_FIELD_SCATTER_BYTES},
    {GCB_COLLECTIVE_ALLREDUCE, GCB_FIELD_REDUCE_ROUNDS, GCB_FIELD_REDUCE_BYTES},
    {GCB_COLLECTIVE_RING, GCB_FIELD_SHIFT_ROUNDS, GCB_FIELD_SHIFT_BYTES},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static double amount(const struct gcb_measured *x, enum gcb_field field)
{
    return gcb_results_amount(x->row, field);
}

/* Returns what the row lacks to be usable; NULL: nothing. */
static const char *find_gap(const struct gcb_measured *x)
{
    const char *algorithm = gcb_results_text(x->row, GCB_FIELD_ALGORITHM);
    const double low = amount(x, GCB_FIELD_SECONDS_LOW), high = amount(x, GCB_FIELD_SECONDS_HIGH);

    if (!gcb_results_text(x->row, GCB_FIELD_METHOD) || !gcb_results_text(x->row, GCB_FIELD_SPEC))
        return "method and spec";
    if (x->workers < 1)
        return "a number of workers from 1 to 65536";
    if (!algorithm || (strcmp(algorithm, "library") != 0 && strcmp(algorithm, "ring") != 0 &&
                       strcmp(algorithm, "doubling") != 0))
        return "an algorithm that is `library`, `ring` or `doubling`";
    if (!(x->seconds > 0.0) || !(amount(x, GCB_FIELD_ELEMENTS) > 0.0) || !(x->coding >= 0.0) ||
        !(x->network >= 0.0))
        return "elements and the times of its phases";
    if (low > high)
        return "an interval whose ends are in order";
    for (size_t i = 0; i + 1 < KINDS; i++) /* older rows lack RING, the last kind */
        if (!(amount(x, kinds[i].count) >= 0.0 && amount(x, kinds[i].bytes) >= 0.0 &&
              amount(x, GCB_FIELD_SIZE_ROUNDS) >= 0.0))
            return "`gather_rounds` to `size_rounds`; measure again with this version";
    if (amount(x, GCB_FIELD_SHIFT_ROUNDS) > 0.0 && !(amount(x, GCB_FIELD_SHIFT_BYTES) >= 0.0))
        return "`shift_bytes`";
    return NULL;
}

/* True if the row is of fp32, fp16 or bf16 by all-reduce. */
static bool is_baseline(const json_t *row)
{
    const char *spec = gcb_results_text(row, GCB_FIELD_SPEC);
    const char *collective = gcb_results_text(row, GCB_FIELD_COLLECTIVE);
    struct gcb_method m;

    return spec && collective && strcmp(collective, "allreduce") == 0 &&
           !gcb_method_parse(&m, spec, NULL) && m.codec->baseline;
}

int gcb_measured_add(struct gcb_measureds *m, const struct gcb_results_row *row,
                     struct gcb_diag *diag)
{
    const char *status = gcb_results_text(row->json, GCB_FIELD_STATUS), *gap;
    const double workers = gcb_results_amount(row->json, GCB_FIELD_WORKERS);
    struct gcb_measured *x;

    if (!status || strcmp(status, "ok") != 0)
        return 0;
    gcb_must_grow(&m->items, &m->cap, m->count, sizeof(*m->items));
    x = &m->items[m->count];
    *x = (struct gcb_measured){
        .path = row->path,
        .row = row->json,
        .baseline = is_baseline(row->json),
        .workers = workers >= 1.0 && workers <= GCB_NETWORK_WORKERS ? (unsigned)workers : 0,
    };
    x->seconds = amount(x, GCB_FIELD_SECONDS);
    x->coding = amount(x, GCB_FIELD_ENCODE_SECONDS) + amount(x, GCB_FIELD_SUM_SECONDS);
    x->network = amount(x, GCB_FIELD_WIRE_SECONDS) + amount(x, GCB_FIELD_SIZES_SECONDS);
    gap = find_gap(x);
    if (gap)
        return gcb_diag_locate(diag,
                               gcb_diag_set(diag, GCB_E_CORRUPT, "an exchange without %s", gap),
                               row->path, "line", row->line);
    if (x->workers > 1) { /* one rank has no network */
        x->row = json_incref((json_t *)(uintptr_t)row->json);
        m->count++;
    }
    return 0;
}

void gcb_measured_fini(struct gcb_measureds *m)
{
    for (size_t i = 0; i < m->count; i++)
        json_decref((json_t *)(uintptr_t)m->items[i].row);
    gcb_free(m->items);
    memset(m, 0, sizeof(*m));
}

/* ---- predictions ---- */

/* True if the rows are from one file and of the same gradients and machines. Method, collective and
 * algorithm may differ. */
static bool is_comparable(const struct gcb_measured *a, const struct gcb_measured *b)
{
    static const enum gcb_field common[] = {
        GCB_FIELD_FILE, GCB_FIELD_SCOPE,   GCB_FIELD_ORDER,    GCB_FIELD_DEVICE,
        GCB_FIELD_ISA,  GCB_FIELD_THREADS, GCB_FIELD_MESSAGES, GCB_FIELD_INPUT_BYTES,
        GCB_FIELD_MPI,  GCB_FIELD_WORKERS, GCB_FIELD_ELEMENTS};
    bool same = a->path == b->path; /* rows of a file share the pointer */

    for (size_t i = 0; same && i < sizeof(common) / sizeof(common[0]); i++) {
        const json_t *x = gcb_results_json(a->row, common[i]);
        const json_t *y = gcb_results_json(b->row, common[i]);

        same = x == y || json_equal(x, y); /* both are NULL if both rows lack the field */
    }
    return same;
}

static int by_group(const void *a, const void *b)
{
    const struct gcb_measured *x = a, *y = b;

    return (x->group > y->group) - (x->group < y->group);
}

/* Predicts the time of an exchange: takes the measured time of coding, and computes the times of
 * lengths and of all rounds by the model. */
static void predict(struct gcb_measured *x, struct gcb_network network)
{
    const char *algorithm = gcb_results_text(x->row, GCB_FIELD_ALGORITHM);
    const char *collective = gcb_results_text(x->row, GCB_FIELD_COLLECTIVE);
    const double n = x->workers, lg = ceil(log2(n));
    /* The row has means over ranks. In each direction of a tree n - 1 messages are sent, which is
     * (n - 1) / n of a message per rank. But lg whole messages follow each other, one for each
     * level of the tree. */
    const bool tree = collective && strcmp(collective, "tree") == 0;

    network.workers = x->workers;
    network.per_node = 1;
    x->predicted_network = gcb_sizes_model(&network, amount(x, GCB_FIELD_SIZE_ROUNDS));
    for (size_t i = 0; i < KINDS; i++) {
        const struct gcb_wire_rounds rounds = {
            .collective = kinds[i].collective,
            .algorithm = strcmp(algorithm, "library") == 0 ? NULL : algorithm,
            .count = amount(x, kinds[i].count),
            .bytes = amount(x, kinds[i].bytes) * (tree ? n * lg / (n - 1.0) : 1.0),
        };

        x->predicted_network += gcb_wire_model(&network, &rounds);
    }
    x->predicted = x->coding + x->predicted_network;
}

static void label_all(struct gcb_measureds *m)
{
    struct gcb_label *labels = gcb_must_zero(m->count + 1, sizeof(*labels));

    for (size_t i = 0; i < m->count; i++)
        labels[i] = (struct gcb_label){.spec = gcb_results_text(m->items[i].row, GCB_FIELD_SPEC),
                                       .set = m->items[i].group};
    gcb_label_all(labels, m->count);
    for (size_t i = 0; i < m->count; i++) {
        const char *collective = gcb_results_text(m->items[i].row, GCB_FIELD_COLLECTIVE);
        char label[GCB_WAY_LABEL];

        gcb_way_label(label, labels[i].text, collective ? collective : "");
        gcb_escape(m->items[i].label, sizeof(m->items[i].label), label);
    }
    gcb_free(labels);
}

/* Returns the fastest measured baseline of an exchange's group; NULL: none. */
static const struct gcb_measured *find_bar(const struct gcb_measureds *m,
                                           const struct gcb_measured *x)
{
    const struct gcb_measured *bar = NULL;

    for (size_t i = 0; i < m->count; i++) {
        const struct gcb_measured *other = &m->items[i];

        if (other->group == x->group && other->baseline && (!bar || other->seconds < bar->seconds))
            bar = other;
    }
    return bar;
}

void gcb_measured_predict(struct gcb_measureds *m, const struct gcb_network *network)
{
    for (size_t i = 0; i < m->count; i++) {
        struct gcb_measured *x = &m->items[i];

        x->group = i;
        for (size_t k = 0; k < i && x->group == i; k++)
            if (is_comparable(&m->items[k], x))
                x->group = m->items[k].group;
        predict(x, *network);
    }
    if (m->count)
        qsort(m->items, m->count, sizeof(*m->items), by_group);
    label_all(m);
    for (size_t i = 0; i < m->count; i++) {
        struct gcb_measured *x = &m->items[i];

        x->bar = find_bar(m, x);
        x->speedup = x->bar ? x->bar->seconds / x->seconds : (double)NAN;
        x->predicted_speedup = x->bar ? x->bar->predicted / x->predicted : (double)NAN;
    }
}

/* ---- payoff rows ---- */

void gcb_measured_row(struct gcb_row *row, const struct gcb_measured *x,
                      const struct gcb_network *network)
{
    static const enum gcb_field copied[] = {GCB_FIELD_FILE,      GCB_FIELD_METHOD,
                                            GCB_FIELD_SPEC,      GCB_FIELD_COLLECTIVE,
                                            GCB_FIELD_ALGORITHM, GCB_FIELD_MPI};

    gcb_row_init(row, GCB_RECORD_PAYOFF);
    gcb_row_text(row, GCB_FIELD_MODEL, "measured");
    gcb_row_text(row, GCB_FIELD_RESULTS, x->path);
    gcb_row_text(row, GCB_FIELD_LINK_FILE, network->curve ? network->curve->path : NULL);
    for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++)
        gcb_row_text(row, copied[i], gcb_results_text(x->row, copied[i]));
    gcb_row_text(row, GCB_FIELD_LABEL, x->label);
    gcb_row_bool(row, GCB_FIELD_BASELINE, x->baseline);
    gcb_row_u64(row, GCB_FIELD_WORKERS, x->workers);
    gcb_row_real(row, GCB_FIELD_BANDWIDTH_GBIT, 8e-9 * network->bandwidth);
    gcb_row_real(row, GCB_FIELD_LATENCY_SECONDS, network->latency);
    gcb_row_real(row, GCB_FIELD_GRADIENT_BYTES, 4.0 * amount(x, GCB_FIELD_ELEMENTS));
    gcb_row_text(row, GCB_FIELD_CODING, "ranks");
    gcb_row_real(row, GCB_FIELD_CODING_SECONDS, x->coding);
    gcb_row_real(row, GCB_FIELD_NETWORK_SECONDS, x->predicted_network);
    gcb_row_real(row, GCB_FIELD_SECONDS, x->predicted);
    gcb_row_real(row, GCB_FIELD_MEASURED_SECONDS, x->seconds);
    gcb_row_real(row, GCB_FIELD_MEASURED_SECONDS_LOW, amount(x, GCB_FIELD_SECONDS_LOW));
    gcb_row_real(row, GCB_FIELD_MEASURED_SECONDS_HIGH, amount(x, GCB_FIELD_SECONDS_HIGH));
    gcb_row_real(row, GCB_FIELD_MEASURED_NETWORK_SECONDS, x->network);
    gcb_row_real(row, GCB_FIELD_MEASURED_RATIO, x->seconds / x->predicted);
    gcb_row_text(row, GCB_FIELD_BAR, x->bar ? x->bar->label : NULL);
    gcb_row_real(row, GCB_FIELD_SPEEDUP_BAR, x->predicted_speedup);
    gcb_row_real(row, GCB_FIELD_MEASURED_SPEEDUP_BAR, x->speedup);
}
