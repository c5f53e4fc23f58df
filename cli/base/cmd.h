#ifndef CLI_BASE_CMD_H
#define CLI_BASE_CMD_H

#include "cli/base/optparse.h"

/* What the process returns (CLI.md, exit codes; scripts depend on them). */
enum cmd_exit {
    CMD_DONE = 0,
    CMD_FAILED = 1,
    CMD_USAGE = 2,
    CMD_NO_BACKEND = 3,
    CMD_REGRESSION = 4,
    CMD_NOT_VERIFIED = 5,
    CMD_AMBIGUOUS = 6,
};

/* What a command is given beside its options. */
struct cmd_context {
    FILE *out; /* results, and nothing else */
    FILE *err; /* messages */
    int argc;  /* the whole command line, for the environment record */
    char *const *argv;
    bool plain; /* NO_COLOR or TERM=dumb is set */
    struct gcb_diag *diag;
};

/* What stands behind the options; completions offer it. */
enum cmd_operands { CMD_FILES, CMD_METHODS, CMD_NOTHING };

/*
 * A command: one file, cmd_<name>.c, with its descriptor at the bottom, one row in commands.c and one name in
 * meson.build. Options are parsed before `run` is called, released after it. `run` returns 0; or a negative
 * gcb_status with its words in ctx->diag, which main prints (GCB_E_INVALID exits 2, GCB_E_BACKEND 3, GCB_E_UNVERIFIED 5,
 * others 1);
 * or a positive cmd_exit whose reason it has shown itself.
 */
struct cmd {
    const char *name;
    const char *summary;  /* one line of `gcbench --help` */
    const char *usage;    /* behind "gcbench ": "inspect [options] FILE..." */
    const char *examples; /* lines, each indented by two and ended by a newline */
    const char *details;  /* paragraphs behind the options, a line each, or NULL */
    struct opt_spec spec;
    enum cmd_operands operands;
    size_t size;                     /* of the options' struct, which starts zeroed */
    void (*defaults)(void *options); /* may be NULL */
    int (*run)(const void *options, const struct opt_list *operands, struct cmd_context *ctx);
};

extern const struct cmd cmd_bench;
extern const struct cmd cmd_compress;
extern const struct cmd cmd_decompress;
extern const struct cmd cmd_generate;
extern const struct cmd cmd_info;
extern const struct cmd cmd_inspect;
extern const struct cmd cmd_methods;
extern const struct cmd cmd_payoff;
extern const struct cmd cmd_plot;
extern const struct cmd cmd_regress;
extern const struct cmd cmd_replay;
extern const struct cmd cmd_report;
extern const struct cmd cmd_sweep;
extern const struct cmd cmd_verify;

#endif
