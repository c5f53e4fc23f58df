#include "src/lib/device/module/sparse.h"

const struct gcb_device_index gcb_device_indices[GCB_INDICES] = {
    [GCB_INDEX_U32] =
        {
            .length = {.kept_bytes = 4},
            .put = gcb_cuda_put_u32,
            .get = gcb_cuda_get_u32,
        },
    [GCB_INDEX_BITMAP] =
        {
            .length = {.flag_bits = 1},
            .put = gcb_cuda_put_bitmap,
            .get = gcb_cuda_get_bitmap,
        },
    [GCB_INDEX_VARINT] =
        {
            .length = {.any = 1},
            .put_scratch = gcb_cuda_put_stream_scratch,
            .put = gcb_cuda_put_varint,
            .get = gcb_cuda_get_varint,
        },
    [GCB_INDEX_GOLOMB] =
        {
            .length = {.any = 1},
            .put_scratch = gcb_cuda_put_stream_scratch,
            .get_scratch = gcb_cuda_get_gaps_scratch,
            .put = gcb_cuda_put_golomb,
            .get = gcb_cuda_get_golomb,
        },
    [GCB_INDEX_ADAPTIVE] =
        {
            .length = {.any = 1},
            .put_scratch = gcb_cuda_put_adaptive_scratch,
            .get_scratch = gcb_cuda_get_gaps_scratch,
            .put = gcb_cuda_put_adaptive,
            .get = gcb_cuda_get_adaptive,
        },
    [GCB_INDEX_ELIASFANO] =
        {
            .length = {.any = 1},
            .put_scratch = gcb_cuda_put_stream_scratch,
            .put = gcb_cuda_put_eliasfano,
            .get = gcb_cuda_get_eliasfano,
        },
    [GCB_INDEX_BLOCK] =
        {
            .length = {.any = 1},
            .get_scratch = gcb_cuda_get_block_scratch,
            .put = gcb_cuda_put_block,
            .get = gcb_cuda_get_block,
        },
};
