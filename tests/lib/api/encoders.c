#include "tests/lib/api/encoders.h"

#include <string.h>

#include "tests/support/test.h"
#include "tests/support/trip.h"

struct gcb_encoder *encoder_of(const char *spec, const struct gcb_options *o)
{
    struct gcb_encoder *e = NULL;
    struct gcb_diag diag;

    if (gcb_encoder_open(&e, spec, N, o, &diag))
        fail_msg("%s: %s", spec, diag.text);
    return e;
}

size_t encode(struct gcb_encoder *e, uint64_t step, const float *g, uint8_t *out)
{
    struct gcb_diag diag;
    size_t length = SIZE_MAX;

    if (gcb_encode(e, step, 0, g, out, ROOM, &length, &diag))
        fail_msg("%s", diag.text);
    return length;
}

void gradient(float *g, uint64_t step)
{
    trip_fill(g, N, TRIP_LAPLACE, step + 1);
}

void save(struct saved *out, const struct gcb_encoder *e)
{
    out->s = (struct gcb_memory_state){
        .size = sizeof(out->s),
        .residual = out->residual,
        .momentum = out->momentum,
        .kept = out->kept,
        .kept_bytes = sizeof(out->kept),
    };
    memset(out->kept, 0, sizeof(out->kept));
    assert_int_equal(gcb_encoder_save(e, &out->s, NULL), 0);
    assert_int_equal(out->s.kept_bytes, gcb_encoder_kept_bytes(e));
}

int restore(struct gcb_encoder *e, const struct saved *s, struct gcb_diag *diag)
{
    struct gcb_memory_view view = {
        .size = sizeof(view),
        .residual = s->residual,
        .momentum = s->momentum,
        .kept = s->kept,
        .kept_bytes = s->s.kept_bytes,
    };

    memcpy(view.counters, s->s.counters, sizeof(view.counters));
    return gcb_encoder_restore(e, &view, diag);
}

void same_state(const struct saved *a, const struct gcb_encoder *e)
{
    static struct saved b;

    save(&b, e);
    assert_memory_equal(a->residual, b.residual, sizeof(b.residual));
    assert_memory_equal(a->momentum, b.momentum, sizeof(b.momentum));
    assert_memory_equal(a->s.counters, b.s.counters, sizeof(b.s.counters));
    assert_memory_equal(a->kept, b.kept, sizeof(b.kept));
}
