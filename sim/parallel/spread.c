/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/parallel/spread.h"

#include "sim/parallel/alike.h"
#include "sim/parallel/bundle.h"
#include "sim/parallel/context.h"
#include "sim/parallel/cut.h"
#include "sim/parallel/exchange.h"
#include "sim/parallel/experts.h"
#include "sim/parallel/gradients.h"
#include "sim/parallel/offload.h"
#include "sim/parallel/pieces.h"
#include "sim/parallel/recast.h"
#include "sim/parallel/recompute.h"
#include "sim/parallel/same.h"
#include "sim/parallel/shard.h"
#include "sim/parallel/together.h"
#include "tracer/transform/rescale.h"

#include <inttypes.h>
#include <stdlib.h>

/* One trace after the other; the last is what the next change begins with. */
struct chain {
    struct ll_spread *spread;
    const struct ll_trace *last;
    struct ll_diags *diags;
    const char *what; /* is being done, for complaints */
};

static bool no_memory(struct ll_diags *diags)
{
    return ll_complain(diags, (struct ll_place){0}, "memory ran out");
}

/* Takes a new trace over, or says why there is none. */
static bool follow(struct chain *chain, struct ll_trace *trace, const char *trouble)
{
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
    uint64_t batch = chain->spread->sizes.micro_batch;
    chain->what = "at another batch";
    if (batch == 0 || batch == ll_trace_batch(chain->last))
        return true;
    struct ll_trace *made = ll_trace_rescale(chain->last, batch, &trouble);
    return follow(chain, made, trouble);
}

/* Many devices that all do the same are a mistake. */
static bool refuse_shares(struct chain *chain)
{
    uint64_t ranks = chain->spread->plan.tensor;
    return ll_complain(chain->diags, (struct ll_place){.file = ll_trace_fact(chain->last, "model")},
                       "cannot be divided among %" PRIu64
                       " devices of a product: no number of heads, features "
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
    spread->whole_flops = ll_step_flops(whole);
    spread->undivided_flops = ll_undivided_flops(whole, rank, spread->plan.tensor);
    return ll_is_divided(whole, rank) || refuse_shares(chain);
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
static bool refuse_wish(struct chain *chain, const char *wish, const char *trouble)
{
    return ll_complain(chain->diags, (struct ll_place){.file = ll_trace_fact(chain->last, "model")},
                       "%s: the trace is of an inference, %s", wish, trouble);
}

static bool check_wishes(struct chain *chain)
{
    const struct ll_parallel *plan = &chain->spread->plan;
    static const char keeps_nothing[] = "which keeps no activations for a backward pass";
    if (ll_learns(chain->last))
        return true;
    if (plan->recompute != LL_RECOMPUTE_NONE)
        return refuse_wish(chain, "recompute", keeps_nothing);
    if (plan->offload.activations)
        return refuse_wish(chain, "offload activations", keeps_nothing);
    return !plan->offload.optimizer || refuse_wish(chain, "offload optimizer", "which updates no weights");
}

/* Replicas of a step that learns exchange the gradients of its weights. */
static bool check_replicas(struct chain *chain)
{
    uint64_t replicas = ll_replicas(&chain->spread->plan);
    bool lacks = false;
    if (replicas > 1 && !ll_gradients_lack(chain->last, &lacks))
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
    chain->what = "computed again";
    if (chain->spread->plan.recompute == LL_RECOMPUTE_NONE)
        return true;
    struct ll_trace *made = ll_recompute(chain->last, chain->spread->plan.recompute, &trouble);
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

static bool cut(struct chain *chain, uint64_t piece)
{
    const struct ll_parallel *plan = &chain->spread->plan;
    const char *trouble = NULL;
    chain->what = "cut into pieces";
    if (chain->spread->piece_count == 1)
        return true;
    const struct ll_cut how = {plan->pipeline, plan->chunks, piece, plan->tensor * ll_replicas(plan)};
    struct ll_trace *made = ll_cut(chain->last, &how, &trouble);
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

/* Layers that a piece has, where it and its neighbours have none but such as are alike. */
struct inside {
    uint32_t count; /* 0: it has others */
    bool first_stage, last_stage;
};

/* What is inside of each piece; in the arena, NULL when memory ran out. */
static struct inside *find_inside(struct chain *chain, struct ll_arena *arena)
{
    struct ll_spread *spread = chain->spread;
    struct ll_alike alike;
    uint64_t pieces = spread->piece_count, stages = spread->plan.pipeline;
    struct inside *inside = ll_alloc(arena, pieces, sizeof *inside);
    if (!inside || !ll_alike_find(chain->last, arena, &alike))
        return NULL;
    uint32_t *part_of = ll_alloc(arena, alike.layers.count + 1u, sizeof *part_of);
    if (!part_of || alike.layers.count < pieces)
        return part_of ? inside : NULL;
    ll_divide(alike.layers.named_flops, alike.layers.flops, alike.layers.count, (uint32_t)pieces, part_of);
    for (uint32_t layer = 0; layer < alike.layers.count; layer++)
        inside[part_of[layer]].count++;
    for (uint32_t layer = 0; layer < alike.layers.count; layer++) {
        bool surrounded = layer > alike.first && layer + 1 < alike.first + alike.count;
        struct inside *piece = &inside[part_of[layer]];
        piece->count = surrounded ? piece->count : 0;
        piece->first_stage = part_of[layer] % stages == 0;
        piece->last_stage = part_of[layer] % stages == stages - 1;
    }
    return inside;
}

/* The first piece before this one whose program it shares for sure; itself when there is none. */
static uint32_t twin_of(const struct inside *inside, uint32_t piece)
{
    for (uint32_t other = 0; inside[piece].count > 0 && other < piece; other++)
        if (inside[other].count == inside[piece].count &&
            inside[other].first_stage == inside[piece].first_stage &&
            inside[other].last_stage == inside[piece].last_stage)
            return other;
    return piece;
}

/* The program of a piece, unless one before it does the same. */
static bool add_piece(struct chain chain, uint32_t piece)
{
    struct ll_spread *spread = chain.spread;
    if (!cut(&chain, piece) || !exchange(&chain) || !bundle(&chain) || !offload(&chain))
        return false;
    for (uint32_t i = 0; i < spread->program_count; i++)
        if (ll_same_program(spread->programs[i].trace, chain.last)) {
            spread->program_of[piece] = i;
            return true;
        }
    struct ll_device_program *program = &spread->programs[spread->program_count];
    program->trace = chain.last;
    program->prepared = ll_prepare(chain.last, &spread->arena, chain.diags);
    spread->program_of[piece] = spread->program_count++;
    return program->prepared || chain.diags->count > 0 || no_memory(chain.diags);
}

/* A program for each piece. Those inside of layers that are alike are alike, and are not all cut. */
static bool add_pieces(struct chain *chain)
{
    struct ll_arena scratch = {0};
    struct ll_spread *spread = chain->spread;
    const struct inside *inside = find_inside(chain, &scratch);
    bool right = inside || no_memory(chain->diags);
    for (uint32_t piece = 0; right && piece < spread->piece_count; piece++) {
        uint32_t twin = twin_of(inside, piece);
        if (twin < piece)
            spread->program_of[piece] = spread->program_of[twin];
        else
            right = add_piece(*chain, piece);
    }
    ll_arena_release(&scratch);
    return right;
}

static bool make_room(struct ll_spread *spread)
{
    enum { CHANGES = 6, CHANGES_OF_PIECE = 4 };
    uint64_t pieces = spread->plan.pipeline * spread->plan.chunks;
    spread->piece_count = (uint32_t)pieces;
    spread->programs = ll_alloc(&spread->arena, pieces, sizeof *spread->programs);
    spread->program_of = ll_alloc(&spread->arena, pieces, sizeof *spread->program_of);
    spread->owned = ll_alloc(&spread->arena, CHANGES + CHANGES_OF_PIECE * pieces, sizeof(void *));
    return spread->programs && spread->program_of && spread->owned;
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
    bool right = ll_is_of_one_rank(trace, diags) &&
                 ll_plan_resolve(plan, ll_trace_batch(trace), devices, diags, &spread->sizes) &&
                 (make_room(spread) || no_memory(diags)) && check_wishes(&chain) && check_replicas(&chain) &&
                 rescale(&chain) && shard(&chain) && share_context(&chain) && spread_experts(&chain) &&
                 recompute(&chain) && recast(&chain);
    right = right && add_pieces(&chain);
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
        spread->plan = *plan;
        spread->sizes = sizes;
    }
    ll_diags_release(&diags);
    return fits;
}

void ll_spread_free(struct ll_spread *spread)
{
    if (!spread)
        return;
    for (uint32_t i = 0; i < spread->owned_count; i++)
        ll_trace_free(spread->owned[i]);
    ll_arena_release(&spread->arena);
    free(spread);
}
