/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/serve/costs.h"

#include <assert.h>
#include <math.h>

#include "tracer/base/map.h"
#include "tracer/base/num.h"

struct known {
    struct ll_form form;
    struct ll_form_cost cost;
    double all_s; /* of attention, the head and the rest together */
    bool failed;
};

/* A step asks for forms that the step before asked for, too: where a form's hash says, lies the one with that
 * hash that was asked for last. */
enum { RECENT_BITS = 8, RECENT = 1 << RECENT_BITS };

struct ll_step_costs {
    uint64_t most_captured;
    ll_cost_of_form *ask;
    void *context;
    struct ll_arena *arena;
    struct ll_map forms;
    struct known **known; /* by id of the form */
    uint64_t capacity;
    const struct known *recent[RECENT]; /* NULL: none */
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

/* What is known of a form that is not among the recent ones. */
static const struct known *intern(struct ll_step_costs *c, const struct ll_form *form)
{
    static const struct known nothing = {.failed = true};
    const uint64_t key[] = {form->decoding, form->count, form->tokens, form->past};
    bool is_new;
    uint32_t id = ll_map_intern(&c->forms, key, sizeof key, &is_new);
    if (id == LL_NO_ID)
        return &nothing;
    if (id >= c->capacity) {
        uint64_t capacity = ll_max(256, 2 * c->capacity);
        struct known **more = ll_alloc(c->arena, capacity, sizeof *more);
        if (!more)
            return &nothing;
        for (uint64_t i = 0; i < c->capacity; i++)
            more[i] = c->known[i];
        c->known = more;
        c->capacity = capacity;
    }
    if (is_new) {
        struct known *known = c->known[id] = ll_alloc(c->arena, 1, sizeof *known);
        if (!known)
            return &nothing;
        known->form = *form;
        known->failed = !c->ask(c->context, form, &known->cost);
        known->all_s = known->cost.attention_s + known->cost.head_s + known->cost.rest_s;
    }
    return c->known[id] ? c->known[id] : &nothing;
}

static const struct known *look_up(struct ll_step_costs *c, bool decoding, uint64_t count, uint64_t tokens,
                                   uint64_t past)
{
    const uint64_t hash = (2 * (count << 24 ^ tokens << 48 ^ past) + decoding) * UINT64_C(0x9E3779B97F4A7C15);
    const struct known **at = &c->recent[hash >> (64 - RECENT_BITS)], *known = *at;
    if (!known || known->form.count != count || known->form.past != past || known->form.tokens != tokens ||
        known->form.decoding != decoding) {
        known = intern(c, &(struct ll_form){decoding, count, tokens, past});
        c->failed |= known->failed;
        *at = known->failed ? NULL : known;
    }
    return known;
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

/* Powers of two from 2^least on with 2^parts equal steps between them, and 0. */
static struct bracket geometric(uint64_t x, unsigned least, unsigned parts)
{
    const uint64_t first = UINT64_C(1) << least;
    if (x <= first)
        return x == first ? between(x, x, x) : between(x, 0, first);
    const unsigned exponent = 63u - (unsigned)__builtin_clzll(x);
    const uint64_t step = exponent > parts ? UINT64_C(1) << (exponent - parts) : 1, low = x & ~(step - 1);
    return low == x ? between(x, x, x) : between(x, low, low + step);
}

/* Tokens of a batch: the captured size that it is padded to, or steps of about a thirtieth. */
static struct bracket batch_tokens(const struct ll_step_costs *c, uint64_t x)
{
    uint64_t padded = x <= 2 ? x : x <= 4 ? 4 : x <= 256 ? ll_ceil_div(x, 8) * 8 : ll_ceil_div(x, 16) * 16;
    if (padded <= c->most_captured)
        return between(padded, padded, padded);
    return geometric(x, 6, 5);
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
static double energy_of(const struct known *of, double time_s)
{
    return of->all_s > 0 ? of->cost.energy_j * time_s / of->all_s : 0;
}

enum { USUAL_CONTEXT = 1024 };

/* All but attention and the head, of so many tokens; sequences of `each` tokens that decode, or a prompt. */
static void add_rest(struct ll_step_costs *c, uint64_t tokens, uint64_t each, bool decoding, struct part *sum)
{
    uint64_t sequences = decoding ? ll_ceil_div(tokens, each) : tokens;
    struct bracket b = batch_tokens(c, sequences);
    const struct known *ends[2];
    for (int i = 0; i < 2; i++) {
        uint64_t n = ll_max(1, i == 0 ? b.low : b.high);
        ends[i] = i == 1 && b.high == b.low ? ends[0]
                  : decoding                ? look_up(c, true, n, each, USUAL_CONTEXT)
                                            : look_up(c, false, 1, n, 0);
    }
    double time_s = mixed(b, ends[0]->cost.rest_s, ends[1]->cost.rest_s);
    add(sum, time_s, energy_of(ends[1], time_s));
}

/* The head, for so many tokens that are asked for. */
static void add_head(struct ll_step_costs *c, uint64_t asked, struct part *sum)
{
    struct bracket b = batch_tokens(c, asked);
    if (asked == 0)
        return;
    const struct known *low = look_up(c, true, ll_max(1, b.low), 1, USUAL_CONTEXT),
                       *high = b.high == b.low ? low : look_up(c, true, b.high, 1, USUAL_CONTEXT);
    double time_s = mixed(b, low->cost.head_s, high->cost.head_s);
    add(sum, time_s, energy_of(high, time_s));
}

/* Tokens guessed ahead, by a layer and the head for each sequence, so many times. */
static void add_guesses(struct ll_step_costs *c, uint64_t sequences, uint64_t times, struct part *sum)
{
    struct bracket b = batch_tokens(c, sequences);
    const struct known *low = look_up(c, true, ll_max(1, b.low), 1, USUAL_CONTEXT),
                       *high = b.high == b.low ? low : look_up(c, true, b.high, 1, USUAL_CONTEXT);
    double time_s = (double)times *
                    mixed(b, low->cost.layer_s + low->cost.head_s, high->cost.layer_s + high->cost.head_s);
    add(sum, time_s, energy_of(high, time_s));
}

/* Attention at the four points of a grid around (x, y). */
static void add_attention(struct ll_step_costs *c, bool decoding, struct bracket x, struct bracket y,
                          uint64_t each, struct part *sum)
{
    double time_s[2][2];
    const struct known *last = NULL;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            if ((i == 1 && x.share == 0) || (j == 1 && y.share == 0)) {
                time_s[i][j] = i == 1 ? time_s[0][j] : time_s[i][0];
                continue;
            }
            uint64_t at_x = i == 0 ? x.low : x.high, at_y = j == 0 ? y.low : y.high;
            last = decoding ? look_up(c, true, ll_max(1, at_x), each, at_y)
                            : look_up(c, false, 1, ll_max(1, at_x), at_y);
            time_s[i][j] = at_x == 0 ? 0 : last->cost.attention_s;
        }
    double all = mixed(x, mixed(y, time_s[0][0], time_s[0][1]), mixed(y, time_s[1][0], time_s[1][1]));
    add(sum, all, energy_of(last, all));
}

static struct part attention_of(struct ll_step_costs *c, const struct ll_server_step *step)
{
    struct part sum = {0};
    if (step->sequences > 0) {
        uint64_t mean = (step->context + step->sequences / 2) / step->sequences;
        add_attention(c, true, geometric(step->sequences, 0, 2), geometric(mean, 4, 2), step->each, &sum);
    }
    for (uint64_t i = 0; i < step->chunk_count; i++)
        add_attention(c, false, geometric(step->chunks[i].tokens, 4, 3),
                      geometric(step->chunks[i].past, 6, 2), 1, &sum);
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
