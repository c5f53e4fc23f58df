#ifndef CLI_BASE_OPTIONS_H
#define CLI_BASE_OPTIONS_H

#include "cli/base/optparse.h"
#include "src/lib/base/queue.h"
#include "src/lib/codec/method.h"
#include "src/lib/device/load.h"
#include "src/tool/measure/bandwidth.h"
#include "src/tool/read/layout.h"
#include "src/tool/rows/sink.h"
#include "src/tool/run/breakdown.h"
#include "src/tool/run/policy.h"

/*
 * Options that several commands share: for each subject a struct, its rows, and functions that
 * check the struct or turn it into what the library takes. Functions with a diag return 0, or a
 * negative gcb_status with words there. A command embeds the structs that it needs, and lists their
 * rows as groups.
 */

/* Options on which tensors are read, and how. */
struct opt_input {
    struct opt_list dataset, exclude;
    struct opt_list as;        /* names of formats for datasets that are not floats */
    const char *step, *worker; /* NULL: not given; opt_input_open then reads all */
    int order;                 /* enum gcb_order */
    uint64_t max_bytes;        /* 0: the default, half of memory */
    bool allow_external, in_process;
    const char *hdf5_plugins; /* folder; NULL: none */
    const char *mask;         /* file; NULL: none */
};
extern const struct opt_row opt_input_rows[];
/* Words that --step and --worker take, for completions; each list ends with NULL. */
extern const char *const opt_steps[], *const opt_workers[];
/* Opens `files` as one dump, masked by the file of --mask; close *out with gcb_source_close. Of
 * `in`, *out borrows only the text of --hdf5-plugins. GCB_E_INVALID: there is no file, a file is
 * "-", --as has an unknown type, or the folder of --hdf5-plugins cannot be read. Other errors are
 * those of gcb_source_open and gcb_source_mask. On failure there is nothing to close. */
int opt_input_open(struct gcb_source **out, const struct opt_input *in,
                   const struct opt_list *files, struct gcb_diag *diag);

/* Options on how tensors are grouped into messages, which tensors are sent as fp32 or are output
 * layers, and what is done about infinities and NaNs. */
struct opt_message {
    int scope;             /* enum gcb_scope */
    uint64_t bucket_bytes; /* 0: the default, 25 MiB */
    uint64_t min_elements;
    struct opt_list dense, output_layer;
    int nonfinite; /* enum gcb_nonfinite_policy */
};
extern const struct opt_row opt_scope_rows[]; /* row of --scope */
extern const struct opt_row opt_message_rows[];
/* Checks the options on messages: GCB_E_INVALID if they contradict each other. */
int opt_message_check(const struct opt_message *in, struct gcb_diag *diag);
/* Makes the configuration of a layout from the options. The configuration borrows the globs of
 * --dense from `in`. */
struct gcb_layout_config opt_message_layout(const struct opt_message *in);
/* Names of enum gcb_scope, gcb_order and gcb_nonfinite_policy, for rows and headings; each list
 * ends with NULL. */
extern const char *const opt_scopes[], *const opt_orders[], *const opt_nonfinites[];

/* The option --shard; gcb_shard_parse reads its text. */
struct opt_shard {
    const char *text; /* NULL: no shards */
};
extern const struct opt_row opt_shard_rows[];

/* Forms of --dist, for completions; ends with NULL. */
extern const char *const opt_dists[];

/* Options on the device, the threads, the arithmetic and the random draws of a run. */
struct opt_exec {
    const char *device; /* NULL: the default, cpu */
    int threads;        /* 0: the default, 1 */
    const char *isa;    /* NULL: the default, auto */
    int fft_engine;     /* enum gcb_fft_engine */
    uint64_t seed;      /* 0: the default, 1 */
};
extern const struct opt_row opt_device_rows[];
extern const struct opt_row opt_threads_rows[];
extern const struct opt_row opt_exec_rows[]; /* rows of --isa, --fft-engine and --seed */
/* Values of --device and --isa, for completions; each list ends with NULL. */
extern const char *const opt_devices[], *const opt_isas[];
/* Where methods run: the device, and the instruction set, kernels and threads of the CPU. */
struct opt_backend {
    char device[16];       /* the device as rows name it: "cpu", "cuda:0" */
    struct gcb_device gpu; /* the open device; its `module` is NULL if there is none */
    /* copy bandwidth of the device; `bytes` is 0 if it was not measured */
    struct gcb_device_copying gpu_copying;
    const char *isa; /* the widest instruction set in use: "avx2" */
    unsigned cpu_flags;
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    uint64_t seed; /* of methods that draw at random */
};
/* Fills *out. GCB_E_BACKEND: this machine or build lacks the device, the instruction set or FFTW;
 * if only the device is missing, the rest of *out is filled. GCB_E_INVALID: --device or --isa is
 * wrong. Coders borrow the device, the kernels and the queue, so *out must not move while they
 * live. */
int opt_exec_resolve(struct opt_backend *out, const struct opt_exec *in, struct gcb_diag *diag);

/* Options on how often and how long each message is measured. */
struct opt_timing {
    int warmup;      /* untimed runs; -1: the command's own default */
    int repeat;      /* timed runs; 0: the command's own default */
    double min_time; /* in seconds, for all timed runs together; 0: the command's own default */
};
extern const struct opt_row opt_timing_rows[];

/* Options on how results are shown. */
struct opt_show {
    int format; /* enum gcb_format */
    int color;  /* enum opt_color */
    bool quiet;
    int verbose;
};
enum opt_color { OPT_COLOR_AUTO, OPT_COLOR_ALWAYS, OPT_COLOR_NEVER };
extern const struct opt_row opt_show_rows[];

/* Options on the files that a command writes. */
struct opt_save {
    const char *output;  /* of -o, an HDF5 file; NULL: not given */
    const char *results; /* file for rows as JSON Lines; NULL: none */
    bool hash;           /* also hash inputs over 1 GiB */
    bool force;          /* replace files that exist */
};
extern const struct opt_row opt_output_rows[]; /* row of -o */
extern const struct opt_row opt_save_rows[];   /* row of --results */
extern const struct opt_row opt_force_rows[];
extern const struct opt_row opt_hash_rows[]; /* row of --hash, for commands that read dumps */
/* Checks -o: GCB_E_INVALID if it is missing, or names a .json, .csv or .tsv file. */
int opt_output_check(const struct opt_save *in, struct gcb_diag *diag);

/* Options on the lines of a table of methods, for `compress` and `sweep`. */
struct opt_lines {
    const char *sort; /* field to sort by; NULL: keep the order of the command line */
    bool no_baselines;
};
extern const struct opt_row opt_lines_rows[];
/* Sets *out to the field of --sort, or to GCB_FIELD_NONE. GCB_E_INVALID if there is no such field,
 * or if it is not a figure of a method (gcb_tally_has_figure). */
int opt_lines_sort(enum gcb_field *out, const struct opt_lines *in, struct gcb_diag *diag);

/* Options that add rows of histograms and spectra, for `compress` and `bench`. No table shows these
 * rows. */
struct opt_shapes {
    bool histogram, spectrum;
};
extern const struct opt_row opt_shapes_rows[];
/* GCB_E_INVALID if --histogram or --spectrum is given, but rows are neither printed as json nor
 * saved. */
int opt_shapes_check(const struct opt_shapes *in, const struct opt_show *show,
                     const struct opt_save *save, struct gcb_diag *diag);

/* ---- methods ---- */

/* Options that name methods or set their parameters. */
struct opt_methods {
    struct opt_list specs;     /* of --method */
    struct opt_list overrides; /* options that set parameters: alternately a key and its value */
    struct opt_list rules;     /* of --method-for */
    double seconds;            /* of --plugin-timeout; 0: the default */
};
extern const struct opt_row opt_methods_rows[];
extern const struct opt_row opt_policy_rows[]; /* --method-for */
/* Returns the i-th name among those of the parameters of every codec, of the memory and of the
 * exchange, and of their complements (src/lib/codec/param.h). Returns NULL past the end; a name may
 * occur more than once. For `name_at` of a command's opt_extra. */
const char *opt_methods_key_at(size_t i);
/*
 * Makes the list of the methods that --method names, in the order given. Without --method, the list
 * has the methods for which `wanted` is true; none if `wanted` is NULL. Each method takes those
 * overrides that are among its parameters and have a meaning with its other values. GCB_E_INVALID
 * also for an override that no method takes. Release *out with gcb_free; after an error, *out and
 * *count are unchanged.
 */
int opt_methods_resolve(struct gcb_method **out, size_t *count, const struct opt_methods *in,
                        bool (*wanted)(const struct gcb_method *), struct gcb_diag *diag);
/* True for all methods except `sparse`, whose defaults are those of topk. For the `wanted` of
 * opt_methods_resolve. */
bool opt_methods_all(const struct gcb_method *m);
/* Makes the policy of the rules of --method-for; its last rule is the method of --method, if that
 * is given. GCB_E_INVALID also for more than one --method. *out starts zeroed. Call gcb_policy_bind
 * when the source is open. Release *out with gcb_policy_fini, also on failure. */
int opt_policy_resolve(struct gcb_policy *out, const struct opt_methods *in, struct gcb_diag *diag);
/* Appends the method `spec` to an array that opt_methods_resolve made; *methods may move. After an
 * error the new item is not valid, but *count includes it. */
int opt_methods_append(struct gcb_method **methods, size_t *count, const char *spec,
                       struct gcb_diag *diag);

#endif
