/* SPDX-License-Identifier: Apache-2.0 */
/* Results for programs. Names and meaning are stable: sim/report/README.md lists them. */
#include "sim/report/sim_report.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "tracer/base/map.h"
#include "tracer/base/str.h"

static bool cause_exists(const struct ll_machine *machine, unsigned cause)
{
    return cause < LL_BOUND_LEVEL + machine->level_count;
}

static void bottlenecks(const struct ll_result *result, struct ll_json *json)
{
    ll_json_key(json, "bottlenecks");
    ll_json_open_object(json);
    for (unsigned cause = 0; cause_exists(result->machine, cause); cause++) {
        assert(result->shares[cause] >= 0 && result->shares[cause] <= 1 + 1e-9);
        ll_json_put_number(json, ll_bound_name(result->machine, cause), result->shares[cause]);
    }
    ll_json_close_object(json);
}

/* null where nobody knows. */
static void put_bytes(const struct ll_footprint *footprint, const char *key, uint64_t bytes,
                      struct ll_json *json)
{
    if (footprint->unknown)
        ll_json_put_text(json, key, NULL);
    else
        ll_json_put_count(json, key, bytes);
}

void ll_report_by_class(const struct ll_footprint *footprint, struct ll_json *json)
{
    ll_json_key(json, "by_class");
    ll_json_open_object(json);
    for (unsigned i = 0; i < LL_MEMORY_COUNT; i++)
        put_bytes(footprint, ll_memory_name((enum ll_memory_class)i), footprint->class_bytes[i], json);
    ll_json_close_object(json);
}

static void memory(const struct ll_report *report, struct ll_json *json)
{
    const struct ll_result *result = report->result;
    const struct ll_footprint *footprint = result->footprint;
    ll_json_key(json, "memory");
    ll_json_open_object(json);
    put_bytes(footprint, "peak_bytes", footprint->peak_bytes, json);
    ll_json_put_count(json, "capacity_bytes",
                      report->parallel
                          ? report->parallel->stages[report->parallel->fullest].capacity_bytes
                          : result->machine->levels[result->machine->level_count - 1].size_bytes);
    if (footprint->unknown)
        ll_json_put_text(json, "fits", NULL);
    else
        ll_json_put_bool(json, "fits", result->fits);
    ll_report_by_class(footprint, json);
    ll_json_key(json, "most");
    ll_json_open_object(json);
    for (int i = 0; i < LL_HOLDS_COUNT; i++)
        put_bytes(footprint, ll_training_memory_name((enum ll_training_memory)i), footprint->most_bytes[i],
                  json);
    ll_json_close_object(json);
    if (report->memory)
        ll_memory_json(report->memory, json);
    ll_json_close_object(json);
}

/* Samples of all devices in a step over those of a program's trace. */
static double samples_more(const struct ll_report *report)
{
    const struct ll_plan_sizes *sizes = report->parallel ? &report->parallel->spread->sizes : NULL;
    return sizes && sizes->micro_batch > 0 ? (double)sizes->batch / (double)sizes->micro_batch : 1;
}

static void metrics(const struct ll_report *report, struct ll_json *json)
{
    struct ll_metrics metrics = ll_metrics_of(report->result);
    ll_json_put_number(json, "throughput", metrics.throughput_Hz * samples_more(report));
    ll_json_put_text(json, "throughput_unit", metrics.unit);
    if (report->tokens_per_sample > 0) {
        double rate_Hz = ll_report_samples(report) * report->tokens_per_sample / report->result->time_s;
        uint64_t devices = report->parallel ? report->parallel->spread->sizes.devices : 1;
        ll_json_put_number(json, "tokens_per_s", rate_Hz);
        ll_json_put_number(json, "tokens_per_s_per_device", rate_Hz / (double)devices);
    }
    ll_json_put_number(json, "device_utilization", metrics.device_utilization);
    ll_json_put_number(json, "fp32_utilization", metrics.fp32_utilization);
    ll_json_put_number(json, "cpu_utilization", metrics.cpu_utilization);
}

static void infeed(const struct ll_result *result, struct ll_json *json)
{
    struct ll_infeed infeed = {0};
    if (!ll_infeed_of(result, &infeed))
        return;
    assert(infeed.share >= 0 && infeed.share <= 1 && infeed.step_s >= infeed.device_s * (1 - 1e-9));
    ll_json_key(json, "infeed");
    ll_json_open_object(json);
    ll_json_put_number(json, "share", infeed.share);
    ll_json_put_number(json, "step_s", infeed.step_s);
    ll_json_put_number(json, "device_s", infeed.device_s);
    ll_json_put_number(json, "prepare_s", infeed.prepare_s);
    ll_json_put_number(json, "transfer_s", infeed.transfer_s);
    ll_json_close_object(json);
}

static void network(const struct ll_result *result, struct ll_json *json)
{
    assert(result->network.exposed_s <= result->network.busy_s * (1 + 1e-9));
    const struct ll_exposure *network = &result->network;
    ll_json_key(json, "network");
    ll_json_open_object(json);
    ll_json_put_number(json, "total_s", network->busy_s);
    ll_json_put_number(json, "exposed_s", network->exposed_s);
    ll_json_key(json, "by_level");
    ll_json_open_list(json);
    for (uint64_t l = 0; l < result->machine->network_count; l++) {
        const struct ll_network_use *level = &network->levels[l];
        ll_json_open_object(json);
        ll_json_put_text(json, "level", result->machine->networks[l].name);
        ll_json_put_number(json, "total_s", level->busy_s);
        ll_json_put_number(json, "exposed_s", level->exposed_s);
        ll_json_put_number(json, "share", level->share);
        ll_json_put_number(json, "sent_bytes", level->sent_bytes);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
    ll_json_close_object(json);
}

/* How much of the time was measured. */
static void origins(const struct ll_result *result, struct ll_json *json)
{
    ll_json_key(json, "shares_of_time");
    ll_json_open_object(json);
    for (int i = LL_TIME_ORIGIN_COUNT - 1; i >= 0; i--)
        ll_json_put_number(json, ll_time_origin_name((enum ll_time_origin)i), result->origin_shares[i]);
    ll_json_close_object(json);
}

static void by_kind(const struct ll_result *result, struct ll_json *json)
{
    ll_json_key(json, "by_kind");
    ll_json_open_list(json);
    for (uint64_t i = 0; i < result->kind_count; i++) {
        const struct ll_kind_result *kind = &result->kinds[i];
        ll_json_open_object(json);
        ll_json_put_text(json, "kind", kind->kind);
        ll_json_put_text(json, "class", ll_class_name(kind->op_class));
        ll_json_put_number(json, "count", kind->count);
        ll_json_put_number(json, "time_s", kind->time_s);
        ll_json_put_number(json, "share", kind->share);
        ll_json_put_number(json, "flops", kind->flops);
        ll_json_put_number(json, "bytes", kind->bytes);
        ll_json_put_text(json, "bound", ll_bound_name(result->machine, kind->bound));
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

/* How an exchange between devices is done. */
static void exchange(const struct ll_result *result, const struct ll_price *price, struct ll_json *json)
{
    const struct ll_exchanged *e = &price->exchanged;
    ll_json_key(json, "communication");
    ll_json_open_object(json);
    ll_json_put_count(json, "devices", price->devices);
    ll_json_put_text(json, "level", price->levels ? result->machine->networks[price->outermost].name : NULL);
    ll_json_put_text(json, "algorithm",
                     e->algorithm < LL_ALGORITHM_COUNT ? ll_algorithm_name(e->algorithm) : NULL);
    ll_json_put_number(json, "rounds", e->rounds);
    ll_json_put_number(json, "sent_bytes", e->sent_bytes / (double)price->devices);
    ll_json_put_text(json, "busiest",
                     e->busiest < LL_NO_LEVEL ? result->machine->networks[e->busiest].name : NULL);
    ll_json_close_object(json);
}

/* Of a GEMM's traffic what each operand has, as `holds` of a level calls them. */
static void operands(const struct ll_machine *machine, const struct ll_op_detail *detail,
                     struct ll_json *json)
{
    double all_bytes = 0;
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        for (uint64_t l = 0; l < machine->level_count; l++)
            all_bytes += detail->operand_bytes[l][i];
    if (all_bytes == 0)
        return;
    ll_json_key(json, "traffic_of");
    ll_json_open_object(json);
    for (uint64_t l = 0; l < machine->level_count; l++) {
        ll_json_key(json, machine->levels[l].name);
        ll_json_open_object(json);
        for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
            ll_json_put_number(json, ll_operand_name(i), detail->operand_bytes[l][i]);
        ll_json_close_object(json);
    }
    ll_json_close_object(json);
}

/* Ops of the same work have the same bounds: worked out once. */
struct known_bounds {
    struct ll_map works; /* kind and work */
    struct ll_bounds *at;
    size_t capacity;
};

static struct ll_bounds bounds_of(const struct ll_result *result, uint32_t signature,
                                  struct known_bounds *known)
{
    assert(signature < result->prepared->trace->signature_count);
    struct {
        uint64_t kind;
        struct ll_work work;
    } key;
    bool is_new = true;
    memset(&key, 0, sizeof key);
    key.kind = result->prepared->trace->signatures[signature].view.kind;
    memcpy(&key.work, &result->prepared->works[signature], sizeof key.work);
    uint32_t id = ll_map_intern(&known->works, &key, sizeof key, &is_new);
    if (id == LL_NO_ID || !ll_grow(&known->at, &known->capacity, id + 1u, sizeof *known->at))
        return ll_replay_bounds(result, signature); /* memory ran out: anew each time */
    if (is_new)
        known->at[id] = ll_replay_bounds(result, signature);
    return known->at[id];
}

static void put_signature(const struct ll_op_signature *signature, struct ll_json *json)
{
    struct ll_str text = {0};
    ll_signature_text(&signature->view, &text);
    json->out->failed |= text.failed;
    ll_json_put_text(json, "signature", text.text);
    ll_str_release(&text);
}

static void one_op(const struct ll_result *result, uint32_t seq, struct known_bounds *known,
                   struct ll_json *json)
{
    const struct ll_trace *trace = result->prepared->trace;
    const struct ll_op_signature *signature = &trace->signatures[trace->ops[seq].signature];
    const struct ll_op_result *op = &result->ops[seq - result->prepared->first_op];
    assert(op->time_s >= 0 && op->start_s >= 0);
    struct ll_op_detail detail = ll_replay_detail(result, seq);
    struct ll_bounds bounds = bounds_of(result, trace->ops[seq].signature, known);
    ll_json_open_object(json);
    ll_json_put_count(json, "seq", seq);
    ll_json_put_text(json, "kind", trace->strings[signature->kind_name]);
    ll_json_put_text(json, "scope", trace->strings[signature->scope]);
    ll_json_put_text(json, "phase", ll_phase_name(signature->phase));
    put_signature(signature, json);
    ll_json_put_text(json, "unit", op->unit == LL_NO_UNIT ? NULL : result->machine->units[op->unit].name);
    ll_json_put_number(json, "start_s", op->start_s);
    ll_json_put_number(json, "time_s", op->time_s);
    ll_json_put_text(json, "time_from", ll_time_origin_name(op->origin));
    if (result->network.count > 0)
        ll_json_put_number(json, "contention_s", op->taken_s);
    ll_json_put_number(json, "time_bound_s", bounds.bound_s);
    ll_json_put_number(json, "time_pipelined_s", bounds.pipelined_s);
    ll_json_put_number(json, "compute_cycles", detail.compute_cycles);
    ll_json_put_number(json, "stall_cycles", detail.stall_cycles);
    ll_json_put_number(json, "utilization", detail.utilization);
    ll_json_put_text(json, "bound", ll_bound_name(result->machine, op->bound));
    ll_json_key(json, "traffic");
    ll_json_open_object(json);
    for (uint64_t i = 0; i < result->machine->level_count; i++)
        ll_json_put_number(json, result->machine->levels[i].name, detail.traffic_bytes[i]);
    ll_json_close_object(json);
    ll_json_key(json, "written");
    ll_json_open_object(json);
    for (uint64_t i = 0; i < result->machine->level_count; i++)
        ll_json_put_number(json, result->machine->levels[i].name, detail.written_bytes[i]);
    ll_json_close_object(json);
    operands(result->machine, &detail, json);
    if (detail.price)
        exchange(result, detail.price, json);
    ll_json_close_object(json);
}

static void what_if(const struct ll_report *report, struct ll_json *json)
{
    assert(report->gain_count == 0 || report->gains);
    ll_json_key(json, "what_if");
    ll_json_open_list(json);
    for (size_t i = 0; i < report->gain_count; i++) {
        const struct ll_gain *gain = &report->gains[i];
        ll_json_open_object(json);
        ll_json_put_text(json, "path", gain->knob.path);
        ll_json_put_number(json, "factor", gain->knob.factor);
        ll_json_put_number(json, "time_s", gain->time_s);
        ll_json_put_number(json, "speedup", gain->speedup);
        ll_json_put_text(json, "label", gain->knob.label);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

/* The keys `energy_j` and, where the machine describes it, `energy_parts_j`, into the object that is open. */
static void report_energy_json(const struct ll_machine *machine, double energy_j,
                               const struct ll_energy_parts *parts, struct ll_json *json)
{
    assert(!(energy_j < 0));
    ll_json_put_number(json, "energy_j", energy_j);
    if (!isfinite(energy_j))
        return;
    ll_json_key(json, "energy_parts_j");
    ll_json_open_object(json);
    ll_json_put_number(json, "compute", parts->compute_j);
    if (parts->registers_j > 0)
        ll_json_put_number(json, "registers", parts->registers_j);
    if (parts->hops_j > 0)
        ll_json_put_number(json, "hops", parts->hops_j);
    for (uint64_t l = 0; l < machine->level_count; l++)
        ll_json_put_number(json, machine->levels[l].name, parts->level_j[l]);
    ll_json_put_number(json, "host", parts->host_j);
    ll_json_put_number(json, "network", parts->network_j);
    ll_json_put_number(json, "static", parts->static_j);
    ll_json_close_object(json);
}

static void energy(const struct ll_result *result, struct ll_json *json)
{
    report_energy_json(result->machine, result->energy_j, &result->energy, json);
    if (!isfinite(result->energy_j))
        return;
    ll_json_key(json, "pj_per_byte");
    ll_json_open_object(json);
    for (uint64_t l = 0; l < result->machine->level_count; l++)
        ll_json_put_number(json, result->machine->levels[l].name,
                           ll_machine_level_j(result->machine, l) * 1e12);
    ll_json_close_object(json);
}

static void area(const struct ll_result *result, struct ll_json *json)
{
    const struct ll_machine *machine = result->machine;
    ll_json_put_number(json, "area_mm2", result->area_m2 * 1e6);
    if (!isfinite(result->area_m2))
        return;
    ll_json_key(json, "area_parts_mm2");
    ll_json_open_object(json);
    for (uint64_t u = 0; u < machine->unit_count; u++)
        ll_json_put_number(json, machine->units[u].name, ll_machine_unit_area_m2(machine, u) * 1e6);
    for (uint64_t l = 0; l < machine->level_count; l++)
        if (ll_level_is_on_chip(machine, l))
            ll_json_put_number(json, machine->levels[l].name, ll_machine_level_area_m2(machine, l) * 1e6);
    ll_json_put_number(json, "fixed", machine->area.fixed_m2 * 1e6);
    ll_json_close_object(json);
}

static void price(const struct ll_machine *machine, struct ll_json *json)
{
    struct ll_priced priced;
    bool known = ll_machine_price(machine, &priced);
    ll_json_put_number(json, "price_usd", known ? priced.all_usd : NAN);
    if (!known)
        return;
    ll_json_key(json, "price_parts_usd");
    ll_json_open_object(json);
    ll_json_put_number(json, "dies", priced.dies_usd);
    ll_json_put_number(json, "memory", priced.memory_usd);
    ll_json_put_number(json, "fixed", priced.fixed_usd);
    ll_json_close_object(json);
    ll_json_put_number(json, "dies_per_wafer", priced.dies_per_wafer);
    ll_json_put_number(json, "die_yield", priced.yield);
}

static void all_ops(const struct ll_result *result, struct ll_json *json)
{
    const struct ll_prepared *prepared = result->prepared;
    struct known_bounds known = {0};
    ll_json_key(json, "ops");
    ll_json_open_list(json);
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++)
        one_op(result, seq, &known, json);
    ll_json_close_list(json);
    ll_map_release(&known.works);
    free(known.at);
}

static void exposed_json(const struct ll_parallel_result *p, struct ll_json *json)
{
    ll_json_key(json, "exposed_s");
    ll_json_open_object(json);
    for (int i = 0; i < LL_TRAFFIC_COUNT; i++)
        ll_json_put_number(json, ll_traffic_name((enum ll_traffic_kind)i), p->exposed_s[i]);
    ll_json_close_object(json);
}

/* Only where the plan has some. */
static void stragglers_json(const struct ll_parallel_result *p, struct ll_json *json)
{
    if (p->slow_devices + p->slow_links == 0)
        return;
    ll_json_key(json, "stragglers");
    ll_json_open_object(json);
    ll_json_put_count(json, "slow_devices", p->slow_devices);
    ll_json_put_count(json, "slow_link_devices", p->slow_links);
    ll_json_put_number(json, "even_step_s", p->even_s);
    ll_json_put_number(json, "lost_s", p->step_s - p->even_s);
    ll_json_close_object(json);
}

/* Only where there are several. */
static void pools_json(const struct ll_parallel_result *p, struct ll_json *json)
{
    if (p->pool_count < 2)
        return;
    ll_json_key(json, "pools");
    ll_json_open_list(json);
    for (uint64_t i = 0; i < p->pool_count; i++) {
        const struct ll_pool_use *pool = &p->pools[i];
        const uint64_t end = pool->first_stage + pool->stages;
        uint64_t fullest = pool->first_stage;
        double busy_s = 0;
        for (uint64_t s = pool->first_stage; s < end; s++) {
            fullest = p->stages[s].memory_bytes > p->stages[fullest].memory_bytes ? s : fullest;
            busy_s = fmax(busy_s, p->stages[s].busy_s);
        }
        ll_json_open_object(json);
        ll_json_put_text(json, "machine", pool->machine->stem);
        ll_json_put_count(json, "first_stage", pool->first_stage);
        ll_json_put_count(json, "stage_count", pool->stages);
        ll_json_put_count(json, "devices", pool->devices);
        ll_json_put_number(json, "busy_s", busy_s);
        ll_json_put_number(json, "energy_j", pool->energy_j);
        ll_json_put_number(json, "usd_per_hour",
                           ll_machine_usd_per_hour(pool->machine) * (double)pool->devices);
        if (p->result->footprint->unknown)
            ll_json_put_text(json, "memory_bytes", NULL);
        else
            ll_json_put_count(json, "memory_bytes", p->stages[fullest].memory_bytes);
        ll_json_put_count(json, "capacity_bytes", p->stages[fullest].capacity_bytes);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void stage_json(const struct ll_parallel_result *p, uint64_t stage, struct ll_json *json)
{
    assert(stage < p->spread->plan.pipeline);
    const struct ll_stage_use *use = &p->stages[stage];
    struct ll_str layers = {0};
    ll_stage_layers(p->spread, stage, &layers);
    ll_json_open_object(json);
    ll_json_put_count(json, "stage", stage);
    if (layers.text && p->spread->plan.pipeline > 1)
        ll_json_put_text(json, "layers", layers.text);
    ll_str_release(&layers);
    ll_json_put_number(json, "forward_s", use->forward_s);
    ll_json_put_number(json, "backward_s", use->backward_s);
    ll_json_put_number(json, "per_step_s", use->tail_s);
    ll_json_put_number(json, "busy_s", use->busy_s);
    ll_json_put_number(json, "flops", use->flops);
    ll_json_put_count(json, "in_flight", use->in_flight);
    if (p->result->footprint->unknown)
        ll_json_put_text(json, "memory_bytes", NULL);
    else
        ll_json_put_count(json, "memory_bytes", use->memory_bytes);
    ll_json_close_object(json);
}

static void report_parallel_json(const struct ll_parallel_result *p, struct ll_json *json)
{
    const struct ll_plan_sizes *sizes = &p->spread->sizes;
    assert(p->bubble >= 0 && p->bubble <= 1);
    assert(p->slowest < p->spread->plan.pipeline && p->fullest < p->spread->plan.pipeline);
    ll_json_key(json, "parallel");
    ll_json_open_object(json);
    ll_json_put_count(json, "devices", sizes->devices);
    ll_json_key(json, "plan");
    ll_plan_json(&p->spread->plan, json);
    ll_json_put_count(json, "batch", sizes->batch);
    ll_json_put_count(json, "micro_batch", sizes->micro_batch);
    ll_json_put_count(json, "micro_batches", sizes->micro_batches);
    ll_json_put_number(json, "step_s", p->step_s);
    ll_json_put_number(json, "samples_per_s", p->samples_Hz);
    ll_json_put_number(json, "flops", p->flops);
    ll_json_put_number(json, "undivided_flops", p->spread->undivided_flops);
    report_energy_json(p->result->machine, p->energy_j, &p->energy, json);
    ll_json_put_number(json, "area_mm2", ll_parallel_area_m2(p) * 1e6);
    ll_json_put_number(json, "bubble", p->bubble);
    exposed_json(p, json);
    pools_json(p, json);
    stragglers_json(p, json);
    ll_json_put_count(json, "bottleneck_stage", p->slowest);
    ll_json_put_count(json, "fullest_stage", p->fullest);
    if (p->result->footprint->unknown) {
        ll_json_put_text(json, "memory_bytes", NULL);
        ll_json_put_text(json, "fits", NULL);
    } else {
        ll_json_put_count(json, "memory_bytes", p->stages[p->fullest].memory_bytes);
        ll_json_put_bool(json, "fits", p->result->fits);
    }
    ll_json_key(json, "stages");
    ll_json_open_list(json);
    for (uint64_t s = 0; s < p->spread->plan.pipeline; s++)
        stage_json(p, s, json);
    ll_json_close_list(json);
    ll_json_close_object(json);
}

/* Parts of a page and of the document that are there with a plan: a line on how it is spread, what waits for
 * what; the key `parallel` into the object that is open. The same for a trace of several ranks; its key is
 * `ranks`. */
static void report_together_json(const struct ll_multi_rank_result *t, struct ll_json *json)
{
    ll_json_key(json, "ranks");
    ll_json_open_list(json);
    for (uint32_t i = 0; i < t->rank_count; i++) {
        ll_json_open_object(json);
        ll_json_put_count(json, "rank", i);
        ll_json_put_number(json, "end_s", t->ranks[i].end_s);
        ll_json_put_number(json, "busy_s", t->ranks[i].busy_s);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void one_report(const struct ll_report *report, const char *machine, bool per_op, struct ll_json *json)
{
    assert(report->result->prepared->first_op <= report->result->prepared->end_op &&
           report->result->time_s >= 0);
    const struct ll_result *result = report->result;
    const struct ll_prepared *prepared = result->prepared;
    ll_json_open_object(json);
    ll_json_put_text(json, "trace", report->trace_name);
    ll_json_put_text(json, "machine", machine);
    ll_json_put_text(json, "model", ll_trace_fact(prepared->trace, "model"));
    if (ll_trace_fact(prepared->trace, "weights"))
        ll_json_put_text(json, "weights", ll_trace_fact(prepared->trace, "weights"));
    if (ll_trace_fact(prepared->trace, "pruned"))
        ll_json_put_text(json, "pruned", ll_trace_fact(prepared->trace, "pruned"));
    ll_json_put_number(json, "time_s", result->time_s);
    if (report->time_high_s > 0) {
        ll_json_put_number(json, "time_low_s", report->time_low_s);
        ll_json_put_number(json, "time_high_s", report->time_high_s);
    }
    if (prepared->as_recorded)
        ll_json_put_bool(json, "as_recorded", true);
    ll_json_put_number(json, "flops", prepared->flops);
    ll_json_put_number(json, "bytes", prepared->bytes);
    ll_json_put_number(json, "flop_utilization", result->flop_utilization);
    metrics(report, json);
    bottlenecks(result, json);
    ll_json_put_number(json, "uncovered_share", result->gap_share);
    origins(result, json);
    ll_json_put_number(json, "coverage", ll_coverage_of(prepared->trace));
    infeed(result, json);
    if (result->network.count > 0)
        network(result, json);
    memory(report, json);
    energy(result, json);
    ll_searched_json(result, json);
    area(result, json);
    price(result->machine, json);
    if (report->parallel)
        report_parallel_json(report->parallel, json);
    if (report->together)
        report_together_json(report->together, json);
    if (report->fusion)
        ll_fusion_json(report->fusion, json);
    by_kind(result, json);
    if (per_op)
        all_ops(result, json);
    if (report->gains)
        what_if(report, json);
    ll_json_key(json, "config");
    ll_machine_json(report->fusion ? report->fusion->machine : result->machine, json);
    ll_json_close_object(json);
}

static void warnings(const struct ll_report *reports, size_t count, struct ll_json *json)
{
    struct ll_arena arena = {0};
    struct ll_warnings found = {.arena = &arena};
    ll_warn_of_reports(&found, reports, count);
    ll_warnings_json(&found, json);
    ll_arena_release(&arena);
}

void ll_report_json(const struct ll_report *reports, size_t count, bool per_op, struct ll_json *json)
{
    ll_json_open_document(json, "sim", 1);
    warnings(reports, count, json);
    ll_json_key(json, "results");
    ll_json_open_list(json);
    for (size_t i = 0; i < count; i++)
        one_report(&reports[i], ll_report_machine(reports, count, &reports[i]), per_op, json);
    ll_json_close_list(json);
    ll_json_close_object(json);
}

/* What the searches for mappings on arrays looked at, as a line and as JSON, and how much better what they
 * left out may be. */

/* Of a step; mappings of each signature once. */
struct searched {
    uint64_t mappings, ops, ops_in_part;
    double gap_s, gap_j; /* what a step could take less at most, were all mappings looked at */
};

/* False when memory ran out. */
static bool searched_of(const struct ll_result *result, struct searched *sum)
{
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_trace *trace = prepared->trace;
    const double steps = (double)prepared->steps;
    bool *seen = calloc(trace->signature_count + 1, sizeof *seen);
    *sum = (struct searched){0};
    for (uint32_t seq = prepared->first_op; seen && result->costs && seq < prepared->end_op; seq++) {
        const struct ll_cost *cost = ll_replay_cost(result, seq);
        if (!cost || cost->mappings == 0)
            continue;
        sum->mappings += seen[trace->ops[seq].signature] ? 0 : cost->mappings;
        seen[trace->ops[seq].signature] = true;
        sum->ops++;
        sum->ops_in_part += cost->mapped_in_part;
        sum->gap_s += cost->mapped_in_part ? cost->mapping_gap_s / steps : 0;
        sum->gap_j += cost->mapped_in_part ? cost->mapping_gap_j / steps : 0;
    }
    const bool right = seen != NULL;
    free(seen);
    return right;
}

void ll_searched_text(const struct ll_result *result, unsigned width, struct ll_str *out)
{
    struct searched sum;
    struct ll_human time, energy;
    struct ll_str line = {0};
    if (!searched_of(result, &sum))
        out->failed = true;
    if (sum.ops_in_part == 0)
        return;
    ll_str_addf(
        &line,
        "of %" PRIu64 " of %" PRIu64
        " ops on the array a part of the mappings was searched: by the bounds others take at most %s less",
        sum.ops_in_part, sum.ops, ll_format_si(&time, sum.gap_s, "s/step"));
    if (result->machine->energy_given)
        ll_str_addf(&line, ", or %s less", ll_format_si(&energy, sum.gap_j, "J/step"));
    ll_end_line(&line, width, out);
}

void ll_searched_json(const struct ll_result *result, struct ll_json *json)
{
    struct searched sum;
    if (!searched_of(result, &sum))
        json->out->failed = true;
    if (sum.ops == 0)
        return;
    ll_json_put_count(json, "mappings_evaluated", sum.mappings);
    ll_json_put_bool(json, "mappings_complete", sum.ops_in_part == 0);
    ll_json_put_number(json, "mappings_gap_s", sum.gap_s);
    if (result->machine->energy_given)
        ll_json_put_number(json, "mappings_gap_j", sum.gap_j);
}
