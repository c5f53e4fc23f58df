#include "src/lib/device/batch.h"

#include <string.h>

#include "kernels/cuda/align.h"
#include "src/lib/base/alloc.h"

#define STAGING ((uint64_t)16 << 20) /* bytes of pinned memory for copies, if the config has 0 */

struct gcb_device_batch {
    const struct gcb_device_module *module;
    struct gcb_device_stream *stream;
    struct gcb_device_event *from, *to; /* the beginning and the end of the work */
    uint64_t launched;                  /* number of the stream's launches before begin */
    uint64_t launches;                  /* launches from begin to the last finish or wait */
    unsigned messages;
    uint64_t scratch_bytes, staging_bytes;
    void *scratch_dev;
    void *results_dev;    /* a struct gcb_device_result for each message */
    void *results;        /* pinned memory: a copy of results_dev, made by each finish */
    void *tables_dev;     /* the tables of groups */
    void *tables;         /* pinned memory, from which the tables are copied to tables_dev */
    uint64_t tables_used; /* bytes of tables used since the last finish */
    void *staging;        /* pinned memory for uploads and downloads */
};

/* Bytes of the tables of all groups, if each message is in a group. A batch of one message has no
 * groups. */
static uint64_t tables_bytes(const struct gcb_device_batch *b)
{
    return b->messages > 1 ? b->messages * gcb_cuda_align16(gcb_device_group_bytes(1)) : 0;
}

void gcb_device_batch_destroy(struct gcb_device_batch *b)
{
    if (!b)
        return;
    b->module->stream.destroy(b->stream);
    b->module->event.destroy(b->from);
    b->module->event.destroy(b->to);
    b->module->memory.free(b->scratch_dev);
    b->module->memory.free(b->results_dev);
    b->module->memory.free_pinned(b->results);
    b->module->memory.free_pinned(b->staging);
    b->module->memory.free(b->tables_dev);
    b->module->memory.free_pinned(b->tables);
    gcb_free(b);
}

/* Makes events and memory. If one fails, its pointer and all later pointers are NULL. */
static int take_memory(struct gcb_device_batch *b, struct gcb_diag *diag)
{
    const uint64_t results = b->messages * sizeof(struct gcb_device_result);
    int err = b->module->event.create(&b->from, diag);

    if (!err)
        err = b->module->event.create(&b->to, diag);
    if (!err)
        err = b->module->memory.alloc(&b->scratch_dev, b->scratch_bytes, diag);
    if (!err)
        err = b->module->memory.alloc(&b->results_dev, results, diag);
    if (!err)
        err = b->module->memory.alloc_pinned(&b->results, results, diag);
    if (!err)
        err = b->module->memory.alloc_pinned(&b->staging, b->staging_bytes, diag);
    if (!err)
        err = b->module->memory.alloc(&b->tables_dev, tables_bytes(b), diag);
    if (!err)
        err = b->module->memory.alloc_pinned(&b->tables, tables_bytes(b), diag);
    return err;
}

int gcb_device_batch_create(struct gcb_device_batch **out, const struct gcb_device *device,
                            const struct gcb_device_batch_config *config, struct gcb_diag *diag)
{
    struct gcb_device_batch *b = gcb_alloc_zero(1, sizeof(*b));
    int err;

    *out = NULL;
    if (!b)
        return gcb_diag_nomem(diag, sizeof(*b), "a batch");
    b->module = device->module;
    b->messages = config->messages ? config->messages : 1;
    b->scratch_bytes = config->scratch;
    b->staging_bytes = config->staging ? config->staging : STAGING;
    err = b->module->stream.create(&b->stream, diag);
    if (err)
        goto out;
    err = take_memory(b, diag);
    if (err)
        goto out;
    memset(b->results, 0, b->messages * sizeof(struct gcb_device_result));
    *out = b;
    b = NULL;
out:
    gcb_device_batch_destroy(b);
    return err;
}

const struct gcb_device_module *gcb_device_batch_module(const struct gcb_device_batch *b)
{
    return b->module;
}

struct gcb_device_stream *gcb_device_batch_stream(struct gcb_device_batch *b)
{
    return b->stream;
}

int gcb_device_batch_begin(struct gcb_device_batch *b)
{
    const int err = b->module->stream.zero(b->stream, b->results_dev,
                                           b->messages * sizeof(struct gcb_device_result));

    b->launched = b->module->stream.launches(b->stream);
    b->module->event.record(b->from, b->stream); /* gcb_device_batch_finish reports a failure */
    return err;
}

/* Queues the event at the end of the work, and counts the launches. */
static void mark_end(struct gcb_device_batch *b)
{
    b->module->event.record(b->to, b->stream);
    b->launches = b->module->stream.launches(b->stream) - b->launched;
}

int gcb_device_batch_finish(struct gcb_device_batch *b, struct gcb_diag *diag)
{
    mark_end(b);
    /* if queueing fails, `wait` returns the error */
    b->module->stream.copy(b->stream, b->results, b->results_dev,
                           b->messages * sizeof(struct gcb_device_result), GCB_COPY_OUT);
    b->tables_used = 0;
    return b->module->stream.wait(b->stream, diag);
}

int gcb_device_batch_wait(struct gcb_device_batch *b, struct gcb_diag *diag)
{
    mark_end(b);
    return b->module->stream.wait(b->stream, diag);
}

int gcb_device_batch_work(const struct gcb_device_batch *b, struct gcb_device_work *out,
                          struct gcb_diag *diag)
{
    out->launches = b->launches;
    return b->module->event.seconds(&out->seconds, b->from, b->to, diag);
}

uint64_t gcb_device_batch_scratch(const struct gcb_device_batch *b)
{
    return b->scratch_bytes;
}

int gcb_device_batch_shrink(struct gcb_device_batch *b, struct gcb_diag *diag)
{
    const int err = b->module->stream.wait(b->stream, diag);

    b->module->memory.free(b->scratch_dev);
    b->scratch_dev = NULL;
    b->scratch_bytes = 0;
    return err;
}

int gcb_device_batch_reserve(struct gcb_device_batch *b, uint64_t scratch, struct gcb_diag *diag)
{
    int err;

    if (scratch <= b->scratch_bytes)
        return 0;
    err = gcb_device_batch_shrink(b, diag);
    if (!err)
        err = b->module->memory.alloc(&b->scratch_dev, scratch, diag);
    b->scratch_bytes = err ? 0 : scratch;
    return err;
}

uint64_t gcb_device_batch_tables(const struct gcb_device_batch *b)
{
    return (tables_bytes(b) - b->tables_used) / gcb_device_group_bytes(1);
}

struct gcb_device_group gcb_device_batch_group(struct gcb_device_batch *b, unsigned count)
{
    const uint64_t from = b->tables_used;

    b->tables_used += gcb_cuda_align16(gcb_device_group_bytes(count));
    return gcb_device_group_at((uint8_t *)b->tables + from, (uint8_t *)b->tables_dev + from, count);
}

int gcb_device_batch_call(struct gcb_device_call *out, struct gcb_device_batch *b, unsigned i,
                          uint64_t scratch, struct gcb_diag *diag)
{
    if (i >= b->messages || scratch > b->scratch_bytes)
        return gcb_diag_set(diag, GCB_E_INTERNAL,
                            "the batch was made for fewer messages or for less scratch");
    *out = (struct gcb_device_call){
        .stream = b->stream,
        .scratch_dev = b->scratch_dev,
        .result_dev = (struct gcb_device_result *)b->results_dev + i,
    };
    return 0;
}

const struct gcb_device_result *gcb_device_batch_result(const struct gcb_device_batch *b,
                                                        unsigned i)
{
    return (const struct gcb_device_result *)b->results + i;
}

int gcb_device_batch_upload(struct gcb_device_batch *b, void *to_dev, const void *from,
                            uint64_t bytes, struct gcb_diag *diag)
{
    /* reports an earlier failure, also if `bytes` is 0 */
    int err = b->module->stream.wait(b->stream, diag);

    for (uint64_t at = 0; at < bytes && !err; at += b->staging_bytes) {
        const uint64_t n = bytes - at < b->staging_bytes ? bytes - at : b->staging_bytes;

        memcpy(b->staging, (const uint8_t *)from + at, n);
        b->module->stream.copy(b->stream, (uint8_t *)to_dev + at, b->staging, n, GCB_COPY_IN);
        err = b->module->stream.wait(b->stream, diag);
    }
    return err;
}

int gcb_device_batch_download(struct gcb_device_batch *b, void *to, const void *from_dev,
                              uint64_t bytes, struct gcb_diag *diag)
{
    int err = 0;

    for (uint64_t at = 0; at < bytes && !err; at += b->staging_bytes) {
        const uint64_t n = bytes - at < b->staging_bytes ? bytes - at : b->staging_bytes;

        b->module->stream.copy(b->stream, b->staging, (const uint8_t *)from_dev + at, n,
                               GCB_COPY_OUT);
        err = b->module->stream.wait(b->stream, diag);
        if (!err)
            memcpy((uint8_t *)to + at, b->staging, n);
    }
    return err;
}
