#include "src/tool/exchange/lanes.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "src/lib/base/diag.h"
#include "src/lib/base/text.h"
#include "src/tool/base/clock.h"
#include "src/tool/base/memory.h"
#include "src/tool/exchange/check.h"
#include "src/tool/run/input.h"
#include "src/tool/run/promises.h"

/* ---- the gradients ---- */

int gcb_load_init(struct gcb_load *load, struct gcb_diag *diag)
{
    const struct gcb_message_plan *m = load->layout->messages;
    struct gcb_layout first = *load->layout;
    const struct gcb_replay_order order = {.workers = 0};
    int err;

    for (first.count = 0; first.count < load->layout->count; first.count++)
        if (m[first.count].step != m[0].step)
            break;
    err = gcb_replay_plan_init(&load->plan, load->source, &first, &order, NULL, diag);
    load->plan.layout = load->layout; /* has the messages of `first`, which is local */
    load->elements = load->input_bytes = 0;
    for (size_t j = 0; !err && j < load->plan.messages; j++) {
        load->elements += m[j].count;
        load->input_bytes += m[j].input_bytes;
    }
    return err;
}

void gcb_load_fini(struct gcb_load *load)
{
    gcb_free(load->plan.recorded);
    memset(load, 0, sizeof(*load));
}

/* Returns message j of a worker, borrowed from the layout. */
static const struct gcb_message_plan *load_message(const struct gcb_load *load, unsigned worker,
                                                   size_t j)
{
    return gcb_replay_message_at(&load->plan, 0, worker, j);
}

/* Writes the gradient of message j of a worker to x, which has room for the elements of the
 * message. Returns 0 or an error of reading. */
static int load_read(const struct gcb_load *load, unsigned worker, size_t j, float *x,
                     struct gcb_diag *diag)
{
    const struct gcb_message_plan *plan = load_message(load, worker, j);
    struct gcb_source *own;
    int err;

    if (!load->synthetic)
        return gcb_layout_read(load->source, plan, x, diag);
    err = gcb_source_open_synthetic(&own, load->synthetic, 1, load->seed + worker, diag);
    if (err)
        return err;
    err = gcb_layout_read(own, plan, x, diag);
    gcb_source_close(own);
    return err;
}

uint64_t gcb_load_hash(const struct gcb_load *load)
{
    XXH64_hash_t hash = load->plan.workers;

    for (size_t j = 0; j < load->plan.messages; j++) {
        const struct gcb_message_plan *m = load_message(load, 0, j);
        const char *name = gcb_plan_name(m, load->source);

        hash = XXH3_64bits_withSeed(name, strlen(name),
                                    (hash ^ m->count) + 2 * (uint64_t)m->dtype + m->dense);
    }
    return hash;
}

/* ---- the state and the times of a rank ---- */

/* A message of a lane, on this rank. */
struct message {
    size_t number; /* index among a worker's messages */
    const struct gcb_message_plan *plan;
    uint64_t at;                     /* index of its first element in the arrays of `measuring` */
    const struct gcb_method *method; /* the lane's; identity for a message that is sent dense */
    struct gcb_exchange *exchange;
    bool fixed; /* all ranks send `bytes` bytes in an all-gather */
    /* in an all-gather: the length that this rank's encoder always gives; 0: the length varies */
    size_t bytes;
};

/* The state of gcb_lanes_measure on this rank. */
struct measuring {
    const struct gcb_lanes_config *config;
    struct gcb_net *net;
    const struct gcb_load *load;
    unsigned rank, ranks;
    struct gcb_method dense;
    struct message *messages; /* of the first lane, then of the next lanes */
    /* the gradient, the update, and room for another update; each has all messages one after the
     * other; one allocation */
    float *x, *update, *scratch;
    uint64_t *hashes; /* of each rank's gradient of the message that is checked */
    uint64_t step;
    struct gcb_diag *diag;
};

/* One exchange of all messages of a lane. */
struct pass {
    struct measuring *all;
    struct gcb_lane *lane;
    struct message *messages;
    bool phased; /* with a barrier before each round */
    bool first;  /* the first exchange of the lane */
    double times[GCB_TIMES];
    struct gcb_traffic *traffic; /* what this rank sends is added here; NULL: not counted */
    struct gcb_check *check;     /* records what arrives; may be NULL */
};

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Adds the elapsed time since `begin` to the time of `phase`, and the processor time since `cpu` to
 * GCB_TIME_CPU. */
static void add_times(struct pass *pass, enum gcb_time phase, double begin, double cpu)
{
    pass->times[phase] += gcb_clock() - begin;
    pass->times[GCB_TIME_CPU] += cpu_seconds() - cpu;
}

/* ---- opening and clearing a lane ---- */

/* Creates a worker's exchange of a message. */
static int open_one(const struct measuring *r, struct gcb_exchange **out,
                    const struct gcb_method *method, unsigned worker,
                    const struct gcb_message_plan *plan)
{
    const struct gcb_output_layers none = {NULL, 0};
    struct gcb_exchange_config config = {
        .coder = {.nonfinite = GCB_NONFINITE_ERROR,
                  .source = plan->dtype,
                  .checksum = true}, /* as in the messages of other commands */
        .workers = r->ranks,
        .worker = worker,
    };
    int err;

    gcb_plan_env(&config.coder.env, &r->config->compute, r->load->source, plan, &none);
    err = gcb_exchange_create(out, method, &config, r->diag);
    return err ? gcb_plan_explain(err, method->name, plan, r->load->source, r->diag) : 0;
}

/* Creates this rank's exchanges of a lane, and makes room for its samples. */
static int open_lane(struct measuring *r, struct gcb_lane *lane, struct message *messages)
{
    double *samples = gcb_must_zero(GCB_TIMES * (uint64_t)r->config->repeats, sizeof(*samples));
    uint64_t at = 0;
    int err = 0;

    for (int t = 0; t < GCB_TIMES; t++)
        lane->samples[t] = samples + (size_t)t * r->config->repeats;
    lane->exact = gcb_net_simulated(r->net);
    for (size_t j = 0; !err && j < r->load->plan.messages; j++) {
        const struct gcb_message_plan *plan = load_message(r->load, r->rank, j);
        struct message *m = &messages[j];

        *m = (struct message){.number = j, .plan = plan, .at = at};
        m->method = plan->dense ? &r->dense : &lane->method;
        at += plan->count;
        err = open_one(r, &m->exchange, m->method, r->rank, plan);
        if (!err && gcb_method_collective(m->method) == GCB_COLLECTIVE_ALLGATHER)
            m->bytes = gcb_coder_length(gcb_exchange_encoder(m->exchange));
    }
    return err;
}

void gcb_lane_clear(struct gcb_lane *lane)
{
    gcb_free(lane->samples[0]);
    *lane = (struct gcb_lane){.method = lane->method, .algorithm = lane->algorithm};
}

/* ---- exchanging a message ---- */

/* Ends all ranks if this rank has failed, because other ranks may already wait for this rank. */
static void must(const struct measuring *r, int err)
{
    if (err)
        gcb_net_abort(r->diag);
}

/* Returns this rank's part of the bytes on all links. Only rank 0 counts those of an all-reduce. */
static uint64_t link_bytes(const struct measuring *r, const struct gcb_round *round)
{
    const uint64_t others = r->ranks - 1;

    switch (round->kind) {
    case GCB_ROUND_GATHER:
        return others * round->bytes;
    case GCB_ROUND_SCATTER:
        return round->bytes - round->parts[r->rank];
    case GCB_ROUND_SHIFT:
        return round->bytes;
    default:
        return r->rank ? 0 : 2 * others * round->bytes;
    }
}

/* Adds what this rank sends in a round to the traffic. `fixed`: ranks need not exchange lengths. */
static void count_traffic(struct pass *pass, const struct gcb_round *round, bool fixed)
{
    struct gcb_traffic *t = pass->traffic;

    t->given += round->bytes;
    if (round->kind != GCB_ROUND_SCATTER)
        t->rounds[round->kind]++;
    for (unsigned w = 0; round->kind == GCB_ROUND_SCATTER && w < pass->all->ranks; w++)
        t->rounds[round->kind] += w != pass->all->rank && round->parts[w];
    t->bytes[round->kind] += link_bytes(pass->all, round);
    t->sizes += round->kind == GCB_ROUND_SCATTER || (round->kind == GCB_ROUND_GATHER && !fixed);
}

/* Moves the bytes of a round, and passes what arrived to the exchange. */
static void run_round(struct pass *pass, const struct message *m, const struct gcb_round *round)
{
    const struct measuring *r = pass->all;
    const bool shift = round->kind == GCB_ROUND_SHIFT;
    const unsigned count = shift || round->kind == GCB_ROUND_REDUCE ? 1 : r->ranks;
    const struct gcb_arrival *arrived;
    double begin, sizes, moved, cpu;

    if (m->fixed && round->bytes != m->bytes)
        must(r, gcb_diag_set(r->diag, GCB_E_UNSUPPORTED,
                             "%s sent a tensor raw, but other ranks do not expect its length",
                             m->method->name));
    if (pass->phased)
        gcb_net_barrier(r->net);
    begin = gcb_clock();
    must(r,
         gcb_net_move(r->net, pass->lane->algorithm, round, m->fixed, &arrived, &sizes, r->diag));
    moved = gcb_clock();
    pass->times[GCB_TIME_SIZES] += sizes;
    pass->times[GCB_TIME_WIRE] += moved - begin - sizes;
    if (pass->traffic)
        count_traffic(pass, round, m->fixed);
    if (pass->check)
        gcb_check_record(pass->check, round, arrived);
    cpu = cpu_seconds();
    begin = gcb_clock();
    for (unsigned w = 0; w < count; w++)
        must(r, gcb_exchange_receive(m->exchange, shift ? round->from : w, arrived[w].data,
                                     arrived[w].length, r->diag));
    add_times(pass, GCB_TIME_SUM, begin, cpu);
}

/* Calls gcb_exchange_next, adds its time to that of encoding, and returns its result. */
static int next_round(struct pass *pass, struct gcb_exchange *e, struct gcb_round *round)
{
    const double begin = gcb_clock(), cpu = cpu_seconds();
    const int more = gcb_exchange_next(e, round, pass->all->diag);

    add_times(pass, GCB_TIME_ENCODE, begin, cpu);
    return more;
}

/* In a simulated cluster, waits as long as coding the message would take. `seconds` is the time for
 * all messages; 0: no wait. */
static void simulate_coding(const struct pass *pass, double seconds, const struct message *m)
{
    if (seconds > 0.0)
        gcb_clock_wait(seconds * (double)m->plan->count / (double)pass->all->load->elements);
}

/* Exchanges a message. If a rank fails before the first round of the lane's first exchange of this
 * message, all ranks return the error of that rank. Any other error ends all ranks. */
static int run_message(struct pass *pass, const struct message *m)
{
    struct measuring *r = pass->all;
    struct gcb_round round = {.size = sizeof(round)};
    double begin = gcb_clock(), cpu = cpu_seconds();
    unsigned rounds = 0;
    int more = 0, err = gcb_exchange_begin(m->exchange, r->step, r->x + m->at, r->diag);

    simulate_coding(pass, pass->lane->encode, m);
    add_times(pass, GCB_TIME_ENCODE, begin, cpu);
    if (err)
        gcb_plan_explain(err, m->method->name, m->plan, r->load->source, r->diag);
    else
        more = next_round(pass, m->exchange, &round);
    if (more < 0)
        err = more;
    if (pass->first)
        err = gcb_net_agree(r->net, err, r->diag);
    else
        must(r, err);
    if (err)
        return err;
    for (; more == 1; more = next_round(pass, m->exchange, &round)) {
        run_round(pass, m, &round);
        rounds++;
    }
    must(r, more);
    begin = gcb_clock();
    cpu = cpu_seconds();
    must(r, gcb_exchange_finish(m->exchange, r->update + m->at, r->diag));
    simulate_coding(pass, pass->lane->sum, m);
    add_times(pass, GCB_TIME_SUM, begin, cpu);
    if (pass->first && rounds > pass->lane->rounds)
        pass->lane->rounds = rounds;
    return 0;
}

/* ---- the exchange that is checked ---- */

/* Reads worker w's gradient of message j on this rank. Fails if rank w has read other values. */
static int read_again(const struct measuring *r, unsigned w, size_t j, float *x)
{
    const struct gcb_message_plan *plan = load_message(r->load, w, j);
    const int err = load_read(r->load, w, j, x, r->diag);

    if (err || XXH3_64bits(x, plan->count * sizeof(*x)) == r->hashes[w])
        return err;
    return gcb_invalid(
        r->diag,
        "rank %u has read other values of %s: all ranks need the same file, which must not change",
        w, gcb_show(gcb_plan_name(plan, r->load->source)).text);
}

/* Runs the exchanges of all workers on this rank, and writes worker 0's update. */
static int run_serial(struct measuring *r, struct gcb_check *check, const struct message *m,
                      float *update)
{
    const uint64_t n = m->plan->count;
    struct gcb_exchange **all = gcb_must_zero(r->ranks, sizeof(*all));
    float *x = gcb_alloc_array(n * r->ranks, sizeof(*x));
    int err = 0;

    if (!x)
        err = gcb_diag_nomem(r->diag, n * r->ranks * sizeof(*x),
                             "the gradients of all workers, to check the exchange (--no-serial "
                             "leaves that out)");
    for (unsigned w = 0; !err && w < r->ranks; w++) {
        err = open_one(r, &all[w], m->method, w, load_message(r->load, w, m->number));
        if (!err)
            err = read_again(r, w, m->number, x + w * n);
        if (!err)
            err = gcb_exchange_begin(all[w], r->step, x + w * n, r->diag);
    }
    if (!err)
        err = gcb_check_serial(check, all, r->diag);
    if (!err)
        err = gcb_exchange_finish(all[0], update, r->diag);
    for (unsigned w = 0; w < r->ranks; w++)
        gcb_exchange_close(all[w]);
    gcb_free(all);
    gcb_free(x);
    return err;
}

/* Compares the updates of all ranks with that of rank 0, and counts the elements that differ. */
static void compare_ranks(const struct measuring *r, struct gcb_lane *lane)
{
    const uint64_t n = r->load->elements;
    uint64_t differ = 0;

    if (gcb_net_same(r->net, XXH3_64bits(r->update, n * sizeof(*r->update))))
        return;
    memcpy(r->scratch, r->update, n * sizeof(*r->scratch));
    gcb_net_spread(r->net, r->scratch, n * sizeof(*r->scratch));
    differ = gcb_promise_differing(r->scratch, r->update, n);
    gcb_net_add(r->net, &differ, 1);
    lane->wrong += differ;
}

/* Exchanges a message for the first time, and compares rank 0's update with that of a serial
 * exchange, if one is run. */
static int check_message(struct pass *pass, struct message *m)
{
    struct measuring *r = pass->all;
    const uint64_t given = pass->traffic->given, n = m->plan->count;
    uint64_t expected;
    int err = run_message(pass, m);

    if (err)
        return err;
    /* from now on, ranks need not exchange lengths if each has sent the length that its encoder
     * always gives, and all have sent the same length */
    expected = pass->traffic->given - given == m->bytes ? m->bytes : 0;
    m->fixed = gcb_net_same(r->net, expected) && expected;
    /* each rank's array has only its own hash and zeros, so the sum has the hashes of all ranks */
    memset(r->hashes, 0, r->ranks * sizeof(*r->hashes));
    r->hashes[r->rank] = XXH3_64bits(r->x + m->at, n * sizeof(*r->x));
    gcb_net_add(r->net, r->hashes, (int)r->ranks);
    if (pass->check) {
        err = run_serial(r, pass->check, m, r->scratch + m->at);
        if (!err)
            pass->lane->wrong += gcb_promise_differing(r->scratch + m->at, r->update + m->at, n);
        gcb_check_clear(pass->check);
    }
    return gcb_net_agree(r->net, err, r->diag);
}

/* Runs and checks the first exchange of a lane. */
static int check_lane(struct measuring *r, struct gcb_lane *lane, struct message *messages)
{
    struct gcb_check check = {.workers = r->ranks};
    struct pass pass = {
        .all = r,
        .lane = lane,
        .messages = messages,
        .first = true,
        .traffic = &lane->first,
        .check = r->config->serial && r->rank == 0 ? &check : NULL,
    };
    int err = 0;

    r->step = 0;
    for (size_t j = 0; !err && j < r->load->plan.messages; j++)
        err = check_message(&pass, &messages[j]);
    gcb_check_fini(&check);
    if (err)
        return err;
    gcb_net_spread(r->net, &lane->wrong, sizeof(lane->wrong)); /* only rank 0 has counted */
    compare_ranks(r, lane);
    lane->verified = r->config->serial;
    return 0;
}

/* ---- the timed exchanges ---- */

/* Exchanges all messages once, as step r->step, and compares the updates of all ranks. */
static void run_pass(struct pass *pass)
{
    struct measuring *r = pass->all;
    double begin;

    gcb_net_barrier(r->net);
    begin = gcb_clock();
    for (size_t j = 0; j < r->load->plan.messages; j++)
        run_message(pass, &pass->messages[j]);
    pass->times[GCB_TIME_WHOLE] = gcb_clock() - begin;
    compare_ranks(r, pass->lane);
    r->step++;
}

/* Runs one repeat of a lane, which is two steps, and takes its samples. */
static void time_lane(struct measuring *r, struct gcb_lane *lane, struct message *messages)
{
    struct pass whole = {.all = r, .lane = lane, .messages = messages};
    struct pass phased = {
        .all = r, .lane = lane, .messages = messages, .phased = true, .traffic = &lane->timed};

    run_pass(&whole);
    run_pass(&phased);
    phased.times[GCB_TIME_WHOLE] = whole.times[GCB_TIME_WHOLE];
    gcb_net_max(r->net, phased.times, GCB_TIMES);
    for (int t = 0; t < GCB_TIMES; t++)
        lane->samples[t][lane->repeats] = phased.times[t];
    lane->repeats++;
}

/* Runs the repeats of all lanes in turn, until all are done or config->seconds have passed. */
static void time_lanes(struct measuring *r, struct gcb_lane *lanes, size_t count)
{
    const double begin = gcb_clock();
    uint64_t step = 1;

    for (size_t k = 0; k < r->config->repeats; k++, step += 2) {
        if (k && gcb_net_is_late(r->net, begin, r->config->seconds))
            return;
        for (size_t i = 0; i < count; i++) {
            r->step = step; /* all lanes have the same steps */
            time_lane(r, &lanes[i], &r->messages[i * r->load->plan.messages]);
        }
        r->config->progress(r->config->ctx, (double)(k + 1) / (double)r->config->repeats);
    }
}

/* ---- measuring all lanes ---- */

/* Reads the gradients of this rank and creates its exchanges. Fails on all ranks if it fails on
 * one. */
static int prepare(struct measuring *r, struct gcb_lane *lanes, size_t count)
{
    const size_t messages = r->load->plan.messages;
    const uint64_t n = r->load->elements;
    uint64_t at = 0;
    int err = gcb_method_parse(&r->dense, "identity", r->diag);

    r->messages = gcb_must_zero(count * messages, sizeof(*r->messages));
    r->x = gcb_alloc_array(3 * n, sizeof(*r->x));
    r->hashes = gcb_must_array(r->ranks, sizeof(*r->hashes));
    if (!err && !r->x)
        err = gcb_diag_nomem(r->diag, 3 * n * sizeof(float), "the gradients of a worker");
    r->update = err ? NULL : r->x + n;
    r->scratch = err ? NULL : r->update + n;
    for (size_t j = 0; !err && j < messages; j++) {
        err = load_read(r->load, r->rank, j, r->x + at, r->diag);
        at += load_message(r->load, r->rank, j)->count;
    }
    for (size_t i = 0; !err && i < count; i++)
        err = open_lane(r, &lanes[i], &r->messages[i * messages]);
    return gcb_net_agree(r->net, err, r->diag);
}

static void add_traffic(struct gcb_net *net, struct gcb_traffic *t)
{
    gcb_net_add(net, &t->given, 1);
    gcb_net_add(net, t->rounds, GCB_ROUND_KINDS);
    gcb_net_add(net, t->bytes, GCB_ROUND_KINDS);
    gcb_net_add(net, &t->sizes, 1);
}

int gcb_lanes_measure(const struct gcb_lanes_config *config, struct gcb_lane *lanes, size_t count,
                      struct gcb_diag *diag)
{
    struct measuring r = {
        .config = config,
        .net = config->net,
        .load = config->load,
        .rank = gcb_net_rank(config->net),
        .ranks = gcb_net_ranks(config->net),
        .diag = diag,
    };
    const size_t messages = config->load->plan.messages;
    int err = prepare(&r, lanes, count);

    for (size_t i = 0; !err && i < count; i++)
        err = check_lane(&r, &lanes[i], &r.messages[i * messages]);
    if (!err)
        time_lanes(&r, lanes, count);
    for (size_t i = 0; !err && i < count; i++) {
        add_traffic(r.net, &lanes[i].first);
        add_traffic(r.net, &lanes[i].timed);
    }
    for (size_t j = 0; r.messages && j < count * messages; j++)
        gcb_exchange_close(r.messages[j].exchange);
    gcb_free(r.messages);
    gcb_free(r.x);
    gcb_free(r.hashes);
    return err;
}

/* ---- the times of a simulated cluster ---- */

int gcb_lane_take_times(struct gcb_lane *lane, const struct gcb_timed *rows, const char *path,
                        unsigned workers, double elements, struct gcb_diag *diag)
{
    const double n = workers;
    const enum gcb_collective collective = gcb_method_collective(&lane->method);
    const bool ring = collective == GCB_COLLECTIVE_RING, tree = collective == GCB_COLLECTIVE_TREE;
    /* number of gradients that a worker adds one after the other, in a ring or tree: a ring adds
     * n - 1 shares of 1/n of a gradient; a tree also encodes before each sum */
    const double sums = ring ? (n - 1.0) / n : ceil(log2(n));
    struct gcb_cost cost;
    char spec[512];

    if (!gcb_timed_cost(&cost, rows, &lane->method, collective, NAN))
        return gcb_invalid(
            diag, "%s has no times of %s; measure them: gcbench bench --method %s --results FILE",
            path, gcb_method_spec(spec, sizeof(spec), &lane->method, GCB_SPEC_GIVEN), spec);
    lane->encode = elements * (cost.code * (tree ? sums + 1.0 : 1.0) + cost.code_share / n);
    lane->sum =
        elements * (cost.decode + cost.add * (ring || tree ? sums : 1.0) + cost.add_each * n);
    if (gcb_collectives[collective].sends == GCB_SENDS_VALUES) /* ranks add the values they move */
        lane->sum += elements * cost.combine * (n - 1.0) / n;
    return 0;
}

/* ---- statistics and rows ---- */

struct gcb_stats gcb_lane_stats(const struct gcb_lane *lane, enum gcb_time time)
{
    struct gcb_stats s = gcb_stats_make(lane->samples[time], lane->repeats);

    if (lane->exact)
        s.low = s.high = s.median;
    return s;
}

static void put_times(struct gcb_row *row, const struct gcb_lane *lane)
{
    static const struct {
        enum gcb_time time;
        enum gcb_field seconds, low, high;
    } intervals[] = {
        {GCB_TIME_WHOLE, GCB_FIELD_SECONDS, GCB_FIELD_SECONDS_LOW, GCB_FIELD_SECONDS_HIGH},
        {GCB_TIME_ENCODE, GCB_FIELD_ENCODE_SECONDS, GCB_FIELD_ENCODE_SECONDS_LOW,
         GCB_FIELD_ENCODE_SECONDS_HIGH},
        {GCB_TIME_WIRE, GCB_FIELD_WIRE_SECONDS, GCB_FIELD_WIRE_SECONDS_LOW,
         GCB_FIELD_WIRE_SECONDS_HIGH},
        {GCB_TIME_SUM, GCB_FIELD_SUM_SECONDS, GCB_FIELD_SUM_SECONDS_LOW,
         GCB_FIELD_SUM_SECONDS_HIGH},
    };
    struct gcb_stats s = gcb_lane_stats(lane, GCB_TIME_WHOLE);

    gcb_row_real(row, GCB_FIELD_SECONDS_MIN, s.min);
    gcb_row_real(row, GCB_FIELD_SECONDS_MAX, s.max);
    for (size_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
        s = gcb_lane_stats(lane, intervals[i].time);
        gcb_row_real(row, intervals[i].seconds, s.median);
        gcb_row_real(row, intervals[i].low, s.low);
        gcb_row_real(row, intervals[i].high, s.high);
    }
    gcb_row_real(row, GCB_FIELD_SIZES_SECONDS, gcb_lane_stats(lane, GCB_TIME_SIZES).median);
    gcb_row_real(row, GCB_FIELD_CPU_SECONDS, gcb_lane_stats(lane, GCB_TIME_CPU).median);
}

static uint64_t sum_bytes(const struct gcb_traffic *t)
{
    uint64_t sum = 0;

    for (int k = 0; k < GCB_ROUND_KINDS; k++)
        sum += t->bytes[k];
    return sum;
}

/* Writes what one rank sent, as a mean over ranks and timed exchanges. */
static void put_traffic(struct gcb_row *row, const struct gcb_lane *lane, unsigned ranks)
{
    static const enum gcb_field fields[GCB_ROUND_KINDS][2] = {
        [GCB_ROUND_GATHER] = {GCB_FIELD_GATHER_ROUNDS, GCB_FIELD_GATHER_BYTES},
        [GCB_ROUND_SCATTER] = {GCB_FIELD_SCATTER_ROUNDS, GCB_FIELD_SCATTER_BYTES},
        [GCB_ROUND_REDUCE] = {GCB_FIELD_REDUCE_ROUNDS, GCB_FIELD_REDUCE_BYTES},
        [GCB_ROUND_SHIFT] = {GCB_FIELD_SHIFT_ROUNDS, GCB_FIELD_SHIFT_BYTES},
    };
    const double exchanges = (double)ranks * (double)lane->repeats;
    const double others = ranks > 1 ? ranks - 1 : 1;

    for (int k = 0; k < GCB_ROUND_KINDS; k++) {
        /* in an all-to-all a rank counts a transfer to each other rank, not a round */
        const double parts = k == GCB_ROUND_SCATTER ? others : 1.0;

        gcb_row_real(row, fields[k][0], (double)lane->timed.rounds[k] / exchanges / parts);
        gcb_row_real(row, fields[k][1], (double)lane->timed.bytes[k] / exchanges);
    }
    gcb_row_real(row, GCB_FIELD_SIZE_ROUNDS, (double)lane->timed.sizes / exchanges);
}

void gcb_rows_exchange(struct gcb_row *row, const struct gcb_rows_setting *setting,
                       const struct gcb_net *net, const struct gcb_load *load,
                       const struct gcb_lane *lane, const char *file)
{
    const unsigned ranks = gcb_net_ranks(net);
    const double seconds = gcb_lane_stats(lane, GCB_TIME_WHOLE).median;
    const double wire = gcb_lane_stats(lane, GCB_TIME_WIRE).median;
    /* bytes on one rank's link in a timed exchange, on average */
    const double link = (double)sum_bytes(&lane->timed) / ranks / (double)lane->repeats;

    gcb_row_init(row, GCB_RECORD_EXCHANGE);
    gcb_row_text(row, GCB_FIELD_FILE, file);
    gcb_rows_put_setting(row, setting, &lane->method);
    gcb_row_text(row, GCB_FIELD_COLLECTIVE,
                 gcb_collective_names[gcb_method_collective(&lane->method)]);
    gcb_row_text(row, GCB_FIELD_ALGORITHM, gcb_net_algorithm_names[lane->algorithm]);
    gcb_row_text(row, GCB_FIELD_MPI, gcb_net_library(net));
    gcb_row_u64(row, GCB_FIELD_WORKERS, ranks);
    gcb_row_text(row, GCB_FIELD_STATUS, lane->wrong ? "failed" : "ok");
    gcb_row_u64(row, GCB_FIELD_ELEMENTS, load->elements);
    gcb_row_u64(row, GCB_FIELD_MESSAGES, load->plan.messages);
    gcb_row_u64(row, GCB_FIELD_INPUT_BYTES, load->input_bytes);
    gcb_row_u64(row, GCB_FIELD_WIRE_BYTES, lane->first.given);
    gcb_row_u64(row, GCB_FIELD_ROUNDS, lane->rounds);
    gcb_row_u64(row, GCB_FIELD_REPLAY_LINK_BYTES, sum_bytes(&lane->first));
    put_traffic(row, lane, ranks);
    put_times(row, lane);
    gcb_row_real(row, GCB_FIELD_ALGBW_GBPS, 1e-9 * (double)load->input_bytes / seconds);
    gcb_row_real(row, GCB_FIELD_BUSBW_GBPS, 1e-9 * link / wire);
    gcb_row_bool(row, GCB_FIELD_VERIFIED, lane->verified);
    gcb_row_u64(row, GCB_FIELD_WRONG, lane->wrong);
    gcb_row_reals(row, GCB_FIELD_SECONDS_SAMPLES, lane->samples[GCB_TIME_WHOLE], lane->repeats);
}
