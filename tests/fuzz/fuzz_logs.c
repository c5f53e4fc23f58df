/* Logs of network tests (payoff --import). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/tool/payoff/curve.h"
#include "tests/fuzz/fuzz.h"

static const int allowed[] = {GCB_E_CORRUPT, GCB_E_INVALID, GCB_E_IO, GCB_E_NOMEM, 0};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const double bytes[] = {0.0, 1.0, 8.0, 1e3, 1e6, 1e9, 1e12};
    const int fd = memfd_create("log", 0);
    struct gcb_curve curve;
    struct gcb_diag diag = {0};
    char path[40];
    const char *paths[] = {path};
    int err;

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    err = gcb_curve_import(&curve, paths, 1, size % 2 ? 4 : 0, &diag);
    fuzz_require_status(err, &diag, allowed);
    for (size_t i = 0; !err && i < sizeof(bytes) / sizeof(bytes[0]); i++)
        for (enum gcb_pattern p = 0; p < GCB_PATTERNS; p++) {
            const double seconds = gcb_curve_at(&curve, p, i % 2, bytes[i]);

            fuzz_require(seconds > 0.0 && isfinite(seconds), "times are above 0", NULL);
        }
    close(fd);
    return 0;
}
