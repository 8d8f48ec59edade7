/* SPDX-License-Identifier: Apache-2.0 */
/* A training step of ResNet-50 on accelerator designs, array shape, buffer, bandwidth and clock drawn by lot.
 */
#define _GNU_SOURCE /* mkstemp */
#include "bench.h"

#include "models/model.h"
#include "sim/explore/sweep.h"
#include "tracer/format/reader.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POINTS = 512 };

static const char text[] = "base: custom_example\n"
                           "models: [resnet]\n"
                           "vary:\n"
                           "  units.array.rows: [8, 16, 32, 64, 128, 256]\n"
                           "  units.array.cols: [8, 16, 32, 64, 128, 256]\n"
                           "  memory.sram.size: {from: 256KiB, to: 64MiB, points: 10, log: true}\n"
                           "  memory.hbm.bandwidth: {from: 100GB/s, to: 2TB/s, points: 28}\n"
                           "  clock: {from: 500MHz, to: 1.4GHz, points: 10}\n"
                           "objectives: [min time_s]\n";

static struct ll_trace *bring(void *context, const struct ll_space_workload *workload,
                              const struct ll_space_setting *settings, size_t count, struct ll_diags *diags)
{
    char path[] = "/tmp/leadline-bench-XXXXXX";
    int file = mkstemp(path);
    struct ll_run_options options = {
        .train = true, .steps = 1, .seed = 1, .threads = 1, .dry_run = true, .path = path};
    struct ll_run_report report;
    enum ll_status status;
    (void)context, (void)settings, (void)count;
    bool done = file >= 0 && ll_model_run(ll_model_find(workload->model), &options, &report, diags);
    struct ll_trace *trace = done ? ll_trace_read(path, diags, &status) : NULL;
    if (file >= 0)
        close(file);
    unlink(path);
    return trace;
}

struct load {
    struct ll_evaluator *evaluator;
    struct ll_evaluation evaluations[POINTS];
    struct ll_diags diags;
};

static void evaluate(void *context)
{
    struct load *load = context;
    ll_evaluate(load->evaluator, load->evaluations, POINTS, &load->diags);
}

static void run(const struct ll_space *space, unsigned threads)
{
    static struct ll_readings measured[POINTS];
    struct load *load = calloc(1, sizeof *load);
    struct ll_pool *pool = ll_pool_new(threads);
    if (load && pool)
        load->evaluator = ll_evaluator_new(space, bring, NULL, pool, &load->diags);
    for (uint64_t i = 0; load && i < POINTS; i++) {
        load->evaluations[i].number = i * UINT64_C(2654435761) % space->point_count;
        load->evaluations[i].measured = &measured[i];
    }
    if (load && load->evaluator)
        ll_bench(threads == 1 ? "a design, one thread" : "a design, two threads", evaluate, load, POINTS, 0);
    if (load)
        ll_evaluator_free(load->evaluator);
    ll_pool_free(pool);
    free(load);
}

int main(void)
{
    static const char *const folders[] = {"hwconfigs", NULL};
    struct ll_diags diags = {0};
    struct ll_space *space = ll_space_parse(text, strlen(text), "bench.yaml", folders, &diags);
    if (!space)
        return 1;
    run(space, 1);
    run(space, 2);
    ll_space_free(space);
    return 0;
}
