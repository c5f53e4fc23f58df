#include "src/tool/run/suite.h"

#include "src/lib/base/cpu_flags.h"
#include "src/tool/base/memory.h"
#include "src/tool/run/breakdown.h"

const char *const gcb_cache_names[] = {"warm", "cold", NULL};

/* A case, as indices into config.sources and the plan's lists. */
struct place {
    size_t input, scope, device, threads, cache;
};

struct gcb_suite_run {
    struct gcb_suite_config config;
    const struct gcb_suite_observer *observer;
    struct gcb_queue queue;   /* with the current case's threads */
    struct gcb_layout layout; /* layout of the current input and scope */
    double weight;            /* work of a case with this layout: all methods on all messages */
    double work, done;        /* work of all cases, and of the cases that ended */
    uint64_t bandwidth_bytes;
    struct gcb_bandwidth bandwidths[GCB_SUITE_THREADS];
    struct gcb_evict evict;
    struct gcb_budget budget;
    struct gcb_shapes *shapes; /* NULL: the current case collects no histograms and spectra */
    size_t shaped;             /* number of layouts for which a case has collected shapes */
};

/* Plans the messages of layout `number`, and estimates the work of a case. The number of a layout
 * is input * scope_count + scope. */
static void plan_layout(struct gcb_suite_run *r, size_t number)
{
    struct gcb_suite_config *c = &r->config;

    c->run.source = c->sources[number / c->plan->scope_count];
    c->layout.scope = c->plan->scopes[number % c->plan->scope_count];
    gcb_layout_fini(&r->layout);
    gcb_layout_init(&r->layout, c->run.source, &c->layout);
    gcb_shard_layout(&r->layout, c->run.source, &c->shard);
    r->weight = 0.0;
    for (size_t i = 0; i < r->layout.count; i++)
        r->weight += gcb_run_weight(&r->layout.messages[i]) * (double)c->run.method_count;
}

/* Estimates the work of all cases, and chooses the buffer size for measuring memory bandwidth. */
static void estimate_work(struct gcb_suite_run *r)
{
    const struct gcb_suite_plan *s = r->config.plan;
    size_t times = 0; /* cases with the same layout, on devices that can be used */

    for (size_t i = 0; i < s->device_count; i++)
        times += !r->config.devices[i].why.status;
    times *= s->thread_count * s->cache_count;
    for (size_t i = 0; i < r->config.source_count * s->scope_count; i++) {
        plan_layout(r, i);
        r->work += r->weight * (double)times;
        if (gcb_run_bandwidth_bytes(&r->layout) > r->bandwidth_bytes)
            r->bandwidth_bytes = gcb_run_bandwidth_bytes(&r->layout);
    }
}

struct gcb_suite_run *gcb_suite_run_open(const struct gcb_suite_config *config)
{
    struct gcb_suite_run *r = gcb_must_zero(1, sizeof(*r));

    r->config = *config;
    r->queue = *config->run.trial.compute.queue;
    estimate_work(r);
    return r;
}

void gcb_suite_run_close(struct gcb_suite_run *r)
{
    if (!r)
        return;
    gcb_evict_fini(&r->evict);
    gcb_shapes_destroy(r->shapes);
    gcb_layout_fini(&r->layout);
    gcb_free(r);
}

/* Measures the copy bandwidth of each device that can be used. The first device comes last, so that
 * it is in use for the first case. */
static int measure_devices(struct gcb_suite_run *r, struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = r->config.plan->device_count; !err && i-- > 0;) {
        struct gcb_suite_device *d = &r->config.devices[i];

        if (d->why.status || !d->gpu.module)
            continue;
        err = d->gpu.module->use(d->gpu.index, diag);
        if (!err)
            err = gcb_device_copy_measure(&d->copying, &d->gpu, diag);
    }
    return err;
}

int gcb_suite_run_measure(struct gcb_suite_run *r, const struct gcb_bandwidth **bandwidths,
                          struct gcb_diag *diag)
{
    const struct gcb_suite_plan *s = r->config.plan;
    int err = 0;

    *bandwidths = r->bandwidths;
    for (size_t i = 0; !err && i < s->thread_count && !r->config.no_bandwidth; i++) {
        const struct gcb_queue queue = {.threads = s->threads[i]};

        err = gcb_bandwidth_measure(&r->bandwidths[i], &queue, r->bandwidth_bytes, diag);
    }
    return err ? err : measure_devices(r, diag);
}

/* ---- a case ---- */

static int on_trial(void *ctx, const struct gcb_run_trial *trial, struct gcb_diag *diag)
{
    struct gcb_suite_run *r = ctx;
    const int err = r->shapes ? gcb_shapes_add(r->shapes, trial, diag) : 0;

    return err ? err : r->observer->trial(r->observer->ctx, trial, diag);
}

/* Returns the configuration of gcb_run for a case. Its pointers are valid during the case. */
static struct gcb_run_config run_config(struct gcb_suite_run *r, const struct place *at)
{
    const struct gcb_suite_plan *s = r->config.plan;
    const struct gcb_device *gpu = &r->config.devices[at->device].gpu;
    struct gcb_run_config config = r->config.run;

    config.layout = &r->layout;
    config.sharded = r->config.shard.count > 0;
    config.trial.compute.queue = &r->queue;
    config.trial.timing = s->timing;
    config.trial.timing.evict = s->caches[at->cache] == GCB_CACHE_COLD ? &r->evict : NULL;
    config.trial.stages = true;
    config.trial.sums = !gpu->module && !r->config.no_sums;
    config.trial.compute.device = gpu->module ? gpu : NULL;
    config.trial.copy = !gpu->module;
    config.carry_on = true;
    config.groups = true;
    config.budget = s->time_budget > 0.0 ? &r->budget : NULL;
    return config;
}

/* Returns the number of a case's layout. */
static size_t layout_of(const struct gcb_suite_plan *s, const struct place *at)
{
    return at->input * s->scope_count + at->scope;
}

/* Starts collecting histograms and spectra in the first case of a layout that runs. The other cases
 * of the layout would collect the same: device, threads and caches do not matter. */
static void begin_shapes(struct gcb_suite_run *r, const struct place *at)
{
    const struct gcb_shapes_config config = {
        .histogram = r->config.histogram,
        .spectrum = r->config.spectrum,
        .methods = r->config.run.method_count,
        .kernels = r->config.run.trial.compute.kernels,
        .queue = &r->queue,
    };

    if (r->shaped > layout_of(r->config.plan, at) || !(config.histogram || config.spectrum))
        return;
    r->shaped = layout_of(r->config.plan, at) + 1;
    r->shapes = gcb_shapes_create(&config);
}

static int measure_case(struct gcb_suite_run *r, struct gcb_run_result *result,
                        const struct place *at, struct gcb_diag *diag)
{
    const struct gcb_run_observer observer = {
        .trial = on_trial,
        .ctx = r,
        .watch =
            gcb_watch_part(&r->observer->watch, r->done / r->work, (r->done + r->weight) / r->work),
    };
    const struct gcb_run_config config = run_config(r, at);
    const struct gcb_device *gpu = config.trial.compute.device;
    struct gcb_diag why = {0};
    int err = 0;

    if (gpu && gpu->module->use(gpu->index, &why)) { /* the device failed in an earlier case */
        gcb_run_none(result, &config, &why);
        return 0;
    }
    begin_shapes(r, at);
    if (config.trial.timing.evict && !r->evict.queue) /* not yet prepared by an earlier case */
        err = gcb_evict_init(&r->evict, &r->queue, gcb_cpu_detect(), diag);
    return err ? err : gcb_run(result, &config, &observer, diag);
}

/* Makes the rows of histograms and spectra, if the case has collected them. */
static int end_shapes(struct gcb_suite_run *r, struct gcb_diag *diag)
{
    int err = 0;

    if (r->shapes)
        err = gcb_shapes_rows(r->shapes, r->config.run.methods, r->observer->shape,
                              r->observer->ctx, diag);
    gcb_shapes_destroy(r->shapes);
    r->shapes = NULL;
    return err;
}

/* Runs a case. Sets *interrupted to true if the observer's watch stopped the case. */
static int run_case(struct gcb_suite_run *r, const struct place *place, bool *interrupted,
                    struct gcb_diag *diag)
{
    const struct gcb_suite_plan *s = r->config.plan;
    const struct gcb_suite_observer *o = r->observer;
    const struct gcb_suite_case at = {
        .input = place->input,
        .scope = s->scopes[place->scope],
        .cache = s->caches[place->cache],
        .threads = s->threads[place->threads],
        .device = &r->config.devices[place->device],
        .layout = &r->layout,
        .bandwidth = &r->bandwidths[place->threads],
    };
    struct gcb_run_result result = {0};
    int err;

    r->queue.threads = at.threads;
    err = o->begin(o->ctx, &at, diag);
    if (err)
        return err;
    if (at.device->why.status)
        return o->end(o->ctx, &at, NULL, diag);
    err = measure_case(r, &result, place, diag);
    r->done += r->weight;
    if (!err)
        err = o->end(o->ctx, &at, &result, diag);
    if (!err)
        err = end_shapes(r, diag);
    *interrupted = result.interrupted;
    gcb_run_result_fini(&result);
    return err;
}

/* Returns case number i. The cache changes fastest, and the input slowest. */
static struct place place_of(const struct gcb_suite_plan *s, size_t i)
{
    struct place at;

    at.cache = i % s->cache_count;
    i /= s->cache_count;
    at.threads = i % s->thread_count;
    i /= s->thread_count;
    at.device = i % s->device_count;
    i /= s->device_count;
    at.scope = i % s->scope_count;
    at.input = i / s->scope_count;
    return at;
}

int gcb_suite_run(struct gcb_suite_run *r, const struct gcb_suite_observer *observer,
                  struct gcb_diag *diag)
{
    const struct gcb_suite_plan *s = r->config.plan;
    const size_t cases = r->config.source_count * s->scope_count * s->device_count *
                         s->thread_count * s->cache_count;
    size_t planned = SIZE_MAX; /* number of the layout in r->layout */
    bool interrupted = false;
    int err = 0;

    r->observer = observer;
    gcb_budget_start(&r->budget, s->time_budget, r->work);
    for (size_t i = 0; !err && i < cases && !interrupted; i++) {
        const struct place at = place_of(s, i);

        if (layout_of(s, &at) != planned)
            plan_layout(r, layout_of(s, &at));
        planned = layout_of(s, &at);
        err = run_case(r, &at, &interrupted, diag);
    }
    return err;
}
