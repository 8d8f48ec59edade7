/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/explore/space.h"
#include "sim/study/paradnn.h"

#include <stdio.h>
#include <string.h>

/* The sweep files of examples/ say what the table says, value by value. */
static void sweep_files_have_the_values_of_the_families(void **state)
{
    (void)state;
    static const char *const folders[] = {"hwconfigs", NULL};
    for (int f = 0; f < LL_PARADNN_FAMILIES; f++) {
        const struct ll_family *family = &ll_paradnn_families[f];
        struct ll_diags diags = {0};
        char path[64];
        snprintf(path, sizeof path, "examples/paradnn_%s.yaml", family->name);
        struct ll_space *space = ll_space_read(path, folders, &diags);
        if (!space)
            fail_msg("%s: %s", path, diags.kept_count ? diags.kept[0].message : "");
        assert_int_equal(space->axis_count, ll_family_axes(family));
        for (size_t axis = 0; axis < space->axis_count; axis++) {
            const struct ll_family_axis *ours = &family->axes[axis];
            assert_string_equal(space->axes[axis].path + strlen("model."), ours->key);
            assert_int_equal(space->axes[axis].value_count, ll_family_axis_values(ours));
            for (size_t i = 0; i < ll_family_axis_values(ours); i++)
                assert_true(space->axes[axis].values[i].number == (double)ours->values[i]);
        }
        ll_space_free(space);
        ll_diags_release(&diags);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweep_files_have_the_values_of_the_families),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
