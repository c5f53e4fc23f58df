#include "src/tool/timing/device_copy.h"

#include <string.h>

#include "src/tool/timing/stats.h"

#define COPIES 10
#define LEAST (UINT64_C(16) << 20) /* bytes: smallest copy */

/* Starts zeroed. */
struct copying {
    const struct gcb_device_module *module;
    struct gcb_device_stream *stream;
    struct gcb_device_event *from, *to;
    struct gcb_device_clock *clock;
    void *source, *target;
    uint64_t bytes;
};

static int take(struct copying *c, const struct gcb_device *device, struct gcb_diag *diag)
{
    int err = c->module->stream_create(&c->stream, diag);

    if (!err)
        err = c->module->alloc(&c->source, c->bytes, diag);
    if (!err)
        err = c->module->alloc(&c->target, c->bytes, diag);
    if (!err)
        err = c->module->event_create(&c->from, diag);
    if (!err)
        err = c->module->event_create(&c->to, diag);
    c->clock = c->module->clock_open(device->index);
    return err;
}

static void release(struct copying *c)
{
    c->module->event_destroy(c->from);
    c->module->event_destroy(c->to);
    c->module->stream_destroy(c->stream);
    c->module->free(c->source);
    c->module->free(c->target);
    c->module->clock_close(c->clock);
}

static int time_one(double *seconds, struct copying *c, struct gcb_diag *diag)
{
    int err;

    c->module->event_record(c->from, c->stream); /* `wait` reports errors of all calls here */
    c->module->copy(c->stream, c->target, c->source, c->bytes, GCB_COPY_DEVICE);
    c->module->event_record(c->to, c->stream);
    err = c->module->wait(c->stream, diag);
    return err ? err : c->module->event_seconds(seconds, c->from, c->to, diag);
}

int gcb_device_copy_measure(struct gcb_device_copying *out, const struct gcb_device *device,
                            struct gcb_diag *diag)
{
    const uint64_t wanted = 8 * device->facts.l2_bytes;
    struct copying c = {.module = device->module, .bytes = wanted > LEAST ? wanted : LEAST};
    double samples[COPIES], scratch[COPIES];
    struct gcb_stats stats;
    int err = take(&c, device, diag);

    memset(out, 0, sizeof(*out));
    if (!err)
        err = c.module->zero(c.stream, c.source, c.bytes);
    for (int i = -1; !err && i < COPIES; i++) /* -1: warm-up */
        err = time_one(&samples[i < 0 ? 0 : i], &c, diag);
    if (!err) {
        out->clock_mhz = c.module->clock_mhz(c.clock);
        gcb_stats_of(&stats, samples, COPIES, scratch);
        out->gbps = 2.0 * (double)c.bytes / stats.median / 1e9;
        out->bytes = c.bytes;
    }
    release(&c);
    return err;
}
