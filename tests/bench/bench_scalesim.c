/* SPDX-License-Identifier: Apache-2.0 */
/* How fast SCALE-Sim's reports come: the closed form of compute cycles alone, and AlexNet's five convolutions
 * (32 x 32, os, 64 kB buffers) with every access counted. SCALE-Sim v2 took 80.8 CPU-seconds for the latter
 * on the machine where its reference data were made. */
#include "sim/scalesim/scalesim.h"
#include "tests/bench/bench.h"

static const struct ll_scalesim_layer alexnet[] = {
    {"Conv1", 1, 224, 224, 11, 11, 3, 96, 4, 4, .line = 0},
    {"Conv2", 1, 27, 27, 5, 5, 96, 256, 1, 1, .line = 0},
    {"Conv3", 1, 13, 13, 3, 3, 256, 384, 1, 1, .line = 0},
    {"Conv4", 1, 13, 13, 3, 3, 384, 384, 1, 1, .line = 0},
    {"Conv5", 1, 13, 13, 3, 3, 384, 256, 1, 1, .line = 0},
};
enum { LAYERS = sizeof alexnet / sizeof alexnet[0], REPEATS = 1000 };

/* The sum keeps the compiler from leaving the work out. */
struct load {
    struct ll_scalesim_config config;
    int64_t sum;
};

static void closed_form(void *context)
{
    struct load *load = context;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        load->config.rows = 1 + repeat % 256;
        for (int i = 0; i < LAYERS; i++)
            load->sum += (int64_t)ll_scalesim_fold(&load->config, &alexnet[i]).lines - 1;
    }
}

static void all_reports(void *context)
{
    struct load *load = context;
    struct ll_scalesim_result result;
    for (int i = 0; i < LAYERS; i++)
        if (ll_scalesim_run(&load->config, &alexnet[i], NULL, &result))
            load->sum += result.total_cycles;
}

int main(void)
{
    struct load load = {
        .config = {.rows = 32, .columns = 32, .buffer_kB = {64, 64, 64}, .words_per_cycle = 10}};
    ll_bench("a layer's cycles, closed form", closed_form, &load, (uint64_t)REPEATS * LAYERS, 0);
    load.config.rows = 32;
    ll_bench("AlexNet in SCALE-Sim's detail, CALC", all_reports, &load, 1, 0);
    load.config.user_bandwidth = true;
    ll_bench("AlexNet in SCALE-Sim's detail, USER", all_reports, &load, 1, 0);
    return load.sum == 0;
}
