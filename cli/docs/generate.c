#include <string.h>

#include "cli/docs/docs.h"

/*
 * Runs while gcbench is built; prints a page of the manual, or a completion.
 *
 *   generate man gcbench NAME...   gcbench(1); NAME...: the commands that the build makes pages for
 *   generate man NAME              gcbench-NAME(1)
 *   generate completion FILE...    the table for completion, then the shell functions in each FILE
 */

/* Does the build make a page of every command? */
static int check_names(int count, char *const *names)
{
    const struct cmd *cmd;
    int known = 0;

    for (; (cmd = cmd_at((size_t)known)); known++) {
        bool found = false;

        for (int i = 0; i < count; i++)
            found = found || strcmp(names[i], cmd->name) == 0;
        if (!found) {
            fprintf(stderr,
                    "'%s' of cli/base/cmd.c is missing in cli_commands of cli/meson.build\n",
                    cmd->name);
            return 1;
        }
    }
    return 0;
}

static int write_page(int count, char *const *names)
{
    const struct cmd *cmd = cmd_find(names[0]);

    if (strcmp(names[0], "gcbench") == 0) {
        manual_overview(stdout);
        return check_names(count - 1, names + 1);
    }
    if (!cmd) {
        fprintf(stderr, "'%s' of cli_commands in cli/meson.build is missing in cli/base/cmd.c\n",
                names[0]);
        return 1;
    }
    manual_command(stdout, cmd);
    return 0;
}

/* Prints the table, then the files that read it. */
static int write_completion(int count, char *const *paths)
{
    char block[4096];
    size_t n;

    printf("#compdef gcbench\n# Completion of gcbench(1); generated from the tables of the "
           "command.\n\n");
    completion_table(stdout);
    for (int i = 0; i < count; i++) {
        FILE *in = fopen(paths[i], "r");

        if (!in) {
            fprintf(stderr, "cannot read %s\n", paths[i]);
            return 1;
        }
        while ((n = fread(block, 1, sizeof(block), in)))
            fwrite(block, 1, n, stdout);
        fclose(in);
    }
    return 0;
}

int main(int argc, char **argv)
{
    int status = 2;

    if (argc >= 3 && strcmp(argv[1], "man") == 0)
        status = write_page(argc - 2, argv + 2);
    else if (argc >= 3 && strcmp(argv[1], "completion") == 0)
        status = write_completion(argc - 2, argv + 2);
    else
        fprintf(stderr, "usage: generate man NAME... | completion FILE...\n");
    return fflush(stdout) || ferror(stdout) ? 1 : status;
}
