/* SPDX-License-Identifier: Apache-2.0 */
/* Where the software wants the least energy (`objective: energy`), more room, faster ports and more
 * accumulators never cost any, since a mapping may leave them unused; where it wants the least time, they
 * never do without making something faster. Each access takes as much as ever, however large its memory, and
 * static power flows as long as an op takes. A failure prints the seed that shows it. */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost.h"

enum { ROUNDS = 6000 / ONE_IN };

/* Figures for each level, and static power that matters for some. */
static void give_energy(struct dice *dice, struct ll_machine *machine)
{
    machine->energy_given = true;
    machine->energy =
        (struct ll_energy){.mac_j[LL_F32] = roll_real(dice, 0, 1e-11),
                           .static_w = roll_between(dice, 0, 1) ? pow(10, roll_real(dice, -4, 2)) : 0};
    for (uint64_t l = 0; l < machine->level_count; l++)
        machine->energy.level_j_per_byte[l] = pow(10, roll_real(dice, -13, -10));
}

struct sample {
    struct ll_machine machine;
    struct ll_work work;
};

static struct sample sample_of(uint64_t seed, struct dice *dice, enum ll_objective objective)
{
    *dice = (struct dice){seed};
    struct sample s = {.machine = random_machine(dice)};
    give_energy(dice, &s.machine);
    for (uint64_t l = 0; l < s.machine.level_count; l++) {
        struct ll_level *level = &s.machine.levels[l];
        level->size_bytes += 1024; /* in a few bytes no search is complete */
        /* What blocks in private memories bring more often past them is weighed by bytes
         * (sim/cost/README.md). */
        level->holds_given &= level->scope == LL_SCOPE_DEVICE;
    }
    do {
        s.work = random_work(dice);
    } while (!ll_is_gemm(&s.work));
    /* A search cuts tiles of convolutions evenly, which need not hold the optimum (sim/cost/README.md). */
    s.machine.software.mapping =
        roll_between(dice, 0, 1) && s.work.kind != LL_WORK_CONV ? LL_MAPPED_SEARCH : LL_MAPPED_CLOSED_FORM;
    s.machine.software.objective = objective;
    return s;
}

struct taken {
    double time_s, energy_j;
};

static struct taken taken_by(const struct ll_machine *machine, const struct ll_work *work)
{
    struct ll_cost cost;
    struct ll_timing timing;
    const char *trouble;
    assert_true(ll_cost_op(machine, LL_OP_MATMUL, work, &cost, &trouble));
    ll_cost_time(machine, &cost, NULL, &timing);
    double time_s = ll_timing_alone_s(&timing);
    return (struct taken){time_s, ll_cost_compute_j(machine, work, &cost) +
                                      ll_cost_moving_j(machine, &cost, NULL) +
                                      ll_machine_static_w(machine) * time_s};
}

static struct ll_level *any_level(struct ll_machine *machine, struct dice *dice)
{
    return &machine->levels[roll_between(dice, 0, machine->level_count - 1)];
}

static void larger_memory(struct ll_machine *machine, struct dice *dice)
{
    struct ll_level *level = any_level(machine, dice);
    level->size_bytes += roll_size(dice, 4 * level->size_bytes);
}

static void more_bandwidth(struct ll_machine *machine, struct dice *dice)
{
    any_level(machine, dice)->bandwidth_Bps *= roll_real(dice, 1, 4);
}

static void faster_ports(struct ll_machine *machine, struct dice *dice)
{
    struct ll_level *level = any_level(machine, dice);
    level->read_Bps *= roll_real(dice, 1, 4);
    level->write_Bps *= roll_real(dice, 1, 4);
}

/* NULL where a unit has none. */
static uint64_t *accumulators_of(struct ll_unit *unit)
{
    return unit->model == LL_UNIT_SYSTOLIC  ? &unit->systolic.accumulators
           : unit->model == LL_UNIT_SPATIAL ? &unit->spatial.accumulators
                                            : NULL;
}

static void more_accumulators(struct ll_machine *machine, struct dice *dice)
{
    uint64_t *accumulators = accumulators_of(&machine->units[0]);
    if (accumulators && *accumulators)
        *accumulators += roll_size(dice, 1 << 16);
}

static void unlimited_accumulators(struct ll_machine *machine, struct dice *dice)
{
    (void)dice;
    uint64_t *accumulators = accumulators_of(&machine->units[0]);
    if (accumulators)
        *accumulators = 0;
}

static const struct {
    void (*improve)(struct ll_machine *machine, struct dice *dice);
    const char *text;
} ways[] = {{larger_memory, "a larger memory"},
            {more_bandwidth, "more bandwidth"},
            {faster_ports, "faster ports"},
            {more_accumulators, "more accumulators"},
            {unlimited_accumulators, "as many accumulators as needed"}};

static void more_of_anything_never_costs_energy(void **state)
{
    (void)state;
    uint64_t first = ll_seed(1);
    for (uint64_t seed = first; seed < first + ROUNDS; seed++)
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            struct dice dice;
            struct sample s = sample_of(seed, &dice, LL_OBJECTIVE_ENERGY);
            struct ll_machine better = s.machine;
            ways[i].improve(&better, &dice);
            struct taken was = taken_by(&s.machine, &s.work), is = taken_by(&better, &s.work);
            claim(is.energy_j <= was.energy_j * (1 + 1e-12), seed, ways[i].text);
        }
}

static void nor_without_saving_time(void **state)
{
    (void)state;
    uint64_t first = ll_seed(1);
    for (uint64_t seed = first; seed < first + ROUNDS; seed++)
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            struct dice dice;
            struct sample s = sample_of(seed, &dice, LL_OBJECTIVE_TIME);
            struct ll_machine better = s.machine;
            ways[i].improve(&better, &dice);
            struct taken was = taken_by(&s.machine, &s.work), is = taken_by(&better, &s.work);
            claim(is.time_s <= was.time_s * (1 + 1e-12), seed, ways[i].text);
            claim(is.time_s != was.time_s || is.energy_j <= was.energy_j * (1 + 1e-12), seed, ways[i].text);
        }
}

static void no_objective_beats_the_one_that_is_asked_for(void **state)
{
    (void)state;
    uint64_t first = ll_seed(1);
    for (uint64_t seed = first; seed < first + ROUNDS; seed++) {
        struct dice dice;
        struct sample s = sample_of(seed, &dice, LL_OBJECTIVE_TIME);
        struct taken fast = taken_by(&s.machine, &s.work);
        s.machine.software.objective = LL_OBJECTIVE_ENERGY;
        struct taken frugal = taken_by(&s.machine, &s.work);
        claim(frugal.energy_j <= fast.energy_j * (1 + 1e-12), seed, "less energy by wanting less time");
        claim(fast.time_s <= frugal.time_s * (1 + 1e-12), seed, "less time by wanting less energy");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_of_anything_never_costs_energy),
        cmocka_unit_test(nor_without_saving_time),
        cmocka_unit_test(no_objective_beats_the_one_that_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
