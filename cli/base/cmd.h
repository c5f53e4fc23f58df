#ifndef CLI_BASE_CMD_H
#define CLI_BASE_CMD_H

#include <stdbool.h>

#include "cli/base/optparse.h"

/* Exit statuses of the process. Scripts depend on these numbers. */
enum cmd_exit {
    CMD_DONE = 0,
    CMD_FAILED = 1,
    CMD_USAGE = 2,
    CMD_NO_BACKEND = 3,
    CMD_REGRESSION = 4,
    CMD_NOT_VERIFIED = 5,
    CMD_AMBIGUOUS = 6,
};

/* What a command's `run` gets besides its options and operands. */
struct cmd_context {
    const char *program; /* name of the program, for messages */
    FILE *out;           /* standard output, for results only */
    FILE *err;           /* standard error, for messages */
    int argc;            /* of the whole command line, which the environment record shows */
    char *const *argv;
    /* no colour by default: NO_COLOR is not empty, TERM is "dumb", or the program never uses it */
    bool plain;
    struct gcb_diag *diag;
    const struct opt_result *parsed; /* options in the order given, and operands */
    void *own; /* what the program's main function gives its command; NULL in gcbench */
};

/* The kind of operands that a command takes. Completions offer operands of this kind. */
enum cmd_operands { CMD_FILES, CMD_METHODS, CMD_NOTHING };

/*
 * A command. Its descriptor is at the bottom of cmd_<name>.c; meson.build lists it, and cmd.c the
 * commands of gcbench. Options are parsed before `run` is called and released after it. `run`
 * returns 0; or a negative gcb_status with words in ctx->diag, which program_run prints
 * (GCB_E_INVALID exits 2, GCB_E_BACKEND 3, GCB_E_UNVERIFIED 5, others 1); or a positive cmd_exit,
 * after it has printed the reason itself. GCB_E_IO without words ends the program quietly.
 */
struct cmd {
    const char *name;
    bool alone;          /* a program of its own: gcbench-NAME instead of gcbench NAME */
    const char *summary; /* what the command does, for its line in `gcbench --help` */
    const char *usage; /* synopsis without "gcbench " or "gcbench-": "inspect [options] FILE..." */
    const char *examples; /* example lines; each begins with two spaces and ends with a newline */
    const char *details; /* paragraphs that help prints after the options, one line each, or NULL */
    struct opt_spec spec;
    enum cmd_operands operands;
    size_t size; /* size of the struct with the options' values, which starts zeroed */
    int (*run)(const void *options, const struct opt_list *operands, struct cmd_context *ctx);
};

extern const struct cmd cmd_bench;
extern const struct cmd cmd_compress;
extern const struct cmd cmd_decompress;
extern const struct cmd cmd_demo;
extern const struct cmd cmd_generate;
extern const struct cmd cmd_info;
extern const struct cmd cmd_inspect;
extern const struct cmd cmd_merge;
extern const struct cmd cmd_methods;
extern const struct cmd cmd_payoff;
extern const struct cmd cmd_plot;
extern const struct cmd cmd_regress;
extern const struct cmd cmd_replay;
extern const struct cmd cmd_report;
extern const struct cmd cmd_sweep;
extern const struct cmd cmd_verify;

/* Returns the i-th command in the order of the help, or NULL past the end. `help` is not in the
 * list: main.c implements it. */
const struct cmd *cmd_at(size_t i);
#define CMD_MAX 32 /* largest number of commands */

/* Returns the command called `name`, or NULL. */
const struct cmd *cmd_find(const char *name);

/* Prints what `gcbench help COMMAND` shows. */
void cmd_print_help(FILE *out, const struct cmd *cmd);

/* Parses argv[0..argc), which begins after the command's name, and runs the command, or prints its
 * help if --help is given. Returns what `run` returns, 0 after the help, or GCB_E_INVALID for wrong
 * options. ctx->parsed is valid only while the command runs. */
int cmd_run(const struct cmd *cmd, struct cmd_context *ctx, int argc, char *const *argv);

/* The meaning of an exit status. */
struct cmd_meaning {
    enum cmd_exit code;
    const char *words;   /* NULL ends the table */
    const char *command; /* the only command that returns the code; NULL: several do */
};
extern const struct cmd_meaning cmd_meanings[]; /* sorted by exit status */

/* ---- the start and the end of a program ---- */

/*
 * Runs a program and returns its exit status. Calls `dispatch`, which returns what a command's
 * `run` returns, in a thread with a larger stack if the limit of the process is low. If the status
 * is negative, prints why: "NAME: words", where NAME is ctx->program; nothing for GCB_E_IO without
 * words. Then flushes ctx->out; if that fails, a program that succeeded exits with CMD_FAILED.
 */
int program_run(struct cmd_context *ctx, int (*dispatch)(struct cmd_context *ctx));

/* Asks OpenBLAS for the fastest kernel that this processor can run, unless the user has asked for
 * one. Changes the environment, so a program calls it before it starts threads. */
void program_choose_blas(void);

/*
 * Returns the context of a program that prints on stdout and stderr; the context borrows the
 * arguments. Also prepares the process: malloc gets one arena, a write to a closed pipe or beyond
 * the limit on file sizes becomes an error, running out of memory ends the process with a message,
 * and unfinished files are removed when the process exits or a signal such as Ctrl-C ends it. A
 * process that was started to run a plug-in (argv[1] is GCB_PLUGIN_HOST) runs it and exits here.
 */
struct cmd_context program_begin(const char *name, int argc, char *const *argv,
                                 struct gcb_diag *diag);

/* ---- signals ---- */

/*
 * After this call, Ctrl-C, SIGTERM and SIGHUP do not end the process when they come for the first
 * time. They set a mark, which interrupt_seen reads, and send SIGTERM to the child processes: a
 * long command then ends between two pieces of work, shows what was measured, and removes
 * unfinished files. If the same signal comes again, it ends the process. A signal that the process
 * was started to ignore, as by nohup, stays ignored.
 */
void interrupt_catch(void);
bool interrupt_seen(void); /* true if a caught signal has arrived */
/* interrupt_seen as a callback for observers; `ctx` is not used. */
bool interrupt_stop(void *ctx);

#endif
