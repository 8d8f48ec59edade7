/* SPDX-License-Identifier: Apache-2.0 */
/* What a finished replay adds up to. Sections in this order: bottlenecks along the critical path, energy
 * and area, ops by kind, exposed communication, the wait for input, TBD's metrics, and what-ifs: the step
 * with a knob of the machine turned. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cost/cost.h"
#include "sim/cost/cost_parts.h"
#include "sim/cost/memo.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "sim/replay/replay_parts.h"

/* Bottlenecks. From the op that ended last, the walk goes back along the critical path: each op on it began
 * when the one before it ended. So their times add up to the whole step, and the parts of each time are
 * shares of the step. Ops off this path held nothing back. */

static uint32_t last_to_end(const struct ll_result *result)
{
    uint32_t first = result->prepared->first_op, end = result->prepared->end_op, last = first;
    double latest_s = -1;
    for (uint32_t seq = first; seq < end; seq++) {
        const struct ll_op_result *op = &result->ops[seq - first];
        if (op->start_s + op->time_s > latest_s) {
            latest_s = op->start_s + op->time_s;
            last = seq;
        }
    }
    return last;
}

/* The level of the network that an exchange on the chain reached, or that took units from an op on it. */
static void spend_on_network(struct ll_result *result, uint32_t seq, const struct ll_op_parts *part)
{
    const struct ll_op_result *op = &result->ops[seq - result->prepared->first_op];
    if (op->bound == LL_BOUND_NETWORK)
        result->network.levels[result->prices[result->prepared->trace->ops[seq].signature].outermost].share +=
            op->time_s;
    else if (op->taken_s > 0)
        result->network.levels[part->taken_level].share += op->taken_s;
}

void ll_share_origins(const double from_s[LL_TIME_ORIGIN_COUNT], double total_s, struct ll_result *result)
{
    double rest = 1;
    for (int i = LL_TIME_MODELLED + 1; i < LL_TIME_ORIGIN_COUNT; i++) {
        result->origin_shares[i] = total_s > 0 ? fmin(rest, from_s[i] / total_s) : 0;
        rest -= result->origin_shares[i];
    }
    result->origin_shares[LL_TIME_MODELLED] = fmax(0, rest);
}

/* The critical path, from the op that ends last back to one that waited for none: each op on it spends its
 * time on its bound, its launch, what it waits for and the network; the parts of the whole path are the
 * shares. */
static void share_out(struct ll_result *result, const struct ll_op_parts *parts, double behind_s)
{
    double spent_s[LL_BOUND_COUNT] = {[LL_BOUND_OVERHEAD] = behind_s}, total_s = 0;
    double from_s[LL_TIME_ORIGIN_COUNT] = {0};
    for (uint32_t seq = last_to_end(result); seq != LL_NONE;) {
        const struct ll_op_result *op = &result->ops[seq - result->prepared->first_op];
        const struct ll_op_parts *part = &parts[seq - result->prepared->first_op];
        spent_s[LL_BOUND_OVERHEAD] += part->overhead_s;
        spent_s[LL_BOUND_DEPENDENCY] += part->exposed_s;
        spent_s[LL_BOUND_NETWORK] += op->taken_s;
        spent_s[op->bound] += op->time_s - part->overhead_s - part->exposed_s - op->taken_s;
        from_s[op->origin] += op->time_s;
        spend_on_network(result, seq, part);
        if (result->prepared->works[result->prepared->trace->ops[seq].signature].kind == LL_WORK_WAIT &&
            !ll_is_kernel(result->prepared, result->prepared->trace->ops[seq].signature))
            result->gap_share += op->time_s;
        seq = part->waited_for;
    }
    for (unsigned i = 0; i < LL_BOUND_COUNT; i++)
        total_s += spent_s[i];
    for (unsigned i = 0; i < LL_BOUND_COUNT; i++)
        result->shares[i] = total_s > 0 ? spent_s[i] / total_s : 0;
    result->gap_share /= total_s > 0 ? total_s : 1;
    ll_share_origins(from_s, total_s, result);
    for (unsigned i = 0; i < LL_MAX_LINKS && total_s > 0; i++)
        result->network.levels[i].share /= total_s;
    if (total_s <= 0)
        result->shares[LL_BOUND_COMPUTE] = 1; /* nothing took any time: views only */
    double sum = 0;
    for (unsigned i = 0; i < LL_BOUND_COUNT; i++)
        sum += result->shares[i];
    assert(fabs(sum - 1) < 1e-9);
    (void)sum;
}

void ll_find_bottlenecks(struct ll_result *result, const struct ll_op_parts *parts, double behind_s)
{
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_machine *machine = result->machine;
    share_out(result, parts, behind_s);
    for (uint64_t l = 0; l < machine->level_count && result->time_s > 0; l++)
        result->level_share[l] = result->level_bytes[l] / (ll_machine_level_Bps(machine, l) * result->time_s);
    result->flop_utilization = ll_flop_utilization(machine, prepared->dtype, prepared->flops, result->time_s);
    result->fits = ll_footprint_fits(result->footprint, machine->levels[machine->level_count - 1].size_bytes);
}

/* Energy to first order: so much for each multiply-accumulate or operation, so much for each byte out of a
 * memory level, from the host or over a link between devices, and the power that flows all the time over
 * the whole step. As in Accelergy (Wu, Emer and Sze, ICCAD 2019) a byte is charged in both memories between
 * which it goes; between the innermost one and the units once, between the outermost one and the host in that
 * one too. Area: arithmetic by the number of multiply-accumulators,
 * on-chip memory by the byte, and what is fixed. Both are NaN when the machine does not describe them. */

void ll_energy_add(struct ll_energy_parts *sum, const struct ll_energy_parts *term, double times)
{
    assert(times >= 0);
    sum->compute_j += times * term->compute_j;
    sum->registers_j += times * term->registers_j;
    sum->hops_j += times * term->hops_j;
    sum->host_j += times * term->host_j;
    sum->network_j += times * term->network_j;
    sum->static_j += times * term->static_j;
    for (unsigned l = 0; l < LL_MAX_LEVELS; l++)
        sum->level_j[l] += times * term->level_j[l];
}

double ll_energy_sum(const struct ll_energy_parts *parts)
{
    double sum_j = 0;
    for (unsigned l = 0; l < LL_MAX_LEVELS; l++)
        sum_j += parts->level_j[l];
    return sum_j + parts->compute_j + parts->registers_j + parts->hops_j + parts->host_j + parts->network_j +
           parts->static_j;
}

double ll_host_bytes(const struct ll_work *work)
{
    if (work->kind == LL_WORK_HOST)
        return (double)work->c_bytes;
    return work->kind == LL_WORK_SWAP ? (double)ll_max(work->a_bytes, work->c_bytes) : 0;
}

/* What a unit takes for an op: arithmetic, and what an array takes in its registers, between elements and of
 * each level beyond the energy of bytes. */
static void add_unit(double unit_j, const struct ll_cost *cost, struct ll_energy_parts *sum)
{
    const struct ll_array_energy *array = &cost->array_parts;
    double apart_j = array->registers_j + array->hops_j;
    if (cost->array_j == 0) {
        sum->compute_j += unit_j;
        return;
    }
    sum->registers_j += array->registers_j;
    sum->hops_j += array->hops_j;
    for (unsigned l = 0; l < LL_MAX_LEVELS; l++) {
        sum->level_j[l] += array->level_j[l];
        apart_j += array->level_j[l];
    }
    sum->compute_j += unit_j - apart_j;
}

/* Of units, and bytes of the host, of all replayed steps together. Ops of a signature mostly go the same
 * way, so the energy of the latest of each signature is kept. False when memory ran out. */
static bool sum_ops(struct ll_result *result, const bool *idle)
{
    const struct ll_prepared *prepared = result->prepared;
    struct latest {
        const struct ll_cost *cost;
        double compute_j;
    } *latest = calloc(prepared->trace->signature_count + 1, sizeof *latest);
    for (uint32_t seq = prepared->first_op; latest && seq < prepared->end_op; seq++) {
        uint32_t signature = prepared->trace->ops[seq].signature;
        const struct ll_work *work = &prepared->works[signature];
        const struct ll_cost *cost = ll_replay_cost(result, seq);
        if (idle && idle[signature])
            continue;
        if (latest[signature].cost != cost)
            latest[signature] = (struct latest){cost, ll_cost_compute_j(result->machine, work, cost)};
        add_unit(latest[signature].compute_j, cost, &result->energy);
        result->host_bytes += ll_host_bytes(work);
    }
    free(latest);
    return latest != NULL;
}

/* Of what an op moves out of a level and back, each operand's bytes; of other work than GEMMs, what it
 * reads and writes share them. */
static void split_bytes(const struct ll_level *level, const struct ll_work *work,
                        const struct ll_op_detail *detail, uint64_t l, double of[LL_OPERAND_COUNT])
{
    if (ll_is_gemm(work)) {
        memcpy(of, detail->operand_bytes[l], sizeof detail->operand_bytes[l]);
        return;
    }
    double read = ll_level_holds(level, LL_OPERAND_A) ? (double)work->a_bytes : 0;
    double written = ll_level_holds(level, LL_OPERAND_C) ? (double)work->c_bytes : 0;
    double each = read + written > 0 ? detail->traffic_bytes[l] / (read + written) : 0;
    of[LL_OPERAND_A] = read * each;
    of[LL_OPERAND_B] = 0;
    of[LL_OPERAND_C] = written * each;
}

static void add_access(struct ll_tally *tally, uint64_t level, double bytes)
{
    assert(tally->access_count < sizeof tally->accesses / sizeof *tally->accesses && bytes >= 0);
    tally->accesses[tally->access_count++] = (struct ll_access){(uint32_t)level, bytes};
}

static void tally_accesses(const struct ll_machine *machine, const struct ll_work *work,
                           const struct ll_op_detail *detail, struct ll_tally *tally)
{
    add_access(tally, machine->level_count - 1, ll_host_bytes(work));
    for (uint64_t l = 0; l < machine->level_count; l++) {
        double of[LL_OPERAND_COUNT];
        add_access(tally, l, detail->traffic_bytes[l]);
        split_bytes(&machine->levels[l], work, detail, l, of);
        for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++) {
            int inside = ll_destination_level(machine, l, i);
            if (inside != LL_CATCHER_UNIT && of[i] != 0)
                add_access(tally, (uint64_t)inside, of[i]);
        }
    }
}

void ll_tally_op(const struct ll_machine *machine, const struct ll_work *work, const struct ll_cost *cost,
                 const struct ll_op_detail *detail, struct ll_tally *tally)
{
    assert(machine->level_count <= LL_MAX_LEVELS);
    memcpy(tally->traffic_bytes, detail->traffic_bytes, machine->level_count * sizeof *tally->traffic_bytes);
    tally->peak_s = cost->unit == LL_NO_UNIT
                        ? 0
                        : detail->utilization * detail->compute_cycles / machine->units[cost->unit].clock_hz;
    tally->access_count = 0;
    if (machine->energy_given)
        tally_accesses(machine, work, detail, tally);
}

void ll_end_energy(struct ll_result *result, const double *accessed_bytes)
{
    struct ll_energy_parts *parts = &result->energy;
    double steps = (double)result->prepared->steps;
    parts->compute_j /= steps;
    parts->registers_j /= steps;
    parts->hops_j /= steps;
    result->host_bytes /= steps;
    parts->host_j = result->host_bytes * result->machine->energy.host_j_per_byte;
    parts->network_j = result->network.links_j;
    for (uint64_t l = 0; l < result->machine->level_count; l++)
        parts->level_j[l] =
            parts->level_j[l] / steps + accessed_bytes[l] / steps * ll_machine_level_j(result->machine, l);
    parts->static_j = ll_machine_static_w(result->machine) * result->time_s;
    result->energy_j = ll_energy_sum(parts);
}

double ll_replay_energy_j(const struct ll_result *result, uint32_t seq)
{
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_machine *machine = result->machine;
    const struct ll_work *work = &prepared->works[prepared->trace->ops[seq].signature];
    const struct ll_cost *cost = ll_replay_cost(result, seq);
    struct ll_tally tally = {.access_count = 0};
    if (!machine->energy_given)
        return NAN;
    struct ll_op_detail detail = ll_replay_detail(result, seq);
    double sum_j =
        ll_cost_compute_j(machine, work, cost) + ll_host_bytes(work) * machine->energy.host_j_per_byte;
    if (detail.price)
        return sum_j + detail.price->exchanged.links_j / (double)detail.price->devices;
    if (work->kind != LL_WORK_WAIT)
        ll_tally_op(machine, work, cost, &detail, &tally);
    for (uint32_t i = 0; i < tally.access_count; i++)
        sum_j += tally.accesses[i].bytes * ll_machine_level_j(machine, tally.accesses[i].level);
    return sum_j;
}

bool ll_sum_energy(struct ll_result *result, const bool *idle, const double *accessed_bytes)
{
    result->area_m2 = ll_machine_area_m2(result->machine);
    result->energy_j = NAN;
    if (!result->machine->energy_given)
        return true;
    if (!sum_ops(result, idle))
        return false;
    ll_end_energy(result, accessed_bytes);
    return true;
}

/* Ops summed by their kind. */

struct kind_sum {
    double bound_s[LL_BOUND_COUNT], amount[LL_BOUND_COUNT], peak_s[LL_BOUND_COUNT];
};

struct ll_kind_sums {
    struct ll_kind_result kinds[LL_OP_NONE];
    struct kind_sum sums[LL_OP_NONE];
    uint32_t rows[LL_OP_NONE]; /* by op kind: its place in the others, LL_NONE before it comes */
    uint32_t count;
};

struct ll_kind_sums *ll_kind_sums_new(struct ll_arena *arena)
{
    struct ll_kind_sums *sums = ll_alloc(arena, 1, sizeof *sums);
    for (unsigned i = 0; sums && i < LL_OP_NONE; i++)
        sums->rows[i] = LL_NONE;
    return sums;
}

/* Bytes a second of level l, all its instances, efficiency applied. */
/* What an op got of the resource that bound it: bytes, or operations. */
static double amount_of(const struct ll_op_signature *signature, const struct ll_op_result *op,
                        const struct ll_tally *tally)
{
    if (op->bound >= LL_BOUND_LEVEL)
        return tally->traffic_bytes[op->bound - LL_BOUND_LEVEL];
    bool moves = op->bound == LL_BOUND_HOST || op->bound == LL_BOUND_NETWORK;
    return moves ? (double)signature->bytes_read + (double)signature->bytes_written
                 : (double)signature->flops;
}

/* How long that would have taken at the resource's peak, 0 where it has none. */
static double at_peak_s(const struct ll_machine *machine, const struct ll_op_result *op,
                        const struct ll_tally *tally)
{
    if (op->bound == LL_BOUND_COMPUTE)
        return tally->peak_s;
    if (op->bound < LL_BOUND_LEVEL)
        return 0;
    uint32_t l = op->bound - LL_BOUND_LEVEL;
    return tally->traffic_bytes[l] / ll_machine_level_Bps(machine, l);
}

static int by_time(const void *left, const void *right)
{
    const struct ll_kind_result *a = left, *b = right;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? 1 : -1;
    return a->order < b->order ? -1 : 1;
}

void ll_kind_sums_add(struct ll_kind_sums *sums, const struct ll_result *result, uint32_t seq,
                      const struct ll_tally *tally)
{
    assert(seq >= result->prepared->first_op && seq < result->prepared->end_op);
    const struct ll_trace *trace = result->prepared->trace;
    const struct ll_op_signature *signature = &trace->signatures[trace->ops[seq].signature];
    const struct ll_op_result *op = &result->ops[seq - result->prepared->first_op];
    uint32_t *row = &sums->rows[signature->view.kind];
    if (*row == LL_NONE) {
        *row = sums->count++;
        sums->kinds[*row] = (struct ll_kind_result){.kind = trace->strings[signature->kind_name],
                                                    .op_kind = signature->view.kind,
                                                    .op_class = ll_op_class(signature->view.kind),
                                                    .order = *row};
    }
    struct ll_kind_result *kind = &sums->kinds[*row];
    struct kind_sum *sum = &sums->sums[*row];
    kind->count += 1;
    kind->time_s += op->time_s;
    kind->flops += (double)signature->flops;
    kind->bytes += (double)signature->bytes_read + (double)signature->bytes_written;
    sum->bound_s[op->bound] += op->time_s;
    sum->amount[op->bound] += amount_of(signature, op, tally);
    sum->peak_s[op->bound] += at_peak_s(result->machine, op, tally);
}

void ll_kind_sums_terms(struct ll_kind_sums *sums, const struct ll_result *result, uint32_t seq,
                        const struct ll_tally *tally, struct ll_terms *terms)
{
    const struct ll_trace *trace = result->prepared->trace;
    const struct ll_op_signature *signature = &trace->signatures[trace->ops[seq].signature];
    const struct ll_op_result *op = &result->ops[seq - result->prepared->first_op];
    const uint32_t row = sums->rows[signature->view.kind];
    assert(row != LL_NONE);
    struct ll_kind_result *kind = &sums->kinds[row];
    struct kind_sum *sum = &sums->sums[row];
    ll_terms_add(terms, &kind->count, 1);
    ll_terms_add(terms, &kind->time_s, op->time_s);
    ll_terms_add(terms, &kind->flops, (double)signature->flops);
    ll_terms_add(terms, &kind->bytes, (double)signature->bytes_read + (double)signature->bytes_written);
    ll_terms_add(terms, &sum->bound_s[op->bound], op->time_s);
    ll_terms_add(terms, &sum->amount[op->bound], amount_of(signature, op, tally));
    ll_terms_add(terms, &sum->peak_s[op->bound], at_peak_s(result->machine, op, tally));
}

static void finish_kind(struct ll_kind_result *kind, const struct kind_sum *sum, double per_step)
{
    kind->count *= per_step;
    kind->time_s *= per_step;
    kind->flops *= per_step;
    kind->bytes *= per_step;
    for (uint32_t i = 1; i < LL_BOUND_COUNT; i++)
        if (sum->bound_s[i] > sum->bound_s[kind->bound])
            kind->bound = i;
    double bound_s = sum->bound_s[kind->bound];
    kind->rate = bound_s > 0 ? sum->amount[kind->bound] / bound_s : 0;
    kind->peak_share = bound_s > 0 ? sum->peak_s[kind->bound] / bound_s : 0;
    kind->bound_s = bound_s * per_step;
}

/* Ops on different streams overlap, so it is their own time, not the step's, that shares are of. */
static void share_time(struct ll_kind_result *kinds, uint32_t count)
{
    double all_s = 0;
    for (uint32_t i = 0; i < count; i++)
        all_s += kinds[i].time_s;
    for (uint32_t i = 0; i < count; i++)
        kinds[i].share = all_s > 0 ? kinds[i].time_s / all_s : 0;
}

void ll_kind_sums_end(struct ll_kind_sums *sums, struct ll_result *result)
{
    for (uint32_t i = 0; i < sums->count; i++)
        finish_kind(&sums->kinds[i], &sums->sums[i], 1 / (double)result->prepared->steps);
    qsort(sums->kinds, sums->count, sizeof *sums->kinds, by_time);
    share_time(sums->kinds, sums->count);
    result->kinds = sums->kinds;
    result->kind_count = sums->count;
}

/* How much of the exchanges between devices shows: time in which one goes on and the device does nothing.
 *
 * The exchanges are taken in the order in which they start; the device's ops follow one another already. Two
 * marks walk along both: what of an exchange lies behind all before it is new, and what of the new no op
 * covers is exposed. */

/* An exchange. */
struct span {
    double start_s, end_s;
    uint32_t signature, order;
};

/* All of them, in the order of their start. */
struct spans {
    struct span *at;
    uint32_t count;
};

/* The ops that are looked at, in order. */
struct looked {
    uint32_t *at;
    uint32_t count;
};

static int by_start(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    if (a->start_s != b->start_s)
        return a->start_s < b->start_s ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static uint32_t signature_of(const struct ll_result *result, uint32_t i)
{
    return result->prepared->trace->ops[result->prepared->first_op + i].signature;
}

static uint32_t op_count(const struct ll_result *result)
{
    return result->prepared->end_op - result->prepared->first_op;
}

/* Whether the op is an exchange that takes place. */
static bool is_exchange(const struct ll_result *result, uint32_t i)
{
    uint32_t signature = signature_of(result, i);
    return result->prepared->works[signature].kind == LL_WORK_COLLECTIVE &&
           result->prices[signature].devices > 0;
}

/* Whether the op runs on the device itself. */
static bool is_computed(const struct ll_result *result, uint32_t i)
{
    uint64_t kind = result->prepared->works[signature_of(result, i)].kind;
    if (ll_is_kernel(result->prepared, signature_of(result, i)))
        return true;
    return kind != LL_WORK_COLLECTIVE && kind != LL_WORK_HOST && kind != LL_WORK_SWAP && kind != LL_WORK_WAIT;
}

static bool find_exchanges(const struct ll_result *result, const struct looked *looked, struct spans *spans)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < looked->count; i++)
        count += is_exchange(result, looked->at[i]);
    *spans = (struct spans){.at = malloc((count + 1u) * sizeof *spans->at)};
    for (uint32_t i = 0; spans->at && i < looked->count; i++) {
        const struct ll_op_result *op = &result->ops[looked->at[i]];
        if (is_exchange(result, looked->at[i]))
            spans->at[spans->count++] = (struct span){op->start_s, op->start_s + op->time_s,
                                                      signature_of(result, looked->at[i]), looked->at[i]};
    }
    if (spans->at)
        qsort(spans->at, count, sizeof *spans->at, by_start);
    return spans->at;
}

/* How much of a span the device's ops cover; *next is the first that may. Spans come in order. */
static double covered_s(const struct ll_result *result, const struct looked *looked, uint32_t *next,
                        double start_s, double end_s)
{
    double covered = 0;
    for (; *next < looked->count; ++*next) {
        const struct ll_op_result *op = &result->ops[looked->at[*next]];
        if (is_computed(result, looked->at[*next]) && op->start_s + op->time_s > start_s)
            break;
    }
    for (uint32_t i = *next; i < looked->count; i++) {
        const struct ll_op_result *op = &result->ops[looked->at[i]];
        if (!is_computed(result, looked->at[i]))
            continue;
        if (op->start_s >= end_s)
            break;
        covered += fmax(0, fmin(end_s, op->start_s + op->time_s) - fmax(start_s, op->start_s));
    }
    return covered;
}

/* Where times of exchanges are added up: all of them, what shows, and what shows of each kind, where forms
 * have kinds. */
struct sums {
    double *busy_s, *exposed_s;
    const uint8_t *kinds;
    double *by_kind_s;
};

/* Adds the times of the exchanges that use one of these levels. */
static void sweep(const struct ll_result *result, const struct looked *looked, const struct spans *exchanged,
                  uint32_t levels, const struct sums *sums)
{
    double behind_s = 0, per_step = 1 / (double)result->prepared->steps;
    uint32_t next = 0;
    for (uint32_t i = 0; i < exchanged->count; i++) {
        const struct span *span = &exchanged->at[i];
        double start_s = fmax(behind_s, span->start_s);
        if (!(result->prices[span->signature].levels & levels) || span->end_s <= start_s)
            continue;
        *sums->busy_s += (span->end_s - start_s) * per_step;
        double covered = covered_s(result, looked, &next, start_s, span->end_s);
        assert(covered >= 0 && covered <= (span->end_s - start_s) * (1 + 1e-9));
        double shown_s = (span->end_s - start_s - covered) * per_step;
        *sums->exposed_s += shown_s;
        if (sums->kinds)
            sums->by_kind_s[sums->kinds[span->signature]] += shown_s;
        behind_s = span->end_s;
    }
}

/* A device's share of what those who take part send, and of what their links take. */
static void sum_bytes(struct ll_result *result, const struct spans *exchanged)
{
    for (uint32_t i = 0; i < exchanged->count; i++) {
        const struct ll_price *price = &result->prices[exchanged->at[i].signature];
        double share = 1 / (double)price->devices / (double)result->prepared->steps;
        result->network.levels[price->outermost].sent_bytes += price->exchanged.sent_bytes * share;
        result->network.links_j += price->exchanged.links_j * share;
    }
}

static void forget_times(struct ll_exposure *network)
{
    network->busy_s = network->exposed_s = 0;
    for (unsigned l = 0; l < LL_MAX_LINKS; l++)
        network->levels[l].busy_s = network->levels[l].exposed_s = 0;
}

static void sweep_levels(struct ll_result *result, const struct looked *looked, const struct spans *exchanged)
{
    struct ll_exposure *network = &result->network;
    sweep(result, looked, exchanged, UINT32_MAX,
          &(struct sums){.busy_s = &network->busy_s, .exposed_s = &network->exposed_s});
    for (uint32_t l = 0; l < result->machine->network_count; l++)
        sweep(
            result, looked, exchanged, 1u << l,
            &(struct sums){.busy_s = &network->levels[l].busy_s, .exposed_s = &network->levels[l].exposed_s});
}

/* All ops as they stand. False when memory ran out. */
static bool look_at_all(const struct ll_result *result, struct looked *looked)
{
    *looked = (struct looked){.at = malloc((op_count(result) + 1u) * sizeof *looked->at)};
    for (uint32_t i = 0; looked->at && i < op_count(result); i++)
        looked->at[looked->count++] = i;
    return looked->at;
}

bool ll_find_exposure(struct ll_result *result)
{
    struct looked all = {0};
    struct spans exchanged = {0};
    if (!result->prices)
        return true;
    bool found = look_at_all(result, &all) && find_exchanges(result, &all, &exchanged);
    if (found) {
        result->network.count = exchanged.count;
        sum_bytes(result, &exchanged);
        forget_times(&result->network);
        sweep_levels(result, &all, &exchanged);
    }
    free(exchanged.at);
    free(all.at);
    return found;
}

/* The ops of one rank after those of another, each rank's in order; first: where a rank's begin, one more
 * than there are ranks. */
static void by_rank(const struct ll_result *result, uint32_t ranks, uint32_t *at, uint32_t *first)
{
    const struct ll_op *ops = result->prepared->trace->ops + result->prepared->first_op;
    for (uint32_t i = 0; i < op_count(result); i++)
        first[ops[i].thread + 1]++;
    for (uint32_t r = 0; r < ranks; r++)
        first[r + 1] += first[r];
    for (uint32_t i = 0; i < op_count(result); i++)
        at[first[ops[i].thread]++] = i;
    memmove(first + 1, first, ranks * sizeof *first);
    first[0] = 0;
}

bool ll_find_exposure_of_ranks(struct ll_result *result, uint32_t ranks)
{
    assert(ranks > 0);
    uint32_t *at = malloc((op_count(result) + 1u) * sizeof *at);
    uint32_t *first = calloc((size_t)ranks + 1, sizeof *first);
    bool found = at && first;
    forget_times(&result->network);
    if (found)
        by_rank(result, ranks, at, first);
    for (uint32_t r = 0; found && result->prices && r < ranks; r++) {
        const struct looked own = {at + first[r], first[r + 1] - first[r]};
        struct spans exchanged;
        found = find_exchanges(result, &own, &exchanged);
        if (found)
            sweep_levels(result, &own, &exchanged);
        free(exchanged.at);
    }
    free(at);
    free(first);
    return found;
}

bool ll_exposed_by_kind(const struct ll_result *result, const uint8_t *kinds, double *by_kind_s)
{
    struct looked all = {0};
    struct spans exchanged = {0};
    double busy_s = 0, exposed_s = 0;
    if (!result->prices)
        return true;
    bool found = look_at_all(result, &all) && find_exchanges(result, &all, &exchanged);
    if (found)
        sweep(result, &all, &exchanged, UINT32_MAX, &(struct sums){&busy_s, &exposed_s, kinds, by_kind_s});
    free(exchanged.at);
    free(all.at);
    return found;
}

/* --- why an exchange takes its time --- */

struct ll_machine ll_machine_with_input(const struct ll_machine *machine)
{
    struct ll_machine with_input = *machine;
    with_input.host = (struct ll_host){.cores = machine->host.cores};
    return with_input;
}

void ll_infeed_host(const struct ll_prepared *prepared, const struct ll_machine *machine,
                    struct ll_infeed *infeed)
{
    assert(prepared->first_op <= prepared->end_op);
    const struct ll_trace *trace = prepared->trace;
    double prepare_s = 0, transfer_s = 0;
    for (uint32_t i = prepared->first_op; i < prepared->end_op; i++) {
        uint32_t signature = trace->ops[i].signature;
        struct ll_cost cost;
        const char *trouble;
        if (prepared->works[signature].kind == LL_WORK_HOST &&
            ll_cost_op(machine, trace->signatures[signature].view.kind, &prepared->works[signature], &cost,
                       &trouble)) {
            prepare_s += cost.prepare_s;
            transfer_s += cost.host_s - cost.prepare_s;
        }
    }
    infeed->prepare_s = prepare_s / (double)prepared->steps;
    infeed->transfer_s = transfer_s / (double)prepared->steps;
}

void ll_infeed_share(const struct ll_machine *machine, struct ll_infeed *infeed)
{
    double host_s = infeed->prepare_s + infeed->transfer_s;
    bool beside = machine->host.buffered_steps > 1;
    infeed->step_s = beside ? fmax(infeed->device_s, host_s) : infeed->device_s + host_s;
    infeed->share = infeed->step_s > 0 ? 1 - infeed->device_s / infeed->step_s : 0;
    assert(infeed->share >= 0 && infeed->share <= 1);
}

/* By signature: what brings input. */
static const bool *inputs_of(const struct ll_prepared *prepared, struct ll_arena *arena)
{
    bool *inputs = ll_alloc(arena, prepared->trace->signature_count, sizeof *inputs);
    for (uint64_t signature = 0; inputs && signature < prepared->trace->signature_count; signature++)
        inputs[signature] = prepared->works[signature].kind == LL_WORK_HOST;
    return inputs;
}

/* The step without them. Other devices are as many as they were, and what they exchange takes as long. */
static const struct ll_result *replay_fed(const struct ll_result *result, struct ll_arena *arena,
                                          struct ll_diags *diags)
{
    struct ll_memo memo = {.machine = result->machine};
    const struct ll_among among = {.prices = result->prices,
                                   .memo = &memo,
                                   .ways = result->ways,
                                   .idle = inputs_of(result->prepared, arena),
                                   .time_alone = true,
                                   .slowed = result->slowed};
    const struct ll_result *fed =
        among.idle ? ll_replay_among(result->prepared, result->machine, &among, arena, diags) : NULL;
    ll_memo_release(&memo);
    return fed;
}

bool ll_infeed_of(const struct ll_result *result, struct ll_infeed *infeed)
{
    struct ll_arena scratch = {0};
    struct ll_diags diags = {0};
    ll_infeed_host(result->prepared, result->machine, infeed);
    bool brings = infeed->prepare_s + infeed->transfer_s > 0;
    const struct ll_result *fed = brings ? replay_fed(result, &scratch, &diags) : result;
    if (fed) {
        infeed->device_s = fed->time_s;
        ll_infeed_share(result->machine, infeed);
    }
    ll_diags_release(&diags);
    ll_arena_release(&scratch);
    return fed != NULL;
}

static const char *unit_of(const struct ll_trace *trace)
{
    const char *unit = ll_trace_fact(trace, "sample.unit");
    return unit ? unit : ll_trace_fact(trace, "batch") ? "samples" : "steps";
}

static double over(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* A share of a whole that rounding leaves a little above 1. */
static double rounded(double share)
{
    return share > 1 && share < 1 + 1e-10 ? 1 : share;
}

double ll_flop_utilization(const struct ll_machine *machine, enum ll_dtype dtype, double flops, double time_s)
{
    assert(flops >= 0 && time_s >= 0);
    enum ll_dtype computed;
    return rounded(over(flops, ll_computed_peak_flops(machine, dtype, &computed) * time_s));
}

struct ll_metrics ll_metrics_of(const struct ll_result *result)
{
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_machine *machine = result->machine;
    enum ll_dtype computed;
    double peak = ll_computed_peak_flops(machine, prepared->dtype, &computed);
    assert(result->device_active_s <= result->time_s * (1 + 1e-9));
    double active_s = result->device_active_s;
    struct ll_metrics metrics = {
        .samples = ll_trace_number(prepared->trace, "batch", 1) *
                   ll_trace_number(prepared->trace, "sample.amount", 1),
        .unit = unit_of(prepared->trace),
        .peak_flops = peak,
        .computed = computed,
        .device_utilization = rounded(over(active_s, result->time_s)),
        .fp32_utilization = ll_flop_utilization(machine, prepared->dtype, prepared->flops, active_s),
        .cpu_utilization = NAN,
    };
    metrics.throughput_Hz = over(metrics.samples, result->time_s);
    if (machine->host.cores > 0) /* who starts ops takes no longer than there is time: it would be late */
        metrics.cpu_utilization =
            over(fmin(result->starting_s, result->time_s), (double)machine->host.cores * result->time_s);
    return metrics;
}

/* What if: turn one knob of the machine, replay, compare. */

/* Insertion sort: stable, so that equal gains stay in the order of the machine's knobs. */
static void sort_gains(struct ll_gain *gains, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j > 0 && gains[j - 1].speedup < gains[j].speedup; j--) {
            struct ll_gain moved = gains[j];
            gains[j] = gains[j - 1];
            gains[j - 1] = moved;
        }
}

static bool turn(const struct ll_machine *machine, double time_s, size_t knob, ll_timed timed, void *context,
                 struct ll_gain *gain)
{
    struct ll_machine *turned = ll_machine_turn(machine, knob);
    double other_s = turned ? timed(turned, context) : -1;
    gain->time_s = other_s;
    gain->speedup = other_s > 0 ? time_s / other_s : 1;
    ll_machine_free(turned);
    return other_s >= 0;
}

const struct ll_gain *ll_turn_knobs(const struct ll_machine *machine, double time_s, ll_timed timed,
                                    void *context, struct ll_arena *arena, size_t *count)
{
    assert(time_s >= 0);
    const struct ll_knob *knobs = ll_machine_knobs(machine, arena, count);
    struct ll_gain *gains = knobs ? ll_alloc(arena, *count + 1, sizeof *gains) : NULL;
    for (size_t i = 0; gains && i < *count; i++) {
        gains[i].knob = knobs[i];
        if (!turn(machine, time_s, i, timed, context, &gains[i]))
            return NULL;
    }
    if (gains)
        sort_gains(gains, *count);
    return gains;
}

/* What a step takes on a turned machine. */
struct again {
    const struct ll_result *result;
    struct ll_remembered *remembered;
};

/* Where units alone differ, nothing but costs of ops depends on the machine. */
static bool only_units_differ(const struct ll_machine *a, const struct ll_machine *b)
{
    const size_t begin = offsetof(struct ll_machine, levels), end = offsetof(struct ll_machine, config_hash);
    return memcmp((const char *)a + begin, (const char *)b + begin, end - begin) == 0;
}

/* Whether each op costs what it did, on a machine to which the memo is turned: kernels of unknown meaning go
 * by peaks of units. */
static bool costs_stay(const struct again *again)
{
    const struct ll_prepared *prepared = again->result->prepared;
    bool stay = true;
    for (uint32_t i = 0; i < prepared->trace->signature_count && stay; i++) {
        const uint64_t kind = prepared->works[i].kind;
        if (again->result->ways[i] && kind != LL_WORK_COLLECTIVE)
            stay = kind != LL_WORK_WAIT &&
                   ll_memo_keeps(&again->remembered->costs, prepared->trace->signatures[i].view.kind,
                                 &prepared->works[i]);
    }
    return stay;
}

static double replay_s(const struct ll_machine *machine, void *context)
{
    const struct again *again = context;
    struct ll_arena scratch = {0};
    struct ll_diags diags = {0};
    ll_memo_turn(&again->remembered->costs, machine);
    if (only_units_differ(machine, again->result->machine) && costs_stay(again))
        return again->result->time_s;
    struct ll_exchanges *exchanges = ll_exchanges_new(machine, 0, &again->remembered->prices);
    const struct ll_among among = {
        .exchanges = exchanges, .memo = &again->remembered->costs, .time_alone = true};
    const struct ll_result *result =
        exchanges ? ll_replay_among(again->result->prepared, machine, &among, &scratch, &diags) : NULL;
    double time_s = result ? result->time_s : -1;
    ll_exchanges_free(exchanges);
    ll_diags_release(&diags);
    ll_arena_release(&scratch);
    return time_s;
}

const struct ll_gain *ll_what_if(const struct ll_result *result, struct ll_remembered *remembered,
                                 struct ll_arena *arena, size_t *count)
{
    struct again again = {result, remembered};
    ll_memo_settle(&remembered->costs);
    return ll_turn_knobs(result->machine, result->time_s, replay_s, &again, arena, count);
}
