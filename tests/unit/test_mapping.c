/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost_parts.h"

/* As much as that of bytes, at a price that more of them cannot have. */
static struct ll_crossing random_crossing(struct dice *dice, const struct ll_boundary *b, double most_bytes)
{
    double bytes = roll_real(dice, 1, most_bytes);
    return (struct ll_crossing){bytes, ll_port_cost_price(&b->toll, bytes, 0)};
}

/* What does not depend on how much passes, and what limits it. */
static void random_stage(struct dice *dice, struct ll_boundary *b)
{
    b->intake = (struct ll_intake){.first_s = roll_real(dice, 0, 100),
                                   .wait_s = roll_real(dice, 0, 10),
                                   .line_bytes = roll_real(dice, 0, 64),
                                   .saved_bytes = roll_real(dice, 0, 1000)};
    bool one_port = b->toll.read == 0 && b->toll.write == 0; /* or fewer bytes can have a higher price */
    if (one_port && roll_between(dice, 0, 3) == 0)
        b->limits.most = random_crossing(dice, b, 1e4);
    if (roll_between(dice, 0, 3) == 0)
        b->limits.least = random_crossing(dice, b, 1e3);
    if (roll_between(dice, 0, 3) == 0)
        b->limits.beside = random_crossing(dice, b, 1e3);
}

/* Some stages follow others, some overlap in part. */
static void random_overlap(struct dice *dice, struct ll_hierarchy *h)
{
    for (uint64_t i = 0; i < h->count; i++) {
        h->groups += (uint32_t)roll_between(dice, 0, 1);
        h->boundaries[i].group = h->groups - 1;
        if (roll_between(dice, 0, 1))
            random_stage(dice, &h->boundaries[i]);
    }
    for (uint32_t g = 0; g < h->groups; g++)
        h->elsewhere.pace_s[g] = roll_real(dice, 0, 500);
    h->elsewhere.apart_s = roll_real(dice, 0, 100);
    h->serial = roll_between(dice, 0, 1) ? roll_real(dice, 0, 1) : 0;
}

static struct ll_hierarchy random_hierarchy(struct dice *dice, uint64_t side, uint64_t most)
{
    struct ll_hierarchy h = {.count = roll_between(dice, 1, most),
                             .times = (double)roll_between(dice, 1, 3),
                             .groups = 1,
                             .objective = (enum ll_objective)roll_between(dice, 0, 2)};
    h.problem.dims = (struct ll_gemm){roll_between(dice, 1, 3), roll_between(dice, 1, side),
                                      roll_between(dice, 1, side), roll_between(dice, 1, side)};
    for (int i = 0; i < LL_OPERAND_COUNT; i++)
        h.problem.element[i] = (double)roll_between(dice, 1, 4);
    h.problem.sum_width = (double)roll_between(dice, 1, 4);
    double capacity = 0;
    for (uint64_t i = 0; i < h.count; i++) {
        capacity += (double)roll_between(dice, 1, 2 * side * side);
        h.boundaries[i] = (struct ll_boundary){.capacity_bytes = capacity,
                                               .s_per_byte = roll_real(dice, 0.1, 2),
                                               .j_per_byte = roll_real(dice, 0.1, 2)};
        if (roll_between(dice, 0, 1)) {
            h.boundaries[i].toll.read = roll_real(dice, 0.1, 3);
            h.boundaries[i].toll.write = roll_real(dice, 0.1, 3);
        }
    }
    if (roll_between(dice, 0, 1))
        random_overlap(dice, &h);
    h.fixed_j = roll_real(dice, 0, 1e3);
    h.static_w = (double)roll_between(dice, 0, 1) * roll_real(dice, 0, 2);
    return h;
}

static const enum ll_dim all_orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                             {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

/* Some boundaries are given an order, and of the first so many some a tile. */
static void give_some(struct dice *dice, uint64_t side, uint64_t tiles, struct ll_hierarchy *h)
{
    for (uint64_t i = 0; i < h->count; i++) {
        if (roll_between(dice, 0, 2) == 0)
            h->boundaries[i].loops = all_orders[roll_between(dice, 0, 5)];
        if (i < tiles && roll_between(dice, 0, 2) == 0)
            h->boundaries[i].tile = (struct ll_tile){roll_between(dice, 1, side), roll_between(dice, 1, side),
                                                     roll_between(dice, 1, side)};
    }
}

static double footprint(const struct ll_problem *p, const uint64_t *t)
{
    double m = (double)t[0], n = (double)t[1], k = (double)t[2];
    return m * k * p->element[0] + k * n * p->element[1] + m * n * p->element[2];
}

/* What a given tile has become: no larger than the product; the longest of k, m and n over 2, rounded up,
 * until it fits; no larger than outside. */
static bool is_given_tile(const struct ll_hierarchy *h, uint64_t boundary, const uint64_t *outer,
                          const uint64_t *tile)
{
    const struct ll_boundary *b = &h->boundaries[boundary];
    const uint64_t whole[] = {h->problem.dims.m, h->problem.dims.n, h->problem.dims.k};
    uint64_t t[] = {b->tile.m, b->tile.n, b->tile.k};
    for (int d = 0; d < 3; d++)
        t[d] = t[d] < whole[d] ? t[d] : whole[d];
    while (t[0] * t[1] * t[2] > 1 && footprint(&h->problem, t) > b->capacity_bytes) {
        if (t[2] >= t[0] && t[2] >= t[1])
            t[2] = (t[2] + 1) / 2;
        else if (t[1] > t[0])
            t[1] = (t[1] + 1) / 2;
        else
            t[0] = (t[0] + 1) / 2;
    }
    for (int d = 0; d < 3; d++)
        t[d] = t[d] < outer[d] ? t[d] : outer[d];
    return memcmp(t, tile, sizeof t) == 0;
}

static bool is_allowed(const struct ll_hierarchy *h, uint64_t boundary, const uint64_t *outer,
                       const struct ll_mapping_loops *nest)
{
    const struct ll_boundary *b = &h->boundaries[boundary];
    bool single = nest->tile[0] * nest->tile[1] * nest->tile[2] == 1;
    return (single || footprint(&h->problem, nest->tile) <= b->capacity_bytes) &&
           (!b->loops || memcmp(b->loops, nest->order, sizeof nest->order) == 0) &&
           (!b->tile.m || is_given_tile(h, boundary, outer, nest->tile));
}

/* The dumb twin: every tile that fits, of every size and loop order, at each boundary; a product at a time
 * always is possible, with operands of its own. */
static double least_of_all(const struct ll_hierarchy *h, uint64_t boundary, const uint64_t *outer,
                           struct ll_mapping *mapping)
{
    struct ll_mapping_loops *nest = &mapping->nests[boundary];
    double least = INFINITY;
    for (uint64_t m = 1; m <= outer[0]; m++)
        for (uint64_t n = 1; n <= outer[1]; n++)
            for (uint64_t k = 1; k <= outer[2]; k++)
                for (int i = 0; i < 6; i++) {
                    *nest = (struct ll_mapping_loops){.tile = {m, n, k}};
                    memcpy(nest->order, all_orders[i], sizeof nest->order);
                    if (!is_allowed(h, boundary, outer, nest))
                        continue;
                    if (boundary > 0) {
                        least = fmin(least, least_of_all(h, boundary - 1, (uint64_t[]){m, n, k}, mapping));
                        continue;
                    }
                    ll_mapping_evaluate(h, mapping);
                    least = fmin(least, mapping->objective);
                }
    return least;
}

static void the_search_finds_what_trying_everything_finds(void **state)
{
    (void)state;
    struct dice dice = {ll_seed(50)};
    for (int i = 0; i < 400; i++) {
        bool one = i % 2;
        struct ll_hierarchy h = random_hierarchy(&dice, one ? 14 : 5, one ? 1 : 2);
        const struct ll_gemm *d = &h.problem.dims;
        if (i % 4 > 1)
            give_some(&dice, one ? 14 : 5, h.count, &h);
        struct ll_mapping any = {0};
        double least = least_of_all(&h, h.count - 1, (uint64_t[]){d->m, d->n, d->k}, &any);
        assert_near(ll_mapping_search(&h).objective, least, 1e-12);
    }
}

/* The loops themselves, outermost first, without the sizes: an operand comes in whenever a loop over one of
 * its dimensions, or one outside of such a loop, has moved on. Only loops that run count. */
static void the_passes_are_those_of_the_loops(void **state)
{
    (void)state;
    struct dice dice = {ll_seed(51)};
    for (int i = 0; i < 2000; i++) {
        struct ll_hierarchy h = random_hierarchy(&dice, 60, 4);
        for (uint64_t b = 0; b < h.count; b++)
            h.boundaries[b].capacity_bytes += 12; /* an element of each, of 4 bytes at most */
        struct ll_mapping mapping = ll_mapping_search(&h);
        uint64_t tile[] = {h.problem.dims.m, h.problem.dims.n, h.problem.dims.k};
        uint64_t trips[3 * LL_MAX_LEVELS], loops = 0;
        int over[3 * LL_MAX_LEVELS];
        for (uint64_t b = h.count; b-- > 0;) {
            for (int l = 0; l < 3; l++) {
                int d = (int)mapping.nests[b].order[l];
                over[loops] = d;
                trips[loops++] = ll_ceil_div(tile[d], mapping.nests[b].tile[d]);
                tile[d] = mapping.nests[b].tile[d];
            }
            for (int o = 0; o < LL_OPERAND_COUNT; o++) {
                int missing = (int[]){LL_DIM_N, LL_DIM_M, LL_DIM_K}[o];
                double inside = 1, passes = 1;
                for (uint64_t l = 0; l < loops; l++) {
                    if (over[l] == missing)
                        inside *= (double)trips[l];
                    else if (trips[l] > 1)
                        passes = inside;
                }
                assert_near(mapping.passes[b][o], passes, 0);
            }
        }
    }
}

/* One on-chip memory: the closed form is the optimum, and the search finds it. */
static void for_one_memory_the_search_is_the_closed_form(void **state)
{
    (void)state;
    struct dice dice = {ll_seed(52)};
    for (int i = 0; i < 1000; i++) {
        struct ll_hierarchy h = {.count = 1, .times = 1, .groups = 1};
        struct ll_boundary *b = &h.boundaries[0];
        struct ll_work work =
            gemm_work(LL_F16, 1, roll_size(&dice, 5000), roll_size(&dice, 5000), roll_size(&dice, 5000));
        h.problem = ll_task_of(&work, LL_F16).problem;
        *b = (struct ll_boundary){.capacity_bytes = (double)(5 + roll_size(&dice, 1 << 20)), .s_per_byte = 1};
        struct ll_mapping mapping = ll_mapping_search(&h);
        assert_near(mapping.reads[0] + mapping.writes[0], ll_tile(&h.problem, b->capacity_bytes).bytes,
                    1e-12);
    }
}

/* 64 x 48 x 100 in tiles of 16 x 12 x 160, of which 1592 elements of 2000 remain: 16 x 12 x 50. Results
 * stay while k runs: A comes for each of four columns of tiles, B for each of four rows. With m innermost,
 * B comes once, and the results twice, since two tiles lie along k: out twice, in once. */
static void a_given_tile_is_taken_as_far_as_it_fits(void **state)
{
    (void)state;
    static const enum ll_dim results_stay[] = {LL_DIM_M, LL_DIM_N, LL_DIM_K},
                             b_stays[] = {LL_DIM_K, LL_DIM_N, LL_DIM_M};
    struct ll_work work = gemm_work(LL_F32, 1, 64, 48, 100);
    struct ll_hierarchy h = {
        .count = 1, .times = 1, .groups = 1, .problem = ll_task_of(&work, LL_F32).problem};
    h.boundaries[0] = (struct ll_boundary){
        .capacity_bytes = 4 * 2000, .s_per_byte = 1, .tile = {16, 12, 160}, .loops = results_stay};
    struct ll_mapping mapping = ll_mapping_search(&h);
    assert_int_equal(mapping.nests[0].tile[LL_DIM_K], 50);
    assert_near(mapping.reads[0], 4 * (4 * 64 * 100 + 4 * 48 * 100), 0);
    assert_near(mapping.writes[0], 4 * 64 * 48, 0);
    h.boundaries[0].loops = b_stays;
    mapping = ll_mapping_search(&h);
    assert_near(mapping.reads[0], 4 * (4 * 64 * 100 + 48 * 100 + 64 * 48), 0);
    assert_near(mapping.writes[0], 4 * 2 * 64 * 48, 0);
    h.boundaries[0].loops = NULL; /* the best, in which A stays while n runs */
    assert_near(ll_mapping_search(&h).objective, 4 * (64 * 100 + 4 * 48 * 100 + 3 * 64 * 48), 0);
    h.boundaries[0].capacity_bytes = 4 * 100; /* 8 x 6 x 7 takes 146, 4 x 6 x 7 takes 94 */
    mapping = ll_mapping_search(&h);
    assert_int_equal(mapping.nests[0].tile[LL_DIM_M], 4);
    assert_int_equal(mapping.nests[0].tile[LL_DIM_N], 6);
    assert_int_equal(mapping.nests[0].tile[LL_DIM_K], 7);
}

static void more_capacity_or_bandwidth_is_never_worse(void **state)
{
    (void)state;
    struct dice dice = {ll_seed(53)};
    for (int i = 0; i < 1000; i++) {
        struct ll_hierarchy h = random_hierarchy(&dice, 100, 3);
        if (i % 2)
            give_some(&dice, 100, 1, &h);
        double before = ll_mapping_search(&h).objective;
        struct ll_boundary *b = &h.boundaries[roll_between(&dice, 0, h.count - 1)];
        b->capacity_bytes *= roll_real(&dice, 1, 3);
        double after = ll_mapping_search(&h).objective;
        assert_true(after <= before * (1 + 1e-12));
        b->s_per_byte /= roll_real(&dice, 1, 3);
        b->toll.read /= roll_real(&dice, 1, 3);
        b->toll.write /= roll_real(&dice, 1, 3);
        assert_true(ll_mapping_search(&h).objective <= after * (1 + 1e-12));
    }
}

/* Each boundary by itself is bounded by the closed form for its memory, and that by each operand once. */
static void no_boundary_moves_less_than_the_closed_form_for_its_memory(void **state)
{
    (void)state;
    struct dice dice = {ll_seed(54)};
    for (int i = 0; i < 1000; i++) {
        struct ll_hierarchy h = random_hierarchy(&dice, 100, 3);
        for (uint64_t b = 0; b < h.count; b++)
            h.boundaries[b].capacity_bytes += 12; /* an element of each, of 4 bytes at most */
        struct ll_mapping mapping = ll_mapping_search(&h);
        for (uint64_t b = 0; b < h.count; b++) {
            double bytes = mapping.reads[b] + mapping.writes[b];
            double closed = ll_tile(&h.problem, h.boundaries[b].capacity_bytes).bytes;
            assert_true(bytes >= closed * (1 - 1e-12));
            assert_true(footprint(&h.problem, mapping.nests[b].tile) <= h.boundaries[b].capacity_bytes);
        }
    }
}

/* Blocks of ll_tile, each within the one further out, are a tiling too. */
static void it_is_never_worse_than_the_closed_form_nested(void **state)
{
    (void)state;
    struct dice dice = {ll_seed(55)};
    for (int i = 0; i < 1000; i++) {
        struct ll_hierarchy h = random_hierarchy(&dice, 100, 4);
        struct ll_mapping nested = {0};
        struct ll_problem inside = h.problem;
        static const struct ll_mapping_loops nests[] = {{.order = {LL_DIM_M, LL_DIM_K, LL_DIM_N}},
                                                        {.order = {LL_DIM_N, LL_DIM_K, LL_DIM_M}},
                                                        {.order = {LL_DIM_M, LL_DIM_N, LL_DIM_K}}};
        for (uint64_t b = h.count; b-- > 0;) {
            struct ll_tiling t = ll_tile(&inside, h.boundaries[b].capacity_bytes);
            nested.nests[b] = nests[t.stays];
            inside.dims = (struct ll_gemm){inside.dims.batch, t.block.m, t.block.n, t.block.k};
            memcpy(nested.nests[b].tile, (uint64_t[]){t.block.m, t.block.n, t.block.k}, 3 * sizeof(uint64_t));
        }
        ll_mapping_evaluate(&h, &nested);
        assert_true(ll_mapping_search(&h).objective <= nested.objective * (1 + 1e-12));
    }
}

/* With all taps in a tile, a convolution moves its image with the halo; it is never below each operand once.
 */
static void windows_are_between_compulsory_and_their_product(void **state)
{
    (void)state;
    struct dice dice = {ll_seed(56)};
    for (int i = 0; i < 300; i++) {
        struct ll_work work = random_conv(&dice, LL_F32);
        struct ll_hierarchy h = random_hierarchy(&dice, 100, 2), plain;
        h.objective = LL_OBJECTIVE_ENERGY;
        h.problem = ll_task_of(&work, LL_F32).problem;
        plain = h;
        plain.problem.windows.overlap = false;
        plain.problem.element[h.problem.windows.image] *= h.problem.windows.expansion;
        struct ll_mapping mapping = ll_mapping_search(&h);
        assert_true(mapping.energy_j <= ll_mapping_search(&plain).energy_j * (1 + 1e-12));
        for (uint64_t b = 0; b < h.count; b++)
            assert_true(mapping.reads[b] + mapping.writes[b] >= ll_work_bytes(&work) * (1 - 1e-12));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_search_finds_what_trying_everything_finds),
        cmocka_unit_test(the_passes_are_those_of_the_loops),
        cmocka_unit_test(for_one_memory_the_search_is_the_closed_form),
        cmocka_unit_test(a_given_tile_is_taken_as_far_as_it_fits),
        cmocka_unit_test(more_capacity_or_bandwidth_is_never_worse),
        cmocka_unit_test(no_boundary_moves_less_than_the_closed_form_for_its_memory),
        cmocka_unit_test(it_is_never_worse_than_the_closed_form_nested),
        cmocka_unit_test(windows_are_between_compulsory_and_their_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
