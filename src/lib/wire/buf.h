#ifndef SRC_LIB_WIRE_BUF_H
#define SRC_LIB_WIRE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Bounded little-endian writing and reading. Both are sticky: after the first access that does not fit,
 * `failed` stays set, writes are dropped and reads give 0 or NULL. So a run of fields needs one check
 * at its end, and nothing is ever touched outside the buffer.
 */
struct gcb_wbuf {
    uint8_t *data; /* borrowed */
    size_t len, cap;
    bool failed;
};

struct gcb_rbuf {
    const uint8_t *data; /* borrowed */
    size_t len, pos;
    bool failed;
};

/* The next n bytes to fill, or NULL (and failed). They count as written. n = 0 gives a valid pointer. */
uint8_t *gcb_wbuf_take(struct gcb_wbuf *w, uint64_t n);
void gcb_put_u8(struct gcb_wbuf *w, uint8_t v);
void gcb_put_u32(struct gcb_wbuf *w, uint32_t v);
void gcb_put_u64(struct gcb_wbuf *w, uint64_t v);
void gcb_put_f32(struct gcb_wbuf *w, float v);

/* The next n bytes to read, or NULL (and failed). */
const uint8_t *gcb_rbuf_take(struct gcb_rbuf *r, uint64_t n);
size_t gcb_rbuf_left(const struct gcb_rbuf *r);
uint8_t gcb_get_u8(struct gcb_rbuf *r);
uint32_t gcb_get_u32(struct gcb_rbuf *r);
uint64_t gcb_get_u64(struct gcb_rbuf *r);
float gcb_get_f32(struct gcb_rbuf *r);

/* Loads and stores at a pointer of any alignment. */
uint32_t gcb_load_u32(const uint8_t *p);
uint64_t gcb_load_u64(const uint8_t *p);
float gcb_load_f32(const uint8_t *p);
void gcb_store_u32(uint8_t *p, uint32_t v);
void gcb_store_u64(uint8_t *p, uint64_t v);
void gcb_store_f32(uint8_t *p, float v);

#endif
