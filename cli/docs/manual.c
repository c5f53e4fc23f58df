#include <ctype.h>
#include <string.h>

#include "cli/base/method_options.h"
#include "cli/docs/docs.h"
#include "cli/docs/roff.h"
#include "src/lib/base/text.h"
#include "src/lib/codec/method.h"

static void print_title(FILE *out, const char *name)
{
    char upper[64];
    size_t n = 0;

    for (; name[n] && n + 1 < sizeof(upper); n++)
        upper[n] = (char)toupper((unsigned char)name[n]);
    upper[n] = '\0';
    fprintf(out, ".\\\" Generated from the tables of the command; not written by hand.\n.TH \"");
    roff_inline(out, upper);
    fprintf(out, "\" 1 \"\" \"gcbench %s\" \"User Commands\"\n", gcb_version());
}

/* Prints text in the font "B" (bold) or "I" (italic). */
static void print_font(FILE *out, const char *font, const char *text)
{
    fprintf(out, "\\f%s", font);
    roff_inline(out, text);
    fputs("\\fP", out);
}

/* Prints a word that a hanging paragraph explains. */
static void print_tag(FILE *out, const char *font, const char *name)
{
    fprintf(out, ".TP\n.%s ", font);
    roff_inline(out, name);
    fputc('\n', out);
}

static void print_name(FILE *out, const char *name, const char *summary)
{
    print_title(out, name);
    fputs(".SH NAME\n", out);
    roff_inline(out, name);
    fputs(" \\-\n", out);
    roff_text(out, summary);
}

/* Prints a summary as a sentence, with a capital letter and a full stop. */
static void print_sentence(FILE *out, const char *words)
{
    char line[512];

    snprintf(line, sizeof(line), "%s.", words);
    line[0] = (char)toupper((unsigned char)line[0]);
    roff_text(out, line);
}

/* Adds the choices, unless the help text names all of them. */
static void add_choices(char *out, size_t size, const struct opt_row *row)
{
    bool named = true;

    for (size_t i = 0; row->choices[i]; i++)
        named = named && strstr(row->help, row->choices[i]);
    for (size_t i = 0; !named && row->choices[i]; i++)
        gcb_append(out, size, "%s %s", i ? "," : "; one of", row->choices[i]);
}

/* Adds what an option takes to its help: choices, a range, whether it repeats. */
static void add_limits(char *out, size_t size, const struct opt_row *row)
{
    const bool number = row->type == OPT_INT || row->type == OPT_U64 || row->type == OPT_SIZE ||
                        row->type == OPT_REAL || row->type == OPT_TIME;
    char low[32], high[32];

    if (row->type == OPT_CHOICE)
        add_choices(out, size, row);
    if (row->type == OPT_LIST && !strstr(row->help, "repeatable"))
        gcb_append(out, size, "; repeatable");
    if (!number || (row->min == 0.0 && row->max == 0.0))
        return;
    if (row->max >= 1e300 || (row->type != OPT_REAL && row->max >= 0x1p63))
        gcb_append(out, size, "; at least %s", gcb_real_text(low, row->min));
    else
        gcb_append(out, size, "; from %s to %s", gcb_real_text(low, row->min),
                   gcb_real_text(high, row->max));
}

static void print_row(FILE *out, const struct opt_row *row)
{
    char help[1024];

    fputs(".TP\n\\fB", out);
    if (row->letter)
        fprintf(out, "\\-%c\\fP, \\fB", row->letter);
    fputs("\\-\\-", out);
    roff_inline(out, row->name);
    fputs("\\fP", out);
    if (opt_takes_value(row)) {
        fputc(' ', out);
        print_font(out, "I", opt_metavar(row));
    }
    fputc('\n', out);
    snprintf(help, sizeof(help), "%s", row->help);
    add_limits(help, sizeof(help), row);
    roff_text(out, help);
}

/* Prints the names of options that set a parameter of every method given. gcbench-methods(1) explains them. */
static void print_extra(FILE *out, const struct opt_extra *extra)
{
    const char *name;

    fputs(".SS \"Parameters of methods\"\n", out);
    roff_text(out,
              "Each takes a value. It sets the parameter in each `--method` that has this "
              "parameter, like "
              "KEY=VALUE in its SPEC. METHODS in gcbench-methods(1) explains the parameters, with "
              "defaults and ranges.");
    fputs(".PP\n", out);
    for (size_t i = 0; (name = extra->name_at(i)); i++) {
        if (!extra_is_first(extra, i))
            continue;
        fprintf(out, "%s\\fB\\-\\-", i ? ",\n" : "");
        roff_inline(out, name);
        fputs("\\fP", out);
    }
    fputc('\n', out);
}

static void print_options(FILE *out, const struct opt_spec *spec)
{
    static const struct opt_row help = {.name = "help",
                                        .letter = 'h',
                                        .type = OPT_FLAG,
                                        .help = "show a shorter form of this page"};
    const char *title = "";

    fputs(".SH OPTIONS\n", out);
    roff_text(out,
              "Long options are written in full, as `--name value` or `--name=value`; `--` ends "
              "the options. In a SIZE, K, M, G and T are powers of 1024.");
    for (const struct opt_group *g = spec->groups; g->rows; g++) {
        if (strcmp(title, g->title) != 0)
            roff_request(out, "SS", g->title);
        title = g->title;
        for (const struct opt_row *row = g->rows; row->name; row++)
            print_row(out, row);
    }
    if (spec->extra.name_at)
        print_extra(out, &spec->extra);
    fputs(".SS \"Help\"\n", out);
    print_row(out, &help);
}

static void print_method_names(FILE *out)
{
    struct gcb_method m;

    fputs(".SH METHODS\n", out);
    for (size_t i = 0; gcb_method_at(&m, i); i++) {
        print_tag(out, "B", m.name);
        roff_text(out, gcb_method_summary(&m));
    }
    fputs(".PP\ngcbench\\-methods(1) lists their papers, promises and parameters.\n", out);
}

static void print_param(FILE *out, const struct gcb_param *p, double value, bool condition)
{
    char text[512], shown[40];

    fputs(".TP\n", out);
    print_font(out, "B", p->name);
    fputc('=', out);
    roff_inline(out, gcb_param_text(shown, p, value));
    fputc('\n', out);
    roff_text(out, param_range(text, sizeof(text), p));
    fputs(".br\n", out);
    roff_text(out, param_help(text, sizeof(text), p, condition));
}

/* Prints the parameters of a method with their defaults. A codec shows all parameters; a preset shows only those that
 * have an effect. */
static void print_method(FILE *out, const struct gcb_method *m)
{
    const size_t own = gcb_param_count(m->codec->params);

    roff_request(out, "SS", m->name);
    roff_text(out, gcb_method_summary(m));
    fputs(".PP\nSource:\n", out);
    roff_text(out, gcb_method_source(m));
    fputs(".br\nPromises:\n", out);
    roff_text(out, gcb_method_guarantee(m));
    for (size_t i = 0; i < own; i++)
        if (!m->preset || gcb_method_applies(m, i))
            print_param(out, gcb_method_param(m, i), m->value[i], !m->preset);
}

static void print_methods(FILE *out)
{
    struct gcb_method m;

    fputs(".SH METHODS\n", out);
    roff_text(out, "A method is written NAME or NAME:key=value,...; each `name=value` below is a "
                   "parameter with its default. Every method also takes the parameters under "
                   "\"Memory\" and \"Exchange\", which gcbench-replay(1) uses.");
    for (size_t i = 0; gcb_method_at(&m, i); i++)
        print_method(out, &m);
    fputs(".SS Memory\nWhat a worker keeps of the values that it did not send.\n", out);
    for (const struct gcb_param *p = gcb_memory_table; p->name; p++)
        print_param(out, p, p->def, true);
    fputs(".SS Exchange\nHow workers exchange their messages. The default depends on the method.\n",
          out);
    for (const struct gcb_param *p = gcb_exchange_table; p->name; p++)
        print_param(out, p, p->def, true);
}

static bool has_option(const struct cmd *cmd, const char *name)
{
    for (const struct opt_group *g = cmd->spec.groups; g->rows; g++)
        for (const struct opt_row *row = g->rows; row->name; row++)
            if (strcmp(row->name, name) == 0)
                return true;
    return false;
}

/* Prints the exit statuses of `cmd`, or of all commands if it is NULL. */
static void print_exits(FILE *out, const struct cmd *cmd)
{
    fputs(".SH \"EXIT STATUS\"\n", out);
    for (const struct cmd_meaning *m = cmd_meanings; m->words; m++) {
        if (cmd && m->command && strcmp(m->command, cmd->name) != 0)
            continue;
        fprintf(out, ".TP\n.B %d\n", (int)m->code);
        roff_text(out, m->words);
    }
}

/* Prints the files that a command reads and writes. Its options tell which they are. */
static void print_files(FILE *out, const struct cmd *cmd)
{
    static const struct {
        const char *option, *name, *words;
    } files[] = {
        {"dataset", "FILE.h5",
         "HDF5 with gradients. Each dataset of 16, 32 or 64-bit floats is a tensor; groups such as "
         "`step_100`, `iter100` and `worker_0`, `rank0` give step and worker. A note says how many "
         "other datasets were skipped; `--as` reads bfloat16 and fp8 in integers. Several files "
         "form one dump. The file is not trusted: no filter plug-in is loaded, and nothing outside "
         "the file is read without `--allow-external`. A child process with few rights reads it, "
         "so that a crash of the HDF5 library ends the child only."},
        {"output", "output",
         "The file of `-o` is written under another name and renamed when it is complete. An "
         "existing file is replaced only with `--force`."},
        {"results", "results",
         "JSON Lines: one object per line, with `record` and `\"schema\":1`. docs/rows.md in the "
         "source tree describes every field. Infinities and NaNs are null."},
        {"suite", "share/gcbench/suites/NAME.json",
         "The suites that `--suite` knows by name; copy one to write your own."},
        {"terminal", "share/gcbench/plots/NAME.gp",
         "The gnuplot scripts. A copy is written beside each image, with its data."},
    };
    const char *title = ".SH FILES\n";

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (!has_option(cmd, files[i].option))
            continue;
        fputs(title, out);
        title = "";
        print_tag(out, "I", files[i].name);
        roff_text(out, files[i].words);
    }
}

static void print_see_also(FILE *out, const struct cmd *but)
{
    const struct cmd *cmd;
    const char *comma = "";

    fputs(".SH \"SEE ALSO\"\n", out);
    if (but) {
        fputs("\\fBgcbench\\fP(1)", out);
        comma = ",\n";
    }
    for (size_t i = 0; (cmd = cmd_at(i)); i++) {
        if (cmd == but)
            continue;
        fprintf(out, "%s\\fBgcbench\\-", comma);
        roff_inline(out, cmd->name);
        fputs("\\fP(1)", out);
        comma = ",\n";
    }
    fputc('\n', out);
}

/* Prints each line of `text` as a paragraph. */
static void print_paragraphs(FILE *out, const char *text)
{
    char line[2048];

    while (opt_next_line(line, sizeof(line), &text)) {
        fputs(".PP\n", out);
        roff_text(out, line);
    }
}

static void print_examples(FILE *out, const char *lines)
{
    fputs(".SH EXAMPLES\n.EX\n", out);
    roff_literal(out, lines);
    fputs(".EE\n", out);
}

void manual_command(FILE *out, const struct cmd *cmd)
{
    char name[64];

    snprintf(name, sizeof(name), "gcbench-%s", cmd->name);
    print_name(out, name, cmd->summary);
    fputs(".SH SYNOPSIS\n\\fBgcbench\\fP ", out);
    roff_synopsis(out, cmd->usage);
    fputs(".SH DESCRIPTION\n", out);
    print_sentence(out, cmd->summary);
    print_paragraphs(out, cmd->details);
    print_examples(out, cmd->examples);
    print_options(out, &cmd->spec);
    if (cmd->operands == CMD_METHODS)
        print_methods(out);
    else if (cmd->spec.extra.name_at)
        print_method_names(out);
    print_exits(out, cmd);
    print_files(out, cmd);
    print_see_also(out, cmd);
}

void manual_overview(FILE *out)
{
    const struct cmd *cmd;

    print_name(out, "gcbench", "what gradient compressors send, lose and cost");
    fputs(".SH SYNOPSIS\n\\fBgcbench\\fP ", out);
    roff_synopsis(out, "COMMAND [options] [FILE...]");
    fputs(".br\n\\fBgcbench help\\fP ", out);
    roff_synopsis(out, "[COMMAND | choose]");
    fputs(".br\n\\fBgcbench\\fP ", out);
    roff_synopsis(out, "--version");
    fputs(".SH DESCRIPTION\n", out);
    roff_text(out,
              "`gcbench` reads gradients dumped to HDF5, runs published gradient compressors on "
              "them, and reports the bytes that each sends, the accuracy it loses and the time it "
              "takes. Every message is decoded from its own bytes. This tells you which compressor "
              "to use, at what setting, and whether it pays.");
    fputs(".PP\n", out);
    roff_text(out,
              "Results go to standard output, everything else to standard error. `--format json` "
              "writes them as JSON Lines.");
    print_examples(out, "  gcbench demo\n"
                        "  gcbench compress --method fft --method topk gradients.h5\n"
                        "  gcbench help choose\n");
    fputs(".SH COMMANDS\n", out);
    for (size_t i = 0; (cmd = cmd_at(i)); i++) {
        fputs(".TP\n\\fBgcbench\\-", out);
        roff_inline(out, cmd->name);
        fputs("\\fP(1)\n", out);
        roff_text(out, cmd->summary);
    }
    print_method_names(out);
    print_exits(out, NULL);
    fputs(".SH ENVIRONMENT\n", out);
    fputs(".TP\n.B NO_COLOR\n", out);
    roff_text(out, "If not empty, nothing is coloured unless `--color always`.");
    fputs(".TP\n.B TERM\n", out);
    roff_text(out, "If `dumb`, nothing is coloured unless `--color always`.");
    print_see_also(out, NULL);
}
