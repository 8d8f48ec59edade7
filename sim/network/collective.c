/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives: which algorithm is chosen, and what an exchange takes. The first section explains an
 * exchange's time, line by line.
 *
 * The bytes of a step are those of its messages; each message is a part of the exchanged data. The time of a
 * step is that of the fullest link for the messages that cross it, except where messages hold each other back
 * on several links in turn (sim/network/steps.h). A latency is the sum over the links that a message crosses
 * in each level. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "sim/network/network.h"
#include "sim/network/steps.h"
#include "tracer/base/num.h"
#include "tracer/base/str.h"

enum { LINE_LIMIT = 1024, MOST_SIZES = 4 };

static void derivation_release(struct ll_derivation *derivation)
{
    ll_str_release(&derivation->sum);
    free(derivation->messages);
}

void ll_derivation_add(struct ll_derivation *derivation, const char *format, ...)
{
    char text[LINE_LIMIT];
    va_list args;
    if (!derivation)
        return;
    va_start(args, format);
    ll_vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ll_str_add(derivation->lines, text);
    ll_str_add(derivation->lines, "\n");
}

void ll_derivation_send(struct ll_derivation *derivation, uint64_t group, uint64_t from_rank,
                        uint64_t to_rank, double bytes)
{
    if (!derivation)
        return;
    const struct ll_exchange *e = derivation->exchange;
    derivation->lines->failed |= !ll_grow(&derivation->messages, &derivation->capacity,
                                          derivation->count + e->groups, sizeof *derivation->messages);
    bool each = group == UINT64_MAX;
    uint64_t begin = each ? 0 : group, end = each ? e->groups : group + 1;
    for (uint64_t g = begin; !derivation->lines->failed && g < end; g++)
        derivation->messages[derivation->count++] = (struct ll_derivation_message){
            e->members[g * e->size + from_rank], e->members[g * e->size + to_rank], bytes, g == begin};
}

static bool is_like(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* --- bytes --- */

/* Messages by their bytes, in the order in which they come; the last kind takes all further ones. */
struct sizes {
    double bytes[MOST_SIZES], times[MOST_SIZES];
    unsigned count;
};

static void count_size(struct sizes *sizes, double bytes)
{
    unsigned i = 0;
    while (i < sizes->count && !is_like(sizes->bytes[i], bytes))
        i++;
    if (i < MOST_SIZES) {
        sizes->bytes[i] = bytes;
        sizes->times[i] += 1;
        sizes->count += i == sizes->count;
        return;
    }
    i = MOST_SIZES - 1; /* so many at once, on the average */
    sizes->bytes[i] = (sizes->bytes[i] * sizes->times[i] + bytes) / (sizes->times[i] + 1);
    sizes->times[i] += 1;
}

/* The link whose bytes take longest; UINT64_MAX: there is none. */
static uint64_t fullest_link(struct ll_derivation *derivation)
{
    double *bytes = calloc(ll_net_links(derivation->net), sizeof *bytes), most_s = 0;
    struct ll_route path = {0};
    uint64_t fullest = UINT64_MAX;
    for (uint64_t i = 0; bytes && i < derivation->count; i++) {
        const struct ll_derivation_message *m = &derivation->messages[i];
        path.count = 0;
        ll_net_route(derivation->net, m->from, m->to, &path);
        for (uint64_t l = 0; l < path.count; l++) {
            uint64_t link = path.links[l];
            bytes[link] += m->bytes;
            double time_s = bytes[link] / ll_net_link_Bps(derivation->net, link);
            fullest = time_s > most_s ? link : fullest;
            most_s = fmax(most_s, time_s);
        }
    }
    derivation->lines->failed |= !bytes || path.failed;
    free(bytes);
    free(path.links);
    return fullest;
}

static struct sizes sizes_on(struct ll_derivation *derivation, uint64_t link)
{
    struct sizes sizes = {0};
    struct ll_route path = {0};
    for (uint64_t i = 0; i < derivation->count; i++) {
        const struct ll_derivation_message *m = &derivation->messages[i];
        path.count = 0;
        ll_net_route(derivation->net, m->from, m->to, &path);
        for (uint64_t l = 0; l < path.count; l++)
            if (path.links[l] == link)
                count_size(&sizes, m->bytes);
    }
    derivation->lines->failed |= path.failed;
    free(path.links);
    return sizes;
}

static const char *const kind_names[] = {
    [LL_LINK] = "link", [LL_LINK_PORT] = "port", [LL_LINK_GROUP_PORT] = "group's port"};

/* How long the bytes on the fullest link take. */
static double explain_link(struct ll_derivation *derivation, uint64_t link, const struct sizes *sizes)
{
    const struct ll_network *level = ll_net_link_spec(derivation->net, link);
    enum ll_link_kind kind = ll_net_link_kind(derivation->net, link);
    double rated_Bps = kind == LL_LINK        ? level->bandwidth_Bps
                       : kind == LL_LINK_PORT ? level->port_Bps
                                              : level->group_port_Bps;
    double Bps = ll_net_link_Bps(derivation->net, link), wide = Bps / (rated_Bps * level->efficiency),
           all = 0;
    struct ll_str terms = {0};
    for (unsigned i = 0; i < sizes->count; i++) {
        ll_str_addf(&terms, "%s%.10g * %.10g", i ? " + " : "", sizes->times[i], sizes->bytes[i]);
        all += sizes->times[i] * sizes->bytes[i];
    }
    if (!is_like(wide, 1))
        ll_derivation_add(
            derivation,
            "on the fullest %s of %s, which is so many wide: (%s) / (%.10g * %.10g * %.10g) = %.10g s",
            kind_names[kind], level->name, terms.text, rated_Bps, level->efficiency, wide, all / Bps);
    else
        ll_derivation_add(derivation, "on the fullest %s of %s: (%s) / (%.10g * %.10g) = %.10g s",
                          kind_names[kind], level->name, terms.text, rated_Bps, level->efficiency, all / Bps);
    derivation->lines->failed |= terms.failed;
    ll_str_release(&terms);
    return all / Bps;
}

static void explain_size(struct ll_derivation *derivation, double bytes)
{
    double all = derivation->exchange->bytes;
    if (bytes <= all)
        ll_derivation_add(derivation, "a message, as a part of all: %.10g / %.10g = %.10g B", all,
                          all / bytes, bytes);
    else
        ll_derivation_add(derivation, "a message, all and some of it again: %.10g * %.10g = %.10g B", all,
                          bytes / all, bytes);
}

static void explain_bytes(struct ll_derivation *derivation, double sent_s)
{
    uint64_t link = fullest_link(derivation);
    if (link == UINT64_MAX)
        return;
    struct sizes sizes = sizes_on(derivation, link);
    for (unsigned i = 0; i < sizes.count; i++)
        explain_size(derivation, sizes.bytes[i]);
    double least_s = explain_link(derivation, link, &sizes);
    if (!is_like(least_s, sent_s))
        ll_derivation_add(
            derivation,
            "messages that share it wait on other links, so many times as long: %.10g * %.10g = %.10g s",
            least_s, sent_s / least_s, sent_s);
}

/* --- latencies --- */

/* Adds the links that a message crosses to those of their levels; ports are none. */
static void count_links(struct ll_derivation *derivation, const struct ll_derivation_message *m,
                        double by_level[LL_MAX_LINKS])
{
    struct ll_route path = {0};
    ll_net_route(derivation->net, m->from, m->to, &path);
    const struct ll_network *levels = ll_net_machine(derivation->net)->networks;
    for (uint64_t l = 0; l < path.count; l++)
        if (ll_net_link_kind(derivation->net, path.links[l]) == LL_LINK)
            by_level[ll_net_link_spec(derivation->net, path.links[l]) - levels] += 1;
    derivation->lines->failed |= path.failed;
    free(path.links);
}

/* "3 * 1e-06 + 2 * 5e-06", "0" where nothing counts. Returns its value. */
static double add_terms(const struct ll_derivation *derivation, const double *times, bool passing,
                        struct ll_str *terms)
{
    const struct ll_machine *machine = ll_net_machine(derivation->net);
    double sum_s = 0;
    for (uint64_t l = 0; l < machine->network_count; l++) {
        double each_s = passing ? machine->networks[l].chunk_latency_s : machine->networks[l].latency_s;
        if (times[l] * each_s == 0)
            continue;
        ll_str_addf(terms, "%s%.10g * %.10g", terms->length ? " + " : "", times[l], each_s);
        sum_s += times[l] * each_s;
    }
    if (terms->length == 0)
        ll_str_add(terms, "0");
    return sum_s;
}

/* The latency of a message that has this one. */
static void explain_one(struct ll_derivation *derivation, const char *what, double latency_s)
{
    bool found = false;
    for (uint64_t i = 0; !found && i < derivation->count; i++) {
        double links[LL_MAX_LINKS] = {0};
        struct ll_str terms = {0};
        count_links(derivation, &derivation->messages[i], links);
        found = is_like(add_terms(derivation, links, false, &terms), latency_s);
        if (found)
            ll_derivation_add(derivation, "%s: %s = %.10g s", what, terms.text, latency_s);
        derivation->lines->failed |= terms.failed;
        ll_str_release(&terms);
    }
}

static double common_divisor(double a, double b)
{
    while (b > 0) {
        double rest = fmod(a, b);
        a = b;
        b = rest;
    }
    return a;
}

/* "%s: (terms) / messages = mean_s", of as few messages as have the same mean. */
static void explain_mean(struct ll_derivation *derivation, const char *what, double *by_level, double count,
                         bool passing, double mean_s)
{
    struct ll_str terms = {0};
    double divisor = count;
    for (unsigned l = 0; l < LL_MAX_LINKS; l++)
        divisor = common_divisor(divisor, by_level[l]);
    for (unsigned l = 0; l < LL_MAX_LINKS; l++)
        by_level[l] /= divisor;
    add_terms(derivation, by_level, passing, &terms);
    ll_derivation_add(derivation, "%s: (%s) / %.10g = %.10g s", what, terms.text, count / divisor, mean_s);
    derivation->lines->failed |= terms.failed;
    ll_str_release(&terms);
}

/* The latency, and what passing half a chunk on costs beside it; what each group sends, all pass on as the
 * first one does. */
static void explain_passing(struct ll_derivation *derivation, double mean_s, double pass_s)
{
    double links[LL_MAX_LINKS] = {0}, between[LL_MAX_LINKS] = {0}, sends = 0;
    for (uint64_t i = 0; i < derivation->count; i++) {
        const struct ll_derivation_message *m = &derivation->messages[i];
        count_links(derivation, m, links);
        between[ll_net_level_between(derivation->net, m->from, m->to)] += m->first;
        sends += m->first;
    }
    explain_mean(derivation, "latency, mean of messages", links, (double)derivation->count, false, mean_s);
    if (!(pass_s > mean_s))
        return;
    explain_mean(derivation, "half a chunk waits until it is passed on, mean of messages", between, sends,
                 true, pass_s - mean_s);
    ll_derivation_add(derivation, "both: %.10g + %.10g = %.10g s", mean_s, pass_s - mean_s, pass_s);
}

void ll_derivation_flow(struct ll_derivation *derivation, const struct ll_flow_times *flow, double pass_s,
                        unsigned latencies)
{
    if (!derivation)
        return;
    if (flow->sent_s > 0)
        explain_bytes(derivation, flow->sent_s);
    if (derivation->count > 0 && latencies & LL_LATENCY_LONGEST)
        explain_one(derivation, "latency, the longest", flow->latency_s);
    if (derivation->count > 0 && latencies & LL_LATENCY_MEAN)
        explain_passing(derivation, flow->mean_latency_s, pass_s);
    if (derivation->count > 0 && latencies & LL_LATENCY_LAST)
        explain_one(derivation, "latency, of what is there last", flow->done_s - flow->sent_s);
    derivation->count = 0;
}

/* --- all steps --- */

void ll_derivation_part(struct ll_derivation *derivation, double time_s)
{
    if (!derivation)
        return;
    ll_str_addf(&derivation->sum, "%s%.10g", derivation->parts++ ? " + " : "", time_s);
}

/* All of it, where it has several parts. */
static void derivation_end(struct ll_derivation *derivation, double time_s)
{
    if (!derivation)
        return;
    if (derivation->parts > 1)
        ll_str_addf(derivation->lines, "messages, one step behind the other: %s = %.10g s\n",
                    derivation->sum.text, time_s);
    derivation->lines->failed |= derivation->sum.failed;
}

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
                                              struct ll_derivation *derivation,
                                              struct ll_exchanged *exchanged)
{
    const struct ll_net *net = ll_solver_net(solver);
    struct ll_route path = {0};
    struct ll_steps steps = {.net = net,
                             .solver = solver,
                             .exchange = *exchange,
                             .groups = ll_solver_groups(solver, exchange),
                             .busiest = UINT64_MAX,
                             .worth = worth,
                             .path = draws_energy(ll_net_machine(net)) ? &path : NULL,
                             .derivation = derivation};
    struct ll_protocol protocol;
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
    uint64_t *owned;
    struct ll_exchange fewer = ll_distinct_groups(ll_solver_net(solver), exchange, &owned);
    enum ll_exchange_trouble trouble =
        exchange->algorithm == LL_ALGORITHM_COUNT
            ? fastest(solver, &fewer, exchanged)
            : try_algorithm(solver, &fewer, exchange->algorithm, anything, NULL, exchanged);
    free(owned);
    return trouble;
}

/* The exchange once more, by the algorithm that it names, to be told. */
static enum ll_exchange_trouble explain_again(struct ll_solver *solver, const struct ll_exchange *exchange,
                                              struct ll_str *lines)
{
    uint64_t *owned;
    struct ll_exchanged again;
    struct ll_exchange fewer = ll_distinct_groups(ll_solver_net(solver), exchange, &owned);
    struct ll_derivation derivation = {.lines = lines, .net = ll_solver_net(solver), .exchange = &fewer};
    enum ll_exchange_trouble trouble =
        try_algorithm(solver, &fewer, exchange->algorithm, anything, &derivation, &again);
    if (trouble == LL_EXCHANGE_DONE)
        derivation_end(&derivation, again.time_s);
    derivation_release(&derivation);
    free(owned);
    return lines->failed ? LL_EXCHANGE_NO_MEMORY : trouble;
}

/* One of the exchanges that another one is made of. */
static void explain_nested(struct ll_steps *steps, const struct ll_exchange *exchange,
                           const struct ll_exchanged *part)
{
    struct ll_exchange taken = *exchange;
    if (!steps->derivation || exchange->size < 2)
        return;
    taken.algorithm = part->algorithm;
    ll_derivation_add(steps->derivation, "%s of %.10g B among %" PRIu64 ", %s",
                      ll_collective_name(exchange->collective), exchange->bytes, exchange->size,
                      ll_algorithm_name(part->algorithm));
    steps->failed |= explain_again(steps->solver, &taken, steps->derivation->lines) != LL_EXCHANGE_DONE;
    ll_derivation_part(steps->derivation, part->time_s);
}

void ll_steps_nest(struct ll_steps *steps, const struct ll_exchange *exchange)
{
    struct ll_exchanged part;
    if (exchange_with(steps->solver, exchange, &part) != LL_EXCHANGE_DONE) {
        steps->failed = true;
        return;
    }
    explain_nested(steps, exchange, &part);
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

/* Whether the members of each group differ in their place in this level alone. */
static bool lies_in_level(const struct ll_net *net, const struct ll_exchange *e, uint64_t level)
{
    uint64_t inner = ll_net_group(net, level), whole = ll_net_group(net, level + 1);
    for (uint64_t i = 0; i < e->size * e->groups; i++) {
        uint64_t first = e->members[i - i % e->size];
        if (e->members[i] / whole != first / whole || e->members[i] % inner != first % inner)
            return false;
    }
    return true;
}

uint64_t ll_common_level(const struct ll_net *net, const struct ll_exchange *e)
{
    uint64_t level = 0;
    while (level < ll_net_levels(net) && !lies_in_level(net, e, level))
        level++;
    return level < ll_net_levels(net) ? level : LL_NO_LEVEL;
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

enum ll_exchange_trouble ll_exchange_by_software(struct ll_solver *solver, const struct ll_exchange *exchange,
                                                 struct ll_exchanged *exchanged)
{
    assert(exchange->size > 0 && exchange->groups > 0 && exchange->bytes >= 0);
    const struct ll_net *net = ll_solver_net(solver);
    const struct ll_software *software = &ll_net_machine(net)->software;
    struct ll_exchange way = *exchange;
    enum ll_exchange_trouble trouble = LL_EXCHANGE_NO_WAY;
    way.kernel = ll_library_kernel(net, exchange);
    if (way.kernel) {
        way.algorithm = way.kernel->algorithm;
        trouble = exchange_with(solver, &way, exchanged);
    }
    if (trouble == LL_EXCHANGE_NO_WAY) {
        way.kernel = NULL;
        way.algorithm = software->collectives;
        trouble = exchange_with(solver, &way, exchanged);
    }
    way.algorithm = LL_ALGORITHM_COUNT;
    if (trouble == LL_EXCHANGE_NO_WAY)
        trouble = exchange_with(solver, &way, exchanged);
    exchanged->overhead_s = start_of(software, &way);
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
    uint64_t *owned, count = 0;
    struct ll_exchange fewer = ll_distinct_groups(ll_solver_net(solver), exchange, &owned);
    for (enum ll_algorithm a = 0; exchange->size <= MOST_FLAT && a < LL_ALGORITHM_COUNT; a++) {
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
    free(owned);
}

/* Why it goes the way that it does. */
static void explain_choice(struct ll_solver *solver, const struct ll_exchange *exchange, struct ll_str *lines)
{
    const struct ll_net *net = ll_solver_net(solver);
    enum ll_algorithm preferred = ll_net_machine(net)->software.collectives;
    struct ll_derivation derivation = {.lines = lines, .net = net, .exchange = exchange};
    struct ll_steps steps = {.net = net, .solver = solver, .exchange = *exchange, .derivation = &derivation};
    if (exchange->kernel) {
        ll_derivation_add(&derivation, "the stack's own kernel %s serves it", exchange->kernel->name);
        return;
    }
    bool expected = preferred == LL_ALGORITHM_TUNED && ll_library_explain(&steps);
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
    return explain_again(solver, &way, lines);
}
