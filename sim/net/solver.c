/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/net/solver.h"

#include "tracer/base/map.h"

#include <math.h>
#include <stdlib.h>

/* Messages as they are compared, byte by byte: no padding. Bytes are a share of the first message's. What
 * stands before the first says whose they are: the number of the groups, and the devices of one. */
struct send {
    uint32_t from, to;
    uint64_t group; /* UINT64_MAX: each */
    double bytes;
};

/* A pattern that was looked at. */
struct solution {
    bool complete;  /* solved */
    bool counted;   /* else links were counted until there were too many */
    uint64_t links; /* that all messages cross */
    double least_s; /* of one byte, as ll_flows_least_s has it, once links are counted */
    double latency_s, mean_latency_s;
    uint64_t busiest, end_count;
    const struct ll_flow_end *ends; /* in the arena, of one byte */
};

struct ll_solver {
    const struct ll_net *net;
    struct ll_flows *flows;
    struct ll_map groups, patterns;
    struct solution *solutions; /* by pattern */
    uint64_t solution_capacity;
    struct ll_arena arena;
    struct send *sends; /* of the step under way, behind the place of whose they are */
    uint64_t count, capacity;
    bool failed;
};

struct ll_solver *ll_solver_new(const struct ll_net *net)
{
    struct ll_solver *solver = calloc(1, sizeof *solver);
    if (!solver)
        return NULL;
    solver->net = net;
    solver->flows = ll_flows_new(net);
    if (solver->flows)
        return solver;
    free(solver);
    return NULL;
}

void ll_solver_free(struct ll_solver *solver)
{
    if (!solver)
        return;
    ll_flows_free(solver->flows);
    ll_map_release(&solver->groups);
    ll_map_release(&solver->patterns);
    ll_arena_release(&solver->arena);
    free(solver->solutions);
    free(solver->sends);
    free(solver);
}

const struct ll_net *ll_solver_net(const struct ll_solver *solver)
{
    return solver->net;
}

uint32_t ll_solver_groups(struct ll_solver *solver, const struct ll_exchange *e)
{
    return ll_map_intern(&solver->groups, e->members, e->groups * e->size * sizeof *e->members, NULL);
}

void ll_solver_send(struct ll_solver *solver, uint64_t group, uint64_t from_rank, uint64_t to_rank,
                    double bytes)
{
    if (!ll_grow(&solver->sends, &solver->capacity, solver->count + 2, sizeof *solver->sends)) {
        solver->failed = true;
        return;
    }
    solver->sends[++solver->count] = (struct send){(uint32_t)from_rank, (uint32_t)to_rank, group, bytes};
}

uint64_t ll_solver_sends(const struct ll_solver *solver)
{
    return solver->count;
}

void ll_solver_forget(struct ll_solver *solver)
{
    solver->count = 0;
}

/* Makes shares of bytes; the bytes of a whole one. */
static double take_shares(struct ll_solver *solver)
{
    double whole = solver->sends[1].bytes > 0 ? solver->sends[1].bytes : 1;
    for (uint64_t i = 1; i <= solver->count; i++)
        solver->sends[i].bytes /= whole;
    return whole;
}

/* All groups' messages become flows, as long as they cross no more links. */
static bool add_flows(struct ll_solver *solver, const struct ll_exchange *e, uint64_t most_links)
{
    ll_flows_clear(solver->flows);
    for (uint64_t i = 1; i <= solver->count && ll_flows_links(solver->flows) <= most_links; i++) {
        const struct send *send = &solver->sends[i];
        bool each = send->group == UINT64_MAX;
        for (uint64_t g = each ? 0 : send->group; g < (each ? e->groups : send->group + 1); g++)
            ll_flows_add(solver->flows, e->members[g * e->size + send->from],
                         e->members[g * e->size + send->to], send->bytes);
    }
    return ll_flows_links(solver->flows) <= most_links;
}

/* Whether `whole` bytes take longer than is worth it, however links are shared; rounding aside. */
static bool is_too_slow(const struct solution *solution, double whole, double most_s)
{
    return solution->counted && solution->least_s * whole > most_s * (1 + 1e-9);
}

/* As far as it is worth it. */
static bool solve(struct ll_solver *solver, const struct ll_exchange *e, double whole,
                  const struct ll_worth *worth, struct solution *solution)
{
    struct ll_flow_times times;
    bool counted = add_flows(solver, e, worth->links);
    *solution = (struct solution){.counted = counted, .links = ll_flows_links(solver->flows)};
    if (!counted)
        return true;
    solution->least_s = ll_flows_least_s(solver->flows);
    if (is_too_slow(solution, whole, worth->time_s))
        return true;
    if (!ll_flows_run(solver->flows, &times))
        return false;
    const struct ll_flow_end *ends = ll_flows_ends(solver->flows, &solution->end_count);
    solution->ends = ll_copy(&solver->arena, ends, solution->end_count * sizeof *ends);
    solution->latency_s = times.latency_s;
    solution->mean_latency_s = times.mean_latency_s;
    solution->busiest = times.busiest;
    solution->complete = solution->ends != NULL;
    return solution->complete;
}

static struct ll_solved scale(const struct solution *solution, double whole)
{
    struct ll_solved solved = {.links = solution->links, .times = {.busiest = UINT64_MAX}};
    if (!solution->complete)
        return solved;
    solved.times.busiest = solution->busiest;
    solved.times.latency_s = solution->latency_s;
    solved.times.mean_latency_s = solution->mean_latency_s;
    for (uint64_t i = 0; i < solution->end_count; i++) {
        double sent_s = solution->ends[i].sent_s * whole;
        solved.times.sent_s = fmax(solved.times.sent_s, sent_s);
        solved.times.done_s = fmax(solved.times.done_s, sent_s + solution->ends[i].latency_s);
    }
    return solved;
}

static bool run(struct ll_solver *solver, const struct ll_exchange *e, uint32_t groups,
                const struct ll_worth *worth, struct ll_solved *solved)
{
    double whole = take_shares(solver);
    uint64_t known = solver->patterns.count;
    if (!ll_grow(&solver->solutions, &solver->solution_capacity, known + 1, sizeof *solver->solutions))
        return false;
    solver->sends[0] = (struct send){.from = groups, .bytes = (double)e->size};
    uint32_t id =
        ll_map_intern(&solver->patterns, solver->sends, (solver->count + 1) * sizeof *solver->sends, NULL);
    if (id == LL_NO_ID)
        return false;
    struct solution *solution = &solver->solutions[id];
    if (id == known)
        *solution = (struct solution){0};
    bool hopeless = solution->links > worth->links || is_too_slow(solution, whole, worth->time_s);
    if (!solution->complete && !hopeless && !solve(solver, e, whole, worth, solution))
        return false;
    *solved = scale(solution, whole);
    solved->too_slow = is_too_slow(solution, whole, worth->time_s);
    return true;
}

bool ll_solver_run(struct ll_solver *solver, const struct ll_exchange *e, uint32_t groups,
                   const struct ll_worth *worth, struct ll_solved *solved)
{
    *solved = (struct ll_solved){.times = {.busiest = UINT64_MAX}};
    bool done = !solver->failed && groups != LL_NO_ID &&
                (solver->count == 0 || run(solver, e, groups, worth, solved));
    ll_solver_forget(solver);
    return done;
}
