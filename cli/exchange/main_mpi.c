#include <string.h>

#include "cli/base/program.h"
#include "cli/exchange/exchange.h"

/* gcbench-mpi: every rank runs this program; only rank 0 prints. */

static int dispatch(struct cmd_context *ctx)
{
    struct exchange_place *place = ctx->own;
    int status;

    if (ctx->argc == 2 && strcmp(ctx->argv[1], "--version") == 0)
        status = fprintf(ctx->out, "gcbench-mpi %s\n", gcb_version()) < 0 ? CMD_FAILED : 0;
    else
        status = cmd_run(&cmd_exchange, ctx, ctx->argc - 1, ctx->argv + 1);
    /* a rank that could not read its options, or that only printed, must not leave the others
     * waiting */
    return place->agreed ? status : exchange_agree(place->net, status, false, ctx->diag);
}

int main(int argc, char **argv)
{
    struct gcb_diag diag = {.status = 0};
    struct exchange_place place = {.net = NULL};
    struct cmd_context ctx;
    FILE *nowhere = NULL;
    int status;

    program_choose_blas(); /* MPI starts threads */
    status = gcb_net_open(&place.net, &argc, &argv, &diag);
    if (status)
        gcb_net_abort(&diag);
    ctx = program_begin("gcbench-mpi", argc, argv, &diag);
    ctx.own = &place;
    ctx.plain = true; /* mpirun gives rank 0 a terminal even if it writes to a file */
    if (gcb_net_rank(place.net)) {
        nowhere = fopen("/dev/null", "w");
        ctx.out = ctx.err = nowhere ? nowhere : stderr;
    }
    status = program_run(&ctx, dispatch);
    if (nowhere)
        fclose(nowhere);
    gcb_net_close(place.net);
    return status;
}
