/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN's numbers are those of its public header dnnl_types.h, versions 2.6 and 3.0; what differs between
 * the two stands in primitives.def. */
#include "tracer/interpose/decode_primitive.h"

#include <string.h>

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
    return true;
}

void ll_decode_execution(const struct ll_described *described, const uint64_t *pairs, unsigned pair_count,
                         struct ll_call *call)
{
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
