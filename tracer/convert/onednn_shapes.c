/* SPDX-License-Identifier: Apache-2.0 */
/* What the problem of a line says of shapes: 64x128:128x32:64x32, or extents by name, as in
 * mb1_ic3oc64_ih224. */
#include "tracer/convert/onednn.h"

#include <stdlib.h>
#include <string.h>

uint64_t ll_dnnl_extent(const char *problem, const char *name, uint64_t otherwise)
{
    size_t length = strlen(name);
    while (*problem) {
        size_t letters = strcspn(problem, "0123456789_");
        size_t digits = strspn(problem + letters, "0123456789");
        if (letters == length && digits > 0 && strncmp(problem, name, length) == 0)
            return ll_min(strtoull(problem + letters, NULL, 10), UINT64_C(1) << 40);
        problem += letters + digits;
        problem += *problem == '_';
    }
    return otherwise;
}

bool ll_dnnl_dims(const char *at, const char **end, struct ll_shape *shape)
{
    *shape = (struct ll_shape){0};
    while (*at >= '0' && *at <= '9' && shape->rank < LL_MAX_RANK) {
        char *behind;
        shape->dim[shape->rank++] = strtoull(at, &behind, 10);
        at = *behind == 'x' ? behind + 1 : behind;
    }
    *end = at;
    return shape->rank > 0;
}

bool ll_dnnl_logical(const struct ll_dnnl_line *line, bool out, unsigned i, struct ll_shape *shape)
{
    enum { DIMS = 4 }; /* in0_f32:0:strided:undef:1x16x384x64:393216s24576s64s1 */
    const char *at = line->memory, *end = NULL;
    for (unsigned left = i; *at; at += strspn(at, " ")) {
        bool wanted = strncmp(at, out ? "out" : "in", out ? 3 : 2) == 0;
        if (wanted && left-- == 0)
            break;
        at += strcspn(at, " ");
    }
    const enum ll_dtype dtype = *at ? ll_dnnl_dtype_at(at, strcspn(at, " ")) : LL_DTYPE_COUNT;
    for (unsigned field = 0; field < DIMS && *at && *at != ' '; field++) {
        at += strcspn(at, ": ");
        at += *at == ':';
    }
    bool known = dtype != LL_DTYPE_COUNT && ll_dnnl_dims(at, &end, shape);
    shape->dtype = (uint8_t)dtype;
    return known && (*end == ':' || *end == ' ' || *end == '\0') && ll_fits(ll_size_bytes(shape));
}

bool ll_dnnl_shape(const struct ll_dnnl_line *line, unsigned i, struct ll_shape *shape)
{
    const char *at = line->problem;
    if (line->dtype >= LL_DTYPE_COUNT)
        return false;
    for (; i > 0 && at; i--) {
        at = strchr(at, ':');
        at = at ? at + 1 : NULL;
    }
    bool known = at && ll_dnnl_dims(at, &at, shape);
    shape->dtype = (uint8_t)line->dtype;
    return known && ll_fits(ll_size_bytes(shape));
}

/* Batch, channels and sides, of what comes in or goes out. */
static uint64_t image_elements(const char *problem, bool out)
{
    static const char *const sides[2][3] = {{"id", "ih", "iw"}, {"od", "oh", "ow"}};
    uint64_t channels = ll_dnnl_extent(problem, "ic", 1);
    uint64_t elements =
        ll_mul(ll_dnnl_extent(problem, "mb", 1), out ? ll_dnnl_extent(problem, "oc", channels) : channels);
    for (int i = 0; i < 3; i++)
        elements = ll_mul(elements, ll_dnnl_extent(problem, sides[out][i], 1));
    return elements;
}

/* Steps, samples and the width of what comes in, or of what the cells make. */
static uint64_t sequence_elements(const char *problem, bool out)
{
    uint64_t rows = ll_mul(ll_dnnl_extent(problem, "t", 1), ll_dnnl_extent(problem, "mb", 1));
    uint64_t made = ll_dnnl_extent(problem, "dhc", ll_dnnl_extent(problem, "dic", 1));
    return ll_mul(rows, out ? made : ll_dnnl_extent(problem, "slc", made));
}

/* Of a product in version 1, m64n32k128, rows of what comes in or goes out. */
static uint64_t product_elements(const char *problem, bool out)
{
    uint64_t rows = ll_mul(ll_dnnl_extent(problem, "b", 1), ll_dnnl_extent(problem, "m", 1));
    return ll_mul(rows, ll_dnnl_extent(problem, out ? "n" : "k", 1));
}

uint64_t ll_dnnl_elements(const struct ll_dnnl_line *line, bool out)
{
    const char *problem = line->problem;
    struct ll_shape first, next;
    if (line->graph)
        return ll_dnnl_logical(line, out, 0, &first) ? ll_elements(&first) : 0;
    bool product = strcmp(line->primitive, "matmul") == 0;
    if (!ll_dnnl_shape(line, 0, &first)) {
        if (product)
            return product_elements(problem, out);
        return strcmp(line->primitive, "rnn") == 0 ? sequence_elements(problem, out)
                                                   : image_elements(problem, out);
    }
    uint64_t elements = ll_elements(&first);
    if (!out || !ll_dnnl_shape(line, 1, &next))
        return elements;
    if (product)
        return ll_mul(elements / ll_max(first.dim[first.rank - 1u], 1), next.dim[next.rank - 1u]);
    if (strcmp(line->primitive, "reduction") == 0)
        return ll_elements(&next);
    for (unsigned i = 1; ll_dnnl_shape(line, i, &next); i++)
        elements = ll_max(elements, ll_elements(&next));
    return elements;
}
