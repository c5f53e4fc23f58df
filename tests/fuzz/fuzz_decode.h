#ifndef TESTS_FUZZ_FUZZ_DECODE_H
#define TESTS_FUZZ_FUZZ_DECODE_H

/*
 * The target: any bytes through everything that reads a message. Aborts where a promise of src/gcbench.h is
 * broken; the sanitizers find the rest. libFuzzer brings its own main, replay.c is another.
 */
#include <stddef.h>
#include <stdint.h>

/* Elements above which the target refuses a message: enough for several blocks of 4096 symbols. */
#define FUZZ_MAX_ELEMENTS 16384

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
