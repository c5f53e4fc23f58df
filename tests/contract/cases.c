#include "tests/contract/cases.h"

#include <math.h>
#include <string.h>

#include "src/lib/sparse/stages.h"
#include "tests/support/test.h"
struct contract_case contract_cases[CONTRACT_MAX];
size_t contract_count;

/* Our own FFT takes all lengths of a method that pads to its lengths. */
static bool lacks_fftw(const struct gcb_method *m)
{
    double transform;

    return !gcb_fft_version() && gcb_method_caps(m) & GCB_CAP_LIBRARY_MATH &&
           gcb_method_value(m, "transform", &transform);
}

void contract_need_fftw(const struct contract_case *c)
{
    if (!c->lacks_fftw)
        return;
    print_message("skipped: this method and others of its kind need FFTW\n");
    skip();
}

static void add_case(const struct gcb_method *m, bool brief)
{
    const struct gcb_param *table = m->codec->params;

    for (size_t row = 0; row < gcb_param_count(table); row++)
        if (m->value[row] != table[row].def && !m->preset && !gcb_method_applies(m, row))
            return; /* the parameter has no effect, so the case is the same as another */
    if (gcb_method_check(m, NULL))
        return;
    assert_true(contract_count < CONTRACT_MAX);
    contract_cases[contract_count++] =
        (struct contract_case){.method = *m, .brief = brief, .lacks_fftw = lacks_fftw(m)};
}

/* No zeros after the elements, and elements rounded to float16, change what a transform gets, but
 * not how later stages code it. So each is combined with selections and index coders, not with all.
 */
static bool repeats(const struct gcb_method *m)
{
    double pad = 1.0, values = 0.0, input = 0.0, tile = 0.0;

    gcb_method_value(m, "pad", &pad);
    gcb_method_value(m, "values", &values);
    gcb_method_value(m, "input", &input);
    if (gcb_method_value(m, "tile", &tile) && tile > 0.0)
        return values + input > 0.0;
    return (pad == 0.0) + (input != 0.0) + (values != 0.0) > 1 && (pad == 0.0 || input != 0.0);
}

/* All combinations of the choices from row `row` on, except repetitions. */
static void add_choices(const struct gcb_method *m, size_t row)
{
    const struct gcb_param *p = m->codec->params ? &m->codec->params[row] : NULL;

    /* add_case would leave out all that follows a choice without effect, which are millions */
    if (row > 0 && m->value[row - 1] != p[-1].def && !gcb_method_applies(m, row - 1))
        return;
    if (!p || !p->name) {
        if (!repeats(m))
            add_case(m, true);
        return;
    }
    if (!gcb_param_is_text(p)) {
        add_choices(m, row + 1);
        return;
    }
    for (size_t c = 0; p->type == GCB_PARAM_TILE && c < 2; c++) {
        struct gcb_method other = *m;

        other.value[row] = c ? (double)gcb_tile_of(3, 16) : GCB_TILE_NONE;
        add_choices(&other, row + 1);
    }
    for (size_t c = 0; p->choices && p->choices[c]; c++) {
        struct gcb_method other = *m;

        other.value[row] = (double)c;
        add_choices(&other, row + 1);
    }
}

/* Values of a method's choices; a tile is 0 or 1. */
#define CHOICES 24
#define ROWS 32
static bool seen[ROWS][CHOICES][ROWS][CHOICES];

/* True if the method has a choice, or two choices together, that no method before it had. */
static bool is_new(const struct gcb_method *m)
{
    const struct gcb_param *table = m->codec->params;
    bool found = false;

    for (size_t a = 0; a < gcb_param_count(table); a++)
        for (size_t b = 0; b <= a; b++) {
            const size_t x = table[a].choices ? (size_t)m->value[a] : m->value[a] > 0.0;
            const size_t y = table[b].choices ? (size_t)m->value[b] : m->value[b] > 0.0;

            if (!gcb_param_is_text(&table[a]) || !gcb_param_is_text(&table[b]))
                continue;
            assert_true(a < ROWS && x < CHOICES && y < CHOICES);
            found |= !seen[a][x][b][y];
            seen[a][x][b][y] = true;
        }
    return found;
}

/* Of the cases from `first` on, keeps enough for each two choices to be together in one. The steps
 * mix the choices of all rows. */
static void keep_pairs(size_t first)
{
    static bool keep[CONTRACT_MAX];
    const size_t count = contract_count - first, step = 7919;

    memset(seen, 0, sizeof(seen));
    for (size_t i = 0; i < count; i++)
        keep[i * step % count] = is_new(&contract_cases[first + i * step % count].method);
    contract_count = first;
    for (size_t i = 0; i < count; i++)
        if (keep[i])
            contract_cases[contract_count++] = contract_cases[first + i];
}

/* Numbers to try: both ends of ranges, small and odd ones. */
static void add_numbers(const struct gcb_method *m)
{
    static const double tries[] = {0,  1,  2,   3,     5,    7,   8,    11,
                                   16, 60, 100, 0.001, 0.25, 0.5, 0.99, 5000};

    for (size_t row = 0; row < gcb_param_count(m->codec->params); row++) {
        const struct gcb_param *p = &m->codec->params[row];

        for (size_t t = 0; !gcb_param_is_text(p) && t < sizeof(tries) / sizeof(*tries); t++) {
            struct gcb_method other = *m;

            if (tries[t] < p->min || tries[t] > p->max || tries[t] == m->value[row] ||
                (tries[t] == p->max && p->flags & GCB_PARAM_OPEN_MAX) ||
                (p->type != GCB_PARAM_REAL && tries[t] != floor(tries[t])) ||
                !gcb_method_applies(m, row))
                continue;
            other.value[row] = tries[t];
            add_case(&other, true);
        }
    }
}

/* A device has no bins, fits, Bloom filters, SIDCo and masks, and transforms there take no input that
 * was rounded to float16, and no tiles. */
static bool runs_on_device(const struct gcb_method *m)
{
    char spec[256];
    double input;

    gcb_method_spec(spec, sizeof(spec), m, GCB_SPEC_FULL);
    return !strstr(spec, "values=bins") && !strstr(spec, "values=fit") &&
           !strstr(spec, "index=bloom") && !strstr(spec, "select=sidco") &&
           !strstr(spec, "select=mask") && (!gcb_method_value(m, "tile", &input) || input == 0.0) &&
           (!gcb_method_value(m, "input", &input) || input == 0.0);
}

void contract_generate(const char *filter, bool on_device)
{
    /* tiles larger than those of the combinations; all bits of a transform, in chunks side by side
     * and of a long tensor */
    static const char *const more[] = {"powersgd:rank=2,tile=8x5,factor-bits=5",
                                       "powersgd:tile=16x16,factor-bits=4,bits-per-element=2",
                                       "sparse:theta=0.5,transform=fft,chunk=60",
                                       "sparse:theta=0.5,transform=dct,chunk=60",
                                       "sparse:theta=0.5,transform=fft",
                                       "sparse:theta=0.5,transform=dct"};
    struct gcb_method m;
    char spec[256];
    size_t kept = 0, lacking = 0;

    for (size_t i = 0; gcb_method_at(&m, i); i++) {
        size_t first;

        if (on_device && gcb_method_cpu_only(&m))
            continue;
        add_case(&m, false);
        add_numbers(&m);
        first = contract_count;
        if (!m.preset)
            add_choices(&m, 0);
        if (!on_device) /* branches of launchers need more than two choices */
            keep_pairs(first);
    }
    for (size_t i = 0; i < sizeof(more) / sizeof(*more) && !on_device; i++) {
        assert_int_equal(gcb_method_parse(&m, more[i], NULL), 0);
        add_case(&m, false);
    }
    for (size_t i = 0; i < contract_count; i++) {
        m = contract_cases[i].method;
        if ((!filter || strstr(gcb_method_spec(spec, sizeof(spec), &m, GCB_SPEC_FULL), filter)) &&
            (!on_device || runs_on_device(&m)) && (!contract_cases[i].lacks_fftw || !lacking++))
            contract_cases[kept++] = contract_cases[i];
    }
    contract_count = kept;
}
