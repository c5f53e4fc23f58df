#include <string.h>

#include "src/cuda/module/sparse.h"

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
    {.name = NULL},
};

const struct gcb_device_index *gcb_device_index_find(const char *name)
{
    for (const struct gcb_device_index *row = indices; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}
