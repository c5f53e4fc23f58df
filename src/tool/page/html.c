#include "src/tool/page/html.h"

#include <string.h>

#include "src/lib/base/text.h"

/* Returns the markup for a character, or NULL if the character needs no markup. A backslash needs none, so an escape
 * \xNN in a result stays readable. */
static const char *entity(char c)
{
    static const char characters[] = "&<>\"'\\";
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "\\"};
    const char *at = strchr(characters, c);

    return at && *at ? entities[at - characters] : NULL;
}

/* Writes the character at *text and moves past it. */
static void print_one(FILE *out, const char **text)
{
    const char *known = entity(**text);
    char piece[8];

    if (known)
        fputs(known, out);
    else
        fwrite(piece, 1, gcb_escape_one(piece, text), out);
    *text += known != NULL;
}

void gcb_html_text(FILE *out, const char *text)
{
    while (text && *text)
        print_one(out, &text);
}

void gcb_html_between(FILE *out, const char *before, const char *text, const char *after)
{
    if (!text)
        return;
    fputs(before, out);
    gcb_html_text(out, text);
    fputs(after, out);
}

void gcb_html_name(FILE *out, const char *text)
{
    while (text && *text) {
        const bool ends = *text == ':' || *text == ',';

        print_one(out, &text);
        fputs(ends && *text ? "<wbr>" : "", out);
    }
}

void gcb_html_element(FILE *out, const char *name, const char *attributes, const char *text)
{
    fprintf(out, "<%s%s%s>", name, attributes ? " " : "", attributes ? attributes : "");
    gcb_html_text(out, text);
    fprintf(out, "</%s>\n", name);
}

void gcb_html_begin_table(FILE *out, const char *label, const char *attributes)
{
    fprintf(out,
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" "
            "aria-label=\"%s\"><table%s>\n<thead><tr>",
            label, attributes);
}

void gcb_html_end_table(FILE *out)
{
    fputs("</tbody></table></div>\n", out);
}

static void print_base64(FILE *out, const unsigned char *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < size; i += 3) {
        const size_t left = size - i;
        const unsigned word = (unsigned)bytes[i] << 16 |
                              (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                              (left > 2 ? bytes[i + 2] : 0);

        fputc(digits[word >> 18], out);
        fputc(digits[word >> 12 & 63], out);
        fputc(left > 1 ? digits[word >> 6 & 63] : '=', out);
        fputc(left > 2 ? digits[word & 63] : '=', out);
    }
}

void gcb_html_image(FILE *out, const char *type, const void *image, size_t size, const char *alt)
{
    gcb_html_between(out, "<img alt=\"", alt, "\"");
    fprintf(out, " src=\"data:%s;base64,", type);
    print_base64(out, image, size);
    fputs("\">", out);
}

static void print_lines(FILE *out, const char *element, const char *const *lines)
{
    fprintf(out, "<%s>", element);
    for (; *lines; lines++)
        fputs(*lines, out);
    fprintf(out, "</%s>\n", element);
}

void gcb_html_begin(FILE *out, const char *title, const char *const *style, const char *hash)
{
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
            "script-src '%s'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
            "form-action 'none'\">\n",
            hash);
    fputs("<meta name=\"referrer\" content=\"no-referrer\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n",
          out);
    gcb_html_element(out, "title", NULL, title);
    print_lines(out, "style", style);
    fputs("</head>\n<body>\n", out);
}

void gcb_html_end(FILE *out, const char *const *script)
{
    print_lines(out, "script", script);
    fputs("</body>\n</html>\n", out);
}
