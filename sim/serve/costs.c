/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/serve/costs.h"

#include <assert.h>
#include <math.h>

#include "tracer/base/map.h"
#include "tracer/base/num.h"

struct known {
    struct ll_form_cost cost;
    bool failed;
};

struct ll_step_costs {
    uint64_t most_captured;
    ll_cost_of_form *ask;
    void *context;
    struct ll_arena *arena;
    struct ll_map forms;
    struct known *known; /* by id of the form */
    uint64_t capacity;
    bool failed;
};

struct ll_step_costs *ll_step_costs_make(uint64_t most_captured, ll_cost_of_form *ask, void *context,
                                         struct ll_arena *arena)
{
    struct ll_step_costs *c = ll_alloc(arena, 1, sizeof *c);
    if (c)
        *c = (struct ll_step_costs){
            .most_captured = most_captured, .ask = ask, .context = context, .arena = arena};
    return c;
}

void ll_step_costs_release(struct ll_step_costs *c)
{
    if (c)
        ll_map_release(&c->forms);
}

static const struct known *look_up(struct ll_step_costs *c, bool decoding, uint64_t count, uint64_t tokens,
                                   uint64_t past)
{
    static const struct known nothing = {.failed = true};
    const uint64_t key[] = {decoding, count, tokens, past};
    bool is_new;
    uint32_t id = ll_map_intern(&c->forms, key, sizeof key, &is_new);
    if (id == LL_NO_ID) {
        c->failed = true;
        return &nothing;
    }
    if (id >= c->capacity) {
        uint64_t capacity = ll_max(256, 2 * c->capacity);
        struct known *more = ll_alloc(c->arena, capacity, sizeof *more);
        if (!more) {
            c->failed = true;
            return &nothing;
        }
        for (uint64_t i = 0; i < c->capacity; i++)
            more[i] = c->known[i];
        c->known = more;
        c->capacity = capacity;
    }
    if (is_new) {
        const struct ll_form form = {decoding, count, tokens, past};
        c->known[id] = (struct known){.cost = {0}};
        c->known[id].failed = !c->ask(c->context, &form, &c->known[id].cost);
    }
    c->failed |= c->known[id].failed;
    return &c->known[id];
}

/* --- grids --- */

/* Points between which a value lies, and how far it is from the lower to the upper one, 0 to below 1. */
struct bracket {
    uint64_t low, high;
    double share;
};

static struct bracket between(uint64_t x, uint64_t low, uint64_t high)
{
    return (struct bracket){low, high, high > low ? (double)(x - low) / (double)(high - low) : 0};
}

/* Powers of two from `least` on with `parts` equal steps between them, and 0. */
static struct bracket geometric(uint64_t x, uint64_t least, uint64_t parts)
{
    uint64_t base = least;
    if (x <= least)
        return x == least ? between(x, x, x) : between(x, 0, least);
    while (2 * base <= x)
        base *= 2;
    uint64_t step = ll_max(1, base / parts), low = base + (x - base) / step * step;
    return low == x ? between(x, x, x) : between(x, low, low + step);
}

/* Tokens of a batch: the captured size that it is padded to, or steps of about a thirtieth. */
static struct bracket batch_tokens(const struct ll_step_costs *c, uint64_t x)
{
    uint64_t padded = x <= 2 ? x : x <= 4 ? 4 : x <= 256 ? ll_ceil_div(x, 8) * 8 : ll_ceil_div(x, 16) * 16;
    if (padded <= c->most_captured)
        return between(padded, padded, padded);
    return geometric(x, 64, 32);
}

static double mixed(struct bracket b, double low, double high)
{
    return b.share > 0 ? low + b.share * (high - low) : low;
}

/* --- parts of a step --- */

struct part {
    double time_s, energy_j;
};

static void add(struct part *sum, double time_s, double energy_j)
{
    sum->time_s += time_s;
    sum->energy_j += energy_j;
}

/* A part's share of its form's energy is its share of the time. */
static double energy_of(const struct ll_form_cost *cost, double time_s)
{
    double all = cost->attention_s + cost->head_s + cost->rest_s;
    return all > 0 ? cost->energy_j * time_s / all : 0;
}

enum { USUAL_CONTEXT = 1024 };

/* All but attention and the head, of so many tokens; sequences of `each` tokens that decode, or a prompt. */
static void add_rest(struct ll_step_costs *c, uint64_t tokens, uint64_t each, bool decoding, struct part *sum)
{
    uint64_t sequences = decoding ? ll_ceil_div(tokens, each) : tokens;
    struct bracket b = batch_tokens(c, sequences);
    const struct ll_form_cost *ends[2];
    for (int i = 0; i < 2; i++) {
        uint64_t n = ll_max(1, i == 0 ? b.low : b.high);
        ends[i] =
            decoding ? &look_up(c, true, n, each, USUAL_CONTEXT)->cost : &look_up(c, false, 1, n, 0)->cost;
    }
    double time_s = mixed(b, ends[0]->rest_s, ends[1]->rest_s);
    add(sum, time_s, energy_of(ends[1], time_s));
}

/* The head, for so many tokens that are asked for. */
static void add_head(struct ll_step_costs *c, uint64_t asked, struct part *sum)
{
    struct bracket b = batch_tokens(c, asked);
    if (asked == 0)
        return;
    const struct ll_form_cost *low = &look_up(c, true, ll_max(1, b.low), 1, USUAL_CONTEXT)->cost;
    const struct ll_form_cost *high = &look_up(c, true, ll_max(1, b.high), 1, USUAL_CONTEXT)->cost;
    double time_s = mixed(b, low->head_s, high->head_s);
    add(sum, time_s, energy_of(high, time_s));
}

/* Tokens guessed ahead, by a layer and the head for each sequence, so many times. */
static void add_guesses(struct ll_step_costs *c, uint64_t sequences, uint64_t times, struct part *sum)
{
    struct bracket b = batch_tokens(c, sequences);
    const struct ll_form_cost *low = &look_up(c, true, ll_max(1, b.low), 1, USUAL_CONTEXT)->cost;
    double low_s = low->layer_s + low->head_s;
    const struct ll_form_cost *high = &look_up(c, true, ll_max(1, b.high), 1, USUAL_CONTEXT)->cost;
    double time_s = (double)times * mixed(b, low_s, high->layer_s + high->head_s);
    add(sum, time_s, energy_of(high, time_s));
}

/* Attention at the four points of a grid around (x, y). */
static void add_attention(struct ll_step_costs *c, bool decoding, struct bracket x, struct bracket y,
                          uint64_t each, struct part *sum)
{
    double time_s[2][2];
    const struct ll_form_cost *last = NULL;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            if ((i == 1 && x.share == 0) || (j == 1 && y.share == 0)) {
                time_s[i][j] = i == 1 ? time_s[0][j] : time_s[i][0];
                continue;
            }
            uint64_t at_x = i == 0 ? x.low : x.high, at_y = j == 0 ? y.low : y.high;
            last = decoding ? &look_up(c, true, ll_max(1, at_x), each, at_y)->cost
                            : &look_up(c, false, 1, ll_max(1, at_x), at_y)->cost;
            time_s[i][j] = at_x == 0 ? 0 : last->attention_s;
        }
    double all = mixed(x, mixed(y, time_s[0][0], time_s[0][1]), mixed(y, time_s[1][0], time_s[1][1]));
    add(sum, all, energy_of(last, all));
}

static struct part attention_of(struct ll_step_costs *c, const struct ll_server_step *step)
{
    struct part sum = {0};
    if (step->sequences > 0) {
        uint64_t mean = (step->context + step->sequences / 2) / step->sequences;
        add_attention(c, true, geometric(step->sequences, 1, 4), geometric(mean, 16, 4), step->each, &sum);
    }
    for (uint64_t i = 0; i < step->chunk_count; i++)
        add_attention(c, false, geometric(step->chunks[i].tokens, 16, 8),
                      geometric(step->chunks[i].past, 64, 4), 1, &sum);
    return sum;
}

struct ll_step_cost ll_step_cost(void *costs, const struct ll_server_step *steps, uint64_t ranks)
{
    struct ll_step_costs *c = costs;
    struct part sum = {0}, attention = {0};
    uint64_t tokens = 0, asked = 0, each = 1, sequences = 0;
    bool prompts = false;
    for (uint64_t r = 0; r < ranks; r++) {
        uint64_t of_rank = steps[r].sequences * steps[r].each;
        struct part own = attention_of(c, &steps[r]);
        for (uint64_t i = 0; i < steps[r].chunk_count; i++)
            of_rank += steps[r].chunks[i].tokens;
        tokens = ll_max(tokens, of_rank);
        asked = ll_max(asked, steps[r].asked);
        each = ll_max(each, steps[r].each);
        sequences = ll_max(sequences, steps[r].sequences);
        prompts |= steps[r].chunk_count > 0;
        if (own.time_s > attention.time_s)
            attention = own;
    }
    assert(tokens > 0);
    add_rest(c, tokens, each, !prompts, &sum);
    add_head(c, asked, &sum);
    if (each > 1 && sequences > 0)
        add_guesses(c, sequences, each - 1, &sum);
    add(&sum, attention.time_s, attention.energy_j);
    return (struct ll_step_cost){c->failed ? 0 : sum.time_s, sum.energy_j};
}
