/* Compresses an array through the library: cc example.c $(pkg-config --cflags --libs gcbench)
 * -lm */
#include <gcbench.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N 100000

static float x[N], y[N];

static int fail(const char *why)
{
    fprintf(stderr, "%s\n", why);
    return 1;
}

int main(int argc, char **argv)
{
    const char *method = argc > 1 ? argv[1] : "fft:theta=0.9";
    struct gcb_encoder *encoder;
    struct gcb_decoder *decoder;
    struct gcb_diag why;
    void *message;
    size_t length;
    double lost = 0, whole = 0;

    for (int i = 0; i < N; i++)
        x[i] = (float)(sin(i * 1e-3) * exp(-i * 1e-4));

    if (gcb_encoder_open(&encoder, method, N, NULL, &why))
        return fail(why.text);
    message = malloc(gcb_encoder_bound(encoder));
    if (!message)
        return fail("no memory for the message");
    if (gcb_encode(encoder, 0, 0, x, message, gcb_encoder_bound(encoder), &length, &why))
        return fail(why.text); /* this was step 0, worker 0 */

    if (gcb_decoder_open(&decoder, method, N, NULL, &why) ||
        gcb_decode(decoder, message, length, y, &why))
        return fail(why.text);

    for (int i = 0; i < N; i++) {
        lost += pow((double)x[i] - y[i], 2);
        whole += pow(x[i], 2);
    }
    printf("ratio %.2f, relative L2 error %.6f\n", (double)sizeof(x) / (double)length,
           sqrt(lost / whole));
    free(message);
    gcb_decoder_close(decoder);
    gcb_encoder_close(encoder);
    return 0;
}
