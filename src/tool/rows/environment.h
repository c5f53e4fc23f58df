#ifndef SRC_TOOL_ROWS_ENVIRONMENT_H
#define SRC_TOOL_ROWS_ENVIRONMENT_H

#include "src/tool/rows/row.h"

/*
 * What this machine's memory gives a program: the limits that throughput is held against. GB/s are 1e9
 * bytes a second, of the best of several passes.
 */
struct gcb_bandwidth {
    double read_gbps; /* bytes read */
    double fill_gbps; /* bytes written */
    double copy_gbps; /* bytes copied, counted once */
    uint64_t bytes;   /* of the memory gone over in one pass */
    int threads;      /* that went over it */
};

/*
 * Where results come from: the `environment` row, first of its stream (docs/rows.md). What is not known is
 * null.
 */
struct gcb_environment {
    int argc; /* the command line; argv may be NULL */
    char *const *argv;
    const char *isa; /* widest in use */
    int threads;
    const char *device;
    const char *gpu, *gpu_driver;              /* NULL: none in use */
    unsigned gpu_clock_mhz, gpu_clock_max_mhz; /* 0: not known */
    double gpu_copy_gbps;                      /* of copies of so many bytes: */
    uint64_t gpu_copy_bytes;                   /* 0: not measured */
    const struct gcb_bandwidth *bandwidth;     /* of `threads` first; others may follow */
    size_t bandwidth_count;                    /* 0: not measured */
    const char *const *inputs;                 /* files to hash */
    size_t input_count;
    bool hash_large; /* also those over 1 GiB */
};

/* Fills the row; reads the input files to hash them. Files that cannot be read get null. */
void gcb_environment_row(struct gcb_row *row, const struct gcb_environment *env);

/* How the library was built. Static texts; NULL where unknown. */
struct gcb_build {
    const char *type, *compiler, *flags;
    const char *sanitize; /* "none" or the sanitisers */
    char revision[64];    /* commit, "" if unknown */
    bool dirty;           /* files differed from it */
    char id[41];          /* build id of the library that is loaded, "" if it has none */
};
void gcb_environment_build(struct gcb_build *out);

/* Name and version of the i-th library in use; false past the end. */
bool gcb_environment_library(const char **name, char version[32], size_t i);

#endif
