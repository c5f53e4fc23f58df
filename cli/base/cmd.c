#include "cli/base/cmd.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "src/lib/base/text.h"
#include "src/lib/lowrank/blas.h"
#include "src/tool/base/memory.h"
#include "src/tool/base/tidy.h"
#include "src/tool/plugin/peer.h"

/* Each command has a line of its own, so that commits that add commands do not conflict. */
/* clang-format off */
static const struct cmd *const commands[] = {
    &cmd_demo,
    &cmd_compress,
    &cmd_decompress,
    &cmd_bench,
    &cmd_merge,
    &cmd_sweep,
    &cmd_verify,
    &cmd_replay,
    &cmd_payoff,
    &cmd_plot,
    &cmd_report,
    &cmd_regress,
    &cmd_inspect,
    &cmd_methods,
    &cmd_info,
    &cmd_generate,
};
/* clang-format on */
#define COUNT (sizeof(commands) / sizeof(commands[0]))
_Static_assert(COUNT <= CMD_MAX, "CMD_MAX is too small");

const struct cmd_meaning cmd_meanings[] = {
    {CMD_DONE, "done", NULL},
    {CMD_FAILED, "failed", NULL},
    {CMD_USAGE, "wrong usage", NULL},
    {CMD_NO_BACKEND, "backend not available", NULL},
    {CMD_REGRESSION, "regression", "regress"},
    {CMD_NOT_VERIFIED, "verification failed", NULL},
    {CMD_AMBIGUOUS, "ambiguous or not comparable, with --strict", "regress"},
    {.words = NULL},
};

const struct cmd *cmd_at(size_t i)
{
    return i < COUNT ? commands[i] : NULL;
}

const struct cmd *cmd_find(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

void cmd_print_help(FILE *out, const struct cmd *cmd)
{
    const char join = cmd->alone ? '-' : ' ';
    size_t n;

    fprintf(out, "gcbench%c%s: %s\n\nExamples:\n%s\nUsage: gcbench%c%s\n", join, cmd->name,
            cmd->summary, cmd->examples, join, cmd->usage);
    opt_print(out, &cmd->spec);
    if (cmd->details)
        fputc('\n', out);
    for (const char *at = cmd->details; at && *at; at += n + (at[n] == '\n')) {
        n = strcspn(at, "\n");
        opt_wrapf(out, 0, 0, "%.*s", (int)n, at);
    }
}

int cmd_run(const struct cmd *cmd, struct cmd_context *ctx, int argc, char *const *argv)
{
    void *options = gcb_must_zero(1, cmd->size);
    struct opt_result parsed = {.help = false};
    int err;

    ctx->parsed = &parsed;
    err = opt_parse(&parsed, &cmd->spec, options, argc, argv, ctx->diag);
    if (err == GCB_E_INVALID)
        gcb_append(ctx->diag->text, sizeof(ctx->diag->text),
                   cmd->alone ? " (see `gcbench-%s --help`)" : " (see `gcbench help %s`)",
                   cmd->name);
    if (!err && parsed.help)
        cmd_print_help(ctx->out, cmd);
    else if (!err)
        err = cmd->run(options, &parsed.operands, ctx);
    opt_fini(&parsed, &cmd->spec, options);
    gcb_free(options);
    return err;
}

/* ---- signals ---- */

static volatile sig_atomic_t seen; /* global, because a signal handler gets no argument */

/* Kills child processes and removes unfinished files, then raises the same signal to end the
 * process. The signal arrives when this handler returns, because it is blocked until then. */
static void end_process(int number)
{
    gcb_tidy_all();
    signal(number, SIG_DFL);
    raise(number);
}

/* Handles a signal that arrives for the first time since interrupt_catch. The same signal ends the
 * process when it comes again. */
static void note_signal(int number)
{
    seen = 1;
    gcb_tidy_signal(SIGTERM); /* the results of child processes are not needed any more */
    signal(number, end_process);
}

/* Sets a handler, unless the process was started with the signal ignored: by nohup, or in the
 * background of a script. */
static void set_handler(int number, void (*handler)(int))
{
    struct sigaction action, before;

    if (sigaction(number, NULL, &before) != 0 || before.sa_handler == SIG_IGN)
        return;
    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, NULL);
}

/*
 * Makes the process leave no half-written file and no child process behind if one of the signals
 * below ends it, or if it exits. Libraries exit too: libgomp if it gets no threads, FFTW if it gets
 * no memory. A write beyond the limit on file sizes becomes an error, as on a full disk.
 */
static void tidy_at_end(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGABRT};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        set_handler(numbers[i], end_process);
    signal(SIGXFSZ, SIG_IGN);
    atexit(gcb_tidy_all);
}

void interrupt_catch(void)
{
    set_handler(SIGINT, note_signal);
    set_handler(SIGTERM, note_signal);
    set_handler(SIGHUP, note_signal);
}

bool interrupt_seen(void)
{
    return seen;
}

bool interrupt_stop(void *ctx)
{
    return seen;
}

/* ---- the start and the end of a program ---- */

/* Returns the exit status for what `run` returned, and prints the message of a negative status.
 * GCB_E_IO without words means that the reader of stdout went away (src/tool/rows/sink.h): then
 * prints nothing. */
static int report_status(const struct cmd_context *ctx, int status)
{
    const struct gcb_diag *diag = ctx->diag;

    if (status >= 0)
        return status;
    if (diag->text[0] || status != GCB_E_IO)
        fprintf(ctx->err, "%s: %s\n", ctx->program,
                diag->text[0] ? diag->text : gcb_status_text(status));
    switch (status) {
    case GCB_E_INVALID:
        return CMD_USAGE;
    case GCB_E_BACKEND:
        return CMD_NO_BACKEND;
    case GCB_E_UNVERIFIED:
        return CMD_NOT_VERIFIED;
    default:
        return CMD_FAILED;
    }
}

/* True if the reader of this stream has gone away; a message is pointless then. */
static bool reader_gone(FILE *f)
{
    struct pollfd p = {.fd = fileno(f)};

    return poll(&p, 1, 0) == 1 && p.revents & POLLERR;
}

/* Flushes stdout. Returns `exit_code`, or CMD_FAILED if the command succeeded but some output could
 * not be written, for example to a full disk. */
static int finish_output(const struct cmd_context *ctx, int exit_code)
{
    FILE *out = ctx->out;
    const bool failed_before = ferror(out);
    const int flushed = fflush(out), why = errno;

    if (!failed_before && !flushed)
        return exit_code;
    if (exit_code == CMD_DONE && !reader_gone(out))
        fprintf(ctx->err, "%s: standard output: cannot write: %s\n", ctx->program,
                flushed ? strerror(why) : "some of it was lost");
    return exit_code == CMD_DONE ? CMD_FAILED : exit_code;
}

#define STACK_LEAST (1 << 20) /* in bytes; with less, a command gets a stack of this size */

struct call {
    struct cmd_context *ctx;
    int (*dispatch)(struct cmd_context *ctx);
    int status;
};

static void *run_call(void *arg)
{
    struct call *call = arg;

    call->status = call->dispatch(call->ctx);
    return NULL;
}

/* Runs the command: in a thread with a stack of STACK_LEAST bytes if the limit of the process
 * (`ulimit -s`) is lower and a thread can be started, or else in this thread. */
static int dispatch_with_stack(struct cmd_context *ctx, int (*dispatch)(struct cmd_context *ctx))
{
    struct call call = {.ctx = ctx, .dispatch = dispatch};
    struct rlimit limit;
    pthread_attr_t how;
    pthread_t thread;
    bool own = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < STACK_LEAST &&
               pthread_attr_init(&how) == 0;

    if (own) {
        pthread_attr_setstacksize(&how, STACK_LEAST);
        own = pthread_create(&thread, &how, run_call, &call) == 0;
        pthread_attr_destroy(&how);
    }
    if (own)
        pthread_join(thread, NULL);
    else
        run_call(&call);
    return call.status;
}

int program_run(struct cmd_context *ctx, int (*dispatch)(struct cmd_context *ctx))
{
    return finish_output(ctx, report_status(ctx, dispatch_with_stack(ctx, dispatch)));
}

void program_choose_blas(void)
{
    const char *kernel = gcb_blas_fastest();

    if (kernel)
        setenv("OPENBLAS_CORETYPE", kernel, 0);
}

/* Says that there is no memory, and ends the program. Its temporary files are removed as always. */
static void end_without_memory(void)
{
    fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);
    exit(CMD_FAILED);
}

struct cmd_context program_begin(const char *name, int argc, char *const *argv,
                                 struct gcb_diag *diag)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

    if (argc > 1 && strcmp(argv[1], GCB_PLUGIN_HOST) == 0)
        exit(gcb_plugin_host(argc, argv));
    /* With several arenas, memory that one thread finds may be out of reach for another. Then FFTW,
     * which ends the process if it gets no memory, could fail although gcb_fft_has_room found
     * enough. */
    mallopt(M_ARENA_MAX, 1);
    /* a closed pipe becomes an error like any other, so that the command can remove half-written
     * files */
    signal(SIGPIPE, SIG_IGN);
    tidy_at_end();
    gcb_no_memory = end_without_memory;
    return (struct cmd_context){
        .program = name,
        .out = stdout,
        .err = stderr,
        .argc = argc,
        .argv = argv,
        .plain = (no_color && *no_color) || (term && strcmp(term, "dumb") == 0),
        .diag = diag,
    };
}
