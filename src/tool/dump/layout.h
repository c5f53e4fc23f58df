#ifndef SRC_TOOL_DUMP_LAYOUT_H
#define SRC_TOOL_DUMP_LAYOUT_H

#include "src/tool/dump/source.h"

/*
 * Decides which tensors a message covers: consecutive tensors of one step and worker, flattened one after the other.
 */
enum gcb_scope {
    GCB_SCOPE_TENSOR, /* one tensor */
    GCB_SCOPE_BUCKET, /* as many tensors as fit `bucket_bytes` of source data; at least one */
    GCB_SCOPE_MODEL,  /* all tensors of a step and worker */
};

struct gcb_piece {
    size_t tensor;   /* index in the source */
    uint64_t offset; /* of the tensor's first element in the message */
};

struct gcb_message_plan {
    const struct gcb_piece *pieces; /* piece_count of them, owned by the layout */
    size_t piece_count;
    uint64_t step;
    uint32_t worker;
    char name[24];        /* "0007" for a bucket or model; "" for a message of one tensor */
    uint64_t count;       /* elements */
    uint64_t input_bytes; /* in the tensors' own types */
    enum gcb_dtype dtype; /* the tensors' type if all have the same, else GCB_F32 */
    bool dense;           /* to be sent as fp32 */
};

struct gcb_layout {
    struct gcb_message_plan *messages;
    size_t count;
    uint64_t largest; /* elements of the largest message */
    struct gcb_piece *pieces;
};

struct gcb_layout_config {
    enum gcb_scope scope;
    uint64_t bucket_bytes; /* 0: 25 MiB */
    /*
     * Tensors that are sent as fp32, each in a message of its own: their path matches a glob, or they have fewer than
     * min_elements. A bucket skips them. Their messages follow the buckets of their step and worker.
     */
    const char *const *dense;
    size_t dense_count;
    uint64_t min_elements;
};

/* Plans the messages of a source. GCB_E_NOMEM, with *out zeroed. */
int gcb_layout_init(struct gcb_layout *out, const struct gcb_source *source,
                    const struct gcb_layout_config *config, struct gcb_diag *diag);
void gcb_layout_fini(struct gcb_layout *layout); /* zeroed is fine */

/* Reads the tensors of a message, one after the other, into `out` (message->count floats). */
int gcb_layout_read(struct gcb_source *source, const struct gcb_message_plan *message, float *out,
                    struct gcb_diag *diag);

#endif
