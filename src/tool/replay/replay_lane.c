#include "src/tool/replay/replay_lane.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/lib/codec/codecs.h"
#include "src/lib/codec/packed.h"
#include "src/tool/replay/replay_exchange.h"
#include "src/tool/trial/run.h"

/* Of one span: squared norms, and how many elements some worker sent. */
struct gcb_lane_partial {
    double drift, owed;
    uint64_t touched;
};

static const struct gcb_method dense_method = {.name = "identity", .codec = &gcb_codec_identity};

static int start_lane(struct gcb_lanes *l, struct gcb_lane *lane,
                      const struct gcb_message_plan *plan, const struct gcb_method *method)
{
    const uint64_t n = plan->count;

    lane->count = n;
    lane->method = plan->dense ? dense_method : *method;
    lane->workers = gcb_alloc_zero(l->workers, sizeof(*lane->workers));
    lane->drift = gcb_alloc_zero(n, sizeof(*lane->drift));
    lane->owed = gcb_alloc_zero(n, sizeof(*lane->owed));
    if (!lane->workers || !lane->drift || !lane->owed)
        return GCB_E_NOMEM;
    if (l->memory.kind == GCB_MEMORY_DELAY && l->memory.delay > 1) {
        lane->window = gcb_alloc_zero(n, sizeof(*lane->window));
        if (!lane->window)
            return GCB_E_NOMEM;
    }
    for (uint32_t w = 0; w < l->workers; w++) {
        struct gcb_lane_worker *worker = &lane->workers[w];

        worker->age = gcb_alloc_zero(n, sizeof(*worker->age));
        if (!worker->age ||
            gcb_memory_create(&worker->memory, &l->memory, n, l->workers, l->config->queue, NULL))
            return GCB_E_NOMEM;
    }
    return 0;
}

static int take_buffers(struct gcb_lanes *l, uint64_t largest)
{
    const uint64_t n = largest ? largest : 1;

    l->input = gcb_alloc_array(n, sizeof(float));
    l->decoded = gcb_alloc_array(n, sizeof(float));
    l->owed = gcb_alloc_array(n, sizeof(float));
    l->update = gcb_alloc_array(n, sizeof(float));
    l->touched = gcb_alloc(n);
    l->partial = gcb_alloc_array(gcb_span_count(n), sizeof(*l->partial));
    return l->input && l->decoded && l->owed && l->update && l->touched && l->partial ? 0
                                                                                      : GCB_E_NOMEM;
}

int gcb_lanes_init(struct gcb_lanes *l, const struct gcb_replay_config *config,
                   const struct gcb_replay_plan *plan, const struct gcb_method *method,
                   struct gcb_diag *diag)
{
    const struct gcb_layout *layout = config->layout;
    int err;

    memset(l, 0, sizeof(*l));
    l->config = config;
    l->workers = plan->workers;
    gcb_method_memory(&l->memory, method);
    l->lanes = gcb_alloc_zero(plan->messages, sizeof(*l->lanes));
    err = l->lanes ? take_buffers(l, layout->largest) : GCB_E_NOMEM;
    for (; !err && l->count < plan->messages; l->count++) /* counts one that failed, too */
        err = start_lane(l, &l->lanes[l->count], &layout->messages[l->count], method);
    if (err)
        return gcb_diag_nomem(diag, 0, "what workers remember between steps");
    return gcb_coders_create(&l->decoders, layout->largest, diag);
}

static void fini_lane(struct gcb_lane *lane, uint32_t workers)
{
    for (uint32_t w = 0; lane->workers && w < workers; w++) {
        gcb_memory_destroy(lane->workers[w].memory);
        gcb_coder_destroy(lane->workers[w].encoder);
        gcb_free(lane->workers[w].age);
    }
    gcb_free(lane->workers);
    gcb_free(lane->window);
    gcb_free(lane->drift);
    gcb_free(lane->owed);
}

void gcb_lanes_fini(struct gcb_lanes *l)
{
    for (size_t j = 0; j < l->count; j++)
        fini_lane(&l->lanes[j], l->workers);
    gcb_free(l->lanes);
    gcb_free(l->input);
    gcb_free(l->decoded);
    gcb_free(l->owed);
    gcb_free(l->update);
    gcb_free(l->touched);
    gcb_free(l->partial);
    gcb_room_fini(&l->room);
    gcb_coders_destroy(l->decoders);
    memset(l, 0, sizeof(*l));
}

int gcb_lane_assign(struct gcb_lanes *l, struct gcb_lane *lane, const char *key, double value,
                    struct gcb_diag *diag)
{
    for (uint32_t w = 0; w < l->workers; w++) {
        gcb_coder_destroy(lane->workers[w].encoder);
        lane->workers[w].encoder = NULL;
    }
    return gcb_method_assign(&lane->method, key, value, diag);
}

/* ---- passes over one worker's message, and over the sums of all ---- */

struct pass {
    struct gcb_lanes *l;
    struct gcb_lane *lane;
    uint16_t *age;
    const float *whole; /* what was encoded; NULL: nothing was sent */
};

/* What the receiver adds, and how old each element is now. Nothing to send counts as sent. */
static void join_span(void *ctx, uint64_t i)
{
    const struct pass *p = ctx;
    const uint64_t from = i * GCB_SPAN, to = from + gcb_span_length(p->lane->count, i);

    for (uint64_t k = from; k < to; k++) {
        const float sent = p->whole ? p->l->decoded[k] : 0.0f;

        if (p->whole)
            p->l->update[k] += sent;
        if (sent != 0.0f)
            p->l->touched[k] = 1;
        if (sent != 0.0f || (p->whole && p->whole[k] == 0.0f))
            p->age[k] = 0;
        else if (p->age[k] < GCB_STALENESS_MAX)
            p->age[k]++;
    }
}

static void settle_span(void *ctx, uint64_t i)
{
    const struct pass *p = ctx;
    const uint64_t from = i * GCB_SPAN, to = from + gcb_span_length(p->lane->count, i);
    struct gcb_lane_partial sum = {0};
    struct gcb_lane *lane = p->lane;

    for (uint64_t k = from; k < to; k++) {
        lane->drift[k] += (double)p->l->update[k] - (double)p->l->owed[k];
        lane->owed[k] += (double)p->l->owed[k];
        sum.drift += lane->drift[k] * lane->drift[k];
        sum.owed += lane->owed[k] * lane->owed[k];
        sum.touched += p->l->touched[k];
        if (lane->window)
            lane->window[k] += p->l->owed[k];
    }
    p->l->partial[i] = sum;
}

/* After the last worker. Spans are added in order: threads change nothing. */
static void settle(struct gcb_lanes *l, struct gcb_lane *lane, bool sent,
                   struct gcb_lane_step *step)
{
    const uint64_t spans = gcb_span_count(lane->count);
    float *due = lane->window ? lane->window : l->owed;
    struct pass pass = {.l = l, .lane = lane};

    gcb_parallel(l->config->queue, spans, settle_span, &pass);
    for (uint64_t i = 0; i < spans; i++) {
        step->drift += l->partial[i].drift;
        step->owed += l->partial[i].owed;
        step->touched += l->partial[i].touched;
    }
    if (!sent)
        return;
    gcb_fidelity_add(&step->updates, due, l->update, lane->count, l->config->kernels,
                     l->config->queue);
    if (lane->window)
        memset(lane->window, 0, lane->count * sizeof(*lane->window));
}

static int read_gradient(struct gcb_lanes *l, const struct gcb_message_plan *plan,
                         struct gcb_diag *diag)
{
    const int err = gcb_layout_read(l->config->source, plan, l->input, diag);

    if (err || gcb_nonfinite_count(l->input, plan->count, l->config->kernels) == 0)
        return err;
    if (l->config->nonfinite != GCB_POLICY_ZERO)
        return gcb_diag_set(diag, GCB_E_IO, "the file changed while it was read");
    gcb_nonfinite_zero(l->input, plan->count);
    return 0;
}

static double norm_sq(const struct gcb_lanes *l, const float *x, uint64_t n)
{
    return x ? gcb_reduce_blocks(l->config->kernels->reduce.sum_sq, x, n) : 0.0;
}

static int run_worker(struct gcb_lanes *l, struct gcb_lane *lane, uint32_t w,
                      const struct gcb_message_plan *plan, bool *sent, struct gcb_lane_step *step,
                      struct gcb_diag *diag)
{
    struct gcb_lane_worker *worker = &lane->workers[w];
    struct gcb_lane_sums *sums = &step->workers[w];
    struct pass pass = {.l = l, .lane = lane, .age = worker->age};
    int err = read_gradient(l, plan, diag);

    if (err)
        return err;
    step->input_bytes += plan->input_bytes;
    worker->pending_bytes += plan->input_bytes;
    sums->gradient += norm_sq(l, l->input, plan->count);
    pass.whole = gcb_memory_compensate(worker->memory, l->input);
    gcb_memory_add_input(worker->memory, l->input, l->owed);
    *sent = pass.whole != NULL;
    if (*sent) {
        step->at.worker = plan->worker;
        err = gcb_exchange(l, lane, worker, plan, pass.whole, step, sums, diag);
        if (err)
            return err;
    }
    gcb_parallel(l->config->queue, gcb_span_count(plan->count), join_span, &pass);
    if (*sent)
        gcb_memory_update(worker->memory, l->decoded);
    sums->residual += norm_sq(l, gcb_memory_residual(worker->memory), plan->count);
    return 0;
}

int gcb_lane_run(struct gcb_lanes *l, size_t j, size_t first, struct gcb_lane_step *step,
                 struct gcb_diag *diag)
{
    struct gcb_lane *lane = &l->lanes[j];
    bool sent = false;
    int err = 0;

    if (lane->count) { /* memset takes no NULL */
        memset(l->owed, 0, lane->count * sizeof(*l->owed));
        memset(l->update, 0, lane->count * sizeof(*l->update));
        memset(l->touched, 0, lane->count);
    }
    for (uint32_t w = 0; !err && w < l->workers; w++)
        err = run_worker(l, lane, w, &l->config->layout->messages[first + w * l->count + j], &sent,
                         step, diag);
    if (!err)
        settle(l, lane, sent, step);
    return err;
}

void gcb_lanes_staleness(const struct gcb_lanes *l, struct gcb_staleness *out)
{
    gcb_staleness_clear(out);
    for (size_t j = 0; j < l->count; j++)
        for (uint32_t w = 0; w < l->workers; w++)
            gcb_staleness_add(out, l->lanes[j].workers[w].age, l->lanes[j].count);
}
