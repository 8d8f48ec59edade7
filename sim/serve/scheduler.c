/* SPDX-License-Identifier: Apache-2.0 */
/* Schedulers (scheduler.h). vLLM: v1/core/sched/scheduler.py; SGLang: managers/scheduler.py and
 * schedule_policy.py; TensorRT-LLM: its CapacityScheduler with GUARANTEED_NO_EVICT. */
#include "sim/serve/scheduler.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "tracer/base/num.h"
#include "tracer/base/random.h"

struct ll_rank {
    const struct ll_engine *engine;
    struct ll_arena *arena;
    struct ll_kv_blocks *blocks;
    struct ll_kv_tiers *tiers; /* NULL: there are none */
    /* Those that wait for keys and values from tiers, the first to have them first; those that have them, in
     * this order, which are let in before all others. */
    struct ll_sequence *loading, *loaded, *last_loaded;
    uint64_t loading_count;       /* of both */
    struct ll_sequence **running; /* in the order of admission; room for most_sequences */
    uint64_t running_count;
    struct ll_sequence **waiting; /* a ring */
    uint64_t waiting_first, waiting_count, waiting_capacity;
    uint64_t ready;            /* of those that wait, from the first on: the scheduler knows of them */
    uint64_t quiet_steps;      /* that decoded alone since it looked for new ones */
    uint64_t waited;           /* steps that prompts waited for more of them */
    struct ll_sequence *ended; /* to be used again */
    double still_made;         /* SGLang's share of what running sequences may still make */
};

/* SGLang: the share begins at 0.7, sinks to 0.14 of that within 600 steps that decode; at most 4096 tokens
 * count of what a sequence may make. */
static const double first_share = 0.7, least_share = 0.7 * 0.14, share_steps = 600;
enum { MOST_COUNTED = 4096, RETRACT_MARGIN = 20 };

struct ll_rank *ll_rank_make(const struct ll_engine *engine, uint64_t kv_tokens, struct ll_kv_tiers *tiers,
                             struct ll_arena *arena)
{
    struct ll_rank *rank = ll_alloc(arena, 1, sizeof *rank);
    uint64_t blocks = kv_tokens / engine->block;
    if (!rank)
        return NULL;
    *rank = (struct ll_rank){.engine = engine,
                             .arena = arena,
                             .tiers = tiers,
                             .blocks = ll_kv_make(blocks - ll_min(blocks, engine->reserved_blocks), arena),
                             .running = ll_alloc(arena, engine->most_sequences, sizeof *rank->running),
                             .still_made = first_share};
    return rank->blocks && rank->running ? rank : NULL;
}

struct ll_sequence *ll_sequence_take(struct ll_rank *rank, const struct ll_request *request, uint64_t number)
{
    struct ll_sequence *s = rank->ended;
    uint32_t *blocks = s ? s->blocks : NULL;
    uint64_t capacity = s ? s->block_capacity : 0;
    if (s)
        rank->ended = s->next;
    else if (!(s = ll_alloc(rank->arena, 1, sizeof *s)))
        return NULL;
    *s = (struct ll_sequence){.request = *request,
                              .number = number,
                              .makes = request->output,
                              .scheduled_s = -1,
                              .blocks = blocks,
                              .block_capacity = capacity};
    return s;
}

void ll_sequence_give(struct ll_rank *rank, struct ll_sequence *s)
{
    s->next = rank->ended;
    rank->ended = s;
}

/* The i-th that waits. */
static struct ll_sequence **waiting_at(const struct ll_rank *rank, uint64_t i)
{
    return &rank->waiting[(rank->waiting_first + i) % rank->waiting_capacity];
}

/* Makes room for one more that waits. */
static bool more_waiting(struct ll_rank *rank)
{
    if (rank->waiting_count < rank->waiting_capacity)
        return true;
    uint64_t capacity = rank->waiting_capacity > 0 ? 2 * rank->waiting_capacity : 64;
    struct ll_sequence **waiting = ll_alloc(rank->arena, capacity, sizeof *waiting);
    if (!waiting)
        return false;
    for (uint64_t i = 0; i < rank->waiting_count; i++)
        waiting[i] = *waiting_at(rank, i);
    rank->waiting = waiting;
    rank->waiting_first = 0;
    rank->waiting_capacity = capacity;
    return true;
}

/* Whether a is more urgent than b, as vLLM's priority policy has it (v1/core/sched/request_queue.py). */
static bool more_urgent(const struct ll_sequence *a, const struct ll_sequence *b)
{
    const struct ll_request *x = &a->request, *y = &b->request;
    if (x->priority != y->priority)
        return x->priority < y->priority;
    return x->arrival_s != y->arrival_s ? x->arrival_s < y->arrival_s : a->number < b->number;
}

/* The scheduler knows of all that wait; by priority each takes its place among those that it knew. */
static void know_all(struct ll_rank *rank)
{
    for (uint64_t i = rank->ready; rank->engine->by_priority && i < rank->waiting_count; i++) {
        struct ll_sequence *s = *waiting_at(rank, i);
        uint64_t to = i;
        for (; to > 0 && more_urgent(s, *waiting_at(rank, to - 1)); to--)
            *waiting_at(rank, to) = *waiting_at(rank, to - 1);
        *waiting_at(rank, to) = s;
    }
    rank->ready = rank->waiting_count;
}

bool ll_rank_queue(struct ll_rank *rank, struct ll_sequence *s)
{
    if (!more_waiting(rank))
        return false;
    rank->waiting[(rank->waiting_first + rank->waiting_count++) % rank->waiting_capacity] = s;
    return true;
}

/* Back to the front of the queue, or by priority to its place. */
static bool queue_in_front(struct ll_rank *rank, struct ll_sequence *s)
{
    if (!more_waiting(rank))
        return false;
    rank->waiting_first = (rank->waiting_first + rank->waiting_capacity - 1) % rank->waiting_capacity;
    rank->waiting[rank->waiting_first] = s;
    rank->waiting_count++;
    rank->ready++;
    for (uint64_t i = 0; rank->engine->by_priority && i + 1 < rank->ready; i++) {
        struct ll_sequence **here = waiting_at(rank, i), **next = waiting_at(rank, i + 1);
        if (!more_urgent(*next, s))
            break;
        *here = *next;
        *next = s;
    }
    return true;
}

bool ll_rank_holds(const struct ll_rank *rank, uint64_t tokens)
{
    return ll_ceil_div(tokens, rank->engine->block) <= ll_kv_count(rank->blocks);
}

bool ll_rank_may_admit(const struct ll_rank *rank)
{
    return (rank->loaded || rank->ready > 0) && rank->running_count < rank->engine->most_sequences;
}

uint64_t ll_rank_running(const struct ll_rank *rank)
{
    return rank->running_count;
}

uint64_t ll_rank_waiting(const struct ll_rank *rank)
{
    return rank->waiting_count + rank->loading_count;
}

double ll_rank_kv_share(const struct ll_rank *rank)
{
    uint64_t count = ll_kv_count(rank->blocks);
    return count > 0 ? 1 - (double)ll_kv_free(rank->blocks) / (double)count : 0;
}

/* --- blocks of a sequence --- */

/* The content of a full block that others may have, too, as the request says; 0: it is the sequence's own. */
static uint64_t shared_content(const struct ll_sequence *s, uint64_t block, uint64_t i)
{
    const struct ll_request *r = &s->request;
    const uint64_t end = (i + 1) * block;
    if (r->piece_tokens > 0 && end <= r->piece_count * r->piece_tokens && end <= r->input)
        return ll_random_key(r->pieces[i * block / r->piece_tokens], i * block % r->piece_tokens) | 1;
    return end <= r->prefix_tokens ? ll_random_key(~r->prefix, i) | 1 : 0;
}

/* Only the sequence itself looks for its own content, when it was preempted, and it knows in which block that
 * was: an even number, of no other sequence. */
static uint64_t own_content(const struct ll_sequence *s, uint64_t i)
{
    assert(i < UINT64_C(1) << 24 && s->number < (UINT64_C(1) << 39) - 1);
    return (s->number + 1) << 25 | i << 1;
}

/* Tiers find all contents by a number. Never 0. */
static uint64_t tier_content(const struct ll_sequence *s, uint64_t block, uint64_t i)
{
    const uint64_t shared = shared_content(s, block, i);
    return shared ? shared : ll_random_key(s->number + (UINT64_C(1) << 63), i) | 1;
}

/* The block that has the i-th content of a sequence that waits, LL_NO_BLOCK: none. */
static uint32_t found_block(const struct ll_rank *rank, const struct ll_sequence *s, uint64_t i,
                            bool *is_free)
{
    const uint64_t shared = shared_content(s, rank->engine->block, i);
    if (shared)
        return ll_kv_find(rank->blocks, shared, is_free);
    return i < s->blocks_before && ll_kv_has(rank->blocks, s->blocks[i], own_content(s, i), is_free)
               ? s->blocks[i]
               : LL_NO_BLOCK;
}

static uint64_t hit_blocks(const struct ll_rank *rank, const struct ll_sequence *s, uint64_t *free)
{
    uint64_t most = (ll_known(s) - 1) / rank->engine->block, i = 0;
    *free = 0;
    for (; rank->engine->prefix_caching && i < most; i++) {
        bool is_free = false;
        if (found_block(rank, s, i, &is_free) == LL_NO_BLOCK)
            break;
        *free += is_free;
    }
    return i;
}

uint64_t ll_rank_hits(const struct ll_rank *rank, const struct ll_request *request)
{
    struct ll_sequence s = {.request = *request, .number = UINT64_MAX >> 1};
    uint64_t free;
    return hit_blocks(rank, &s, &free) * rank->engine->block;
}

/* Blocks that a sequence lacks for so many tokens; it may hold some for later. */
static uint64_t lacks(const struct ll_rank *rank, const struct ll_sequence *s, uint64_t tokens)
{
    const uint64_t block = rank->engine->block;
    return tokens <= s->block_count * block ? 0 : ll_ceil_div(tokens, block) - s->block_count;
}

static bool more_room(struct ll_rank *rank, struct ll_sequence *s, uint64_t count)
{
    if (count <= s->block_capacity)
        return true;
    uint64_t capacity = ll_max(count, 2 * s->block_capacity);
    uint32_t *blocks = ll_alloc(rank->arena, capacity, sizeof *blocks);
    if (!blocks)
        return false;
    if (s->block_capacity > 0) /* those that it held before it was preempted, too */
        memcpy(blocks, s->blocks, s->block_capacity * sizeof *blocks);
    s->blocks = blocks;
    s->block_capacity = capacity;
    return true;
}

/* Gives the sequence blocks for so many tokens, which must be free. False when memory ran out. */
static bool grow(struct ll_rank *rank, struct ll_sequence *s, uint64_t tokens)
{
    const uint64_t count = s->block_count + lacks(rank, s, tokens);
    if (!more_room(rank, s, count))
        return false;
    while (s->block_count < count)
        s->blocks[s->block_count++] = ll_kv_take(rank->blocks);
    return true;
}

/* Names the blocks that are full once so many tokens are computed. */
static void name_full(struct ll_rank *rank, struct ll_sequence *s, uint64_t tokens)
{
    for (; rank->engine->prefix_caching && (s->named + 1) * rank->engine->block <= tokens; s->named++) {
        const uint64_t shared = shared_content(s, rank->engine->block, s->named);
        ll_kv_name(rank->blocks, s->blocks[s->named], shared ? shared : own_content(s, s->named));
        if (rank->tiers)
            ll_kv_tiers_keep(rank->tiers, tier_content(s, rank->engine->block, s->named));
    }
}

/* The last block first, so that the front of a prompt stays longest. */
static void let_go(struct ll_rank *rank, struct ll_sequence *s)
{
    s->blocks_before = ll_max(s->blocks_before, s->block_count);
    while (s->block_count > 0)
        ll_kv_give(rank->blocks, s->blocks[--s->block_count]);
    s->named = 0;
}

/* --- a step --- */

static bool decodes(const struct ll_sequence *s)
{
    return s->made > 0 && ll_known(s) - s->computed == 1;
}

/* Puts the sequence into the batch with n new tokens. */
static void put(const struct ll_rank *rank, struct ll_rank_batch *batch, struct ll_sequence *s, uint64_t n,
                double now_s)
{
    struct ll_server_step *step = &batch->step;
    s->new_tokens = n;
    s->scheduled_s = s->scheduled_s < 0 ? now_s : s->scheduled_s;
    s->resumed_s = s->handed_s > 0 && s->resumed_s == 0 ? now_s : s->resumed_s;
    batch->sequences[batch->count++] = s;
    if (decodes(s)) {
        step->sequences++;
        step->context += s->computed;
        step->asked += 1 + rank->engine->speculated;
    } else {
        batch->chunks[step->chunk_count++] = (struct ll_prompt_part){n, s->computed};
        step->asked += s->computed + n == ll_known(s);
    }
}

/* Takes a sequence out of the batch again. */
static void take_out(const struct ll_rank *rank, struct ll_rank_batch *batch, struct ll_sequence *s)
{
    struct ll_server_step *step = &batch->step;
    uint64_t at = 0, chunk = 0;
    for (; batch->sequences[at] != s; at++)
        chunk += !decodes(batch->sequences[at]);
    if (decodes(s)) {
        step->sequences--;
        step->context -= s->computed;
        step->asked -= 1 + rank->engine->speculated;
    } else {
        step->asked -= s->computed + s->new_tokens == ll_known(s);
        memmove(batch->chunks + chunk, batch->chunks + chunk + 1,
                (--step->chunk_count - chunk) * sizeof *batch->chunks);
    }
    memmove(batch->sequences + at, batch->sequences + at + 1,
            (--batch->count - at) * sizeof *batch->sequences);
    s->new_tokens = 0;
}

/* Takes the running sequence at this index away, back to the front of the queue, to be computed again. */
static bool preempt(struct ll_rank *rank, uint64_t at, struct ll_rank_batch *batch)
{
    struct ll_sequence *s = rank->running[at];
    memmove(rank->running + at, rank->running + at + 1, (--rank->running_count - at) * sizeof *rank->running);
    let_go(rank, s);
    s->computed = 0;
    s->preemptions++;
    batch->preemptions++;
    return queue_in_front(rank, s);
}

/* Whom to preempt of those that are not in a batch under way or this one: the last that was let in, or
 * (SGLang) of those with fewest tokens made the one with the longest prompt. By priority: the least urgent,
 * though it may be in this batch. running_count: nobody. */
static uint64_t victim_of(const struct ll_rank *rank)
{
    uint64_t best = rank->running_count;
    for (uint64_t i = rank->running_count; i-- > 0;) {
        const struct ll_sequence *s = rank->running[i], *b;
        if (s->in_flight || (s->new_tokens > 0 && !rank->engine->by_priority))
            continue;
        if (rank->engine->by_priority) {
            best = best == rank->running_count || more_urgent(rank->running[best], s) ? i : best;
            continue;
        }
        if (!rank->engine->prompts_first)
            return i;
        b = best < rank->running_count ? rank->running[best] : NULL;
        if (!b || s->made < b->made || (s->made == b->made && s->request.input > b->request.input))
            best = i;
    }
    return best;
}

/* SGLang's share after some had to go (new_token_ratio_tracker.py). */
static void raise_share(struct ll_rank *rank)
{
    double made = 0, most = 1;
    for (uint64_t i = 0; i < rank->running_count; i++) {
        made += (double)rank->running[i]->made + RETRACT_MARGIN;
        most += (double)rank->running[i]->makes;
    }
    rank->still_made = fmin(1, made / most);
}

/* New tokens of a running sequence in a step with so much budget left. */
static uint64_t wanted(const struct ll_rank *rank, const struct ll_sequence *s, uint64_t budget)
{
    const struct ll_engine *e = rank->engine;
    uint64_t n = ll_known(s) - s->computed;
    if (decodes(s))
        n = 1 + e->speculated;
    else if (e->longest_chunk > 0)
        n = ll_min(n, e->longest_chunk);
    return n <= budget ? n : decodes(s) || !e->chunks ? 0 : budget;
}

/* Running sequences, in order; those that decode, or whose prompt goes on, or both. */
static bool schedule_running(struct ll_rank *rank, bool prompts, bool decoding, uint64_t *budget,
                             double now_s, struct ll_rank_batch *batch)
{
    for (uint64_t i = 0; i<rank->running_count && * budget> 0; i++) {
        struct ll_sequence *s = rank->running[i];
        bool is_decoding = decodes(s), self = false;
        uint64_t n = wanted(rank, s, *budget);
        if (s->in_flight || n == 0 || (is_decoding ? !decoding : !prompts))
            continue;
        while (lacks(rank, s, s->computed + n) > ll_kv_free(rank->blocks)) {
            uint64_t victim = victim_of(rank);
            if (victim == rank->running_count)
                return true; /* all others are in batches under way */
            self = rank->running[victim] == s;
            if (rank->running[victim]->new_tokens > 0) {
                *budget += rank->running[victim]->new_tokens;
                take_out(rank, batch, rank->running[victim]);
            }
            if (!preempt(rank, victim, batch))
                return false;
            i -= victim < i;
            if (rank->engine->prompts_first)
                raise_share(rank);
            if (self)
                break;
        }
        if (self) {
            if (!rank->engine->prompts_first)
                return true;
            i--;
            continue;
        }
        if (!grow(rank, s, s->computed + n))
            return false;
        put(rank, batch, s, n, now_s);
        *budget -= n;
    }
    return true;
}

/* Blocks that running sequences may still ask for, to their last token. */
static uint64_t owed(const struct ll_rank *rank)
{
    uint64_t blocks = 0;
    for (uint64_t i = 0; i < rank->running_count; i++)
        blocks += lacks(rank, rank->running[i], rank->running[i]->request.input + rank->running[i]->makes);
    return blocks;
}

static double estimate_of(const struct ll_sequence *s)
{
    return (double)ll_min(ll_sub(s->makes, s->made), MOST_COUNTED);
}

/* Whether the rank lets a sequence in that needs so many blocks for what is known of it, beside those that it
 * found, of which `revived` were free. */
static bool admits(const struct ll_rank *rank, const struct ll_sequence *s, uint64_t needed, uint64_t revived)
{
    const struct ll_engine *e = rank->engine;
    uint64_t free = ll_kv_free(rank->blocks);
    if (needed + revived > free)
        return false;
    if (e->admission == LL_ADMISSION_MAXIMUM) {
        uint64_t later =
            ll_ceil_div(s->request.input + s->makes, e->block) - ll_ceil_div(ll_known(s), e->block);
        return owed(rank) + needed + later + revived <= free;
    }
    if (e->admission == LL_ADMISSION_ESTIMATE && rank->running_count > 0) {
        double reserve = estimate_of(s);
        for (uint64_t i = 0; i < rank->running_count; i++)
            reserve += estimate_of(rank->running[i]) * rank->still_made;
        return (double)(needed + revived) + reserve / (double)e->block <= (double)free;
    }
    return true;
}

/* --- what tiers have --- */

double ll_rank_loaded_s(const struct ll_rank *rank)
{
    if (rank->loaded && rank->running_count == 0)
        return 0; /* the last one that ran had to go for blocks that these hold */
    return rank->loading ? rank->loading->loaded_s : INFINITY;
}

/* Takes blocks that were found by their content. */
static void hold_found(struct ll_rank *rank, struct ll_sequence *s, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        bool is_free;
        s->blocks[i] = found_block(rank, s, i, &is_free);
        ll_kv_hold(rank->blocks, s->blocks[i]);
    }
    s->block_count = s->named = count;
}

/* Blocks that tiers have behind the first `hits`, by tier; their sum. */
static uint64_t tier_blocks(const struct ll_rank *rank, const struct ll_sequence *s, uint64_t hits,
                            uint64_t blocks[static LL_MOST_KV_TIERS])
{
    const uint64_t most = (ll_known(s) - 1) / rank->engine->block;
    uint64_t at = hits;
    for (; at < most; at++) {
        uint64_t tier = ll_kv_tiers_find(rank->tiers, tier_content(s, rank->engine->block, at));
        if (tier >= LL_MOST_KV_TIERS)
            break;
        blocks[tier]++;
    }
    return at - hits;
}

/* Sets the sequence aside until tiers have filled so many blocks behind those that it found; it holds blocks
 * for all that is known of it. False when memory ran out. */
static bool set_aside(struct ll_rank *rank, struct ll_sequence *s, uint64_t hits, uint64_t more,
                      const uint64_t blocks[static LL_MOST_KV_TIERS], double now_s)
{
    struct ll_sequence **at = &rank->loading;
    if (!more_room(rank, s, ll_ceil_div(ll_known(s), rank->engine->block)))
        return false;
    hold_found(rank, s, hits);
    if (!grow(rank, s, ll_known(s)))
        return false;
    s->computed = (hits + more) * rank->engine->block;
    s->loaded_s = ll_kv_tiers_load(rank->tiers, blocks, now_s);
    while (*at && (*at)->loaded_s <= s->loaded_s)
        at = &(*at)->next;
    s->next = *at;
    *at = s;
    rank->loading_count++;
    return true;
}

static void take_loaded(struct ll_rank *rank, double now_s)
{
    while (rank->loading && rank->loading->loaded_s <= now_s) {
        struct ll_sequence *s = rank->loading;
        rank->loading = s->next;
        s->next = NULL;
        *(rank->loaded ? &rank->last_loaded->next : &rank->loaded) = s;
        rank->last_loaded = s;
        name_full(rank, s, s->computed);
    }
}

/* The next one to be let in: it leaves what it waits in when it is taken. */
static struct ll_sequence *next_waiting(const struct ll_rank *rank)
{
    return rank->loaded ? rank->loaded : *waiting_at(rank, 0);
}

static void leave_waiting(struct ll_rank *rank)
{
    if (rank->loaded) {
        rank->loaded = rank->loaded->next;
        rank->loading_count--;
        return;
    }
    rank->waiting_first = (rank->waiting_first + 1) % rank->waiting_capacity;
    rank->waiting_count--;
    rank->ready--;
}

/* Lets waiting sequences in, in order, until one does not fit. */
static bool schedule_waiting(struct ll_rank *rank, uint64_t *budget, double now_s,
                             struct ll_rank_batch *batch)
{
    const struct ll_engine *e = rank->engine;
    while (*budget > 0 && ll_rank_may_admit(rank)) {
        struct ll_sequence *s = next_waiting(rank);
        const bool loaded = rank->loaded;
        uint64_t revived = 0, hits = s->computed == 0 ? hit_blocks(rank, s, &revived) : 0;
        uint64_t computed = ll_max(s->computed, hits * e->block), n = ll_known(s) - computed;
        const bool handed = s->computed > 0 && !loaded; /* its keys and values come from another instance */
        uint64_t found[LL_MOST_KV_TIERS] = {0}, more = 0;
        n = handed ? 1 + e->speculated : e->longest_chunk > 0 ? ll_min(n, e->longest_chunk) : n;
        if (n > *budget && (handed || !e->chunks))
            break;
        n = ll_min(n, *budget);
        if (!loaded && !admits(rank, s, ll_ceil_div(ll_known(s), e->block) - hits, revived))
            break;
        more = rank->tiers && s->computed == 0 ? tier_blocks(rank, s, hits, found) : 0;
        if (s->preemptions == 0 && !loaded)
            s->hit_tokens = (hits + more) * e->block;
        batch->admitted_tokens += handed || loaded ? 0 : ll_known(s);
        batch->hit_tokens += hits * e->block;
        for (int i = 0; i < LL_MOST_KV_TIERS; i++)
            batch->tier_tokens[i] += found[i] * e->block;
        leave_waiting(rank);
        if (more > 0) {
            if (!set_aside(rank, s, hits, more, found, now_s))
                return false;
            continue;
        }
        if (!more_room(rank, s, ll_ceil_div(computed + n, e->block)))
            return false;
        if (!loaded)
            hold_found(rank, s, hits);
        s->computed = computed;
        if (!grow(rank, s, computed + n))
            return false;
        rank->running[rank->running_count++] = s;
        put(rank, batch, s, n, now_s);
        *budget -= n;
    }
    return true;
}

/* Whether prompts wait for more of them: TensorRT-LLM's batch_wait_timeout_iters and
 * batch_wait_max_tokens_ratio (pyexecutor/py_executor.py). */
static bool waits_for_more(struct ll_rank *rank, const struct ll_server_step *step)
{
    const struct ll_engine *e = rank->engine;
    const double enough = e->wait_share * (double)e->most_tokens;
    double tokens = (double)(step->sequences * step->each);
    if (e->wait_steps == 0 || step->sequences == 0 || rank->ready == 0)
        return false;
    for (uint64_t i = 0; i < rank->ready && tokens < enough; i++)
        tokens += (double)ll_known(*waiting_at(rank, i));
    bool waits = tokens < enough && rank->waited < e->wait_steps;
    rank->waited = waits ? rank->waited + 1 : 0;
    return waits;
}

/* The batch of a step of those that the scheduler knows of. */
static bool choose(struct ll_rank *rank, double now_s, bool admits, struct ll_rank_batch *batch)
{
    const struct ll_engine *e = rank->engine;
    uint64_t budget = e->most_tokens;
    batch->count = batch->preemptions = batch->admitted_tokens = batch->hit_tokens = 0;
    memset(batch->tier_tokens, 0, sizeof batch->tier_tokens);
    take_loaded(rank, now_s);
    batch->step = (struct ll_server_step){.each = 1 + e->speculated, .chunks = batch->chunks};
    if (e->prompts_first) {
        if (!schedule_running(rank, true, false, &budget, now_s, batch) ||
            (admits && !schedule_waiting(rank, &budget, now_s, batch)))
            return false;
        if (batch->count > 0)
            return true;
        budget = UINT64_MAX; /* of prompts alone */
        rank->still_made =
            rank->running_count == 0
                ? first_share
                : fmax(least_share, rank->still_made - (first_share - least_share) / share_steps);
        return schedule_running(rank, false, true, &budget, now_s, batch);
    }
    if (!schedule_running(rank, true, true, &budget, now_s, batch))
        return false;
    if (batch->preemptions > 0 || !admits || waits_for_more(rank, &batch->step))
        return true;
    return schedule_waiting(rank, &budget, now_s, batch);
}

/* Looks for new requests, unless few steps that decode alone have gone by: SGLang's scheduler_recv_interval
 * (managers/scheduler_recv_skipper.py). */
static void look(struct ll_rank *rank, bool prompts)
{
    rank->quiet_steps = prompts ? 0 : rank->quiet_steps + 1;
    if (!prompts && rank->quiet_steps < rank->engine->receive_steps)
        return;
    rank->quiet_steps = 0;
    know_all(rank);
}

bool ll_rank_schedule(struct ll_rank *rank, double now_s, bool admits, struct ll_rank_batch *batch)
{
    const bool overlaps = rank->engine->overlaps;
    if (!overlaps)
        look(rank, batch->step.chunk_count > 0);
    if (!choose(rank, now_s, admits, batch))
        return false;
    if (batch->count == 0 && rank->ready < rank->waiting_count) { /* idle, it looks all the time */
        const struct ll_rank_batch first = *batch;
        know_all(rank);
        if (!choose(rank, now_s, admits, batch))
            return false;
        batch->preemptions += first.preemptions;
        batch->admitted_tokens += first.admitted_tokens; /* of those whose keys and values come from a tier */
        batch->hit_tokens += first.hit_tokens;
        for (int i = 0; i < LL_MOST_KV_TIERS; i++)
            batch->tier_tokens[i] += first.tier_tokens[i];
    }
    if (overlaps)
        look(rank, batch->step.chunk_count > 0);
    return true;
}

/* --- after a step --- */

static uint64_t accepted(const struct ll_rank *rank, const struct ll_sequence *s, uint64_t seed)
{
    if (rank->engine->speculated == 0)
        return 0;
    uint64_t key = ll_random_key(ll_random_key(seed, s->number), s->made), count = 0;
    while (count < rank->engine->speculated &&
           ll_random_fine_unit(ll_random_bits(key, count)) < rank->engine->acceptance[count])
        count++;
    return count;
}

uint64_t ll_rank_complete(struct ll_rank *rank, struct ll_sequence *s, uint64_t seed, bool *ended)
{
    const bool decoding = decodes(s);
    uint64_t made = 0;
    *ended = false;
    s->in_flight = false;
    if (decoding) {
        made = 1 + accepted(rank, s, seed);
        s->computed += made;
    } else {
        s->computed += s->new_tokens;
        made = s->computed == ll_known(s);
    }
    s->new_tokens = 0;
    made = ll_min(made, s->makes - s->made);
    s->made += made;
    s->computed = ll_min(s->computed, ll_known(s) - (made > 0));
    name_full(rank, s, s->computed);
    if (s->made < s->makes)
        return made;
    uint64_t at = 0;
    while (rank->running[at] != s)
        at++;
    memmove(rank->running + at, rank->running + at + 1, (--rank->running_count - at) * sizeof *rank->running);
    let_go(rank, s);
    *ended = true;
    return made;
}
