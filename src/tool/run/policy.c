#include "src/tool/run/policy.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"

/* The codec of a policy's method. Its parameters only name the policy; it has no operations. */

enum { ROW_RULES, ROW_ID };

static const struct gcb_param params[] = {
    [ROW_RULES] = {.name = "rules",
                   .help = "number of rules",
                   .type = GCB_PARAM_INT,
                   .max = (double)UINT32_MAX,
                   .flags = GCB_PARAM_LABEL},
    [ROW_ID] = {.name = "id",
                .help = "hash of the rules",
                .type = GCB_PARAM_INT,
                .max = (double)UINT32_MAX},
    {.name = NULL},
};
static const struct gcb_codec_ops none = {.state_size = 0};
static const struct gcb_codec codec = {
    .name = "policy",
    .summary = "a method for each tensor",
    .source = "none",
    .guarantee = "those of the methods",
    .params = params,
    .ops = &none,
};

bool gcb_policy_is(const struct gcb_method *m)
{
    return m->codec == &codec;
}

int gcb_policy_add(struct gcb_policy *p, const char *glob, const struct gcb_method *method,
                   struct gcb_diag *diag)
{
    if (glob && strlen(glob) >= GCB_RULE_GLOB)
        return gcb_invalid(diag, "--method-for: a glob has at most %d bytes", GCB_RULE_GLOB - 1);
    gcb_must_grow(&p->rules, &p->cap, p->count, sizeof(*p->rules));
    p->rules[p->count++] = (struct gcb_rule){glob ? gcb_must_strdup(glob) : NULL, *method};
    return 0;
}

const struct gcb_rule *gcb_policy_rule(const struct gcb_policy *p, const char *path)
{
    for (size_t i = 0; i < p->count; i++)
        if (!p->rules[i].glob || gcb_glob(p->rules[i].glob, path))
            return &p->rules[i];
    return NULL;
}

char *gcb_policy_rule_text(char *out, size_t size, const struct gcb_rule *rule)
{
    char spec[512];

    snprintf(out, size, "%s=%s", rule->glob ? rule->glob : "*",
             gcb_method_spec(spec, sizeof(spec), &rule->method, GCB_SPEC_LABEL));
    return out;
}

/* Appends a word in quotes, as a shell reads it. A quote within the word becomes '"'"' and not
 * '\'', because rows and tables would escape the backslash. */
static void quote(char *out, size_t size, const char *word)
{
    gcb_append(out, size, "'");
    for (; *word; word++)
        if (*word == '\'')
            gcb_append(out, size, "'\"'\"'");
        else
            gcb_append(out, size, "%c", *word);
    gcb_append(out, size, "'");
}

char *gcb_policy_option(char *out, size_t size, const struct gcb_rule *rule)
{
    char text[GCB_RULE_TEXT];

    snprintf(out, size, "%s", rule->glob ? "--method-for " : "--method ");
    if (rule->glob)
        quote(out, size, gcb_policy_rule_text(text, sizeof(text), rule));
    else
        gcb_append(out, size, "%s",
                   gcb_method_spec(text, sizeof(text), &rule->method, GCB_SPEC_LABEL));
    return out;
}

/* Sets p->text to all rules as options. */
static void write_text(struct gcb_policy *p)
{
    const size_t size = (p->count + 1) * (size_t)GCB_RULE_TEXT;
    char option[GCB_RULE_TEXT];

    p->text = gcb_must_array(size, 1);
    p->text[0] = '\0';
    for (size_t i = 0; i < p->count; i++)
        gcb_append(p->text, size, "%s%s", i ? " " : "",
                   gcb_policy_option(option, sizeof(option), &p->rules[i]));
}

void gcb_policy_method(struct gcb_method *out, struct gcb_policy *p)
{
    write_text(p);
    *out = (struct gcb_method){.name = codec.name, .codec = &codec};
    out->value[ROW_RULES] = (double)p->count;
    out->value[ROW_ID] = (double)(uint32_t)XXH3_64bits(p->text, strlen(p->text));
}

static bool matches_any(const char *glob, const struct gcb_source *source)
{
    for (size_t i = 0; i < gcb_source_count(source); i++)
        if (gcb_glob(glob, gcb_source_tensor(source, i)->path))
            return true;
    return false;
}

/* Checks that each glob matches a tensor. */
static int check_globs(const struct gcb_policy *p, const struct gcb_source *source,
                       struct gcb_diag *diag)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->rules[i].glob && !matches_any(p->rules[i].glob, source))
            return gcb_invalid(diag,
                               "--method-for %s: no tensor matches; a glob has to match the whole "
                               "path, such as '*conv*'",
                               gcb_show(p->rules[i].glob).text);
    return 0;
}

int gcb_policy_bind(struct gcb_policy *p, const struct gcb_source *source, struct gcb_diag *diag)
{
    const size_t count = gcb_source_count(source);
    int err = check_globs(p, source, diag);

    if (err)
        return err;
    p->by_tensor = gcb_must_array(count, sizeof(*p->by_tensor));
    for (size_t i = 0; i < count; i++) {
        const char *path = gcb_source_tensor(source, i)->path;
        const struct gcb_rule *rule = gcb_policy_rule(p, path);

        if (!rule)
            return gcb_invalid(diag,
                               "no --method-for matches the tensor %s: add --method for the rest",
                               gcb_show(path).text);
        p->by_tensor[i] = &rule->method;
    }
    return 0;
}

void gcb_policy_fini(struct gcb_policy *p)
{
    for (size_t i = 0; i < p->count; i++)
        gcb_free(p->rules[i].glob);
    gcb_free(p->rules);
    gcb_free(p->text);
    gcb_free(p->by_tensor);
    memset(p, 0, sizeof(*p));
}
