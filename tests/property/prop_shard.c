/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks compute together is what one device computes: small networks, forward, backward and updated, are
 * carried out with plain loops, once as they are and once as the programs of all ranks in step, each with its
 * share of weights and inputs. Random sizes and values from printed seeds. */
#include "check.h"

#include "sim/parallel/shard.h"
#include "tracer/record/recorder.h"

#include <string.h>

enum { MOST_RANKS = 4, MOST_TENSORS = 256, MOST_LAYERS = 3 };

/* A network: x -> [W1, bias, relu, W2, bias, + x] layer after layer, normalised by nothing; the sum of the
 * result is what is minimised, so that ones flow back. */
struct net {
    struct ll_recorder *recorder;
    uint32_t scope;
    struct ll_shape shapes[MOST_TENSORS];
};

static uint32_t bring(struct net *net, const char *name, unsigned rank, const uint64_t *dims,
                      enum ll_role first, enum ll_memory_class memory)
{
    struct ll_shape shape = {.rank = (uint8_t)rank, .dtype = LL_F32};
    memcpy(shape.dim, dims, rank * sizeof *dims);
    shape.role[0] = (uint8_t)first;
    shape.role[rank - 1] = rank > 1 ? LL_ROLE_HIDDEN : shape.role[0];
    uint32_t tensor =
        ll_recorder_tensor(net->recorder, ll_recorder_desc(net->recorder, name, &shape, memory));
    net->shapes[tensor] = shape;
    return tensor;
}

static uint32_t apply(struct net *net, enum ll_op_kind kind, enum ll_phase phase, const uint32_t *inputs,
                      uint32_t count, const struct ll_attr *attr)
{
    struct ll_shape in[3], out[LL_MAX_OUTPUTS] = {0};
    for (uint32_t i = 0; i < count; i++)
        in[i] = net->shapes[inputs[i]];
    struct ll_op_view view = {kind, count, 0, attr ? 1 : 0, in, out, attr};
    assert_null(ll_op_infer(&view));
    assert_int_equal(view.output_count, 1);
    enum ll_memory_class memory = phase == LL_PHASE_FORWARD    ? LL_ACTIVATION
                                  : phase == LL_PHASE_BACKWARD ? LL_GRADIENT
                                                               : LL_WEIGHT;
    uint32_t desc = ll_recorder_desc(net->recorder, ll_op_name(kind), &out[0], memory);
    const struct ll_record record = {.kind = kind,
                                     .phase = phase,
                                     .scope = net->scope,
                                     .inputs = inputs,
                                     .input_count = count,
                                     .outputs = &desc,
                                     .output_count = 1,
                                     .attrs = attr,
                                     .attr_count = attr ? 1 : 0};
    uint32_t tensor = ll_recorder_op(net->recorder, &record);
    net->shapes[tensor] = out[0];
    return tensor;
}

struct layer {
    uint32_t w1, b1, w2, b2, x, inner, seen;
};

static struct ll_trace *record(uint64_t rows, uint64_t width, const uint64_t *inner, unsigned layers)
{
    static const struct ll_attr ta = {.key = LL_ATTR_TRANSPOSE_A, .count = 1},
                                tb = {.key = LL_ATTR_TRANSPOSE_B, .count = 1};
    const enum ll_phase forward = LL_PHASE_FORWARD, back = LL_PHASE_BACKWARD, update = LL_PHASE_UPDATE;
    struct net *net = calloc(1, sizeof *net);
    struct layer layer[MOST_LAYERS];
    enum ll_status status;
    net->recorder = ll_recorder_open_memory(NULL, 0, &status);
    net->scope = ll_recorder_string(net->recorder, "net");
    ll_recorder_step_begin(net->recorder);
    uint32_t x = bring(net, "x", 2, (uint64_t[]){rows, width}, LL_ROLE_BATCH, LL_INPUT);
    for (unsigned i = 0; i < layers; i++) {
        struct layer *l = &layer[i];
        l->w1 = bring(net, "w1", 2, (uint64_t[]){width, inner[i]}, LL_ROLE_HIDDEN, LL_WEIGHT);
        l->b1 = bring(net, "b1", 1, &inner[i], LL_ROLE_HIDDEN, LL_WEIGHT);
        l->w2 = bring(net, "w2", 2, (uint64_t[]){inner[i], width}, LL_ROLE_HIDDEN, LL_WEIGHT);
        l->b2 = bring(net, "b2", 1, &width, LL_ROLE_HIDDEN, LL_WEIGHT);
        l->x = x;
        uint32_t y = apply(net, LL_OP_MATMUL, forward, (uint32_t[]){x, l->w1}, 2, NULL);
        y = apply(net, LL_OP_BIAS_ADD, forward, (uint32_t[]){y, l->b1}, 2, NULL);
        l->inner = apply(net, LL_OP_RELU, forward, &y, 1, NULL);
        y = apply(net, LL_OP_MATMUL, forward, (uint32_t[]){l->inner, l->w2}, 2, NULL);
        y = apply(net, LL_OP_BIAS_ADD, forward, (uint32_t[]){y, l->b2}, 2, NULL);
        x = apply(net, LL_OP_ADD, forward, (uint32_t[]){x, y}, 2, NULL);
    }
    uint32_t dy = x; /* the gradient of the sum of squares, halved */
    for (unsigned i = layers; i-- > 0;) {
        struct layer *l = &layer[i];
        uint32_t db2 = apply(net, LL_OP_BIAS_GRAD, back, &dy, 1, NULL);
        uint32_t dz = apply(net, LL_OP_MATMUL, back, (uint32_t[]){dy, l->w2}, 2, &tb);
        uint32_t dw2 = apply(net, LL_OP_MATMUL, back, (uint32_t[]){l->inner, dy}, 2, &ta);
        dz = apply(net, LL_OP_RELU_GRAD, back, (uint32_t[]){dz, l->inner}, 2, NULL);
        uint32_t db1 = apply(net, LL_OP_BIAS_GRAD, back, &dz, 1, NULL);
        uint32_t dx = apply(net, LL_OP_MATMUL, back, (uint32_t[]){dz, l->w1}, 2, &tb);
        uint32_t dw1 = apply(net, LL_OP_MATMUL, back, (uint32_t[]){l->x, dz}, 2, &ta);
        dy = apply(net, LL_OP_ADD, back, (uint32_t[]){dy, dx}, 2, NULL);
        apply(net, LL_OP_SGD, update, (uint32_t[]){l->w1, dw1}, 2, NULL);
        apply(net, LL_OP_SGD, update, (uint32_t[]){l->b1, db1}, 2, NULL);
        apply(net, LL_OP_SGD, update, (uint32_t[]){l->w2, dw2}, 2, NULL);
        apply(net, LL_OP_SGD, update, (uint32_t[]){l->b2, db2}, 2, NULL);
    }
    struct ll_trace *trace = ll_recorder_take(net->recorder, &status);
    assert_non_null(trace);
    free(net);
    return trace;
}

/* Values of all tensors of a trace, on each rank. */
struct run {
    const struct ll_trace *trace;
    uint64_t ranks;
    double *values[MOST_RANKS][2 * MOST_TENSORS];
};

static const struct ll_shape *shape_of(const struct run *run, uint32_t tensor)
{
    return &run->trace->descs[run->trace->tensors[tensor].desc].shape;
}

/* Rows before and elements behind the first dimension in which two shapes differ; where they do not, one
 * block. */
struct blocks {
    uint64_t outer, inner;
};

static struct blocks blocks_of(const struct ll_shape *whole, const struct ll_shape *part)
{
    struct blocks blocks = {1, 1};
    unsigned i = 0;
    for (; i < whole->rank && whole->dim[i] == part->dim[i]; i++)
        blocks.outer *= whole->dim[i];
    for (unsigned k = i; k < part->rank; k++)
        blocks.inner *= part->dim[k];
    return blocks;
}

/* Copies a rank's share out of the whole, or into it. */
static void copy_share(double *whole, const struct ll_shape *all, double *share, const struct ll_shape *part,
                       uint64_t rank, bool out)
{
    struct blocks blocks = blocks_of(all, part);
    uint64_t ranks = ll_elements(all) / ll_elements(part);
    if (ranks == 1)
        rank = 0;
    for (uint64_t i = 0; i < blocks.outer; i++)
        for (uint64_t k = 0; k < blocks.inner; k++) {
            double *here = &whole[(i * ranks + rank) * blocks.inner + k],
                   *there = &share[i * blocks.inner + k];
            if (out)
                *there = *here;
            else
                *here = *there;
        }
}

static void multiply(const struct ll_op_view *op, const double *a, const double *b, double *c)
{
    bool ta = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0), tb = ll_attr_count(op, LL_ATTR_TRANSPOSE_B, 0);
    uint64_t m = op->out[0].dim[0], n = op->out[0].dim[1], k = op->in[0].dim[ta ? 0 : 1];
    for (uint64_t i = 0; i < m; i++)
        for (uint64_t j = 0; j < n; j++) {
            double sum = 0;
            for (uint64_t p = 0; p < k; p++)
                sum += (ta ? a[p * m + i] : a[i * k + p]) * (tb ? b[j * k + p] : b[p * n + j]);
            c[i * n + j] = sum;
        }
}

/* An op of one rank alone. */
static void compute(const struct ll_op_view *op, double *const *in, double *out)
{
    uint64_t count = ll_elements(&op->out[0]), last = op->in[0].dim[op->in[0].rank - 1];
    if (op->kind == LL_OP_MATMUL)
        multiply(op, in[0], in[1], out);
    for (uint64_t i = 0; i < count; i++)
        switch (op->kind) {
        case LL_OP_ADD:
            out[i] = in[0][i] + in[1][i];
            break;
        case LL_OP_BIAS_ADD:
            out[i] = in[0][i] + in[1][i % last];
            break;
        case LL_OP_RELU:
            out[i] = fmax(in[0][i], 0);
            break;
        case LL_OP_RELU_GRAD:
            out[i] = in[1][i] > 0 ? in[0][i] : 0;
            break;
        case LL_OP_SGD:
            out[i] = in[0][i] - 0.1 * in[1][i];
            break;
        case LL_OP_MATMUL:
            break;
        case LL_OP_BIAS_GRAD:
            out[i] = 0;
            for (uint64_t k = i; k < ll_elements(&op->in[0]); k += last)
                out[i] += in[0][k];
            break;
        default:
            fail_msg("%s is not carried out here", ll_op_name(op->kind));
        }
}

/* An op between ranks; of a slice each takes its own. */
static void exchange(struct run *run, const struct ll_op_view *op, uint32_t from, uint32_t to)
{
    const struct ll_shape *in = shape_of(run, from), *out = shape_of(run, to);
    bool sums = op->kind == LL_OP_ALL_REDUCE || op->kind == LL_OP_REDUCE_SCATTER;
    double *whole = calloc(ll_max(ll_elements(in), ll_elements(out)), sizeof *whole);
    for (uint64_t r = 0; r < run->ranks; r++)
        for (uint64_t i = 0; sums && i < ll_elements(in); i++)
            whole[i] += run->values[r][from][i];
    for (uint64_t r = 0; r < run->ranks && op->kind == LL_OP_ALL_GATHER; r++)
        copy_share(whole, out, run->values[r][from], in, r, false);
    for (uint64_t r = 0; r < run->ranks; r++)
        if (op->kind == LL_OP_SLICE)
            copy_share(run->values[r][from], in, run->values[r][to], out, r, true);
        else if (op->kind == LL_OP_REDUCE_SCATTER)
            copy_share(whole, in, run->values[r][to], out, r, true);
        else
            memcpy(run->values[r][to], whole, ll_elements(out) * sizeof *whole);
    free(whole);
}

static bool is_between_ranks(enum ll_op_kind kind)
{
    return ll_op_class(kind) == LL_CLASS_COMMUNICATION || kind == LL_OP_SLICE;
}

static uint64_t at_work; /* the seed, printed when something differs */

/* What was brought has the same contents in every trace: they follow from the name's number of appearance,
 * the place in the whole tensor and the seed. */
static double content(uint64_t seed, uint64_t tensor, uint64_t place)
{
    uint64_t random = seed + 1000 * tensor + place;
    return (double)ll_random_below(&random, 2001) / 1000 - 1;
}

static void carry_out(struct run *run, uint64_t seed, const struct ll_trace *whole)
{
    uint32_t brought = 0, of_whole[MOST_TENSORS], known = 0;
    for (uint32_t i = 0; i < whole->tensor_count; i++)
        if (whole->tensors[i].producer == LL_NONE)
            of_whole[known++] = i;
    for (uint32_t i = 0; i < run->trace->tensor_count; i++) {
        const struct ll_shape *part = shape_of(run, i);
        for (uint64_t r = 0; r < run->ranks; r++)
            run->values[r][i] = calloc(ll_elements(part), sizeof(double));
        if (run->trace->tensors[i].producer != LL_NONE)
            continue;
        const struct ll_shape *all = &whole->descs[whole->tensors[of_whole[brought]].desc].shape;
        double *contents = calloc(ll_elements(all), sizeof *contents);
        for (uint64_t k = 0; k < ll_elements(all); k++)
            contents[k] = content(seed, brought, k);
        for (uint64_t r = 0; r < run->ranks; r++)
            copy_share(contents, all, run->values[r][i], part, r, true);
        free(contents);
        brought++;
    }
    for (uint32_t op = 0; op < run->trace->op_count; op++) {
        const struct ll_op_view *view = &run->trace->signatures[run->trace->ops[op].signature].view;
        uint32_t from = ll_op_input(run->trace, op, 0), to = ll_op_output(run->trace, op, 0);
        if (is_between_ranks(view->kind)) {
            exchange(run, view, from, to);
            continue;
        }
        for (uint64_t r = 0; r < run->ranks; r++) {
            double *in[2];
            for (uint32_t i = 0; i < view->input_count; i++)
                in[i] = run->values[r][ll_op_input(run->trace, op, i)];
            compute(view, in, run->values[r][to]);
        }
    }
}

static void release(struct run *run)
{
    for (uint64_t r = 0; r < run->ranks; r++)
        for (uint32_t i = 0; i < run->trace->tensor_count; i++)
            free(run->values[r][i]);
    free(run);
}

/* The results of updates, in the order in which they come. */
static uint32_t next_update(const struct ll_trace *trace, uint32_t op)
{
    while (op < trace->op_count && trace->signatures[trace->ops[op].signature].view.kind != LL_OP_SGD)
        op++;
    return op;
}

static void compare_updates(const struct run *one, const struct run *all)
{
    uint32_t a = next_update(one->trace, 0), b = next_update(all->trace, 0);
    for (; a < one->trace->op_count; a = next_update(one->trace, a + 1), b = next_update(all->trace, b + 1)) {
        uint32_t x = ll_op_output(one->trace, a, 0), y = ll_op_output(all->trace, b, 0);
        const struct ll_shape *whole = shape_of(one, x), *part = shape_of(all, y);
        double *share = calloc(ll_elements(part), sizeof *share);
        for (uint64_t r = 0; r < all->ranks; r++) {
            copy_share(one->values[0][x], whole, share, part, r, true);
            for (uint64_t i = 0; i < ll_elements(part); i++)
                if (fabs(all->values[r][y][i] - share[i]) > 1e-9 * fmax(1, fabs(share[i])))
                    fail_msg("seed %d, update %d of rank %d: %.17g, one device has %.17g", (int)at_work,
                             (int)b, (int)r, all->values[r][y][i], share[i]);
        }
        free(share);
    }
    assert_int_equal(b, all->trace->op_count);
}

static void check(uint64_t seed)
{
    at_work = seed;
    uint64_t random = seed, ranks = UINT64_C(2) << ll_random_below(&random, 2), inner[MOST_LAYERS];
    unsigned layers = 1 + (unsigned)ll_random_below(&random, MOST_LAYERS);
    uint64_t rows = ranks * (1 + ll_random_below(&random, 3)), width = 1 + ll_random_below(&random, 9);
    for (unsigned i = 0; i < layers; i++) /* some cannot be divided */
        inner[i] = ll_random_below(&random, 4) ? ranks * (1 + ll_random_below(&random, 4)) : 7;
    struct ll_trace *trace = record(rows, width, inner, layers);
    struct ll_diags diags = {0};
    const struct ll_parallel plan = {.tensor = ranks, .sequence = ll_random_below(&random, 2)};
    struct ll_trace *share = ll_shard(trace, &plan, &diags);
    assert_non_null(share);
    struct run *one = calloc(1, sizeof *one), *all = calloc(1, sizeof *all);
    one->trace = trace, one->ranks = 1;
    all->trace = share, all->ranks = ranks;
    carry_out(one, seed, trace);
    carry_out(all, seed, trace);
    compare_updates(one, all);
    release(one);
    release(all);
    ll_trace_free(trace);
    ll_trace_free(share);
}

static void ranks_together_compute_what_one_device_does(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++)
        check(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_together_compute_what_one_device_does)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
