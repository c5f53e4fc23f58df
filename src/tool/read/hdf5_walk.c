#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "src/lib/base/alloc.h"
#include "src/tool/read/hdf5.h"

/* Identifies an object: HDF5's number of the file that has the object, and the address there. */
struct key {
    uint64_t file, address;
};

/* A group that was found, with its main link (hdf5.h). */
struct group {
    struct key key;
    uint64_t main_link; /* hash_link of the main link; a link with this hash counts as main link */
};

struct walk {
    const struct gcb_h5file *file;
    const struct gcb_h5visitor *visitor;
    struct gcb_diag *diag;
    void *groups;  /* the groups that were found so far: a balanced tree of tsearch(3) */
    size_t count;  /* number of groups in `groups` */
    bool mapped;   /* map_groups has found all groups */
    size_t listed; /* number of links that map_groups has listed */
    char path[GCB_READ_PATH + 1];
    size_t length;                  /* length of `path`, which is "" at the root */
    struct key above[GCB_H5_DEPTH]; /* the groups of `path`, from the root on */
    unsigned depth;                 /* number of groups in `above` */
    uint64_t linked;                /* bit i: component i of `path` is an alias link to a group */
    unsigned links;                 /* links visited so far */
    unsigned own;                   /* links visited so far that are not below an alias link */
    uint64_t repeats;               /* weight of the links below an alias link (admit_link) */
};

static int by_key(const void *a, const void *b)
{
    const struct key *x = a, *y = b;

    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return (x->address > y->address) - (x->address < y->address);
}

/* Finds a group, or adds it with `link` as its main link. Returns NULL if memory runs out. A
 * hostile file can choose the addresses, but no order of them makes a balanced tree slow. */
static const struct group *add_group(struct walk *w, struct key key, uint64_t link)
{
    struct group *group = gcb_alloc(sizeof(*group)), **found;

    if (!group)
        return NULL;
    *group = (struct group){key, link};
    found = tsearch(group, &w->groups, by_key);
    if (found && *found == group)
        w->count++;
    else
        gcb_free(group);
    return found ? *found : NULL;
}

static void forget_groups(struct walk *w)
{
    tdestroy(w->groups, gcb_free);
    w->groups = NULL;
    w->count = 0;
}

/* Sets a message with the current path and the cause `why`, or the cause that HDF5 gives if `why`
 * is NULL. Returns `status`. For GCB_E_NOMEM, the message only says that memory ran out. */
static int fail(struct walk *w, int status, const char *why)
{
    if (status == GCB_E_NOMEM)
        return gcb_diag_nomem(w->diag, w->count * sizeof(struct group), "the objects of a file");
    if (why)
        return gcb_infile_fail(w->file->in, w->length ? w->path : "/", status, w->diag, "%s", why);
    return gcb_h5file_damaged(w->file->in, w->length ? w->path : "/", "damaged", w->diag);
}

/* The links of a group: first in the order in which HDF5 finds them, then sorted (list_links). */
struct links {
    struct link {
        char *name;
        H5L_type_t type;
    } * all;
    size_t count, cap;
    bool no_memory; /* memory ran out while the links were listed */
};

static void links_fini(struct links *l)
{
    for (size_t i = 0; i < l->count; i++)
        gcb_free(l->all[i].name);
    gcb_free(l->all);
}

/* Adds a link to the list. Ends the iteration if memory runs out, or after one link more than a
 * file may have; then the walk fails (too_many_links). */
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
 * Lists the links of `group` and sorts them bytewise. HDF5 keeps the links of a small
 * new-style group in the group's header and makes a table to iterate over them. If a link does not
 * decode, HDF5 1.10.8 frees table entries that it has not filled yet. So this function first
 * searches for a name, which decodes all links without a table. The function sorts the links
 * itself, because HDF5 makes that table whenever it sorts. The caller frees the links, also after a
 * failure.
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
 * Handles the failure `err` of the object at the current path. Returns `err` if the object is
 * wanted or, if `below`, an object below it. Also returns `err` for the root, and if memory ran
 * out. Otherwise leaves the object out, so that the walk goes on.
 */
static int fail_if_wanted(struct walk *w, int err, bool below)
{
    const struct gcb_h5visitor *v = w->visitor;

    if (!v->wanted || w->length == 0 || err == GCB_E_NOMEM || v->wanted(v->ctx, w->path, below))
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

/* Visits the members of the open group at w->path. If the group cannot be listed, visits none. */
static int visit_group(struct walk *w, hid_t group, struct key key)
{
    struct links links = {0};
    int err = 0;

    if (!gcb_h5attr_sound(group))
        err = fail(w, GCB_E_CORRUPT, "its attributes are damaged");
    if (!err)
        err = list_links(w, group, &links);
    if (err) {
        links_fini(&links); /* HDF5 may have listed a part of them */
        return fail_if_wanted(w, err, true);
    }
    w->above[w->depth++] = key;
    for (size_t i = 0; i < links.count && !err; i++)
        err = visit_member(w, group, &links.all[i]);
    w->depth--;
    links_fini(&links);
    return err;
}

/* Returns the number of alias links to groups in the path. */
static unsigned count_aliases(const struct walk *w)
{
    return (unsigned)__builtin_popcountll(w->linked);
}

/* Joins file and address to one number. Addresses of real files are below 2^48. */
static uint64_t object_number(struct key key)
{
    return key.address ^ key.file << 48;
}

/* Returns a hash of the link `name` in a group. */
static uint64_t hash_link(struct key group, const char *name)
{
    return XXH3_64bits_withSeed(name, strlen(name), object_number(group));
}

static int too_many_links(struct walk *w)
{
    return fail(w, GCB_E_CORRUPT, "the file has more than 4194304 links");
}

/* Groups whose members map_groups has to look at. */
struct queue {
    struct key *keys;
    size_t count, cap;
};

/* Adds the groups that are members of an open group to w->groups and to the queue, unless they are
 * already in w->groups. Returns GCB_E_NOMEM, or another error if the group cannot be listed. */
static int map_members(struct walk *w, hid_t group, struct key key, struct queue *queue)
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
        if (!add_group(w, member, hash_link(key, name)) ||
            gcb_grow(&queue->keys, &queue->cap, queue->count, sizeof(*queue->keys)) != 0)
            err = GCB_E_NOMEM;
        else if (w->count > before)
            queue->keys[queue->count++] = member;
    }
    links_fini(&links);
    return err;
}

/*
 * Finds the main link of each group of the file by a breadth-first search. Only a file in which a
 * group has several names needs this search. It skips groups that cannot be read, because the walk
 * reports them.
 */
static int map_groups(struct walk *w)
{
    struct queue queue = {0};
    int err = gcb_grow(&queue.keys, &queue.cap, 0, sizeof(*queue.keys));

    forget_groups(w);
    w->mapped = true;
    if (!err)
        queue.keys[queue.count++] = w->above[0];
    if (!add_group(w, w->above[0], 0))
        err = GCB_E_NOMEM;
    for (size_t i = 0; i < queue.count && err != GCB_E_NOMEM && w->listed <= GCB_READ_OBJECTS;
         i++) {
        const struct key key = queue.keys[i];
        const hid_t group = H5Oopen_by_addr(w->file->id, key.address);

        gcb_infile_trace(w->file->in, NULL);
        err = group < 0 ? 0 : map_members(w, group, key, &queue);
        H5Oclose(group);
    }
    gcb_free(queue.keys);
    if (err == GCB_E_NOMEM)
        return fail(w, err, NULL);
    if (w->listed > GCB_READ_OBJECTS)
        return too_many_links(w);
    if (w->diag)
        *w->diag = (struct gcb_diag){0};
    return 0;
}

/* Sets *alias to whether `link` is an alias link. The link is in the last group of w->above, and
 * leads to the group that `info` describes. */
static int find_alias(struct walk *w, const struct link *link, const H5O_info_t *info, bool *alias)
{
    const struct key key = {info->fileno, info->addr};
    const uint64_t hash = hash_link(w->above[w->depth - 1], link->name);
    const struct group *group;
    struct group **found;

    *alias = link->type != H5L_TYPE_HARD;
    if (*alias || key.file != w->above[0].file) /* map_groups maps only the file of the root */
        return 0;
    group = add_group(w, key, hash);
    if (!group)
        return fail(w, GCB_E_NOMEM, NULL);
    if (!w->mapped && (info->rc > 1 || group->main_link != hash)) {
        const int err = map_groups(w);

        if (err)
            return err;
        found = tfind(&key, &w->groups, by_key);
        group = found ? *found : NULL;
    }
    *alias = !group || group->main_link != hash;
    return 0;
}

/* Visits the group to which `link` leads. Leaves out a group that is already in the path or too
 * deep. Also leaves it out if the path has GCB_H5_LINKS alias links and `link` is another. */
static int enter_group(struct walk *w, hid_t at, const struct link *link, const H5O_info_t *info)
{
    const struct key key = {info->fileno, info->addr};
    const uint64_t before = w->linked;
    bool alias;
    hid_t group;
    int err;

    for (unsigned i = 0; i < w->depth; i++)
        if (by_key(&w->above[i], &key) == 0)
            return leave_out(w, GCB_REMARK_LINKS);
    if (w->depth >= GCB_H5_DEPTH)
        return leave_out(w, GCB_REMARK_DEEP);
    err = find_alias(w, link, info, &alias);
    if (err)
        return err;
    if (alias && count_aliases(w) == GCB_H5_LINKS)
        return leave_out(w, GCB_REMARK_LINKS);
    w->linked |= (uint64_t)alias << (w->depth - 1);
    group = H5Oopen(at, link->name, w->file->access);
    if (group < 0)
        err = fail_if_wanted(w, fail(w, GCB_E_CORRUPT, NULL), true);
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
    d.tensor.object = object_number((struct key){info->fileno, info->addr});
    if (err)
        err = fail_if_wanted(w, err, false);
    else
        err = w->visitor->dataset(w->visitor->ctx, &d, w->path, w->diag);
    gcb_h5dataset_close(&d);
    return err;
}

/* Follows a hard or soft link, or an external link that is allowed. */
static int follow(struct walk *w, hid_t at, const struct link *link)
{
    H5O_info_t info;
    int err;

    if (H5Oget_info_by_name2(at, link->name, &info, H5O_INFO_BASIC, w->file->access) < 0) {
        if (link->type == H5L_TYPE_SOFT)
            return leave_out(w, GCB_REMARK_LINKS);
        if (link->type == H5L_TYPE_EXTERNAL)
            err = fail(w, GCB_E_IO, "its external link leads nowhere");
        else
            err = fail(w, GCB_E_CORRUPT, NULL);
        return fail_if_wanted(w, err, true);
    }
    if (info.type == H5O_TYPE_GROUP)
        return enter_group(w, at, link, &info);
    if (info.type == H5O_TYPE_DATASET)
        return visit_dataset(w, at, link->name, &info);
    return 0; /* a named datatype */
}

/* Counts the link `name` of the group at w->path. Refuses the file if it has too many links or
 * too many ways to the same groups, or if the link's name or path is impossible or too long. */
static int admit_link(struct walk *w, const char *name)
{
    const size_t n = strlen(name);

    if (++w->links > GCB_READ_OBJECTS)
        return too_many_links(w);
    /* Alias links below alias links can make the number of paths grow exponentially. So a link
     * below one alias link weighs 1, below two 4, and below three 16. */
    if (w->linked)
        w->repeats += UINT64_C(1) << 2 * (count_aliases(w) - 1);
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
    int err;

    if (link->type == H5L_TYPE_SOFT || link->type == H5L_TYPE_HARD ||
        (link->type == H5L_TYPE_EXTERNAL && w->file->in->limits.allow_external))
        return follow(w, at, link);
    if (link->type == H5L_TYPE_EXTERNAL)
        err = fail(w, GCB_E_UNSUPPORTED, "a link to another file; --allow-external follows it");
    else
        err = fail(w, GCB_E_UNSUPPORTED, "a user-defined link, which cannot be followed");
    return fail_if_wanted(w, err, true);
}

/* Visits the object to which a link of the open group `at` leads. w->path is the group's path. */
static int visit_member(struct walk *w, hid_t at, const struct link *link)
{
    const size_t before = w->length;
    int err = admit_link(w, link->name);

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
    H5O_info_t info;
    hid_t root;
    int err;

    if (!w)
        return gcb_diag_nomem(diag, sizeof(*w), "a list of objects");
    w->file = file;
    w->visitor = visitor;
    w->diag = diag;
    root = H5Oopen(file->id, "/", file->access);
    if (root < 0 || H5Oget_info2(root, &info, H5O_INFO_BASIC) < 0)
        err = fail(w, GCB_E_CORRUPT, NULL);
    else
        err = visit_group(w, root, (struct key){info.fileno, info.addr});
    forget_groups(w);
    H5Oclose(root);
    gcb_free(w);
    return err;
}
