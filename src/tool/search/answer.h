#ifndef SRC_TOOL_SEARCH_ANSWER_H
#define SRC_TOOL_SEARCH_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The sentence with which `compress`, `bench` and `replay` end: which method sends the fewest bytes up to an error of 0.05, of
 * 0.3 and of 0.7, by how much, and which of these encodes fastest. Beyond 0.7, where half of the gradient's energy is lost, no
 * method is recommended: it can only work with error feedback.
 */
#define GCB_ANSWER_WORST 0.7

/* A method that ran. */
struct gcb_answer_method {
    const char *name;
    double error;  /* relative L2 error; NAN: not known, the method is left out */
    double bytes;  /* sent for the same gradients */
    bool baseline; /* it is never recommended */
    bool
        feedback; /* its error is that of one message, but it lives on error feedback: never recommended */
    /* encoding speed in GB/s and its 95 % interval; NAN: not known */
    double speed, slow, fast;
};

/* What the sentence is about. */
struct gcb_answer_words {
    const char *error; /* "an error", "an aggregate error" */
    const char *
        lost; /* what to do about the methods that are not recommended: ": `gcbench replay` ranks them" */
};

/* Writes the answer to `out`. `fp16_bytes`: bytes that fp16 sends. `speeds`: say which method encodes fastest. */
char *gcb_answer(char *out, size_t size, const struct gcb_answer_method methods[], size_t count,
                 double fp16_bytes, bool speeds, const struct gcb_answer_words *words);

#endif
