/* SPDX-License-Identifier: Apache-2.0 */
/* Recording: what models, importers and the interposer call.
 *
 * The caller names tensors by the numbers that the recorder hands out. Everything that repeats (names,
 * shapes, whole op forms) is interned, so recording an op a second time costs two look-ups and a row of
 * numbers. Full rows are encoded and written between steps, or when there are many, or when the last
 * write is long ago: a killed program loses at most what came after that, a long step at most a second.
 *
 * One thread calls at a time. On trouble (disk full, no memory) the recorder stops, keeps what is on disk
 * readable, and says so in ll_recorder_close; the functions then return LL_NONE or do nothing. */
#ifndef LL_TRACER_RECORDER_H
#define LL_TRACER_RECORDER_H

#include "tracer/base/diag.h"
#include "tracer/trace.h"

struct ll_recorder;

/* Starts a trace file at path with these facts as its header (copied); an existing file is replaced when
 * the new one is closed whole (ll_writer_open). NULL and *status when none can be made. */
struct ll_recorder *ll_recorder_open(const char *path, const struct ll_fact *facts, size_t fact_count,
                                     enum ll_status *status);

/* The same into memory alone, for a trace that is made from another one; ended by ll_recorder_take. */
struct ll_recorder *ll_recorder_open_memory(const struct ll_fact *facts, size_t fact_count,
                                            enum ll_status *status);

/* Interns a text (a scope or tensor name) and the look of a tensor. LL_NONE when the recorder has stopped. */
uint32_t ll_recorder_string(struct ll_recorder *recorder, const char *text);
uint32_t ll_recorder_desc(struct ll_recorder *recorder, const char *name, const struct ll_shape *shape,
                          enum ll_memory_class memory);

/* A tensor that no op made: a weight, a constant. Returns its number. */
uint32_t ll_recorder_tensor(struct ll_recorder *recorder, uint32_t desc);

/* Every op belongs to a step; steps do not nest: beginning one ends the one before, and an op outside of any
 * begins one. What lies between two steps is not timed. */
void ll_recorder_step_begin(struct ll_recorder *recorder);
void ll_recorder_step_end(struct ll_recorder *recorder);

/* The program stood still for so long until now, behind the last op that was told: the times of the steps
 * and of what follows know nothing of it. */
void ll_recorder_pause(struct ll_recorder *recorder, uint64_t paused_ns);

/* One op: the caller tells its kind, inputs (tensor numbers), outputs (descs) and attributes; counts and
 * aliases follow from the op table. What the record points to is copied unless it is `lasting`. Returns the
 * number of the first output (outputs are numbered one after the other), LL_NONE when stopped. */
struct ll_record {
    enum ll_op_kind kind;
    enum ll_phase phase;
    uint32_t scope; /* from ll_recorder_string */
    uint32_t thread;
    const uint32_t *inputs; /* tensors */
    uint32_t input_count;
    const uint32_t *outputs; /* descs */
    uint32_t output_count;
    const struct ll_attr *attrs;
    uint32_t attr_count;
    const uint32_t *controls; /* ops, in the order of struct ll_links: order, storage, gap */
    uint32_t control_count, storage_count, gap_count;
    uint64_t start_ns, duration_ns; /* start by ll_now_ns; both zero in a dry run */
    /* The record and all it points to stay as they are until the step ends: nothing is copied. */
    bool lasting;
};
uint32_t ll_recorder_op(struct ll_recorder *recorder, const struct ll_record *record);

/* For ops that come later than they happened, all of them: times of steps are then those of their ops, and
 * what ops began before origin_ns, by ll_now_ns, counts as then. Before the first op. */
void ll_recorder_afterwards(struct ll_recorder *recorder, uint64_t origin_ns);

/* Writes what waits. The recorder does so by itself between steps and when there is much; a caller that sees
 * few ops for long asks for it. */
void ll_recorder_flush(struct ll_recorder *recorder);

/* Facts that are only known when all is recorded; they follow those of the header. */
void ll_recorder_facts(struct ll_recorder *recorder, const struct ll_fact *facts, size_t fact_count);

/* Steps that are only known when all is recorded: they replace those that were begun. The first begins with
 * op 0, each ends before the next; times count from the origin (ll_recorder_afterwards). The last call. */
void ll_recorder_cut(struct ll_recorder *recorder, const struct ll_step *steps, size_t step_count);

/* LL_OK, or the trouble that stopped the recorder: what is recorded from then on is lost. */
enum ll_status ll_recorder_status(const struct ll_recorder *recorder);

/* Writes what is left and the index, closes, frees. The first trouble that was met, or LL_OK. */
enum ll_status ll_recorder_close(struct ll_recorder *recorder);

/* Ends a recorder into memory, frees it, and gives the trace as a reader would (ll_trace_free). NULL and
 * *status when there was trouble. */
struct ll_trace *ll_recorder_take(struct ll_recorder *recorder, enum ll_status *status);

#endif
