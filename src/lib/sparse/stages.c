#include "src/lib/sparse/stages.h"

/* The tables of the stages except values (values.c), and the names of their rows for the parameter
 * table. */

const struct gcb_transform *const gcb_transforms[] = {
    [GCB_TRANSFORM_NONE] = &gcb_transform_none,
    [GCB_TRANSFORM_FFT] = &gcb_transform_fft,
    [GCB_TRANSFORM_DCT] = &gcb_transform_dct,
    [GCB_TRANSFORM_HADAMARD] = &gcb_transform_hadamard,
    [GCB_TRANSFORM_MEAN] = &gcb_transform_tiles,
    [GCB_TRANSFORM_HAAR] = &gcb_transform_tiles,
    [GCB_TRANSFORM_RANDOM] = &gcb_transform_tiles,
};

const char *const gcb_transform_names[] = {"none", "fft",  "dct",    "hadamard",
                                           "mean", "haar", "random", NULL};

const struct gcb_selector *const gcb_selectors[] = {
    [GCB_SELECT_TOPK] = &gcb_selector_topk,
    [GCB_SELECT_CHUNK] = &gcb_selector_chunk,
    [GCB_SELECT_THRESHOLD] = &gcb_selector_threshold,
    [GCB_SELECT_ONE_SIDED] = &gcb_selector_one_sided,
    [GCB_SELECT_ALTERNATE] = &gcb_selector_alternate,
    [GCB_SELECT_TRIMMED] = &gcb_selector_trimmed,
    [GCB_SELECT_SEARCH] = &gcb_selector_search,
    [GCB_SELECT_REDSYNC] = &gcb_selector_redsync,
    [GCB_SELECT_SAMPLED] = &gcb_selector_sampled,
    [GCB_SELECT_SIDCO] = &gcb_selector_sidco,
    [GCB_SELECT_MASK] = &gcb_selector_topk, /* in an all-reduce: mask.c */
};

const char *const gcb_selector_names[] = {
    "topk",   "chunk",   "threshold", "one-sided", "alternate", "trimmed",
    "search", "redsync", "sampled",   "sidco",     "mask",      NULL,
};

const struct gcb_index *const gcb_indices[] = {
    [GCB_INDEX_U32] = &gcb_index_u32,           [GCB_INDEX_BITMAP] = &gcb_index_bitmap,
    [GCB_INDEX_VARINT] = &gcb_index_varint,     [GCB_INDEX_GOLOMB] = &gcb_index_golomb,
    [GCB_INDEX_ADAPTIVE] = &gcb_index_adaptive, [GCB_INDEX_ELIASFANO] = &gcb_index_eliasfano,
    [GCB_INDEX_BLOCK] = &gcb_index_block,       [GCB_INDEX_BLOOM] = &gcb_index_bloom,
};

const char *const gcb_index_names[] = {"u32",        "bitmap", "varint", "golomb", "adaptive",
                                       "elias-fano", "block",  "bloom",  NULL};
