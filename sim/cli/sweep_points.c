/* SPDX-License-Identifier: Apache-2.0 */
/* Points of a sweep file by themselves, for who chooses them (sim/api). */
#include <inttypes.h>
#include <stdlib.h>

#include "sim/cli/commands.h"
#include "sim/cli/load.h"
#include "tracer/base/json.h"

int ll_sweep_points_open(const char *path, struct ll_sweep_points *points)
{
    const char *const *folders = ll_machine_folders(&points->arena);
    struct ll_diags *diags = ll_alloc(&points->arena, 1, sizeof *diags);
    if (!folders || !diags)
        return ll_cli_fail("memory ran out");
    points->space = ll_space_read(path, folders, diags);
    bool right = points->space && ll_sweep_check_values(points->space, diags) &&
                 ll_load_table(points->space->machine, points->space->base, points->space->folders, 0, diags);
    points->pool = right ? ll_pool_new(1) : NULL;
    ll_sweep_servings_begin(&points->servings);
    points->evaluator =
        points->pool ? ll_evaluator_new(points->space, ll_sweep_bring, NULL, points->pool, diags) : NULL;
    if (points->evaluator)
        ll_evaluator_serve(points->evaluator, ll_sweep_serve, &points->servings);
    struct ll_str warning = {0};
    if (points->evaluator && ll_evaluator_warn(points->evaluator, &warning))
        points->warning = ll_copy_text(&points->arena, warning.text, warning.length);
    ll_str_release(&warning);
    ll_print_diags(diags);
    bool said = diags->count > 0;
    ll_diags_release(diags);
    return points->evaluator ? LL_DONE : said ? LL_WRONG : ll_cli_fail("memory or threads ran out");
}

void ll_sweep_points_close(struct ll_sweep_points *points)
{
    if (points->evaluator) {
        ll_evaluator_free(points->evaluator);
        ll_sweep_servings_end(&points->servings);
    }
    if (points->pool)
        ll_pool_free(points->pool);
    if (points->space)
        ll_space_free(points->space);
    ll_arena_release(&points->arena);
}

void ll_sweep_points_json(const struct ll_sweep_points *points, struct ll_json *json)
{
    const struct ll_space *space = points->space;
    ll_json_open_object(json);
    ll_json_put_text(json, "name", space->name);
    ll_json_put_text(json, "machine", space->base);
    ll_json_put_count(json, "points", space->point_count);
    ll_json_key(json, "parameters");
    ll_json_open_list(json);
    for (size_t a = 0; a < space->axis_count; a++) {
        const struct ll_space_axis *axis = &space->axes[a];
        ll_json_open_object(json);
        ll_json_put_text(json, "path", axis->path);
        ll_json_put_bool(json, "ordered", axis->ordered);
        ll_json_key(json, "values");
        ll_json_open_list(json);
        for (uint32_t i = 0; i < axis->value_count; i++)
            ll_json_text(json, axis->values[i].text);
        ll_json_close_list(json);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
    ll_json_key(json, "objectives");
    ll_json_open_list(json);
    for (size_t i = 0; i < space->objective_count; i++)
        ll_json_text(json, space->objectives[i].text);
    ll_json_close_list(json);
    ll_json_close_object(json);
}

static void measures_json(const struct ll_space *space, const struct ll_evaluation *point,
                          struct ll_json *json)
{
    ll_json_key(json, "results");
    ll_json_open_list(json);
    for (size_t w = 0; w < space->workload_count && point->verdict != LL_VERDICT_INVALID; w++) {
        ll_json_open_object(json);
        ll_json_put_text(json, "workload", space->workloads[w].name);
        for (enum ll_measure m = 0; m < LL_MEASURE_COUNT; m++)
            ll_json_put_number(json, ll_measure_name(m), point->measured[w].of[m]);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

void ll_sweep_point_json(const struct ll_space *space, const struct ll_evaluation *point, const char *warning,
                         struct ll_json *json)
{
    uint32_t values[LL_MOST_AXES];
    ll_space_point(space, point->number, values);
    ll_json_open_document(json, "sweep_point", 1);
    ll_json_put_count(json, "point", point->number);
    ll_json_put_bool(json, "valid", point->verdict == LL_VERDICT_VALID);
    ll_json_put_text(json, "why", point->why);
    ll_json_key(json, "parameters");
    ll_json_open_object(json);
    for (size_t a = 0; a < space->axis_count; a++)
        ll_json_put_text(json, space->axes[a].path, space->axes[a].values[values[a]].text);
    ll_json_close_object(json);
    ll_json_key(json, "objectives");
    ll_json_open_object(json);
    for (size_t k = 0; k < space->objective_count; k++)
        ll_json_put_number(json, space->objectives[k].name,
                           (space->objectives[k].most ? -1 : 1) * point->outcome.objectives[k]);
    ll_json_close_object(json);
    measures_json(space, point, json);
    ll_put_warning(warning, json);
    ll_json_close_object(json);
}

int ll_sweep_points_evaluate(struct ll_sweep_points *points, uint64_t number, struct ll_json *json)
{
    const struct ll_space *space = points->space;
    if (number >= space->point_count)
        return ll_cli_reject("point %" PRIu64 ": the last point of %s is %" PRIu64, number, space->name,
                             space->point_count - 1);
    struct ll_readings *measured = calloc(space->workload_count, sizeof *measured);
    struct ll_diags *diags = calloc(1, sizeof *diags);
    struct ll_evaluation evaluation = {.number = number, .measured = measured};
    bool done = measured && diags && ll_evaluate(points->evaluator, &evaluation, 1, diags);
    bool said = diags && diags->count > 0;
    if (done)
        ll_sweep_point_json(space, &evaluation, points->warning, json);
    if (diags) {
        ll_print_diags(diags);
        ll_diags_release(diags);
    }
    free(diags);
    free(measured);
    return done ? LL_DONE : said ? LL_WRONG : ll_cli_fail("memory ran out");
}
