#include "src/lib/base/status.h"

const char *gcb_status_text(int status)
{
    switch (status) {
    case GCB_OK:
        return "done";
    case GCB_E_NOMEM:
        return "out of memory";
    case GCB_E_NOSPACE:
        return "output buffer too small";
    case GCB_E_INVALID:
        return "invalid argument";
    case GCB_E_CORRUPT:
        return "damaged data";
    case GCB_E_IO:
        return "input/output error";
    case GCB_E_NONFINITE:
        return "infinity or NaN in the input";
    case GCB_E_BACKEND:
        return "backend not available";
    case GCB_E_MISMATCH:
        return "message does not fit the coder";
    case GCB_E_UNSUPPORTED:
        return "not supported";
    case GCB_E_DEVICE:
        return "the device failed";
    case GCB_E_UNVERIFIED:
        return "a check failed";
    case GCB_E_SEND_RAW:
        return "the method cannot represent the tensor";
    default:
        return "internal error";
    }
}
