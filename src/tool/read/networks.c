#include "src/tool/read/synthetic.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"

/* A layout that is being filled. */
struct layout {
    struct gcb_shape_row *rows;
    size_t count;
};

__attribute__((format(printf, 3, 4))) static void add(struct layout *l, struct gcb_shape_row shape,
                                                      const char *name, ...)
{
    struct gcb_shape_row *row = &l->rows[l->count++];
    va_list args;

    *row = shape;
    va_start(args, name);
    vsnprintf(row->name, sizeof(row->name), name, args);
    va_end(args);
}

/* Adds a weight and a bias of n elements each. */
static void add_pair(struct layout *l, uint64_t n, const char *prefix, const char *name)
{
    const struct gcb_shape_row shape = {.rank = 1, .dims = {n}};

    add(l, shape, "%s%s.weight", prefix, name);
    add(l, shape, "%s%s.bias", prefix, name);
}

/* Adds a convolution with a filter of size x size pixels, and the batch normalisation after it. */
static void add_convolution(struct layout *l, uint64_t out, uint64_t in, uint64_t size,
                            const char *prefix, const char *name, const char *norm)
{
    add(l, (struct gcb_shape_row){.rank = 4, .dims = {out, in, size, size}}, "%s%s.weight", prefix,
        name);
    add_pair(l, out, prefix, norm);
}

static void add_resnet50(struct layout *l)
{
    static const unsigned blocks[] = {3, 4, 6, 3};
    uint64_t in = 64;

    add_convolution(l, 64, 3, 7, "", "conv1", "bn1");
    for (unsigned stage = 0; stage < 4; stage++) {
        const uint64_t width = UINT64_C(64) << stage, out = 4 * width;

        for (unsigned block = 0; block < blocks[stage]; block++, in = out) {
            char prefix[32];

            snprintf(prefix, sizeof(prefix), "layer%u.%u.", stage + 1, block);
            add_convolution(l, width, in, 1, prefix, "conv1", "bn1");
            add_convolution(l, width, width, 3, prefix, "conv2", "bn2");
            add_convolution(l, out, width, 1, prefix, "conv3", "bn3");
            if (block == 0)
                add_convolution(l, out, in, 1, prefix, "downsample.0", "downsample.1");
        }
    }
    add(l, (struct gcb_shape_row){.rank = 2, .dims = {1000, in}}, "fc.weight");
    add(l, (struct gcb_shape_row){.rank = 1, .dims = {1000}}, "fc.bias");
}

static void add_linear(struct layout *l, uint64_t in, uint64_t out, const char *prefix,
                       const char *name)
{
    add(l, (struct gcb_shape_row){.rank = 2, .dims = {in, out}}, "%s%s.weight", prefix, name);
    add(l, (struct gcb_shape_row){.rank = 1, .dims = {out}}, "%s%s.bias", prefix, name);
}

static void add_gpt2(struct layout *l)
{
    enum { WIDTH = 768, BLOCKS = 12, VOCABULARY = 50257, CONTEXT = 1024 };

    add(l, (struct gcb_shape_row){.rank = 2, .dims = {VOCABULARY, WIDTH}},
        "transformer.wte.weight");
    add(l, (struct gcb_shape_row){.rank = 2, .dims = {CONTEXT, WIDTH}}, "transformer.wpe.weight");
    for (unsigned block = 0; block < BLOCKS; block++) {
        char prefix[32];

        snprintf(prefix, sizeof(prefix), "transformer.h.%u.", block);
        add_pair(l, WIDTH, prefix, "ln_1");
        add_linear(l, WIDTH, 3 * WIDTH, prefix, "attn.c_attn");
        add_linear(l, WIDTH, WIDTH, prefix, "attn.c_proj");
        add_pair(l, WIDTH, prefix, "ln_2");
        add_linear(l, WIDTH, 4 * WIDTH, prefix, "mlp.c_fc");
        add_linear(l, 4 * WIDTH, WIDTH, prefix, "mlp.c_proj");
    }
    add_pair(l, WIDTH, "transformer.", "ln_f");
}

/* Torchvision's AlexNet and VGG-16: convolutions with biases, without normalisation, then three
 * linear layers. */
struct chain {
    uint64_t in, out, size; /* a convolution's channels and filter */
    const char *name;
};

static void add_chain(struct layout *l, const struct chain *convolutions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct chain *c = &convolutions[i];

        add(l, (struct gcb_shape_row){.rank = 4, .dims = {c->out, c->in, c->size, c->size}},
            "features.%s.weight", c->name);
        add(l, (struct gcb_shape_row){.rank = 1, .dims = {c->out}}, "features.%s.bias", c->name);
    }
}

/* The reverse of add_linear: dimensions (out, in), as in PyTorch's linear layers. */
static void add_dense(struct layout *l, uint64_t in, uint64_t out, const char *name)
{
    add(l, (struct gcb_shape_row){.rank = 2, .dims = {out, in}}, "%s.weight", name);
    add(l, (struct gcb_shape_row){.rank = 1, .dims = {out}}, "%s.bias", name);
}

static void add_alexnet(struct layout *l)
{
    static const struct chain convolutions[] = {
        {3, 64, 11, "0"},   {64, 192, 5, "3"},   {192, 384, 3, "6"},
        {384, 256, 3, "8"}, {256, 256, 3, "10"},
    };

    add_chain(l, convolutions, sizeof(convolutions) / sizeof(convolutions[0]));
    add_dense(l, 256 * 6 * 6, 4096, "classifier.1");
    add_dense(l, 4096, 4096, "classifier.4");
    add_dense(l, 4096, 1000, "classifier.6");
}

static void add_vgg16(struct layout *l)
{
    static const struct chain convolutions[] = {
        {3, 64, 3, "0"},     {64, 64, 3, "2"},    {64, 128, 3, "5"},   {128, 128, 3, "7"},
        {128, 256, 3, "10"}, {256, 256, 3, "12"}, {256, 256, 3, "14"}, {256, 512, 3, "17"},
        {512, 512, 3, "19"}, {512, 512, 3, "21"}, {512, 512, 3, "24"}, {512, 512, 3, "26"},
        {512, 512, 3, "28"},
    };

    add_chain(l, convolutions, sizeof(convolutions) / sizeof(convolutions[0]));
    add_dense(l, 512 * 7 * 7, 4096, "classifier.0");
    add_dense(l, 4096, 4096, "classifier.3");
    add_dense(l, 4096, 1000, "classifier.6");
}

/* The large language model of Zaremba et al. (2014) for the Penn Treebank, which RedSync trains: 2
 * layers of 1500. */
static void add_lstm(struct layout *l)
{
    enum { WIDTH = 1500, LAYERS = 2, VOCABULARY = 10000 };

    add(l, (struct gcb_shape_row){.rank = 2, .dims = {VOCABULARY, WIDTH}}, "encoder.weight");
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        const struct gcb_shape_row weight = {.rank = 2, .dims = {4 * WIDTH, WIDTH}};
        const struct gcb_shape_row bias = {.rank = 1, .dims = {4 * WIDTH}};

        add(l, weight, "rnn.weight_ih_l%u", layer);
        add(l, weight, "rnn.weight_hh_l%u", layer);
        add(l, bias, "rnn.bias_ih_l%u", layer);
        add(l, bias, "rnn.bias_hh_l%u", layer);
    }
    add_dense(l, WIDTH, VOCABULARY, "decoder");
}

const char *const gcb_network_names[] = {"resnet50", "gpt2", "alexnet", "vgg16", "lstm", NULL};
static void (*const networks[])(struct layout *) = {add_resnet50, add_gpt2, add_alexnet, add_vgg16,
                                                    add_lstm};

size_t gcb_network_layout(struct gcb_shape_row rows[GCB_LAYOUT_ROWS], const char *name)
{
    struct layout l = {.rows = rows};

    for (size_t i = 0; gcb_network_names[i]; i++)
        if (strcmp(name, gcb_network_names[i]) == 0)
            networks[i](&l);
    return l.count;
}

int gcb_network_unknown(const char *name, const char *others, struct gcb_diag *diag)
{
    char shown[64], names[80];
    size_t used = 0;

    for (const char *const *p = gcb_network_names; *p; p++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
                                 p == gcb_network_names ? ""
                                 : p[1]                 ? ", "
                                                        : " or ",
                                 *p);
    return gcb_diag_set(diag, GCB_E_INVALID, "unknown layout '%s'; give %s%s",
                        gcb_escape(shown, sizeof(shown), name), others, names);
}

uint64_t gcb_shape_elements(const struct gcb_shape_row *row)
{
    uint64_t n = 1;

    for (unsigned i = 0; i < row->rank; i++)
        n *= row->dims[i];
    return n;
}
