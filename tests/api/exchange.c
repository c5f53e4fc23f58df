/* Four workers exchange gradients for ten steps: cc exchange.c $(pkg-config --cflags --libs
 * gcbench)
 *     exchange METHOD N <gradients >updates
 * Reads 10 x 4 x N floats (step, worker, element) and writes 10 x N: the average that each worker
 * applies to its weights. */
#include <gcbench.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS 10
#define WORKERS 4

static int fail(const char *why)
{
    fprintf(stderr, "%s\n", why);
    return 1;
}

int main(int argc, char **argv)
{
    const char *method = argc > 2 ? argv[1] : "topk:theta=0.99,memory=ef";
    const size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
    const struct gcb_options options = {.size = sizeof(options), .path = "flat"};
    float *x = malloc(n * sizeof(float)), *update = malloc(n * sizeof(float));
    struct gcb_encoder *encoder[WORKERS]; /* each keeps what its worker has not sent yet */
    struct gcb_sum *sum;                  /* every worker has one; here they share it */
    struct gcb_diag why;
    size_t length, bound = 0;
    void *message;

    for (int w = 0; w < WORKERS; w++)
        if (gcb_encoder_open(&encoder[w], method, n, &options, &why))
            return fail(why.text);
    if (gcb_sum_open(&sum, method, n, update, &options, &why))
        return fail(why.text);
    bound = gcb_encoder_bound(encoder[0]);
    message = malloc(bound);
    if (!x || !update || !message)
        return fail("out of memory");

    for (int step = 0; step < STEPS; step++) {
        for (int w = 0; w < WORKERS; w++) {
            if (fread(x, sizeof(float), n, stdin) != n)
                return fail("too few gradients");
            if (gcb_encode(encoder[w], (uint64_t)step, (uint32_t)w, x, message, bound, &length,
                           &why) ||
                (length && gcb_sum_add(sum, message, length, 1.0f / WORKERS, &why)))
                return fail(why.text); /* length is 0 in a step that sends nothing */
        }
        if (gcb_sum_finish(sum, update, &why))
            return fail(why.text);
        fwrite(update, sizeof(float), n, stdout);
    }

    for (int w = 0; w < WORKERS; w++)
        gcb_encoder_close(encoder[w]);
    gcb_sum_close(sum);
    free(message);
    free(update);
    free(x);
    return fflush(stdout) ? fail("cannot write") : 0;
}
