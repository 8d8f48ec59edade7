/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace holds, summed over its complete steps. The second section counts as Catamount does, with its
 * own rules of FLOPs and bytes per op kind. */
#include "tracer/ir/profile.h"

#include <stdlib.h>

#include "tracer/base/map.h"

/* Complete steps follow one another unless something between them was lost; a hole ends the range. */
struct ll_step ll_trace_typical_step(const struct ll_trace *trace)
{
    for (uint64_t i = 0; i < trace->step_count; i++)
        if (trace->steps[i].complete)
            return trace->steps[i];
    return trace->step_count ? trace->steps[0] : (struct ll_step){0};
}

void ll_trace_range(const struct ll_trace *trace, uint32_t *first_op, uint32_t *end_op, uint64_t *steps)
{
    *first_op = 0;
    *end_op = (uint32_t)trace->op_count;
    *steps = 0;
    for (uint64_t i = 0; i < trace->step_count; i++) {
        const struct ll_step *step = &trace->steps[i];
        if (!step->complete || (*steps && step->first_op != *end_op))
            continue;
        if (*steps == 0)
            *first_op = step->first_op;
        *end_op = step->first_op + step->op_count;
        ++*steps;
    }
}

static int by_weight(const void *left, const void *right)
{
    const struct ll_kind_total *a = left, *b = right;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? 1 : -1;
    if (a->flops != b->flops)
        return a->flops < b->flops ? 1 : -1;
    return a->order < b->order ? -1 : 1;
}

/* Behind a hole a weight that a lost op wrote seems to be brought anew, once for each hole: there only those
 * count that a usual step reads. LL_NO_FIT when memory ran out. */
static uint64_t count_parameters_of_step(const struct ll_trace *trace)
{
    const struct ll_step step = ll_trace_typical_step(trace);
    bool *met = calloc(trace->storage_count + 1, sizeof *met);
    uint64_t parameters = met ? 0 : LL_NO_FIT;
    for (uint32_t op = step.first_op; met && op < step.first_op + step.op_count; op++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
        for (uint32_t i = 0; i < signature->view.input_count; i++) {
            const struct ll_tensor *tensor = &trace->tensors[ll_op_input(trace, op, i)];
            if (trace->descs[tensor->desc].memory == LL_WEIGHT && !met[tensor->storage])
                parameters = ll_add(parameters, ll_elements(&trace->descs[tensor->desc].shape));
            met[tensor->storage] |= trace->descs[tensor->desc].memory == LL_WEIGHT;
        }
    }
    free(met);
    return parameters;
}

static uint64_t count_parameters(const struct ll_trace *trace)
{
    uint64_t parameters = 0;
    if (ll_trace_has_holes(trace))
        return count_parameters_of_step(trace);
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        const struct ll_tensor *tensor = &trace->tensors[i];
        if (tensor->producer == LL_NONE && trace->descs[tensor->desc].memory == LL_WEIGHT)
            parameters = ll_add(parameters, ll_elements(&trace->descs[tensor->desc].shape));
    }
    return parameters;
}

/* LL_NO_ID when memory ran out. */
static uint32_t row_number(struct ll_map *rows, const struct ll_op_signature *signature)
{
    const uint32_t key[2] = {signature->kind_name, signature->phase};
    return ll_map_intern(rows, key, sizeof key, NULL);
}

static void add_op(struct ll_kind_total *total, uint32_t row, const struct ll_trace *trace,
                   const struct ll_op *op)
{
    const struct ll_op_signature *signature = &trace->signatures[op->signature];
    total->kind = trace->strings[signature->kind_name];
    total->op_kind = signature->view.kind;
    total->phase = signature->phase;
    total->order = row;
    total->count += 1;
    total->flops += (double)signature->flops;
    total->bytes += (double)signature->bytes_read + (double)signature->bytes_written;
    total->time_s += (double)op->duration_ns * 1e-9;
}

/* The first step interns every form and costs more than all that follow: the median step is the usual one. */
static bool sum_steps(const struct ll_trace *trace, struct ll_profile *profile)
{
    double *costs_ns = malloc((trace->step_count + 1) * sizeof *costs_ns);
    uint64_t count = 0;
    for (uint64_t i = 0; costs_ns && i < trace->step_count; i++) {
        const struct ll_step *step = &trace->steps[i];
        profile->recording_s += (double)step->recording_ns * 1e-9;
        if (!step->complete || step->op_count == 0)
            continue;
        profile->wall_s += (double)step->wall_ns * 1e-9;
        costs_ns[count++] = (double)step->recording_ns / step->op_count;
    }
    if (count) {
        ll_sort_numbers(costs_ns, count);
        profile->record_ns_per_op = costs_ns[count / 2];
    }
    free(costs_ns);
    return costs_ns != NULL;
}

const struct ll_profile *ll_profile(const struct ll_trace *trace, struct ll_arena *arena)
{
    struct ll_profile *profile = ll_alloc(arena, 1, sizeof *profile);
    struct ll_kind_total *kinds = ll_alloc(arena, trace->signature_count + 1, sizeof *kinds);
    if (!profile || !kinds)
        return NULL;
    uint32_t first, end;
    ll_trace_range(trace, &first, &end, &profile->steps);
    struct ll_map rows = {0};
    uint32_t *row_of = malloc((trace->signature_count + 1) * sizeof *row_of); /* by signature */
    bool all = row_of != NULL;
    for (uint64_t i = 0; all && i < trace->signature_count; i++)
        row_of[i] = LL_NO_ID;
    for (uint32_t i = first; all && i < end; i++) {
        const uint32_t signature = trace->ops[i].signature;
        if (row_of[signature] == LL_NO_ID)
            row_of[signature] = row_number(&rows, &trace->signatures[signature]);
        all = row_of[signature] != LL_NO_ID;
        if (all)
            add_op(&kinds[row_of[signature]], row_of[signature], trace, &trace->ops[i]);
    }
    free(row_of);
    if (!all) {
        ll_map_release(&rows);
        return NULL;
    }
    double per_step = profile->steps ? 1 / (double)profile->steps : 1;
    for (uint32_t i = 0; i < rows.count; i++) {
        profile->ops += kinds[i].count *= per_step;
        profile->flops += kinds[i].flops *= per_step;
        profile->bytes += kinds[i].bytes *= per_step;
        profile->ops_time_s += kinds[i].time_s *= per_step;
    }
    for (uint32_t i = 0; i < rows.count; i++)
        kinds[i].share = profile->ops_time_s > 0 ? kinds[i].time_s / profile->ops_time_s : 0;
    qsort(kinds, rows.count, sizeof *kinds, by_weight);
    bool summed = sum_steps(trace, profile);
    profile->wall_s *= per_step;
    profile->parameters = count_parameters(trace);
    profile->kinds = kinds;
    profile->kind_count = rows.count;
    ll_map_release(&rows);
    return summed && ll_fits(profile->parameters) ? profile : NULL;
}

typedef uint64_t rule(const struct ll_op_view *op);

static uint64_t none(const struct ll_op_view *op)
{
    (void)op;
    return 0;
}

static uint64_t inputs(const struct ll_op_view *op)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < op->input_count; i++)
        bytes = ll_add(bytes, ll_size_bytes(&op->in[i]));
    return bytes;
}

static uint64_t outputs(const struct ll_op_view *op)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < op->output_count; i++)
        bytes = ll_add(bytes, ll_size_bytes(&op->out[i]));
    return bytes;
}

static uint64_t all(const struct ll_op_view *op)
{
    return ll_add(inputs(op), outputs(op));
}

static uint64_t each_in(const struct ll_op_view *op)
{
    return ll_elements(&op->in[0]);
}

static uint64_t three_each_in(const struct ll_op_view *op)
{
    return ll_mul(3, ll_elements(&op->in[0]));
}

static uint64_t three(const struct ll_op_view *op)
{
    (void)op;
    return 3;
}

static uint64_t inputs_twice(const struct ll_op_view *op)
{
    return ll_add(inputs(op), all(op));
}

/* The filter and what it covers, over the stride: of every place of the forward op's input. */
static uint64_t over_stride(const struct ll_op_view *op, const struct ll_shape *x,
                            const struct ll_shape *filter)
{
    int64_t stride_h = ll_attr_count(op, LL_ATTR_STRIDE_H, 1),
            stride_w = ll_attr_count(op, LL_ATTR_STRIDE_W, 1);
    uint64_t window = ll_mul(ll_mul(filter->dim[0], filter->dim[1]), filter->dim[3]);
    uint64_t flops = ll_mul(ll_mul(2, ll_elements(x)), window);
    return ll_fits(flops) ? flops / (uint64_t)stride_h / (uint64_t)stride_w : flops;
}

static uint64_t conv_data(const struct ll_op_view *op)
{
    return over_stride(op, &op->out[0], &op->in[1]);
}

static uint64_t conv_filter(const struct ll_op_view *op)
{
    return over_stride(op, &op->in[0], &op->out[0]);
}

/* The window, for each result of the forward op. */
static uint64_t pool_grad(const struct ll_op_view *op)
{
    uint64_t window = ll_mul((uint64_t)ll_attr_count(op, LL_ATTR_KERNEL_H, 1),
                             (uint64_t)ll_attr_count(op, LL_ATTR_KERNEL_W, 1));
    return ll_mul(window, ll_elements(&op->in[0]));
}

/* The condition, one of the branches, and the result. */
static uint64_t one_branch(const struct ll_op_view *op)
{
    return ll_add(ll_add(ll_size_bytes(&op->in[0]), ll_size_bytes(&op->in[1])), outputs(op));
}

/* The numbers of the rows; the rows where they lie and where they go. */
static uint64_t rows_twice(const struct ll_op_view *op)
{
    return ll_add(ll_size_bytes(&op->in[1]), ll_mul(2, outputs(op)));
}

/* What changes is read with all else and written once; so is the rate, a scalar. */
static uint64_t updated(const struct ll_op_view *op)
{
    return ll_add(ll_add(inputs(op), ll_size_bytes(&op->out[0])), ll_dtype_bytes(op->in[0].dtype));
}

/* A moving average is a difference, its product with the rate and what takes that off: three ops. */
static uint64_t three_ops(const struct ll_op_view *op)
{
    return ll_mul(8, ll_size_bytes(&op->in[0]));
}

static uint64_t three_results(const struct ll_op_view *op)
{
    return ll_mul(3, ll_size_bytes(&op->in[0]));
}

static uint64_t two_each(const struct ll_op_view *op)
{
    return ll_mul(2, ll_elements(&op->in[0]));
}

static uint64_t four_each(const struct ll_op_view *op)
{
    return ll_mul(4, ll_elements(&op->in[0]));
}

/* Of rows that change TensorFlow first makes the product with the rate, then takes it off: a product that
 * reads and writes, three times the rows and their numbers. */
static uint64_t two_each_row(const struct ll_op_view *op)
{
    return ll_mul(2, ll_elements(&op->in[1]));
}

static uint64_t scaled_and_updated(const struct ll_op_view *op)
{
    uint64_t rate = ll_dtype_bytes(op->in[1].dtype);
    return ll_add(ll_add(ll_mul(5, ll_size_bytes(&op->in[1])), rate), ll_size_bytes(&op->in[2]));
}

static uint64_t scaled_rows(const struct ll_op_view *op)
{
    return ll_size_bytes(&op->in[1]);
}

/* What is not as the op table says, all inputs and outputs, all outputs. */
static const struct {
    rule *flops, *bytes, *footprint;
} rules[LL_OP_NONE] = {
    [LL_OP_CONV2D_DATA] = {conv_data, NULL, NULL},
    [LL_OP_CONV2D_FILTER] = {conv_filter, NULL, NULL},
    [LL_OP_SUM] = {each_in, NULL, NULL},
    [LL_OP_MAX] = {each_in, NULL, NULL},
    [LL_OP_MEAN] = {each_in, NULL, NULL},
    [LL_OP_BIAS_GRAD] = {each_in, NULL, NULL},
    [LL_OP_SOFTMAX] = {three_each_in, inputs_twice, all},
    [LL_OP_SOFTMAX_XENT] = {three_each_in, NULL, NULL},
    [LL_OP_MAX_POOL_GRAD] = {pool_grad, NULL, NULL},
    [LL_OP_L2_LOSS] = {three, NULL, NULL},
    [LL_OP_SELECT] = {each_in, one_branch, NULL},
    [LL_OP_GATHER] = {NULL, rows_twice, NULL},
    [LL_OP_SGD] = {two_each, updated, none},
    [LL_OP_SGD_ROWS] = {two_each_row, scaled_and_updated, scaled_rows},
    [LL_OP_MOMENTUM] = {four_each, updated, none},
    [LL_OP_MOVING_AVERAGE] = {NULL, three_ops, three_results},
    [LL_OP_UNSTACK] = {none, none, none},
    [LL_OP_RANDOM_UNIFORM] = {none, NULL, NULL},
    [LL_OP_RANDOM_NORMAL] = {none, NULL, NULL},
};

/* What each step of a loop does beside its work: three counters go on, two bounds are looked at and both must
 * hold; going backward a counter, a bound and the sum of two flows. The rest of the bytes are those of the
 * constants that a step reads; they differ from loop to loop and are here as in an LSTM's. */
static const struct ll_account step_forward = {6, 151, 96}, step_backward = {3, 283, 50};

static struct ll_account control(const struct ll_op_view *op, enum ll_phase phase)
{
    const struct ll_account step = phase == LL_PHASE_BACKWARD ? step_backward : step_forward;
    const uint64_t steps = op->input_count;
    return (struct ll_account){ll_mul(step.flops, steps), ll_mul(step.bytes, steps),
                               ll_mul(step.footprint_bytes, steps)};
}

struct ll_account ll_catamount_op(const struct ll_op_view *op, enum ll_phase phase)
{
    if (op->kind == LL_OP_NONE)
        return (struct ll_account){0};
    if (op->kind == LL_OP_STACK)
        return control(op, phase);
    rule *flops = rules[op->kind].flops, *bytes = rules[op->kind].bytes;
    rule *footprint = rules[op->kind].footprint;
    return (struct ll_account){
        .flops = flops ? flops(op) : ll_op_flops(op),
        .bytes = bytes ? bytes(op) : all(op),
        .footprint_bytes = footprint ? footprint(op) : outputs(op),
    };
}

/* Weights and the optimizer's state, each once: those of the model, whatever was left in them later. */
static void add_variables(const struct ll_trace *trace, struct ll_accounts *accounts)
{
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        const struct ll_tensor_desc *desc = &trace->descs[trace->tensors[i].desc];
        bool variable = desc->memory == LL_WEIGHT || desc->memory == LL_OPTIMIZER;
        if (trace->tensors[i].producer != LL_NONE || !variable)
            continue;
        if (desc->memory == LL_WEIGHT)
            accounts->parameters = ll_add(accounts->parameters, ll_elements(&desc->shape));
        accounts->footprint_bytes = ll_add(accounts->footprint_bytes, ll_size_bytes(&desc->shape));
    }
}

static void count_op(const struct ll_account *op, struct ll_accounts *accounts)
{
    accounts->flops = ll_add(accounts->flops, op->flops);
    accounts->bytes = ll_add(accounts->bytes, op->bytes);
    accounts->footprint_bytes = ll_add(accounts->footprint_bytes, op->footprint_bytes);
}

bool ll_catamount(const struct ll_trace *trace, struct ll_accounts *accounts)
{
    struct ll_arena arena = {0};
    struct ll_account *signatures = ll_alloc(&arena, trace->signature_count, sizeof *signatures);
    *accounts = (struct ll_accounts){0};
    for (uint64_t i = 0; signatures && i < trace->signature_count; i++)
        signatures[i] = ll_catamount_op(&trace->signatures[i].view, trace->signatures[i].phase);
    if (signatures)
        add_variables(trace, accounts);
    const struct ll_step step = ll_trace_typical_step(trace);
    for (uint32_t i = 0; signatures && i < step.op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[step.first_op + i].signature];
        count_op(&signatures[signature - trace->signatures], accounts);
        if (signature->view.kind == LL_OP_HOST_INPUT)
            accounts->io_bytes = ll_add(accounts->io_bytes, outputs(&signature->view));
    }
    ll_arena_release(&arena);
    return signatures != NULL;
}
