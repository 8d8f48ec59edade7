/* SPDX-License-Identifier: Apache-2.0 */
/* Goodput: intervals against the equation that they solve and Daly's own examples, shares against a play
 * of the events. */
#include "check.h"

#include <math.h>

#include "sim/parallel/goodput.h"

/* The derivative of the wall time vanishes where e^((tau + delta) / M) (1 - tau / M) = 1. */
static void the_best_interval_solves_its_equation(void **state)
{
    (void)state;
    for (double delta = 1e-7; delta < 1e3; delta *= 3) {
        double tau = ll_best_interval_s(1, delta), near = tau * 1e-6;
        double above = (tau + near + delta) + log1p(-fmin(tau + near, 1 - 1e-16)),
               below = (tau - near + delta) + log1p(-(tau - near));
        assert_true(tau > 0 && tau <= 1);
        if (tau < 1 - 1e-9 && tau > 1e-3) /* beyond, the logarithm itself has no more digits */
            assert_true(above < 0 && below > 0);
    }
    /* tau^2 / 2 + tau^3 / 3 = delta: the first terms of the series, by hand */
    assert_near(ll_best_interval_s(1, 0.5e-8 + 1e-12 / 3), 1e-4, 1e-8);
}

/* Daly (2006), figures 3 to 5: checkpoints of 5 minutes, interruptions every 24 h, 6 h and 15 min. */
static void daly_is_as_in_his_examples(void **state)
{
    static const double mean_min[] = {24 * 60, 6 * 60, 15}, daly_min[] = {116.7, 56.7, 9.14};
    (void)state;
    for (int i = 0; i < 3; i++) {
        double daly = ll_daly_interval_s(mean_min[i] * 60, 300) / 60;
        assert_near(daly, daly_min[i], 1e-3);
        assert_near(daly, ll_best_interval_s(mean_min[i] * 60, 300) / 60, 5e-3);
    }
    assert_near(ll_best_interval_s(15 * 60, 300) / 60, 9.17, 1e-3);
    assert_near(ll_young_interval_s(24 * 3600, 300), sqrt(2 * 300 * 24 * 3600.), 1e-12);
}

static const struct ll_interruptions llama = {
    .mean_s = 54 * 86400. / 466, .checkpoint_s = 12, .restart_s = 300};

/* Llama 3 405B: 466 interruptions in 54 days (Grattafiori et al., 2024, table 5). */
static void closed_form_and_simulation_agree(void **state)
{
    struct ll_interruptions job = llama;
    (void)state;
    job.interval_s = ll_best_interval_s(job.mean_s, job.checkpoint_s);
    double share = ll_effective_time_share(&job);
    struct ll_goodput_run run = ll_goodput_simulate(&job, 54 * 86400., 16, 1);
    assert_true(fabs(run.effective_time_share - share) < 0.005);
    assert_true(share > 0.9);
    assert_near(run.interruptions, 466, 0.05);
    double spent_s =
        run.effective_time_share * 54 * 86400 + run.checkpoint_s + run.restart_s + run.repeated_s;
    assert_near(spent_s, 54 * 86400., 1e-9);
}

/* The share is flat around its best; found on a grid it is within a few hundredths of the exact
 * interval's. */
static void the_simulated_optimum_is_the_best_interval(void **state)
{
    struct ll_interruptions job = {.mean_s = 3600, .checkpoint_s = 120, .restart_s = 60};
    const double best_s = ll_best_interval_s(job.mean_s, job.checkpoint_s);
    double sum = 0, weighted = 0, share[5];
    (void)state;
    for (int i = 0; i < 5; i++) {
        job.interval_s = best_s * (0.5 + 0.25 * i);
        share[i] = ll_goodput_simulate(&job, 30 * 86400., 64, 3).effective_time_share;
    }
    /* a parabola through three points in the logarithm of the interval */
    const double x0 = log(0.5), x1 = 0, x2 = log(1.5), y0 = share[0], y1 = share[2], y2 = share[4];
    sum = (y0 - y1) * (x2 - x1) - (y2 - y1) * (x0 - x1);
    weighted = (y0 - y1) * (x2 - x1) * (x2 + x1) - (y2 - y1) * (x0 - x1) * (x0 + x1);
    assert_true(fabs(weighted / (2 * sum)) < 0.1);
    assert_true(share[2] > share[0] && share[2] > share[4]);
}

/* What is lost more can only cost more. */
static void slower_checkpoints_and_restarts_cost_time(void **state)
{
    struct ll_interruptions job = llama;
    (void)state;
    job.interval_s = 600;
    double before = ll_effective_time_share(&job);
    job.durable_s = 60;
    double later = ll_effective_time_share(&job);
    assert_true(later < before);
    assert_true(fabs(ll_goodput_simulate(&job, 54 * 86400., 16, 1).effective_time_share - later) < 0.01);
    job.lost_share = 0.1;
    job.durable_interval_s = 7200;
    job.durable_restart_s = 900;
    double tiers = ll_effective_time_share(&job);
    assert_true(tiers < later);
    assert_true(fabs(ll_goodput_simulate(&job, 54 * 86400., 16, 1).effective_time_share - tiers) < 0.01);
}

/* Without spares the sum is that of a Poisson law's 1 / (k + 1): (1 - e^-a) / a; a spare takes its first
 * term. Many of them leave nothing, and with no repair nobody waits. */
static void spares_shorten_the_wait_for_repairs(void **state)
{
    (void)state;
    for (double a = 1e-3; a < 300; a *= 3) {
        double none = -expm1(-a) / a;
        assert_near(ll_spare_wait_s(100, 100 * a, 0), 100 * a * none, 1e-9);
        assert_near(ll_spare_wait_s(100, 100 * a, 1), 100 * a * (none - exp(-a)), 1e-6);
        assert_true(ll_spare_wait_s(100, 100 * a, 2 * a + 60) < 1e-9);
    }
    assert_true(ll_spare_wait_s(100, 0, 0) == 0);
    assert_near(ll_spare_wait_s(1, 1e12, 0), 1, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_interval_solves_its_equation),
        cmocka_unit_test(daly_is_as_in_his_examples),
        cmocka_unit_test(closed_form_and_simulation_agree),
        cmocka_unit_test(the_simulated_optimum_is_the_best_interval),
        cmocka_unit_test(slower_checkpoints_and_restarts_cost_time),
        cmocka_unit_test(spares_shorten_the_wait_for_repairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
