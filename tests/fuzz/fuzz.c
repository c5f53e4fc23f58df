#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_require(int holds, const char *promise, const struct gcb_diag *diag)
{
    if (holds)
        return;
    fprintf(stderr, "broken promise: %s", promise);
    if (diag)
        fprintf(stderr, " (status %d, \"%.*s\")", diag->status, GCB_DIAG_TEXT, diag->text);
    fputc('\n', stderr);
    abort();
}

void fuzz_require_status(int status, const struct gcb_diag *diag, const int *allowed)
{
    int known = status == 0;

    for (; *allowed; allowed++)
        known |= status == *allowed;
    fuzz_require(known, "only the documented statuses", diag);
    if (!status)
        return;
    fuzz_require(diag->status == status, "diag has the status", diag);
    fuzz_require(memchr(diag->text, 0, sizeof(diag->text)) != NULL, "the message ends", diag);
    fuzz_require(diag->text[0] && !strchr(diag->text, '\n'), "the message is one line", diag);
}
