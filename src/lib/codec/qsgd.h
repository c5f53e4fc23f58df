#ifndef SRC_LIB_CODEC_QSGD_H
#define SRC_LIB_CODEC_QSGD_H

#include "src/lib/codec/codec.h"
#include "src/lib/codec/elias.h"

/* What the two halves of the codec share: quantising (qsgd.c) and the Elias codings (qsgd_elias.c). */

enum gcb_qsgd_norm { GCB_QSGD_MAX, GCB_QSGD_L2 };
enum gcb_qsgd_coding { GCB_QSGD_FIXED, GCB_QSGD_DENSE, GCB_QSGD_SPARSE };

/* As the parameter table stores them: a state begins with them, on a device too. */
struct gcb_qsgd_params {
    uint64_t bits, levels, bucket;
    int norm, coding;
};

/* What follows from the parameters and the element count. */
struct gcb_qsgd_layout {
    uint32_t s;        /* levels above zero */
    unsigned sign_bit; /* 2^sign_bit > s */
    unsigned width;    /* of a fixed code */
    uint64_t bucket;   /* elements, at most those of the tensor */
    uint64_t buckets;  /* number of them */
};
/* Cuts p->bucket to the tensor too, as it stands in the header. */
void gcb_qsgd_lay_out(struct gcb_qsgd_layout *out, struct gcb_qsgd_params *p, uint64_t count);

struct gcb_qsgd {
    struct gcb_qsgd_params p;
    struct gcb_codec_env env;
    struct gcb_qsgd_layout l;
    uint64_t unit;                /* elements a thread takes at a time */
    float *step;                  /* l / s by level, 0 above s */
    struct gcb_elias_code *codes; /* Elias coding: by number, 1..max(s, GCB_TILE) + 1 */
    struct gcb_elias_table *table;
};

/* Norms of buckets [from, to) of the tensor x, as float32 at norms + 4 b. */
void gcb_qsgd_norms(const struct gcb_qsgd *s, const float *x, uint8_t *norms, uint64_t from,
                    uint64_t to);
/* Codes of n <= GCB_TILE elements from `first` on. */
void gcb_qsgd_quantise(const struct gcb_qsgd *s, const struct gcb_rounding_draw *draw,
                       const float *x, const uint8_t *norms, uint64_t first, size_t n,
                       uint16_t *code);
/* The inverse: writes x[first .. first + n). */
void gcb_qsgd_rebuild(const struct gcb_qsgd *s, const uint16_t *code, const uint8_t *norms,
                      uint64_t first, size_t n, float *x);

int gcb_qsgd_elias_init(struct gcb_qsgd *s); /* 0 or GCB_E_NOMEM */
/* Worst bytes behind the norms. */
uint64_t gcb_qsgd_elias_bound(uint64_t count, uint32_t levels);
/* Fills norms, appends directory and blocks. */
int gcb_qsgd_elias_encode(const struct gcb_qsgd *s, const struct gcb_rounding_draw *draw,
                          const float *x, uint8_t *norms, struct gcb_wbuf *out);
int gcb_qsgd_elias_decode(const struct gcb_qsgd *s, const uint8_t *norms, struct gcb_rbuf *in,
                          float *x);
int gcb_qsgd_elias_entropy(const struct gcb_qsgd *s, struct gcb_rbuf *in, double *bits);

#endif
