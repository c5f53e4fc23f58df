#include "src/tool/page/page_parts.h"

/* The tables of the page. docs/rows.md explains the fields. */

/* clang-format off */
static const struct page_column verdict_columns[] = {
    {.title = "case", .field = GCB_FIELD_LABEL, .kind = PAGE_CODE},
    {.title = "quantity", .field = GCB_FIELD_QUANTITY},
    {.title = "verdict", .field = GCB_FIELD_VERDICT, .kind = PAGE_WORD},
    {.title = "base", .field = GCB_FIELD_BASE, .kind = PAGE_UNIT},
    {.title = "new", .field = GCB_FIELD_NEW, .kind = PAGE_UNIT},
    {.title = "new / base", .field = GCB_FIELD_RATIO, .kind = PAGE_NUMBER, .low = GCB_FIELD_LOW,
     .high = GCB_FIELD_HIGH, .help = "with its interval if runs were paired"},
    {.title = "delta", .field = GCB_FIELD_DELTA, .kind = PAGE_PERCENT,
     .help = "a smaller change counts as no change"},
    {.title = "reason", .field = GCB_FIELD_REASON, .kind = PAGE_PROSE},
    {.title = "next step", .field = GCB_FIELD_NEXT, .kind = PAGE_PROSE},
    {.title = NULL},
};

static const struct page_column promise_columns[] = {
    {.title = "method", .field = GCB_FIELD_PAGE_LABEL, .kind = PAGE_CODE},
    {.title = "promise", .field = GCB_FIELD_PROMISE},
    {.title = "outcome", .field = GCB_FIELD_STATUS, .kind = PAGE_WORD},
    {.title = "tensor", .field = GCB_FIELD_TENSOR, .kind = PAGE_CODE},
    {.title = "value", .field = GCB_FIELD_VALUE, .kind = PAGE_NUMBER},
    {.title = "at most", .field = GCB_FIELD_LIMIT, .kind = PAGE_NUMBER},
    {.title = "claim", .field = GCB_FIELD_CLAIM, .kind = PAGE_PROSE},
    {.title = "reason", .field = GCB_FIELD_REASON, .kind = PAGE_PROSE},
    {.title = NULL},
};

static const struct page_column link_columns[] = {
    {.title = "method", .field = GCB_FIELD_LABEL, .kind = PAGE_CODE},
    {.title = "collective", .field = GCB_FIELD_COLLECTIVE},
    {.title = "workers", .field = GCB_FIELD_WORKERS, .kind = PAGE_WHOLE},
    {.title = "rel L2", .field = GCB_FIELD_REL_L2, .kind = PAGE_NUMBER},
    {.title = "pays below", .field = GCB_FIELD_PAYS_BELOW_GBIT, .kind = PAGE_BELOW,
     .help = "largest bandwidth, in Gb/s, at which it is faster than float32; any: at every "
             "bandwidth; no: not even on slow links"},
    {.title = "beats fp16 below", .field = GCB_FIELD_PAYS_BELOW_FP16_GBIT, .kind = PAGE_BELOW,
     .help = "the same compared with half precision"},
    {.title = "links", .field = GCB_FIELD_PAGE_LINKS, .kind = PAGE_WHOLE},
    {.title = "pays at", .field = GCB_FIELD_PAGE_LINKS_PAID, .kind = PAGE_WHOLE,
     .help = "how many of the links it pays at"},
    {.title = "over fp32", .field = GCB_FIELD_PAGE_BEST, .kind = PAGE_NUMBER,
     .help = "largest speed-up over float32"},
    {.title = NULL},
};

static const struct page_column payoff_columns[] = {
    {.title = "method", .field = GCB_FIELD_LABEL, .kind = PAGE_CODE},
    {.title = "collective", .field = GCB_FIELD_COLLECTIVE},
    {.title = "workers", .field = GCB_FIELD_WORKERS, .kind = PAGE_WHOLE},
    {.title = "link Gb/s", .field = GCB_FIELD_BANDWIDTH_GBIT, .kind = PAGE_NUMBER},
    {.title = "rel L2", .field = GCB_FIELD_REL_L2, .kind = PAGE_NUMBER},
    {.title = "exchange", .field = GCB_FIELD_SECONDS, .kind = PAGE_SECONDS},
    {.title = "step", .field = GCB_FIELD_STEP_SECONDS, .kind = PAGE_SECONDS},
    {.title = "over fp32", .field = GCB_FIELD_SPEEDUP_FP32, .kind = PAGE_NUMBER,
     .help = "speed-up over sending float32; below 1 it does not pay"},
    {.title = "over fp16", .field = GCB_FIELD_SPEEDUP_FP16, .kind = PAGE_NUMBER,
     .help = "speed-up over sending half precision, which costs almost nothing"},
    {.title = "pays", .field = GCB_FIELD_PAYS, .kind = PAGE_YES},
    {.title = "verdict", .field = GCB_FIELD_VERDICT, .kind = PAGE_PROSE},
    {.title = NULL},
};

static const struct page_column paper_columns[] = {
    {.title = "model", .field = GCB_FIELD_MODEL},
    {.title = "method", .field = GCB_FIELD_PAGE_LABEL, .kind = PAGE_CODE},
    {.title = "link Gb/s", .field = GCB_FIELD_BANDWIDTH_GBIT, .kind = PAGE_NUMBER},
    {.title = "workers", .field = GCB_FIELD_WORKERS, .kind = PAGE_WHOLE},
    {.title = "density", .field = GCB_FIELD_DENSITY, .kind = PAGE_NUMBER},
    {.title = "needed ratio", .field = GCB_FIELD_LEAST_RATIO, .kind = PAGE_NUMBER,
     .help = "the FFT paper's k_min: the ratio that a method needs to pay at this bandwidth"},
    {.title = "its ratio", .field = GCB_FIELD_RATIO_VS_FP32, .kind = PAGE_NUMBER},
    {.title = "pays", .field = GCB_FIELD_PAYS, .kind = PAGE_YES},
    {.title = "bandwidth ratio", .field = GCB_FIELD_BANDWIDTH_RATIO, .kind = PAGE_NUMBER,
     .help = "RedSync's bandwidth term for sparse messages over that for dense ones"},
    {.title = "sparse", .field = GCB_FIELD_SPARSE_SECONDS, .kind = PAGE_SECONDS},
    {.title = "dense", .field = GCB_FIELD_DENSE_SECONDS, .kind = PAGE_SECONDS},
    {.title = "over fp32", .field = GCB_FIELD_SPEEDUP_FP32, .kind = PAGE_NUMBER},
    {.title = NULL},
};

static const struct page_column summary_columns[] = {
    {.title = "method", .field = GCB_FIELD_PAGE_LABEL, .kind = PAGE_CODE},
    {.title = "ratio", .field = GCB_FIELD_RATIO, .kind = PAGE_NUMBER,
     .help = "input bytes over the bytes of messages that were decoded, headers included"},
    {.title = "bits/el", .field = GCB_FIELD_BITS_PER_ELEMENT, .kind = PAGE_NUMBER},
    {.title = "rel L2", .field = GCB_FIELD_REL_L2, .kind = PAGE_NUMBER,
     .help = "norm of the error over norm of the input: 0 is exact, 1 is as wrong as sending "
             "nothing"},
    {.title = "cosine", .field = GCB_FIELD_COSINE, .kind = PAGE_COSINE,
     .help = "of the input and the decoded tensor"},
    {.title = "enc GB/s", .field = GCB_FIELD_ENCODE_GBPS, .kind = PAGE_NUMBER,
     .low = GCB_FIELD_ENCODE_SECONDS_LOW, .high = GCB_FIELD_ENCODE_SECONDS_HIGH,
     .seconds = GCB_FIELD_ENCODE_SECONDS,
     .help = "input bytes per second / 1e9 at the median time, with its 95 % interval"},
    {.title = "dec GB/s", .field = GCB_FIELD_DECODE_GBPS, .kind = PAGE_NUMBER,
     .low = GCB_FIELD_DECODE_SECONDS_LOW, .high = GCB_FIELD_DECODE_SECONDS_HIGH,
     .seconds = GCB_FIELD_DECODE_SECONDS},
    {.title = "Pareto", .field = GCB_FIELD_PARETO, .kind = PAGE_YES,
     .help = "unbeaten: no other row is better in everything"},
    {.title = "target", .field = GCB_FIELD_MATCH_FIELD},
    {.title = "at", .field = GCB_FIELD_MATCH_TARGET, .kind = PAGE_NUMBER},
    {.title = "reached", .field = GCB_FIELD_MATCH_REACHED, .kind = PAGE_YES},
    {.title = "remark", .field = GCB_FIELD_MATCH_NOTE, .kind = PAGE_PROSE},
    {.title = "reason", .field = GCB_FIELD_REASON, .kind = PAGE_PROSE},
    {.title = NULL},
};

static const struct page_column timing_columns[] = {
    {.title = "method", .field = GCB_FIELD_PAGE_LABEL, .kind = PAGE_CODE},
    {.title = "encode", .field = GCB_FIELD_ENCODE_SECONDS, .kind = PAGE_SECONDS,
     .low = GCB_FIELD_ENCODE_SECONDS_LOW, .high = GCB_FIELD_ENCODE_SECONDS_HIGH,
     .help = "median time, with its 95 % interval"},
    {.title = "fastest", .field = GCB_FIELD_ENCODE_SECONDS_MIN, .kind = PAGE_SECONDS},
    {.title = "of reading", .field = GCB_FIELD_ENCODE_BANDWIDTH_SHARE, .kind = PAGE_PERCENT,
     .help = "encoding speed over the bandwidth of reading memory, measured in the same run; more "
             "than 100 % if the input stays in the caches"},
    {.title = "decode", .field = GCB_FIELD_DECODE_SECONDS, .kind = PAGE_SECONDS,
     .low = GCB_FIELD_DECODE_SECONDS_LOW, .high = GCB_FIELD_DECODE_SECONDS_HIGH},
    {.title = "fastest", .field = GCB_FIELD_DECODE_SECONDS_MIN, .kind = PAGE_SECONDS},
    {.title = "of filling", .field = GCB_FIELD_DECODE_BANDWIDTH_SHARE, .kind = PAGE_PERCENT,
     .help = "the same for decoding, over the bandwidth of filling memory"},
    {.title = "stopped by", .field = GCB_FIELD_STOP_REASON,
     .help = "why measuring stopped: precise enough, or a limit"},
    {.title = NULL},
};

static const struct page_column stage_columns[] = {
    {.title = "method", .field = GCB_FIELD_PAGE_LABEL, .kind = PAGE_CODE},
    {.title = "encode", .field = GCB_FIELD_ENCODE_SECONDS, .kind = PAGE_SECONDS},
    {.title = "transform", .field = GCB_FIELD_TRANSFORM_SECONDS, .kind = PAGE_SECONDS},
    {.title = "select", .field = GCB_FIELD_SELECT_SECONDS, .kind = PAGE_SECONDS},
    {.title = "quantise", .field = GCB_FIELD_QUANTISE_SECONDS, .kind = PAGE_SECONDS},
    {.title = "index", .field = GCB_FIELD_INDEX_SECONDS, .kind = PAGE_SECONDS},
    {.title = "kernel", .field = GCB_FIELD_ENCODE_KERNEL_SECONDS, .kind = PAGE_SECONDS},
    {.title = "transfer", .field = GCB_FIELD_ENCODE_TRANSFER_SECONDS, .kind = PAGE_SECONDS},
    {.title = NULL},
};

static const struct page_column byte_columns[] = {
    {.title = "method", .field = GCB_FIELD_PAGE_LABEL, .kind = PAGE_CODE},
    {.title = "messages", .field = GCB_FIELD_MESSAGES, .kind = PAGE_WHOLE},
    {.title = "input", .field = GCB_FIELD_INPUT_BYTES, .kind = PAGE_SIZE},
    {.title = "sent", .field = GCB_FIELD_WIRE_BYTES, .kind = PAGE_SIZE},
    {.title = "headers", .field = GCB_FIELD_HEADER_BYTES, .kind = PAGE_SIZE},
    {.title = "scales", .field = GCB_FIELD_SCALE_BYTES, .kind = PAGE_SIZE},
    {.title = "values", .field = GCB_FIELD_VALUE_BYTES, .kind = PAGE_SIZE},
    {.title = "indices", .field = GCB_FIELD_INDEX_BYTES, .kind = PAGE_SIZE},
    {.title = "raw", .field = GCB_FIELD_STORED, .kind = PAGE_WHOLE,
     .help = "messages sent uncompressed, because the method would have made them longer"},
    {.title = "density asked", .field = GCB_FIELD_DENSITY_ASKED, .kind = PAGE_NUMBER},
    {.title = "density", .field = GCB_FIELD_DENSITY, .kind = PAGE_NUMBER,
     .help = "share of elements sent"},
    {.title = "nominal bits/el", .field = GCB_FIELD_NOMINAL_BITS_PER_ELEMENT, .kind = PAGE_NUMBER,
     .help = "size as the method's paper counts it"},
    {.title = "entropy bits/el", .field = GCB_FIELD_ENTROPY0_BITS_PER_ELEMENT, .kind = PAGE_NUMBER,
     .help = "order-0 entropy of the symbols that were sent"},
    {.title = NULL},
};

static const struct page_column kernel_columns[] = {
    {.title = "kernel", .field = GCB_FIELD_KERNEL, .kind = PAGE_CODE},
    {.title = "family", .field = GCB_FIELD_FAMILY},
    {.title = "isa", .field = GCB_FIELD_ISA},
    {.title = "cache", .field = GCB_FIELD_CACHE},
    {.title = "elements", .field = GCB_FIELD_ELEMENTS, .kind = PAGE_WHOLE},
    {.title = "status", .field = GCB_FIELD_STATUS, .kind = PAGE_WORD},
    {.title = "time", .field = GCB_FIELD_SECONDS, .kind = PAGE_SECONDS,
     .low = GCB_FIELD_SECONDS_LOW, .high = GCB_FIELD_SECONDS_HIGH,
     .help = "median time of a call, with its 95 % interval"},
    {.title = "GB/s", .field = GCB_FIELD_GBPS, .kind = PAGE_NUMBER},
    {.title = "of bandwidth", .field = GCB_FIELD_BANDWIDTH_SHARE, .kind = PAGE_PERCENT},
    {.title = "times C", .field = GCB_FIELD_SPEEDUP, .kind = PAGE_NUMBER,
     .help = "speed over the speed of the C version"},
    {.title = NULL},
};

static const struct page_column replay_columns[] = {
    {.title = "method", .field = GCB_FIELD_PAGE_LABEL, .kind = PAGE_CODE},
    {.title = "steps", .field = GCB_FIELD_STEPS, .kind = PAGE_WHOLE},
    {.title = "ratio", .field = GCB_FIELD_RATIO, .kind = PAGE_NUMBER,
     .help = "bytes of gradients over bytes of messages, over all steps and workers"},
    {.title = "sent", .field = GCB_FIELD_WIRE_BYTES, .kind = PAGE_SIZE},
    {.title = "density", .field = GCB_FIELD_DENSITY, .kind = PAGE_NUMBER},
    {.title = "union", .field = GCB_FIELD_UNION_DENSITY, .kind = PAGE_NUMBER,
     .help = "share of elements that at least one worker sent"},
    {.title = "alpha", .field = GCB_FIELD_ALPHA, .kind = PAGE_NUMBER,
     .help = "relative error of the averaged update"},
    {.title = "cosine", .field = GCB_FIELD_COSINE, .kind = PAGE_COSINE},
    {.title = "cum error", .field = GCB_FIELD_CUMULATIVE_ERROR, .kind = PAGE_NUMBER,
     .help = "error of the sum of all updates"},
    {.title = "residual", .field = GCB_FIELD_RESIDUAL_NORM, .kind = PAGE_NUMBER,
     .help = "norm of what is still unsent at the end"},
    {.title = "stale p50", .field = GCB_FIELD_STALENESS_P50, .kind = PAGE_WHOLE,
     .help = "steps since an element was last sent: median and 99th percentile"},
    {.title = "p99", .field = GCB_FIELD_STALENESS_P99, .kind = PAGE_WHOLE},
    {.title = "of bound", .field = GCB_FIELD_BOUND_RATIO, .kind = PAGE_NUMBER},
    {.title = "bound holds", .field = GCB_FIELD_BOUND_HOLDS, .kind = PAGE_YES},
    {.title = NULL},
};

static const struct page_column setting_columns[] = {
    {.title = "method", .field = GCB_FIELD_PAGE_LABEL, .kind = PAGE_CODE},
    {.title = "as given to --method", .field = GCB_FIELD_SPEC, .kind = PAGE_CODE},
    {.title = NULL},
};
/* clang-format on */

const struct page_table page_tables[] = {
    {
        .id = "verdicts",
        .title = "Against the base",
        .intro = "Failures come first, then changes, then what did not change.",
        .record = PAGE_VERDICT,
        .columns = verdict_columns,
    },
    {
        .id = "promises",
        .title = "What methods promise",
        .intro = "Checked on these gradients. Broken promises come first, then those that these "
                 "gradients cannot test.",
        .record = PAGE_PROMISE,
        .columns = promise_columns,
    },
    {
        .id = "links",
        .title = "Up to which bandwidth it pays",
        .intro = "Each method over all links that were asked for. Doubtful methods are left out.",
        .needs = GCB_FIELD_PAGE_MANY_LINKS,
        .where = true,
        .record = PAGE_LINKS,
        .columns = link_columns,
    },
    {
        .id = "payoff",
        .title = "Will it pay?",
        .intro =
            "The time of one exchange: measured encoding and decoding, and a model of the link.",
        .folds = "each method at each link",
        .record = PAGE_PAYOFF,
        .columns = payoff_columns,
    },
    {
        .id = "papers",
        .title = "Will it pay, by the papers' own models",
        .folds = "each method at each link",
        .record = PAGE_PAPER,
        .columns = paper_columns,
    },
    {
        .id = "methods",
        .title = "Methods",
        .intro = "Each message was decoded from its own bytes; errors compare the result with the "
                 "input.",
        .where = true,
        .record = PAGE_SUMMARY,
        .plots_follow = true,
        .columns = summary_columns,
    },
    {
        .id = "times",
        .title = "Times",
        .needs = GCB_FIELD_ENCODE_SECONDS,
        .where = true,
        .record = PAGE_SUMMARY,
        .columns = timing_columns,
    },
    {
        .id = "stages",
        .title = "Where encoding spends its time",
        .needs = GCB_FIELD_SELECT_SECONDS,
        .where = true,
        .record = PAGE_SUMMARY,
        .columns = stage_columns,
    },
    {
        .id = "bytes",
        .title = "What the bytes are",
        .needs = GCB_FIELD_WIRE_BYTES,
        .where = true,
        .record = PAGE_SUMMARY,
        .columns = byte_columns,
    },
    {
        .id = "replay",
        .title = "From step to step",
        .intro = "Steps are replayed in order; each worker remembers what it did not send.",
        .where = true,
        .record = PAGE_REPLAY,
        .columns = replay_columns,
    },
    {
        .id = "kernels",
        .title = "Kernels",
        .record = PAGE_KERNEL,
        .columns = kernel_columns,
    },
    {
        .id = "settings",
        .title = "Every setting",
        .needs = GCB_FIELD_SPEC,
        .record = PAGE_SUMMARY,
        .columns = setting_columns,
    },
    {.title = NULL},
};
