/* SPDX-License-Identifier: Apache-2.0 */
/* What a recorder holds as the content of frames (tracer/format.h): pure, no I/O.
 *
 * Each function adds one content to `out` (kind, then columns) and returns its weight (LL_WEIGHT_*). When
 * memory runs out `out` is marked failed. */
#ifndef LL_TRACER_ENCODE_H
#define LL_TRACER_ENCODE_H

#include "tracer/column.h"
#include "tracer/format.h"
#include "tracer/tables.h"

/* A growing list of numbers; {0} to begin with. */
struct ll_numbers {
    uint64_t *values;
    uint64_t count, capacity;
};

/* An op as it waits to be written. */
struct ll_waiting_op {
    uint32_t form, links, step, thread;
    uint64_t start_ns, duration_ns;
};

/* Ops that wait, and the tensors that were brought between them. */
struct ll_waiting_ops {
    uint64_t first_op, first_tensor; /* numbers of the first op and tensor that are not written */
    struct ll_waiting_op *ops;
    uint64_t count, capacity;
    uint64_t refs;                                  /* inputs, outputs and controls of these ops */
    struct ll_numbers brought_before, brought_desc; /* see LL_OPS_BROUGHT_BEFORE */
    uint64_t *column;                               /* scratch, `capacity` numbers */
};

/* False when memory ran out; release in any case. */
bool ll_waiting_ops_make(struct ll_waiting_ops *rows, uint64_t capacity);
void ll_waiting_ops_release(struct ll_waiting_ops *rows);

/* How many of each the file has. */
struct ll_written {
    uint32_t strings, descs, forms, links;
};

/* The header: these facts in their order. */
uint64_t ll_encode_facts(struct ll_bytes *out, const struct ll_fact *facts, uint64_t count);

/* All that is in the tables and not yet written. Interns the names that the definitions need. */
uint64_t ll_encode_definitions(struct ll_bytes *out, struct ll_tables *tables,
                               const struct ll_written *written);

/* The rows that wait; steps from `first` on (kind LL_FRAME_STEPS or LL_FRAME_CUTS); the last content of all,
 * with how many of each there are. */
uint64_t ll_encode_ops(struct ll_bytes *out, const struct ll_tables *tables,
                       const struct ll_waiting_ops *rows);
uint64_t ll_encode_steps(struct ll_bytes *out, enum ll_frame_kind kind, const struct ll_step *steps,
                         uint64_t first, uint64_t count);
uint64_t ll_encode_end(struct ll_bytes *out, uint64_t ops, uint64_t tensors, uint64_t steps);

/* False when memory ran out; the list is then what it was. */
bool ll_numbers_add(struct ll_numbers *numbers, uint64_t value);

#endif
