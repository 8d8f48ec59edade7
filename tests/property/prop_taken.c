/* SPDX-License-Identifier: Apache-2.0 */
/* The laws of exchanges that keep units busy, on random traces, plans and machines. A law that fails prints
 * its seed. */
#include "check.h"

#include "random_machine.h"
#include "scene.h"
#include "sim/parallel/parallel.h"
#include "toy_trace.h"

enum { CASES = 60 };

static uint64_t seed; /* of the first case */

/* What one of some replicas does in a step, on a random machine with such a network. */
struct step {
    struct scene scene;
    struct ll_spread *spread;
    const struct ll_prepared *prepared;
};

static const char *random_network(uint64_t *random, struct ll_arena *arena, const char *shares[2])
{
    const char *written[2];
    for (int i = 0; i < 2; i++)
        written[i] = shares[i] ? ll_format(arena, ", units_taken: %s", shares[i]) : "";
    return ll_format(
        arena,
        "network:\n"
        "  - {name: inside, topology: switch, devices: 4, bandwidth: %.4gGB/s, latency: 1us%s}\n"
        "  - {name: outside, topology: switch, devices: 4, bandwidth: %.4gGB/s, latency: 5us%s}\n",
        ll_epilogue(random, 0.1, 100), written[0], ll_epilogue(random, 0.01, 10), written[1]);
}

/* Replicas, shared states, groups of replicas that share, buckets, exchanges beside what is computed. */
static struct ll_parallel random_plan(uint64_t *random)
{
    struct ll_parallel plan = ll_plan_of_one();
    plan.data = (uint64_t)2 << ll_random_below(random, 4);
    plan.zero = ll_random_below(random, 4);
    plan.overlap = true;
    plan.bucket_bytes = ll_random_below(random, 1 << 18);
    plan.micro_batch = 1;
    plan.batch = plan.data;
    return plan;
}

/* Shares as texts, NULL: the key is not there. The same i, the same all else. */
static struct step open_step(uint64_t i, const char *inside, const char *outside)
{
    struct step step = {0};
    struct ll_arena texts = {0};
    uint64_t random = seed + i;
    struct ll_parallel plan = random_plan(&random);
    const char *machine = ll_random_machine(&random, &texts, "none");
    const char *yaml = ll_format(&texts, "%s%s", machine,
                                 random_network(&random, &texts, (const char *[]){inside, outside}));
    step.scene = open_scene(toy_trace(seed + i), yaml);
    step.spread = ll_spread_trace(step.scene.trace, &plan, 16, &step.scene.diags);
    assert_non_null(step.spread);
    step.prepared = step.spread->programs[0].prepared;
    step.scene.result = ll_replay(step.prepared, step.scene.machine, &step.scene.arena, &step.scene.diags);
    assert_non_null(step.scene.result);
    ll_arena_release(&texts);
    return step;
}

static void close_step(struct step *step)
{
    ll_spread_free(step->spread);
    close_scene(&step->scene);
}

static double again_s(struct step *step)
{
    const struct ll_result *result =
        ll_replay(step->prepared, step->scene.machine, &step->scene.arena, &step->scene.diags);
    assert_non_null(result);
    return result->time_s;
}

static double taken_s(const struct step *step)
{
    double sum_s = 0;
    for (uint32_t i = 0; i < step->prepared->end_op - step->prepared->first_op; i++)
        sum_s += step->scene.result->ops[i].taken_s;
    return sum_s;
}

/* Some op of some case is slowed, or the laws below say nothing. */
static void there_are_ops_that_are_slowed(void **state)
{
    (void)state;
    uint32_t slowed = 0;
    for (uint64_t i = 0; i < CASES; i += ONE_IN) {
        struct step step = open_step(i, "0.3", "0.1");
        slowed += taken_s(&step) > 0;
        close_step(&step);
    }
    assert_true(slowed * 4 * ONE_IN > CASES);
}

static void no_share_changes_no_bit(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < CASES; i += ONE_IN) {
        struct step without = open_step(i, NULL, NULL), none = open_step(i, "0", "0");
        const struct ll_result *a = without.scene.result, *b = none.scene.result;
        size_t size = (without.prepared->end_op - without.prepared->first_op) * sizeof *a->ops;
        assert_memory_equal(a->ops, b->ops, size);
        assert_memory_equal(a->shares, b->shares, sizeof a->shares);
        assert_near(taken_s(&none), 0, 0);
        close_step(&without);
        close_step(&none);
    }
}

static void a_larger_share_is_never_faster(void **state)
{
    (void)state;
    uint64_t random = seed;
    for (uint64_t i = 0; i < CASES; i += ONE_IN) {
        struct step step = open_step(i, "0", "0");
        double before_s = step.scene.result->time_s;
        for (int more = 0; more < 6; more++) {
            double *share = &step.scene.machine->networks[ll_random_below(&random, 2)].units_taken;
            *share += (0.99 - *share) * ((double)ll_random_below(&random, 1000) / 1000);
            double time_s = again_s(&step);
            assert_true(time_s >= before_s * (1 - 1e-12));
            before_s = time_s;
        }
        close_step(&step);
    }
}

static void a_faster_network_is_never_slower(void **state)
{
    (void)state;
    uint64_t random = seed;
    for (uint64_t i = 0; i < CASES; i += ONE_IN) {
        struct step step = open_step(i, "0.6", ll_random_below(&random, 2) ? "0.8" : "0.1");
        double before_s = step.scene.result->time_s;
        for (int more = 0; more < 6; more++) {
            step.scene.machine->networks[ll_random_below(&random, 2)].bandwidth_Bps *= 1.7;
            double time_s = again_s(&step);
            assert_true(time_s <= before_s * (1 + 1e-12));
            before_s = time_s;
        }
        close_step(&step);
    }
}

/* A knob of the network never costs anything. With more of something else software may choose a way that is
 * quicker alone and leans on units more: that costs no more than all of an op's time going by at what is left
 * of them. */
static void more_of_anything_costs_at_most_what_exchanges_take(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < CASES; i += ONE_IN) {
        struct step step = open_step(i, "0.6", "0.3");
        size_t count, without = 0;
        const struct ll_gain *gains =
            ll_what_if(step.scene.result, &step.scene.remembered, &step.scene.arena, &count);
        assert_non_null(gains);
        for (size_t g = 0; g < count; g++) {
            bool network = strncmp(gains[g].knob.path, "network.", strlen("network.")) == 0;
            if (gains[g].speedup < (network ? 1 : 1 - 0.6) - 1e-12)
                fail_msg("%s: %.17g", gains[g].knob.path, gains[g].speedup);
            without += strstr(gains[g].knob.path, ".units_taken") != NULL;
        }
        assert_int_equal(without, 2);
        close_step(&step);
    }
}

static void shares_sum_to_one(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < CASES; i += ONE_IN) {
        struct step step = open_step(i, "0.6", "0.3");
        const struct ll_result *result = step.scene.result;
        double sum = 0, levels = 0;
        for (unsigned b = 0; b < LL_BOUND_COUNT; b++) {
            assert_true(result->shares[b] >= -1e-12);
            sum += result->shares[b];
        }
        for (unsigned l = 0; l < LL_MAX_LINKS; l++)
            levels += result->network.levels[l].share;
        assert_near(sum, 1, 1e-12);
        assert_near(levels, result->shares[LL_BOUND_NETWORK], 1e-9);
        close_step(&step);
    }
}

static void two_replays_are_equal_bit_for_bit(void **state)
{
    (void)state;
    struct step one = open_step(0, "0.6", "0.3"), two = open_step(0, "0.6", "0.3");
    size_t size = (one.prepared->end_op - one.prepared->first_op) * sizeof *one.scene.result->ops;
    assert_memory_equal(one.scene.result->ops, two.scene.result->ops, size);
    close_step(&one);
    close_step(&two);
}

int main(void)
{
    seed = ll_seed(20231112);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_are_ops_that_are_slowed),
        cmocka_unit_test(no_share_changes_no_bit),
        cmocka_unit_test(a_larger_share_is_never_faster),
        cmocka_unit_test(a_faster_network_is_never_slower),
        cmocka_unit_test(more_of_anything_costs_at_most_what_exchanges_take),
        cmocka_unit_test(shares_sum_to_one),
        cmocka_unit_test(two_replays_are_equal_bit_for_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
