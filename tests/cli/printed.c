#include "tests/cli/printed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/base/columns.h"
#include "tests/support/test.h"

const double values[VALUES] = {
    0.0,     1.0,    -1.0,   0.123456789, 9.995,    99.995,   12345.678, 999999.5,
    1234567, 1e9,    1e-5,   1e-12,       -1e-12,   1.234e17, 1.234e99,  -1.234e99,
    1e300,   1e-300, 5e-324, -1e300,      INFINITY, NAN,
};

void begin(struct printed *p)
{
    *p = (struct printed){.report.width = 80};
    p->report.out = open_memstream(&p->text, &p->size);
    p->report.table = true;
    assert_non_null(p->report.out);
}

static void fits(const char *text)
{
    char line[1000];

    for (; *text; text += strcspn(text, "\n") + 1) {
        const size_t n = strcspn(text, "\n");

        assert_true(n < sizeof(line));
        memcpy(line, text, n);
        line[n] = '\0';
        if (gcb_text_columns(line) > 80)
            fail_msg("%zu columns: %s", gcb_text_columns(line), line);
        assert_int_equal(text[n], '\n');
    }
}

void end(struct printed *p)
{
    fclose(p->report.out);
    fits(p->text);
    free(p->text);
}
