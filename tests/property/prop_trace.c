/* SPDX-License-Identifier: Apache-2.0 */
/* Random recordings against a dumb twin: a list of everything that was told to the recorder, and dependencies
 * by their definition. */
#include "check.h"

#include "random.h"
#include "tracer/format/reader.h"
#include "tracer/record/recorder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPS = 400, TENSORS = 4 * OPS + 100, DESCS = 6, SCOPES = 5 };

struct told_op {
    enum ll_op_kind kind;
    enum ll_phase phase;
    uint32_t scope, thread, step, input_count, output_count, control_count, attr_count, first_output;
    uint32_t inputs[4], outputs[4], controls[3];
    struct ll_attr attrs[2];
    uint64_t start_ns, duration_ns;
    bool overwrites; /* output i is written over input i */
};

struct told {
    uint64_t random;
    struct ll_recorder *recorder;
    uint32_t descs[DESCS], scopes[SCOPES];
    struct told_op ops[OPS];
    uint32_t op_count, tensor_count, storage_count, step;
    uint32_t desc_of[TENSORS], storage_of[TENSORS], producer_of[TENSORS];
};

static const char *const desc_names[DESCS] = {"a", "b", "c", "d", "e", "\xC3\xA9 \"quoted\""};
static const char *const scope_names[SCOPES] = {"", "encoder", "encoder/layer0", "decoder", "update"};

/* All tensors are matrices of 4 by 4: any op of the list fits any of them. */
static struct ll_shape shape_of(uint32_t desc)
{
    struct ll_shape shape = {.dtype = LL_F32, .rank = 2, .dim = {4, 4}};
    shape.role[0] = (uint8_t)(desc % LL_ROLE_COUNT);
    return shape;
}

static uint32_t draw(struct told *told, uint32_t limit)
{
    return (uint32_t)ll_random_below(&told->random, limit);
}

static void add_tensor(struct told *told, uint32_t desc, uint32_t storage, uint32_t producer)
{
    told->desc_of[told->tensor_count] = desc;
    told->storage_of[told->tensor_count] = storage == LL_NONE ? told->storage_count++ : storage;
    told->producer_of[told->tensor_count++] = producer;
}

static void bring_tensor(struct told *told)
{
    uint32_t desc = draw(told, DESCS);
    assert_int_equal(ll_recorder_tensor(told->recorder, told->descs[desc]), told->tensor_count);
    add_tensor(told, desc, LL_NONE, LL_NONE);
}

/* Kinds with their numbers of inputs and outputs; what becomes of storages stands in op_table.def too. */
static const struct kind {
    enum ll_op_kind kind;
    uint32_t inputs, outputs;
    bool view, overwrites;
} kinds[] = {
    {LL_OP_ADD, 2, 1, false, false},        {LL_OP_RELU, 1, 1, false, false},
    {LL_OP_MATMUL, 2, 1, false, false},     {LL_OP_MOMENTUM, 3, 2, false, true},
    {LL_OP_SGD, 2, 1, false, true},         {LL_OP_RESHAPE, 1, 1, true, false},
    {LL_OP_HOST_INPUT, 0, 3, false, false},
};

/* Recent tensors are read more often than old ones. */
static uint32_t some_tensor(struct told *told)
{
    uint32_t near = told->tensor_count < 10 ? told->tensor_count : 10;
    return draw(told, 3) ? told->tensor_count - 1 - draw(told, near) : draw(told, told->tensor_count);
}

static struct told_op make_op(struct told *told, uint64_t *clock_ns)
{
    const struct kind *kind = &kinds[draw(told, sizeof kinds / sizeof kinds[0])];
    struct told_op op = {
        .kind = kind->kind, .phase = draw(told, LL_PHASE_COUNT), .scope = draw(told, SCOPES)};
    op.step = told->step;
    op.thread = draw(told, 4) ? 0 : draw(told, 200);
    op.input_count = kind->inputs;
    op.output_count = kind->outputs;
    op.overwrites = kind->overwrites;
    for (uint32_t i = 0; i < op.input_count; i++)
        op.inputs[i] = some_tensor(told);
    for (uint32_t i = 0; i < op.output_count; i++)
        op.outputs[i] = draw(told, DESCS);
    op.control_count = told->op_count && draw(told, 5) == 0 ? 1 + draw(told, 3) : 0;
    for (uint32_t i = 0; i < op.control_count; i++)
        op.controls[i] = draw(told, told->op_count);
    if (kind->kind == LL_OP_MATMUL) {
        op.attr_count = 2;
        op.attrs[0] = (struct ll_attr){.key = LL_ATTR_TRANSPOSE_A, .count = draw(told, 2)};
        op.attrs[1] = (struct ll_attr){.key = LL_ATTR_ALPHA, .real = draw(told, 3) / 3.0};
    }
    *clock_ns += draw(told, 3000);
    op.start_ns = *clock_ns - draw(told, 500); /* ops of several threads begin out of order */
    op.duration_ns = draw(told, 100000);
    return op;
}

static void tell(struct told *told, uint64_t *clock_ns)
{
    struct told_op op = make_op(told, clock_ns);
    uint32_t outputs[4];
    for (uint32_t i = 0; i < op.output_count; i++)
        outputs[i] = told->descs[op.outputs[i]];
    struct ll_record record = {.kind = op.kind,
                               .phase = op.phase,
                               .scope = told->scopes[op.scope],
                               .thread = op.thread,
                               .inputs = op.inputs,
                               .input_count = op.input_count,
                               .outputs = outputs,
                               .output_count = op.output_count,
                               .attrs = op.attrs,
                               .attr_count = op.attr_count,
                               .controls = op.controls,
                               .control_count = op.control_count,
                               .start_ns = op.start_ns,
                               .duration_ns = op.duration_ns};
    op.first_output = ll_recorder_op(told->recorder, &record);
    assert_int_equal(op.first_output, told->tensor_count);
    for (uint32_t i = 0; i < op.output_count; i++) {
        bool shares = op.overwrites || op.kind == LL_OP_RESHAPE;
        add_tensor(told, op.outputs[i], shares ? told->storage_of[op.inputs[i]] : LL_NONE, told->op_count);
    }
    told->ops[told->op_count++] = op;
}

static void record(struct told *told, const char *path, uint64_t seed)
{
    enum ll_status status;
    memset(told, 0, sizeof *told);
    told->random = seed;
    told->recorder = ll_recorder_open(path, NULL, 0, &status);
    assert_non_null(told->recorder);
    for (uint32_t i = 0; i < DESCS; i++) {
        struct ll_shape shape = shape_of(i);
        told->descs[i] = ll_recorder_desc(told->recorder, desc_names[i], &shape, i % LL_MEMORY_COUNT);
    }
    for (uint32_t i = 0; i < SCOPES; i++)
        told->scopes[i] = ll_recorder_string(told->recorder, scope_names[i]);
    bring_tensor(told);
    uint64_t clock_ns = 1000000;
    ll_recorder_step_begin(told->recorder);
    for (uint32_t i = 0; i < OPS; i++) {
        if (draw(told, 20) == 0)
            bring_tensor(told);
        if (draw(told, 50) == 0) {
            ll_recorder_step_end(told->recorder);
            ll_recorder_step_begin(told->recorder);
            told->step++;
        }
        tell(told, &clock_ns);
    }
    assert_int_equal(ll_recorder_close(told->recorder), LL_OK);
}

static void compare_tensors(const struct told *told, const struct ll_trace *trace)
{
    assert_int_equal(trace->tensor_count, told->tensor_count);
    assert_int_equal(trace->storage_count, told->storage_count);
    for (uint32_t i = 0; i < told->tensor_count; i++) {
        const struct ll_tensor *tensor = &trace->tensors[i];
        const struct ll_tensor_desc *desc = &trace->descs[tensor->desc];
        struct ll_shape shape = shape_of(told->desc_of[i]);
        assert_string_equal(trace->strings[desc->name], desc_names[told->desc_of[i]]);
        assert_int_equal(desc->memory, told->desc_of[i] % LL_MEMORY_COUNT);
        assert_memory_equal(&desc->shape, &shape, sizeof shape);
        assert_int_equal(tensor->storage, told->storage_of[i]);
        assert_int_equal(tensor->producer, told->producer_of[i]);
    }
}

static void compare_op(const struct told *told, const struct ll_trace *trace, uint32_t i)
{
    const struct told_op *op = &told->ops[i];
    const struct ll_op *read = &trace->ops[i];
    const struct ll_op_signature *signature = &trace->signatures[read->signature];
    const struct ll_op_edges *links = &trace->edges[read->edges];
    assert_int_equal(signature->view.kind, op->kind);
    assert_string_equal(trace->strings[signature->kind_name], ll_op_name(op->kind));
    assert_string_equal(trace->strings[signature->scope], scope_names[op->scope]);
    assert_int_equal(signature->phase, op->phase);
    assert_int_equal(signature->view.input_count, op->input_count);
    assert_int_equal(signature->view.output_count, op->output_count);
    assert_int_equal(signature->view.attr_count, op->attr_count);
    assert_int_equal(links->control_count, op->control_count);
    for (uint32_t k = 0; k < op->input_count; k++)
        assert_int_equal(ll_op_input(trace, i, k), op->inputs[k]);
    for (uint32_t k = 0; k < op->output_count; k++)
        assert_int_equal(ll_op_output(trace, i, k), op->first_output + k);
    for (uint32_t k = 0; k < op->attr_count; k++)
        assert_memory_equal(&signature->view.attrs[k], &op->attrs[k], sizeof op->attrs[k]);
    for (uint32_t k = 0; k < op->control_count; k++)
        assert_int_equal(i - links->controls[k], op->controls[k]);
    assert_int_equal(signature->flops, ll_op_flops(&signature->view));
    assert_int_equal(read->thread, op->thread);
    assert_int_equal(read->step, op->step);
    assert_int_equal(read->duration_ns, op->duration_ns);
    uint64_t first_ns = told->ops[0].start_ns; /* a clock of its own: time begins with the first op */
    assert_int_equal(read->start_ns, op->start_ns > first_ns ? op->start_ns - first_ns : 0);
}

static bool reads(const struct told *told, uint32_t op, uint32_t storage)
{
    for (uint32_t i = 0; i < told->ops[op].input_count; i++)
        if (told->storage_of[told->ops[op].inputs[i]] == storage)
            return true;
    return false;
}

static bool writes(const struct told *told, uint32_t op, uint32_t storage)
{
    for (uint32_t i = 0; i < told->ops[op].output_count; i++)
        if (told->storage_of[told->ops[op].first_output + i] == storage &&
            told->ops[op].kind != LL_OP_RESHAPE)
            return true;
    return false;
}

/* By the definition in trace.h, one pair of ops at a time. */
static bool waits_for(const struct told *told, uint32_t op, uint32_t other)
{
    const struct told_op *later = &told->ops[op];
    for (uint32_t i = 0; i < later->input_count; i++)
        if (told->producer_of[later->inputs[i]] == other)
            return true;
    for (uint32_t i = 0; i < later->control_count; i++)
        if (later->controls[i] == other)
            return true;
    for (uint32_t i = 0; later->overwrites && i < later->output_count; i++) {
        uint32_t storage = told->storage_of[later->first_output + i];
        bool written_since = false;
        for (uint32_t between = other + 1; between < op; between++)
            written_since |= writes(told, between, storage);
        if (!written_since && (writes(told, other, storage) || reads(told, other, storage)))
            return true;
    }
    return false;
}

static void compare_deps(const struct told *told, const struct ll_trace *trace)
{
    struct ll_arena arena = {0};
    const struct ll_deps *deps = ll_trace_deps(trace, &arena);
    assert_non_null(deps);
    for (uint32_t op = 0; op < told->op_count; op++) {
        uint64_t next = deps->first[op];
        for (uint32_t other = 0; other < op; other++)
            if (waits_for(told, op, other)) {
                assert_true(next < deps->first[op + 1]);
                assert_int_equal(deps->ops[next++], other);
            }
        assert_int_equal(next, deps->first[op + 1]);
    }
    ll_arena_release(&arena);
}

static void random_recordings_are_read_as_they_were_told(void **state)
{
    (void)state;
    static struct told told;
    char path[64];
    uint64_t random = ll_seed(31);
    snprintf(path, sizeof path, "prop_trace-%ld.llt", (long)getpid());
    for (int round = 0; round < 20; round++) {
        record(&told, path, ll_random(&random));
        struct ll_diags diags = {0};
        enum ll_status status;
        struct ll_trace *trace = ll_trace_read(path, &diags, &status);
        unlink(path);
        assert_non_null(trace);
        assert_int_equal(diags.count, 0);
        assert_int_equal(trace->op_count, told.op_count);
        compare_tensors(&told, trace);
        for (uint32_t i = 0; i < told.op_count; i++)
            compare_op(&told, trace, i);
        compare_deps(&told, trace);
        ll_trace_free(trace);
        ll_diags_release(&diags);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_recordings_are_read_as_they_were_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
