#include "src/tool/payoff/timed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"
#include "src/tool/plugin/plugin.h"
#include "src/tool/rows/results.h"

/* ---- reading rows ---- */

/* True if both methods have the same codec with the same parameters. The parameters of memory and
 * exchange may differ. */
static bool same_codec(const struct gcb_method *a, const struct gcb_method *b)
{
    const struct gcb_param *p;

    if (a->codec != b->codec)
        return false;
    for (size_t row = 0; (p = gcb_method_param(a, row)) && p != gcb_memory_table; row++)
        if ((a->value[row] < b->value[row] || a->value[row] > b->value[row]) &&
            (gcb_method_applies(a, row) || gcb_method_applies(b, row)))
            return false;
    return true;
}

static struct gcb_timed_method *find_same(const struct gcb_timed *t, const struct gcb_method *m)
{
    for (size_t i = 0; i < t->count; i++)
        if (same_codec(&t->items[i].method, m))
            return &t->items[i];
    return NULL;
}

/* Adds the figures of a row to those of its method. Until divide_sums, the figures of a method are
 * sums over its rows. */
static void add_sums(struct gcb_timed_method *m, const json_t *row, double elements)
{
    const double error = gcb_results_amount(row, GCB_FIELD_REL_L2);
    const double sum = gcb_results_amount(row, GCB_FIELD_SUM_SECONDS);
    const double sum16 = gcb_results_amount(row, GCB_FIELD_SUM16_SECONDS);

    m->elements += elements;
    m->bytes += gcb_results_amount(row, GCB_FIELD_WIRE_BYTES);
    m->encode += gcb_results_amount(row, GCB_FIELD_ENCODE_SECONDS);
    m->decode += gcb_results_amount(row, GCB_FIELD_DECODE_SECONDS);
    m->sum += sum; /* NAN if some row does not have it */
    m->finish += fmax(sum16 - 16.0 * sum, 0.0);
    m->error += error * error * elements;
    m->varies |= json_is_false(gcb_results_json(row, GCB_FIELD_FIXED_LENGTH));
}

/* Adds the figures of a `result` or `summary` row to those of its method. If rows of a method
 * differ in rank, only those of the highest rank count. */
static void add_result(struct gcb_timed *t, const struct gcb_results_row *row,
                       const struct gcb_method *method)
{
    const char *cache = gcb_results_text(row->json, GCB_FIELD_CACHE);
    const bool whole = row->kind == GCB_RECORD_RESULT;
    const int rank = 2 * (cache && strcmp(cache, "cold") == 0) + whole;
    const double elements = gcb_results_amount(row->json, GCB_FIELD_ELEMENTS);
    const double exchanges = gcb_results_amount(row->json, GCB_FIELD_EXCHANGES);
    struct gcb_timed_method *m = find_same(t, method);

    if (!whole && exchanges > 0.0)
        t->exchange_elements = fmax(t->exchange_elements, elements / exchanges);
    if (m && m->rank > rank)
        return;
    if (!m || m->rank < rank) {
        if (!m) {
            gcb_must_grow(&t->items, &t->cap, t->count, sizeof(*t->items));
            m = &t->items[t->count++];
        }
        *m = (struct gcb_timed_method){.method = *method, .rank = rank};
    }
    add_sums(m, row->json, elements);
}

/* Adds the way of a `replay` row. If the same way has several rows, the first row with the most
 * workers counts. */
static void add_replayed(struct gcb_timed *t, const json_t *row, const struct gcb_method *method)
{
    const double workers = gcb_results_amount(row, GCB_FIELD_WORKERS);
    const double steps = gcb_results_amount(row, GCB_FIELD_STEPS);
    struct gcb_ways *all = &t->replayed;
    struct gcb_way *way = gcb_ways_new(all, method, gcb_method_collective(method));

    way->workers = (unsigned)fmin(fmax(workers, 1.0), GCB_NETWORK_WORKERS);
    way->mean.error = gcb_results_amount(row, GCB_FIELD_ALPHA);
    way->mean.second_error = gcb_results_amount(row, GCB_FIELD_SECOND_ERROR);
    way->mean.bytes = gcb_results_amount(row, GCB_FIELD_REPLAY_LINK_BYTES) / (workers * steps);
    for (size_t i = 0; i + 1 < all->count; i++)
        if (gcb_method_equal(&all->items[i].method, &way->method)) {
            if (all->items[i].workers < way->workers)
                all->items[i] = *way;
            all->count--;
            break;
        }
}

/* True if the row has the same device, instruction set and number of threads as the first `result`
 * or `summary` row, from which t->where and t->device are set. Otherwise notes that the row is left
 * out. */
static bool accept_setting(struct gcb_timed *t, const json_t *row)
{
    const char *device = gcb_results_text(row, GCB_FIELD_DEVICE);
    const char *isa = gcb_results_text(row, GCB_FIELD_ISA);
    char where[sizeof(t->where)], shown[64], set[64];

    gcb_escape(shown, sizeof(shown), device ? device : "cpu");
    snprintf(where, sizeof(where), "%s, %s, %llu thread(s)", shown,
             gcb_escape(set, sizeof(set), isa ? isa : "?"),
             (unsigned long long)gcb_results_u64(row, GCB_FIELD_THREADS));
    if (!*t->where) {
        memcpy(t->where, where, sizeof(where));
        memcpy(t->device, shown, sizeof(t->device));
    }
    if (strcmp(t->where, where) == 0)
        return true;
    gcb_leave_out(t->left_out, where, "the first rows are of another setting");
    return false;
}

/* Takes the bandwidth of copies from the first row that has it, and the GPU and the date from the
 * first row with a date. */
static void read_environment(struct gcb_timed *t, const json_t *row)
{
    const char *gpu = gcb_results_text(row, GCB_FIELD_GPU);
    const char *date = gcb_results_text(row, GCB_FIELD_DATE);
    const double on_gpu = gcb_results_amount(row, GCB_FIELD_GPU_COPY_GBPS);
    /* the bandwidth on a GPU counts each byte twice: when it is read and when it is written */
    const double copy = on_gpu > 0.0 ? on_gpu / 2.0 : gcb_results_amount(row, GCB_FIELD_COPY_GBPS);

    if (copy > 0.0 && !(t->copy > 0.0))
        t->copy = 1e9 * copy;
    if (*t->date)
        return;
    gcb_escape(t->gpu, sizeof(t->gpu), gpu ? gpu : "");
    snprintf(t->date, sizeof(t->date), "%.10s", date ? date : "");
}

/* True if a `replay` row has an error, bytes and steps. */
static bool is_whole(const json_t *row)
{
    return gcb_results_amount(row, GCB_FIELD_ALPHA) >= 0.0 &&
           gcb_results_amount(row, GCB_FIELD_REPLAY_LINK_BYTES) >= 0.0 &&
           gcb_results_amount(row, GCB_FIELD_STEPS) >= 1.0;
}

/* Returns why the row cannot be used; NULL if it can be used. method->codec is NULL if the spec is
 * not valid. */
static const char *refusal_of(const struct gcb_results_row *row, const struct gcb_method *method)
{
    const char *status = gcb_results_text(row->json, GCB_FIELD_STATUS);

    if (!method->codec)
        return gcb_results_json(row->json, GCB_FIELD_POLICY) ? "`replay` judges policies"
                                                             : "another build's method";
    if (status && strcmp(status, "ok") != 0)
        return "it failed";
    if (row->kind == GCB_RECORD_REPLAY)
        return is_whole(row->json) ? NULL : "no error or no bytes";
    if (!(gcb_results_amount(row->json, GCB_FIELD_ELEMENTS) > 0.0))
        return "no elements";
    if (!(gcb_results_amount(row->json, GCB_FIELD_ENCODE_SECONDS) >= 0.0) ||
        !(gcb_results_amount(row->json, GCB_FIELD_DECODE_SECONDS) >= 0.0))
        return "no times";
    return gcb_results_amount(row->json, GCB_FIELD_WIRE_BYTES) > 0.0 ? NULL : "no bytes";
}

/* Reads a row of any record into the struct gcb_timed `ctx`: gcb_results_visit_fn. */
static int read_row(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    struct gcb_timed *t = ctx;
    const char *name = gcb_results_text(row->json, GCB_FIELD_METHOD), *why;
    const char *spec = gcb_results_text(row->json, GCB_FIELD_SPEC);
    struct gcb_method method = {.codec = NULL};

    if (row->kind == GCB_RECORD_ENVIRONMENT) {
        read_environment(t, row->json);
        return 0;
    }
    if (row->kind == GCB_RECORD_EXCHANGE)
        return gcb_measured_add(t->measured, row, diag);
    if (row->kind != GCB_RECORD_RESULT && row->kind != GCB_RECORD_SUMMARY &&
        row->kind != GCB_RECORD_REPLAY) /* a record that this version does not know */
        return 0;
    if (!name || !spec)
        return gcb_diag_locate(
            diag, gcb_diag_set(diag, GCB_E_CORRUPT, "a %s without method and spec", row->record),
            row->path, "line", row->line);
    if (strcmp(name, "memcpy") == 0)
        return 0; /* measures the machine, not a method */
    if (gcb_plugin_read(&method, spec, NULL) || gcb_method_check(&method, NULL))
        method.codec = NULL;
    why = refusal_of(row, &method);
    if (why) {
        gcb_leave_out(t->left_out, name, why);
        return 0;
    }
    if (row->kind == GCB_RECORD_REPLAY)
        add_replayed(t, row->json, &method);
    else if (accept_setting(t, row->json))
        add_result(t, row, &method);
    return 0;
}

/* Turns the sums over rows into figures for each element, and into the error of all elements. */
static void divide_sums(struct gcb_timed *t)
{
    for (size_t i = 0; i < t->count; i++) {
        struct gcb_timed_method *m = &t->items[i];

        m->bytes /= m->elements;
        m->encode /= m->elements;
        m->decode /= m->elements;
        m->sum /= m->elements;
        m->finish /= m->elements;
        m->error = sqrt(m->error / m->elements);
    }
}

int gcb_timed_read(struct gcb_timed *t, const char *const *paths, size_t count,
                   struct gcb_measureds *measured, struct gcb_diag *diag)
{
    const unsigned records =
        GCB_RECORD_BIT(GCB_RECORD_ENVIRONMENT) | GCB_RECORD_BIT(GCB_RECORD_RESULT) |
        GCB_RECORD_BIT(GCB_RECORD_SUMMARY) | GCB_RECORD_BIT(GCB_RECORD_REPLAY) |
        (measured ? GCB_RECORD_BIT(GCB_RECORD_EXCHANGE) : 0);
    int err = 0;

    *t = (struct gcb_timed){.copy = (double)NAN, .measured = measured};
    for (size_t i = 0; !err && i < count; i++)
        err = gcb_results_read(NULL, paths[i], records, read_row, t, diag);
    divide_sums(t);
    return err;
}

void gcb_timed_fini(struct gcb_timed *t)
{
    gcb_free(t->items);
    gcb_ways_fini(&t->replayed);
    memset(t, 0, sizeof(*t));
}

/* ---- costs of ways ---- */

/* True if the times of one method are a guide to those of another: they have the same codec and
 * preset. The presets of qsgd differ only in their parameters, so all of them are related. */
static bool is_related(const struct gcb_method *a, const struct gcb_method *b)
{
    return a->codec == b->codec &&
           (a->preset == b->preset || !a->codec->presets || strcmp(a->codec->name, "qsgd") == 0);
}

/* Finds the timed setting of a method, or else the related one with the nearest bytes. NULL: there
 * is none. */
static const struct gcb_timed_method *find_nearest(const struct gcb_timed *t,
                                                   const struct gcb_method *method, double bytes)
{
    const struct gcb_timed_method *best = find_same(t, method);

    if (best)
        return best;
    for (size_t i = 0; i < t->count; i++) {
        const struct gcb_timed_method *m = &t->items[i];

        if (is_related(&m->method, method) &&
            (!best || fabs(log(m->bytes / bytes)) < fabs(log(best->bytes / bytes))))
            best = m;
    }
    return best;
}

/* Returns the times of an ideal coder, which only waits for memory: it reads each byte once and
 * writes each byte once. `bytes` is the size of a message for each element. */
static struct gcb_timed_method ideal_times(const struct gcb_timed *t,
                                           const struct gcb_method *method, double bytes)
{
    const bool plain = method->codec->baseline && gcb_method_caps(method) & GCB_CAP_LOSSLESS;

    return (struct gcb_timed_method){
        .bytes = bytes,
        .encode = plain ? 0.0 : (4.0 + bytes) / t->memory,
        .decode = (4.0 + (plain ? 4.0 : bytes)) / t->memory, /* fp32: only divides the sum */
        .sum = bytes / t->memory,                            /* reads a message */
        .finish = 4.0 / t->memory, /* writes the sum, after all messages */
    };
}

/* Returns the seconds for each element to add one array, of `bytes` bytes for each element, to
 * another: an addition moves three bytes where a copy moves two. 0 if the bandwidth is unknown. */
static double adding_time(const struct gcb_timed *t, double bytes)
{
    /* bytes copied per second; t->memory counts each byte twice: when it is read and written */
    const double copy = t->memory > 0.0 ? t->memory / 2.0 : t->copy;

    return copy > 0.0 ? 1.5 * bytes / copy : 0.0;
}

bool gcb_timed_cost(struct gcb_cost *out, const struct gcb_timed *t,
                    const struct gcb_method *method, enum gcb_collective collective, double bytes)
{
    const struct gcb_timed_method *found =
        isnan(bytes) ? find_same(t, method) : find_nearest(t, method, bytes);
    struct gcb_timed_method m;
    double scale;

    if (t->memory > 0.0)
        m = ideal_times(t, method, bytes);
    else if (found)
        m = *found;
    else
        return false;
    bytes = isnan(bytes) ? m.bytes : bytes;
    scale = (4.0 + bytes) / (4.0 + m.bytes);
    if (isnan(m.sum)) /* a worker decodes a message, and adds the result as fp32 */
        m.sum = m.decode + adding_time(t, 4.0);
    *out = (struct gcb_cost){.code = m.encode * scale, .combine = adding_time(t, bytes)};
    switch (gcb_collectives[collective].sends) {
    case GCB_SENDS_MESSAGES:
        out->add_each = m.sum * scale;
        out->add = m.finish * scale;
        break;
    case GCB_SENDS_VALUES:
        out->decode = m.decode * scale;
        break;
    case GCB_SENDS_SHARES:
        out->add = m.sum * scale;
        out->code_share = (m.finish + m.encode) * scale;
        out->decode = m.decode * scale;
        break;
    case GCB_SENDS_HOPS:
        out->add = (m.decode + adding_time(t, 4.0)) * scale;
        out->decode = m.decode * scale;
        break;
    case GCB_SENDS_SUMS: /* a worker adds about twice what it sends */
        out->add = (2.0 * m.sum + m.finish) * scale;
    }
    return true;
}

void gcb_ways_take_times(struct gcb_ways *w, const struct gcb_timed *t)
{
    for (size_t i = 0; i < w->count; i++) {
        struct gcb_way *way = &w->items[i];

        if (gcb_timed_cost(&way->cost, t, &way->method, way->collective, way->mean.bytes))
            continue;
        way->cost.code = -1.0;
        gcb_leave_out(w->left_out, way->method.name, "no times");
    }
    w->round_count = 0;
    w->add_fp32 = adding_time(t, 4.0);
}

/* ---- ways from rows ---- */

/* True if a worker sends as many bytes as its messages have, which `result` rows tell. */
static bool sends_messages(const struct gcb_method *m, enum gcb_sends sends)
{
    if (sends == GCB_SENDS_VALUES)
        return m->codec->baseline || gcb_method_caps(m) & GCB_CAP_LINEAR;
    return sends != GCB_SENDS_SUMS;
}

/* Adds a way of a timed method. Adds none if its bytes are unknown, or if its error is unknown and
 * the method is no baseline. `replayed`: the way as it was replayed, with its memory, error and
 * bytes; NULL: it was not replayed. */
static void add_way(struct gcb_ways *w, const struct gcb_timed *t, const struct gcb_timed_method *m,
                    const struct gcb_way *replayed, enum gcb_collective collective)
{
    const enum gcb_sends sends = gcb_collectives[collective].sends;
    const bool values = sends == GCB_SENDS_VALUES, shares = sends == GCB_SENDS_SHARES;
    const bool own = sends_messages(&m->method, sends);
    struct gcb_way *way;

    /* if a worker sends something else than its messages, only a replay says how many bytes */
    if ((!replayed || !(t->exchange_elements > 0.0)) && !own)
        return;
    if (!replayed && isnan(m->error) && !m->method.codec->baseline) {
        gcb_leave_out(w->left_out, m->method.name, "no error");
        return;
    }
    way = gcb_ways_new(w, replayed ? &replayed->method : &m->method, collective);
    way->workers = replayed ? replayed->workers : 1;
    way->mean.bytes = m->bytes;
    /* the best all-reduce puts 2 (n - 1) / n times a worker's bytes on its link, and a sparse one
     * (n - 1) / n times */
    if (!own && way->workers > 1)
        way->mean.bytes = replayed->mean.bytes / t->exchange_elements * way->workers /
                          (way->workers - 1.0) / (values ? 2.0 : 1.0);
    way->mean.varies = m->varies && !values;
    way->mean.error = replayed ? replayed->mean.error : m->error * (shares ? sqrt(2.0) : 1.0);
    if (shares)
        way->mean.second_error = replayed ? replayed->mean.second_error : m->error;
}

/* Adds a way for each memory that the method was replayed with. If it was not replayed, adds one
 * way, except for a collective that must be named. */
static void add_ways(struct gcb_ways *w, const struct gcb_timed *t,
                     const struct gcb_timed_method *m, enum gcb_collective collective)
{
    bool replayed = false;

    for (size_t i = 0; i < t->replayed.count; i++) {
        const struct gcb_way *way = &t->replayed.items[i];

        if (way->collective == collective && same_codec(&way->method, &m->method)) {
            replayed = true;
            add_way(w, t, m, way, collective);
        }
    }
    if (!replayed && !gcb_collectives[collective].named)
        add_way(w, t, m, NULL, collective);
}

void gcb_ways_from_rows(struct gcb_ways *w, const struct gcb_timed *t)
{
    memcpy(w->left_out, t->left_out, sizeof(w->left_out));
    for (size_t i = 0; i < t->count; i++) {
        const struct gcb_timed_method *m = &t->items[i];
        const unsigned collectives = m->method.codec->baseline
                                         ? GCB_COLLECTIVE_BIT((unsigned)GCB_COLLECTIVE_ALLREDUCE)
                                         : gcb_method_collectives(&m->method);

        for (unsigned c = 0; c < GCB_COLLECTIVES; c++)
            if (collectives & GCB_COLLECTIVE_BIT(c))
                add_ways(w, t, m, c);
    }
    gcb_ways_take_times(w, t);
    w->dump.all = (uint64_t)fmin(t->exchange_elements, 0x1p60);
    gcb_ways_label(w);
}
