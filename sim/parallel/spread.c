/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of a plan: a chain of functions from trace to trace. The first sections count FLOPs, bundle
 * the small sums of an update into one exchange, and repeat casts of weights in each pass, where the weights
 * are whole for one pass only. The next compares programs; the last applies the chain. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/parallel/exchange.h"
#include "sim/parallel/framework.h"
#include "sim/parallel/parallel.h"
#include "sim/parallel/pipeline.h"
#include "sim/parallel/shard.h"
#include "tracer/ir/trace.h"
#include "tracer/transform/dtype.h"
#include "tracer/transform/rescale.h"
#include "tracer/transform/rewrite.h"

/* Of a step's `whole` FLOPs those that each of `ranks` devices does, which are at least 2, for they could not
 * be divided: a rank's are U + D / ranks, the whole's U + D. Pure. */
static double ll_undivided_flops(double whole, double rank, uint64_t ranks)
{
    assert(ranks >= 2);
    double all = (double)ranks * rank;
    assert(all >= whole * (1 - 1e-9)); /* ranks together do all of the work */
    return fmax(0, (all - whole) / (double)(ranks - 1));
}

bool ll_is_divided(const struct ll_trace *trace, const struct ll_trace *rank)
{
    double whole = ll_step_flops(trace);
    return whole == 0 || ll_step_flops(rank) < whole;
}

struct bundling {
    const struct ll_trace *program;
    struct ll_rewrite rewrite;
    uint32_t *head; /* by op: the first of its bundle; LL_NONE for all else */
    uint32_t *next; /* by op: the next of its bundle; LL_NONE behind the last */
};

static const struct ll_op_signature *x_bundle_signature_of(const struct bundling *b, uint32_t op)
{
    return &b->program->signatures[b->program->ops[op].signature];
}

static bool is_sum_of_update(const struct bundling *b, uint32_t op)
{
    const struct ll_op_signature *signature = x_bundle_signature_of(b, op);
    return signature->view.kind == LL_OP_ALL_REDUCE && signature->phase == LL_PHASE_UPDATE;
}

static bool same_devices(const struct ll_op_view *x, const struct ll_op_view *y)
{
    return ll_attr_count(x, LL_ATTR_DEVICES, 1) == ll_attr_count(y, LL_ATTR_DEVICES, 1) &&
           ll_attr_count(x, LL_ATTR_STRIDE, 1) == ll_attr_count(y, LL_ATTR_STRIDE, 1) &&
           x->attr_count == y->attr_count;
}

/* Whether an op may happen where the head does: among the same devices in the same step, and all that it
 * reads is there. */
static bool may_join(const struct bundling *b, uint32_t op, uint32_t head)
{
    const struct ll_op_signature *signature = x_bundle_signature_of(b, op);
    if (head == LL_NONE || b->program->ops[op].step != b->program->ops[head].step ||
        !same_devices(&signature->view, &x_bundle_signature_of(b, head)->view))
        return false;
    for (uint32_t i = 0; i < signature->view.input_count; i++) {
        uint32_t producer = b->program->tensors[ll_op_input(b->program, op, i)].producer;
        if (producer != LL_NONE && producer > head)
            return false;
    }
    return true;
}

/* How many ops go into bundles of others. */
static uint64_t find_bundles(struct bundling *b)
{
    uint64_t joined = 0;
    uint32_t head = LL_NONE, last = LL_NONE;
    for (uint32_t op = 0; op < b->program->op_count; op++) {
        bool joins = is_sum_of_update(b, op);
        b->head[op] = b->next[op] = LL_NONE;
        if (!joins)
            continue;
        if (may_join(b, op, head)) {
            b->next[last] = op;
            joined++;
        } else {
            head = op;
        }
        b->head[op] = head;
        last = op;
    }
    return joined;
}

/* All inputs of a bundle and, behind them, what its results look like. */
static uint32_t *list_tensors(struct bundling *b, uint32_t head, uint32_t *count)
{
    uint64_t all = 0;
    for (uint32_t op = head; op != LL_NONE; op = b->next[op])
        all += x_bundle_signature_of(b, op)->view.input_count;
    uint32_t *list = ll_alloc(&b->rewrite.arena, 2 * all, sizeof *list);
    *count = 0;
    for (uint32_t op = head; list && op != LL_NONE; op = b->next[op])
        for (uint32_t i = 0; i < x_bundle_signature_of(b, op)->view.input_count; i++, (*count)++) {
            list[*count] = ll_rewrite_tensor(&b->rewrite, ll_op_input(b->program, op, i));
            list[all + *count] = ll_rewrite_desc(&b->rewrite, x_bundle_signature_of(b, op)->outputs[i]);
        }
    return list;
}

static void put_bundle(struct bundling *b, uint32_t head)
{
    struct ll_record record;
    uint32_t count, *list = list_tensors(b, head, &count);
    if (!list)
        ll_rewrite_trouble(&b->rewrite, "memory ran out");
    if (!ll_rewrite_record(&b->rewrite, head, &record))
        return;
    record.scope = ll_recorder_string(b->rewrite.recorder, "gradients");
    record.inputs = list;
    record.outputs = list + count;
    record.input_count = record.output_count = count;
    ll_rewrite_step(&b->rewrite, head);
    uint32_t made = ll_rewrite_add(&b->rewrite, &record);
    for (uint32_t op = head; made != LL_NONE && op != LL_NONE; op = b->next[op])
        for (uint32_t i = 0; i < x_bundle_signature_of(b, op)->view.output_count; i++)
            ll_rewrite_redirect(&b->rewrite, ll_op_output(b->program, op, i), made++);
}

static struct ll_trace *write_all(struct bundling *b, const char **trouble)
{
    ll_rewrite_begin(&b->rewrite, b->program, NULL, 0);
    for (uint32_t op = 0; op < b->program->op_count; op++)
        if (b->head[op] == LL_NONE || (b->head[op] == op && b->next[op] == LL_NONE))
            ll_rewrite_keep(&b->rewrite, op);
        else if (b->head[op] == op)
            put_bundle(b, op);
    return ll_rewrite_end(&b->rewrite, trouble);
}

struct ll_trace *ll_bundle_sums(const struct ll_trace *program, const char **trouble)
{
    struct ll_arena arena = {0};
    struct bundling b = {.program = program,
                         .head = ll_alloc(&arena, program->op_count + 1, sizeof *b.head),
                         .next = ll_alloc(&arena, program->op_count + 1, sizeof *b.next)};
    bool room = b.head && b.next;
    *trouble = room ? NULL : "memory ran out";
    struct ll_trace *made = room && find_bundles(&b) > 0 ? write_all(&b, trouble) : NULL;
    ll_arena_release(&arena);
    return made;
}

struct recasting {
    const struct ll_trace *program;
    struct ll_rewrite rewrite;
    bool *of_cast; /* by op: it casts a weight, or looks at what does */
    bool *again;   /* by op: it has been made again */
};

static const struct ll_op_signature *signature_of(const struct recasting *r, uint32_t op)
{
    return &r->program->signatures[r->program->ops[op].signature];
}

/* The op that made an input and has to do with casts; LL_NONE: another, or none. */
static uint32_t cast_behind(const struct recasting *r, uint32_t op, uint32_t input)
{
    uint32_t from = r->program->tensors[ll_op_input(r->program, op, input)].producer;
    return from != LL_NONE && r->of_cast[from] ? from : LL_NONE;
}

static bool find_casts(struct recasting *r)
{
    uint64_t ops = r->program->op_count;
    r->of_cast = ll_alloc(&r->rewrite.arena, ops + 1, sizeof *r->of_cast);
    r->again = ll_alloc(&r->rewrite.arena, ops + 1, sizeof *r->again);
    for (uint32_t op = 0; r->of_cast && op < ops; op++) {
        const struct ll_op_signature *signature = signature_of(r, op);
        r->of_cast[op] = ll_is_lasting_cast(r->program, signature) ||
                         (ll_is_view(&signature->view) && cast_behind(r, op, 0) != LL_NONE);
    }
    return r->of_cast && r->again;
}

/* What it makes is an activation now, free behind the last reader of the pass. */
static void put_cast(struct recasting *r, uint32_t op, enum ll_phase phase)
{
    struct ll_record record;
    if (!ll_rewrite_record(&r->rewrite, op, &record))
        return;
    uint32_t descs[2];
    assert(record.output_count <= sizeof descs / sizeof *descs); /* of a cast, or of a look at one */
    for (uint32_t i = 0; i < record.output_count; i++) {
        const struct ll_tensor_desc *old = &r->program->descs[signature_of(r, op)->outputs[i]];
        descs[i] =
            ll_rewrite_new_desc(&r->rewrite, r->program->strings[old->name], &old->shape, LL_ACTIVATION);
    }
    record.phase = phase;
    record.outputs = descs;
    ll_rewrite_put(&r->rewrite, op, &record);
}

static void make_again(struct recasting *r, uint32_t op)
{
    if (r->again[op])
        return;
    r->again[op] = true;
    for (uint32_t i = 0; i < signature_of(r, op)->view.input_count; i++)
        if (cast_behind(r, op, i) != LL_NONE)
            make_again(r, cast_behind(r, op, i));
    put_cast(r, op, LL_PHASE_BACKWARD);
}

static void put(struct recasting *r, uint32_t op)
{
    enum ll_phase phase = signature_of(r, op)->phase;
    if (r->of_cast[op]) {
        r->again[op] = phase == LL_PHASE_BACKWARD;
        put_cast(r, op, phase);
        return;
    }
    for (uint32_t i = 0; phase == LL_PHASE_BACKWARD && i < signature_of(r, op)->view.input_count; i++)
        if (cast_behind(r, op, i) != LL_NONE)
            make_again(r, cast_behind(r, op, i));
    ll_rewrite_keep(&r->rewrite, op);
}

bool ll_has_lasting_casts(const struct ll_trace *program)
{
    for (uint64_t i = 0; i < program->signature_count; i++)
        if (ll_is_lasting_cast(program, &program->signatures[i]))
            return true;
    return false;
}

struct ll_trace *ll_recast(const struct ll_trace *program, const char **trouble)
{
    struct recasting r = {.program = program};
    ll_rewrite_begin(&r.rewrite, program, NULL, 0);
    if (!find_casts(&r))
        ll_rewrite_trouble(&r.rewrite, ll_status_text(LL_NO_MEMORY));
    for (uint32_t op = 0; op < program->op_count && !r.rewrite.trouble; op++) {
        ll_rewrite_step(&r.rewrite, op);
        put(&r, op);
    }
    return ll_rewrite_end(&r.rewrite, trouble);
}

/* From a recorded step and a plan to the programs of the devices: the transformations of a plan, one after
 * the other (ll_spread_trace). The first section compares programs, so that equal ones are simulated once;
 * the second finds the ops that run once per step. */

/* Whether two programs are the same, op by op. Forms and links are compared once for each pair of numbers
 * that meet, and one of them remembers the other: in equal programs a number of one meets few numbers of the
 * other. */

static bool same_shape(const struct ll_shape *a, const struct ll_shape *b)
{
    return a->rank == b->rank && a->dtype == b->dtype && memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

static bool same_bytes(const void *a, const void *b, size_t bytes)
{
    return bytes == 0 || memcmp(a, b, bytes) == 0;
}

static bool same_desc(const struct ll_trace *a, uint32_t in_a, const struct ll_trace *b, uint32_t in_b)
{
    const struct ll_tensor_desc *x = &a->descs[in_a], *y = &b->descs[in_b];
    return x->memory == y->memory && same_shape(&x->shape, &y->shape);
}

/* What random ops draw does not matter. */
static bool same_attrs(const struct ll_op_view *a, const struct ll_op_view *b)
{
    for (uint32_t i = 0; i < a->attr_count; i++) {
        const struct ll_attr *x = &a->attrs[i], *y = &b->attrs[i];
        bool drawn = x->key == LL_ATTR_SEED || x->key == LL_ATTR_STREAM;
        if (x->key != y->key || (!drawn && memcmp(x, y, sizeof *x) != 0))
            return false;
    }
    return true;
}

bool ll_same_signature(const struct ll_trace *a, const struct ll_op_signature *x, const struct ll_trace *b,
                       const struct ll_op_signature *y)
{
    const struct ll_op_view *v = &x->view, *w = &y->view;
    if (v->kind != w->kind || x->phase != y->phase || v->input_count != w->input_count ||
        v->output_count != w->output_count || v->attr_count != w->attr_count || !same_attrs(v, w))
        return false;
    for (uint32_t i = 0; i < v->input_count; i++)
        if (!same_desc(a, x->inputs[i], b, y->inputs[i]))
            return false;
    for (uint32_t i = 0; i < v->output_count; i++)
        if (x->aliases[i] != y->aliases[i] || !same_desc(a, x->outputs[i], b, y->outputs[i]))
            return false;
    return true;
}

/* Inputs are distances, or tensors that were brought: these have to have equal numbers. */
static bool same_edges(const struct ll_op_edges *x, const struct ll_op_edges *y)
{
    return x->input_count == y->input_count && x->control_count == y->control_count &&
           x->storage_count == y->storage_count && x->gap_count == y->gap_count &&
           same_bytes(x->inputs, y->inputs, x->input_count * sizeof *x->inputs) &&
           same_bytes(x->controls, y->controls, x->control_count * sizeof *x->controls);
}

static bool same_sizes(const struct ll_trace *a, const struct ll_trace *b)
{
    return a->op_count == b->op_count && a->tensor_count == b->tensor_count &&
           a->storage_count == b->storage_count && a->step_count == b->step_count;
}

static bool same_ops(const struct ll_trace *a, const struct ll_trace *b, uint32_t *met_signature,
                     uint32_t *met_edges)
{
    for (uint64_t i = 0; i < a->op_count; i++) {
        const struct ll_op *x = &a->ops[i], *y = &b->ops[i];
        if (x->step != y->step || x->first_output != y->first_output)
            return false;
        if (met_signature[x->signature] != y->signature + 1 &&
            !ll_same_signature(a, &a->signatures[x->signature], b, &b->signatures[y->signature]))
            return false;
        if (met_edges[x->edges] != y->edges + 1 && !same_edges(&a->edges[x->edges], &b->edges[y->edges]))
            return false;
        met_signature[x->signature] = y->signature + 1;
        met_edges[x->edges] = y->edges + 1;
    }
    return true;
}

static bool same_tensors(const struct ll_trace *a, const struct ll_trace *b)
{
    for (uint64_t i = 0; i < a->tensor_count; i++)
        if (a->tensors[i].storage != b->tensors[i].storage ||
            a->tensors[i].producer != b->tensors[i].producer ||
            !same_desc(a, a->tensors[i].desc, b, b->tensors[i].desc))
            return false;
    return true;
}

bool ll_same_program(const struct ll_trace *a, const struct ll_trace *b)
{
    if (a == b)
        return true;
    if (!same_sizes(a, b))
        return false;
    uint32_t *met_signature = calloc(a->signature_count + 1, sizeof *met_signature),
             *met_edges = calloc(a->edges_count + 1, sizeof *met_edges);
    bool same = met_signature && met_edges && same_ops(a, b, met_signature, met_edges) && same_tensors(a, b);
    free(met_signature);
    free(met_edges);
    return same;
}

bool ll_is_lasting_cast(const struct ll_trace *program, const struct ll_op_signature *signature)
{
    const bool casts = signature->view.kind == LL_OP_CAST || signature->view.kind == LL_OP_CAST_BOTH;
    return casts && program->descs[signature->inputs[0]].memory == LL_WEIGHT &&
           program->descs[signature->outputs[0]].memory == LL_WORKSPACE;
}

bool ll_is_per_step(const struct ll_trace *program, const struct ll_op_signature *signature)
{
    return signature->phase == LL_PHASE_COMM || signature->phase == LL_PHASE_UPDATE ||
           ll_is_lasting_cast(program, signature);
}

/* --- parts that take turns --- */

struct turns {
    struct ll_rewrite rewrite;
    const struct ll_trace *program;
    uint64_t parts;
    uint32_t **tensors; /* by part but the first, and old tensor: the new one, LL_NONE before it is there */
    struct ll_arena scratch;
};

/* A tensor of a part: all have the same weights, all else is their own. */
static uint32_t turns_tensor(struct turns *t, uint64_t part, uint32_t tensor)
{
    uint32_t desc = t->program->tensors[tensor].desc;
    if (part == 0 ||
        (t->program->tensors[tensor].producer == LL_NONE && t->program->descs[desc].memory == LL_WEIGHT))
        return ll_rewrite_tensor(&t->rewrite, tensor);
    uint32_t *own = &t->tensors[part - 1][tensor];
    if (*own == LL_NONE)
        *own = ll_rewrite_bring(&t->rewrite, ll_rewrite_desc(&t->rewrite, desc));
    return *own;
}

static bool put_turn(struct turns *t, uint64_t part, uint32_t op)
{
    struct ll_record record;
    if (part == 0) {
        ll_rewrite_keep(&t->rewrite, op);
        return !t->rewrite.trouble;
    }
    if (!ll_rewrite_record(&t->rewrite, op, &record))
        return false;
    uint32_t *inputs = ll_alloc(&t->scratch, record.input_count + 1u, sizeof *inputs);
    if (!inputs)
        return ll_rewrite_trouble(&t->rewrite, "memory ran out");
    for (uint32_t i = 0; i < record.input_count; i++)
        inputs[i] = turns_tensor(t, part, ll_op_input(t->program, op, i));
    record.inputs = inputs;
    record.control_count = record.storage_count = record.gap_count = 0;
    uint32_t first = ll_rewrite_add(&t->rewrite, &record);
    for (uint32_t i = 0; i < record.output_count && first != LL_NONE; i++)
        t->tensors[part - 1][ll_op_output(t->program, op, i)] = first + i;
    return !t->rewrite.trouble;
}

/* Each part does what there is until it has to communicate, then the next one does the same (DeepSeek-AI,
 * DeepSeek-V3, 2024, section 3.4: two micro-batches). */
static void put_turns(struct turns *t)
{
    const struct ll_trace *program = t->program;
    for (uint32_t begin = 0, end; begin < program->op_count; begin = end) {
        end = begin;
        while (end < program->op_count &&
               ll_op_class(program->signatures[program->ops[end].signature].view.kind) !=
                   LL_CLASS_COMMUNICATION)
            end++;
        while (end < program->op_count &&
               ll_op_class(program->signatures[program->ops[end].signature].view.kind) ==
                   LL_CLASS_COMMUNICATION)
            end++;
        for (uint64_t part = 0; part < t->parts; part++)
            for (uint32_t op = begin; op < end; op++)
                if (!put_turn(t, part, op))
                    return;
    }
}

struct ll_trace *ll_take_turns(const struct ll_trace *program, uint64_t parts, const char **trouble)
{
    assert(parts > 1);
    struct turns t = {.program = program, .parts = parts};
    char batch[24];
    snprintf(batch, sizeof batch, "%" PRIu64, ll_mul(ll_trace_batch(program), parts));
    const struct ll_fact fact = {"batch", batch};
    ll_rewrite_begin(&t.rewrite, program, &fact, ll_trace_batch(program) > 0);
    t.tensors = ll_alloc(&t.scratch, parts, sizeof *t.tensors);
    for (uint64_t i = 0; t.tensors && i + 1 < parts; i++) {
        t.tensors[i] = ll_alloc(&t.scratch, program->tensor_count + 1, sizeof **t.tensors);
        for (uint64_t j = 0; t.tensors[i] && j < program->tensor_count; j++)
            t.tensors[i][j] = LL_NONE;
        if (!t.tensors[i])
            ll_rewrite_trouble(&t.rewrite, "memory ran out");
    }
    if (t.tensors && !t.rewrite.trouble)
        put_turns(&t);
    else
        ll_rewrite_trouble(&t.rewrite, "memory ran out");
    struct ll_trace *made = ll_rewrite_end(&t.rewrite, trouble);
    ll_arena_release(&t.scratch);
    return made;
}

/* Transformations that a plan makes at most: of the whole step, and of each virtual stage. */
enum { CHANGES = 13, CHANGES_OF_VSTAGE = 6 };

/* A law of plans: their factors multiply to the devices. */
static inline bool plan_fits_devices(const struct ll_spread *spread)
{
    const struct ll_parallel *plan = &spread->plan;
    return spread->sizes.devices == plan->data * plan->context * plan->tensor * plan->pipeline;
}

/* One trace after the other; the last is what the next change begins with. */
struct chain {
    struct ll_spread *spread;
    const struct ll_trace *last;
    struct ll_diags *diags;
    const char *what;           /* is being done, for complaints */
    struct ll_kept_layers kept; /* without any: the whole step is transformed */
    struct ll_arena arena;      /* of these, and of what is found out on the way */
};

static bool no_memory(struct ll_diags *diags)
{
    return ll_complain(diags, (struct ll_place){0}, "memory ran out");
}

/* Takes a new trace over, or says why there is none. */
static bool follow(struct chain *chain, struct ll_trace *trace, const char *trouble)
{
    assert(!trace || chain->spread->owned_count < CHANGES + CHANGES_OF_VSTAGE * chain->spread->vstage_count);
    struct ll_place place = {.file = ll_trace_fact(chain->last, "model")};
    if (!trace)
        return trouble ? ll_complain(chain->diags, place, "%s: %s", chain->what, trouble)
                       : no_memory(chain->diags);
    chain->spread->owned[chain->spread->owned_count++] = trace;
    chain->last = trace;
    return true;
}

static bool rescale(struct chain *chain)
{
    const char *trouble = NULL;
    uint64_t batch = chain->spread->sizes.micro_batch / ll_max(1, chain->spread->plan.parts);
    chain->what = "at another batch";
    if (batch == 0 || batch == ll_trace_batch(chain->last))
        return true;
    struct ll_trace *made = ll_trace_rescale(chain->last, batch, &trouble);
    return follow(chain, made, trouble);
}

static bool narrow(struct chain *chain)
{
    const struct ll_low_precision *low = &chain->spread->plan.low_precision;
    const char *trouble = NULL;
    chain->what = "with GEMMs of few bits";
    if (low->recipe == LL_RECIPE_NONE)
        return true;
    struct ll_trace *made = ll_narrow_training(chain->last, low, &trouble);
    return follow(chain, made, trouble);
}

static bool complete_casts(struct chain *chain)
{
    const struct ll_parallel *plan = &chain->spread->plan;
    const char *trouble = NULL;
    chain->what = "with GEMMs of few bits";
    if (plan->low_precision.recipe == LL_RECIPE_NONE)
        return true;
    struct ll_trace *made = ll_complete_casts(chain->last, plan, &trouble);
    return follow(chain, made, trouble);
}

/* Many devices that all do the same are a mistake. */
static bool refuse_shares(struct chain *chain)
{
    uint64_t ranks = chain->spread->plan.tensor;
    return ll_complain(chain->diags, (struct ll_place){.file = ll_trace_fact(chain->last, "model")},
                       "cannot be divided among %" PRIu64
                       " tensor-parallel devices: no number of heads, features "
                       "or words in it is a multiple of %" PRIu64,
                       ranks, ranks);
}

static bool shard(struct chain *chain)
{
    struct ll_spread *spread = chain->spread;
    const struct ll_trace *whole = chain->last;
    if (spread->plan.tensor == 1)
        return true;
    struct ll_trace *rank = ll_shard(whole, &spread->plan, chain->diags);
    if (!rank || !follow(chain, rank, NULL))
        return false;
    double rank_flops;
    if (!ll_whole_step_flops(whole, &chain->kept, &spread->whole_flops) ||
        !ll_whole_step_flops(rank, &chain->kept, &rank_flops))
        return no_memory(chain->diags);
    spread->undivided_flops = ll_undivided_flops(spread->whole_flops, rank_flops, spread->plan.tensor);
    return spread->whole_flops == 0 || rank_flops < spread->whole_flops || refuse_shares(chain);
}

static bool share_context(struct chain *chain)
{
    if (chain->spread->plan.context == 1)
        return true;
    struct ll_trace *share = ll_share_context(chain->last, &chain->spread->plan, chain->diags);
    return share && follow(chain, share, NULL);
}

static bool spread_experts(struct chain *chain)
{
    if (chain->spread->plan.expert == 1)
        return true;
    struct ll_trace *replica = ll_spread_experts(chain->last, &chain->spread->plan, chain->diags);
    return replica && follow(chain, replica, NULL);
}

/* What only training has. */
static bool refuse_key(struct chain *chain, const char *key, const char *trouble)
{
    return ll_complain(chain->diags, (struct ll_place){.file = ll_trace_fact(chain->last, "model")},
                       "%s: the trace is of an inference, %s", key, trouble);
}

static bool check_keys(struct chain *chain)
{
    const struct ll_parallel *plan = &chain->spread->plan;
    static const char keeps_nothing[] = "which keeps no activations for a backward pass";
    if (ll_trains(chain->last) && plan->parts > 1)
        return ll_complain(chain->diags, (struct ll_place){.file = ll_trace_fact(chain->last, "model")},
                           "micro_batches_overlapped %" PRIu64
                           ": the trace is of a training step, expected an inference",
                           plan->parts);
    if (ll_trains(chain->last))
        return true;
    if (plan->low_precision.recipe != LL_RECIPE_NONE)
        return refuse_key(chain, "low_precision", "whose GEMMs --gemm-dtype makes narrow");
    if (plan->recompute != LL_RECOMPUTE_NONE)
        return refuse_key(chain, "recompute", keeps_nothing);
    if (plan->offload.activations)
        return refuse_key(chain, "offload activations", keeps_nothing);
    return !plan->offload.optimizer || refuse_key(chain, "offload optimizer", "which updates no weights");
}

/* Replicas of a step that learns exchange the gradients of its weights. */
static bool check_replicas(struct chain *chain)
{
    uint64_t replicas = ll_replicas(&chain->spread->plan);
    bool lacks = false;
    if (replicas > 1 && !ll_gradients_missing(chain->last, &lacks))
        return no_memory(chain->diags);
    return !lacks || ll_complain(chain->diags, (struct ll_place){.file = ll_trace_fact(chain->last, "model")},
                                 "cannot be laid on %" PRIu64
                                 " replicas: the trace has no gradient of a weight that they "
                                 "could exchange, so that their step would look as long as that of one",
                                 replicas);
}

static bool recompute(struct chain *chain)
{
    const char *trouble = NULL;
    chain->what = "with recomputation";
    if (chain->spread->plan.recompute == LL_RECOMPUTE_NONE)
        return true;
    const struct ll_parallel *plan = &chain->spread->plan;
    struct ll_trace *made = plan->recompute == LL_RECOMPUTE_FULL
                                ? ll_recompute_but(chain->last, &plan->recompute_except, &trouble)
                                : ll_recompute(chain->last, plan->recompute, &trouble);
    return follow(chain, made, trouble);
}

static bool fuse_loss(struct chain *chain)
{
    const char *trouble = NULL;
    chain->what = "with a fused loss";
    if (!chain->spread->plan.fused_loss)
        return true;
    struct ll_trace *made = ll_fuse_loss(chain->last, &trouble);
    return follow(chain, made, trouble);
}

static bool widen_gradients(struct chain *chain)
{
    const char *trouble = NULL;
    chain->what = "with gradients of 32 bits";
    if (!chain->spread->plan.main_grads)
        return true;
    struct ll_trace *made = ll_main_gradients(chain->last, &trouble);
    return follow(chain, made, trouble);
}

static bool cut_exchanges(struct chain *chain)
{
    const struct ll_parallel *plan = &chain->spread->plan;
    const char *trouble = NULL;
    chain->what = "with exchanges beside GEMMs";
    if (!plan->tensor_overlap)
        return true;
    struct ll_trace *made = ll_cut_exchanges(chain->last, plan, &trouble);
    return follow(chain, made, trouble);
}

static bool wait_for_exchanges(struct chain *chain)
{
    const char *trouble = NULL;
    chain->what = "with exposed exchanges";
    if (chain->spread->plan.pass_overlap)
        return true;
    struct ll_trace *made = ll_wait_for_exchanges(chain->last, &trouble);
    return follow(chain, made, trouble);
}

/* Where weights are whole only for a pass. */
static bool recast(struct chain *chain)
{
    const struct ll_parallel *plan = &chain->spread->plan;
    const char *trouble = NULL;
    chain->what = "with casts in each pass";
    if ((plan->zero < 3 && !plan->offload.weights) || !ll_has_lasting_casts(chain->last))
        return true;
    struct ll_trace *made = ll_recast(chain->last, &trouble);
    return follow(chain, made, trouble);
}

/* Virtual stages of a model, of which there may be two. */
static uint32_t model_vstages(const struct ll_spread *spread)
{
    bool twice = ll_schedule_placement(spread->plan.schedule) == LL_PLACED_BOTH_WAYS;
    return twice ? (uint32_t)spread->plan.pipeline : spread->vstage_count;
}

/* Which of these has what of the step that is to be partitioned. */
struct cuts {
    struct ll_pipeline_partition how;
    struct ll_virtual_stages vstages;
    struct ll_twins twins;
};

static bool find_cuts(struct chain *chain, struct cuts *cuts)
{
    const struct ll_spread *spread = chain->spread;
    const struct ll_parallel *plan = &spread->plan;
    const uint32_t vstages = model_vstages(spread);
    const struct ll_kept_layers *kept = &chain->kept;
    *cuts = (struct cuts){.how = {.stages = plan->pipeline,
                                  .chunks = vstages / plan->pipeline,
                                  .distance = plan->tensor * ll_replicas(plan),
                                  .schedule = plan->schedule,
                                  .split = plan->split,
                                  .part_of = kept->count > 0 ? kept->part_of : NULL,
                                  .layers = kept->count},
                          .twins = kept->twins};
    chain->what = "cut into stages";
    if (spread->vstage_count == 1) {
        static uint32_t alone[1];
        cuts->twins.twin_of = alone;
        return true;
    }
    if (kept->count > 0 ? !ll_kept_layers_hold(chain->last, plan, kept, &chain->arena)
                        : !ll_twins_find(chain->last, plan, vstages, &chain->arena, &cuts->twins))
        return no_memory(chain->diags);
    const char *trouble = ll_virtual_stages_find(chain->last, &cuts->how, &chain->arena, &cuts->vstages);
    if (!trouble)
        return true;
    trouble = ll_layout_trouble(chain->last, &plan->split, trouble, &chain->arena);
    return trouble ? follow(chain, NULL, trouble) : no_memory(chain->diags);
}

static bool partition(struct chain *chain, struct cuts *cuts, uint64_t vstage)
{
    const char *trouble = NULL;
    chain->what = "cut into stages";
    if (chain->spread->vstage_count == 1)
        return true;
    cuts->how.vstage = vstage;
    struct ll_trace *made = ll_vstage_program(chain->last, &cuts->how, &cuts->vstages, &trouble);
    return follow(chain, made, trouble);
}

static bool exchange(struct chain *chain)
{
    const char *trouble = NULL;
    chain->what = "with replicas";
    if (ll_replicas(&chain->spread->plan) == 1)
        return true;
    struct ll_trace *made = ll_exchange_gradients(chain->last, &chain->spread->plan, &trouble);
    return follow(chain, made, trouble);
}

static bool compress(struct chain *chain)
{
    const struct ll_parallel *plan = &chain->spread->plan;
    const char *trouble = NULL;
    chain->what = "with compressed gradients";
    if (ll_replicas(plan) == 1 || plan->compression.kind == LL_COMPRESSION_NONE)
        return true;
    const uint64_t ops = chain->last->op_count;
    struct ll_trace *made = ll_compress_gradients(chain->last, plan, &trouble);
    chain->spread->compresses |= made && made->op_count != ops;
    return follow(chain, made, trouble);
}

/* A form that no gradient takes would do nothing. */
static bool check_compression(struct chain *chain)
{
    const struct ll_parallel *plan = &chain->spread->plan;
    const struct ll_place place = {.file = ll_trace_fact(chain->last, "model")};
    if (plan->compression.kind == LL_COMPRESSION_NONE || chain->spread->compresses)
        return true;
    if (plan->compression.kind == LL_COMPRESSION_POWERSGD)
        return ll_complain(chain->diags, place,
                           "grad_compression powersgd:%" PRIu64
                           ": no gradient between replicas is a matrix larger than its two factors of this "
                           "rank; expected a smaller rank",
                           plan->compression.amount);
    return ll_complain(chain->diags, place, "grad_compression: no gradient between replicas has more than %s",
                       plan->compression.kind == LL_COMPRESSION_BF16 ? "16 bits"
                       : plan->compression.kind == LL_COMPRESSION_F8 ? "8 bits"
                                                                     : "one element");
}

static bool bundle(struct chain *chain)
{
    const char *trouble = NULL;
    chain->what = "with sums put together";
    if (chain->spread->plan.tensor == 1)
        return true;
    struct ll_trace *made = ll_bundle_sums(chain->last, &trouble);
    return (!made && !trouble) || follow(chain, made, trouble);
}

static bool offload(struct chain *chain)
{
    const struct ll_offload *away = &chain->spread->plan.offload;
    const char *trouble = NULL;
    chain->what = "with memory on the host";
    if (!away->optimizer && !away->activations && !away->weights)
        return true;
    struct ll_trace *made = ll_offload(chain->last, &chain->spread->plan, &trouble);
    return follow(chain, made, trouble);
}

static bool take_turns(struct chain *chain)
{
    const char *trouble = NULL;
    chain->what = "in overlapped parts";
    if (chain->spread->plan.parts < 2)
        return true;
    struct ll_trace *made = ll_take_turns(chain->last, chain->spread->plan.parts, &trouble);
    return follow(chain, made, trouble);
}

/* The program of a virtual stage, unless one before it does the same. */
static bool add_vstage(struct chain chain, struct cuts *cuts, uint32_t vstage)
{
    struct ll_spread *spread = chain.spread;
    if (!partition(&chain, cuts, vstage) || !exchange(&chain) || !compress(&chain) || !bundle(&chain) ||
        !offload(&chain) || !take_turns(&chain))
        return false;
    for (uint32_t i = 0; i < spread->program_count; i++)
        if (ll_same_program(spread->programs[i].trace, chain.last)) {
            spread->program_of[vstage] = i;
            return true;
        }
    struct ll_device_program *program = &spread->programs[spread->program_count];
    program->trace = chain.last;
    program->prepared = ll_prepare(chain.last, &spread->arena, chain.diags);
    spread->program_of[vstage] = spread->program_count++;
    return program->prepared || chain.diags->count > 0 || no_memory(chain.diags);
}

/* How many layers each virtual stage has, where that is known. */
static bool count_layers(struct ll_spread *spread, const struct ll_twins *twins)
{
    spread->layers_of = NULL;
    if (!twins->part_of)
        return true;
    spread->layers_of = ll_alloc(&spread->arena, twins->vstages, sizeof *spread->layers_of);
    for (uint32_t layer = 0; spread->layers_of && layer < twins->layers; layer++)
        spread->layers_of[twins->part_of[layer]]++;
    return spread->layers_of != NULL;
}

/* A program for each virtual stage. Those inside of layers that are alike are alike, and are not all made. */
static bool add_vstages(struct chain *chain)
{
    struct ll_spread *spread = chain->spread;
    const uint32_t of_model = model_vstages(spread);
    struct cuts cuts;
    bool right = find_cuts(chain, &cuts) && (count_layers(spread, &cuts.twins) || no_memory(chain->diags));
    for (uint32_t vstage = 0; right && vstage < spread->vstage_count; vstage++) {
        uint32_t twin = vstage < of_model ? cuts.twins.twin_of[vstage] : vstage - of_model;
        if (twin < vstage)
            spread->program_of[vstage] = spread->program_of[twin];
        else
            right = add_vstage(*chain, &cuts, vstage);
    }
    return right;
}

/* What layers cost, a machine says (ll_assign_layers). */
static bool check_assigned(struct chain *chain)
{
    return !ll_split_is_by_cost(&chain->spread->plan.split) ||
           ll_complain(
               chain->diags, (struct ll_place){0},
               "pipeline_model_parallel_layout auto: expected a layout, for one that several machines "
               "share does not follow from the costs of one");
}

static bool make_room(struct ll_spread *spread)
{
    uint64_t vstages = spread->plan.pipeline * spread->plan.chunks;
    spread->vstage_count = (uint32_t)vstages;
    spread->programs = ll_alloc(&spread->arena, vstages, sizeof *spread->programs);
    spread->program_of = ll_alloc(&spread->arena, vstages, sizeof *spread->program_of);
    spread->owned = ll_alloc(&spread->arena, CHANGES + CHANGES_OF_VSTAGE * vstages, sizeof(void *));
    return spread->programs && spread->program_of && spread->owned;
}

/* All that a plan makes of a step, or of what was kept of it. */
static bool transform(struct chain *chain)
{
    return check_keys(chain) && check_replicas(chain) && fuse_loss(chain) && rescale(chain) &&
           narrow(chain) && shard(chain) && share_context(chain) && spread_experts(chain) &&
           complete_casts(chain) && recompute(chain) && recast(chain) && widen_gradients(chain) &&
           cut_exchanges(chain) && wait_for_exchanges(chain) && add_vstages(chain) &&
           check_compression(chain);
}

/* Where scales are agreed upon behind a pass, one exchange has a number of each layer. */
static bool counts_layers(const struct ll_parallel *plan)
{
    return plan->low_precision.recipe == LL_RECIPE_DELAYED;
}

/* Leaves out what several virtual stages have alike. False where that does not work out, whatever the reason:
 * the whole step then shows whether the plan does. */
static bool transform_kept(struct chain *chain)
{
    struct ll_diags diags = {0};
    struct chain kept = *chain;
    kept.diags = &diags;
    if (chain->spread->vstage_count < 3 || counts_layers(&chain->spread->plan))
        return false;
    struct ll_trace *left = ll_leave_twins_out(chain->last, &chain->spread->plan,
                                               model_vstages(chain->spread), &kept.arena, &kept.kept);
    const bool done = left && follow(&kept, left, NULL) && transform(&kept) && diags.count == 0;
    ll_diags_release(&diags);
    ll_arena_release(&kept.arena);
    return done;
}

/* Frees what was made so far. */
static void start_again(struct ll_spread *spread)
{
    for (uint32_t i = 0; i < spread->owned_count; i++)
        ll_trace_free(spread->owned[i]);
    spread->owned_count = spread->program_count = 0;
    spread->compresses = false;
}

struct ll_spread *ll_spread_trace(const struct ll_trace *trace, const struct ll_parallel *plan,
                                  uint64_t devices, struct ll_diags *diags)
{
    struct ll_spread *spread = calloc(1, sizeof *spread);
    struct chain chain = {.spread = spread, .last = trace, .diags = diags};
    size_t before = diags->count;
    if (!spread)
        return NULL;
    spread->plan = *plan;
    bool right = ll_is_of_one_rank(trace, diags) && check_assigned(&chain) &&
                 ll_plan_resolve(plan, ll_trace_batch(trace), devices, diags, &spread->sizes) &&
                 (make_room(spread) || no_memory(diags));
    if (right && !transform_kept(&chain)) {
        start_again(spread);
        right = transform(&chain);
        ll_arena_release(&chain.arena);
    }
    assert(!right || plan_fits_devices(spread));
    if (right && diags->count == before)
        return spread;
    ll_spread_free(spread);
    return NULL;
}

bool ll_spread_take_batch(struct ll_spread *spread, const struct ll_parallel *plan, uint64_t devices)
{
    struct ll_plan_sizes sizes;
    struct ll_diags diags = {0};
    bool fits = plan->batch > 0 && plan->micro_batch > 0 &&
                ll_plan_differs_in_batch_alone(&spread->plan, plan) &&
                ll_plan_resolve(plan, 0, devices, &diags, &sizes);
    if (fits) {
        assert(sizes.devices == spread->sizes.devices);
        spread->plan = *plan;
        spread->sizes = sizes;
    }
    ll_diags_release(&diags);
    return fits;
}

void ll_stage_layers(const struct ll_spread *spread, uint64_t stage, struct ll_str *out)
{
    const struct ll_parallel *plan = &spread->plan;
    const struct ll_ends ends = ll_split_ends(&plan->split);
    const uint64_t parts = model_vstages(spread);
    for (uint64_t c = 0; spread->layers_of && c < plan->chunks; c++) {
        const uint64_t part = ll_vstage_at(plan->schedule, plan->pipeline, stage, c) % parts;
        ll_str_add(out, c ? "|" : "");
        ll_layout_part(spread->layers_of[part], ends.embedding && part == 0, ends.loss && part == parts - 1,
                       out);
    }
}

void ll_spread_free(struct ll_spread *spread)
{
    if (!spread)
        return;
    start_again(spread);
    ll_arena_release(&spread->arena);
    free(spread);
}
