/* SPDX-License-Identifier: Apache-2.0 */
/* Ops as they were told, one after the other, until there is time to make sense of them.
 *
 * Taking a note is a copy to where the last one ended: it touches memory that nobody has to fetch, however
 * cold the op that was just computed has left the caches. One thread at a time; starts as {0}. */
#ifndef LL_TRACER_NOTES_H
#define LL_TRACER_NOTES_H

#include "tracer/recorder.h"

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

/* Before the first note: room for some, which the system has really given, as that takes longer than a small
 * op. False when memory ran out. */
bool ll_notes_prepare(struct ll_notes *notes);

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
