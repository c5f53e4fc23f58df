#include "src/lib/base/diag.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 3, 0))) static int set(struct gcb_diag *diag, int status,
                                                     const char *format, va_list args)
{
    if (!diag)
        return status;
    diag->status = status;
    vsnprintf(diag->text, sizeof(diag->text), format, args);
    return status;
}

int gcb_diag_set(struct gcb_diag *diag, int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    set(diag, status, format, args);
    va_end(args);
    return status;
}

int gcb_invalid(struct gcb_diag *diag, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    set(diag, GCB_E_INVALID, format, args);
    va_end(args);
    return GCB_E_INVALID;
}

int gcb_diag_nomem(struct gcb_diag *diag, uint64_t bytes, const char *what)
{
    if (bytes == 0)
        return gcb_diag_set(diag, GCB_E_NOMEM, "out of memory (for %s)", what);
    return gcb_diag_set(diag, GCB_E_NOMEM, "out of memory (%" PRIu64 " bytes for %s)", bytes, what);
}

int gcb_need(const void *pointer, const char *what, struct gcb_diag *diag)
{
    return pointer ? 0 : gcb_invalid(diag, "%s is NULL", what);
}

int gcb_need_both(const void *first, const char *what, const void *second, const char *what_else,
                  struct gcb_diag *diag)
{
    const int err = gcb_need(first, what, diag);

    return err ? err : gcb_need(second, what_else, diag);
}
