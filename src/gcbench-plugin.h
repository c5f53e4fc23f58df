#ifndef GCBENCH_PLUGIN_H
#define GCBENCH_PLUGIN_H

/*
 * A compressor of your own in gcbench (docs/adding-a-codec.md). This header needs no library.
 *
 * Either build a shared object with the five functions below and name it:
 *
 *     cc -O2 -shared -fPIC -o libmine.so mine.c
 *     gcbench compress --method plugin:./libmine.so:bits=3 gradients.h5
 *
 * or write a program in any language that speaks the frames at the end of this header:
 *
 *     gcbench compress --method exec:'python3 mine.py' gradients.h5
 *
 * gcbench runs the shared object or the program in two processes. One encodes. The other only
 * decodes, and never sees a tensor. A process that crashes or does not answer in time is reported,
 * and started again.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GCBENCH_PLUGIN_VERSION 1

/* ---- a shared object ---- */

/* What random draws may depend on. */
struct gcbench_at {
    uint64_t seed, step;
    uint64_t worker;
};

/* Returns GCBENCH_PLUGIN_VERSION. */
unsigned gcbench_plugin_version(void);

/* Takes the parameters that the user gave, such as "bits=3,bucket=128", or "". Called once in each
 * process, before the functions below. Returns 0, or anything else to refuse them. */
int gcbench_plugin_params(const char *text);

/* Returns the most bytes of a message of n elements; gcbench accepts at most 16 n + 2^20. */
size_t gcbench_plugin_bound(uint64_t n);

/* Writes the message of n finite elements to `message`, which has room for the bound, and the
 * number of its bytes to *length. The same arguments must give the same bytes. Returns 0, or
 * anything else if it fails. */
int gcbench_plugin_encode(const struct gcbench_at *at, const float *x, uint64_t n, void *message,
                          size_t *length);

/* Decodes a message into x[0..n). The message may be damaged. Returns 0, or anything else to refuse
 * the message. */
int gcbench_plugin_decode(const void *message, size_t length, float *x, uint64_t n);

/* ---- frames on standard input and output ---- */

/*
 * gcbench writes a request to standard input: this struct, as the machine stores it, and `length`
 * bytes. The program reads the request, writes an answer to standard output, flushes it, and waits
 * for the next request, until standard input ends. If the program fails, gcbench shows what it
 * wrote to standard error.
 */
struct gcbench_request {
    uint64_t verb;     /* enum gcbench_verb */
    uint64_t elements; /* of the tensor */
    uint64_t length;   /* bytes that follow */
    uint64_t seed, step, worker;
};

enum gcbench_verb {
    GCBENCH_ENCODE = 1, /* float32 elements follow; the answer is a message */
    GCBENCH_DECODE = 2, /* a message follows; the answer is `elements` float32 */
    GCBENCH_BOUND = 3,  /* never sent to a program; the answer is a uint64_t */
};

struct gcbench_answer {
    uint64_t status;      /* 0, or from 1 to 255: at most 479 bytes follow, a text that says why */
    uint64_t nanoseconds; /* time of the function in a shared object; unused for programs */
    uint64_t length;      /* bytes that follow */
};

/* An exec: program's message of n elements has at most 4 n + GCBENCH_EXEC_MORE bytes. */
#define GCBENCH_EXEC_MORE 4096

#ifdef __cplusplus
}
#endif

#endif
