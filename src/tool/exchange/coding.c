#include "src/tool/exchange/coding.h"

#include "src/lib/base/alloc.h"
#include "src/lib/base/diag.h"
#include "src/tool/payoff/payoff_coding.h"

struct gcb_coding {
    const char *path;
    struct gcb_payoff_cases cases;
};

int gcb_coding_open(struct gcb_coding **out, const char *path, struct gcb_diag *diag)
{
    struct gcb_coding *c = gcb_alloc_zero(1, sizeof(*c));
    struct gcb_payoff_reader *reader = NULL;
    int err = c ? gcb_payoff_reader_create(&reader, NULL, diag)
                : gcb_diag_nomem(diag, sizeof(*c), "times of coding");

    if (!err)
        err = gcb_payoff_reader_file(reader, path, diag);
    if (!err)
        err = gcb_payoff_reader_finish(reader, &c->cases, diag);
    gcb_payoff_reader_destroy(reader);
    *out = c;
    if (c)
        c->path = path;
    return err;
}

void gcb_coding_close(struct gcb_coding *c)
{
    if (c)
        gcb_payoff_cases_fini(&c->cases);
    gcb_free(c);
}

static const struct gcb_payoff_case *find_case(const struct gcb_coding *c,
                                               const struct gcb_method *method)
{
    struct gcb_method measured;
    struct gcb_diag ignored;

    for (size_t i = 0; i < c->cases.count; i++)
        if (!gcb_method_parse(&measured, c->cases.items[i].spec, &ignored) &&
            gcb_payoff_same_codec(method, &measured))
            return &c->cases.items[i];
    return NULL;
}

int gcb_coding_find(struct gcb_coding_times *out, const struct gcb_coding *c,
                    const struct gcb_method *method, enum gcb_net_algorithm algorithm,
                    unsigned workers, double bytes, double messages, struct gcb_diag *diag)
{
    const struct gcb_payoff_exchanged x = {*method, gcb_net_algorithm_names[algorithm], workers,
                                           bytes, messages};
    const struct gcb_payoff_case *found = find_case(c, method);
    struct gcb_payoff_coding times;
    char spec[512];

    if (!found)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "%s has no times of %s; measure them: gcbench bench --method %s "
                            "--results FILE",
                            c->path, gcb_method_spec(spec, sizeof(spec), method, GCB_SPEC_GIVEN),
                            spec);
    gcb_payoff_coding(&times, &c->cases, found, &x);
    *out = (struct gcb_coding_times){times.encode[GCB_BOUND_MEDIAN],
                                     times.sum[GCB_BOUND_MEDIAN] + times.add[GCB_BOUND_MEDIAN]};
    if (out->encode >= 0.0 && out->sum >= 0.0)
        return 0;
    return gcb_diag_set(diag, GCB_E_INVALID, "%s has no times of decoding %s", c->path,
                        gcb_method_spec(spec, sizeof(spec), method, GCB_SPEC_GIVEN));
}
