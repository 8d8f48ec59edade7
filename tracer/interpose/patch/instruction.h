/* SPDX-License-Identifier: Apache-2.0 */
/* How long an x86-64 instruction is, and whether it may be moved: as much as is needed to lift the first few
 * instructions of a function out of the way. Pure. */
#ifndef LL_PATCH_INSTRUCTION_H
#define LL_PATCH_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ll_instruction {
    unsigned bytes;
    unsigned relative_at;    /* where in it a distance stands that counts from its end; 0: none does */
    unsigned relative_bytes; /* of that distance: 1 or 4 */
    bool jumps;              /* the distance is one of code, not of data */
    bool fixed;              /* must stay where it is: calls, traps */
};

/* The instruction that begins here, of at most `size` bytes. False for what is cut off or not known. */
bool ll_read_instruction(const uint8_t *code, size_t size, struct ll_instruction *instruction);

/* How far the instruction's distance reaches from its end; it has one. */
int32_t ll_instruction_distance(const uint8_t *code, const struct ll_instruction *instruction);

/* The most bytes that an instruction takes when it is moved. */
enum { LL_MOVED_BYTES = 16 };

/* Writes the instruction that is at address `from` as it must be at address `to` to do the same: distances
 * are corrected, short jumps become far ones. How many bytes it takes there; 0 when it cannot be moved so
 * far, or not at all. */
size_t ll_move_instruction(uint8_t moved[LL_MOVED_BYTES], uint64_t to, const uint8_t *code, uint64_t from,
                           const struct ll_instruction *instruction);

#endif
