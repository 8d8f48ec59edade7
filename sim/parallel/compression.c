/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients in fewer bytes on their way between replicas. The first section sends them in a narrower type,
 * the second as factors of a low rank, the third the largest alone. */
#include "sim/parallel/exchange.h"

#include <assert.h>
#include <string.h>

/* A gradient that goes as factors, between its two exchanges. */
struct factored {
    uint32_t input, matrix, p, q; /* input: which of the exchange's */
    struct ll_shape shape, of_p, of_q;
    uint32_t gradient; /* which of the step's */
};

/* An exchange under way: what is left to do when it has ended. That waits until the exchange after the next
 * one begins, so that the device goes on meanwhile, or for who reads what comes out. */
struct job {
    uint32_t op;
    struct ll_record record; /* of the exchange; its lists last */
    uint32_t made;           /* the first tensor that comes out */
    bool *narrow;            /* by input: it was cast */
    struct factored *list;   /* with factors */
    uint32_t count;
    uint32_t stages; /* left to do */
};

enum { MOST_JOBS = 3 };

struct compressing {
    const struct ll_trace *trace;
    const struct ll_parallel *plan;
    struct ll_rewrite rewrite;
    struct ll_record record;    /* of the exchange at work */
    struct job jobs[MOST_JOBS]; /* the oldest first */
    uint32_t job_count;
    bool *awaited;              /* by old tensor: comes out of a job */
    uint32_t *errors, *factors; /* by gradient that is compressed, in the order of a step: they last */
    uint32_t gradient;          /* how many the step at work has had */
    uint32_t step;
};

static const struct ll_op_signature *signature_of(const struct compressing *c, uint32_t op)
{
    return &c->trace->signatures[c->trace->ops[op].signature];
}

static uint32_t add(struct compressing *c, enum ll_op_kind kind, const uint32_t *inputs, uint32_t count,
                    uint32_t desc, const struct ll_attr *attr)
{
    return ll_rewrite_add(&c->rewrite, &(struct ll_record){.kind = kind,
                                                           .phase = c->record.phase,
                                                           .scope = c->record.scope,
                                                           .inputs = inputs,
                                                           .input_count = count,
                                                           .outputs = &desc,
                                                           .output_count = 1,
                                                           .attrs = attr,
                                                           .attr_count = attr != NULL});
}

/* The exchange at work of other tensors. */
static uint32_t exchange(struct compressing *c, enum ll_op_kind kind, const uint32_t *inputs,
                         const uint32_t *outputs, uint32_t count)
{
    struct ll_record record = c->record;
    record.kind = kind;
    record.inputs = inputs;
    record.outputs = outputs;
    record.input_count = record.output_count = count;
    if (kind == LL_OP_ALL_GATHER && record.attr_count == 3) /* which is in no place of its parts */
        record.attr_count = 2;
    return count > 0 ? ll_rewrite_add(&c->rewrite, &record) : LL_NONE;
}

static struct ll_shape shape_of(const struct compressing *c, uint32_t new_tensor)
{
    const struct ll_shape *shape = ll_rewrite_shape(&c->rewrite, new_tensor);
    return shape ? *shape : (struct ll_shape){0};
}

static uint32_t desc_like(struct compressing *c, const struct ll_shape *shape, enum ll_memory_class memory)
{
    return ll_rewrite_new_desc(&c->rewrite, "compressed gradient", shape, memory);
}

/* A tensor seen with another shape of as many elements, or of the first of them. */
static uint32_t seen_as(struct compressing *c, uint32_t tensor, const struct ll_shape *shape)
{
    return add(c, LL_OP_SEEN_AS, &tensor, 1, desc_like(c, shape, LL_WORKSPACE), NULL);
}

static uint32_t redirect(struct compressing *c, uint32_t op, uint32_t i, uint32_t tensor)
{
    if (tensor != LL_NONE)
        ll_rewrite_redirect(&c->rewrite, ll_op_output(c->trace, op, i), tensor);
    return tensor;
}

/* --- a narrower type --- */

static enum ll_dtype narrow_type(const struct compressing *c)
{
    return c->plan->compression.kind == LL_COMPRESSION_F8 ? LL_F8 : LL_BF16;
}

static bool narrows(const struct compressing *c, uint32_t tensor)
{
    const enum ll_dtype dtype = (enum ll_dtype)shape_of(c, tensor).dtype;
    return (dtype == LL_F32 || dtype == LL_BF16 || dtype == LL_F16) &&
           ll_dtype_bits(dtype) > ll_dtype_bits(narrow_type(c));
}

/* 8 bits want a scale that all replicas know: of the largest element of all (Micikevicius et al., FP8 formats
 * for deep learning, 2022, section 4). The op that brings the largest. */
static uint32_t agree_on_scales(struct compressing *c, const uint32_t *inputs, uint32_t count, uint32_t *room)
{
    const struct ll_shape number = {.dtype = LL_F32};
    uint32_t *outputs = room + count, found = 0;
    for (uint32_t i = 0; i < count && narrow_type(c) == LL_F8; i++) {
        if (!narrows(c, inputs[i]))
            continue;
        outputs[found] = desc_like(c, &number, LL_WORKSPACE);
        room[found] = add(c, LL_OP_REDUCTION, &inputs[i], 1, outputs[found], NULL);
        found++;
    }
    return exchange(c, LL_OP_ALL_REDUCE, room, outputs, found) == LL_NONE ? LL_NONE : c->rewrite.op_count - 1;
}

/* What came out of the exchange stands again where the gradient did, if it did before, or by itself. */
static uint32_t widen(struct compressing *c, uint32_t gradient, uint32_t narrow, uint32_t desc)
{
    const struct ll_shape *wide = &c->rewrite.shapes[desc];
    struct ll_shape shape = shape_of(c, gradient);
    if (c->record.attr_count < 3)
        return add(c, LL_OP_CAST, &narrow, 1, desc, NULL);
    const bool alike = shape.rank == wide->rank && memcmp(shape.dim, wide->dim, sizeof shape.dim) == 0;
    uint32_t place = alike ? gradient : seen_as(c, gradient, wide);
    return add(c, LL_OP_ASSIGN, (uint32_t[]){place, narrow}, 2, desc, NULL);
}

static void *room(struct compressing *c, uint64_t count, size_t size)
{
    void *list = ll_alloc(&c->rewrite.arena, count + 1, size);
    if (!list)
        ll_rewrite_trouble(&c->rewrite, ll_status_text(LL_NO_MEMORY));
    return list;
}

static uint32_t cast_after(struct compressing *c, const uint32_t *tensor, uint32_t desc, uint32_t after)
{
    return ll_rewrite_add(&c->rewrite, &(struct ll_record){.kind = LL_OP_CAST,
                                                           .phase = c->record.phase,
                                                           .scope = c->record.scope,
                                                           .inputs = tensor,
                                                           .input_count = 1,
                                                           .outputs = &desc,
                                                           .output_count = 1,
                                                           .controls = &after,
                                                           .control_count = after != LL_NONE});
}

static void send_narrow(struct compressing *c, struct job *job)
{
    const uint32_t count = c->record.input_count;
    uint32_t *inputs = room(c, 4 * (uint64_t)count, sizeof *inputs), *outputs = inputs + count;
    job->narrow = room(c, count, sizeof *job->narrow);
    if (!inputs || !job->narrow)
        return;
    const uint32_t *gradients = c->record.inputs, *wide = c->record.outputs;
    uint32_t agreed = agree_on_scales(c, gradients, count, outputs + count);
    for (uint32_t i = 0; i < count && !c->rewrite.trouble; i++) {
        struct ll_shape shape = shape_of(c, gradients[i]), part = c->rewrite.shapes[wide[i]];
        inputs[i] = gradients[i];
        outputs[i] = wide[i];
        job->narrow[i] = narrows(c, gradients[i]);
        if (!job->narrow[i])
            continue;
        shape.dtype = part.dtype = (uint8_t)narrow_type(c);
        outputs[i] = desc_like(c, &part, LL_WORKSPACE);
        inputs[i] = cast_after(c, &gradients[i], desc_like(c, &shape, LL_WORKSPACE), agreed);
    }
    job->made = exchange(c, c->record.kind, inputs, outputs, count);
    job->stages = 1;
}

static void end_narrow(struct compressing *c, const struct job *job)
{
    for (uint32_t i = 0; i < c->record.input_count && !c->rewrite.trouble; i++)
        redirect(c, job->op, i,
                 job->narrow[i] ? widen(c, c->record.inputs[i], job->made + i, c->record.outputs[i])
                                : job->made + i);
}

/* --- factors --- */

/* A tensor that lasts from step to step: brought in the first one. */
static uint32_t lasting(struct compressing *c, uint32_t *tensor, const struct ll_shape *shape)
{
    if (*tensor == LL_NONE)
        *tensor = ll_rewrite_bring(&c->rewrite,
                                   ll_rewrite_new_desc(&c->rewrite, "compression", shape, LL_OPTIMIZER));
    return *tensor;
}

/* What earlier exchanges left out is added to the gradient, of which a copy is kept (error feedback). */
static uint32_t feed_back(struct compressing *c, uint32_t gradient)
{
    const struct ll_shape shape = shape_of(c, gradient);
    uint32_t *error = &c->errors[c->gradient], desc = desc_like(c, &shape, LL_WORKSPACE);
    lasting(c, error, &shape);
    gradient = add(c, LL_OP_AXPY, (uint32_t[]){gradient, *error}, 2, desc, NULL);
    *error =
        add(c, LL_OP_ASSIGN, (uint32_t[]){*error, gradient}, 2, desc_like(c, &shape, LL_OPTIMIZER), NULL);
    return gradient;
}

/* Rows times all else; false where two factors would be no smaller. */
static bool as_matrix(const struct compressing *c, uint32_t gradient, struct ll_shape *matrix)
{
    const struct ll_shape shape = shape_of(c, gradient);
    const uint64_t rank = c->plan->compression.amount, all = ll_elements(&shape);
    if (shape.rank < 2 || shape.dim[0] == 0)
        return false;
    *matrix = (struct ll_shape){.dtype = shape.dtype, .rank = 2, .dim = {shape.dim[0], all / shape.dim[0]}};
    return rank <= ll_min(matrix->dim[0], matrix->dim[1]) &&
           ll_mul(rank, ll_add(matrix->dim[0], matrix->dim[1])) < all;
}

/* The first factor: p = m q, with q of the step before. */
static void begin_factors(struct compressing *c, struct factored *f)
{
    const uint64_t rank = c->plan->compression.amount;
    f->of_p = f->of_q = f->shape;
    f->of_p.dim[1] = f->of_q.dim[1] = rank;
    f->of_q.dim[0] = f->shape.dim[1];
    uint32_t gradient = feed_back(c, c->record.inputs[f->input]);
    f->matrix = seen_as(c, gradient, &f->shape);
    f->q = lasting(c, &c->factors[f->gradient], &f->of_q);
    f->p = add(c, LL_OP_MATMUL, (uint32_t[]){f->matrix, f->q}, 2, desc_like(c, &f->of_p, LL_WORKSPACE), NULL);
}

/* The second one: q = m^T p, with p made orthogonal. */
static void go_on(struct compressing *c, struct factored *f, uint32_t summed)
{
    const struct ll_attr turned = {.key = LL_ATTR_TRANSPOSE_A, .count = 1};
    const uint32_t desc = desc_like(c, &f->of_p, LL_WORKSPACE);
    f->p = add(c, LL_OP_GEQRF, &summed, 1, desc, NULL);
    f->p = add(c, LL_OP_ORGQR, &f->p, 1, desc, NULL);
    f->q =
        add(c, LL_OP_MATMUL, (uint32_t[]){f->matrix, f->p}, 2, desc_like(c, &f->of_q, LL_WORKSPACE), &turned);
}

/* The product of both stands where the gradient did, and is taken off what was kept of it. */
static void end_factors(struct compressing *c, uint32_t op, struct factored *f, uint32_t summed)
{
    const struct ll_attr turned = {.key = LL_ATTR_TRANSPOSE_B, .count = 1};
    uint32_t *error = &c->errors[f->gradient], *factor = &c->factors[f->gradient];
    const struct ll_shape whole = c->rewrite.shapes[c->record.outputs[f->input]];
    *factor =
        add(c, LL_OP_ASSIGN, (uint32_t[]){*factor, summed}, 2, desc_like(c, &f->of_q, LL_OPTIMIZER), NULL);
    uint32_t product = add(c, LL_OP_MATMUL_ADD, (uint32_t[]){f->matrix, f->p, summed}, 3,
                           desc_like(c, &f->shape, LL_WORKSPACE), &turned);
    product = seen_as(c, product, &whole);
    *error = add(c, LL_OP_AXPY, (uint32_t[]){*error, product}, 2, desc_like(c, &whole, LL_OPTIMIZER), NULL);
    redirect(c, op, f->input, product);
}

static void exchange_factors(struct compressing *c, struct factored *list, uint32_t count, bool second)
{
    uint32_t *tensors = room(c, 2 * (uint64_t)count, sizeof *tensors);
    for (uint32_t i = 0; tensors && i < count; i++) {
        tensors[i] = second ? list[i].q : list[i].p;
        tensors[count + i] = desc_like(c, second ? &list[i].of_q : &list[i].of_p, LL_WORKSPACE);
    }
    uint32_t made = tensors ? exchange(c, LL_OP_ALL_REDUCE, tensors, tensors + count, count) : LL_NONE;
    for (uint32_t i = 0; i < count && made != LL_NONE; i++)
        *(second ? &list[i].q : &list[i].p) = made + i;
}

/* Vectors, and small matrices, go as they are. */
static void exchange_others(struct compressing *c, uint32_t op, const bool *gone)
{
    const uint32_t all = c->record.input_count;
    uint32_t *list = room(c, 2 * (uint64_t)all, sizeof *list), some = 0;
    for (uint32_t i = 0; list && i < all; i++)
        if (!gone[i]) {
            list[some] = c->record.inputs[i];
            list[all + some++] = c->record.outputs[i];
        }
    uint32_t made = list ? exchange(c, c->record.kind, list, list + all, some) : LL_NONE;
    for (uint32_t i = 0; i < all && made != LL_NONE; i++)
        if (!gone[i])
            redirect(c, op, i, made++);
}

/* PowerSGD (Vogels et al., 2019, algorithm 1), in the order of PyTorch's powerSGD_hook. */
static void send_factors(struct compressing *c, struct job *job)
{
    const uint32_t all = c->record.input_count;
    struct ll_shape shape;
    bool *gone = room(c, all, sizeof *gone);
    job->list = room(c, all, sizeof *job->list);
    if (!job->list || !gone)
        return;
    for (uint32_t i = 0; i < all; i++)
        gone[i] = as_matrix(c, c->record.inputs[i], &shape);
    exchange_others(c, job->op, gone);
    for (uint32_t i = 0; i < all && !c->rewrite.trouble; i++) {
        if (!gone[i])
            continue;
        struct factored *f = &job->list[job->count++];
        *f = (struct factored){.input = i, .gradient = c->gradient};
        as_matrix(c, c->record.inputs[i], &f->shape);
        begin_factors(c, f);
        c->gradient++;
    }
    exchange_factors(c, job->list, job->count, false);
    job->stages = 2;
}

static void go_on_with_factors(struct compressing *c, const struct job *job)
{
    const bool second = job->stages == 2;
    for (uint32_t i = 0; i < job->count && !c->rewrite.trouble; i++)
        if (second)
            go_on(c, &job->list[i], job->list[i].p);
        else
            end_factors(c, job->op, &job->list[i], job->list[i].q);
    if (second)
        exchange_factors(c, job->list, job->count, true);
}

/* --- the largest --- */

/* Those of all replicas are added up where the gradient was (Aji and Heafield, Sparse communication for
 * distributed gradient descent, 2017; Lin et al., Deep gradient compression, 2018). */
static uint32_t choose_largest(struct compressing *c, uint32_t flat, const struct ll_shape *values,
                               const struct ll_shape *places)
{
    const struct ll_attr size = {.key = LL_ATTR_SIZE, .count = (int64_t)values->dim[0]};
    const uint32_t descs[] = {desc_like(c, values, LL_WORKSPACE), desc_like(c, places, LL_WORKSPACE)};
    return ll_rewrite_add(&c->rewrite, &(struct ll_record){.kind = LL_OP_TOP_K,
                                                           .phase = c->record.phase,
                                                           .scope = c->record.scope,
                                                           .inputs = &flat,
                                                           .input_count = 1,
                                                           .outputs = descs,
                                                           .output_count = 2,
                                                           .attrs = &size,
                                                           .attr_count = 1});
}

static struct ll_shape line_of(const struct ll_shape *whole)
{
    return (struct ll_shape){.dtype = whole->dtype, .rank = 1, .dim = {ll_elements(whole)}};
}

static void send_largest(struct compressing *c, struct job *job)
{
    const uint32_t count = c->record.input_count;
    uint32_t *chosen = room(c, 4 * (uint64_t)count, sizeof *chosen), *descs = chosen + 2 * (uint64_t)count;
    for (uint32_t i = 0; chosen && i < count && !c->rewrite.trouble; i++, c->gradient++) {
        const struct ll_shape line = line_of(&c->rewrite.shapes[c->record.outputs[i]]);
        struct ll_shape values = line, places;
        values.dim[0] = ll_max(1, line.dim[0] / c->plan->compression.amount);
        places = values;
        places.dtype = LL_I32;
        const uint32_t gradient = feed_back(c, c->record.inputs[i]);
        chosen[2 * i] = choose_largest(c, seen_as(c, gradient, &line), &values, &places);
        chosen[2 * i + 1] = chosen[2 * i] + 1;
        const uint32_t left = seen_as(c, c->errors[c->gradient], &line);
        add(c, LL_OP_SGD_ROWS, (uint32_t[]){left, chosen[2 * i], chosen[2 * i + 1]}, 3,
            desc_like(c, &line, LL_OPTIMIZER), NULL);
        values.dim[0] = places.dim[0] = ll_mul(values.dim[0], ll_replicas(c->plan));
        descs[2 * i] = desc_like(c, &values, LL_WORKSPACE);
        descs[2 * i + 1] = desc_like(c, &places, LL_WORKSPACE);
    }
    job->made = chosen ? exchange(c, LL_OP_ALL_GATHER, chosen, descs, 2 * count) : LL_NONE;
    job->stages = 1;
}

static void end_largest(struct compressing *c, const struct job *job)
{
    for (uint32_t i = 0; i < c->record.input_count && !c->rewrite.trouble; i++) {
        const struct ll_shape whole = c->rewrite.shapes[c->record.outputs[i]], line = line_of(&whole);
        const uint32_t desc = desc_like(c, &line, LL_WORKSPACE), from = job->made + 2 * i;
        uint32_t flat = seen_as(c, c->record.inputs[i], &line);
        flat = add(c, LL_OP_FILL, &flat, 1, desc, NULL);
        flat = add(c, LL_OP_SGD_ROWS, (uint32_t[]){flat, from, from + 1}, 3, desc, NULL);
        redirect(c, job->op, i, seen_as(c, flat, &whole));
    }
}

/* --- all --- */

/* Sums of gradients over replicas (ll_exchange_gradients). */
static bool is_of_gradients(const struct ll_op_signature *signature)
{
    const enum ll_op_kind kind = signature->view.kind;
    return (kind == LL_OP_ALL_REDUCE || kind == LL_OP_REDUCE_SCATTER) &&
           ll_attr_count(&signature->view, LL_ATTR_TAG, 0) > 0;
}

/* The next stage of a job. */
static void go_on_with(struct compressing *c, struct job *job)
{
    const struct ll_record at_work = c->record;
    c->record = job->record;
    if (c->plan->compression.kind == LL_COMPRESSION_POWERSGD)
        go_on_with_factors(c, job);
    else if (c->plan->compression.kind == LL_COMPRESSION_TOP_K)
        end_largest(c, job);
    else
        end_narrow(c, job);
    job->stages--;
    c->record = at_work;
}

/* Ends all jobs, or takes each one stage on. */
static void take_jobs_on(struct compressing *c, bool all)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < c->job_count && !c->rewrite.trouble; i++) {
        struct job *job = &c->jobs[i];
        while (job->stages > 0 && all)
            go_on_with(c, job);
        if (job->stages > 0 && i + 1 < c->job_count) /* the one that has just begun goes on alone */
            go_on_with(c, job);
        for (uint32_t o = 0; job->stages == 0 && o < job->record.output_count; o++)
            c->awaited[ll_op_output(c->trace, job->op, o)] = false;
        if (job->stages > 0)
            c->jobs[left++] = *job;
    }
    c->job_count = left;
}

/* A record whose lists stay, and without its tag, which is the last attribute. */
static bool keep_record(struct compressing *c, const struct ll_record *record)
{
    uint32_t *lists = room(c, (uint64_t)record->input_count + record->output_count, sizeof *lists);
    struct ll_attr *attrs = room(c, record->attr_count, sizeof *attrs);
    if (!lists || !attrs)
        return false;
    memcpy(lists, record->inputs, record->input_count * sizeof *lists);
    memcpy(lists + record->input_count, record->outputs, record->output_count * sizeof *lists);
    memcpy(attrs, record->attrs, record->attr_count * sizeof *attrs);
    c->record = *record;
    c->record.inputs = lists;
    c->record.outputs = lists + record->input_count;
    c->record.attrs = attrs;
    c->record.attr_count--;
    return true;
}

static void begin_job(struct compressing *c, uint32_t op)
{
    struct ll_record record;
    ll_rewrite_step(&c->rewrite, op);
    if (!ll_rewrite_record(&c->rewrite, op, &record) || !keep_record(c, &record))
        return;
    assert(c->job_count < MOST_JOBS);
    struct job *job = &c->jobs[c->job_count++];
    *job = (struct job){.op = op};
    if (c->plan->compression.kind == LL_COMPRESSION_POWERSGD)
        send_factors(c, job);
    else if (c->plan->compression.kind == LL_COMPRESSION_TOP_K)
        send_largest(c, job);
    else
        send_narrow(c, job);
    job->record = c->record;
    job->record.control_count = job->record.storage_count = job->record.gap_count = 0;
    c->rewrite.ops[op] = c->rewrite.op_count - 1;
    for (uint32_t o = 0; o < record.output_count; o++)
        c->awaited[ll_op_output(c->trace, op, o)] = true;
    take_jobs_on(c, false);
}

static bool reads_awaited(const struct compressing *c, uint32_t op)
{
    bool reads = false;
    for (uint32_t i = 0; i < signature_of(c, op)->view.input_count; i++)
        reads |= c->awaited[ll_op_input(c->trace, op, i)];
    return reads;
}

static void write_op(struct compressing *c, uint32_t op)
{
    const bool begins = c->trace->ops[op].step != c->step;
    if (begins || reads_awaited(c, op) || signature_of(c, op)->phase == LL_PHASE_UPDATE)
        take_jobs_on(c, true);
    if (begins)
        c->gradient = 0;
    c->step = c->trace->ops[op].step;
    if (is_of_gradients(signature_of(c, op)))
        begin_job(c, op);
    else
        ll_rewrite_keep(&c->rewrite, op);
}

struct ll_trace *ll_compress_gradients(const struct ll_trace *program, const struct ll_parallel *plan,
                                       const char **trouble)
{
    assert(plan->compression.kind != LL_COMPRESSION_NONE);
    struct compressing c = {.trace = program, .plan = plan, .step = LL_NONE};
    const uint64_t tensors = program->tensor_count + 1;
    ll_rewrite_begin(&c.rewrite, program, NULL, 0);
    c.errors = ll_alloc(&c.rewrite.arena, tensors, sizeof *c.errors);
    c.factors = ll_alloc(&c.rewrite.arena, tensors, sizeof *c.factors);
    c.awaited = ll_alloc(&c.rewrite.arena, tensors, sizeof *c.awaited);
    if (!c.errors || !c.factors || !c.awaited)
        ll_rewrite_trouble(&c.rewrite, ll_status_text(LL_NO_MEMORY));
    for (uint64_t i = 0; i < tensors && !c.rewrite.trouble; i++)
        c.errors[i] = c.factors[i] = LL_NONE;
    for (uint32_t op = 0; op < program->op_count && !c.rewrite.trouble; op++)
        write_op(&c, op);
    take_jobs_on(&c, true);
    return ll_rewrite_end(&c.rewrite, trouble);
}
