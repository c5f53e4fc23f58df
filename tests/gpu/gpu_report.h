#ifndef TESTS_GPU_GPU_REPORT_H
#define TESTS_GPU_GPU_REPORT_H

/* The rows that gpu_report reads, as far as it needs them. */
#include <stdbool.h>
#include <stddef.h>

#include "src/tool/rows/results.h"

#define MAX_ROWS 4096
#define TEXT 256

/* A row of `bench`. */
struct measured {
    char method[64], spec[TEXT], status[24], reason[TEXT];
    double elements, wire_bytes, encode, encode_transfer, decode, launches;
};

struct plain { /* any other row */
    char name[TEXT], status[24], reason[TEXT];
    double seconds, elements, wire_bytes, launches;
    bool fed, brief; /* of checks only */
};

struct report {
    struct measured speed[MAX_ROWS];
    struct plain checks[MAX_ROWS], steps[MAX_ROWS], torch[MAX_ROWS], timings[MAX_ROWS];
    size_t speeds, check_count, step_count, torch_count, timing_count;
    char gpu[TEXT], driver[TEXT], date[TEXT], revision[TEXT], cpu[TEXT];
    double copy_gbps;
    bool broken;
};

/* gcb_results_visit: ctx is a struct report. */
int report_take(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag);

#endif
