#include "kernels/philox/philox.h"
#include "kernels/philox/philox_elem.h"
#include "src/lib/base/cpu_flags.h"

static void bytes_c(uint8_t *out, size_t n, uint64_t key, uint64_t first, uint64_t stream)
{
    for (size_t j = 0; j < n; j += 16) {
        const struct gcb_philox_block b = gcb_philox(key, (first + j) / 16, stream);
        const size_t m = n - j < 16 ? n - j : 16;

        for (size_t i = 0; i < m; i++)
            out[j + i] = (uint8_t)(b.word[i / 4] >> (8 * (i % 4)));
    }
}

void gcb_philox_init(struct gcb_philox_fns *fns, unsigned cpu_flags)
{
    fns->bytes = bytes_c;
#if defined(__x86_64__)
    if (cpu_flags & GCB_CPU_AVX2)
        fns->bytes = gcb_philox_bytes_avx2;
    if (cpu_flags & GCB_CPU_AVX512)
        fns->bytes = gcb_philox_bytes_avx512;
#endif
}
