/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder: how models, importers and the interposer make a trace.
 *
 * Recording an op only takes a note of it (ll_notes); the notes are digested between steps, and a meter keeps
 * what all of it costs. One thread at a time. */
#ifndef LL_TRACER_RECORD_RECORDER_H
#define LL_TRACER_RECORD_RECORDER_H

#include <stdbool.h>

#include "tracer/base/clock.h"
#include "tracer/base/diag.h"
#include "tracer/ir/trace.h"

/* What recording costs, measured while it happens and without costing much itself.
 *
 * Rare and long work (a new form, writing a frame) is timed whole. The frequent short calls are sampled:
 * about one in 8, at uneven distances so that a loop cannot fall in step with them, is timed, less what
 * reading the clock takes; the others are taken to cost the same on average. One thread at a time. */

struct ll_meter {
    uint64_t clock_ns;            /* between two readings with nothing in between */
    uint64_t calls, samples;      /* of the short calls */
    uint64_t sampled_ns, long_ns; /* spent in the sampled ones; in long work */
    uint64_t until_sample, dice;
    double usual_ns; /* mean before the samples began anew */
};

/* At the beginning of a short call, and at its end with what the beginning gave. Long work inside is not
 * counted twice. */
struct ll_meter_mark {
    bool timed;
    uint64_t begin_ns, long_ns;
};

/* Measures the clock, once for all meters, and starts from zero; adds a timed call, as ll_meter_leave does.
 */
void ll_meter_start(struct ll_meter *meter);
__attribute__((cold)) void ll_meter_sample(struct ll_meter *meter, const struct ll_meter_mark *mark);

/* The beginning of a short call. */
static inline struct ll_meter_mark ll_meter_enter(struct ll_meter *meter)
{
    struct ll_meter_mark mark = {.timed = --meter->until_sample == 0};
    if (mark.timed) {
        mark.long_ns = meter->long_ns;
        mark.begin_ns = ll_now_ns();
    }
    return mark;
}

/* Its end. */
static inline void ll_meter_leave(struct ll_meter *meter, const struct ll_meter_mark *mark)
{
    meter->calls++;
    if (mark->timed)
        ll_meter_sample(meter, mark);
}

/* Long work that began at begin_ns ends now. */
void ll_meter_long(struct ll_meter *meter, uint64_t begin_ns);

/* Mean cost of a short call since the samples began, or before when none was taken since; 0 before the first.
 */
double ll_meter_mean_ns(const struct ll_meter *meter);

/* Recording: what models, importers and the interposer call.
 *
 * The caller names tensors by the numbers that the recorder hands out. Everything that repeats (names,
 * shapes, whole op forms) is interned, so recording an op a second time costs two look-ups and a row of
 * numbers. Full rows are encoded and written between steps, or when there are many, or when the last
 * write is long ago: a killed program loses at most what came after that, a long step at most a second.
 *
 * One thread calls at a time. On trouble (disk full, no memory) the recorder stops, keeps what is on disk
 * readable, and says so in ll_recorder_close; the functions then return LL_NONE or do nothing. */

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

/* From now on the caller times its ops by ll_now_ns, read at the beginning and at the end of each. One of
 * the two readings falls into the op's own time, the other one between two ops, where it counts as
 * recording. */
void ll_recorder_reads_clock(struct ll_recorder *recorder);

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
    const uint32_t *controls; /* ops, in the order of struct ll_op_edges: order, storage, gap */
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

/* What devices did when; copied. At most once, before the end, and not into memory. */
void ll_recorder_timeline(struct ll_recorder *recorder, const struct ll_device_timeline *timeline);

/* Steps that are only known when all is recorded: they replace those that were begun. The first begins with
 * op 0, each ends before the next; times count from the origin (ll_recorder_afterwards). The last call, and
 * not into memory. */
void ll_recorder_cut(struct ll_recorder *recorder, const struct ll_step *steps, size_t step_count);

/* LL_OK, or the trouble that stopped the recorder: what is recorded from then on is lost. */
enum ll_status ll_recorder_status(const struct ll_recorder *recorder);

/* Writes what is left and the index, closes, frees. The first trouble that was met, or LL_OK. */
enum ll_status ll_recorder_close(struct ll_recorder *recorder);

/* Ends a recorder into memory, frees it, and gives the trace as a reader would (ll_trace_free). NULL and
 * *status when there was trouble. */
struct ll_trace *ll_recorder_take(struct ll_recorder *recorder, enum ll_status *status);

/* Ops as they were recorded, in order, until they are digested.
 *
 * Taking a note is a copy to where the last one ended. It touches memory that is in the caches anyway,
 * however cold the op that was just computed has left them. One thread at a time; starts as {0}. */
struct ll_notes {
    unsigned char *bytes;
    uint64_t size, capacity, count;
    uint64_t lasting;   /* notes that point to a record of somebody else */
    uint64_t paused_ns; /* what is noted from now on began so much earlier, were it not for pauses */
};

/* A lasting record is only pointed to. Of another, a copy follows, then what it points to, each list aligned
 * for its items:
 *
 *       | note | record | attributes | inputs | outputs | controls | padding |          */
struct ll_note {
    const struct ll_record *lasting; /* NULL: a copy follows */
    uint64_t step, paused_ns;
};

/* Bytes of the copy of a record that does not last. */
static inline uint64_t ll_note_bytes(const struct ll_record *record)
{
    uint64_t ids = (uint64_t)record->input_count + record->output_count + record->control_count;
    uint64_t lists = sizeof(struct ll_attr) * record->attr_count + sizeof(uint32_t) * ids;
    return (sizeof(struct ll_record) + lists + 7) / 8 * 8;
}

/* Makes room for so many bytes behind the last note. False when memory ran out. */
__attribute__((cold)) bool ll_notes_grow(struct ll_notes *notes, uint64_t bytes);

/* Copies a record and all it points to behind the last note. False when memory ran out. */
bool ll_notes_copy(struct ll_notes *notes, const struct ll_record *record);

/* Notes an op. False when memory ran out. */
static inline bool ll_notes_take(struct ll_notes *notes, const struct ll_record *record, uint32_t step)
{
    if (notes->capacity - notes->size < sizeof(struct ll_note) &&
        !ll_notes_grow(notes, sizeof(struct ll_note)))
        return false;
    struct ll_note *note = (void *)(notes->bytes + notes->size);
    *note = (struct ll_note){record->lasting ? record : NULL, step, notes->paused_ns};
    notes->size += sizeof *note;
    notes->count++;
    notes->lasting += record->lasting;
    return record->lasting || ll_notes_copy(notes, record);
}

/* The note at *place, which begins at 0; false behind the last. The record points into the notes or to what
 * lasts, is good until the next one is taken, and began as if there had been no pauses. */
bool ll_notes_next(const struct ll_notes *notes, uint64_t *place, struct ll_record *record, uint32_t *step);

/* Forgets all notes, keeps the room. */
void ll_notes_clear(struct ll_notes *notes);
void ll_notes_release(struct ll_notes *notes);

#endif
