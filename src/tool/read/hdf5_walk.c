#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "src/lib/base/alloc.h"
#include "src/tool/read/hdf5.h"

/* An object, by the file that it is in and its address there. */
struct key {
    uint64_t file, address;
};

/* The place of a group: the link by which the fewest groups lead to it. All other links to it are
 * links to another place. */
struct place {
    struct key key;
    uint64_t link; /* hash_link of it; if two links have the same, both are the place */
};

struct walk {
    const struct gcb_h5file *file;
    const struct gcb_h5visitor *visitor;
    struct gcb_diag *diag;
    void *places;  /* of the groups that were found so far: a balanced tree (tsearch) */
    size_t count;  /* of `places` */
    bool mapped;   /* `places` has all groups */
    size_t listed; /* links of the groups that were mapped; some groups may share a list */
    char path[GCB_READ_PATH + 1];
    size_t length;                  /* length of `path`, which is "" at the root */
    struct key above[GCB_H5_DEPTH]; /* the groups of `path`, from the root on */
    unsigned depth;                 /* number of groups in `above` */
    uint64_t linked;                /* bit i: component i of `path` is a link to a group */
    unsigned links;                 /* links so far */
    unsigned own;                   /* links that are not below a link to another place */
    uint64_t repeats;               /* the other links, each with a weight */
};

static int by_key(const void *a, const void *b)
{
    const struct key *x = a, *y = b;

    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return (x->address > y->address) - (x->address < y->address);
}

/* Finds a group, or adds it with this link. NULL: no memory. A file chooses its addresses, but no
 * order of them makes this slow, because the tree is balanced. */
static const struct place *add_place(struct walk *w, struct key key, uint64_t link)
{
    struct place *place = gcb_alloc(sizeof(*place)), **found;

    if (!place)
        return NULL;
    *place = (struct place){key, link};
    found = tsearch(place, &w->places, by_key);
    if (found && *found == place)
        w->count++;
    else
        gcb_free(place);
    return found ? *found : NULL;
}

static void forget_places(struct walk *w)
{
    tdestroy(w->places, gcb_free);
    w->places = NULL;
    w->count = 0;
}

/* Sets a message with the current path and the cause `why`. If `why` is NULL, HDF5 says the cause.
 * Returns `status`. */
static int fail(struct walk *w, int status, const char *why)
{
    if (status == GCB_E_NOMEM)
        return gcb_diag_nomem(w->diag, w->count * sizeof(struct place), "the objects of a file");
    if (why)
        return gcb_infile_fail(w->file->in, w->length ? w->path : "/", status, w->diag, "%s", why);
    return gcb_h5file_damaged(w->file->in, w->length ? w->path : "/", "damaged", w->diag);
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

    if (!copy || gcb_grow(&l->all, &l->cap, l->count, sizeof(*l->all)) != 0) {
        gcb_free(copy);
        l->no_memory = true;
        return -1;
    }
    l->all[l->count++] = (struct link){copy, info->type};
    return l->count > GCB_READ_OBJECTS;
}

static int by_name(const void *a, const void *b)
{
    const struct link *x = a, *y = b;

    return strcmp(x->name, y->name);
}

/*
 * Lists the links of the group at w->path and sorts them bytewise. HDF5 keeps the links of a small
 * new-style group in the group's header and makes a table to iterate over them. If a link does not
 * decode, HDF5 1.10.8 frees table entries that it has not filled yet. So this first searches for
 * one name, which decodes all links without a table. And HDF5 does not sort, because that always
 * makes the table.
 */
static int list_links(struct walk *w, hid_t group, struct links *l)
{
    if (H5Lexists(group, "gcbench: no such link", H5P_DEFAULT) < 0 ||
        (H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, on_link, l) < 0 && !l->no_memory))
        return fail(w, GCB_E_CORRUPT, NULL);
    if (l->no_memory)
        return gcb_diag_nomem(w->diag, l->count * sizeof(*l->all), "the links of a group");
    if (l->count)
        qsort(l->all, l->count, sizeof(*l->all), by_name);
    return 0;
}

/*
 * A failure at the current path. If nothing there is wanted, the object is left out and the walk
 * goes on. `group` says that more than one dataset may be below the path.
 */
static int fail_unless_unwanted(struct walk *w, int err, bool group)
{
    const struct gcb_h5visitor *v = w->visitor;

    if (!v->wanted || w->length == 0 || err == GCB_E_NOMEM || v->wanted(v->ctx, w->path, group))
        return err;
    if (w->diag)
        *w->diag = (struct gcb_diag){0};
    return v->left_out(v->ctx, GCB_REMARK_UNREADABLE, w->path, w->diag);
}

static int leave_out(struct walk *w, enum gcb_remark why)
{
    return w->visitor->left_out ? w->visitor->left_out(w->visitor->ctx, why, w->path, w->diag) : 0;
}

static int visit_member(struct walk *w, hid_t at, const struct link *link);

/* Visits the open group at w->path and then its members. */
static int visit_group(struct walk *w, hid_t group, struct key key)
{
    struct links links = {0};
    int err = 0;

    if (!gcb_h5attr_sound(group))
        err = fail(w, GCB_E_CORRUPT, "its attributes are damaged");
    if (!err)
        err = list_links(w, group, &links);
    if (err)
        err = fail_unless_unwanted(w, err, true);
    else if (w->visitor->group)
        err = w->visitor->group(w->visitor->ctx, group, w->length ? w->path : "/", w->diag);
    w->above[w->depth++] = key;
    for (size_t i = 0; i < links.count && !err; i++)
        err = visit_member(w, group, &links.all[i]);
    w->depth--;
    links_fini(&links);
    return err;
}

/* How many components of the path are links to another place. */
static unsigned count_links(const struct walk *w)
{
    return (unsigned)__builtin_popcountll(w->linked);
}

/* A hash of the link `name` in a group. */
static uint64_t hash_link(struct key group, const char *name)
{
    return XXH3_64bits_withSeed(name, strlen(name), group.address ^ group.file << 48);
}

static int too_many_links(struct walk *w)
{
    return fail(w, GCB_E_CORRUPT, "the file has more than 4194304 links");
}

/* Appends the groups that are members of an open group to the queue, unless they are already in
 * w->places. */
static int map_members(struct walk *w, hid_t group, struct key key, struct key **queue,
                       size_t *count, size_t *cap)
{
    struct links links = {0};
    int err = list_links(w, group, &links);
    H5O_info_t info;

    w->listed += links.count;
    for (size_t i = 0; i < links.count && !err; i++) {
        const char *name = links.all[i].name;
        struct key member;
        const size_t before = w->count;

        if (links.all[i].type != H5L_TYPE_HARD || strchr(name, '/') || !strcmp(name, ".") ||
            H5Oget_info_by_name2(group, name, &info, H5O_INFO_BASIC, w->file->access) < 0 ||
            info.type != H5O_TYPE_GROUP)
            continue;
        member = (struct key){info.fileno, info.addr};
        if (!add_place(w, member, hash_link(key, name)) ||
            gcb_grow(queue, cap, *count, sizeof(**queue)) != 0)
            err = GCB_E_NOMEM;
        else if (w->count > before)
            (*queue)[(*count)++] = member;
    }
    links_fini(&links);
    return err;
}

/*
 * Finds the place of each group of the file, which is that of the shortest path. Only a file in
 * which a group has several names needs this. Groups that cannot be read are left to the walk.
 */
static int map_groups(struct walk *w)
{
    struct key *queue = NULL;
    size_t count = 0, cap = 0;
    int err = gcb_grow(&queue, &cap, 0, sizeof(*queue));

    forget_places(w);
    w->mapped = true;
    if (!err)
        queue[count++] = w->above[0];
    if (!add_place(w, w->above[0], 0))
        err = GCB_E_NOMEM;
    for (size_t i = 0; i < count && err != GCB_E_NOMEM && w->listed <= GCB_READ_OBJECTS; i++) {
        const struct key key = queue[i];
        const hid_t group = H5Oopen_by_addr(w->file->id, key.address);

        gcb_infile_trace(w->file->in, NULL);
        err = group < 0 ? 0 : map_members(w, group, key, &queue, &count, &cap);
        H5Oclose(group);
    }
    gcb_free(queue);
    if (err == GCB_E_NOMEM)
        return fail(w, err, NULL);
    if (w->listed > GCB_READ_OBJECTS)
        return too_many_links(w);
    if (w->diag)
        *w->diag = (struct gcb_diag){0};
    return 0;
}

/* Sets *linked if `link`, in the group that is visited at the moment, is a link to another place.
 */
static int find_linked(struct walk *w, const struct link *link, const H5O_info_t *info,
                       bool *linked)
{
    const struct key key = {info->fileno, info->addr};
    const uint64_t hash = hash_link(w->above[w->depth - 1], link->name);
    const struct place *place;
    struct place **found;

    *linked = link->type != H5L_TYPE_HARD;
    if (*linked || key.file != w->above[0].file)
        return 0;
    place = add_place(w, key, hash);
    if (!place)
        return fail(w, GCB_E_NOMEM, NULL);
    if (!w->mapped && (info->rc > 1 || place->link != hash)) {
        const int err = map_groups(w);

        if (err)
            return err;
        found = tfind(&key, &w->places, by_key);
        place = found ? *found : NULL;
    }
    *linked = !place || place->link != hash;
    return 0;
}

/* Visits the group that `link` leads to, unless it is a group of the path. */
static int enter_group(struct walk *w, hid_t at, const struct link *link, const H5O_info_t *info)
{
    const struct key key = {info->fileno, info->addr};
    const uint64_t before = w->linked;
    bool linked;
    hid_t group;
    int err;

    for (unsigned i = 0; i < w->depth; i++)
        if (by_key(&w->above[i], &key) == 0)
            return leave_out(w, GCB_REMARK_LINKS);
    if (w->depth >= GCB_H5_DEPTH)
        return leave_out(w, GCB_REMARK_DEEP);
    err = find_linked(w, link, info, &linked);
    if (err)
        return err;
    if (linked && count_links(w) == GCB_H5_LINKS)
        return leave_out(w, GCB_REMARK_LINKS);
    w->linked |= (uint64_t)linked << (w->depth - 1);
    group = H5Oopen(at, link->name, w->file->access);
    if (group < 0)
        err = fail_unless_unwanted(w, fail(w, GCB_E_CORRUPT, NULL), true);
    else
        err = visit_group(w, group, key);
    w->linked = before;
    H5Gclose(group);
    return err;
}

static int visit_dataset(struct walk *w, hid_t at, const char *name, const H5O_info_t *info)
{
    struct gcb_h5dataset d;
    int err = gcb_h5dataset_open(&d, w->file, at, name, w->path, w->diag);

    d.tensor.linked = w->linked;
    d.tensor.object = info->addr ^ (uint64_t)info->fileno << 48;
    if (err)
        err = fail_unless_unwanted(w, err, false);
    else
        err = w->visitor->dataset(w->visitor->ctx, &d, w->path, w->diag);
    gcb_h5dataset_close(&d);
    return err;
}

/* Follows a hard or soft link, or an external link that is allowed. */
static int follow(struct walk *w, hid_t at, const struct link *link)
{
    H5O_info_t info;

    if (H5Oget_info_by_name2(at, link->name, &info, H5O_INFO_BASIC, w->file->access) < 0) {
        if (link->type == H5L_TYPE_SOFT)
            return leave_out(w, GCB_REMARK_LINKS);
        return fail_unless_unwanted(w,
                                    link->type == H5L_TYPE_EXTERNAL
                                        ? fail(w, GCB_E_IO, "its external link leads nowhere")
                                        : fail(w, GCB_E_CORRUPT, NULL),
                                    true);
    }
    if (info.type == H5O_TYPE_GROUP)
        return enter_group(w, at, link, &info);
    if (info.type == H5O_TYPE_DATASET)
        return visit_dataset(w, at, link->name, &info);
    return 0; /* a named datatype */
}

/* Checks and counts a link of the group at w->path. */
static int check_name(struct walk *w, const char *name)
{
    const size_t n = strlen(name);

    if (++w->links > GCB_READ_OBJECTS)
        return too_many_links(w);
    /* Links within links can make the number of paths grow as a power of 2, so deeper ones weigh
     * more. */
    if (w->linked)
        w->repeats += UINT64_C(1) << 2 * (count_links(w) - 1);
    else
        w->own++;
    if (w->repeats > GCB_H5_REPEATS + 16 * (uint64_t)w->own)
        return fail(w, GCB_E_CORRUPT, "links lead to the same groups in too many ways");
    /* HDF5 would read these names as paths */
    if (n == 0 || strcmp(name, ".") == 0 || strchr(name, '/'))
        return fail(w, GCB_E_CORRUPT,
                    "a link in it has an impossible name (empty, '.', or with '/')");
    if (n > GCB_READ_NAME || w->length + 1 + n > GCB_READ_PATH)
        return fail(w, GCB_E_CORRUPT,
                    "a name in it is longer than 1024 bytes, or its path longer than 4096");
    return 0;
}

static int visit_link(struct walk *w, hid_t at, const struct link *link)
{
    if (link->type == H5L_TYPE_SOFT || link->type == H5L_TYPE_HARD)
        return follow(w, at, link);
    if (link->type != H5L_TYPE_EXTERNAL)
        return fail_unless_unwanted(
            w, fail(w, GCB_E_UNSUPPORTED, "a user-defined link, which cannot be followed"), true);
    if (!w->file->in->limits.allow_external)
        return fail_unless_unwanted(
            w, fail(w, GCB_E_UNSUPPORTED, "a link to another file; --allow-external follows it"),
            true);
    return follow(w, at, link);
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
    gcb_infile_trace(w->file->in, w->path);
    err = visit_link(w, at, link);
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
    err = visit_group(w, root, (struct key){info.fileno, info.addr});
out:
    if (w)
        forget_places(w);
    H5Oclose(root);
    gcb_free(w);
    return err;
}
