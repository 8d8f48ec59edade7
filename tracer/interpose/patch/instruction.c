/* SPDX-License-Identifier: Apache-2.0 */
/* The opcode maps of the architecture's manual (Intel SDM volume 2, appendix A), a letter an opcode:
 *
 *   .  none, or not known here        m  operands            M  operands and a byte
 *   -  nothing follows                b  a byte              D  operands and a word of four bytes
 *   d  a word of four bytes           R  two bytes           q  a word of four or eight
 *   j  jumps four bytes far           s  jumps one byte far  c  calls four bytes far
 *   t  operands; a word if they       u  the same, with a    f  operands; with some of them a
 *      begin with 0                      byte                   call or a jump
 *   r  traps
 *
 * A word of four bytes has two behind the prefix 66. */
#include "tracer/interpose/patch/instruction.h"

#include <string.h>

/*                           0123456789abcdef */
static const char one[] = "mmmmbd..mmmmbd.." /* 0 */
                          "mmmmbd..mmmmbd.." /* 1 */
                          "mmmmbd..mmmmbd.." /* 2 */
                          "mmmmbd..mmmmbd.." /* 3 */
                          "................" /* 4: REX */
                          "----------------" /* 5 */
                          "...m....dDbM...." /* 6 */
                          "ssssssssssssssss" /* 7 */
                          "MD.Mmmmmmmmm.mmm" /* 8 */
                          "----------......" /* 9 */
                          "........bd......" /* a */
                          "bbbbbbbbqqqqqqqq" /* b */
                          "MMR-..MD.-..rb.." /* c */
                          "mmmm....mmmmmmmm" /* d */
                          "ssss....cj.s...." /* e */
                          "....r-ut------mf" /* f */;
static const char two[] = ".....r.....r.m.." /* 0 */
                          "mmmmmmmmmmmmmmmm" /* 1 */
                          "........mmmmmmmm" /* 2 */
                          "................" /* 3 */
                          "mmmmmmmmmmmmmmmm" /* 4 */
                          "mmmmmmmmmmmmmmmm" /* 5 */
                          "mmmmmmmmmmmmmmmm" /* 6 */
                          "MMMMmmm-....mmmm" /* 7 */
                          "jjjjjjjjjjjjjjjj" /* 8 */
                          "mmmmmmmmmmmmmmmm" /* 9 */
                          "..-mMm.....mMmmm" /* a */
                          "mmmmmmmmm.Mmmmmm" /* b */
                          "mmMmMMMm--------" /* c */
                          "mmmmmmmmmmmmmmmm" /* d */
                          "mmmmmmmmmmmmmmmm" /* e */
                          "mmmmmmmmmmmmmmm." /* f */;

enum { LONGEST = 15, REX_W = 8 };

/* What is known while the bytes are read from left to right. */
struct cursor {
    const uint8_t *code;
    size_t size, at;
    bool narrow, wide; /* prefix 66, REX.W */
    unsigned relative_at;
};

static uint8_t peek(const struct cursor *cursor)
{
    return cursor->at < cursor->size ? cursor->code[cursor->at] : 0;
}

static void skip_prefixes(struct cursor *cursor)
{
    while (peek(cursor) && strchr("\x66\xf2\xf3\x2e\x36\x3e\x26\x64\x65", peek(cursor))) {
        cursor->narrow |= peek(cursor) == 0x66;
        cursor->at++;
    }
    if ((peek(cursor) & 0xf0) == 0x40) {
        cursor->wide = peek(cursor) & REX_W;
        cursor->at++;
    }
}

/* The letter of the map that the opcode stands in; moves behind the opcode. Vector instructions name their
 * map in a prefix of two, three or four bytes. */
static char take_opcode(struct cursor *cursor)
{
    uint8_t first = peek(cursor), map = 0;
    size_t prefix = first == 0xc5 ? 2 : first == 0xc4 ? 3 : first == 0x62 ? 4 : 0;
    if (cursor->at + prefix + 3 > LONGEST)
        return '.';
    if (prefix) {
        cursor->at++;
        map = prefix == 2 ? 1 : prefix == 3 ? peek(cursor) & 0x1f : peek(cursor) & 7;
        cursor->at += prefix - 1;
    } else if (first == 0x0f) {
        cursor->at++;
        map = peek(cursor) == 0x38 ? 2 : peek(cursor) == 0x3a ? 3 : 1;
        cursor->at += map > 1;
    }
    uint8_t opcode = peek(cursor);
    cursor->at++;
    if (prefix && map == 1 && two[opcode] == 'j')
        return '.'; /* moves of mask registers, which have no distance */
    return map == 0 ? one[opcode] : map == 1 ? two[opcode] : map == 2 ? 'm' : map == 3 ? 'M' : '.';
}

/* Behind the opcode: ModRM, the scale-index-base byte, a displacement. */
static uint8_t skip_operands(struct cursor *cursor)
{
    uint8_t modrm = peek(cursor), mode = modrm >> 6, register_or_memory = modrm & 7;
    cursor->at++;
    if (mode == 3)
        return modrm;
    bool based = register_or_memory == 4;
    uint8_t base = based ? peek(cursor) & 7 : register_or_memory;
    cursor->at += based;
    if (mode == 0 && base == 5) {
        cursor->relative_at = based ? 0 : (unsigned)cursor->at;
        cursor->at += 4;
    }
    cursor->at += mode == 1 ? 1 : mode == 2 ? 4 : 0;
    return modrm;
}

/* What follows opcode and operands. */
static size_t immediate_bytes(const struct cursor *cursor, char letter, uint8_t group)
{
    size_t word = cursor->narrow ? 2 : 4;
    switch (letter) {
    case 'b':
    case 'M':
    case 's':
        return 1;
    case 'R':
        return 2;
    case 'j':
    case 'c':
        return 4;
    case 'd':
    case 'D':
        return word;
    case 'q':
        return cursor->wide ? 8 : word;
    case 't':
        return group < 2 ? word : 0;
    case 'u':
        return group < 2;
    default:
        return 0;
    }
}

bool ll_read_instruction(const uint8_t *code, size_t size, struct ll_instruction *instruction)
{
    struct cursor cursor = {.code = code, .size = size < LONGEST ? size : LONGEST};
    skip_prefixes(&cursor);
    char letter = take_opcode(&cursor);
    if (letter == '.')
        return false;
    *instruction =
        (struct ll_instruction){.fixed = strchr("cr", letter) != NULL, .jumps = strchr("sj", letter) != NULL};
    uint8_t modrm = strchr("mMDtuf", letter) ? skip_operands(&cursor) : 0, group = modrm >> 3 & 7;
    instruction->fixed |= letter == 'f' && group >= 2 && group <= 5;
    if (strchr("jsc", letter))
        cursor.relative_at = (unsigned)cursor.at;
    instruction->relative_at = cursor.relative_at;
    instruction->relative_bytes = letter == 's' ? 1 : cursor.relative_at ? 4 : 0;
    cursor.at += immediate_bytes(&cursor, letter, group);
    instruction->bytes = (unsigned)cursor.at;
    return cursor.at <= cursor.size;
}

int32_t ll_instruction_distance(const uint8_t *code, const struct ll_instruction *instruction)
{
    int32_t distance = 0;
    if (instruction->relative_bytes == 1)
        return (int8_t)code[instruction->relative_at];
    memcpy(&distance, code + instruction->relative_at, sizeof distance);
    return distance;
}

/* Writes a distance that leads from the end of so many bytes at `to` to where `target` is. */
static size_t put_distance(uint8_t *moved, uint64_t to, size_t bytes, size_t at, uint64_t target)
{
    int64_t distance = (int64_t)(target - (to + bytes));
    int32_t fits = (int32_t)distance;
    memcpy(moved + at, &fits, sizeof fits);
    return fits == distance ? bytes : 0;
}

/* 7x with a byte becomes 0f 8x with four of them, eb becomes e9; loops have no far form. */
static size_t lengthen(uint8_t *moved, uint64_t to, uint8_t opcode, uint64_t target)
{
    if (opcode == 0xeb) {
        moved[0] = 0xe9;
        return put_distance(moved, to, 5, 1, target);
    }
    moved[0] = 0x0f;
    moved[1] = (uint8_t)(opcode + 0x10);
    return (opcode & 0xf0) == 0x70 ? put_distance(moved, to, 6, 2, target) : 0;
}

size_t ll_move_instruction(uint8_t moved[LL_MOVED_BYTES], uint64_t to, const uint8_t *code, uint64_t from,
                           const struct ll_instruction *instruction)
{
    if (instruction->fixed)
        return 0;
    memcpy(moved, code, instruction->bytes);
    if (!instruction->relative_at)
        return instruction->bytes;
    uint64_t target =
        from + instruction->bytes + (uint64_t)(int64_t)ll_instruction_distance(code, instruction);
    if (instruction->relative_bytes == 1)
        return lengthen(moved, to, code[instruction->relative_at - 1], target);
    return put_distance(moved, to, instruction->bytes, instruction->relative_at, target);
}
