#ifndef SRC_TOOL_TRIAL_STAGES_H
#define SRC_TOOL_TRIAL_STAGES_H

#include "src/lib/codec/probe.h"
#include "src/tool/measure/measure.h"

/*
 * Measures how long each stage of encoding or decoding takes, in separate runs, so that the timed runs are not
 * interrupted to read the clock (docs/method.md). The time of the first stage includes writing the message's header;
 * the work after the last stage is not counted.
 */
#define GCB_STAGE_RUNS 5 /* most runs */

struct gcb_stages {
    struct gcb_probe probe;     /* for the coder's gcb_codec_env; inactive between measurements */
    double seconds[GCB_STAGES]; /* medians; 0 for a stage that was not reached */
    bool staged;                /* the codec reported stages */
    /* in the current run: time of the last report, and seconds of each stage */
    double last, run[GCB_STAGES];
};

/* `s` must not move while a coder has its probe. */
void gcb_stages_init(struct gcb_stages *s);

/*
 * Runs the operation, an encoding or a decoding, `runs` times (at most GCB_STAGE_RUNS), fewer if timing->stop says so, from
 * cold caches with timing->evict, and sets seconds and staged. Its coder was created with the probe. Nothing is allocated.
 */
int gcb_stages_measure(struct gcb_stages *s, const struct gcb_timing *timing, size_t runs,
                       const struct gcb_operation *op, struct gcb_diag *diag);

#endif
