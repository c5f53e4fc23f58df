#include <string.h>

#include "cli/docs/complete.h"
#include "cli/docs/manual.h"

/*
 * Runs while gcbench is built: the manual and the completions on standard output.
 *
 *   generate_docs man gcbench NAME...   gcbench(1); the names are those that the build makes pages of
 *   generate_docs man NAME              gcbench-NAME(1)
 *   generate_docs bash | zsh FILE       the tables for completion, and FILE behind them
 */

/* Has the build a page for every command? */
static int check_names(int count, char *const *names)
{
    const struct cmd *cmd;
    int known = 0;

    for (; (cmd = commands_at((size_t)known)); known++) {
        bool found = false;

        for (int i = 0; i < count; i++)
            found = found || strcmp(names[i], cmd->name) == 0;
        if (!found) {
            fprintf(stderr,
                    "'%s' of cli/base/commands.c is missing in cli_commands of cli/meson.build\n",
                    cmd->name);
            return 1;
        }
    }
    return 0;
}

static int write_page(int count, char *const *names)
{
    const struct cmd *cmd = commands_find(names[0]);

    if (strcmp(names[0], "gcbench") == 0) {
        manual_overview(stdout);
        return check_names(count - 1, names + 1);
    }
    if (!cmd) {
        fprintf(stderr,
                "'%s' of cli_commands in cli/meson.build is missing in cli/base/commands.c\n",
                names[0]);
        return 1;
    }
    manual_command(stdout, cmd);
    return 0;
}

static int write_completion(void (*tables)(FILE *out), const char *path)
{
    FILE *in = fopen(path, "r");
    char block[4096];
    size_t n;

    if (!in) {
        fprintf(stderr, "cannot read %s\n", path);
        return 1;
    }
    tables(stdout);
    while ((n = fread(block, 1, sizeof(block), in)))
        fwrite(block, 1, n, stdout);
    fclose(in);
    return 0;
}

int main(int argc, char **argv)
{
    int status = 0;

    if (argc >= 3 && strcmp(argv[1], "man") == 0) {
        status = write_page(argc - 2, argv + 2);
    } else if (argc == 3 && strcmp(argv[1], "bash") == 0) {
        status = write_completion(complete_bash, argv[2]);
    } else if (argc == 3 && strcmp(argv[1], "zsh") == 0) {
        status = write_completion(complete_zsh, argv[2]);
    } else {
        fprintf(stderr, "usage: generate_docs man NAME... | bash FILE | zsh FILE\n");
        status = 2;
    }
    return fflush(stdout) || ferror(stdout) ? 1 : status;
}
