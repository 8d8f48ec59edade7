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
};

/* The record itself, then what it points to, each list aligned for its items:
 *
 *       | record, step | attributes | inputs | outputs | controls | padding |          */
struct ll_note {
    struct ll_record record; /* its pointers mean nothing here */
    uint64_t step;
};

/* Bytes of the note of an op. */
static inline uint64_t ll_note_bytes(const struct ll_record *record)
{
    uint64_t ids = (uint64_t)record->input_count + record->output_count + record->control_count;
    uint64_t bytes =
        sizeof(struct ll_note) + sizeof(struct ll_attr) * record->attr_count + sizeof(uint32_t) * ids;
    return (bytes + 7) / 8 * 8;
}

/* Makes room for so many bytes behind the last note. False when memory ran out. */
__attribute__((cold)) bool ll_notes_grow(struct ll_notes *notes, uint64_t bytes);

/* Copies a few numbers; a call of memcpy would cost more than they do. */
static inline uint32_t *ll_note_ids(uint32_t *to, const uint32_t *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        *to++ = ids[i];
    return to;
}

/* Copies an op and all it points to. False when memory ran out. */
static inline bool ll_notes_take(struct ll_notes *notes, const struct ll_record *record, uint32_t step)
{
    uint64_t bytes = ll_note_bytes(record);
    if (notes->capacity - notes->size < bytes && !ll_notes_grow(notes, bytes))
        return false;
    struct ll_note *note = (void *)(notes->bytes + notes->size);
    note->record = *record;
    note->step = step;
    struct ll_attr *attrs = (void *)(note + 1);
    for (uint32_t i = 0; i < record->attr_count; i++)
        attrs[i] = record->attrs[i];
    uint32_t *to = ll_note_ids((void *)(attrs + record->attr_count), record->inputs, record->input_count);
    to = ll_note_ids(to, record->outputs, record->output_count);
    ll_note_ids(to, record->controls, record->control_count);
    notes->size += bytes;
    notes->count++;
    return true;
}

/* The note at *place, which begins at 0; false behind the last. The record points into the notes and is good
 * until the next one is taken. */
bool ll_notes_next(const struct ll_notes *notes, uint64_t *place, struct ll_record *record, uint32_t *step);

/* Forgets all notes, keeps the room. */
void ll_notes_clear(struct ll_notes *notes);
void ll_notes_release(struct ll_notes *notes);

#endif
