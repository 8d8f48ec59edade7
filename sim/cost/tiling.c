/* SPDX-License-Identifier: Apache-2.0 */
/* The best tiling of a GEMM for one memory in closed form, its traffic, and how the operands' halos and
 * partial sums count.
 *
 * For each choice of the stationary operand the problem is the same. Two dimensions P and Q are cut into
 * blocks of p and q; the third streams. With i = ceil(P / p), j = ceil(Q / q) blocks and weights from the
 * table in cost_parts.h:
 *
 *       minimise  wp i + wq j     where   p q stay + p line_p + q line_q <= capacity
 *
 * For a given i the smallest p, ceil(P / i), leaves most room, and the room gives the largest q and so the
 * smallest j. So it is enough to walk over i. The walk ends where wp i + wq can no longer beat the best,
 * after about twice the best i; it goes along the dimension with the larger weight, whose i is small. The
 * result is the exact optimum. That is why it is monotonic: a larger capacity only adds blockings to choose
 * from. A search over a fixed menu would be monotonic only if its menu did not depend on the capacity.
 *
 * Where reads and writes have separate ports, the cost is the largest of three such sums. Among equal costs
 * the fewest bytes decide, since operands on another path share the ports. Each sum grows with i and j, so
 * the same walk finds the optimum. Where traffic in the rarer direction turns the bus around, the cost is the
 * smaller of two such sums, one that charges writes more and one that charges reads more; the better optimum
 * of the two is the optimum of the cost. Under a budget the largest of these sums counts no less than the
 * budget, and among equals all bytes decide, which grow with i and j as well.
 *
 * A convolution may ignore the overlap of its windows: then it is an implicit GEMM that moves every window in
 * full. Or it fixes the number of output pixels in a block first, because the halo depends on it, from a menu
 * that does not depend on the capacity (all images, halves of them, halves of the rows of one, halves of a
 * row). The rest is the problem above with an image operand whose elements are larger by the halo. The best
 * of all alternatives counts. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "sim/cost/cost_parts.h"
#include "tracer/base/str.h"

/* A sum to be small: constant + p i + q j, and what is read beside so many times. */
struct sum {
    double constant, p, q, reads;
};

/* One instance of the problem above. fixed_p, fixed_q: 0, or what must be taken. */
struct cut {
    uint64_t size_p, size_q, fixed_p, fixed_q;
    struct sum sums[3]; /* all bytes, and, where ports are told apart, read and written ones */
    int sum_count;
    double budget;    /* the largest sum counts no less; 0: none, and the first sum is all bytes */
    struct sum bytes; /* with a budget */
    double stay, line_p, line_q;
    double most_area; /* p q is no more; 0: as it comes */
    struct beside {
        double bytes, passes; /* of an operand that passes by, and comes so often anyway */
    } beside_p, beside_q;     /* and as often as there are blocks along p, q */
};
struct weight {
    double most, bytes; /* the largest sum; all bytes, by which equals are told apart */
};
struct found {
    bool any;
    struct weight weight;
    uint64_t p, q;
};

static double more_often(const struct beside *beside, double blocks)
{
    return fmax(0, blocks - beside->passes);
}

static double sum_of(const struct sum *sum, double blocks_p, double blocks_q, double more)
{
    return sum->constant + (sum->p * blocks_p + sum->q * blocks_q) + sum->reads * more;
}

static struct weight weigh(const struct cut *cut, double blocks_p, double blocks_q)
{
    struct weight weight = {.most = cut->budget};
    double more = cut->beside_p.bytes * more_often(&cut->beside_p, blocks_p) +
                  cut->beside_q.bytes * more_often(&cut->beside_q, blocks_q);
    for (int i = 0; i < cut->sum_count; i++) {
        double one = sum_of(&cut->sums[i], blocks_p, blocks_q, more);
        weight.most = fmax(weight.most, one);
        weight.bytes = i == 0 ? one : weight.bytes;
    }
    if (cut->budget > 0)
        weight.bytes = sum_of(&cut->bytes, blocks_p, blocks_q, more);
    return weight;
}

static bool is_lighter(struct weight one, struct weight other)
{
    return one.most < other.most || (one.most == other.most && one.bytes < other.bytes);
}

static uint64_t room_for_q(const struct cut *cut, uint64_t p, double capacity)
{
    double left = capacity - (double)p * cut->line_p;
    double per_q = (double)p * cut->stay + cut->line_q;
    if (left < per_q)
        return 0;
    double room = per_q > 0 ? left / per_q : INFINITY;
    if (cut->most_area > 0)
        room = fmin(room, cut->most_area / (double)p);
    return room >= (double)cut->size_q ? cut->size_q : (uint64_t)room;
}

static void consider(const struct cut *cut, uint64_t p, double capacity, struct found *best)
{
    uint64_t q = room_for_q(cut, p, capacity);
    if (q < cut->fixed_q || q == 0)
        return;
    if (cut->fixed_q)
        q = cut->fixed_q;
    struct weight weight =
        weigh(cut, (double)ll_ceil_div(cut->size_p, p), (double)ll_ceil_div(cut->size_q, q));
    if (!best->any || is_lighter(weight, best->weight))
        *best = (struct found){true, weight, p, q};
}

static struct found walk(const struct cut *cut, double capacity)
{
    struct found best = {0};
    if (cut->fixed_p) {
        consider(cut, cut->fixed_p, capacity, &best);
        return best;
    }
    for (uint64_t blocks = 1;;) {
        if (best.any && !is_lighter(weigh(cut, (double)blocks, 1), best.weight))
            break;
        uint64_t p = ll_ceil_div(cut->size_p, blocks);
        consider(cut, p, capacity, &best);
        if (p == 1)
            break;
        blocks = ll_ceil_div(cut->size_p, p - 1);
    }
    return best;
}

static struct cut swapped(const struct cut *cut)
{
    struct cut other = {.size_p = cut->size_q,
                        .size_q = cut->size_p,
                        .fixed_p = cut->fixed_q,
                        .fixed_q = cut->fixed_p,
                        .sum_count = cut->sum_count,
                        .budget = cut->budget,
                        .bytes = {cut->bytes.constant, cut->bytes.q, cut->bytes.p, cut->bytes.reads},
                        .stay = cut->stay,
                        .line_p = cut->line_q,
                        .line_q = cut->line_p,
                        .most_area = cut->most_area,
                        .beside_p = cut->beside_q,
                        .beside_q = cut->beside_p};
    for (int i = 0; i < cut->sum_count; i++)
        other.sums[i] =
            (struct sum){cut->sums[i].constant, cut->sums[i].q, cut->sums[i].p, cut->sums[i].reads};
    return other;
}

static struct found fewest(const struct cut *cut, double capacity)
{
    bool along_p = cut->fixed_p || (!cut->fixed_q && cut->sums[0].p >= cut->sums[0].q);
    if (along_p)
        return walk(cut, capacity);
    struct cut other = swapped(cut);
    struct found best = walk(&other, capacity);
    uint64_t p = best.q;
    best.q = best.p;
    best.p = p;
    return best;
}

static double sum_width(const struct ll_problem *problem)
{
    return fmax(1, problem->sum_width);
}

double ll_passes_of_sums(const struct ll_problem *problem, double blocks)
{
    return 1 + 2 * (blocks - 1) * sum_width(problem);
}

double ll_passes_outwards(const struct ll_problem *problem, double blocks)
{
    return 1 + (blocks - 1) * sum_width(problem);
}

/* One problem with the bytes of its passes; fixed_m, fixed_k: pixels in a block, 0 where free. */
struct setting {
    const struct ll_problem *problem;
    double capacity;
    double element[LL_OPERAND_COUNT], pass[LL_OPERAND_COUNT];
    double halo[LL_OPERAND_COUNT];
    uint64_t line_m, line_n, line_k; /* how much of a dimension streams at a time */
    uint64_t fixed_m, fixed_k;
    struct beside beside[LL_OPERAND_COUNT];
};

static void keep_better(const struct setting *s, enum ll_operand stays, struct ll_gemm block,
                        struct ll_tiling *best)
{
    const struct ll_gemm *dims = &s->problem->dims;
    double blocks_m = (double)ll_ceil_div(dims->m, block.m), blocks_n = (double)ll_ceil_div(dims->n, block.n);
    double blocks_k = stays == LL_OPERAND_C ? 1 : (double)ll_ceil_div(dims->k, block.k);
    double passes[LL_OPERAND_COUNT] = {stays == LL_OPERAND_A ? 1 : blocks_n,
                                       stays == LL_OPERAND_B ? 1 : blocks_m,
                                       ll_passes_of_sums(s->problem, blocks_k)};
    double bytes = 0, more[LL_OPERAND_COUNT];
    for (int i = 0; i < LL_OPERAND_COUNT; i++) {
        more[i] = more_often(&s->beside[i], passes[i]);
        bytes += passes[i] * s->pass[i] + more[i] * s->beside[i].bytes;
    }
    double written = ll_passes_outwards(s->problem, blocks_k) * s->pass[LL_OPERAND_C];
    double price = ll_port_cost_price(&s->problem->toll, bytes, written);
    if (!ll_is_cheaper(&s->problem->toll, price, bytes, best->price, best->bytes))
        return;
    *best = (struct ll_tiling){
        .bytes = bytes, .written = written, .price = price, .stays = stays, .block = block};
    for (int i = 0; i < LL_OPERAND_COUNT; i++) {
        best->passes[i] = passes[i] * s->halo[i];
        best->more[i] = s->beside[i].bytes > 0 ? more[i] : 0;
    }
}

/* The sums of a cut whose i multiplies one operand and whose j another; the third moves once. Of partial
 * sums, i or j - 1 go out beside the results, and as many come back. */
static void add_sums(const struct setting *s, enum ll_operand of_p, enum ll_operand of_q, struct cut *cut)
{
    const struct ll_port_cost *toll = &s->problem->toll;
    enum ll_operand still = (enum ll_operand)(LL_OPERAND_COUNT - of_p - of_q);
    double c = s->pass[LL_OPERAND_C], partial = sum_width(s->problem) * c;
    struct sum read = {s->pass[still], s->pass[of_p], s->pass[of_q], 1}, write = {c, 0, 0, 0};
    if (still == LL_OPERAND_C) {
        read.constant = 0;
    } else {
        read.constant -= partial;
        write.constant -= partial;
        *(of_p == LL_OPERAND_C ? &read.p : &read.q) = partial;
        *(of_p == LL_OPERAND_C ? &write.p : &write.q) = partial;
    }
    cut->sums[0] = (struct sum){0, read.p + write.p, read.q + write.q, 1};
    cut->sum_count = 1;
    cut->budget = toll->budget;
    if (toll->read == 0 && toll->write == 0 && toll->budget == 0)
        return;
    cut->bytes = (struct sum){read.constant + write.constant, read.p + write.p, read.q + write.q, 1};
    cut->sums[0].constant = read.constant + write.constant;
    if (toll->read == 0 && toll->write == 0)
        return;
    cut->sums[1] =
        (struct sum){toll->read * read.constant, toll->read * read.p, toll->read * read.q, toll->read};
    cut->sums[2] =
        (struct sum){toll->write * write.constant, toll->write * write.p, toll->write * write.q, 0};
    cut->sum_count = 3;
}

static void output_stays(const struct setting *s, struct ll_tiling *best)
{
    const struct ll_gemm *dims = &s->problem->dims;
    double line = (double)s->line_k;
    struct cut cut = {.size_p = dims->m,
                      .size_q = dims->n,
                      .fixed_p = s->fixed_m,
                      .stay = s->element[LL_OPERAND_C],
                      .line_p = line * s->element[LL_OPERAND_A],
                      .line_q = line * s->element[LL_OPERAND_B],
                      .most_area = s->problem->toll.most_sums,
                      .beside_p = s->beside[LL_OPERAND_B],
                      .beside_q = s->beside[LL_OPERAND_A]};
    add_sums(s, LL_OPERAND_B, LL_OPERAND_A, &cut);
    struct found found = fewest(&cut, s->capacity);
    if (found.any)
        keep_better(s, LL_OPERAND_C, (struct ll_gemm){1, found.p, found.q, s->line_k}, best);
}

/* How much of k a block that stays has; 0: as much as there is room for. Results that pass by are summed up
 * further in, and to the end before others are: blocks have all of k. */
static uint64_t fixed_k(const struct setting *s)
{
    return s->problem->toll.most_sums > 0 ? s->problem->dims.k : s->fixed_k;
}

static void left_stays(const struct setting *s, struct ll_tiling *best)
{
    const struct ll_gemm *dims = &s->problem->dims;
    double line = (double)s->line_n;
    struct cut cut = {.size_p = dims->m,
                      .size_q = dims->k,
                      .fixed_p = s->fixed_m,
                      .fixed_q = fixed_k(s),
                      .stay = s->element[LL_OPERAND_A],
                      .line_p = line * s->element[LL_OPERAND_C],
                      .line_q = line * s->element[LL_OPERAND_B],
                      .beside_p = s->beside[LL_OPERAND_B]};
    add_sums(s, LL_OPERAND_B, LL_OPERAND_C, &cut);
    struct found found = fewest(&cut, s->capacity);
    if (found.any)
        keep_better(s, LL_OPERAND_A, (struct ll_gemm){1, found.p, s->line_n, found.q}, best);
}

static void right_stays(const struct setting *s, struct ll_tiling *best)
{
    const struct ll_gemm *dims = &s->problem->dims;
    double line = (double)s->line_m;
    struct cut cut = {.size_p = dims->k,
                      .size_q = dims->n,
                      .fixed_p = fixed_k(s),
                      .stay = s->element[LL_OPERAND_B],
                      .line_p = line * s->element[LL_OPERAND_A],
                      .line_q = line * s->element[LL_OPERAND_C],
                      .beside_q = s->beside[LL_OPERAND_A]};
    add_sums(s, LL_OPERAND_C, LL_OPERAND_A, &cut);
    struct found found = fewest(&cut, s->capacity);
    if (found.any)
        keep_better(s, LL_OPERAND_B, (struct ll_gemm){1, s->line_m, found.q, found.p}, best);
}

/* Whether a blocking moves every operand once, which none of these beats. */
static bool moves_each_once(const struct setting *s, const struct ll_tiling *best)
{
    double bytes = 0;
    for (int i = 0; i < LL_OPERAND_COUNT; i++)
        bytes += s->pass[i];
    double price = ll_port_cost_price(&s->problem->toll, bytes, s->pass[LL_OPERAND_C]);
    return best->price <= price && best->bytes <= bytes;
}

/* What comes to blocks further in passes by, and cannot stay. */
static void try_each(const struct setting *s, struct ll_tiling *best)
{
    output_stays(s, best);
    if (s->beside[LL_OPERAND_A].bytes == 0 && !moves_each_once(s, best))
        left_stays(s, best);
    if (s->beside[LL_OPERAND_B].bytes == 0 && !moves_each_once(s, best))
        right_stays(s, best);
}

/* Blocks of `count` outputs along an axis read (count - 1) stride + the kernel's span inputs each, or where
 * taps lie apart no more than each of them has; all of them together over the inputs there are. */
static double overlap(const struct ll_window_axis *axis, double count)
{
    double kernel = (double)axis->kernel, dilation = (double)ll_max(1, axis->dilation);
    if (count >= (double)axis->out || (axis->kernel <= axis->stride && dilation == 1))
        return 1;
    double inputs = (count - 1) * (double)axis->stride + (kernel - 1) * dilation + 1;
    if (dilation > 1)
        inputs = fmin(inputs, count * kernel);
    return fmax(1, (double)axis->out / count * inputs / (double)axis->in);
}

double ll_halo(const struct ll_windows *w, uint64_t pixels)
{
    double rows = (double)pixels / (double)w->wide.out;
    double times = overlap(&w->high, fmax(1, rows)) * overlap(&w->wide, (double)pixels);
    return fmin(w->expansion, times);
}

static double counted_bytes(const struct ll_problem *problem, enum ll_operand operand)
{
    return problem->toll.free[operand] ? 0 : ll_operand_bytes(problem, operand);
}

/* Nothing where it is not told in what blocks the operand is taken. */
static struct beside beside(const struct ll_problem *problem, enum ll_operand operand, double size,
                            double block)
{
    if (block <= 0)
        return (struct beside){0};
    return (struct beside){ll_operand_bytes(problem, operand), fmax(1, size / block)};
}

/* Windows, if any, are moved in full. */
static struct setting plain(const struct ll_problem *problem, double capacity)
{
    struct setting s = {.problem = problem, .capacity = capacity, .line_m = 1, .line_n = 1, .line_k = 1};
    s.beside[LL_OPERAND_A] = beside(problem, LL_OPERAND_A, (double)problem->dims.n, problem->toll.columns);
    s.beside[LL_OPERAND_B] = beside(problem, LL_OPERAND_B, (double)problem->dims.m, problem->toll.rows);
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++) {
        s.element[i] = problem->toll.roomless[i] ? 0 : problem->element[i];
        s.pass[i] = counted_bytes(problem, i);
        s.halo[i] = i == problem->windows.image && problem->windows.overlap ? problem->windows.expansion : 1;
        s.element[i] *= s.halo[i];
        s.pass[i] *= s.halo[i];
    }
    return s;
}

static struct setting in_groups(const struct ll_problem *problem, double capacity, uint64_t pixels)
{
    const struct ll_windows *w = &problem->windows;
    uint64_t taps = w->high.kernel * w->wide.kernel; /* a channel streams with all of them */
    struct setting s = plain(problem, capacity);
    s.halo[w->image] = ll_halo(w, pixels);
    s.element[w->image] =
        problem->toll.roomless[w->image] ? 0 : problem->element[w->image] * s.halo[w->image];
    s.pass[w->image] = counted_bytes(problem, w->image) * s.halo[w->image];
    if (w->pixels_are_k) {
        s.line_k = s.fixed_k = pixels;
        s.line_m = ll_min(taps, problem->dims.m);
    } else {
        s.line_m = s.fixed_m = pixels;
        s.line_k = w->image == LL_OPERAND_A ? ll_min(taps, problem->dims.k) : 1;
        s.line_n = w->image == LL_OPERAND_C ? ll_min(taps, problem->dims.n) : 1;
    }
    return s;
}

/* The next smaller group of pixels: halves of the images, then of the rows of one, then of a row. */
static uint64_t smaller_group(const struct ll_windows *w, uint64_t pixels)
{
    uint64_t row = w->wide.out, image = row * w->high.out;
    uint64_t grain = pixels > image ? image : pixels > row ? row : 1;
    return ll_ceil_div(ll_ceil_div(pixels, grain), 2) * grain;
}

/* From the largest group down: the halo only grows, so the walk ends when the image alone is too much. */
static void try_groups(const struct ll_problem *problem, double capacity, struct ll_tiling *best)
{
    const struct ll_windows *w = &problem->windows;
    uint64_t pixels = w->pixels_are_k ? problem->dims.k : problem->dims.m;
    double all = 0, image = counted_bytes(problem, w->image);
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        all += counted_bytes(problem, i);
    for (;;) {
        double least = all + image * (ll_halo(w, pixels) - 1);
        if (!ll_is_cheaper(&problem->toll, least, least, best->price, best->bytes))
            return;
        struct setting s = in_groups(problem, capacity, pixels);
        try_each(&s, best);
        if (pixels == 1)
            return;
        pixels = smaller_group(w, pixels);
    }
}

double ll_operand_bytes(const struct ll_problem *problem, enum ll_operand operand)
{
    const struct ll_gemm *d = &problem->dims;
    double m = (double)d->m, n = (double)d->n, k = (double)d->k;
    double elements = operand == LL_OPERAND_A ? m * k : operand == LL_OPERAND_B ? k * n : m * n;
    return (double)d->batch * elements * problem->element[operand];
}

double ll_compulsory_bytes(const struct ll_problem *problem)
{
    return ll_operand_bytes(problem, LL_OPERAND_A) + ll_operand_bytes(problem, LL_OPERAND_B) +
           ll_operand_bytes(problem, LL_OPERAND_C);
}

double ll_port_cost_price(const struct ll_port_cost *toll, double bytes, double written)
{
    return fmax(bytes, fmax((bytes - written) * toll->read, written * toll->write));
}

bool ll_is_cheaper(const struct ll_port_cost *toll, double price, double bytes, double than_price,
                   double than_bytes)
{
    double counts = fmax(price, toll->budget), than = fmax(than_price, toll->budget);
    return counts < than || (counts == than && bytes < than_bytes);
}

struct ll_tiling ll_tile(const struct ll_problem *problem, double capacity_bytes)
{
    struct setting s = plain(problem, capacity_bytes);
    struct ll_tiling best = {.price = INFINITY, .bytes = INFINITY};
    keep_better(&s, LL_OPERAND_C, (struct ll_gemm){1, 1, 1, 1}, &best);
    try_each(&s, &best);
    if (problem->windows.overlap)
        try_groups(problem, capacity_bytes, &best);
    assert(isfinite(best.price));
    return best;
}

const char *ll_stays_name(enum ll_operand stays)
{
    static const char *const names[] = {"left operand", "right operand", "output"};
    assert(stays < LL_OPERAND_COUNT);
    return names[stays];
}

/* A block that stays and what streams past it share the room of a level:
 *
 *       | block that stays (m x n of C, say) | piece of A, m x k' | piece of B, k' x n |    k' as fits
 *
 * The other half of the level, where it has two buffers, takes the next tile meanwhile. The plain bound lets
 * all of the work overlap but its first piece; tile by tile the first load, the last store, and the
 * difference between large and small tiles show as well. */

/* A loop over `size` in steps of `step`. */
static void set_loop(struct ll_tile_nest *nest, int d, double size, double step)
{
    double rounds = fmax(1, size / step);
    nest->whole[d] = (uint64_t)rounds;
    nest->edge[d] = rounds - floor(rounds);
}

/* How much of the dimension that streams fits beside the block that stays. */
static double piece(const struct ll_problem *p, const struct ll_tiling *t, double room)
{
    double m = (double)t->block.m, n = (double)t->block.n, k = (double)t->block.k;
    const double *e = p->element;
    double stays = 0, line = 1, size = 1, least = 1;
    switch (t->stays) {
    case LL_OPERAND_A:
        stays = m * k * e[LL_OPERAND_A], line = m * e[LL_OPERAND_C] + k * e[LL_OPERAND_B];
        size = (double)p->dims.n, least = n;
        break;
    case LL_OPERAND_B:
        stays = k * n * e[LL_OPERAND_B], line = k * e[LL_OPERAND_A] + n * e[LL_OPERAND_C];
        size = (double)p->dims.m, least = m;
        break;
    default:
        stays = m * n * e[LL_OPERAND_C], line = m * e[LL_OPERAND_A] + n * e[LL_OPERAND_B];
        size = (double)p->dims.k, least = k;
        break;
    }
    double fits = line > 0 ? floor((room - stays) / line) : size;
    return fmin(size, fmax(least, fits));
}

/* Loops over tiles, `rounds` times. */
static void nest_of_loops(const struct ll_problem *p, const struct ll_mapping_loops *loops, double rounds,
                          struct ll_tile_nest *nest)
{
    const uint64_t whole[LL_DIM_COUNT] = {p->dims.m, p->dims.n, p->dims.k};
    set_loop(nest, 0, rounds, 1);
    for (int i = 0; i < LL_DIM_COUNT; i++)
        set_loop(nest, i + 1, (double)whole[loops->order[i]], (double)loops->tile[loops->order[i]]);
    nest->gathers = loops->order[LL_DIM_COUNT - 1] == LL_DIM_K;
    nest->loops = *loops;
    nest->rounds = rounds;
}

/* The same loops, those that run once outermost, where they matter as little. */
static struct ll_mapping_loops running_last(const struct ll_problem *p, const struct ll_mapping_loops *loops)
{
    const uint64_t whole[LL_DIM_COUNT] = {p->dims.m, p->dims.n, p->dims.k};
    struct ll_mapping_loops sorted = *loops;
    int count = 0;
    for (int runs = 0; runs < 2; runs++)
        for (int i = 0; i < LL_DIM_COUNT; i++)
            if ((loops->tile[loops->order[i]] < whole[loops->order[i]]) == runs)
                sorted.order[count++] = loops->order[i];
    return sorted;
}

/* Around the block that stays, loops over blocks; within, what streams past in pieces. */
static struct ll_mapping_loops loops_of_blocks(const struct ll_problem *p, const struct ll_tiling *t,
                                               double room)
{
    static const enum ll_dim orders[LL_OPERAND_COUNT][LL_DIM_COUNT] = {
        {LL_DIM_M, LL_DIM_K, LL_DIM_N}, {LL_DIM_K, LL_DIM_N, LL_DIM_M}, {LL_DIM_M, LL_DIM_N, LL_DIM_K}};
    const enum ll_dim *order = orders[t->stays];
    struct ll_mapping_loops loops = {.tile = {t->block.m, t->block.n, t->block.k},
                                     .order = {order[0], order[1], order[2]}};
    loops.tile[order[2]] = (uint64_t)piece(p, t, room);
    return loops;
}

bool ll_outer_tiles(const struct ll_machine *machine, const struct ll_task *task,
                    const struct ll_kernel_config *way, const struct ll_mapping_loops *searched,
                    struct ll_tile_nest *nest)
{
    if (machine->level_count < 2)
        return false;
    const struct ll_level *memory = &machine->levels[machine->level_count - 2];
    uint64_t instances = ll_level_instances(memory, way->units_used);
    double room = ll_level_room(memory);
    *nest = (struct ll_tile_nest){.whole = {1, 1, 1, 1}, .single = memory->buffering == LL_BUFFER_SINGLE};
    if (!task->is_gemm) {
        set_loop(nest, 0, ll_work_bytes(task->work), room * (double)instances);
        return true;
    }
    struct ll_problem p = task->problem;
    double shares = 1;
    p.toll = ll_level_port_cost(&machine->levels[machine->level_count - 1]);
    if (memory->scope != LL_SCOPE_DEVICE) {
        p.dims = way->share;
        shares = way->shares / (double)way->units_used;
    }
    double rounds = shares * (double)task->steps * (double)p.dims.batch;
    if (searched) {
        struct ll_mapping_loops running = running_last(&p, searched);
        nest_of_loops(&p, &running, rounds, nest);
        return true;
    }
    ll_bind_blocks(machine, task, way, machine->level_count - 2, &p.toll);
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        if (p.toll.roomless[i]) {
            p.toll.free[i] = true;
            p.element[i] = 0;
        }
    struct ll_problem blocked = task->problem;
    blocked.dims = p.dims;
    blocked.toll = p.toll;
    struct ll_tiling t = ll_tile(&blocked, room);
    struct ll_mapping_loops loops = loops_of_blocks(&p, &t, room);
    nest_of_loops(&p, &loops, rounds, nest);
    return true;
}

static struct ll_stage stage_of(const struct ll_cost *cost, uint64_t l)
{
    const struct ll_intake intake = {.first_s = cost->level_first_s[l], .pieces = cost->level_pieces[l]};
    return ll_stage_of(&intake, cost->level_bytes[l], cost->level_s[l]);
}

/* A tile loaded from the outermost memory, worked on inside, stored. */
struct tiled {
    double store_s, load_s;         /* the outermost memory's time, apart */
    uint64_t feeding;               /* the level whose first pieces of other units computing waits for */
    double others_s, computing_s;   /* what they take; computing behind them */
    double whole_s, first_of_it_s;  /* the slowest further in, computing included, and its first piece */
    double work_s;                  /* all first pieces, and the rest of the slowest */
    double tiles, plain_s, tiled_s; /* tiles; ll_cost_time's; tile by tile, latencies and gaps included */
};

/* The unit and all levels but the outermost: their first pieces, then the slowest. */
static void work_inside(const struct ll_machine *machine, const struct ll_cost *cost, struct tiled *t)
{
    uint64_t outer = machine->level_count - 1;
    double firsts_s = cost->compute_first_s;
    for (uint64_t l = 0; l < outer; l++) {
        double others_s = stage_of(cost, l).others_s;
        t->feeding = others_s > t->others_s ? l : t->feeding;
        t->others_s = fmax(t->others_s, others_s);
    }
    t->computing_s = t->whole_s = cost->compute_s + t->others_s;
    t->first_of_it_s = cost->compute_first_s;
    for (uint64_t l = 0; l < outer; l++) {
        bool slower = cost->level_s[l] - cost->level_first_s[l] > t->whole_s - t->first_of_it_s;
        t->whole_s = slower ? cost->level_s[l] : t->whole_s;
        t->first_of_it_s = slower ? cost->level_first_s[l] : t->first_of_it_s;
        firsts_s += cost->level_first_s[l];
    }
    t->work_s = firsts_s + (t->whole_s - t->first_of_it_s);
}

static struct tiled by_tiles(const struct ll_machine *machine, const struct ll_cost *cost,
                             const struct ll_tile_nest *nest)
{
    uint64_t outer = machine->level_count - 1;
    struct ll_timing timing;
    double waits_s = 0, bytes = cost->level_bytes[outer];
    double written = bytes > 0 ? cost->level_written[outer] / bytes : 0;
    struct tiled t = {.store_s = cost->level_s[outer] * written, .tiles = ll_tile_volume(nest)};
    t.load_s = cost->level_s[outer] - t.store_s;
    work_inside(machine, cost, &t);
    for (uint64_t l = 0; l < machine->level_count; l++)
        waits_s += cost->level_wait_s[l];
    ll_cost_time(machine, cost, NULL, &timing);
    double apart_s = cost->apart_s + cost->gap_s;
    t.plain_s = timing.time_s;
    t.tiled_s = apart_s + waits_s + ll_pipeline_s(nest, t.load_s, t.work_s, t.store_s);
    return t;
}

double ll_tiled_s(const struct ll_machine *machine, const struct ll_cost *cost,
                  const struct ll_tile_nest *nest)
{
    const struct tiled t = by_tiles(machine, cost, nest);
    return fmax(t.plain_s, t.tiled_s);
}

/* --- explain --- */

static void explain_nest(const struct ll_tile_nest *nest, struct ll_explain *why)
{
    const struct ll_mapping_loops *loops = &nest->loops;
    if (nest->rounds == 0)
        return; /* no GEMM: pieces of a stream */
    ll_say(
        why,
        "tiles of %" PRIu64 " x %" PRIu64 " x %" PRIu64 ", loops over %s, %s, %s from the outside in, %.10g "
        "times: %.10g * %.10g * %.10g * %.10g = %.10g tiles",
        loops->tile[LL_DIM_M], loops->tile[LL_DIM_N], loops->tile[LL_DIM_K], ll_dim_name(loops->order[0]),
        ll_dim_name(loops->order[1]), ll_dim_name(loops->order[2]), nest->rounds,
        (double)nest->whole[0] + nest->edge[0], (double)nest->whole[1] + nest->edge[1],
        (double)nest->whole[2] + nest->edge[2], (double)nest->whole[3] + nest->edge[3], ll_tile_volume(nest));
}

/* First pieces further in and the rest of the slowest. */
static void explain_inside(const struct ll_machine *machine, const struct ll_cost *cost,
                           const struct tiled *t, struct ll_explain *why)
{
    struct ll_str firsts = {0};
    if (t->others_s > 0)
        ll_say(
            why,
            "further in, computing, behind the first pieces of other units, out of %s: %.10g + min((%.10g - "
            "1) * %.10g, %.10g - %.10g) = %.10g s",
            machine->levels[t->feeding].name, cost->compute_s, cost->level_pieces[t->feeding],
            cost->level_first_s[t->feeding], cost->level_s[t->feeding], cost->level_first_s[t->feeding],
            t->computing_s);
    ll_str_addf(&firsts, "%.10g", cost->compute_first_s);
    for (uint64_t l = 0; l + 1 < machine->level_count; l++)
        ll_str_addf(&firsts, " + %.10g", cost->level_first_s[l]);
    ll_say(why, "further in, first pieces and the rest of the slowest: %s + %.10g - %.10g = %.10g s",
           firsts.failed ? "" : firsts.text, t->whole_s, t->first_of_it_s, t->work_s);
    why->failed |= firsts.failed;
    ll_str_release(&firsts);
}

void ll_tiled_explain(const struct ll_machine *machine, const struct ll_cost *cost,
                      const struct ll_tile_nest *nest, struct ll_explain *why)
{
    const struct tiled t = by_tiles(machine, cost, nest);
    uint64_t outer = machine->level_count - 1;
    const char *name = machine->levels[outer].name;
    double bytes = cost->level_bytes[outer], written = cost->level_written[outer];
    explain_nest(nest, why);
    if (t.store_s > 0) {
        ll_say(why, "%s, what is stored of it: %.10g * %.10g / %.10g = %.10g s", name, cost->level_s[outer],
               written, bytes, t.store_s);
        ll_say(why, "%s, what is loaded of it: %.10g * (1 - %.10g / %.10g) = %.10g s", name,
               cost->level_s[outer], written, bytes, t.load_s);
    }
    explain_inside(machine, cost, &t, why);
    ll_say(why,
           "tile by tile, were all tiles alike and nothing waited for: (%.10g + %.10g + %.10g) / %.10g + "
           "(1 - 1 / %.10g) * max(%.10g, max(%.10g, %.10g)) = %.10g s",
           t.load_s, t.work_s, t.store_s, t.tiles, t.tiles, t.load_s, t.work_s, t.store_s,
           (t.load_s + t.work_s + t.store_s) / t.tiles +
               (1 - 1 / t.tiles) * fmax(t.load_s, fmax(t.work_s, t.store_s)));
    ll_say(
        why,
        "tile by tile, edges, latencies and gaps as they are, at least the plain bound: max(%.10g, %.10g) = "
        "%.10g s",
        t.plain_s, t.tiled_s, fmax(t.plain_s, t.tiled_s));
}
