/* Logs of network tests, as programs print them, and as launchers, libraries and people change
 * them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/tool/payoff/curve.h"
#include "tests/support/test.h"

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
#define OSU_OTHER "# OSU MPI Alltoall Latency Test v7.5\n4   12.45\n"
#define OTHER(name) KIND(name) RANKS4 COLUMNS AG1K AG64M END
/* as `-c 0` prints it: #wrong is N/A */
#define UNCHECKED(name, redop, alg, bus) \
    name RANKS4 COLUMNS "    67108864       4194304     float  " redop "  -1   1502.7   " alg "   " bus "    N/A   1499.2   " alg \
    "   " bus "    N/A\n" END
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

/* A log is refused with this status, at this line. */
static void refuses_with(const char *text, unsigned workers, int status, unsigned line)
{
    char where[32];

    assert_int_equal(read_bytes(text, strlen(text), workers), status);
    assert_non_null(strstr(diag.text, "/proc/self/fd/"));
    snprintf(where, sizeof(where), ": line %u: ", line);
    if (!strstr(diag.text, where))
        fail_msg("wanted line %u: %s", line, diag.text);
}

static void refuses(const char *text, unsigned line)
{
    refuses_with(text, 0, GCB_E_CORRUPT, line);
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

    snprintf(text, sizeof(text),
             "$ ./build/all_reduce_perf -b 8\n%s" KIND("all_reduce_perf") RANKS4
             "%s" COLUMNS "%s" AR8
             "\n%s[host1:1] UCX WARN something\nNCCL version 2.18.3+cuda12.2\n" AR1M "%s" AR128M
             "%s" END "real 0m5.711s\n",
             info, info, info, info, info, info);
    reads(text);
    has_allreduce();
    /* rows that a library cut in two: the log was made with NCCL_DEBUG, which the message says */
    refuses(
        HEAD
        "           8             2     float     sum      -1host1:1:2 [0] NCCL INFO Launch mode\n"
        "    18.66    0.00    0.00      0    17.95    0.00    0.00      0\n" AR1M END,
        8);
    assert_non_null(strstr(diag.text, "without NCCL_DEBUG"));
    refuses(HEAD AR1M "[0]    134217728      33554432     float     sum      -1[0] 10-0-0-1:1:1 "
                      "[0] NCCL INFO 8192 Bytes -> Algo 0\n" END,
            9);
    refuses(HEAD AR1M "134217728 33554432 float sum -1 1284.1 104.52 156.78 0 1282.5 104.65 156.98 "
                      "0host1:1:1 [0] NCCL INFO x\n" END,
            9);
    /* lines with a time of day are not rows of OSU */
    reads("# OSU MPI Latency Test v7.4\n1   1.68\n12:30:01 [host1] a warning\n65536   12.72\n");
    has_table(GCB_NET_LATENCY, 0, 1.0, 1.68, 65536.0, 12.72, 0.0);
}

static void test_order(void **state)
{
    char text[1 << 16] = HEAD;
    const struct gcb_net_table *t = &log_read.tables[GCB_NET_ALLREDUCE];

    reads(HEAD AR128M AR8 AR1M END);
    has_allreduce();
    /* -N 3 prints the table three times: the last row of a size counts */
    reads(HEAD
          "# Testing 1 cycle.\n" AR8 AR1M AR128M "# Testing 2 cycle.\n"
          "           8             2     float     sum      -1    98.66    0.00    0.00      0    "
          "17.95    0.00    0.00      0\n"
          "     1048576        262144     float     sum      -1    55.24   18.98   28.47      0    "
          "53.50   19.60   29.40      0\n"
          "# Testing 3 cycle.\n"
          "           8             2     float     sum      -1     8.66    0.00    0.00      0    "
          "17.95    0.00    0.00      0\n" END);
    has_table(GCB_NET_ALLREDUCE, 4, 8.0, 8.66, 1048576.0, 55.24, 134217728.0, 1284.1, 0.0);
    /* -i 1M: from 600 sizes, 64 at even distances */
    for (unsigned i = 1; i <= 600; i++)
        snprintf(text + strlen(text), 128,
                 "%u %u float sum -1 %u.0 10.00 15.00 0 9.0 10.00 15.00 0\n", i << 20, i << 18, i);
    strcat(text, END);
    reads(text);
    assert_int_equal(t->count, GCB_NET_SIZES);
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
    reads(ALLREDUCE "some words\n" ALLGATHER OTHER("alltoall_perf") OTHER("broadcast_perf"));
    has_allreduce();
    has_table(GCB_NET_ALLGATHER, 4, 1024.0, 11.2, 67108864.0, 1502.7, 0.0);
    assert_string_equal(log_read.unused, "alltoall_perf, broadcast_perf");
    refuses(ALLREDUCE ALLREDUCE, 20);
    refuses(HEAD AR8 ALLGATHER, 7);
    reads(OSU_OTHER RANKS4 COLUMNS AR8 AR1M AR128M END); /* without a name, after another test */
    has_allreduce();
    assert_string_equal(log_read.unused, "Alltoall");
    reads("x: Test NCCL failure common.cu:1005 'unhandled system error'\n" ALLREDUCE);
    has_allreduce();
}

/* ---- what is refused ---- */

static void test_other_tests(void **state)
{
    static const char *const programs[] = {
        "alltoall_perf", "alltoallv_perf", "sendrecv_perf",  "broadcast_perf",      "gather_perf",
        "scatter_perf",  "reduce_perf",    "hypercube_perf", "all_reduce_bias_perf"};

    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        char text[4096];

        snprintf(text, sizeof(text),
                 "# Collective test starting: %s\n" RANKS4 COLUMNS AG1K AG64M END, programs[i]);
        refuses(text, 12);
        assert_string_equal(log_read.unused, programs[i]);
    }
    reads(UNCHECKED(KIND("all_gather_perf"), "none", "44.66", "33.50"));
    refuses(UNCHECKED(KIND("alltoall_perf"), "none", "44.66", "33.50"), 11);
    /* without a name, the columns and the ratio of the bandwidths tell; not without checks */
    refuses(UNCHECKED("", "none", "44.66", "33.50"), 6);
    refuses(UNCHECKED("", " sum", "44.66", "66.99"), 6);
    refuses("# Using devices\n" RANK(0) RANK(1) COLUMNS
            "67108864 16777216 float sum -1 1502.7 44.66 44.66 N/A 1499.2 44.76 44.76 N/A\n" END,
            4);
    refuses(RANKS4 COLUMNS
            "67108864 4194304 float none -1 1502.7 44.66 33.50 0 1499.2 44.76 33.57 N/A\n" END,
            6);
    refuses(RANKS4 COLUMNS
            "67108864 4194304 float none 0 1502.7 44.66 44.66 0 1499.2 44.76 44.76 0\n" END,
            6);
    refuses(RANKS4 COLUMNS
            "67108864 4194304 float none 0 1502.7 44.66 33.50 0 1499.2 44.76 33.57 0\n" END,
            6);
    refuses(RANKS4 COLUMNS
            "67108864 4194304 float     -1 1502.7 44.66 44.66 0 1499.2 44.76 44.76 0\n" END,
            7);
    refuses(RANKS4 COLUMNS
            "67108864 4194304 float sum -1 1502.7 44.66 44.66 0 1499.2 44.76 44.76 0\n" END,
            6);
    refuses(RANKS4 COLUMNS AR8 END, 6); /* too few digits */
    reads(HEAD AR8 END);
    has_table(GCB_NET_ALLREDUCE, 4, 8.0, 18.66, 0.0);
}

static void test_failed(void **state)
{
    refuses(HEAD "1048576 262144 float sum -1 53.24 19.70 29.54 12 53.50 19.60 29.40 0\n" END, 8);
    refuses(HEAD "1048576 262144 float sum -1 53.24 19.70 29.54 0 53.50 19.60 29.40 1e+06\n" END,
            8);
    refuses(HEAD AR1M "# Out of bounds values : 216 FAILED\n" AVERAGE, 9);
    refuses(HEAD AR1M "host1: Test NCCL failure common.cu:1005 'unhandled system error'\n", 7);
    refuses("host1: Test CUDA failure common.cu:1005 'out of memory'\n .. host1 pid 12: Test "
            "failure common.cu:891\n",
            2);
    /* the average bandwidth is below NCCL_TESTS_MIN_BW: slow, but right */
    reads(HEAD AR1M BOUNDS "# Avg bus bandwidth    : 9.11008 FAILED\n");
    refuses("# OSU MPI Latency Test v7.4\n# Size  Avg Latency(us)  Validation\n4   1.68  Pass\n"
            "8   1.69  Fail\n",
            4);
}

static void test_rows(void **state)
{
    static const char *const cells[] = {"nan", "-nan", "inf", "-18.66", "0.00", "-", "N/A", "1x"};
    char text[4096];

    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
        snprintf(text, sizeof(text), HEAD "8 2 float sum -1 %s 0.0 0.0 0 17.9 0.0 0.0 0\n" END,
                 cells[i]);
        refuses(text, 8);
    }
    refuses(HEAD "8x 2 float sum -1 18.0 0.0 0.0 0 17.9 0.0 0.0 0\n" END, 8);
    refuses(HEAD "8 2x float sum -1 18.0 0.0 0.0 0 17.9 0.0 0.0 0\n" END, 8);
    refuses(HEAD "8 2 float sum -1 18.0 0.0 0.0 0 17.9 0.0 0.0\n" END, 8);
    refuses(HEAD "8 2 float sum -1 18.0 0.0 0.0 x 17.9 0.0 0.0 0\n" END, 8);
    refuses(RANKS4 "# size count type redop root cputime algbw busbw #wrong\n", 6);
    refuses(RANKS4 "# size count type redop root duration algbw busbw #wrong\n", 6);
    refuses(RANKS4 "# size count type time algbw busbw #wrong redop root\n", 6);
    refuses(HEAD END, 7);
    strcpy(text, "# OSU MPI Latency Test v7.4\n");
    assert_int_equal(read_bytes(text, strlen(text), 0), GCB_E_CORRUPT);
}

static void test_ranks(void **state)
{
    char *many = malloc(1 << 18);

    refuses("# Using devices\n" RANK(0) RANK(0) COLUMNS AR8 END, 3);
    refuses(KIND("all_reduce_perf") "# Using devices\n" RANK(0) COLUMNS AR8 END, 4);
    refuses_with(KIND("all_reduce_perf") COLUMNS AR1M END, 0, GCB_E_INVALID, 2);
    reads_with(KIND("all_reduce_perf") COLUMNS AR8 AR1M AR128M END, 4);
    has_allreduce();
    refuses_with(KIND("all_reduce_perf") COLUMNS AR8 AR1M AR128M END, 8, GCB_E_CORRUPT, 2);
    /* NCCL_TESTS_SPLIT: two collectives at a time, each of every second rank */
    refuses(
        KIND("all_reduce_perf") "#  Rank  0 Group  0 Pid 1 on host1 device 0\n#  Rank  1 Group  "
                                "1 Pid 1 on host1 device 1\n" COLUMNS
                                "67108864 16777216 float sum -1 1502.7 44.66 44.66 0 1499.2 "
                                "44.76 44.76 0\n" END,
        3);
    /* more sizes than a table may have */
    assert_non_null(many);
    strcpy(many, HEAD);
    for (unsigned i = 0, n = (unsigned)strlen(many); i < 4097; i++)
        n += (unsigned)sprintf(many + n, "%u 2 float sum -1 18.0 0 0 0 9.0 0 0 0\n", 8192 - i);
    refuses(many, 8 + 4096);
    free(many);
}

static void test_cut(void **state)
{
    static const char whole[] = ALLREDUCE;
    char *text = malloc(1 << 20);

    /* wherever the log ends before its last line but one */
    for (size_t n = 0; n < (size_t)(strstr(whole, " bandwidth ") + 9 - whole); n++)
        assert_int_equal(read_bytes(whole, n, 0), GCB_E_CORRUPT);
    refuses(HEAD AR8 AR1M, 7);
    refuses(HEAD AR8 "     1048576        262144     float     sum      -1    53.24   19.7", 9);
    reads(HEAD AR8 AR1M AR128M BOUNDS "# Avg bus bandwidth    : 9.11008");
    has_allreduce();
    refuses("# OSU MPI Latency Test v7.4\n4   1.68\n8   1.6", 3);
    assert_int_equal(read_bytes("", 0, 0), GCB_E_CORRUPT);
    refuses("nothing\n", 1);
    /* whatever one byte of a row becomes, the log is refused, or has the row with another number */
    assert_non_null(text);
    for (size_t i = strlen(HEAD); i < strlen(HEAD AR8 AR1M); i++)
        for (const char *byte = "x\n#\1-7."; *byte; byte++) {
            strcpy(text, whole);
            text[i] = *byte;
            if (!strchr(" \n", whole[i]) && read_bytes(text, strlen(text), 0) == 0)
                assert_int_equal(log_read.tables[GCB_NET_ALLREDUCE].count, 3);
        }
    free(text);
}

static void test_encodings(void **state)
{
    static const char zero[] = KIND("all_reduce_perf") "\0" RANKS4 COLUMNS AR8 END;
    static const char zeros[] = "# OSU MPI Latency Test v7.4\n4   1.68\n8   1.6\0\0\0";
    char *text = malloc(1 << 20), *end;
    static const char *const kinds[][2] = {
        {"\x1f\x8b\x08", "gzip -dc "},
        {"\x28\xb5\x2f\xfd", "zstd -dc "},
        {"\xfd\x37zXZ", "xz -dc "},
        {"BZh9", "bzip2 -dc "},
        {"\xff\xfe#", "iconv -f UTF-16 -t UTF-8 "},
    };

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
    reads("\xef\xbb\xbf# OSU MPI Latency Test v7.4\r\n4   12.5\r\n");
    has_table(GCB_NET_LATENCY, 0, 4.0, 12.5, 0.0);
    /* lines of other programs may be long, but not as long as a file without lines */
    strcpy(text, KIND("all_reduce_perf") RANKS4);
    memset(text + strlen(text), '1', 60000);
    strcpy(text + strlen(KIND("all_reduce_perf") RANKS4) + 60000, "\n" COLUMNS AR8 AR1M AR128M END);
    reads(text);
    has_allreduce();
    memset(text, '1', 500000);
    text[500000] = '\0';
    refuses(text, 1);
    free(text);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        assert_int_equal(read_bytes(kinds[i][0], strlen(kinds[i][0]), 0), GCB_E_CORRUPT);
        assert_non_null(strstr(diag.text, kinds[i][1]));
    }
    assert_int_equal(read_bytes("{\"a\":1}\n", 8, 0), GCB_E_CORRUPT);
    assert_int_equal(read_bytes(zero, sizeof(zero), 0), GCB_E_CORRUPT);
    assert_int_equal(read_bytes(zeros, sizeof(zeros), 0), GCB_E_CORRUPT);
    refuses("[2J" KIND("\33[2J") RANKS4 COLUMNS END, 10);
    assert_null(strchr(diag.text, '\33')); /* no commands to the terminal */
}

static void test_osu(void **state)
{
    reads("[host1:1] SET UCX_NET_DEVICES=mlx5_2:1\n\n# OSU MPI-CUDA Latency Test v7.4\n# Datatype: "
          "MPI_CHAR.\n# Size   Avg Latency(us)\n"
          "0   1.5\n1   1.68\n[host1:1] a warning\n65536   12.72\n\n# OSU MPI Bandwidth Test "
          "v5.8\n# Size      Bandwidth (MB/s)\n"
          "1   4.00\n\nreal 0m5.7s\n# OSU MPI Multi Latency Test v7.4\n1 2.0\n");
    has_table(GCB_NET_LATENCY, 0, 1.0, 1.68, 65536.0, 12.72, 0.0);
    has_table(GCB_NET_BANDWIDTH, 0, 1.0, 0.25, 0.0);
    assert_string_equal(log_read.unused, "Multi");
    reads_with("# OSU MPI Allgather Latency Test v5.8\n# Size  Avg Latency(us)  Min "
               "Latency(us)\n16   9.35   8.31\n",
               8);
    has_table(GCB_NET_ALLGATHER, 8, 128.0, 9.35, 0.0); /* of all ranks */
    reads_with("# OSU MPI Allreduce Latency Test v7.5\n4   12.45\n", 2);
    has_table(GCB_NET_ALLREDUCE, 2, 4.0, 12.45, 0.0);
    refuses_with("# OSU MPI Allreduce Latency Test v7.5\n4   12.45\n", 0, GCB_E_INVALID, 1);
    refuses("# OSU MPI_Put Latency Test v7.5\n4   1.68\n", 2);
    reads("#\tOSU MPI Latency Test v7.5\n4\t1.68\n"); /* tabs as blanks */
    has_table(GCB_NET_LATENCY, 0, 4.0, 1.68, 0.0);
    refuses("# OSU MPI Latency Test v7.5\n4   fast\n", 2);
    refuses("# OSU MPI Latency Test v7.5\n4\n", 2);
    refuses(OSU_OTHER, 2);
    refuses("# OSU MPI Latency Test v7.4\n1 2\n# OSU MPI Latency Test v7.4\n1 2\n", 3);
}

RUN_TESTS(cmocka_unit_test(test_versions), cmocka_unit_test(test_prefixes),
          cmocka_unit_test(test_other_lines), cmocka_unit_test(test_order),
          cmocka_unit_test(test_several), cmocka_unit_test(test_other_tests),
          cmocka_unit_test(test_failed), cmocka_unit_test(test_rows), cmocka_unit_test(test_ranks),
          cmocka_unit_test(test_cut), cmocka_unit_test(test_encodings), cmocka_unit_test(test_osu))
