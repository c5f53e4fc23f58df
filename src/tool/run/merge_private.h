#ifndef SRC_TOOL_MERGE_MERGE_PRIVATE_H
#define SRC_TOOL_MERGE_MERGE_PRIVATE_H

#include "src/tool/base/strings.h"
#include "src/tool/rows/results.h"
#include "src/tool/run/merge.h"

/* The row of a message: where it is, and its place in the results of one run. */
struct gcb_merge_item {
    uint32_t file; /* index into files */
    uint32_t run_case;
    uint32_t method;
    uint32_t length; /* of the line, in bytes */
    uint64_t message, offset, line;
    const char *spec;    /* kept in `texts` */
    const char *promise; /* kept in `texts`; NULL: the row of a result */
};

/* The shard of a run that begins with an `environment` row. */
struct gcb_merge_shard {
    uint32_t file;
    uint32_t index, count;
    json_t *environment;
    size_t cases;      /* cases that have ended */
    size_t first_item; /* the first item of the current case */
};

/* What the shards have in common in a case, and the failures of its methods. */
struct gcb_merge_failure {
    bool failed;
    uint64_t at; /* number of the first message that failed in any shard */
    bool unsupported;
    const char *reason; /* kept in `texts`; NULL: unknown */
};
struct gcb_merge_common {
    json_t *row; /* the `shard` row of the first shard */
    size_t method_count;
    struct gcb_merge_failure *failures; /* one for each method */
    uint64_t messages, skipped;         /* of all shards */
};

/* A summary whose status is not "ok", until the case ends. */
struct gcb_merge_trouble {
    const char *spec, *status, *reason;
};

struct gcb_merge {
    const char *const *files;
    size_t file_count;
    struct gcb_strings texts;
    struct gcb_merge_item *items;
    size_t item_count, item_cap;
    struct gcb_merge_shard *shards;
    size_t shard_count, shard_cap;
    struct gcb_merge_common *cases;
    size_t case_count, case_cap;
    struct gcb_merge_trouble *troubles;
    size_t trouble_count, trouble_cap;
    uint32_t file; /* the file that is read */
};

#endif
