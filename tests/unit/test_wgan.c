/* SPDX-License-Identifier: Apache-2.0 */
/* What of wgan and its critic is more than any model must hold (test_model.c): distances, and how often who
 * learns. */
#include "check.h"
#include "random.h"

#include "models/data/images.h"
#include "models/model.h"
#include "models/nn/nn.h"
#include "models/tbd/wgan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct ll_run_report run(const char *model, uint64_t steps, const struct ll_setting *settings,
                                size_t setting_count)
{
    struct ll_diags diags = {0};
    struct ll_run_report report;
    struct ll_run_options options = {.train = true,
                                     .evaluate = true,
                                     .batch = 8,
                                     .steps = steps,
                                     .seed = 5,
                                     .settings = settings,
                                     .setting_count = setting_count};
    if (!ll_model_run(ll_model_find(model), &options, &report, &diags))
        fail_msg("%s", diags.kept[0].message);
    return report;
}

/* Pictures and the same moved by a vector are as far apart as it is long; the best critic's estimate is
 * larger by the slope that the penalty's weight allows: 1.05 for 1, 1.6125 for 1.5. */
static void the_critic_estimates_a_known_distance(void **state)
{
    (void)state;
    skip_under_sanitizer();
    static const char *const hundredths[] = {"100", "150"};
    static const double distances[] = {1, 1.5};
    for (int i = 0; i < 2; i++) {
        const struct ll_setting settings[] = {
            {"image", "16"}, {"channels", "4"}, {"rate", "2000"}, {"distance", hundredths[i]}};
        struct ll_run_report report = run("wgan_critic", 150, settings, 4);
        double estimate = report.after.at[0].value, best = distances[i] * (1 + distances[i] / 20);
        print_message("estimated %.3f, best critic %.3f, before %.3f\n", estimate, best,
                      report.before.at[0].value);
        assert_near(report.after.at[1].value, best, 1e-9);
        assert_true(estimate > 0.85 * best && estimate < 1.1 * best);
    }
}

/* Drawings come nearer to what they are to look like. */
static void the_generator_learns_to_draw(void **state)
{
    (void)state;
    skip_under_sanitizer();
    static const struct ll_setting settings[] = {
        {"image", "16"}, {"channels", "4"}, {"critic_steps", "3"}, {"rate", "2000"}};
    struct ll_run_report report = run("wgan", 60, settings, 4);
    print_message("distance from %.3f to %.3f\n", report.before.at[0].value, report.after.at[0].value);
    assert_true(report.after.at[0].value < 0.5 * report.before.at[0].value);
}

/* Of Adam's ops: those of either network's weights. */
static uint64_t count_updates(const struct ll_nn *nn, const char *network)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < nn->op_count; i++)
        count +=
            nn->ops[i]->view.kind == LL_OP_ADAM && strncmp(nn->ops[i]->scope, network, strlen(network)) == 0;
    return count;
}

static uint64_t count_weights(const struct ll_nn *nn, const char *network)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < nn->value_count; i++)
        count += !nn->values[i]->producer && nn->values[i]->memory == LL_WEIGHT &&
                 strncmp(nn->values[i]->name, network, strlen(network)) == 0;
    return count;
}

static void the_critic_learns_five_times_while_the_generator_does_once(void **state)
{
    (void)state;
    struct ll_nn *nn = ll_nn_new(LL_F32);
    const struct ll_model *model = ll_model_find("wgan");
    int64_t values[8];
    struct ll_diags diags = {0};
    assert_true(ll_model_settings(model, NULL, 0, values, &diags));
    model->build(nn, &(struct ll_build){.train = true, .batch = 2, .seed = 1, .params = values});
    assert_null(ll_nn_trouble(nn));
    assert_int_equal(count_weights(nn, "generator/"), 42);
    assert_int_equal(count_weights(nn, "critic/"), 40);
    assert_int_equal(count_updates(nn, "generator/"), 42);
    assert_int_equal(count_updates(nn, "critic/"), 5 * 40);
    assert_int_equal(ll_nn_parameters(nn), 8540483 + 7491841);
    ll_nn_free(nn);
}

static void images_of_impossible_sizes_are_refused(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    struct ll_model_size size;
    static const char *const models[] = {"wgan", "wgan_critic"};
    for (int i = 0; i < 2; i++) {
        assert_false(ll_model_measure(ll_model_find(models[i]), (struct ll_setting[]){{"image", "40"}}, 1,
                                      &size, &diags));
        assert_non_null(strstr(diags.kept[i].message, "a multiple of 16"));
    }
    ll_diags_release(&diags);
}

/* By hand: {0, 1} and {3, 1} along the one direction there is, sorted 0 1 and 1 3: (1 + 2) / 2. */
static void sets_of_numbers_are_as_far_apart_as_sorted_pairs(void **state)
{
    (void)state;
    const float a[] = {0, 1}, b[] = {3, 1};
    assert_near(ll_sliced_distance(a, b, 2, 1), 1.5, 1e-12);
    assert_near(ll_sliced_distance(a, a, 2, 1), 0, 1e-12);
}

/* A shift of all numbers by d moves what lies along a direction u by d sum(u), of which the mean size is
 * sqrt(2 / pi) for directions that are drawn like normal numbers. */
static void a_shift_is_as_far_as_it_shows_along_directions(void **state)
{
    (void)state;
    enum { COUNT = 10, LENGTH = 300 };
    uint64_t random = ll_seed(41);
    static float a[COUNT * LENGTH], b[COUNT * LENGTH];
    for (int i = 0; i < COUNT * LENGTH; i++) {
        a[i] = (float)ll_random_below(&random, 1000) / 1000;
        b[i] = a[i] + 0.25f;
    }
    assert_near(ll_sliced_distance(a, b, COUNT, LENGTH), 0.25 * sqrt(2 / 3.14159265), 0.15);
}

/* Dark corners, a colour somewhere, the same picture for the same number. */
static void discs_are_drawn_on_a_dark_ground(void **state)
{
    (void)state;
    enum { SIZE = 20, ELEMENTS = SIZE * SIZE * LL_DISC_CHANNELS };
    float picture[ELEMENTS], again[ELEMENTS], other[ELEMENTS];
    ll_disc_draw(3, 7, SIZE, picture);
    ll_disc_draw(3, 7, SIZE, again);
    ll_disc_draw(3, 8, SIZE, other);
    assert_memory_equal(picture, again, sizeof picture);
    assert_memory_not_equal(picture, other, sizeof picture);
    int dark = 0;
    for (int i = 0; i < ELEMENTS; i++) {
        assert_true(picture[i] >= -1 && picture[i] <= 1);
        dark += picture[i] < -0.79f;
    }
    assert_in_range(dark, ELEMENTS / 2, ELEMENTS - 1);
}

/* Fewer drawings than a picture has rows make a picture of fewer rows. */
static void a_few_drawings_are_shown_too(void **state)
{
    static const struct ll_setting settings[] = {{"image", "16"}, {"channels", "1"}, {"critic_steps", "1"}};
    static const char *const sizes[] = {"16 16", "16 34", "16 52", "16 70", "16 70"}; /* gaps of 2 pixels */
    char folder[] = "/tmp/ll_wgan_XXXXXX", path[64], line[16];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/drawn.pgm", folder);
    for (uint64_t batch = 1; batch <= 5; batch++) {
        struct ll_diags diags = {0};
        struct ll_run_report report;
        struct ll_run_options options = {.train = true,
                                         .evaluate = true,
                                         .samples = folder,
                                         .batch = batch,
                                         .steps = 1,
                                         .settings = settings,
                                         .setting_count = 3};
        assert_true(ll_model_run(ll_model_find("wgan"), &options, &report, &diags));
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        assert_true(fgets(line, sizeof line, file) && fgets(line, sizeof line, file));
        assert_true(strncmp(line, sizes[batch - 1], strlen(sizes[batch - 1])) == 0);
        fclose(file);
    }
    remove(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_critic_estimates_a_known_distance),
        cmocka_unit_test(the_generator_learns_to_draw),
        cmocka_unit_test(the_critic_learns_five_times_while_the_generator_does_once),
        cmocka_unit_test(images_of_impossible_sizes_are_refused),
        cmocka_unit_test(sets_of_numbers_are_as_far_apart_as_sorted_pairs),
        cmocka_unit_test(a_shift_is_as_far_as_it_shows_along_directions),
        cmocka_unit_test(discs_are_drawn_on_a_dark_ground),
        cmocka_unit_test(a_few_drawings_are_shown_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
