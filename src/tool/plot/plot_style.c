#include "src/tool/plot/plot_style.h"

#include <stdint.h>
#include <string.h>

/* Six colours that people with any colour vision can tell apart (Okabe and Ito, 2008; without
 * yellow, which is too pale on white), and seven marks. Together they make 42 looks. */
#define COLOURS 6u
#define MARKS 7u
#define LAST_MARK (MARKS - 1) /* only the last COLOURS looks have this mark */
#define LOOKS (COLOURS * MARKS)
static const struct {
    const char *colour, *ink;
} colours[] = {
    {"#0072B2", "#005A8C"},
    {"#D55E00", "#B04E00"},
    {"#009E73", "#007A59"},
    {"#CC79A7", "#A0527D"},
    {"#E69F00", "#946600"},
    {"#56B4E9", "#21719F"},
    /* not part of any look: used if the colour of a method is taken */
    {"#882255", "#882255"},
    {"#999933", "#6F6F1E"},
    {"#332288", "#332288"},
    {"#661100", "#661100"},
    {"#AA4499", "#8E3880"},
    {"#117733", "#117733"},
};
static const struct {
    unsigned filled, open;
} marks[MARKS] = {{7, 6}, {5, 4}, {9, 8}, {13, 12}, {11, 10}, {15, 14}, {3, 2}};

/* Methods with looks of their own, in the order of looks. A new method goes to the end, so that the
 * methods before it keep their looks. */
static const char *const methods[] = {
    "topk",       "fft",         "qsgd",     "dgc",        "terngrad",     "range",    "sbc",
    "stc",        "demo",        "redsync",  "randomk",    "qgz",          "powersgd", "signsgd",
    "sparse",     "countsketch", "natural",  "topk-range", "dct-range",    "float",    "affine",
    "fp8",        "mxfp8",       "mxfp4",    "nvfp4",      "int8",         "int4",     "cgx",
    "codebook",   "blockwise8",  "uniform8", "onebit",     "bf16-entropy", "eden",     "drive",
    "deepreduce", "sparseloco",  "pactrain", "scalecom",   "scape",        "arctopk",
};
#define METHODS ((unsigned)(sizeof(methods) / sizeof(methods[0])))
_Static_assert(METHODS <= LOOKS, "add a colour or a mark");

/* Returns the number of a method's look. A method that is not in the list has the look of the hash
 * FNV-1a of its name, perhaps that of a method in the list. */
static unsigned look_of(const char *method)
{
    uint32_t hash = 2166136261u;
    unsigned i = 0;

    while (i < METHODS && strcmp(method, methods[i]) != 0)
        i++;
    if (i < METHODS)
        return i;
    for (; *method; method++)
        hash = (hash ^ (unsigned char)*method) * 16777619u;
    return hash % LOOKS;
}

/* Returns the style of a look. Successive looks differ in both colour and mark, except the last
 * COLOURS looks, which share a mark. */
static struct gcb_plot_style style_of_look(unsigned look, unsigned variant)
{
    const unsigned colour = look % COLOURS, row = look / COLOURS;
    const unsigned mark = row < LAST_MARK ? (look + row) % LAST_MARK : LAST_MARK;

    return (struct gcb_plot_style){
        .colour = colours[colour].colour,
        .ink = colours[colour].ink,
        .point = variant ? marks[mark].open : marks[mark].filled,
        .dash = variant ? 2 + (variant - 1) % 4 : 1,
    };
}

unsigned gcb_plot_baseline(const char *method)
{
    static const char *const names[] = {"fp16", "bf16", "identity", "memcpy"};

    if (strcmp(method, "fp32") == 0)
        method = "identity";
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(method, names[i]) == 0)
            return i + 1;
    return 0;
}

struct gcb_plot_style gcb_plot_style_of(const char *method, unsigned variant)
{
    static const char *const greys[] = {"#a0a0a0", "#4d4d4d", "#7a7a7a", "#000000"};
    /* gnuplot's marks 1 to 4 are a plus, a cross, a star and a square */
    const unsigned baseline = gcb_plot_baseline(method);

    if (baseline)
        return (struct gcb_plot_style){greys[baseline % 4], greys[baseline % 4],
                                       variant ? marks[(variant - 1) % MARKS].open : baseline,
                                       2 + (baseline + variant - 1) % 4};
    return style_of_look(look_of(method), variant);
}

struct gcb_plot_style gcb_plot_style_at(unsigned i)
{
    return style_of_look(i % LOOKS, i / LOOKS);
}

bool gcb_plot_style_recolour(struct gcb_plot_style *style, unsigned i)
{
    const unsigned count = sizeof(colours) / sizeof(colours[0]), at = (COLOURS + i) % count;

    style->colour = colours[at].colour;
    style->ink = colours[at].ink;
    return i < count;
}
