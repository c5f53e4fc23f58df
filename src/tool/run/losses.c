#include "src/tool/run/losses.h"

#include <string.h>

#include "src/lib/base/alloc.h"

struct entry {
    const char *path;
    double *lost; /* squared error for each method */
};

struct gcb_losses {
    size_t methods;
    struct entry *entries;
    size_t count, cap;
    size_t next; /* where the next search begins: tensors come in the same order at each step */
};

int gcb_losses_create(struct gcb_losses **out, size_t methods, struct gcb_diag *diag)
{
    struct gcb_losses *l = gcb_alloc_zero(1, sizeof(*l));

    if (!l)
        return gcb_diag_nomem(diag, sizeof(*l), "losses");
    l->methods = methods;
    *out = l;
    return 0;
}

void gcb_losses_destroy(struct gcb_losses *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->count; i++)
        gcb_free(l->entries[i].lost);
    gcb_free(l->entries);
    gcb_free(l);
}

/* Returns the index of a tensor's entry, or l->count if it has none. */
static size_t find(const struct gcb_losses *l, const char *path)
{
    for (size_t i = 0; i < l->count; i++) {
        const size_t at = (l->next + i) % l->count;

        if (strcmp(l->entries[at].path, path) == 0)
            return at;
    }
    return l->count;
}

static int add(struct gcb_losses *l, size_t method, const char *path, double lost)
{
    const size_t at = find(l, path);
    struct entry e = {.path = path};

    if (at == l->count) {
        if (gcb_grow(&l->entries, &l->cap, l->count, sizeof(*l->entries)))
            return GCB_E_NOMEM;
        e.lost = gcb_alloc_zero(l->methods, sizeof(*e.lost));
        if (!e.lost)
            return GCB_E_NOMEM;
        l->entries[l->count++] = e;
    }
    l->entries[at].lost[method] += lost;
    l->next = at;
    return 0;
}

/* Computes the squared error of one tensor of a message. */
static int measure_loss(double *out, const struct gcb_run_trial *t, const struct gcb_piece *piece,
                        uint64_t count, const struct gcb_trial_config *config,
                        struct gcb_diag *diag)
{
    struct gcb_fidelity f = {0};
    int err = 0;

    if (t->plan->piece_count == 1)
        f = t->tally.fidelity;
    else if (t->original)
        err = gcb_original_compare(t->original, &f, piece->offset, count, diag);
    else
        gcb_fidelity_add(&f, t->input + piece->offset, t->decoded + piece->offset, count,
                         config->kernels, config->queue);
    *out = f.dd;
    return err;
}

int gcb_losses_add(struct gcb_losses *l, const struct gcb_source *source,
                   const struct gcb_run_trial *trial, const struct gcb_trial_config *config,
                   struct gcb_diag *diag)
{
    for (size_t i = 0; i < trial->plan->piece_count; i++) {
        const struct gcb_piece *piece = &trial->plan->pieces[i];
        const struct gcb_tensor *tensor = gcb_source_tensor(source, piece->tensor);
        double lost;
        const int err = measure_loss(&lost, trial, piece, tensor->count, config, diag);

        if (err)
            return err;
        if (add(l, trial->method, tensor->path, lost))
            return gcb_diag_nomem(diag, 0, "losses");
    }
    return 0;
}

/* Inserts a loss into the sorted list `out` of `used` entries, which keeps at most `count`. Returns the new length. */
static size_t insert(struct gcb_loss *out, size_t used, size_t count, struct gcb_loss loss)
{
    size_t at = used;

    while (at > 0 && out[at - 1].share < loss.share)
        at--;
    if (at == count)
        return used;
    if (used < count)
        used++;
    for (size_t i = used - 1; i > at; i--)
        out[i] = out[i - 1];
    out[at] = loss;
    return used;
}

size_t gcb_losses_top(const struct gcb_losses *l, size_t method, struct gcb_loss *out, size_t count)
{
    double total = 0.0;
    size_t used = 0;

    for (size_t i = 0; i < l->count; i++)
        total += l->entries[i].lost[method];
    for (size_t i = 0; i < l->count; i++) {
        const struct gcb_loss loss = {l->entries[i].path, l->entries[i].lost[method] / total};

        if (loss.share > 0.0)
            used = insert(out, used, count, loss);
    }
    return used;
}
