#include "cli/docs/complete.h"

#include <string.h>

enum complete_kind complete_kind_of(const struct opt_row *row)
{
    static const char *const files[] = {"FILE", "DIR", "GCBENCH"};

    if (row->type == OPT_FLAG || row->type == OPT_COUNT)
        return COMPLETE_FLAG;
    if (row->choices)
        return COMPLETE_WORDS;
    if (strcmp(row->name, "method") == 0)
        return COMPLETE_METHOD;
    for (size_t i = 0; row->metavar && i < sizeof(files) / sizeof(files[0]); i++)
        if (strstr(row->metavar, files[i]))
            return COMPLETE_FILE;
    return COMPLETE_ANY;
}

bool complete_named_before(const struct opt_extra *names, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(names->name_at(k), names->name_at(i)) == 0)
            return true;
    return false;
}

/* Appends " word" unless it is there. */
static void add_word(char *out, size_t size, const char *word)
{
    const size_t n = strlen(word);

    for (const char *p = out; (p = strstr(p, word)); p += n)
        if (p > out && p[-1] == ' ' && (p[n] == ' ' || p[n] == '\0'))
            return;
    snprintf(out + strlen(out), size - strlen(out), " %s", word);
}

char *complete_choices(char *out, size_t size, const char *key)
{
    const struct gcb_param *p;
    struct gcb_method m;

    out[0] = '\0';
    for (size_t i = 0; gcb_method_at(&m, i); i++)
        for (size_t row = 0; (p = gcb_method_param(&m, row)); row++)
            for (size_t c = 0; strcmp(p->name, key) == 0 && p->choices && p->choices[c]; c++)
                add_word(out, size, p->choices[c]);
    return out;
}

char *complete_keys(char *out, size_t size, const struct gcb_method *m)
{
    const struct gcb_param *p;

    out[0] = '\0';
    for (size_t row = 0; (p = gcb_method_param(m, row)); row++) {
        add_word(out, size, p->name);
        for (size_t c = 0; p->complement[c]; c++)
            add_word(out, size, p->complement[c]);
    }
    return out;
}
