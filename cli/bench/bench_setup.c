#include "cli/bench/bench_setup.h"

#include <string.h>

#include "cli/base/heading.h"
#include "src/lib/base/alloc.h"
#include "src/tool/timing/device_copy.h"

/* Which devices are there? One that is not is a row, unless none is. */
static int resolve_devices(struct bench *c, struct gcb_diag *diag)
{
    bool some = false;

    for (size_t i = 0; i < c->suite.device_count; i++) {
        struct gcb_diag *why = &c->devices[i].why;
        int err;

        c->exec.device = c->suite.devices[i];
        err = opt_exec_resolve(&c->s.backend, &c->exec, why);
        c->devices[i].gpu = c->s.backend.gpu;
        snprintf(c->devices[i].name, sizeof(c->devices[i].name), "%s", c->s.backend.device);
        if (err && err != GCB_E_BACKEND)
            return gcb_diag_set(diag, err, "%s", why->text);
        why->status = err;
        some |= !err;
    }
    if (!some)
        return gcb_diag_set(diag, GCB_E_BACKEND, "%s", c->devices[0].why.text);
    return 0;
}

int bench_resolve(struct bench *c)
{
    struct gcb_diag *diag = c->s.ctx->diag;
    int err = opt_shapes_check(&c->o->shapes, &c->o->show, &c->o->save, diag);

    if (!err)
        err = bench_plan(&c->suite, &c->words, c->o, c->s.files->count > 0, diag);
    if (!err)
        err = bench_methods(&c->methods, &c->count, &c->suite, c->o, diag);
    if (!err)
        err = resolve_devices(c, diag);
    if (err)
        return err;
    session_drop_memory(&c->s, "bench", c->methods, c->count);
    c->message.scope = (int)c->suite.scopes[0];
    for (size_t i = 1; i < c->suite.scope_count; i++) /* for --bucket-bytes */
        if (c->suite.scopes[i] == GCB_SCOPE_BUCKET)
            c->message.scope = GCB_SCOPE_BUCKET;
    return opt_message_check(&c->message, diag);
}

/* One step and worker unless more were asked for: the last step, its first worker. */
static int open_files(struct bench *c, struct gcb_diag *diag)
{
    const bool any_step = !c->input.step, any_worker = !c->input.worker;
    size_t count;
    int err;

    if (any_step)
        c->input.step = "last";
    err = opt_input_open(&c->s.source, &c->input, c->s.files, diag);
    if (err || !any_worker)
        return err;
    count = gcb_source_count(c->s.source);
    snprintf(c->worker, sizeof(c->worker), "%u",
             (unsigned)gcb_source_tensor(c->s.source, 0)->worker);
    for (size_t i = 1; i < count; i++) {
        if (gcb_source_tensor(c->s.source, i)->worker == gcb_source_tensor(c->s.source, 0)->worker)
            continue;
        gcb_source_close(c->s.source);
        c->s.source = NULL;
        c->input.worker = c->worker;
        return opt_input_open(&c->s.source, &c->input, c->s.files, diag);
    }
    return 0;
}

int bench_open_input(struct bench *c)
{
    struct gcb_diag *diag = c->s.ctx->diag;

    int err;

    if (c->s.files->count)
        err = open_files(c, diag);
    else
        err = gcb_source_open_synthetic(&c->s.source, c->suite.inputs, c->suite.input_count,
                                        c->o->exec.seed ? c->o->exec.seed : 1, diag);
    if (!err && !c->s.o.show->quiet)
        heading_note_globs(c->s.ctx->err, c->s.source, &c->input, &c->message);
    return err;
}

int bench_plan_scope(struct bench *c, size_t i)
{
    int err;

    c->message.scope = (int)c->suite.scopes[i];
    err = session_plan(&c->s);
    c->weight = 0.0;
    for (size_t m = 0; !err && m < c->s.layout.count; m++)
        c->weight += gcb_run_weight(&c->s.layout.messages[m]) * (double)c->count;
    return err;
}

/* Weighs all cases, and finds how much memory they go over. */
static int weigh(struct bench *c, uint64_t *bandwidth_bytes)
{
    size_t times = 0;
    int err = 0;

    for (size_t i = 0; i < c->suite.device_count; i++)
        times += !c->devices[i].why.status;
    times *= c->suite.thread_count * c->suite.cache_count;
    *bandwidth_bytes = 0;
    for (size_t i = 0; !err && i < c->suite.scope_count; i++) {
        err = bench_plan_scope(c, i);
        c->work += err ? 0.0 : c->weight * (double)times;
        if (!err && gcb_run_bandwidth_bytes(&c->s.layout) > *bandwidth_bytes)
            *bandwidth_bytes = gcb_run_bandwidth_bytes(&c->s.layout);
    }
    return err;
}

/* The limits of every number of threads. */
static int measure_bandwidths(struct bench *c, uint64_t bytes)
{
    int err = 0;

    for (size_t i = 0; !err && i < c->suite.thread_count && !c->o->own.no_bandwidth; i++) {
        const struct gcb_queue queue = {.threads = c->suite.threads[i]};

        err = gcb_bandwidth_measure(&c->bandwidths[i], &queue, bytes, c->s.ctx->diag);
    }
    return err;
}

/* Copies within each device. The environment speaks of the first. */
static int measure_devices(struct bench *c)
{
    struct opt_backend *backend = &c->s.backend;
    int err = 0;

    backend->gpu.module = NULL;
    for (size_t i = c->suite.device_count; !err && i-- > 0;) {
        struct bench_device *d = &c->devices[i];

        if (d->why.status || !d->gpu.module)
            continue;
        err = d->gpu.module->use(d->gpu.index, c->s.ctx->diag);
        if (!err)
            err = gcb_device_copy_measure(&d->copying, &d->gpu, c->s.ctx->diag);
        backend->gpu = d->gpu;
        backend->gpu_copying = d->copying;
    }
    return err;
}

int bench_open_report(struct bench *c)
{
    const struct out_bandwidths all = {c->bandwidths,
                                       c->o->own.no_bandwidth ? 0 : c->suite.thread_count};
    uint64_t bytes;
    int err = weigh(c, &bytes);

    if (!err)
        err = session_open_report(&c->s, GCB_RESULT_RECORDS, c->o->save.force);
    if (!err)
        err = measure_bandwidths(c, bytes);
    if (!err)
        err = measure_devices(c);
    c->s.backend.queue.threads = c->suite.threads[0];
    if (err)
        return err;
    return out_environment(&c->s.report, &c->s.backend, c->s.files, &all, c->o->save.hash,
                           c->s.ctx);
}

void bench_release(struct bench *c)
{
    gcb_run_result_fini(&c->result);
    gcb_evict_fini(&c->evict);
    gcb_shapes_destroy(c->shapes);
    session_close(&c->s);
    gcb_free(c->methods);
    gcb_suite_fini(&c->suite);
}
