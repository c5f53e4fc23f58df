#include "cli/base/optparse.h"

#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"
#include "src/tool/base/memory.h"
#include "src/tool/base/units.h"

/* The most names that a suggestion chooses from: of options with a row, and of all options. */
#define MAX_ROWS 96
#define MAX_NAMES (MAX_ROWS + 64)

struct parser {
    const struct opt_spec *spec;
    char *target;
    int argc;
    char *const *argv;
    int at;   /* index of the first word of the current option */
    int next; /* index of the next word to read */
    struct opt_result *out;
    struct gcb_diag *diag;
};

/* A row found by name or letter, and its group. */
struct found {
    const struct opt_row *row;
    const struct opt_group *group;
};

void opt_list_add(struct opt_list *list, const char *item)
{
    gcb_must_grow(&list->items, &list->cap, list->count, sizeof(*list->items));
    list->items[list->count++] = item;
}

void opt_list_add_all(struct opt_list *list, const char *const *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        opt_list_add(list, items[i]);
}

void opt_list_fini(struct opt_list *list)
{
    gcb_free(list->items);
    memset(list, 0, sizeof(*list));
}

/* For each type: its size; the name of the value in the help; and for a number, what messages call
 * a valid value, and the function that reads the value. */
static const struct {
    size_t size;
    const char *metavar, *words;
    bool (*read_real)(const char *text, double *out);
    bool (*read_whole)(const char *text, uint64_t *out);
} types[] = {
    [OPT_FLAG] = {sizeof(bool), NULL, NULL},
    [OPT_COUNT] = {sizeof(int), NULL, NULL},
    [OPT_TEXT] = {sizeof(char *), "VALUE", NULL},
    [OPT_LIST] = {sizeof(struct opt_list), "VALUE", NULL},
    [OPT_INT] = {sizeof(int), "N", "a whole number", .read_whole = gcb_parse_u64},
    [OPT_U64] = {sizeof(uint64_t), "N", "a whole number", .read_whole = gcb_parse_u64},
    [OPT_SIZE] = {sizeof(uint64_t), "SIZE", "a size such as 64K or 25M",
                  .read_whole = gcb_parse_size},
    [OPT_REAL] = {sizeof(double), "VALUE", "a number", .read_real = gcb_parse_real},
    [OPT_TIME] = {sizeof(double), "TIME", "a time such as 90s or 5m (without a unit: seconds)",
                  .read_real = gcb_parse_seconds},
    [OPT_DURATION] = {sizeof(double), "TIME", "a time such as 20us, 80ms or 1.5s",
                      .read_real = gcb_parse_duration},
    [OPT_CHOICE] = {sizeof(int), "VALUE", NULL},
};

const char *opt_metavar(const struct opt_row *row)
{
    return row->metavar ? row->metavar : types[row->type].metavar;
}

char *opt_range(char *out, size_t size, const struct opt_row *row)
{
    const bool open = row->max >= 0x1p60; /* practically no maximum: do not name it */
    char low[32], high[32];

    if (row->min == 0.0 && row->max == 0.0)
        return NULL;
    snprintf(out, size, open ? "at least %s" : "in [%s, %s]", gcb_real_text(low, row->min),
             gcb_real_text(high, row->max));
    return out;
}

/* Finds the row called name[0..n), or, if name is NULL, the row with that letter. Returns false if
 * there is no such row. */
static bool find_row(struct found *out, const struct opt_spec *spec, const char *name, size_t n,
                     char letter)
{
    for (const struct opt_group *g = spec->groups; g->rows; g++)
        for (const struct opt_row *row = g->rows; row->name; row++)
            if (name ? strncmp(row->name, name, n) == 0 && row->name[n] == '\0'
                     : row->letter == letter) {
                *out = (struct found){row, g};
                return true;
            }
    return false;
}

/* Returns the extra option called name[0..n), or NULL. */
static const char *find_extra(const struct parser *p, const char *name, size_t n)
{
    const char *known;

    for (size_t i = 0; p->spec->extra.name_at && (known = p->spec->extra.name_at(i)); i++)
        if (strncmp(known, name, n) == 0 && known[n] == '\0')
            return known;
    return NULL;
}

static int unknown_option(const struct parser *p, const char *name, size_t n)
{
    const char *names[MAX_NAMES];
    char word[64], hint[GCB_HINT];
    size_t count = 0;

    for (const struct opt_group *g = p->spec->groups; g->rows; g++)
        for (const struct opt_row *row = g->rows; row->name && count < MAX_ROWS; row++)
            names[count++] = row->name;
    for (size_t i = 0; p->spec->extra.name_at && count < MAX_NAMES; i++) {
        names[count] = p->spec->extra.name_at(i);
        if (!names[count++])
            break;
    }
    snprintf(word, sizeof(word), "%.*s", (int)(n < sizeof(word) ? n : sizeof(word)), name);
    return gcb_invalid(p->diag, "unknown option '--%s'%s", gcb_show(word).text,
                       gcb_hint(hint, word, "--", names, count, ""));
}

/* Stores a number in the type that the row's field has: `real` in a double or an int, and `whole`,
 * which is exact above 2^53, in a uint64_t. */
static void store_number(void *field, const struct opt_row *row, double real, uint64_t whole)
{
    if (types[row->type].read_real)
        *(double *)field = real;
    else if (row->type == OPT_INT || row->type == OPT_CHOICE)
        *(int *)field = (int)real;
    else
        *(uint64_t *)field = whole;
}

/* Sets a zeroed field to the row's initial value. */
static void store_initial(void *field, const struct opt_row *row)
{
    if (row->initial != 0.0)
        store_number(field, row, row->initial, row->initial > 0.0 ? (uint64_t)row->initial : 0);
}

static int set_number(const struct opt_row *row, void *field, const char *text,
                      struct gcb_diag *diag)
{
    char range[80] = "";
    const bool bounded = opt_range(range, sizeof(range), row);
    uint64_t whole = 0;
    double real = 0.0;
    bool good;

    if (types[row->type].read_real) {
        good = types[row->type].read_real(text, &real);
    } else {
        good = types[row->type].read_whole(text, &whole);
        real = (double)whole;
    }
    if (bounded)
        good &= real >= row->min && real <= row->max;
    if (!good || (row->type == OPT_INT && whole > INT32_MAX))
        return gcb_invalid(diag, "--%s takes %s%s%s, not '%s'", row->name, types[row->type].words,
                           bounded ? ", " : "", range, gcb_show(text).text);
    store_number(field, row, real, whole);
    return 0;
}

static int set_value(const struct opt_row *row, void *field, const char *text,
                     struct gcb_diag *diag)
{
    switch (row->type) {
    case OPT_FLAG:
        *(bool *)field = true;
        return 0;
    case OPT_COUNT:
        ++*(int *)field;
        return 0;
    case OPT_TEXT:
        *(const char **)field = text;
        return 0;
    case OPT_LIST:
        opt_list_add(field, text);
        return 0;
    case OPT_CHOICE:
        return gcb_choose(field, "--", row->name, row->choices, text, diag);
    default:
        return set_number(row, field, text, diag);
    }
}

/* Appends an option to p->out->given. `f` is NULL for a parameter of methods. */
static void keep_given(struct parser *p, const struct found *f, const char *name, const char *value)
{
    struct opt_result *r = p->out;

    gcb_must_grow(&r->given, &r->given_cap, r->given_count, sizeof(*r->given));

    r->given[r->given_count++] = (struct opt_given){
        .row = f ? f->row : NULL,
        .group = f ? f->group : NULL,
        .name = name,
        .value = value,
        .words = (const char *const *)&p->argv[p->at],
        .word_count = (size_t)(p->next - p->at),
    };
}

/* Sets an option and keeps it in p->out->given. Refuses a second value, unless the type repeats. */
static int set_once(struct parser *p, const struct found *f, const char *value)
{
    const bool repeats = !opt_metavar(f->row) || f->row->type == OPT_LIST;

    for (size_t i = 0; !repeats && i < p->out->given_count; i++)
        if (p->out->given[i].row == f->row)
            return gcb_invalid(p->diag, "--%s is given twice", f->row->name);
    keep_given(p, f, f->row->name, value);

    return set_value(f->row, p->target + f->group->offset + f->row->offset, value, p->diag);
}

/* Takes the next argument as the value of an option. Returns NULL if there is no further argument,
 * or if it begins with `--`. */
static const char *take_next(struct parser *p)
{
    if (p->next >= p->argc || strncmp(p->argv[p->next], "--", 2) == 0)
        return NULL;
    return p->argv[p->next++];
}

static int missing_value(const struct parser *p, const char *dashes, const char *name,
                         const char *metavar)
{
    return gcb_invalid(p->diag, "%s%s needs a value (%s)", dashes, name, metavar);
}

static int parse_extra(struct parser *p, const char *name, const char *value)
{
    struct opt_list *list = (struct opt_list *)(void *)(p->target + p->spec->extra.offset);

    if (!value)
        value = take_next(p);
    if (!value)
        return missing_value(p, "--", name, "VALUE");
    keep_given(p, NULL, name, value);
    opt_list_add(list, name);
    opt_list_add(list, value);
    return 0;
}

static int parse_long(struct parser *p, const char *name)
{
    const size_t n = strcspn(name, "=");
    const char *value = name[n] ? name + n + 1 : NULL, *extra;
    struct found f;

    if (!find_row(&f, p->spec, name, n, 0)) {
        extra = find_extra(p, name, n);
        return extra ? parse_extra(p, extra, value) : unknown_option(p, name, n);
    }
    if (!opt_metavar(f.row) && value)
        return gcb_invalid(p->diag, "--%s takes no value", f.row->name);
    if (opt_metavar(f.row) && !value)
        value = take_next(p);
    if (opt_metavar(f.row) && !value)
        return missing_value(p, "--", f.row->name, opt_metavar(f.row));
    return set_once(p, &f, value);
}

/* Parses the letters after one dash: flags, then at most one option with a value. The value is the
 * rest of the word, or the next argument. */
static int parse_letters(struct parser *p, const char *letters)
{
    for (; *letters; letters++) {
        const char name[2] = {*letters, '\0'};
        struct found f;
        int err;

        if (!find_row(&f, p->spec, NULL, 0, *letters))
            return gcb_invalid(p->diag, "unknown option '-%s'", gcb_show(name).text);
        if (opt_metavar(f.row)) {
            const char *value = letters[1] ? letters + 1 : take_next(p);

            return value ? set_once(p, &f, value) : missing_value(p, "-", name, opt_metavar(f.row));
        }
        err = set_once(p, &f, NULL);
        if (err)
            return err;
    }
    return 0;
}

void opt_begin(const struct opt_spec *spec, void *target)
{
    for (const struct opt_group *g = spec->groups; g->rows; g++)
        for (const struct opt_row *row = g->rows; row->name; row++)
            store_initial((char *)target + g->offset + row->offset, row);
}

static bool is_initial(const struct opt_row *row, const void *field)
{
    struct opt_list first; /* room for a value of any type: a list is the largest */

    memset(&first, 0, sizeof(first));
    store_initial(&first, row);
    if (row->type == OPT_LIST)
        return ((const struct opt_list *)field)->count == 0;
    return memcmp(field, &first, types[row->type].size) == 0;
}

const char *opt_first_set(const struct opt_spec *spec, const void *target, const char *const *names)
{
    struct found f;

    for (; *names; names++)
        if (find_row(&f, spec, *names, strlen(*names), 0) &&
            !is_initial(f.row, (const char *)target + f.group->offset + f.row->offset))
            return *names;
    return NULL;
}

/* True if a suite's field names this option: min_time is --min-time, scopes is --scope. */
static bool is_field(const struct opt_row *row, const char *field)
{
    size_t n = 0;

    while (row->name[n] && field[n] == (row->name[n] == '-' ? '_' : row->name[n]))
        n++;
    return row->name[n] == '\0' && (field[n] == '\0' || strcmp(field + n, "s") == 0);
}

int opt_set_field(const struct opt_spec *spec, void *target, const char *field, const char *text,
                  struct gcb_diag *diag)
{
    const char *names[MAX_ROWS];
    char hint[GCB_HINT];
    size_t count = 0;

    for (const struct opt_group *g = spec->groups; g->rows; g++)
        for (const struct opt_row *row = g->rows; g->in_suite && row->name; row++) {
            void *value = (char *)target + g->offset + row->offset;

            names[count++] = row->name;
            if (!is_field(row, field))
                continue;
            if (row->type != OPT_LIST && !is_initial(row, value))
                return gcb_invalid(diag, "%s takes one value", field);
            return set_value(row, value, text, diag);
        }
    return gcb_invalid(diag, "unknown field '%s'%s", gcb_show(field).text,
                       gcb_hint(hint, field, "", names, count, ""));
}

void opt_merge(const struct opt_spec *spec, void *target, const void *from)
{
    for (const struct opt_group *g = spec->groups; g->rows; g++)
        for (const struct opt_row *row = g->rows; g->in_suite && row->name; row++) {
            const size_t at = g->offset + row->offset;

            if (is_initial(row, (char *)target + at))
                memcpy((char *)target + at, (const char *)from + at, types[row->type].size);
        }
}

int opt_parse(struct opt_result *out, const struct opt_spec *spec, void *target, int argc,
              char *const *argv, struct gcb_diag *diag)
{
    struct parser p = {
        .spec = spec, .target = target, .argc = argc, .argv = argv, .out = out, .diag = diag};
    bool ended = false;
    int err = 0;

    memset(out, 0, sizeof(*out));
    opt_begin(spec, target);
    while (!err && p.next < argc) {
        const char *arg = argv[p.next];

        p.at = p.next++;
        if (ended || arg[0] != '-' || arg[1] == '\0') {
            opt_list_add(&out->operands, arg);
        } else if (strcmp(arg, "--") == 0) {
            ended = true;
        } else if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            out->help = true;
            return 0;
        } else {
            err = arg[1] == '-' ? parse_long(&p, arg + 2) : parse_letters(&p, arg + 1);
        }
    }
    return err;
}

void opt_fini(struct opt_result *result, const struct opt_spec *spec, void *target)
{
    char *base = target;

    opt_list_fini(&result->operands);
    gcb_free(result->given);
    for (const struct opt_group *g = spec->groups; g->rows; g++)
        for (const struct opt_row *row = g->rows; row->name; row++)
            if (row->type == OPT_LIST)
                opt_list_fini((struct opt_list *)(void *)(base + g->offset + row->offset));
    if (spec->extra.name_at)
        opt_list_fini((struct opt_list *)(void *)(base + spec->extra.offset));
}

unsigned opt_columns(FILE *out)
{
    struct winsize size;

    if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) || size.ws_col == 0 ||
        size.ws_col > 80)
        return 80;
    return size.ws_col < 40 ? 40 : size.ws_col;
}

void opt_wrap(FILE *out, const char *text, int at, int indent)
{
    const int width = (int)opt_columns(out);
    bool broken = false; /* the last word was cut, and its rest follows */

    while (*text) {
        int n = (int)strcspn(text, " ");

        if (at > indent && (broken || at + 1 + n >= width)) {
            fputc('\n', out);
            at = 0;
        }
        if (at < indent)
            at += fprintf(out, "%*s", indent - at, "");
        else if (at > indent)
            at += fprintf(out, " ");
        if (indent + n >= width) /* a word longer than a line, such as a path, goes on below */
            n = (int)gcb_text_break(text, (size_t)n, (size_t)(width - 1 - indent));
        at += fprintf(out, "%.*s", n, text);
        text += n;
        broken = *text && *text != ' ';
        text += *text == ' ';
    }
    fputc('\n', out);
}

void opt_wrapf(FILE *out, int at, int indent, const char *format, ...)
{
    char text[1000];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    opt_wrap(out, text, at, indent);
}

void opt_note(FILE *out, const char *format, ...)
{
    char text[1000];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    opt_wrap(out, text, fprintf(out, "note:"), 2);
}

static void print_row(FILE *out, const struct opt_row *row)
{
    enum { INDENT = 28 }; /* column of the help texts */
    int at = row->letter ? fprintf(out, "  -%c, ", row->letter) : fprintf(out, "      ");

    at += fprintf(out, "--%s", row->name);
    if (opt_metavar(row))
        at += fprintf(out, " %s", opt_metavar(row));
    if (at > INDENT - 2) {
        fputc('\n', out);
        at = 0;
    }
    opt_wrap(out, row->help, at, INDENT);
}

void opt_print(FILE *out, const struct opt_spec *spec)
{
    const char *title = "";

    for (const struct opt_group *g = spec->groups; g->rows; g++) {
        if (strcmp(title, g->title) != 0)
            fprintf(out, "\n%s:\n", g->title);
        title = g->title;
        for (const struct opt_row *row = g->rows; row->name; row++)
            print_row(out, row);
    }
}
