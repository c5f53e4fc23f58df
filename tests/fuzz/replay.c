/*
 * replay [--seconds N] FILE...: runs the fuzz target on stored inputs. With --seconds it also runs
 * random changes of random inputs for that time, which are the same each time. The input that runs
 * is kept in ./crash, which is removed at the end unless the target ended the process.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define LARGEST (1 << 20)

static unsigned long runs;
static int kept; /* ./crash: the input that runs */

/* The target gets a block of exactly this size, so that a read past its end is seen. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);

    if (!copy || pwrite(kept, data, size, 0) != (ssize_t)size || ftruncate(kept, (off_t)size))
        abort();
    if (size)
        memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    runs++;
}

/* ---- random changes ---- */

static uint32_t state;

static uint32_t draw(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(state ^ state >> 15) * below >> 32);
}

/* Changes one place of the input: a bit, a byte, a number, a piece that is cut, doubled, or taken
 * from `other`. */
static size_t change(uint8_t *data, size_t size, const uint8_t *other, size_t other_size)
{
    static const uint64_t numbers[] = {0,
                                       1,
                                       0x7f,
                                       0x80,
                                       0xff,
                                       0x7fff,
                                       0xffff,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       0x7fffffffffffffff,
                                       0xffffffffffffffff,
                                       0x7f800000,
                                       0x7fc00000,
                                       0x00000001,
                                       0x3f800000};
    const size_t at = size ? draw((uint32_t)size) : 0;
    const size_t left = size - at, piece = 1 + draw(16);

    switch (draw(8)) {
    case 0:
        if (left)
            data[at] ^= (uint8_t)(1u << draw(8));
        return size;
    case 1:
        if (left)
            data[at] = (uint8_t)draw(256);
        return size;
    case 2:
        if (left >= 4)
            memcpy(data + at, &numbers[draw(16)], draw(2) && left >= 8 ? 8 : 4);
        return size;
    case 3: /* cut the end */
        return at;
    case 4: /* cut a piece */
        if (left <= piece)
            return at;
        memmove(data + at, data + at + piece, left - piece);
        return size - piece;
    case 5: /* double a piece */
        if (left < piece || size + piece > LARGEST)
            return size;
        memmove(data + at + piece, data + at, left);
        return size + piece;
    case 6: /* printable text */
        if (left)
            data[at] = (uint8_t)(' ' + draw(95));
        return size;
    default: /* a piece of another input */
        if (other_size && left) {
            const size_t from = draw((uint32_t)other_size);
            const size_t most = other_size - from < left ? other_size - from : left;

            memcpy(data + at, other + from, 1 + draw((uint32_t)most));
        }
        return size;
    }
}

struct input {
    uint8_t *data;
    size_t size;
};

static void run_random(const struct input *inputs, uint32_t count, double seconds)
{
    static uint8_t data[LARGEST];
    const time_t end = time(NULL) + (time_t)seconds;

    for (uint32_t round = 0; time(NULL) < end; round++) {
        const struct input *from, *other;
        size_t size;

        state = round * 2654435761u + 1;
        from = &inputs[draw(count)];
        other = &inputs[draw(count)];
        size = from->size;
        memcpy(data, from->data, size);
        for (uint32_t changes = 1 + draw(6); changes; changes--)
            size = change(data, size, other->data, other->size);
        run(data, size);
    }
}

/* ---- files ---- */

static int read_input(struct input *out, const char *path)
{
    FILE *file = fopen(path, "rb");

    out->data = malloc(LARGEST);
    if (file && out->data)
        out->size = fread(out->data, 1, LARGEST, file);
    if (!file || !out->data || ferror(file)) {
        fprintf(stderr, "replay: %s cannot be read\n", path);
        return 1;
    }
    fclose(file);
    out->data = realloc(out->data, out->size + 1); /* the input may be empty */
    return 0;
}

int main(int argc, char **argv)
{
    const double seconds = argc > 2 && strcmp(argv[1], "--seconds") == 0 ? atof(argv[2]) : 0.0;
    const int first = 1 + (seconds > 0.0 ? 2 : 0);
    const int count = argc - first;
    struct input *inputs;
    int unread = 0;

    if (count < 1) {
        fprintf(stderr, "usage: replay [--seconds N] FILE...\n");
        return 2;
    }
    kept = open("crash", O_RDWR | O_CREAT | O_TRUNC, 0600);
    inputs = calloc((size_t)count, sizeof(*inputs));
    for (int i = 0; inputs && i < count; i++) {
        const struct input *input = &inputs[i];

        if (read_input(&inputs[i], argv[first + i])) {
            unread++;
            continue;
        }
        run(input->data, input->size);
    }
    if (inputs && seconds > 0.0 && !unread)
        run_random(inputs, (uint32_t)count, seconds);
    for (int i = 0; inputs && i < count; i++)
        free(inputs[i].data);
    free(inputs);
    remove("crash");
    printf("%d inputs, %lu runs\n", count - unread, runs);
    return unread != 0 || !inputs;
}
