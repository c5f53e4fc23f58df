#include "src/sparse/presets.h"

const struct gcb_preset gcb_sparse_presets[] = {
    {
        .name = "topk",
        .summary = "largest magnitudes as float32, with their positions",
        .source = "Aji and Heafield, EMNLP 2017; Lin et al., ICLR 2018 (selection made exact)",
        .defaults = "transform=none,select=topk,values=fp32,index=u32",
        .bound = "exact: the error is the dropped energy, at most (1 - k/n) ||x||^2",
    },
    {
        .name = "fft",
        .summary = "largest bins of the real FFT as range floats, with a bitmap",
        .source = "Wang et al., HPDC'20 (SuperNeurons), section 3",
        .defaults = "transform=fft,select=topk,values=range,bits=10,index=bitmap",
        .bound = "the dropped energy of the spectrum, and the range float's error on what is kept",
    },
    {.name = NULL},
};
