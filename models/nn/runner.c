/* SPDX-License-Identifier: Apache-2.0 */
/* The ops are gone through in order. Each new value takes the smallest free gap that holds it, or the end; a
 * value whose last reader has passed gives its place back, and neighbouring gaps grow together:
 *
 *      | conv1 | gap | relu1 | gap           | dy |        gaps sorted by offset
 */
#define _GNU_SOURCE
#include "models/nn/runner.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "models/nn/blas.h"
#include "models/nn/nn.h"
#include "models/nn/kernel.h"
#include "tracer/base/clock.h"
#include "tracer/base/pool.h"
#include "tracer/record/host.h"

struct gap {
    uint64_t offset, bytes;
};

struct planner {
    const struct ll_nn *nn;
    struct ll_memory_plan *plan;
    uint32_t *last_reader; /* by value index of a root: op index */
    struct gap *gaps;
    uint64_t gap_count, gap_capacity;
};

static uint64_t padded_bytes(const struct ll_value *value)
{
    uint64_t bytes = ll_size_bytes(&value->shape);
    return ll_mul(ll_ceil_div(ll_max(bytes, 1), LL_MEMORY_PLAN_ALIGN), LL_MEMORY_PLAN_ALIGN);
}

static bool shares(const struct ll_value *root)
{
    return root->producer && !root->kept;
}

/* A view that is kept keeps its root. */
static void find_lifetimes(struct planner *p)
{
    for (uint64_t i = 0; i < p->nn->value_count; i++)
        if (p->nn->values[i]->kept)
            p->nn->values[i]->root->kept = true;
    for (uint64_t i = 0; i < p->nn->op_count; i++) {
        const struct ll_nn_op *op = p->nn->ops[i];
        for (uint32_t j = 0; j < op->view.input_count; j++)
            p->last_reader[op->inputs[j]->root->index] = (uint32_t)i;
        for (uint32_t j = 0; j < op->view.output_count; j++)
            p->last_reader[op->outputs[j]->root->index] = (uint32_t)i;
    }
}

static uint64_t take(struct planner *p, uint64_t bytes)
{
    uint64_t best = p->gap_count;
    for (uint64_t i = 0; i < p->gap_count; i++)
        if (p->gaps[i].bytes >= bytes && (best == p->gap_count || p->gaps[i].bytes < p->gaps[best].bytes))
            best = i;
    if (best == p->gap_count) {
        uint64_t offset = p->plan->shared_bytes;
        p->plan->shared_bytes = ll_add(offset, bytes);
        return offset;
    }
    uint64_t offset = p->gaps[best].offset;
    p->gaps[best].offset += bytes;
    p->gaps[best].bytes -= bytes;
    if (p->gaps[best].bytes == 0)
        memmove(&p->gaps[best], &p->gaps[best + 1], (--p->gap_count - best) * sizeof *p->gaps);
    return offset;
}

/* Frees a piece: gaps are in the order of their offsets, and neighbours become one. False when memory ran
 * out. */
static bool give_back(struct planner *p, uint64_t offset, uint64_t bytes)
{
    assert(bytes > 0 && offset % LL_MEMORY_PLAN_ALIGN == 0);
    if (!ll_grow(&p->gaps, &p->gap_capacity, p->gap_count + 1, sizeof *p->gaps))
        return false;
    uint64_t at = 0;
    while (at < p->gap_count && p->gaps[at].offset < offset)
        at++;
    bool joins_before = at > 0 && p->gaps[at - 1].offset + p->gaps[at - 1].bytes == offset;
    bool joins_after = at < p->gap_count && offset + bytes == p->gaps[at].offset;
    if (joins_before) {
        p->gaps[at - 1].bytes += bytes;
        if (joins_after) {
            p->gaps[at - 1].bytes += p->gaps[at].bytes;
            memmove(&p->gaps[at], &p->gaps[at + 1], (--p->gap_count - at) * sizeof *p->gaps);
        }
    } else if (joins_after) {
        p->gaps[at].offset = offset;
        p->gaps[at].bytes += bytes;
    } else {
        memmove(&p->gaps[at + 1], &p->gaps[at], (p->gap_count++ - at) * sizeof *p->gaps);
        p->gaps[at] = (struct gap){offset, bytes};
    }
    return true;
}

/* An op's results must not lie where its inputs do, so they are placed before anything is given back. */
static bool place_results(struct planner *p, const struct ll_nn_op *op)
{
    for (uint32_t i = 0; i < op->view.output_count; i++) {
        const struct ll_value *value = op->outputs[i];
        if (value->root == value && shares(value))
            p->plan->offset[value->index] = take(p, padded_bytes(value));
    }
    return ll_fits(p->plan->shared_bytes);
}

static bool release_dead(struct planner *p, const struct ll_nn_op *op)
{
    uint32_t count = op->view.input_count;
    for (uint32_t i = 0; i < count + op->view.output_count; i++) {
        const struct ll_value *root = (i < count ? op->inputs[i] : op->outputs[i - count])->root;
        if (!shares(root) || p->last_reader[root->index] != op->index)
            continue;
        p->last_reader[root->index] = UINT32_MAX; /* once, though it may be read twice */
        if (!give_back(p, p->plan->offset[root->index], padded_bytes(root)))
            return false;
    }
    return true;
}

static void place_owners(struct planner *p)
{
    p->plan->total_bytes = p->plan->shared_bytes;
    for (uint64_t i = 0; i < p->nn->value_count; i++) {
        const struct ll_value *value = p->nn->values[i];
        if (value->root != value || shares(value))
            continue;
        p->plan->offset[i] = p->plan->total_bytes;
        p->plan->total_bytes = ll_add(p->plan->total_bytes, padded_bytes(value));
    }
    for (uint64_t i = 0; i < p->nn->value_count; i++)
        p->plan->offset[i] = p->plan->offset[p->nn->values[i]->root->index];
}

bool ll_memory_plan_make(const struct ll_nn *nn, struct ll_arena *arena, struct ll_memory_plan *plan)
{
    *plan = (struct ll_memory_plan){.offset = ll_alloc(arena, nn->value_count, sizeof *plan->offset)};
    struct planner p = {nn, plan, calloc(nn->value_count + 1, sizeof *p.last_reader), NULL, 0, 0};
    bool done = plan->offset && p.last_reader;
    if (done)
        find_lifetimes(&p);
    for (uint64_t i = 0; done && i < nn->op_count; i++)
        done = place_results(&p, nn->ops[i]) && release_dead(&p, nn->ops[i]);
    if (done)
        place_owners(&p);
    free(p.last_reader);
    free(p.gaps);
    return done && ll_fits(plan->total_bytes);
}

/* What of an op does not change from step to step. */
struct prepared {
    ll_kernel *kernel;
    struct ll_kernel_call call;
    uint64_t described_bytes; /* from call.op on: all that the call points to, but the operands themselves */
    struct ll_record record;
    uint32_t *inputs; /* tensors of the record, filled each step; all its other numbers lie behind them */
    const uint32_t *input_values, *output_values; /* by index */
    void *staged;                                 /* of host_input: what the feed fills */
};

struct ll_runner {
    struct ll_arena arena;
    struct ll_nn *nn;
    struct ll_runner_options options;
    struct ll_recorder *recorder; /* NULL: nobody records */
    struct ll_memory_plan plan;
    char *memory;
    uint64_t memory_bytes;
    void *workspace;
    struct prepared *prepared; /* by op */
    uint32_t *tensors;         /* by value: its number in the trace */
    uint32_t program;          /* of the last step */
    uint64_t op_count;         /* of all steps */
    bool rehearsed;            /* the ops of the first step had run before it */
    atomic_bool strayed;       /* an index lay outside of what it indexes */
};

/* Of the network's ops or carries. */
struct stretch {
    uint64_t begin, end;
};

static struct stretch ops_of(const struct ll_nn *nn, uint32_t program)
{
    uint64_t begin = nn->programs[program].first_op;
    return (struct stretch){begin, begin + ll_nn_program_ops(nn, program)};
}

static struct stretch carries_of(const struct ll_nn *nn, uint32_t program)
{
    bool last = program + 1 == nn->program_count;
    return (struct stretch){nn->programs[program].first_carry,
                            last ? nn->carry_count : nn->programs[program + 1].first_carry};
}

void *ll_runner_data(const struct ll_runner *runner, const struct ll_value *value)
{
    assert(value->kept);
    return runner->memory ? runner->memory + runner->plan.offset[value->index] : NULL;
}

double ll_runner_element(const struct ll_runner *runner, const struct ll_value *value, uint64_t i)
{
    assert(i < ll_elements(&value->shape));
    const void *data = ll_runner_data(runner, value);
    if (!data)
        return NAN;
    return value->shape.dtype == LL_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

double ll_runner_scalar(const struct ll_runner *runner, const struct ll_value *value)
{
    assert(value->shape.rank == 0);
    return ll_runner_element(runner, value, 0);
}

static uint64_t workspace_bytes(const struct ll_runner *runner)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < runner->nn->op_count; i++)
        bytes = ll_max(bytes,
                       ll_kernel_workspace(&runner->nn->ops[i]->view, ll_pool_threads(runner->options.pool)));
    return bytes;
}

static uint64_t staging_bytes(const struct ll_runner *runner)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < runner->nn->op_count; i++)
        if (runner->nn->ops[i]->feed.fill)
            bytes =
                ll_add(bytes, ll_add(ll_size_bytes(&runner->nn->ops[i]->view.out[0]), LL_MEMORY_PLAN_ALIGN));
    return bytes;
}

static void touch(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    memset((char *)context + begin, 0, end - begin);
}

/* Values, then the kernels' workspace, then staged input: one mapping, in huge pages where there are any. */
static enum ll_status take_memory(struct ll_runner *runner)
{
    if (!ll_memory_plan_make(runner->nn, &runner->arena, &runner->plan))
        return LL_NO_MEMORY;
    uint64_t values = runner->plan.total_bytes, workspace = workspace_bytes(runner);
    uint64_t padded = ll_mul(ll_ceil_div(workspace, LL_MEMORY_PLAN_ALIGN), LL_MEMORY_PLAN_ALIGN);
    runner->memory_bytes =
        ll_add(ll_add(values, padded), ll_add(staging_bytes(runner), LL_MEMORY_PLAN_ALIGN));
    if (!ll_fits(runner->memory_bytes))
        return LL_TOO_LARGE;
    if (runner->memory_bytes > ll_host_memory_bytes("")) /* it would be granted, and end the program later */
        return LL_NO_MEMORY;
    void *memory =
        mmap(NULL, runner->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return LL_NO_MEMORY;
    madvise(memory, runner->memory_bytes, MADV_HUGEPAGE); /* a wish: without it only the TLB suffers */
    runner->memory = memory;
    runner->workspace = runner->memory + values;
    ll_pool_run(runner->options.pool, runner->memory_bytes, 1 << 22, touch, runner->memory);
    char *staged = runner->memory + values + padded;
    for (uint64_t i = 0; i < runner->nn->op_count; i++)
        if (runner->nn->ops[i]->feed.fill) {
            runner->prepared[i].staged = staged;
            staged += ll_ceil_div(ll_size_bytes(&runner->nn->ops[i]->view.out[0]), LL_MEMORY_PLAN_ALIGN) *
                      LL_MEMORY_PLAN_ALIGN;
        }
    return LL_OK;
}

static void fill_variables(struct ll_runner *runner)
{
    for (uint64_t i = 0; i < runner->nn->value_count; i++) {
        const struct ll_value *value = runner->nn->values[i];
        if (!value->producer)
            ll_init_fill(value, runner->options.seed, runner->options.pool, ll_runner_data(runner, value));
    }
}

/* Takes `bytes` from `*at` on, for a copy of as many. */
static void *put(char **at, const void *from, uint64_t bytes)
{
    void *there = *at;
    if (bytes > 0)
        memcpy(there, from, bytes);
    *at += bytes;
    return there;
}

/* A copy of the op's description, and room for pointers to its operands: side by side, so that all that a
 * kernel reads of an op can be fetched ahead. It is all made of 64-bit words. NULL: no memory. */
static char *describe(struct ll_arena *arena, const struct ll_op_view *op, struct prepared *prepared)
{
    uint64_t in_bytes = op->input_count * sizeof *op->in, out_bytes = op->output_count * sizeof *op->out;
    uint64_t attr_bytes = op->attr_count * sizeof *op->attrs;
    uint64_t pointer_bytes = (op->input_count + UINT64_C(1) + op->output_count) * sizeof(void *);
    prepared->described_bytes = sizeof *op + in_bytes + out_bytes + attr_bytes + pointer_bytes;
    char *at = ll_alloc(arena, 1, prepared->described_bytes);
    if (!at)
        return NULL;
    struct ll_op_view *view = put(&at, op, sizeof *op);
    view->in = put(&at, op->in, in_bytes);
    view->out = put(&at, op->out, out_bytes);
    view->attrs = put(&at, op->attrs, attr_bytes);
    prepared->call.op = view;
    return at;
}

static enum ll_status prepare_kernel(struct ll_runner *runner, const struct ll_nn_op *op,
                                     struct prepared *prepared)
{
    uint32_t inputs = op->view.input_count, outputs = op->view.output_count;
    char *pointers = describe(&runner->arena, &op->view, prepared);
    if (!pointers)
        return LL_NO_MEMORY;
    const void **in = (const void **)pointers;
    void **out = (void **)pointers + inputs + 1;
    for (uint32_t i = 0; i < inputs; i++)
        in[i] = runner->memory + runner->plan.offset[op->inputs[i]->index];
    for (uint32_t i = 0; i < outputs; i++)
        out[i] = runner->memory + runner->plan.offset[op->outputs[i]->index];
    if (prepared->staged)
        in[0] = prepared->staged;
    prepared->kernel = ll_kernel_of(op->view.kind, runner->nn->real);
    prepared->call = (struct ll_kernel_call){
        prepared->call.op, in, out, runner->options.pool, runner->workspace, &runner->strayed};
    assert(prepared->kernel);
    return LL_OK;
}

static uint32_t desc_of(struct ll_runner *runner, const struct ll_value *value)
{
    return ll_recorder_desc(runner->recorder, value->name, &value->shape, value->memory);
}

/* The record of an op, made once and given to the recorder at each step: numbers of values stay, numbers of
 * tensors are filled in by record_op. */
static enum ll_status prepare_record(struct ll_runner *runner, const struct ll_nn_op *op,
                                     struct prepared *prepared)
{
    uint64_t inputs = op->view.input_count, count = op->view.output_count;
    uint32_t *numbers = ll_alloc(&runner->arena, 2 * (inputs + count), sizeof *numbers);
    if (!numbers)
        return LL_NO_MEMORY;
    uint32_t *input_values = numbers + inputs, *output_values = input_values + inputs;
    uint32_t *outputs = output_values + count;
    for (uint64_t i = 0; i < inputs; i++)
        input_values[i] = op->inputs[i]->index;
    for (uint64_t i = 0; i < count; i++) {
        output_values[i] = op->outputs[i]->index;
        outputs[i] = desc_of(runner, op->outputs[i]);
    }
    prepared->inputs = numbers;
    prepared->input_values = input_values;
    prepared->output_values = output_values;
    prepared->record = (struct ll_record){
        .lasting = true,
        .kind = op->view.kind,
        .phase = op->phase,
        .scope = ll_recorder_string(runner->recorder, op->scope),
        .inputs = prepared->inputs,
        .input_count = op->view.input_count,
        .outputs = outputs,
        .output_count = op->view.output_count,
        .attrs = op->view.attrs,
        .attr_count = op->view.attr_count,
    };
    return LL_OK;
}

static void record_variables(struct ll_runner *runner)
{
    for (uint64_t i = 0; i < runner->nn->value_count; i++) {
        const struct ll_value *value = runner->nn->values[i];
        if (!value->producer)
            runner->tensors[i] = ll_recorder_tensor(runner->recorder, desc_of(runner, value));
    }
}

static enum ll_status prepare(struct ll_runner *runner)
{
    enum ll_status status = LL_OK;
    runner->prepared = ll_alloc(&runner->arena, runner->nn->op_count, sizeof *runner->prepared);
    if (!runner->prepared)
        return LL_NO_MEMORY;
    if (runner->options.dry_run)
        return LL_OK;
    if (runner->nn->driver.prepare &&
        (status = runner->nn->driver.prepare(runner->nn->driver.context)) != LL_OK)
        return status;
    if ((status = ll_blas_open()) != LL_OK || (status = take_memory(runner)) != LL_OK)
        return status;
    fill_variables(runner);
    for (uint64_t i = 0; i < runner->nn->op_count && status == LL_OK; i++)
        status = prepare_kernel(runner, runner->nn->ops[i], &runner->prepared[i]);
    return status;
}

enum ll_status ll_runner_record(struct ll_runner *runner, struct ll_recorder *recorder)
{
    enum ll_status status = LL_OK;
    assert(!runner->recorder);
    runner->recorder = recorder;
    runner->tensors = ll_alloc(&runner->arena, runner->nn->value_count, sizeof *runner->tensors);
    if (!runner->tensors)
        return LL_NO_MEMORY;
    if (!runner->options.dry_run)
        ll_recorder_reads_clock(recorder);
    record_variables(runner);
    for (uint64_t i = 0; i < runner->nn->op_count && status == LL_OK; i++)
        status = prepare_record(runner, runner->nn->ops[i], &runner->prepared[i]);
    return status;
}

struct ll_runner *ll_runner_new(struct ll_nn *nn, const struct ll_runner_options *options,
                                enum ll_status *status)
{
    assert(!ll_nn_trouble(nn));
    struct ll_runner *runner = calloc(1, sizeof *runner);
    *status = LL_NO_MEMORY;
    if (!runner)
        return NULL;
    runner->nn = nn;
    runner->options = *options;
    *status = prepare(runner);
    if (*status == LL_OK)
        return runner;
    ll_runner_free(runner);
    return NULL;
}

void ll_runner_free(struct ll_runner *runner)
{
    if (!runner)
        return;
    if (runner->memory)
        munmap(runner->memory, runner->memory_bytes);
    ll_arena_release(&runner->arena);
    free(runner);
}

static void fill_feeds(struct ll_runner *runner, struct stretch ops, uint64_t step)
{
    for (uint64_t i = ops.begin; i < ops.end; i++) {
        const struct ll_nn_op *op = runner->nn->ops[i];
        if (runner->prepared[i].staged)
            op->feed.fill(&op->feed, step, &op->view.out[0], runner->prepared[i].staged);
    }
}

static void record_op(struct ll_runner *runner, struct prepared *prepared, uint64_t start_ns,
                      uint64_t duration_ns)
{
    for (uint32_t i = 0; i < prepared->record.input_count; i++)
        prepared->inputs[i] = runner->tensors[prepared->input_values[i]];
    prepared->record.start_ns = start_ns;
    prepared->record.duration_ns = duration_ns;
    uint32_t first = ll_recorder_op(runner->recorder, &prepared->record);
    for (uint32_t i = 0; i < prepared->record.output_count; i++)
        runner->tensors[prepared->output_values[i]] = first == LL_NONE ? LL_NONE : first + i;
}

/* A variable is from now on what the program says: overwritten in place, or copied from another value. What
 * was not recorded has left no tensors. */
static void carry_over(struct ll_runner *runner, uint32_t program, bool recorded)
{
    struct stretch carries = carries_of(runner->nn, program);
    for (uint64_t i = carries.begin; i < carries.end; i++) {
        const struct ll_value *variable = runner->nn->carries[i].variable,
                              *value = runner->nn->carries[i].value;
        if (recorded)
            runner->tensors[variable->index] = runner->tensors[value->index];
        if (runner->memory && value->root != variable)
            memcpy(ll_runner_data(runner, variable), ll_runner_data(runner, value),
                   ll_size_bytes(&variable->shape));
    }
}

/* As much of it as there is of most ops. Without the empty asm, compilers see a function that returns nothing
 * and changes nothing, and leave out its calls (gcc 12 did). */
static void fetch(const void *from, uint64_t bytes)
{
    enum { LINE = 64, MOST_BYTES = 32 * LINE };
    for (uint64_t at = 0; at < ll_min(bytes, MOST_BYTES); at += LINE)
        __builtin_prefetch((const char *)from + at);
    __asm__ volatile("");
}

/* What is known of ops that come soon. In a network of thousands of ops it has left the caches since the last
 * step: small ones then took two or three times the memory's latency more (Zen 5: 140 to 250 in place of 30
 * to 60 ns). */
static void fetch_ahead(const struct ll_runner *runner, uint64_t op, uint64_t end)
{
    enum { AHEAD = 4 };
    const struct prepared *prepared = runner->prepared;
    if (end - op > 2 * AHEAD)
        fetch(&prepared[op + 2 * AHEAD], sizeof *prepared);
    if (end - op > AHEAD) {
        const struct prepared *soon = &prepared[op + AHEAD];
        const struct ll_record *record = &soon->record;
        fetch(soon->call.op, soon->described_bytes);
        fetch(soon->inputs, 2 * (record->input_count + record->output_count) * sizeof *soon->inputs);
    }
}

void ll_runner_run(struct ll_runner *runner, uint32_t program, uint64_t step)
{
    struct stretch ops = ops_of(runner->nn, program);
    if (runner->options.dry_run)
        return;
    fill_feeds(runner, ops, step);
    for (uint64_t i = ops.begin; i < ops.end; i++) {
        fetch_ahead(runner, i, ops.end);
        runner->prepared[i].kernel(&runner->prepared[i].call);
    }
    carry_over(runner, program, false);
}

enum copying { COUNT, SAVE, PUT_BACK };

/* Copies the variables that these ops overwrite to `saved`, or back from there, or only counts; how many
 * bytes these are, some counted twice. */
static uint64_t copy_overwritten(const struct ll_runner *runner, struct stretch ops, enum copying how,
                                 char *saved)
{
    uint64_t bytes = 0;
    for (uint64_t i = ops.begin; i < ops.end; i++) {
        const struct ll_nn_op *op = runner->nn->ops[i];
        for (uint32_t j = 0; j < op->view.output_count; j++) {
            const struct ll_value *value = op->outputs[j], *variable = value->root;
            if (variable->producer || value->version == 0)
                continue;
            uint64_t size = ll_size_bytes(&variable->shape);
            char *there = (char *)runner->memory + runner->plan.offset[variable->index];
            if (how == SAVE)
                memcpy(saved + bytes, there, size);
            else if (how == PUT_BACK)
                memcpy(there, saved + bytes, size);
            bytes = ll_add(bytes, size);
        }
    }
    return bytes;
}

/* What the first step would pay for: code is read in, libraries take their buffers, threads wake up, caches
 * fill. That counts where a step is short; then variables are few, and soon put back as they were. The others
 * stay where they are in the caches. */
static void rehearse(struct ll_runner *runner, struct stretch ops)
{
    static const uint64_t most_bytes = UINT64_C(64) << 20, enough_ns = 20000000, most_ns = 100000000;
    uint64_t begin_ns = ll_now_ns(), passed_ns = 0;
    bool small = runner->plan.total_bytes <= most_bytes;
    char *saved = small ? malloc(ll_max(1, copy_overwritten(runner, ops, COUNT, NULL))) : NULL;
    if (!saved)
        return;
    copy_overwritten(runner, ops, SAVE, saved);
    do {
        uint64_t i = ops.begin;
        for (; i < ops.end && passed_ns < most_ns; i++, passed_ns = ll_now_ns() - begin_ns)
            runner->prepared[i].kernel(&runner->prepared[i].call);
        runner->rehearsed |= i == ops.end;
        passed_ns = ll_now_ns() - begin_ns;
    } while (passed_ns < enough_ns);
    copy_overwritten(runner, ops, PUT_BACK, saved);
    free(saved);
}

/* Looks for a good moment, for so many nanoseconds, which are no part of the step. */
static uint64_t pause_step(struct ll_runner *runner, uint64_t now_ns)
{
    uint64_t paused_ns = ll_pool_settle(runner->options.pool, now_ns);
    if (runner->recorder && paused_ns > 0)
        ll_recorder_pause(runner->recorder, paused_ns);
    return paused_ns;
}

static double time_ops(struct ll_runner *runner, struct stretch ops)
{
    struct ll_recorder *recorder = runner->recorder;
    bool native = !runner->options.dry_run;
    uint64_t begin_ns = native ? ll_now_ns() : 0, now_ns = begin_ns;
    for (uint64_t i = ops.begin; i < ops.end; i++) {
        struct prepared *prepared = &runner->prepared[i];
        begin_ns += native ? pause_step(runner, now_ns) : 0;
        if (native)
            fetch_ahead(runner, i, ops.end);
        uint64_t start_ns = native ? ll_now_ns() : 0;
        if (native)
            prepared->kernel(&prepared->call);
        now_ns = native ? ll_now_ns() : 0;
        if (recorder)
            record_op(runner, prepared, start_ns, now_ns - start_ns);
    }
    return (double)(now_ns - begin_ns) * 1e-9;
}

double ll_runner_step(struct ll_runner *runner, uint64_t step)
{
    const struct ll_driver *driver = &runner->nn->driver;
    uint32_t program = driver->begin_step ? driver->begin_step(driver->context, runner, step) : 0;
    struct stretch ops = ops_of(runner->nn, program);
    if (!runner->options.dry_run)
        fill_feeds(runner, ops, step);
    ll_pool_settle(runner->options.pool, ll_now_ns());
    enum ll_denormals before = ll_denormals();
    ll_set_denormals(LL_DENORMALS_ZERO);
    if (runner->options.rehearse && runner->op_count == 0) {
        rehearse(runner, ops);
        ll_pool_settle(runner->options.pool, ll_now_ns()); /* so that no look is due within a short step */
    }
    if (runner->recorder)
        ll_recorder_step_begin(runner->recorder);
    double time_s = time_ops(runner, ops);
    ll_set_denormals(before);
    if (runner->recorder)
        ll_recorder_step_end(runner->recorder);
    carry_over(runner, program, runner->recorder != NULL);
    runner->program = program;
    runner->op_count += ops.end - ops.begin;
    return time_s;
}

bool ll_runner_rehearsed(const struct ll_runner *runner)
{
    return runner->rehearsed;
}

uint64_t ll_runner_ops(const struct ll_runner *runner)
{
    return runner->op_count;
}

enum ll_status ll_runner_status(const struct ll_runner *runner)
{
    if (atomic_load_explicit(&runner->strayed, memory_order_relaxed))
        return LL_STRAY_INDEX;
    return ll_memory_ran_out() ? LL_NO_MEMORY : LL_OK; /* who feeds data cannot say so itself */
}

double ll_runner_result(const struct ll_runner *runner)
{
    const struct ll_value *result = runner->nn->programs[runner->program].result;
    return result ? ll_runner_scalar(runner, result) : NAN;
}
