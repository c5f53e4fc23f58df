/* Four workers exchange gradients for ten steps, by any collective: cc exchange_rounds.c
 * $(pkg-config --cflags --libs gcbench)
 *     exchange_rounds METHOD N <gradients >updates
 * Reads 10 x 4 x N floats (step, worker, element) and writes 10 x N: the average that each worker
 * applies to its weights. All workers are in this process. Where each is a process of its own,
 * move_bytes becomes calls of MPI (docs/exchange.md). */
#include <gcbench.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 10
#define WORKERS 4

static int fail(const char *why)
{
    fprintf(stderr, "%s\n", why);
    return 1;
}

/* Gives each worker what the others send in a round. `copy` is there because a worker's own bytes
 * end when it receives. */
static int move_bytes(struct gcb_exchange **e, const struct gcb_round *sent, struct gcb_diag *why)
{
    const int reduce = sent->kind == GCB_ROUND_REDUCE, scatter = sent->kind == GCB_ROUND_SCATTER;
    const int shift = sent->kind == GCB_ROUND_SHIFT;
    char *copy[WORKERS], *data;
    int err = 0;

    for (int from = 0; from < WORKERS; from++) {
        copy[from] = malloc(sent[from].bytes + 1);
        memcpy(copy[from], sent[from].bytes ? sent[from].data : "", sent[from].bytes);
        if (reduce && from)
            gcb_reduction_combine(sent->reduction, copy[0], copy[from], sent->bytes);
    }
    for (uint32_t to = 0; to < WORKERS && shift && !err; to++) {
        const uint32_t from = sent[to].from;

        err = gcb_exchange_receive(e[to], from, copy[from], from == to ? 0 : sent[from].bytes, why);
    }
    for (uint32_t from = 0; from < (shift ? 0 : reduce ? 1 : WORKERS); from++) {
        data = copy[from];
        for (int to = 0; to < WORKERS && !err; to++) {
            const size_t length = scatter ? sent[from].parts[to] : sent[from].bytes;

            err = gcb_exchange_receive(e[to], from, data, length, why);
            data += scatter ? length : 0;
        }
    }
    for (int from = 0; from < WORKERS; from++)
        free(copy[from]);
    return err;
}

int main(int argc, char **argv)
{
    const char *method = argc > 2 ? argv[1] : "qsgd:collective=twoshot";
    const size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
    float *x = malloc(WORKERS * n * sizeof(float)), *update = malloc(n * sizeof(float));
    struct gcb_exchange *e[WORKERS];
    struct gcb_round round[WORKERS];
    struct gcb_diag why;

    for (uint32_t w = 0; w < WORKERS; w++) {
        const struct gcb_options o = {
            .size = sizeof(o), .path = "flat", .workers = WORKERS, .worker = w};

        if (gcb_exchange_open(&e[w], method, n, &o, &why))
            return fail(why.text);
    }
    for (uint64_t step = 0; step < STEPS; step++) {
        int more = 1;

        if (fread(x, sizeof(float), WORKERS * n, stdin) != WORKERS * n)
            return fail("too few gradients");
        for (int w = 0; w < WORKERS; w++)
            if (gcb_exchange_begin(e[w], step, x + (size_t)w * n, &why))
                return fail(why.text);
        while (more) {
            for (int w = 0; w < WORKERS; w++) {
                round[w].size = sizeof(round[w]);
                more = gcb_exchange_next(e[w], &round[w], &why); /* the same for all workers */
                if (more < 0)
                    return fail(why.text);
            }
            if (more && move_bytes(e, round, &why))
                return fail(why.text);
        }
        for (int w = 0; w < WORKERS; w++) /* all updates are the same */
            if (gcb_exchange_finish(e[w], update, &why))
                return fail(why.text);
        fwrite(update, sizeof(float), n, stdout);
    }
    for (int w = 0; w < WORKERS; w++)
        gcb_exchange_close(e[w]);
    free(x);
    free(update);
    return fflush(stdout) ? fail("cannot write") : 0;
}
