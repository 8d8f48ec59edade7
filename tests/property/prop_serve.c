/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of any server under any load, with steps that cost more the more they compute: nothing is lost,
 * nothing is faster than by itself, memory is never exceeded, whoever came first is let in first. */
#include "check.h"
#include "random.h"

#include "sim/serve/history.h"
#include "sim/serve/serve.h"
#include "sim/serve/steady.h"

#include <math.h>
#include <string.h>

enum { CASES = 400, MOST_REQUESTS = 60 };

static uint64_t seed; /* of the first case */

/* Non-decreasing and subadditive: a start, and so much for each token and each token that is seen. */
struct price {
    double step_s, token_s, seen_s;
};

static struct ll_step_cost cost(void *context, const struct ll_server_step *steps, uint64_t ranks)
{
    const struct price *price = context;
    double most = 0;
    for (uint64_t r = 0; r < ranks; r++) {
        const struct ll_server_step *s = &steps[r];
        double tokens = (double)(s->sequences * s->each), seen = (double)s->context;
        for (uint64_t i = 0; i < s->chunk_count; i++) {
            tokens += (double)s->chunks[i].tokens;
            seen += (double)s->chunks[i].tokens *
                    ((double)s->chunks[i].past + (double)(s->chunks[i].tokens + 1) / 2);
        }
        most = fmax(most, price->token_s * tokens + price->seen_s * seen);
    }
    return (struct ll_step_cost){price->step_s + most, NAN};
}

struct seen {
    struct ll_served all[MOST_REQUESTS];
    uint64_t count, prompt_tokens;
    double kv;
    struct ll_serve_history *history; /* NULL: nobody asks for it */
};

static void keep(void *context, const struct ll_served *served)
{
    struct seen *seen = context;
    assert_true(served->number < MOST_REQUESTS && seen->count < MOST_REQUESTS);
    seen->all[served->number] = *served;
    seen->count++;
}

static void look(void *context, const struct ll_step_seen *step)
{
    struct seen *seen = context;
    if (seen->history)
        ll_serve_history_step(seen->history, step);
    seen->prompt_tokens += step->prompt_tokens;
    assert_true(step->kv_share >= 0 && step->kv_share <= 1);
    assert_true(step->end_s > step->start_s);
    seen->kv = fmax(seen->kv, step->kv_share);
}

struct case_of {
    struct price price;
    struct ll_deployment deployment;
    struct ll_request requests[MOST_REQUESTS];
    struct ll_load load;
    uint64_t most_tokens; /* of one request */
    struct ll_kv_tier tiers[2];
};

static void draw(uint64_t *random, struct case_of *c)
{
    *c = (struct case_of){.price = {1e-3 * (double)(1 + ll_random_below(random, 20)),
                                    1e-6 * (double)(1 + ll_random_below(random, 200)),
                                    1e-9 * (double)ll_random_below(random, 100)}};
    struct ll_engine engine = {.admission = (enum ll_admission)ll_random_below(random, LL_ADMISSION_COUNT),
                               .prompts_first = ll_random_below(random, 2),
                               .chunks = true,
                               .prefix_caching = ll_random_below(random, 2),
                               .most_sequences = 1 + ll_random_below(random, 32),
                               .most_tokens = 16 + ll_random_below(random, 512),
                               .longest_chunk =
                                   ll_random_below(random, 2) ? 8 + ll_random_below(random, 64) : 0,
                               .block = 1 + ll_random_below(random, 32),
                               .step_s = 1e-5 * (double)ll_random_below(random, 10),
                               .overlaps = ll_random_below(random, 2)};
    engine.by_priority = !engine.prompts_first && ll_random_below(random, 2);
    uint64_t count = 1 + ll_random_below(random, MOST_REQUESTS);
    double arrival = 0, gap = pow(10, (double)ll_random_below(random, 5) - 4);
    for (uint64_t i = 0; i < count; i++) {
        struct ll_request *r = &c->requests[i];
        *r = (struct ll_request){.arrival_s = arrival,
                                 .input = 1 + ll_random_below(random, 400),
                                 .output = 1 + ll_random_below(random, 60),
                                 .priority = (int64_t)ll_random_below(random, 3) - 1};
        if (ll_random_below(random, 3) == 0) {
            r->prefix = ll_random_below(random, 2);
            r->prefix_tokens = ll_random_below(random, r->input + 1);
        }
        c->most_tokens = r->input + r->output > c->most_tokens ? r->input + r->output : c->most_tokens;
        arrival += gap * (double)ll_random_below(random, 20);
    }
    c->load = (struct ll_load){.listed = c->requests, .count = count, .seed = 1};
    struct ll_server_pool pool = {.instances = 1 + ll_random_below(random, 3),
                                  .ranks = 1 + ll_random_below(random, 2),
                                  .stages = 1 + ll_random_below(random, 2),
                                  .devices = 1,
                                  .kv_tokens =
                                      (c->most_tokens + engine.block) * (1 + ll_random_below(random, 8)),
                                  .engine = engine,
                                  .cost = cost,
                                  .context = &c->price};
    for (uint64_t i = 0; i < 2; i++)
        c->tiers[i] = (struct ll_kv_tier){.tokens = ll_random_below(random, 4000),
                                          .token_s = 1e-6 * (double)ll_random_below(random, 100),
                                          .shared = ll_random_below(random, 2)};
    pool.tiers = c->tiers;
    pool.tier_count = engine.prefix_caching ? ll_random_below(random, 3) : 0;
    c->deployment = (struct ll_deployment){.router = (enum ll_router)ll_random_below(random, LL_ROUTER_COUNT),
                                           .kv_bytes = 1,
                                           .transfer_Bps = 1e6,
                                           .layers = 1};
    if (ll_random_below(random, 4) == 0)
        c->deployment.prefill = c->deployment.decode = pool;
    else
        c->deployment.whole = pool;
    /* Pools are told apart by their places. */
    c->deployment.prefill.context = c->deployment.decode.context = &c->price;
}

static const struct ll_serve_limits no_limits = {INFINITY, INFINITY, INFINITY};

static const struct ll_serving *serve(const struct case_of *c, const struct ll_load *load, struct seen *seen,
                                      struct ll_arena *arena)
{
    const char *trouble;
    const struct ll_serve_watch watch = {.served = keep, .step = look, .context = seen};
    memset(seen, 0, sizeof *seen);
    const struct ll_serving *r = ll_serve(&c->deployment, load, &no_limits, &watch, arena, &trouble);
    assert_null(trouble);
    assert_non_null(r);
    return r;
}

/* The request by itself, from time 0. */
static double bare_s(const struct case_of *c, const struct ll_request *request)
{
    struct ll_arena arena = {0};
    struct seen seen;
    struct ll_request alone = *request;
    alone.arrival_s = 0;
    struct ll_load load = {.listed = &alone, .count = 1, .seed = 1};
    const struct ll_serving *r = serve(c, &load, &seen, &arena);
    double time_s = r->duration_s;
    ll_arena_release(&arena);
    return time_s;
}

static void check_case(uint64_t case_seed)
{
    uint64_t random = case_seed;
    struct case_of c;
    struct ll_arena arena = {0}, again = {0};
    static struct seen seen, same;
    draw(&random, &c);
    const struct ll_serving *r = serve(&c, &c.load, &seen, &arena), *s = serve(&c, &c.load, &same, &again);
    uint64_t output = 0;
    double last_scheduled[8] = {0};
    assert_true(r->requests == c.load.count && seen.count == c.load.count);
    assert_true(memcmp(&seen, &same, sizeof seen) == 0);
    assert_true(r->steps == s->steps && r->duration_s == s->duration_s);
    for (uint64_t i = 0; i < c.load.count; i++) {
        const struct ll_served *q = &seen.all[i];
        output += q->request.output;
        assert_true(q->scheduled_s >= q->request.arrival_s && q->first_token_s > q->scheduled_s &&
                    q->last_token_s >= q->first_token_s);
        double alone = bare_s(&c, &q->request);
        if (!c.deployment.whole.engine.prefix_caching && c.deployment.whole.instances > 0 &&
            q->last_token_s - q->request.arrival_s < alone * (1 - 1e-9))
            fail_msg("seed %llu: request %llu took %.9g s, %.9g s by itself", (unsigned long long)case_seed,
                     (unsigned long long)i, q->last_token_s - q->request.arrival_s, alone);
        assert_true(q->hit_tokens < q->request.input);
        if (c.deployment.whole.instances == 1 && c.deployment.whole.ranks == 1 &&
            !c.deployment.whole.engine.by_priority && c.deployment.whole.tier_count == 0)
            assert_true(q->scheduled_s >= last_scheduled[0]);
        last_scheduled[0] = q->scheduled_s;
    }
    assert_true(r->output_tokens == output);
    ll_arena_release(&arena);
    ll_arena_release(&again);
}

/* All at once, one after another: who waits is let in by priority, then by arrival. */
static void the_most_urgent_is_let_in_first(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < CASES / 10; i++) {
        uint64_t random = seed + i;
        struct case_of c;
        struct ll_arena arena = {0};
        static struct seen seen;
        draw(&random, &c);
        if (c.deployment.whole.instances == 0)
            c.deployment.whole = c.deployment.prefill;
        c.deployment.prefill.instances = c.deployment.decode.instances = 0;
        struct ll_server_pool *pool = &c.deployment.whole;
        pool->instances = pool->ranks = pool->stages = pool->engine.most_sequences = 1;
        pool->tier_count = 0;
        pool->engine.prompts_first = false;
        pool->engine.by_priority = true;
        for (uint64_t q = 0; q < c.load.count; q++)
            c.requests[q].arrival_s = 0;
        serve(&c, &c.load, &seen, &arena);
        for (uint64_t a = 0; a < c.load.count; a++)
            for (uint64_t b = a + 1; b < c.load.count; b++)
                assert_true((seen.all[a].scheduled_s < seen.all[b].scheduled_s) ==
                            (c.requests[a].priority <= c.requests[b].priority));
        ll_arena_release(&arena);
    }
}

/* As many requests at a time as the steady state has: over many of them the rate is that of the closed
 * form, but for the first and the last ones, and for prompts that meet others more often than in the mean. */
static void a_steady_state_is_what_many_requests_come_to(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < CASES / 10; i++) {
        uint64_t random = seed + i;
        struct case_of c;
        struct ll_arena arena = {0};
        struct ll_steady_state steady;
        const char *trouble;
        draw(&random, &c);
        if (c.deployment.whole.instances == 0)
            c.deployment.whole = c.deployment.prefill;
        c.deployment.prefill.instances = c.deployment.decode.instances = 0;
        struct ll_server_pool *pool = &c.deployment.whole;
        const double input = 20 + (double)ll_random_below(&random, 80),
                     output = 20 + (double)ll_random_below(&random, 40);
        pool->instances = pool->ranks = pool->stages = 1;
        pool->tier_count = 0;
        pool->engine.prefix_caching = false;
        pool->engine.longest_chunk = 0;
        pool->engine.most_tokens = 512;
        pool->engine.most_sequences = 1 + ll_random_below(&random, 16);
        pool->kv_tokens = pool->engine.block * 10000;
        c.load = (struct ll_load){.input = {.kind = LL_LENGTHS_UNIFORM, .a = input, .b = input},
                                  .output = {.kind = LL_LENGTHS_UNIFORM, .a = 2, .b = 2 * output - 2},
                                  .seed = 1};
        assert_true(ll_serve_steady(pool, &c.load, &no_limits, LL_STEADY_WHOLE, &arena, &steady));
        assert_true(steady.sequences == pool->engine.most_sequences);
        c.load.concurrency = steady.sequences;
        c.load.count = 40 * c.load.concurrency;
        const struct ll_serve_watch watch = {0};
        const struct ll_serving *r = ll_serve(&c.deployment, &c.load, &no_limits, &watch, &arena, &trouble);
        assert_non_null(r);
        const double rate = (double)r->requests / r->duration_s;
        if (fabs(steady.rate_Hz / rate - 1) > 0.2)
            fail_msg("seed %llu: %.6g requests/s, in closed form %.6g", (unsigned long long)(seed + i), rate,
                     steady.rate_Hz);
        ll_arena_release(&arena);
    }
}

static void nothing_is_lost_and_nothing_is_faster_than_alone(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < CASES; i++)
        check_case(seed + i);
}

/* Where all fit at once nobody is preempted, and more memory changes nothing. */
static void room_for_all_preempts_nobody(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < CASES; i++) {
        uint64_t random = seed + i;
        struct case_of c;
        struct ll_arena arena = {0};
        static struct seen seen, more;
        draw(&random, &c);
        struct ll_server_pool *const pools[] = {&c.deployment.whole, &c.deployment.prefill,
                                                &c.deployment.decode};
        for (int p = 0; p < 3; p++) {
            pools[p]->kv_tokens = (c.most_tokens + 64) * (c.load.count + 1);
            pools[p]->engine.prefix_caching = false;
        }
        const struct ll_serving *r = serve(&c, &c.load, &seen, &arena);
        assert_true(r->preemptions == 0);
        for (int p = 0; p < 3; p++)
            pools[p]->kv_tokens *= 2;
        serve(&c, &c.load, &more, &arena);
        for (uint64_t q = 0; q < c.load.count; q++)
            assert_true(seen.all[q].last_token_s == more.all[q].last_token_s);
        ll_arena_release(&arena);
    }
}

/* In a closed loop of N requests, all of whose places are taken until the last ones end: N times the duration
 * is the sum of latencies and of the places that are empty at the end (Little, 1961). */
static void a_closed_loop_obeys_littles_law(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < CASES; i++) {
        uint64_t random = seed + i;
        struct case_of c;
        struct ll_arena arena = {0};
        static struct seen seen;
        draw(&random, &c);
        c.load.concurrency = 1 + ll_random_below(&random, c.load.count);
        const struct ll_serving *r = serve(&c, &c.load, &seen, &arena);
        double sum = 0, ends[MOST_REQUESTS], empty = 0;
        for (uint64_t q = 0; q < c.load.count; q++) {
            sum += seen.all[q].last_token_s - seen.all[q].request.arrival_s;
            ends[q] = seen.all[q].last_token_s;
        }
        for (uint64_t place = 0; place < c.load.concurrency; place++) {
            /* The latest ends are those after which no request comes. */
            uint64_t latest = 0;
            for (uint64_t q = 1; q < c.load.count; q++)
                latest = ends[q] > ends[latest] ? q : latest;
            empty += r->duration_s - ends[latest];
            ends[latest] = -1;
        }
        double places = (double)c.load.concurrency * r->duration_s;
        assert_true(fabs(sum + empty - places) <= 1e-9 * places);
        ll_arena_release(&arena);
    }
}

static void one_at_a_time_is_the_bare_time(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < CASES / 4; i++) {
        uint64_t random = seed + i;
        struct case_of c;
        struct ll_arena arena = {0};
        static struct seen seen;
        draw(&random, &c);
        for (uint64_t q = 0; q < c.load.count; q++)
            c.requests[q].arrival_s = 1e4 * (double)q;
        c.deployment.whole.engine.prefix_caching = c.deployment.prefill.engine.prefix_caching =
            c.deployment.decode.engine.prefix_caching = false;
        serve(&c, &c.load, &seen, &arena);
        for (uint64_t q = 0; q < c.load.count; q++) {
            double alone = bare_s(&c, &c.requests[q]);
            assert_true(fabs(seen.all[q].last_token_s - seen.all[q].request.arrival_s - alone) <=
                        1e-7 * alone + 1e-9);
        }
        ll_arena_release(&arena);
    }
}

/* Intervals of a history hold all that was made, computed, kept busy; and no more sequences run than the
 * times of requests say. */
static void a_history_sums_to_the_whole(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < CASES / 4; i++) {
        uint64_t random = seed + i;
        struct case_of c;
        struct ll_arena arena = {0};
        static struct seen seen;
        const char *trouble;
        double made = 0, prompts = 0, busy_s = 0, all_busy_s = 0, running_s = 0, most_s = 0;
        const struct ll_serve_watch watch = {.served = keep, .step = look, .context = &seen};
        draw(&random, &c);
        memset(&seen, 0, sizeof seen);
        seen.history = ll_serve_history_make(&arena);
        assert_non_null(seen.history);
        const struct ll_serving *r = ll_serve(&c.deployment, &c.load, &no_limits, &watch, &arena, &trouble);
        assert_non_null(r);
        ll_serve_history_end(seen.history);
        for (int p = 0; p < 3; p++) {
            all_busy_s += r->busy_s[p];
            for (int k = 0; seen.history->pools[p] && k < LL_HISTORY_INTERVALS; k++) {
                const struct ll_interval *at = &seen.history->pools[p]->intervals[k];
                made += at->made;
                prompts += at->prompt_tokens;
                busy_s += at->busy_s;
                running_s += at->running_s;
                assert_true(at->peak_kv >= 0 && at->peak_kv <= 1);
            }
        }
        for (uint64_t q = 0; q < c.load.count; q++)
            most_s += seen.all[q].last_token_s - seen.all[q].scheduled_s;
        assert_true(fabs(made - (double)r->output_tokens) <= 1e-9 * made);
        assert_true(fabs(prompts - (double)seen.prompt_tokens) <= 1e-9 * prompts);
        assert_true(fabs(busy_s - all_busy_s) <= 1e-9 * busy_s);
        if (c.deployment.whole.stages <= 1 && c.deployment.decode.stages <= 1)
            assert_true(running_s <= most_s * (1 + 1e-9)); /* of a pipeline, until its next batch begins */
        ll_arena_release(&arena);
    }
}

/* What comes before the end of the warm-up does not count, and nothing comes after the duration. */
static void loads_begin_and_end_when_they_say(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < CASES / 4; i++) {
        uint64_t random = seed + i;
        struct case_of c;
        struct ll_arena arena = {0};
        static struct seen seen;
        uint64_t due = 0, counted = 0, output = 0;
        draw(&random, &c);
        const double end_s = c.requests[c.load.count - 1].arrival_s;
        c.load.duration_s = end_s * 0.75;
        c.load.warmup_s = end_s * 0.25;
        for (uint64_t q = 0; q < c.load.count; q++) {
            const double at_s = c.requests[q].arrival_s;
            due += c.load.duration_s == 0 || at_s <= c.load.duration_s;
            counted += at_s >= c.load.warmup_s && (c.load.duration_s == 0 || at_s <= c.load.duration_s);
        }
        const struct ll_serving *r = serve(&c, &c.load, &seen, &arena);
        assert_true(seen.count == due && r->requests == counted);
        for (uint64_t q = 0; q < due; q++)
            output += seen.all[q].request.arrival_s >= c.load.warmup_s ? seen.all[q].request.output : 0;
        assert_true(r->output_tokens == output);
        ll_arena_release(&arena);
    }
}

/* A closed loop at a rate: never more than so many at once, none earlier than the rate says. */
static void a_rate_with_places_keeps_both(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < CASES / 4; i++) {
        uint64_t random = seed + i;
        struct case_of c;
        struct ll_arena arena = {0};
        static struct seen seen;
        draw(&random, &c);
        c.load.listed = NULL;
        c.load.rate_Hz = pow(10, (double)ll_random_below(&random, 5) - 1);
        c.load.burstiness = 1;
        c.load.input = (struct ll_lengths){.a = 1, .b = 300};
        c.load.output = (struct ll_lengths){.a = 1, .b = 40};
        c.load.concurrency = 1 + ll_random_below(&random, 8);
        struct ll_server_pool *const pools[] = {&c.deployment.whole, &c.deployment.prefill,
                                                &c.deployment.decode};
        for (int p = 0; p < 3; p++)
            pools[p]->kv_tokens += 512;
        serve(&c, &c.load, &seen, &arena);
        double nominal_s = 0;
        for (uint64_t q = 0; q < c.load.count; q++) {
            uint64_t at_once = 0;
            nominal_s = ll_load_request(&c.load, q, nominal_s).arrival_s;
            assert_true(seen.all[q].request.arrival_s >= nominal_s);
            for (uint64_t other = 0; other < c.load.count; other++)
                at_once += seen.all[other].request.arrival_s <= seen.all[q].request.arrival_s &&
                           seen.all[other].last_token_s > seen.all[q].request.arrival_s;
            assert_true(at_once <= c.load.concurrency);
        }
        ll_arena_release(&arena);
    }
}

/* What a small cache forgot is found in a tier: two prompts in turn, of which the cache holds one. */
static void a_tier_has_what_a_cache_forgot(void **state)
{
    (void)state;
    for (int with = 0; with < 2; with++) {
        struct ll_request requests[4];
        struct price price = {1e-2, 1e-4, 0};
        struct ll_arena arena = {0};
        static struct seen seen;
        const struct ll_kv_tier host = {.name = "host", .tokens = 4096, .token_s = 1e-5};
        const struct ll_engine engine = {
            .chunks = true, .prefix_caching = true, .most_sequences = 4, .most_tokens = 1024, .block = 16};
        const struct ll_server_pool pool = {.instances = 1,
                                            .ranks = 1,
                                            .stages = 1,
                                            .devices = 1,
                                            .kv_tokens = 528,
                                            .tiers = &host,
                                            .tier_count = (uint64_t)with,
                                            .engine = engine,
                                            .cost = cost,
                                            .context = &price};
        struct case_of c = {.deployment = {.whole = pool}};
        for (uint64_t i = 0; i < 4; i++)
            requests[i] = (struct ll_request){
                .arrival_s = (double)i, .input = 512, .output = 1, .prefix = i % 2, .prefix_tokens = 512};
        const struct ll_load load = {.listed = requests, .count = 4};
        const struct ll_serving *r = serve(&c, &load, &seen, &arena);
        /* Of 33 blocks the next prompt takes all but that of the front. So the third and the fourth find one
         * block in the cache, in the tier all others but that of the last token; a step of what is left. */
        const double left = with ? 16 : 496, loads_s = with ? 480 * 1e-5 : 0;
        assert_true(r->tier_tokens[0] == (with ? 2u * 480 : 0) && r->hit_tokens == 2 * 16);
        for (uint64_t i = 2; i < 4; i++)
            assert_true(fabs(seen.all[i].last_token_s - (double)i - loads_s - (1e-2 + 1e-4 * left)) < 1e-9);
        ll_arena_release(&arena);
    }
}

int main(void)
{
    seed = ll_seed(67000000);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_urgent_is_let_in_first),
        cmocka_unit_test(a_steady_state_is_what_many_requests_come_to),
        cmocka_unit_test(nothing_is_lost_and_nothing_is_faster_than_alone),
        cmocka_unit_test(room_for_all_preempts_nobody),
        cmocka_unit_test(a_closed_loop_obeys_littles_law),
        cmocka_unit_test(one_at_a_time_is_the_bare_time),
        cmocka_unit_test(a_history_sums_to_the_whole),
        cmocka_unit_test(loads_begin_and_end_when_they_say),
        cmocka_unit_test(a_rate_with_places_keeps_both),
        cmocka_unit_test(a_tier_has_what_a_cache_forgot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
