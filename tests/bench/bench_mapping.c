/* SPDX-License-Identifier: Apache-2.0 */
/* How many tilings a second are evaluated, alone and by the search over two on-chip memories. */
#include "samples.h"

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

int main(void)
{
    static struct load load;
    struct dice dice = {1};
    uint64_t evaluations = 0, most = 0;
    for (int i = 0; i < COUNT; i++) {
        struct ll_work work = gemm_work(LL_F16, 1, roll_between(&dice, 1, 4096), roll_between(&dice, 1, 4096),
                                        roll_between(&dice, 1, 4096));
        load.hierarchies[i] =
            (struct ll_hierarchy){.problem = ll_task_of(&work, LL_F16).problem,
                                  .boundaries = {{.capacity_bytes = 16 << 10, .s_per_byte = 1e-12},
                                                 {.capacity_bytes = 512 << 10, .s_per_byte = 4e-12}},
                                  .count = 2,
                                  .times = 1,
                                  .groups = 1};
    }
    search(&load);
    for (int i = 0; i < COUNT; i++) {
        evaluations += load.mappings[i].evaluations;
        most = ll_max(most, load.mappings[i].evaluations);
    }
    ll_bench("evaluation of a tiling", evaluate, &load, COUNT, 0);
    ll_bench("search, for each evaluation", search, &load, evaluations, 0);
    printf("a search looks at %llu tiles, %llu at most\n", (unsigned long long)evaluations / COUNT,
           (unsigned long long)most);
    return 0;
}
