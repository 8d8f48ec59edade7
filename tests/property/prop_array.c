/* SPDX-License-Identifier: Apache-2.0 */
/* Laws of arrays (sim/array) on random arrays, problems and mappings:
 *
 * - with energies given, the least energy of the search never rises with capacity, ports or accumulators;
 * - utilization is at most one, and no mapping beats the bounds; - each multiplication gets its operands:
 * words that cross a boundary are at least those of its tensor, and what a store reads is what those
 * inside it are filled with; - a mapping that is written reads back to the same cost. */
#include "check.h"
#include "random.h"

#include <math.h>
#include <string.h>

#include "sim/array/notation.h"
#include "sim/array/search.h"

enum { ARRAYS = 60 };

static struct ll_array_port any_port(uint64_t *random, uint8_t a, uint8_t b, uint8_t c)
{
    double bits = 8.0 * (double)(1u << ll_random_below(random, 6));
    return (struct ll_array_port){bits, bits, {a, b, c}};
}

/* One to three stores inside the outermost one; energies grow outwards. */
static struct ll_array any_array(uint64_t *random)
{
    struct ll_array array = {
        .axes = (uint8_t)ll_random_below(random, 3), .rules = ll_array_rules_leadline, .mac_j = 1e-12};
    uint8_t inside = (uint8_t)(1 + ll_random_below(random, 2));
    for (int a = 0; a < array.axes; a++)
        array.axis[a] = 1 + ll_random_below(random, 8);
    for (uint8_t s = 0; s <= inside; s++) {
        bool outermost = s == inside;
        const double each_j = 1e-12 * pow(4, s) * (1 + (double)ll_random_below(random, 3));
        struct ll_array_store *store = &array.store[array.stores++];
        *store = (struct ll_array_store){
            .name = outermost ? "dram"
                    : s       ? "sram"
                              : "rf",
            .size_bits = outermost ? INFINITY : 8 * (double)(1 + ll_random_below(random, s ? 4096 : 32)),
            .serves =
                outermost || s ? (1u << array.axes) - 1 : (uint32_t)ll_random_below(random, 1u << array.axes),
            .instances = 1,
            .width_bits = 8,
            .min_bits = 8,
            .read_j = each_j,
            .write_j = each_j * 1.5,
            .update_j = each_j * 1.5,
            .coalesces = true};
        for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
            store->holds[o] = outermost || ll_random_below(random, 3) > 0;
        store->port[0] = any_port(random, 3, 3, 9);
        store->port[1] = any_port(random, 3, 3, 6);
        store->port[0].serves[0] = store->port[0].serves[1] = 1u << LL_ARRAY_READ;
        store->port[1].serves[0] = store->port[1].serves[1] = 1u << LL_ARRAY_FILL;
        store->ports = 2;
    }
    return array;
}

static struct ll_array_problem any_problem(uint64_t *random)
{
    struct ll_array_problem problem;
    if (ll_random_below(random, 2)) {
        problem = ll_array_gemm(1, 1 + ll_random_below(random, 24), 1 + ll_random_below(random, 24),
                                1 + ll_random_below(random, 24));
    } else {
        uint64_t taps = 1 + ll_random_below(random, 3), side = 1 + ll_random_below(random, 8);
        const struct ll_conv conv = {.batch = 1,
                                     .in_c = 1 + ll_random_below(random, 12),
                                     .out_c = 1 + ll_random_below(random, 12),
                                     .out_h = side,
                                     .out_w = side,
                                     .in_h = side + taps - 1,
                                     .in_w = side + taps - 1,
                                     .kernel_h = taps,
                                     .kernel_w = taps,
                                     .stride_h = 1,
                                     .stride_w = 1,
                                     .groups = 1};
        problem = ll_array_conv(&conv);
    }
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
        problem.operand[o].bits = problem.operand[o].sum_bits = 8;
    return problem;
}

/* More of something. */
static void improve(uint64_t *random, struct ll_array *array)
{
    struct ll_array_store *store = &array->store[ll_random_below(random, array->stores)];
    switch (ll_random_below(random, 3)) {
    case 0:
        store->size_bits *= 1 + (double)ll_random_below(random, 4);
        return;
    case 1:
        store->port[ll_random_below(random, 2)].width_bits *= 2;
        return;
    default: /* accumulators: the innermost store may keep sums, too */
        array->store[0].holds[LL_OPERAND_C] = true;
        return;
    }
}

static void the_least_energy_never_rises_with_resources(void **state)
{
    (void)state;
    for (uint64_t first = ll_seed(1), seed = first; seed < first + ARRAYS; seed++) {
        uint64_t state_of = seed, *const random = &state_of;
        struct ll_array array = any_array(random);
        const struct ll_array_problem problem = any_problem(random);
        struct ll_array_found before, after;
        bool fits = ll_array_search(&array, &problem, NULL, LL_ARRAY_ENERGY, &before);
        improve(random, &array);
        bool still = ll_array_search(&array, &problem, NULL, LL_ARRAY_ENERGY, &after);
        if (!fits)
            continue;
        assert_true(still);
        if (!before.cut && !after.cut && after.cost.energy_j > before.cost.energy_j * (1 + 1e-9))
            fail_msg("seed %llu: %.10g J became %.10g J", (unsigned long long)seed, before.cost.energy_j,
                     after.cost.energy_j);
    }
}

static void check_words(const struct ll_array *array, const struct ll_array_problem *problem,
                        const struct ll_array_mapping *mapping, const struct ll_array_cost *cost)
{
    static const double none = 0;
    const double *words = &none;
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
        for (int s = array->stores - 1, outer = -1; s >= 0; s--) {
            if (!mapping->keeps[o][s])
                continue;
            const struct ll_array_moves *m = cost->moves[o][s];
            if (outer >= 0 && o != LL_OPERAND_C) {
                words = &cost->moves[o][outer][LL_ARRAY_READ].words;
                /* Multicast: what is read outside fills all copies, and no more than once each. */
                assert_true(m[LL_ARRAY_FILL].words <= *words * (1 + 1e-9));
                assert_true(*words * cost->used[outer] <=
                            m[LL_ARRAY_FILL].words * cost->used[s] * (1 + 1e-9));
            }
            assert_true(m[LL_ARRAY_UPDATE].words >= m[LL_ARRAY_READ].words || o != LL_OPERAND_C);
            outer = s;
        }
    assert_true(cost->moves[LL_OPERAND_C][array->stores - 1][LL_ARRAY_UPDATE].words > 0);
    (void)problem;
}

static void what_is_found_keeps_to_the_bounds_and_reads_back(void **state)
{
    (void)state;
    for (uint64_t first = ll_seed(1), seed = first; seed < first + ARRAYS; seed++) {
        uint64_t state_of = seed ^ 0x5eed, *const random = &state_of;
        const struct ll_array array = any_array(random);
        const struct ll_array_problem problem = any_problem(random);
        const enum ll_array_aim aim = (enum ll_array_aim)ll_random_below(random, 4);
        struct ll_array_found found;
        struct ll_array_mapping again;
        struct ll_array_cost cost;
        struct ll_str text = {0}, complaint = {0};
        if (!ll_array_search(&array, &problem, NULL, aim, &found))
            continue;
        assert_true(found.cost.utilization <= 1 + 1e-12 && found.cost.fits);
        assert_true(found.cost.cycles >= found.bound.cycles * (1 - 1e-9));
        assert_true(found.cost.energy_j >= found.bound.energy_j * (1 - 1e-9));
        check_words(&array, &problem, &found.mapping, &found.cost);
        ll_array_mapping_print(&array, &problem, &found.mapping, &text);
        if (!ll_array_mapping_parse(&array, &problem, text.text, &again, &complaint))
            fail_msg("seed %llu: %s: %s", (unsigned long long)seed, text.text, complaint.text);
        ll_array_evaluate(&array, &problem, &again, &cost);
        if (strchr(text.text, '@')) {
            assert_near(cost.cycles, found.cost.cycles, 1e-9);
            if (fabs(cost.energy_j / found.cost.energy_j - 1) > 1e-9)
                fail_msg("seed %llu: %s: %.10g J, read back %.10g J", (unsigned long long)seed, text.text,
                         found.cost.energy_j, cost.energy_j);
        }
        ll_str_release(&text);
        ll_str_release(&complaint);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_energy_never_rises_with_resources),
        cmocka_unit_test(what_is_found_keeps_to_the_bounds_and_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
