/* SPDX-License-Identifier: Apache-2.0 */
/* What replaying costs: a training loop of some hundred ops a step on a GPU, first all that a trace is asked
 * once, then a replay of all of it, costs of its signatures included. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include "loop.h"
#include "sim/replay/replay.h"
#include "tracer/format/reader.h"

#include <stdlib.h>
#include <unistd.h>

enum { LAYERS = 40, STEPS = 100 };

struct scene {
    struct ll_trace *trace;
    struct ll_machine *machine;
    struct ll_arena arena;
    struct ll_diags diags;
    const struct ll_prepared *prepared;
};

static struct ll_trace *record_loop(struct ll_diags *diags)
{
    char path[] = "/tmp/ll_bench_XXXXXX";
    int file = mkstemp(path);
    if (file < 0)
        return NULL;
    close(file);
    enum ll_status status;
    static struct loop loop;
    loop_begin(&loop, ll_recorder_open(path, NULL, 0, &status), LAYERS, true);
    for (unsigned i = 0; i < STEPS; i++)
        loop_step(&loop);
    ll_recorder_close(loop.recorder);
    struct ll_trace *trace = ll_trace_read(path, diags, &status);
    unlink(path);
    return trace;
}

static void prepare(void *context)
{
    struct scene *scene = context;
    struct ll_arena arena = {0};
    ll_prepare(scene->trace, &arena, &scene->diags);
    ll_arena_release(&arena);
}

static void replay(void *context)
{
    struct scene *scene = context;
    struct ll_arena arena = {0};
    ll_replay(scene->prepared, scene->machine, &arena, &scene->diags);
    ll_arena_release(&arena);
}

int main(void)
{
    static struct scene scene;
    const char *const folders[] = {"hwconfigs", NULL};
    scene.trace = record_loop(&scene.diags);
    scene.machine = ll_machine_read("v100_sxm_16gb+archive/deepbench", folders, NULL, 0, &scene.diags);
    scene.prepared = scene.trace ? ll_prepare(scene.trace, &scene.arena, &scene.diags) : NULL;
    if (!scene.prepared || !scene.machine) {
        fprintf(stderr, "bench_replay runs in the folder that holds hwconfigs/\n");
        return 1;
    }
    uint64_t ops = scene.trace->op_count;
    ll_bench("replay: prepare an op of a trace", prepare, &scene, ops, 0);
    ll_bench("replay: replay an op", replay, &scene, ops, 0);
    ll_machine_free(scene.machine);
    ll_trace_free(scene.trace);
    ll_arena_release(&scene.arena);
    ll_diags_release(&scene.diags);
    return 0;
}
