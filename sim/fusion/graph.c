/* SPDX-License-Identifier: Apache-2.0 */
/* The graph: which ops take time, what each reads, and which rows of it a row of the result needs.
 *
 * A row is what lies along all dimensions but the last; of images (four dimensions, channels last) one row
 * of pixels. A column is one place along the last dimension. What an op's rule does not keep apart row by
 * row needs all rows. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sim/fusion/fusion_parts.h"
#include "sim/fusion/graph.h"

static uint64_t rows_of(const struct ll_shape *shape)
{
    uint64_t rows = 1, last = shape->rank == 4 ? 2 : shape->rank > 0 ? shape->rank - 1u : 0;
    for (uint64_t i = 0; i < last; i++)
        rows = ll_mul(rows, shape->dim[i]);
    return ll_max(rows, 1);
}

static uint64_t columns_of(const struct ll_shape *shape)
{
    return shape->rank ? ll_max(shape->dim[shape->rank - 1], 1) : 1;
}

struct row_range rows_needed(const struct edge *edge, uint64_t from, uint64_t to)
{
    assert(to > from);
    if (edge->map == ROWS_SAME)
        return (struct row_range){from, to};
    if (edge->map == ROWS_ALL)
        return (struct row_range){0, edge->rows};
    uint64_t image = from / edge->out_h, last = (to - 1) / edge->out_h;
    uint64_t begin = (from % edge->out_h) * edge->stride;
    uint64_t end = ((to - 1) % edge->out_h) * edge->stride + (edge->kernel - 1) * edge->dilation + 1;
    begin = begin > edge->pad ? begin - edge->pad : 0;
    end = end > edge->pad ? end - edge->pad : 0;
    uint64_t lo = image * edge->in_h + ll_min(begin, edge->in_h - 1);
    uint64_t hi = last * edge->in_h + ll_min(ll_max(end, 1), edge->in_h);
    return (struct row_range){lo, ll_max(hi, lo + 1)};
}

static uint64_t share_of(uint64_t whole, double share)
{
    return whole == 0 ? 0 : (uint64_t)fmax(1, ceil((double)whole * share - 1e-9));
}

static void cut_gemm(struct ll_gemm *gemm, double rows, double columns, double depth)
{
    double lines = (double)gemm->batch * (double)gemm->m * rows;
    if (gemm->batch > 1 && lines >= (double)gemm->m)
        gemm->batch = share_of(gemm->batch, rows);
    else {
        gemm->m = (uint64_t)fmax(1, ceil(lines - 1e-9));
        gemm->batch = 1;
    }
    gemm->n = share_of(gemm->n, columns);
    gemm->k = share_of(gemm->k, depth);
}

static void cut_conv(struct ll_conv *conv, uint64_t rows, double columns, double depth)
{
    uint64_t dilation = ll_max(conv->dilation_h, 1);
    if (rows >= conv->out_h)
        conv->batch = ll_max(1, rows / conv->out_h);
    else {
        conv->batch = 1;
        conv->out_h = rows;
        conv->in_h = ll_min(conv->in_h, (rows - 1) * conv->stride_h + (conv->kernel_h - 1) * dilation + 1);
    }
    if (conv->groups > 1) {
        uint64_t each = conv->in_c / conv->groups, out_each = conv->out_c / conv->groups;
        conv->groups = share_of(conv->groups, columns);
        conv->in_c = conv->groups * each;
        conv->out_c = conv->groups * out_each;
    } else {
        conv->out_c = share_of(conv->out_c, columns);
        conv->in_c = share_of(conv->in_c, depth);
    }
}

struct ll_work part_of_work(const struct node *node, uint64_t rows, uint64_t columns, uint64_t depth)
{
    struct ll_work work = *node->work;
    double r = (double)rows / (double)node->rows, c = (double)columns / (double)node->columns,
           d = (double)depth / (double)node->depth, all = r * c * d;
    if (r == 1 && c == 1 && d == 1)
        return work;
    work.flops = share_of(work.flops, all);
    work.between = share_of(work.between, r * c);
    work.specials =
        work.kind == LL_WORK_GEMM || work.kind == LL_WORK_CONV ? work.specials : share_of(work.specials, 1);
    bool grouped = work.kind == LL_WORK_CONV && work.conv.groups > 1;
    work.a_bytes = share_of(work.a_bytes, r * (ll_is_gemm(&work) && !grouped ? d : c));
    work.b_bytes = share_of(work.b_bytes, c * d);
    work.c_bytes = share_of(work.c_bytes, r * c);
    work.lines = share_of(work.lines, r);
    switch (work.kind) {
    case LL_WORK_GEMM:
        cut_gemm(&work.gemm, r, c, d);
        break;
    case LL_WORK_CONV:
        cut_conv(&work.conv, rows, c, d);
        break;
    case LL_WORK_VECTOR:
        work.vector.elements = share_of(work.vector.elements, r * c);
        work.vector.picked = share_of(work.vector.picked, r);
        break;
    case LL_WORK_REDUCE:
        work.reduce.in_elements = share_of(work.reduce.in_elements, r * c);
        work.reduce.out_elements = share_of(work.reduce.out_elements, r * c);
        break;
    default:
        break;
    }
    return work;
}

/* What is known while a graph is built. */
struct building {
    const struct ll_prepared *prepared;
    const struct ll_trace *trace;
    struct graph *graph;
    uint32_t *maker; /* by tensor: node, LL_NONE: in the outermost memory */
    uint32_t *base;  /* by tensor: what a view looks at */
};

/* Whether a row of the result depends on a row of what it reads alone: where each element, or each line
 * along the last dimension, stands for itself. */
static bool row_by_row(enum ll_op_kind kind, const struct ll_work *work)
{
    if (work->kind != LL_WORK_VECTOR)
        return false;
    return ll_op_class(kind) == LL_CLASS_ELEMENTWISE || kind == LL_OP_SOFTMAX ||
           kind == LL_OP_CAUSAL_SOFTMAX || kind == LL_OP_LAYER_NORM || kind == LL_OP_RMS_NORM;
}

static bool is_pool(const struct ll_op_view *view, const struct ll_work *work)
{
    return (work->kind == LL_WORK_REDUCE || work->kind == LL_WORK_VECTOR) &&
           ll_attr_count(view, LL_ATTR_KERNEL_H, 0) > 0 && view->input_count > 0 && view->in[0].rank == 4 &&
           view->output_count > 0 && view->out[0].rank == 4 && view->in[0].dim[0] == view->out[0].dim[0] &&
           ll_op_class(view->kind) == LL_CLASS_REDUCTION;
}

static void set_window(struct edge *edge, const struct ll_op_view *view, uint64_t kernel)
{
    edge->map = ROWS_WINDOW;
    edge->kernel = kernel;
    edge->stride = (uint64_t)ll_attr_count(view, LL_ATTR_STRIDE_H, 1);
    edge->dilation = (uint64_t)ll_max((uint64_t)ll_attr_count(view, LL_ATTR_DILATION_H, 1), 1);
    edge->pad = (uint64_t)ll_attr_count(view, LL_ATTR_PAD_TOP, 0);
    edge->in_h = view->in[0].dim[1];
    edge->out_h = view->out[0].dim[1];
}

/* Of a batched GEMM a row of the result needs all rows of its own matrix of the batch: a window that moves by
 * whole matrices. False where operand and result have other batches. */
static bool set_batch(struct edge *edge, const struct ll_op_view *view, uint32_t i)
{
    const struct ll_shape *operand = &view->in[i], *result = &view->out[0];
    bool same = operand->rank == result->rank && result->rank > 2;
    for (unsigned d = 0; same && d + 2 < result->rank; d++)
        same = operand->dim[d] == result->dim[d];
    if (!same)
        return false;
    edge->map = ROWS_SAME;
    if (result->rank == 4) /* a row is a matrix */
        return true;
    edge->map = ROWS_WINDOW;
    edge->in_h = edge->kernel = operand->dim[operand->rank - 2];
    edge->out_h = result->dim[result->rank - 2];
    edge->dilation = 1;
    return true;
}

/* A convolution of each channel by itself. */
static bool is_depthwise(const struct ll_work *work)
{
    return work->kind == LL_WORK_CONV && work->conv.groups > 1 && work->conv.groups == work->conv.in_c &&
           work->conv.groups == work->conv.out_c;
}

/* How rows and columns of operand i belong to those of the result. */
static void classify(const struct node *node, const struct ll_op_view *view, uint32_t i, struct edge *edge)
{
    bool product = node->work->kind == LL_WORK_GEMM && ll_op_class(view->kind) == LL_CLASS_MATRIX;
    edge->map = ROWS_ALL;
    if (product && node->rows > 0 && i == 0 && ll_attr_count(view, LL_ATTR_TRANSPOSE_A, 0) == 0) {
        if (edge->rows == node->rows) {
            edge->map = ROWS_SAME;
            edge->along_k = node->depth > 1;
        }
    } else if (product && i == 1 && edge->constant && node->work->gemm.batch == 1)
        edge->weight = true;
    else if (product && i == 1 && node->work->gemm.batch > 1 && node->rows > 1 && set_batch(edge, view, i))
        return;
    else if (node->work->kind == LL_WORK_CONV && i == 0 && node->work->conv.pass == LL_CONV_FORWARD) {
        set_window(edge, view, node->work->conv.kernel_h);
        edge->along_k = node->depth > 1 && edge->columns == node->depth;
        edge->by_column = is_depthwise(node->work) && edge->columns == node->columns;
    } else if (node->work->kind == LL_WORK_CONV && i == 1 && node->work->conv.pass == LL_CONV_FORWARD &&
               edge->constant)
        edge->weight = true;
    else if (is_pool(view, node->work) && i == 0) {
        set_window(edge, view, (uint64_t)ll_attr_count(view, LL_ATTR_KERNEL_H, 1));
        edge->by_column = edge->columns == node->columns;
    } else if (row_by_row(view->kind, node->work) && edge->rows == node->rows) {
        edge->map = ROWS_SAME;
        edge->by_column = edge->columns == node->columns && ll_op_class(view->kind) == LL_CLASS_ELEMENTWISE;
    }
}

/* How a node may be cut: its rows, columns and depth, which is k of a GEMM, channels of the image of a
 * convolution. */
static void measure(struct node *node, const struct ll_op_view *view)
{
    bool conv = node->work->kind == LL_WORK_CONV && node->work->conv.pass == LL_CONV_FORWARD;
    bool gemm = node->work->kind == LL_WORK_GEMM && ll_op_class(view->kind) == LL_CLASS_MATRIX &&
                ll_attr_count(view, LL_ATTR_TRANSPOSE_A, 0) == 0 &&
                (view->kind == LL_OP_MATMUL || view->kind == LL_OP_BATCH_MATMUL);
    bool rowwise = row_by_row(view->kind, node->work), pool = is_pool(view, node->work);
    node->rows = node->columns = node->depth = 1;
    node->heavy = ll_is_gemm(node->work);
    if (view->output_count == 0 || !(conv || gemm || rowwise || pool))
        return;
    node->rows = rows_of(&view->out[0]);
    if (conv || gemm || pool || ll_op_class(view->kind) == LL_CLASS_ELEMENTWISE)
        node->columns = columns_of(&view->out[0]);
    if (gemm && node->work->gemm.batch == 1)
        node->depth = ll_max(node->work->gemm.k, 1);
    if (conv && node->work->conv.groups == 1)
        node->depth = ll_max(node->work->conv.in_c, 1);
}

static void add_edges(struct building *building, struct node *node)
{
    const struct ll_trace *trace = building->trace;
    const struct ll_op_signature *signature = &trace->signatures[node->signature];
    struct graph *graph = building->graph;
    node->first_edge = graph->edge_count;
    for (uint32_t i = 0; i < signature->view.input_count; i++) {
        uint32_t tensor = ll_op_input(trace, node->op, i), base = building->base[tensor];
        const struct ll_shape *shape = &signature->view.in[i];
        struct edge *edge = &graph->edges[graph->edge_count++];
        *edge = (struct edge){.source = building->maker[base],
                              .tensor = base,
                              .rows = rows_of(shape),
                              .columns = columns_of(shape),
                              .bytes = (double)ll_size_bytes(shape),
                              .constant = trace->tensors[base].producer == LL_NONE};
        classify(node, &signature->view, i, edge);
        if (edge->source == LL_NONE)
            continue;
        struct node *source = &graph->nodes[edge->source];
        source->last_use = graph->node_count;
        if (edge->rows != source->rows)
            edge->map = ROWS_ALL;
        edge->rows = edge->map == ROWS_ALL ? source->rows : edge->rows;
    }
    node->edge_count = graph->edge_count - node->first_edge;
}

static bool is_refused(const struct ll_work *work)
{
    return work->kind == LL_WORK_COLLECTIVE || work->kind == LL_WORK_SWAP || work->kind == LL_WORK_WAIT;
}

/* Where an op's results lie. */
static void place_results(struct building *building, uint32_t op, uint32_t node)
{
    const struct ll_op_signature *signature =
        &building->trace->signatures[building->trace->ops[op].signature];
    for (uint32_t i = 0; i < signature->view.output_count; i++) {
        uint32_t tensor = ll_op_output(building->trace, op, i);
        building->maker[tensor] = node;
        building->base[tensor] = tensor;
    }
}

static void look_through(struct building *building, uint32_t op)
{
    const struct ll_op_signature *signature =
        &building->trace->signatures[building->trace->ops[op].signature];
    place_results(building, op, LL_NONE);
    if (signature->view.input_count == 0)
        return;
    uint32_t seen = building->base[ll_op_input(building->trace, op, 0)];
    for (uint32_t i = 0; i < signature->view.output_count; i++) {
        building->base[ll_op_output(building->trace, op, i)] = seen;
        building->maker[ll_op_output(building->trace, op, i)] = building->maker[seen];
    }
}

static void add_node(struct building *building, uint32_t op)
{
    const struct ll_trace *trace = building->trace;
    struct graph *graph = building->graph;
    struct node *node = &graph->nodes[graph->node_count];
    const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
    *node = (struct node){.op = op,
                          .signature = trace->ops[op].signature,
                          .kind = signature->view.kind,
                          .work = &building->prepared->works[trace->ops[op].signature],
                          .last_use = LL_NONE};
    measure(node, &signature->view);
    for (uint32_t i = 0; i < signature->view.output_count; i++)
        node->out_bytes += (double)ll_size_bytes(&signature->view.out[i]);
    add_edges(building, node);
    place_results(building, op, graph->node_count++);
}

bool graph_build(struct graph *graph, const struct ll_prepared *prepared, struct ll_arena *arena,
                 struct ll_diags *diags)
{
    const struct ll_trace *trace = prepared->trace;
    struct building building = {.prepared = prepared, .trace = trace, .graph = graph};
    uint64_t edges = 0;
    for (uint32_t op = prepared->first_op; op < prepared->end_op; op++)
        edges += trace->edges[trace->ops[op].edges].input_count;
    *graph = (struct graph){
        .nodes = ll_alloc(arena, prepared->end_op - prepared->first_op + 1, sizeof *graph->nodes),
        .edges = ll_alloc(arena, edges + 1, sizeof *graph->edges)};
    building.maker = ll_alloc(arena, trace->tensor_count + 1, sizeof *building.maker);
    building.base = ll_alloc(arena, trace->tensor_count + 1, sizeof *building.base);
    if (!graph->nodes || !graph->edges || !building.maker || !building.base)
        return false;
    for (uint32_t t = 0; t < trace->tensor_count; t++) {
        building.maker[t] = LL_NONE;
        building.base[t] = t;
    }
    for (uint32_t op = prepared->first_op; op < prepared->end_op; op++) {
        const struct ll_work *work = &prepared->works[trace->ops[op].signature];
        if (is_refused(work))
            return ll_complain(diags, (struct ll_place){0},
                               "op %" PRIu32
                               " is a %s: cores of one chip have no other device and no host to wait for",
                               op, ll_work_name((enum ll_work_kind)work->kind));
        if (work->kind == LL_WORK_NOTHING)
            look_through(&building, op);
        else if (work->kind == LL_WORK_HOST)
            place_results(&building, op, LL_NONE);
        else
            add_node(&building, op);
    }
    return true;
}
