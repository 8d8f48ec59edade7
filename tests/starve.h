/* SPDX-License-Identifier: Apache-2.0 */
/* For a program linked with --wrap=calloc,--wrap=realloc: allocations come here first, and only as many
 * succeed as are allowed. */
#ifndef LL_TESTS_STARVE_H
#define LL_TESTS_STARVE_H

#include <stddef.h>

static int allowed = 1 << 30; /* allocations that still succeed */

void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    return allowed-- > 0 ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *memory, size_t size)
{
    return allowed-- > 0 ? __real_realloc(memory, size) : NULL;
}

#endif
