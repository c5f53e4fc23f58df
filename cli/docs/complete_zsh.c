#include <string.h>

#include "cli/base/options.h"
#include "cli/docs/complete.h"

/* Tables for completion.zsh: lists for _describe, and of each command the specs that _arguments takes. */

/* In single quotes, with a backslash before what `special` has. */
static void quote(FILE *out, const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fprintf(out, "%s%c", strchr(special, *text) ? "\\" : "", *text);
    }
}

/* 'name:what it is' */
static void print_pair(FILE *out, const char *name, const char *words)
{
    fputs("    '", out);
    quote(out, name, ":\\");
    fputc(':', out);
    quote(out, words, "\\");
    fputs("'\n", out);
}

static void print_lists(FILE *out)
{
    const struct cmd *cmd;
    struct gcb_method m;

    fputs("typeset -ga _gcbench_commands _gcbench_methods\n_gcbench_commands=(\n", out);
    for (size_t i = 0; (cmd = commands_at(i)); i++)
        print_pair(out, cmd->name, cmd->summary);
    print_pair(out, "help", "explain a command");
    fputs(")\n_gcbench_methods=(\n", out);
    for (size_t i = 0; gcb_method_at(&m, i); i++)
        print_pair(out, m.name, gcb_method_summary(&m));
    fputs(")\n\n", out);
}

/* ":FILE:_files", what stands behind an option. */
static void print_action(FILE *out, const struct opt_row *row)
{
    const enum complete_kind kind = complete_kind_of(row);

    if (kind == COMPLETE_FLAG)
        return;
    fputc(':', out);
    quote(out, opt_metavar(row), ":\\[]");
    fputc(':', out);
    if (kind == COMPLETE_FILE)
        fputs("_files", out);
    else if (kind == COMPLETE_METHOD)
        fputs("_gcbench_method", out);
    if (kind != COMPLETE_WORDS)
        return;
    for (size_t i = 0; row->choices[i]; i++) {
        fputc(i ? ' ' : '(', out);
        quote(out, row->choices[i], ":\\() ");
    }
    fputc(')', out);
}

/* '(-o --output)'{-o+,--output=}'[help]:FILE:_files' */
static void print_row(FILE *out, const struct opt_row *row)
{
    const bool flag = complete_kind_of(row) == COMPLETE_FLAG;
    const bool repeats = row->type == OPT_LIST || row->type == OPT_COUNT;

    fputs("            ", out);
    if (repeats)
        fputs("'*'", out);
    else if (row->letter)
        fprintf(out, "'(-%c --%s)'", row->letter, row->name);
    if (row->letter)
        fprintf(out, "{-%c%s,--%s%s}'[", row->letter, flag ? "" : "+", row->name, flag ? "" : "=");
    else
        fprintf(out, "'--%s%s[", row->name, flag ? "" : "=");
    quote(out, row->help, "[]\\");
    fputc(']', out);
    print_action(out, row);
    fputs("' \\\n", out);
}

static void print_extra(FILE *out, const struct opt_extra *extra)
{
    const char *name;

    for (size_t i = 0; (name = extra->name_at(i)); i++)
        if (!complete_named_before(extra, i))
            fprintf(out,
                    "            '--%s=[parameter of methods]:value: _gcbench_parameter %s' \\\n",
                    name, name);
}

static void print_command(FILE *out, const struct cmd *cmd)
{
    static const char *const operands[] = {[CMD_FILES] = "'*:file:_files'",
                                           [CMD_METHODS] = "'*:method:_gcbench_method'",
                                           [CMD_NOTHING] = "'*:: :_message \"no operand\"'"};

    fprintf(out, "    %s)\n        _arguments -s -S \\\n", cmd->name);
    for (const struct opt_group *g = cmd->spec.groups; g->rows; g++)
        for (const struct opt_row *row = g->rows; row->name; row++)
            print_row(out, row);
    if (cmd->spec.extra)
        print_extra(out, cmd->spec.extra);
    fprintf(
        out,
        "            '(- *)'{-h,--help}'[explain the command]' \\\n            %s\n        ;;\n",
        operands[cmd->operands]);
}

static void print_choices(FILE *out)
{
    const struct opt_extra keys = {.name_at = opt_methods_key_at};
    const char *name;
    char words[1024];

    fputs("_gcbench_choices() { # PARAMETER: what it may be\n    found=()\n    case $1 in\n", out);
    for (size_t i = 0; (name = opt_methods_key_at(i)); i++)
        if (!complete_named_before(&keys, i) && *complete_choices(words, sizeof(words), name))
            fprintf(out, "    %s) found=(%s) ;;\n", name, words + 1);
    fputs("    esac\n}\n\n", out);
}

static void print_keys(FILE *out)
{
    struct gcb_method m;
    char words[2048];

    fputs("_gcbench_keys() { # METHOD: its parameters\n    found=()\n    case $1 in\n", out);
    for (size_t i = 0; gcb_method_at(&m, i); i++)
        fprintf(out, "    %s) found=(%s) ;;\n", m.name,
                complete_keys(words, sizeof(words), &m) + 1);
    fputs("    esac\n}\n", out);
}

void complete_zsh(FILE *out)
{
    const struct cmd *cmd;

    fputs("#compdef gcbench\n# Completion of gcbench(1) for zsh; generated from the tables of the "
          "command.\n\n",
          out);
    print_lists(out);
    fputs("_gcbench_arguments() { # COMMAND\n    case $1 in\n", out);
    for (size_t i = 0; (cmd = commands_at(i)); i++)
        print_command(out, cmd);
    fputs("    esac\n}\n\n", out);
    print_choices(out);
    print_keys(out);
}
