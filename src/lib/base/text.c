#include "src/lib/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Length of the UTF-8 sequence at s, or 0 if it is invalid. */
static size_t utf8_length(const unsigned char *s)
{
    const size_t more =
        (s[0] >= 0xc2) + (s[0] >= 0xe0) + (s[0] >= 0xf0); /* bytes after the first */
    const size_t n = more + 1;

    if ((s[0] >= 0x80 && s[0] < 0xc2) || s[0] >= 0xf5)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    /* overlong forms, surrogates, and code points above U+10FFFF are invalid */
    if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0)))
        return 0;
    if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90)))
        return 0;
    return n;
}

/* True if the n-byte sequence is a C1 control character, or a character that is invisible, breaks
 * lines or reorders text: U+061C, U+200B..F, U+2028..E, U+2066..9, U+FEFF. */
static bool utf8_harmful(const unsigned char *s, size_t n)
{
    if (n == 2)
        return (s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xd8 && s[1] == 0x9c);
    if (n == 3 && s[0] == 0xe2 && s[1] == 0x80)
        return (s[2] >= 0x8b && s[2] <= 0x8f) || (s[2] >= 0xa8 && s[2] <= 0xae);
    if (n == 3 && s[0] == 0xe2 && s[1] == 0x81)
        return s[2] >= 0xa6 && s[2] <= 0xa9;
    return n == 3 && s[0] == 0xef && s[1] == 0xbb && s[2] == 0xbf;
}

/* Copies the character at *s to `piece`, or escapes its first byte if it is harmful or invalid.
 * Moves *s past the bytes that were taken. Returns the length of the piece, which may have no final
 * zero. */
static size_t escape_one(char piece[8], const char **s)
{
    const unsigned char *p = (const unsigned char *)*s;
    const size_t n = utf8_length(p);

    if (n == 0 || *p < 0x20 || *p == 0x7f || *p == '\\' || utf8_harmful(p, n)) {
        ++*s; /* the remaining bytes of a harmful sequence are invalid by themselves */
        return (size_t)snprintf(piece, 8, "\\x%02x", *p);
    }
    *s += n;
    memcpy(piece, p, n);
    return n;
}

char *gcb_escape(char *out, size_t size, const char *s)
{
    size_t used = 0, keep = 0; /* keep: length of the longest text that leaves room for "..." */

    if (size == 0)
        return out;
    while (*s) {
        char piece[8];
        const size_t n = escape_one(piece, &s);

        if (used + n >= size) {
            snprintf(out + keep, size - keep, "...");
            return out;
        }
        memcpy(out + used, piece, n);
        used += n;
        if (used + 3 < size)
            keep = used;
    }
    out[used] = '\0';
    return out;
}

struct gcb_shown gcb_show(const char *s)
{
    struct gcb_shown shown;

    gcb_escape(shown.text, sizeof(shown.text), s);
    return shown;
}

char *gcb_escape_again(char *out, size_t size, const char *s)
{
    char *to = out;

    gcb_escape(out, size, s);
    for (const char *from = out; *from; to++) {
        const bool backslash = strncmp(from, "\\x5c", 4) == 0;

        *to = backslash ? '\\' : *from;
        from += backslash ? 4 : 1;
    }
    *to = '\0';
    return out;
}

bool gcb_parse_real(const char *s, double *out)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    char *end = NULL;
    double v = 0.0;

    if (!c)
        return false;
    v = strtod_l(s, &end, c);
    freelocale(c);
    /* strtod also accepts "0x1p3", "nan" and leading blanks */
    if (*s == '\0' || s[strspn(s, "+-.eE0123456789")] != '\0' || *end || !isfinite(v))
        return false;
    *out = v;
    return true;
}

bool gcb_parse_u64(const char *s, uint64_t *out)
{
    char *end;
    unsigned long long v;

    if (*s < '0' || *s > '9')
        return false;
    errno = 0;
    v = strtoull(s, &end, 10);
    if (*end || errno)
        return false;
    *out = v;
    return true;
}

/* Finds a unit at the end of the text: "K" or "KiB" (1024), "KB" (1000), and so on. Returns the
 * unit's value and sets *length to its length. Without a unit returns 1 and sets *length to 0. */
static uint64_t size_unit(const char *s, size_t *length)
{
    static const char letters[] = "KMGT";
    const size_t n = strlen(s);
    const bool bytes = n > 0 && s[n - 1] == 'B', binary = bytes && n > 1 && s[n - 2] == 'i';
    const size_t tail = (size_t)bytes + binary;
    const char *letter =
        n > tail ? strchr(letters, s[n - tail - 1] == 'k' ? 'K' : s[n - tail - 1]) : NULL;
    uint64_t unit = 1;

    *length = letter ? tail + 1 : 0;
    for (const char *l = letters; letter && l <= letter; l++)
        unit *= bytes && !binary ? 1000 : 1024;
    return unit;
}

bool gcb_parse_size(const char *s, uint64_t *out)
{
    size_t length;
    const uint64_t unit = size_unit(s, &length);
    const size_t n = strlen(s) - length;
    char digits[40];
    uint64_t whole;
    double v;

    if (n >= sizeof(digits) || *s == '-' || *s == '+')
        return false;
    memcpy(digits, s, n);
    digits[n] = '\0';
    if (gcb_parse_u64(digits, &whole)) { /* exact; a double would round */
        if (whole > UINT64_MAX / unit)
            return false;
        *out = whole * unit;
        return true;
    }
    if (!gcb_parse_real(digits, &v))
        return false;
    v *= (double)unit;
    if (!(v >= 0.0) || v >= 0x1p64 || (unit == 1 && v != floor(v)))
        return false;
    *out = (uint64_t)rint(v);
    return true;
}

static size_t min3(size_t a, size_t b, size_t c)
{
    const size_t m = a < b ? a : b;

    return m < c ? m : c;
}

#define MOST_WORD 64 /* bytes of a word that can be compared, with its final zero */

/* Edit distance of two words, where a transposition counts as one edit. Returns MOST_WORD if a word
 * is too long. */
static size_t edit_distance(const char *a, const char *b)
{
    const size_t n = strlen(a), m = strlen(b);
    size_t row[3][MOST_WORD]; /* the last three rows of the table of distances, used in turn */

    if (n >= MOST_WORD || m >= MOST_WORD)
        return MOST_WORD;
    for (size_t j = 0; j <= m; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *cur = row[i % 3];
        const size_t *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];

        cur[0] = i;
        for (size_t j = 1; j <= m; j++) {
            cur[j] = min3(up[j] + 1, cur[j - 1] + 1, up[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                up2[j - 2] + 1 < cur[j])
                cur[j] = up2[j - 2] + 1;
        }
    }
    return row[n % 3][m];
}

const char *gcb_suggest(const char *word, const char *const *names, size_t count)
{
    const size_t n = strlen(word);
    const size_t limit = (n >= 2) + (n >= 4) + (n >= 8); /* edits to allow in words this long */
    const char *best = NULL;
    size_t least = limit + 1;

    for (size_t i = 0; i < count; i++) {
        const size_t d = names[i] ? edit_distance(word, names[i]) : least;

        if (d < least) {
            least = d;
            best = names[i];
        }
    }
    return best;
}

char *gcb_hint(char out[GCB_HINT], const char *word, const char *dashes, const char *const *names,
               size_t count, const char *otherwise)
{
    const char *near = gcb_suggest(word, names, count);

    snprintf(out, GCB_HINT, "%s", otherwise);
    if (near)
        snprintf(out, GCB_HINT, "; did you mean '%s%s'?", dashes, near);
    return out;
}

int gcb_choose(int *out, const char *dashes, const char *name, const char *const *choices,
               const char *text, struct gcb_diag *diag)
{
    char list[256] = "", shown[64], hint[GCB_HINT];
    size_t n = 0;

    for (; choices[n]; n++) {
        if (strcmp(choices[n], text) == 0) {
            *out = (int)n;
            return 0;
        }
        gcb_append(list, sizeof(list), "%s%s", n ? ", " : "", choices[n]);
    }
    return gcb_invalid(diag, "%s%s is one of %s, not '%s'%s", dashes, name, list,
                       gcb_escape(shown, sizeof(shown), text),
                       gcb_hint(hint, text, "", choices, n, ""));
}

/* True if the [class] at p matches c. Sets *next to the end of the class. An unclosed class is a
 * literal '['. */
static bool class_matches(const char *p, char c, const char **next)
{
    const char *q = p + 1;
    const bool negate = *q == '!' || *q == '^';
    bool hit = false;

    q += negate;
    for (const char *first = q; *q && (*q != ']' || q == first); q++) {
        if (q[1] == '-' && q[2] && q[2] != ']') {
            hit |=
                (unsigned char)c >= (unsigned char)q[0] && (unsigned char)c <= (unsigned char)q[2];
            q += 2;
        } else {
            hit |= c == *q;
        }
    }
    if (*q != ']') {
        *next = p + 1;
        return c == '[';
    }
    *next = q + 1;
    return hit != negate;
}

/* True if the pattern element at p, which stands for a single character, matches c. Sets *next
 * to the end of the element. */
static bool one_matches(const char *p, char c, const char **next)
{
    if (*p == '[')
        return class_matches(p, c, next);
    if (*p == '\\' && p[1])
        p++;
    else if (*p == '?') {
        *next = p + 1;
        return true;
    }
    *next = p + 1;
    return *p == c;
}

bool gcb_lists(const char *names, const char *name)
{
    const size_t length = strlen(name);

    while (strncmp(names, name, length) != 0 || (names[length] && names[length] != ',')) {
        names = strstr(names, ", ");
        if (!names)
            return false;
        names += 2;
    }
    return true;
}

bool gcb_glob(const char *pattern, const char *name)
{
    const char *star = NULL, *retry = NULL, *next;

    /* Only the last * is tried again, so the time does not grow exponentially. */
    while (*name) {
        if (*pattern == '*') {
            star = ++pattern;
            retry = name;
        } else if (*pattern && one_matches(pattern, *name, &next)) {
            pattern = next;
            name++;
        } else if (star) {
            pattern = star;
            name = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

char *gcb_real_text(char *out, double value)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const locale_t old = uselocale(c);
    char text[32];
    int digits = 1;

    if (fabs(value) < 1e15 && value == floor(value))
        digits = 15; /* so that a whole number has no exponent */
    /* The text has at most 24 characters. It is not written to `out` directly, because gcc with
     * UBSan would warn that `out` may be NULL. */
    while (snprintf(text, sizeof(text), "%.*g", digits, value) < (int)sizeof(text) &&
           strtod(text, NULL) != value && digits < 17)
        digits++;
    memcpy(out, text, strlen(text) + 1);
    uselocale(old);
    if (c)
        freelocale(c);
    return out;
}

int gcb_diag_locate(struct gcb_diag *diag, int status, const char *path, const char *unit,
                    uint64_t number)
{
    char place[64] = ": ", shown[256], text[sizeof(diag->text)];
    size_t room;

    if (!diag)
        return status;
    if (number)
        snprintf(place, sizeof(place), ": %s %" PRIu64 ": ", unit, number);
    memcpy(text, diag->text, sizeof(text));
    room = sizeof(text) - strlen(place) - strnlen(text, sizeof(text) - sizeof(place));
    gcb_escape(shown, room < sizeof(shown) ? room : sizeof(shown), path);
    return gcb_diag_set(diag, status, "%s%s%s", shown, place, text);
}

char *gcb_append(char *out, size_t size, const char *format, ...)
{
    const size_t used = strlen(out);
    va_list args;

    va_start(args, format);
    vsnprintf(out + used, size - used, format, args);
    va_end(args);
    return out;
}
