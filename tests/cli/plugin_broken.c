/*
 * A plug-in that breaks a rule, which its parameters name; "seed=N" chooses a random one. It sends float32 as it is
 * otherwise. Its functions are called with small tensors.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/gcbench-plugin.h"

static const char *const rules[] = {
    "crash", "hang",  "overrun", "far",  "before",  "long", "status", "exit", "peeks", "random",
    "lazy",  "stack", "prints",  "stop", "fragile", "port", "heap",   "loud", "none"};
enum { RULES = sizeof(rules) / sizeof(*rules), ENCODE, DECODE };

static const char *rule = "none";
static int where; /* ENCODE, DECODE; 0: both */
static unsigned calls, late;
static float *seen;

unsigned gcbench_plugin_version(void)
{
    return GCBENCH_PLUGIN_VERSION;
}

int gcbench_plugin_params(const char *text)
{
    unsigned state;

    rule = strdup(text);
    if (sscanf(text, "seed=%u", &state) != 1)
        return 0;
    srand(state);
    rule = rules[rand() % RULES];
    where = ENCODE + rand() % 2;
    late = (unsigned)rand() % 4; /* the first calls are right */
    return 0;
}

size_t gcbench_plugin_bound(uint64_t n)
{
    return 4 * n;
}

static int is(const char *name)
{
    return strcmp(rule, name) == 0;
}

static int overflow_stack(int depth)
{
    volatile char room[4096];

    room[0] = (char)depth;
    return depth < 0 ? 0 : overflow_stack(depth + 1) + room[0];
}

/* Breaks the rule in a buffer of n bytes. Returns the status of the function. */
static int go_wrong(int function, unsigned char *to, size_t n)
{
    if ((where && where != function) || calls++ < late)
        return 0;
    if (is("crash"))
        raise(SIGSEGV);
    while (is("hang"))
        pause();
    if (is("overrun"))
        to[n] ^= 1;
    for (size_t i = 0; is("far") && i < 1u << 20; i++)
        to[n + i] = 1;
    if (is("before"))
        to[-1] ^= 1;
    if (is("exit"))
        exit(3);
    if (is("stack"))
        overflow_stack(0);
    if (is("prints"))
        puts("not a frame"), fflush(stdout);
    if (is("stop"))
        raise(SIGSTOP);
    for (int fd = 3; is("port") && fd < 32; fd++)
        if (write(fd, "these bytes are no frame, and more than one answer", 50) < 0)
            continue;
    for (int i = 0; is("loud") && i < 1 << 12; i++)
        fprintf(stderr, "%01000d\n", i);
    if (is("heap")) {
        char *volatile p = malloc(16); /* the compiler must not see through it */

        memset(p - 16, 0x5a, 64);
        free(p);
    }
    return is("status") ? 7 : 0;
}

int gcbench_plugin_encode(const struct gcbench_at *at, const float *x, uint64_t n, void *message,
                          size_t *length)
{
    memcpy(message, x, 4 * n);
    *length = is("long") ? 4 * n + 1 : 4 * n;
    if (is("random"))
        *(unsigned char *)message ^= (unsigned char)getpid() ^ (unsigned char)calls++;
    if (is("peeks")) {
        seen = realloc(seen, 4 * n + 4);
        memcpy(seen, x, 4 * n);
        *length = n < 2 ? 4 * n : 8;
    }
    return go_wrong(ENCODE, message, 4 * n);
}

int gcbench_plugin_decode(const void *message, size_t length, float *x, uint64_t n)
{
    if (is("peeks")) {
        memset(x, 0, 4 * n);
        if (seen)
            memcpy(x, seen, 4 * n);
        return 0;
    }
    if (length != 4 * n)
        return 1;
    if (is("fragile") && (((const unsigned char *)message)[3] & 0x7f) > 0x3f)
        abort();
    if (!is("lazy"))
        memcpy(x, message, 4 * n);
    return go_wrong(DECODE, (unsigned char *)x, 4 * n);
}
