/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/tensor.h"

#include <assert.h>

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

uint64_t ll_dtype_bytes(enum ll_dtype dtype)
{
    static const uint64_t bytes[] = {
#define X(word, name, size) size,
        LL_DTYPE_LIST(X)
#undef X
    };
    assert(dtype < LL_DTYPE_COUNT);
    return bytes[dtype];
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

uint64_t ll_size_bytes(const struct ll_shape *shape)
{
    return ll_mul(ll_elements(shape), ll_dtype_bytes((enum ll_dtype)shape->dtype));
}
