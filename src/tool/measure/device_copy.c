#include "src/tool/measure/device_copy.h"

#include <string.h>

#include "src/lib/device/place.h"
#include "src/tool/measure/stats.h"

#define COPIES 10
#define LEAST (UINT64_C(16) << 20) /* bytes: smallest copy */

static int time_one(double *seconds, const struct gcb_place *p, struct gcb_diag *diag)
{
    struct gcb_device_work work;
    int err;

    gcb_device_batch_begin(p->batch); /* the wait reports errors of all calls here */
    p->device->module->stream.copy(gcb_device_batch_stream(p->batch), p->payload.dev, p->tensor.dev,
                                   p->tensor.bytes, GCB_COPY_DEVICE);
    err = gcb_device_batch_wait(p->batch, diag);
    if (!err)
        err = gcb_device_batch_work(p->batch, &work, diag);
    *seconds = err ? 0.0 : work.seconds;
    return err;
}

int gcb_device_copy_measure(struct gcb_device_copying *out, const struct gcb_device *device,
                            struct gcb_diag *diag)
{
    const uint64_t wanted = 8 * device->facts.l2_bytes, bytes = wanted > LEAST ? wanted : LEAST;
    struct gcb_device_clock *clock = device->module->clock.open(device->index);
    struct gcb_place p = {.device = device};
    double samples[COPIES], scratch[COPIES];
    struct gcb_stats stats;
    int err =
        gcb_place_reserve(&p, &(struct gcb_place_size){.tensor = bytes, .payload = bytes}, diag);

    memset(out, 0, sizeof(*out));
    if (!err)
        err = device->module->stream.zero(gcb_device_batch_stream(p.batch), p.tensor.dev, bytes);
    for (int i = -1; !err && i < COPIES; i++) /* -1: warm-up */
        err = time_one(&samples[i < 0 ? 0 : i], &p, diag);
    if (!err) {
        out->clock_mhz = device->module->clock.mhz(clock);
        gcb_stats_of(&stats, samples, COPIES, scratch);
        out->gbps = 2.0 * (double)bytes / stats.median / 1e9;
        out->bytes = bytes;
    }
    gcb_place_fini(&p);
    device->module->clock.close(clock);
    return err;
}
