#include "src/tool/dump/source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/cpu_flags.h"
#include "src/lib/base/text.h"
#include "src/tool/dump/source_private.h"

enum { STRING_BLOCK = 64 << 10 };

const char *gcb_strings_add(struct gcb_strings *s, const char *text, size_t n)
{
    const size_t block = n + 1 > STRING_BLOCK ? n + 1 : STRING_BLOCK;
    char *at;

    if (s->left < n + 1) {
        if (gcb_grow(&s->blocks, &s->cap, s->count, sizeof(*s->blocks)) != 0)
            return NULL;
        s->blocks[s->count] = gcb_alloc(block);
        if (!s->blocks[s->count])
            return NULL;
        s->count++;
        s->left = block;
    }
    at = s->blocks[s->count - 1] + (block - s->left);
    s->left -= n + 1;
    memcpy(at, text, n);
    at[n] = '\0';
    return at;
}

void gcb_strings_fini(struct gcb_strings *s)
{
    for (size_t i = 0; i < s->count; i++)
        gcb_free(s->blocks[i]);
    gcb_free(s->blocks);
    *s = (struct gcb_strings){0};
}

/* '/' before every other byte, so that paths compare component by component. */
static int path_order(const char *a, const char *b)
{
    unsigned x, y;

    while (*a && *a == *b) {
        a++;
        b++;
    }
    x = *a == '/' ? 1 : *a ? (unsigned char)*a + 1u : 0;
    y = *b == '/' ? 1 : *b ? (unsigned char)*b + 1u : 0;
    return (x > y) - (x < y);
}

static int by_place(const struct gcb_tensor *a, const struct gcb_tensor *b)
{
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return (a->worker > b->worker) - (a->worker < b->worker);
}

static int by_name(const void *a, const void *b)
{
    const struct gcb_tensor *x = a, *y = b;
    const int place = by_place(x, y);

    return place ? place : path_order(x->path, y->path);
}

static int by_index(const void *a, const void *b)
{
    const struct gcb_tensor *x = a, *y = b;
    const int place = by_place(x, y);

    if (place)
        return place;
    if (x->index == y->index)
        return path_order(x->path, y->path);
    if (x->index < 0 || y->index < 0) /* those without an index come last */
        return x->index < 0 ? 1 : -1;
    return x->index < y->index ? -1 : 1;
}

/* In order of names, equal tensors stand side by side. */
static int check_repeats(const struct gcb_source *s, struct gcb_diag *diag)
{
    char f0[88], d0[100], f1[88], d1[100];

    for (size_t i = 1; i < s->count; i++) {
        const struct gcb_tensor *a = &s->tensors[i - 1], *b = a + 1;

        if (by_name(a, b) != 0)
            continue;
        return gcb_diag_set(
            diag, GCB_E_INVALID,
            "%s: %s and %s: %s are the same tensor of step %" PRIu64 ", worker %" PRIu32,
            gcb_escape(f0, sizeof(f0), a->file), gcb_escape(d0, sizeof(d0), a->dataset),
            gcb_escape(f1, sizeof(f1), b->file), gcb_escape(d1, sizeof(d1), b->dataset), a->step,
            a->worker);
    }
    return 0;
}

/* Drops what was kept only because the last step was not yet known. */
static void resolve_last(struct gcb_listing *l)
{
    struct gcb_source *s = l->source;
    size_t n = 0;

    if (!l->steps.last)
        return;
    for (size_t i = 0; i < s->count; i++)
        if (s->tensors[i].step == l->last_step ||
            gcb_numbers_accepts(&l->steps, s->tensors[i].step))
            s->tensors[n++] = s->tensors[i];
    s->count = n;
}

/* Says why nothing is left, or that a number asked for by itself is not there. */
static int check_selection(const struct gcb_listing *l, const struct gcb_source_config *config,
                           struct gcb_diag *diag)
{
    const char *more = config->file_count > 1 ? " and the other files" : "";
    char file[112];
    uint64_t n;

    gcb_escape(file, sizeof(file), config->files[0]);
    if (l->seen == 0 && gcb_source_note(l->source, "gcbench_container"))
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "%s%s: a file of messages; `gcbench decompress` restores its tensors",
                            file, more);
    if (l->seen == 0)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "%s%s: no float data (%zu datasets of other types)", file, more,
                            l->source->skipped);
    if (gcb_numbers_missed(&l->steps, &n))
        return gcb_diag_set(diag, GCB_E_INVALID, "%s%s: no step %" PRIu64 "; the last is %" PRIu64,
                            file, more, n, l->last_step);
    if (gcb_numbers_missed(&l->workers, &n))
        return gcb_diag_set(diag, GCB_E_INVALID, "%s%s: no worker %" PRIu64, file, more, n);
    if (l->source->count == 0)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "%s%s: the selection leaves none of %" PRIu64
                            " tensors; `gcbench inspect` lists them%s",
                            file, more, l->seen,
                            config->selection.include_count ? ", and a pattern is of the whole name"
                                                            : "");
    return 0;
}

static int list_files(struct gcb_listing *l, const struct gcb_source_config *config,
                      struct gcb_diag *diag)
{
    for (size_t i = 0; i < config->file_count; i++) {
        const char *name =
            gcb_strings_add(&l->source->strings, config->files[i], strlen(config->files[i]));
        const int err =
            name ? gcb_source_list(l, name, diag) : gcb_diag_nomem(diag, 0, "a file's name");

        if (err)
            return err;
    }
    return 0;
}

/* After all files are listed: the selection's rest, repeats, order. */
static int settle(struct gcb_listing *l, const struct gcb_source_config *config,
                  struct gcb_diag *diag)
{
    struct gcb_source *s = l->source;
    int err;

    resolve_last(l);
    err = check_selection(l, config, diag);
    if (err)
        return err;
    qsort(s->tensors, s->count, sizeof(*s->tensors), by_name);
    err = check_repeats(s, diag);
    if (!err && config->order == GCB_ORDER_RECORDED)
        qsort(s->tensors, s->count, sizeof(*s->tensors), by_index);
    return err;
}

int gcb_source_open(struct gcb_source **out, const struct gcb_source_config *config,
                    struct gcb_diag *diag)
{
    const struct gcb_tensor_selection *selection = &config->selection;
    struct gcb_source *s = gcb_alloc_zero(1, sizeof(*s));
    struct gcb_listing l = {.source = s, .selection = selection};
    int err;

    if (!s) {
        err = gcb_diag_nomem(diag, sizeof(*s), "a source");
        goto out;
    }
    if (config->file_count == 0) {
        err = gcb_diag_set(diag, GCB_E_INVALID, "no file to read");
        goto out;
    }
    s->met = gcb_alloc_zero(selection->include_count + selection->exclude_count + 1, sizeof(bool));
    if (!s->met) {
        err = gcb_diag_nomem(diag, 0, "a selection");
        goto out;
    }
    s->limits = (struct gcb_h5limits){config->max_bytes, config->allow_external};
    gcb_convert_init(&s->convert, gcb_cpu_detect());
    err = gcb_numbers_parse(&l.steps, selection->steps, "--step", true, diag);
    if (!err)
        err = gcb_numbers_parse(&l.workers, selection->workers, "--worker", false, diag);
    if (!err)
        err = list_files(&l, config, diag);
    if (!err)
        err = settle(&l, config, diag);
    if (err)
        goto out;
    *out = s;
    s = NULL;
out:
    gcb_numbers_fini(&l.steps);
    gcb_numbers_fini(&l.workers);
    gcb_source_close(s);
    return err;
}

void gcb_source_close(struct gcb_source *source)
{
    if (!source)
        return;
    gcb_h5file_close(&source->file);
    gcb_free(source->tensors);
    gcb_free(source->met);
    gcb_free(source->values);
    gcb_free(source->notes);
    gcb_free(source->synthetic);
    gcb_strings_fini(&source->strings);
    gcb_free(source);
}

int gcb_source_use(struct gcb_source *source, const char *name, struct gcb_diag *diag)
{
    int err;

    if (source->file_name == name)
        return 0;
    gcb_h5file_close(&source->file);
    source->file_name = NULL;
    err = gcb_h5file_open(&source->file, name, &source->limits, diag);
    if (!err)
        source->file_name = name;
    return err;
}

size_t gcb_source_count(const struct gcb_source *source)
{
    return source->count;
}

const struct gcb_tensor *gcb_source_tensor(const struct gcb_source *source, size_t i)
{
    return &source->tensors[i];
}

bool gcb_source_met(const struct gcb_source *source, size_t i)
{
    return source->met[i];
}

bool gcb_source_matches(const struct gcb_source *source, const char *glob)
{
    for (size_t i = 0; i < source->count; i++)
        if (gcb_glob(glob, source->tensors[i].path))
            return true;
    return false;
}

size_t gcb_source_skipped(const struct gcb_source *source)
{
    return source->skipped;
}

bool gcb_source_step_value(const struct gcb_source *source, uint64_t step, const char *name,
                           double *value)
{
    for (size_t i = 0; i < source->value_count; i++)
        if (source->values[i].step == step && strcmp(source->values[i].name, name) == 0) {
            *value = source->values[i].value;
            return true;
        }
    return false;
}

const char *gcb_source_note(const struct gcb_source *source, const char *name)
{
    for (size_t i = 0; i < source->note_count; i++)
        if (strcmp(source->notes[i].name, name) == 0)
            return source->notes[i].text;
    return NULL;
}
