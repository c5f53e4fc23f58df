#ifndef SRC_TOOL_TRIAL_STAGES_H
#define SRC_TOOL_TRIAL_STAGES_H

#include "src/lib/codec/probe.h"
#include "src/tool/timing/measure.h"

/*
 * How long each stage of encoding takes. It is measured in separate encodings, so that the timed ones are not interrupted
 * to read the clock (docs/method.md). The time of the first stage includes writing the message's header; the work after the
 * last stage is not counted.
 */
#define GCB_STAGE_RUNS 5 /* encodings, at most */

struct gcb_stages {
    struct gcb_probe probe;     /* for the coder's gcb_codec_env; inactive between measurements */
    double seconds[GCB_STAGES]; /* medians; 0 for a stage that was not reached */
    bool staged;                /* the codec reported stages */
    double last,
        run[GCB_STAGES]; /* last report, and seconds of each stage, in the current encoding */
};

/* `s` must not move while a coder has its probe. */
void gcb_stages_init(struct gcb_stages *s);

/*
 * Encodes the job `runs` times (at most GCB_STAGE_RUNS), fewer if timing->stop says so, from cold caches with
 * timing->evict, and sets seconds and staged. job->coder was created with the probe. `message` ends with the
 * bytes that any encoding of the job writes. Nothing is allocated.
 */
int gcb_stages_measure(struct gcb_stages *s, const struct gcb_timing *timing, size_t runs,
                       const struct gcb_encode_job *job, struct gcb_wbuf *message,
                       struct gcb_diag *diag);

#endif
