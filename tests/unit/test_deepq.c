/* SPDX-License-Identifier: Apache-2.0 */
/* What of deepq is no network: acting, remembering, renewing the target, being judged. What every model must
 * hold is in test_model.c. */
#define _GNU_SOURCE
#include "check.h"

#include "models/fathom/deepq.h"
#include "models/nn/runner.h"
#include "tracer/format/reader.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 5, PARAMS = 9 };

/* A small network that learns slowly, so that what it thought before a step is still known after it. */
static const struct ll_setting small[] = {{"replay", "1000"},  {"channels", "2"}, {"hidden", "16"},
                                          {"paddle", "24"},    {"lives", "1"},    {"copy_every", "3"},
                                          {"exploration", "1"}};
enum { SMALL = sizeof small / sizeof *small };

struct learner {
    struct ll_nn *nn;
    struct ll_runner *runner;
    struct ll_agent *agent;
};

static struct learner begin(void)
{
    struct ll_diags diags = {0};
    int64_t values[PARAMS];
    enum ll_status status;
    const struct ll_model *model = ll_model_find("deepq");
    struct learner learner = {.nn = ll_nn_new(LL_F32)};
    assert_int_equal(model->param_count, PARAMS);
    assert_true(ll_model_settings(model, small, SMALL, values, &diags));
    struct ll_build build = {.train = true, .evaluate = true, .batch = BATCH, .seed = 3, .params = values};
    struct ll_value *loss = model->build(learner.nn, &build);
    ll_nn_keep(loss);
    learner.nn->programs[0].result = loss;
    learner.agent = learner.nn->driver.context;
    learner.runner = ll_runner_new(learner.nn, &(struct ll_runner_options){.seed = 3}, &status);
    assert_int_equal(status, LL_OK);
    return learner;
}

static void end(struct learner *learner)
{
    ll_runner_free(learner->runner);
    ll_nn_free(learner->nn);
}

static const float *row_of(const struct learner *learner, const struct ll_value *values, uint64_t row)
{
    return (const float *)ll_runner_data(learner->runner, values) + row * LL_ACTION_COUNT;
}

static double largest(const float *values)
{
    double most = (double)values[0];
    for (int i = 1; i < LL_ACTION_COUNT; i++)
        most = fmax(most, (double)values[i]);
    return most;
}

/* The formula of Mnih et al. (2015) with Fathom's largest of a row, in doubles. */
static double loss_of(double taken, const struct ll_moment *moment, double next)
{
    double reward = fmin((double)moment->reward, 1), expected = reward + (moment->last ? 0 : 0.99 * next);
    double difference = fabs(expected - fmax(taken, 0));
    return difference < 1 ? difference * difference / 2 : difference - 0.5;
}

/* Right after it was renewed, the target network is what the step began with: shown what was seen before the
 * actions, it tells what the loss was made of. */
static void the_loss_is_what_the_formula_says(void **state)
{
    (void)state;
    struct learner learner = begin();
    double next[BATCH];
    int ends = 0, scores = 0;
    for (uint64_t step = 0; step < 90; step += 3) {
        double expected = 0;
        ll_runner_step(learner.runner, step);
        for (uint64_t i = 0; i < BATCH; i++) {
            next[i] = largest(row_of(&learner, learner.agent->target_values, i));
            assert_true(learner.agent->next_values[i] == next[i]);
            learner.agent->batch[i].after = learner.agent->batch[i].before;
        }
        ll_runner_run(learner.runner, learner.agent->target_program, step);
        for (uint64_t i = 0; i < BATCH; i++) {
            const struct ll_moment *moment = &learner.agent->batch[i].moment;
            double taken = (double)row_of(&learner, learner.agent->target_values, i)[moment->action];
            expected += loss_of(taken, moment, next[i]);
            ends += moment->last;
            scores += moment->reward > 0;
        }
        assert_near(ll_runner_result(learner.runner), expected, 1e-4);
    }
    assert_true(ends > 0 && scores > 0);
    end(&learner);
}

static int count_scores(const struct ll_agent *agent)
{
    int count = 0;
    for (int i = 0; i < BATCH; i++)
        count += agent->batch[i].moment.reward > 0;
    return count;
}

/* A batch in which something was scored, again and again: what surprised is expected in the end. */
static void what_is_seen_often_surprises_no_more(void **state)
{
    (void)state;
    struct learner learner = begin();
    uint64_t step = 0;
    do
        ll_runner_step(learner.runner, step);
    while (count_scores(learner.agent) == 0 && step++ < 100);
    double first = ll_runner_result(learner.runner);
    for (int i = 0; i < 1000; i++)
        ll_runner_step(learner.runner, step);
    print_message("loss from %g to %g\n", first, ll_runner_result(learner.runner));
    assert_true(first > 0.3 && ll_runner_result(learner.runner) < 0.5 * first);
    end(&learner);
}

/* Copies of all variables whose names begin so, one after the other. */
static size_t copy_weights(const struct learner *learner, bool target, float *copy)
{
    size_t count = 0;
    for (uint64_t i = 0; i < learner->nn->value_count; i++) {
        const struct ll_value *value = learner->nn->values[i];
        if (value->producer || value->memory != LL_WEIGHT ||
            (strncmp(value->name, "target/", 7) == 0) != target)
            continue;
        size_t elements = ll_elements(&value->shape);
        memcpy(copy + count, ll_runner_data(learner->runner, value), elements * sizeof *copy);
        count += elements;
    }
    return count;
}

static void the_target_is_renewed_every_so_many_steps(void **state)
{
    (void)state;
    enum { MOST_WEIGHTS = 10000 };
    static float before[MOST_WEIGHTS], target[MOST_WEIGHTS], kept[MOST_WEIGHTS];
    struct learner learner = begin();
    size_t count = ll_nn_parameters(learner.nn);
    assert_true(count <= MOST_WEIGHTS);
    for (uint64_t step = 0; step < 10; step++) {
        assert_int_equal(copy_weights(&learner, false, before), count);
        ll_runner_step(learner.runner, step);
        assert_int_equal(copy_weights(&learner, true, target), count);
        assert_memory_equal(target, step % 3 ? kept : before, count * sizeof *target);
        memcpy(kept, target, sizeof kept);
        copy_weights(&learner, false, before);
        assert_memory_not_equal(target, before, count * sizeof *target); /* the step has learned */
    }
    end(&learner);
}

/* What the player would do now. */
static uint32_t best_action(const struct learner *learner, uint64_t step)
{
    const struct ll_game_table *playing = &learner->agent->playing;
    uint32_t best = 0;
    ll_runner_run(learner->runner, playing->program, step);
    const float *values = row_of(learner, playing->values, 0);
    while ((double)values[best] < largest(values))
        best++;
    return best;
}

/* Chance decides on one action in ten, and then takes the best one in four times all the same. A moment can
 * be remembered one step later. */
static void the_best_is_done_but_for_one_action_in_ten(void **state)
{
    (void)state;
    enum { STEPS = 1000 };
    const double share = 0.9 + 0.1 / 4;
    struct learner learner = begin();
    uint32_t best = 0, done = 0;
    for (uint64_t step = 0; step < STEPS + 2; step++) {
        uint32_t next_best = best_action(&learner, step);
        struct ll_experience memory;
        ll_runner_step(learner.runner, step);
        ll_replay_get(learner.agent->replay, ll_replay_count(learner.agent->replay) - 1, &memory);
        done += step >= 2 && memory.moment.action == best;
        best = next_best;
    }
    assert_true(fabs(done - share * STEPS) < 5 * sqrt(STEPS * share * (1 - share)));
    end(&learner);
}

static void a_step_that_is_asked_for_again_learns_from_the_same_batch(void **state)
{
    (void)state;
    struct learner learner = begin();
    struct ll_experience batch[BATCH];
    ll_runner_step(learner.runner, 0);
    uint64_t acted = learner.agent->acted;
    assert_int_equal(acted, 101); /* one more than must be remembered before anything is learned */
    memcpy(batch, learner.agent->batch, sizeof batch);
    ll_runner_step(learner.runner, 0);
    assert_memory_equal(batch, learner.agent->batch, sizeof batch);
    assert_int_equal(learner.agent->acted, acted);
    ll_runner_step(learner.runner, 1);
    assert_memory_not_equal(batch, learner.agent->batch, sizeof batch);
    assert_int_equal(learner.agent->acted, acted + 1);
    end(&learner);
}

static struct ll_run_report run(struct ll_run_options options)
{
    struct ll_diags diags = {0};
    struct ll_run_report report;
    options.settings = small;
    options.setting_count = SMALL;
    options.seed = 5;
    if (!ll_model_run(ll_model_find("deepq"), &options, &report, &diags))
        fail_msg("%s", diags.kept[0].message);
    return report;
}

static void being_judged_changes_nothing_and_repeats(void **state)
{
    (void)state;
    struct ll_run_options options = {.train = true, .batch = BATCH, .steps = 20};
    struct ll_run_report alone = run(options);
    options.evaluate = true;
    struct ll_run_report judged = run(options), again = run(options);
    assert_memory_equal(&alone.last_loss, &judged.last_loss, sizeof alone.last_loss);
    assert_int_equal(judged.after.count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(judged.after.at[i].value > 0);
        assert_true(judged.after.at[i].value == again.after.at[i].value);
    }
    assert_true(judged.after.at[1].value == judged.before.at[1].value); /* the random player learns nothing */
}

/* The strip's first frame is that of a game that has just begun. */
static void the_judged_leave_a_picture(void **state)
{
    (void)state;
    char folder[] = "deepq.XXXXXX", path[64], header[32];
    struct ll_breakout game;
    static uint8_t screen[LL_SCREEN_PIXELS], picture[64 * LL_SCREEN_PIXELS];
    int width;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/game.pgm", folder);
    run((struct ll_run_options){
        .train = true, .evaluate = true, .batch = BATCH, .steps = 2, .samples = folder});
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "P5\n%d 84\n25%1[5]", &width, header), 2);
    assert_int_equal(fgetc(file), '\n');
    assert_in_range(width, LL_SCREEN, 64 * LL_SCREEN);
    assert_int_equal(fread(picture, 1, sizeof picture, file), width * LL_SCREEN);
    fclose(file);
    ll_breakout_begin(&game,
                      &(struct ll_rules){.paddle = 24, .ball = 2, .rows = 6, .lives = 1, .frame_skip = 4}, 0);
    ll_breakout_draw(&game, screen);
    for (int y = 0; y < LL_SCREEN; y++)
        assert_memory_equal(picture + y * width, screen + y * LL_SCREEN, LL_SCREEN);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void a_folder_that_is_not_there_is_complained_about(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    struct ll_run_report report;
    struct ll_run_options options = {.train = true,
                                     .evaluate = true,
                                     .batch = BATCH,
                                     .steps = 1,
                                     .samples = "no/such/folder",
                                     .settings = small,
                                     .setting_count = SMALL};
    assert_false(ll_model_run(ll_model_find("deepq"), &options, &report, &diags));
    assert_int_equal(diags.count, 1);
    assert_string_equal(diags.kept[0].message, "no/such/folder/game.pgm: there is no such file or folder");
    ll_diags_release(&diags);
}

/* Inference acts by itself: one game, as in Fathom, unless more are asked for. */
static void inference_plays_one_game_step_by_step(void **state)
{
    (void)state;
    char path[] = "test_deepq.XXXXXX";
    struct ll_diags diags = {0};
    enum ll_status status;
    close(mkstemp(path));
    run((struct ll_run_options){.steps = 3, .path = path});
    struct ll_trace *trace = ll_trace_read(path, &diags, &status);
    assert_non_null(trace);
    assert_string_equal(ll_trace_fact(trace, "batch"), "1");
    assert_int_equal(trace->step_count, 3);
    ll_trace_free(trace);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loss_is_what_the_formula_says),
        cmocka_unit_test(what_is_seen_often_surprises_no_more),
        cmocka_unit_test(the_target_is_renewed_every_so_many_steps),
        cmocka_unit_test(the_best_is_done_but_for_one_action_in_ten),
        cmocka_unit_test(a_step_that_is_asked_for_again_learns_from_the_same_batch),
        cmocka_unit_test(being_judged_changes_nothing_and_repeats),
        cmocka_unit_test(the_judged_leave_a_picture),
        cmocka_unit_test(a_folder_that_is_not_there_is_complained_about),
        cmocka_unit_test(inference_plays_one_game_step_by_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
