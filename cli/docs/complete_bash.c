#include "cli/base/options.h"
#include "cli/docs/complete.h"

/*
 * Tables as functions with a `case`, which completion.bash asks: of a command its options, of an option its values,
 * of a method its parameters. All these words are letters, digits and signs without a meaning in single quotes.
 */

static void print_lists(FILE *out)
{
    const struct cmd *cmd;
    struct gcb_method m;

    fputs("_gcbench_commands=(", out);
    for (size_t i = 0; (cmd = commands_at(i)); i++)
        fprintf(out, "%s ", cmd->name);
    fputs("help)\n_gcbench_methods=(", out);
    for (size_t i = 0; gcb_method_at(&m, i); i++)
        fprintf(out, "%s%s", i ? " " : "", m.name);
    fputs(")\n\n", out);
}

static void print_options(FILE *out, const struct cmd *cmd)
{
    const char *name;

    fprintf(out, "    %s) words=(", cmd->name);
    for (const struct opt_group *g = cmd->spec.groups; g->rows; g++)
        for (const struct opt_row *row = g->rows; row->name; row++)
            fprintf(out, "--%s ", row->name);
    for (size_t i = 0; cmd->spec.extra && (name = cmd->spec.extra->name_at(i)); i++)
        if (!complete_named_before(cmd->spec.extra, i))
            fprintf(out, "--%s ", name);
    fputs("--help) ;;\n", out);
}

/* One line of _gcbench_value. */
static void print_value(FILE *out, const struct cmd *cmd, const struct opt_row *row)
{
    static const char *const kinds[] = {[COMPLETE_ANY] = "any",
                                        [COMPLETE_WORDS] = "any",
                                        [COMPLETE_FILE] = "file",
                                        [COMPLETE_METHOD] = "method"};
    const enum complete_kind kind = complete_kind_of(row);

    if (kind == COMPLETE_FLAG)
        return;
    fprintf(out, "    '%s --%s'", cmd->name, row->name);
    if (row->letter)
        fprintf(out, " | '%s -%c'", cmd->name, row->letter);
    fprintf(out, ") kind='%s'", kinds[kind]);
    for (size_t i = 0; kind == COMPLETE_WORDS && row->choices[i]; i++)
        fprintf(out, "%s'%s'", i ? " " : " words=(", row->choices[i]);
    fprintf(out, "%s ;;\n", kind == COMPLETE_WORDS ? ")" : "");
}

/* Options that are parameters of methods take what the parameter takes. */
static void print_extra(FILE *out, const struct cmd *cmd)
{
    const char *name;

    if (!cmd->spec.extra)
        return;
    for (size_t i = 0; (name = cmd->spec.extra->name_at(i)); i++)
        if (!complete_named_before(cmd->spec.extra, i))
            fprintf(out, "%s'%s --%s'", i ? " | " : "    ", cmd->name, name);
    fputs(")\n        kind='any'\n        _gcbench_choices \"${2#--}\" ;;\n", out);
}

static void print_values(FILE *out)
{
    const struct cmd *cmd;

    fputs("_gcbench_value() { # COMMAND OPTION: what stands behind it; fails where nothing does\n"
          "    case \"$1 $2\" in\n",
          out);
    for (size_t i = 0; (cmd = commands_at(i)); i++) {
        for (const struct opt_group *g = cmd->spec.groups; g->rows; g++)
            for (const struct opt_row *row = g->rows; row->name; row++)
                print_value(out, cmd, row);
        print_extra(out, cmd);
    }
    fputs("    *) return 1 ;;\n    esac\n}\n\n", out);
}

static void print_choices(FILE *out)
{
    const struct opt_extra keys = {.name_at = opt_methods_key_at};
    const char *name;
    char words[1024];

    fputs("_gcbench_choices() { # PARAMETER: what it may be\n    words=()\n    case $1 in\n", out);
    for (size_t i = 0; (name = opt_methods_key_at(i)); i++)
        if (!complete_named_before(&keys, i) && *complete_choices(words, sizeof(words), name))
            fprintf(out, "    %s) words=(%s) ;;\n", name, words + 1);
    fputs("    esac\n}\n\n", out);
}

static void print_keys(FILE *out)
{
    struct gcb_method m;
    char words[2048];

    fputs("_gcbench_keys() { # METHOD: its parameters\n    words=()\n    case $1 in\n", out);
    for (size_t i = 0; gcb_method_at(&m, i); i++)
        fprintf(out, "    %s) words=(%s) ;;\n", m.name,
                complete_keys(words, sizeof(words), &m) + 1);
    fputs("    esac\n}\n\n", out);
}

static void print_operands(FILE *out)
{
    const struct cmd *cmd;

    fputs("_gcbench_operands() { # COMMAND: files, unless it says otherwise\n    kind='file'\n    "
          "case $1 in\n",
          out);
    for (size_t i = 0; (cmd = commands_at(i)); i++)
        if (cmd->operands != CMD_FILES)
            fprintf(out, "    %s) kind='%s' ;;\n", cmd->name,
                    cmd->operands == CMD_METHODS ? "method" : "any");
    fputs("    esac\n}\n", out);
}

void complete_bash(FILE *out)
{
    const struct cmd *cmd;

    fputs("# Completion of gcbench(1) for bash; generated from the tables of the command.\n\n",
          out);
    print_lists(out);
    fputs("_gcbench_options() { # COMMAND\n    case $1 in\n", out);
    for (size_t i = 0; (cmd = commands_at(i)); i++)
        print_options(out, cmd);
    fputs("    esac\n}\n\n", out);
    print_values(out);
    print_choices(out);
    print_keys(out);
    print_operands(out);
}
