#ifndef CLI_BENCH_BENCH_TABLE_H
#define CLI_BENCH_BENCH_TABLE_H

#include "cli/base/output.h"
#include "src/tool/trial/run.h"

/* What the notes under the tables have to explain, because it occurred. Starts zeroed. */
struct bench_marks {
    bool unknown; /* "±?": half of an interval is more than the median itself */
    bool cached;  /* "cache" instead of a share of memory's bandwidth */
    bool grouped; /* a device encoded messages in groups */
};

/* One table of `bench`: the methods under one scope, device, number of threads and state of the caches. */
struct bench_view {
    const struct gcb_method *methods; /* result->method_count of them */
    const struct gcb_run_result *result;
    const char *settings;                  /* "scope tensor, 1 thread, warm caches" */
    const struct gcb_bandwidth *bandwidth; /* with these threads */
    bool in_cache;                         /* memory has no part in the times: no share of it */
    double precision;                      /* asked for; 0: as many runs as were */
    struct bench_marks *marks;             /* set where something occurs */
};
int bench_show(const struct bench_view *view, const struct out_report *report,
               struct gcb_diag *diag);

/* Instead of a table: the device cannot be used. */
void bench_show_unsupported(const char *settings, const char *reason, FILE *out);

/* What the columns mean and what the machine had to do beside. */
void bench_show_notes(const struct out_report *report, const struct bench_marks *marks);

#endif
