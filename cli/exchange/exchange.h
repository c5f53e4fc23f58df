#ifndef CLI_EXCHANGE_EXCHANGE_H
#define CLI_EXCHANGE_EXCHANGE_H

#include "cli/base/cmd.h"
#include "cli/base/session.h"
#include "src/tool/exchange/lanes.h"
#include "src/tool/exchange/link.h"
#include "src/tool/exchange/net.h"

/* The options of gcbench-mpi itself. */
struct exchange_own {
    struct opt_list algorithms; /* names; empty: only "library" */
    bool no_baselines, no_serial, calibrate;
    uint64_t repeats;
    double seconds;           /* of --time-limit */
    const char *sizes, *dist; /* of synthetic gradients; NULL: not given */
    uint64_t elements;        /* of synthetic gradients; 0: not given */
    const char *coding;       /* path of rows with times of coding; NULL: not given */
};
extern const struct opt_row exchange_work_rows[], exchange_input_rows[], exchange_link_rows[];

struct exchange_options {
    struct opt_methods methods;
    struct session_options common;
    struct exchange_own own;
};

/* Makes a lane for each method with each algorithm. The methods are those that the user named, then
 * the baselines (fp32, fp16 and bf16 by all-reduce) that are not among them. No baselines are added
 * with --no-baselines, or if --calibrate is given without a method. GCB_E_INVALID: a wrong option,
 * or no lane although --calibrate is not given. Release *out with gcb_free, also on failure. */
int exchange_make_lanes(struct gcb_lane **out, size_t *count, const struct exchange_options *o,
                        struct gcb_diag *diag);
/* True if the method is fp32, fp16 or bf16, and its collective is the all-reduce. */
bool exchange_is_baseline(const struct gcb_method *method);

/* Writes the numbers of elements of the synthetic gradients; *count is 0 if neither --sizes nor
 * --elements is given. GCB_E_INVALID: --sizes is wrong. */
#define EXCHANGE_SIZES 32
int exchange_sizes(uint64_t sizes[EXCHANGE_SIZES], size_t *count, const struct exchange_own *own,
                   struct gcb_diag *diag);

#endif
