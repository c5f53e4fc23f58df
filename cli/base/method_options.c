#include "cli/base/method_options.h"

#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/lib/lowrank/blas.h"

/* clang-format off */
const struct opt_row opt_methods_rows[] = {
    {OPT_ROW("method", LIST, opt_methods, specs), .metavar = "SPEC",
     .help = "method to run: NAME[:key=value,...]; repeatable. A key may also be an option: "
             "--theta 0.8 sets theta in each of these methods that has a theta. `gcbench "
             "methods` lists methods and keys"},
    {.name = NULL},
};

const struct opt_row opt_policy_rows[] = {
    {OPT_ROW("method-for", LIST, opt_methods, rules), .metavar = "GLOB=SPEC",
     .help = "the method for tensors whose path matches, '*' also matches '/'; repeatable: the "
             "first glob that matches counts, and --method is for the rest. The results are "
             "those of one method, called policy"},
    {.name = NULL},
};

const struct opt_row opt_nearer_rows[] = {
    {OPT_ROW("nearer-than", TEXT, opt_methods, nearer_than), .metavar = "SPEC",
     .help = "also run this method, and count for how many elements each of the others is nearer "
             "to the input than this one"},
    {.name = NULL},
};
/* clang-format on */

/* Returns the i-th name in a table. Each row counts with its own name and then its complements. Past the end it returns
 * NULL and reduces *i by the number of names in the table. */
static const char *key_of(const struct gcb_param *table, size_t *i)
{
    for (const struct gcb_param *p = table; p && p->name; p++) {
        if ((*i)-- == 0)
            return p->name;
        for (size_t c = 0; p->complement[c]; c++)
            if ((*i)-- == 0)
                return p->complement[c];
    }
    return NULL;
}

const char *opt_methods_key_at(size_t i)
{
    const struct gcb_codec *codec;
    const char *name;

    for (size_t c = 0; (codec = gcb_codec_at(c)); c++) {
        name = key_of(codec->params, &i);
        if (name)
            return name;
    }
    name = key_of(gcb_memory_table, &i);
    return name ? name : key_of(gcb_exchange_table, &i);
}

/* Reads one method and sets the parameters that --KEY options name, if it has them. */
static int resolve_one(struct gcb_method *out, const char *spec, const struct opt_methods *in,
                       bool *used, struct gcb_diag *diag)
{
    int err = gcb_method_read(out, spec, diag);

    if (!err)
        err = gcb_method_set_all(out, in->overrides.items, in->overrides.count / 2, used, diag);
    if (!err && out->codec == &gcb_codec_powersgd)
        (void)gcb_blas_open(1, NULL); /* so that the environment row names OpenBLAS */
    return err ? err : gcb_method_check(out, diag);
}

/* Fails if no method uses one of the --KEY options. */
static int check_used(const bool *used, const struct opt_methods *in,
                      const struct gcb_method *methods, size_t count, struct gcb_diag *diag)
{
    for (size_t i = 0; 2 * i < in->overrides.count; i++) {
        const char *key = in->overrides.items[2 * i];

        for (size_t m = 0; !used[i] && m < count; m++)
            if (gcb_method_find(&methods[m], key))
                return gcb_diag_set(diag, GCB_E_INVALID,
                                    "--%s: method '%s' uses this parameter only with %s", key,
                                    methods[m].name, gcb_method_find(&methods[m], key)->needs);
        if (!used[i])
            return gcb_diag_set(
                diag, GCB_E_INVALID,
                "--%s: no method given has this parameter; `gcbench methods NAME` lists them", key);
    }
    return 0;
}

bool opt_methods_all(const struct gcb_method *m)
{
    return strcmp(m->name, "sparse") != 0; /* its defaults are those of topk */
}

int opt_methods_resolve(struct gcb_method **out, size_t *count, const struct opt_methods *in,
                        bool (*wanted)(const struct gcb_method *), struct gcb_diag *diag)
{
    bool *used = gcb_alloc_zero(in->overrides.count / 2 + 1, sizeof(*used));
    struct opt_list specs = {.items = NULL};
    struct gcb_method *methods = NULL, m;
    size_t n = 0;
    int err = opt_list_add_all(&specs, in->specs.items, in->specs.count);

    for (size_t i = 0; !err && wanted && !in->specs.count && gcb_method_at(&m, i); i++)
        if (wanted(&m))
            err = opt_list_add(&specs, m.name);
    methods = gcb_alloc_array(specs.count + 1, sizeof(*methods));
    if (err || !used || !methods)
        err = gcb_diag_nomem(diag, 0, "the methods");
    if (!err && in->nearer_than)
        err = resolve_one(&methods[n++], in->nearer_than, in, used, diag);
    for (size_t i = 0; !err && i < specs.count; i++) {
        err = resolve_one(&methods[n], specs.items[i], in, used, diag);
        n += !in->nearer_than || !gcb_method_equal(&methods[n], &methods[0]);
    }
    if (!err)
        err = check_used(used, in, methods, n, diag);
    gcb_free(used);
    opt_list_fini(&specs);
    if (err) {
        gcb_free(methods);
        return err;
    }
    *out = methods;
    *count = n;
    return 0;
}

/* Adds the rule of one GLOB=SPEC. */
static int add_rule(struct gcb_policy *out, const char *text, const struct opt_methods *in,
                    bool *used, struct gcb_diag *diag)
{
    const size_t n = strcspn(text, "=");
    struct gcb_method method;
    char shown[96];
    char *glob;
    int err;

    if (n == 0 || !text[n])
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--method-for takes GLOB=SPEC, such as '*bias=fp16', not '%s'",
                            gcb_escape(shown, sizeof(shown), text));
    err = resolve_one(&method, text + n + 1, in, used, diag);
    glob = err ? NULL : gcb_strndup(text, n);
    if (err || !glob)
        return err ? err : gcb_diag_nomem(diag, n, "a glob");
    err = gcb_policy_add(out, glob, &method, diag);
    gcb_free(glob);
    return err;
}

int opt_policy_resolve(struct gcb_policy *out, const struct opt_methods *in, struct gcb_diag *diag)
{
    bool *used = gcb_alloc_zero(in->overrides.count / 2 + 1, sizeof(*used));
    int err = used ? 0 : gcb_diag_nomem(diag, 0, "the methods");
    struct gcb_method rest;

    if (!err && in->specs.count > 1)
        err = gcb_diag_set(diag, GCB_E_INVALID,
                           "--method-for makes one policy, and --method is for the rest of its "
                           "tensors: name one method, not %zu",
                           in->specs.count);
    if (!err && in->nearer_than)
        err = gcb_diag_set(diag, GCB_E_INVALID,
                           "--nearer-than compares methods, and --method-for makes a policy of "
                           "several: leave one out");
    for (size_t i = 0; !err && i < in->rules.count; i++)
        err = add_rule(out, in->rules.items[i], in, used, diag);
    if (!err && in->specs.count) {
        err = resolve_one(&rest, in->specs.items[0], in, used, diag);
        if (!err)
            err = gcb_policy_add(out, NULL, &rest, diag);
    }
    if (!err)
        err = check_used(used, in, NULL, 0, diag);
    gcb_free(used);
    return err;
}

int opt_methods_append(struct gcb_method **methods, size_t *count, const char *spec,
                       struct gcb_diag *diag)
{
    size_t cap = *count;

    if (gcb_grow(methods, &cap, *count, sizeof(**methods)))
        return gcb_diag_nomem(diag, 0, "the methods");
    return gcb_method_parse(&(*methods)[(*count)++], spec, diag);
}

char *param_range(char *out, size_t size, const struct gcb_param *p)
{
    char low[32], high[32];

    gcb_real_text(high, p->max);
    if (strlen(high) > 12) /* do not print all 17 digits of the largest float */
        snprintf(high, sizeof(high), "%.3g", p->max);
    if (p->type != GCB_PARAM_CHOICE) {
        snprintf(out, size, "in [%s, %s%c", gcb_real_text(low, p->min), high,
                 p->flags & GCB_PARAM_OPEN_MAX ? ')' : ']');
        return out;
    }
    snprintf(out, size, "one of");
    for (size_t i = 0; p->choices[i]; i++)
        gcb_append(out, size, "%s %s", i ? "," : "", p->choices[i]);
    return out;
}

char *param_help(char *out, size_t size, const struct gcb_param *p, bool condition)
{
    snprintf(out, size, "%s", p->help);
    for (size_t c = 0; p->complement[c]; c++)
        gcb_append(out, size, "%s--%s", c ? " or " : "; or give ", p->complement[c]);
    if (p->complement[0])
        gcb_append(out, size, ", 1 - %s", p->name);
    if (condition && p->needs)
        gcb_append(out, size, " (with %s)", p->needs);
    return out;
}
