#ifndef TESTS_FUZZ_FUZZ_DECODE_H
#define TESTS_FUZZ_FUZZ_DECODE_H

/*
 * The fuzz target: gives any bytes to all functions that read a message. It aborts if a promise of src/gcbench.h is broken;
 * sanitizers find other errors. libFuzzer has its own main; replay.c has another.
 */
#include <stddef.h>
#include <stdint.h>

/* The target refuses messages with more elements than this, which is enough for several blocks of 4096 symbols. */
#define FUZZ_MAX_ELEMENTS 16384

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
