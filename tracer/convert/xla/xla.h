/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of XLA: computations of instructions, as a text has them, and the step that they become. A reader
 * of a text fills computations; record.c follows the entry. Private to tracer/convert/xla. */
#ifndef LL_TRACER_CONVERT_XLA_XLA_H
#define LL_TRACER_CONVERT_XLA_XLA_H

#include "tracer/base/map.h"
#include "tracer/convert/convert.h"

/* A stretch of the file's text. */
struct xla_text {
    const char *at, *end;
};

struct xla_instruction {
    struct xla_text name, opcode;
    struct xla_text inside;  /* between the parentheses: names of operands, or a number, or literals */
    struct xla_text attrs;   /* what follows, as `key=value, key=value` */
    struct ll_shape *shapes; /* of the result, a tuple's one after the other */
    uint32_t shape_count;
    uint32_t *operands; /* numbers of instructions of the same computation */
    uint32_t operand_count;
    uint64_t line;
};

struct xla_computation {
    struct xla_text name;
    struct xla_instruction *instructions;
    uint64_t count, capacity;
    uint64_t root; /* the one whose result it is */
};

struct xla_module {
    struct ll_import *import;
    struct xla_text name;
    struct xla_computation *computations;
    uint64_t count, capacity;
    uint64_t entry;
};

/* Reads HLO text (openxla/xla, hlo/parser). False after a complaint. */
bool xla_read_hlo(struct xla_module *module, struct xla_text text);

/* Reads StableHLO text (openxla/stablehlo, docs/spec.md). False after a complaint. */
bool xla_read_stablehlo(struct xla_module *module, struct xla_text text);

/* The value of an attribute; false when there is none of this name. */
bool xla_attr(const struct xla_instruction *instruction, const char *name, struct xla_text *value);

/* The integers in a stretch of text, at most so many; how many there are. */
uint64_t xla_integers(struct xla_text text, int64_t *values, uint64_t most);

/* The computation of this name, with or without its %; NULL for none. */
const struct xla_computation *xla_find(const struct xla_module *module, struct xla_text name);

bool xla_is(struct xla_text text, const char *word);

/* Where an instruction stands. */
struct ll_place xla_place(const struct xla_module *module, const struct xla_instruction *instruction);

/* Records the entry as one step: facts, then its instructions. False after complaints. */
bool xla_record(struct xla_module *module);

/* Frees what the module holds on the heap. */
void xla_release(struct xla_module *module);

#endif
