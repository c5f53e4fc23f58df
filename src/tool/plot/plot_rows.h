#ifndef SRC_TOOL_PLOT_PLOT_ROWS_H
#define SRC_TOOL_PLOT_PLOT_ROWS_H

#include <jansson.h>
#include <stdint.h>

#include "src/tool/plot/plot.h"

/*
 * The fields of result rows that plots need. A row of a hundred fields becomes a struct of numbers and interned texts,
 * so a hundred thousand rows take some megabytes. Equal texts have equal pointers. Texts have no control characters
 * and are never NULL: a text that a row lacks is gcb_plot_no_text. A number that a row lacks is NAN.
 */
struct gcb_plot_array {
    void *items;
    size_t count, cap;
};

struct gcb_plot_env { /* environment */
    size_t env;       /* its own number, from 1 */
    const char *file; /* the first input file, from input_xxh3 */
    const char *version, *cpu_model, *gpu, *device, *isa;
    double threads;
    double read_gbps, fill_gbps;
};

struct gcb_plot_times {
    double gbps, mad, low, high; /* mad, low, high: seconds */
};

struct gcb_plot_case { /* result, summary */
    size_t env; /* the number of the environment row before it, from 1 over all files; 0: none */
    const char *file, *scope, *tensor, *method, *spec, *device, *isa, *cache, *status;
    double threads, elements, wire_bytes, ratio, bits, density, rel_l2, cosine;
    double input_bytes;
    struct gcb_plot_times encode, decode;
    const char *match_field;
    double match_target, match_reached; /* match_reached: 1, 0 */
};

struct gcb_plot_bin { /* histogram */
    size_t env;
    const char *tensor, *of, *method, *spec;
    double low, high, count;
};

struct gcb_plot_band { /* spectrum */
    size_t env;
    const char *tensor, *of, *method, *spec, *by;
    double low, high, bins, energy, energy_share, max_magnitude, threshold, density;
};

struct gcb_plot_step { /* replay_step */
    size_t env;
    const char *scope, *method, *spec;
    double index, step, alpha, cosine, residual_norm, gradient_norm, staleness_p50, staleness_p99,
        staleness_max;
};

struct gcb_plot_verdict { /* verdict */
    size_t env;
    const char *label, *quantity, *verdict, *file, *scope;
    double ratio, low, high, delta;
};

struct gcb_plot_kernel { /* kernel */
    size_t env;
    const char *family, *kernel, *isa, *cache, *status;
    double elements, gbps, low, high, bandwidth_share;
};

struct gcb_plot_tensor { /* tensor */
    size_t env;
    const char *tensor;
    double datasets;
};

struct gcb_plot_exchange { /* payoff */
    size_t env;
    const char *model, *results, *method, *spec, *label, *scope, *device, *isa, *cache, *collective,
        *doubtful;
    double threads, workers, gradient_bytes, bandwidth, latency, seconds, encode_seconds,
        wire_seconds, decode_seconds, speedup, pays_below;
};

struct gcb_plot_data {
    struct gcb_plot_array envs, results, summaries, bins, bands, steps, verdicts, kernels, tensors,
        exchanges;
    size_t env;    /* the number of the last environment row of the file being read; 0: none yet */
    json_t *texts; /* an object whose keys are the interned texts */
};

/* The interned text that equals this one; gcb_plot_no_text for NULL and "". NULL: no memory. */
const char *gcb_plot_intern(struct gcb_plot_data *data, const char *text);

/* The empty text. Texts are compared by address, so another "" would differ from it. */
extern const char gcb_plot_no_text[];

/* Are these numbers of two rows equal? NAN equals NAN. */
bool gcb_plot_equal(double a, double b);

/* The environment of a row; all unknown if there was none. */
const struct gcb_plot_env *gcb_plot_env_of(const struct gcb_plot_data *data, size_t env);

/*
 * How rows are split into pages: the wanted rows of one array, and which of them may stand in one picture.
 * `same_page` is an equivalence of wanted rows. Pages are in the order of their first rows, at most
 * GCB_PLOT_PAGES.
 */
struct gcb_plot_split {
    size_t array; /* offset of the gcb_plot_array in struct gcb_plot_data */
    size_t size;  /* of a row */
    bool (*is_wanted)(const void *row);
    bool (*same_page)(const void *a, const void *b);
};

/* How many pages there are, at most GCB_PLOT_PAGES. */
size_t gcb_plot_split_pages(const struct gcb_plot_split *split, const struct gcb_plot_data *data);
/* The first row of a page, which identifies the page. NULL with GCB_E_INVALID in diag: there is no such page. */
const void *gcb_plot_split_first(const struct gcb_plot_split *split,
                                 const struct gcb_plot_data *data, size_t page,
                                 struct gcb_diag *diag);
/* The row after `at` on the page of `first`; `at` NULL: the page's first row. NULL after the last row. */
const void *gcb_plot_split_next(const struct gcb_plot_split *split,
                                const struct gcb_plot_data *data, const void *first,
                                const void *at);

#endif
