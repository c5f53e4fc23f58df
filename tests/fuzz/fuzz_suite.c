/* Suites of `bench --suite FILE`. */
#include "src/tool/run/suite.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int allowed[] = {GCB_E_INVALID, GCB_E_NOMEM, 0};
    struct gcb_suite suite;
    struct gcb_diag diag = {0};

    fuzz_require_status(gcb_suite_parse(&suite, (const char *)data, size, "suite.json", &diag),
                        &diag, allowed);
    gcb_suite_fini(&suite);
    return 0;
}
