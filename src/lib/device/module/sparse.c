#include "src/lib/device/module/sparse.h"

#include "kernels/accumulate/accumulate_cuda.h"
#include "kernels/cuda/align.h"
#include "kernels/memory/memory_cuda.h"
#include "src/lib/device/module/codecs.h"
#include "src/lib/device/module/table.h"

/* Finds the device's functions for each stage. Returns 0, or GCB_E_UNSUPPORTED if a stage runs on
 * the CPU only: a transform of tiles, input=fp16 in an encoder, a kind of values above
 * GCB_CUDA_MEANS, or a stage without a row. A decoder needs no selector. */
static int find_stages(struct gcb_device_sparse *s, bool decoding, struct gcb_diag *diag)
{
    const struct gcb_sparse *p = &s->p;

    s->transform = p->tile == GCB_TILE_NONE ? gcb_device_transforms[p->transform] : NULL;
    s->selector = &gcb_device_selectors[p->select];
    s->values = gcb_device_values(p);
    s->index = &gcb_device_indices[p->index];
    if (!decoding && p->input == GCB_TRANSFORM_FP16)
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED,
                            "device cuda: input=fp16 runs on the CPU only; use --device cpu or "
                            "input=fp32");
    if (s->transform && (decoding || s->selector->select) && p->values <= GCB_CUDA_MEANS &&
        s->index->put)
        return 0;
    return gcb_diag_set(
        diag, GCB_E_UNSUPPORTED,
        "device cuda: a stage of this method runs on the CPU only; use --device cpu");
}

static int sparse_init(void *state, const struct gcb_codec_env *env, struct gcb_diag *diag)
{
    static const uint8_t nothing[GCB_CUDA_SEARCH_STATE] = {0};
    struct gcb_device_sparse *s = state;
    int err;

    gcb_sparse_bind(&s->p);
    err = find_stages(s, env->decoding, diag);
    if (!err && s->p.t.positions > env->segment)
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED,
                            "device cuda: more than %llu positions run on the CPU only",
                            (unsigned long long)env->segment);
    if (!err && !env->decoding && s->selector->reuses)
        err = gcb_cuda_table_create(&s->found, nothing, sizeof(nothing), diag);
    return err || !s->transform->init ? err : s->transform->init(s, env, diag);
}

static void sparse_fini(void *state)
{
    struct gcb_device_sparse *s = state;

    gcb_cuda_table_destroy(s->found);
    if (s->transform && s->transform->fini)
        s->transform->fini(s);
}

/*
 * ---- scratch ----
 *
 * An encoder's scratch has parts for the selection, the values, the positions and the transform. A
 * decoder's has parts for the payload's lists and the transform. In both, padded elements are last.
 * Functions whose names end in _at return the offset of a part.
 */

static uint64_t values_scratch_at(const struct gcb_device_sparse *s)
{
    return gcb_cuda_align256(s->selector->scratch(&s->p));
}

static uint64_t index_scratch_at(const struct gcb_device_sparse *s)
{
    return values_scratch_at(s) +
           gcb_cuda_align256(gcb_cuda_values_scratch(&s->values, s->p.max_kept));
}

static uint64_t transform_scratch_at(const struct gcb_device_sparse *s)
{
    const struct gcb_device_index *index = s->index;
    const uint64_t n = s->p.t.positions;
    struct gcb_cuda_decoding f;

    if (s->p.t.env.decoding)
        return gcb_cuda_align256(gcb_cuda_decoding_lay_out(&f, n, NULL) +
                                 (index->get_scratch ? index->get_scratch(n) : 0));
    return index_scratch_at(s) +
           gcb_cuda_align256(index->put_scratch ? index->put_scratch(n, s->p.max_kept) : 0);
}

/* True if the transform takes more elements than the tensor has: zeros follow (pad=smooth). */
static bool is_padded(const struct gcb_device_sparse *s)
{
    return s->p.t.length > s->p.t.env.count;
}

/* Returns the offset of the elements with zeros after them, which exist only if is_padded. */
static uint64_t padded_at(const struct gcb_device_sparse *s)
{
    return transform_scratch_at(s) +
           gcb_cuda_align256(s->transform->scratch ? s->transform->scratch(s) : 0);
}

static uint64_t sparse_scratch(const void *state)
{
    const struct gcb_device_sparse *s = state;

    return padded_at(s) + (is_padded(s) ? s->p.t.length * sizeof(float) : 0);
}

/* ---- encoding and decoding ---- */

static float *padded(const struct gcb_device_sparse *s, const struct gcb_device_call *call)
{
    return (float *)(void *)((uint8_t *)call->scratch_dev + padded_at(s));
}

/* Adds error feedback to the tensor, and copies the sum to the scratch, with zeros after it. *in
 * becomes the copy. */
static void pad(const struct gcb_device_sparse *s, struct gcb_device_input *in,
                const struct gcb_device_call *call)
{
    float *to = padded(s, call);

    gcb_cuda_memory_compensate(call->stream, in);
    gcb_cuda_memory_pad(call->stream, to, in->x, in->n, s->p.t.length);
    *in = gcb_device_plain(to, s->p.t.length);
}

/* Transforms and selects. Brings the chosen coefficients to unitary scale. */
static int choose(const struct gcb_device_sparse *s, const struct gcb_device_input *x,
                  struct gcb_cuda_chosen *chosen, const struct gcb_device_work *w)
{
    const struct gcb_device_transform *t = s->transform;
    struct gcb_device_input in = *x;
    const float *order = x->x;

    if (is_padded(s))
        pad(s, &in, w->call);
    if (t->fuses && t->fuses(s)) {
        gcb_cuda_chosen_lay_out(chosen, s->p.t.positions, s->p.max_kept, w->call->scratch_dev);
        return t->choose(s, &in, chosen, w);
    }
    if (t->forward) {
        t->forward(s, &in, &order, w);
        in = gcb_device_plain(order, s->p.t.positions);
    }
    s->selector->select(s, &in, chosen, w->call);
    return t->gather ? t->gather(s, chosen, w) : gcb_cuda_status(w->call->stream);
}

/* Does what the transform's `inverse` does, for a padded tensor: transforms to the scratch, and
 * copies the elements without the zeros to `out` or, if w->from is not NULL, w->from minus the
 * elements. */
static int cut_inverse(const struct gcb_device_sparse *s, float *out,
                       const struct gcb_device_work *w)
{
    struct gcb_device_stream *stream = w->call->stream;
    struct gcb_device_work plain = *w;
    const uint64_t n = s->p.t.env.count;
    float *to = padded(s, w->call);

    plain.from = NULL;
    s->transform->inverse(s, to, &plain);
    gcb_cuda_memory_copy(stream, out, to, n);
    return w->from ? gcb_cuda_memory_residual(stream, out, w->from, n) : gcb_cuda_status(stream);
}

/* Writes the elements of a message to `out`: transforms the kept coefficients, if there is a
 * transform. If w->from is not NULL, writes w->from minus the elements. */
static int rebuild(const struct gcb_device_sparse *s, float *out, struct gcb_device_work *w,
                   const struct gcb_cuda_entries *kept)
{
    const struct gcb_device_transform *t = s->transform;

    if (!t->inverse)
        return gcb_cuda_fill(w->call->stream, out, kept, 0);
    if (!t->lists || !t->lists(s))
        gcb_cuda_fill(w->call->stream, (float *)(void *)w->scratch, kept, 0);
    w->kept = kept;
    return is_padded(s) ? cut_inverse(s, out, w) : t->inverse(s, out, w);
}

/*
 * Error feedback through a transform: decodes the message that was just encoded. The residual
 * becomes the tensor minus the decoded message. Without a transform this is not needed: selecting
 * and writing the values has set the residual.
 */
static int update_residual(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                           const struct gcb_cuda_chosen *chosen, struct gcb_device_work *w)
{
    struct gcb_cuda_entries kept = {.p = {.in = w->payload, .n = s->p.t.positions},
                                    .how = s->values};

    gcb_cuda_reopen_payload(w->call->stream, &kept.p, &s->values, chosen,
                            (uint8_t *)w->call->scratch_dev + values_scratch_at(s), &kept.f);
    w->from = in->x;
    return rebuild(s, in->residual, w, &kept);
}

/* True if the selector can write the whole message. */
static bool selector_writes(const struct gcb_device_sparse *s)
{
    return s->p.values == GCB_VALUES_FP32 && s->p.index == GCB_INDEX_U32 && s->p.t.positions > 0 &&
           s->transform == gcb_device_transforms[GCB_TRANSFORM_NONE] && !s->selector->lists &&
           gcb_device_chunks(&s->p).length == 0;
}

static int sparse_encode(void *state, const struct gcb_device_input *in, uint8_t *out_dev,
                         const struct gcb_device_call *call)
{
    const struct gcb_device_sparse *s = state;
    uint8_t *scratch = call->scratch_dev;
    struct gcb_device_work w = {.payload = out_dev,
                                .out = out_dev,
                                .scratch = scratch + transform_scratch_at(s),
                                .call = call};
    struct gcb_cuda_chosen chosen = {.n = s->p.t.positions, .most = s->p.max_kept};

    /* Kernels that add the residual to the tensor also store the sum as the new residual. If the
     * residual was added before, the sum is stored here. Later kernels change it where elements are
     * sent. */
    if (in->residual && in->compensated)
        gcb_cuda_memory_copy(call->stream, in->residual, in->x, in->n);
    if (selector_writes(s)) {
        chosen.message = (struct gcb_cuda_message){out_dev, call->result_dev};
        return choose(s, in, &chosen, &w);
    }
    choose(s, in, &chosen, &w);
    gcb_cuda_put_values(call->stream, out_dev, &chosen, &s->values, scratch + values_scratch_at(s),
                        call->result_dev);
    s->index->put(call->stream, out_dev, &chosen, &s->values, scratch + index_scratch_at(s),
                  call->result_dev);
    return in->residual && s->transform->inverse ? update_residual(s, in, &chosen, &w)
                                                 : gcb_cuda_status(call->stream);
}

/* Queues the reading of the scales and the positions of a payload. Returns 0, GCB_E_CORRUPT,
 * GCB_E_DEVICE or GCB_E_NOMEM. */
static int open_entries(const struct gcb_device_sparse *s, struct gcb_cuda_entries *kept,
                        const uint8_t *payload_dev, uint64_t length,
                        const struct gcb_device_call *call)
{
    const struct gcb_cuda_payload *p = &kept->p;
    int err;

    *kept =
        (struct gcb_cuda_entries){.p = {payload_dev, length, s->p.t.positions}, .how = s->values};
    if (length < (p->n ? GCB_CUDA_KEPT_BYTES : 0) + s->p.transform_ops->side_bytes)
        return GCB_E_CORRUPT;
    gcb_cuda_decoding_lay_out(&kept->f, p->n, call->scratch_dev);
    err = gcb_cuda_open_payload(call->stream, p, &s->values, &s->index->length, &kept->f,
                                call->result_dev);
    return err ? err : s->index->get(call->stream, p, &kept->f, call->result_dev);
}

static int sparse_decode(void *state, const uint8_t *payload_dev, uint64_t length, float *out_dev,
                         const struct gcb_device_call *call)
{
    const struct gcb_device_sparse *s = state;
    struct gcb_device_work w = {.payload = payload_dev,
                                .scratch = (uint8_t *)call->scratch_dev + transform_scratch_at(s),
                                .call = call};
    struct gcb_cuda_entries kept;
    const int err = open_entries(s, &kept, payload_dev, length, call);

    return err ? err : rebuild(s, out_dev, &w, &kept);
}

/* ---- adding a message to elements ---- */

static bool sparse_transforms(const void *state)
{
    return ((const struct gcb_device_sparse *)state)->transform->inverse;
}

static int sparse_add(void *state, const uint8_t *payload_dev, uint64_t length, float *acc_dev,
                      float weight, const struct gcb_device_call *call)
{
    const struct gcb_device_sparse *s = state;
    struct gcb_cuda_entries kept;
    const int err = open_entries(s, &kept, payload_dev, length, call);

    return err ? err
               : gcb_cuda_accumulate_entries(call->stream, acc_dev, &kept, weight,
                                             call->result_dev);
}

static const struct gcb_device_sum_ops sparse_sum = {
    .transforms = sparse_transforms,
    .add_async = sparse_add,
};

const struct gcb_device_ops gcb_device_sparse = {
    .state_size = sizeof(struct gcb_device_sparse),
    .init = sparse_init,
    .fini = sparse_fini,
    .scratch = sparse_scratch,
    .feedback = true,
    .encode_async = sparse_encode,
    .decode_async = sparse_decode,
    .sum = &sparse_sum,
};
