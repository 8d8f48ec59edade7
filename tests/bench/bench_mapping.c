/* SPDX-License-Identifier: Apache-2.0 */
/* How many tilings a second are evaluated: alone, and by the search over one, two and three on-chip
 * memories; and mappings of an array, alone and by its search. */
#include "samples.h"

#include <math.h>

#include "sim/array/search.h"
#include "sim/cost/cost_parts.h"
#include "tests/bench/bench.h"

enum { COUNT = 100 };

struct load {
    struct ll_hierarchy hierarchies[COUNT];
    struct ll_mapping mappings[COUNT];
    double sum;
};

static void evaluate(void *context)
{
    struct load *load = context;
    for (int i = 0; i < COUNT; i++) {
        ll_mapping_evaluate(&load->hierarchies[i], &load->mappings[i]);
        load->sum += load->mappings[i].objective;
    }
}

static void search(void *context)
{
    struct load *load = context;
    for (int i = 0; i < COUNT; i++)
        load->mappings[i] = ll_mapping_search(&load->hierarchies[i]);
}

/* GEMMs of random sides in so many memories, the innermost of 16 KiB. */
static void fill(struct load *load, uint64_t levels)
{
    struct dice dice = {1};
    for (int i = 0; i < COUNT; i++) {
        struct ll_work work = gemm_work(LL_F16, 1, roll_between(&dice, 1, 4096), roll_between(&dice, 1, 4096),
                                        roll_between(&dice, 1, 4096));
        load->hierarchies[i] =
            (struct ll_hierarchy){.problem = ll_task_of(&work, LL_F16).problem,
                                  .boundaries = {{.capacity_bytes = 16 << 10, .s_per_byte = 1e-12},
                                                 {.capacity_bytes = 512 << 10, .s_per_byte = 4e-12},
                                                 {.capacity_bytes = 8 << 20, .s_per_byte = 8e-12}},
                                  .count = levels,
                                  .times = 1,
                                  .groups = 1};
    }
}

static uint64_t evaluations_of(const struct load *load)
{
    uint64_t sum = 0;
    for (int i = 0; i < COUNT; i++)
        sum += load->mappings[i].evaluations;
    return sum;
}

/* A layer on an array of 32 x 32 with registers. */
struct layer {
    struct ll_array array;
    struct ll_array_problem problem;
    struct ll_array_found found;
    struct ll_array_cost cost;
};

static struct ll_array_store store(const char *name, double bits, bool a, bool b, bool c, uint32_t serves)
{
    return (struct ll_array_store){.name = name,
                                   .size_bits = bits,
                                   .holds = {a, b, c},
                                   .serves = serves,
                                   .instances = 1,
                                   .width_bits = 8,
                                   .min_bits = 8,
                                   .read_j = 1e-12,
                                   .write_j = 1e-12,
                                   .update_j = 1e-12};
}

static void fill_layer(struct layer *layer)
{
    const struct ll_conv conv = {.batch = 1,
                                 .in_h = 28,
                                 .in_w = 28,
                                 .in_c = 128,
                                 .out_h = 28,
                                 .out_w = 28,
                                 .out_c = 128,
                                 .kernel_h = 3,
                                 .kernel_w = 3,
                                 .stride_h = 1,
                                 .stride_w = 1,
                                 .groups = 1};
    layer->array =
        (struct ll_array){.axes = 2, .axis = {32, 32}, .stores = 4, .rules = ll_array_rules_leadline};
    layer->array.store[0] = store("weights", 1024, false, true, false, 0);
    layer->array.store[1] = store("sums", 32, false, false, true, 0);
    layer->array.store[2] = store("sram", 1 << 24, true, false, true, 3);
    layer->array.store[3] = store("dram", INFINITY, true, true, true, 3);
    layer->problem = ll_array_conv(&conv);
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
        layer->problem.operand[o].bits = layer->problem.operand[o].sum_bits = 8;
}

static void search_layer(void *context)
{
    struct layer *layer = context;
    ll_array_search(&layer->array, &layer->problem, NULL, LL_ARRAY_ENERGY, &layer->found);
}

static void evaluate_layer(void *context)
{
    struct layer *layer = context;
    for (int i = 0; i < COUNT; i++)
        ll_array_evaluate(&layer->array, &layer->problem, &layer->found.mapping, &layer->cost);
}

int main(void)
{
    static struct load load;
    static struct layer layer;
    static const char *const names[] = {"mapper_one_level", "mapper_two_levels", "mapper_three_level"};
    for (uint64_t levels = 1; levels <= 3; levels++) {
        fill(&load, levels);
        search(&load);
        ll_bench(names[levels - 1], search, &load, evaluations_of(&load), 0);
        printf("a search looks at %llu tiles\n", (unsigned long long)evaluations_of(&load) / COUNT);
    }
    ll_bench("evaluation of a tiling in three memories", evaluate, &load, COUNT, 0);
    fill_layer(&layer);
    search_layer(&layer);
    ll_bench("array_evaluation", evaluate_layer, &layer, COUNT, 0);
    ll_bench("array_search, for each mapping", search_layer, &layer, layer.found.evaluated, 0);
    return 0;
}
