#include "cli/docs/roff.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define LINE 76

/* Returns a character as roff source. An ordinary character is copied to `one`, which is returned. */
static const char *escape_char(const char *c, char *one)
{
    static const struct {
        char c;
        const char *text;
    } specials[] = {{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"}, {'`', "\\(ga"},
                    {'"', "\\(dq"}, {'^', "\\(ha"}, {'~', "\\(ti"},  {'\t', " "}};

    for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++)
        if (specials[i].c == *c)
            return specials[i].text;
    one[0] = *c;
    one[1] = '\0';
    return one;
}

void roff_inline(FILE *out, const char *text)
{
    char one[2];

    for (; *text; text++)
        fputs(escape_char(text, one), out);
}

/* Writes one word at column `at`, after a space or on a new line; returns the new column. */
static int put_word(FILE *out, const char *word, int at)
{
    const int n = (int)strlen(word);

    if (at > 0 && at + 1 + n > LINE) {
        fputc('\n', out);
        at = 0;
    }
    if (at > 0)
        at += fprintf(out, " ");
    else if (*word == '.') /* roff takes a line with a leading dot as a request */
        at += fprintf(out, "\\&");
    return at + fprintf(out, "%s", word);
}

/* Puts text[0..n) as roff source into `word`. A backtick changes the font if a second one follows. */
static void make_word(char *word, size_t size, const char *text, size_t n, bool *bold)
{
    char one[2];
    size_t used = 0;

    for (size_t i = 0; i < n && used + 8 < size; i++) {
        const bool font = text[i] == '`' && (*bold || strchr(text + i + 1, '`'));

        if (font)
            *bold = !*bold;
        used += (size_t)snprintf(word + used, size - used, "%s",
                                 font ? (*bold ? "\\fB" : "\\fP") : escape_char(text + i, one));
    }
    word[used] = '\0';
}

void roff_text(FILE *out, const char *text)
{
    bool bold = false;
    char word[1024];
    int at = 0;

    while (*text) {
        const size_t n = strcspn(text, " \t\n");

        if (n) {
            make_word(word, sizeof(word), text, n, &bold);
            at = put_word(out, word, at);
        }
        text += n + (text[n] != '\0');
    }
    if (at)
        fputc('\n', out);
}

void roff_literal(FILE *out, const char *lines)
{
    char one[2];
    bool begins = true;

    for (; *lines; lines++) {
        if (begins && *lines == '.')
            fputs("\\&", out);
        fputs(*lines == '\n' ? "\n" : escape_char(lines, one), out);
        begins = *lines == '\n';
    }
    if (!begins)
        fputc('\n', out);
}

void roff_request(FILE *out, const char *request, const char *argument)
{
    fprintf(out, ".%s \"", request);
    roff_inline(out, argument);
    fputs("\"\n", out);
}

/* Returns the length of the word at `p` if it gets a font of its own (--an-option, A_PLACEHOLDER), otherwise 0. */
static size_t font_length(const char *p, const char **font)
{
    size_t n = 0;

    if (p[0] == '-' && (isalpha((unsigned char)p[1]) || p[1] == '-')) {
        *font = "\\fB";
        while (p[n] == '-' || islower((unsigned char)p[n]))
            n++;
        return n;
    }
    *font = "\\fI";
    while (isupper((unsigned char)p[n]) || p[n] == '_')
        n++;
    return n > 1 || (n == 1 && !isalnum((unsigned char)p[1])) ? n : 0;
}

void roff_synopsis(FILE *out, const char *usage)
{
    const char *font;
    char one[2];

    while (*usage) {
        size_t n = font_length(usage, &font);

        fputs(n ? font : "", out);
        for (size_t i = 0; i < (n ? n : 1); i++)
            fputs(escape_char(usage + i, one), out);
        fputs(n ? "\\fP" : "", out);
        usage += n ? n : 1;
    }
    fputc('\n', out);
}
