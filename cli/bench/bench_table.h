#ifndef CLI_BENCH_BENCH_TABLE_H
#define CLI_BENCH_BENCH_TABLE_H

#include "cli/base/output.h"
#include "src/tool/run/run.h"

/* Marks that occurred in the tables, so that notes below the tables explain them. Starts zeroed. */
struct bench_marks {
    bool unknown; /* "±?" occurred: an interval is wider than its median */
    bool cached;  /* "cache" occurred instead of a share of memory bandwidth */
    bool grouped; /* a device encoded messages in groups */
};

/* The contents of one table of `bench`: the methods under one scope, device, number of threads and state of the caches.
 * */
struct bench_view {
    const struct gcb_method *methods; /* `result->method_count` methods */
    const struct gcb_run_result *result;
    const char *settings; /* for the heading: "scope tensor, 1 thread, warm caches" */
    const struct gcb_bandwidth *bandwidth; /* measured with the table's number of threads */
    bool in_cache;    /* all messages fit in the cache: show no share of memory bandwidth */
    double precision; /* the precision asked for; 0: the number of runs was fixed */
    struct bench_marks *marks; /* bench_show sets the marks that occur */
};
int bench_show(const struct bench_view *view, const struct out_report *report,
               struct gcb_diag *diag);

/* Prints, instead of a table, why the device cannot be used. */
void bench_show_unsupported(const char *settings, const char *reason, FILE *out);

/* Prints what the columns mean, and whether the machine was busy with other work. */
void bench_show_notes(const struct out_report *report, const struct bench_marks *marks);

#endif
