/* Logs of network tests, as programs print them, and as launchers, libraries and people change
 * them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/tool/payoff/net_log.h"

/* clang-format off */
#define US 1e-6
#define KIND(name) "# Collective test starting: " name "\n"
#define COLUMNS "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
#define BOUNDS "# Out of bounds values : 0 OK\n"
#define AVERAGE "# Avg bus bandwidth    : 9.11008\n"
#define END BOUNDS AVERAGE "#\n"
#define RANK(n) "#  Rank  " #n " Group  0 Pid  39145 on      host1 device  " #n " [0000:10:00] NVIDIA A100\n"
#define RANKS4 "# Using devices\n" RANK(0) RANK(1) RANK(2) RANK(3)
#define AR8 "           8             2     float     sum      -1    18.66    0.00    0.00      0    17.95    0.00    0.00      0\n"
#define AR1M "     1048576        262144     float     sum      -1    53.24   19.70   29.54      0    53.50   19.60   29.40      0\n"
#define AR128M "   134217728      33554432     float     sum      -1   1284.1  104.52  156.78      0   1282.5  104.65  156.98      0\n"
#define AG1K "        1024            64     float    none      -1    11.20    0.09    0.07      0    10.95    0.09    0.07      0\n"
#define AG64M "    67108864       4194304     float    none      -1   1502.7   44.66   33.50      0   1499.2   44.76   33.57      0\n"
#define HEAD KIND("all_reduce_perf") RANKS4 COLUMNS
#define ALLREDUCE HEAD AR8 AR1M AR128M END
#define ALLGATHER KIND("all_gather_perf") RANKS4 COLUMNS AG1K AG64M END
#define OTHER(name) KIND(name) RANKS4 COLUMNS AG1K AG64M END
/* as `-c 0` prints it: #wrong is N/A */
#define UNCHECKED(name, redop, alg, bus) \
    name RANKS4 COLUMNS "    67108864       4194304     float  " redop "  -1   1502.7   " alg "   " bus "    N/A   1499.2   " alg \
    "   " bus "    N/A\n" END
#define JSON(program, results, bounds) \
    "{\"version\":3,\"args\":[\"" program "\",\"-b\",\"8\"],\"env\":[\"A=1\"],\"nccl_version\":22907,\"config\":{\"nthreads\":1," \
    "\"ngpus\":2,\"devices\":[{\"rank\":0,\"group\":0},{\"rank\":2,\"group\":0}]},\"results\":[" results "]" bounds "}"
#define RESULT(size, time, alg, bus, wrong, again) \
    "{\"size\":" size ",\"count\":1,\"type\":\"float\",\"redop\":\"sum\",\"root\":\"    -1\",\"out_of_place\":{\"time\":" time \
    ",\"alg_bw\":" alg ",\"bus_bw\":" bus ",\"nwrong\":" wrong "},\"in_place\":{\"time\":9.0,\"alg_bw\":1.0,\"bus_bw\":1.5," \
    "\"nwrong\":" again "},\"actual_iterations\":20}"
#define GOOD ",\"out_of_bounds\":{\"count\":0,\"okay\":\"true\"},\"errors\":[]"
#define RESULTS RESULT("8", "18.66", "0.000429", "0.000643", "0.0", "0.0") "," RESULT("1048576", "53.240000", "19.7", "29.55", "0.0", "0.0")
/* clang-format on */

static struct gcb_net_log log_read; /* of the last call */
static struct gcb_diag diag;

static int read_bytes(const char *bytes, size_t size, unsigned workers)
{
    const int fd = memfd_create("log", 0);
    char path[40];
    int err;

    assert_true(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    err = gcb_net_log_read(&log_read, path, workers, &diag);
    log_read.path = NULL;
    close(fd);
    return err;
}

static void reads_with(const char *text, unsigned workers)
{
    if (read_bytes(text, strlen(text), workers))
        fail_msg("%s", diag.text);
}

static void reads(const char *text)
{
    reads_with(text, 0);
}

static void refuses_with(const char *text, unsigned workers, const char *words)
{
    assert_int_not_equal(read_bytes(text, strlen(text), workers), 0);
    if (!strstr(diag.text, words))
        fail_msg("wanted '%s': %s", words, diag.text);
    assert_non_null(strstr(diag.text, "/proc/self/fd/"));
}

static void refuses(const char *text, const char *words)
{
    refuses_with(text, 0, words);
}

/* The table of a test has these sizes: bytes, microseconds, ..., 0. */
static void has_table(enum gcb_net_test test, unsigned ranks, ...)
{
    const struct gcb_net_table *t = &log_read.tables[test];
    va_list args;
    double bytes;
    size_t n = 0;

    assert_int_equal(t->ranks, ranks);
    assert_int_equal(t->reduces, test == GCB_NET_ALLREDUCE || test == GCB_NET_REDUCESCATTER);
    va_start(args, ranks);
    while ((bytes = va_arg(args, double)) > 0.0) {
        const double seconds = US * va_arg(args, double);

        assert_true(n < t->count);
        if (fabs(t->sizes[n].bytes / bytes - 1) > 1e-9 ||
            fabs(t->sizes[n].seconds / seconds - 1) > 1e-9)
            fail_msg("%g bytes in %g s, not %g in %g", t->sizes[n].bytes, t->sizes[n].seconds,
                     bytes, seconds);
        n++;
    }
    va_end(args);
    assert_int_equal(t->count, n);
}

static void has_allreduce(void)
{
    has_table(GCB_NET_ALLREDUCE, 4, 8.0, 18.66, 1048576.0, 53.24, 134217728.0, 1284.1, 0.0);
}

/* Puts a text before each line. */
static char *prefixed(const char *prefix, const char *text)
{
    char *out;
    size_t size;
    FILE *f = open_memstream(&out, &size);

    for (const char *line = text, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        fprintf(f, "%s%.*s\n", prefix, (int)(end - line), line);
    }
    fclose(f);
    return out;
}

/* ---- what is read ---- */

/* nccl-tests 2.4 to 2.20 and rccl-tests differ in columns and lines. */
static void test_versions(void **state)
{
    (void)state;
    reads(ALLREDUCE);
    has_allreduce();
    assert_string_equal(log_read.unused, "");
    reads(ALLGATHER);
    has_table(GCB_NET_ALLGATHER, 4, 1024.0, 11.2, 67108864.0, 1502.7, 0.0);
    /* 2.13 to 2.16 do not name the test */
    reads(RANKS4 COLUMNS AR8 AR1M AR128M END);
    has_allreduce();
    reads(RANKS4 COLUMNS AG1K AG64M END);
    has_table(GCB_NET_ALLGATHER, 4, 1024.0, 11.2, 67108864.0, 1502.7, 0.0);
    reads(RANKS4 COLUMNS "    67108864       4194304     float     sum      -1   1502.7   44.66   "
                         "33.50      0   1499.2   44.76   33.57      0\n" END);
    has_table(GCB_NET_REDUCESCATTER, 4, 67108864.0, 1502.7, 0.0);
    /* an error instead of #wrong, which is not 0 */
    reads("#   Rank  0 Pid   1320 on      host1 device  0 [0x3b] V100\n"
          "#   Rank  1 Pid   1320 on      host1 device  1 [0x86] V100\n"
          "#       size         count      type   redop     time   algbw   busbw  error     time   "
          "algbw   busbw  error\n"
          "     1048576        262144     float     sum    167.5   6.26   6.26  2e-07    164.4   "
          "6.37   6.37  1e-07\n" AVERAGE);
    has_table(GCB_NET_ALLREDUCE, 2, 1048576.0, 167.5, 0.0);
    /* 2.19 with -I 1 and -S 1, and rccl-tests with the times of events and names of algorithms */
    reads(KIND("all_reduce_perf_mpi") RANKS4
          "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw "
          "busbw #wrong i_min i_max i_p99 "
          "i_cv%  timestamp\n"
          "8 2 float sum -1 18.66 0.00 0.00 0 18.1 19.1 19.0 1.2 17.95 0.00 0.00 0 17.1 18.2 18.1 "
          "1.1  2026-06-08 12:00:00\n" END);
    has_table(GCB_NET_ALLREDUCE, 4, 8.0, 18.66, 0.0);
    reads("rccl-tests: Version develop:448c4c7\n" KIND("./build/all_reduce_perf") RANKS4
          "# size count type redop root time hipevt algbw busbw #wrong algo proto nchannels\n"
          "1048576 262144 float sum -1 53.24 50.00 19.70 29.54 0 RING LL 16\n" END);
    has_table(GCB_NET_ALLREDUCE, 4, 1048576.0, 53.24, 0.0);
    /* sizes of 0, which small reduce-scatters have */
    reads(KIND("reduce_scatter_perf") RANKS4 COLUMNS
          "           0             0     float     sum      -1     0.13    0.00    0.00      0    "
          " 0.12    0.00    0.00      0\n"
          "    67108864       4194304     float     sum      -1   1502.7   44.66   33.50      0   "
          "1499.2   44.76   33.57      0\n" END);
    has_table(GCB_NET_REDUCESCATTER, 4, 67108864.0, 1502.7, 0.0);
}

static void test_prefixes(void **state)
{
    static const char *const prefixes[] = {
        "[1,0]<stdout>:",
        "[1,0]<stdout>: ",
        "[prterun-host-4711@1,0]<stdout>: ",
        "Mon Nov  4 12:30:01 2024[1,0]<stdout>:",
        "0: ",
        " 0: ",
        "[0] ",
        "[default0]:",
        "host1: ",
        "2024-11-04T12:30:01.123456789Z ",
        "2024-11-04T12:30:01.1Z stdout F ",
        "[2024-11-04 12:30:01,123] INFO ",
        "Nov  4 12:30:01 host1 nccl[4711]: ",
        "[pod/nccl-launcher-x7k2/mpi] ",
        "nccl-worker-1  | ",
        "(head, rank=0, pid=3808) [1,0]<stdout>:",
        "12:30:01 ",
    };
    static const char osu[] =
        "# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n1                       1.68\n"
        "65536                  12.72\n";

    (void)state;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        char *text = prefixed(prefixes[i], ALLREDUCE);

        reads(text);
        has_allreduce();
        free(text);
        text = prefixed(prefixes[i], osu);
        reads(text);
        has_table(GCB_NET_LATENCY, 0, 1.0, 1.68, 65536.0, 12.72, 0.0);
        free(text);
    }
    /* the digits of a time may differ */
    reads("2024-11-04T12:30:09.99Z # OSU MPI Latency Test v7.4\n2024-11-04T12:30:10.123456Z 4   "
          "12.5\n");
    has_table(GCB_NET_LATENCY, 0, 4.0, 12.5, 0.0);
}

static void test_other_lines(void **state)
{
    static const char info[] = "host1:23920:24013 [0] NCCL INFO Channel 00/02 :    0   1   2   3\n";
    char text[4096];

    (void)state;
    snprintf(text, sizeof(text),
             "$ ./build/all_reduce_perf -b 8\n%s" KIND("all_reduce_perf") RANKS4
             "%s" COLUMNS "%s" AR8
             "\n%s[host1:1] UCX WARN something\nNCCL version 2.18.3+cuda12.2\n" AR1M "%s" AR128M
             "%s" END "real 0m5.711s\n",
             info, info, info, info, info, info);
    reads(text);
    has_allreduce();
    /* a row is printed in three parts, and a message may follow each at once */
    reads(
        HEAD
        "           8             2     float     sum      -1host1:1:2 [0] NCCL INFO Launch mode\n"
        "host1:1:2 [0] NCCL INFO Channel 00/02 :    0   1   2   3\n"
        "    18.66    0.00    0.00      0host1:1:2 [0] NCCL WARN something\n"
        "    17.95    0.00    0.00      0\n" AR1M
        "[0]    134217728      33554432     float     sum      -1[0] 10-0-0-1:1:1 [0] NCCL INFO "
        "8192 Bytes -> Algo 0\n"
        "[0]   1284.1  104.52  156.78      0   1282.5  104.65  156.98    N/A[0] 10-0-0-1:1:1 [0] "
        "NCCL INFO x\n" END);
    has_allreduce();
    refuses(HEAD
            "           8             2     float     sum      -1host1:1:2 [0] NCCL INFO Launch "
            "mode\n" AR1M END,
            "NCCL_DEBUG");
    refuses(HEAD AR1M
            "           8             2     float     sum      -1host1:1:2 [0] NCCL INFO Launch "
            "mode\n" END,
            "the last row of the table is not whole");
}

static void test_order(void **state)
{
    char text[1 << 16] = HEAD;
    const struct gcb_net_table *t = &log_read.tables[GCB_NET_ALLREDUCE];

    (void)state;
    reads(HEAD AR128M AR8 AR1M END);
    has_allreduce();
    /* -N 3 prints the table three times: medians */
    reads(HEAD
          "# Testing 1 cycle.\n" AR8 AR1M AR128M "# Testing 2 cycle.\n"
          "           8             2     float     sum      -1    98.66    0.00    0.00      0    "
          "17.95    0.00    0.00      0\n"
          "     1048576        262144     float     sum      -1    55.24   18.98   28.47      0    "
          "53.50   19.60   29.40      0\n"
          "# Testing 3 cycle.\n"
          "           8             2     float     sum      -1     8.66    0.00    0.00      0    "
          "17.95    0.00    0.00      0\n" END);
    has_table(GCB_NET_ALLREDUCE, 4, 8.0, 18.66, 1048576.0, 54.24, 134217728.0, 1284.1, 0.0);
    /* -i 1M: from 600 sizes, 64 in even ratios */
    for (unsigned i = 1; i <= 600; i++)
        snprintf(text + strlen(text), 128,
                 "%u %u float sum -1 %u.0 10.00 15.00 0 9.0 10.00 15.00 0\n", i << 20, i << 18, i);
    strcat(text, END);
    reads(text);
    assert_true(t->count > 40 && t->count <= GCB_NET_SIZES);
    assert_true(t->sizes[0].bytes == 0x1p20 && t->sizes[t->count - 1].bytes == 600 * 0x1p20);
    for (size_t i = 0; i < t->count; i++)
        assert_true(fabs(t->sizes[i].seconds / (US * t->sizes[i].bytes / 0x1p20) - 1) < 1e-9);
    strcpy(text, "# OSU MPI Latency Test v7.4\n"); /* sizes that are neighbours as double */
    for (unsigned i = 0; i < 80; i++)
        snprintf(text + strlen(text), 128, "%llu %u.0\n", (1ULL << 60) + 256ULL * i, i + 1);
    reads(text);
    assert_int_equal(log_read.tables[GCB_NET_LATENCY].count, GCB_NET_SIZES);
}

static void test_several(void **state)
{
    (void)state;
    reads(ALLREDUCE "some words\n" ALLGATHER OTHER("alltoall_perf") OTHER("broadcast_perf"));
    has_allreduce();
    has_table(GCB_NET_ALLGATHER, 4, 1024.0, 11.2, 67108864.0, 1502.7, 0.0);
    assert_string_equal(log_read.unused, "alltoall_perf, broadcast_perf");
    refuses(ALLREDUCE ALLREDUCE, "line 20: a second table of this test, after that of line 7");
    refuses(HEAD AR8 ALLGATHER, "a second table begins before the first one ends");
    reads("x: Test NCCL failure common.cu:1005 'unhandled system error'\n" ALLREDUCE);
    has_allreduce();
}

/* ---- what is refused ---- */

static void test_other_tests(void **state)
{
    static const char *const programs[] = {
        "alltoall_perf", "alltoallv_perf", "sendrecv_perf",  "broadcast_perf",      "gather_perf",
        "scatter_perf",  "reduce_perf",    "hypercube_perf", "all_reduce_bias_perf"};

    (void)state;
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        char text[4096];

        snprintf(text, sizeof(text),
                 "# Collective test starting: %s\n" RANKS4 COLUMNS AG1K AG64M END, programs[i]);
        refuses(text, programs[i]);
        refuses(text, "run `all_reduce_perf -b 8 -e 8G -f 2`");
    }
    reads(UNCHECKED(KIND("all_gather_perf"), "none", "44.66", "33.50"));
    refuses(UNCHECKED(KIND("alltoall_perf"), "none", "44.66", "33.50"), "a table of alltoall_perf");
    /* without a name, the columns and the ratio of the bandwidths tell */
    refuses(UNCHECKED("", "none", "44.66", "33.50"),
            "this may be all_gather_perf or alltoall_perf");
    refuses(UNCHECKED("", "none", "44.66", "33.50"),
            "keep the line `# Collective test starting`, or run the test without `-c 0`");
    reads(UNCHECKED("", " sum", "44.66", "66.99"));
    has_table(GCB_NET_ALLREDUCE, 4, 67108864.0, 1502.7, 0.0);
    refuses("# Using devices\n" RANK(0) RANK(1) COLUMNS
            "67108864 16777216 float sum -1 1502.7 44.66 44.66 N/A 1499.2 44.76 44.76 N/A\n" END,
            "this may be all_reduce_perf or sendrecv_perf");
    refuses(RANKS4 COLUMNS
            "67108864 4194304 float none -1 1502.7 44.66 33.50 0 1499.2 44.76 33.57 N/A\n" END,
            "alltoall_perf or sendrecv_perf");
    refuses(RANKS4 COLUMNS
            "67108864 4194304 float none 0 1502.7 44.66 44.66 0 1499.2 44.76 44.76 0\n" END,
            "a test with a root, such as broadcast_perf");
    refuses(RANKS4 COLUMNS
            "67108864 4194304 float     -1 1502.7 44.66 44.66 0 1499.2 44.76 44.76 0\n" END,
            "hypercube_perf");
    refuses(RANKS4 COLUMNS
            "67108864 4194304 float sum -1 1502.7 44.66 44.66 0 1499.2 44.76 44.76 0\n" END,
            "neither all_reduce_perf nor all_gather_perf nor reduce_scatter_perf with 4 ranks");
    refuses(RANKS4 COLUMNS AR8 END, "too few digits");
    reads(HEAD AR8 END);
    has_table(GCB_NET_ALLREDUCE, 4, 8.0, 18.66, 0.0);
}

static void test_failed(void **state)
{
    (void)state;
    refuses(HEAD "1048576 262144 float sum -1 53.24 19.70 29.54 12 53.50 19.60 29.40 0\n" END,
            "line 8: the test failed: 12 values were wrong");
    refuses(HEAD "1048576 262144 float sum -1 53.24 19.70 29.54 0 53.50 19.60 29.40 1e+06\n" END,
            "1e+06 values were wrong");
    refuses(HEAD AR1M "# Out of bounds values : 216 FAILED\n" AVERAGE, "line 9: the test failed");
    refuses(HEAD AR1M "host1: Test NCCL failure common.cu:1005 'unhandled system error'\n",
            "line 9: the test failed here");
    refuses("host1: Test CUDA failure common.cu:1005 'out of memory'\n .. host1 pid 12: Test "
            "failure common.cu:891\n",
            "the test failed, and printed no table");
    /* the average bandwidth is below NCCL_TESTS_MIN_BW: slow, but right */
    reads(HEAD AR1M BOUNDS "# Avg bus bandwidth    : 9.11008 FAILED\n");
    refuses("# OSU MPI Allreduce Latency Test v7.4\n# Size  Avg Latency(us)  Validation\n4   1.68  "
            "Fail\n",
            "the test failed");
}

static void test_rows(void **state)
{
    static const char *const times[] = {"nan", "-nan", "inf", "-18.66", "0.00"};
    char text[4096];

    (void)state;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        snprintf(text, sizeof(text), HEAD "8 2 float sum -1 %s 0.0 0.0 0 17.9 0.0 0.0 0\n" END,
                 times[i]);
        refuses(text, "line 8: not a row of the table: the time is not a positive number");
    }
    refuses(HEAD "8 2 float sum -1 - 0.0 0.0 0 17.9 0.0 0.0 0\n" END,
            "line 8: not a row of the table: '-'");
    refuses(HEAD "8x 2 float sum -1 18.0 0.0 0.0 0 17.9 0.0 0.0 0\n" END,
            "line 8: not a row of the table");
    refuses(HEAD AR8 "1048576 262144 half sum -1 53.24 19.70 29.54 0 53.50 19.60 29.40 0\n" END,
            "rows of half after rows of float: run the test with one type");
    refuses(HEAD AR8 "1048576 262144 float max -1 53.24 19.70 29.54 0 53.50 19.60 29.40 0\n" END,
            "rows of max after rows of sum");
    refuses(RANKS4 "# size count type redop root cputime algbw busbw #wrong\n",
            "run the test without `-C 1`");
    refuses(RANKS4 "# size count type redop root duration algbw busbw #wrong\n",
            "not the columns of nccl-tests");
    refuses(HEAD END, "line 7: the table has no row with a size above 0");
}

static void test_ranks(void **state)
{
    (void)state;
    refuses("# Using devices\n" RANK(0) RANK(0) COLUMNS AR8 END, "line 3: ranks must be numbered");
    refuses(KIND("all_reduce_perf") "# Using devices\n" RANK(0) COLUMNS AR8 END,
            "built with MPI=1");
    refuses(KIND("all_reduce_perf") COLUMNS AR1M END, "give this number as --workers");
    reads_with(KIND("all_reduce_perf") COLUMNS AR8 AR1M AR128M END, 4);
    has_allreduce();
    refuses_with(KIND("all_reduce_perf") COLUMNS AR8 AR1M AR128M END, 8,
                 "but that of all_reduce_perf with 8 ranks is 1.75");
    /* NCCL_TESTS_SPLIT: four collectives at a time, each of every second rank */
    reads(KIND("all_reduce_perf") "#  Rank  0 Group  0 Pid 1 on host1 device 0\n#  Rank  1 Group  "
                                  "1 Pid 1 on host1 device 1\n"
                                  "#  Rank  2 Group  0 Pid 1 on host1 device 2\n#  Rank  3 Group  "
                                  "1 Pid 1 on host1 device 3\n" COLUMNS
                                  "67108864 16777216 float sum -1 1502.7 44.66 44.66 0 1499.2 "
                                  "44.76 44.76 0\n" END);
    has_table(GCB_NET_ALLREDUCE, 2, 67108864.0, 1502.7, 0.0);
}

static void test_cut(void **state)
{
    static const char whole[] = ALLREDUCE;

    (void)state;
    /* wherever the log ends before its last line but one */
    for (size_t n = 0; n < (size_t)(strstr(whole, " bandwidth ") + 9 - whole); n++)
        assert_int_not_equal(read_bytes(whole, n, 0), 0);
    refuses(HEAD AR8 "     1048576        262144     float     sum      -1    53.24   19.7",
            "the log is cut: nccl-tests end with `# Avg bus bandwidth`");
    reads(HEAD AR8 AR1M AR128M BOUNDS "# Avg bus bandwidth    : 9.11008");
    has_allreduce();
    refuses("# OSU MPI Latency Test v7.4\n4   1.68\n8   1.6",
            "the log is cut: the last line has no newline");
    refuses("", "the file ends without a table");
    refuses("nothing\n", "payoff reads all_reduce_perf");
}

static void test_encodings(void **state)
{
    static const char zero[] = KIND("all_reduce_perf") "\0" RANKS4;
    char *text = malloc(1 << 20), *end;
    static const char *const kinds[][2] = {
        {"\x1f\x8b\x08", "gzip -dc "},
        {"\x28\xb5\x2f\xfd", "zstd -dc "},
        {"\xfd\x37zXZ", "xz -dc "},
        {"BZh9", "bzip2 -dc "},
        {"\xff\xfe#", "iconv -f UTF-16 -t UTF-8 "},
    };

    (void)state;
    assert_non_null(text);
    strcpy(text, "\xef\xbb\xbf");
    end = text + 3;
    for (const char *s = ALLREDUCE; *s;
         s++) { /* a byte order mark, and ends of lines as on Windows */
        if (*s == '\n')
            *end++ = '\r';
        *end++ = *s;
    }
    *end = '\0';
    reads(text);
    has_allreduce();
    reads("\xef\xbb\xbf" JSON("all_reduce_perf", RESULTS, GOOD));
    has_table(GCB_NET_ALLREDUCE, 4, 8.0, 18.66, 1048576.0, 53.24, 0.0);
    reads("# OSU MPI Latency Test v7.4\r\n4   12.5\r\n");
    has_table(GCB_NET_LATENCY, 0, 4.0, 12.5, 0.0);
    strcpy(text, KIND("all_reduce_perf") RANKS4); /* long lines are not of the table */
    memset(text + strlen(text), '1', 500000);
    strcpy(text + strlen(KIND("all_reduce_perf") RANKS4) + 500000,
           "\n" COLUMNS AR8 AR1M AR128M END);
    reads(text);
    has_allreduce();
    free(text);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        refuses(kinds[i][0], kinds[i][1]);
    assert_int_equal(read_bytes(zero, sizeof(zero), 0), GCB_E_CORRUPT);
    assert_non_null(strstr(diag.text, "a zero byte"));
    refuses("[2J" KIND("\33[2J") RANKS4 COLUMNS END, "\\x1b[2J"); /* no commands to the terminal */
}

/* ---- files that tests save ---- */

static void test_json(void **state)
{
    (void)state;
    reads(JSON("./build/all_reduce_perf", RESULTS, GOOD)); /* two processes of two GPUs */
    has_table(GCB_NET_ALLREDUCE, 4, 8.0, 18.66, 1048576.0, 53.24, 0.0);
    reads(" \n" JSON("all_reduce_perf_mpi",
                     RESULT("1048576", "53.24", "19.7", "29.55", "null", "null"), GOOD) "\n");
    has_table(GCB_NET_ALLREDUCE, 4, 1048576.0, 53.24, 0.0);
    refuses(JSON("alltoall_perf", RESULTS, GOOD), "a table of alltoall_perf");
    refuses(JSON("all_reduce_perf", RESULTS, ""), "the test did not end");
    refuses(JSON("all_reduce_perf", RESULTS, ",\"out_of_bounds\":{\"count\":3,\"okay\":\"false\"}"),
            "the test failed");
    refuses(JSON("all_reduce_perf", RESULT("8", "1", "1", "1.5", "0.0", "6.0"), GOOD), "failed: 6");
    refuses(JSON("all_reduce_perf", RESULT("8", "1", "1", "1.5", "7.0", "0.0"), GOOD),
            "result 1: the test failed: 7");
    refuses(JSON("all_reduce_perf", RESULT("8", "\"nan\"", "1", "1.5", "0", "0"), GOOD),
            "the time is not a positive number");
    refuses(JSON("all_reduce_perf", RESULT("8", "1", "100.0", "175.0", "0", "0"), GOOD),
            "with 4 ranks is 1.5");
    refuses(JSON("all_reduce_perf", "{\"size\":8,\"out_of_place\":{\"cpu_time\":1.0}}", GOOD),
            "without `-C 1`");
    refuses(JSON("all_reduce_perf", "", GOOD), "no row with a size above 0");
    refuses("{\"args\":[\"all_reduce_perf\"],\"results\":[" RESULTS, "the JSON is cut or damaged");
    refuses("{\"record\":\"link\",\"schema\":1}\n", "--link");
    refuses("{\"a\":1}\n", "a row without the name of its collective");
    refuses("[{}, 2]", "a row without the name");
}

#define CSV(name, ranks, size, in_place, time, alg, bus, wrong) \
    "0,\"" name "\"," ranks "," size ",\"float\",\"sum\"," in_place "," time "," alg "," bus \
    ",\"" wrong "\"\n"
#define CSV_ROWS(ranks) \
    CSV("AllReduce", ranks, "1048576", "0", "55.66", "18.84", "32.97", "0") \
    CSV("AllReduce", ranks, "1048576", "1", "51.00", "20.56", "35.98", "0") \
    CSV("AllReduce", ranks, "2097152", "0", "81.20", "25.83", "45.20", "0")

static void test_rccl(void **state)
{
    (void)state;
    /* with MPI, the title of the third column was missing once */
    reads("numCycle,collective,ranks,rankspernode,gpusperrank,size,type,redop,inplace,time,algbw,"
          "busbw,#wrong\n" CSV_ROWS("1,8,8,1"));
    has_table(GCB_NET_ALLREDUCE, 8, 1048576.0, 55.66, 2097152.0, 81.2, 0.0);
    reads("numCycle,name,nodes,ranks,ranksPerNode,gpusPerRank,size,type,redop,inPlace,time,algBw,"
          "busBw,wrong\r\n" CSV_ROWS("1,4,4,2"));
    has_table(GCB_NET_ALLREDUCE, 8, 1048576.0, 55.66, 2097152.0, 81.2, 0.0);
    reads("numCycle, collective, gpus, size, type, redop, inplace, time, algbw, busbw, "
          "#wrong\n" CSV_ROWS("8"));
    has_table(GCB_NET_ALLREDUCE, 8, 1048576.0, 55.66, 2097152.0, 81.2, 0.0);
    reads(
        "numCycle,collective,gpus,size,type,redop,inplace,time,algbw,busbw,#wrong\n" /* -O 0: only in place */
        CSV("AllReduce", "8", "1048576", "1", "51.00", "20.56", "35.98", "N/A"));
    has_table(GCB_NET_ALLREDUCE, 8, 1048576.0, 51.0, 0.0);
    reads("collective;gpus;size;time;algbw;busbw\n" /* as a spreadsheet saves it */
          "AllReduce;8;1048576;55.66;18.84;32.97\n");
    has_table(GCB_NET_ALLREDUCE, 8, 1048576.0, 55.66, 0.0);
    reads("[\n{\"numCycle\":0, \"name\":\"AllReduce\", \"nodes\":1, \"ranks\":8, "
          "\"ranksPerNode\":8, \"gpusPerRank\":1, \"size\":1048576, "
          "\"type\":\"float\", \"redop\":\"sum\", \"inPlace\":0, \"time\":55.66, \"algBw\":18.84, "
          "\"busBw\":32.97, \"wrong\":\"0\"}\n]\n");
    has_table(GCB_NET_ALLREDUCE, 8, 1048576.0, 55.66, 0.0);
    reads("{\"#wrong\":\"0\",\"algBw\":18.84,\"busBw\":32.97,\"gpus\":8,\"inPlace\":0,\"name\":"
          "\"AllReduce\",\"redop\":\"sum\",\"size\":1048576,"
          "\"time\":55.66,\"type\":\"float\"}\n"
          "{\"#wrong\":\"0\",\"algBw\":25.83,\"busBw\":45.20,\"gpus\":8,\"inPlace\":0,\"name\":"
          "\"AllReduce\",\"redop\":\"sum\",\"size\":2097152,"
          "\"time\":81.2,\"type\":\"float\"}\n");
    has_table(GCB_NET_ALLREDUCE, 8, 1048576.0, 55.66, 2097152.0, 81.2, 0.0);
    refuses("numCycle,collective,gpus,size,type,redop,inplace,time,algbw,busbw,#wrong\n" CSV(
                "AlltoAll", "8", "1048576", "0", "51.00", "20.56", "17.99", "0"),
            "a table of AlltoAll");
    refuses("numCycle,collective,gpus,size,type,redop,inplace,time,algbw,busbw,#wrong\n" CSV(
                "AllReduce", "8", "1048576", "0", "51.00", "20.56", "35.98", "5"),
            "line 2: the test failed: 5 values");
    refuses("numCycle,collective,gpus,size,type,redop,inplace,time,algbw,busbw,#wrong\n0,"
            "\"AllReduce\",8,1048576\n",
            "line 2: not a row of the table");
}

static void test_osu(void **state)
{
    (void)state;
    reads("[host1:1] SET UCX_NET_DEVICES=mlx5_2:1\n\n# OSU MPI-CUDA Latency Test v7.4\n# Datatype: "
          "MPI_CHAR.\n# Size   Avg Latency(us)\n"
          "0   1.5\n1   1.68\n[host1:1] a warning\n65536   12.72\n\n# OSU MPI Bandwidth Test "
          "v5.8\n# Size      Bandwidth (MB/s)\n"
          "1   4.00\n\nreal 0m5.7s\n# OSU MPI Multi Latency Test v7.4\n1 2.0\n");
    has_table(GCB_NET_LATENCY, 0, 1.0, 1.68, 65536.0, 12.72, 0.0);
    has_table(GCB_NET_BANDWIDTH, 0, 1.0, 0.25, 0.0);
    assert_string_equal(log_read.unused, "OSU MPI Multi Latency Test v");
    reads_with("# OSU MPI Allgather Latency Test v5.8\n# Size  Avg Latency(us)  Min "
               "Latency(us)\n16   9.35   8.31\n",
               8);
    has_table(GCB_NET_ALLGATHER, 8, 128.0, 9.35, 0.0); /* of all ranks */
    refuses("# OSU MPI Allreduce Latency Test v7.5\n4   12.45\n", "give this number as --workers");
    refuses("# OSU MPI_Put Latency Test v7.5\n4   1.68\n", "a table of OSU MPI_Put Latency Test");
    reads("#\tOSU MPI Latency Test v7.5\n4\t1.68\n"); /* tabs as blanks */
    has_table(GCB_NET_LATENCY, 0, 4.0, 1.68, 0.0);
    refuses("# OSU MPI Latency Test v7.5\n4   fast\n",
            "line 2: expected a size and a positive number");
    refuses("# OSU MPI Alltoall Latency Test v7.5\n4   12.45\n",
            "line 1: a table of OSU MPI Alltoall Latency Test");
    refuses("# OSU MPI Latency Test v7.4\n1 2\n# OSU MPI Latency Test v7.4\n1 2\n",
            "line 3: a second table");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),    cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_other_lines), cmocka_unit_test(test_order),
        cmocka_unit_test(test_several),     cmocka_unit_test(test_other_tests),
        cmocka_unit_test(test_failed),      cmocka_unit_test(test_rows),
        cmocka_unit_test(test_ranks),       cmocka_unit_test(test_cut),
        cmocka_unit_test(test_encodings),   cmocka_unit_test(test_json),
        cmocka_unit_test(test_rccl),        cmocka_unit_test(test_osu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
