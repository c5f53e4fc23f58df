/*
 * replay [--mutate] FILE...: runs the fuzz target on stored inputs. With --mutate it also cuts each input at each place and
 * changes each byte in four ways; in long inputs, the first 128 bytes and evenly spread ones after them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz_decode.h"

#define HEAD 128
#define SPREAD 64
#define LARGEST (1 << 20)

static unsigned long runs;

/* The target gets a block of exactly this size, so that a read past its end is seen. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);

    if (!copy)
        abort();
    if (size)
        memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    runs++;
}

static size_t next_place(size_t at, size_t size)
{
    return at < HEAD || size < HEAD + SPREAD ? at + 1 : at + 1 + (size - HEAD) / SPREAD;
}

static void mutate(uint8_t *data, size_t size)
{
    static const uint8_t flips[] = {0x01, 0x10, 0x80, 0xFF};

    for (size_t at = 0; at < size; at = next_place(at, size)) {
        run(data, at);
        for (size_t i = 0; i < sizeof(flips); i++) {
            data[at] ^= flips[i];
            run(data, size);
            data[at] ^= flips[i];
        }
    }
    if (size < LARGEST) { /* one byte too many */
        data[size] = 0;
        run(data, size + 1);
    }
}

static int replay(const char *path, int mutated)
{
    static uint8_t data[LARGEST];
    FILE *file = fopen(path, "rb");
    size_t size = 0;

    if (file)
        size = fread(data, 1, sizeof(data), file);
    if (!file || ferror(file)) {
        fprintf(stderr, "replay: %s cannot be read\n", path);
        return 1;
    }
    fclose(file);
    run(data, size);
    if (mutated)
        mutate(data, size);
    return 0;
}

int main(int argc, char **argv)
{
    const int mutated = argc > 1 && strcmp(argv[1], "--mutate") == 0;
    int unread = 0;

    if (argc < 2 + mutated) {
        fprintf(stderr, "usage: replay [--mutate] FILE...\n");
        return 2;
    }
    for (int i = 1 + mutated; i < argc; i++)
        unread += replay(argv[i], mutated);
    printf("%d inputs, %lu runs\n", argc - 1 - mutated - unread, runs);
    return unread != 0;
}
