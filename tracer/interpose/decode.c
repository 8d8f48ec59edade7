/* SPDX-License-Identifier: Apache-2.0 */
/* From the words of a record to numbers and operands: a function a routine, generated from its row.
 *
 * The rows' words are bound here: the signature's arguments become variables, MIRROR's change them, NUMBERS
 * and OPERANDS write them down. A size below zero, which a library refuses, counts as zero; a call that it
 * refuses because a matrix has longer lines than lie apart touches nothing. */
#include "tracer/interpose/decode.h"
#include "tracer/interpose/ring.h"
#include "tracer/interpose/signatures.h"

#include <string.h>

/* Letters of Fortran and numbers of CBLAS to the numbers of LL_NUMBER_LIST. */
static int64_t transposition(uint64_t word)
{
    switch (word) {
    case 'T':
    case 't':
    case 112:
        return 1;
    case 'C':
    case 'c':
    case 113:
        return 2;
    default: /* conjugated alone moves nothing */
        return 0;
    }
}

/* Whether a word is the second of two: of an upper or lower triangle, left or right, ordinary or of ones. */
static int64_t is_second(uint64_t word, char letter, uint64_t number)
{
    return (word & ~UINT64_C(0x20)) == (uint64_t)letter || word == number;
}

static int64_t is_columns(uint64_t word)
{
    return word != 101 && word != 'R' && word != 'r';
}

static int64_t scalar(uint64_t word)
{
    return word == LL_RING_ZERO || word == LL_RING_ONE ? (int64_t)word : LL_RING_SOME;
}

/* A count that no machine's memory has room for is nonsense and counts as zero, as one below zero does: so no
 * sum or product of a few of them runs over. */
static int64_t count_of(uint64_t word)
{
    int64_t count = (int64_t)word;
    const int64_t most = INT64_C(1) << 40;
    return count <= most && count >= -most ? count : 0;
}

struct decoder {
    struct ll_call *call;
    uint64_t element_bytes;
    bool complex;
    bool columns; /* the call's matrices are stored column by column */
    bool refused; /* by the library: the call does nothing */
};

/* An operand of so many runs of elements; NULL when a size is not positive or they do not fit. */
static struct ll_call_operand *place(struct decoder *decoder, enum ll_argument role, uint64_t address,
                                     int64_t access, const int64_t runs[static 3])
{
    struct ll_call *call = decoder->call;
    if (call->operand_count == LL_MAX_OPERANDS || runs[0] <= 0 || runs[1] <= 0 || access == 0)
        return NULL;
    struct ll_call_operand *to = &call->operand[call->operand_count];
    *to = (struct ll_call_operand){.address = address, .access = (uint8_t)access, .role = (uint8_t)role};
    to->rows = (uint64_t)runs[0];
    to->row_bytes = ll_mul((uint64_t)runs[1], decoder->element_bytes);
    to->stride_bytes = ll_mul((uint64_t)(runs[2] < 0 ? -runs[2] : runs[2]), decoder->element_bytes);
    if (to->rows == 1 || to->stride_bytes <= to->row_bytes) {
        uint64_t others = ll_mul(to->rows - 1, to->stride_bytes); /* which may lie over each other */
        to->row_bytes = to->stride_bytes = ll_add(others, to->row_bytes);
        to->rows = 1;
    }
    to->shape.dtype = call->dtype;
    if (!ll_fits(ll_mul(to->rows, to->stride_bytes)))
        return NULL;
    call->operand_count++;
    return to;
}

/* Adds dimensions to an operand's shape; what is complex has one more, of two parts. */
static void set_shape(const struct decoder *decoder, struct ll_call_operand *to, unsigned rank,
                      const int64_t *dims)
{
    for (unsigned i = 0; i < rank; i++)
        to->shape.dim[to->shape.rank++] = (uint64_t)dims[i];
    if (decoder->complex)
        to->shape.dim[to->shape.rank++] = 2;
}

static void matrix(struct decoder *decoder, enum ll_argument role, uint64_t address, int64_t access,
                   int64_t rows, int64_t cols, int64_t leading)
{
    const int64_t runs[] = {rows, cols, leading};
    decoder->refused = decoder->refused || (rows > 0 && cols > 0 && leading < cols);
    struct ll_call_operand *to = place(decoder, role, address, access, runs);
    if (to)
        set_shape(decoder, to, 2, runs);
}

/* Elements that follow each other are one run, else each of them is one. */
static void vector(struct decoder *decoder, enum ll_argument role, uint64_t address, int64_t access,
                   int64_t count, int64_t increment)
{
    bool dense = increment == 1 || increment == -1;
    const int64_t runs[] = {dense ? 1 : count, dense ? count : 1, increment};
    struct ll_call_operand *to = place(decoder, role, address, access, runs);
    if (to)
        set_shape(decoder, to, 1, &count);
}

/* Elements of another type than the routine's. */
static void others(struct decoder *decoder, enum ll_argument role, uint64_t address, int64_t access,
                   int64_t count, enum ll_dtype dtype)
{
    struct decoder other = {decoder->call, ll_dtype_bytes(dtype), false, false, false};
    uint8_t usual = decoder->call->dtype;
    decoder->call->dtype = (uint8_t)dtype;
    vector(&other, role, address, access, count, 1);
    decoder->call->dtype = usual;
}

/* rows, cols, leading dimension, distance of matrices, their number: runs of whole matrices, or all their
 * rows where those of one matrix go on in the next. With a distance of zero one is read each time. */
static void matrices(struct decoder *decoder, enum ll_argument role, uint64_t address, int64_t access,
                     const int64_t size[static 5])
{
    int64_t rows = size[0], cols = size[1], leading = size[2], stride = size[3], count = size[4];
    if (rows <= 0 || cols <= 0 || rows > INT32_MAX || leading < cols || leading > INT32_MAX || stride < 0)
        return;
    bool goes_on = stride == rows * leading || (count == 1 && rows > 1);
    bool fits = goes_on && count > 0 && count <= INT32_MAX;
    const int64_t runs[] = {fits ? rows * count : count, fits ? cols : (rows - 1) * leading + cols,
                            fits ? leading : stride};
    struct ll_call_operand *to = place(decoder, role, address, access, runs);
    bool same = stride == 0 && access == LL_ACCESS_READ;
    if (to)
        set_shape(decoder, to, 3, (const int64_t[]){same ? 1 : count, rows, cols});
}

/* How a kind of argument becomes a variable. */
#define V_ORDER(name) decoder->columns = is_columns(*word++);
#define V_LAYOUT(name) decoder->columns = is_columns(*word++);
#define V_TRANS(name) int64_t name __attribute__((unused)) = transposition(*word++);
#define V_UPLO(name) int64_t name __attribute__((unused)) = is_second(*word++, 'L', 122);
#define V_SIDE(name) int64_t name __attribute__((unused)) = is_second(*word++, 'R', 142);
#define V_DIAG(name) int64_t name __attribute__((unused)) = is_second(*word++, 'U', 132);
#define V_JOB(name) int64_t name __attribute__((unused)) = (int64_t)*word++;
#define V_COUNT(name) int64_t name __attribute__((unused)) = count_of(*word++);
#define V_WORK(name)
#define V_SCALAR(name) int64_t name __attribute__((unused)) = scalar(*word++);
#define V_PART(name) int64_t name __attribute__((unused)) = scalar(*word++);
#define V_PLAIN(name)
#define V_ARRAY(name) uint64_t name __attribute__((unused)) = *word++;
#define V_OTHER(name)
#define V_IF_COMPLEX(name)
#define V_IF_REAL(name)
#define VARIABLE(letter, kind, name) V_##kind(name)

/* How many words a signature has. */
#define C_ORDER +1
#define C_LAYOUT +1
#define C_TRANS +1
#define C_UPLO +1
#define C_SIDE +1
#define C_DIAG +1
#define C_JOB +1
#define C_COUNT +1
#define C_WORK
#define C_SCALAR +1
#define C_PART +1
#define C_PLAIN
#define C_ARRAY +1
#define C_OTHER
#define C_IF_COMPLEX
#define C_IF_REAL
#define COUNT_WORD(letter, kind, name) C_##kind

/* Which of them are addresses. */
#define A_ORDER 0,
#define A_LAYOUT 0,
#define A_TRANS 0,
#define A_UPLO 0,
#define A_SIDE 0,
#define A_DIAG 0,
#define A_JOB 0,
#define A_COUNT 0,
#define A_WORK
#define A_SCALAR 0,
#define A_PART 0,
#define A_PLAIN
#define A_ARRAY 1,
#define A_OTHER
#define A_IF_COMPLEX
#define A_IF_REAL
#define IS_ADDRESS(letter, kind, name) A_##kind

#define SWAP(one, other)                                                                                     \
    {                                                                                                        \
        __typeof__(one) kept = one;                                                                          \
        one = other, other = kept;                                                                           \
    }
#define FLIP(name) name = !name;
#define N(name) decoder->call->number[decoder->call->number_count++] = name;
#define READ LL_ACCESS_READ
#define WRITE LL_ACCESS_WRITE
#define BOTH LL_ACCESS_BOTH
#define FACTOR (alpha ? LL_ACCESS_READ : 0)
#define TERM (alpha ? LL_ACCESS_BOTH : 0)
#define SCALED (alpha ? LL_ACCESS_BOTH : LL_ACCESS_WRITE)
#define UPDATE (beta ? LL_ACCESS_BOTH : LL_ACCESS_WRITE)
#define MATRIX(role, name, access, rows, cols, leading)                                                      \
    matrix(decoder, LL_ARGUMENT_##role, name, access, rows, cols, leading);
#define COLUMNS(role, name, access, rows, cols, leading)                                                     \
    matrix(decoder, LL_ARGUMENT_##role, name, access, cols, rows, leading);
#define VECTOR(role, name, access, count, increment)                                                         \
    decoder->refused = decoder->refused || (increment) == 0;                                                 \
    ANY_VECTOR(role, name, access, count, increment)
#define ANY_VECTOR(role, name, access, count, increment)                                                     \
    vector(decoder, LL_ARGUMENT_##role, name, access, count, increment);
/* A batch is one operand: runs of whole matrices where their rows follow each other, else all of the rows. */
#define MATRICES(role, name, access, rows, cols, leading, stride, count)                                     \
    matrices(decoder, LL_ARGUMENT_##role, name, access,                                                      \
             (const int64_t[]){rows, cols, leading, stride, count});
#define TRIANGLE(n) ((n) > 0 && (n) < INT32_MAX ? (n) * ((n) + 1) / 2 : 0)
#define REALS(role, name, access, count)                                                                     \
    others(decoder, LL_ARGUMENT_##role, name, access, count, decoder->call->dtype);
#define INTEGERS(role, name, access, count) others(decoder, LL_ARGUMENT_##role, name, access, count, LL_I32);
#define LESSER(a, b) ((a) < (b) ? (a) : (b))
#define GREATER(a, b) ((a) > (b) ? (a) : (b))
#define SAYS(job, letter) (((job) & ~INT64_C(0x20)) == (letter))
#define PACKED(role, name, access, count) vector(decoder, LL_ARGUMENT_##role, name, access, count, 1);

#define LL_ROUTINE(routine, title, mirror, numbers, operands)                                                \
    static void decode_##routine(struct decoder *decoder, const uint64_t *word)                              \
    {                                                                                                        \
        LL_SIGNATURE_##routine(VARIABLE, s) if (decoder->columns){mirror} numbers operands                   \
    }
#include "tracer/interpose/routines.def"
#undef N

#define N(name) LL_NUMBER_##name,
#define LL_ROUTINE(routine, title, mirror, numbers, operands)                                                \
    static const uint8_t numbers_##routine[] = {numbers};
#include "tracer/interpose/routines.def"

#define LL_ROUTINE(routine, title, mirror, numbers, operands)                                                \
    static const uint8_t addresses_##routine[] = {LL_SIGNATURE_##routine(IS_ADDRESS, s)};
#include "tracer/interpose/routines.def"

static const uint8_t numbers_of_primitives[] = {LL_PRIMITIVE_NUMBERS(N)};

static const struct {
    const char *name;
    void (*decode)(struct decoder *decoder, const uint64_t *word);
    const uint8_t *numbers;   /* enum ll_number, in their order */
    const uint8_t *addresses; /* of each word whether it is one */
    unsigned words, number_count;
} routines[] = {
#define LL_ROUTINE(routine, title, mirror, numbers, operands)                                                \
    {title,                                                                                                  \
     decode_##routine,                                                                                       \
     numbers_##routine,                                                                                      \
     addresses_##routine,                                                                                    \
     0 LL_SIGNATURE_##routine(COUNT_WORD, s),                                                                \
     sizeof numbers_##routine},
#include "tracer/interpose/routines.def"
#define LL_PRIMITIVE(word, title, kind2, kind3, propagation, algorithm)                                      \
    {title, NULL, numbers_of_primitives, NULL, 0, sizeof numbers_of_primitives},
#include "tracer/interpose/primitives.def"
};

/* A symbol's record is read by its routine's signature. */
#define LL_SIGNATURE_NONE(X, l)
#define LL_SIGNATURE_DNN_PRIMITIVE(X, l)
#define LL_SYMBOL(name, routine, signature, letter, abi, result)                                             \
    _Static_assert((0 LL_SIGNATURE_##signature(COUNT_WORD, s)) == (0 LL_SIGNATURE_##routine(COUNT_WORD, s)), \
                   #name);
#include "tracer/interpose/symbols.def"

#define DTYPE_s LL_F32, false
#define DTYPE_d LL_F64, false
#define DTYPE_c LL_F32, true
#define DTYPE_z LL_F64, true
static const struct ll_symbol_row symbols[] = {
#define LL_SYMBOL(name, routine, signature, letter, abi, result)                                             \
    {#name, LL_ROUTINE_##routine, DTYPE_##letter},
#include "tracer/interpose/symbols.def"
};

const char *ll_routine_name(enum ll_routine routine)
{
    return routines[routine].name;
}

const struct ll_symbol_row *ll_symbol_row(uint32_t symbol)
{
    return symbol < LL_SYMBOL_COUNT ? &symbols[symbol] : NULL;
}

int64_t ll_call_number(const struct ll_call *call, enum ll_number number)
{
    if (call->routine >= LL_ROUTINE_COUNT)
        return 0;
    for (uint32_t i = 0; i < routines[call->routine].number_count && i < call->number_count; i++)
        if (routines[call->routine].numbers[i] == number)
            return call->number[i];
    return 0;
}

uint64_t ll_address_words(uint32_t symbol)
{
    const struct ll_symbol_row *row = ll_symbol_row(symbol);
    uint64_t bits = 0;
    for (unsigned i = 0; row && i < routines[row->routine].words; i++)
        bits |= (uint64_t)routines[row->routine].addresses[i] << i;
    return bits;
}

/* Nothing is added to a result that is multiplied by one. */
static bool only_keeps(const struct ll_call *call)
{
    return call->operand_count == 1 && call->operand[0].access == LL_ACCESS_BOTH &&
           ll_call_number(call, LL_NUMBER_beta) == LL_RING_ONE;
}

bool ll_decode_call(uint32_t symbol, const uint64_t *words, unsigned count, struct ll_call *call)
{
    const struct ll_symbol_row *row = ll_symbol_row(symbol);
    if (!row || !routines[row->routine].decode || count != routines[row->routine].words)
        return false;
    call->routine = row->routine;
    call->symbol = symbol;
    call->dtype = row->dtype;
    call->operand_count = call->number_count = 0;
    struct decoder decoder = {call, ll_dtype_bytes(row->dtype) << row->complex, row->complex, false, false};
    routines[row->routine].decode(&decoder, words);
    if (decoder.refused || only_keeps(call))
        call->operand_count = 0;
    return true;
}
