/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/notes.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 1 << 16 };

bool ll_notes_grow(struct ll_notes *notes, uint64_t bytes)
{
    return ll_grow(&notes->bytes, &notes->capacity, ll_max(ll_add(notes->size, bytes), FIRST_CAPACITY), 1);
}

bool ll_notes_next(const struct ll_notes *notes, uint64_t *place, struct ll_record *record, uint32_t *step)
{
    if (*place >= notes->size)
        return false;
    const struct ll_note *note = (const void *)(notes->bytes + *place);
    *record = note->record;
    *step = (uint32_t)note->step;
    record->attrs = (const void *)(note + 1);
    record->inputs = (const void *)(record->attrs + record->attr_count);
    record->outputs = record->inputs + record->input_count;
    record->controls = record->outputs + record->output_count;
    *place += ll_note_bytes(record);
    return true;
}

void ll_notes_clear(struct ll_notes *notes)
{
    notes->size = notes->count = 0;
}

void ll_notes_release(struct ll_notes *notes)
{
    free(notes->bytes);
    *notes = (struct ll_notes){0};
}
