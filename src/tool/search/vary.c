#include "src/tool/search/vary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/search/rate.h"

/* A range as it is stepped through. */
struct range {
    const struct gcb_vary *v;
    const struct gcb_param *p;
    bool named_so; /* the key is a complement's */
    bool flipped;  /* the steps are of the complement */
    double low, high;
};

/* ---- what the user wrote ---- */

static bool copy(char out[GCB_VARY_TEXT], const char *from, size_t n)
{
    if (n == 0 || n >= GCB_VARY_TEXT)
        return false;
    memcpy(out, from, n);
    out[n] = '\0';
    return true;
}

/* "COUNT" or "COUNTlog". */
static bool parse_count(struct gcb_vary *v, const char *text)
{
    const size_t n = strspn(text, "0123456789");
    char digits[GCB_VARY_TEXT];

    v->log = strcmp(text + n, "log") == 0;
    return (text[n] == '\0' || v->log) && copy(digits, text, n) &&
           gcb_parse_u64(digits, &v->count) && v->count > 0;
}

static bool parse_range(struct gcb_vary *v, const char *text)
{
    const char *dots = strstr(text, ".."), *slash = strrchr(text, '/');

    return dots && slash && slash > dots && copy(v->low, text, (size_t)(dots - text)) &&
           copy(v->high, dots + 2, (size_t)(slash - dots - 2)) && parse_count(v, slash + 1);
}

/* "0.5-0.9", which is no value of anything. */
static bool is_dashed(const char *text)
{
    const size_t low = strspn(text, "0123456789.");
    const size_t high = text[low] == '-' ? strspn(text + low + 1, "0123456789.") : 0;

    return low && high && strchr("/", text[low + 1 + high]);
}

int gcb_vary_parse(struct gcb_vary *out, const char *text, struct gcb_diag *diag)
{
    const size_t n = strcspn(text, "=");
    char shown[96];

    memset(out, 0, sizeof(*out));
    gcb_escape(shown, sizeof(shown), text);
    if (text[n] != '=' || !copy(out->key, text, n) || !text[n + 1])
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--vary takes KEY=v1,v2,... or KEY=LO..HI/COUNT, not '%s'", shown);
    if (!strstr(text + n, "..") && !is_dashed(text + n + 1))
        out->list = text + n + 1;
    else if (!parse_range(out, text + n + 1))
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--vary %s: a range is LO..HI/COUNT or LO..HI/COUNTlog", shown);
    if (out->count <= GCB_VARY_MAX)
        return 0;
    return gcb_diag_set(diag, GCB_E_INVALID, "--vary %s: a range has at most %d values", shown,
                        GCB_VARY_MAX);
}

/* ---- values ---- */

static int take_room(struct gcb_values *out, const struct gcb_vary *v, size_t count,
                     struct gcb_diag *diag)
{
    if (count > GCB_VARY_MAX)
        return gcb_diag_set(diag, GCB_E_INVALID, "--vary %s: at most %d values", v->key,
                            GCB_VARY_MAX);
    out->text = gcb_alloc_zero(count, sizeof(*out->text));
    return out->text ? 0 : gcb_diag_nomem(diag, count * sizeof(*out->text), "values");
}

static void add(struct gcb_values *out, const char *text)
{
    for (size_t i = 0; i < out->count; i++)
        if (strcmp(out->text[i], text) == 0)
            return;
    snprintf(out->text[out->count++], GCB_VARY_TEXT, "%s", text);
}

static int list_values(struct gcb_values *out, const struct gcb_vary *v, struct gcb_diag *diag)
{
    char text[GCB_VARY_TEXT];
    size_t count = 1;
    int err;

    for (const char *p = v->list; *p; p++)
        count += *p == ',';
    err = take_room(out, v, count, diag);
    for (const char *p = v->list; !err; p++) {
        const size_t n = strcspn(p, ",");

        if (!copy(text, p, n))
            return gcb_diag_set(diag, GCB_E_INVALID, "--vary %s: a value is empty or too long",
                                v->key);
        add(out, text);
        p += n;
        if (*p == '\0')
            break;
    }
    return err;
}

static int range_of(struct range *r, const struct gcb_vary *v, const struct gcb_param *p,
                    struct gcb_diag *diag)
{
    int err;

    r->v = v;
    r->p = p;
    r->named_so = strcmp(v->key, p->name) != 0;
    r->flipped = r->named_so || (v->log && p->complement[0]);
    err = gcb_param_parse(&r->low, p, v->key, v->low, diag);
    if (!err)
        err = gcb_param_parse(&r->high, p, v->key, v->high, diag);
    if (err)
        return err;
    if (r->flipped) {
        r->low = 1.0 - r->low;
        r->high = 1.0 - r->high;
    }
    if (v->count == 1 && r->low != r->high)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--vary %s=%s..%s: from one end to the other are "
                            "2 values or more",
                            v->key, v->low, v->high);
    if (v->log && !(r->low > 0.0 && r->high > 0.0))
        return gcb_diag_set(diag, GCB_E_INVALID, "--vary %s=%s..%s: log takes ends above 0", v->key,
                            v->low, v->high);
    return 0;
}

/* A real to five significant digits, under the key's own name. */
static void real_text(char out[GCB_VARY_TEXT], const struct range *r, double value)
{
    const int exponent = value > 0.0 ? (int)floor(log10(value)) - 4 : 1;
    double rounded;

    if (exponent < -15 || exponent > 0)
        gcb_real_text(out, r->flipped && !r->named_so ? 1.0 - value : value);
    else
        gcb_decimal_text(out, (uint64_t)rint(value * pow(10.0, -exponent)), exponent,
                         r->flipped && !r->named_so);
    if (gcb_parse_real(out, &rounded))
        gcb_real_text(out, rounded);
}

static void between(char out[GCB_VARY_TEXT], const struct range *r, uint64_t i)
{
    const double share = (double)i / (double)(r->v->count - 1), span = r->high - r->low;
    const double value = r->v->log ? r->low * pow(r->high / r->low, share) : r->low + span * share;

    if (r->p->type == GCB_PARAM_REAL)
        real_text(out, r, value);
    else
        gcb_real_text(out, rint(value));
}

static int range_values(struct gcb_values *out, const struct gcb_vary *v, const struct gcb_param *p,
                        struct gcb_diag *diag)
{
    char text[GCB_VARY_TEXT];
    struct range r;
    int err;

    if (p->type == GCB_PARAM_CHOICE)
        return gcb_diag_set(diag, GCB_E_INVALID, "--vary %s takes names, not a range: %s=a,b",
                            v->key, v->key);
    err = range_of(&r, v, p, diag);
    if (!err)
        err = take_room(out, v, v->count, diag);
    if (err)
        return err;
    add(out, v->low);
    for (uint64_t i = 1; i + 1 < v->count; i++) {
        between(text, &r, i);
        add(out, text);
    }
    add(out, v->high);
    return 0;
}

int gcb_vary_values(struct gcb_values *out, const struct gcb_vary *v, const struct gcb_param *p,
                    struct gcb_diag *diag)
{
    memset(out, 0, sizeof(*out));
    return v->list ? list_values(out, v, diag) : range_values(out, v, p, diag);
}

void gcb_values_fini(struct gcb_values *v)
{
    gcb_free(v->text);
    memset(v, 0, sizeof(*v));
}
