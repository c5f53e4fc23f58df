#include "src/tool/base/columns.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Code points that take two columns: East Asian characters and emoji. */
static const struct {
    uint32_t first, last;
} wide[] = {
    {0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd},
};

/* Returns the code point at *s and advances *s past it. If the bytes are not valid UTF-8, returns
 * some number and advances by at least one byte, but never past the terminator. */
static uint32_t next_point(const char **s)
{
    const unsigned char *p = (const unsigned char *)*s;
    /* number of bytes that follow the first */
    const unsigned more = (p[0] >= 0xc0) + (p[0] >= 0xe0) + (p[0] >= 0xf0);
    uint32_t point = more ? p[0] & (0x3fu >> more) : p[0];
    unsigned i = 1;

    for (; i <= more && (p[i] & 0xc0) == 0x80; i++)
        point = point << 6 | (p[i] & 0x3f);
    *s += i;
    return point;
}

static size_t point_width(uint32_t point)
{
    if (point >= 0x300 && point <= 0x36f) /* a combining accent */
        return 0;
    for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++)
        if (point >= wide[i].first && point <= wide[i].last)
            return 2;
    return 1;
}

size_t gcb_text_columns(const char *text)
{
    size_t width = 0;

    while (*text)
        width += point_width(next_point(&text));
    return width;
}

void gcb_text_cut(const char *text, size_t keep, size_t front, const char **head, const char **tail)
{
    size_t before = 0, after = gcb_text_columns(text); /* columns before and after p */
    const char *p = text;

    while (*p) {
        const char *next = p;
        const size_t width = point_width(next_point(&next));

        if (before + width > front)
            break;
        before += width;
        after -= width;
        p = next;
    }
    *head = p;
    while (*p && after > keep - before)
        after -= point_width(next_point(&p));
    *tail = p;
}

size_t gcb_text_break(const char *text, size_t bytes, size_t width)
{
    const char *const end = text + bytes;
    size_t columns = 0, found = 0; /* found: bytes up to the last comma so far */

    for (const char *p = text; p < end;) {
        const bool comma = *p == ',';

        columns += point_width(next_point(&p));
        if (columns > width && found)
            return found;
        if (comma)
            found = (size_t)(p - text);
        if (comma && columns > width)
            return found;
    }
    return bytes;
}

char *gcb_text_shorten(char *out, size_t size, const char *text, size_t width)
{
    const char *head = text, *tail = text;
    size_t bytes = strlen(text);

    if (bytes < size && gcb_text_columns(text) <= width) {
        memcpy(out, text, bytes + 1);
        return out;
    }
    do { /* if the text takes too many bytes for out, try again with fewer columns */
        const size_t keep = width < 2 ? 0 : width - 2; /* without the two dots */
        const size_t front = keep * 2 / 5;

        gcb_text_cut(text, keep, front, &head, &tail);
        bytes = (size_t)(head - text) + 2 + strlen(tail);
    } while (bytes >= size && width-- > 2);
    snprintf(out, size, "%.*s..%s", (int)(head - text), text, tail);
    return out;
}
