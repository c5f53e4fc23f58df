#include <string.h>

#include "cli/base/cmd.h"
#include "cli/base/options.h"
#include "src/lib/base/text.h"
#include "src/lib/codec/method.h"
#include "src/tool/base/data.h"

static void print_overview(FILE *out)
{
    const struct cmd *cmd;
    char exits[512] = "";

    fprintf(out,
            "gcbench %s: what gradient compressors send, lose and cost\n\n"
            "  gcbench demo\n"
            "  gcbench payoff --params 25M --workers 16 --bandwidth 10Gb\n"
            "  gcbench compress --method fft --method topk gradients.h5\n"
            "  gcbench help choose\n\n"
            "Usage: gcbench COMMAND [options] [FILE...]\n\nCommands:\n",
            gcb_version());
    for (size_t i = 0; (cmd = cmd_at(i)); i++)
        fprintf(out, "  %-12s %s\n", cmd->name, cmd->summary);
    fprintf(out, "  %-12s %s\n\n", "help",
            "explain a command, or (help choose) tell which one you need");
    for (const struct cmd_meaning *m = cmd_meanings; m->words; m++)
        gcb_append(exits, sizeof(exits), "%d %s%s", (int)m->code, m->words,
                   m[1].words ? ", " : ".");
    opt_wrap(out, exits, fprintf(out, "Exit status:"), 0);
}

/* Returns the command called `name`. If there is none, returns NULL and writes to `diag` what the
 * user may have meant. */
static const struct cmd *find_command(const char *name, struct gcb_diag *diag)
{
    const struct cmd *cmd = cmd_find(name);
    const char *names[CMD_MAX + 1];
    struct gcb_method method;
    char shown[64], hint[GCB_HINT];
    size_t n = 0;

    if (cmd)
        return cmd;
    gcb_escape(shown, sizeof(shown), name);
    if (name[0] == '-') {
        gcb_invalid(diag, "'%s' comes before the command: write gcbench COMMAND %s", shown, shown);
        return NULL;
    }
    if (gcb_method_read(&method, name, NULL) == 0) {
        gcb_invalid(diag, "%s is a method: gcbench compress --method %s", method.name, shown);
        return NULL;
    }
    while ((cmd = cmd_at(n)))
        names[n++] = cmd->name;
    names[n++] = "help";
    gcb_invalid(diag, "unknown command '%s'%s", shown,
                gcb_hint(hint, name, "", names, n, "; `gcbench --help` lists them"));
    return NULL;
}

/* Prints which command answers which question, on one screen of 80 columns and 24 lines. */
static void print_choose(FILE *out)
{
    char dumper[GCB_DATA_PATH];

    fputs("Your question                          The command that answers it\n\n"
          "Will compression pay, and which one?   gcbench payoff grads.h5 --params 350M \\\n"
          "  16 workers, 10 Gb/s:                     --workers 16 --bandwidth 10Gb\n"
          "  my gradients are on GPUs:                add --coding h200 (h100, a100)\n"
          "  nodes of eight GPUs, FSDP:               --cluster h100-8x400, --sharded\n"
          "  on a network that I measure:         gcbench-mpi --calibrate; payoff --link\n"
          "A first result? What is this build?    gcbench demo, info\n"
          "Which methods are there?               gcbench methods\n"
          "What is in my file?                    gcbench inspect grads.h5\n"
          "Size, error and speed of a method?     gcbench compress --method fft grads.h5\n"
          "  and with error feedback over steps?  gcbench replay --method dgc grads.h5\n"
          "Which sends least at an equal error?   gcbench sweep --match rel_l2=0.4 grads.h5\n"
          "Which method for each tensor?          gcbench sweep --budget ratio=20 grads.h5\n"
          "Which is fastest on this machine?      gcbench bench grads.h5 --results r.json\n"
          "What changed between two builds?       gcbench regress old.json new.json\n"
          "Do the methods keep their promises?    gcbench verify grads.h5\n"
          "A dump too large for one machine?      add --shard I/8; gcbench merge *.json\n"
          "Show me pictures, or a page?           gcbench plot r.json -o pictures\n"
          "                                       gcbench report r.json -o r.html\n"
          "Write messages and read them back?     gcbench compress -o m.h5 ..., decompress\n"
          "No gradients at hand?                  gcbench generate --layout lstm -o g.h5\n"
          "To record gradients in PyTorch, copy this file; its first lines say how:\n",
          out);
    gcb_data_find(dumper, "datasets/dump_gradients.py");
    fprintf(out, "  %s\n", dumper);
}

/* Runs `gcbench help [COMMAND|choose]`; `argv` begins after "help". */
static int run_help(struct cmd_context *ctx, int argc, char *const *argv)
{
    const struct cmd *cmd;

    if (argc == 0 || argv[0][0] == '-' || strcmp(argv[0], "help") == 0) {
        print_overview(ctx->out);
        return 0;
    }
    if (strcmp(argv[0], "choose") == 0) {
        print_choose(ctx->out);
        return 0;
    }
    cmd = find_command(argv[0], ctx->diag);
    if (!cmd)
        return GCB_E_INVALID;
    cmd_print_help(ctx->out, cmd);
    return 0;
}

static int dispatch(struct cmd_context *ctx)
{
    const int argc = ctx->argc;
    char *const *argv = ctx->argv;
    const struct cmd *cmd;

    if (argc < 2)
        return gcb_invalid(ctx->diag, "no command given; see `gcbench --help`");
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        fprintf(ctx->out, "gcbench %s (%s)\n", gcb_version(),
                gcb_fft_version() ? "with FFTW: GPL, version 2 or later" : "without FFTW: MIT");
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_overview(ctx->out);
        return 0;
    }
    if (strcmp(argv[1], "help") == 0)
        return run_help(ctx, argc - 2, argv + 2);
    cmd = find_command(argv[1], ctx->diag);
    return cmd ? cmd_run(cmd, ctx, argc - 2, argv + 2) : GCB_E_INVALID;
}

int main(int argc, char **argv)
{
    struct gcb_diag diag = {.status = 0};
    struct cmd_context ctx;

    program_choose_blas();
    ctx = program_begin("gcbench", argc, argv, &diag);
    return program_run(&ctx, dispatch);
}
