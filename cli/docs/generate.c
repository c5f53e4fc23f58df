#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/docs/docs.h"
#include "src/tool/rows/fields.h"

/*
 * Runs while gcbench is built; prints a page of the manual, or a completion.
 *
 *   generate man gcbench NAME...   gcbench(1); NAME...: the commands that the build makes pages for
 *   generate man NAME              gcbench-NAME(1)
 *   generate completion FILE...    the table for completion, then the shell functions in each FILE
 *   generate fields FILE           docs/rows.md, with the tables of fields as src/tool/rows/fields.def has them
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

#define FIELDS "<!-- fields: "
#define FIELDS_END "<!-- end of fields -->\n"

static bool has_csv(enum gcb_record record)
{
    const struct gcb_field_row *row;

    for (size_t i = 0; (row = gcb_field_row(i)); i++)
        if (row->csv && row->field != GCB_FIELD_RECORD && row->records & GCB_RECORD_BIT(record))
            return true;
    return false;
}

/* Prints the table of a record or part, without the two fields that every row has. */
static void write_fields(enum gcb_record record)
{
    static const char *const types[] = {"text", "integer", "real", "bool", "list", "object"};
    const struct gcb_field_row *row;
    const bool csv = has_csv(record);

    printf("| field | type | unit | meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; (row = gcb_field_row(i)); i++) {
        const struct gcb_field_info *info = gcb_field_info(row->field);
        const bool json = csv && !row->csv && info->type < GCB_TYPE_LIST;

        if (row->records & GCB_RECORD_BIT(record) && row->field != GCB_FIELD_RECORD &&
            row->field != GCB_FIELD_SCHEMA)
            printf("| `%s` | %s%s | %s | %s |\n", info->name, types[info->type],
                   json ? ", json only" : "", info->unit, row->meaning);
    }
}

/* Returns the record or part that a line "<!-- fields: NAME -->" names, or GCB_RECORD_PARTS. */
static enum gcb_record marked_record(const char *line)
{
    enum gcb_record record = 0;
    char marker[80];

    for (; record < GCB_RECORD_PARTS; record++) {
        snprintf(marker, sizeof(marker), FIELDS "%s -->\n", gcb_record_name(record));
        if (strcmp(line, marker) == 0)
            break;
    }
    return record;
}

/* Copies a page; what stands between the markers is written anew. */
static int write_field_page(const char *path)
{
    FILE *in = fopen(path, "r");
    bool inside = false;
    char line[4096];

    if (!in) {
        fprintf(stderr, "cannot read %s\n", path);
        return 1;
    }
    while (fgets(line, sizeof(line), in)) {
        const enum gcb_record record = marked_record(line);

        inside = inside && strcmp(line, FIELDS_END) != 0;
        if (!inside)
            fputs(line, stdout);
        if (record < GCB_RECORD_PARTS) {
            inside = true;
            write_fields(record);
        }
    }
    fclose(in);
    return 0;
}

int main(int argc, char **argv)
{
    int status = 2;

    if (argc >= 3 && strcmp(argv[1], "man") == 0)
        status = write_page(argc - 2, argv + 2);
    else if (argc >= 3 && strcmp(argv[1], "completion") == 0)
        status = write_completion(argc - 2, argv + 2);
    else if (argc == 3 && strcmp(argv[1], "fields") == 0)
        status = write_field_page(argv[2]);
    else
        fprintf(stderr, "usage: generate man NAME... | completion FILE... | fields FILE\n");
    return fflush(stdout) || ferror(stdout) ? 1 : status;
}
