/* SPDX-License-Identifier: Apache-2.0 */
/* Behind the recorder: tables that intern what repeats (ll_tables), and their encoding as the content of
 * frames. */
#ifndef LL_TRACER_RECORD_ENCODE_H
#define LL_TRACER_RECORD_ENCODE_H

#include "tracer/base/map.h"
#include "tracer/format/format.h"
#include "tracer/ir/trace.h"
#include "tracer/record/recorder.h"

/* Keys of the signatures' map: attributes, outputs (descs) and inputs (descs) follow. */
struct ll_signature_key {
    uint32_t kind, phase, scope, input_count, output_count, attr_count;
};

/* The lists behind a key: attributes. */
static inline const struct ll_attr *ll_signature_key_attrs(const struct ll_signature_key *key)
{
    return (const struct ll_attr *)(key + 1);
}

/* The lists behind a key: outputs. */
static inline const uint32_t *ll_signature_key_outputs(const struct ll_signature_key *key)
{
    return (const uint32_t *)(ll_signature_key_attrs(key) + key->attr_count);
}

/* The lists behind a key: inputs. */
static inline const uint32_t *ll_signature_key_inputs(const struct ll_signature_key *key)
{
    return ll_signature_key_outputs(key) + key->output_count;
}

/* Keys of the links' map: inputs and controls (uint64_t, as in struct ll_op_edges) follow. */
struct ll_links_key {
    uint32_t input_count, control_count, storage_count, gap_count;
};

/* The lists behind a key: inputs. */
static inline const uint64_t *ll_links_key_inputs(const struct ll_links_key *key)
{
    return (const uint64_t *)(key + 1);
}

/* The lists behind a key: controls. */
static inline const uint64_t *ll_links_key_controls(const struct ll_links_key *key)
{
    return ll_links_key_inputs(key) + key->input_count;
}

/* In the word of a tensor beside its desc: no op made it. */
#define LL_BROUGHT 0x80000000u

/* The strings, descs, forms and links that repeat, each with its number, and the desc of every tensor. One
 * thread at a time; starts as {0}. */
struct ll_tables {
    struct ll_map strings, descs, signatures, edges; /* keys: text, struct ll_tensor_desc, the two above */
    struct ll_signature_counts *counts;              /* by signature */
    uint64_t count_capacity;
    uint32_t *tensors; /* desc, and LL_BROUGHT */
    uint64_t tensor_count, tensor_capacity;
    const struct ll_signature_counts *known; /* those of the next record, if it is new; NULL: to be counted */
    struct ll_bytes key;                     /* scratch */
    struct ll_shape *shapes;                 /* scratch: of the inputs and outputs of a signature */
    uint64_t shape_capacity;
};

/* Frees the tables, which are {0} again. */
void ll_tables_release(struct ll_tables *tables);

/* Whether this signature is the record's, or these links; a comparison without hashing, for a lucky guess. */
bool ll_tables_has_signature(const struct ll_tables *tables, uint32_t signature,
                             const struct ll_record *record);
bool ll_tables_has_links(const struct ll_tables *tables, uint32_t edges, const struct ll_record *record,
                         uint32_t first_output, uint32_t op);

/* The record's form and links, entered when new. On trouble LL_NO_ID and *status: LL_NO_MEMORY, or
 * LL_TOO_LARGE when a count does not fit in 64 bits or the op has more of anything than a file may hold. The
 * record itself is right: shapes as the op table has them (asserted). */
uint32_t ll_tables_signature(struct ll_tables *tables, const struct ll_record *record,
                             enum ll_status *status);
uint32_t ll_tables_links(struct ll_tables *tables, const struct ll_record *record, uint32_t first_output,
                         uint32_t op, enum ll_status *status);

/* As ll_recorder_op, for who rewrites a trace and has asked the op table for these counts. */
uint32_t ll_recorder_counted_op(struct ll_recorder *recorder, const struct ll_record *record,
                                const struct ll_signature_counts *counts);

/* As ll_recorder_desc, of a name that the recorder knows and a shape whose size fits. */
uint32_t ll_recorder_named_desc(struct ll_recorder *recorder, uint32_t name, const struct ll_shape *shape,
                                enum ll_memory_class memory);

/* Adds count tensors, false when memory ran out or there are too many. */
bool ll_tables_add_tensors(struct ll_tables *tables, const uint32_t *descs, uint32_t count, uint32_t brought);

/* What a recorder holds as the content of frames (tracer/format/format.h): pure, no I/O.
 *
 * Each function adds one content to `out` (kind, then columns) and returns its weight (LL_WEIGHT_*). When
 * memory runs out `out` is marked failed. */

/* A growing list of numbers; {0} to begin with. */
struct ll_numbers {
    uint64_t *values;
    uint64_t count, capacity;
};

/* An op as it waits to be written. */
struct ll_waiting_op {
    uint32_t signature, edges, step, thread;
    uint64_t start_ns, duration_ns;
};

/* Ops that wait, and the tensors that were brought between them. */
struct ll_waiting_ops {
    uint64_t first_op, first_tensor; /* numbers of the first op and tensor that are not written */
    struct ll_waiting_op *ops;
    uint64_t count, capacity;
    uint64_t refs;                                  /* inputs, outputs and controls of these ops */
    struct ll_numbers brought_before, brought_desc; /* see LL_OPS_BROUGHT_BEFORE */
    uint64_t *column, column_capacity;              /* scratch, a number for each op */
};

void ll_waiting_ops_release(struct ll_waiting_ops *rows);

/* How many of each the file has. */
struct ll_written {
    uint32_t strings, descs, signatures, edges;
};

/* The header: these facts in their order. */
uint64_t ll_encode_facts(struct ll_bytes *out, const struct ll_fact *facts, uint64_t count);

/* All that is in the tables and not yet written. Interns the names that the definitions need. */
uint64_t ll_encode_definitions(struct ll_bytes *out, struct ll_tables *tables,
                               const struct ll_written *written);

/* The rows that wait, at most LL_MAX_FRAME_OPS; steps from `first` on (kind LL_FRAME_STEPS or
 * LL_FRAME_CUTS); the last content of all, with how many of each there are. */
uint64_t ll_encode_ops(struct ll_bytes *out, const struct ll_tables *tables, struct ll_waiting_ops *rows);
uint64_t ll_encode_steps(struct ll_bytes *out, enum ll_frame_kind kind, const struct ll_step *steps,
                         uint64_t first, uint64_t count);
uint64_t ll_encode_end(struct ll_bytes *out, uint64_t ops, uint64_t tensors, uint64_t steps);

/* Gives a trace that has but facts and steps all else, as a reader would of the file with these tables and
 * these rows, of which none were written. The tables are {0} again. False when memory ran out; what is in the
 * trace is then freed with it. */
bool ll_tables_take(struct ll_tables *tables, const struct ll_waiting_ops *rows, struct ll_trace *trace);

/* False when memory ran out; the list is then what it was. */
bool ll_numbers_add(struct ll_numbers *numbers, uint64_t value);

#endif
