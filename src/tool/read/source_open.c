/* Opens several files as one dump, which is an ordered list of their tensors. */
#include <fts.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"
#include "src/tool/read/source_private.h"

static int compare_places(const struct gcb_tensor *a, const struct gcb_tensor *b)
{
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return (a->worker > b->worker) - (a->worker < b->worker);
}

static int by_place_and_name(const void *a, const void *b)
{
    const struct gcb_tensor *x = a, *y = b;
    const int place = compare_places(x, y);

    return place ? place : gcb_path_compare(x->path, y->path);
}

static int by_place_and_index(const void *a, const void *b)
{
    const struct gcb_tensor *x = a, *y = b;
    const int place = compare_places(x, y);

    if (place)
        return place;
    if (x->index == y->index)
        return gcb_path_compare(x->path, y->path);
    if (x->index < 0 || y->index < 0) /* tensors without an index come last */
        return x->index < 0 ? 1 : -1;
    return x->index < y->index ? -1 : 1;
}

/* Refuses two tensors of the same step, worker and path. The tensors are sorted by these, so equal
 * tensors are neighbours. */
static int check_repeats(const struct gcb_source *s, struct gcb_diag *diag)
{
    char f0[88], d0[100], f1[88], d1[100];

    for (size_t i = 1; i < s->count; i++) {
        const struct gcb_tensor *a = &s->tensors[i - 1], *b = a + 1;

        if (by_place_and_name(a, b) != 0)
            continue;
        return gcb_diag_set(
            diag, a->file == b->file ? GCB_E_CORRUPT : GCB_E_INVALID,
            "%s: %s and %s: %s are the same tensor of step %" PRIu64 ", worker %" PRIu32
            "; groups named step_N and worker_N tell tensors apart",
            gcb_escape(f0, sizeof(f0), a->file), gcb_escape(d0, sizeof(d0), a->dataset),
            gcb_escape(f1, sizeof(f1), b->file), gcb_escape(d1, sizeof(d1), b->dataset), a->step,
            a->worker);
    }
    return 0;
}

/* Drops the tensors that were kept only until the last step was known. */
static void drop_unselected_steps(struct gcb_listing *l)
{
    struct gcb_source *s = l->source;
    size_t n = 0;

    if (!l->steps.last)
        return;
    for (size_t i = 0; i < s->count; i++)
        if (s->tensors[i].step == l->last_step ||
            gcb_numbers_contain(&l->steps, s->tensors[i].step))
            s->tensors[n++] = s->tensors[i];
    s->count = n;
}

/* Orders tensors by object, then by step, so that the names of one object are together. */
static int by_object(const void *a, const void *b)
{
    const struct gcb_tensor *x = *(struct gcb_tensor *const *)a,
                            *y = *(struct gcb_tensor *const *)b;

    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->object != y->object)
        return x->object < y->object ? -1 : 1;
    return (x->step > y->step) - (x->step < y->step);
}

/*
 * Marks names of one object that say less of step and worker than another name of the object. Each
 * name is a tensor of the list. The array from `begin` to before `end` has all names of the object,
 * sorted by step; alias[i] is the mark of tensor i. A name is marked
 *   - if it has a step but no worker, and another name in the same step has a worker;
 *   - if it has a worker but no step, and another name has both;
 *   - if it has neither, and another name has a step or a worker.
 */
static void mark_aliases(bool *alias, const struct gcb_source *s, struct gcb_tensor **begin,
                         struct gcb_tensor **end)
{
    bool steps = false, workers = false, both = false; /* some name has a step; a worker; both */

    for (struct gcb_tensor **t = begin; t < end; t++) {
        steps |= (*t)->has_step;
        workers |= (*t)->has_worker;
        both |= (*t)->has_step && (*t)->has_worker;
    }
    for (struct gcb_tensor **t = begin, **next; t < end; t = next) {
        bool here = false; /* a name in this step has a worker */

        for (next = t; next < end && (*next)->step == (*t)->step; next++)
            here |= (*next)->has_step && (*next)->has_worker;
        for (; t < next; t++) {
            bool *mark = &alias[*t - s->tensors];

            if ((*t)->has_step)
                *mark = here && !(*t)->has_worker;
            else
                *mark = (*t)->has_worker ? both : steps || workers;
        }
    }
}

/* Drops the tensors that mark_aliases marks. Otherwise data outside the groups of steps, to which
 * the steps link, would count as another step. */
static void drop_aliases(struct gcb_source *s)
{
    struct gcb_tensor **sorted = gcb_must_array(s->count, sizeof(*sorted));
    bool *alias = gcb_must_zero(s->count, sizeof(*alias));
    size_t n = 0;

    for (size_t i = 0; i < s->count; i++)
        sorted[i] = &s->tensors[i];
    qsort(sorted, s->count, sizeof(*sorted), by_object);
    for (size_t i = 0, end; i < s->count; i = end) {
        for (end = i + 1; end < s->count && sorted[end]->file == sorted[i]->file &&
                          sorted[end]->object == sorted[i]->object;
             end++)
            continue;
        if (end - i > 1)
            mark_aliases(alias, s, sorted + i, sorted + end);
    }
    for (size_t i = 0; i < s->count; i++) {
        const struct gcb_tensor *t = &s->tensors[i];

        if (alias[i])
            gcb_source_add_remark(s, GCB_REMARK_ALIASES, 1, t->file, t->dataset);
        else
            s->tensors[n++] = *t;
    }
    s->count = n;
    gcb_free(sorted);
    gcb_free(alias);
}

/* Adds remarks that the elements of fp8 tensors count as larger types. */
static void add_fp8_remarks(struct gcb_source *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->tensors[i].element == GCB_ELEMENT_E4M3 || s->tensors[i].element == GCB_ELEMENT_E5M2)
            gcb_source_add_remark(s, s->tensors[i].scale ? GCB_REMARK_SCALED : GCB_REMARK_FP8, 1,
                                  s->tensors[i].file, s->tensors[i].dataset);
}

/* 40 bytes are enough for ": no float data: ", " and the other files" and a terminator */
_Static_assert(GCB_REMARK_TEXT <= GCB_DIAG_TEXT - 40, "a remark fits into a message");

/* Fails because no file has float data. The message names `file`, adds `more`, and says what was
 * left out, or how to restore the tensors of a file of messages. */
static int fail_no_data(const struct gcb_source *s, const char *file, const char *more,
                        struct gcb_diag *diag)
{
    char why[GCB_REMARK_TEXT] = "", shown[112];
    size_t room;

    if (s->remarks[GCB_REMARK_MESSAGES].count)
        return gcb_invalid(
            diag, "%s%s: a file of messages; restore its tensors with `gcbench decompress`",
            gcb_escape(shown, sizeof(shown), file), more);
    for (int kind = 0; kind <= GCB_REMARK_UNREADABLE; kind++) /* the kinds that are left out */
        if (gcb_source_remark(why, s, (enum gcb_remark)kind))
            break;
    /* a long name is cut, because the remark ends with what the user can do */
    room = GCB_DIAG_TEXT - strlen(": no float data: ") - strlen(more) - strlen(why);
    return gcb_diag_set(diag, GCB_E_CORRUPT, "%s%s: no float data%s%s",
                        gcb_escape(shown, room < sizeof(shown) ? room : sizeof(shown), file), more,
                        why[0] ? ": " : "", why);
}

/* Fails if the files have no tensor, if no tensor is selected, or if a step or worker that was
 * asked for by its number is absent. */
static int check_selection(const struct gcb_listing *l, struct gcb_diag *diag)
{
    const struct gcb_source_config *config = l->config;
    const char *more = config->file_count > 1 ? " and the other files" : "";
    char file[112];
    uint64_t n;

    gcb_escape(file, sizeof(file), config->files[0]);
    if (l->seen == 0)
        return fail_no_data(l->source, config->files[0], more, diag);
    if (gcb_numbers_missed(&l->steps, &n))
        return gcb_invalid(diag, "%s%s: no step %" PRIu64 "; the last is %" PRIu64, file, more, n,
                           l->last_step);
    if (gcb_numbers_missed(&l->workers, &n))
        return gcb_invalid(diag, "%s%s: no worker %" PRIu64, file, more, n);
    if (l->source->count == 0)
        return gcb_invalid(
            diag,
            "%s%s: the selection leaves none of %" PRIu64
            " tensors; `gcbench inspect` lists their names%s",
            file, more, l->seen,
            config->selection.include_count ? ", and a pattern must match the whole name" : "");
    return 0;
}

/* Completes the list after the last file: resolves "last", checks the selection, drops aliases,
 * adds the remarks on fp8, refuses repeated tensors, and orders the list. */
static int finish_list(struct gcb_listing *l, struct gcb_diag *diag)
{
    struct gcb_source *s = l->source;
    int err;

    drop_unselected_steps(l);
    err = check_selection(l, diag);
    if (err)
        return err;
    drop_aliases(s);
    add_fp8_remarks(s);
    qsort(s->tensors, s->count, sizeof(*s->tensors), by_place_and_name);
    err = check_repeats(s, diag);
    if (!err && l->config->order == GCB_ORDER_RECORDED)
        qsort(s->tensors, s->count, sizeof(*s->tensors), by_place_and_index);
    return err;
}

/* ---- opening files and folders ---- */

enum {
    MOST_ENTRIES = 1 << 20, /* most entries of a folder that the user names; folders count twice */
    DEEPEST = 64,           /* most levels of entries below that folder */
};

static int by_entry(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* True if the name has an ending of a reader, such as ".h5". */
static bool is_known(const char *name, size_t length)
{
    for (int i = 0; gcb_readers[i]; i++)
        for (const char *const *end = gcb_readers[i]->endings; *end; end++)
            if (length > strlen(*end) && strcasecmp(name + length - strlen(*end), *end) == 0)
                return true;
    return false;
}

/* Lists the file of an entry. A link, or a file of another kind, becomes a remark. Folders are
 * skipped. Fails if the file or folder of the entry cannot be read. */
static int add_entry(struct gcb_listing *l, const char *folder, const FTSENT *e,
                     struct gcb_diag *diag)
{
    const char *path = e->fts_path;

    if (e->fts_info == FTS_F && is_known(e->fts_name, e->fts_namelen))
        return gcb_listing_add(l, path, diag);
    if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS)
        return gcb_diag_set(diag, GCB_E_IO, "%s: %s", gcb_show(path).text, strerror(e->fts_errno));
    if (e->fts_info == FTS_D || e->fts_info == FTS_DP)
        return 0;
    path += strlen(folder);
    path += strspn(path, "/");
    path = gcb_strings_add(&l->source->strings, path, strlen(path));
    gcb_source_add_remark(l->source, GCB_REMARK_FILES, 1, folder, path);
    return 0;
}

/* Lists the files in a folder, which may be a symbolic link, and in its folders, in the order of
 * their names. Follows no symbolic links in it, and leaves out names that begin with a dot. */
static int add_folder(struct gcb_listing *l, const char *folder, struct gcb_diag *diag)
{
    char *const roots[] = {(char *)(uintptr_t)folder, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, by_entry);
    unsigned entries = 0;
    FTSENT *e;
    int err = tree ? 0 : gcb_diag_nomem(diag, GCB_READ_PATH, "a folder");

    while (!err && (e = fts_read(tree))) {
        if (++entries > MOST_ENTRIES || e->fts_level > DEEPEST)
            err = gcb_invalid(diag, "%s: more than %d files, or folders in %d others",
                              gcb_show(folder).text, MOST_ENTRIES, DEEPEST);
        else if (e->fts_level > 0 && e->fts_name[0] == '.')
            fts_set(tree, e, FTS_SKIP);
        else
            err = add_entry(l, folder, e, diag);
    }
    if (tree)
        fts_close(tree);
    return err;
}

static bool is_folder(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

int gcb_source_open(struct gcb_source **out, const struct gcb_source_config *config,
                    struct gcb_diag *diag)
{
    const struct gcb_tensor_selection *selection = &config->selection;
    struct gcb_source *s = gcb_must_zero(1, sizeof(*s));
    struct gcb_listing l = {.source = s, .config = config};
    int err;

    s->met = gcb_must_zero(selection->include_count + selection->exclude_count + 1, sizeof(bool));
    if (config->file_count == 0)
        err = gcb_invalid(diag, "no file given");
    else
        err = gcb_numbers_parse(&l.steps, selection->steps, "--step", true, diag);
    if (!err)
        err = gcb_numbers_parse(&l.workers, selection->workers, "--worker", false, diag);
    for (size_t i = 0; i < config->file_count && !err; i++)
        err = is_folder(config->files[i]) ? add_folder(&l, config->files[i], diag)
                                          : gcb_listing_add(&l, config->files[i], diag);
    if (!err)
        err = finish_list(&l, diag);
    gcb_numbers_fini(&l.steps);
    gcb_numbers_fini(&l.workers);
    if (err)
        gcb_source_close(s);
    else
        *out = s;
    return err;
}
