/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/facts.h"

#include "tracer/base/plain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An arena frees nothing alone: the list doubles, and what it outgrew stays until the end. */
static bool make_room(struct ll_facts *facts)
{
    if (facts->count < facts->capacity)
        return true;
    uint64_t capacity = facts->capacity ? 2 * facts->capacity : 32;
    struct ll_fact *items = ll_alloc(facts->arena, capacity, sizeof *items);
    if (!items)
        return false;
    if (facts->count)
        memcpy(items, facts->items, facts->count * sizeof *items);
    facts->items = items;
    facts->capacity = capacity;
    return true;
}

static char *print(struct ll_arena *arena, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = ll_vsnprintf(NULL, 0, format, arguments);
    char *text = length < 0 ? NULL : ll_alloc(arena, (size_t)length + 1, 1);
    if (text)
        ll_vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

void ll_facts_add(struct ll_facts *facts, const char *key, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *kept_key = ll_copy_text(facts->arena, key, strlen(key));
    const char *value = print(facts->arena, format, arguments);
    va_end(arguments);
    if (facts->failed || !kept_key || !value || !make_room(facts)) {
        facts->failed = true;
        return;
    }
    facts->items[facts->count++] = (struct ll_fact){kept_key, value};
}

uint64_t ll_facts_number(const struct ll_facts *facts, const char *key)
{
    for (uint64_t i = 0; i < facts->count; i++)
        if (strcmp(facts->items[i].key, key) == 0)
            return strtoull(facts->items[i].value, NULL, 10);
    return 0;
}
