#include "src/tool/page/svg.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "src/tool/page/html.h"

#define MAX_DEPTH 64

static const char *const elements[] = {
    "svg",     "g",           "defs",     "path",           "rect", "circle", "ellipse", "line",
    "polygon", "polyline",    "text",     "tspan",          "use",  "image",  "filter",  "feFlood",
    "pattern", "feComposite", "clipPath", "linearGradient", "stop",
};

/* Beside these, whatever begins with "stroke", "font-" or "fill". */
static const char *const attributes[] = {
    "x",
    "y",
    "x1",
    "y1",
    "x2",
    "y2",
    "dx",
    "dy",
    "cx",
    "cy",
    "r",
    "rx",
    "ry",
    "width",
    "height",
    "d",
    "points",
    "color",
    "opacity",
    "transform",
    "viewBox",
    "preserveAspectRatio",
    "shape-rendering",
    "image-rendering",
    "text-anchor",
    "text-rendering",
    "dominant-baseline",
    "xml:space",
    "id",
    "class",
    "clip-path",
    "clip-rule",
    "filter",
    "filterUnits",
    "flood-color",
    "flood-opacity",
    "result",
    "in",
    "in2",
    "operator",
    "patternUnits",
    "patternTransform",
    "gradientUnits",
    "offset",
    "stop-color",
    "stop-opacity",
    "letter-spacing",
    "visibility",
    "overflow",
};
static const char *const dropped[] = {"xmlns", "xmlns:xlink", "version", "pointer-events"};

struct parser {
    FILE *out;
    const char *at, *prefix, *title;
    const char *stack[MAX_DEPTH];
    size_t depth;
    struct gcb_diag *diag;
};

/* A name or value within the document. */
struct span {
    const char *p;
    size_t n;
};

static int refuse(const struct parser *p, const char *what)
{
    return gcb_diag_set(p->diag, GCB_E_CORRUPT, "a drawing has %s in it", what);
}

static bool is(const struct span *s, const char *name)
{
    return strlen(name) == s->n && memcmp(name, s->p, s->n) == 0;
}

static const char *find(const struct span *s, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is(s, names[i]))
            return names[i];
    return NULL;
}
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool starts(const struct span *s, const char *text)
{
    return s->n >= strlen(text) && memcmp(s->p, text, strlen(text)) == 0;
}

static void skip_blanks(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static struct span take_name(struct parser *p)
{
    struct span s = {p->at, 0};

    while (isalnum((unsigned char)*p->at) || (*p->at && strchr(":-_", *p->at)))
        p->at++;
    s.n = (size_t)(p->at - s.p);
    return s;
}

/* A value in quotes, without them. */
static int take_value(struct parser *p, struct span *value)
{
    const char quote = *p->at;

    if (quote != '"' && quote != '\'')
        return refuse(p, "an attribute without quotes");
    value->p = ++p->at;
    while (*p->at && *p->at != quote && *p->at != '<')
        p->at++;
    if (*p->at != quote)
        return refuse(p, "an attribute without an end");
    value->n = (size_t)(p->at++ - value->p);
    return 0;
}

static void print_span(FILE *out, const struct span *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->p[i] == '"')
            fputs("&quot;", out);
        else
            fputc(s->p[i], out);
}

static bool is_picture(const struct span *value)
{
    static const char head[] = "data:image/png;base64,";

    if (!starts(value, head))
        return false;
    for (size_t i = sizeof(head) - 1; i < value->n; i++)
        if (!isalnum((unsigned char)value->p[i]) && !strchr("+/= \n\r\t", value->p[i]))
            return false;
    return true;
}

/* #name, or a picture of its own. */
static int print_link(struct parser *p, const struct span *value)
{
    if (value->n > 1 && value->p[0] == '#')
        fprintf(p->out, " xlink:href=\"#%s", p->prefix);
    else if (is_picture(value))
        fprintf(p->out, " xlink:href=\"d");
    else
        return refuse(p, "a link to somewhere else");
    print_span(p->out, &(struct span){value->p + 1, value->n - 1});
    fputc('"', p->out);
    return 0;
}

/* url(#name) gets the prefix; any other reference is refused. */
static int print_plain(struct parser *p, const struct span *name, const struct span *value)
{
    static const char reference[] = "url(#";
    bool refers = false;

    for (size_t i = 0; i < value->n; i++)
        refers = refers || value->p[i] == '(';
    fprintf(p->out, " %.*s=\"", (int)name->n, name->p);
    if (starts(value, reference)) {
        fprintf(p->out, "%s%s", reference, p->prefix);
        print_span(p->out, &(struct span){value->p + 5, value->n - 5});
    } else if (refers && !is(name, "transform") && !is(name, "patternTransform") &&
               !starts(value, "rgb")) {
        return refuse(p, "a reference");
    } else {
        if (is(name, "id"))
            fputs(p->prefix, p->out);
        print_span(p->out, value);
    }
    fputc('"', p->out);
    return 0;
}

static int take_attribute(struct parser *p)
{
    const struct span name = take_name(p);
    struct span value = {NULL, 0};
    int err;

    skip_blanks(p);
    if (!name.n || *p->at != '=')
        return refuse(p, "something that is no attribute");
    p->at++;
    skip_blanks(p);
    err = take_value(p, &value);
    if (err || find(&name, dropped, COUNT(dropped)))
        return err;
    if (is(&name, "xlink:href") || is(&name, "href"))
        return print_link(p, &value);
    if (!find(&name, attributes, COUNT(attributes)) && !starts(&name, "stroke") &&
        !starts(&name, "font-") && !starts(&name, "fill"))
        return refuse(p, "an attribute that is not drawing");
    return print_plain(p, &name, &value);
}

static int open_element(struct parser *p, const char *name)
{
    int err = 0;

    if (p->depth == MAX_DEPTH || (p->depth == 0 && strcmp(name, "svg") != 0))
        return refuse(p, "elements that are nested wrongly");
    fprintf(p->out, "<%s", name);
    if (p->depth == 0) {
        fputs(" role=\"img\" aria-label=\"", p->out);
        gcb_html_text(p->out, p->title);
        fputc('"', p->out);
    }
    skip_blanks(p);
    while (!err && *p->at && *p->at != '>' && *p->at != '/') {
        err = take_attribute(p);
        skip_blanks(p);
    }
    if (err)
        return err;
    p->stack[p->depth++] = name;
    if (*p->at == '/') {
        fprintf(p->out, "></%s", name);
        p->at++;
        p->depth--;
    }
    return *p->at == '>' ? 0 : refuse(p, "an element without an end");
}

static int close_element(struct parser *p)
{
    struct span name;

    p->at++;
    name = take_name(p);
    skip_blanks(p);
    if (p->depth == 0 || !is(&name, p->stack[p->depth - 1]) || *p->at != '>')
        return refuse(p, "elements that are nested wrongly");
    fprintf(p->out, "</%s", p->stack[--p->depth]);
    return 0;
}

/* Moves behind `end`. */
static int skip_past(struct parser *p, const char *end)
{
    const char *found = strstr(p->at, end);

    if (!found)
        return refuse(p, "a part without an end");
    p->at = found + strlen(end);
    return 0;
}

/* What begins with '<'; titles are tips for a mouse that say nothing here. */
static int take_markup(struct parser *p)
{
    struct span name;
    const char *known;
    int err;

    p->at++;
    if (strncmp(p->at, "!--", 3) == 0)
        return skip_past(p, "-->");
    if (*p->at == '/') {
        err = close_element(p);
    } else {
        name = take_name(p);
        if (p->depth && (is(&name, "title") || is(&name, "desc")))
            return skip_past(p, is(&name, "title") ? "</title>" : "</desc>");
        known = find(&name, elements, COUNT(elements));
        err = known ? open_element(p, known) : refuse(p, "an element that is not drawing");
    }
    if (err)
        return err;
    fputc(*p->at++, p->out); /* the '>' */
    return 0;
}

int gcb_svg_inline(FILE *out, const char *svg, const char *prefix, const char *title,
                   struct gcb_diag *diag)
{
    struct parser p = {.out = out, .at = svg, .prefix = prefix, .title = title, .diag = diag};
    int err = 0;

    do {
        if (*p.at == '<')
            err = take_markup(&p);
        else if (p.depth == 0)
            err = refuse(&p, "text around it");
        else
            fputc(*p.at++, out);
    } while (!err && *p.at && p.depth);
    skip_blanks(&p);
    if (!err && (p.depth || *p.at))
        err = refuse(&p, "no end, or something behind it");
    return err;
}
