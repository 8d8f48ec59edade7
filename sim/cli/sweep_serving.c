/* SPDX-License-Identifier: Apache-2.0 */
/* Servings of a sweep: options of leadline serve, with those of a point laid over, on its machine. */
#include "sim/cli/commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/load.h"
#include "sim/cli/serving.h"
#include "sim/cli/serving_output.h"
#include "sim/explore/sweep.h"
#include "tracer/base/str.h"

struct ll_kept_traces {
    struct ll_served_traces traces;
    struct ll_kept_traces *next;
};

void ll_sweep_servings_begin(struct ll_sweep_servings *s)
{
    pthread_mutex_init(&s->lock, NULL);
    s->idle = NULL;
}

void ll_sweep_servings_end(struct ll_sweep_servings *s)
{
    for (struct ll_kept_traces *next, *kept = s->idle; kept; kept = next) {
        next = kept->next;
        ll_served_traces_release(&kept->traces);
        free(kept);
    }
    pthread_mutex_destroy(&s->lock);
}

/* Traces that nobody else uses until they are given back; NULL when memory ran out: then nothing is kept. */
static struct ll_kept_traces *take_traces(struct ll_sweep_servings *s)
{
    pthread_mutex_lock(&s->lock);
    struct ll_kept_traces *kept = s->idle;
    if (kept)
        s->idle = kept->next;
    pthread_mutex_unlock(&s->lock);
    return kept ? kept : calloc(1, sizeof *kept);
}

static void give_traces(struct ll_sweep_servings *s, struct ll_kept_traces *kept)
{
    if (!kept)
        return;
    pthread_mutex_lock(&s->lock);
    kept->next = s->idle;
    s->idle = kept;
    pthread_mutex_unlock(&s->lock);
}

/* The option that a key names, with _ or -; NULL: there is none that a sweep may set. */
static const struct ll_option *option_of(const char *key)
{
    static const char *const elsewhere[] = {"settings",  "machine",     "model",    "set",
                                            "find-rate", "per-request", "timeline", "html",
                                            "json",      "carbon",      "pue",      NULL};
    for (const char *const *name = elsewhere; *name; name++)
        if (strcmp(key, *name) == 0)
            return NULL;
    for (const struct ll_option *row = ll_command_serve.options; row->name; row++) {
        size_t i = 0;
        while (key[i] && row->name[i] && (key[i] == row->name[i] || (key[i] == '_' && row->name[i] == '-')))
            i++;
        if (!key[i] && !row->name[i])
            return row;
    }
    return NULL;
}

static bool check_key(const char *key, struct ll_place place, struct ll_diags *diags)
{
    return option_of(key) ||
           ll_complain(diags, place,
                       "no option `%.40s` of servings here; `leadline serve --help` lists them, as tp, rate, "
                       "max_num_seqs",
                       key);
}

bool ll_sweep_check_servings(const struct ll_space *space, struct ll_diags *diags)
{
    bool right = true;
    for (size_t w = 0; w < space->workload_count; w++) {
        const struct ll_space_workload *workload = &space->workloads[w];
        if (!workload->served)
            continue;
        if (!ll_served_config(workload->model))
            right =
                ll_complain(diags, workload->place,
                            "model `%.60s`: no configuration of this name comes along; expected a model's "
                            "config.json",
                            workload->model);
        for (size_t i = 0; i < workload->setting_count; i++)
            right &= check_key(workload->settings[i].key, workload->place, diags);
    }
    for (size_t a = 0; a < space->axis_count; a++)
        if (strncmp(space->axes[a].path, "serve.", 6) == 0)
            right &= check_key(space->axes[a].path + 6, space->axes[a].place, diags);
    return right;
}

/* Options of the workload on this machine. A flag is given where it is true. */
static void give_all(struct ll_serving_options *o, const struct ll_space_workload *workload,
                     const struct ll_space_setting *settings, size_t count, const struct ll_machine *machine)
{
    ll_serving_give(o, "machine", machine->stem);
    ll_serving_give(o, "model", workload->model);
    for (size_t i = 0; i < count; i++) {
        const struct ll_option *option = option_of(settings[i].key);
        if (option && (option->value || strcmp(settings[i].value, "true") == 0))
            ll_serving_give(o, option->name, option->value ? settings[i].value : "");
    }
}

static void measure(const struct ll_serving_setup *setup, const struct ll_serving *r, double percentile,
                    const struct ll_machine *machine, struct ll_readings *measured)
{
    double *of = measured->of;
    struct ll_priced priced;
    const double share = percentile / 100, duration_s = r->duration_s, devices = (double)r->devices;
    const struct ll_serving_costs costs = ll_serving_costs_of(setup, r, 0, 1);
    of[LL_MEASURE_TIME] = duration_s;
    of[LL_MEASURE_ENERGY] = r->energy_j;
    of[LL_MEASURE_EDP] = r->energy_j * duration_s;
    of[LL_MEASURE_POWER] = r->energy_j / duration_s;
    of[LL_MEASURE_THROUGHPUT] = (double)r->requests / duration_s;
    of[LL_MEASURE_THROUGHPUT_PER_W] = (double)r->requests / r->energy_j;
    of[LL_MEASURE_PRICE] = ll_machine_price(machine, &priced) ? priced.all_usd * devices : NAN;
    of[LL_MEASURE_CAPACITY] = (double)machine->levels[machine->level_count - 1].size_bytes;
    of[LL_MEASURE_DEVICES] = devices;
    of[LL_MEASURE_FITS] = 1;
    of[LL_MEASURE_TTFT] = ll_quantiles_at(r->ttft, share);
    of[LL_MEASURE_TPOT] = ll_quantiles_at(r->tpot, share);
    of[LL_MEASURE_E2E] = ll_quantiles_at(r->e2e, share);
    of[LL_MEASURE_TOKENS_PER_DEVICE] = (double)r->output_tokens / duration_s / devices;
    of[LL_MEASURE_TOKENS_PER_USER] = 1 / ll_quantiles_mean(r->tpot);
    of[LL_MEASURE_WITHIN_LIMITS] = (double)r->within_limits / (double)r->requests;
    of[LL_MEASURE_USD_PER_M_INPUT] = costs.usd_per_m_input;
    of[LL_MEASURE_USD_PER_M_OUTPUT] = costs.usd_per_m_output;
}

bool ll_sweep_serve(void *context, const struct ll_space_workload *workload,
                    const struct ll_space_setting *settings, size_t count, const struct ll_machine *machine,
                    struct ll_readings *measured, struct ll_diags *diags)
{
    struct ll_serving_options o;
    struct ll_arena arena = {0};
    struct ll_machine own = *machine; /* what it points to stays the other's */
    struct ll_kept_traces *kept = take_traces(context);
    struct ll_serving_setup setup = {.args = &o.args, .machine = &own, .traces = kept ? &kept->traces : NULL};
    const struct ll_serve_watch watch = {0};
    double percentile;
    ll_cli_hush(true);
    ll_serving_begin(&o, &arena);
    give_all(&o, workload, settings, count, machine);
    const struct ll_serving *r = NULL;
    if (ll_serving_number(&o.args, "percentile", 0, 100, 90, &percentile) && ll_serving_read(&setup))
        r = ll_serving_run(&setup, &watch, &arena);
    ll_print_diags(&setup.diags);
    ll_cli_hush(false);
    const bool served = r && r->requests > 0;
    if (served)
        measure(&setup, r, percentile, machine, measured);
    else
        ll_complain(diags, workload->place, "%s",
                    *ll_cli_hushed() ? ll_cli_hushed() : "no request ended that counts");
    ll_serving_release(&setup);
    ll_arena_release(&arena);
    give_traces(context, kept);
    return served;
}
