/* In groups of many messages, a coder is not asked more often if more messages follow it. */
#include "tests/cuda/device_test.h"
#include "tests/support/device_coder.h"

#define MANY 5000
#define ELEMENTS 64

/* The device, with a counter of calls that ask fp16 what a message needs. */
static struct gcb_device counting;
static const struct gcb_device_ops *fp16;
static uint64_t looks, scratch; /* what fp16 says that it needs */

static uint64_t counted_scratch(const void *state)
{
    looks++;
    return scratch;
}

static int open_counting(void **state)
{
    static struct gcb_device_module module;
    static struct gcb_device_codec rows[32];
    static struct gcb_device_ops ops;
    struct gcb_method method;
    size_t n = 0;

    open_device(state);
    assert_int_equal(gcb_method_parse(&method, "fp16", NULL), 0);
    for (; device.module->codecs[n].ops; n++) {
        assert_in_range(n, 0, COUNT(rows) - 2);
        rows[n] = device.module->codecs[n];
        if (rows[n].wire_id != method.codec->wire_id)
            continue;
        fp16 = rows[n].ops;
        ops = *fp16;
        ops.scratch = counted_scratch;
        rows[n].ops = &ops;
    }
    module = *device.module;
    module.codecs = rows;
    counting = device;
    counting.module = &module;
    return 0;
}

/* Two coders of different methods for all messages, which share their memory. Nothing is run. */
struct many {
    struct gcb_coder *one[2], *coder[MANY];
    struct gcb_device_batch *batch;
    struct gcb_device_message m[MANY];
    struct gcb_frame frame[2];
    struct gcb_device_received received[MANY];
    void *tensor, *payload;
};

static const struct gcb_step at = {.step = 1};

static void open_coder(struct many *all, size_t i, const char *spec)
{
    const struct gcb_coder_config config = {.env = {.count = ELEMENTS},
                                            .nonfinite = GCB_NONFINITE_TRUSTED};
    struct gcb_method method;

    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    assert_int_equal(device_coder_create(&all->one[i], &counting, &method, &config, NULL), 0);
}

/* Uses `specs` in turn. */
static void open_many(struct many *all, const char *const specs[2])
{
    const struct gcb_device_batch_config config = {.messages = MANY, .scratch = 4 * scratch};

    memset(all, 0, sizeof(*all));
    assert_int_equal(gcb_device_batch_create(&all->batch, &counting, &config, NULL), 0);
    assert_int_equal(device.module->memory.alloc(&all->tensor, ELEMENTS * sizeof(float), NULL), 0);
    assert_int_equal(device.module->memory.alloc(&all->payload, ELEMENTS * sizeof(float), NULL), 0);
    for (size_t i = 0; i < 2; i++)
        open_coder(all, i, specs[i]);
    for (size_t i = 0; i < MANY; i++) {
        all->coder[i] = all->one[i % 2];
        all->m[i] = (struct gcb_device_message){.batch = all->batch,
                                                .i = (unsigned)i,
                                                .in_dev = all->tensor,
                                                .payload_dev = all->payload};
    }
}

/* Replaces the coders by decoders. */
static void turn_round(struct many *all)
{
    const struct gcb_coder_config config = {.max_elements = ELEMENTS};
    uint8_t room[1024];

    for (size_t i = 0; i < 2; i++) {
        struct gcb_wbuf w = {.data = room, .cap = sizeof(room)};

        assert_int_equal(gcb_device_batch_begin(all->batch), 0);
        assert_int_equal(gcb_device_coder_encode_async(all->one[i], &at, &all->m[i], NULL), 0);
        assert_int_equal(gcb_device_batch_finish(all->batch, NULL), 0);
        assert_int_equal(
            gcb_device_coder_encode_finish(all->one[i], &all->m[i], &all->frame[i], NULL), 0);
        assert_int_equal(gcb_device_coder_fetch(all->one[i], &all->m[i], &all->frame[i], &w, NULL),
                         0);
        gcb_coder_destroy(all->one[i]);
        assert_int_equal(
            device_coder_create_decoder(&all->one[i], &counting, w.data, w.len, &config, NULL), 0);
    }
    for (size_t i = 0; i < MANY; i++) {
        all->coder[i] = all->one[i % 2];
        all->received[i] = (struct gcb_device_received){
            .frame = &all->frame[i % 2], .payload_dev = all->payload, .out_dev = all->tensor};
    }
}

static void close_many(struct many *all)
{
    gcb_device_batch_destroy(all->batch);
    for (size_t i = 0; i < 2; i++)
        gcb_coder_destroy(all->one[i]);
    device.module->memory.free(all->tensor);
    device.module->memory.free(all->payload);
    gcb_host_idle(false);
}

/* No two consecutive messages have the same method. */
static void decoding_alone(void **state)
{
    static struct many all;

    open_many(&all, (const char *const[]){"fp16", "bf16"});
    turn_round(&all);
    gcb_host_idle(true);
    assert_int_equal(gcb_device_batch_begin(all.batch), 0);
    looks = 0;
    assert_int_equal(gcb_device_group_decode_async(all.coder, all.received, all.m, MANY, NULL), 0);
    assert_in_range(looks, MANY / 2, 4 * MANY);
    assert_int_equal(gcb_device_batch_finish(all.batch, NULL), 0);
    close_many(&all);
}

/* All could form a group, but there is scratch for four only. */
static void scratch_for_few(void **state)
{
    static struct many all;
    struct gcb_device_stream *stream;
    uint64_t launched;

    scratch = 256;
    open_many(&all, (const char *const[]){"fp16", "fp16"});
    turn_round(&all);
    stream = gcb_device_batch_stream(all.batch);
    gcb_host_idle(true);
    assert_int_equal(gcb_device_batch_begin(all.batch), 0);
    launched = device.module->stream.launches(stream);
    looks = 0;
    assert_int_equal(gcb_device_group_decode_async(all.coder, all.received, all.m, MANY, NULL), 0);
    assert_int_equal(device.module->stream.launches(stream) - launched, MANY / 4);
    assert_in_range(looks, MANY, 8 * MANY);
    assert_int_equal(gcb_device_batch_finish(all.batch, NULL), 0);
    close_many(&all);
    scratch = 0;
}

/* All could form a group, but tables are full. */
static void without_tables(void **state)
{
    static struct many all;
    struct gcb_device_stream *stream;
    uint64_t launched;

    open_many(&all, (const char *const[]){"fp16", "fp16"});
    stream = gcb_device_batch_stream(all.batch);
    gcb_host_idle(true);
    assert_int_equal(gcb_device_batch_begin(all.batch), 0);
    assert_int_equal(gcb_device_group_encode_async(all.coder, &at, all.m, MANY - 100, NULL), 0);
    launched = device.module->stream.launches(stream);
    assert_int_equal(launched, 1);
    looks = 0;
    assert_int_equal(gcb_device_group_encode_async(all.coder, &at, all.m, MANY, NULL), 0);
    assert_in_range(looks, MANY, 4 * MANY);
    /* the remaining tables still make a group: at least of the hundred messages that had not been
     * queued */
    assert_in_range(device.module->stream.launches(stream) - launched, 1, 1 + MANY - 100);
    assert_int_equal(gcb_device_batch_finish(all.batch, NULL), 0);
    close_many(&all);
}

RUN_TESTS_BETWEEN(open_counting, NULL, cmocka_unit_test(decoding_alone),
                  cmocka_unit_test(scratch_for_few), cmocka_unit_test(without_tables))
