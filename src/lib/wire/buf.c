#include "src/lib/wire/buf.h"

/* Messages are little-endian, and values are copied to them without conversion. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "little-endian hosts only");

uint8_t *gcb_wbuf_take(struct gcb_wbuf *w, uint64_t n)
{
    uint8_t *p;

    if (w->failed || n > w->cap - w->len) {
        w->failed = true;
        return NULL;
    }
    p = w->data + w->len;
    w->len += (size_t)n;
    return p;
}

void gcb_put_u8(struct gcb_wbuf *w, uint8_t v)
{
    gcb_put(w, &v, sizeof(v));
}

void gcb_put_u32(struct gcb_wbuf *w, uint32_t v)
{
    gcb_put(w, &v, sizeof(v));
}

void gcb_put_u64(struct gcb_wbuf *w, uint64_t v)
{
    gcb_put(w, &v, sizeof(v));
}

void gcb_put_f32(struct gcb_wbuf *w, float v)
{
    gcb_put(w, &v, sizeof(v));
}

static void get(struct gcb_rbuf *r, void *v, size_t n)
{
    const uint8_t *p = gcb_rbuf_take(r, n);

    if (p)
        memcpy(v, p, n);
    else
        memset(v, 0, n);
}

uint8_t gcb_get_u8(struct gcb_rbuf *r)
{
    uint8_t v;

    get(r, &v, sizeof(v));
    return v;
}

uint32_t gcb_get_u32(struct gcb_rbuf *r)
{
    uint32_t v;

    get(r, &v, sizeof(v));
    return v;
}

uint64_t gcb_get_u64(struct gcb_rbuf *r)
{
    uint64_t v;

    get(r, &v, sizeof(v));
    return v;
}

float gcb_get_f32(struct gcb_rbuf *r)
{
    float v;

    get(r, &v, sizeof(v));
    return v;
}
