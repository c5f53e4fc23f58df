/* Lists one file. In the child, what the reader finds becomes records. In the parent, the records
 * become tensors of the source. */
#include <inttypes.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"
#include "src/tool/read/source_private.h"

const struct gcb_reader *const gcb_readers[] = {&gcb_hdf5, &gcb_npy, &gcb_npz, &gcb_safetensors,
                                                NULL};

/*
 * The kinds of records, and the members of a record that they use besides texts[0]. That is the
 * path of an object, with "/" first.
 *   R_TENSOR  a tensor: `tensor`
 *   R_REMARK  a remark: numbers are the kind and the count
 *   R_WHAT    what the tensors are: texts[1]
 */
enum { R_TENSOR = 1, R_REMARK, R_WHAT };

/* ---- selection ---- */

/* True if the tensor is selected. If the user asks for the last step, a tensor of any step counts
 * as selected, until drop_unselected_steps knows which step is the last. */
static bool is_selected(const struct gcb_listing *l, const struct gcb_tensor *t)
{
    return (gcb_numbers_contain(&l->steps, t->step) || l->steps.last) &&
           gcb_numbers_contain(&l->workers, t->worker) &&
           gcb_selection_accepts(&l->config->selection, t->path);
}

/* Sets the names, step and worker of the tensor at `path`. Its path and dataset point into `path`.
 * A worker that is too large becomes UINT32_MAX. Returns the doubt of struct gcb_place, but not
 * GCB_REMARK_NO_STEP if the names of the file and its folders give a step. */
static enum gcb_remark locate_tensor(struct gcb_tensor *t, const struct gcb_listing *l,
                                     const char *path, uint64_t linked)
{
    const struct gcb_place p = gcb_place_of(path, false, linked);
    const uint64_t worker = p.has_worker ? p.worker : l->place.worker;

    t->path = p.below;
    t->dataset = path;
    t->file = l->found.path;
    t->step = p.has_step ? p.step : l->place.step;
    t->worker = worker > UINT32_MAX ? UINT32_MAX : (uint32_t)worker;
    t->has_step = p.has_step;
    t->has_worker = p.has_worker;
    return p.doubt == GCB_REMARK_NO_STEP && l->place.has_step ? GCB_REMARKS : p.doubt;
}

/* ---- in the child: the functions that the reader calls ---- */

bool gcb_listing_selects(const struct gcb_listing *l, const char *dataset, uint64_t linked)
{
    struct gcb_tensor t;

    locate_tensor(&t, l, dataset, linked);
    return is_selected(l, &t);
}

bool gcb_listing_wants(const struct gcb_listing *l, const char *path, bool below)
{
    const struct gcb_place p = gcb_place_of(path, true, 0);
    struct gcb_tensor t;

    if ((p.has_step && !l->steps.last && !gcb_numbers_contain(&l->steps, p.step)) ||
        (p.has_worker && !gcb_numbers_contain(&l->workers, p.worker)))
        return false;
    locate_tensor(&t, l, path, 0);
    if (gcb_selection_excludes(&l->config->selection, t.path))
        return false; /* --exclude names this object, so nothing below it is wanted */
    return is_selected(l, &t) || (below && gcb_selection_reaches(&l->config->selection, p.below));
}

const struct gcb_reading *gcb_listing_reading(const struct gcb_listing *l)
{
    return &l->config->reading;
}

int gcb_listing_tensor(struct gcb_listing *l, const struct gcb_tensor *t, struct gcb_diag *diag)
{
    const struct gcb_port_record r = {.kind = R_TENSOR, .texts = {t->dataset}, .tensor = *t};

    return gcb_port_put(l->port, &r, diag);
}

static int send_remark(struct gcb_listing *l, enum gcb_remark kind, uint64_t count,
                       const char *path, struct gcb_diag *diag)
{
    const struct gcb_port_record r = {.kind = R_REMARK, .texts = {path}, .numbers = {kind, count}};

    return gcb_port_put(l->port, &r, diag);
}

/* Only the first wanted object of each kind is sent at once, as the example; list_file sends the
 * number of the others. An object that --exclude names is sent too, with the count 0, because its
 * pattern counts as used. */
int gcb_listing_remark(struct gcb_listing *l, enum gcb_remark kind, const char *path, bool wanted,
                       struct gcb_diag *diag)
{
    const bool first = wanted && l->remarks[kind]++ == 0;
    struct gcb_tensor t;

    locate_tensor(&t, l, path, 0);
    return first || gcb_selection_excludes(&l->config->selection, t.path)
               ? send_remark(l, kind, first, path, diag)
               : 0;
}

int gcb_listing_what(struct gcb_listing *l, const char *what, struct gcb_diag *diag)
{
    const struct gcb_port_record r = {.kind = R_WHAT, .texts = {"/", what}};

    return gcb_port_put(l->port, &r, diag);
}

/* Lists the file for struct gcb_lister. Then sends how many objects, besides the example that was
 * sent before, have a remark of each kind. */
static int list_file(void *ctx, void *state, struct gcb_port *port, struct gcb_diag *diag)
{
    struct gcb_listing *l = ctx;
    int err;

    l->port = port;
    memset(l->remarks, 0, sizeof(l->remarks));
    err = l->found.reader->list(state, l, diag);
    for (int i = 0; i < GCB_REMARKS && !err; i++)
        if (l->remarks[i] > 1)
            err = send_remark(l, (enum gcb_remark)i, l->remarks[i] - 1, "/", diag);
    return err;
}

/* ---- in the parent: taking the child's records ---- */

static int fail_record(const struct gcb_listing *l, struct gcb_diag *diag)
{
    return gcb_infile_fail(&l->found, NULL, GCB_E_CORRUPT, diag,
                           "damaged: its list of tensors contradicts itself");
}

/* Appends *t, with a copy of t->dataset, whose end is t->path. */
static void add_tensor(struct gcb_source *s, struct gcb_tensor *t)
{
    const char *dataset = gcb_strings_add(&s->strings, t->dataset, strlen(t->dataset));

    gcb_must_grow(&s->tensors, &s->cap, s->count, sizeof(*t));
    t->path = dataset + (t->path - t->dataset);
    t->dataset = dataset;
    s->tensors[s->count++] = *t;
}

/* Takes a tensor, and adds it to the source if it is selected. */
static int take_tensor(struct gcb_listing *l, const struct gcb_port_record *r,
                       struct gcb_diag *diag)
{
    struct gcb_source *s = l->source;
    struct gcb_tensor t = r->tensor;
    const enum gcb_remark doubt = locate_tensor(&t, l, r->texts[0], t.linked);

    l->seen++;
    if (t.step > l->last_step)
        l->last_step = t.step;
    gcb_numbers_meet(&l->steps, t.step);
    gcb_numbers_meet(&l->workers, t.worker);
    gcb_selection_meet(&l->config->selection, t.path, s->met);
    if (!is_selected(l, &t))
        return 0;
    if (!gcb_tensor_is_plausible(&t, &l->found) || t.element == GCB_ELEMENT_BYTE)
        return fail_record(l, diag);
    if (t.worker == UINT32_MAX)
        return gcb_infile_fail(&l->found, t.dataset, GCB_E_CORRUPT, diag,
                               "the worker's number is above 4294967294");
    if (t.count > l->found.limits.max_bytes / sizeof(float))
        return gcb_infile_fail(&l->found, t.dataset, GCB_E_NOMEM, diag,
                               "%" PRIu64 " elements take more than --max-bytes %" PRIu64
                               " as float32",
                               t.count, l->found.limits.max_bytes);
    add_tensor(s, &t);
    if (doubt < GCB_REMARKS)
        gcb_source_add_remark(s, doubt, 1, l->found.path, s->tensors[s->count - 1].dataset);
    return 0;
}

/* Takes a remark, and adds its count. An --exclude pattern that matches its path counts as used. */
static int take_remark(struct gcb_listing *l, const struct gcb_port_record *r,
                       struct gcb_diag *diag)
{
    const uint64_t kind = r->numbers[0], count = r->numbers[1];
    struct gcb_source *s = l->source;
    const char *path = r->texts[0];
    struct gcb_tensor t;

    if (kind >= GCB_REMARKS)
        return fail_record(l, diag);
    locate_tensor(&t, l, path, 0);
    if (gcb_selection_excludes(&l->config->selection, t.path))
        gcb_selection_meet(&l->config->selection, t.path, s->met);
    if (!count)
        return 0;
    path = gcb_strings_add(&s->strings, path, strlen(path));
    gcb_source_add_remark(s, (enum gcb_remark)kind, count, l->found.path, path);
    return 0;
}

static int take_record(void *ctx, const struct gcb_port_record *r, struct gcb_diag *diag)
{
    struct gcb_listing *l = ctx;

    if (r->texts[0][0] != '/')
        return fail_record(l, diag);
    if (r->kind == R_TENSOR)
        return take_tensor(l, r, diag);
    if (r->kind == R_REMARK)
        return take_remark(l, r, diag);
    if (r->kind == R_WHAT) {
        if (!l->source->what)
            l->source->what =
                gcb_strings_add(&l->source->strings, r->texts[1], strlen(r->texts[1]));
        return 0;
    }
    return fail_record(l, diag);
}

/* If GCB_SOURCE_OPEN files are open, closes the least recently used file. */
static void make_room(struct gcb_source *source)
{
    struct gcb_source_file *oldest = NULL;
    int open = 0;

    for (size_t i = 0; i < source->file_count; i++) {
        struct gcb_source_file *f = &source->files[i];

        if (!f->child)
            continue;
        open++;
        if (!oldest || f->used < oldest->used)
            oldest = f;
    }
    if (open < GCB_SOURCE_OPEN)
        return;
    gcb_file_child_close(oldest->child);
    oldest->child = NULL;
}

int gcb_source_use(struct gcb_source *source, struct gcb_source_file *file,
                   const struct gcb_lister *lister, struct gcb_diag *diag)
{
    file->used = ++source->uses;
    if (file->child)
        return 0;
    make_room(source);
    return gcb_file_child_open(&file->child, &file->found, lister, diag);
}

int gcb_listing_add(struct gcb_listing *l, const char *path, struct gcb_diag *diag)
{
    const struct gcb_lister lister = {.ctx = l, .list = list_file, .take = take_record};
    struct gcb_source *s = l->source;
    struct gcb_source_file *file;
    int err;

    path = gcb_strings_add(&s->strings, path, strlen(path));
    gcb_must_grow(&s->files, &s->file_cap, s->file_count, sizeof(*s->files));
    err = gcb_infile_find(&l->found, path, gcb_readers, &l->config->limits, diag);
    if (err)
        return err;
    l->place = gcb_place_of_file(path);
    file = &s->files[s->file_count++];
    *file = (struct gcb_source_file){.found = l->found};
    return gcb_source_use(s, file, &lister, diag);
}
