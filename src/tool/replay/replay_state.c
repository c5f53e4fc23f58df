#include "src/tool/replay/replay_state.h"

#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"

/* Opens a worker's exchange of a message. `plan` describes the message of the first worker in
 * the first step. */
static int open_exchange(struct gcb_replay_state *s, struct gcb_replay_message *message,
                         const struct gcb_message_plan *plan, uint32_t worker,
                         struct gcb_diag *diag)
{
    const struct gcb_replay_config *c = s->config;
    struct gcb_exchange_config config = {
        .coder = {.nonfinite = GCB_NONFINITE_ERROR, /* sums of finite gradients may overflow */
                  /* with a memory the values are float32 sums */
                  .source = s->memory.kind == GCB_MEMORY_NONE ? plan->dtype : GCB_F32,
                  .checksum = true},
        .workers = s->workers,
        .worker = worker,
        .weights = s->weights,
        .no_update = worker > 0,
    };
    int err;

    gcb_plan_env(&config.coder.env, &c->compute, c->source, plan, &c->output_layers);
    err = gcb_exchange_create(&message->exchanges[worker], &message->method, &config, diag);
    return gcb_plan_explain(err, message->method.name, plan, s->config->source, diag);
}

/* Opens a worker's exchange of a message, and allocates the ages of the message's elements. */
static int init_worker(struct gcb_replay_state *s, struct gcb_replay_message *message,
                       const struct gcb_message_plan *plan, uint32_t w, struct gcb_diag *diag)
{
    struct gcb_replay_worker *worker = &message->workers[w];
    const int err = open_exchange(s, message, plan, w, diag);

    if (err)
        return err;
    worker->age = gcb_alloc_zero(plan->count, sizeof(*worker->age));
    if (!worker->age)
        return gcb_diag_nomem(diag, plan->count * sizeof(*worker->age),
                              "what workers keep between steps");
    return 0;
}

/* Allocates the sums of a message, and opens its exchanges for all workers. */
static int init_message(struct gcb_replay_state *s, struct gcb_replay_message *message,
                        const struct gcb_message_plan *plan, const struct gcb_method *method,
                        struct gcb_diag *diag)
{
    const bool has_window = s->memory.kind == GCB_MEMORY_DELAY && s->memory.delay > 1;
    const uint64_t n = plan->count;
    int err = 0;

    message->count = n;
    message->method = plan->dense ? s->dense : *method;
    message->exchanges = gcb_alloc_zero(s->workers, sizeof(*message->exchanges));
    message->workers = gcb_alloc_zero(s->workers, sizeof(*message->workers));
    message->drift = gcb_alloc_zero(n, sizeof(*message->drift));
    message->owed = gcb_alloc_zero(n, sizeof(*message->owed));
    if (has_window)
        message->window = gcb_alloc_zero(n, sizeof(*message->window));
    if (!message->exchanges || !message->workers || !message->drift || !message->owed ||
        (has_window && !message->window))
        return gcb_diag_nomem(diag, 0, "what workers keep between steps");
    for (uint32_t w = 0; !err && w < s->workers; w++)
        err = init_worker(s, message, plan, w, diag);
    return err;
}

/* Allocates the buffers and the weights, which become 1. Returns 0 or GCB_E_NOMEM. */
static int take_buffers(struct gcb_replay_state *s)
{
    const uint64_t n = s->largest;

    s->inputs = gcb_alloc_array(s->plan->sources * n, sizeof(*s->inputs));
    s->weights = gcb_alloc_array(s->workers, sizeof(*s->weights));
    s->decoded = gcb_alloc_array(n, sizeof(float));
    s->owed = gcb_alloc_array(n, sizeof(float));
    s->update = gcb_alloc_array(n, sizeof(float));
    s->selected = gcb_alloc_array(n, sizeof(float));
    s->touched = gcb_alloc(n);
    s->spans = gcb_alloc_array(gcb_span_count(n), sizeof(*s->spans));
    if (!s->inputs || !s->weights || !s->decoded || !s->owed || !s->update || !s->selected ||
        !s->touched || !s->spans)
        return GCB_E_NOMEM;
    for (uint32_t w = 0; w < s->workers; w++)
        s->weights[w] = 1.0f;
    return 0;
}

int gcb_replay_state_init(struct gcb_replay_state *s, const struct gcb_replay_config *config,
                          const struct gcb_replay_plan *plan, const struct gcb_method *method,
                          struct gcb_diag *diag)
{
    const struct gcb_layout *layout = config->layout;
    int err;

    memset(s, 0, sizeof(*s));
    s->config = config;
    s->plan = plan;
    s->workers = plan->workers;
    s->largest = layout->largest ? layout->largest : 1;
    gcb_method_memory(&s->memory, method);
    s->messages = gcb_alloc_zero(plan->messages, sizeof(*s->messages));
    if (!s->messages || take_buffers(s))
        return gcb_diag_nomem(diag, 0, "what workers keep between steps");
    err = gcb_method_parse(&s->dense, "identity", diag);
    if (err)
        return err;
    gcb_method_take_memory(&s->dense, method);
    while (!err && s->count < plan->messages) {
        const size_t i = s->count++; /* counts a failed message too, so that fini releases it */

        err = init_message(s, &s->messages[i], &layout->messages[i], method, diag);
    }
    return err;
}

static void fini_message(struct gcb_replay_state *s, struct gcb_replay_message *message)
{
    const uint32_t workers = s->workers;

    for (uint32_t w = 0; message->workers && w < workers; w++)
        gcb_free(message->workers[w].age);
    for (uint32_t w = 0; message->exchanges && w < workers; w++)
        gcb_exchange_close(message->exchanges[w]);
    gcb_free(message->workers);
    gcb_free(message->exchanges);
    gcb_free(message->window);
    gcb_free(message->drift);
    gcb_free(message->owed);
}

void gcb_replay_state_fini(struct gcb_replay_state *s)
{
    for (size_t j = 0; j < s->count; j++)
        fini_message(s, &s->messages[j]);
    gcb_free(s->messages);
    gcb_free(s->inputs);
    gcb_free(s->weights);
    gcb_free(s->decoded);
    gcb_free(s->owed);
    gcb_free(s->update);
    gcb_free(s->selected);
    gcb_free(s->touched);
    gcb_free(s->spans);
    gcb_local_fini(&s->local);
    memset(s, 0, sizeof(*s));
}

int gcb_replay_assign(struct gcb_replay_state *s, struct gcb_replay_message *message,
                      const char *key, double value, struct gcb_diag *diag)
{
    int err = gcb_method_assign(&message->method, key, value, diag);

    for (uint32_t w = 0; !err && w < s->workers; w++)
        err = gcb_exchange_change(message->exchanges[w], &message->method, diag);
    return err;
}
