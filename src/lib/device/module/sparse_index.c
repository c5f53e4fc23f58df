#include <string.h>

#include "src/lib/device/module/sparse.h"

static const struct gcb_device_index indices[] = {
    {
        .name = "u32",
        .length = {.kept_bytes = 4},
        .put = gcb_cuda_put_u32,
        .get = gcb_cuda_get_u32,
    },
    {
        .name = "bitmap",
        .length = {.flag_bits = 1},
        .put = gcb_cuda_put_bitmap,
        .get = gcb_cuda_get_bitmap,
    },
    {
        .name = "varint",
        .length = {.any = 1},
        .put_scratch = gcb_cuda_put_stream_scratch,
        .put = gcb_cuda_put_varint,
        .get = gcb_cuda_get_varint,
    },
    {
        .name = "golomb",
        .length = {.any = 1},
        .put_scratch = gcb_cuda_put_stream_scratch,
        .get_scratch = gcb_cuda_get_gaps_scratch,
        .put = gcb_cuda_put_golomb,
        .get = gcb_cuda_get_golomb,
    },
    {
        .name = "adaptive",
        .length = {.any = 1},
        .put_scratch = gcb_cuda_put_adaptive_scratch,
        .get_scratch = gcb_cuda_get_gaps_scratch,
        .put = gcb_cuda_put_adaptive,
        .get = gcb_cuda_get_adaptive,
    },
    {
        .name = "elias-fano",
        .length = {.any = 1},
        .put_scratch = gcb_cuda_put_stream_scratch,
        .put = gcb_cuda_put_eliasfano,
        .get = gcb_cuda_get_eliasfano,
    },
    {
        .name = "block",
        .length = {.any = 1},
        .get_scratch = gcb_cuda_get_block_scratch,
        .put = gcb_cuda_put_block,
        .get = gcb_cuda_get_block,
    },
    {.name = NULL},
};

const struct gcb_device_index *gcb_device_index_find(const char *name)
{
    for (const struct gcb_device_index *row = indices; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}
