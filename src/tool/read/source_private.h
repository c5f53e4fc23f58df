#ifndef SRC_TOOL_READ_SOURCE_PRIVATE_H
#define SRC_TOOL_READ_SOURCE_PRIVATE_H

#include "src/tool/base/strings.h"
#include "src/tool/read/child.h"
#include "src/tool/read/source.h"

/*
 * The private parts of a source. source_open.c, source_list.c and source_synthetic.c fill a source.
 * source.c reads its tensors.
 */

/* ---- the selection of tensors (selection.c) ---- */

/* The numbers first, first + stride, first + 2 stride and so on, up to last. */
struct gcb_number_range {
    uint64_t first, last, stride;
    bool met; /* a number in the dump is in the range */
};

/* The parsed value of --step or --worker. A zeroed struct accepts no number. */
struct gcb_numbers {
    struct gcb_number_range *ranges;
    size_t count, cap;
    bool all;  /* "all" was given */
    bool last; /* "last" is in the list */
};

/*
 * Parses "all", or a comma-separated list of "N", "A-B", "A-B/STRIDE" and, if `may_last`, "last".
 * NULL means "all". `option` is the option's name for messages ("--step"). Returns GCB_E_INVALID
 * for any other text, with *out zeroed.
 */
int gcb_numbers_parse(struct gcb_numbers *out, const char *text, const char *option, bool may_last,
                      struct gcb_diag *diag);
void gcb_numbers_fini(struct gcb_numbers *s); /* a zeroed struct is allowed */

/* True if n is in `s`. Ignores "last", which only the caller can resolve. */
bool gcb_numbers_contain(const struct gcb_numbers *s, uint64_t n);

/* Marks the ranges that contain n, a number in the dump, as met. */
void gcb_numbers_meet(struct gcb_numbers *s, uint64_t n);

/* Sets *n to an "N" of the list for which gcb_numbers_meet was never called. Returns false if there
 * is none. */
bool gcb_numbers_missed(const struct gcb_numbers *s, uint64_t *n);

/* True if a glob of `include` matches this path or there is no such glob, and no glob of `exclude`
 * matches this path. */
bool gcb_selection_accepts(const struct gcb_tensor_selection *selection, const char *path);

/* True if a glob of `exclude` matches this path. */
bool gcb_selection_excludes(const struct gcb_tensor_selection *selection, const char *path);
/* True if a glob of `include` could match a path that begins with the group `path` and a slash, or
 * if there is no such glob. "" is the group of the worker. */
bool gcb_selection_reaches(const struct gcb_tensor_selection *selection, const char *path);

/* Sets met[i] if glob i matches this path. The globs of `include` come first, then those of
 * `exclude`. */
void gcb_selection_meet(const struct gcb_tensor_selection *selection, const char *path, bool *met);

/* ---- step and worker from names (place.c) ---- */

/* The step and worker that names give: those of the groups in a path, or those of a file and its
 * folders (docs/dataset.md). */
struct gcb_place {
    bool has_step, has_worker;
    uint64_t step, worker;
    const char *below;     /* the rest of the path, after the groups of step and worker; borrowed */
    enum gcb_remark doubt; /* why step or worker may be wrong; GCB_REMARKS: no doubt */
};

/*
 * Finds the step and worker of an absolute path. Only the outermost step and worker count, because
 * names inside a worker are names of parameters. Without a group such as step_N, a group epoch_N is
 * the step, or a group whose name is a number, if it is the first or follows the worker. `group` is
 * true if the last component is a group, and false if it is a dataset. Bit i of `linked` is set if
 * component i is an alias link (hdf5.h). Groups after an alias link give no step or worker, unless
 * the link's own name gives one.
 */
struct gcb_place gcb_place_of(const char *path, bool group, uint64_t linked);

/*
 * Finds the step and worker of a file, for its tensors whose paths have none. The file's name gives
 * them by its last words such as "stepN", "iterN", "rankN" or "workerN". If the name lacks the step
 * or the worker, the folders give it, as groups would. `below` is what follows these folders, or
 * the name without folders.
 */
struct gcb_place gcb_place_of_file(const char *file);

/* ---- the source, and listing files ---- */

/* Most files that are open at a time. Several files stay open, because the files of a dump with a
 * file for each worker are read in turn. */
enum { GCB_SOURCE_OPEN = 16 };

struct gcb_source {
    struct gcb_strings strings; /* memory of all names and texts */
    const char *what;           /* result of gcb_source_what */

    struct gcb_tensor *tensors;
    size_t count, cap;
    struct gcb_remark_count {
        uint64_t count;
        const char *file, *dataset; /* an example: the first such object */
    } remarks[GCB_REMARKS];
    bool *met; /* met[i]: glob i of the selection matched a tensor (gcb_source_met) */

    struct gcb_synthetic *synthetic; /* how to make each tensor; NULL if the tensors are in files */
    uint64_t seed;
    enum gcb_shuffle shuffle;
    uint64_t shuffle_seed;
    struct gcb_source *mask; /* from gcb_source_mask, owned; NULL: none */

    /* A dump can have thousands of files. Only the most recently used files are open, each with a
     * child process. */
    struct gcb_source_file {
        struct gcb_infile found;      /* found.path is `file` of the tensors, the same pointer */
        struct gcb_file_child *child; /* NULL if the file is not open */
        uint64_t used;                /* value of `uses` at the last use */
    } * files;
    size_t file_count, file_cap;
    size_t last_file; /* index of the file that was read last */
    uint64_t uses;    /* number of calls of gcb_source_use */
};

/* Opens a file unless it is open. A file that is opened is also listed, unless `lister` is NULL. If
 * too many files would be open, closes the least recently used one. */
int gcb_source_use(struct gcb_source *source, struct gcb_source_file *file,
                   const struct gcb_lister *lister, struct gcb_diag *diag);

/* Adds `count` objects to a remark. The first `file` and `dataset` are kept as the example, and
 * must live as long as the source. `dataset` may be "". */
void gcb_source_add_remark(struct gcb_source *source, enum gcb_remark kind, uint64_t count,
                           const char *file, const char *dataset);

/*
 * The state of listing files. A child process (child.h) lists a file with a copy of this struct.
 * Its reader calls gcb_listing_tensor and the like (reader.h), which send a record for each tensor.
 * The parent takes the records, checks them and fills the source. With limits.in_process there is
 * no child, and one process does both.
 */
struct gcb_listing {
    struct gcb_source *source;
    const struct gcb_source_config *config;
    struct gcb_numbers steps, workers;
    uint64_t last_step;            /* greatest step so far, selected or not */
    uint64_t seen;                 /* number of tensors so far, selected or not */
    struct gcb_place place;        /* step and worker of the file's tensors whose paths have none */
    struct gcb_infile found;       /* the file that is being listed */
    struct gcb_port *port;         /* used only in the child */
    uint64_t remarks[GCB_REMARKS]; /* used only in the child: how many of each kind */
};

/* Lists the file `path`: appends its selected tensors to the source, in the order in which the
 * reader lists them. If l->steps.last is set, the step of a tensor does not count for its
 * selection. */
int gcb_listing_add(struct gcb_listing *l, const char *path, struct gcb_diag *diag);

#endif
