#include "src/tool/read/layout.h"

#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"

#define DEFAULT_BUCKET (UINT64_C(25) << 20) /* bytes, as in PyTorch's data parallelism */

struct planner {
    struct gcb_layout *out;
    const struct gcb_source *source;
    const struct gcb_layout_config *config;
    size_t cap;    /* messages that fit into out->messages */
    size_t pieces; /* number of pieces in out->pieces */
};

static bool is_dense(const struct gcb_layout_config *config, const struct gcb_tensor *t)
{
    if (t->count < config->min_elements)
        return true;
    for (size_t i = 0; i < config->dense_count; i++)
        if (gcb_glob(config->dense[i], t->path))
            return true;
    return false;
}

static uint64_t bytes_of(const struct gcb_tensor *t)
{
    return t->count * gcb_dtype_size(t->dtype);
}

/* Starts an empty message with the step, worker and type of t. */
static struct gcb_message_plan *open_message(struct planner *p, const struct gcb_tensor *t)
{
    struct gcb_layout *out = p->out;
    struct gcb_message_plan *m;

    gcb_must_grow(&out->messages, &p->cap, out->count, sizeof(*m));
    m = &out->messages[out->count];
    *m = (struct gcb_message_plan){
        .number = out->count++,
        .pieces = out->pieces + p->pieces,
        .step = t->step,
        .worker = t->worker,
        .dtype = t->dtype,
    };
    return m;
}

static void add_piece(struct planner *p, struct gcb_message_plan *m, size_t tensor)
{
    const struct gcb_tensor *t = gcb_source_tensor(p->source, tensor);

    p->out->pieces[p->pieces++] = (struct gcb_piece){tensor, m->count};
    m->piece_count++;
    m->count += t->count;
    m->input_bytes += bytes_of(t);
    if (t->dtype != m->dtype)
        m->dtype = GCB_F32;
    if (m->count > p->out->largest)
        p->out->largest = m->count;
}

/* Plans messages of one tensor for the tensors in [begin, end): with tensor scope for each tensor,
 * with other scopes only for each dense tensor. */
static void plan_singles(struct planner *p, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        const struct gcb_tensor *t = gcb_source_tensor(p->source, i);
        const bool dense = is_dense(p->config, t);
        struct gcb_message_plan *m;

        if (!dense && p->config->scope != GCB_SCOPE_TENSOR)
            continue;
        m = open_message(p, t);
        m->dense = dense;
        add_piece(p, m, i);
    }
}

/* Plans buckets for the tensors in [begin, end) that are not dense. A bucket has at most `limit`
 * bytes, unless its only tensor is larger. */
static void plan_buckets(struct planner *p, size_t begin, size_t end, uint64_t limit)
{
    struct gcb_message_plan *m = NULL;
    size_t number = 0;

    for (size_t i = begin; i < end; i++) {
        const struct gcb_tensor *t = gcb_source_tensor(p->source, i);

        if (is_dense(p->config, t))
            continue;
        if (!m || m->input_bytes > limit || bytes_of(t) > limit - m->input_bytes) {
            m = open_message(p, t);
            snprintf(m->name, sizeof(m->name), "messages/%04zu", number++);
        }
        add_piece(p, m, i);
    }
}

/* Plans the messages of one step and worker. */
static void plan_worker(struct planner *p, size_t begin, size_t end)
{
    const uint64_t bucket = p->config->bucket_bytes ? p->config->bucket_bytes : DEFAULT_BUCKET;

    if (p->config->scope == GCB_SCOPE_BUCKET)
        plan_buckets(p, begin, end, bucket);
    else if (p->config->scope == GCB_SCOPE_MODEL)
        plan_buckets(p, begin, end, UINT64_MAX);
    plan_singles(p, begin, end);
}

/* Returns the index after the last tensor that has the same step and worker as tensor `begin`. */
static size_t worker_end(const struct gcb_source *source, size_t begin)
{
    const struct gcb_tensor *first = gcb_source_tensor(source, begin);
    size_t i = begin + 1;

    while (i < gcb_source_count(source)) {
        const struct gcb_tensor *t = gcb_source_tensor(source, i);

        if (t->step != first->step || t->worker != first->worker)
            break;
        i++;
    }
    return i;
}

uint64_t *gcb_layout_put_shape(uint64_t *out, unsigned rank, const uint64_t *dims)
{
    *out++ = rank;
    for (unsigned i = 0; i < rank; i++)
        *out++ = dims[i];
    return out;
}

/* Sets the shapes of all messages. */
static void put_shapes(struct planner *p, size_t tensors)
{
    struct gcb_layout *out = p->out;
    size_t numbers = 0;
    uint64_t *to;

    for (size_t i = 0; i < tensors; i++)
        numbers += 1 + gcb_source_tensor(p->source, i)->rank;
    out->shapes = to = gcb_must_array(numbers, sizeof(*to));
    for (size_t i = 0; i < out->count; i++) {
        struct gcb_message_plan *m = &out->messages[i];

        m->joined = to;
        for (size_t k = 0; k < m->piece_count; k++) {
            const struct gcb_tensor *t = gcb_source_tensor(p->source, m->pieces[k].tensor);

            to = gcb_layout_put_shape(to, t->rank, t->dims);
        }
        m->joined_length = (size_t)(to - m->joined);
    }
}

void gcb_layout_init(struct gcb_layout *out, const struct gcb_source *source,
                     const struct gcb_layout_config *config)
{
    const size_t count = gcb_source_count(source);
    struct planner p = {.out = out, .source = source, .config = config};

    *out = (struct gcb_layout){0};
    out->pieces = gcb_must_array(count, sizeof(*out->pieces));
    for (size_t i = 0, end; i < count; i = end) {
        end = worker_end(source, i);
        plan_worker(&p, i, end);
    }
    put_shapes(&p, count);
}

void gcb_layout_fini(struct gcb_layout *layout)
{
    gcb_free(layout->messages);
    gcb_free(layout->pieces);
    gcb_free(layout->shapes);
    *layout = (struct gcb_layout){0};
}

int gcb_layout_read(struct gcb_source *source, const struct gcb_message_plan *message, float *out,
                    struct gcb_diag *diag)
{
    int err = 0;

    if (message->data) {
        memcpy(out, message->data, message->count * sizeof(*out));
        return 0;
    }
    for (size_t i = 0; i < message->piece_count && !err; i++)
        err = gcb_source_read(source, message->pieces[i].tensor, out + message->pieces[i].offset,
                              diag);
    return err;
}
