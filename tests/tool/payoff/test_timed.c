/* Times of coding in rows: which rows count, what other settings cost, and ways that come from rows
 * alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/tool/payoff/timed.h"
#include "tests/support/test.h"

/* ---- rows ---- */

#define MOST 4
struct files {
    char path[MOST][40];
    const char *paths[MOST];
    size_t count;
};

static void add_file(struct files *f, const char *text)
{
    char *path = f->path[f->count];
    int fd;

    strcpy(path, "/tmp/gcbench-timed-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    f->paths[f->count++] = path;
}

static int read_files(struct gcb_timed *t, struct files *f, struct gcb_diag *diag)
{
    int err;

    memset(diag, 0, sizeof(*diag));
    err = gcb_timed_read(t, f->paths, f->count, NULL, diag);
    for (size_t i = 0; i < f->count; i++)
        unlink(f->path[i]);
    f->count = 0;
    return err;
}

static int read_text(struct gcb_timed *t, const char *text)
{
    struct files f = {.count = 0};
    struct gcb_diag diag;

    add_file(&f, text);
    return read_files(t, &f, &diag);
}

/* A row of 1000 elements whose times are 1 ms times `scale` for encoding, and 2 ms for decoding. */
#define ROW(record, method, spec, rest) \
    "{\"record\":\"" record "\",\"schema\":1,\"method\":\"" method "\",\"spec\":\"" spec \
    "\",\"device\":\"cpu\",\"isa\":\"avx2\",\"threads\":1," rest "}\n"
#define TIMES(elements, wire, encode, decode) \
    "\"status\":\"ok\",\"elements\":" elements ",\"wire_bytes\":" wire \
    ",\"encode_seconds\":" encode ",\"decode_seconds\":" decode
#define QSGD4 "qsgd:bits=4"

static void near(const char *what, double got, double want)
{
    if (!(fabs(got - want) <= 1e-12 * fabs(want)))
        fail_msg("%s: %.15g, not %.15g", what, got, want);
}

/* ---- reading ---- */

/* The sums of all rows over the sum of their elements. */
static void test_sums(void **state)
{
    struct gcb_timed t;

    assert_int_equal(
        read_text(&t, ROW("result", "qsgd", QSGD4,
                          TIMES("1000", "600", "1e-3", "2e-3") ",\"rel_l2\":0.1,"
                                                               "\"sum_seconds\":3e-3,"
                                                               "\"sum16_seconds\":50e-3")
                          ROW("result", "qsgd", QSGD4,
                              TIMES("3000", "1400", "7e-3", "2e-3") ",\"rel_l2\":0.3,"
                                                                    "\"sum_seconds\":1e-3,"
                                                                    "\"sum16_seconds\":10e-3,"
                                                                    "\"fixed_length\":false")),
        0);
    assert_int_equal(t.count, 1);
    near("elements", t.items[0].elements, 4000);
    near("bytes", t.items[0].bytes, 0.5);
    near("encode", t.items[0].encode, 2e-6);
    near("decode", t.items[0].decode, 1e-6);
    near("sum", t.items[0].sum, 1e-6);
    near("finish", t.items[0].finish, 2e-3 / 4000); /* 50 - 48, and not 10 - 16 */
    near("error", t.items[0].error, sqrt((0.01 * 1000 + 0.09 * 3000) / 4000));
    assert_true(t.items[0].varies);
    assert_string_equal(t.device, "cpu");
    assert_true(isnan(t.copy) && t.exchange_elements == 0.0 && !*t.left_out);
    gcb_timed_fini(&t);
    /* a row without a sum leaves it unknown */
    assert_int_equal(
        read_text(&t, ROW("result", "qsgd", QSGD4,
                          TIMES("1000", "600", "1e-3", "2e-3") ",\"sum_seconds\":1")
                          ROW("result", "qsgd", QSGD4, TIMES("1000", "600", "1e-3", "2e-3"))),
        0);
    assert_true(isnan(t.items[0].sum) && !t.items[0].varies);
    gcb_timed_fini(&t);
}

/* Cold caches count before warm ones, and results before their summary, in any order. */
static void test_which_rows(void **state)
{
    static const char *const rows[] = {
        ROW("result", "qsgd", QSGD4, TIMES("1000", "600", "1e-3", "2e-3") ",\"cache\":\"warm\""),
        ROW("summary", "qsgd", QSGD4,
            TIMES("1000", "600", "2e-3", "2e-3") ",\"cache\":\"warm\",\"exchanges\":4"),
        ROW("summary", "qsgd", QSGD4,
            TIMES("1000", "600", "3e-3", "2e-3") ",\"cache\":\"cold\",\"exchanges\":4"),
        ROW("result", "qsgd", QSGD4, TIMES("1000", "600", "4e-3", "2e-3") ",\"cache\":\"cold\""),
        ROW("result", "qsgd", QSGD4, TIMES("1000", "600", "1e-3", "2e-3")), /* of compress */
    };
    struct gcb_timed t;
    char text[4096];

    for (unsigned chosen = 1; chosen < 1u << 4; chosen++)
        for (int turned = 0; turned < 2; turned++) {
            unsigned best =
                0; /* the rows are in the order in which they count: 0 1 less than 2 3, and so on */

            text[0] = '\0';
            for (unsigned k = 0; k < 4; k++) {
                const unsigned i = turned ? 3 - k : k;

                if (chosen & 1u << i)
                    strcat(text, rows[i]);
            }
            for (unsigned i = 0; i < 4; i++)
                if (chosen & 1u << (const unsigned[]){1, 0, 2, 3}[i])
                    best = (const unsigned[]){2, 1, 3, 4}[i];
            assert_int_equal(read_text(&t, text), 0);
            assert_int_equal(t.count, 1);
            if (fabs(t.items[0].encode - 1e-6 * best) > 1e-12)
                fail_msg("rows %x, turned %d: %g, not %u", chosen, turned, t.items[0].encode, best);
            near("a step", t.exchange_elements, chosen & 6 ? 250 : 0);
            gcb_timed_fini(&t);
        }
    snprintf(text, sizeof(text), "%s%s", rows[4], rows[2]);
    assert_int_equal(read_text(&t, text), 0);
    near("compress has no cache", t.items[0].encode, 3e-6);
    gcb_timed_fini(&t);
}

/* Rows that cannot be used are named, and the others count. */
static void test_left_out(void **state)
{
    static const struct {
        const char *row;
        bool named;
    } cases[] = {
        {ROW("result", "newer", "newer:x=1", TIMES("1000", "600", "1e-3", "2e-3")), true},
        {ROW("result", "qsgd", "qsgd:nosuch=4", TIMES("1000", "600", "1e-3", "2e-3")), true},
        {ROW("result", "topk", "topk:theta=0.9", "\"status\":\"failed\",\"elements\":1000"), true},
        {ROW("summary", "topk", "topk:theta=0.9",
             "\"status\":\"interrupted\",\"elements\":9,\"wire_bytes\":9,\"encode_seconds\":1,"
             "\"decode_seconds\":1"),
         true},
        {ROW("result", "topk", "topk:theta=0.9",
             "\"status\":\"ok\",\"elements\":9,\"wire_bytes\":9,\"encode_seconds\":null,"
             "\"decode_seconds\":1"),
         true},
        {ROW("result", "topk", "topk:theta=0.9", TIMES("0", "600", "1", "2e-3")), true},
        {ROW("result", "topk", "topk:theta=0.9", TIMES("1000", "0", "1", "2e-3")), true},
        {ROW("replay", "topk", "topk:theta=0.9",
             "\"workers\":4,\"alpha\":null,\"steps\":8,\"link_bytes\":1"),
         true},
        {ROW("replay", "topk", "topk:theta=0.9",
             "\"workers\":4,\"alpha\":0.5,\"steps\":0,\"link_bytes\":1"),
         true},
        {ROW("result", "memcpy", "memcpy", TIMES("1000", "4000", "1e-3", "2e-3")), false},
        {"{\"record\":\"unheard\",\"schema\":1}\n", false},
        {"{\"record\":\"tensor\",\"schema\":1}\n", false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct gcb_timed t;
        char text[2048];

        snprintf(text, sizeof(text), "%s%s", cases[i].row,
                 ROW("result", "fp16", "fp16", TIMES("1000", "2000", "1e-3", "2e-3")));
        if (read_text(&t, text) || t.count != 1 || strcmp(t.items[0].method.name, "fp16") != 0)
            fail_msg("case %zu: %zu methods", i, t.count);
        if ((*t.left_out != '\0') != cases[i].named)
            fail_msg("case %zu: left out: %s", i, t.left_out);
        gcb_timed_fini(&t);
    }
}

/* ---- costs ---- */

static void take(struct gcb_cost *out, const struct gcb_timed *t, const char *spec,
                 enum gcb_collective collective, double bytes)
{
    struct gcb_method method;

    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    assert_true(gcb_timed_cost(out, t, &method, collective, bytes));
}

static bool is_exact(const struct gcb_timed *t, const char *spec)
{
    struct gcb_method method;
    struct gcb_cost cost;

    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    return gcb_timed_cost(&cost, t, &method, GCB_COLLECTIVE_ALLGATHER, NAN);
}

/* Of each collective: what is encoded, decoded and added. */
static void expect_cost(const struct gcb_cost *c, double code, double code_share, double decode,
                        double add, double add_each, double combine)
{
    near("code", c->code, code);
    near("code_share", c->code_share, code_share);
    near("decode", c->decode, decode);
    near("add", c->add, add);
    near("add_each", c->add_each, add_each);
    near("combine", c->combine, combine);
}

#define COPY_1GB "{\"record\":\"environment\",\"schema\":1,\"copy_gbps\":1}\n"
#define SUMMED ",\"sum_seconds\":3e-6,\"sum16_seconds\":53e-6" /* n messages take 3 us n + 5 us */

static void test_costs(void **state)
{
    struct gcb_timed t;
    struct gcb_cost c;

    assert_int_equal(read_text(&t, COPY_1GB ROW("result", "qsgd", QSGD4,
                                                TIMES("1000", "500", "11e-6", "7e-6") SUMMED)
                                       ROW("result", "topk", "topk:density=0.1",
                                           TIMES("1000", "800", "9e-6", "2e-6"))),
                     0);
    near("copying", t.copy, 1e9);
    gcb_timed_fini(&t);
    /* rows of a command that does not measure it do not hide it */
    assert_int_equal(
        read_text(&t, COPY_1GB "{\"record\":\"environment\",\"schema\":1,\"copy_gbps\":null}\n" ROW(
                          "result", "qsgd", QSGD4, TIMES("1000", "500", "11e-6", "7e-6") SUMMED)
                          ROW("result", "topk", "topk:density=0.1",
                              TIMES("1000", "800", "9e-6", "2e-6"))),
        0);
    near("copying", t.copy, 1e9);
    /* for each element; adding two arrays to one takes 1.5 times as long as copying */
    take(&c, &t, QSGD4, GCB_COLLECTIVE_ALLGATHER, 0.5);
    expect_cost(&c, 11e-9, 0, 0, 5e-9, 3e-9, 0.75e-9);
    take(&c, &t, QSGD4, GCB_COLLECTIVE_ALLREDUCE, 0.5);
    expect_cost(&c, 11e-9, 0, 7e-9, 0, 0, 0.75e-9);
    take(&c, &t, QSGD4, GCB_COLLECTIVE_TWOSHOT, 0.5);
    expect_cost(&c, 11e-9, 16e-9, 7e-9, 3e-9, 0, 0.75e-9);
    take(&c, &t, QSGD4, GCB_COLLECTIVE_OKTOPK, 0.5);
    expect_cost(&c, 11e-9, 0, 0, 11e-9, 0, 0.75e-9);
    take(&c, &t, QSGD4 ",memory=ef,collective=allgather", GCB_COLLECTIVE_ALLGATHER, 0.5);
    expect_cost(&c, 11e-9, 0, 0, 5e-9, 3e-9, 0.75e-9); /* the codec is the same */
    /* no sum: it decodes and adds the result, which reads two arrays and writes one */
    take(&c, &t, "topk:density=0.1", GCB_COLLECTIVE_ALLGATHER, 0.8);
    expect_cost(&c, 9e-9, 0, 0, 0, 2e-9 + 6e-9, 1.2e-9);
    /* another setting: the nearest one, scaled by what is read and written */
    take(&c, &t, "qsgd:bits=8", GCB_COLLECTIVE_ALLREDUCE, 1.0);
    expect_cost(&c, 11e-9 * 5 / 4.5, 0, 7e-9 * 5 / 4.5, 0, 0, 1.5e-9);
    assert_true(is_exact(&t, QSGD4) && is_exact(&t, QSGD4 ",memory=ef"));
    assert_false(is_exact(&t, "qsgd:bits=8") || is_exact(&t, "fp16"));
    {
        struct gcb_method method;

        assert_int_equal(gcb_method_parse(&method, "range:bits=8", NULL), 0);
        assert_false(gcb_timed_cost(&c, &t, &method, GCB_COLLECTIVE_ALLGATHER, 1.0));
    }
    gcb_timed_fini(&t);
}

/* A memory in which each byte is read and written once. */
static void test_perfect(void **state)
{
    struct gcb_timed t = {.memory = 1e9, .copy = (double)NAN};
    struct gcb_ways w = {.count = 0};
    struct gcb_cost c;

    take(&c, &t, "qsgd:bits=8", GCB_COLLECTIVE_TWOSHOT, 1.0);
    /* reads 4, writes 1; the share of the sum besides: writes the sum, 4; decoding reads 1, writes
     * 4; adding reads all messages, 1 in all; values of an all-reduce: reads two, writes one */
    expect_cost(&c, 5e-9, 9e-9, 5e-9, 1e-9, 0, 3e-9);
    take(&c, &t, "identity", GCB_COLLECTIVE_ALLREDUCE, 4.0);
    expect_cost(&c, 0, 0, 8e-9, 0, 0, 12e-9); /* the sum is divided in place */
    take(&c, &t, "fp16", GCB_COLLECTIVE_ALLREDUCE, 2.0);
    expect_cost(&c, 6e-9, 0, 6e-9, 0, 0, 6e-9);
    assert_int_equal(gcb_ways_add(&w, "fp16", NULL), 0);
    w.items[0].mean.bytes = 2.0;
    w.round_count = 9;
    gcb_ways_take_times(&w, &t);
    expect_cost(&w.items[0].cost, 6e-9, 0, 6e-9, 0, 0, 6e-9);
    near("adding fp32", w.add_fp32, 12e-9);
    assert_int_equal(w.round_count, 0);
    gcb_ways_fini(&w);
}

/* Times of others: ways whose method was not timed are left out. */
static void test_take_times(void **state)
{
    struct gcb_ways w = {.count = 0};
    struct gcb_timed t;

    assert_int_equal(
        read_text(&t, ROW("result", "fp16", "fp16", TIMES("1000", "2000", "11e-6", "7e-6"))), 0);
    assert_int_equal(gcb_ways_add(&w, "fp16", NULL), 0);
    assert_int_equal(gcb_ways_add(&w, "range:bits=8,collective=allgather", NULL), 0);
    gcb_ways_label(&w);
    w.items[0].mean.bytes = 2.0;
    w.items[1].mean.bytes = 1.0;
    w.items[1].cost.code = 1.0;
    gcb_ways_take_times(&w, &t);
    near("fp16", w.items[0].cost.code, 11e-9);
    assert_true(w.items[1].cost.code < 0.0 && *w.left_out);
    gcb_ways_fini(&w);
    gcb_timed_fini(&t);
}

/* ---- ways from rows ---- */

static const struct gcb_way *find(const struct gcb_ways *w, const char *name,
                                  enum gcb_collective collective)
{
    for (size_t i = 0; i < w->count; i++)
        if (strcmp(w->items[i].method.name, name) == 0 && w->items[i].collective == collective)
            return &w->items[i];
    return NULL;
}

static void test_ways(void **state)
{
    static const char bench[] = COPY_1GB ROW(
        "result", "fp16", "fp16", TIMES("1000", "2000", "1e-6", "1e-6") ",\"rel_l2\":2e-4")
        ROW("result", "qsgd", QSGD4, TIMES("1000", "500", "11e-6", "7e-6") SUMMED ",\"rel_l2\":0.4")
            ROW("result", "topk", "topk:density=0.1",
                TIMES("1000", "800", "9e-6", "2e-6") ",\"rel_l2\":0.6,\"fixed_length\":false")
                ROW("summary", "topk", "topk:density=0.1",
                    TIMES("8000", "800", "9e-6", "2e-6") ",\"exchanges\":8");
    /* four workers, two steps of 1000 elements */
    static const char replays[] =
        ROW("replay", "qsgd", QSGD4 ",collective=twoshot",
            "\"status\":\"ok\",\"workers\":4,\"alpha\":0.2,\"steps\":2,\"link_bytes\":6000")
            ROW("replay", "qsgd", QSGD4 ",collective=allreduce",
                "\"workers\":4,\"alpha\":0.25,\"steps\":2,\"link_bytes\":12000")
                ROW("replay", "topk", "topk:density=0.1,collective=spardl,memory=ef",
                    "\"workers\":4,\"alpha\":0.7,\"steps\":2,\"link_bytes\":3000");
    struct files f = {.count = 0};
    struct gcb_ways w = {.count = 0};
    const struct gcb_way *way;
    struct gcb_diag diag;
    struct gcb_timed t;

    add_file(&f, bench);
    assert_int_equal(read_files(&t, &f, &diag), 0);
    gcb_ways_from_rows(&w, &t);
    /* fp16; two of qsgd and one of topk, because the other all-reduces send other bytes */
    assert_int_equal(w.count, 4);
    near("a gradient", (double)w.dump.all, 1000);
    near("adding fp32", w.add_fp32, 6e-9);
    assert_true(find(&w, "fp16", GCB_COLLECTIVE_ALLREDUCE)->baseline);
    way = find(&w, "qsgd", GCB_COLLECTIVE_ALLGATHER);
    near("error of a message", way->mean.error, 0.4);
    assert_true(way->workers == 1 && isnan(way->mean.lasting) && isnan(way->mean.second_error));
    near("bytes", way->mean.bytes, 0.5);
    assert_false(way->mean.varies);
    way = find(&w, "qsgd", GCB_COLLECTIVE_TWOSHOT);
    near("twice", way->mean.error, 0.4 * sqrt(2.0));
    near("the second time", way->mean.second_error, 0.4);
    near("half", gcb_way_error(&w, way, 64, 1, true), 0.4);
    near("does not average out", gcb_way_error(&w, way, 64, 1, false), 0.4 * sqrt(2.0));
    near("cost", way->cost.add, 3e-9);
    assert_true(find(&w, "topk", GCB_COLLECTIVE_ALLGATHER)->mean.varies);
    for (size_t i = 0; i < w.count; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(w.items[i].label, w.items[k].label);
    gcb_ways_fini(&w);
    gcb_timed_fini(&t);

    add_file(&f, bench);
    add_file(&f, replays);
    assert_int_equal(read_files(&t, &f, &diag), 0);
    memset(&w, 0, sizeof(w));
    gcb_ways_from_rows(&w, &t);
    assert_int_equal(w.count, 6);
    way = find(&w, "qsgd", GCB_COLLECTIVE_TWOSHOT);
    near("measured", way->mean.error, 0.2);
    assert_true(way->workers == 4);
    near("message", way->mean.bytes, 0.5);
    way = find(&w, "qsgd", GCB_COLLECTIVE_ALLREDUCE);
    near("measured", way->mean.error, 0.25);
    near("an all-reduce of b bytes puts 2 (n - 1) b on all links", way->mean.bytes,
         12000.0 / 2 / (2 * 3) / 1000);
    way = find(&w, "topk", GCB_COLLECTIVE_SPARDL);
    near("measured", way->mean.error, 0.7);
    near("a worker's link, times n / (n - 1)", way->mean.bytes, 3000.0 / 2 / 4 * 4 / 3 / 1000);
    assert_true(gcb_method_find(&way->method, "memory") && way->mean.varies);
    {
        struct gcb_memory_params memory;

        gcb_method_memory(&memory, &way->method);
        assert_int_equal(memory.kind, GCB_MEMORY_EF); /* as it was measured */
    }
    way = find(&w, "qsgd", GCB_COLLECTIVE_ALLGATHER);
    near("of one message", way->mean.error, 0.4);
    gcb_ways_fini(&w);
    gcb_timed_fini(&t);
}

RUN_TESTS(cmocka_unit_test(test_sums), cmocka_unit_test(test_which_rows),
          cmocka_unit_test(test_left_out), cmocka_unit_test(test_costs),
          cmocka_unit_test(test_perfect), cmocka_unit_test(test_take_times),
          cmocka_unit_test(test_ways))
