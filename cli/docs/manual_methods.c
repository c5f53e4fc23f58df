#include "cli/docs/manual_methods.h"

#include "cli/base/param_text.h"
#include "cli/docs/roff.h"
#include "src/lib/codec/method.h"

static void print_tag(FILE *out, const char *name)
{
    fputs(".TP\n.B ", out);
    roff_inline(out, name);
    fputc('\n', out);
}

void manual_methods_list(FILE *out)
{
    struct gcb_method m;

    fputs(".SH METHODS\n", out);
    for (size_t i = 0; gcb_method_at(&m, i); i++) {
        print_tag(out, m.name);
        roff_text(out, gcb_method_summary(&m));
    }
    fputs(".PP\ngcbench\\-methods(1) has their papers, promises and parameters.\n", out);
}

static void print_param(FILE *out, const struct gcb_param *p, double value, bool condition)
{
    char text[512], shown[40];

    fputs(".TP\n\\fB", out);
    roff_inline(out, p->name);
    fputs("\\fP=", out);
    roff_inline(out, gcb_param_text(shown, p, value));
    fputc('\n', out);
    roff_text(out, param_range(text, sizeof(text), p));
    fputs(".br\n", out);
    roff_text(out, param_help(text, sizeof(text), p, condition));
}

/* Parameters with their defaults: of a codec all, of a preset those that have a meaning. */
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

void manual_methods(FILE *out)
{
    struct gcb_method m;

    fputs(".SH METHODS\n", out);
    roff_text(out, "A method is written NAME or NAME:key=value,...; each `name=value` below is a "
                   "parameter with its default. Every method also takes what stands under "
                   "\"Memory\", which acts from step to step in gcbench-replay(1).");
    for (size_t i = 0; gcb_method_at(&m, i); i++)
        print_method(out, &m);
    fputs(".SS Memory\nWhat a worker keeps of what it did not send.\n", out);
    for (const struct gcb_param *p = gcb_memory_table; p->name; p++)
        print_param(out, p, p->def, true);
}
