/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a deployment (serve.h): requests arrive, batches end, keys and values have gone over. The
 * earliest is next; of equal times an arrival, then a handing over, then the instance of the lowest number.
 */
#include "sim/serve/serve.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "sim/serve/quantiles.h"
#include "sim/serve/scheduler.h"
#include "tracer/base/num.h"

/* Batches of all ranks of an instance that are computed together. */
struct batches {
    struct ll_step_seen seen; /* filled but for `made` when they begin */
    struct ll_rank_batch *ranks;
};

struct instance {
    const struct ll_server_pool *pool;
    uint64_t pool_number, number;
    struct ll_rank **ranks;
    struct ll_kv_tiers *tiers; /* of all its ranks; NULL: there are none */
    double wake_s;             /* while it waits: when keys and values come from a tier; infinite: none do */
    struct batches *under_way; /* a ring of pool->stages */
    uint64_t first, count;
    double interface_s; /* when its interface is done with the requests that it has */
    double free_s;      /* when the first stage, or the host, takes another batch */
    bool waits;         /* there was nothing to compute when it was asked last */
    double next_s;      /* when something happens to it next: a batch ends, else one begins */
    bool ends;
    uint64_t load;                /* requests that it has */
    uint64_t held_steps;          /* that prompts have waited until each rank has one */
    struct ll_server_step *steps; /* of the ranks, for asking what they cost */
};

/* A sequence on its way: through the interface of an instance to its queue, or from prefill to decode. */
struct handed {
    double at_s;
    struct instance *to; /* NULL: to an instance for decoding that is chosen then */
    struct ll_sequence sequence;
};

struct server {
    const struct ll_deployment *deployment;
    const struct ll_load *load;
    const struct ll_serve_limits *limits;
    const struct ll_serve_watch *watch;
    struct ll_arena *arena;
    struct instance *instances; /* those that prompts come to first, then those for decoding alone */
    uint64_t instance_count, first_decode, turn;
    uint32_t *firsts;      /* a tournament (settle) */
    struct handed *handed; /* a heap by time */
    uint64_t handed_count, handed_capacity;
    uint64_t next_request, ended;
    struct ll_request next; /* of them the next to arrive, where there is one */
    /* When the load says that it comes, and the one before it: later where all places are taken. */
    double nominal_s, previous_s;
    bool over; /* none is left to arrive */
    /* In a closed loop: since when there have been places that no request has taken, a ring in order of time. */
    double *places;
    uint64_t place_count, first_place, place_capacity;
    struct ll_serving *result;
    double step_time, kv_sum, running_sum, waiting_sum;
    double now_s;
    bool failed, no_energy;
    const char *trouble;
};

/* --- what happens next --- */

/* Whether something happens to instance a before anything happens to b: at the same time the end of a batch
 * is first, then the lower number. */
static bool happens_first(const struct server *s, uint32_t a, uint32_t b)
{
    const struct instance *x = &s->instances[a], *y = &s->instances[b];
    if (x->next_s != y->next_s)
        return x->next_s < y->next_s;
    return x->ends != y->ends ? x->ends : a < b;
}

/* Finds when something happens to an instance next, and to which instance it does first: firsts[1] of a tree
 * whose node i has the first of its children, 2 i and 2 i + 1, of which the last instance_count are instances
 * (Knuth, The Art of Computer Programming, 5.4.1). */
static void settle(struct server *s, struct instance *instance)
{
    const double end_s = instance->count > 0 ? instance->under_way[instance->first].seen.end_s : INFINITY;
    const bool can_begin = instance->count < instance->pool->stages && instance->load > 0;
    double begin_s = can_begin ? instance->free_s : INFINITY;
    if (instance->waits && instance->wake_s > begin_s)
        begin_s = instance->wake_s;
    instance->ends = end_s <= begin_s;
    instance->next_s = instance->ends ? end_s : begin_s;
    const uint64_t count = s->instance_count;
    uint32_t *firsts = s->firsts;
    for (uint64_t i = (count + (uint64_t)(instance - s->instances)) / 2; i > 0; i /= 2) {
        const uint32_t a = 2 * i < count ? firsts[2 * i] : (uint32_t)(2 * i - count),
                       b = 2 * i + 1 < count ? firsts[2 * i + 1] : (uint32_t)(2 * i + 1 - count);
        firsts[i] = happens_first(s, a, b) ? a : b;
    }
}

/* --- requests --- */

static struct ll_request request_at(const struct server *s, uint64_t i)
{
    return s->load->listed ? s->load->listed[i] : ll_load_request(s->load, i, s->previous_s);
}

/* The request after the one at hand; in a closed loop it comes when one ends. */
static void turn_to_next(struct server *s)
{
    const struct ll_load *load = s->load;
    if (s->over || s->next_request == load->count) {
        s->over = true;
        return;
    }
    s->next = request_at(s, s->next_request);
    s->nominal_s = s->next.arrival_s;
    if (load->concurrency > 0) {
        double free_s = s->place_count > 0 ? s->places[s->first_place] : INFINITY;
        s->next.arrival_s = load->rate_Hz > 0 && !load->listed ? fmax(free_s, s->nominal_s) : free_s;
        s->first_place = (s->first_place + (s->place_count > 0)) % s->place_capacity;
        s->place_count -= s->place_count > 0;
    }
    s->over = load->duration_s > 0 && s->next.arrival_s > load->duration_s && isfinite(s->next.arrival_s);
}

/* Whether a request counts, or a step that begins at this time. */
static bool counts(const struct server *s, double at_s)
{
    return at_s >= s->load->warmup_s;
}

/* A request has ended: the next may come. */
static void free_place(struct server *s)
{
    if (s->load->concurrency == 0)
        return;
    assert(s->place_count < s->place_capacity);
    s->places[(s->first_place + s->place_count++) % s->place_capacity] = s->now_s;
    if (isinf(s->next.arrival_s))
        turn_to_next(s);
}

/* All places are free at the start. */
static bool make_places(struct server *s)
{
    s->place_capacity = s->place_count = s->load->concurrency;
    s->places = ll_alloc(s->arena, s->place_capacity, sizeof *s->places);
    for (uint64_t i = 0; s->places && i < s->place_count; i++)
        s->places[i] = 0;
    return s->places != NULL;
}

static uint64_t load_of(const struct ll_rank *rank)
{
    return ll_rank_running(rank) + 4 * ll_rank_waiting(rank); /* as vLLM weighs them */
}

static struct ll_rank *rank_for(struct instance *instance)
{
    struct ll_rank *best = instance->ranks[0];
    for (uint64_t i = 1; i < instance->pool->ranks; i++)
        if (load_of(instance->ranks[i]) < load_of(best))
            best = instance->ranks[i];
    return best;
}

static struct instance *route(struct server *s, const struct ll_request *request, uint64_t begin,
                              uint64_t end)
{
    struct instance *best = &s->instances[begin];
    uint64_t best_hits = 0;
    if (s->deployment->router == LL_ROUTER_ROUND_ROBIN && begin == 0)
        return &s->instances[s->turn++ % end];
    for (uint64_t i = begin; i < end; i++) {
        struct instance *x = &s->instances[i];
        uint64_t hits = 0;
        if (s->deployment->router == LL_ROUTER_PREFIX_AWARE && begin == 0)
            for (uint64_t r = 0; r < x->pool->ranks; r++)
                hits = ll_max(hits, ll_rank_hits(x->ranks[r], request));
        if (hits > best_hits || (hits == best_hits && x->load < best->load)) {
            best = x;
            best_hits = hits;
        }
    }
    return best;
}

static void take_in(struct server *s, struct instance *instance, const struct ll_sequence *sequence)
{
    struct ll_rank *rank = rank_for(instance);
    const struct ll_request *request = &sequence->request;
    const uint64_t makes = instance->pool == &s->deployment->prefill ? 1 : request->output;
    if (!ll_rank_holds(rank, request->input + makes - 1)) /* nothing reads the last token's */
        s->trouble = "a request has more tokens than the KV cache of a device holds";
    else if (!instance->pool->engine.chunks && request->input > instance->pool->engine.most_tokens)
        s->trouble = "a prompt is longer than the tokens of a step, and this server cuts none";
    if (s->trouble)
        return;
    struct ll_sequence *copy = ll_sequence_take(rank, request, sequence->number);
    if (!copy || !ll_rank_queue(rank, copy)) {
        s->failed = true;
        return;
    }
    copy->makes = makes;
    copy->computed = sequence->computed;
    copy->made = sequence->made;
    copy->scheduled_s = sequence->scheduled_s;
    copy->first_token_s = sequence->first_token_s;
    copy->last_token_s = sequence->last_token_s;
    copy->preemptions = sequence->preemptions;
    copy->hit_tokens = sequence->hit_tokens;
    copy->instance = instance->number;
    copy->prefill_instance = sequence->instance;
    copy->handed_s = sequence->handed_s;
    instance->waits = false;
}

/* --- from prefill to decode --- */

static void swap_handed(struct server *s, uint64_t a, uint64_t b)
{
    struct handed kept = s->handed[a];
    s->handed[a] = s->handed[b];
    s->handed[b] = kept;
}

static bool handed_before(const struct server *s, uint64_t a, uint64_t b)
{
    const struct handed *x = &s->handed[a], *y = &s->handed[b];
    return x->at_s < y->at_s || (x->at_s == y->at_s && x->sequence.number < y->sequence.number);
}

/* Puts a sequence on its way, to be there at this time. */
static void send(struct server *s, const struct ll_sequence *sequence, struct instance *to, double at_s)
{
    if (s->handed_count == s->handed_capacity) {
        uint64_t capacity = ll_max(64, 2 * s->handed_capacity);
        struct handed *more = ll_alloc(s->arena, capacity, sizeof *more);
        if (!more) {
            s->failed = true;
            return;
        }
        if (s->handed_count > 0)
            memcpy(more, s->handed, s->handed_count * sizeof *more);
        s->handed = more;
        s->handed_capacity = capacity;
    }
    uint64_t i = s->handed_count++;
    s->handed[i] = (struct handed){at_s, to, *sequence};
    for (; i > 0 && handed_before(s, i, (i - 1) / 2); i = (i - 1) / 2)
        swap_handed(s, i, (i - 1) / 2);
}

/* A request comes to the interface of an instance, which works on one after another. */
static void arrive(struct server *s)
{
    struct ll_sequence sequence = {.request = s->next, .number = s->next_request++, .scheduled_s = -1};
    struct instance *instance = route(s, &sequence.request, 0, s->first_decode);
    instance->interface_s = fmax(instance->interface_s, s->now_s) + instance->pool->engine.request_s;
    instance->load++;
    send(s, &sequence, instance, instance->interface_s);
    settle(s, instance);
    s->previous_s = s->nominal_s;
    turn_to_next(s);
}

static void hand_over(struct server *s, const struct ll_sequence *sequence, double prefill_s)
{
    const struct ll_deployment *d = s->deployment;
    double bytes_s = d->kv_bytes * (double)sequence->request.input / d->transfer_Bps;
    if (d->by_layer) /* all but the last layer's share goes while the prompt is computed */
        bytes_s = fmax(bytes_s / (double)ll_max(1, d->layers), bytes_s - prefill_s);
    send(s, sequence, NULL, s->now_s + d->transfer_latency_s + bytes_s);
}

static void receive(struct server *s)
{
    struct ll_sequence sequence = s->handed[0].sequence;
    struct instance *instance = s->handed[0].to;
    s->handed[0] = s->handed[--s->handed_count];
    for (uint64_t i = 0, child; (child = 2 * i + 1) < s->handed_count; i = child) {
        child += child + 1 < s->handed_count && handed_before(s, child + 1, child);
        if (!handed_before(s, child, i))
            break;
        swap_handed(s, i, child);
    }
    if (!instance) {
        sequence.handed_s = s->now_s;
        instance = route(s, &sequence.request, s->first_decode, s->instance_count);
        instance->load++;
    }
    if (instance->free_s < s->now_s)
        instance->free_s = s->now_s;
    take_in(s, instance, &sequence);
    settle(s, instance);
}

/* --- steps --- */

static void count_latencies(struct server *s, const struct ll_sequence *q)
{
    struct ll_serving *r = s->result;
    double ttft = q->first_token_s - q->request.arrival_s, e2e = q->last_token_s - q->request.arrival_s;
    double tpot =
        q->request.output > 1 ? (q->last_token_s - q->first_token_s) / (double)(q->request.output - 1) : NAN;
    ll_quantiles_add(r->ttft, ttft, 1);
    ll_quantiles_add(r->e2e, e2e, 1);
    ll_quantiles_add(r->queued, q->scheduled_s - q->request.arrival_s, 1);
    if (q->request.output > 1)
        ll_quantiles_add(r->tpot, tpot, 1);
    r->within_limits += ttft <= s->limits->ttft_s && !(tpot > s->limits->tpot_s) && e2e <= s->limits->e2e_s;
    r->requests++;
    r->input_tokens += q->request.input;
    r->output_tokens += q->request.output;
}

static void count_served(struct server *s, const struct ll_sequence *q)
{
    s->result->end_s = fmax(s->result->end_s, q->last_token_s);
    if (counts(s, q->request.arrival_s))
        count_latencies(s, q);
    if (s->watch->served)
        s->watch->served(s->watch->context,
                         &(struct ll_served){q->number, q->request, q->scheduled_s, q->first_token_s,
                                             q->last_token_s, q->preemptions, q->hit_tokens, q->instance,
                                             q->prefill_instance, q->handed_s, q->resumed_s});
    free_place(s);
    if (s->watch->progress && (++s->ended & 0x3ff) == 0)
        s->watch->progress(s->watch->context, s->ended, s->load->count);
}

/* New tokens of a sequence at the end of its step. Several at once reach a client together: a gap lies
 * between steps, as vLLM's benchmark counts chunks. */
static void count_tokens(struct server *s, struct ll_sequence *q, uint64_t made)
{
    if (made == 0)
        return;
    const bool counted = counts(s, q->request.arrival_s);
    if (q->first_token_s == 0)
        q->first_token_s = s->now_s;
    else if (counted)
        ll_quantiles_add(s->result->itl, s->now_s - q->last_token_s, 1);
    q->last_token_s = s->now_s;
}

static void finish_batches(struct server *s, struct instance *instance)
{
    struct batches *b = &instance->under_way[instance->first];
    const bool hands = instance->pool == &s->deployment->prefill;
    s->now_s = b->seen.end_s;
    instance->first = (instance->first + 1) % instance->pool->stages;
    instance->count--;
    instance->waits = false;
    for (uint64_t r = 0; r < instance->pool->ranks; r++) {
        struct ll_rank_batch *batch = &b->ranks[r];
        for (uint64_t i = 0; i < batch->count; i++) {
            struct ll_sequence *q = batch->sequences[i];
            bool ended;
            uint64_t made = ll_rank_complete(instance->ranks[r], q, s->load->seed, &ended);
            b->seen.made += made;
            count_tokens(s, q, made);
            if (!ended)
                continue;
            instance->load--;
            if (hands && q->request.output > 1)
                hand_over(s, q, b->seen.end_s - q->scheduled_s);
            else
                count_served(s, q);
            ll_sequence_give(instance->ranks[r], q);
        }
    }
    if (s->watch->step)
        s->watch->step(s->watch->context, &b->seen);
}

/* New tokens of the rank that has most. */
static uint64_t tokens_of(const struct ll_rank_batch *ranks, uint64_t count)
{
    uint64_t most = 0;
    for (uint64_t r = 0; r < count; r++) {
        const struct ll_server_step *step = &ranks[r].step;
        uint64_t tokens = step->sequences * step->each;
        for (uint64_t i = 0; i < step->chunk_count; i++)
            tokens += step->chunks[i].tokens;
        most = ll_max(most, tokens);
    }
    return most;
}

static bool has_prompts(const struct ll_rank_batch *ranks, uint64_t count)
{
    for (uint64_t r = 0; r < count; r++)
        if (ranks[r].step.chunk_count > 0)
            return true;
    return false;
}

/* What a step costs, and what of it the tokens of prompts add. */
static struct ll_step_cost cost_of(struct instance *instance, const struct ll_rank_batch *ranks,
                                   double *prompts_s)
{
    const struct ll_server_pool *pool = instance->pool;
    bool sequences = false;
    const bool prompts = has_prompts(ranks, pool->ranks);
    for (uint64_t r = 0; r < pool->ranks; r++) {
        instance->steps[r] = ranks[r].step;
        sequences |= ranks[r].step.sequences > 0;
    }
    struct ll_step_cost cost = pool->cost(pool->context, instance->steps, pool->ranks);
    *prompts_s = prompts ? cost.time_s : 0;
    if (prompts && sequences) {
        for (uint64_t r = 0; r < pool->ranks; r++) {
            instance->steps[r].asked = instance->steps[r].sequences * instance->steps[r].each;
            instance->steps[r].chunk_count = 0;
        }
        *prompts_s = fmax(0, cost.time_s - pool->cost(pool->context, instance->steps, pool->ranks).time_s);
    }
    return cost;
}

/* What is seen of a step that begins; sums over all steps. */
static void see_step(struct server *s, const struct instance *instance, struct batches *b, double device_s,
                     double prompts_s, double end_s)
{
    struct ll_step_seen *seen = &b->seen;
    const double length = end_s - s->now_s;
    *seen = (struct ll_step_seen){.pool = instance->pool_number,
                                  .instance = instance->number,
                                  .start_s = s->now_s,
                                  .end_s = end_s,
                                  .device_s = device_s / (double)instance->pool->stages};
    for (uint64_t r = 0; r < instance->pool->ranks; r++) {
        const struct ll_server_step *step = &b->ranks[r].step;
        seen->running += ll_rank_running(instance->ranks[r]);
        seen->waiting += ll_rank_waiting(instance->ranks[r]);
        seen->kv_share = fmax(seen->kv_share, ll_rank_kv_share(instance->ranks[r]));
        seen->sequences += step->sequences;
        seen->context += step->context;
        seen->prompts += step->chunk_count;
        for (uint64_t i = 0; i < step->chunk_count; i++)
            seen->prompt_tokens += step->chunks[i].tokens;
    }
    if (!counts(s, s->now_s))
        return;
    struct ll_serving *sum = s->result;
    const double stages = (double)instance->pool->stages;
    sum->steps++;
    sum->busy_s[seen->pool] += device_s / stages;
    sum->prompt_busy_s[seen->pool] += prompts_s / stages;
    sum->decode_steps += seen->sequences > 0;
    sum->decode_sequences += seen->sequences;
    sum->decode_context += seen->context;
    sum->prompt_steps += seen->prompts > 0;
    sum->step_prompt_tokens += seen->prompt_tokens;
    sum->peak_kv_share = fmax(sum->peak_kv_share, seen->kv_share);
    s->step_time += length;
    s->kv_sum += seen->kv_share * length;
    s->running_sum += (double)seen->running * length;
    s->waiting_sum += (double)seen->waiting * length;
}

/* Whether prompts wait until each rank has one to begin, while some decode: TensorRT-LLM's
 * attention_dp_config (pyexecutor/py_executor.py, timeout_iters). */
static bool holds_prompts(struct instance *instance)
{
    const struct ll_server_pool *pool = instance->pool;
    bool some = false, all = true, decodes = false;
    if (pool->engine.balance_steps == 0 || pool->ranks == 1)
        return false;
    for (uint64_t r = 0; r < pool->ranks; r++) {
        bool has = ll_rank_may_admit(instance->ranks[r]);
        some |= has;
        all &= has || ll_rank_running(instance->ranks[r]) == pool->engine.most_sequences;
        decodes |= ll_rank_running(instance->ranks[r]) > 0;
    }
    bool holds = some && !all && decodes && instance->held_steps < pool->engine.balance_steps;
    instance->held_steps = holds ? instance->held_steps + 1 : 0;
    return holds;
}

/* Begins the next batches of an instance that is free; it waits where there are none. */
static void begin_batches(struct server *s, struct instance *instance)
{
    const struct ll_engine *e = &instance->pool->engine;
    struct batches *b = &instance->under_way[(instance->first + instance->count) % instance->pool->stages];
    uint64_t sequences = 0;
    double prompts_s;
    s->now_s = fmax(s->now_s, instance->free_s); /* all places may have been taken until now */
    const bool admits = !holds_prompts(instance);
    for (uint64_t r = 0; r < instance->pool->ranks; r++) {
        struct ll_rank_batch *batch = &b->ranks[r];
        if (!ll_rank_schedule(instance->ranks[r], s->now_s, admits, batch)) {
            s->failed = true;
            return;
        }
        if (counts(s, s->now_s)) {
            s->result->preemptions += batch->preemptions;
            s->result->prompt_tokens += batch->admitted_tokens;
            s->result->hit_tokens += batch->hit_tokens;
            for (int i = 0; i < LL_MOST_KV_TIERS; i++)
                s->result->tier_tokens[i] += batch->tier_tokens[i];
        }
        sequences += batch->count;
        for (uint64_t i = 0; i < batch->count; i++)
            batch->sequences[i]->in_flight = true;
    }
    instance->waits = sequences == 0;
    instance->wake_s = INFINITY;
    for (uint64_t r = 0; r < instance->pool->ranks; r++)
        instance->wake_s = fmin(instance->wake_s, ll_rank_loaded_s(instance->ranks[r]));
    if (sequences == 0)
        return;
    struct ll_step_cost cost = cost_of(instance, b->ranks, &prompts_s);
    const double device_s = ll_engine_device_s(e, cost.time_s, tokens_of(b->ranks, instance->pool->ranks),
                                               has_prompts(b->ranks, instance->pool->ranks));
    prompts_s += prompts_s > 0 ? device_s - cost.time_s : 0; /* it is for them that it has no graph */
    cost.time_s = device_s;
    const double taken_s = ll_engine_step_s(e, device_s, sequences);
    double end_s = s->now_s + taken_s;
    if (instance->count > 0) { /* stages compute batches in their order */
        uint64_t last = (instance->first + instance->count - 1) % instance->pool->stages;
        end_s = fmax(end_s, instance->under_way[last].seen.end_s);
    }
    instance->free_s = s->now_s + taken_s / (double)instance->pool->stages;
    instance->count++;
    s->no_energy |= !isfinite(cost.energy_j);
    s->result->energy_j += counts(s, s->now_s) && isfinite(cost.energy_j) ? cost.energy_j : 0;
    see_step(s, instance, b, cost.time_s, prompts_s, end_s);
}

/* --- the whole --- */

/* The next event. False where there is none. */
static bool take_event(struct server *s)
{
    struct instance *first = &s->instances[s->instance_count > 1 ? s->firsts[1] : 0];
    const double at_s = first->next_s, arrival_s = !s->over ? s->next.arrival_s : INFINITY,
                 handed_s = s->handed_count > 0 ? s->handed[0].at_s : INFINITY;
    if (isinf(at_s) && isinf(arrival_s) && isinf(handed_s))
        return false;
    /* What ends goes first, so that what it frees is there; then what comes; then batches begin. */
    if (first->ends && at_s <= arrival_s && at_s <= handed_s) {
        finish_batches(s, first);
        settle(s, first);
    } else if (arrival_s <= at_s && arrival_s <= handed_s) {
        s->now_s = arrival_s;
        arrive(s);
    } else if (handed_s <= at_s) {
        s->now_s = handed_s;
        receive(s);
    } else {
        s->now_s = at_s > s->now_s ? at_s : s->now_s;
        begin_batches(s, first);
        settle(s, first);
    }
    return true;
}

static bool make_instances(struct server *s, const struct ll_server_pool *pool, uint64_t number, uint64_t *at)
{
    for (uint64_t i = 0; i < pool->instances; i++) {
        struct instance *x = &s->instances[(*at)++];
        *x = (struct instance){.pool = pool,
                               .pool_number = number,
                               .number = i,
                               .wake_s = INFINITY,
                               .ranks = ll_alloc(s->arena, pool->ranks, sizeof *x->ranks),
                               .under_way = ll_alloc(s->arena, pool->stages, sizeof *x->under_way),
                               .steps = ll_alloc(s->arena, pool->ranks, sizeof *x->steps)};
        if (!x->ranks || !x->under_way || !x->steps)
            return false;
        if (pool->tier_count > 0 &&
            !(x->tiers = ll_kv_tiers_make(pool, i > 0 ? x[-1].tiers : NULL, s->arena)))
            return false;
        for (uint64_t r = 0; r < pool->ranks; r++)
            if (!(x->ranks[r] = ll_rank_make(&pool->engine, pool->kv_tokens, x->tiers, s->arena)))
                return false;
        for (uint64_t b = 0; b < pool->stages; b++) {
            struct batches *batches = &x->under_way[b];
            if (!(batches->ranks = ll_alloc(s->arena, pool->ranks, sizeof *batches->ranks)))
                return false;
            for (uint64_t r = 0; r < pool->ranks; r++) {
                struct ll_rank_batch *batch = &batches->ranks[r];
                const uint64_t most = pool->engine.most_sequences;
                *batch =
                    (struct ll_rank_batch){.sequences = ll_alloc(s->arena, most, sizeof *batch->sequences),
                                           .chunks = ll_alloc(s->arena, most, sizeof *batch->chunks)};
                if (!batch->sequences || !batch->chunks)
                    return false;
            }
        }
    }
    return true;
}

static bool make_result(struct server *s)
{
    struct ll_serving *r = s->result = ll_alloc(s->arena, 1, sizeof *r);
    if (!r)
        return false;
    *r = (struct ll_serving){.ttft = ll_quantiles_make(s->arena),
                             .tpot = ll_quantiles_make(s->arena),
                             .itl = ll_quantiles_make(s->arena),
                             .e2e = ll_quantiles_make(s->arena),
                             .queued = ll_quantiles_make(s->arena)};
    const struct ll_server_pool *const pools[] = {&s->deployment->whole, &s->deployment->prefill,
                                                  &s->deployment->decode};
    for (int i = 0; i < 3; i++)
        r->devices += pools[i]->instances * pools[i]->devices;
    return r->ttft && r->tpot && r->itl && r->e2e && r->queued;
}

const struct ll_serving *ll_serve(const struct ll_deployment *deployment, const struct ll_load *load,
                                  const struct ll_serve_limits *limits, const struct ll_serve_watch *watch,
                                  struct ll_arena *arena, const char **trouble)
{
    const struct ll_server_pool *whole = &deployment->whole, *prefill = &deployment->prefill,
                                *decode = &deployment->decode;
    struct server s = {
        .deployment = deployment, .load = load, .limits = limits, .watch = watch, .arena = arena};
    assert(load->count > 0 && (whole->instances > 0) != (prefill->instances > 0 && decode->instances > 0));
    s.instance_count = whole->instances + prefill->instances + decode->instances;
    s.first_decode = whole->instances > 0 ? s.instance_count : prefill->instances;
    s.instances = ll_alloc(arena, s.instance_count, sizeof *s.instances);
    s.firsts = ll_alloc(arena, s.instance_count, sizeof *s.firsts);
    uint64_t at = 0;
    *trouble = NULL;
    if (!s.instances || !s.firsts || !make_instances(&s, whole, 0, &at) ||
        !make_instances(&s, prefill, 1, &at) || !make_instances(&s, decode, 2, &at) || !make_result(&s) ||
        !make_places(&s))
        return NULL;
    for (uint64_t i = 0; i < s.instance_count; i++)
        settle(&s, &s.instances[i]);
    turn_to_next(&s);
    while (!s.failed && !s.trouble && !(watch->stop && *watch->stop) && take_event(&s))
        ;
    *trouble = s.trouble;
    if (s.failed || s.trouble)
        return NULL;
    s.result->duration_s = s.result->end_s - load->warmup_s;
    s.result->energy_j = s.no_energy ? NAN : s.result->energy_j;
    if (s.step_time > 0) {
        s.result->mean_kv_share = s.kv_sum / s.step_time;
        s.result->mean_running = s.running_sum / s.step_time;
        s.result->mean_waiting = s.waiting_sum / s.step_time;
    }
    return s.result;
}
