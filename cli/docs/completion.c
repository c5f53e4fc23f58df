#include <string.h>

#include "cli/base/optparse.h"
#include "cli/docs/docs.h"
#include "src/lib/codec/method.h"

/*
 * Prints a line for each word that may be typed: WHERE|WORD|KIND|VALUES|HELP. WHERE is "gcbench" for commands, a
 * command for its options (and "*" for its operands), ":" for methods, "METHOD:" for a method's parameters. KIND says
 * what follows an option, VALUES lists what it may be.
 */

static void put_word(FILE *out, const char *where, const char *word, const char *kind,
                     const char *const *values, const char *help)
{
    fprintf(out, "%s|%s|%s|", where, word, kind);
    for (size_t i = 0; values && values[i]; i++)
        fprintf(out, "%s%s", i ? " " : "", values[i]);
    fputc('|', out);
    for (; *help; help++) /* the whole table is a shell word in single quotes */
        fprintf(out, "%s%c", *help == '\'' ? "'\\'" : "", *help);
    fputc('\n', out);
}

/* What follows the option: nothing ("flag"), a method, a file, or one of its choices or any text ("value"). */
static const char *kind_of(const struct opt_row *row)
{
    static const char *const files[] = {"FILE", "DIR", "GCBENCH"};

    if (!opt_takes_value(row))
        return "flag";
    if (strcmp(row->name, "method") == 0)
        return "method";
    for (size_t i = 0; !row->choices && i < sizeof(files) / sizeof(files[0]); i++)
        if (strstr(opt_metavar(row), files[i]))
            return "file";
    return "value";
}

static void put_row(FILE *out, const struct cmd *cmd, const struct opt_row *row)
{
    char word[64];

    snprintf(word, sizeof(word), "--%s", row->name);
    put_word(out, cmd->name, word, kind_of(row), row->choices, row->help);
    snprintf(word, sizeof(word), "-%c", row->letter);
    if (row->letter)
        put_word(out, cmd->name, word, kind_of(row), row->choices, row->help);
}

bool extra_is_first(const struct opt_extra *names, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(names->name_at(k), names->name_at(i)) == 0)
            return false;
    return true;
}

static void put_command(FILE *out, const struct cmd *cmd)
{
    static const char *const operands[] = {
        [CMD_FILES] = "file", [CMD_METHODS] = "method", [CMD_NOTHING] = "value"};
    const struct opt_extra *extra = &cmd->spec.extra;
    char word[64];

    put_word(out, "gcbench", cmd->name, "", NULL, cmd->summary);
    put_word(out, cmd->name, "*", operands[cmd->operands], NULL, "");
    for (const struct opt_group *g = cmd->spec.groups; g->rows; g++)
        for (const struct opt_row *row = g->rows; row->name; row++)
            put_row(out, cmd, row);
    for (size_t i = 0; extra->name_at && extra->name_at(i); i++) {
        snprintf(word, sizeof(word), "--%s", extra->name_at(i));
        if (extra_is_first(extra, i))
            put_word(out, cmd->name, word, "parameter", NULL, "parameter of methods");
    }
    put_word(out, cmd->name, "--help", "flag", NULL, "explain the command");
}

static void put_method(FILE *out, const struct gcb_method *m)
{
    const struct gcb_param *p;
    char where[64];

    put_word(out, ":", m->name, "", NULL, gcb_method_summary(m));
    snprintf(where, sizeof(where), "%s:", m->name);
    for (size_t i = 0; (p = gcb_method_param(m, i)); i++) {
        put_word(out, where, p->name, "value", p->choices, p->help);
        for (size_t c = 0; p->complement[c]; c++)
            put_word(out, where, p->complement[c], "value", NULL, p->help);
    }
}

void completion_table(FILE *out)
{
    const struct cmd *cmd;
    struct gcb_method m;

    fputs("# shellcheck disable=SC2016 # help texts have backticks\n_gcbench_table='", out);
    for (size_t i = 0; (cmd = cmd_at(i)); i++)
        put_command(out, cmd);
    put_word(out, "gcbench", "help", "", NULL, "explain a command");
    put_word(out, "gcbench", "--help", "", NULL, "list the commands");
    put_word(out, "gcbench", "--version", "", NULL, "show the version");
    for (size_t i = 0; gcb_method_at(&m, i); i++)
        put_method(out, &m);
    fputs("'\n\n", out);
}
