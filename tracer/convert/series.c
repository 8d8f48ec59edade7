/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/convert/series.h"

#include "tracer/base/str.h"
#include "tracer/transform/dtype.h"

#include <math.h>
#include <string.h>

const char *ll_series_record(struct ll_series *series, const struct ll_import_op *op, struct ll_imported *out)
{
    const uint32_t before = series->ops - 1;
    struct ll_import_op whole = *op;
    whole.phase = series->phase;
    whole.scope = series->scope;
    whole.memory = series->phase == LL_PHASE_BACKWARD ? LL_GRADIENT : LL_ACTIVATION;
    whole.controls = &before;
    whole.control_count = series->ops > 0;
    whole.start_ns = series->clock_ns;
    whole.duration_ns = series->duration_ns;
    const char *trouble = ll_import_record(series->import, &whole, out);
    if (trouble)
        return trouble;
    series->ops++;
    series->clock_ns = ll_add(series->clock_ns, series->duration_ns);
    series->duration_ns = 0;
    return NULL;
}

uint64_t ll_series_ns(double time_ns)
{
    return !(time_ns > 0) ? 0 : time_ns < 0x1p64 ? (uint64_t)round(time_ns) : LL_NO_FIT;
}

struct ll_imported ll_series_tensor(struct ll_series *series, enum ll_memory_class memory,
                                    enum ll_dtype dtype, unsigned rank, const uint64_t *dims)
{
    struct ll_shape shape = {.rank = (uint8_t)rank, .dtype = (uint8_t)dtype};
    for (unsigned i = 0; i < rank; i++)
        shape.dim[i] = dims[i];
    return ll_import_tensor(series->import, ll_memory_name(memory), &shape, memory);
}

bool ll_series_dtype(struct ll_import *import, enum ll_dtype otherwise, enum ll_dtype *dtype)
{
    const char *name = ll_import_choice(import, "dtype");
    *dtype = name ? ll_dtype_find(name) : otherwise;
    return *dtype != LL_DTYPE_COUNT ||
           ll_complain(import->diags, (struct ll_place){0},
                       "-p dtype=%s: expected a type of elements, as f32, f16, bf16 or int8", name);
}

const char *ll_import_stem(struct ll_import *import, const char *otherwise)
{
    const char *base = ll_base_name(import->inputs[0].path);
    const char *stem = ll_copy_text(&import->arena, base, strcspn(base, "."));
    return stem && stem[0] ? stem : otherwise;
}
