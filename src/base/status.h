#ifndef SRC_BASE_STATUS_H
#define SRC_BASE_STATUS_H

/* What a function of the library returns: 0, or one of these. The words go to a struct gcb_diag. */
enum gcb_status {
    GCB_OK = 0,
    GCB_E_NOMEM = -1,     /* an allocation failed, or a limit on memory would be passed */
    GCB_E_NOSPACE = -2,   /* an output buffer is too small */
    GCB_E_INVALID = -3,   /* an argument, option or parameter makes no sense */
    GCB_E_CORRUPT = -4,   /* a message or file is damaged, cut or hostile */
    GCB_E_IO = -5,        /* the operating system refused to read or write */
    GCB_E_NONFINITE = -6, /* an infinity or NaN where none is allowed */
    GCB_E_BACKEND = -7,   /* the asked-for device or backend is not available */
    GCB_E_MISMATCH = -8,  /* a message does not fit the coder it was given to */
    GCB_E_UNSUPPORTED = -9, /* valid, but not by this build, version or method */
    GCB_E_INTERNAL = -10, /* a promise of the library's own was broken */
};

/* A short text for a status; never NULL. */
const char *gcb_status_text(int status);

#endif
