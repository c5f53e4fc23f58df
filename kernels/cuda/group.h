#ifndef KERNELS_CUDA_GROUP_H
#define KERNELS_CUDA_GROUP_H

#include "kernels/cuda/stream.h"

/*
 * One set of launches can serve several messages. A network has many tensors of a few hundred
 * elements, and a launch takes longer than the work on such a tensor. A table in device memory
 * describes each message. A thread block finds in the table its message, and its own number among
 * the message's blocks.
 *
 * A single message needs no table: its fields are the kernel's arguments (kernels/cuda/group.cuh).
 */

/* A message to encode or to decode. */
struct gcb_device_item {
    struct gcb_device_input in; /* decoding: in.x is the output, and there is no residual */
    uint8_t *payload;           /* what an encoder writes, or a decoder reads */
    struct gcb_device_result *result;
    void *scratch;         /* scratch of this message only, aligned to 16 bytes; NULL: none */
    uint64_t coarse, fine; /* random streams (struct gcb_dither); kernels/block uses coarse only */
    uint64_t bucket;       /* qsgd: number of elements that share a norm; else not used */
};

/* A group has at most this many elements, so that 32 bits can count its blocks. */
#define GCB_DEVICE_GROUP_ELEMENTS (UINT64_C(1) << 31)
/* A grid is a way to cut messages into blocks; each launch uses one grid. Grid 0 cuts into tiles of
 * 4096 elements, at least one per message. */
#define GCB_DEVICE_GRIDS 3

/*
 * The table of a group, in pinned memory and on the device: the items and then, for each grid, the
 * first block of each message. A launcher fills the grids that it uses, queues one copy of the
 * table, and then queues its kernels. Nobody may write the pinned memory again before the stream
 * has finished that copy.
 */
struct gcb_device_group {
    unsigned count; /* number of messages */
    struct gcb_device_item *items;
    const struct gcb_device_item *items_dev;
    uint32_t *first; /* GCB_DEVICE_GRIDS rows of `count` entries */
    const uint32_t *first_dev;
};

/* Bytes of the table of `count` messages, in pinned memory and again on the device. */
static inline uint64_t gcb_device_group_bytes(uint64_t count)
{
    return count * (sizeof(struct gcb_device_item) + GCB_DEVICE_GRIDS * sizeof(uint32_t));
}

/* Returns the table of `count` messages in the caller's memory, pinned and on the device. Both
 * addresses must be aligned to 16 bytes. Writes nothing to the memory. */
static inline struct gcb_device_group gcb_device_group_at(void *pinned, const void *dev,
                                                          unsigned count)
{
    struct gcb_device_item *items = (struct gcb_device_item *)pinned;
    const struct gcb_device_item *items_dev = (const struct gcb_device_item *)dev;
    const struct gcb_device_group g = {
        count, items, items_dev, (uint32_t *)(items + count), (const uint32_t *)(items_dev + count),
    };

    return g;
}

#endif
