/* SPDX-License-Identifier: Apache-2.0 */
#include "models/tbd/beam.h"

#include "models/data/text.h"
#include "models/feed.h"
#include "models/nn/formula.h"

static const double never = -1e9, least_chance = 1e-30;

static void fill_go(void *context, uint64_t step, int32_t *words)
{
    const struct ll_beam *beam = context;
    (void)step;
    for (uint64_t i = 0; i < beam->batch * beam->width; i++)
        words[i] = LL_WORD_GO;
}

/* A constant of this shape: the value everywhere, but 0 where i mod `every` is `zero`. */
static struct ll_value *all_but(struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                                double value, uint64_t every, uint64_t zero)
{
    double *list = ll_alloc(&nn->arena, ll_elements(shape), sizeof *list);
    if (!list) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    for (uint64_t i = 0; i < ll_elements(shape); i++)
        list[i] = i % every == zero ? 0 : value;
    return ll_nn_variable(nn, name, shape, LL_WORKSPACE, (struct ll_init){LL_INIT_LIST, 0, list});
}

static struct ll_shape column_of(struct ll_nn *nn, const struct ll_beam *beam)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN};
    return ll_nn_shape(nn, 2, (uint64_t[]){beam->batch * beam->width, 1}, roles);
}

void ll_beam_begin(struct ll_nn *nn, struct ll_beam *beam)
{
    static const enum ll_role roles[] = {LL_ROLE_PLAIN, LL_ROLE_VOCABULARY};
    struct ll_shape column = column_of(nn, beam);
    struct ll_shape rows = ll_nn_shape(nn, 1, column.dim, (enum ll_role[]){LL_ROLE_BATCH});
    struct ll_shape line = ll_nn_shape(nn, 2, (uint64_t[]){1, beam->vocabulary}, roles);
    beam->done = 0;
    beam->chosen = ll_alloc(&nn->arena, beam->steps, sizeof(struct ll_value *));
    beam->from = ll_alloc(&nn->arena, beam->steps, sizeof(struct ll_value *));
    struct ll_beam *own = ll_copy(&nn->arena, beam, sizeof *beam);
    if (!beam->chosen || !beam->from || !own) {
        ll_nn_fail(nn, "memory ran out");
        return;
    }
    ll_nn_push(nn, "beam");
    beam->words = ll_feed_indices(nn, "go", &rows, fill_go, own);
    beam->scores = all_but(nn, "first_alone", &column, never, beam->width, 0);
    beam->ended = ll_zeros(nn, &column);
    beam->only_end = all_but(nn, "only_end", &line, never, beam->vocabulary, LL_WORD_EOS);
    ll_nn_pop(nn);
}

/* The log probability of every word behind every hypothesis, added to its score. */
static struct ll_value *extended(struct ll_nn *nn, const struct ll_beam *beam, struct ll_value *logits)
{
    struct ll_value *chance = ll_nn_do1(nn, LL_OP_SOFTMAX, logits);
    chance = ll_nn_do2(nn, LL_OP_MAXIMUM, chance, ll_constant(nn, "least_chance", least_chance));
    struct ll_value *goes_on = ll_sub_of(nn, ll_constant(nn, "one", 1), beam->ended);
    struct ll_value *word = ll_mul_of(nn, ll_nn_do1(nn, LL_OP_LOG, chance), goes_on);
    struct ll_value *end = ll_mul_of(nn, beam->ended, beam->only_end);
    return ll_add_of(nn, ll_add_of(nn, word, end), beam->scores);
}

static struct ll_value *best_of(struct ll_nn *nn, const struct ll_beam *beam, struct ll_value *x)
{
    struct ll_attr size = ll_attr_of_count(LL_ATTR_SIZE, (int64_t)beam->width);
    struct ll_shape lines = ll_nn_shape(nn, 2, (uint64_t[]){beam->batch, beam->width * beam->vocabulary},
                                        (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_PLAIN});
    x = ll_seen_as(nn, x, &lines);
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_TOP_K, .input_count = 1, .inputs = &x, .attr_count = 1, .attrs = &size});
}

static struct ll_value *taken_apart(struct ll_nn *nn, const struct ll_beam *beam, struct ll_value *places)
{
    struct ll_attr attrs[] = {
        ll_attr_of_count(LL_ATTR_SIZE, (int64_t)beam->vocabulary),
        ll_attr_of_count(LL_ATTR_RANGE, (int64_t)(beam->width * beam->vocabulary)),
    };
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_UNRAVEL, .input_count = 1, .inputs = &places, .attr_count = 2, .attrs = attrs});
}

void ll_beam_grow(struct ll_nn *nn, struct ll_beam *beam, struct ll_value *logits)
{
    struct ll_shape column = column_of(nn, beam), rows = column;
    rows.rank = 1;
    rows.dim[1] = 0;
    ll_nn_push(nn, "beam");
    const struct ll_value *best = best_of(nn, beam, extended(nn, beam, logits));
    const struct ll_value *where = best->producer ? taken_apart(nn, beam, best->producer->outputs[1]) : best;
    if (nn->trouble || beam->done == beam->steps) {
        ll_nn_pop(nn);
        return;
    }
    beam->scores = ll_seen_as(nn, best->producer->outputs[0], &column);
    beam->parents = ll_seen_as(nn, where->producer->outputs[0], &rows);
    beam->words = ll_seen_as(nn, where->producer->outputs[1], &rows);
    struct ll_value *word = ll_seen_as(nn, ll_as_real(nn, beam->words), &column);
    struct ll_value *end =
        ll_as_real(nn, ll_nn_do2(nn, LL_OP_EQUAL, word, ll_constant(nn, "end", LL_WORD_EOS)));
    beam->ended = ll_nn_do2(nn, LL_OP_MAXIMUM, ll_beam_follow(nn, beam, beam->ended), end);
    ll_nn_keep(beam->from[beam->done] = where->producer->outputs[0]);
    ll_nn_keep(beam->chosen[beam->done++] = where->producer->outputs[1]);
    ll_nn_pop(nn);
}

struct ll_value *ll_beam_follow(struct ll_nn *nn, const struct ll_beam *beam, struct ll_value *state)
{
    return ll_gathered(nn, state, beam->parents);
}

void ll_beam_read(const struct ll_beam *beam, struct ll_runner *runner, uint64_t i, int32_t *words)
{
    uint64_t row = i * beam->width;
    for (uint64_t t = beam->done; t-- > 0;) {
        words[t] = ((const int32_t *)ll_runner_data(runner, beam->chosen[t]))[row];
        row = (uint64_t)((const int32_t *)ll_runner_data(runner, beam->from[t]))[row];
    }
}
