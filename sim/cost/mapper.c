/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles that nest in several memories, found by search (`software.mapping: search`).
 *
 * The first section describes a convolution, its gradients and a GEMM as loop nests. The second evaluates the
 * traffic of a given tiling at each level. The third searches tile sizes and loop orders, with bounds that
 * cut off what cannot beat the best so far. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "sim/cost/cost_parts.h"
#include "tracer/base/num.h"

const enum ll_loop ll_pixel_loops[] = {LL_LOOP_OY, LL_LOOP_OX}, ll_tap_loops[] = {LL_LOOP_FY, LL_LOOP_FX};

/* --- nests --- */

/* Of phases without a tap nothing is computed. */
static struct ll_loop_axis window_axis(uint64_t pass, uint64_t taps, uint64_t stride, uint64_t dilation)
{
    uint64_t shared = ll_common_divisor(stride, dilation);
    switch (pass) {
    case LL_CONV_FORWARD:
        return (struct ll_loop_axis){1, stride, dilation};
    case LL_CONV_DATA:
        return (struct ll_loop_axis){ll_max(1, ll_min(stride / shared, taps)), 1, dilation / shared};
    default:
        return (struct ll_loop_axis){1, dilation, stride};
    }
}

static struct ll_loop_nest convolution_nest(const struct ll_conv *c)
{
    uint64_t in_c = c->in_c / c->groups, out_c = c->out_c / c->groups;
    uint64_t out[] = {c->out_h, c->out_w}, kernel[] = {c->kernel_h, c->kernel_w};
    uint64_t stride[] = {c->stride_h, c->stride_w}, dilation[] = {c->dilation_h, c->dilation_w};
    bool data = c->pass == LL_CONV_DATA, filter = c->pass == LL_CONV_FILTER;
    struct ll_loop_nest nest = {.windows = true};
    nest.of[LL_LOOP_G] = c->groups;
    nest.of[LL_LOOP_B] = filter ? in_c : c->batch;
    nest.of[LL_LOOP_K] = data ? in_c : out_c;
    nest.of[LL_LOOP_C] = data ? out_c : filter ? c->batch : in_c;
    nest.channels = nest.of[LL_LOOP_C];
    nest.taps_in_pass = 1;
    for (int i = 0; i < LL_NEST_AXES; i++) {
        nest.of[ll_pixel_loops[i]] = filter ? kernel[i] : out[i];
        nest.of[ll_tap_loops[i]] = filter ? out[i] : kernel[i];
        nest.axis[i] = window_axis(c->pass, kernel[i], ll_max(1, stride[i]), ll_max(1, dilation[i]));
        nest.taps_in_pass *= data ? 1 : (double)nest.of[ll_tap_loops[i]];
    }
    return nest;
}

/* Zeros that are skipped leave fewer channels. */
static void skip_channels(const struct ll_task *task, struct ll_loop_nest *nest)
{
    uint64_t all = ll_conv_as_gemm(&task->work->conv).k, left = task->problem.dims.k;
    double channels = (double)nest->of[LL_LOOP_C];
    if (left < all)
        nest->of[LL_LOOP_C] = (uint64_t)ceil(channels * (double)left / (double)all);
}

/* All rows of a GEMM as pixels of one row, or as images. */
static struct ll_loop_nest product_nest(const struct ll_gemm *dims, bool as_windows)
{
    struct ll_loop_nest nest = {
        .of = {[LL_LOOP_G] = dims->batch, [LL_LOOP_K] = dims->n, [LL_LOOP_C] = dims->k},
        .axis = {{1, 1, 1}, {1, 1, 1}},
        .taps_in_pass = 1,
        .as = as_windows ? "one with filters as large as its images" : "one with 1x1 filters"};
    nest.of[LL_LOOP_OX] = as_windows ? 1 : dims->m;
    nest.of[LL_LOOP_B] = as_windows ? dims->m : 1;
    nest.of[LL_LOOP_OY] = nest.of[LL_LOOP_FY] = nest.of[LL_LOOP_FX] = 1;
    return nest;
}

static void join_loops(uint64_t by[LL_LOOP_COUNT], enum ll_loop into, enum ll_loop from)
{
    by[into] = ll_mul(by[into], by[from]);
    by[from] = 1;
}

/* What is seen as pixels, or as taps, may be cut into rows and columns, images and channels at will. */
static void unroll(const struct ll_unroll *unroll, bool as_pixels, bool as_windows, struct ll_loop_nest *nest)
{
    uint64_t *const both[] = {nest->aside, nest->by};
    for (int i = 0; i < LL_LOOP_COUNT; i++) {
        nest->aside[i] = unroll->by[i];
        nest->by[i] = ll_mul(unroll->by[i], unroll->each[i]);
    }
    for (int i = 0; i < 2; i++) {
        if (as_pixels) {
            join_loops(both[i], LL_LOOP_OX, LL_LOOP_OY);
            join_loops(both[i], LL_LOOP_OX, LL_LOOP_B);
        }
        if (as_windows) {
            join_loops(both[i], LL_LOOP_C, LL_LOOP_FY);
            join_loops(both[i], LL_LOOP_C, LL_LOOP_FX);
        }
    }
}

uint32_t ll_nest_views(const struct ll_task *task)
{
    const struct ll_work *work = task->work;
    return work->kind != LL_WORK_CONV ? 2 : work->conv.pass == LL_CONV_FILTER ? 3 : 1;
}

struct ll_loop_nest ll_nest_of(const struct ll_unit *unit, const struct ll_task *task, uint32_t view,
                               uint32_t way)
{
    bool conv = task->work->kind == LL_WORK_CONV, as_it_is = conv && view == 0;
    bool as_windows = !as_it_is && view == (conv ? 2u : 1u), as_pixels = !as_it_is && !as_windows;
    struct ll_loop_nest nest =
        as_it_is ? convolution_nest(&task->work->conv) : product_nest(&task->problem.dims, as_windows);
    if (as_it_is)
        skip_channels(task, &nest);
    unroll(&unit->spatial.unrolls[way], as_pixels, as_windows, &nest);
    return nest;
}

/* --- windows --- */

/* Distinct values of pixel_step * p + tap_step * t, p and t below so many: steps without a common divisor
 * repeat a value wherever p grows by the one and t falls by the other. */
double ll_nest_distinct(const struct ll_loop_axis *axis, uint64_t pixels, uint64_t taps)
{
    uint64_t shared = ll_common_divisor(axis->pixel_step, axis->tap_step);
    uint64_t p = axis->tap_step / shared, t = axis->pixel_step / shared;
    double again = pixels > p && taps > t ? (double)(pixels - p) * (double)(taps - t) : 0;
    return (double)pixels * (double)taps - again;
}

/* A loop in blocks: so many whole ones, and a last one of the rest. */
struct cut {
    uint64_t whole, size, rest;
};

static struct cut cut_loop(uint64_t of, uint64_t by)
{
    return (struct cut){of / by, by, of % by};
}

void ll_nest_phases(const struct ll_loop_nest *nest, enum ll_loop loop, struct ll_loop_phase of[2])
{
    const struct ll_loop_axis *axis = &nest->axis[loop == LL_LOOP_FY ? LL_NEST_Y : LL_NEST_X];
    uint64_t taps = nest->of[loop], more = taps % axis->phases;
    of[0] = (struct ll_loop_phase){taps / axis->phases + 1, more};
    of[1] = (struct ll_loop_phase){taps / axis->phases, axis->phases - more};
}

double ll_nest_distinct_along(const struct ll_loop_nest *nest, int axis)
{
    const struct ll_loop_axis *a = &nest->axis[axis];
    struct cut pixels = cut_loop(nest->of[ll_pixel_loops[axis]], nest->by[ll_pixel_loops[axis]]);
    struct ll_loop_phase phases[2];
    double sum = 0;
    ll_nest_phases(nest, ll_tap_loops[axis], phases);
    for (int i = 0; i < 2; i++) {
        struct cut taps = cut_loop(phases[i].taps, nest->by[ll_tap_loops[axis]]);
        double of_phase =
            (double)pixels.whole * (double)taps.whole * ll_nest_distinct(a, pixels.size, taps.size) +
            (double)taps.whole * ll_nest_distinct(a, pixels.rest, taps.size) +
            (double)pixels.whole * ll_nest_distinct(a, pixels.size, taps.rest) +
            ll_nest_distinct(a, pixels.rest, taps.rest);
        sum += (double)phases[i].count * of_phase;
    }
    return sum;
}

double ll_nest_pieces(const struct ll_loop_nest *nest, enum ll_loop loop, uint64_t by)
{
    struct ll_loop_phase phases[2];
    double sum = 0;
    if (loop != LL_LOOP_FY && loop != LL_LOOP_FX)
        return (double)ll_ceil_div(nest->of[loop], by);
    ll_nest_phases(nest, loop, phases);
    for (int i = 0; i < 2; i++)
        sum += (double)phases[i].count * (double)ll_ceil_div(phases[i].taps, by);
    return sum;
}

double ll_nest_most_taps(const struct ll_loop_nest *nest, enum ll_loop loop)
{
    uint64_t phases = nest->axis[loop == LL_LOOP_FY ? LL_NEST_Y : LL_NEST_X].phases;
    return (double)ll_ceil_div(ll_ceil_div(nest->of[loop], phases), nest->aside[loop]);
}

/* A walk from the outermost boundary inwards, with bounds.
 *
 * Of the loops at a boundary only the innermost that runs more than once matters, say over x, with p and q
 * the other two dimensions: the operand without x stays while x runs, and the two others pass as often as
 * there are tiles along the dimension that they lack. So three choices stand for all orders.
 *
 * Of the sizes only ceil(size / i) matter, for i = 1, 2, ...: of all sizes that make as many tiles it is
 * the smallest, it leaves most room here and makes no more tiles further in. For the same reason, at the
 * last boundary and for given p the fewest tiles along q that fit are best, and whatever fits of x.
 *
 * What a boundary costs grows with the tiles along p, and then along q. Each loop over sizes begins with
 * the largest that fits and ends when what is known, with the least that the memories further in can cost,
 * cannot win any more. That least is the closed form for each on its own (for convolutions each operand
 * once), each operand as often as it passes here, and what smaller blocks within this tile would move. The
 * walk starts with the closed form, nested, as the one to beat; it lies in the same space, so that the
 * answer does not depend on it.
 *
 * The image of a convolution is smaller than the operand that stands for it, but tiles need a halo; in a
 * tile with all taps of its windows it is ll_halo, in others each window is moved in full. */

/* The operand that lacks a dimension, and the dimension that an operand lacks. */
static const enum ll_operand without[LL_DIM_COUNT] = {LL_OPERAND_B, LL_OPERAND_A, LL_OPERAND_C};
static const enum ll_dim lacks[LL_OPERAND_COUNT] = {LL_DIM_N, LL_DIM_M, LL_DIM_K};

/* After so many evaluations, some 0.2 s, the best so far is taken. GEMMs of some thousands in memories
 * of at least some kilobytes need at most a million of them, and a thousand or two in the mean; in a memory
 * for a few elements all that is further out hardly matters, and nothing can be ruled out. */
enum { MOST_EVALUATIONS = 4000000 };

/* How far a walk has come: the tile of a memory, and all that was decided further out. */
struct state {
    uint64_t tile[LL_DIM_COUNT];
    double count[LL_DIM_COUNT];      /* tiles along each dimension, all loops so far */
    double passes[LL_OPERAND_COUNT]; /* of the operands, halo not included */
};

/* What stages take together. */
struct spent {
    double pace_s[LL_MAX_LEVELS + 1]; /* by group: the longest, behind first pieces */
    double others_s;                  /* first pieces of other units, before computing ends */
    double apart_s;                   /* what overlaps with nothing */
    double sum_s;                     /* each for itself */
    double energy_j;
};

struct search {
    const struct ll_hierarchy *h;
    double pass[LL_OPERAND_COUNT];          /* bytes of one pass, all batch GEMMs */
    double again[LL_OPERAND_COUNT];         /* of one more: of results, partial sums that go and come back */
    double apart[LL_OPERAND_COUNT];         /* passes when each GEMM fetches its own operands, in any order */
    bool too_small[LL_MAX_LEVELS];          /* for the operands of one GEMM */
    struct spent so_far[LL_MAX_LEVELS + 1]; /* at a boundary, those further out, and all that is elsewhere */
    struct spent inside[LL_MAX_LEVELS + 1]; /* at a boundary, those further in, at least */
    struct ll_crossing least[LL_MAX_LEVELS]; /* of one problem, by the closed form */
    struct ll_mapping_loops nests[LL_MAX_LEVELS];
    struct ll_mapping best;
    double best_second, best_sum_s; /* by which equals are told apart */
    uint64_t evaluations;
};

/* A tile of the memory behind a boundary, which comes in the order that is given, or with this loop
 * innermost. */
static struct ll_mapping_loops nest_of(const struct search *s, uint64_t index,
                                       const uint64_t tile[LL_DIM_COUNT], enum ll_dim innermost)
{
    static const enum ll_dim orders[LL_DIM_COUNT][LL_DIM_COUNT] = {
        {LL_DIM_N, LL_DIM_K, LL_DIM_M}, {LL_DIM_M, LL_DIM_K, LL_DIM_N}, {LL_DIM_M, LL_DIM_N, LL_DIM_K}};
    struct ll_mapping_loops nest;
    memcpy(nest.tile, tile, sizeof nest.tile);
    const enum ll_dim *given = s->h->boundaries[index].loops;
    memcpy(nest.order, given ? given : orders[innermost], sizeof nest.order);
    return nest;
}

static struct state start(const struct ll_problem *p)
{
    return (struct state){.tile = {p->dims.m, p->dims.n, p->dims.k}, .count = {1, 1, 1}, .passes = {1, 1, 1}};
}

/* Into the tiles of a nest at a boundary: a loop that runs moves on the operands that have its dimension. */
static struct state enter(const struct search *search, uint64_t index, const struct state *outer,
                          const struct ll_mapping_loops *nest)
{
    struct state s = *outer;
    for (int i = 0; i < LL_DIM_COUNT; i++) {
        enum ll_dim d = nest->order[i];
        s.tile[d] = nest->tile[d];
        if (nest->tile[d] >= outer->tile[d])
            continue;
        for (int o = 0; o < LL_OPERAND_COUNT; o++)
            if (lacks[o] != d)
                s.passes[o] = s.count[lacks[o]];
        s.count[d] *= (double)ll_ceil_div(outer->tile[d], nest->tile[d]);
    }
    bool ordered = search->h->boundaries[index].loops;
    for (int o = 0; search->too_small[index] && o < LL_OPERAND_COUNT; o++)
        s.passes[o] = ordered ? fmax(s.passes[o], search->apart[o]) : search->apart[o];
    return s;
}

/* How many times the image's bytes a tile of its operand has. */
static double image_factor(const struct ll_problem *p, const uint64_t tile[LL_DIM_COUNT])
{
    const struct ll_windows *w = &p->windows;
    enum ll_dim pixels = w->pixels_are_k ? LL_DIM_K : LL_DIM_M;
    enum ll_dim taps_along = w->pixels_are_k ? LL_DIM_M : w->image == LL_OPERAND_C ? LL_DIM_N : LL_DIM_K;
    uint64_t whole[LL_DIM_COUNT] = {p->dims.m, p->dims.n, p->dims.k};
    uint64_t taps = ll_min(w->high.kernel * w->wide.kernel, whole[taps_along]);
    return tile[taps_along] < taps ? w->expansion : ll_halo(w, tile[pixels]);
}

static void factors_of(const struct ll_problem *p, const uint64_t tile[LL_DIM_COUNT],
                       double factors[LL_OPERAND_COUNT])
{
    for (int i = 0; i < LL_OPERAND_COUNT; i++)
        factors[i] = 1;
    if (p->windows.overlap)
        factors[p->windows.image] = image_factor(p, tile);
}

static bool fits(const struct ll_problem *p, const uint64_t tile[LL_DIM_COUNT], double capacity)
{
    double factors[LL_OPERAND_COUNT];
    double m = (double)tile[LL_DIM_M], n = (double)tile[LL_DIM_N], k = (double)tile[LL_DIM_K];
    factors_of(p, tile, factors);
    return m * k * p->element[LL_OPERAND_A] * factors[LL_OPERAND_A] +
               k * n * p->element[LL_OPERAND_B] * factors[LL_OPERAND_B] +
               m * n * p->element[LL_OPERAND_C] * factors[LL_OPERAND_C] <=
           capacity;
}

/* Within its limits. */
static struct ll_crossing limited(const struct ll_limits *limits, struct ll_crossing crossing)
{
    if (limits->most.price > 0 && limits->most.price <= crossing.price)
        crossing = limits->most;
    return (struct ll_crossing){fmax(crossing.bytes, limits->least.bytes) + limits->beside.bytes,
                                fmax(crossing.price, limits->least.price) + limits->beside.price};
}

/* Adds to what stages take what is moved across a boundary, of one problem. */
static void spend(const struct ll_hierarchy *h, uint64_t index, struct ll_crossing of_one,
                  const struct spent *before, struct spent *after)
{
    const struct ll_boundary *b = &h->boundaries[index];
    of_one.bytes *= h->times;
    of_one.price *= h->times;
    struct ll_crossing all = limited(&b->limits, of_one);
    struct ll_stage stage = ll_stage_of(&b->intake, all.bytes, b->s_per_byte * all.price);
    double rest_s = ll_stage_rest_s(&stage);
    for (uint32_t g = 0; g < h->groups; g++)
        after->pace_s[g] = before->pace_s[g];
    after->pace_s[b->group] = fmax(after->pace_s[b->group], rest_s);
    after->others_s = b->group == 0 ? fmax(before->others_s, stage.others_s) : before->others_s;
    after->apart_s = before->apart_s + stage.first_s + stage.wait_s + h->serial * rest_s;
    after->sum_s = before->sum_s + stage.whole_s;
    after->energy_j = before->energy_j + fmax(0, all.bytes - b->intake.saved_bytes) * b->j_per_byte;
}

/* What crosses a boundary in so many passes, of one problem. */
static struct ll_crossing crossing_of(const struct search *s, uint64_t index,
                                      const double factors[LL_OPERAND_COUNT],
                                      const double passes[LL_OPERAND_COUNT])
{
    double c = s->pass[LL_OPERAND_C] * factors[LL_OPERAND_C];
    double writes = ll_passes_outwards(&s->h->problem, passes[LL_OPERAND_C]) * c;
    double reads = passes[LL_OPERAND_A] * s->pass[LL_OPERAND_A] * factors[LL_OPERAND_A] +
                   passes[LL_OPERAND_B] * s->pass[LL_OPERAND_B] * factors[LL_OPERAND_B] + (writes - c);
    return (struct ll_crossing){reads + writes,
                                ll_port_cost_price(&s->h->boundaries[index].toll, reads + writes, writes)};
}

/* What passes a boundary at least where a walk has come that far, with loop x innermost of those that run
 * there: blocks of p' x q' of the operand that stays, of any size, that leave the two others no room,
 *
 *       a p / p' + b q / q',   p' q' elements in the memory,   p' <= p,   q' <= q
 *
 * which is least where the two are alike, or a block as long or as wide as the tile. */
static double least_with(const struct search *s, uint64_t index, const struct state *outer, enum ll_dim x)
{
    enum ll_dim p = x == LL_DIM_M ? LL_DIM_N : LL_DIM_M, q = x == LL_DIM_K ? LL_DIM_N : LL_DIM_K;
    double room = s->h->boundaries[index].capacity_bytes / s->h->problem.element[without[x]];
    double of_p = s->again[without[p]] * outer->count[p], of_q = s->again[without[q]] * outer->count[q];
    double high = (double)outer->tile[p], wide = (double)outer->tile[q], block_p = high, block_q = wide;
    if (high * wide > room) {
        block_p = fmin(high, fmax(room / wide, sqrt(room * of_p * high / (of_q * wide))));
        block_q = room / block_p;
    }
    return s->again[without[x]] * outer->passes[without[x]] + of_p * high / block_p + of_q * wide / block_q;
}

/* The least bytes that pass a boundary further in than a walk has come. */
static double least_within(const struct search *s, uint64_t index, const struct state *outer)
{
    const struct ll_problem *problem = &s->h->problem;
    if (problem->windows.overlap || s->too_small[index] ||
        fits(problem, outer->tile, s->h->boundaries[index].capacity_bytes))
        return 0;
    double least = INFINITY;
    for (enum ll_dim x = 0; x < LL_DIM_COUNT; x++)
        least = fmin(least, least_with(s, index, outer, x));
    return least - (s->again[LL_OPERAND_C] - s->pass[LL_OPERAND_C]);
}

/* What the boundaries further in take at least: what the closed form moves, each operand as often as here,
 * and what the tiles here leave to them. */
static void find_inside(struct search *s, uint64_t index, const struct state *outer)
{
    static const double once[LL_OPERAND_COUNT] = {1, 1, 1};
    for (uint64_t i = 0; i < index; i++) {
        struct ll_crossing here = crossing_of(s, i, once, outer->passes), least = s->least[i];
        double within = least_within(s, i, outer);
        least.bytes = fmax(fmax(here.bytes, least.bytes), within);
        least.price = fmax(fmax(here.price, least.price), within);
        spend(s->h, i, least, &s->inside[i], &s->inside[i + 1]);
    }
}

/* Adds what crosses a boundary to what the boundaries further out take. */
static void add_boundary(struct search *s, uint64_t index, const double factors[LL_OPERAND_COUNT],
                         const struct state *state)
{
    struct ll_crossing of_one = crossing_of(s, index, factors, state->passes);
    spend(s->h, index, of_one, &s->so_far[index + 1], &s->so_far[index]);
    find_inside(s, index, state);
}

/* How long the op takes by these stages and those. */
static double time_of(const struct ll_hierarchy *h, const struct spent *these, const struct spent *those)
{
    double others_s = fmax(these->others_s, those->others_s);
    double computing_s = h->elsewhere.computing_s + others_s;
    double moving_s = fmax(these->pace_s[0], those->pace_s[0]), pace_s = fmax(computing_s, moving_s);
    double beyond_s = fmax(0, h->elsewhere.dropping_s - fmax(0, computing_s - moving_s));
    for (uint32_t g = 1; g < h->groups; g++)
        pace_s += fmax(these->pace_s[g], those->pace_s[g]);
    return these->apart_s + those->apart_s + (1 - h->serial) * pace_s + beyond_s;
}

static double objective_of(const struct ll_hierarchy *h, const struct spent *these, const struct spent *those)
{
    double time_s = time_of(h, these, those);
    double energy_j = these->energy_j + those->energy_j + h->static_w * time_s;
    switch (h->objective) {
    case LL_OBJECTIVE_ENERGY:
        return energy_j;
    case LL_OBJECTIVE_EDP:
        return (h->fixed_j + energy_j) * time_s;
    default:
        return time_s;
    }
}

/* What tells apart tilings of the same objective, before the sum of times does. */
static double second_of(const struct ll_hierarchy *h, const struct spent *these, const struct spent *those)
{
    return h->objective == LL_OBJECTIVE_TIME ? these->energy_j + those->energy_j : time_of(h, these, those);
}

/* -1, 0 or 1: one is less than another, is the same but for rounding, or is more. */
static int compare(double one, double other, double rounding)
{
    return one * (1 + rounding) < other ? -1 : one * (1 - rounding) > other;
}

/* Whether what is decided up to boundary `index` can still win, when those further in cost their least. */
static bool can_win(const struct search *s, uint64_t index)
{
    const struct spent *so_far = &s->so_far[index], *inside = &s->inside[index];
    if (s->evaluations > MOST_EVALUATIONS)
        return false;
    double objective = objective_of(s->h, so_far, inside);
    if (s->h->any_of_equals)
        return objective < s->best.objective * (1 - 1e-13);
    const double rounding = index > 0 ? 1e-13 : 0; /* bounds are summed up in another order */
    int order = compare(objective, s->best.objective, rounding);
    if (order == 0)
        order = compare(second_of(s->h, so_far, inside), s->best_second, rounding);
    return order < 0 || (order == 0 && so_far->sum_s + inside->sum_s < s->best_sum_s);
}

static void descend(struct search *s, uint64_t index, const struct state *outer);

/* Looks at a nest at a boundary and, if it can win, at all that is possible further in. False if not. */
static bool consider(struct search *s, uint64_t index, const struct state *outer,
                     const struct ll_mapping_loops *nest,
                     void further(struct search *, uint64_t, const struct state *))
{
    struct state state = enter(s, index, outer, nest);
    double factors[LL_OPERAND_COUNT];
    factors_of(&s->h->problem, nest->tile, factors);
    add_boundary(s, index, factors, &state);
    s->evaluations++;
    if (!can_win(s, index))
        return false;
    s->nests[index] = *nest;
    if (index > 0) {
        further(s, index - 1, &state);
        return true;
    }
    memcpy(s->best.nests, s->nests, sizeof s->nests);
    s->best.objective = objective_of(s->h, &s->so_far[0], &s->inside[0]);
    s->best_second = second_of(s->h, &s->so_far[0], &s->inside[0]);
    s->best_sum_s = s->so_far[0].sum_s;
    return true;
}

/* --- sizes --- */

/* The largest size of the form ceil(whole / i) that is at most `most`, which is at least 1. */
static uint64_t even_size(uint64_t whole, double most)
{
    if (most >= (double)whole)
        return whole;
    return ll_ceil_div(whole, ll_ceil_div(whole, (uint64_t)most));
}

/* The next smaller of them; 0 after 1. */
static uint64_t smaller_size(uint64_t whole, uint64_t size)
{
    return size == 1 ? 0 : even_size(whole, (double)(size - 1));
}

/* A walk over tiles with loop x innermost: bytes for each element of the operands, by what they lack. */
struct walk {
    struct search *s;
    const struct state *outer;
    uint64_t index;
    enum ll_dim p, q, x;
    double without_p, without_q, without_x;
    double capacity;
};

static bool simple_end(const struct walk *w)
{
    return w->index == 0 && !w->s->h->problem.windows.overlap;
}

/* With what is known of p and q: a bound for all tiles with that many along them, or more. */
static bool worth_it(const struct walk *w, uint64_t tile_p, uint64_t tile_q)
{
    static const double once[LL_OPERAND_COUNT] = {1, 1, 1};
    const struct state *outer = w->outer;
    struct state state = *outer;
    bool moves = tile_p < outer->tile[w->p] || tile_q < outer->tile[w->q];
    state.tile[w->p] = tile_p;
    state.tile[w->q] = tile_q;
    state.count[w->p] *= (double)ll_ceil_div(outer->tile[w->p], tile_p);
    state.count[w->q] *= (double)ll_ceil_div(outer->tile[w->q], tile_q);
    state.passes[without[w->p]] = state.count[w->p];
    state.passes[without[w->q]] = state.count[w->q];
    state.passes[without[w->x]] = moves ? outer->count[w->x] : outer->passes[without[w->x]];
    add_boundary(w->s, w->index, once, &state);
    w->s->evaluations++;
    return can_win(w->s, w->index);
}

static void walk_x(const struct walk *w, uint64_t tile_p, uint64_t tile_q)
{
    double p = (double)tile_p, q = (double)tile_q, whole = (double)w->outer->tile[w->x];
    double room = (w->capacity - p * q * w->without_x) / (p * w->without_q + q * w->without_p);
    double most = fmin(room, whole - 1);
    uint64_t tile[LL_DIM_COUNT];
    tile[w->p] = tile_p;
    tile[w->q] = tile_q;
    for (uint64_t x = most >= 1 ? even_size(w->outer->tile[w->x], most) : 0; x;
         x = smaller_size(w->outer->tile[w->x], x)) {
        tile[w->x] = x;
        struct ll_mapping_loops nest = nest_of(w->s, w->index, tile, w->x);
        if (fits(&w->s->h->problem, tile, w->capacity))
            consider(w->s, w->index, w->outer, &nest, descend);
        if (simple_end(w))
            return;
    }
}

static void walk_q(const struct walk *w, uint64_t tile_p)
{
    double p = (double)tile_p;
    double most = (w->capacity - p * w->without_q) / (p * w->without_x + w->without_p);
    for (uint64_t q = most >= 1 ? even_size(w->outer->tile[w->q], most) : 0; q;
         q = smaller_size(w->outer->tile[w->q], q)) {
        if (!worth_it(w, tile_p, q))
            return;
        walk_x(w, tile_p, q);
        if (simple_end(w))
            return;
    }
}

static void walk_p(const struct walk *w)
{
    double most = (w->capacity - w->without_p) / (w->without_q + w->without_x);
    for (uint64_t p = most >= 1 ? even_size(w->outer->tile[w->p], most) : 0; p;
         p = smaller_size(w->outer->tile[w->p], p)) {
        if (!worth_it(w, p, w->outer->tile[w->q]))
            return;
        walk_q(w, p);
    }
}

/* The tile that a memory is given: of the whole problem, halved until it fits, and no larger than what is
 * outside. Not cut down from there: a smaller tile outside, with no more of them, leaves no larger one
 * here. */
static void given_tile(const struct search *s, uint64_t index, const struct state *outer,
                       uint64_t tile[LL_DIM_COUNT])
{
    const struct ll_boundary *b = &s->h->boundaries[index];
    const struct ll_gemm *whole = &s->h->problem.dims;
    tile[LL_DIM_M] = ll_min(b->tile.m, whole->m);
    tile[LL_DIM_N] = ll_min(b->tile.n, whole->n);
    tile[LL_DIM_K] = ll_min(b->tile.k, whole->k);
    while (!fits(&s->h->problem, tile, b->capacity_bytes)) {
        enum ll_dim longer = tile[LL_DIM_M] >= tile[LL_DIM_N] ? LL_DIM_M : LL_DIM_N;
        enum ll_dim longest = tile[LL_DIM_K] >= tile[longer] ? LL_DIM_K : longer;
        if (tile[longest] == 1)
            break;
        tile[longest] = ll_ceil_div(tile[longest], 2);
    }
    for (enum ll_dim d = 0; d < LL_DIM_COUNT; d++)
        tile[d] = ll_min(tile[d], outer->tile[d]);
}

/* It, with each loop innermost. */
static void try_given(struct search *s, uint64_t index, const struct state *outer,
                      void further(struct search *, uint64_t, const struct state *))
{
    uint64_t tile[LL_DIM_COUNT];
    given_tile(s, index, outer, tile);
    for (enum ll_dim x = 0; x < LL_DIM_COUNT; x++) {
        struct ll_mapping_loops nest = nest_of(s, index, tile, x);
        consider(s, index, outer, &nest, further);
    }
}

/* All tiles for the memory behind a boundary: the one it is given, or none smaller than what is outside,
 * then each loop innermost; and when nothing fits, a GEMM at a time. */
static void descend(struct search *s, uint64_t index, const struct state *outer)
{
    const struct ll_problem *problem = &s->h->problem;
    const double *element = problem->element;
    double capacity = s->h->boundaries[index].capacity_bytes;
    struct ll_mapping_loops whole = nest_of(s, index, outer->tile, LL_DIM_K);
    const struct ll_mapping_loops single = nest_of(s, index, (const uint64_t[]){1, 1, 1}, LL_DIM_K);
    if (s->h->boundaries[index].tile.m > 0) {
        try_given(s, index, outer, descend);
        return;
    }
    if (fits(problem, outer->tile, capacity))
        consider(s, index, outer, &whole, descend);
    else if (s->too_small[index])
        consider(s, index, outer, &single, descend);
    for (enum ll_dim x = 0; x < LL_DIM_COUNT; x++) {
        enum ll_dim p = x == LL_DIM_M ? LL_DIM_N : LL_DIM_M, q = x == LL_DIM_K ? LL_DIM_N : LL_DIM_K;
        struct walk walk = {.s = s,
                            .outer = outer,
                            .index = index,
                            .p = p,
                            .q = q,
                            .x = x,
                            .without_p = element[without[p]],
                            .without_q = element[without[q]],
                            .without_x = element[without[x]],
                            .capacity = capacity};
        if (outer->tile[x] > 1)
            walk_p(&walk);
    }
}

/* The closed form for one memory after the other, from outside. */
static void nest_closed_form(struct search *s, uint64_t index, const struct state *outer)
{
    struct ll_problem inside = s->h->problem;
    if (s->h->boundaries[index].tile.m > 0) {
        try_given(s, index, outer, nest_closed_form);
        return;
    }
    inside.windows.overlap = false;
    inside.toll = s->h->boundaries[index].toll;
    inside.dims.m = outer->tile[LL_DIM_M];
    inside.dims.n = outer->tile[LL_DIM_N];
    inside.dims.k = outer->tile[LL_DIM_K];
    struct ll_tiling t = ll_tile(&inside, s->h->boundaries[index].capacity_bytes);
    struct ll_mapping_loops nest =
        nest_of(s, index, (const uint64_t[]){t.block.m, t.block.n, t.block.k}, lacks[t.stays]);
    consider(s, index, outer, &nest, nest_closed_form);
}

/* The least that crosses each boundary. */
static void find_least(struct search *s)
{
    const struct ll_problem *problem = &s->h->problem;
    for (uint64_t i = 0; i < s->h->count; i++) {
        const struct ll_boundary *b = &s->h->boundaries[i];
        struct ll_crossing of_one = {ll_compulsory_bytes(problem), ll_compulsory_bytes(problem)};
        if (!problem->windows.overlap) {
            struct ll_problem alone = *problem;
            of_one.bytes = ll_tile(&alone, b->capacity_bytes).bytes;
            alone.toll = b->toll;
            of_one.price = ll_tile(&alone, b->capacity_bytes).price;
        }
        s->least[i] = of_one;
        spend(s->h, i, of_one, &s->inside[i], &s->inside[i + 1]);
    }
}

static struct search search_of(const struct ll_hierarchy *hierarchy)
{
    const struct ll_gemm *d = &hierarchy->problem.dims;
    struct search s = {
        .h = hierarchy, .best = {.objective = INFINITY}, .best_second = INFINITY, .best_sum_s = INFINITY};
    struct spent *outermost = &s.so_far[hierarchy->count];
    memcpy(outermost->pace_s, hierarchy->elsewhere.pace_s, sizeof outermost->pace_s);
    outermost->apart_s = hierarchy->elsewhere.apart_s;
    outermost->others_s = hierarchy->elsewhere.others_s;
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
        s.again[o] = s.pass[o] = ll_operand_bytes(&hierarchy->problem, o);
    s.again[LL_OPERAND_C] *= ll_passes_of_sums(&hierarchy->problem, 2) - 1;
    s.apart[LL_OPERAND_A] = (double)d->n;
    s.apart[LL_OPERAND_B] = (double)d->m;
    s.apart[LL_OPERAND_C] = 1;
    for (uint64_t i = 0; i < hierarchy->count; i++)
        s.too_small[i] =
            !fits(&hierarchy->problem, (const uint64_t[]){1, 1, 1}, hierarchy->boundaries[i].capacity_bytes);
    return s;
}

void ll_mapping_evaluate(const struct ll_hierarchy *hierarchy, struct ll_mapping *mapping)
{
    struct search s = search_of(hierarchy);
    struct state state = start(&hierarchy->problem);
    for (uint64_t i = hierarchy->count; i-- > 0;) {
        double factors[LL_OPERAND_COUNT];
        state = enter(&s, i, &state, &mapping->nests[i]);
        factors_of(&hierarchy->problem, state.tile, factors);
        add_boundary(&s, i, factors, &state);
        for (int o = 0; o < LL_OPERAND_COUNT; o++)
            mapping->passes[i][o] = state.passes[o] * factors[o];
        const double *passes = mapping->passes[i];
        double c = factors[LL_OPERAND_C] * s.pass[LL_OPERAND_C];
        mapping->writes[i] = ll_passes_outwards(&hierarchy->problem, state.passes[LL_OPERAND_C]) * c;
        mapping->reads[i] = passes[LL_OPERAND_A] * s.pass[LL_OPERAND_A] +
                            passes[LL_OPERAND_B] * s.pass[LL_OPERAND_B] + (mapping->writes[i] - c);
    }
    mapping->time_s = time_of(hierarchy, &s.so_far[0], &s.inside[0]);
    mapping->energy_j = s.so_far[0].energy_j;
    mapping->objective = objective_of(hierarchy, &s.so_far[0], &s.inside[0]);
}

struct ll_mapping ll_mapping_search(const struct ll_hierarchy *hierarchy)
{
    assert(hierarchy->count > 0 && hierarchy->count <= LL_MAX_LEVELS);
    struct search s = search_of(hierarchy);
    struct state outside = start(&hierarchy->problem);
    find_least(&s);
    if (!hierarchy->problem.windows.overlap)
        nest_closed_form(&s, hierarchy->count - 1, &outside);
    descend(&s, hierarchy->count - 1, &outside);
    ll_mapping_evaluate(hierarchy, &s.best);
    s.best.evaluations = s.evaluations;
    s.best.complete = s.evaluations <= MOST_EVALUATIONS;
    return s.best;
}

const char *ll_dim_name(enum ll_dim dim)
{
    static const char *const names[] = {"m", "n", "k"};
    assert(dim < LL_DIM_COUNT);
    return names[dim];
}
