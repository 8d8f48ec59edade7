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

/* Copies an op and all it points to. False when memory ran out. */
bool ll_notes_take(struct ll_notes *notes, const struct ll_record *record, uint32_t step);

/* The note at *place, which begins at 0; false behind the last. The record points into the notes and is good
 * until the next one is taken. */
bool ll_notes_next(const struct ll_notes *notes, uint64_t *place, struct ll_record *record, uint32_t *step);

/* Forgets all notes, keeps the room. */
void ll_notes_clear(struct ll_notes *notes);
void ll_notes_release(struct ll_notes *notes);

#endif
