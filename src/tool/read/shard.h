#ifndef SRC_TOOL_READ_SHARD_H
#define SRC_TOOL_READ_SHARD_H

#include "src/tool/read/layout.h"

/*
 * Shards divide the messages of a dump among runs on several machines. Every message belongs to exactly one shard, and the
 * shards have about the same number of elements. The division depends only on the sizes of the messages.
 */
struct gcb_shard {
    uint32_t index; /* 0 to count - 1 */
    uint32_t count; /* 0: no shards, so every message belongs to the run */
};

#define GCB_SHARDS_MOST (1 << 20)

/* Reads "I/N". `text` may be NULL: no shards. */
int gcb_shard_parse(struct gcb_shard *out, const char *text, struct gcb_diag *diag);

/*
 * Removes the messages of other shards from a layout, and keeps the order; `largest` is then the largest message that is
 * left. The largest messages are dealt first, each to the shard with the fewest elements so far (Graham: "Bounds on
 * multiprocessing timing anomalies", 1969). Does nothing without shards.
 */
int gcb_shard_layout(struct gcb_layout *layout, const struct gcb_source *source,
                     const struct gcb_shard *shard, struct gcb_diag *diag);

#endif
