#ifndef CLI_BASE_PARAM_TEXT_H
#define CLI_BASE_PARAM_TEXT_H

#include "src/lib/codec/param.h"

/* A parameter of a method in words, for `gcbench methods` and the manual. Each returns out. */

/* "in [0, 1)" or "one of a, b, c". */
char *param_range(char *out, size_t size, const struct gcb_param *p);

/* What it is, its other names, and, with `condition`, the settings without which it has no meaning. */
char *param_help(char *out, size_t size, const struct gcb_param *p, bool condition);

#endif
