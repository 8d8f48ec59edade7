/* SPDX-License-Identifier: Apache-2.0 */
/* Laws of tables of measured kernels, on random machines, works and tables: whatever was measured, no op
 * beats the peaks, and no op becomes slower on a better machine. */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost.h"

enum { ROUNDS = 8000 / ONE_IN, POINTS = 5 };

static uint64_t first_seed;

struct sample {
    struct ll_machine machine;
    struct ll_work work;
    struct ll_arena arena;
};

/* Some sides of a work double or half. */
static struct ll_work near_work(struct dice *dice, const struct ll_work *work)
{
    struct ll_work near = *work;
    if (work->kind == LL_WORK_GEMM && roll_between(dice, 0, 2)) {
        near.gemm.m = ll_max(1, near.gemm.m * roll_between(dice, 1, 4) / 2);
        near.gemm.k = ll_max(1, near.gemm.k * roll_between(dice, 1, 4) / 2);
    }
    return near;
}

static void begin(struct sample *s, uint64_t seed, struct dice *dice)
{
    struct ll_kernel_point points[POINTS];
    *dice = (struct dice){seed};
    *s = (struct sample){.machine = random_machine(dice)};
    random_software(dice, &s->machine);
    s->work = random_work(dice);
    for (int i = 0; i < POINTS; i++)
        points[i] = (struct ll_kernel_point){LL_OP_MATMUL, near_work(dice, &s->work),
                                             pow(10, roll_real(dice, -3, 3)), (unsigned)i};
    s->machine.table = ll_kernel_table_new(&s->machine, points, POINTS, &s->arena);
    assert_non_null(s->machine.table);
}

static struct ll_timing timing_of(const struct ll_machine *machine, const struct ll_work *work,
                                  struct ll_cost *cost)
{
    struct ll_timing timing;
    const char *trouble;
    assert_true(ll_cost_op(machine, LL_OP_MATMUL, work, cost, &trouble));
    ll_cost_time(machine, cost, NULL, &timing);
    return timing;
}

static void no_op_beats_the_peaks(void **state)
{
    (void)state;
    struct dice dice;
    uint64_t held = 0;
    for (uint64_t seed = first_seed; seed < first_seed + ROUNDS; seed++) {
        struct sample s;
        struct ll_cost cost;
        begin(&s, seed, &dice);
        const struct ll_timing timing = timing_of(&s.machine, &s.work, &cost);
        const struct ll_unit *unit = &s.machine.units[cost.unit];
        double peak =
            ll_unit_flops_per_cycle(unit, (enum ll_dtype)s.work.dtype) * (double)unit->count * unit->clock_hz;
        double time_s = timing.time_s * (1 + 1e-12);
        bool plain = s.work.kind != LL_WORK_SEQUENCE;
        claim(!plain || time_s >= fmin(1, cost.made) * (double)s.work.flops / peak, seed,
              "faster than the peak");
        claim(timing.exposed_s <= time_s, seed, "more exposed than there is");
        double bytes = ll_kernel_least_bytes(&s.work);
        claim(time_s >= bytes / s.machine.levels[s.machine.level_count - 1].bandwidth_Bps /
                            (double)ll_machine_instances(&s.machine, s.machine.level_count - 1),
              seed, "faster than the outermost memory");
        held += timing.time_s != timing.model_s;
        ll_arena_release(&s.arena);
    }
    assert_true(held > ROUNDS / 4); /* the table had its say */
}

static void a_better_machine_is_never_slower(void **state)
{
    (void)state;
    struct dice dice;
    for (uint64_t seed = first_seed; seed < first_seed + ROUNDS; seed++) {
        struct sample s;
        struct ll_cost cost;
        begin(&s, seed, &dice);
        double before_s = timing_of(&s.machine, &s.work, &cost).time_s;
        struct ll_machine better = s.machine;
        struct ll_level *level = &better.levels[roll_between(&dice, 0, better.level_count - 1)];
        if (roll_between(&dice, 0, 1))
            level->bandwidth_Bps *= roll_real(&dice, 1, 4);
        else
            level->size_bytes += roll_size(&dice, 4 * level->size_bytes);
        claim(timing_of(&better, &s.work, &cost).time_s <= before_s * (1 + 1e-12), seed, "slower for more");
        ll_arena_release(&s.arena);
    }
}

int main(void)
{
    first_seed = ll_seed(1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_op_beats_the_peaks),
                                       cmocka_unit_test(a_better_machine_is_never_slower)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
