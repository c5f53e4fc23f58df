#include <math.h>

#include "src/lib/sparse/select.h"
#include "src/lib/sparse/sparse.h"

/*
 * ---- bits per element as the papers count them ----
 *
 * They count values and positions, but no headers and scales.
 */

/* SBC and STC: mean bits of a position in Golomb's code for density p, b + 1 / (1 - (1 - p)^(2^b)),
 * with the best number b of remainder bits. */
static double golomb_bits(double p)
{
    const double golden = (sqrt(5.0) + 1.0) / 2.0;
    const double best = 1.0 + floor(log2(log(golden - 1.0) / log1p(-p)));
    const double b = best > 0.0 ? best : 0.0;

    return b + 1.0 / (1.0 - pow(1.0 - p, exp2(b)));
}

static double value_bits(const struct gcb_sparse *s)
{
    return gcb_values_bits(s->values_ops, &s->v);
}

static double sbc_nominal(const void *state)
{
    const struct gcb_sparse *s = state;
    const double p = 1.0 - s->theta;

    return p * (golomb_bits(p) + value_bits(s));
}

/* RedSync: 32 bits for each position, and those of each value: none if all values share a mean. A
 * tensor that is sent whole has no positions. */
static double redsync_nominal(const void *state)
{
    const struct gcb_sparse *s = state;

    if (gcb_redsync_path(&s->selection.p, s->t.env.count) == GCB_REDSYNC_ALL)
        return value_bits(s);
    return (1.0 - s->theta) * (32.0 + value_bits(s));
}

/* DGC: each position is the length of a run of zeros, in 16 bits. */
static double dgc_nominal(const void *state)
{
    const struct gcb_sparse *s = state;

    return (1.0 - s->theta) * (16.0 + value_bits(s));
}

/* DeMo and SparseLoCo: each position is an index within its chunk or tile, in as many bits as that
 * needs. With tile=kernel, whose size depends on the tensor, it is an index within the tensor. */
static double demo_nominal(const void *state)
{
    const struct gcb_sparse *s = state;
    const uint64_t asked = s->tile > GCB_TILE_KERNEL
                               ? (uint64_t)gcb_tile_rows(s->tile) * gcb_tile_cols(s->tile)
                               : s->chunk;
    const uint64_t chunk = asked && asked < s->t.env.count ? asked : s->t.env.count;

    return (1.0 - s->theta) * (ceil(log2((double)(chunk ? chunk : 1))) + value_bits(s));
}

/* DeepReduce: the values, and a Bloom filter. For the false positive rate f, the filter has
 * ceil(log2(1/f)) / ln 2 bits for each selected position. */
static double deepreduce_nominal(const void *state)
{
    const struct gcb_sparse *s = state;
    const double p = 1.0 - s->theta, fpr = s->bloom.fpr > 0.0 ? s->bloom.fpr : 0.1 * p;

    return p * (ceil(-log2(fpr)) / log(2.0) + value_bits(s));
}

#define MASK_GUARANTEE \
    "the update is the sum of the workers' elements that the mask keeps; a message alone is " \
    "topk's"

const struct gcb_preset gcb_sparse_presets[] = {
    {
        .name = "topk",
        .summary = "largest magnitudes as float32, with their positions",
        .source = "Aji and Heafield, EMNLP 2017; Lin et al., ICLR 2018 (selection made exact)",
        .defaults = "transform=none,select=topk,values=fp32,index=u32",
        .guarantee = "exact: the squared error is the dropped energy, at most (1 - k/n) ||x||^2 "
                     "for k of n kept",
    },
    {
        .name = "fft",
        .summary = "largest bins of the real FFT as range floats, with a bitmap",
        .source = "Wang et al., HPDC'20 (SuperNeurons), section 3",
        .defaults = "transform=fft,select=topk,values=range,bits=10,index=bitmap",
        .guarantee = "the squared error is the dropped energy of the spectrum (pad=smooth: at "
                     "most), and the range float's error on what is kept; input=fp16 also rounds "
                     "each element first, by at most 2^-11 of it or 2^-25",
    },
    {
        .name = "sbc",
        .summary = "largest values of one sign as their mean, Golomb-coded positions",
        .source = "Sattler et al., IJCNN 2019 (SBC), section 3",
        .defaults = "p=0.01,select=one-sided,values=mean,index=golomb",
        .memory = "memory=delay,delay=1",
        .guarantee = "exact: ||x - x'||^2 = ||x||^2 - k mu^2 with mu the mean of the k kept values",
        .nominal_bits = sbc_nominal,
    },
    {
        .name = "stc",
        .summary = "the largest magnitudes as sign times mean, Golomb-coded positions",
        .source = "Sattler et al., IEEE TNNLS 2019 (STC), algorithm 1",
        .defaults = "p=0.001,select=topk,values=sign-mean,index=golomb",
        .memory = "memory=ef",
        .guarantee = "exact: ||x - x'||^2 = ||x||^2 - k mu^2 with mu the mean of the k kept "
                     "magnitudes",
        .nominal_bits = sbc_nominal,
    },
    {
        .name = "redsync",
        .summary = "by tensor size: sends all, trims to top-k, or reuses a threshold",
        .source = "Fang et al., JPDC 2019 (RedSync), section 4",
        .defaults = "density=0.001,select=redsync,values=fp32,index=u32",
        .memory = "memory=dgc,momentum=0.9,residual=clear",
        .guarantee = "the squared error is the dropped energy; quant=asq: ||x - x'||^2 = ||x||^2 - "
                     "k mu^2 with mu the mean of the k kept values",
        .nominal_bits = redsync_nominal,
    },
    {
        .name = "dgc",
        .summary = "threshold from a sample; if too many pass, keeps the largest",
        .source = "Lin et al., ICLR 2018 (DGC), section 3",
        .defaults = "density=0.001,select=sampled,values=fp32,index=u32",
        .memory = "memory=dgc,momentum=0.9",
        .guarantee =
            "the squared error is the dropped energy; between 0.8 and 1.3 times the requested "
            "density is kept",
        .nominal_bits = dgc_nominal,
    },
    {
        .name = "demo",
        .summary = "largest DCT coefficients of each chunk",
        .source = "Peng, Quesnelle, Kingma 2024 (DeMo); one-dimensional chunks of 64 x 64",
        .defaults = "transform=dct,chunk=4096,select=chunk,density=0.0078125,values=fp32,index=u32",
        .memory = "memory=demo,momentum=0.999",
        .guarantee = "exact: the squared error is the dropped energy of the spectrum",
        .nominal_bits = demo_nominal,
    },
    {
        .name = "deepreduce",
        .summary = "top-k in a Bloom filter, and a curve through the sorted values",
        .source = "Xu et al., NeurIPS 2021 (DeepReduce), sections 4 and 5",
        .defaults = "density=0.01,index=bloom,positives=conflict,values=fit",
        .memory = "memory=ef",
        .guarantee = "contraction: ||x - x'||^2 <= ||x||^2",
        .nominal_bits = deepreduce_nominal,
        .cpu_only = true,
    },
    {
        .name = "sparseloco",
        .summary = "the largest of each chunk in four bins by deviation, positions in 12 bits",
        .source = "Sarfi et al., arXiv 2508.15706 (SparseLoCo), and the code that trains with it",
        .defaults = "chunk=4096,select=chunk,density=0.015625,values=bins,index=block",
        .memory = "memory=ef,decay=0.95",
        .guarantee = "each kept value becomes the mean of its bin, so the squared error is at most "
                     "||x||^2",
        .nominal_bits = demo_nominal,
        .cpu_only = true,
    },
    {
        .name = "pactrain",
        .summary = "elements that a worker votes for, added without positions for 100 steps",
        .source = "Wang et al., arXiv 2505.18563 (PacTrain), abstract; the vote is a choice",
        .defaults = "density=0.2,select=mask,agree=union,every=100",
        .collective = GCB_COLLECTIVE_ALLREDUCE,
        .guarantee = MASK_GUARANTEE,
        .cpu_only = true,
    },
    {
        .name = "scalecom",
        .summary = "the largest elements of a worker in turn, added without positions",
        .source = "Chen et al., NeurIPS 2020 (ScaleCom), CLT-k; its low-pass filter is left out",
        .defaults = "density=0.01,select=mask,agree=leader,every=1",
        .memory = "memory=ef",
        .collective = GCB_COLLECTIVE_ALLREDUCE,
        .guarantee = MASK_GUARANTEE,
        .cpu_only = true,
    },
    {
        .name = "scape",
        .summary = "elements with the largest moving averages, added without positions",
        .source = "SCAPE: a mask from the first moment; how workers agree is a choice",
        .defaults = "density=0.01,select=mask,agree=moment,every=10",
        .memory = "memory=ef",
        .collective = GCB_COLLECTIVE_ALLREDUCE,
        .guarantee = MASK_GUARANTEE,
        .cpu_only = true,
    },
    {
        .name = "arctopk",
        .summary = "rows of 64 with the largest sketches, added without positions",
        .source = "ARC-Top-k: a mask from a sketch; rows and sketch are choices",
        .defaults = "density=0.1,chunk=64,select=mask,agree=sketch,every=1",
        .memory = "memory=ef",
        .collective = GCB_COLLECTIVE_ALLREDUCE,
        .guarantee = MASK_GUARANTEE,
        .cpu_only = true,
    },
    {
        .name = "topk-range",
        .summary = "largest magnitudes as 5-bit range floats, adaptive positions",
        .source = "no paper: the best composition without tiles at an error of 0.4 on an AlexNet "
                  "(docs/claims.md)",
        .defaults = "density=0.05,values=range,bits=5,index=adaptive",
        .guarantee = "the squared error is the dropped energy, and the range float's error on what "
                     "is kept",
        .found = true,
    },
    {
        .name = "dct-range",
        .summary = "largest DCT coefficients of all chunks as 5-bit range floats",
        .source = "no paper: the best composition without tiles at an error of 0.4 on a ResNet "
                  "(docs/claims.md)",
        .defaults = "density=0.05,transform=dct,chunk=128,values=range,bits=5,index=adaptive",
        .guarantee = "the squared error is the dropped energy of the spectrum, and the range "
                     "float's error on what is kept",
        .found = true,
    },
    {.name = NULL},
};
