#ifndef SRC_TOOL_ROWS_ENVIRONMENT_H
#define SRC_TOOL_ROWS_ENVIRONMENT_H

#include "src/tool/rows/row.h"

/* Memory bandwidth of this machine, the best of several passes. Throughput is compared with this
 * limit. 1 GB is 1e9 bytes. */
struct gcb_bandwidth {
    double read_gbps; /* bytes read */
    double fill_gbps; /* bytes written */
    double copy_gbps; /* bytes copied, each counted once */
    uint64_t bytes;   /* size of the buffer that a pass covers */
    int threads;
};

/* What the caller knows for the `environment` row, the first row of a stream of results. All
 * pointers are borrowed. */
struct gcb_environment {
    int argc; /* the command line; argv may be NULL */
    char *const *argv;
    const char *isa;    /* the widest instruction set in use; NULL: unknown */
    int threads;        /* 0: not known */
    const char *device; /* where messages are coded, such as "cpu" or "cuda:0"; NULL: unknown */
    const char *gpu, *gpu_driver; /* NULL: no GPU in use */
    /* clock after the copies of gpu_copy_gbps, and highest clock; 0: not known */
    unsigned gpu_clock_mhz, gpu_clock_max_mhz;
    double gpu_copy_gbps;    /* copies within the GPU's memory: bytes read and written */
    uint64_t gpu_copy_bytes; /* size of the buffer that is copied; 0: not measured */
    /* The first item is the bandwidth with `threads` threads; the others are for other numbers of
     * threads. */
    const struct gcb_bandwidth *bandwidth;
    size_t bandwidth_count;    /* 0: not measured */
    const char *const *inputs; /* paths of files to hash */
    size_t input_count;
    bool hash_large;  /* hash files over 1 GiB too */
    const char *what; /* what the tensors are, such as "momentum"; NULL: unknown */
};

/* Starts the row and fills it with `env` and with facts about the build and the machine. Reads the
 * input files to hash them. A fact that is not known, such as the hash of a file that cannot be
 * read, is null. The caller releases the row. */
void gcb_environment_row(struct gcb_row *row, const struct gcb_environment *env);

/* How the program was built. The pointers are to static texts, and are never NULL. */
struct gcb_build {
    const char *type, *compiler, *flags;
    const char *sanitize; /* the sanitisers, or "none" */
    char revision[64];    /* commit, "" if unknown */
    bool dirty;           /* files differed from the commit */
    char id[41];          /* build id of the program that runs, in hexadecimal; "" if it has none */
};
void gcb_environment_build(struct gcb_build *out);

#endif
