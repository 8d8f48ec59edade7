/* SPDX-License-Identifier: Apache-2.0 */
#include "models/micro/recipes.h"

#include <inttypes.h>
#include <string.h>

static struct ll_value *find(const struct ll_bench *bench, const char *name, uint64_t turn,
                             const struct ll_shape *shape)
{
    for (uint64_t i = 0; i < bench->operand_count; i++) {
        const struct ll_recipe_operand *operand = &bench->operands[i];
        if (operand->turn == turn && strcmp(operand->name, name) == 0 &&
            memcmp(&operand->value->shape, shape, sizeof *shape) == 0)
            return operand->value;
    }
    return NULL;
}

static struct ll_value *keep(struct ll_bench *bench, const char *name, uint64_t turn, struct ll_value *value)
{
    if (!ll_grow(&bench->operands, &bench->operand_capacity, bench->operand_count + 1,
                 sizeof *bench->operands))
        ll_nn_fail(bench->nn, "memory ran out");
    else
        bench->operands[bench->operand_count++] = (struct ll_recipe_operand){name, turn, value};
    return value;
}

static struct ll_value *variable(struct ll_bench *bench, const char *name, unsigned rank,
                                 const uint64_t *dims, struct ll_init init)
{
    struct ll_shape shape = ll_nn_shape(bench->nn, rank, dims, NULL);
    struct ll_value *value = find(bench, name, bench->turn, &shape);
    if (value)
        return value;
    const char *whole = ll_format(&bench->nn->arena, "%s.%" PRIu64, name, bench->operand_count);
    if (!whole)
        ll_nn_fail(bench->nn, "memory ran out");
    return keep(bench, name, bench->turn,
                ll_nn_variable(bench->nn, whole ? whole : name, &shape, LL_WEIGHT, init));
}

struct ll_value *ll_bench_real(struct ll_bench *bench, const char *name, unsigned rank, const uint64_t *dims)
{
    return variable(bench, name, rank, dims, (struct ll_init){LL_INIT_CONSTANT, 0.75, NULL});
}

struct ll_value *ll_bench_noise(struct ll_bench *bench, const char *name, unsigned rank, const uint64_t *dims)
{
    return variable(bench, name, rank, dims, (struct ll_init){LL_INIT_UNIFORM, 1, NULL});
}

struct ll_value *ll_bench_two(struct ll_bench *bench)
{
    return variable(bench, "two", 0, NULL, (struct ll_init){LL_INIT_CONSTANT, 2, NULL});
}

struct ll_value *ll_bench_rewritten(struct ll_bench *bench, struct ll_value *value)
{
    ll_nn_push(bench->nn, "again");
    struct ll_value *one = variable(bench, "one", 0, NULL, (struct ll_init){LL_INIT_CONSTANT, 1, NULL});
    struct ll_value *same = ll_nn_do2(bench->nn, LL_OP_MUL, value, one);
    ll_nn_pop(bench->nn);
    return same;
}

struct ll_value *ll_bench_state(struct ll_bench *bench, const char *name, unsigned rank, const uint64_t *dims)
{
    return ll_bench_real(bench, name, rank, dims)->next;
}

/* Any two neighbours are far apart, and all numbers below the limit come. */
static void fill_indices(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data)
{
    (void)step;
    for (uint64_t i = 0, count = ll_elements(shape); i < count; i++)
        ((int32_t *)data)[i] = (int32_t)(i * UINT64_C(2654435761) % feed->classes);
}

static void fill_counts(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data)
{
    (void)step;
    for (uint64_t i = 0, count = ll_elements(shape); i < count; i++)
        ((int32_t *)data)[i] = (int32_t)feed->classes;
}

/* What a feed with this number brings, under a name that says so. */
static struct ll_value *loaded(struct ll_bench *bench, const char *what, unsigned rank, const uint64_t *dims,
                               struct ll_feed feed)
{
    struct ll_shape shape = ll_nn_shape(bench->nn, rank, dims, NULL);
    shape.dtype = LL_I32;
    const char *name = ll_format(&bench->nn->arena, "%s %" PRIu64, what, feed.classes);
    struct ll_value *value = name ? find(bench, name, 0, &shape) : NULL;
    if (value)
        return value;
    struct ll_nn_call call = {.kind = LL_OP_HOST_INPUT, .given_count = 1, .given = &shape, .feed = feed};
    return keep(bench, name ? name : what, 0, ll_nn_do(bench->nn, &call));
}

struct ll_value *ll_bench_indices(struct ll_bench *bench, unsigned rank, const uint64_t *dims, uint64_t limit)
{
    return loaded(bench, "below", rank, dims, (struct ll_feed){.fill = fill_indices, .classes = limit});
}

struct ll_value *ll_bench_counts(struct ll_bench *bench, uint64_t length, uint64_t number)
{
    return loaded(bench, "all", 1, &length, (struct ll_feed){.fill = fill_counts, .classes = number});
}

struct ll_matrix_size ll_bench_grid(uint64_t elements)
{
    uint64_t columns = elements >= 1 << 16 ? 256 : elements >= 1 << 12 ? 64 : 16;
    return (struct ll_matrix_size){{ll_max(1, elements / columns), columns}};
}
