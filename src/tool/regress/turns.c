#include "src/tool/regress/turns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/base/clock.h"
#include "src/tool/regress/labels.h"

#define REPEAT_MOST 1000   /* of each case in a process */
#define CALLS_SHARE 1.0    /* timed calls for each second that a process takes besides */
#define CALLS_LEAST 3      /* so that there is a median */
#define PLAN_SHARE 0.9     /* of the budget that is planned for */
#define OVER_BUDGET 2.0    /* the least number of pairs may take so much more than it */
#define GIVE_UP 3.0        /* and is not waited for any longer than so many budgets */
#define FIRST_SECONDS 60.0 /* the first processes may take this, if the budget is less */

/* Exit statuses of bench: called wrongly; a backend that is not there. */
#define EXIT_USAGE 2
#define EXIT_NO_BACKEND 3

/* One process. */
struct turn {
    const struct gcb_turns_config *config;
    unsigned repeat; /* 0: as the options say */
    double limit;    /* seconds */
    double took;     /* by the last process; behind look() by the faster of the first ones */
    double pair;     /* by both of these */
    double slower;   /* took over the time it had a processor, at least 1: others want them too */
    double since;    /* when calls were last chosen */
    unsigned paced;  /* pairs by then */
};

/* The child's command line; the array is the caller's to free, the words are borrowed. */
static char **command_line(const struct turn *t, const char *exe, const char *repeat)
{
    const struct gcb_turns_config *c = t->config;
    const char *head[] = {exe, "bench", "--format", "json", "--no-bandwidth", "--repeat", repeat};
    const size_t head_count = t->repeat ? 7 : 5;
    const char **argv =
        gcb_alloc_zero(head_count + c->option_count + c->file_count + 2, sizeof(*argv));
    size_t n = head_count;

    if (!argv)
        return NULL;
    memcpy(argv, head, head_count * sizeof(*argv));
    for (size_t i = 0; i < c->option_count; i++)
        argv[n++] = c->options[i];
    if (c->file_count)
        argv[n++] = "--";
    for (size_t i = 0; i < c->file_count; i++)
        argv[n++] = c->files[i];
    return (char **)(uintptr_t)argv;
}

/* It failed, and this is its exit status: what it means of bench, it means of a run of two. */
static int fail(int status, const struct gcb_diag *own, struct gcb_diag *diag)
{
    const int err = status == EXIT_USAGE        ? GCB_E_INVALID
                    : status == EXIT_NO_BACKEND ? GCB_E_BACKEND
                                                : own->status;

    return gcb_diag_set(diag, err, "%s", own->text);
}

/* What it wrote could not be read: was that its own failure? Then its own words say more. */
static int blame(struct gcb_child *child, int err, struct gcb_diag *diag)
{
    const bool over = child->late || child->stopped;
    struct gcb_diag own = {.status = 0};
    int status;

    if (!over)
        child->deadline = gcb_clock() + 1.0;
    if (!gcb_child_finish(child, &status, &own) || (child->late && !over))
        return err;
    return fail(status, &own, diag);
}

#define NO_BACKEND 3 /* the exit status */

/* A bench that says in its rows what failed, or what is not there, and then that something did or is not, is not at
 * fault: they are judged. */
static int finish(struct gcb_child *child, const struct gcb_cases *cases, struct gcb_diag *diag)
{
    struct gcb_diag own = {.status = 0};
    int status, err = gcb_child_finish(child, &status, &own);

    for (size_t i = 0; err && status > 0 && i < cases->count; i++)
        if (cases->items[i].status == GCB_CASE_FAILED ||
            (cases->items[i].status == GCB_CASE_UNSUPPORTED && status == NO_BACKEND))
            return 0;
    return err ? fail(status, &own, diag) : 0;
}

/* Runs one process and reads its cases. */
static int run_one(struct turn *t, struct gcb_cases *cases, const char *exe, struct gcb_diag *diag)
{
    const struct gcb_child_limits limits = {
        .seconds = t->limit, .stop = t->config->stop, .ctx = t->config->ctx};
    const double began = gcb_clock();
    struct gcb_child child;
    char repeat[16];
    char **argv;
    int err;

    snprintf(repeat, sizeof(repeat), "%u", t->repeat);
    argv = command_line(t, exe, repeat);
    if (!argv)
        return gcb_diag_nomem(diag, 0, "a command line");
    err = gcb_child_start(&child, argv, &limits, diag);
    if (!err) {
        err = gcb_cases_read(cases, exe, child.out, diag);
        err = err ? blame(&child, err, diag) : finish(&child, cases, diag);
    }
    gcb_free(argv);
    t->took = gcb_clock() - began;
    t->slower = child.cpu > 0.0 ? fmax(1.0, t->took / child.cpu) : 1.0;
    return err;
}

static bool asked_to_stop(const struct gcb_turns_config *c)
{
    return c->stop && c->stop(c->ctx);
}

/* Seconds that bench spends in timed calls when it makes one of each; 0 for kernels, which it calls many times for
 * one sample. */
static double once(const struct gcb_cases *cases)
{
    double sum = 0.0;

    for (size_t i = 0; i < cases->count; i++)
        for (int op = 0; op < 2 && !cases->items[i].kernel; op++)
            if (isfinite(cases->items[i].time[op].seconds))
                sum += cases->items[i].time[op].seconds;
    return sum;
}

/* The first process of each build: what there is, and how long it takes. */
static int look(struct gcb_turns *out, struct turn *t, struct gcb_diag *diag)
{
    const struct gcb_turns_config *c = t->config;
    struct gcb_cases *const cases[] = {&out->runs.base, &out->runs.next};
    double least = INFINITY, slower = 1.0;
    int err = 0;

    t->repeat = c->repeats ? 0 : 1;
    t->limit = c->timeout > 0.0 ? c->timeout : fmax(FIRST_SECONDS, c->budget);
    for (int i = 0; !err && i < 2; i++) {
        err = run_one(t, cases[i], c->exe[i], diag);
        slower = t->took < least ? t->slower : slower;
        least = fmin(least, t->took);
        t->pair += t->took;
    }
    if (!err)
        err = gcb_cases_label(&out->runs.base, &out->runs.next, diag);
    if (!err)
        err = gcb_match_cases(&out->matches, &out->count, &out->runs.base, &out->runs.next, diag);
    t->took = least;
    t->slower = slower;
    return err;
}

/* How many pairs and how many calls in each, so that all of them fill the budget. */
static int plan(struct gcb_turns *out, struct turn *t, struct gcb_diag *diag)
{
    const struct gcb_turns_config *c = t->config;
    const double most = c->pairs ? c->pairs : GCB_TURNS_MOST;
    /* a call is timed while it has a processor, but between calls others may */
    const double budget = PLAN_SHARE * c->budget, calls = t->slower * once(&out->runs.base);
    /* of the faster one: what disturbed the other would make all processes long, and few */
    const double overhead = fmax(0.0, t->took - 2.0 * calls);
    const double least = GCB_TURNS_PAIRS * t->pair;
    double each = t->took;

    if (least > OVER_BUDGET * c->budget)
        return gcb_diag_set(
            diag, GCB_E_INVALID,
            "%d pairs of processes of %.2g s take %.0f s, the budget is %.0f s: "
            "give more (--budget), or choose fewer cases (--method, --dataset, ...)",
            GCB_TURNS_PAIRS, t->pair / 2.0, least, c->budget);
    if (t->repeat && calls > 0.0) {
        /* as many pairs as there may be, in each as many calls as it has time for; but no process of little else
         * than its start */
        const double cheap = fmax(CALLS_LEAST, floor(CALLS_SHARE * overhead / calls));

        each = fmax(budget / (2.0 * most), overhead + (cheap + 1.0) * calls);
        each = fmax(t->took, fmin(each, budget / (2.0 * GCB_TURNS_PAIRS)));
        t->repeat = (unsigned)fmin(REPEAT_MOST, fmax(1.0, floor((each - overhead) / calls) - 1.0));
    }
    if (t->repeat && calls <= 0.0)
        t->repeat = CALLS_LEAST;
    out->most = (unsigned)fmax(most, GCB_TURNS_PAIRS); /* the budget ends them sooner */
    t->limit = c->timeout > 0.0 ? c->timeout : fmax(FIRST_SECONDS, 10.0 * fmax(each, t->pair));
    out->repeat = t->repeat;
    return 0;
}

static int make_room(struct gcb_turns *out, double delta)
{
    out->cases = gcb_alloc_zero(out->count, sizeof(*out->cases));
    if (!out->cases)
        return GCB_E_NOMEM;
    for (size_t i = 0; i < out->count; i++) {
        struct gcb_turns_case *c = &out->cases[i];
        const struct gcb_match *m = &out->matches[i];

        c->match = *m;
        c->timed = m->base && m->next && !m->base->status && !m->next->status;
        for (int op = 0; c->timed && op < 2; op++) {
            struct gcb_turns_times *times = &c->time[op];

            times->delta = delta;
            times->seconds[0] = gcb_alloc_array(out->most, sizeof(double));
            times->seconds[1] = gcb_alloc_array(out->most, sizeof(double));
            times->logs = gcb_alloc_array(out->most, sizeof(double));
            if (!times->seconds[0] || !times->seconds[1] || !times->logs)
                return GCB_E_NOMEM;
        }
    }
    return 0;
}

/* Is it the same message again, as far as its method promises that? */
static bool steady(const struct gcb_case *first, const struct gcb_case *now)
{
    const double tolerance = gcb_compare_tolerance(first);
    const double size = (double)first->wire_bytes;

    if (fabs((double)now->wire_bytes - size) > tolerance * size)
        return false;
    return isnan(first->rel_l2) ? isnan(now->rel_l2)
                                : fabs(now->rel_l2 - first->rel_l2) <= tolerance;
}

/* Did it fail this time, and why? GCB_E_NOMEM. */
static int note_failure(struct gcb_turns_case *c, int build, const struct gcb_case *now)
{
    if (!now || now->status != GCB_CASE_FAILED)
        return 0;
    c->failed[build]++;
    if (!build || c->why || !now->reason)
        return 0;
    c->why = gcb_strdup(now->reason);
    return c->why ? 0 : GCB_E_NOMEM;
}

/* Times of one process into the cases' current pair. `build` 0: base. */
static int take(struct gcb_turns *out, const struct gcb_cases *first, const struct gcb_cases *now,
                int build, struct gcb_diag *diag)
{
    struct gcb_match *pairs = NULL;
    size_t count = 0, at = 0;
    int err = gcb_match_cases(&pairs, &count, first, now, diag);

    for (size_t i = 0; !err && i < out->count; i++) {
        struct gcb_turns_case *c = &out->cases[i];
        const struct gcb_case *wanted = build ? c->match.next : c->match.base, *found;

        if (!c->timed)
            continue;
        for (at = (size_t)(wanted - first->items); at < count && pairs[at].base != wanted;)
            at++;
        found = at < count ? pairs[at].next : NULL;
        c->lost |= !found || found->status;
        if (note_failure(c, build, found))
            err = gcb_diag_nomem(diag, 0, "a failure");
        c->unsteady |= found && !found->status && !steady(wanted, found);
        for (int op = 0; op < 2; op++)
            c->time[op].seconds[build][out->pairs] = found ? found->time[op].seconds : NAN;
    }
    gcb_free(pairs);
    return err;
}

/* Both halves are there: their ratio counts. */
static void close_pair(struct gcb_turns *out)
{
    for (size_t i = 0; i < out->count; i++)
        for (int op = 0; out->cases[i].timed && op < 2; op++) {
            struct gcb_turns_times *t = &out->cases[i].time[op];
            const double base = t->seconds[0][out->pairs], next = t->seconds[1][out->pairs];

            if (!isfinite(base) || !isfinite(next))
                continue;
            t->seconds[0][t->count] = base;
            t->seconds[1][t->count] = next;
            t->logs[t->count++] = log(next / base);
        }
    out->pairs++;
}

/* Base and new, or, in every second pair, new and base. */
static int run_pair(struct gcb_turns *out, struct turn *t, struct gcb_diag *diag)
{
    const struct gcb_cases *const first[] = {&out->runs.base, &out->runs.next};
    int err = 0;

    for (int half = 0; !err && half < 2; half++) {
        const int build = (half + (int)(out->pairs % 2)) % 2;
        struct gcb_cases now = {.items = NULL};

        err = run_one(t, &now, t->config->exe[build], diag);
        if (!err)
            err = take(out, first[build], &now, build, diag);
        gcb_cases_fini(&now);
    }
    if (!err)
        close_pair(out);
    return err;
}

/* Is everything known that more pairs could tell? Only where all is the same: what looks slow is judged once, at the
 * end, or looking often enough would find it by chance. */
static int settled(bool *out, const struct gcb_turns *t, const struct gcb_turns_config *config,
                   struct gcb_diag *diag)
{
    struct gcb_verdicts verdicts = {.items = NULL};
    int err = gcb_turns_judge(&verdicts, t, config, diag);

    *out = !err;
    for (size_t i = 0; i < verdicts.count; i++) {
        const enum gcb_quantity of = verdicts.items[i].quantity;

        if (of == GCB_OF_ENCODE || of == GCB_OF_DECODE || of == GCB_OF_KERNEL)
            *out &= verdicts.items[i].kind == GCB_SAME;
    }
    gcb_verdicts_fini(&verdicts);
    return err;
}

/* Chooses fewer calls if the least number of pairs, at the pace of those with as many as now, would take longer than
 * `left` seconds: the machine became slower, or was misjudged. */
static void keep_pace(struct gcb_turns *out, struct turn *t, double left)
{
    const unsigned pairs = out->pairs - t->paced;
    const double now = gcb_clock();
    double need;

    if (pairs == 0 || t->repeat <= 1 || out->pairs >= GCB_TURNS_PAIRS)
        return;
    need = (now - t->since) / pairs * (GCB_TURNS_PAIRS - out->pairs);
    if (need <= left)
        return;
    t->repeat = (unsigned)fmax(1.0, floor(t->repeat * fmax(left, 0.0) / need));
    t->since = now;
    t->paced = out->pairs;
    out->repeat = t->repeat;
}

static int run_pairs(struct gcb_turns *out, struct turn *t, double began, struct gcb_diag *diag)
{
    const struct gcb_turns_config *c = t->config;
    bool done = false;
    int err = 0;

    t->since = gcb_clock();
    while (!err && !done && out->pairs < out->most) {
        const double used = gcb_clock() - began;
        const double next = used + used / fmax(1.0, out->pairs); /* when one more would be done */
        const bool enough = out->pairs >= GCB_TURNS_PAIRS;

        if (c->progress)
            c->progress(c->ctx, fmax(used / c->budget, (double)out->pairs / out->most));
        if ((enough && next > c->budget) || used > GIVE_UP * c->budget)
            break;
        keep_pace(out, t, c->budget - used);
        err = run_pair(out, t, diag);
        if (!err && out->pairs >= GCB_TURNS_PAIRS && out->pairs % 5 == 0)
            err = settled(&done, out, c, diag);
    }
    out->short_of_time = out->pairs < GCB_TURNS_PAIRS;
    if (err && out->pairs && asked_to_stop(c)) {
        out->interrupted = true;
        return 0;
    }
    return err;
}

int gcb_turns_run(struct gcb_turns *out, const struct gcb_turns_config *config,
                  struct gcb_diag *diag)
{
    const double began = gcb_clock();
    struct turn t = {.config = config};
    int err;

    memset(out, 0, sizeof(*out));
    err = look(out, &t, diag);
    if (!err)
        err = plan(out, &t, diag);
    if (!err && make_room(out, config->delta > 0.0 ? config->delta : GCB_TURNS_DELTA))
        err = gcb_diag_nomem(diag, 0, "times");
    if (!err && config->calibration)
        err = gcb_turns_calibrate(out, config->calibration, diag);
    if (!err)
        err = run_pairs(out, &t, began, diag);
    out->seconds = gcb_clock() - began;
    return err;
}

void gcb_turns_fini(struct gcb_turns *t)
{
    for (size_t i = 0; t->cases && i < t->count; i++) {
        gcb_free(t->cases[i].why);
        for (int op = 0; op < 2; op++) {
            gcb_free(t->cases[i].time[op].seconds[0]);
            gcb_free(t->cases[i].time[op].seconds[1]);
            gcb_free(t->cases[i].time[op].logs);
        }
    }
    gcb_free(t->cases);
    gcb_free(t->matches);
    gcb_cases_fini(&t->runs.base);
    gcb_cases_fini(&t->runs.next);
    memset(t, 0, sizeof(*t));
}
