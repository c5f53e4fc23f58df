#ifndef SRC_TOOL_REPLAY_REPLAY_EXCHANGE_H
#define SRC_TOOL_REPLAY_REPLAY_EXCHANGE_H

#include "src/tool/replay/replay_lane.h"

/*
 * One message on its way: encodes `whole` with the worker's encoder, decodes the bytes into l->decoded, and adds
 * to step->tally and sums what that took and lost. pending_bytes is what the message speaks for; it is
 * 0 afterwards.
 */
int gcb_exchange(struct gcb_lanes *l, struct gcb_lane *lane, struct gcb_lane_worker *worker,
                 const struct gcb_message_plan *plan, const float *whole,
                 struct gcb_lane_step *step, struct gcb_lane_sums *sums, struct gcb_diag *diag);

#endif
