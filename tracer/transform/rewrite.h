/* SPDX-License-Identifier: Apache-2.0 */
/* Copying a trace, and rewriting it op by op.
 *
 * A trace written anew: how one workload is made from another.
 *
 * Whoever rewrites goes through the old ops in order and says what becomes of each: it stays, it changes, it
 * goes; new ones come between. Old numbers of tensors, ops, descs and strings are followed to new ones, and
 * what the model brought (weights, constants) is brought when it is first read.
 *
 *     struct ll_rewrite rewrite;
 *     ll_rewrite_begin(&rewrite, old, facts, fact_count);
 *     for (uint32_t op = 0; op < old->op_count; op++)
 *         if (stays(op))
 *             ll_rewrite_keep(&rewrite, op);
 *     struct ll_trace *new = ll_rewrite_end(&rewrite, &trouble);
 *
 * Trouble is kept: after it all calls do nothing, and the end says what it was. The old trace outlives the
 * rewriting and is not changed. Nobody has run the new one: it is a dry run without times, but for ops that
 * only wait as long as they did (LL_WORK_WAIT). One thread at a time. */
#ifndef LL_TRACER_TRANSFORM_REWRITE_H
#define LL_TRACER_TRANSFORM_REWRITE_H

#include "tracer/base/diag.h"
#include "tracer/ir/trace.h"
#include "tracer/record/recorder.h"

struct ll_rewrite {
    const struct ll_trace *old;
    struct ll_recorder *recorder; /* of the new trace */
    struct ll_arena arena;        /* whatever shall last until the end, the caller's too */
    uint32_t *tensors;            /* old numbers to new ones, LL_NONE where there is none (yet) */
    uint32_t *ops, *descs, *strings;
    uint32_t *new_descs; /* by new tensor: its desc */
    uint64_t new_desc_capacity, new_tensor_count;
    struct ll_shape *shapes; /* by new desc, up to shape_capacity */
    uint64_t shape_capacity;
    uint32_t *refs; /* of the record at work */
    uint64_t ref_capacity;
    struct ll_attr attrs[LL_MAX_ATTRS];
    struct ll_shape *looks; /* of its inputs and outputs */
    uint64_t look_capacity;
    uint32_t op_count; /* of the new trace */
    uint32_t step;     /* the old one at work */
    uint32_t *steps;   /* by new step: the old one, as complete as which it is */
    uint32_t step_count;
    const char *trouble;
};

/* Begins with the facts of the old trace, but for those given here, which replace or follow them. Facts of
 * the host on which it was recorded are left out. Check the trouble at the end only. */
void ll_rewrite_begin(struct ll_rewrite *rewrite, const struct ll_trace *old, const struct ll_fact *facts,
                      size_t fact_count);

/* The op as it was, on the tensors that its own have become; beginning a step where the old one begins. An op
 * that reads what was left out is trouble. Controls to ops that were left out are left out. */
void ll_rewrite_keep(struct ll_rewrite *rewrite, uint32_t op);

/* The old op as a record of the new trace, to be changed as one likes and put. Its lists lie in rewrite->refs
 * (inputs, outputs, controls, and room for one more) and rewrite->attrs (room for LL_MAX_ATTRS), until the
 * next record is asked for. False after trouble. */
bool ll_rewrite_record(struct ll_rewrite *rewrite, uint32_t op, struct ll_record *record);

/* Puts a record in the place of an old op: its outputs are what the old ones become, in order, as far as
 * there are any. The number of the first of them, LL_NONE after trouble. What the op table refuses is
 * trouble. */
uint32_t ll_rewrite_put(struct ll_rewrite *rewrite, uint32_t op, const struct ll_record *record);

/* Begins the step of an old op before something is added that belongs to it; putting an op does so too. When
 * a later step has begun, the op belongs to that. */
void ll_rewrite_step(struct ll_rewrite *rewrite, uint32_t op);

/* An op that has no old one; otherwise the same. */
uint32_t ll_rewrite_add(struct ll_rewrite *rewrite, const struct ll_record *record);

/* What has become of an old tensor, brought if need be; LL_NONE when its op was left out. Setting it makes
 * later readers read another. */
uint32_t ll_rewrite_tensor(struct ll_rewrite *rewrite, uint32_t tensor);
void ll_rewrite_redirect(struct ll_rewrite *rewrite, uint32_t tensor, uint32_t new_tensor);

/* A tensor brought by nobody before: a weight of another shape, say. */
uint32_t ll_rewrite_bring(struct ll_rewrite *rewrite, uint32_t desc);

/* Descs and strings of the new trace: of the old one's number; of an old desc with another shape; new ones.
 * The looks of a new tensor. LL_NONE after trouble, and a shape of rank 0. */
uint32_t ll_rewrite_string(struct ll_rewrite *rewrite, uint32_t string);
uint32_t ll_rewrite_desc(struct ll_rewrite *rewrite, uint32_t desc);
uint32_t ll_rewrite_reshaped(struct ll_rewrite *rewrite, uint32_t desc, const struct ll_shape *shape);
uint32_t ll_rewrite_new_desc(struct ll_rewrite *rewrite, const char *name, const struct ll_shape *shape,
                             enum ll_memory_class memory);
const struct ll_shape *ll_rewrite_shape(const struct ll_rewrite *rewrite, uint32_t new_tensor);

/* An exchange of a tensor: kind of class communication, size of the group and distance of neighbours in it.
 * Its output has the look of the given desc. As ll_rewrite_add. */
struct ll_exchange_place {
    uint32_t scope; /* string of the new trace */
    enum ll_phase phase;
    uint64_t devices, stride;
};
uint32_t ll_rewrite_exchange(struct ll_rewrite *rewrite, enum ll_op_kind kind, uint32_t new_tensor,
                             uint32_t new_desc, const struct ll_exchange_place *place);

/* Notes trouble, a static sentence; the first one stays. Always false. */
bool ll_rewrite_trouble(struct ll_rewrite *rewrite, const char *trouble);

/* The new trace (ll_trace_free), or NULL and *trouble, a static sentence. Releases all else. */
struct ll_trace *ll_rewrite_end(struct ll_rewrite *rewrite, const char **trouble);

/* A trace once more: what begins as the same and is then changed, or written as a file. */

/* Equal in all and sharing no memory; its descs, forms and their views may be written to until it is shared.
 * The caller frees it with ll_trace_free. NULL when memory ran out. */
struct ll_trace *ll_trace_copy(const struct ll_trace *trace);

/* Writes ops and steps of a trace, of kinds that the op table knows, as a file with these facts. What was
 * there stays where that fails. */
enum ll_status ll_trace_write(const struct ll_trace *trace, const struct ll_fact *facts, size_t fact_count,
                              const char *path);

#endif
