/* SPDX-License-Identifier: Apache-2.0 */
/* Detectors learn to find what is drawn on images that they have not seen. */
#include "check.h"

#include "models/model.h"

#include <string.h>

/* Their training recipe, but fewer steps; the share of shapes found and the precision that they must
 * reach. */
static void learns_to_find(const char *name, uint64_t steps, double recall, double precision)
{
    const struct ll_model *model = ll_model_find(name);
    struct ll_diags diags = {0};
    struct ll_run_report report;
    struct ll_run_options options = {.train = true,
                                     .evaluate = true,
                                     .batch = model->recipe.batch,
                                     .steps = steps,
                                     .seed = 1,
                                     .settings = model->recipe.settings};
    while (options.setting_count < LL_MOST_RECIPE_SETTINGS &&
           model->recipe.settings[options.setting_count].key)
        options.setting_count++;
    assert_true(ll_model_run(model, &options, &report, &diags));
    assert_int_equal(report.after.count, 2);
    assert_string_equal(report.after.at[0].name, "average_precision");
    if (report.after.at[0].value < precision || report.after.at[1].value < recall)
        fail_msg("%s: precision %g, recall %g", name, report.after.at[0].value, report.after.at[1].value);
    assert_true(report.before.at[0].value < precision / 2);
}

static void retinanet_finds_what_is_drawn(void **state)
{
    (void)state;
    learns_to_find("retinanet", 500, 0.9, 0.5);
}

static void faster_rcnn_finds_what_is_drawn(void **state)
{
    (void)state;
    learns_to_find("faster_rcnn", 300, 0.8, 0.25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retinanet_finds_what_is_drawn),
        cmocka_unit_test(faster_rcnn_finds_what_is_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
