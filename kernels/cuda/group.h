#ifndef KERNELS_CUDA_GROUP_H
#define KERNELS_CUDA_GROUP_H

#include "kernels/cuda/stream.h"

/*
 * Several messages by one set of launches: what the kernels are to know of each stands in device memory, and a block
 * finds out which message it is of, and which of its blocks it is. A network has more tensors of a few hundred
 * elements than a launch takes time for.
 *
 * One message is a group without a table: its fields are the kernel's arguments (kernels/cuda/group.cuh).
 */

/* A message: of an encoder or of a decoder. */
struct gcb_device_item {
    struct gcb_device_input in; /* decoding: in.x is what is written, without a residual */
    uint8_t *payload;
    struct gcb_device_result *result;
    void *scratch;         /* of this message alone, aligned to 256 */
    uint64_t coarse, fine; /* streams of draws, where a codec draws */
    uint64_t bucket;       /* qsgd: elements that share a norm */
};

/* Most elements of a group, so that its blocks can be counted in 32 bits. */
#define GCB_DEVICE_GROUP_ELEMENTS (UINT64_C(1) << 31)
/* Ways to cut messages into blocks: a launch uses one of them. The first is tiles of 4096 elements, at least one. */
#define GCB_DEVICE_GRIDS 3

/*
 * The table of a group, in pinned memory and where it goes on the device; items and then, for each grid, the first
 * block of each message. A launcher fills the grids that it uses, queues the one copy and then its kernels. The pinned
 * memory is not written again before the stream was waited for.
 */
struct gcb_device_group {
    unsigned count; /* of messages */
    struct gcb_device_item *items;
    const struct gcb_device_item *items_dev;
    uint32_t *first; /* GCB_DEVICE_GRIDS rows of count */
    const uint32_t *first_dev;
};

/* Bytes of a table, both there and on the device: gcb_device_group_at lays it out, aligned to 16. */
static inline uint64_t gcb_device_group_bytes(uint64_t count)
{
    return count * (sizeof(struct gcb_device_item) + GCB_DEVICE_GRIDS * sizeof(uint32_t));
}

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
