/* Messages that are encoded and decoded by one set of launches: those of single calls, byte for byte. */
#include "src/cuda/device_group.h"
#include "src/data/synthetic.h"
#include "tests/cuda/device_test.h"

#define MOST 161

/* Tensors of one step on the device, a coder for each, and what is made of them. */
struct set {
    size_t count;
    uint64_t n[MOST];
    struct gcb_device_coder *coder[MOST];
    struct gcb_device_batch *batch;
    struct gcb_device_message m[MOST];
    struct gcb_frame frame[MOST];
    float *tensors, *residuals; /* one behind the other, from boundaries of 256 bytes on */
    uint64_t all;               /* their floats */
};

/* How a set is made. */
struct plan {
    const char *const *specs; /* taken in turn */
    size_t spec_count;
    const uint64_t *sizes;
    size_t count;
    enum gcb_nonfinite nonfinite;
    bool feedback, alone; /* one at a time */
    uint64_t scratch;     /* 0: what groups ask for */
};

static void *take(uint64_t bytes)
{
    void *p;

    assert_int_equal(device.module->alloc(&p, bytes, NULL), 0);
    return p;
}

static void open_coder(struct set *s, const struct plan *plan, size_t i)
{
    const struct gcb_coder_config config = {
        .env = {.count = s->n[i], .seed = 5, .path = "w", .feedback = plan->feedback},
        .nonfinite = plan->nonfinite,
        .checksum = true};
    struct gcb_method method;

    assert_int_equal(gcb_method_parse(&method, plan->specs[i % plan->spec_count], NULL), 0);
    assert_int_equal(gcb_device_coder_create(&s->coder[i], &device, &method, &config, NULL), 0);
}

static void open_batch(struct set *s, const struct plan *plan)
{
    struct gcb_device_batch_config config = {.messages = (unsigned)s->count, .staging = 1 << 20};

    config.scratch = plan->scratch ? plan->scratch : gcb_device_group_scratch(s->coder, s->count);
    assert_int_equal(gcb_device_batch_create(&s->batch, &device, &config, NULL), 0);
    for (size_t i = 0; i < s->count; i++) {
        s->m[i].batch = s->batch;
        s->m[i].i = (unsigned)(s->count - 1 - i); /* which result is whose must not be guessed */
    }
}

static void open_set(struct set *s, const struct plan *plan)
{
    memset(s, 0, sizeof(*s));
    s->count = plan->count;
    memcpy(s->n, plan->sizes, plan->count * sizeof(*s->n));
    for (size_t i = 0; i < s->count; i++)
        open_coder(s, plan, i);
    open_batch(s, plan);
    for (size_t i = 0; i < s->count; i++)
        s->all += (s->n[i] + 63) / 64 * 64;
    s->tensors = take(s->all * sizeof(float));
    s->residuals = plan->feedback ? take(s->all * sizeof(float)) : NULL;
    for (size_t i = 0, from = 0; i < s->count; i++) {
        s->m[i].in_dev = s->tensors + from;
        s->m[i].payload_dev = take(gcb_device_coder_payload_bound(s->coder[i]));
        s->m[i].residual_dev = plan->feedback ? s->residuals + from : NULL;
        s->m[i].carry = 0.5f;
        from += (s->n[i] + 63) / 64 * 64;
    }
}

static void close_set(struct set *s)
{
    gcb_device_batch_destroy(s->batch);
    for (size_t i = 0; i < s->count; i++) {
        gcb_device_coder_destroy(s->coder[i]);
        device.module->free(s->m[i].payload_dev);
    }
    device.module->free(s->tensors);
    device.module->free(s->residuals);
}

/* Hostile tensors of each kind in turn, or what is left of earlier steps; the same for sets of the same sizes. */
static void fill(struct set *s, float *to_dev, bool hostile)
{
    float *x = calloc(s->all + 1, sizeof(float));

    for (size_t i = 0, from = 0; i < s->count; i++) {
        check_fill(x + from, s->n[i], hostile ? (enum check_fill)(i % FILL_COUNT) : FILL_NOISE,
                   hostile ? i : i + 50);
        from += (s->n[i] + 63) / 64 * 64;
    }
    assert_int_equal(gcb_device_batch_upload(s->batch, to_dev, x, s->all * sizeof(float), NULL), 0);
    free(x);
}

static void upload(struct set *s)
{
    fill(s, s->tensors, true);
    if (s->residuals)
        fill(s, s->residuals, false);
}

static const struct gcb_step at = {.step = 3, .worker = 2};

/* Queues all of the set; returns the launches. Nothing waits and nothing is taken. */
static unsigned queue(struct set *s, const struct plan *plan)
{
    const struct gcb_device_stream *stream = gcb_device_batch_stream(s->batch);
    const uint64_t launched = device.module->launches(stream);
    struct gcb_host_counts before, after;

    assert_int_equal(gcb_device_batch_begin(s->batch), 0);
    gcb_host_count(&before);
    if (plan->alone)
        for (size_t i = 0; i < s->count; i++)
            assert_int_equal(gcb_device_coder_encode_async(s->coder[i], &at, &s->m[i], NULL), 0);
    else
        assert_int_equal(gcb_device_group_encode_async(s->coder, &at, s->m, s->count, NULL), 0);
    gcb_host_count(&after);
    assert_int_equal(after.waits, before.waits);
    assert_int_equal(after.allocations, before.allocations);
    return (unsigned)(device.module->launches(stream) - launched);
}

/* The same, run, and its frames. */
static unsigned encode(struct set *s, const struct plan *plan)
{
    const unsigned launches = queue(s, plan);
    struct gcb_diag diag = {0};

    if (gcb_device_batch_finish(s->batch, &diag))
        fail_msg("%s", diag.text);
    for (size_t i = 0; i < s->count; i++)
        assert_int_equal(gcb_device_coder_encode_finish(s->coder[i], &s->m[i], &s->frame[i], NULL),
                         0);
    assert_int_equal(device.module->wait(gcb_device_batch_stream(s->batch), NULL), 0);
    return launches;
}

static void check_same(struct set *a, struct set *b, const void *p, const void *q, uint64_t bytes)
{
    uint8_t *mine = malloc(bytes + 1), *other = malloc(bytes + 1);

    assert_int_equal(gcb_device_batch_download(a->batch, mine, p, bytes, NULL), 0);
    assert_int_equal(gcb_device_batch_download(b->batch, other, q, bytes, NULL), 0);
    assert_memory_equal(mine, other, bytes);
    free(mine);
    free(other);
}

/* Frames, payloads, tensors and residuals of both sets are the same. */
static void check_sets(struct set *a, struct set *b)
{
    for (size_t i = 0; i < a->count; i++) {
        assert_int_equal(a->frame[i].flags, b->frame[i].flags);
        assert_int_equal(a->frame[i].payload_bytes, b->frame[i].payload_bytes);
        assert_int_equal(gcb_device_coder_clamped(a->coder[i]),
                         gcb_device_coder_clamped(b->coder[i]));
        check_same(a, b, a->m[i].payload_dev, b->m[i].payload_dev, a->frame[i].payload_bytes);
    }
    check_same(a, b, a->tensors, b->tensors, a->all * sizeof(float));
    if (a->residuals)
        check_same(a, b, a->residuals, b->residuals, a->all * sizeof(float));
}

/* Encodes both ways; returns the launches of the group. */
static unsigned same_as_alone(const struct plan *plan)
{
    struct plan single = *plan;
    struct set together, alone;
    unsigned launches;

    single.alone = true;
    open_set(&together, plan);
    open_set(&alone, &single);
    upload(&together);
    upload(&alone);
    launches = encode(&together, plan);
    encode(&alone, &single);
    check_sets(&together, &alone);
    close_set(&together);
    close_set(&alone);
    return launches;
}

/* Every branch of the launchers, with the launches of one message. */
static const struct quantiser {
    const char *spec;
    unsigned launches;
} quantisers[] = {
    {"identity", 1},
    {"fp16", 1},
    {"bf16", 1},
    {"range", 3},
    {"range:max=1", 3},
    {"range:bits=5,mantissa=2", 3},
    {"range:bits=7,max=0.25,mantissa=3", 1},
    {"qsgd", 1},
    {"qsgd:norm=l2,bucket=64", 1},
    {"qsgd:bucket=100", 3},
    {"qsgd:bucket=100,norm=l2", 3},
    {"qsgd:bucket=9000", 3},
    {"qsgd:bucket=9000,norm=l2", 3},
    {"terngrad", 3},
    {"terngrad:clip=0", 3},
    {"terngrad:packing=base3", 3},
};

/* 0 and 1 element, the sizes of normalisations, tiles and their neighbours, and more messages than a warp has lanes. */
static const uint64_t sizes[] = {
    64, 0,  1,  1000, 4096, 4097, 33, 12289, 64, 64, 100, 512, 4080, 4081, 40000, 64, 65, 66,
    67, 68, 69, 70,   71,   72,   73, 74,    75, 76, 77,  78,  8192, 2048, 3,     0,  5,  37000};

static void quantisers_as_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(quantisers); i++)
        for (int round = 0; round < 2; round++) {
            const struct plan plan = {.specs = &quantisers[i].spec,
                                      .spec_count = 1,
                                      .sizes = sizes,
                                      .count = COUNT(sizes),
                                      .nonfinite = GCB_NONFINITE_RAW,
                                      .feedback = round == 1};

            gcb_host_schedule((enum gcb_host_order)((i + (size_t)round) % 3), i);
            /* and the look for infinities */
            assert_int_equal(same_as_alone(&plan), quantisers[i].launches + 1);
        }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
}

/* Neighbours of one method go together; others, and those that know no groups, by themselves. */
static void methods_in_turn(void **state)
{
    static const char *const specs[] = {"fp16",
                                        "fp16",
                                        "qsgd",
                                        "qsgd:bucket=100",
                                        "qsgd:bits=8",
                                        "topk",
                                        "qsgd:coding=elias",
                                        "qsgd:coding=elias"};
    static const uint64_t some[] = {100, 200, 300, 400, 500, 600, 700, 800};
    const struct plan plan = {.specs = specs,
                              .spec_count = COUNT(specs),
                              .sizes = some,
                              .count = COUNT(some),
                              .nonfinite = GCB_NONFINITE_RAW};

    (void)state;
    /* fp16 in pairs, qsgd with either bucket, then one by one; each with a look for infinities */
    assert_int_equal(same_as_alone(&plan), 2 + 2 + 2 + 13 + 5 + 5);
}

/* Where scratch or tables do not suffice there are more groups, and the same messages. */
static void little_room(void **state)
{
    static const char *const specs[] = {"terngrad"};
    struct plan plan = {.specs = specs,
                        .spec_count = 1,
                        .sizes = sizes,
                        .count = COUNT(sizes),
                        .nonfinite = GCB_NONFINITE_RAW};
    struct set s;

    (void)state;
    plan.scratch = 2048; /* that of the largest, and some */
    assert_in_range(same_as_alone(&plan), 8, 4 * COUNT(sizes) / 2);
    plan.scratch = 0;
    open_set(&s, &plan);
    upload(&s);
    gcb_host_idle(true);
    assert_int_equal(queue(&s, &plan), 4);
    assert_int_equal(queue(&s, &plan), 4 * COUNT(sizes)); /* no finish between: tables are full */
    assert_int_equal(gcb_device_batch_finish(s.batch, NULL), 0);
    assert_int_equal(queue(&s, &plan), 4);
    gcb_host_idle(false);
    close_set(&s);
}

/* What is refused one by one is refused in a group. */
static void refusals(void **state)
{
    static const char *const specs[] = {"fp16", "topk:values=fp16"};
    static const uint64_t some[] = {10, 20, 30};
    struct plan plan = {.specs = specs, .spec_count = 1, .sizes = some, .count = COUNT(some)};
    struct set s;

    (void)state;
    open_set(&s, &plan);
    s.m[1].i = 3;
    assert_int_equal(gcb_device_group_encode_async(s.coder, &at, s.m, s.count, NULL),
                     GCB_E_INTERNAL);
    s.m[1].i = 1;
    s.m[1].residual_dev = s.m[1].in_dev; /* never looked at: its coder was not made for one */
    assert_int_equal(gcb_device_group_encode_async(s.coder, &at, s.m, s.count, NULL),
                     GCB_E_MISMATCH);
    s.m[1].residual_dev = NULL;
    close_set(&s);
    plan.spec_count = 2;
    plan.scratch = 1;
    open_set(&s, &plan);
    assert_int_equal(gcb_device_group_encode_async(s.coder, &at, s.m, s.count, NULL),
                     GCB_E_INTERNAL); /* scratch for less than the least */
    close_set(&s);
}

/* Decoders of a set's messages, whose payloads are on the device still, and a batch for them. */
static void open_decoders(struct set *s)
{
    const struct gcb_coder_config config = {.max_elements = 1 << 20};

    for (size_t i = 0; i < s->count; i++) {
        struct gcb_wbuf w = {.cap = gcb_device_coder_bound(s->coder[i])};

        w.data = malloc(w.cap);
        assert_int_equal(gcb_device_coder_fetch(s->coder[i], &s->m[i], &s->frame[i], &w, NULL), 0);
        gcb_device_coder_destroy(s->coder[i]);
        s->coder[i] = NULL;
        assert_int_equal(
            gcb_device_coder_create_decoder(&s->coder[i], &device, w.data, w.len, &config, NULL),
            0);
        free(w.data);
    }
    gcb_device_batch_destroy(s->batch);
    open_batch(s, &(struct plan){0});
}

/* Decodes all of the set to where its tensors were, which is filled with NaNs first; returns the launches, and how each
 * message ended in `status`. */
static unsigned decode(struct set *s, bool alone, int *status)
{
    struct gcb_device_stream *stream = gcb_device_batch_stream(s->batch);
    const uint64_t launched = device.module->launches(stream), bytes = s->all * sizeof(float);
    struct gcb_device_received r[MOST];
    uint8_t *nan = malloc(bytes + 1);
    unsigned launches;

    memset(nan, 0xff, bytes);
    assert_int_equal(gcb_device_batch_upload(s->batch, s->tensors, nan, bytes, NULL), 0);
    free(nan);
    for (size_t i = 0; i < s->count; i++)
        r[i] = (struct gcb_device_received){
            .frame = &s->frame[i], .payload_dev = s->m[i].payload_dev, .out_dev = s->m[i].in_dev};
    assert_int_equal(gcb_device_batch_begin(s->batch), 0);
    for (size_t i = 0; alone && i < s->count; i++)
        assert_int_equal(gcb_device_coder_decode_async(s->coder[i], r[i].frame, r[i].payload_dev,
                                                       r[i].out_dev, &s->m[i], NULL),
                         0);
    if (!alone)
        assert_int_equal(gcb_device_group_decode_async(s->coder, r, s->m, s->count, NULL), 0);
    launches = (unsigned)(device.module->launches(stream) - launched);
    assert_int_equal(gcb_device_batch_finish(s->batch, NULL), 0);
    for (size_t i = 0; i < s->count; i++)
        status[i] = gcb_device_coder_decode_finish(s->coder[i], &s->m[i], NULL);
    return launches;
}

/* Encodes hostile tensors, damages the front of payload `damaged`, if there is one, and decodes both ways. */
static unsigned decoded_as_alone(const struct plan *plan, size_t damaged)
{
    int status[2][MOST];
    struct set set[2];
    unsigned launches = 0;

    for (int alone = 0; alone < 2; alone++) {
        unsigned n;

        open_set(&set[alone], plan);
        upload(&set[alone]);
        encode(&set[alone], plan);
        open_decoders(&set[alone]);
        if (damaged < plan->count)
            assert_int_equal(gcb_device_batch_upload(set[alone].batch,
                                                     set[alone].m[damaged].payload_dev,
                                                     "\xff\xff\xff\xff", 4, NULL),
                             0);
        n = decode(&set[alone], alone, status[alone]);
        launches = alone ? launches : n;
    }
    assert_memory_equal(status[0], status[1], plan->count * sizeof(**status));
    for (size_t i = 0; i < plan->count; i++)
        assert_int_equal(status[0][i], i == damaged ? GCB_E_CORRUPT : 0);
    for (size_t i = 0; i < plan->count; i++)
        if (!status[0][i])
            check_same(&set[0], &set[1], set[0].m[i].in_dev, set[1].m[i].in_dev,
                       set[0].n[i] * sizeof(float));
    close_set(&set[0]);
    close_set(&set[1]);
    return launches;
}

static void decoded_together(void **state)
{
    static const uint64_t coded[] = {64, 4097, 100, 12289};

    (void)state;
    for (size_t i = 0; i < COUNT(quantisers); i++) {
        const bool scaled = i >= 3; /* damage to a float as it is goes unseen */
        struct plan plan = {.specs = &quantisers[i].spec,
                            .spec_count = 1,
                            .sizes = sizes,
                            .count = COUNT(sizes),
                            .nonfinite = GCB_NONFINITE_RAW};

        gcb_host_schedule((enum gcb_host_order)(i % 3), i);
        decoded_as_alone(&plan,
                         MOST); /* some are stored: those that are not finite, and tiny ones */
        plan.sizes = coded;
        plan.count = COUNT(coded); /* the fifth kind of tensor is not finite */
        assert_int_equal(decoded_as_alone(&plan, scaled ? 1 : MOST), 1);
    }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
}

/* All of ResNet-50's 161 tensors, each a message of its own: one set of launches for each quantiser. */
static void a_network_takes_one_set(void **state)
{
    size_t count;
    const struct gcb_shape_row *rows = gcb_synthetic_layout("resnet50", &count);
    uint64_t n[MOST];

    (void)state;
    assert_int_equal(count, MOST);
    for (size_t i = 0; i < MOST; i++) {
        n[i] = 1;
        for (unsigned d = 0; d < rows[i].rank; d++)
            n[i] *= rows[i].dims[d];
    }
    gcb_host_idle(true);
    for (size_t i = 0; i < COUNT(quantisers); i++) {
        const struct plan plan = {.specs = &quantisers[i].spec,
                                  .spec_count = 1,
                                  .sizes = n,
                                  .count = MOST,
                                  .nonfinite = GCB_NONFINITE_TRUSTED};
        struct set s;

        open_set(&s, &plan);
        assert_int_equal(queue(&s, &plan), quantisers[i].launches);
        close_set(&s);
    }
    gcb_host_idle(false);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantisers_as_alone),
        cmocka_unit_test(decoded_together),
        cmocka_unit_test(methods_in_turn),
        cmocka_unit_test(little_room),
        cmocka_unit_test(refusals),
        cmocka_unit_test(a_network_takes_one_set),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_device, NULL);
}
