#include "src/tool/hdf5/h5walk.h"

#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/hdf5/h5attr.h"

/* Set of visited objects: a hash table with open addressing, at most half full. */
struct seen_key {
    uint64_t file, address;
};

struct seen {
    struct seen_key *slots; /* an empty slot has file 0 and address 0, which no object has */
    size_t size;            /* a power of two, or 0 */
    size_t count;
};

struct walk {
    const struct gcb_h5file *file;
    const struct gcb_h5visitor *visitor;
    struct gcb_diag *diag;
    struct seen seen;
    char path[GCB_H5_PATH + 1];
    size_t length; /* length of `path`, which is "" at the root */
    unsigned depth;
    unsigned objects;
};

static struct seen_key *seen_slot(const struct seen *s, struct seen_key key)
{
    uint64_t h = (key.address ^ key.file << 48) * UINT64_C(0x9e3779b97f4a7c15);

    for (;; h += UINT64_C(1) << 32) {
        struct seen_key *slot = &s->slots[h >> 32 & (s->size - 1)];

        if ((slot->file == key.file && slot->address == key.address) ||
            (slot->file == 0 && slot->address == 0))
            return slot;
    }
}

static int seen_widen(struct seen *s)
{
    struct seen bigger = {.size = s->size ? s->size * 2 : 64, .count = s->count};

    bigger.slots = gcb_alloc_zero(bigger.size, sizeof(*bigger.slots));
    if (!bigger.slots)
        return GCB_E_NOMEM;
    for (size_t i = 0; i < s->size; i++)
        if (s->slots[i].file || s->slots[i].address)
            *seen_slot(&bigger, s->slots[i]) = s->slots[i];
    gcb_free(s->slots);
    *s = bigger;
    return 0;
}

/* Adds an object to the set. Returns 1 if it is new, 0 if it is already in the set, or GCB_E_NOMEM. */
static int seen_add(struct seen *s, const H5O_info_t *info)
{
    const struct seen_key key = {info->fileno, info->addr};
    struct seen_key *slot;

    if (s->count >= s->size / 2 && seen_widen(s) != 0)
        return GCB_E_NOMEM;
    slot = seen_slot(s, key);
    if (slot->file == key.file && slot->address == key.address)
        return 0;
    *slot = key;
    s->count++;
    return 1;
}

/* Sets a message with the current path and the cause `why`. If `why` is NULL, HDF5 says the cause. Returns `status`. */
static int fail(struct walk *w, int status, const char *why)
{
    char cause[160];

    if (status == GCB_E_NOMEM)
        return gcb_diag_nomem(w->diag, w->seen.size * 2 * sizeof(struct seen_key),
                              "the objects of a file");
    if (why)
        return gcb_h5file_fail(w->file, w->length ? w->path : "/", status, w->diag, "%s", why);
    gcb_h5file_cause(cause, sizeof(cause));
    return gcb_h5file_fail(w->file, w->length ? w->path : "/", status, w->diag, "damaged (%s)",
                           cause);
}

/* The links of a group, in the order in which HDF5 finds them. */
struct links {
    struct link {
        char *name;
        H5L_type_t type;
    } * all;
    size_t count, cap;
    bool no_memory;
};

static void links_fini(struct links *l)
{
    for (size_t i = 0; i < l->count; i++)
        gcb_free(l->all[i].name);
    gcb_free(l->all);
}

static herr_t on_link(hid_t at, const char *name, const H5L_info_t *info, void *ctx)
{
    struct links *l = ctx;
    char *copy = gcb_strdup(name);

    (void)at;
    if (!copy || gcb_grow(&l->all, &l->cap, l->count, sizeof(*l->all)) != 0) {
        gcb_free(copy);
        l->no_memory = true;
        return -1;
    }
    l->all[l->count++] = (struct link){copy, info->type};
    return l->count > GCB_H5_OBJECTS;
}

static int by_name(const void *a, const void *b)
{
    const struct link *x = a, *y = b;

    return strcmp(x->name, y->name);
}

/*
 * Can HDF5 decode all links of the group? HDF5 keeps the links of a small new-style group in the group's header and
 * makes a table to iterate over them. If a link does not decode, HDF5 1.10.8 frees table entries that it has not
 * filled yet. A search for one name decodes all links without a table.
 */
static bool decodes(hid_t group)
{
    return H5Lexists(group, "gcbench: no such link", H5P_DEFAULT) >= 0;
}

/*
 * Lists the links of the group at w->path and sorts them bytewise. If HDF5 sorted them, it would always make the table that
 * `decodes` warns of. In native order it makes that table only for small groups of the new style.
 */
static int list_links(struct walk *w, hid_t group, struct links *l)
{
    if (!decodes(group) ||
        (H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, on_link, l) < 0 && !l->no_memory))
        return fail(w, GCB_E_CORRUPT, NULL);
    if (l->no_memory)
        return gcb_diag_nomem(w->diag, l->count * sizeof(*l->all), "the links of a group");
    if (l->count)
        qsort(l->all, l->count, sizeof(*l->all), by_name);
    return 0;
}

static int visit_member(struct walk *w, hid_t at, const struct link *link);

/* Visits the open group at w->path and then its members. */
static int visit_group(struct walk *w, hid_t group)
{
    struct links links = {0};
    int err = 0;

    if (w->depth >= GCB_H5_DEPTH)
        return fail(w, GCB_E_CORRUPT, "groups are nested more than 64 deep");
    if (!gcb_h5attr_sound(group))
        return fail(w, GCB_E_CORRUPT, "its attributes are damaged");
    if (w->visitor->group)
        err = w->visitor->group(w->visitor->ctx, group, w->length ? w->path : "/", w->diag);
    if (err)
        return err;
    err = list_links(w, group, &links);
    w->depth++;
    for (size_t i = 0; i < links.count && !err; i++)
        err = visit_member(w, group, &links.all[i]);
    w->depth--;
    links_fini(&links);
    return err;
}

static int visit_object(struct walk *w, hid_t at, const char *name, H5O_type_t type)
{
    struct gcb_h5dataset d;
    hid_t group;
    int err;

    if (type == H5O_TYPE_GROUP) {
        group = H5Oopen(at, name, w->file->access);
        if (group < 0)
            return fail(w, GCB_E_CORRUPT, NULL);
        err = visit_group(w, group);
        H5Gclose(group);
        return err;
    }
    if (type != H5O_TYPE_DATASET) /* the object is a named datatype */
        return 0;
    err = gcb_h5dataset_open(&d, w->file, at, name, w->path, w->diag);
    if (!err)
        err = w->visitor->dataset(w->visitor->ctx, &d, w->path, w->diag);
    gcb_h5dataset_close(&d);
    return err;
}

/* Follows a hard link, or an external link that is allowed. */
static int follow(struct walk *w, hid_t at, const char *name, bool external)
{
    H5O_info_t info;
    int fresh = 1;

    if (H5Oget_info_by_name2(at, name, &info, H5O_INFO_BASIC, w->file->access) < 0) {
        if (external)
            return fail(w, GCB_E_IO, "its external link leads nowhere");
        return fail(w, GCB_E_CORRUPT, NULL);
    }
    /* Always remember groups: the link count in a hostile file may be wrong, and cycles must end. */
    if (info.type == H5O_TYPE_GROUP || info.rc > 1 || external)
        fresh = seen_add(&w->seen, &info);
    if (fresh < 0)
        return fail(w, fresh, NULL);
    return fresh ? visit_object(w, at, name, info.type) : 0;
}

/* Checks and counts a link of the group at w->path. */
static int check_name(struct walk *w, const char *name)
{
    const size_t n = strlen(name);

    if (++w->objects > GCB_H5_OBJECTS)
        return fail(w, GCB_E_CORRUPT, "the file has more than 4194304 links");
    /* HDF5 would read these names as paths */
    if (n == 0 || strcmp(name, ".") == 0 || strchr(name, '/'))
        return fail(w, GCB_E_CORRUPT,
                    "a link in it has an impossible name (empty, '.', or with '/')");
    if (n > GCB_H5_NAME || w->length + 1 + n > GCB_H5_PATH)
        return fail(w, GCB_E_CORRUPT,
                    "a name in it is longer than 1024 bytes, or its path longer than 4096");
    return 0;
}

static int visit_link(struct walk *w, hid_t at, const char *name, H5L_type_t type)
{
    if (type == H5L_TYPE_SOFT)
        return 0;
    if (type == H5L_TYPE_HARD)
        return follow(w, at, name, false);
    if (type != H5L_TYPE_EXTERNAL)
        return fail(w, GCB_E_UNSUPPORTED, "a user-defined link, which cannot be followed");
    if (!w->file->limits.allow_external)
        return fail(w, GCB_E_UNSUPPORTED, "a link to another file; --allow-external follows it");
    return follow(w, at, name, true);
}

static int visit_member(struct walk *w, hid_t at, const struct link *link)
{
    const size_t before = w->length;
    int err = check_name(w, link->name);

    if (err)
        return err;
    w->path[w->length] = '/';
    strcpy(w->path + w->length + 1, link->name);
    w->length += 1 + strlen(link->name);
    gcb_h5file_trace(w->file, w->path);
    err = visit_link(w, at, link->name, link->type);
    w->length = before;
    w->path[before] = '\0';
    return err;
}

int gcb_h5walk(const struct gcb_h5file *file, const struct gcb_h5visitor *visitor,
               struct gcb_diag *diag)
{
    struct walk *w = gcb_alloc_zero(1, sizeof(*w));
    const hid_t root = H5Oopen(file->id, "/", file->access);
    H5O_info_t info;
    int err;

    if (!w) {
        err = gcb_diag_nomem(diag, sizeof(*w), "a list of objects");
        goto out;
    }
    w->file = file;
    w->visitor = visitor;
    w->diag = diag;
    if (root < 0 || H5Oget_info2(root, &info, H5O_INFO_BASIC) < 0) {
        err = fail(w, GCB_E_CORRUPT, NULL);
        goto out;
    }
    err = seen_add(&w->seen, &info);
    err = err < 0 ? fail(w, err, NULL) : visit_group(w, root);
out:
    if (w)
        gcb_free(w->seen.slots);
    if (root > 0)
        H5Oclose(root);
    gcb_free(w);
    return err;
}
