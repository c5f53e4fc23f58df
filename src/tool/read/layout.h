#ifndef SRC_TOOL_READ_LAYOUT_H
#define SRC_TOOL_READ_LAYOUT_H

#include "src/tool/read/source.h"

/*
 * The scope of a message: the tensors of one step and worker that it covers, in their order and
 * flattened one after the other. Each dense tensor (struct gcb_layout_config) has a message of its
 * own, and is in no other.
 */
enum gcb_scope {
    GCB_SCOPE_TENSOR, /* one tensor */
    GCB_SCOPE_BUCKET, /* as many tensors as fit into bucket_bytes, or one larger tensor */
    GCB_SCOPE_MODEL,  /* all tensors of a step and worker */
};

struct gcb_piece {
    size_t tensor;   /* the tensor's index in the source */
    uint64_t offset; /* elements of the message before this tensor */
};

struct gcb_message_plan {
    size_t number; /* place among all messages of the dump, from 0 */
    /* array of piece_count pieces, owned by the layout or, in a sample, by the large layout */
    const struct gcb_piece *pieces;
    size_t piece_count;
    uint64_t step;
    uint32_t worker;
    char name[32];  /* "messages/0007" for a bucket or model; "" with tensor scope, or if dense */
    uint64_t count; /* number of elements */
    uint64_t input_bytes;   /* bytes of the elements in the types of their tensors */
    enum gcb_dtype dtype;   /* the type of the tensors if all have the same type, else GCB_F32 */
    bool dense;             /* the message is sent as fp32 */
    const uint64_t *joined; /* shapes of its tensors (struct gcb_codec_env); NULL: unknown */
    size_t joined_length;
    const float *data; /* the elements, if they are in memory (struct gcb_sample), or NULL */
};

struct gcb_layout {
    struct gcb_message_plan *messages;
    size_t count;
    uint64_t largest; /* elements of the largest message */
    struct gcb_piece *pieces;
    uint64_t *shapes; /* what `joined` of the messages points to */
    /* Set by gcb_shard_layout, else 0: the number of messages of all shards, and XXH3-64 of the
     * steps, workers, sizes and `dense` of these messages and of the paths and sizes of their
     * tensors. Runs with equal fingerprints have the same plan. */
    size_t all_count;
    uint64_t fingerprint;
};

struct gcb_layout_config {
    enum gcb_scope scope;
    uint64_t bucket_bytes; /* largest input of a bucket in bytes; 0 means 25 MiB */
    /*
     * A tensor is dense if its path matches one of these globs or it has fewer than min_elements
     * elements. A dense tensor is sent as fp32 in a message of its own, after the buckets of its
     * step and worker. Buckets leave it out.
     */
    const char *const *dense;
    size_t dense_count;
    uint64_t min_elements;
};

/* Plans the messages of a source, which must outlive *out. */
void gcb_layout_init(struct gcb_layout *out, const struct gcb_source *source,
                     const struct gcb_layout_config *config);
void gcb_layout_fini(struct gcb_layout *layout); /* a zeroed struct is allowed */

/* Writes the rank and the dimensions to `out`, which has room for 1 + rank numbers. Returns the
 * end. */
uint64_t *gcb_layout_put_shape(uint64_t *out, unsigned rank, const uint64_t *dims);

/* Reads the tensors of a message, one after the other, into `out` (message->count floats). */
int gcb_layout_read(struct gcb_source *source, const struct gcb_message_plan *message, float *out,
                    struct gcb_diag *diag);

/* ---- samples (sample.c) ---- */

/*
 * A small layout that represents a large layout. Its messages are blocks of messages of the large
 * layout, or whole messages. Each tensor is divided into blocks of as many whole rows as have at
 * most GCB_SAMPLE_BLOCK elements, and the last block may be shorter. If one row has more elements,
 * whole convolution kernels, or else single elements, are taken as rows. The elements of blocks are
 * in memory.
 */
#define GCB_SAMPLE_BLOCK (UINT64_C(1) << 14) /* elements */

struct gcb_sample {
    struct gcb_layout layout; /* borrows pieces and some shapes from the large layout */
    float *data;              /* the elements that are in memory */
};

/*
 * Takes a sample of evenly spread blocks, with about `most` elements. A message of the sample has
 * the blocks that are taken from a message of the layout, in their order. Dense messages, and
 * messages of which no block is taken, are left out. Reads each tensor at most once. The layout
 * must outlive the sample. On failure *out is zeroed.
 */
int gcb_sample_init(struct gcb_sample *out, struct gcb_source *source,
                    const struct gcb_layout *layout, uint64_t most, struct gcb_diag *diag);

#define GCB_SAMPLE_WHOLE (UINT64_C(1) << 17) /* elements */
/*
 * Takes a sample for a search that needs every tensor: all messages of some pairs of a step and a
 * worker, evenly spread, with about `most` elements. These messages are not read into memory. If
 * the pairs have more elements, gcb_sample_init replaces their messages of more than
 * GCB_SAMPLE_WHOLE elements by messages of blocks, which come last, and leaves out the dense among
 * them. The layout must outlive the sample. Call gcb_sample_fini even after a failure.
 */
int gcb_sample_every_tensor(struct gcb_sample *out, struct gcb_source *source,
                            const struct gcb_layout *layout, uint64_t most, struct gcb_diag *diag);
void gcb_sample_fini(struct gcb_sample *sample); /* a zeroed struct is allowed */

/* Returns the number of elements of all messages. */
uint64_t gcb_layout_elements(const struct gcb_layout *layout);

/* ---- shards (shard.c) ---- */

/*
 * Shards divide the messages of a dump among runs on several machines. Every message belongs to
 * exactly one shard, and the shards have about the same number of elements. The division depends
 * only on the sizes of the messages.
 */
struct gcb_shard {
    uint32_t index; /* 0 to count - 1 */
    uint32_t count; /* 0: no shards, so every message belongs to the run */
};

#define GCB_SHARDS_MOST (1 << 20)

/* Parses "I/N", where I < N <= GCB_SHARDS_MOST. NULL means no shards. Returns GCB_E_INVALID for any
 * other text. */
int gcb_shard_parse(struct gcb_shard *out, const char *text, struct gcb_diag *diag);

/*
 * Removes the messages of other shards from a layout, and keeps the order of the rest. Messages are
 * dealt in order of size, the largest first, each to the shard with the fewest elements so far
 * (Graham: "Bounds on multiprocessing timing anomalies", 1969). Does nothing without shards.
 */
void gcb_shard_layout(struct gcb_layout *layout, const struct gcb_source *source,
                      const struct gcb_shard *shard);

#endif
