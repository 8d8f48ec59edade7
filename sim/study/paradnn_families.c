/* SPDX-License-Identifier: Apache-2.0 */
/* The ranges of ParaDnn's families, enumerated. */
#include "sim/study/paradnn.h"

#include <inttypes.h>
#include <stdio.h>

/* Points as the paper counts them. */
static const double published[LL_PARADNN_FAMILIES] = {
    [LL_PARADNN_FC] = 9720, [LL_PARADNN_BOTTLENECK] = 1080, [LL_PARADNN_RESIDUAL] = 1080,
    [LL_PARADNN_RNN] = 720, [LL_PARADNN_LSTM] = 720,        [LL_PARADNN_GRU] = 720,
};

static void plan(struct ll_study_plan *plan)
{
    (void)plan;
}

static void values_of(const struct ll_family_axis *axis, char *text, size_t size)
{
    size_t length = 0;
    for (size_t i = 0; i < ll_family_axis_values(axis); i++)
        length +=
            (size_t)snprintf(text + length, size - length, "%s%" PRIu64, i ? ", " : "", axis->values[i]);
}

/* Points come in the order of their values, so each is later than the one before it. */
static bool all_differ(const struct ll_family *family)
{
    uint64_t before[LL_MOST_FAMILY_AXES] = {0}, now[LL_MOST_FAMILY_AXES] = {0};
    for (uint64_t i = 0; i < ll_family_size(family); i++) {
        bool later = false, equal = true;
        ll_family_point(family, i, now);
        for (size_t axis = 0; axis < ll_family_axes(family) && equal; axis++) {
            later = now[axis] > before[axis];
            equal = now[axis] == before[axis];
        }
        if (!later)
            return false;
        for (size_t axis = 0; axis < LL_MOST_FAMILY_AXES; axis++)
            before[axis] = now[axis];
    }
    return true;
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {{"family", LL_TEXT_COLUMN},
                                                       {"parameter", LL_TEXT_COLUMN},
                                                       {"values", LL_TEXT_COLUMN},
                                                       {"points of the family", 0}};
    struct ll_sheet *sheet = ll_sheet_new(outcome, NULL, "The ranges of each family.", columns, 4);
    (void)evidence;
    for (int s = 0; s < LL_PARADNN_FAMILIES; s++) {
        const struct ll_family *family = &ll_paradnn_families[s];
        uint64_t points = ll_family_size(family);
        for (size_t axis = 0; axis < ll_family_axes(family); axis++) {
            char text[128];
            values_of(&family->axes[axis], text, sizeof text);
            ll_put_text(sheet, family->name);
            ll_put_text(sheet, family->axes[axis].key);
            ll_put_text(sheet, text);
            ll_put_number(sheet, (double)points);
        }
        ll_between(outcome, (struct ll_measured_value){(double)points, 0, ""}, published[s], published[s],
                   "points of %s", family->name);
        ll_holds(outcome, all_differ(family), all_differ(family) ? "all differ" : "some are equal",
                 "all differ", "points of %s, one by one", family->name);
    }
}

const struct ll_study ll_study_PT2 = {
    .id = "P-T2",
    .paper = "ParaDnn, table 2",
    .title = "Ranges of the families",
    .doc = "Fully connected, convolutional and recurrent networks of which each parameter takes the values "
           "listed: 9,720 "
           "networks and batches, 1,080 for each type of block, 720 for each type of cell.",
    .plan = plan,
    .judge = judge,
};
