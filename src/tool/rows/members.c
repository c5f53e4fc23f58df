#include "src/tool/rows/members.h"

#include <string.h>

/* ---- skipping values; each returns the end, or NULL for what must be parsed as JSON ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* `at` is after the opening quote; the result points to the closing quote. */
static char *skip_text(char *at)
{
    for (; *at != '"'; at++)
        if (*at == '\\' || (unsigned char)*at < 0x20 || (unsigned char)*at > 0x7e)
            return NULL;
    return at;
}

static char *skip_digits(char *at)
{
    if (!is_digit(*at))
        return NULL;
    while (is_digit(*at))
        at++;
    return at;
}

/* A number of JSON's grammar, with at most 18 digits before the point and an exponent of at most two, so that it fits int64_t
 * or double. */
static char *skip_number(char *at)
{
    char *const first = at + (*at == '-'), *exponent;

    at = skip_digits(first);
    if (!at || (*first == '0' && at > first + 1) || at > first + 18)
        return NULL;
    if (*at == '.')
        at = skip_digits(at + 1);
    if (at && (*at == 'e' || *at == 'E')) {
        exponent = at + 1;
        exponent += *exponent == '-' || *exponent == '+';
        at = skip_digits(exponent);
        if (at && at > exponent + 2)
            return NULL;
    }
    return at;
}

/* A list or object: only its quotes and brackets are checked. */
static char *skip_nested(char *at)
{
    unsigned depth = 0;

    for (;; at++) {
        if (*at == '[' || *at == '{')
            depth++;
        else if ((*at == ']' || *at == '}') && --depth == 0)
            return at + 1;
        else if (*at == '"')
            at = skip_text(at + 1);
        if (!at || !*at)
            return NULL;
    }
}

static char *skip_word(char *at)
{
    static const char *const words[] = {"null", "true", "false"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strncmp(at, words[i], strlen(words[i])) == 0)
            return at + strlen(words[i]);
    return NULL;
}

static char *skip_value(char *at, enum gcb_member_kind *kind)
{
    *kind = GCB_MEMBER_OTHER;
    if (*at == '[' || *at == '{')
        return skip_nested(at);
    if (*at == '"') {
        *kind = GCB_MEMBER_TEXT;
        at = skip_text(at + 1);
        return at ? at + 1 : NULL;
    }
    if (!is_digit(*at) && *at != '-')
        return skip_word(at);
    *kind = GCB_MEMBER_NUMBER;
    return skip_number(at);
}

static char *skip_blanks(char *at)
{
    while (*at == ' ')
        at++;
    return at;
}

/* ---- members ---- */

/* Member number i, whose name is name[0..length). Returns NULL for a name that no field has. */
static const struct gcb_members_key *find_key(struct gcb_members *m, size_t i, const char *name,
                                              size_t length)
{
    struct gcb_members_key *key = &m->key[i];

    if (length == key->length && memcmp(name, key->name, length) == 0)
        return key;
    if (length == 0 || length >= sizeof(key->name))
        return NULL;
    memcpy(key->name, name, length);
    key->name[length] = '\0';
    key->length = length;
    key->field = gcb_field_find(key->name);
    if (!m->wanted[key->field])
        key->field = GCB_FIELD_NONE;
    return key;
}

/* Where a wanted value begins and ends. */
struct span {
    enum gcb_field field;
    char *begin, *end;
};

/* Stores where the value of a member is. Returns false for a second value of a wanted field, and for a list or an object, whose
 * contents were not checked. */
static bool note(struct gcb_members *m, struct span *spans, size_t *count, const struct span *span,
                 enum gcb_member_kind kind)
{
    const enum gcb_field field = span->field;

    if (field == GCB_FIELD_NONE)
        return true;
    if (*span->begin == '[' || *span->begin == '{')
        return false;
    for (size_t i = 0; i < *count; i++)
        if (spans[i].field == field)
            return false;
    spans[(*count)++] = *span;
    m->member[field].kind = kind;
    return true;
}

/* Writes a final 0 after each value. Called after the whole line has been understood. */
static void terminate(struct gcb_members *m, const struct span *spans, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct gcb_member *member = &m->member[spans[i].field];
        const bool quoted = member->kind == GCB_MEMBER_TEXT;

        member->text = spans[i].begin + quoted;
        spans[i].end[quoted ? -1 : 0] = '\0';
    }
}

bool gcb_members_read(struct gcb_members *m, char *line, size_t length)
{
    struct span spans[GCB_MEMBERS_KEYS];
    size_t count = 0;
    char *at = line;

    for (enum gcb_field f = GCB_FIELD_NONE; f < GCB_FIELDS; f++)
        m->member[f].kind = GCB_MEMBER_ABSENT;
    if (*at++ != '{')
        return false;
    for (size_t i = 0; i < GCB_MEMBERS_KEYS; i++) {
        const struct gcb_members_key *key;
        enum gcb_member_kind kind;
        struct span span;
        char *name, *end;

        name = skip_blanks(at);
        end = *name++ == '"' ? skip_text(name) : NULL;
        key = end ? find_key(m, i, name, (size_t)(end - name)) : NULL;
        if (!key)
            return false;
        at = skip_blanks(end + 1);
        if (*at++ != ':')
            return false;
        span = (struct span){.field = key->field, .begin = skip_blanks(at)};
        span.end = skip_value(span.begin, &kind);
        if (!span.end || !note(m, spans, &count, &span, kind))
            return false;
        at = skip_blanks(span.end);
        if (*at == '}' && at + 1 == line + length) {
            terminate(m, spans, count);
            return true;
        }
        if (*at++ != ',')
            return false;
    }
    return false;
}
