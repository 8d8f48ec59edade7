/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives: which algorithm is chosen, the fastest or what the software's library takes (library.c), and
 * what an exchange takes by it. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "sim/network/network.h"
#include "sim/network/steps.h"
#include "tracer/base/str.h"

/* What an exchange takes: the algorithm is chosen, by the fastest time or as the software's library would
 * (library.c), and its steps are summed up. */

static const char *const collective_names[] = {
#define LL_COLLECTIVE(word, name, ...) name,
#include "sim/machine/collectives.def"
#undef LL_COLLECTIVE
};

static const struct algorithm {
    const char *name;
    bool (*send)(struct ll_steps *steps);
} algorithms[] = {
#define LL_ALGORITHM(word, name, ...) {name, ll_send_##word},
#include "sim/machine/algorithms.def"
#undef LL_ALGORITHM
};

const char *ll_collective_name(enum ll_collective collective)
{
    assert(collective < LL_COLLECTIVE_COUNT);
    return collective_names[collective];
}

const char *ll_algorithm_name(enum ll_algorithm algorithm)
{
    assert(algorithm < LL_ALGORITHM_COUNT);
    return algorithms[algorithm].name;
}

static uint32_t level_of(const struct ll_net *net, uint64_t link)
{
    const struct ll_network *first = ll_net_machine(net)->networks;
    return link == UINT64_MAX ? LL_NO_LEVEL : (uint32_t)(ll_net_link_spec(net, link) - first);
}

static bool draws_energy(const struct ll_machine *machine)
{
    for (uint64_t l = 0; l < machine->network_count; l++)
        if (machine->networks[l].j_per_byte > 0)
            return true;
    return false;
}

/* An algorithm that is not worth it is none. */
static enum ll_exchange_trouble try_algorithm(struct ll_solver *solver, const struct ll_exchange *exchange,
                                              enum ll_algorithm algorithm, struct ll_worth worth,
                                              struct ll_steps_record *record, struct ll_exchanged *exchanged)
{
    const struct ll_net *net = ll_solver_net(solver);
    struct ll_route path = {0};
    struct ll_steps steps = {.net = net,
                             .solver = solver,
                             .exchange = *exchange,
                             .busiest = UINT64_MAX,
                             .worth = worth,
                             .path = draws_energy(ll_net_machine(net)) ? &path : NULL,
                             .record = record};
    struct ll_protocol protocol;
    steps.groups = ll_solver_groups(solver, &steps.exchange);
    if (exchange->kernel) {
        protocol = ll_library_kernel_protocol(exchange->kernel, exchange->size);
        steps.protocol = &protocol;
    }
    steps.exchange.algorithm = algorithm;
    ll_solver_forget(solver);
    bool done = algorithms[algorithm].send(&steps) && !steps.exhausted;
    free(path.links);
    if (!done)
        return LL_EXCHANGE_NO_WAY;
    assert(ll_algorithm_serves(algorithm, exchange->collective));
    *exchanged = (struct ll_exchanged){
        .time_s = steps.time_s,
        .sent_bytes = steps.sent_bytes,
        .links_j = steps.links_j,
        .rounds = steps.rounds,
        .algorithm = steps.exchange.algorithm,
        .kernel = exchange->kernel,
        .in_protocol = steps.in_protocol,
        .busiest = level_of(net, steps.busiest),
    };
    return steps.failed ? LL_EXCHANGE_NO_MEMORY : LL_EXCHANGE_DONE;
}

/* Groups of more devices than that, where levels split them, are not asked how they would do without. And an
 * algorithm whose messages cross so many links, as those to far devices do on a ring of thousands, would not
 * be the fastest: it is left, unless nothing else serves. */
enum { MOST_FLAT = 4096, MOST_LINKS = 1 << 20 };
static const struct ll_worth anything = {UINT64_MAX, INFINITY};

static enum ll_exchange_trouble fastest_of(struct ll_solver *solver, const struct ll_exchange *exchange,
                                           uint64_t most_links, struct ll_exchanged *exchanged)
{
    enum ll_exchange_trouble trouble = LL_EXCHANGE_NO_WAY;
    struct ll_worth worth = {most_links, INFINITY};
    for (int a = 0; a < LL_ALGORITHM_COUNT; a++) {
        struct ll_exchanged tried;
        enum ll_exchange_trouble now =
            try_algorithm(solver, exchange, (enum ll_algorithm)a, worth, NULL, &tried);
        if (now == LL_EXCHANGE_NO_MEMORY)
            return now;
        if (now == LL_EXCHANGE_DONE && (trouble == LL_EXCHANGE_NO_WAY || tried.time_s < exchanged->time_s)) {
            *exchanged = tried;
            worth.time_s = tried.time_s;
            trouble = LL_EXCHANGE_DONE;
        }
    }
    return trouble;
}

static enum ll_exchange_trouble fastest(struct ll_solver *solver, const struct ll_exchange *exchange,
                                        struct ll_exchanged *exchanged)
{
    enum ll_exchange_trouble trouble = LL_EXCHANGE_NO_WAY;
    if (exchange->size > MOST_FLAT)
        trouble = try_algorithm(solver, exchange, LL_ALGORITHM_HIERARCHICAL, anything, NULL, exchanged);
    if (trouble == LL_EXCHANGE_NO_WAY)
        trouble = fastest_of(solver, exchange, MOST_LINKS, exchanged);
    if (trouble == LL_EXCHANGE_NO_WAY)
        trouble = fastest_of(solver, exchange, anything.links, exchanged);
    return trouble;
}

static enum ll_exchange_trouble exchange_with(struct ll_solver *solver, const struct ll_exchange *exchange,
                                              struct ll_exchanged *exchanged)
{
    *exchanged = (struct ll_exchanged){.algorithm = exchange->algorithm, .busiest = LL_NO_LEVEL};
    if (exchange->size < 2)
        return LL_EXCHANGE_DONE;
    struct ll_exchange fewer;
    if (!ll_distinct_groups(solver, exchange, &fewer))
        return LL_EXCHANGE_NO_MEMORY;
    return exchange->algorithm == LL_ALGORITHM_COUNT
               ? fastest(solver, &fewer, exchanged)
               : try_algorithm(solver, &fewer, exchange->algorithm, anything, NULL, exchanged);
}

/* The exchange once more, by the algorithm that it names, to be recorded. */
static enum ll_exchange_trouble record_again(struct ll_solver *solver, const struct ll_exchange *exchange,
                                             struct ll_steps_record *record, struct ll_exchanged *again)
{
    struct ll_exchange fewer;
    if (!ll_distinct_groups(solver, exchange, &fewer))
        return LL_EXCHANGE_NO_MEMORY;
    enum ll_exchange_trouble trouble =
        try_algorithm(solver, &fewer, exchange->algorithm, anything, record, again);
    return record->failed ? LL_EXCHANGE_NO_MEMORY : trouble;
}

/* One of the exchanges that another one is made of, whose steps stand between two marks. */
static void record_nested(struct ll_steps *steps, const struct ll_exchange *exchange,
                          const struct ll_exchanged *part)
{
    struct ll_exchange taken = *exchange;
    struct ll_exchanged again;
    if (!steps->record || exchange->size < 2)
        return;
    taken.algorithm = part->algorithm;
    ll_steps_record_add(steps->record, &(struct ll_ended){.ending = LL_ENDED_NESTED,
                                                          .collective = exchange->collective,
                                                          .algorithm = part->algorithm,
                                                          .bytes = exchange->bytes,
                                                          .size = exchange->size,
                                                          .time_s = part->time_s});
    steps->failed |= record_again(steps->solver, &taken, steps->record, &again) != LL_EXCHANGE_DONE;
    ll_steps_record_add(steps->record, &(struct ll_ended){.ending = LL_ENDED_NEST});
}

void ll_steps_nest(struct ll_steps *steps, const struct ll_exchange *exchange)
{
    struct ll_exchanged part;
    if (exchange_with(steps->solver, exchange, &part) != LL_EXCHANGE_DONE) {
        steps->failed = true;
        return;
    }
    record_nested(steps, exchange, &part);
    steps->time_s += part.time_s;
    steps->rounds += part.rounds;
    double parts = (double)exchange->groups / (double)steps->exchange.groups;
    steps->sent_bytes += part.sent_bytes * parts;
    steps->links_j += part.links_j * parts;
}

enum ll_exchange_trouble ll_exchange(const struct ll_net *net, const struct ll_exchange *exchange,
                                     struct ll_exchanged *exchanged)
{
    assert(exchange->size > 0 && exchange->groups > 0 && exchange->bytes >= 0);
    struct ll_solver *solver = ll_solver_new(net);
    if (!solver)
        return LL_EXCHANGE_NO_MEMORY;
    enum ll_exchange_trouble trouble = exchange_with(solver, exchange, exchanged);
    ll_solver_free(solver);
    return trouble;
}

/* What comes before the first byte, but for what the protocol adds. */
static double start_of(const struct ll_software *software, const struct ll_exchange *way)
{
    bool message = way->collective == LL_COLLECTIVE_SEND_RECEIVE && software->message_overhead_s > 0;
    if (message)
        return software->message_overhead_s;
    return software->collective_dispatch_s +
           (way->kernel ? way->kernel->start_s : software->collective_overhead_s);
}

/* Data are read and written once more, by one more kernel. */
static double eager_copy_s(const struct ll_machine *machine, double bytes)
{
    return machine->software.collective_overhead_s + 2 * bytes / ll_machine_memory_Bps(machine);
}

/* By the library: the preferred algorithm where that serves this collective, else the fastest one. */
static enum ll_exchange_trouble exchange_by_library(struct ll_solver *solver,
                                                    const struct ll_exchange *exchange,
                                                    struct ll_exchanged *exchanged)
{
    const struct ll_software *software = &ll_net_machine(ll_solver_net(solver))->software;
    struct ll_exchange way = *exchange;
    way.kernel = NULL;
    way.algorithm = software->collectives;
    enum ll_exchange_trouble trouble = exchange_with(solver, &way, exchanged);
    way.algorithm = LL_ALGORITHM_COUNT;
    if (trouble == LL_EXCHANGE_NO_WAY)
        trouble = exchange_with(solver, &way, exchanged);
    exchanged->overhead_s = start_of(software, &way);
    return trouble;
}

/* By a kernel of the stack's own. */
static enum ll_exchange_trouble exchange_by_kernel(struct ll_solver *solver,
                                                   const struct ll_exchange *exchange,
                                                   const struct ll_collective_kernel *kernel,
                                                   struct ll_exchanged *exchanged)
{
    struct ll_exchange way = *exchange;
    way.kernel = kernel;
    way.algorithm = kernel->algorithm;
    enum ll_exchange_trouble trouble = exchange_with(solver, &way, exchanged);
    exchanged->overhead_s = start_of(&ll_net_machine(ll_solver_net(solver))->software, &way);
    return trouble;
}

/* An exchange by one of the ways that serve it, the best so far. */
struct best {
    enum ll_exchange_trouble trouble;
    struct ll_exchanged *exchanged;
};

/* Servers choose by time between their own kernels of an all-reduce and the library's, by sizes that they
 * measured. Other kernels do more than to exchange (they permute tokens, quantize them), so that nothing
 * takes the place of the first that serves. */
static void keep_better(const struct ll_exchange *exchange, enum ll_exchange_trouble now,
                        const struct ll_exchanged *tried, struct best *best)
{
    bool by_time = exchange->collective == LL_COLLECTIVE_ALL_REDUCE;
    if (now == LL_EXCHANGE_NO_WAY || best->trouble == LL_EXCHANGE_NO_MEMORY)
        return;
    bool better = best->trouble == LL_EXCHANGE_NO_WAY || now == LL_EXCHANGE_NO_MEMORY ||
                  (by_time &&
                   tried->time_s + tried->overhead_s < best->exchanged->time_s + best->exchanged->overhead_s);
    if (better) {
        *best->exchanged = *tried;
        best->trouble = now;
    }
}

enum ll_exchange_trouble ll_exchange_by_software(struct ll_solver *solver, const struct ll_exchange *exchange,
                                                 struct ll_exchanged *exchanged)
{
    assert(exchange->size > 0 && exchange->groups > 0 && exchange->bytes >= 0);
    const struct ll_net *net = ll_solver_net(solver);
    const struct ll_software *software = &ll_net_machine(net)->software;
    struct best best = {LL_EXCHANGE_NO_WAY, exchanged};
    struct ll_exchanged tried;
    const struct ll_collective_kernel *kernel = ll_library_kernel(net, exchange, NULL);
    for (; kernel; kernel = ll_library_kernel(net, exchange, kernel)) {
        enum ll_exchange_trouble now = exchange_by_kernel(solver, exchange, kernel, &tried);
        keep_better(exchange, now, &tried, &best);
    }
    enum ll_exchange_trouble now = exchange_by_library(solver, exchange, &tried);
    keep_better(exchange, now, &tried, &best);
    enum ll_exchange_trouble trouble = best.trouble;
    if (trouble == LL_EXCHANGE_NO_WAY)
        *exchanged = tried;
    exchanged->time_s += exchanged->overhead_s;
    if (exchange->eager)
        exchanged->time_s = fmax(software->eager_collective_s,
                                 exchanged->time_s + eager_copy_s(ll_net_machine(net), exchange->bytes));
    assert(trouble != LL_EXCHANGE_DONE ||
           (exchanged->time_s >= exchanged->overhead_s && exchanged->rounds >= 0));
    assert(trouble != LL_EXCHANGE_DONE || (exchanged->sent_bytes >= 0 && exchanged->links_j >= 0));
    return trouble;
}

/* What each of the ways takes, where the fastest of all was looked for, or of two that the software compares.
 */
static void explain_compared(struct ll_solver *solver, const struct ll_exchange *exchange, bool tuned,
                             struct ll_str *lines)
{
    static const struct ll_worth cheap = {MOST_LINKS, INFINITY};
    struct ll_str times = {0};
    uint64_t count = 0;
    struct ll_exchange fewer;
    lines->failed |= !ll_distinct_groups(solver, exchange, &fewer);
    for (enum ll_algorithm a = 0; !lines->failed && exchange->size <= MOST_FLAT && a < LL_ALGORITHM_COUNT;
         a++) {
        struct ll_exchanged tried;
        bool asked = tuned ? a == LL_ALGORITHM_RING || a == LL_ALGORITHM_IN_NETWORK : a != LL_ALGORITHM_TUNED;
        if (!asked || try_algorithm(solver, &fewer, a, cheap, NULL, &tried) != LL_EXCHANGE_DONE)
            continue;
        ll_str_addf(&times, "%s%s %.10g s", count++ ? ", " : "", ll_algorithm_name(a), tried.time_s);
    }
    if (count > 1)
        ll_str_addf(lines, "the fastest is taken: %s\n", times.text);
    lines->failed |= times.failed;
    ll_str_release(&times);
}

/* Why it goes the way that it does. */
static void explain_choice(struct ll_solver *solver, const struct ll_exchange *exchange, struct ll_str *lines)
{
    const struct ll_net *net = ll_solver_net(solver);
    enum ll_algorithm preferred = ll_net_machine(net)->software.collectives;
    struct ll_steps steps = {.net = net, .solver = solver, .exchange = *exchange};
    if (exchange->kernel) {
        ll_explain_line(lines, "the stack's own kernel %s serves it", exchange->kernel->name);
        return;
    }
    bool expected = preferred == LL_ALGORITHM_TUNED && ll_library_explain(&steps, lines);
    if (preferred == LL_ALGORITHM_TUNED && !expected)
        explain_compared(solver, exchange, true, lines);
    else if (preferred != exchange->algorithm && !expected)
        explain_compared(solver, exchange, false, lines);
}

enum ll_exchange_trouble ll_exchange_explain(struct ll_solver *solver, const struct ll_exchange *exchange,
                                             const struct ll_exchanged *exchanged, struct ll_str *lines)
{
    struct ll_exchange way = *exchange;
    way.algorithm = exchanged->algorithm;
    way.kernel = exchanged->kernel;
    explain_choice(solver, &way, lines);
    if (exchanged->in_protocol)
        way.algorithm = LL_ALGORITHM_TUNED; /* which chooses the same algorithm and its protocol */
    struct ll_steps_record record = {0};
    struct ll_exchanged again;
    enum ll_exchange_trouble trouble = record_again(solver, &way, &record, &again);
    if (trouble == LL_EXCHANGE_DONE)
        ll_steps_record_explain(&record, ll_solver_net(solver), way.bytes, again.time_s, lines);
    ll_steps_record_release(&record);
    return lines->failed ? LL_EXCHANGE_NO_MEMORY : trouble;
}
