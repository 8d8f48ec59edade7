/* SPDX-License-Identifier: Apache-2.0 */
/* The laws that every machine obeys, on random machines and works. A failure prints the seed that shows it.
 */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost.h"
#include "sim/cost/cost_parts.h"

enum { ROUNDS = 8000 / ONE_IN };

static uint64_t first_seed;

/* A machine, a work and what earlier ops saved of each level. */
struct sample {
    struct ll_machine machine;
    struct ll_work work;
    struct ll_warm_bytes found;
};

/* Some units skip zeros, and some right operands have some. */
static void know_of_zeros(struct dice *dice, struct sample *s)
{
    for (uint64_t i = 0; i < s->machine.unit_count; i++)
        if (roll_between(dice, 0, 1)) {
            struct ll_pattern *skips = &s->machine.units[i].skips;
            skips->of = (uint32_t)roll_between(dice, 1, 3) * 2;
            skips->kept = (uint32_t)roll_between(dice, 1, skips->of - 1);
            s->machine.units[i].skips_unstructured = roll_between(dice, 0, 2) * roll_between(dice, 1, 64);
        }
    if (s->work.kind != LL_WORK_GEMM || !roll_between(dice, 0, 2))
        return;
    struct ll_gemm *d = &s->work.gemm;
    uint64_t of = roll_between(dice, 1, 3) * 2, kept = roll_between(dice, 1, of - 1);
    s->work.unstructured = roll_between(dice, 0, 1);
    uint64_t all = d->k * (s->work.unstructured ? d->n : 1);
    uint64_t left =
        all / of * kept + (s->work.unstructured ? ll_ceil_div(all % of * kept, of) : ll_min(all % of, kept));
    s->work.flops = 2 * d->batch * d->m * d->n * d->k / all * left;
    s->work.b_bytes = s->work.b_bytes / d->k * left / (all / d->k);
    s->work.kept = kept;
    s->work.of = of;
}

/* Data left in a shared level saves as much at all levels further out; there is nothing in private ones. */
static struct sample sample_of(uint64_t seed, struct dice *dice)
{
    *dice = (struct dice){seed};
    struct sample s = {.machine = random_machine(dice)};
    random_turns(dice, &s.machine);
    s.work = random_work(dice);
    know_of_zeros(dice, &s);
    double most = roll_between(dice, 0, 1)
                      ? (double)s.work.a_bytes + (double)s.work.b_bytes + (double)s.work.c_bytes
                      : 0;
    bool shared = false;
    for (uint64_t l = 0; l < s.machine.level_count; l++) {
        if (shared)
            s.found.saved_bytes[l] = fmax(l ? s.found.saved_bytes[l - 1] : 0, roll_real(dice, 0, most));
        shared = shared || s.machine.levels[l].scope == LL_SCOPE_DEVICE;
    }
    return s;
}

static struct ll_cost cost_of(const struct ll_machine *machine, const struct ll_work *work)
{
    struct ll_cost cost;
    const char *trouble;
    assert_true(ll_cost_op(machine, LL_OP_MATMUL, work, &cost, &trouble));
    return cost;
}

/* By the way that is the fastest on an empty machine, or next to what was found. */
static struct ll_timing timing_of(const struct ll_machine *machine, const struct ll_work *work,
                                  const struct ll_warm_bytes *found)
{
    struct ll_cost cost = cost_of(machine, work);
    struct ll_timing best, timing;
    ll_cost_time(machine, &cost, found, &best);
    if (!found)
        return best;
    best.time_s = INFINITY;
    for (uint32_t i = 0, ways = cost.ways; i < ways; i++) {
        ll_cost_algorithm(machine, LL_OP_MATMUL, work, i, NULL, &cost);
        if (ll_cost_is_reuse_sensitive(machine, &cost, found))
            ll_cost_algorithm(machine, LL_OP_MATMUL, work, i, &(struct ll_cache_context){found, NULL}, &cost);
        ll_cost_time(machine, &cost, found, &timing);
        if (ll_timing_alone_s(&timing) < ll_timing_alone_s(&best))
            best = timing;
    }
    return best;
}

/* Of the rows that a gather picks those that are there to be picked; of an image, pixels in windows. */
static double compulsory_bytes(const struct ll_work *work)
{
    double bytes = (double)work->a_bytes + (double)work->b_bytes + (double)work->c_bytes;
    double table = (double)work->gather.table_bytes;
    const struct ll_conv *c = &work->conv;
    if (work->kind == LL_WORK_CONV) {
        double image = (double)(c->pass == LL_CONV_DATA ? work->c_bytes : work->a_bytes);
        double high = fmin(1, (double)c->kernel_h / (double)c->stride_h),
               wide = fmin(1, (double)c->kernel_w / (double)c->stride_w);
        bytes -= image - floor(image * high * wide);
    }
    if (work->kind == LL_WORK_GATHER && table > 0)
        bytes -= fmax(0, (double)work->gather.rows * (double)work->gather.row_bytes - table);
    return bytes;
}

/* Multiply-accumulates; gates are none. */
static double products_of(const struct ll_work *work)
{
    const struct ll_gemm *d = &work->sequence.step;
    if (work->kind != LL_WORK_SEQUENCE)
        return (double)work->flops / 2;
    return (double)work->sequence.steps * (double)d->batch * (double)d->m * (double)d->n * (double)d->k;
}

static double peak_of(const struct ll_unit *unit, enum ll_dtype dtype)
{
    return ll_unit_flops_per_cycle(unit, dtype) * (double)unit->count * unit->clock_hz;
}

/* Of the unit that does the work, for its products; gates may be another unit's, in 32 bits. */
static double least_s(const struct ll_machine *machine, const struct ll_work *work,
                      const struct ll_unit *unit)
{
    enum ll_dtype dtype = (enum ll_dtype)work->dtype;
    double peak = peak_of(unit, dtype), products_s = 2 * products_of(work) / peak;
    if (work->kind != LL_WORK_SEQUENCE)
        return (double)work->flops / peak;
    for (uint64_t u = 0; u < machine->unit_count; u++)
        peak = fmax(peak, fmax(peak_of(&machine->units[u], LL_F32), peak_of(&machine->units[u], dtype)));
    return fmax(products_s, (double)work->flops / peak);
}

static void time_is_at_least_flops_over_peak_and_bytes_over_bandwidth(void **state)
{
    (void)state;
    struct dice dice;
    for (uint64_t seed = first_seed; seed < first_seed + ROUNDS; seed++) {
        struct sample s = sample_of(seed, &dice);
        const struct ll_level *memory = &s.machine.levels[s.machine.level_count - 1];
        struct ll_cost cost = cost_of(&s.machine, &s.work);
        double time_s = timing_of(&s.machine, &s.work, NULL).time_s * (1 + 1e-12);
        const struct ll_unit *unit = &s.machine.units[cost.unit];
        double bytes = compulsory_bytes(&s.work);
        claim(time_s >= least_s(&s.machine, &s.work, unit), seed, "faster than the peak");
        claim(cost.utilization <= 1, seed, "more than fully used");
        claim(time_s >= bytes / memory->bandwidth_Bps, seed, "faster than the outermost memory");
        claim(cost.units_used <= unit->count, seed, "more units than there are");
    }
}

static void time_is_at_most_all_parts_in_series(void **state)
{
    (void)state;
    struct dice dice;
    for (uint64_t seed = first_seed; seed < first_seed + ROUNDS; seed++) {
        struct sample s = sample_of(seed, &dice);
        struct ll_cost cost = cost_of(&s.machine, &s.work);
        struct ll_timing timing = timing_of(&s.machine, &s.work, NULL);
        double series_s = cost.compute_s, left_s = cost.compute_s;
        for (uint64_t l = 0; l < s.machine.level_count; l++) {
            claim(cost.level_first_s[l] <= cost.level_s[l] * (1 + 1e-12), seed,
                  "a first piece larger than all");
            series_s += cost.level_s[l] + cost.level_wait_s[l];
            double left = fmax(0, cost.level_bytes[l] - s.found.saved_bytes[l]);
            left_s += left > 0 ? cost.level_s[l] * left / cost.level_bytes[l] + cost.level_wait_s[l] : 0;
        }
        struct ll_bounds bounds = ll_cost_bounds(&s.machine, LL_OP_MATMUL, &s.work);
        claim(bounds.pipelined_s >= bounds.bound_s, seed, "faster tile by tile than the bound");
        claim(bounds.bound_s == timing.time_s, seed, "another bound than the time on an empty machine");
        claim(timing.time_s <= series_s * (1 + 1e-12), seed, "slower than one after the other");
        claim(timing_of(&s.machine, &s.work, &s.found).time_s <= left_s * (1 + 1e-12), seed,
              "slower than what is left, one after the other");
        claim(timing.exposed_s >= 0 && timing.exposed_s <= timing.time_s, seed, "more exposed than there is");
    }
}

static void traffic_is_that_of_its_operands(void **state)
{
    (void)state;
    struct dice dice;
    for (uint64_t seed = first_seed; seed < first_seed + ROUNDS; seed++) {
        struct sample s = sample_of(seed, &dice);
        struct ll_cost cost = cost_of(&s.machine, &s.work);
        for (uint64_t l = 0; ll_is_gemm(&s.work) && l < s.machine.level_count; l++) {
            const double *of = cost.level_of[l];
            double all = of[LL_OPERAND_A] + of[LL_OPERAND_B] + of[LL_OPERAND_C];
            claim(fabs(all - cost.level_bytes[l]) <= 1e-9 * cost.level_bytes[l], seed,
                  "operands do not add up to a level's traffic");
        }
    }
}

static void savings_never_slow_down(void **state)
{
    (void)state;
    struct dice dice;
    for (uint64_t seed = first_seed; seed < first_seed + ROUNDS; seed++) {
        struct sample s = sample_of(seed, &dice);
        double with_s = timing_of(&s.machine, &s.work, &s.found).time_s;
        claim(with_s <= timing_of(&s.machine, &s.work, NULL).time_s * (1 + 1e-12), seed, "saving costs time");
    }
}

/* What is asked for, without what tiles compute beyond it, and its operands, each once, at the energy that
 * the clock leaves to each multiply-accumulate and byte. A convolution may move some of them in passes of
 * their own. */
static void products_keep_within_the_power_of_the_board(void **state)
{
    (void)state;
    struct dice dice;
    uint64_t slowed = 0;
    for (uint64_t seed = first_seed; seed < first_seed + ROUNDS; seed++) {
        struct sample s = sample_of(seed, &dice);
        const struct ll_energy *energy = &s.machine.energy;
        struct ll_cost cost = cost_of(&s.machine, &s.work);
        const struct ll_unit *unit = &s.machine.units[cost.unit];
        double full_s = cost.compute_cycles / (unit->clock_hz * unit->efficiency);
        double share = cost.compute_s > full_s * (1 + 1e-12) ? full_s / cost.compute_s : 1;
        slowed += share < 1;
        claim(share == 1 || (energy->limit_w > 0 && ll_is_gemm(&s.work)), seed, "slowed without reason");
        if (energy->limit_w == 0 || !ll_is_gemm(&s.work))
            continue;
        double operands = (double)s.work.a_bytes + (double)s.work.b_bytes + (double)s.work.c_bytes;
        double bytes = s.work.kind == LL_WORK_CONV ? 0 : operands;
        double full_j = products_of(&s.work) * energy->mac_j[LL_F32] + bytes * energy->off_chip_j_per_byte;
        double left_w = energy->limit_w - energy->static_w;
        claim(full_j * pow(share, energy->power_per_clock - 1) <= left_w * cost.compute_s * (1 + 1e-9), seed,
              "more power than the board has");
    }
    claim(slowed > ROUNDS / 50, first_seed, "hardly any product is short of power: change the samples");
}

/* Each makes one thing of a machine better. */
static void more_bandwidth(struct ll_machine *machine, struct dice *dice)
{
    machine->levels[roll_between(dice, 0, machine->level_count - 1)].bandwidth_Bps *= roll_real(dice, 1, 4);
}

static void faster_ports(struct ll_machine *machine, struct dice *dice)
{
    struct ll_level *level = &machine->levels[roll_between(dice, 0, machine->level_count - 1)];
    level->read_Bps *= roll_real(dice, 1, 4);
    level->write_Bps *= roll_real(dice, 1, 4);
}

static void nearer_nodes(struct ll_machine *machine, struct dice *dice)
{
    struct ll_level *level = &machine->levels[roll_between(dice, 0, machine->level_count - 1)];
    level->numa.link_Bps *= roll_real(dice, 1, 4);
    level->numa.latency_s *= roll_real(dice, 0, 1);
}

static void larger_memory(struct ll_machine *machine, struct dice *dice)
{
    struct ll_level *level = &machine->levels[roll_between(dice, 0, machine->level_count - 1)];
    level->size_bytes += roll_size(dice, 4 * level->size_bytes);
}

static void more_lanes(struct ll_machine *machine, struct dice *dice)
{
    machine->units[1].vector.lanes += roll_size(dice, 256);
}

static void faster_special_functions(struct ll_machine *machine, struct dice *dice)
{
    machine->units[1].vector.specials *= roll_real(dice, 1, 4);
}

static void more_macs(struct ll_machine *machine, struct dice *dice)
{
    double factor = roll_real(dice, 1, 4), *macs = macs_of(&machine->units[0]);
    for (int i = 0; i < LL_DTYPE_COUNT; i++)
        macs[i] *= factor;
}

static void more_power(struct ll_machine *machine, struct dice *dice)
{
    machine->energy.limit_w *= roll_real(dice, 1, 4);
}

static void no_limit_of_power(struct ll_machine *machine, struct dice *dice)
{
    (void)dice;
    machine->energy.limit_w = 0;
}

static void less_energy(struct ll_machine *machine, struct dice *dice)
{
    machine->energy.mac_j[LL_F32] *= roll_real(dice, 0, 1);
    machine->energy.off_chip_j_per_byte *= roll_real(dice, 0, 1);
    for (uint64_t l = 0; l < machine->level_count; l++)
        machine->energy.level_j_per_byte[l] *= roll_real(dice, 0, 1);
}

/* NULL where a unit has none. */
static uint64_t *accumulators_of(struct ll_unit *unit)
{
    return unit->model == LL_UNIT_SYSTOLIC  ? &unit->systolic.accumulators
           : unit->model == LL_UNIT_SPATIAL ? &unit->spatial.accumulators
                                            : NULL;
}

/* As many as needed are more than any number. */
static void more_accumulators(struct ll_machine *machine, struct dice *dice)
{
    uint64_t *accumulators = accumulators_of(&machine->units[0]);
    if (accumulators && *accumulators)
        *accumulators += roll_size(dice, 4096);
}

static void unlimited_accumulators(struct ll_machine *machine, struct dice *dice)
{
    (void)dice;
    uint64_t *accumulators = accumulators_of(&machine->units[0]);
    if (accumulators)
        *accumulators = 0;
}

static void higher_clock(struct ll_machine *machine, struct dice *dice)
{
    machine->units[roll_between(dice, 0, 1)].clock_hz *= roll_real(dice, 1, 3);
}

static void less_latency(struct ll_machine *machine, struct dice *dice)
{
    machine->levels[roll_between(dice, 0, machine->level_count - 1)].latency_s *= roll_real(dice, 0, 1);
}

static void higher_efficiency(struct ll_machine *machine, struct dice *dice)
{
    struct ll_unit *unit = &machine->units[roll_between(dice, 0, 1)];
    struct ll_level *level = &machine->levels[roll_between(dice, 0, machine->level_count - 1)];
    unit->efficiency = roll_real(dice, unit->efficiency, 1);
    level->efficiency = roll_real(dice, level->efficiency, 1);
}

static void better_kernel(struct ll_machine *machine, struct dice *dice)
{
    struct ll_kernel *kernel = &machine->software.kernels[0];
    kernel->compute_efficiency = roll_real(dice, kernel->compute_efficiency, 1);
    kernel->bandwidth_efficiency = roll_real(dice, kernel->bandwidth_efficiency, 1);
}

static void skipped_zeros(struct ll_machine *machine, struct dice *dice)
{
    for (uint64_t i = 0; i < machine->unit_count; i++)
        if (machine->units[i].skips.of == 0)
            machine->units[i].skips = (struct ll_pattern){1, (uint32_t)roll_between(dice, 2, 8), false};
}

/* Wherever they lie. */
static void zeros_skipped_anywhere(struct ll_machine *machine, struct dice *dice)
{
    for (uint64_t i = 0; i < machine->unit_count; i++)
        if (machine->units[i].skips.of == 0 && machine->units[i].skips_unstructured == 0)
            machine->units[i].skips_unstructured = roll_between(dice, 1, 64);
}

/* In closed form blockings are chosen on an empty machine. With ports of their own another one could have
 * been better next to what earlier ops left. */
static bool choice_is_sure(const struct ll_machine *machine)
{
    for (uint64_t l = 0; l < machine->level_count; l++)
        if (ll_level_has_ports(&machine->levels[l]))
            return false;
    return true;
}

/* Of some of what is overwritten, other units have to drop copies. */
static void share_lines(struct dice *dice, struct sample *s)
{
    for (uint64_t l = 0; l < s->machine.level_count; l++) {
        if (!roll_between(dice, 0, 1))
            continue;
        s->machine.levels[l].cache.line_bytes = 64;
        s->machine.levels[l].cache.invalidation_s = roll_real(dice, 0, 1e-8);
        s->found.shared_bytes[l] = roll_real(dice, 0, (double)s->work.c_bytes);
    }
}

static void a_better_machine_is_never_slower(void **state)
{
    (void)state;
    static const struct {
        void (*improve)(struct ll_machine *machine, struct dice *dice);
        const char *text;
    } ways[] = {{more_bandwidth, "more bandwidth"},
                {faster_ports, "faster ports"},
                {nearer_nodes, "nearer nodes"},
                {larger_memory, "a larger memory"},
                {more_lanes, "more lanes"},
                {faster_special_functions, "faster special functions"},
                {higher_clock, "a higher clock"},
                {less_latency, "less latency"},
                {higher_efficiency, "higher efficiency"},
                {skipped_zeros, "skipped zeros"},
                {zeros_skipped_anywhere, "zeros skipped anywhere"},
                {more_accumulators, "more accumulators"},
                {more_macs, "more multiply-accumulates a cycle"},
                {more_power, "more power"},
                {no_limit_of_power, "no limit of power"},
                {less_energy, "less energy"},
                {unlimited_accumulators, "as many accumulators as needed"}};
    struct dice dice;
    for (uint64_t seed = first_seed; seed < first_seed + ROUNDS; seed++)
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            struct sample s = sample_of(seed, &dice);
            share_lines(&dice, &s);
            struct ll_machine better = s.machine;
            ways[i].improve(&better, &dice);
            claim(timing_of(&better, &s.work, NULL).time_s <=
                      timing_of(&s.machine, &s.work, NULL).time_s * (1 + 1e-12),
                  seed, ways[i].text);
            claim(!choice_is_sure(&s.machine) ||
                      timing_of(&better, &s.work, &s.found).time_s <=
                          timing_of(&s.machine, &s.work, &s.found).time_s * (1 + 1e-12),
                  seed, ways[i].text);
        }
}

/* What is missed is waited for in turn: no less than beside the rest, no more than all in a row. */
static void to_wait_in_turn_is_no_faster(void **state)
{
    (void)state;
    struct dice dice;
    int slower = 0;
    for (uint64_t seed = first_seed; seed < first_seed + ROUNDS; seed++) {
        struct sample s = sample_of(seed, &dice);
        struct ll_cost cost = cost_of(&s.machine, &s.work);
        struct ll_timing turns, beside;
        double row_s = cost.compute_s * (double)ll_max(cost.units_used, 1);
        cost.serial = 0;
        ll_cost_time(&s.machine, &cost, &s.found, &turns);
        for (uint64_t l = 0; l < s.machine.level_count; l++)
            s.machine.levels[l].cache.non_overlapping = false;
        ll_cost_time(&s.machine, &cost, &s.found, &beside);
        for (uint64_t l = 0; l < s.machine.level_count; l++)
            row_s += cost.level_s[l] + cost.level_wait_s[l];
        claim(turns.time_s >= beside.time_s * (1 - 1e-12), seed, "in turn faster than beside");
        claim(turns.time_s - turns.exposed_s <= row_s * (1 + 1e-12), seed, "in turn longer than in a row");
        slower += turns.time_s > beside.time_s * 1.01;
    }
    assert_true(slower > 0);
}

/* Twice as many can be used as the half. Not so of menus of tiles: the more units share the same waves, the
 * later the last of them begins. */
static void twice_the_units_are_never_slower(void **state)
{
    (void)state;
    struct dice dice;
    for (uint64_t seed = first_seed; seed < first_seed + ROUNDS; seed++) {
        struct sample s = sample_of(seed, &dice);
        struct ll_unit *unit = &s.machine.units[0];
        if (unit->model == LL_UNIT_MATRIX)
            unit->matrix.tile_count = 0;
        unit->count = roll_between(&dice, 1, 100);
        struct ll_machine more = s.machine;
        more.units[0].count <<= roll_between(&dice, 1, 5);
        claim(timing_of(&more, &s.work, NULL).time_s <=
                  timing_of(&s.machine, &s.work, NULL).time_s * (1 + 1e-12),
              seed, "more units");
    }
}

/* Whatever its software offers: the fastest is taken. */
static void nor_under_any_software(void **state)
{
    (void)state;
    void (*const ways[])(struct ll_machine * machine, struct dice * dice) = {
        more_bandwidth,    larger_memory, more_lanes, higher_clock, less_latency,
        higher_efficiency, more_macs,     more_power, better_kernel};
    struct dice dice;
    for (uint64_t seed = first_seed; seed < first_seed + ROUNDS; seed++)
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            struct sample s = sample_of(seed, &dice);
            random_software(&dice, &s.machine);
            struct ll_machine better = s.machine;
            ways[i](&better, &dice);
            struct ll_timing was = timing_of(&s.machine, &s.work, NULL),
                             is = timing_of(&better, &s.work, NULL);
            claim(ll_timing_alone_s(&is) <= ll_timing_alone_s(&was) * (1 + 1e-12), seed,
                  "a better machine under such software");
            was = timing_of(&s.machine, &s.work, &s.found);
            is = timing_of(&better, &s.work, &s.found);
            claim(!choice_is_sure(&s.machine) ||
                      ll_timing_alone_s(&is) <= ll_timing_alone_s(&was) * (1 + 1e-12),
                  seed, "a better machine under such software, next to what earlier ops left");
        }
}

static void twice_clock_and_bandwidth_without_latency_is_half_the_time(void **state)
{
    (void)state;
    struct dice dice;
    for (uint64_t seed = first_seed; seed < first_seed + ROUNDS; seed++) {
        struct sample s = sample_of(seed, &dice);
        for (uint64_t l = 0; l < s.machine.level_count; l++)
            s.machine.levels[l].latency_s = s.machine.levels[l].numa.latency_s = 0;
        struct ll_machine twice = s.machine;
        double left_w = s.machine.energy.limit_w - s.machine.energy.static_w;
        if (s.machine.energy.limit_w > 0) /* the same energy in half the time */
            twice.energy.limit_w = s.machine.energy.static_w + 2 * left_w;
        for (uint64_t i = 0; i < twice.unit_count; i++)
            twice.units[i].clock_hz *= 2;
        for (uint64_t l = 0; l < twice.level_count; l++) {
            twice.levels[l].bandwidth_Bps *= 2;
            twice.levels[l].read_Bps *= 2;
            twice.levels[l].write_Bps *= 2;
            twice.levels[l].unit_Bps *= 2;
            twice.levels[l].numa.link_Bps *= 2;
        }
        double once_s = timing_of(&s.machine, &s.work, &s.found).time_s;
        assert_near(2 * timing_of(&twice, &s.work, &s.found).time_s, once_s, 1e-12);
    }
}

/* A machine whose grain leaves n units to an op times it as a machine that has n of them, where halving its
 * own again and again comes to n. */
static void a_grain_employs_one_unit_for_each_grain_of_work(void **state)
{
    (void)state;
    struct dice dice;
    for (uint64_t seed = first_seed; seed < first_seed + ROUNDS; seed++) {
        struct sample s = sample_of(seed, &dice);
        struct ll_machine few = s.machine, all = s.machine;
        struct ll_cost cost = cost_of(&s.machine, &s.work);
        if (cost.unit == LL_NO_UNIT || s.work.kind == LL_WORK_SEQUENCE || s.work.between > 0)
            continue;
        double bytes = (double)s.work.a_bytes + (double)s.work.b_bytes + (double)s.work.c_bytes;
        double work = fmax((double)s.work.flops, bytes);
        uint64_t employed = roll_between(&dice, 1, s.machine.units[cost.unit].count);
        s.machine.units[cost.unit].count = employed << roll_between(&dice, 0, 4);
        all.units[cost.unit].count = s.machine.units[cost.unit].count;
        s.machine.software.grain = work / ((double)employed + 0.5);
        few.software.grain = all.software.grain = 0;
        few.units[cost.unit].count = employed;
        claim(work == 0 ||
                  timing_of(&s.machine, &s.work, NULL).time_s == timing_of(&few, &s.work, NULL).time_s,
              seed, "not as on a machine of as many units as there are grains");
        s.machine.software.grain = 1e-300;
        claim(work == 0 ||
                  timing_of(&s.machine, &s.work, NULL).time_s == timing_of(&all, &s.work, NULL).time_s,
              seed, "a grain below all work changes something");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_at_least_flops_over_peak_and_bytes_over_bandwidth),
        cmocka_unit_test(time_is_at_most_all_parts_in_series),
        cmocka_unit_test(traffic_is_that_of_its_operands),
        cmocka_unit_test(savings_never_slow_down),
        cmocka_unit_test(products_keep_within_the_power_of_the_board),
        cmocka_unit_test(a_better_machine_is_never_slower),
        cmocka_unit_test(to_wait_in_turn_is_no_faster),
        cmocka_unit_test(twice_the_units_are_never_slower),
        cmocka_unit_test(nor_under_any_software),
        cmocka_unit_test(a_grain_employs_one_unit_for_each_grain_of_work),
        cmocka_unit_test(twice_clock_and_bandwidth_without_latency_is_half_the_time),
    };
    first_seed = ll_seed(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
