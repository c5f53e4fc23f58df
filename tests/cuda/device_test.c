#include "tests/cuda/device_test.h"

struct gcb_device device;

int open_device(void **state)
{
    device_here(&device);
    return 0;
}

void nothing_is_left(void **state)
{
    struct gcb_host_counts counts;

    gcb_host_count(&counts);
    assert_int_equal(counts.bytes, 0);
}

void same_all(const char *const *specs, size_t count, const uint64_t *sizes)
{
    for (size_t i = 0; i < count; i++)
        device_same_all(&device, specs[i], sizes);
}
