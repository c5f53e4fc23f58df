#ifndef SRC_TOOL_TRIAL_STAGES_H
#define SRC_TOOL_TRIAL_STAGES_H

#include "src/lib/codec/probe.h"
#include "src/tool/timing/measure.h"

/*
 * How long each stage of an encode takes, from encodes of their own: the timed ones are not interrupted by
 * reading the clock (docs/method.md). The first stage begins with the encode; the message's head
 * and its end belong to no stage's work, but the head's few bytes are counted with the first.
 */
#define GCB_STAGE_RUNS 5 /* encodes, at most */

struct gcb_stages {
    struct gcb_probe probe;     /* for gcb_codec_env of the coder; silent between measurements */
    double seconds[GCB_STAGES]; /* medians; 0 for a stage that was not reached */
    bool staged;                /* the codec has stages: some were seen */
    double last, run[GCB_STAGES];
};

/* `s` stays where it is as long as a coder has its probe. */
void gcb_stages_init(struct gcb_stages *s);

/*
 * Encodes the job `runs` times (1 to GCB_STAGE_RUNS), fewer if `timing` says stop, from cold caches if it
 * says so, and fills seconds and staged. job->coder was created with the probe. `message` is treated as by gcb_measure_encode and ends
 * with the same bytes. Nothing is allocated.
 */
int gcb_stages_measure(struct gcb_stages *s, const struct gcb_timing *timing, size_t runs,
                       const struct gcb_encode_job *job, struct gcb_wbuf *message,
                       struct gcb_diag *diag);

#endif
