/* SPDX-License-Identifier: Apache-2.0 */
/* What of a3c is no network: playing many games, returns, adding gradients up. What every model must hold is
 * in test_model.c. */
#include "check.h"

#include "models/nn/runner.h"
#include "models/tbd/a3c.h"

#include <string.h>

enum { GAMES = 5, TURNS = 4, PARAMS = 9 };

static const struct ll_setting small[] = {{"channels", "2"}, {"hidden", "16"}, {"paddle", "24"},
                                          {"ball", "4"},     {"lives", "1"},   {"rate", "1000"}};
enum { SMALL = sizeof small / sizeof *small };

struct learner {
    struct ll_nn *nn;
    struct ll_runner *runner;
    struct ll_actors *actors;
};

static struct learner begin(void)
{
    struct ll_diags diags = {0};
    int64_t values[PARAMS];
    enum ll_status status;
    const struct ll_model *model = ll_model_find("a3c");
    struct learner learner = {.nn = ll_nn_new(LL_F32)};
    assert_int_equal(model->param_count, PARAMS);
    assert_true(ll_model_settings(model, small, SMALL, values, &diags));
    struct ll_value *loss = model->build(
        learner.nn, &(struct ll_build){.train = true, .batch = GAMES, .seed = 3, .params = values});
    ll_nn_keep(loss);
    learner.nn->programs[0].result = loss;
    learner.actors = learner.nn->driver.context;
    learner.runner = ll_runner_new(learner.nn, &(struct ll_runner_options){.seed = 3}, &status);
    assert_int_equal(status, LL_OK);
    return learner;
}

static void end(struct learner *learner)
{
    ll_runner_free(learner->runner);
    ll_nn_free(learner->nn);
}

/* The sum over the turns that follow, up to the game's end, of what each scored, discounted; behind the last
 * turn what the next moment is worth, which the acting program said last and still says. */
static double dumb_return(const struct ll_actors *actors, double behind, int turn, int game)
{
    double sum = 0, factor = 1;
    for (int t = turn; t < TURNS; t++) {
        sum += factor * (double)actors->rewards[t * GAMES + game];
        if (actors->ends[t * GAMES + game] > 0)
            return sum;
        factor *= actors->options.discount;
    }
    return sum + factor * behind;
}

static void returns_are_discounted_sums_of_rewards(void **state)
{
    (void)state;
    struct learner learner = begin();
    const struct ll_actors *actors = learner.actors;
    int ends = 0, scores = 0;
    for (uint64_t step = 0; step < 60; step++) {
        ll_runner_step(learner.runner, step);
        for (int game = 0; game < GAMES; game++)
            for (int turn = 0; turn < TURNS; turn++) {
                int i = turn * GAMES + game;
                double behind = ll_runner_element(learner.runner, actors->playing.worth, (uint64_t)game);
                double expected = dumb_return(actors, behind, turn, game);
                assert_true(fabs((double)actors->returns[i] - expected) < 1e-5);
                assert_true(fabs((double)actors->advantages[i] - (expected - (double)actors->worths[i])) <
                            1e-5);
                assert_in_range(actors->actions[i], 0, LL_ACTION_COUNT - 1);
                ends += actors->ends[i] > 0;
                scores += actors->rewards[i] > 0;
            }
    }
    assert_true(ends > 0 && scores > 0);
    end(&learner);
}

/* At first all actions are about equally likely, whatever is seen: log 4 of surprise and of entropy. */
static void the_loss_is_what_the_formula_says(void **state)
{
    (void)state;
    struct learner learner = begin();
    const struct ll_actors *actors = learner.actors;
    double expected = 0;
    ll_runner_step(learner.runner, 0);
    double loss = ll_runner_result(learner.runner);
    for (int i = 0; i < TURNS * GAMES; i++) {
        double error = (double)actors->advantages[i];
        expected += error * log(4) + error * error / 2 - 0.08 * log(4);
    }
    assert_true(fabs(loss - expected) < 0.05 * TURNS * GAMES * 0.08 * log(4) + 0.05 * fabs(expected));
    end(&learner);
}

static void a_step_that_is_asked_for_again_learns_from_the_same_turns(void **state)
{
    (void)state;
    struct learner learner = begin();
    float returns[TURNS * GAMES];
    ll_runner_step(learner.runner, 0);
    assert_int_equal(learner.actors->acted, TURNS * GAMES);
    memcpy(returns, learner.actors->returns, sizeof returns);
    ll_runner_step(learner.runner, 0);
    assert_int_equal(learner.actors->acted, TURNS * GAMES);
    assert_memory_equal(returns, learner.actors->returns, sizeof returns);
    ll_runner_step(learner.runner, 1);
    assert_int_equal(learner.actors->acted, 2 * TURNS * GAMES);
    end(&learner);
}

/* One update a step: four gradients of each weight, three sums. */
static void gradients_of_all_turns_are_added_up_before_one_update(void **state)
{
    (void)state;
    struct learner learner = begin();
    uint64_t updates = 0, filters = 0;
    for (uint64_t i = 0; i < ll_nn_program_ops(learner.nn, 0); i++) {
        updates += learner.nn->ops[i]->view.kind == LL_OP_ADAM;
        filters += learner.nn->ops[i]->view.kind == LL_OP_CONV2D_FILTER;
    }
    assert_int_equal(updates, 10);
    assert_int_equal(filters, 2 * TURNS);
    end(&learner);
}

static struct ll_run_report run(uint64_t steps, bool evaluate)
{
    struct ll_diags diags = {0};
    struct ll_run_report report;
    const struct ll_model *model = ll_model_find("a3c");
    struct ll_run_options options = {.train = true,
                                     .evaluate = evaluate,
                                     .batch = 16,
                                     .steps = steps,
                                     .seed = 1,
                                     .settings = small,
                                     .setting_count = SMALL};
    if (!ll_model_run(model, &options, &report, &diags))
        fail_msg("%s", diags.kept[0].message);
    return report;
}

/* The same turns over and over: what their returns are is known in the end, and what turned out better than
 * expected at first is done. `leadline train a3c` learns to play, which takes longer. */
static void what_came_of_the_same_turns_is_learned(void **state)
{
    (void)state;
    struct learner learner = begin();
    uint64_t step = 0;
    const struct ll_actors *actors = learner.actors;
    double scores = 0;
    while (scores < 1 && step < 100) {
        scores = 0;
        ll_runner_step(learner.runner, step++);
        for (int i = 0; i < TURNS * GAMES; i++)
            scores += (double)actors->rewards[i];
    }
    for (int i = 0; i < 300; i++)
        ll_runner_step(learner.runner, step - 1);
    double policy = 0, first = TURNS * GAMES * log(4), loss = ll_runner_result(learner.runner);
    for (int i = 0; i < TURNS * GAMES; i++)
        policy += (double)actors->advantages[i] * log(4);
    print_message("loss from about %g to %g\n", policy - 0.08 * first, loss);
    assert_true(scores >= 1 && loss < policy - 0.08 * first - 1);
    end(&learner);
}

static void being_judged_changes_nothing(void **state)
{
    (void)state;
    struct ll_run_report alone = run(5, false), judged = run(5, true);
    assert_memory_equal(&alone.last_loss, &judged.last_loss, sizeof alone.last_loss);
    assert_true(judged.after.at[1].value == judged.before.at[1].value); /* who draws all learns nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returns_are_discounted_sums_of_rewards),
        cmocka_unit_test(the_loss_is_what_the_formula_says),
        cmocka_unit_test(a_step_that_is_asked_for_again_learns_from_the_same_turns),
        cmocka_unit_test(gradients_of_all_turns_are_added_up_before_one_update),
        cmocka_unit_test(what_came_of_the_same_turns_is_learned),
        cmocka_unit_test(being_judged_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
