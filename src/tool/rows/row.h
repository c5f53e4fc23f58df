#ifndef SRC_TOOL_ROWS_ROW_H
#define SRC_TOOL_ROWS_ROW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/lib/base/diag.h"
#include "src/lib/codec/method.h"
#include "src/tool/rows/fields.h"

/*
 * A row of results: a JSON object whose fields keep the order in which they were set. The setters
 * return no error, because without memory they end the process (src/tool/base/memory.h).
 *
 * Texts are untrusted: they are stored escaped (gcb_escape) and never cut. A NaN or an infinity is
 * stored as null.
 */
struct gcb_row {
    json_t *json; /* owned */
};

/* Starts a row with the fields `record` and `schema` (1). The caller releases it with
 * gcb_row_fini. */
void gcb_row_init(struct gcb_row *row, enum gcb_record record);
/* Releases the JSON object. A zeroed row is fine. */
void gcb_row_fini(struct gcb_row *row);

/* A NULL text is stored as null. */
void gcb_row_text(struct gcb_row *row, enum gcb_field field, const char *text);
/* Stores a text whose untrusted parts are escaped already, such as the message of a gcb_diag. */
void gcb_row_words(struct gcb_row *row, enum gcb_field field, const char *words);
void gcb_row_real(struct gcb_row *row, enum gcb_field field, double value);
void gcb_row_u64(struct gcb_row *row, enum gcb_field field, uint64_t value);
void gcb_row_bool(struct gcb_row *row, enum gcb_field field, bool value);
void gcb_row_null(struct gcb_row *row, enum gcb_field field);
/* Stores the value if it is known, otherwise null. */
void gcb_row_known_u64(struct gcb_row *row, enum gcb_field field, bool known, uint64_t value);
void gcb_row_known_bool(struct gcb_row *row, enum gcb_field field, bool known, bool value);
/* Stores an array of reals; NULL is stored as null. */
void gcb_row_reals(struct gcb_row *row, enum gcb_field field, const double *values, size_t count);
/* Stores an array of texts; NULL is stored as null. */
void gcb_row_texts(struct gcb_row *row, enum gcb_field field, char *const *texts, int count);
/* Stores any JSON value, and takes over its reference. A NULL value ends the process, because
 * jansson returns NULL if there is no memory. */
void gcb_row_json(struct gcb_row *row, enum gcb_field field, json_t *value);
/* Append a value to an array, and set a field of an object. They treat `value` as gcb_row_json
 * does. */
void gcb_json_append(json_t *array, json_t *value);
void gcb_json_set(json_t *object, const char *key, json_t *value);
/* Returns a deep copy, which is never NULL. The caller owns the reference. */
json_t *gcb_json_copy(const json_t *value);

/* Sets `method`, `spec` (GCB_SPEC_FULL, cut to 511 bytes) and `params` (an object of the parameters
 * that a full spec shows). */
void gcb_row_method(struct gcb_row *row, const struct gcb_method *method);

/* Make values for arrays and nested objects, as gcb_row_text and gcb_row_real store them. The
 * caller owns the reference. They return NULL without memory, which gcb_row_json, gcb_json_append
 * and gcb_json_set handle. */
json_t *gcb_row_make_text(const char *text);
json_t *gcb_row_make_real(double value);

#endif
