#include "src/lib/codec/param.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"

size_t gcb_param_count(const struct gcb_param *table)
{
    size_t n = 0;

    while (table && table[n].name)
        n++;
    return n;
}

const struct gcb_param *gcb_param_find(const struct gcb_param *table, const char *name)
{
    for (const struct gcb_param *p = table; p && p->name; p++) {
        if (strcmp(p->name, name) == 0)
            return p;
        for (size_t i = 0; p->complement[i]; i++)
            if (strcmp(p->complement[i], name) == 0)
                return p;
    }
    return NULL;
}

static size_t choice_count(const struct gcb_param *p)
{
    size_t n = 0;

    while (p->choices[n])
        n++;
    return n;
}

static bool parse_number(double *out, const struct gcb_param *p, const char *text)
{
    bool (*parse)(const char *, uint64_t *) =
        p->type == GCB_PARAM_SIZE ? gcb_parse_size : gcb_parse_u64;
    uint64_t v;

    if (p->type == GCB_PARAM_REAL)
        return gcb_parse_real(text, out);
    if (!parse(text, &v))
        return false;
    *out = (double)v;
    return true;
}

static bool is_tile(uint64_t tile)
{
    const uint64_t rows = gcb_tile_rows(tile), cols = gcb_tile_cols(tile);

    return tile == GCB_TILE_NONE ||
           (rows && rows <= GCB_TILE_SIDE && cols && cols <= GCB_TILE_SIDE);
}

/* Parses "none", "kernel" or "AxB". */
static int parse_tile(double *out, const char *name, const char *text, struct gcb_diag *diag)
{
    const char *cross = strchr(text, 'x');
    char rows[8] = "", shown[64];
    uint64_t a = 0, b = 0;

    if (cross && cross - text < (ptrdiff_t)sizeof(rows))
        memcpy(rows, text, (size_t)(cross - text));
    if (strcmp(text, "none") == 0)
        *out = GCB_TILE_NONE;
    else if (strcmp(text, "kernel") == 0)
        *out = GCB_TILE_KERNEL;
    else if (gcb_parse_u64(rows, &a) && gcb_parse_u64(cross + 1, &b) && a <= GCB_TILE_SIDE &&
             b <= GCB_TILE_SIDE && a && b)
        *out = (double)gcb_tile_of(a, b);
    else
        return gcb_invalid(diag,
                           "%s must be none, kernel or AxB with A and B from 1 to %d, not '%s'",
                           name, GCB_TILE_SIDE, gcb_escape(shown, sizeof(shown), text));
    return 0;
}

static bool in_range(const struct gcb_param *p, double v)
{
    if (p->type == GCB_PARAM_TILE)
        return is_tile((uint64_t)v);
    return v >= p->min && (p->flags & GCB_PARAM_OPEN_MAX ? v < p->max : v <= p->max);
}

/* Reports a value out of range. The range of a complement is mirrored: "[0, 1)" becomes
 * "(0, 1]". */
static int range_error(const struct gcb_param *p, const char *name, bool complement,
                       const char *text, struct gcb_diag *diag)
{
    const bool open = p->flags & GCB_PARAM_OPEN_MAX;
    char low[32], high[32], shown[64];

    return gcb_invalid(diag, "%s must be %s in %c%s, %s%c, not '%s'", name,
                       p->type == GCB_PARAM_REAL ? "a number" : "a whole number",
                       complement && open ? '(' : '[',
                       gcb_real_text(low, complement ? 1.0 - p->max : p->min),
                       gcb_real_text(high, complement ? 1.0 - p->min : p->max),
                       !complement && open ? ')' : ']', gcb_escape(shown, sizeof(shown), text));
}

int gcb_param_parse(double *out, const struct gcb_param *p, const char *name, const char *text,
                    struct gcb_diag *diag)
{
    const bool complement = strcmp(name, p->name) != 0;
    double v;

    if (p->type == GCB_PARAM_CHOICE) {
        int choice = (int)*out;
        const int err = gcb_choose(&choice, "", name, p->choices, text, diag);

        *out = choice;
        return err;
    }
    if (p->type == GCB_PARAM_TILE)
        return parse_tile(out, name, text, diag);
    if (!parse_number(&v, p, text) || !in_range(p, complement ? 1.0 - v : v))
        return range_error(p, name, complement, text, diag);
    *out = complement ? 1.0 - v : v;
    return 0;
}

char *gcb_param_text(char *out, const struct gcb_param *p, double value)
{
    if (p->type == GCB_PARAM_CHOICE)
        snprintf(out, GCB_PARAM_TEXT, "%s", p->choices[(size_t)value]);
    else if (p->type == GCB_PARAM_REAL)
        gcb_real_text(out, value);
    else if (p->type == GCB_PARAM_TILE && value <= GCB_TILE_KERNEL)
        snprintf(out, GCB_PARAM_TEXT, "%s", value < GCB_TILE_KERNEL ? "none" : "kernel");
    else if (p->type == GCB_PARAM_TILE)
        snprintf(out, GCB_PARAM_TEXT, "%" PRIu64 "x%" PRIu64, gcb_tile_rows((uint64_t)value),
                 gcb_tile_cols((uint64_t)value));
    else
        snprintf(out, GCB_PARAM_TEXT, "%" PRIu64, (uint64_t)value);
    return out;
}

void gcb_param_store(const struct gcb_param *table, const double *value, void *state)
{
    for (size_t i = 0; table && table[i].name; i++) {
        void *field = (char *)state + table[i].offset;

        if (table[i].type == GCB_PARAM_REAL)
            *(double *)field = value[i];
        else if (table[i].type == GCB_PARAM_CHOICE)
            *(int *)field = (int)value[i];
        else
            *(uint64_t *)field = (uint64_t)value[i];
    }
}

static double load(const struct gcb_param *p, const void *state)
{
    const void *field = (const char *)state + p->offset;

    if (p->type == GCB_PARAM_REAL)
        return *(const double *)field;
    if (p->type == GCB_PARAM_CHOICE)
        return *(const int *)field;
    return (double)*(const uint64_t *)field;
}

/* Bytes of a value in a header. */
static unsigned wire_width(const struct gcb_param *p)
{
    if (p->type == GCB_PARAM_CHOICE || (p->type != GCB_PARAM_REAL && p->max <= UINT8_MAX))
        return 1;
    if (p->type == GCB_PARAM_REAL || p->max > UINT32_MAX)
        return 8;
    return p->max > UINT16_MAX ? 4 : 2;
}

static void write_value(const struct gcb_param *p, double value, struct gcb_wbuf *out)
{
    const unsigned width = wire_width(p);
    uint64_t bits = (uint64_t)value;

    if (p->type == GCB_PARAM_REAL)
        memcpy(&bits, &value, sizeof(bits));
    for (unsigned i = 0; i < width; i++)
        gcb_put_u8(out, (uint8_t)(bits >> 8 * i));
}

static bool is_added(const struct gcb_param *p)
{
    return p->flags & GCB_PARAM_ADDED;
}

/* True if an added parameter with this value must be in a header. */
static bool is_present(const struct gcb_param *p, double value)
{
    return value < p->absent || value > p->absent;
}

void gcb_param_write(const struct gcb_param *table, const void *state, struct gcb_wbuf *out)
{
    const struct gcb_param *last = NULL; /* the last added parameter of the header */

    for (const struct gcb_param *p = table; p && p->name; p++)
        if (p->flags & GCB_PARAM_WIRE && !is_added(p))
            write_value(p, load(p, state), out);
    for (const struct gcb_param *p = table; p && p->name; p++)
        if (is_added(p) && is_present(p, load(p, state)))
            last = p;
    for (const struct gcb_param *p = table; last && p <= last; p++)
        if (is_added(p))
            write_value(p, load(p, state), out);
}

static double read_value(const struct gcb_param *p, struct gcb_rbuf *in)
{
    uint64_t bits = 0;
    double value;

    for (unsigned i = 0; i < wire_width(p); i++)
        bits |= (uint64_t)gcb_get_u8(in) << 8 * i;
    if (p->type != GCB_PARAM_REAL)
        return (double)bits;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Reads a value and checks its range. Returns 0 or GCB_E_CORRUPT. */
static int read_checked(const struct gcb_param *p, double *value, struct gcb_rbuf *in,
                        struct gcb_diag *diag)
{
    bool sound;

    *value = read_value(p, in);
    sound = p->type == GCB_PARAM_CHOICE ? *value < (double)choice_count(p) : in_range(p, *value);
    if (is_added(p) && !gcb_rbuf_left(in))
        sound &= is_present(p, *value);
    if (in->failed || !sound)
        return gcb_diag_set(diag, GCB_E_CORRUPT, "message header: bad value of '%s'", p->name);
    return 0;
}

int gcb_param_read(const struct gcb_param *table, double *value, struct gcb_rbuf *in,
                   struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = 0; !err && table && table[i].name; i++) {
        value[i] = is_added(&table[i]) ? table[i].absent : table[i].def;
        if (table[i].flags & GCB_PARAM_WIRE && !is_added(&table[i]))
            err = read_checked(&table[i], &value[i], in, diag);
    }
    for (size_t i = 0; !err && gcb_rbuf_left(in) && table && table[i].name; i++)
        if (is_added(&table[i]))
            err = read_checked(&table[i], &value[i], in, diag);
    if (err)
        return err;
    if (gcb_rbuf_left(in))
        return gcb_diag_set(diag, GCB_E_CORRUPT, "message header: too many parameters");
    return 0;
}
