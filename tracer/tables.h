/* SPDX-License-Identifier: Apache-2.0 */
/* What a recorder remembers: the strings, descs, forms and links that repeat, each with its number, and of
 * every tensor what it looks like. One thread at a time; {0} to begin with. */
#ifndef LL_TRACER_TABLES_H
#define LL_TRACER_TABLES_H

#include "tracer/base/map.h"
#include "tracer/column.h"
#include "tracer/form.h"
#include "tracer/recorder.h"

/* Keys of the forms' map: attributes, outputs (descs) and inputs (descs) follow. */
struct ll_form_key {
    uint32_t kind, phase, scope, input_count, output_count, attr_count;
};

/* Keys of the links' map: inputs and controls (uint64_t, as in struct ll_links) follow. */
struct ll_links_key {
    uint32_t input_count, control_count, storage_count, gap_count;
};

/* In the word of a tensor beside its desc: no op made it. */
#define LL_BROUGHT 0x80000000u

struct ll_tables {
    struct ll_map strings, descs, forms, links; /* keys: text, struct ll_desc, the two above */
    struct ll_form_counts *counts;              /* by form */
    uint64_t count_capacity;
    uint32_t *tensors; /* desc, and LL_BROUGHT */
    uint64_t tensor_count, tensor_capacity;
    struct ll_bytes key;     /* scratch */
    struct ll_shape *shapes; /* scratch: of the inputs and outputs of a form */
    uint64_t shape_capacity;
};

/* Frees the tables, which are {0} again. */
void ll_tables_release(struct ll_tables *tables);

/* Whether this form is the record's, or these links; a comparison without hashing, for a lucky guess. */
bool ll_tables_has_form(const struct ll_tables *tables, uint32_t form, const struct ll_record *record);
bool ll_tables_has_links(const struct ll_tables *tables, uint32_t links, const struct ll_record *record,
                         uint32_t first_output, uint32_t op);

/* The record's form and links, entered when new. On trouble LL_NO_ID and *status: LL_NO_MEMORY, or
 * LL_TOO_LARGE when a count does not fit in 64 bits or the op has more of anything than a file may hold. The
 * record itself is right: shapes as the op table has them (asserted). */
uint32_t ll_tables_form(struct ll_tables *tables, const struct ll_record *record, enum ll_status *status);
uint32_t ll_tables_links(struct ll_tables *tables, const struct ll_record *record, uint32_t first_output,
                         uint32_t op, enum ll_status *status);

/* Adds count tensors, false when memory ran out or there are too many. */
bool ll_tables_add_tensors(struct ll_tables *tables, const uint32_t *descs, uint32_t count, uint32_t brought);

/* The parts of a key. */
const struct ll_attr *ll_form_key_attrs(const struct ll_form_key *key);
const uint32_t *ll_form_key_outputs(const struct ll_form_key *key);
const uint32_t *ll_form_key_inputs(const struct ll_form_key *key);
const uint64_t *ll_links_key_inputs(const struct ll_links_key *key);
const uint64_t *ll_links_key_controls(const struct ll_links_key *key);

#endif
