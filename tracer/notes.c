/* SPDX-License-Identifier: Apache-2.0 */
/* A note is the record itself, then what it points to, each list aligned for its items:
 *
 *       | record, step | attributes | inputs | outputs | controls | padding |          */
#include "tracer/notes.h"

#include <stdlib.h>
#include <string.h>

struct note {
    struct ll_record record; /* its pointers mean nothing here */
    uint64_t step;
};

enum { ALIGN = 8, FIRST_CAPACITY = 1 << 16 };

static uint64_t ids_bytes(const struct ll_record *record)
{
    return sizeof(uint32_t) * ((uint64_t)record->input_count + record->output_count + record->control_count);
}

static uint64_t note_bytes(const struct ll_record *record)
{
    uint64_t bytes = sizeof(struct note) + sizeof(struct ll_attr) * record->attr_count + ids_bytes(record);
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static unsigned char *put(unsigned char *to, const void *items, uint64_t size)
{
    if (size)
        memcpy(to, items, size);
    return to + size;
}

bool ll_notes_take(struct ll_notes *notes, const struct ll_record *record, uint32_t step)
{
    uint64_t size = note_bytes(record), wanted = notes->size + size;
    if (wanted > notes->capacity &&
        !ll_grow((void **)&notes->bytes, &notes->capacity, ll_max(wanted, FIRST_CAPACITY), 1))
        return false;
    struct note note = {*record, step};
    unsigned char *to = put(notes->bytes + notes->size, &note, sizeof note);
    to = put(to, record->attrs, sizeof(struct ll_attr) * record->attr_count);
    to = put(to, record->inputs, sizeof(uint32_t) * record->input_count);
    to = put(to, record->outputs, sizeof(uint32_t) * record->output_count);
    put(to, record->controls, sizeof(uint32_t) * record->control_count);
    notes->size = wanted;
    notes->count++;
    return true;
}

bool ll_notes_next(const struct ll_notes *notes, uint64_t *place, struct ll_record *record, uint32_t *step)
{
    if (*place >= notes->size)
        return false;
    const struct note *note = (const void *)(notes->bytes + *place);
    *record = note->record;
    *step = (uint32_t)note->step;
    record->attrs = (const void *)(note + 1);
    record->inputs = (const void *)(record->attrs + record->attr_count);
    record->outputs = record->inputs + record->input_count;
    record->controls = record->outputs + record->output_count;
    *place += note_bytes(record);
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
