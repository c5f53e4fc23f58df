#include "src/codec/method.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"

static bool method_of(struct gcb_method *out, const struct gcb_codec *codec,
                      const struct gcb_preset *preset);

bool gcb_method_at(struct gcb_method *out, size_t i)
{
    const struct gcb_codec *codec;

    for (size_t c = 0; (codec = gcb_codec_at(c)); c++) {
        if (i-- == 0)
            return method_of(out, codec, NULL);
        for (const struct gcb_preset *p = codec->presets; p && p->name; p++)
            if (i-- == 0)
                return method_of(out, codec, p);
    }
    return false;
}

/* Sets key=value pairs separated by commas. Only presets' and users' texts come here, both short. */
static int set_pairs(struct gcb_method *m, const char *pairs, bool given, struct gcb_diag *diag)
{
    char pair[128], shown[128];

    while (*pairs) {
        const size_t n = strcspn(pairs, ",");
        char *equals;
        int err;

        snprintf(pair, sizeof(pair), "%.*s", (int)(n < sizeof(pair) ? n : sizeof(pair)), pairs);
        equals = strchr(pair, '=');
        if (n >= sizeof(pair) || !equals || equals == pair)
            return gcb_diag_set(diag, GCB_E_INVALID, "'%s' is not key=value (in a spec '%s:...')",
                                gcb_escape(shown, sizeof(shown), pair), m->name);
        *equals = '\0';
        err = gcb_method_set(m, pair, equals + 1, diag);
        if (err)
            return err;
        pairs += n + (pairs[n] == ',');
    }
    if (!given)
        memset(m->given, 0, sizeof(m->given));
    return 0;
}

static bool method_of(struct gcb_method *out, const struct gcb_codec *codec,
                      const struct gcb_preset *preset)
{
    memset(out, 0, sizeof(*out));
    out->name = preset ? preset->name : codec->name;
    out->codec = codec;
    out->preset = preset;
    for (size_t i = 0; i < gcb_param_count(codec->params); i++)
        out->value[i] = codec->params[i].def;
    return !preset || set_pairs(out, preset->defaults, false, NULL) == 0;
}

static int unknown_method(const char *name, struct gcb_diag *diag)
{
    const char *names[64];
    struct gcb_method m;
    char shown[80];
    const char *near;
    size_t n = 0;

    while (n < 64 && gcb_method_at(&m, n))
        names[n++] = m.name;
    gcb_escape(shown, sizeof(shown), name);
    near = gcb_suggest(name, names, n);
    if (near)
        return gcb_diag_set(diag, GCB_E_INVALID, "unknown method '%s'; did you mean '%s'?", shown,
                            near);
    return gcb_diag_set(diag, GCB_E_INVALID, "unknown method '%s'; `gcbench methods` lists them",
                        shown);
}

static int unknown_key(const struct gcb_method *m, const char *key, struct gcb_diag *diag)
{
    const char *names[GCB_MAX_PARAMS];
    const size_t n = gcb_param_count(m->codec->params);
    const char *near;
    char shown[80];

    for (size_t i = 0; i < n; i++)
        names[i] = m->codec->params[i].name;
    gcb_escape(shown, sizeof(shown), key);
    near = gcb_suggest(key, names, n);
    if (near)
        return gcb_diag_set(diag, GCB_E_INVALID, "method '%s' has no '%s'; did you mean '%s'?",
                            m->name, shown, near);
    return gcb_diag_set(diag, GCB_E_INVALID,
                        "method '%s' has no '%s'; `gcbench methods %s` lists its parameters",
                        m->name, shown, m->name);
}

int gcb_method_parse(struct gcb_method *out, const char *spec, struct gcb_diag *diag)
{
    const size_t n = strcspn(spec, ":");
    char name[64];
    bool found = false;
    int err;

    snprintf(name, sizeof(name), "%.*s", (int)(n < sizeof(name) ? n : sizeof(name)), spec);
    for (size_t i = 0; !found && gcb_method_at(out, i); i++)
        found = strcmp(out->name, name) == 0;
    if (!found)
        return unknown_method(name, diag);
    if (spec[n] == ':' && spec[n + 1] == '\0')
        return gcb_diag_set(diag, GCB_E_INVALID, "'%s:' lacks its key=value", out->name);
    err = spec[n] ? set_pairs(out, spec + n + 1, true, diag) : 0;
    return err ? err : gcb_method_check(out, diag);
}

bool gcb_method_has(const struct gcb_method *m, const char *key)
{
    bool complement;

    return gcb_param_find(m->codec->params, key, &complement);
}

int gcb_method_set(struct gcb_method *m, const char *key, const char *value, struct gcb_diag *diag)
{
    bool complement;
    const struct gcb_param *p = gcb_param_find(m->codec->params, key, &complement);
    size_t row;

    if (!p)
        return unknown_key(m, key, diag);
    row = (size_t)(p - m->codec->params);
    if (m->given[row])
        return gcb_diag_set(diag, GCB_E_INVALID, "method '%s': '%s' is given twice", m->name,
                            p->name);
    m->given[row] = true;
    return gcb_param_parse(&m->value[row], p, key, value, diag);
}

/* Is `word` one of the alternatives of "a|b|c"? */
static bool among(const char *alternatives, const char *word)
{
    const size_t length = strlen(word);

    for (const char *p = alternatives;; p++) {
        const size_t n = strcspn(p, "|");

        if (n == length && strncmp(p, word, n) == 0)
            return true;
        p += n;
        if (*p == '\0')
            return false;
    }
}

/* Does one condition, "key=a|b|c", hold? */
static bool holds(const struct gcb_method *m, const char *condition, size_t length)
{
    const struct gcb_param *table = m->codec->params;
    char alternatives[128], text[40];

    for (size_t i = 0; table[i].name; i++) {
        const size_t n = strlen(table[i].name);

        if (strncmp(table[i].name, condition, n) != 0 || condition[n] != '=')
            continue;
        snprintf(alternatives, sizeof(alternatives), "%.*s", (int)(length - n - 1),
                 condition + n + 1);
        return among(alternatives, gcb_param_text(text, &table[i], m->value[i]));
    }
    return false;
}

bool gcb_method_applies(const struct gcb_method *m, size_t row)
{
    const char *p = m->codec->params[row].needs;

    if (!p)
        return true;
    for (;; p++) {
        const size_t n = strcspn(p, ";");

        if (holds(m, p, n))
            return true;
        p += n;
        if (*p == '\0')
            return false;
    }
}

int gcb_method_check(const struct gcb_method *m, struct gcb_diag *diag)
{
    const struct gcb_param *table = m->codec->params;

    for (size_t i = 0; i < gcb_param_count(table); i++)
        if (m->given[i] && !gcb_method_applies(m, i))
            return gcb_diag_set(diag, GCB_E_INVALID, "method '%s': '%s' has a meaning only with %s",
                                m->name, table[i].name, table[i].needs);
    return m->codec->check ? m->codec->check(m->value, diag) : 0;
}

char *gcb_method_spec(char *out, size_t size, const struct gcb_method *m, enum gcb_spec_style style)
{
    const struct gcb_param *table = m->codec->params;
    char separator = ':', text[40];
    size_t used = (size_t)snprintf(out, size, "%s", m->name);

    for (size_t i = 0; i < gcb_param_count(table) && used < size; i++) {
        const bool main = m->given[i] || table[i].flags & GCB_PARAM_LABEL;

        if (!gcb_method_applies(m, i) || (style == GCB_SPEC_LABEL && !main))
            continue;
        used += (size_t)snprintf(out + used, size - used, "%c%s=%s", separator, table[i].name,
                                 gcb_param_text(text, &table[i], m->value[i]));
        separator = ',';
    }
    return out;
}

const char *gcb_method_source(const struct gcb_method *m)
{
    return m->preset ? m->preset->source : m->codec->source;
}

const char *gcb_method_bound(const struct gcb_method *m)
{
    return m->preset ? m->preset->bound : m->codec->bound;
}

const char *gcb_method_summary(const struct gcb_method *m)
{
    return m->preset ? m->preset->summary : m->codec->summary;
}
