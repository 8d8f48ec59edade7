/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/explore/prune.h"

#include "sim/explore/least.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static double least_time(const struct ll_least *least, const struct ll_machine *machine)
{
    return ll_least_time_s(least, machine);
}

static double least_energy(const struct ll_least *least, const struct ll_machine *machine)
{
    return ll_least_energy_j(least, machine);
}

static double least_edp(const struct ll_least *least, const struct ll_machine *machine)
{
    return ll_least_energy_j(least, machine) * ll_least_time_s(least, machine);
}

/* As measured; a hair less for the way through logarithms that a mean of several workloads takes. */
static double area(const struct ll_least *least, const struct ll_machine *machine)
{
    (void)least;
    return ll_machine_area_m2(machine) * 1e6 * (1 - 1e-12);
}

static double price(const struct ll_least *least, const struct ll_machine *machine)
{
    struct ll_priced priced;
    (void)least;
    return ll_machine_price(machine, &priced) ? priced.all_usd * (1 - 1e-12) : NAN;
}

/* Measures with a bound from below. */
static const struct bound {
    enum ll_measure measure;
    double (*of)(const struct ll_least *least, const struct ll_machine *machine);
} bounds[] = {{LL_MEASURE_TIME, least_time},
              {LL_MEASURE_ENERGY, least_energy},
              {LL_MEASURE_EDP, least_edp},
              {LL_MEASURE_AREA, area},
              {LL_MEASURE_PRICE, price}};

static const struct bound *bound_of(const struct ll_objective_row *objective)
{
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds && !objective->most; i++)
        if (strcmp(objective->name, ll_measure_name(bounds[i].measure)) == 0)
            return &bounds[i];
    return NULL;
}

bool ll_has_bounds(const struct ll_space *space)
{
    for (size_t k = 0; k < space->objective_count; k++)
        if (!bound_of(&space->objectives[k]))
            return false;
    return true;
}

/* The geometric mean of bounds is a bound of the geometric mean: both grow with each of their values. NaN of
 * steps that are spread over devices, and of ranks: these have no bound. */
static double mean_bound(const struct bound *bound, const struct ll_space *space,
                         const struct ll_variants *variants, const struct ll_machine *machine,
                         const uint32_t *point)
{
    double logs = 0, value = NAN;
    for (size_t w = 0; w < space->workload_count; w++) {
        const struct ll_workload_variant *variant = ll_variants_get(variants, w, point);
        if (!variant->least)
            return NAN;
        value = bound->of(variant->least, machine);
        logs += log(value);
    }
    return space->workload_count == 1 ? value : exp(logs / (double)space->workload_count) * (1 - 1e-12);
}

bool ll_is_beaten(const struct ll_space *space, const struct ll_archive *front,
                  const struct ll_variants *variants, const struct ll_machine *machine, const uint32_t *point)
{
    double least[LL_MOST_OBJECTIVES];
    for (size_t k = 0; k < space->objective_count; k++) {
        const struct bound *bound = bound_of(&space->objectives[k]);
        if (!bound)
            return false;
        least[k] = mean_bound(bound, space, variants, machine, point);
        if (isnan(least[k]))
            return false;
    }
    return ll_archive_beats(front, least);
}
