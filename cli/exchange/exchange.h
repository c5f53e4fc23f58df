#ifndef CLI_EXCHANGE_EXCHANGE_H
#define CLI_EXCHANGE_EXCHANGE_H

#include "cli/base/cmd.h"
#include "cli/base/session.h"
#include "src/tool/exchange/lanes.h"
#include "src/tool/exchange/link.h"
#include "src/tool/exchange/net.h"

struct exchange_own {
    struct opt_list algorithms; /* none: the default */
    bool no_baselines, no_serial, calibrate;
    uint64_t repeats;
    double seconds;
    /* synthetic gradients */
    const char *sizes, *dist;
    uint64_t elements;  /* 0: not given */
    const char *coding; /* a file of results */
};
extern const struct opt_row exchange_work_rows[], exchange_input_rows[], exchange_link_rows[];

struct exchange_options {
    struct opt_methods methods;
    struct session_options common;
    struct exchange_own own;
};

/* A method for each lane: those that the user named, and fp32, fp16 and bf16 unless
 * --no-baselines is given; each with each algorithm. Release *out with gcb_free. */
int exchange_make_lanes(struct gcb_lane **out, size_t *count, const struct exchange_options *o,
                        struct gcb_diag *diag);
/* True if the method is one of fp32, fp16 and bf16, sent by all-reduce. */
bool exchange_is_baseline(const struct gcb_method *method);

/* Numbers of elements of synthetic gradients; *count is 0 if neither --sizes nor --elements is
 * given. */
#define EXCHANGE_SIZES 32
int exchange_sizes(uint64_t sizes[EXCHANGE_SIZES], size_t *count, const struct exchange_own *own,
                   struct gcb_diag *diag);

#endif
