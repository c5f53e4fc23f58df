#ifndef SRC_LIB_BASE_STATUS_H
#define SRC_LIB_BASE_STATUS_H

/* The status codes are part of the public vocabulary. */
#include "src/gcbench.h"

#endif
