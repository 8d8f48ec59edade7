/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual stages that do the same, which are simulated once: found by their layers (first section). Of such
 * stages most layers can be left out of the recorded step before it is transformed (second section), as far
 * as nothing but the next layer reads what they make:
 *
 *       stage     0         1         2         3         4         5
 *       layers    0 1 2 3   4 5 6 7   8 9 . .   . . . .   . . . 19  20 21 22 23
 *       kept      all       all       border    none      border    all
 *
 * The programs of stages 0, 1 and 5 come out as from the whole step: of a neighbour they see but the layer at
 * their border, and this one stands for those that are left out behind it. Whether the transformations have
 * treated the layers alike, so that the ones that were left out would have become what those kept did, is
 * seen in what came out (third section), which has what the whole step computes as well. */
#include <assert.h>
#include <string.h>

#include "sim/parallel/pipeline.h"
#include "tracer/transform/rewrite.h"

/* Layers that a virtual stage has, where it and its neighbours have none but such as are alike. */
struct inside {
    uint32_t count; /* 0: it has others */
    bool first_stage, last_stage;
    uint32_t turn; /* of a folded model, whose neighbours lie at other distances: the virtual stage; else 0 */
};

/* A layer between two others of the longest run of equal layers. */
static bool is_surrounded(const struct ll_equal_layers *equal, uint32_t layer)
{
    return layer > equal->first && layer + 1 < equal->first + equal->count;
}

static bool has_ends(const struct ll_parallel *plan)
{
    const struct ll_ends ends = ll_split_ends(&plan->split);
    return ends.embedding || ends.loss;
}

/* The first virtual stage before this one whose program it shares for sure; itself when there is none. */
static uint32_t twin_of(const struct inside *inside, uint32_t vstage)
{
    for (uint32_t other = 0; inside[vstage].count > 0 && other < vstage; other++)
        if (inside[other].count == inside[vstage].count &&
            inside[other].first_stage == inside[vstage].first_stage &&
            inside[other].last_stage == inside[vstage].last_stage &&
            inside[other].turn == inside[vstage].turn)
            return other;
    return vstage;
}

/* What is inside of each virtual stage, whose `count` layers are known: with the embedding as one of them,
 * all others lie one further on. */
static void find_inside(const struct ll_parallel *plan, const struct ll_equal_layers *equal, uint32_t count,
                        const uint32_t *part_of, struct inside *inside)
{
    const bool embedding = ll_split_ends(&plan->split).embedding;
    for (uint32_t layer = 0; layer < count; layer++)
        inside[part_of[layer]].count++;
    for (uint32_t layer = 0; layer < count; layer++) {
        const bool among = layer >= embedding && is_surrounded(equal, layer - embedding);
        struct inside *vstage = &inside[part_of[layer]];
        const uint64_t stage = ll_vstage_lies_on(plan->schedule, plan->pipeline, part_of[layer]);
        vstage->count = among ? vstage->count : 0;
        vstage->first_stage = stage == 0;
        vstage->last_stage = stage == plan->pipeline - 1;
        vstage->turn = ll_schedule_placement(plan->schedule) == LL_PLACED_FOLDED ? part_of[layer] : 0;
    }
}

/* Fills twins->twin_of by the layers of a trace, and twins->part_of where they can be divided. */
static bool find_twins(const struct ll_trace *trace, const struct ll_parallel *plan,
                       const struct ll_equal_layers *equal, struct ll_arena *arena, struct ll_twins *twins)
{
    struct ll_layers layers = equal->layers;
    /* Where the ends cannot be layers of their own, the partition says so. */
    if (has_ends(plan) && ll_layers_of_split(trace, &plan->split, arena, &layers))
        layers.count = 0;
    struct inside *inside = ll_alloc(arena, twins->vstages, sizeof *inside);
    uint32_t *part_of = ll_alloc(arena, layers.count + 1u, sizeof *part_of);
    twins->twin_of = ll_alloc(arena, twins->vstages, sizeof *twins->twin_of);
    if (!inside || !part_of || !twins->twin_of)
        return false;
    if (layers.count >= twins->vstages && ll_divide_layers(&plan->split, layers.named_flops, layers.flops,
                                                           layers.count, twins->vstages, part_of)) {
        find_inside(plan, equal, layers.count, part_of, inside);
        twins->part_of = part_of;
        twins->layers = layers.count;
    }
    for (uint32_t vstage = 0; vstage < twins->vstages; vstage++)
        twins->twin_of[vstage] = twin_of(inside, vstage);
    return true;
}

bool ll_twins_find(const struct ll_trace *trace, const struct ll_parallel *plan, uint32_t vstages,
                   struct ll_arena *arena, struct ll_twins *twins)
{
    struct ll_equal_layers equal;
    *twins = (struct ll_twins){.vstages = vstages};
    return ll_equal_layers_find(trace, arena, &equal) && find_twins(trace, plan, &equal, arena, twins);
}

/* --- what is left out --- */

enum stay { WHOLE, BORDER, LEFT_OUT, NOBODYS };

struct leaving {
    const struct ll_trace *trace;
    const struct ll_equal_layers *equal;
    uint8_t *stay; /* by layer: enum stay */
};

static enum stay stay_of(const struct leaving *l, uint32_t op)
{
    const uint32_t layer = l->equal->layers.owner[op];
    return layer == LL_NONE ? NOBODYS : (enum stay)l->stay[layer];
}

/* How many layers are left out. */
static uint32_t choose_layers(struct leaving *l, const struct ll_twins *twins)
{
    const uint32_t layers = l->equal->layers.count;
    uint32_t count = 0;
    for (uint32_t i = 0; i < layers; i++)
        l->stay[i] = twins->twin_of[twins->part_of[i]] == twins->part_of[i] ? WHOLE : LEFT_OUT;
    for (uint32_t i = 0; i < layers; i++)
        if (l->stay[i] == LEFT_OUT &&
            ((i > 0 && l->stay[i - 1] == WHOLE) || (i + 1 < layers && l->stay[i + 1] == WHOLE)))
            l->stay[i] = BORDER;
        else
            count += l->stay[i] == LEFT_OUT;
    return count;
}

/* What has read a tensor that is nobody's, and which layer has touched a weight. */
struct marks {
    bool *by_kept, *by_left_out; /* by tensor */
    uint32_t *user;              /* by storage: the layer that has read it as a weight first */
};

static const struct ll_op_signature *signature_of(const struct ll_trace *trace, uint32_t op)
{
    return &trace->signatures[trace->ops[op].signature];
}

/* Layers that are left out share a weight with no other. */
static bool owns_weight(const struct leaving *l, uint32_t layer, uint32_t *user)
{
    const uint32_t other = *user;
    if (other == LL_NONE)
        *user = layer;
    return other == LL_NONE || other == layer || (l->stay[layer] != LEFT_OUT && l->stay[other] != LEFT_OUT);
}

/* Whether an op may go, or stay while others go: those that go read of stages that stay but the border, and
 * of what stays but the border reads of them. */
static bool may_leave(const struct leaving *l, uint32_t op, struct marks *marks)
{
    const struct ll_trace *trace = l->trace;
    const enum stay stay = stay_of(l, op);
    for (uint32_t i = 0; i < signature_of(trace, op)->view.input_count; i++) {
        const uint32_t tensor = ll_op_input(trace, op, i);
        const struct ll_tensor *read = &trace->tensors[tensor];
        const enum stay from = read->producer == LL_NONE ? NOBODYS : stay_of(l, read->producer);
        if ((stay == LEFT_OUT && from == WHOLE) || (from == LEFT_OUT && (stay == WHOLE || stay == NOBODYS)))
            return false;
        (stay == LEFT_OUT ? marks->by_left_out : marks->by_kept)[tensor] = true;
        if (stay != NOBODYS && trace->descs[read->desc].memory == LL_WEIGHT &&
            !owns_weight(l, l->equal->layers.owner[op], &marks->user[read->storage]))
            return false;
    }
    return true;
}

/* Whether all may; what is nobody's is made where it is read, so that somebody who stays has to read it.
 * False when memory ran out, too. */
static bool may_all_leave(const struct leaving *l)
{
    const struct ll_trace *trace = l->trace;
    struct ll_arena scratch = {0};
    struct marks marks = {.by_kept = ll_alloc(&scratch, trace->tensor_count + 1, sizeof *marks.by_kept),
                          .by_left_out =
                              ll_alloc(&scratch, trace->tensor_count + 1, sizeof *marks.by_left_out),
                          .user = ll_alloc(&scratch, trace->storage_count + 1, sizeof *marks.user)};
    bool may = marks.by_kept && marks.by_left_out && marks.user;
    if (may)
        memset(marks.user, 0xff, trace->storage_count * sizeof *marks.user);
    for (uint32_t op = 0; may && op < trace->op_count; op++)
        may = may_leave(l, op, &marks);
    for (uint64_t i = 0; may && i < trace->tensor_count; i++) {
        const uint32_t maker = trace->tensors[i].producer;
        may = !marks.by_left_out[i] || marks.by_kept[i] || maker == LL_NONE || stay_of(l, maker) != NOBODYS;
    }
    ll_arena_release(&scratch);
    return may;
}

/* The layer that stands for one that is left out: going forward the last that stays before it, going backward
 * the first behind. */
static uint32_t stand_in(const struct leaving *l, uint32_t layer, bool forward)
{
    while (l->stay[layer] == LEFT_OUT)
        layer = forward ? layer - 1 : layer + 1;
    return layer;
}

/* What an op at the border reads of a layer that is left out is that of the layer that stands for it. */
static void redirect_inputs(struct leaving *l, struct ll_rewrite *rewrite, uint32_t op)
{
    const struct ll_trace *trace = l->trace;
    const struct ll_equal_layers *equal = l->equal;
    for (uint32_t i = 0; i < signature_of(trace, op)->view.input_count; i++) {
        const uint32_t tensor = ll_op_input(trace, op, i), from = trace->tensors[tensor].producer;
        if (from == LL_NONE || stay_of(l, from) != LEFT_OUT)
            continue;
        const enum ll_phase phase = signature_of(trace, from)->phase;
        const uint32_t layer =
            stand_in(l, equal->layers.owner[from], phase == LL_PHASE_FORWARD || phase == LL_PHASE_INPUT);
        const uint32_t other = equal->ops[equal->begin[layer] + equal->place[from]];
        ll_rewrite_redirect(
            rewrite, tensor,
            ll_rewrite_tensor(rewrite, ll_op_output(trace, other, tensor - trace->ops[from].first_output)));
    }
}

static struct ll_trace *leave_out(struct leaving *l)
{
    struct ll_rewrite rewrite;
    const char *trouble;
    ll_rewrite_begin(&rewrite, l->trace, NULL, 0);
    for (uint32_t op = 0; op < l->trace->op_count && !rewrite.trouble; op++) {
        const enum stay stay = stay_of(l, op);
        if (stay == LEFT_OUT)
            continue;
        if (stay == BORDER)
            redirect_inputs(l, &rewrite, op);
        ll_rewrite_keep(&rewrite, op);
    }
    return ll_rewrite_end(&rewrite, &trouble);
}

/* Notes which layers stay, and for how many each of them stands. */
static bool note_kept(const struct leaving *l, const struct ll_twins *twins, struct ll_arena *arena,
                      struct ll_kept_layers *kept)
{
    const struct ll_layers *layers = &l->equal->layers;
    kept->names = ll_alloc(arena, layers->count + 1u, sizeof *kept->names);
    kept->part_of = ll_alloc(arena, layers->count + 1u, sizeof *kept->part_of);
    kept->stands_for = ll_alloc(arena, layers->count + 1u, sizeof *kept->stands_for);
    kept->alike = ll_alloc(arena, layers->count + 1u, sizeof *kept->alike);
    kept->place = ll_alloc(arena, layers->count + 1u, sizeof *kept->place);
    if (!kept->names || !kept->part_of || !kept->stands_for || !kept->alike || !kept->place)
        return false;
    for (uint32_t i = 0; i < layers->count; i++) {
        if (l->stay[i] != LEFT_OUT) {
            kept->names[kept->count] = layers->names[i];
            kept->part_of[kept->count] = twins->part_of[i];
            kept->alike[kept->count++] = l->stay[i] == BORDER;
        }
        kept->stands_for[kept->count - 1]++; /* the first layer stays, for it is of the first virtual stage */
        kept->place[i] = kept->count - 1;
    }
    for (uint32_t vstage = 0; vstage < twins->vstages; vstage++)
        for (uint32_t i = 0; twins->twin_of[vstage] != vstage && i < kept->count; i++)
            kept->alike[i] |= kept->part_of[i] == twins->twin_of[vstage];
    return true;
}

/* Rewriting has its price: a quarter of the layers have to go. Layers are known by their names. */
static bool is_worth_it(uint32_t left_out, const struct ll_layers *layers)
{
    return left_out > 0 && left_out >= layers->count / 4 && layers->names[0][0] != '\0';
}

struct ll_trace *ll_leave_twins_out(const struct ll_trace *trace, const struct ll_parallel *plan,
                                    uint32_t vstages, struct ll_arena *arena, struct ll_kept_layers *kept)
{
    struct ll_equal_layers equal;
    struct leaving l = {.trace = trace, .equal = &equal};
    *kept = (struct ll_kept_layers){.twins = {.vstages = vstages}};
    if (has_ends(plan) || !ll_equal_layers_find(trace, arena, &equal) ||
        !find_twins(trace, plan, &equal, arena, &kept->twins) || !kept->twins.part_of)
        return NULL;
    l.stay = ll_alloc(arena, equal.layers.count + 1u, sizeof *l.stay);
    if (!l.stay || !is_worth_it(choose_layers(&l, &kept->twins), &equal.layers) || !may_all_leave(&l) ||
        !note_kept(&l, &kept->twins, arena, kept))
        return NULL;
    return leave_out(&l);
}

/* --- what came of it --- */

/* Whether the layers that are left are those that were kept, and all of whom there are more are equal to
 * their neighbours. */
static bool are_alike(const struct ll_kept_layers *kept, const struct ll_equal_layers *equal)
{
    if (equal->layers.count != kept->count)
        return false;
    for (uint32_t i = 0; i < kept->count; i++)
        if (strcmp(kept->names[i], equal->layers.names[i]) != 0 ||
            (kept->alike[i] && !is_surrounded(equal, i)))
            return false;
    return true;
}

/* Whether all layers, those that were left out too, would be divided as they were. */
static bool divide_alike(const struct ll_kept_layers *kept, const struct ll_layers *layers,
                         const struct ll_layer_split *split, struct ll_arena *arena)
{
    const uint32_t count = kept->twins.layers;
    uint64_t *loads = ll_alloc(arena, count + 1u, sizeof *loads),
             *totals = ll_alloc(arena, count + 1u, sizeof *totals);
    uint32_t *part_of = ll_alloc(arena, count + 1u, sizeof *part_of);
    for (uint32_t i = 0; loads && totals && i < count; i++) {
        loads[i] = layers->named_flops[kept->place[i]];
        totals[i] = layers->flops[kept->place[i]];
    }
    return loads && totals && part_of &&
           ll_divide_layers(split, loads, totals, count, kept->twins.vstages, part_of) &&
           memcmp(part_of, kept->twins.part_of, count * sizeof *part_of) == 0;
}

bool ll_kept_layers_hold(const struct ll_trace *made, const struct ll_parallel *plan,
                         const struct ll_kept_layers *kept, struct ll_arena *arena)
{
    struct ll_equal_layers equal;
    return ll_equal_layers_find(made, arena, &equal) && are_alike(kept, &equal) &&
           divide_alike(kept, &equal.layers, &plan->split, arena);
}

/* FLOPs of ops, summed without rounding, so that it does not matter in which order: low and high words. */
struct flops {
    uint64_t low, high;
};

static void add_flops(struct flops *sum, uint64_t flops, uint64_t times)
{
    sum->low += (flops & UINT32_MAX) * times;
    sum->high += (flops >> 32) * times;
}

static double flops_of(const struct flops *sum, const struct ll_trace *trace)
{
    return ((double)sum->high * 0x1p32 + (double)sum->low) / (double)ll_max(trace->step_count, 1);
}

double ll_step_flops(const struct ll_trace *trace)
{
    struct flops sum = {0};
    for (uint64_t i = 0; i < trace->op_count; i++)
        add_flops(&sum, trace->signatures[trace->ops[i].signature].flops, 1);
    return flops_of(&sum, trace);
}

bool ll_whole_step_flops(const struct ll_trace *trace, const struct ll_kept_layers *kept, double *flops)
{
    struct ll_arena scratch = {0};
    struct ll_layers layers;
    struct flops sum = {0};
    bool done = kept->count == 0 || (ll_layers_find(trace, &scratch, &layers) && layers.count == kept->count);
    for (uint64_t i = 0; done && kept->count > 0 && i < trace->op_count; i++)
        add_flops(&sum, trace->signatures[trace->ops[i].signature].flops,
                  layers.owner[i] == LL_NONE ? 1 : kept->stands_for[layers.owner[i]]);
    *flops = kept->count > 0 ? flops_of(&sum, trace) : ll_step_flops(trace);
    ll_arena_release(&scratch);
    return done;
}
