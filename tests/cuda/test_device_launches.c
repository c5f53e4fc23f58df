/* Counts the launches of methods on the stand-in, and compares with the tables of docs/gpu.md and
 * the promises for small tensors. */
#include <stdio.h>

#include "src/tool/read/layout.h"
#include "src/tool/read/synthetic.h"
#include "tests/cuda/device_test.h"
#include "tests/support/device_coder.h"

static const char *page;

/* Number of kernels for one message. */
struct counted {
    unsigned encode, decode;
};

/* A coder, and device memory for a tensor and its payload. */
struct bench {
    struct gcb_coder *coder;
    struct gcb_device_batch *batch;
    struct gcb_device_message m;
    void *tensor, *payload;
};

static void take(struct bench *b, uint64_t n)
{
    const struct gcb_device_batch_config config = {.scratch = gcb_device_coder_scratch(b->coder)};
    const struct gcb_device_module *module = device.module;

    assert_int_equal(gcb_device_batch_create(&b->batch, &device, &config, NULL), 0);
    if (!b->tensor)
        assert_int_equal(module->memory.alloc(&b->tensor, n * sizeof(float), NULL), 0);
    if (!b->payload)
        assert_int_equal(module->memory.alloc(&b->payload, gcb_coder_max_payload(b->coder), NULL),
                         0);
    b->m = (struct gcb_device_message){
        .batch = b->batch, .in_dev = b->tensor, .payload_dev = b->payload};
}

static void give(struct bench *b)
{
    gcb_device_batch_destroy(b->batch);
    gcb_coder_destroy(b->coder);
}

/* Launches on the batch's new stream after all work has been queued. */
static unsigned launched(const struct bench *b)
{
    return (unsigned)device.module->stream.launches(gcb_device_batch_stream(b->batch));
}

static unsigned count_encode(struct bench *b, const float *x, uint64_t n, struct gcb_wbuf *message)
{
    const struct gcb_step at = {.step = 1};
    struct gcb_frame frame;
    struct gcb_diag diag = {0};
    unsigned launches;

    take(b, n);
    assert_int_equal(gcb_device_batch_upload(b->batch, b->tensor, x, n * sizeof(float), NULL), 0);
    assert_int_equal(gcb_device_batch_begin(b->batch), 0);
    assert_int_equal(gcb_device_coder_encode_async(b->coder, &at, &b->m, NULL), 0);
    launches = launched(b);
    if (gcb_device_batch_finish(b->batch, &diag))
        fail_msg("%s", diag.text);
    assert_int_equal(gcb_device_coder_encode_finish(b->coder, &b->m, &frame, NULL), 0);
    assert_int_equal(frame.flags & GCB_WIRE_STORED,
                     0); /* otherwise another codec would be counted */
    message->cap = gcb_coder_bound(b->coder);
    message->data = malloc(message->cap);
    assert_int_equal(gcb_device_coder_fetch(b->coder, &b->m, &frame, message, NULL), 0);
    return launches;
}

static unsigned count_decode(struct bench *b, uint64_t n, const struct gcb_wbuf *message)
{
    const struct gcb_coder_config config = {.max_elements = n};
    struct gcb_rbuf payload;
    struct gcb_frame frame;
    unsigned launches;

    assert_int_equal(
        device_coder_create_decoder(&b->coder, &device, message->data, message->len, &config, NULL),
        0);
    take(b, n);
    assert_int_equal(gcb_frame_parse(&frame, &payload, message->data, message->len, NULL), 0);
    assert_int_equal(gcb_device_batch_begin(b->batch), 0);
    assert_int_equal(
        gcb_device_coder_decode_async(b->coder, &frame, b->payload, b->tensor, &b->m, NULL), 0);
    launches = launched(b);
    assert_int_equal(gcb_device_batch_finish(b->batch, NULL), 0);
    assert_int_equal(gcb_device_coder_decode_finish(b->coder, &b->m, NULL), 0);
    return launches;
}

/* For a tensor that is known to be finite, so that there is no check for infinities. */
static struct counted launches_of(const char *spec, uint64_t n)
{
    const struct gcb_coder_config config = {.env = {.count = n, .path = "w"},
                                            .nonfinite = GCB_NONFINITE_TRUSTED};
    float *x = malloc(n * sizeof(float));
    struct gcb_wbuf message = {0};
    struct gcb_method method;
    struct counted counted;
    struct bench b = {0};
    struct gcb_diag diag = {0};

    check_fill(x, n, FILL_NOISE, 1);
    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    if (device_coder_create(&b.coder, &device, &method, &config, &diag))
        fail_msg("%s: %s", spec, diag.text);
    counted.encode = count_encode(&b, x, n, &message);
    give(&b);
    counted.decode = count_decode(&b, n, &message);
    give(&b);
    device.module->memory.free(b.tensor);
    device.module->memory.free(b.payload);
    free(message.data);
    free(x);
    return counted;
}

/* ---- the tables of docs/gpu.md ---- */

/* The `which`-th number in column `column` of a row of the page is the number of launches of `spec`
 * for a tensor of n elements, minus those of `base` if the row counts launches added to it. */
struct promise {
    const char *row;
    unsigned column, which;
    const char *spec, *base;
    uint64_t n;
};

enum { TO_ENCODE = 1, TO_DECODE };
enum {
    SMALL = 1000,
    SAMPLED = 70000,
    WHOLE = 1 << 16, /* some selectors sample only from 2^16 positions on */
    REST = 70032,    /* a last chunk that needs no zeros */
};

#define FFT_CHOSEN "sparse: transform=fft, chunks of 4096, select=chunk"
#define FFT_SHORT "sparse: transform=fft, chunks of 8 to 4096, a power of two"
#define PADDED "sparse: pad=smooth, if the length changes"
#define DCT_SHORT "sparse: transform=dct, chunks of 8 to 4096, a power of two"
#define DCT_STEPS "sparse: transform=dct, other smooth chunks up to 4096"
#define FFT_STEPS "sparse: transform=fft, other smooth chunks up to 4096"
#define DCT_OTHER "sparse: transform=dct, otherwise"
#define FFT_OTHER "sparse: transform=fft, otherwise"

static const struct promise codecs[] = {
    {"identity, fp16, bf16", TO_ENCODE, 0, "identity", NULL, SMALL},
    {"identity, fp16, bf16", TO_ENCODE, 0, "fp16", NULL, SMALL},
    {"identity, fp16, bf16", TO_ENCODE, 0, "bf16", NULL, SMALL},
    {"identity, fp16, bf16", TO_DECODE, 0, "identity", NULL, SMALL},
    {"identity, fp16, bf16", TO_DECODE, 0, "fp16", NULL, SMALL},
    {"identity, fp16, bf16", TO_DECODE, 0, "bf16", NULL, SMALL},
    {"range, max and mantissa given", TO_ENCODE, 0, "range:max=1,mantissa=3", NULL, SMALL},
    {"range, max and mantissa given", TO_DECODE, 0, "range:max=1,mantissa=3", NULL, SMALL},
    {"range, otherwise", TO_ENCODE, 0, "range", NULL, SMALL},
    {"range, otherwise", TO_ENCODE, 0, "range:max=1", NULL, SMALL},
    {"range, otherwise", TO_ENCODE, 0, "range:mantissa=3", NULL, SMALL},
    {"range, otherwise", TO_DECODE, 0, "range", NULL, SMALL},
    {"qsgd, buckets that divide 4096", TO_ENCODE, 0, "qsgd", NULL, SMALL},
    {"qsgd, buckets that divide 4096", TO_ENCODE, 0, "qsgd:bucket=64,norm=l2", NULL, SAMPLED},
    {"qsgd, buckets that divide 4096", TO_DECODE, 0, "qsgd", NULL, SMALL},
    {"qsgd, other buckets", TO_ENCODE, 0, "qsgd:bucket=100", NULL, SAMPLED},
    {"qsgd, other buckets", TO_ENCODE, 0, "qsgd:bucket=5000,norm=l2", NULL, SAMPLED},
    {"qsgd, other buckets", TO_ENCODE, 0, "qsgd:bucket=100", NULL, 4097},
    {"qsgd, other buckets", TO_ENCODE, 1, "qsgd:bucket=100", NULL, 4096},
    {"qsgd, other buckets", TO_ENCODE, 1, "qsgd:bucket=100,norm=l2", NULL, SMALL},
    {"qsgd, other buckets", TO_DECODE, 0, "qsgd:bucket=100", NULL, SAMPLED},
    {"qsgd, an Elias coding", TO_ENCODE, 0, "qsgd:coding=elias", "qsgd", SMALL},
    {"qsgd, an Elias coding", TO_ENCODE, 0, "qsgd:coding=elias-sparse,bucket=100",
     "qsgd:bucket=100", SAMPLED},
    {"qsgd, an Elias coding", TO_DECODE, 0, "qsgd:coding=elias", "qsgd", SMALL},
    {"terngrad", TO_ENCODE, 0, "terngrad", NULL, SMALL},
    {"terngrad", TO_ENCODE, 0, "terngrad:clip=0,packing=base3", NULL, SMALL},
    {"terngrad", TO_DECODE, 0, "terngrad", NULL, SMALL},
    {"terngrad", TO_DECODE, 0, "terngrad:packing=base3", NULL, SMALL},
    {"randomk", TO_ENCODE, 0, "randomk", NULL, SMALL},
    {"randomk", TO_DECODE, 0, "randomk", NULL, SAMPLED},
    {"topk, sparse: select=topk, trimmed", TO_ENCODE, 0, "topk", NULL, SAMPLED},
    {"topk, sparse: select=topk, trimmed", TO_ENCODE, 0, "sparse:select=trimmed", NULL, SAMPLED},
    {"topk, sparse: select=topk, trimmed", TO_ENCODE, 1, "topk", NULL, WHOLE - 1},
    {"topk, sparse: select=topk, trimmed", TO_ENCODE, 0, "topk", NULL, WHOLE},
    {"topk, sparse: select=topk, trimmed", TO_DECODE, 0, "topk", NULL, SAMPLED},
    {"sparse: select=sampled (dgc)", TO_ENCODE, 0, "dgc", NULL, SAMPLED},
    {"sparse: select=sampled (dgc)", TO_ENCODE, 0, "sparse:select=sampled", NULL, SMALL},
    {"sparse: select=sampled (dgc)", TO_DECODE, 0, "dgc", NULL, SAMPLED},
    {"sparse: select=threshold", TO_ENCODE, 0, "sparse:select=threshold,threshold=10", NULL, SMALL},
    {"sparse: select=threshold", TO_DECODE, 0, "sparse:select=threshold,threshold=10", NULL, SMALL},
    {"sparse: select=one-sided (sbc)", TO_ENCODE, 0, "sparse:select=one-sided", NULL, SAMPLED},
    {"sparse: select=one-sided (sbc)", TO_ENCODE, 1, "sparse:select=one-sided", NULL, SMALL},
    {"sparse: select=one-sided (sbc)", TO_DECODE, 0, "sparse:select=one-sided", NULL, SMALL},
    {"sparse: select=alternate", TO_ENCODE, 0, "sparse:select=alternate", NULL, SAMPLED},
    {"sparse: select=alternate", TO_ENCODE, 1, "sparse:select=alternate", NULL, SMALL},
    {"sparse: select=alternate", TO_DECODE, 0, "sparse:select=alternate", NULL, SMALL},
    {"sparse: select=search, redsync", TO_ENCODE, 0, "sparse:select=search", NULL, SAMPLED},
    {"sparse: select=search, redsync", TO_ENCODE, 1, "sparse:select=search", NULL, SMALL},
    {"sparse: select=search, redsync", TO_ENCODE, 0, "redsync:dense-below=0,trimmed-below=0", NULL,
     SAMPLED},
    {"sparse: select=search, redsync", TO_ENCODE, 2, "redsync", NULL, SAMPLED},
    {"sparse: select=search, redsync", TO_DECODE, 0, "redsync", NULL, SAMPLED},
    {"sparse: select=chunk", TO_ENCODE, 0, "sparse:select=chunk,chunk=4096", NULL, SAMPLED},
    {"sparse: select=chunk", TO_ENCODE, 0, "sparse:select=chunk,chunk=20000", NULL, SAMPLED},
    {"sparse: select=chunk", TO_DECODE, 0, "sparse:select=chunk,chunk=4096", NULL, SAMPLED},
    {"demo, chunks of 4096", TO_ENCODE, 0, "demo", NULL, WHOLE},
    {"demo, chunks of 4096", TO_ENCODE, 1, "demo", NULL, REST},
    {"demo, chunks of 4096", TO_DECODE, 0, "demo", NULL, WHOLE},
    {"demo, chunks of 4096", TO_DECODE, 1, "demo", NULL, REST},
    {"sparse: transform=hadamard", TO_ENCODE, 0, "sparse:transform=hadamard,chunk=64", "topk",
     SMALL},
    {"sparse: transform=hadamard", TO_ENCODE, 1, "sparse:transform=hadamard,chunk=65536",
     "sparse:transform=hadamard,chunk=4096", WHOLE},
    {"sparse: transform=hadamard", TO_DECODE, 0, "sparse:transform=hadamard,chunk=64", "topk",
     SMALL},
    {"sparse: transform=hadamard", TO_DECODE, 1, "sparse:transform=hadamard,chunk=65536",
     "sparse:transform=hadamard,chunk=4096", WHOLE},
    {DCT_SHORT, TO_ENCODE, 0, "sparse:transform=dct,chunk=64", "topk", WHOLE},
    {DCT_SHORT, TO_ENCODE, 1, "sparse:transform=dct,chunk=64", "topk", REST},
    {DCT_SHORT, TO_DECODE, 0, "sparse:transform=dct,chunk=64", "topk", WHOLE},
    {DCT_SHORT, TO_DECODE, 1, "sparse:transform=dct,chunk=64", "topk", REST},
    {DCT_STEPS, TO_ENCODE, 0, "sparse:transform=dct,chunk=100", "topk", SAMPLED},
    {DCT_STEPS, TO_ENCODE, 1, "sparse:transform=dct,chunk=100", "topk", REST},
    {DCT_STEPS, TO_DECODE, 0, "sparse:transform=dct,chunk=100", "topk", SAMPLED},
    {DCT_STEPS, TO_DECODE, 1, "sparse:transform=dct,chunk=100", "topk", REST},
    {DCT_OTHER, TO_ENCODE, 0, "sparse:transform=dct,chunk=101", "topk", 101 * 700},
    {DCT_OTHER, TO_ENCODE, 1, "sparse:transform=dct,chunk=101", "topk", WHOLE},
    {DCT_OTHER, TO_DECODE, 0, "sparse:transform=dct,chunk=101", "topk", 101 * 700},
    {DCT_OTHER, TO_DECODE, 1, "sparse:transform=dct,chunk=101", "topk", WHOLE},
    {FFT_CHOSEN, TO_ENCODE, 0, "sparse:transform=fft,chunk=4096,select=chunk", NULL, WHOLE},
    {FFT_CHOSEN, TO_ENCODE, 1, "sparse:transform=fft,chunk=4096,select=chunk", NULL, REST},
    {FFT_CHOSEN, TO_DECODE, 0, "sparse:transform=fft,chunk=4096,select=chunk", NULL, WHOLE},
    {FFT_CHOSEN, TO_DECODE, 1, "sparse:transform=fft,chunk=4096,select=chunk", NULL, REST},
    {FFT_SHORT, TO_ENCODE, 0, "sparse:transform=fft,chunk=64", "topk", 960},
    {FFT_SHORT, TO_ENCODE, 1, "sparse:transform=fft,chunk=64", "topk", SMALL},
    {FFT_SHORT, TO_DECODE, 0, "sparse:transform=fft,chunk=64", "topk", 960},
    {FFT_SHORT, TO_DECODE, 1, "sparse:transform=fft,chunk=64", "topk", SMALL},
    {FFT_STEPS, TO_ENCODE, 0, "sparse:transform=fft,chunk=500", "topk", SMALL},
    {FFT_STEPS, TO_ENCODE, 1, "sparse:transform=fft,chunk=300", "topk", SMALL},
    {FFT_STEPS, TO_DECODE, 0, "sparse:transform=fft,chunk=500", "topk", SMALL},
    {FFT_STEPS, TO_DECODE, 1, "sparse:transform=fft,chunk=300", "topk", SMALL},
    {FFT_OTHER, TO_ENCODE, 0, "sparse:transform=fft,pad=none", "topk", SMALL + 1},
    {FFT_OTHER, TO_DECODE, 0, "sparse:transform=fft,chunk=501", "topk", SMALL},
    {PADDED, TO_ENCODE, 0, "sparse:transform=fft", "sparse:transform=fft,pad=none", 5001},
    {PADDED, TO_DECODE, 0, "sparse:transform=fft", "sparse:transform=fft,pad=none", 5001},
};

static const struct promise values[] = {
    {"fp32, fp16", TO_ENCODE, 0, "topk:values=fp16", "topk", SMALL},
    {"fp32, fp16", TO_DECODE, 0, "topk:values=fp16", "topk", SMALL},
    {"sign-mean, means", TO_ENCODE, 0, "topk:values=sign-mean", "topk", SMALL},
    {"sign-mean, means", TO_ENCODE, 0, "topk:values=means", "topk", SMALL},
    {"sign-mean, means", TO_DECODE, 0, "topk:values=means", "topk", SMALL},
    {"range, uniform", TO_ENCODE, 0, "topk:values=range", "topk", SMALL},
    {"range, uniform", TO_ENCODE, 0, "topk:values=uniform", "topk", SMALL},
    {"range, uniform", TO_DECODE, 0, "topk:values=uniform", "topk", SMALL},
};

/* ---- all-reduces ---- */

static const struct promise reduces[] = {
    {"all-reduce of identity, fp16, bf16", 1, 0, "identity", NULL, SMALL},
    {"all-reduce of identity, fp16, bf16", 1, 0, "fp16", NULL, SMALL},
    {"all-reduce of identity, fp16, bf16", 4, 0, "bf16", NULL, SMALL},
    {"all-reduce of qsgd", 1, 0, "qsgd", NULL, SMALL},
    {"all-reduce of qsgd", 1, 0, "qsgd:bucket=5000,norm=l2", NULL, SAMPLED},
    {"all-reduce of qsgd", 2, 0, "qsgd", NULL, SMALL},
    {"all-reduce of qsgd", 3, 0, "qsgd:bits=8", NULL, SMALL},
    {"all-reduce of qsgd", 4, 0, "qsgd", NULL, SMALL},
    {"all-reduce of terngrad", 1, 0, "terngrad", NULL, SMALL},
    {"all-reduce of terngrad", 2, 0, "terngrad", NULL, SMALL},
    {"all-reduce of terngrad", 3, 0, "terngrad", NULL, SMALL},
    {"all-reduce of terngrad", 4, 0, "terngrad", NULL, SMALL},
    {"all-reduce of randomk", 1, 0, "randomk", NULL, SMALL},
    {"all-reduce of randomk", 4, 0, "randomk", NULL, SMALL},
};

/* The launches of one call, by the column of the table. They are dropped. */
static unsigned launches_to_reduce(const struct promise *p)
{
    const struct gcb_coder_config config = {.env = {.count = p->n, .path = "w", .workers = 2}};
    struct gcb_device_batch_config room = {.messages = 1};
    const struct gcb_device_reduce_ops *ops;
    struct gcb_device_share own = {.weight = 0.5f};
    struct gcb_device_batch *batch = NULL;
    struct gcb_coder *coder = NULL;
    struct gcb_device_call call;
    struct gcb_method method;
    void *memory[5] = {NULL}; /* x, values, what is kept, update, own */
    const void *state;
    unsigned launches;

    assert_int_equal(gcb_method_parse(&method, p->spec, NULL), 0);
    assert_int_equal(device_coder_create(&coder, &device, &method, &config, NULL), 0);
    ops = gcb_device_coder_reduce(coder);
    state = gcb_coder_codec_state(coder);
    room.scratch = ops->scratch ? ops->scratch(state) : 0;
    assert_int_equal(gcb_device_batch_create(&batch, &device, &room, NULL), 0);
    assert_int_equal(gcb_device_batch_call(&call, batch, 0, room.scratch, NULL), 0);
    for (size_t i = 0; i < COUNT(memory); i++)
        assert_int_equal(device.module->memory.alloc(&memory[i], p->n * sizeof(float), NULL), 0);
    own.x_dev = memory[0];
    own.values_dev = memory[1];
    own.kept_dev = memory[2];
    gcb_host_idle(true);
    if (p->column == 2)
        ops->absorb_async(state, 0, memory[1], &own, &call);
    else if (p->column == 4)
        ops->conclude_async(state, memory[1], &own, memory[3], memory[4], &call);
    else
        ops->contribute_async(state, p->column == 3, &own, &call);
    launches = (unsigned)device.module->stream.launches(gcb_device_batch_stream(batch));
    gcb_device_batch_destroy(batch);
    gcb_host_idle(false);
    gcb_coder_destroy(coder);
    for (size_t i = 0; i < COUNT(memory); i++)
        device.module->memory.free(memory[i]);
    return launches;
}

/* ---- the page ---- */

/* A row of table `table` of the page; cells start after the bars. */
static bool find_row(char *line, size_t size, const char *row)
{
    const size_t length = strlen(row);
    bool found = false;
    FILE *f = fopen(page, "r");

    assert_non_null(f);
    while (!found && fgets(line, (int)size, f))
        found = strncmp(line, "| ", 2) == 0 && strncmp(line + 2, row, length) == 0 &&
                strncmp(line + 2 + length, " |", 2) == 0;
    fclose(f);
    return found;
}

static unsigned number_in(const struct promise *p)
{
    char line[512], *at = line;
    unsigned long number = 0;

    if (!find_row(line, sizeof(line), p->row))
        fail_msg("%s has no row '%s'", page, p->row);
    for (unsigned bars = 0; bars <= p->column; bars++)
        at = strchr(at, '|') + 1;
    *strchr(at, '|') = '\0';
    for (unsigned i = 0; i <= p->which; i++) {
        at += strcspn(at, "0123456789");
        if (!*at)
            fail_msg("row '%s' has no number %u in column %u", p->row, p->which, p->column);
        number = strtoul(at, &at, 10);
    }
    return (unsigned)number;
}

static void check_promises(const struct promise *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct promise *p = &list[i];
        const struct counted more = launches_of(p->spec, p->n);
        const struct counted less = p->base ? launches_of(p->base, p->n) : (struct counted){0, 0};
        const unsigned got =
            p->column == TO_ENCODE ? more.encode - less.encode : more.decode - less.decode;

        if (got != number_in(p))
            fail_msg("row '%s', column %u: %s of %llu elements takes %u launches, the page says %u",
                     p->row, p->column, p->spec, (unsigned long long)p->n, got, number_in(p));
    }
}

static void codecs_as_the_page_says(void **state)
{
    check_promises(codecs, COUNT(codecs));
}

static void values_as_the_page_says(void **state)
{
    check_promises(values, COUNT(values));
}

static void reduces_as_the_page_says(void **state)
{
    for (size_t i = 0; i < COUNT(reduces); i++) {
        const struct promise *p = &reduces[i];

        if (launches_to_reduce(p) != number_in(p))
            fail_msg("row '%s', column %u: %s takes %u launches, the page says %u", p->row,
                     p->column, p->spec, launches_to_reduce(p), number_in(p));
    }
}

static const char *const indices[] = {"u32",    "bitmap", "block",   "elias-fano",
                                      "golomb", "varint", "adaptive"};

/* The launches of an index coder are the difference from those of u32. */
static void indices_as_the_page_says(void **state)
{
    const struct counted u32 = launches_of("topk:index=u32", SMALL);
    const struct promise first[] = {{.row = "u32", .column = TO_ENCODE},
                                    {.row = "u32", .column = TO_DECODE}};

    for (size_t i = 0; i < COUNT(indices); i++) {
        const struct promise put = {.row = indices[i], .column = TO_ENCODE};
        const struct promise get = {.row = indices[i], .column = TO_DECODE};
        struct counted c;
        char spec[64];

        snprintf(spec, sizeof(spec), "topk:index=%s", indices[i]);
        c = launches_of(spec, SMALL);
        if (c.encode - u32.encode != number_in(&put) - number_in(&first[0]) ||
            c.decode - u32.decode != number_in(&get) - number_in(&first[1]))
            fail_msg("index=%s: %u launches to encode and %u to decode, u32 has %u and %u",
                     indices[i], c.encode, c.decode, u32.encode, u32.decode);
    }
}

static bool is_counted(const char *row, size_t length)
{
    bool found = false;

    for (size_t i = 0; i < COUNT(codecs); i++)
        found |= strlen(codecs[i].row) == length && strncmp(codecs[i].row, row, length) == 0;
    for (size_t i = 0; i < COUNT(values); i++)
        found |= strlen(values[i].row) == length && strncmp(values[i].row, row, length) == 0;
    for (size_t i = 0; i < COUNT(reduces); i++)
        found |= strlen(reduces[i].row) == length && strncmp(reduces[i].row, row, length) == 0;
    for (size_t i = 0; i < COUNT(indices); i++)
        found |= strlen(indices[i]) == length && strncmp(indices[i], row, length) == 0;
    return found;
}

/* Each row of the page's tables of launches is compared above. */
static void no_row_is_left_out(void **state)
{
    unsigned tables = 0, rows = 0;
    bool inside = false;
    char line[512];
    FILE *f = fopen(page, "r");

    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        const char *end = strstr(line + 1, " |");

        if (strstr(line, "| launches to ")) {
            inside = true;
            tables++;
        } else if (line[0] != '|') {
            inside = false;
        } else if (inside && line[1] == ' ') {
            rows++;
            if (!is_counted(line + 2, (size_t)(end - line) - 2))
                fail_msg("no test counts the launches of row '%.*s'", (int)(end - line) - 2,
                         line + 2);
        }
    }
    fclose(f);
    assert_int_equal(tables, 4);
    assert_true(rows > 20);
}

/* ---- promises for small tensors ---- */

static const char *const quantisers[] = {
    "identity",
    "fp16",
    "bf16",
    "range",
    "range:max=1",
    "range:mantissa=3",
    "range:max=1,mantissa=3",
    "qsgd",
    "qsgd:norm=l2",
    "qsgd:bits=8,bucket=64",
    "qsgd:bucket=100",
    "qsgd:bucket=100,norm=l2",
    "qsgd:bucket=100000",
    "qsgd:bucket=100000,norm=l2",
    "terngrad",
    "terngrad:clip=0",
    "terngrad:packing=base3",
};

static void quantisers_take_three_at_most(void **state)
{
    static const uint64_t sizes[] = {16, 64, 1000, 4096, 4097, 36864};

    for (size_t i = 0; i < COUNT(quantisers); i++)
        for (size_t k = 0; k < COUNT(sizes); k++) {
            const struct counted c = launches_of(quantisers[i], sizes[k]);

            if (c.encode > 3 || c.decode > 3)
                fail_msg("%s of %llu elements: %u launches to encode, %u to decode", quantisers[i],
                         (unsigned long long)sizes[k], c.encode, c.decode);
        }
}

/* Launches that are queued to encode one message of n elements; they are not run. */
static unsigned queued_of(const char *spec, uint64_t n)
{
    const struct gcb_coder_config config = {.env = {.count = n, .path = "w"},
                                            .nonfinite = GCB_NONFINITE_TRUSTED};
    const struct gcb_step at = {.step = 1};
    struct gcb_method method;
    struct bench b = {0};
    unsigned launches;

    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    assert_int_equal(device_coder_create(&b.coder, &device, &method, &config, NULL), 0);
    take(&b, n);
    gcb_host_idle(true);
    assert_int_equal(gcb_device_coder_encode_async(b.coder, &at, &b.m, NULL), 0);
    launches = launched(&b);
    give(&b);
    gcb_host_idle(false);
    device.module->memory.free(b.tensor);
    device.module->memory.free(b.payload);
    return launches;
}

/* Each bucket of ResNet-50's 161 tensors, as --scope bucket makes them, takes as many launches as
 * one tensor. */
static void a_bucket_takes_one_set(void **state)
{
    static const struct gcb_source_synthetic network = {.name = "normal", .layout = "resnet50"};
    const struct gcb_layout_config config = {.scope = GCB_SCOPE_BUCKET};
    struct gcb_source *source = NULL;
    struct gcb_layout layout;

    assert_int_equal(gcb_source_open_synthetic(&source, &network, 1, 1, NULL), 0);
    assert_int_equal(gcb_source_count(source), 161);
    assert_int_equal(gcb_layout_init(&layout, source, &config, NULL), 0);
    for (size_t i = 0; i < COUNT(quantisers); i++)
        for (size_t k = 0; k < layout.count; k++)
            assert_int_equal(queued_of(quantisers[i], layout.messages[k].count),
                             queued_of(quantisers[i], 36864));
    gcb_layout_fini(&layout);
    gcb_source_close(source);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codecs_as_the_page_says),  cmocka_unit_test(values_as_the_page_says),
        cmocka_unit_test(indices_as_the_page_says), cmocka_unit_test(no_row_is_left_out),
        cmocka_unit_test(reduces_as_the_page_says), cmocka_unit_test(quantisers_take_three_at_most),
        cmocka_unit_test(a_bucket_takes_one_set),
    };

    if (argc < 2)
        return 2;
    page = argv[1];
    return cmocka_run_group_tests(tests, open_device, NULL);
}
