#include "src/tool/run/original.h"

#include "src/tool/run/nonfinite.h"

bool gcb_original_possible(const struct gcb_source *source, const struct gcb_message_plan *plan)
{
    for (size_t i = 0; i < plan->piece_count; i++) {
        const size_t tensor = plan->pieces[i].tensor;

        if (gcb_source_tensor(source, tensor)->count && !gcb_source_has_parts(source, tensor))
            return false;
    }
    return true;
}

int gcb_original_load(const struct gcb_original *o, struct gcb_diag *diag)
{
    const int err = gcb_layout_read(o->source, o->plan, o->data, diag);

    if (!err && o->zero)
        gcb_nonfinite_zero(o->data, o->plan->count);
    return err;
}

/* Fills the window with the input's elements [from, from + count), which may lie in several tensors. */
static int fill_window(const struct gcb_original *o, uint64_t from, uint64_t count,
                       struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = 0; !err && i < o->plan->piece_count; i++) {
        const struct gcb_piece *piece = &o->plan->pieces[i];
        const uint64_t end = piece->offset + gcb_source_tensor(o->source, piece->tensor)->count;
        const uint64_t first = from > piece->offset ? from : piece->offset;
        const uint64_t last = from + count < end ? from + count : end;

        if (first < last)
            err = gcb_source_read_part(o->source, piece->tensor, first - piece->offset,
                                       last - first, o->window + (first - from), diag);
    }
    if (!err && o->zero)
        gcb_nonfinite_zero(o->window, count);
    return err;
}

int gcb_original_compare(const struct gcb_original *o, struct gcb_fidelity *f, uint64_t from,
                         uint64_t count, struct gcb_diag *diag)
{
    int err = 0;

    for (uint64_t at = 0; !err && at < count; at += o->window_elements) {
        const uint64_t left = count - at;
        const uint64_t n = left < o->window_elements ? left : o->window_elements;

        err = fill_window(o, from + at, n, diag);
        if (!err)
            gcb_fidelity_add(f, o->window, o->data + from + at, n, o->kernels, o->queue);
    }
    return err;
}
