/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the hypervolume of a whole grid that a search of it found: volume GRID.db FOUND.db. Judged
 * twice, by the objectives and by their logarithms, up to a reference a tenth beyond the ends of the grid's
 * front. Ends with 1 below 95 %. */
#include "sim/explore/findings.h"
#include "tests/hypervolume.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct judge {
    const struct ll_findings *grid, *found;
    size_t objectives;
    bool logs;
    double reference[LL_MOST_OBJECTIVES];
};

static double judged(const struct judge *judge, double value)
{
    return judge->logs ? log(value) : value;
}

static void find_reference(struct judge *judge)
{
    for (size_t k = 0; k < judge->objectives; k++) {
        double low = INFINITY, high = -INFINITY;
        for (uint64_t i = 0; i < judge->grid->front_count; i++) {
            double value = judged(judge, judge->grid->objectives[k]->numbers[judge->grid->front[i]]);
            low = fmin(low, value);
            high = fmax(high, value);
        }
        judge->reference[k] = high + 0.1 * (high - low);
    }
}

static double volume_of(const struct judge *judge, const struct ll_findings *findings)
{
    size_t count = findings->front_count * judge->objectives;
    double *values = calloc(count + 1, sizeof *values);
    for (uint64_t i = 0; i < findings->front_count; i++)
        for (size_t k = 0; k < judge->objectives; k++)
            values[i * judge->objectives + k] =
                judged(judge, findings->objectives[k]->numbers[findings->front[i]]);
    double volume = hypervolume(values, findings->front_count, judge->objectives, judge->reference);
    free(values);
    return volume;
}

static const struct ll_findings *read_findings(const char *path, struct ll_arena *arena)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    const struct ll_data_frame *frame = ll_data_frame_read(path, arena, diags);
    for (size_t i = 0; i < diags->kept_count; i++)
        printf("%s\n", diags->kept[i].message);
    ll_diags_release(diags);
    free(diags);
    return frame ? ll_findings_new(frame, false, arena) : NULL;
}

int main(int argc, char **argv)
{
    struct ll_arena arena = {0};
    struct judge judge = {.grid = argc == 3 ? read_findings(argv[1], &arena) : NULL};
    judge.found = judge.grid ? read_findings(argv[2], &arena) : NULL;
    double least = 0;
    if (judge.found) {
        uint64_t all = judge.grid->frame->row_count, some = judge.found->frame->row_count;
        judge.objectives = judge.grid->frame->objective_count;
        printf("%.2f %% of %llu points;", 100 * (double)some / (double)all, (unsigned long long)all);
        least = 1;
        for (int logs = 0; logs < 2; logs++) {
            judge.logs = logs;
            find_reference(&judge);
            double part = volume_of(&judge, judge.found) / volume_of(&judge, judge.grid);
            printf(" %.2f %% of the volume%s", 100 * part, logs ? " between logarithms\n" : ",");
            least = fmin(least, part);
        }
    }
    ll_arena_release(&arena);
    return least >= 0.95 ? 0 : 1;
}
