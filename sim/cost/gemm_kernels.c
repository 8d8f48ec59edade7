/* SPDX-License-Identifier: Apache-2.0 */
/* GEMMs on the tensor cores of a GPU by the kernels of a library, each a tile of the output on one
 * multiprocessor or on a pair of them, with k whole or split among several.
 *
 *       time = start + min over the kernels of ((x^3 + dram^3)^(1/3) + reduce)
 *       x    = max(compute, L2, power)
 *
 * The exponent of 3 stands for an imperfect overlap of arithmetic and memory. It is fitted, as is every
 * figure of struct ll_gemm_kernels without another source, on bf16 GEMMs of three inference servers on A100,
 * H100 and B200. A tile of M x N is computed by g units, with k in s parts:
 *
 *       work units  U  = batch * ceil(m / M) * ceil(n / N) * s
 *       rounds      c  = ceil(U / floor(count / g))
 *       depth       K  = the k of a part, in whole steps of 128 bytes
 *       multiply       = M N K / (rate * g)              at the rate that the main loop sustains
 *       operands       = K (M a + N b) / (sqrt(g) * operand bandwidth)       a, b: bytes of an element
 *       steps          = K / step * least cycles of a step
 *       compute        = max(c (max(multiply, operands) + tile), ceil(c / occupancy) (steps + tile))
 *                        + c M N bytes of a result / (g * epilogue bandwidth)
 *       L2             = U K (the tile's a and b, the wider one over `multicast`) / (sqrt(g) * L2 bandwidth),
 *                        at least a and b once
 *       reduce         = split_k_reduce + 8 s m n batch / L2 bandwidth
 *
 * Rounds, tiles and steps at an edge cost as much as full ones (wave and tile quantization), but take no
 * power and load no operands. Partial sums of four bytes are written and read. Parts of k come in a fixed
 * ladder and stay within one round, so that the time never falls when a side of the GEMM grows. Menus of
 * tiles: CUTLASS's generator (Ampere), DeepGEMM's heuristics (Hopper, Blackwell). Split k, then a kernel
 * that adds up: cuBLAS's splitK kernels, and Stream-K (Osama et al., PPoPP 2023).
 *
 * A convolution is the same as an implicit GEMM: memory holds its image once, tiles load it as often as
 * windows have it. */
#include "sim/cost/gemm_kernels.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

/* Parts of k. */
static const uint64_t ladder[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
enum { PARTS_CHOICES = sizeof ladder / sizeof *ladder };

/* Bytes of an operand along k that a step takes: a line of 128 bytes, in which shared memory is swizzled. */
enum { STEP_BITS = 1024 };

/* A tile as the kernels offer it. */
struct shape {
    double m, n;
    double together; /* units that compute one */
};

/* Shapes are counted so: each tile, then as many with m and n swapped; then those of pairs likewise. */
static uint32_t shape_count(const struct ll_gemm_kernels *t)
{
    return (uint32_t)(2 * (t->tile_count + t->pair_tile_count));
}

static struct shape shape_at(const struct ll_gemm_kernels *t, uint32_t index)
{
    bool pair = index >= 2 * t->tile_count, swapped = index % 2;
    uint64_t i = (pair ? index - 2 * t->tile_count : index) / 2;
    const struct ll_tile *tile = pair ? &t->pair_tiles[i] : &t->tiles[i];
    double m = (double)tile->m, n = (double)tile->n;
    return (struct shape){swapped ? n : m, swapped ? m : n, pair ? 2 : 1};
}

/* The tile that a linear layer's kernel takes by size; false where it takes the fastest of the unit's. */
static bool shape_by_size(const struct ll_unit *unit, const struct ll_task *task, struct shape *shape)
{
    const struct ll_linear_kernel *linear = task->linear;
    const struct ll_gemm *d = &task->problem.dims;
    if (!linear || linear->tile_count == 0)
        return false;
    const struct ll_tile *tile = NULL;
    for (uint64_t i = 0; i < linear->narrow_tile_count && d->n <= linear->narrow_n && !tile; i++)
        tile = d->m <= linear->narrow_tiles[i].k ? &linear->narrow_tiles[i] : NULL;
    for (uint64_t i = 0; i < linear->tile_count && !tile; i++)
        tile = d->m <= linear->tiles[i].k ? &linear->tiles[i] : NULL;
    if (!tile)
        tile = &linear->tiles[linear->tile_count - 1];
    bool pair = linear->pair_above > 0 && d->m > linear->pair_above && unit->count > 1;
    *shape = (struct shape){(double)tile->m, (double)tile->n, pair ? 2 : 1};
    return true;
}

/* What does not depend on the kernel. */
struct gemm {
    double batch, m, n, k;
    double element[LL_OPERAND_COUNT]; /* bytes */
    double step;                      /* elements of k in one step */
    double rate;                      /* multiply-accumulates a cycle that a unit sustains */
    double count;                     /* units */
};

/* A convolution: pixels that windows reach, channels in whole loads. The gradient of the image is gathered
 * from the windows that a pixel lies in, whose taps are as many as there are multiplications. */
static void set_convolution(const struct ll_task *task, struct gemm *g)
{
    const struct ll_conv *c = &task->work->conv;
    const struct ll_gemm *d = &task->problem.dims;
    const struct ll_windows *w = &task->problem.windows;
    double load = LL_LOAD_BITS / (double)ll_dtype_bits(task->dtype), groups = (double)c->groups;
    double in = (double)c->in_c / groups, out = (double)c->out_c / groups;
    double more_in = ceil(in / load) * load / in, more_out = ceil(out / load) * load / out;
    g->element[w->image] *= w->expansion;
    switch ((enum ll_conv_pass)c->pass) {
    case LL_CONV_FORWARD:
        g->k *= more_in;
        break;
    case LL_CONV_FILTER:
        g->m *= more_in;
        g->n *= more_out;
        break;
    case LL_CONV_DATA:
        g->m = fmax(1, (double)c->batch * (double)c->in_h * (double)c->in_w * ll_share_in_windows(c));
        g->n = in;
        g->k = fmax(1, (double)d->m * (double)d->n * (double)d->k / (g->m * in)) * more_out;
        break;
    }
}

static struct gemm gemm_of(const struct ll_unit *unit, const struct ll_task *task)
{
    const struct ll_gemm *d = &task->problem.dims;
    const double *element = task->problem.element;
    struct gemm g = {.batch = (double)d->batch,
                     .m = (double)d->m,
                     .n = (double)d->n,
                     .k = (double)d->k,
                     .element = {element[LL_OPERAND_A], element[LL_OPERAND_B], element[LL_OPERAND_C]},
                     .step = STEP_BITS / (double)ll_dtype_bits(task->dtype),
                     .rate = unit->matrix.macs[task->dtype] * unit->matrix.gemm.efficiency,
                     .count = (double)unit->count};
    if (task->work->kind == LL_WORK_CONV)
        set_convolution(task, &g);
    return g;
}

/* A shape laid over the output. */
struct laid {
    struct shape shape;
    double rows, columns; /* tiles along m and n */
    double slots;         /* tiles at once */
    double most_parts;    /* of k, so that all parts are computed at once */
};

static struct laid lay(const struct gemm *g, struct shape shape)
{
    struct laid l = {.shape = shape,
                     .rows = ceil(g->m / shape.m),
                     .columns = ceil(g->n / shape.n),
                     .slots = floor(g->count / shape.together)};
    assert(l.slots >= 1);
    l.most_parts = fmax(1, floor(l.slots / (g->batch * l.rows * l.columns)));
    return l;
}

/* A kernel: a shape with k in parts, and its cycles. */
struct kernel {
    double parts, depth, steps;        /* of k; elements and steps of one part */
    double all, rounds;                /* work units; those of the busiest unit */
    double slowness;                   /* 2 where the tile multiplies at half the rate, else 1 */
    double multiply, operands, waited; /* cycles of one tile: of its steps at least */
    double turn, epilogue, compute;    /* cycles of all rounds: their steps; their results; both */
    double loaded[2];                  /* bytes of a and b, all units together */
};

static void time_loop(const struct ll_gemm_kernels *t, const struct gemm *g, const struct laid *l,
                      struct kernel *k)
{
    double m = l->shape.m, n = l->shape.n, together = l->shape.together;
    bool narrow = together == 1 && fmax(m, n) < (double)t->full_rate_side;
    double bytes = m * g->element[LL_OPERAND_A] + n * g->element[LL_OPERAND_B];
    k->slowness = narrow ? 2 : 1;
    k->multiply = m * n * k->depth * k->slowness / (g->rate * together);
    k->operands = t->operand_bandwidth > 0 ? k->depth * bytes / (sqrt(together) * t->operand_bandwidth) : 0;
    k->waited = k->steps * t->min_step_cycles;
    k->turn = fmax(k->rounds * (fmax(k->multiply, k->operands) + t->tile_cycles),
                   ceil(k->rounds / (double)t->occupancy) * (k->waited + t->tile_cycles));
    k->epilogue = t->epilogue_bandwidth > 0
                      ? k->rounds * m * n * g->element[LL_OPERAND_C] / (together * t->epilogue_bandwidth)
                      : 0;
    k->compute = k->turn + k->epilogue;
}

/* Bytes that a tile loads for each element of k, edges left out. */
static void load(const struct ll_gemm_kernels *t, const struct gemm *g, const struct laid *l,
                 struct kernel *k)
{
    double a = fmin(l->shape.m, g->m) * g->element[LL_OPERAND_A];
    double b = fmin(l->shape.n, g->n) * g->element[LL_OPERAND_B];
    double all = k->all * k->depth / sqrt(l->shape.together), copies = (double)t->multicast;
    k->loaded[LL_OPERAND_A] = all * (a > b ? a / copies : a);
    k->loaded[LL_OPERAND_B] = all * (a > b ? b : b / copies);
}

static struct kernel kernel_of(const struct ll_gemm_kernels *t, const struct gemm *g, const struct laid *l,
                               double parts)
{
    struct kernel k = {.parts = parts, .steps = ceil(g->k / (parts * g->step))};
    k.depth = k.steps * g->step;
    k.all = g->batch * l->rows * l->columns * parts;
    k.rounds = ceil(k.all / l->slots);
    time_loop(t, g, l, &k);
    load(t, g, l, &k);
    return k;
}

static double reduce_s(const struct ll_gemm_kernels *t, const struct gemm *g, double parts, double near_Bps)
{
    if (parts == 1)
        return 0;
    double sums = 2.0 * LL_SUM_BYTES * parts * g->m * g->n * g->batch;
    return t->split_k_reduce_s + sums / near_Bps;
}

double ll_partial_overlap_s(double inside_s, double outermost_s)
{
    double longer = fmax(inside_s, outermost_s), shorter = fmin(inside_s, outermost_s);
    if (shorter == 0)
        return longer;
    double share = shorter / longer;
    return longer * cbrt(1 + share * share * share);
}

/* The best so far. */
struct search {
    const struct ll_unit *unit;
    const struct ll_task *task;
    const struct ll_gemm_feed *feed;
    struct gemm gemm;
    struct ll_gemm_choice best;
    double least_loaded;   /* bytes of a and b, each once */
    double least_inside_s; /* of all kernels that were timed */
    double exact;          /* of the best: its time inside */
};

/* Times a kernel as far as it may be the best. */
static void try_kernel(struct search *s, const struct laid *l, uint32_t shape, uint32_t choice)
{
    const struct ll_gemm_kernels *t = &s->unit->matrix.gemm;
    struct kernel k = kernel_of(t, &s->gemm, l, (double)ladder[choice]);
    double compute_s = k.compute / s->unit->clock_hz,
           added_s = reduce_s(t, &s->gemm, k.parts, s->feed->near_Bps);
    double loaded = fmax(k.loaded[LL_OPERAND_A] + k.loaded[LL_OPERAND_B], s->least_loaded);
    double near_s = loaded / s->feed->near_Bps;
    double inside_s = fmax(near_s, ll_power_s(s->feed->machine, &s->feed->draw, compute_s));
    s->least_inside_s = fmin(s->least_inside_s, inside_s);
    if (fmax(inside_s, s->feed->outermost_s) + added_s >= s->best.time_s)
        return;
    double time_s = ll_partial_overlap_s(inside_s, s->feed->outermost_s) + added_s;
    if (time_s >= s->best.time_s)
        return;
    s->best.time_s = time_s;
    s->best.index = shape * PARTS_CHOICES + choice;
    s->exact = inside_s;
}

struct ll_gemm_choice ll_gemm_choose(const struct ll_unit *unit, const struct ll_task *task,
                                     const struct ll_gemm_feed *feed)
{
    struct search s = {.unit = unit,
                       .task = task,
                       .feed = feed,
                       .gemm = gemm_of(unit, task),
                       .best = {.time_s = INFINITY},
                       .least_loaded =
                           (double)(task->work->a_bytes + task->work->b_bytes) / (double)task->steps,
                       .least_inside_s = INFINITY};
    struct shape only;
    bool by_size = shape_by_size(unit, task, &only);
    bool whole_k = task->whole_k || (task->linear && !task->linear->split_k);
    for (uint32_t i = 0; i < (by_size ? 1 : shape_count(&unit->matrix.gemm)); i++) {
        const struct shape shape = by_size ? only : shape_at(&unit->matrix.gemm, i);
        if (shape.together > s.gemm.count)
            continue;
        struct laid l = lay(&s.gemm, shape);
        double most = whole_k ? 1 : l.most_parts;
        for (uint32_t p = 0; p < PARTS_CHOICES && (double)ladder[p] <= most; p++)
            try_kernel(&s, &l, i, p);
    }
    s.best.settled = s.best.index % PARTS_CHOICES == 0 && s.exact <= s.least_inside_s;
    return s.best;
}

/* The layout and the kernel behind an index. */
static struct kernel kernel_at(const struct ll_unit *unit, const struct ll_task *task, const struct gemm *g,
                               uint32_t index, struct laid *l)
{
    struct shape shape;
    if (!shape_by_size(unit, task, &shape))
        shape = shape_at(&unit->matrix.gemm, index / PARTS_CHOICES);
    *l = lay(g, shape);
    return kernel_of(&unit->matrix.gemm, g, l, (double)ladder[index % PARTS_CHOICES]);
}

double ll_gemm_reduce_s(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                        double near_Bps)
{
    const struct gemm g = gemm_of(unit, task);
    return reduce_s(&unit->matrix.gemm, &g, (double)ladder[index % PARTS_CHOICES], near_Bps);
}

void ll_gemm_config(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                    struct ll_kernel_config *way)
{
    const struct ll_gemm *d = &task->problem.dims;
    const struct gemm g = gemm_of(unit, task);
    struct laid l;
    const struct kernel k = kernel_at(unit, task, &g, index, &l);
    double used = fmin(k.all, l.slots) * l.shape.together;
    *way = (struct ll_kernel_config){
        .units_used = (uint64_t)fmin(used, g.count),
        .at_work = fmin(g.count, k.all / k.rounds * l.shape.together),
        .cycles = k.compute,
        .share = {1, (uint64_t)fmin(g.m, l.shape.m), (uint64_t)fmin(g.n, l.shape.n),
                  (uint64_t)fmin(g.k, k.depth)},
        .macs = ll_gemm_macs(d),
        .asked_bytes = {k.loaded[LL_OPERAND_A], k.loaded[LL_OPERAND_B], task->unit_pass[LL_OPERAND_C]},
    };
    way->shares = ll_gemm_macs(d) / ll_gemm_macs(&way->share);
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        way->unit_bytes += way->asked_bytes[i];
}

/* --- explain --- */

static void explain_loop(const struct ll_unit *unit, const struct gemm *g, const struct laid *l,
                         const struct kernel *k, struct ll_explain *why)
{
    const struct ll_gemm_kernels *t = &unit->matrix.gemm;
    double m = l->shape.m, n = l->shape.n, together = l->shape.together;
    ll_say(why, "multiplying a tile: %.10g * %.10g * %.10g * %.10g / (%.10g * %.10g) = %.10g cycles", m, n,
           k->depth, k->slowness, g->rate, together, k->multiply);
    if (t->operand_bandwidth > 0)
        ll_say(why,
               "its operands out of shared memory: %.10g * (%.10g * %.10g + %.10g * %.10g) / (sqrt(%.10g) * "
               "%.10g) = %.10g cycles",
               k->depth, m, g->element[LL_OPERAND_A], n, g->element[LL_OPERAND_B], together,
               t->operand_bandwidth, k->operands);
    ll_say(why, "its steps at least: %.10g * %.10g = %.10g cycles", k->steps, t->min_step_cycles, k->waited);
    ll_say(why,
           "all rounds: max(%.10g * (max(%.10g, %.10g) + %.10g), ceil(%.10g / %" PRIu64
           ") * (%.10g + %.10g)) = %.10g cycles",
           k->rounds, k->multiply, k->operands, t->tile_cycles, k->rounds, t->occupancy, k->waited,
           t->tile_cycles, k->turn);
    if (t->epilogue_bandwidth > 0)
        ll_say(why, "their results: %.10g * %.10g * %.10g * %.10g / (%.10g * %.10g) = %.10g cycles",
               k->rounds, m, n, g->element[LL_OPERAND_C], together, t->epilogue_bandwidth, k->epilogue);
    ll_say(why, "both: %.10g + %.10g = %.10g cycles", k->turn, k->epilogue, k->compute);
}

/* What all tiles load of one operand: lines of a tile, of so many bytes for each element of k. */
static void explain_loaded(const struct ll_gemm_kernels *t, const struct gemm *g, const struct laid *l,
                           const struct kernel *k, enum ll_operand i, struct ll_explain *why)
{
    double side = i == LL_OPERAND_A ? fmin(l->shape.m, g->m) : fmin(l->shape.n, g->n);
    double a = fmin(l->shape.m, g->m) * g->element[LL_OPERAND_A];
    double b = fmin(l->shape.n, g->n) * g->element[LL_OPERAND_B];
    bool shared = i == LL_OPERAND_A ? a > b : a <= b;
    ll_say(why, "%s that all tiles load: %.10g * %.10g * %.10g * %.10g / (sqrt(%.10g) * %.10g) = %.10g B",
           ll_operand_name(i), k->all, k->depth, side, g->element[i], l->shape.together,
           shared ? (double)t->multicast : 1, k->loaded[i]);
}

void ll_gemm_explain(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                     const struct ll_kernel_config *way, struct ll_explain *why)
{
    const struct gemm g = gemm_of(unit, task);
    struct laid l;
    const struct kernel k = kernel_at(unit, task, &g, index, &l);
    ll_say(why, "%s: %" PRIu64 " of %" PRIu64 " work, tiles of %.10g x %.10g on %.10g, k in %.10g parts",
           unit->name, way->units_used, unit->count, l.shape.m, l.shape.n, l.shape.together, k.parts);
    ll_say(why, "tiles: %.10g * ceil(%.10g / %.10g) * ceil(%.10g / %.10g) * %.10g = %.10g", g.batch, g.m,
           l.shape.m, g.n, l.shape.n, k.parts, k.all);
    ll_say(why, "rounds of the busiest: ceil(%.10g / %.10g) = %.10g", k.all, l.slots, k.rounds);
    ll_say(why, "depth of a part in whole steps: ceil(%.10g / (%.10g * %.10g)) * %.10g = %.10g", g.k, k.parts,
           g.step, g.step, k.depth);
    explain_loop(unit, &g, &l, &k, why);
    explain_loaded(&unit->matrix.gemm, &g, &l, &k, LL_OPERAND_A, why);
    explain_loaded(&unit->matrix.gemm, &g, &l, &k, LL_OPERAND_B, why);
}

void ll_gemm_reduce_explain(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                            double near_Bps, struct ll_explain *why)
{
    const struct gemm g = gemm_of(unit, task);
    double parts = (double)ladder[index % PARTS_CHOICES];
    if (parts > 1)
        ll_say(why,
               "adding up the parts of k: %.10g + 2 * %d * %.10g * %.10g * %.10g * %.10g / %.10g = %.10g s",
               unit->matrix.gemm.split_k_reduce_s, LL_SUM_BYTES, parts, g.m, g.n, g.batch, near_Bps,
               reduce_s(&unit->matrix.gemm, &g, parts, near_Bps));
}
