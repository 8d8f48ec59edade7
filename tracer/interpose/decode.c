/* SPDX-License-Identifier: Apache-2.0 */
/* From the words of a record to a call: descriptions of oneDNN's primitives (first section), and routines by
 * their signatures. */
#include "tracer/interpose/call.h"

#include <assert.h>
#include <string.h>

#include "tracer/interpose/ring.h"
#include "tracer/interpose/signatures.h"

/* oneDNN's numbers are those of its public header dnnl_types.h, versions 2.6 and 3.0; what differs between
 * the two stands in primitives.def. */

enum { NO = 0xfffe, ANY = 0xffff };
enum { PASS_FORWARD = 1, PASS_BACKWARD = 2, PASS_DATA = 4, PASS_WEIGHTS = 8, PASS_ANY = 15 };
enum { STATISTICS_GIVEN = 1 };
enum { TRAINING = 64, BACKWARD = 128, BACKWARD_DATA = 160, BACKWARD_WEIGHTS = 192 };
enum { ALGORITHM_MAX = 0x1ff, ALGORITHM_VANILLA = 0x1fff, ALGORITHM_LSTM = 0x2fff, ALGORITHM_ANY = ANY };

static const struct {
    uint64_t kind[2]; /* in version 2, in version 3 */
    unsigned pass;
    uint64_t algorithm;
} primitives[] = {
#define LL_PRIMITIVE(word, name, kind2, kind3, propagation, algorithm)                                       \
    {{kind2, kind3}, PASS_##propagation, ALGORITHM_##algorithm},
#include "tracer/interpose/primitives.def"
};

static unsigned pass_of(uint64_t propagation)
{
    if (propagation == BACKWARD_DATA)
        return PASS_DATA | PASS_BACKWARD;
    if (propagation >= BACKWARD_WEIGHTS)
        return PASS_WEIGHTS;
    return propagation == BACKWARD ? PASS_BACKWARD : PASS_FORWARD;
}

static uint32_t routine_of(const uint64_t *entry)
{
    unsigned pass = pass_of(entry[LL_PRIMITIVE_PROPAGATION]);
    uint32_t row = 0;
    for (; row < sizeof primitives / sizeof *primitives - 1; row++) {
        uint64_t kind = primitives[row].kind[entry[LL_PRIMITIVE_VERSION] >= 3];
        uint64_t algorithm = primitives[row].algorithm;
        if (kind == entry[LL_PRIMITIVE_KIND] && (primitives[row].pass & pass) &&
            (algorithm == ANY || algorithm == entry[LL_PRIMITIVE_ALGORITHM]))
            break;
    }
    return LL_ROUTINE_DNN_CONVOLUTION + row;
}

/* Arguments, from the first one of each run of equal meaning. What a pass forward writes a pass backward
 * reads. */
static const struct {
    uint16_t first, last;
    uint8_t role; /* enum ll_argument, of the first; others follow */
    uint8_t forward, backward;
} arguments[] = {
    {1, 3, LL_ARGUMENT_SRC, LL_ACCESS_READ, LL_ACCESS_READ},
    {4, 16, LL_ARGUMENT_SRC, LL_ACCESS_READ, LL_ACCESS_READ},
    {17, 19, LL_ARGUMENT_DST, LL_ACCESS_WRITE, LL_ACCESS_READ},
    {33, 35, LL_ARGUMENT_WEIGHTS, LL_ACCESS_READ, LL_ACCESS_READ},
    {36, 36, LL_ARGUMENT_WEIGHTS_OTHER, LL_ACCESS_READ, LL_ACCESS_READ},
    {41, 41, LL_ARGUMENT_BIAS, LL_ACCESS_READ, LL_ACCESS_READ},
    {49, 52, LL_ARGUMENT_MEAN, LL_ACCESS_READ, LL_ACCESS_READ},
    {64, 64, LL_ARGUMENT_WORKSPACE, LL_ACCESS_WRITE, LL_ACCESS_READ},
    {80, 80, LL_ARGUMENT_SCRATCHPAD, LL_ACCESS_WRITE, LL_ACCESS_WRITE},
    {129, 131, LL_ARGUMENT_DIFF_SRC, LL_ACCESS_WRITE, LL_ACCESS_WRITE},
    {145, 147, LL_ARGUMENT_DIFF_DST, LL_ACCESS_READ, LL_ACCESS_READ},
    {161, 162, LL_ARGUMENT_DIFF_WEIGHTS, LL_ACCESS_WRITE, LL_ACCESS_WRITE},
    {169, 169, LL_ARGUMENT_DIFF_BIAS, LL_ACCESS_WRITE, LL_ACCESS_WRITE},
    {255, 256, LL_ARGUMENT_DIFF_SCALE, LL_ACCESS_WRITE, LL_ACCESS_WRITE},
    {1024, 1088, LL_ARGUMENT_SRC, LL_ACCESS_READ, LL_ACCESS_READ},
    {2048, 2112, LL_ARGUMENT_DST, LL_ACCESS_WRITE, LL_ACCESS_READ},
};

/* Role and access of an argument; false for what is no memory of the computation, such as scales of
 * attributes. */
static bool meaning_of(const uint64_t *entry, uint64_t argument, struct ll_call_operand *operand)
{
    bool backward = pass_of(entry[LL_PRIMITIVE_PROPAGATION]) != PASS_FORWARD;
    size_t i = 0, count = sizeof arguments / sizeof *arguments;
    while (i < count && (argument < arguments[i].first || argument > arguments[i].last))
        i++;
    if (i == count)
        return false;
    uint64_t within = arguments[i].last - arguments[i].first < 4 ? argument - arguments[i].first : 0;
    operand->role = (uint8_t)(arguments[i].role + within);
    operand->access = backward ? arguments[i].backward : arguments[i].forward;
    bool is_statistic = operand->role == LL_ARGUMENT_MEAN || operand->role == LL_ARGUMENT_VARIANCE;
    bool is_given = entry[LL_PRIMITIVE_PARAMETER] & STATISTICS_GIVEN;
    if (is_statistic && entry[LL_PRIMITIVE_PROPAGATION] == TRAINING && !is_given)
        operand->access = LL_ACCESS_WRITE;
    if (operand->role == LL_ARGUMENT_DST && !backward && entry[LL_PRIMITIVE_ADDS])
        operand->access = LL_ACCESS_BOTH;
    return true;
}

static uint8_t dtype_of(uint64_t type)
{
    static const uint8_t types[] = {LL_U8, LL_F16, LL_BF16, LL_F32, LL_I32, LL_INT8, LL_U8, LL_F64, LL_BOOL};
    return type < sizeof types ? types[type] : LL_F8;
}

/* One operand from its words; how many they are, 0 when they go past the end. */
static unsigned add_operand(const uint64_t *entry, const uint64_t *at, unsigned left,
                            struct ll_described *described)
{
    if (left < LL_PRIMITIVE_DIMS || at[LL_PRIMITIVE_RANK] > left - LL_PRIMITIVE_DIMS)
        return 0;
    struct ll_call *call = &described->call;
    uint64_t rank = at[LL_PRIMITIVE_RANK], bytes = at[LL_PRIMITIVE_BYTES];
    struct ll_call_operand operand = {
        .address = at[LL_PRIMITIVE_OFFSET], .rows = 1, .row_bytes = bytes, .stride_bytes = bytes};
    operand.shape.dtype = dtype_of(at[LL_PRIMITIVE_TYPE]);
    operand.shape.rank = (uint8_t)(rank < LL_MAX_RANK ? rank : LL_MAX_RANK);
    memcpy(operand.shape.dim, at + LL_PRIMITIVE_DIMS, operand.shape.rank * sizeof *at);
    if (rank <= LL_MAX_RANK && bytes && call->operand_count < LL_MAX_OPERANDS &&
        meaning_of(entry, at[LL_PRIMITIVE_ARGUMENT], &operand)) {
        described->argument[call->operand_count] = at[LL_PRIMITIVE_ARGUMENT];
        call->operand[call->operand_count++] = operand;
    }
    return LL_PRIMITIVE_DIMS + (unsigned)rank;
}

static const struct ll_call_operand *operand_of(const struct ll_call *call, enum ll_argument role)
{
    for (uint32_t i = 0; i < call->operand_count; i++)
        if (call->operand[i].role == role)
            return &call->operand[i];
    return NULL;
}

static void put(struct ll_call *call, enum ll_number number, uint64_t value)
{
    call->number[number - LL_NUMBER_algorithm] = (int64_t)value;
}

/* The lists are those of the spatial dimensions there are: width always, then height, then depth. */
static void put_lists(const uint64_t *lists, uint64_t n, struct ll_call *call)
{
    assert(n <= LL_PRIMITIVE_MOST_SPATIAL);
    static const enum ll_number first[LL_PRIMITIVE_LISTS] = {
        LL_NUMBER_stride_d, LL_NUMBER_dilation_d, LL_NUMBER_before_d, LL_NUMBER_behind_d, LL_NUMBER_kernel_d};
    for (uint64_t list = 0; list < LL_PRIMITIVE_LISTS; list++) {
        for (uint64_t i = 0; i < n; i++) {
            uint64_t value = lists[list * n + i] + (first[list] == LL_NUMBER_dilation_d);
            put(call, (enum ll_number)(first[list] + LL_PRIMITIVE_MOST_SPATIAL - n + i), value);
        }
    }
}

/* A convolution's kernel and groups are the dimensions of its weights: [groups,] to, from, kernel. */
static void put_weights(struct ll_call *call, uint64_t n)
{
    const struct ll_call_operand *weights = operand_of(call, LL_ARGUMENT_WEIGHTS);
    weights = weights ? weights : operand_of(call, LL_ARGUMENT_DIFF_WEIGHTS);
    bool convolves = call->routine <= LL_ROUTINE_DNN_DECONVOLUTION_BACKWARD_WEIGHTS;
    if (!convolves || !weights || n == 0 || weights->shape.rank < n + 2)
        return;
    put(call, LL_NUMBER_groups, weights->shape.rank > n + 2 ? weights->shape.dim[0] : 1);
    for (uint64_t i = 0; i < n; i++)
        put(call, (enum ll_number)(LL_NUMBER_kernel_d + LL_PRIMITIVE_MOST_SPATIAL - n + i),
            weights->shape.dim[weights->shape.rank - n + i]);
}

/* Functions of elements are numbered anew in version 3, from relu on. */
static uint64_t algorithm_of(const uint64_t *entry)
{
    static const uint8_t in_2[] = {0x1f, 0x2f, 0x3f, 0x4f, 0x5f, 0x6f, 0x7f, 0x9f, 0,    0xaf, 0xbf,
                                   0xcf, 0xdf, 0xef, 0xff, 0x10, 0x20, 0x30, 0x40, 0x60, 0x70};
    enum { RELU_3 = 0x20, FUNCTIONS_3 = sizeof in_2, ELTWISE = 7 };
    uint64_t algorithm = entry[LL_PRIMITIVE_ALGORITHM];
    bool renumbered = entry[LL_PRIMITIVE_VERSION] >= 3 && entry[LL_PRIMITIVE_KIND] == ELTWISE;
    if (!renumbered || algorithm < RELU_3 || algorithm >= RELU_3 + FUNCTIONS_3)
        return algorithm;
    return in_2[algorithm - RELU_3];
}

/* Decodes a description from the log once; executions of the primitive then only fill in addresses. Rank and
 * counts come from memory that a program may have written over, so each is checked against the words there
 * are. */
bool ll_describe(const uint64_t *entry, unsigned count, struct ll_described *described)
{
    *described = (struct ll_described){0};
    struct ll_call *call = &described->call;
    uint64_t n = count > LL_PRIMITIVE_WORDS ? entry[LL_PRIMITIVE_SPATIAL] : UINT64_MAX;
    if (n > LL_PRIMITIVE_MOST_SPATIAL || LL_PRIMITIVE_WORDS + n * LL_PRIMITIVE_LISTS >= count)
        return false;
    const uint64_t *at = entry + LL_PRIMITIVE_WORDS + n * LL_PRIMITIVE_LISTS;
    unsigned left = count - (unsigned)(at - entry) - 1, used;
    uint64_t operands = *at++;
    call->routine = routine_of(entry);
    for (uint64_t i = 0; i < operands; i++, at += used, left -= used)
        if ((used = add_operand(entry, at, left, described)) == 0)
            return false;
    call->number_count = LL_NUMBER_kernel_w - LL_NUMBER_algorithm + 1;
    put(call, LL_NUMBER_algorithm, algorithm_of(entry));
    put(call, LL_NUMBER_parameter, entry[LL_PRIMITIVE_PARAMETER]);
    put(call, LL_NUMBER_post_ops, entry[LL_PRIMITIVE_POST_OPS]);
    put_lists(entry + LL_PRIMITIVE_WORDS, n, call);
    put_weights(call, n);
    call->dtype = call->operand_count ? call->operand[0].shape.dtype : LL_F32;
    assert(described->call.operand_count <= LL_MAX_OPERANDS);
    return true;
}

void ll_decode_execution(const struct ll_described *described, const uint64_t *pairs, unsigned pair_count,
                         struct ll_call *call)
{
    assert(described->call.operand_count <= LL_MAX_OPERANDS);
    const struct ll_call *from = &described->call;
    call->routine = from->routine;
    call->dtype = from->dtype;
    call->number_count = from->number_count;
    call->operand_count = 0;
    memcpy(call->number, from->number, from->number_count * sizeof *from->number);
    for (uint32_t i = 0; i < from->operand_count; i++) {
        for (unsigned pair = 0; pair < pair_count; pair++) {
            if (pairs[2 * pair] != described->argument[i] || !pairs[2 * pair + 1])
                continue;
            call->operand[call->operand_count] = from->operand[i];
            call->operand[call->operand_count++].address += pairs[2 * pair + 1];
            break;
        }
    }
}

/* From the words of a record to numbers and operands: a function a routine, generated from its row.
 *
 * The rows' words are bound here: the signature's arguments become variables, MIRROR's change them, NUMBERS
 * and OPERANDS write them down. A size below zero, which a library refuses, counts as zero; a call that it
 * refuses because a matrix has longer lines than lie apart touches nothing. */

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
    uint64_t element_bytes; /* of the routine's type */
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
    assert(dtype < LL_DTYPE_COUNT);
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
    assert(routine < LL_ROUTINE_COUNT);
    return routines[routine].name;
}

const struct ll_symbol_row *ll_symbol_row(uint32_t symbol)
{
    return symbol < LL_SYMBOL_COUNT ? &symbols[symbol] : NULL;
}

int64_t ll_call_number(const struct ll_call *call, enum ll_number number)
{
    assert(call->routine < LL_ROUTINE_COUNT && number < LL_NUMBER_COUNT);
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
    assert(words || count == 0);
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
    assert(call->operand_count <= LL_MAX_OPERANDS && call->number_count <= LL_MAX_CALL_NUMBERS);
    return true;
}
