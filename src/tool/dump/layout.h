#ifndef SRC_TOOL_DUMP_LAYOUT_H
#define SRC_TOOL_DUMP_LAYOUT_H

#include "src/tool/dump/source.h"

/*
 * Which tensors one message covers. A message is a run of consecutive tensors of one step and worker,
 * flattened one after the other; the codec never knows.
 */
enum gcb_scope {
    GCB_SCOPE_TENSOR, /* each tensor alone */
    GCB_SCOPE_BUCKET, /* tensors in order until `bucket_bytes` of source data would be passed; at least one */
    GCB_SCOPE_MODEL, /* all of a step and worker */
};

struct gcb_piece {
    size_t tensor;   /* index in the source */
    uint64_t offset; /* of its first element in the message */
};

struct gcb_message_plan {
    const struct gcb_piece *pieces; /* piece_count of them, owned by the layout */
    size_t piece_count;
    uint64_t step;
    uint32_t worker;
    char name[24];        /* "0007" of a bucket or model; "" for a single tensor's own message */
    uint64_t count;       /* elements */
    uint64_t input_bytes; /* in the tensors' own types */
    enum gcb_dtype dtype; /* the tensors' type if all agree, else GCB_F32 */
    bool dense;           /* to be sent as fp32: a `dense` glob matched, or under min_elements */
};

struct gcb_layout {
    struct gcb_message_plan *messages;
    size_t count;
    uint64_t largest; /* elements of the largest message */
    struct gcb_piece *pieces;
};

struct gcb_layout_config {
    enum gcb_scope scope;
    uint64_t bucket_bytes;    /* 0: 25 MiB */
    const char *const *dense; /* globs on tensor paths; these and tensors under min_elements are
                                 messages of their own, outside buckets, which close over them;
                                 they follow the buckets of their step and worker */
    size_t dense_count;
    uint64_t min_elements;
};

/* Plans the messages of a source. GCB_E_NOMEM on failure; *out is zeroed then. */
int gcb_layout_init(struct gcb_layout *out, const struct gcb_source *source,
                    const struct gcb_layout_config *config, struct gcb_diag *diag);
void gcb_layout_fini(struct gcb_layout *layout); /* zeroed is fine */

/* Reads a message's tensors one after the other into out (message->count floats). */
int gcb_layout_read(struct gcb_source *source, const struct gcb_message_plan *message, float *out,
                    struct gcb_diag *diag);

#endif
