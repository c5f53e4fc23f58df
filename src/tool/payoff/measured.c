#include "src/tool/payoff/measured.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/lib/codec/method.h"
#include "src/tool/payoff/ways.h"

/* ---- reading ---- */

static void read_numbers(struct gcb_measured *x, const json_t *row)
{
    static const struct {
        enum gcb_collective collective;
        enum gcb_field count, bytes;
    } kinds[3] = {
        {GCB_COLLECTIVE_ALLGATHER, GCB_FIELD_GATHER_ROUNDS, GCB_FIELD_GATHER_BYTES},
        {GCB_COLLECTIVE_TWOSHOT, GCB_FIELD_SCATTER_ROUNDS, GCB_FIELD_SCATTER_BYTES},
        {GCB_COLLECTIVE_ALLREDUCE, GCB_FIELD_REDUCE_ROUNDS, GCB_FIELD_REDUCE_BYTES},
    };
    const double workers = gcb_results_amount(row, GCB_FIELD_WORKERS);

    x->workers = workers >= 1.0 && workers <= GCB_NETWORK_WORKERS ? (unsigned)workers : 0;
    x->gradient = 4.0 * gcb_results_amount(row, GCB_FIELD_ELEMENTS);
    x->seconds = gcb_results_amount(row, GCB_FIELD_SECONDS);
    x->low = gcb_results_amount(row, GCB_FIELD_SECONDS_LOW);
    x->high = gcb_results_amount(row, GCB_FIELD_SECONDS_HIGH);
    x->coding = gcb_results_amount(row, GCB_FIELD_ENCODE_SECONDS) +
                gcb_results_amount(row, GCB_FIELD_SUM_SECONDS);
    x->network = gcb_results_amount(row, GCB_FIELD_WIRE_SECONDS) +
                 gcb_results_amount(row, GCB_FIELD_SIZES_SECONDS);
    x->size_rounds = gcb_results_amount(row, GCB_FIELD_SIZE_ROUNDS);
    for (size_t i = 0; i < 3; i++)
        x->rounds[i] = (struct gcb_wire_rounds){.collective = kinds[i].collective,
                                                .count = gcb_results_amount(row, kinds[i].count),
                                                .bytes = gcb_results_amount(row, kinds[i].bytes)};
}

static void read_texts(struct gcb_measured *x, const json_t *row)
{
    const char *spec = gcb_results_text(row, GCB_FIELD_SPEC);
    const char *collective = gcb_results_text(row, GCB_FIELD_COLLECTIVE);
    struct gcb_method m;

    gcb_escape(x->spec, sizeof(x->spec), spec ? spec : "");
    gcb_escape(x->collective, sizeof(x->collective), collective ? collective : "");
    x->baseline = strcmp(x->collective, "allreduce") == 0 && !gcb_method_parse(&m, x->spec, NULL) &&
                  m.codec->baseline;
}

/* Returns what a usable row must have and this one lacks; NULL: nothing. */
static const char *find_gap(const struct gcb_measured *x)
{
    static const char *const algorithms[] = {"library", "ring", "doubling"};
    const char *algorithm = gcb_results_text(x->row, GCB_FIELD_ALGORITHM);
    bool known = false;

    for (size_t i = 0; algorithm && i < 3; i++)
        known |= strcmp(algorithm, algorithms[i]) == 0;
    if (!gcb_results_text(x->row, GCB_FIELD_METHOD) || !*x->spec)
        return "method and spec";
    if (x->workers < 1)
        return "a number of workers that payoff knows";
    if (!known)
        return "an algorithm that payoff knows";
    if (!(x->seconds > 0.0) || !(x->gradient > 0.0) || !(x->coding >= 0.0) || !(x->network >= 0.0))
        return "elements and the times of its phases";
    if (x->low > x->high || x->low < 0.0)
        return "an interval whose ends are in order";
    for (size_t i = 0; i < 3; i++)
        if (!(x->rounds[i].count >= 0.0 && x->rounds[i].bytes >= 0.0 && x->size_rounds >= 0.0))
            return "`gather_rounds` to `size_rounds`; measure again with this version";
    return NULL;
}

int gcb_measured_add(struct gcb_measureds *m, const struct gcb_results_row *row,
                     struct gcb_diag *diag)
{
    const char *status = gcb_results_text(row->json, GCB_FIELD_STATUS), *gap;
    struct gcb_measured *x;

    if (!status || strcmp(status, "ok") != 0)
        return 0;
    if (gcb_grow(&m->items, &m->cap, m->count, sizeof(*m->items)))
        return gcb_diag_nomem(diag, 0, "measured exchanges");
    x = &m->items[m->count];
    *x = (struct gcb_measured){.path = row->path, .row = row->json};
    read_texts(x, row->json);
    read_numbers(x, row->json);
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

/* True if the exchanges have everything in common except the method. */
static bool is_comparable(const struct gcb_measured *a, const struct gcb_measured *b)
{
    static const enum gcb_field common[] = {
        GCB_FIELD_FILE, GCB_FIELD_SCOPE,   GCB_FIELD_ORDER,    GCB_FIELD_DEVICE,
        GCB_FIELD_ISA,  GCB_FIELD_THREADS, GCB_FIELD_MESSAGES, GCB_FIELD_INPUT_BYTES,
        GCB_FIELD_MPI,  GCB_FIELD_WORKERS, GCB_FIELD_ELEMENTS};
    bool same = a->path == b->path;

    for (size_t i = 0; same && i < sizeof(common) / sizeof(common[0]); i++) {
        const json_t *x = gcb_results_json(a->row, common[i]);
        const json_t *y = gcb_results_json(b->row, common[i]);

        same = x == y || json_equal(x, y); /* of an absent field both are NULL */
    }
    return same;
}

static int by_group(const void *a, const void *b)
{
    const struct gcb_measured *x = a, *y = b;

    return (x->order > y->order) - (x->order < y->order);
}

static void predict(struct gcb_measured *x, struct gcb_network network)
{
    const char *algorithm = gcb_results_text(x->row, GCB_FIELD_ALGORITHM);

    network.workers = x->workers;
    network.per_node = 1;
    x->predicted_network = gcb_sizes_model(&network, x->size_rounds);
    for (size_t i = 0; i < 3; i++) {
        x->rounds[i].algorithm = strcmp(algorithm, "library") == 0 ? NULL : algorithm;
        x->predicted_network += gcb_wire_model(&network, &x->rounds[i]);
    }
    x->predicted = x->coding + x->predicted_network;
}

/* Names the exchanges. Without memory for that, their names are empty. */
static void label_all(struct gcb_measureds *m)
{
    struct gcb_label *labels = gcb_alloc_zero(m->count + 1, sizeof(*labels));

    for (size_t i = 0; labels && i < m->count; i++)
        labels[i] = (struct gcb_label){.spec = m->items[i].spec, .set = m->items[i].order};
    if (labels)
        gcb_label_all(labels, m->count);
    for (size_t i = 0; labels && i < m->count; i++) {
        struct gcb_measured *x = &m->items[i];

        gcb_way_label(x->label, labels[i].text, x->collective);
    }
    gcb_free(labels);
}

void gcb_measured_predict(struct gcb_measureds *m, const struct gcb_network *network)
{
    for (size_t i = 0; i < m->count; i++) {
        struct gcb_measured *x = &m->items[i];

        x->order = i;
        for (size_t k = 0; k < i && x->order == i; k++)
            if (is_comparable(&m->items[k], x))
                x->order = m->items[k].order;
        predict(x, *network);
    }
    if (m->count)
        qsort(m->items, m->count, sizeof(*m->items), by_group);
    label_all(m);
    for (size_t i = 0; i < m->count; i++) {
        const struct gcb_measured *bar = gcb_measured_bar(m, &m->items[i]);

        m->items[i].x = bar ? bar->seconds / m->items[i].seconds : (double)NAN;
        m->items[i].predicted_x = bar ? bar->predicted / m->items[i].predicted : (double)NAN;
    }
}

const struct gcb_measured *gcb_measured_bar(const struct gcb_measureds *m,
                                            const struct gcb_measured *x)
{
    const struct gcb_measured *bar = NULL;

    for (size_t i = 0; i < m->count; i++) {
        const struct gcb_measured *o = &m->items[i];

        if (o->order == x->order && o->baseline && (!bar || o->seconds < bar->seconds))
            bar = o;
    }
    return bar;
}

/* ---- rows ---- */

void gcb_measured_row(struct gcb_row *row, const struct gcb_measureds *all,
                      const struct gcb_measured *x, const struct gcb_network *network)
{
    const struct gcb_measured *bar = gcb_measured_bar(all, x);

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
    gcb_row_real(row, GCB_FIELD_GRADIENT_BYTES, x->gradient);
    gcb_row_text(row, GCB_FIELD_CODING, "ranks");
    gcb_row_real(row, GCB_FIELD_CODING_SECONDS, x->coding);
    gcb_row_real(row, GCB_FIELD_NETWORK_SECONDS, x->predicted_network);
    gcb_row_real(row, GCB_FIELD_SECONDS, x->predicted);
    gcb_row_real(row, GCB_FIELD_MEASURED_SECONDS, x->seconds);
    gcb_row_real(row, GCB_FIELD_MEASURED_SECONDS_LOW, x->low);
    gcb_row_real(row, GCB_FIELD_MEASURED_SECONDS_HIGH, x->high);
    gcb_row_real(row, GCB_FIELD_MEASURED_NETWORK_SECONDS, x->network);
    gcb_row_real(row, GCB_FIELD_MEASURED_RATIO, x->seconds / x->predicted);
    gcb_row_text(row, GCB_FIELD_BAR, bar ? bar->label : NULL);
    gcb_row_real(row, GCB_FIELD_SPEEDUP_BAR, x->predicted_x);
    gcb_row_real(row, GCB_FIELD_MEASURED_SPEEDUP_BAR, x->x);
}
