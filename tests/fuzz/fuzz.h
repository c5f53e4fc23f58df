#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

/*
 * A fuzz target gives any bytes to one parser. It aborts if the parser breaks a promise of its
 * header; sanitizers find other errors. libFuzzer has its own main; replay.c has another.
 */
#include <stddef.h>
#include <stdint.h>

#include "src/lib/base/diag.h"

/* Tensors of the targets have at most this many elements, which is enough for several blocks of
 * 4096 symbols. */
#define FUZZ_MAX_ELEMENTS 16384

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts unless `holds`. Unlike assert, this also works in builds with NDEBUG. `diag` may be
 * NULL. */
void fuzz_require(int holds, const char *promise, const struct gcb_diag *diag);

/* The status must be 0 or one of `allowed` (0 at the end), and a failure must have a message of one
 * line. */
void fuzz_require_status(int status, const struct gcb_diag *diag, const int *allowed);

#endif
