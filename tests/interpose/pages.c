/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator of its own as some programs bring it along: without malloc_usable_size, and with nothing that
 * can be read in front of a piece.
 *
 *     page: bytes of all | page: no access | the piece ...  */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static size_t *head_of(void *piece)
{
    return (size_t *)((char *)piece - 2 * PAGE);
}

void *malloc(size_t size)
{
    size_t bytes = (size + 3 * PAGE - 1) / PAGE * PAGE;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (size > PTRDIFF_MAX || memory == MAP_FAILED || mprotect(memory + PAGE, PAGE, PROT_NONE) != 0) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(memory, &bytes, sizeof bytes);
    return memory + 2 * PAGE;
}

void free(void *piece)
{
    if (piece)
        munmap(head_of(piece), *head_of(piece));
}

void *calloc(size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : malloc(bytes);
}

void *realloc(void *piece, size_t size)
{
    void *moved = malloc(size);
    size_t before = piece ? *head_of(piece) - 2 * PAGE : 0;
    if (moved && piece)
        memcpy(moved, piece, before < size ? before : size);
    if (moved)
        free(piece);
    return moved;
}

int posix_memalign(void **piece, size_t alignment, size_t size)
{
    *piece = alignment <= PAGE ? malloc(size) : NULL;
    return *piece ? 0 : ENOMEM;
}
