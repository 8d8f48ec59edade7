/* SPDX-License-Identifier: Apache-2.0 */
/* Element types, dimension roles and memory classes by name; sizes of tensors in elements and bytes, also of
 * sparse ones. */
#include "tracer/ir/tensor.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const char *ll_dtype_name(enum ll_dtype dtype)
{
    static const char *const names[] = {
#define X(word, name, bytes) name,
        LL_DTYPE_LIST(X)
#undef X
    };
    assert(dtype < LL_DTYPE_COUNT);
    return names[dtype];
}

const char *ll_role_name(enum ll_role role)
{
    static const char *const names[] = {
#define X(word, name) name,
        LL_ROLE_LIST(X)
#undef X
    };
    assert(role < LL_ROLE_COUNT);
    return names[role];
}

const char *ll_memory_name(enum ll_memory_class memory)
{
    static const char *const names[] = {
#define X(word, name) name,
        LL_MEMORY_LIST(X)
#undef X
    };
    assert(memory < LL_MEMORY_COUNT);
    return names[memory];
}

uint64_t ll_dtype_bits(enum ll_dtype dtype)
{
    static const uint64_t bits[] = {
#define X(word, name, bits) bits,
        LL_DTYPE_LIST(X)
#undef X
    };
    assert(dtype < LL_DTYPE_COUNT);
    return bits[dtype];
}

/* Of formats in which elements share scales. */
static const struct {
    const char *name;
    enum ll_dtype dtype;
    enum ll_scales activations, weights;
} formats[] = {
#define X(word, name, dtype, activations, weights)                                                           \
    {name, LL_##dtype, LL_SCALES_##activations, LL_SCALES_##weights},
    LL_NUMERIC_LIST(X)
#undef X
};

enum ll_numeric ll_numeric_find(const char *name)
{
    for (unsigned i = 0; i < LL_NUMERIC_COUNT; i++)
        if (i != LL_NUMERIC_NONE && strcmp(name, ll_numeric_name((enum ll_numeric)i)) == 0)
            return (enum ll_numeric)i;
    return LL_NUMERIC_NONE;
}

const char *ll_numeric_name(enum ll_numeric numeric)
{
    assert(numeric < LL_NUMERIC_COUNT && numeric != LL_NUMERIC_NONE);
    return numeric < LL_NUMERIC_NONE ? ll_dtype_name((enum ll_dtype)numeric)
                                     : formats[numeric - LL_NUMERIC_NONE - 1].name;
}

enum ll_dtype ll_numeric_dtype(enum ll_numeric numeric)
{
    assert(numeric < LL_NUMERIC_COUNT && numeric != LL_NUMERIC_NONE);
    return numeric < LL_NUMERIC_NONE ? (enum ll_dtype)numeric : formats[numeric - LL_NUMERIC_NONE - 1].dtype;
}

enum ll_scales ll_numeric_scales(enum ll_numeric numeric, bool of_weights)
{
    assert(numeric < LL_NUMERIC_COUNT && numeric != LL_NUMERIC_NONE);
    if (numeric < LL_NUMERIC_NONE)
        return LL_SCALES_NONE;
    unsigned format = numeric - LL_NUMERIC_NONE - 1;
    return of_weights ? formats[format].weights : formats[format].activations;
}

uint64_t ll_dtype_bytes(enum ll_dtype dtype)
{
    return ll_ceil_div(ll_dtype_bits(dtype), 8);
}

double ll_dtype_spread(enum ll_dtype dtype)
{
    return (double)ll_dtype_bits(dtype) / 8;
}

uint64_t ll_dtype_size(enum ll_dtype dtype, uint64_t elements)
{
    uint64_t bits = ll_dtype_bits(dtype);
    return bits < 8 ? ll_ceil_div(elements, 8 / bits) : ll_mul(elements, bits / 8);
}

uint64_t ll_dtype_count(enum ll_dtype dtype, uint64_t bytes)
{
    uint64_t bits = ll_dtype_bits(dtype);
    return bits < 8 ? ll_mul(bytes, 8 / bits) : ll_ceil_div(bytes, bits / 8);
}

enum ll_dtype ll_dtype_part(enum ll_dtype dtype)
{
    return dtype == LL_C64 ? LL_F32 : dtype == LL_C128 ? LL_F64 : dtype;
}

uint64_t ll_elements(const struct ll_shape *shape)
{
    uint64_t count = 1;
    for (unsigned i = 0; i < shape->rank; i++)
        count = ll_mul(count, shape->dim[i]);
    return count;
}

/* A number of one to three digits at the beginning of *text, which then begins behind it; 0 for none. */
static uint32_t take_number(const char **text)
{
    uint32_t number = 0;
    for (int digits = 0; digits < 3 && **text >= '0' && **text <= '9'; digits++)
        number = number * 10 + (uint32_t)(*(*text)++ - '0');
    return number;
}

bool ll_pattern_parse(const char *text, struct ll_pattern *pattern)
{
    *pattern = (struct ll_pattern){.kept = take_number(&text)};
    bool two = *text == ':';
    text += two;
    pattern->of = two ? take_number(&text) : 0;
    if (*text == '\0' && pattern->kept > 0 && pattern->kept < pattern->of &&
        pattern->of <= LL_MOST_NEIGHBOURS)
        return true;
    *pattern = (struct ll_pattern){0};
    return false;
}

bool ll_sparsity_parse(const char *text, struct ll_pattern *pattern)
{
    const char *end = text;
    uint32_t zeros = take_number(&end);
    if (strcmp(end, "%") != 0)
        return ll_pattern_parse(text, pattern);
    bool right = zeros > 0 && zeros < 100;
    *pattern = right ? (struct ll_pattern){100 - zeros, 100, true} : (struct ll_pattern){0};
    return right;
}

void ll_pattern_print(const struct ll_pattern *pattern, char text[LL_PATTERN_TEXT])
{
    if (pattern->unstructured)
        snprintf(text, LL_PATTERN_TEXT, "%u%%", 100 - pattern->kept * 100 / pattern->of);
    else
        snprintf(text, LL_PATTERN_TEXT, "%u:%u", pattern->kept, pattern->of);
}

bool ll_zeros_fit(const struct ll_shape *shape)
{
    if (shape->of == 0)
        return shape->kept == 0 && shape->along == 0 && shape->unstructured == 0;
    return shape->kept > 0 && shape->kept < shape->of && shape->along < shape->rank &&
           shape->unstructured <= 1;
}

/* Of so many the share that is not zero, rounded up. */
static uint64_t share_kept(const struct ll_shape *shape, uint64_t elements)
{
    uint64_t rest = elements % shape->of;
    return elements / shape->of * shape->kept + ll_ceil_div(rest * shape->kept, shape->of);
}

uint64_t ll_elements_kept(const struct ll_shape *shape)
{
    if (shape->of == 0)
        return ll_elements(shape);
    if (shape->unstructured)
        return ll_fits(ll_elements(shape)) ? share_kept(shape, ll_elements(shape)) : LL_NO_FIT;
    struct ll_shape dense = *shape;
    uint64_t *along = &dense.dim[shape->along], groups = *along / shape->of, rest = *along % shape->of;
    *along = groups * shape->kept + ll_min(rest, shape->kept);
    return ll_elements(&dense);
}

/* Bits that tell one place in a group from all others. */
static uint64_t place_bits(uint64_t places)
{
    uint64_t bits = 0;
    while (((uint64_t)1 << bits) < places)
        bits++;
    return bits;
}

/* Bits for the places of so many elements. */
static uint64_t places_bits(const struct ll_shape *shape, uint64_t kept)
{
    if (!shape->unstructured)
        return ll_mul(kept, place_bits(shape->of));
    uint64_t elements = ll_elements(shape), along = shape->dim[shape->along];
    uint64_t rows = along > 0 ? elements / along : 0;
    return ll_min(elements, ll_mul(ll_add(kept, rows), place_bits(along)));
}

static const struct {
    uint64_t elements, bytes;
} scales[LL_SCALES_COUNT] = {
#define X(word, elements, bytes) {elements, bytes},
    LL_SCALES_LIST(X)
#undef X
};

bool ll_scales_fit(const struct ll_shape *shape)
{
    return shape->scales == LL_SCALES_NONE ||
           (shape->scales < LL_SCALES_COUNT && ll_dtype_bits((enum ll_dtype)shape->dtype) <= 8);
}

uint64_t ll_size_bytes(const struct ll_shape *shape)
{
    uint64_t kept = ll_elements_kept(shape);
    uint64_t bytes = ll_dtype_size((enum ll_dtype)shape->dtype, kept);
    if (shape->scales != LL_SCALES_NONE) {
        uint64_t blocks = ll_ceil_div(ll_elements(shape), scales[shape->scales].elements);
        bytes = ll_add(bytes, ll_mul(blocks, scales[shape->scales].bytes));
    }
    if (shape->of == 0)
        return bytes;
    return ll_add(bytes, ll_ceil_div(places_bits(shape, kept), 8));
}

bool ll_is_index(const struct ll_shape *shape)
{
    return shape->dtype == LL_I32 || shape->dtype == LL_I64;
}
