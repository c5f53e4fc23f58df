#include "cli/base/program.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/base/interrupt.h"
#include "src/lib/lowrank/blas.h"

/* Prints the message of a status and returns its exit code. Prints nothing if the reader of stdout went away. */
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

/* Has the reader of this stream gone away? Then a message is pointless. */
static bool reader_gone(FILE *f)
{
    struct pollfd p = {.fd = fileno(f)};

    return poll(&p, 1, 0) == 1 && p.revents & POLLERR;
}

/* Flushes stdout: output that could not be written, to a full disk for example, makes the command fail. */
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

/* ---- a stack that is large enough ---- */

#define STACK_LEAST (1 << 20)

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

/* Runs the command in a thread with a stack of its own if the limit of the process (`ulimit -s`) is too low. */
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

struct cmd_context program_begin(const char *name, int argc, char *const *argv,
                                 struct gcb_diag *diag)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

    /* One arena for all threads. FFTW ends the process if it finds no memory (gcb_fft_has_room looks before), and with
     * several arenas a thread may find none where another one did. */
    mallopt(M_ARENA_MAX, 1);
    /* a closed pipe becomes an error like any other, so that the command can remove half-written files */
    signal(SIGPIPE, SIG_IGN);
    interrupt_tidy();
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
