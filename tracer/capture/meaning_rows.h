/* SPDX-License-Identifier: Apache-2.0 */
/* A row of meanings.def as data, and the parts of ll_meaning_of. Inner to this room. */
#ifndef LL_TRACER_CAPTURE_MEANING_ROWS_H
#define LL_TRACER_CAPTURE_MEANING_ROWS_H

#include "tracer/capture/meaning.h"
#include "tracer/interpose/routines.h"

enum { LL_MEANING_OPERANDS = 14, LL_MEANING_ATTRS = 16 };

/* How an operand takes part. */
enum ll_operand_part { LL_PART_ADDS, LL_PART_BOTH, LL_PART_IN, LL_PART_OUT, LL_PART_BEHIND };

/* How an operand's shape is seen; ll_look_NAME in meaning_looks.c. */
#define LL_LOOK_LIST(X)                                                                                      \
    X(PLAIN, "as it is")                                                                                     \
    X(PARTS, "complex numbers are two real ones each")                                                       \
    X(COLUMN, "a vector is a matrix of one column")                                                          \
    X(LAPACK, "a matrix stored by columns is rows and columns")                                              \
    X(ROWS, "all dimensions but the first are one")                                                          \
    X(IMAGE, "channels come last; a line is an image one high, a volume one image for each depth")           \
    X(FILTER, "height, width, channels in, channels out")                                                    \
    X(TURNED, "the filter of the convolution that this is the way back of")

enum ll_look {
#define X(word, doc) LL_LOOK_##word,
    LL_LOOK_LIST(X)
#undef X
        LL_LOOK_COUNT
};

struct ll_meaning_row {
    const char *routine;
    enum ll_op_kind kind, adding;
    enum ll_phase phase;
    uint64_t operand_count, attr_count;
    struct {
        uint8_t argument; /* enum ll_argument */
        uint8_t part, look;
    } operands[LL_MEANING_OPERANDS];
    struct {
        uint8_t attr, number;
    } attrs[LL_MEANING_ATTRS];
    void (*fix)(const struct ll_call *call, struct ll_meant *meant);
};

/* The operand's shape as a tensor of a trace, complex numbers as such. */
struct ll_shape ll_plain_shape(const struct ll_call *call, const struct ll_call_operand *operand);

/* The same, looked at in one of these ways. */
struct ll_shape ll_operand_look(const struct ll_call *call, const struct ll_call_operand *operand,
                                enum ll_look look);

/* What rows cannot say. */
typedef void ll_meaning_fix(const struct ll_call *call, struct ll_meant *meant);
ll_meaning_fix ll_fix_SIDES, ll_fix_TURNED, ll_fix_VECTORS, ll_fix_LEFT_RIGHT, ll_fix_TRANSPOSED,
    ll_fix_REFLECTORS, ll_fix_ONE_FOR_ALL, ll_fix_FACTORS, ll_fix_BATCH;
/* Of primitives: meaning_primitives.c. */
ll_meaning_fix ll_fix_DEPTH, ll_fix_FIRST_TURNED, ll_fix_SECOND_TURNED, ll_fix_STACK, ll_fix_AXIS,
    ll_fix_PLACES, ll_fix_FUNCTION, ll_fix_CHANNELS, ll_fix_CHANNELS_BACK, ll_fix_RADIUS, ll_fix_RESAMPLING;

#endif
