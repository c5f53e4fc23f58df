#ifndef SRC_LIB_WIRE_BUF_H
#define SRC_LIB_WIRE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Bounded little-endian writing and reading. The first access that does not fit sets `failed`.
 * After that, writes are dropped, and reads give 0 or NULL. So a caller can check once after
 * several fields, and nothing outside the buffer is ever accessed.
 */
struct gcb_wbuf {
    uint8_t *data;   /* borrowed */
    size_t len, cap; /* bytes that have been written; bytes of `data` */
    bool failed;
};

struct gcb_rbuf {
    const uint8_t *data; /* borrowed */
    size_t len, pos;     /* bytes of `data`; bytes that have been read */
    bool failed;
};

/* Returns the next n bytes for the caller to fill, and counts them as written. Returns NULL and
 * sets `failed` if they do not fit, or if `failed` was set before. n may be 0. */
uint8_t *gcb_wbuf_take(struct gcb_wbuf *w, uint64_t n);
/* Appends n bytes from `v`, or nothing if gcb_wbuf_take returns NULL. */
static inline void gcb_put(struct gcb_wbuf *w, const void *v, uint64_t n)
{
    uint8_t *p = gcb_wbuf_take(w, n);

    if (p)
        memcpy(p, v, n);
}

/* Append a value as gcb_put does. */
void gcb_put_u8(struct gcb_wbuf *w, uint8_t v);
void gcb_put_u32(struct gcb_wbuf *w, uint32_t v);
void gcb_put_u64(struct gcb_wbuf *w, uint64_t v);
void gcb_put_f32(struct gcb_wbuf *w, float v);

/* Returns the next n bytes and counts them as read. Returns NULL and sets `failed` if fewer than n
 * bytes are left, or if `failed` was set before. */
static inline const uint8_t *gcb_rbuf_take(struct gcb_rbuf *r, uint64_t n)
{
    const uint8_t *p;

    if (r->failed || n > r->len - r->pos) {
        r->failed = true;
        return NULL;
    }
    p = r->data + r->pos;
    r->pos += (size_t)n;
    return p;
}

/* Number of bytes that have not been read; 0 if `failed` is set. */
static inline size_t gcb_rbuf_left(const struct gcb_rbuf *r)
{
    return r->failed ? 0 : r->len - r->pos;
}

/* Read a value. Return 0 and set `failed` if too few bytes are left for the value. */
uint8_t gcb_get_u8(struct gcb_rbuf *r);
uint32_t gcb_get_u32(struct gcb_rbuf *r);
uint64_t gcb_get_u64(struct gcb_rbuf *r);
float gcb_get_f32(struct gcb_rbuf *r);

/* Load and store a value at an address of any alignment. Inline, because coders call these
 * functions for each symbol. */
static inline uint32_t gcb_load_u32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static inline uint64_t gcb_load_u64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static inline float gcb_load_f32(const uint8_t *p)
{
    float v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static inline void gcb_store_u32(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, sizeof(v));
}

static inline void gcb_store_u64(uint8_t *p, uint64_t v)
{
    memcpy(p, &v, sizeof(v));
}

static inline void gcb_store_f32(uint8_t *p, float v)
{
    memcpy(p, &v, sizeof(v));
}

#endif
