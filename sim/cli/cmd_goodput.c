/* SPDX-License-Identifier: Apache-2.0 */
/* leadline goodput: what failures and checkpoints leave of a training of weeks. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/goodput.h"
#include "sim/parallel/goodput.h"
#include "sim/report/table.h"
#include "tracer/base/json.h"
#include "tracer/base/num.h"
#include "tracer/base/str.h"

/* A job as the options say. */
struct job {
    struct ll_interruptions what;
    double duration_s, devices;
    uint64_t runs, seed;
    double device_w, usd_per_hour, gco2_per_kwh; /* of a device; 0: not given */
};

/* Seconds of "54d", "3h", "10min", "30s", "500ms"; NAN where it is no such time, 0 included. */
static double time_of(const char *text)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};
    char *end;
    double value = ll_strtod(text, &end);
    for (size_t i = 0; end != text && i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].unit) == 0 && value >= 0 && isfinite(value))
            return value * units[i].seconds;
    return NAN;
}

bool ll_goodput_time(const struct ll_args *args, const char *name, double otherwise, double least_s,
                     double *time_s)
{
    const char *text = ll_value(args, name, NULL);
    *time_s = text ? time_of(text) : otherwise;
    if (isnan(*time_s) || (text && *time_s < least_s)) {
        ll_cli_reject("--%s %s: expected a time with its unit, as 30s, 10min, 3h or 54d%s", name, text,
                      least_s > 0 ? ", more than 0" : "");
        return false;
    }
    return true;
}

bool ll_goodput_number(const struct ll_args *args, const char *name, double least, double most,
                       double otherwise, double *number)
{
    const char *text = ll_value(args, name, NULL);
    char *end = NULL;
    *number = text ? ll_strtod(text, &end) : otherwise;
    if (text && (end == text || *end || !(*number >= least && *number <= most))) {
        ll_cli_reject("--%s %s: expected a number from %g to %g", name, text, least, most);
        return false;
    }
    return true;
}

/* Rates of what can fail add up; an average over an observed time counts as one. */
static bool read_mean(const struct ll_args *args, struct job *job)
{
    double device_s, node_s, link_s, mean_s, over_s, count, per_node, links;
    if (!ll_goodput_time(args, "device-mtbf", INFINITY, 1e-3, &device_s) ||
        !ll_goodput_time(args, "node-mtbf", INFINITY, 1e-3, &node_s) ||
        !ll_goodput_time(args, "link-mtbf", INFINITY, 1e-3, &link_s) ||
        !ll_goodput_time(args, "mtbf", INFINITY, 1e-3, &mean_s) ||
        !ll_goodput_time(args, "over", INFINITY, 1e-3, &over_s) ||
        !ll_goodput_number(args, "interruptions", 1, 1e9, 1, &count) ||
        !ll_goodput_number(args, "devices-per-node", 1, 1e6, 8, &per_node) ||
        !ll_goodput_number(args, "links", 1, 1e9, job->devices, &links))
        return false;
    if (ll_value(args, "interruptions", NULL) && !ll_value(args, "over", NULL)) {
        ll_cli_reject("--interruptions %s: expected --over TIME beside it, in which they were counted",
                      ll_value(args, "interruptions", NULL));
        return false;
    }
    double rate = job->devices / device_s + ceil(job->devices / per_node) / node_s + links / link_s +
                  1 / mean_s + (isfinite(over_s) ? count / over_s : 0);
    if (!(rate > 0)) {
        ll_cli_reject(
            "goodput: expected what interrupts the job: --device-mtbf, --node-mtbf, --link-mtbf, --mtbf of "
            "the whole job, or --interruptions with --over");
        return false;
    }
    job->what.mean_s = 1 / rate;
    return true;
}

/* 14 bytes a parameter: weights of 16 bits, a copy and two moments of 32 (ml-engineering on BLOOM). */
static bool read_checkpoint(const struct ll_args *args, struct job *job)
{
    enum { BYTES_A_PARAMETER = 14 };
    double parameters, bandwidth;
    if (!ll_goodput_number(args, "parameters", 1, 1e15, 0, &parameters) ||
        !ll_goodput_number(args, "checkpoint-bandwidth", 1e-3, 1e9, 0, &bandwidth))
        return false;
    const bool sized = parameters > 0 && bandwidth > 0;
    if (!sized && !ll_value(args, "checkpoint", NULL)) {
        ll_cli_reject(
            "goodput: expected --checkpoint TIME, or --parameters N with --checkpoint-bandwidth GB/s");
        return false;
    }
    double written_s = sized ? parameters * BYTES_A_PARAMETER / (bandwidth * 1e9) : 0;
    if (!ll_goodput_time(args, "checkpoint", written_s, 1e-6, &job->what.checkpoint_s))
        return false;
    /* One that is written while steps go on stops them for its snapshot alone. */
    double durable_s = sized && ll_value(args, "checkpoint", NULL) ? written_s : 0;
    return ll_goodput_time(args, "durable", durable_s, 0, &job->what.durable_s);
}

static bool read_job(const struct ll_args *args, struct job *job)
{
    *job = (struct job){.runs = 16};
    double seed, runs, spares, repair_s;
    if (!ll_goodput_number(args, "devices", 1, 1e9, 1, &job->devices) || !read_mean(args, job) ||
        !read_checkpoint(args, job) || !ll_goodput_time(args, "restart", 300, 0, &job->what.restart_s) ||
        !ll_goodput_time(args, "repair", 0, 0, &repair_s) ||
        !ll_goodput_number(args, "spares", 0, 1e6, 0, &spares) ||
        !ll_goodput_time(args, "duration", 30 * 86400, 1, &job->duration_s) ||
        !ll_goodput_number(args, "lost-share", 0, 1, 0, &job->what.lost_share) ||
        !ll_goodput_time(args, "durable-interval", 0, 1e-3, &job->what.durable_interval_s) ||
        !ll_goodput_time(args, "durable-restart", job->what.restart_s, 0, &job->what.durable_restart_s) ||
        !ll_goodput_number(args, "seed", 0, 1e15, 1, &seed) ||
        !ll_goodput_number(args, "runs", 1, 1e6, 16, &runs) ||
        !ll_goodput_number(args, "device-power", 0, 1e6, 0, &job->device_w) ||
        !ll_goodput_number(args, "usd-per-hour", 0, 1e6, 0, &job->usd_per_hour) ||
        !ll_goodput_number(args, "gco2-per-kwh", 0, 1e5, 0, &job->gco2_per_kwh))
        return false;
    if (ll_value(args, "spares", NULL) && !ll_value(args, "repair", NULL)) {
        ll_cli_reject("--spares %s: expected --repair TIME beside it, after which one is a spare again",
                      ll_value(args, "spares", NULL));
        return false;
    }
    if (job->what.lost_share > 0 && job->what.durable_interval_s <= 0) {
        ll_cli_reject(
            "--lost-share %s: expected --durable-interval TIME beside it, of checkpoints that are not lost",
            ll_value(args, "lost-share", NULL));
        return false;
    }
    const double wait_s = ll_spare_wait_s(job->what.mean_s, repair_s, spares);
    job->what.restart_s += wait_s;
    job->what.durable_restart_s += wait_s;
    job->seed = (uint64_t)seed;
    job->runs = (uint64_t)runs;
    double best_s = ll_best_interval_s(job->what.mean_s, job->what.checkpoint_s);
    return ll_goodput_time(args, "interval", fmax(best_s, job->what.durable_s), 1e-3, &job->what.interval_s);
}

/* --- plans --- */

bool ll_goodput_read_ranking(const struct ll_args *args, const struct ll_machine *machine, uint64_t devices,
                             struct ll_goodput_ranking *ranking)
{
    const struct ll_reliability *known = &machine->reliability;
    const double hour = 3600, never = INFINITY, n = (double)devices,
                 node = machine->network_count ? (double)machine->networks[0].devices : 1;
    double device_s, node_s, link_s, mean_s, repair_s, spares, GBps;
    if (!ll_goodput_time(args, "device-mtbf",
                         known->device_mtbf_hours > 0 ? hour * known->device_mtbf_hours : never, 1e-3,
                         &device_s) ||
        !ll_goodput_time(args, "node-mtbf",
                         known->node_mtbf_hours > 0 ? hour * known->node_mtbf_hours : never, 1e-3, &node_s) ||
        !ll_goodput_time(args, "link-mtbf",
                         known->link_mtbf_hours > 0 ? hour * known->link_mtbf_hours : never, 1e-3, &link_s) ||
        !ll_goodput_time(args, "mtbf", never, 1e-3, &mean_s) ||
        !ll_goodput_time(args, "restart", machine->reliability_given ? known->restart_s : 300, 0,
                         &ranking->restart_s) ||
        !ll_goodput_time(args, "repair", machine->reliability_given ? hour * known->repair_hours : 0, 0,
                         &repair_s) ||
        !ll_goodput_number(args, "spares", 0, 1e6, 0, &spares) ||
        !ll_goodput_number(args, "checkpoint-bandwidth", 1e-3, 1e9, known->checkpoint_Bps / 1e9, &GBps))
        return false;
    double rate = n / device_s + ceil(n / node) / node_s + (n > node ? n / link_s : 0) + 1 / mean_s;
    if (!(rate > 0)) {
        ll_cli_reject("--rank-by goodput: the machine has no `reliability`; expected --device-mtbf, "
                      "--node-mtbf, --link-mtbf or --mtbf");
        return false;
    }
    if (!(GBps > 0)) {
        ll_cli_reject("--rank-by goodput: expected --checkpoint-bandwidth GB/s of the storage, of which the "
                      "machine's `reliability` says nothing");
        return false;
    }
    ranking->mean_s = 1 / rate;
    ranking->restart_s += ll_spare_wait_s(ranking->mean_s, repair_s, spares);
    ranking->host_Bps = machine->host.bandwidth_Bps;
    ranking->checkpoint_Bps = GBps * 1e9;
    return true;
}

double ll_goodput_share(void *context, const struct ll_checkpoint_bytes *checkpoint)
{
    const struct ll_goodput_ranking *ranking = context;
    const double written_s = checkpoint->all / ranking->checkpoint_Bps, least_s = 1e-6;
    const bool copied = ranking->host_Bps > 0;
    struct ll_interruptions what = {
        .mean_s = ranking->mean_s,
        .checkpoint_s = fmax(least_s, copied ? checkpoint->device / ranking->host_Bps : written_s),
        .durable_s = copied ? written_s : 0,
        .restart_s = ranking->restart_s + written_s /* it is read again */,
    };
    what.interval_s = fmax(ll_best_interval_s(what.mean_s, what.checkpoint_s), what.durable_s);
    return fmin(1, fmax(1e-300, ll_effective_time_share(&what)));
}

/* --- the command --- */

/* At its best interval. */
static double share_with(const struct job *job, double checkpoint_s, double restart_s)
{
    struct ll_interruptions what = job->what;
    what.checkpoint_s = checkpoint_s;
    what.restart_s = restart_s;
    what.durable_restart_s += restart_s - job->what.restart_s;
    what.interval_s = fmax(ll_best_interval_s(what.mean_s, checkpoint_s), what.durable_s);
    return ll_effective_time_share(&what);
}

static const double checkpoints_s[] = {1, 3, 10, 30, 60, 300}, restarts_s[] = {60, 180, 300, 600, 900, 1800};
enum {
    CHECKPOINTS = sizeof checkpoints_s / sizeof *checkpoints_s,
    RESTARTS = sizeof restarts_s / sizeof *restarts_s
};
#define EFFECTIVE 0.9 /* what published runs call good */

/* Money and energy are of all time, productive or not. */
static double energy_kwh(const struct job *job)
{
    return job->devices * job->device_w * job->duration_s / 3.6e6;
}

static double cost_usd(const struct job *job)
{
    return job->devices * job->usd_per_hour * job->duration_s / 3600;
}

static void put_costs(const struct job *job, struct ll_json *json)
{
    if (job->device_w > 0)
        ll_json_put_number(json, "energy_kwh", energy_kwh(job));
    if (job->device_w > 0 && job->gco2_per_kwh > 0)
        ll_json_put_number(json, "kgco2", energy_kwh(job) * job->gco2_per_kwh / 1000);
    if (job->usd_per_hour > 0)
        ll_json_put_number(json, "usd", cost_usd(job));
}

static void goodput_json(const struct job *job, const struct ll_goodput_run *run, struct ll_str *out)
{
    const struct ll_interruptions *what = &job->what;
    struct ll_json json = {.out = out, .indent = true};
    ll_json_open_document(&json, "goodput", 1);
    ll_json_put_number(&json, "mean_time_between_interruptions_s", what->mean_s);
    ll_json_put_number(&json, "checkpoint_s", what->checkpoint_s);
    ll_json_put_number(&json, "restart_s", what->restart_s);
    ll_json_put_number(&json, "interval_s", what->interval_s);
    ll_json_put_number(&json, "best_interval_s", ll_best_interval_s(what->mean_s, what->checkpoint_s));
    ll_json_put_number(&json, "daly_interval_s", ll_daly_interval_s(what->mean_s, what->checkpoint_s));
    ll_json_put_number(&json, "young_interval_s", ll_young_interval_s(what->mean_s, what->checkpoint_s));
    ll_json_put_number(&json, "effective_time_share", ll_effective_time_share(what));
    ll_json_key(&json, "simulated");
    ll_json_open_object(&json);
    ll_json_put_number(&json, "effective_time_share", run->effective_time_share);
    ll_json_put_number(&json, "interruptions", run->interruptions);
    ll_json_put_number(&json, "checkpoint_s", run->checkpoint_s);
    ll_json_put_number(&json, "restart_s", run->restart_s);
    ll_json_put_number(&json, "repeated_s", run->repeated_s);
    ll_json_close_object(&json);
    put_costs(job, &json);
    ll_json_key(&json, "sensitivity");
    ll_json_open_list(&json);
    for (int c = 0; c < CHECKPOINTS; c++)
        for (int r = 0; r < RESTARTS; r++) {
            ll_json_open_object(&json);
            ll_json_put_number(&json, "checkpoint_s", checkpoints_s[c]);
            ll_json_put_number(&json, "restart_s", restarts_s[r]);
            ll_json_put_number(&json, "effective_time_share",
                               share_with(job, checkpoints_s[c], restarts_s[r]));
            ll_json_close_object(&json);
        }
    ll_json_close_list(&json);
    ll_json_close_object(&json);
}

static void sensitivity_table(const struct job *job, struct ll_str *out)
{
    struct ll_table *table = ll_table_new(">checkpoint|>restart 1 min|>3 min|>5 min|>10 min|>15 min|>30 min");
    for (int c = 0; c < CHECKPOINTS; c++) {
        struct ll_human share[RESTARTS];
        for (int r = 0; r < RESTARTS; r++)
            ll_format_percent(&share[r], share_with(job, checkpoints_s[c], restarts_s[r]));
        ll_table_row(table, "%g s|%s|%s|%s|%s|%s|%s", checkpoints_s[c], share[0].text, share[1].text,
                     share[2].text, share[3].text, share[4].text, share[5].text);
    }
    ll_str_add(out, "\neffective time share at the best interval of each checkpoint and restart time:\n");
    ll_show_table(table, out);
}

/* The longest restart of each checkpoint time with which nine tenths of the time are productive. */
static void threshold_lines(const struct job *job, struct ll_str *out)
{
    ll_str_addf(out, "\nmore than %.0f %% with a restart of less than", 100 * EFFECTIVE);
    for (int c = 0; c < CHECKPOINTS; c++) {
        double low = 0, high = job->what.mean_s;
        for (int i = 0; i < 60; i++) {
            double middle = (low + high) / 2;
            *(share_with(job, checkpoints_s[c], middle) > EFFECTIVE ? &low : &high) = middle;
        }
        if (share_with(job, checkpoints_s[c], 0) > EFFECTIVE)
            ll_str_addf(out, "%s %.1f min (checkpoint %g s)", c ? "," : "", low / 60, checkpoints_s[c]);
        else
            ll_str_addf(out, "%s none (%g s)", c ? "," : "", checkpoints_s[c]);
    }
    ll_str_add(out, "\n");
}

static void goodput_text(const struct job *job, const struct ll_goodput_run *run, struct ll_str *out)
{
    const struct ll_interruptions *what = &job->what;
    struct ll_human closed, simulated;
    ll_str_addf(out,
                "interrupted every %.2f h on average; a checkpoint stops it for %g s, a restart takes %g s\n",
                what->mean_s / 3600, what->checkpoint_s, what->restart_s);
    ll_str_addf(
        out,
        "checkpoint interval %.2f min; best %.2f min, Daly's %.2f min, Young's to first order %.2f min\n",
        what->interval_s / 60, ll_best_interval_s(what->mean_s, what->checkpoint_s) / 60,
        ll_daly_interval_s(what->mean_s, what->checkpoint_s) / 60,
        ll_young_interval_s(what->mean_s, what->checkpoint_s) / 60);
    ll_str_addf(out,
                "effective time share %s in closed form, %s simulated over %.1f days, %" PRIu64 " time%s\n",
                ll_format_percent(&closed, ll_effective_time_share(what)),
                ll_format_percent(&simulated, run->effective_time_share), job->duration_s / 86400, job->runs,
                ll_plural(job->runs));
    ll_str_addf(out,
                "simulated: %.0f interruptions; %.1f h of checkpoints, %.1f h of restarts, %.1f h of work "
                "done again\n",
                run->interruptions, run->checkpoint_s / 3600, run->restart_s / 3600, run->repeated_s / 3600);
    if (job->device_w > 0)
        ll_str_addf(out, "energy %.4g MWh\n", energy_kwh(job) / 1000);
    if (job->device_w > 0 && job->gco2_per_kwh > 0)
        ll_str_addf(out, "carbon %.4g t CO2\n", energy_kwh(job) * job->gco2_per_kwh / 1e6);
    if (job->usd_per_hour > 0)
        ll_str_addf(out, "price %.4g USD\n", cost_usd(job));
    sensitivity_table(job, out);
    threshold_lines(job, out);
}

static int run(const struct ll_args *args)
{
    struct job job;
    struct ll_str out = {0};
    if (!read_job(args, &job))
        return LL_WRONG;
    const struct ll_goodput_run played = ll_goodput_simulate(&job.what, job.duration_s, job.runs, job.seed);
    (ll_flag(args, "json") ? goodput_json : goodput_text)(&job, &played, &out);
    return ll_print(&out);
}

static const struct ll_option options[] = {
    {"devices", 0, "N", "devices of the job (default: 1)"},
    {"devices-per-node", 0, "N", "of a node (default: 8)"},
    {"device-mtbf", 0, "TIME", "mean time between failures of a device"},
    {"node-mtbf", 0, "TIME", "of a node, beside its devices"},
    {"link-mtbf", 0, "TIME", "of a link"},
    {"links", 0, "N", "links (default: one a device)"},
    {"mtbf", 0, "TIME", "of the job as a whole, as by its software"},
    {"interruptions", 0, "N", "interruptions that were counted ..."},
    {"over", 0, "TIME", "... in so long"},
    {"checkpoint", 0, "TIME", "for how long a checkpoint stops the step"},
    {"parameters", 0, "N", "of the model, of which a checkpoint has 14 bytes each"},
    {"checkpoint-bandwidth", 0, "GB/s", "at which all devices together write it"},
    {"durable", 0, "TIME",
     "how long after that it can be restarted from, while steps go on (default: at once, or as long "
     "as it is written when --checkpoint is a snapshot)"},
    {"restart", 0, "TIME",
     "from an interruption until steps go on: detection, restart, reload (default: 5min)"},
    {"repair", 0, "TIME", "until what failed is back, for which a job without a spare waits (default: none)"},
    {"spares", 0, "N", "that take the place of what failed (default: 0)"},
    {"interval", 0, "TIME", "work between checkpoints (default: the best)"},
    {"lost-share", 0, "SHARE", "of interruptions that lose checkpoints held in memory by peers"},
    {"durable-interval", 0, "TIME", "work between those that are not lost"},
    {"durable-restart", 0, "TIME", "restart from those (default: as --restart)"},
    {"duration", 0, "TIME", "of the training (default: 30d)"},
    {"runs", 0, "N", "how often it is simulated (default: 16)"},
    {"seed", 0, "N", "of the simulation (default: 1)"},
    {"device-power", 0, "W", "average power of a device, for the energy"},
    {"usd-per-hour", 0, "USD", "price of a device, for the cost"},
    {"gco2-per-kwh", 0, "G", "carbon of the energy"},
    {0},
};

const struct ll_command ll_command_goodput = {
    .name = "goodput",
    .rows = "sensitivity",
    .synopsis = "",
    .summary = "what failures and checkpoints leave of a training of weeks",
    .examples = "  leadline goodput --interruptions 466 --over 54d --checkpoint 12s --restart 5min\n"
                "  leadline goodput --devices 16384 --device-mtbf 50000h --parameters 405e9 "
                "--checkpoint-bandwidth 2000 "
                "--checkpoint 1s\n",
    .details = "The effective time share (ETTR) is the productive part of the time: what neither checkpoints "
               "nor restarts nor "
               "work that is done again take. It is given in closed form (Daly, 2006) and simulated event by "
               "event; so is the "
               "checkpoint interval with which it is largest. The table shows how it depends on what is "
               "seldom published, "
               "how long checkpoints and restarts take.\n",
    .options = options,
    .least_words = 0,
    .most_words = 0,
    .run = run,
};
