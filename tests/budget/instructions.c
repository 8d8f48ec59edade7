/* SPDX-License-Identifier: Apache-2.0 */
/* The work of which tests/budget/run.sh counts the instructions, one subject a run:
 *
 *     instructions                  names all subjects, each with the operations of one repetition
 *     instructions NAME TIMES      prepares the subject and repeats it TIMES times
 *
 * The instructions of two repetitions less those of one, divided by the operations, are the instructions of
 * an operation: reading machines, recording the input and starting the program drop out. All inputs are fixed
 * and the clock is a counter, so that two runs execute the same instructions. */
#define _GNU_SOURCE /* mkstemp */
#include "loop.h"

#include "models/model.h"
#include "sim/array/machine.h"
#include "sim/array/search.h"
#include "sim/cost/cost_parts.h"
#include "sim/cost/memo.h"
#include "sim/explore/sweep.h"
#include "sim/parallel/plan.h"
#include "sim/parallel/pipeline.h"
#include "sim/parallel/parallel.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "sim/validate/validate.h"
#include "tracer/base/clock.h"
#include "tracer/convert/convert.h"
#include "tracer/convert/wire.h"
#include "tracer/format/reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LAYERS = 40,
    REPLAYED_STEPS = 40,
    EQUAL_STEPS = 400,
    RECORDED_STEPS = 40,
    WORKS = 400,
    REMEMBERED_TIMES = 20,
    ROWS = 480,
    DESIGNS = 48,
    TILINGS = 1000,
    ONE_LEVEL_TILES = 68,   /* that the search for a GEMM in one memory looks at, */
    THREE_LEVEL_TILES = 543 /* and in three */
};
enum { LOOP_OPS = 9 * LAYERS + 1, STAGES = 16, MICRO_BATCHES = 256 };

static const char accelerator[] = "v100_sxm_16gb+archive/deepbench";
static const char cluster[] =
    "inherits: v100_sxm_16gb+archive/deepbench\nname: cluster\nnetwork:\n"
    "  - {name: nvlink, topology: switch, devices: 8, bandwidth: 250GB/s, latency: 1us}\n"
    "  - {name: nics, topology: switch, devices: 128, bandwidth: 25GB/s, latency: 5us}\n";
static const char cluster_100k[] =
    "inherits: v100_sxm_16gb+archive/deepbench\nname: cluster\nnetwork:\n"
    "  - {name: nvlink, topology: switch, devices: 8, bandwidth: 250GB/s, latency: 1us}\n"
    "  - {name: nics, topology: switch, devices: 32, bandwidth: 25GB/s, latency: 5us}\n"
    "  - {name: spine, topology: switch, devices: 400, bandwidth: 25GB/s, latency: 10us}\n";
static const char cluster_1m[] =
    "inherits: v100_sxm_16gb+archive/deepbench\nname: cluster\nnetwork:\n"
    "  - {name: nvlink, topology: switch, devices: 8, bandwidth: 250GB/s, latency: 1us}\n"
    "  - {name: nics, topology: switch, devices: 128, bandwidth: 25GB/s, latency: 5us}\n"
    "  - {name: spine, topology: switch, devices: 1024, bandwidth: 25GB/s, latency: 10us}\n";
static const char space_text[] = "base: custom_example\n"
                                 "models: [resnet]\n"
                                 "vary:\n"
                                 "  units.array.rows: [8, 16, 32, 64, 128, 256]\n"
                                 "  units.array.cols: [8, 16, 32, 64, 128, 256]\n"
                                 "  memory.sram.size: {from: 256KiB, to: 64MiB, points: 10, log: true}\n"
                                 "  memory.hbm.bandwidth: {from: 100GB/s, to: 2TB/s, points: 28}\n"
                                 "  clock: {from: 500MHz, to: 1.4GHz, points: 10}\n"
                                 "objectives: [min time_s]\n";
static const char *const folders[] = {"hwconfigs", NULL};

/* All that subjects prepare; each fills what it needs. */
struct scene {
    struct ll_arena arena;
    struct ll_diags diags;
    struct ll_trace *trace;
    struct ll_machine *machine;
    const struct ll_prepared *prepared;
    struct ll_memo memo;
    struct ll_work works[WORKS];
    enum ll_op_kind kind; /* of the works */
    char path[32];
    struct ll_parallel plan;
    struct ll_space *space;
    struct ll_evaluator *evaluator;
    struct ll_evaluation evaluations[DESIGNS];
    struct ll_readings measured[DESIGNS];
    struct ll_pipeline pipeline;
    struct ll_measured rows[ROWS];
    char dims[ROWS][128]; /* of the rows */
    double sum;           /* keeps the compiler from leaving the work out */
};

/* The linker puts this in the place of ll_now_ns: 25 ns pass between two looks at the clock. */
uint64_t __wrap_ll_now_ns(void);
uint64_t __wrap_ll_now_ns(void)
{
    static uint64_t now_ns = 1000000000;
    return now_ns += 25;
}

static _Noreturn void fail(const struct scene *scene, const char *what)
{
    fprintf(stderr, "instructions: cannot %s (it runs in the folder that holds hwconfigs/)\n", what);
    for (size_t i = 0; i < scene->diags.kept_count; i++)
        fprintf(stderr, "%s\n", scene->diags.kept[i].message);
    exit(1);
}

static void make_path(struct scene *scene)
{
    strcpy(scene->path, "/tmp/ll_budget_XXXXXX");
    int file = mkstemp(scene->path);
    if (file < 0)
        fail(scene, "make a file");
    close(file);
}

static void record_loop(struct scene *scene, unsigned steps)
{
    static struct loop loop;
    enum ll_status status;
    loop_begin(&loop, ll_recorder_open(scene->path, NULL, 0, &status), LAYERS, true);
    for (unsigned i = 0; i < steps; i++)
        loop_step(&loop);
    if (ll_recorder_close(loop.recorder) != LL_OK || loop.ops != (uint64_t)steps * LOOP_OPS)
        fail(scene, "record");
}

static void read_trace(struct scene *scene)
{
    enum ll_status status;
    ll_trace_free(scene->trace);
    scene->trace = ll_trace_read(scene->path, &scene->diags, &status);
    if (!scene->trace)
        fail(scene, "read the trace");
}

static void read_machine(struct scene *scene, const char *name)
{
    scene->machine = ll_machine_read(name, folders, NULL, 0, &scene->diags);
    if (!scene->machine)
        fail(scene, "read the machine");
}

static struct ll_trace *dry_run(struct scene *scene, const char *model, const struct ll_setting *settings,
                                size_t count)
{
    struct ll_run_report report;
    struct ll_trace *trace = NULL;
    const struct ll_run_options options = {.train = true,
                                           .batch = 1,
                                           .steps = 1,
                                           .seed = 1,
                                           .threads = 1,
                                           .dry_run = true,
                                           .settings = settings,
                                           .setting_count = count,
                                           .trace = &trace};
    if (!ll_model_run(ll_model_find(model), &options, &report, &scene->diags))
        fail(scene, "record a model");
    return trace;
}

/* ---- recording, reading, replaying */

static void set_record(struct scene *scene)
{
    make_path(scene);
}

static void record(struct scene *scene)
{
    record_loop(scene, RECORDED_STEPS);
}

static void set_read(struct scene *scene)
{
    make_path(scene);
    record_loop(scene, RECORDED_STEPS);
}

static void set_prepare_of(struct scene *scene, unsigned steps)
{
    make_path(scene);
    record_loop(scene, steps);
    read_trace(scene);
    read_machine(scene, accelerator);
}

static void set_prepare(struct scene *scene)
{
    set_prepare_of(scene, REPLAYED_STEPS);
}

static void prepare(struct scene *scene)
{
    struct ll_arena arena = {0};
    if (!ll_prepare(scene->trace, &arena, &scene->diags))
        fail(scene, "prepare the trace");
    ll_arena_release(&arena);
}

/* The recorded trace as a timeline of Perfetto's. */
static void timeline(struct scene *scene)
{
    static struct ll_choice format = {.key = "format", .value = "pftrace"};
    int file = open("/dev/null", O_WRONLY);
    struct ll_export export = {
        .trace = scene->trace, .choices = &format, .choice_count = 1, .file = file, .diags = &scene->diags};
    if (file < 0 || !ll_export_run(ll_export_TIMELINE, &export))
        fail(scene, "export the trace");
    close(file);
}

static void set_replay(struct scene *scene)
{
    set_prepare(scene);
    scene->prepared = ll_prepare(scene->trace, &scene->arena, &scene->diags);
    if (!scene->prepared)
        fail(scene, "prepare the trace");
}

static void replay(struct scene *scene)
{
    struct ll_arena arena = {0};
    const struct ll_result *result = ll_replay(scene->prepared, scene->machine, &arena, &scene->diags);
    if (!result)
        fail(scene, "replay");
    scene->sum += result->time_s;
    ll_arena_release(&arena);
}

/* Ten times as many steps, all of them equal. */
static void set_replay_equal(struct scene *scene)
{
    set_prepare_of(scene, EQUAL_STEPS);
    scene->prepared = ll_prepare(scene->trace, &scene->arena, &scene->diags);
    if (!scene->prepared)
        fail(scene, "prepare the trace");
}

/* The same where only the time is asked, as with a knob turned. */
static void replay_time_alone(struct scene *scene)
{
    struct ll_arena arena = {0};
    struct ll_remembered remembered = {0};
    const struct ll_among among = {.memo = &remembered.costs, .time_alone = true};
    ll_memo_turn(&remembered.costs, scene->machine);
    const struct ll_result *result =
        ll_replay_among(scene->prepared, scene->machine, &among, &arena, &scene->diags);
    if (!result)
        fail(scene, "replay");
    scene->sum += result->time_s;
    ll_remembered_release(&remembered);
    ll_arena_release(&arena);
}

/* What `leadline sim` of a small trace does: reads a machine, and replays a step of training on it, as it is
 * and with each knob turned. */
static void set_what_if(struct scene *scene)
{
    enum ll_status status;
    scene->trace = ll_trace_read("traces/alexnet_train_b8.llt", &scene->diags, &status);
    read_machine(scene, "h100_sxm");
    scene->prepared = scene->trace ? ll_prepare(scene->trace, &scene->arena, &scene->diags) : NULL;
    if (!scene->prepared)
        fail(scene, "prepare the trace");
}

static void what_if(struct scene *scene)
{
    struct ll_arena arena = {0};
    struct ll_remembered remembered = {0};
    size_t count;
    const struct ll_result *result =
        ll_replay_remembering(scene->prepared, scene->machine, &remembered, &arena, &scene->diags);
    const struct ll_gain *gains = result ? ll_what_if(result, &remembered, &arena, &count) : NULL;
    if (!gains)
        fail(scene, "replay");
    scene->sum += gains[0].time_s;
    ll_remembered_release(&remembered);
    ll_arena_release(&arena);
}

static void set_nothing(struct scene *scene)
{
    (void)scene;
}

static void read_h100(struct scene *scene)
{
    ll_machine_free(scene->machine);
    read_machine(scene, "h100_sxm");
}

/* ---- costs */

/* Sizes as layers have them, most a multiple of eight, some odd. */
static uint64_t some_size(uint64_t *state, uint64_t most)
{
    uint64_t size = 1 + ll_random_below(state, most) / (1 + ll_random_below(state, 16));
    return ll_random_below(state, 4) && size > 8 ? size / 8 * 8 : size;
}

static struct ll_work some_gemm(uint64_t *state)
{
    uint64_t batch = ll_random_below(state, 4) ? 1 : some_size(state, 64);
    struct ll_gemm gemm = {batch, some_size(state, 8192), some_size(state, 8192), some_size(state, 8192)};
    return (struct ll_work){.kind = LL_WORK_GEMM,
                            .dtype = LL_F16,
                            .flops = 2 * gemm.batch * gemm.m * gemm.n * gemm.k,
                            .a_bytes = 2 * gemm.batch * gemm.m * gemm.k,
                            .b_bytes = 2 * gemm.batch * gemm.k * gemm.n,
                            .c_bytes = 2 * gemm.batch * gemm.m * gemm.n,
                            .gemm = gemm};
}

static struct ll_work some_conv(uint64_t *state)
{
    uint64_t kernel = 1 + 2 * ll_random_below(state, 3), stride = 1 + ll_random_below(state, 2);
    uint64_t out = 1 + ll_random_below(state, 56), in = (out - 1) * stride + kernel;
    const struct ll_conv conv = {.batch = 1 + ll_random_below(state, 32),
                                 .in_h = in,
                                 .in_w = in,
                                 .in_c = some_size(state, 512),
                                 .out_h = out,
                                 .out_w = out,
                                 .out_c = some_size(state, 512),
                                 .kernel_h = kernel,
                                 .kernel_w = kernel,
                                 .stride_h = stride,
                                 .stride_w = stride,
                                 .groups = 1,
                                 .pass = ll_random_below(state, 3)};
    const uint64_t x_bytes = 2 * conv.batch * in * in * conv.in_c;
    const uint64_t y_bytes = 2 * conv.batch * out * out * conv.out_c;
    const uint64_t w_bytes = 2 * kernel * kernel * conv.in_c * conv.out_c;
    const bool forward = conv.pass == LL_CONV_FORWARD, filter = conv.pass == LL_CONV_FILTER;
    return (struct ll_work){.kind = LL_WORK_CONV,
                            .dtype = LL_F16,
                            .flops = y_bytes * kernel * kernel * conv.in_c,
                            .a_bytes = forward || filter ? x_bytes : y_bytes,
                            .b_bytes = filter ? y_bytes : w_bytes,
                            .c_bytes = forward  ? y_bytes
                                       : filter ? w_bytes
                                                : x_bytes,
                            .conv = conv};
}

static void set_works(struct scene *scene, const char *machine, enum ll_op_kind kind,
                      struct ll_work (*some)(uint64_t *state))
{
    uint64_t state = 1;
    read_machine(scene, machine);
    scene->kind = kind;
    scene->memo.machine = scene->machine;
    for (int i = 0; i < WORKS; i++)
        scene->works[i] = some(&state);
}

static void set_gemm(struct scene *scene)
{
    set_works(scene, accelerator, LL_OP_MATMUL, some_gemm);
}

/* By the kernels of a library on tensor cores. */
static void set_library_gemm(struct scene *scene)
{
    set_works(scene, "h100_sxm", LL_OP_MATMUL, some_gemm);
}

static void set_conv(struct scene *scene)
{
    set_works(scene, accelerator, LL_OP_CONV2D, some_conv);
}

static void cost(struct scene *scene)
{
    struct ll_cost result;
    const char *trouble;
    for (int i = 0; i < WORKS; i++) {
        if (!ll_cost_op(scene->machine, scene->kind, &scene->works[i], &result, &trouble))
            fail(scene, trouble);
        scene->sum += result.compute_s;
    }
}

static void recall(struct scene *scene)
{
    const char *trouble;
    for (int t = 0; t < REMEMBERED_TIMES; t++)
        for (int i = 0; i < WORKS; i++)
            scene->sum += ll_memo_cost(&scene->memo, scene->kind, &scene->works[i], &trouble)->compute_s;
}

static void set_gemm_memo(struct scene *scene)
{
    set_gemm(scene);
    recall(scene);
}

static void set_conv_memo(struct scene *scene)
{
    set_conv(scene);
    recall(scene);
}

/* ---- rows of measured times, of ops in about the shares that collections have */

static void some_row(uint64_t *state, unsigned i, char dims[128], struct ll_measured *row)
{
    static const char *const pointwise[] = {"ew_add", "ew_mul", "relu", "gelu"};
    unsigned long long a = some_size(state, 8192), b = some_size(state, 8192), c = some_size(state, 8192);
    unsigned long long size = 7 + some_size(state, 56), few = some_size(state, 64);
    *row = (struct ll_measured){.source = "budget",
                                .hardware = "v100_sxm_16gb+pytorch",
                                .dtype = "fp32",
                                .dims = dims,
                                .notes = "",
                                .time_s = 1};
    switch (i % 6) {
    case 0:
    case 1:
        row->op = "gemm";
        snprintf(dims, 128, "m=%llu;n=%llu;k=%llu", a, b, c);
        break;
    case 2:
        row->op = "bmm";
        snprintf(dims, 128, "b=%llu;m=%llu;n=%llu;k=%llu", few, a, b, c);
        break;
    case 3:
        row->op = "conv2d_fwd";
        snprintf(dims, 128,
                 "b=%llu;c=%llu;h=%llu;w=%llu;k=%llu;r=3;s=3;stride_h=1;stride_w=1;pad_h=1;pad_w=1", few,
                 1 + a / 16, size, size, 1 + b / 16);
        break;
    case 4:
        row->op = i % 12 == 4 ? "softmax" : "layernorm";
        snprintf(dims, 128, "b=%llu;h=%llu", a, b);
        break;
    default:
        row->op = pointwise[i / 6 % 4];
        snprintf(dims, 128, "b=%llu;h=%llu", a, b);
    }
}

static void set_validate(struct scene *scene)
{
    uint64_t state = 1;
    read_machine(scene, "v100_sxm_16gb+pytorch");
    for (unsigned i = 0; i < ROWS; i++)
        some_row(&state, i, scene->dims[i], &scene->rows[i]);
}

static void validate(struct scene *scene)
{
    struct ll_arena arena = {0};
    const struct ll_machine *machines[] = {scene->machine};
    const struct ll_validation *v = ll_validate(scene->rows, ROWS, machines, 1, NULL, NULL, NULL, &arena);
    if (!v || v->overall.ours.points != ROWS)
        fail(scene, "score all rows");
    scene->sum += v->overall.ours.mape;
    ll_arena_release(&arena);
}

/* ---- plans, designs, schedules */

static void set_plan(struct scene *scene)
{
    const struct ll_setting large[] = {{"preset", "gpt3-175b"}, {"dtype", "f16"}};
    scene->trace = dry_run(scene, "gpt", large, 2);
    scene->machine =
        ll_machine_parse(cluster, strlen(cluster), "cluster.yaml", folders, NULL, 0, &scene->diags);
    if (!scene->machine)
        fail(scene, "read the machine");
    scene->plan = ll_plan_of_one();
    scene->plan.tensor = scene->plan.pipeline = 8;
    scene->plan.data = 16;
    scene->plan.batch = 1536;
    scene->plan.micro_batch = 1;
}

/* The same model on as many replicas as there are devices for them. */
static void set_plan_on(struct scene *scene, const char *machine, uint64_t data, uint64_t tensor)
{
    set_plan(scene);
    ll_machine_free(scene->machine);
    scene->machine =
        ll_machine_parse(machine, strlen(machine), "cluster.yaml", folders, NULL, 0, &scene->diags);
    if (!scene->machine)
        fail(scene, "read the machine");
    scene->plan.data = data;
    scene->plan.tensor = tensor;
    scene->plan.batch = 8 * data;
}

static void set_plan_100k(struct scene *scene)
{
    set_plan_on(scene, cluster_100k, 1600, 8);
}

static void set_plan_1m(struct scene *scene)
{
    set_plan_on(scene, cluster_1m, 131072, 1);
}

static void plan(struct scene *scene)
{
    struct ll_arena arena = {0};
    struct ll_remembered remembered = {0};
    struct ll_spread *spread =
        ll_spread_trace(scene->trace, &scene->plan, ll_machine_devices(scene->machine), &scene->diags);
    const struct ll_parallel_result *result =
        spread ? ll_parallel_run(spread, scene->machine, &remembered, &arena, &scene->diags) : NULL;
    if (!result)
        fail(scene, "run the plan");
    scene->sum += result->step_s;
    ll_spread_free(spread);
    ll_remembered_release(&remembered);
    ll_arena_release(&arena);
}

static struct ll_trace *bring(void *context, const struct ll_space_workload *workload,
                              const struct ll_space_setting *settings, size_t count, struct ll_diags *diags)
{
    (void)settings, (void)count, (void)diags;
    return dry_run(context, workload->model, NULL, 0);
}

static void set_space(struct scene *scene)
{
    scene->space = ll_space_parse(space_text, strlen(space_text), "budget.yaml", folders, &scene->diags);
    struct ll_pool *pool = ll_pool_new(1);
    if (scene->space && pool)
        scene->evaluator = ll_evaluator_new(scene->space, bring, scene, pool, &scene->diags);
    if (!scene->evaluator)
        fail(scene, "read the space of designs");
    for (uint64_t i = 0; i < DESIGNS; i++)
        scene->evaluations[i].measured = &scene->measured[i];
}

/* Designs that share little. */
static void set_design(struct scene *scene)
{
    set_space(scene);
    for (uint64_t i = 0; i < DESIGNS; i++)
        scene->evaluations[i].number = i * UINT64_C(2654435761) % scene->space->point_count;
}

/* Neighbours in a grid, of which the clock turns fastest, then the bandwidth. */
static void set_neighbours(struct scene *scene)
{
    set_space(scene);
    for (uint64_t i = 0; i < DESIGNS; i++)
        scene->evaluations[i].number = scene->space->point_count / 2 + i;
}

static void design(struct scene *scene)
{
    if (!ll_evaluate(scene->evaluator, scene->evaluations, DESIGNS, &scene->diags))
        fail(scene, "evaluate the designs");
}

static void set_slot(struct scene *scene)
{
    static struct ll_vstage_times vstages[STAGES];
    static struct ll_vstage_message messages[2 * (STAGES - 1)];
    for (uint32_t i = 0; i < STAGES; i++)
        vstages[i] =
            (struct ll_vstage_times){.forward_s = 1 + 0.01 * i, .backward_s = 2 + 0.03 * i, .tail_s = 0.5};
    for (uint32_t i = 0; i + 1 < STAGES; i++) {
        messages[2 * i] = (struct ll_vstage_message){i, i + 1, false, 0.1};
        messages[2 * i + 1] = (struct ll_vstage_message){i + 1, i, true, 0.1};
    }
    scene->pipeline = (struct ll_pipeline){.shape = {LL_SCHEDULE_ONE_F_ONE_B, STAGES, 1, MICRO_BATCHES},
                                           .vstages = vstages,
                                           .messages = messages,
                                           .message_count = 2 * (STAGES - 1)};
}

static void slot(struct scene *scene)
{
    struct ll_pipeline_result result;
    if (!ll_pipeline_run(&scene->pipeline, &result))
        fail(scene, "run the pipeline");
    scene->sum += result.time_s;
}

/* A GEMM in so many memories, the innermost of 16 KiB, and its best tiling. */
static struct mapped {
    struct ll_hierarchy hierarchy;
    struct ll_mapping mapping;
} mapped;

static void map_levels(struct scene *scene, uint64_t levels, uint64_t tiles)
{
    const struct ll_gemm sides = {1, 301, 203, 149};
    const struct ll_work work = {.kind = LL_WORK_GEMM,
                                 .dtype = LL_F16,
                                 .flops = 2 * sides.m * sides.n * sides.k,
                                 .a_bytes = 2 * sides.m * sides.k,
                                 .b_bytes = 2 * sides.k * sides.n,
                                 .c_bytes = 2 * sides.m * sides.n,
                                 .gemm = sides};
    mapped.hierarchy =
        (struct ll_hierarchy){.problem = ll_task_of(&work, LL_F16).problem,
                              .boundaries = {{.capacity_bytes = 4 << 10, .s_per_byte = 1e-12},
                                             {.capacity_bytes = 48 << 10, .s_per_byte = 4e-12},
                                             {.capacity_bytes = 120 << 10, .s_per_byte = 8e-12}},
                              .count = levels,
                              .times = 1,
                              .groups = 1};
    mapped.mapping = ll_mapping_search(&mapped.hierarchy);
    if (mapped.mapping.evaluations != tiles) {
        fprintf(stderr, "a search looks at %llu tiles\n", (unsigned long long)mapped.mapping.evaluations);
        fail(scene, "look at as many tiles as its subject says");
    }
}

static void set_one_level(struct scene *scene)
{
    map_levels(scene, 1, ONE_LEVEL_TILES);
}

static void set_three_levels(struct scene *scene)
{
    map_levels(scene, 3, THREE_LEVEL_TILES);
}

static void search_tilings(struct scene *scene)
{
    mapped.mapping = ll_mapping_search(&mapped.hierarchy);
    scene->sum += mapped.mapping.time_s;
}

/* A layer on an array of 32 x 32 with registers, and a mapping. */
static struct laid {
    struct ll_array array;
    struct ll_array_problem problem;
    struct ll_array_found found;
} laid;

static void set_array(struct scene *scene)
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
    read_machine(scene, "zigzag_tpu_like");
    laid.array = ll_array_of(scene->machine, ll_array_find(scene->machine), LL_INT8);
    laid.problem = ll_array_conv(&conv);
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
        laid.problem.operand[o].bits = laid.problem.operand[o].sum_bits = 8;
    if (!ll_array_search(&laid.array, &laid.problem, NULL, LL_ARRAY_ENERGY, &laid.found))
        fail(scene, "map the layer");
}

static void evaluate_array(struct scene *scene)
{
    for (int i = 0; i < TILINGS; i++) {
        ll_array_evaluate(&laid.array, &laid.problem, &laid.found.mapping, &laid.found.cost);
        scene->sum += laid.found.cost.cycles;
    }
}

/* ---- files of other tools */

enum { CALLS = 2000, PIECES = 64, PIECE_BYTES = 1 << 20 };
static struct ll_str profile;

/* A profile of operators, each with the call that launches its kernel. */
static void set_profile(struct scene *scene)
{
    ll_str_add(&profile, "{\"traceEvents\": [");
    for (unsigned i = 0; i < CALLS; i++)
        ll_str_addf(&profile,
                    "%s{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 1, \"tid\": 1, "
                    "\"ts\": %u.125, "
                    "\"dur\": 9, \"args\": {\"External id\": %u, \"Input Dims\": [[64, %u], [%u, 64]], "
                    "\"Input type\": "
                    "[\"float\", \"float\"], \"Concrete Inputs\": [\"\", \"\"]}},\n"
                    "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, "
                    "\"tid\": 1, "
                    "\"ts\": %u.5, \"dur\": 3.25, \"args\": {\"External id\": %u, \"correlation\": %u}},\n"
                    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm_%u\", \"pid\": 0, \"tid\": 7, "
                    "\"ts\": %u.75, "
                    "\"dur\": 6.5, \"args\": {\"device\": 0, \"stream\": 7, \"correlation\": %u, \"grid\": "
                    "[8, 8, 1]}}",
                    i ? ",\n" : "", 10 * i + 1000, i + 1, 8 * (i % 5 + 1), 8 * (i % 5 + 1), 10 * i + 1001,
                    i + 1, i + 1, i % 5, 10 * i + 1005, i + 1);
    ll_str_add(&profile, "]}");
    if (profile.failed)
        fail(scene, "write a profile");
}

static void import_file(struct scene *scene, ll_importer *importer, const struct ll_input_file *file)
{
    struct ll_import import = {
        .inputs = file, .input_count = 1, .output = "/dev/null", .diags = &scene->diags};
    if (!ll_import_run(importer, &import))
        fail(scene, "import a file");
}

static void import_profile(struct scene *scene)
{
    import_file(scene, ll_import_TORCH_PROFILE,
                &(struct ll_input_file){
                    .path = "profile", .bytes = (const uint8_t *)profile.text, .size = profile.length});
}

/* Writes what the text has at a place of the file, and gives the place behind it. */
static off_t put_at(struct scene *scene, int file, const struct ll_str *text, off_t at)
{
    if (text->failed || pwrite(file, text->text, text->length, at) != (ssize_t)text->length)
        fail(scene, "write a network");
    return at + (off_t)text->length;
}

/* A network of one operator, y = relu(x), and many weights of a mebibyte, which lie in holes of its file. */
static void set_network(struct scene *scene)
{
    struct ll_str model = {0}, graph = {0}, weight = {0}, node = {0}, input = {0};
    ll_wire_put_integer(&weight, 1,
                        PIECE_BYTES / 4); /* a dimension, the type, a name, and the elements behind */
    ll_wire_put_integer(&weight, 2, 1);
    ll_wire_put_text(&weight, 8, "w00");
    ll_wire_put_varint(&weight, 9 << 3 | LL_WIRE_BYTES);
    ll_wire_put_varint(&weight, PIECE_BYTES);
    ll_wire_put_text(&node, 1, "x");
    ll_wire_put_text(&node, 2, "y");
    ll_wire_put_text(&node, 4, "Relu");
    ll_wire_put_text(&input, 1, "x");
    ll_wire_put_bytes(&input, 2, "\x0a\x0a\x08\x01\x12\x06\x0a\x04\x08\x80\x80\x01", 12); /* float[16384] */
    ll_wire_put_bytes(&graph, 1, node.text, node.length);
    ll_wire_put_bytes(&graph, 11, input.text, input.length);
    struct ll_str key = {0};
    ll_wire_put_varint(&key, 5 << 3 | LL_WIRE_BYTES);
    ll_wire_put_varint(&key, weight.length + PIECE_BYTES);
    ll_wire_put_integer(&model, 1, 8);
    ll_wire_put_bytes(&model, 8, "\x10\x0d", 2); /* opset 13 */
    ll_wire_put_varint(&model, 7 << 3 | LL_WIRE_BYTES);
    ll_wire_put_varint(&model, graph.length + PIECES * (key.length + weight.length + PIECE_BYTES));
    make_path(scene);
    int file = open(scene->path, O_WRONLY);
    off_t at = put_at(scene, file, &graph, put_at(scene, file, &model, 0));
    for (unsigned i = 0; i < PIECES; i++) {
        char *name = strstr(weight.text, "w");
        name[1] = (char)('0' + i / 10);
        name[2] = (char)('0' + i % 10);
        at = put_at(scene, file, &weight, put_at(scene, file, &key, at)) + PIECE_BYTES;
    }
    if (ftruncate(file, at) != 0)
        fail(scene, "write a network");
    close(file);
    ll_str_release(&model);
    ll_str_release(&graph);
    ll_str_release(&weight);
    ll_str_release(&node);
    ll_str_release(&input);
    ll_str_release(&key);
}

static void import_network(struct scene *scene)
{
    struct ll_arena arena = {0};
    struct ll_input_file file;
    enum ll_status status;
    if (!ll_onnx_open(scene->path, &arena, &file, &status))
        fail(scene, "open a network");
    import_file(scene, ll_import_ONNX, &file);
    ll_arena_release(&arena);
}

static const struct subject {
    const char *name;
    void (*set)(struct scene *scene);
    void (*repeat)(struct scene *scene);
    uint64_t operations; /* of one repetition */
} subjects[] = {
    {"record_op", set_record, record, RECORDED_STEPS *LOOP_OPS},
    {"read_op", set_read, read_trace, RECORDED_STEPS *LOOP_OPS},
    {"prepare_op", set_prepare, prepare, REPLAYED_STEPS *LOOP_OPS},
    {"replay_op", set_replay, replay, REPLAYED_STEPS *LOOP_OPS},
    {"replay_equal_op", set_replay_equal, replay, EQUAL_STEPS *LOOP_OPS},
    {"time_equal_op", set_replay_equal, replay_time_alone, EQUAL_STEPS *LOOP_OPS},
    {"what_if", set_what_if, what_if, 1},
    {"machine", set_nothing, read_h100, 1},
    {"timeline_op", set_prepare, timeline, REPLAYED_STEPS *LOOP_OPS},
    {"gemm_cold", set_gemm, cost, WORKS},
    {"gemm_remembered", set_gemm_memo, recall, REMEMBERED_TIMES *WORKS},
    {"library_gemm_cold", set_library_gemm, cost, WORKS},
    {"conv_cold", set_conv, cost, WORKS},
    {"conv_remembered", set_conv_memo, recall, REMEMBERED_TIMES *WORKS},
    {"validate_row", set_validate, validate, ROWS},
    {"plan", set_plan, plan, 1},
    {"plan_100k", set_plan_100k, plan, 1},
    {"plan_1m", set_plan_1m, plan, 1},
    {"design", set_design, design, DESIGNS},
    {"design_neighbour", set_neighbours, design, DESIGNS},
    {"mapper_one_level", set_one_level, search_tilings, ONE_LEVEL_TILES},
    {"mapper_three_level", set_three_levels, search_tilings, THREE_LEVEL_TILES},
    {"array_mapping", set_array, evaluate_array, TILINGS},
    {"pipeline_slot", set_slot, slot, 2 * STAGES *MICRO_BATCHES},
    {"profile_event", set_profile, import_profile, 3 * CALLS},
    {"skipped_weight", set_network, import_network, PIECES},
};

int main(int argc, char **argv)
{
    static struct scene scene;
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        if (argc < 3)
            printf("%s %llu\n", subjects[i].name, (unsigned long long)subjects[i].operations);
        else if (strcmp(argv[1], subjects[i].name) == 0) {
            subjects[i].set(&scene);
            for (long t = strtol(argv[2], NULL, 10); t > 0; t--)
                subjects[i].repeat(&scene);
            if (scene.path[0])
                unlink(scene.path);
            return 0;
        }
    return argc < 3 ? 0 : 1;
}
