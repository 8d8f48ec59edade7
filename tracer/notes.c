/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/notes.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1 << 16 };

bool ll_notes_grow(struct ll_notes *notes, uint64_t bytes)
{
    return ll_grow(&notes->bytes, &notes->capacity, ll_max(ll_add(notes->size, bytes), FIRST_CAPACITY), 1);
}

bool ll_notes_prepare(struct ll_notes *notes)
{
    if (notes->capacity)
        return true;
    if (!ll_notes_grow(notes, FIRST_CAPACITY))
        return false;
    memset(notes->bytes, 0, FIRST_CAPACITY);
    return true;
}

static unsigned char *put(unsigned char *to, const void *items, uint64_t size)
{
    if (size)
        memcpy(to, items, size);
    return to + size;
}

bool ll_notes_copy(struct ll_notes *notes, const struct ll_record *record)
{
    uint64_t bytes = ll_note_bytes(record);
    if (notes->capacity - notes->size < bytes && !ll_notes_grow(notes, bytes))
        return false;
    unsigned char *to = put(notes->bytes + notes->size, record, sizeof *record);
    to = put(to, record->attrs, sizeof(struct ll_attr) * record->attr_count);
    to = put(to, record->inputs, sizeof(uint32_t) * record->input_count);
    to = put(to, record->outputs, sizeof(uint32_t) * record->output_count);
    put(to, record->controls, sizeof(uint32_t) * record->control_count);
    notes->size += bytes;
    return true;
}

bool ll_notes_next(const struct ll_notes *notes, uint64_t *place, struct ll_record *record, uint32_t *step)
{
    if (*place >= notes->size)
        return false;
    const struct ll_note *note = (const void *)(notes->bytes + *place);
    *step = (uint32_t)note->step;
    *place += sizeof *note;
    const struct ll_record *copy = (const void *)(note + 1);
    *record = note->lasting ? *note->lasting : *copy;
    record->start_ns -= ll_min(note->paused_ns, record->start_ns);
    if (note->lasting)
        return true;
    record->attrs = (const void *)(copy + 1);
    record->inputs = (const void *)(record->attrs + record->attr_count);
    record->outputs = record->inputs + record->input_count;
    record->controls = record->outputs + record->output_count;
    *place += ll_note_bytes(record);
    return true;
}

void ll_notes_clear(struct ll_notes *notes)
{
    notes->size = notes->count = notes->lasting = 0;
}

void ll_notes_release(struct ll_notes *notes)
{
    free(notes->bytes);
    *notes = (struct ll_notes){0};
}
