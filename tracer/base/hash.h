/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a (Fowler, Noll and Vo), by which content is known again: the same on every machine, as
 * numbers are hashed by ll_hash_number, and no secret. Pure. */
#ifndef LL_BASE_HASH_H
#define LL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LL_HASH_START UINT64_C(0xcbf29ce484222325)

/* The hash of what was hashed before and so many bytes more. */
static inline uint64_t ll_hash_bytes(uint64_t hash, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Of the lowest `width` bytes of a number, the lowest first, in whatever order the machine keeps them. */
static inline uint64_t ll_hash_number(uint64_t hash, uint64_t number, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        unsigned char byte = (unsigned char)(number >> 8 * i);
        hash = ll_hash_bytes(hash, &byte, 1);
    }
    return hash;
}

/* Of a text and its NUL. */
static inline uint64_t ll_hash_text(uint64_t hash, const char *text)
{
    return ll_hash_bytes(hash, text, strlen(text) + 1);
}

/* All at once in 32 bits, eight digits to show. */
static inline uint32_t ll_digest(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint32_t digest = 2166136261u;
    for (size_t i = 0; i < length; i++)
        digest = (digest ^ at[i]) * 16777619u;
    return digest;
}

#endif
