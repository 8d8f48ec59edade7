/* SPDX-License-Identifier: Apache-2.0 */
/* What levels keep from one use to the next, beside simulated caches and by hand. */
#include "check.h"
#include "samples.h"
#include "two_levels.h"

#include "sim/memory/cache.h"
#include "tracer/base/random.h"

/* Lines that are evicted by age lie anywhere, as pages and hashed addresses do: the law is that of such. */
static uint64_t place_of(const struct ll_cache_level *level, uint64_t line)
{
    return (level->policy == LL_CACHE_LRU ? ll_random_bits(1, line) >> 8 : line) * level->line_bytes;
}

static void run_lines(struct ll_cache *cache, const struct ll_cache_level *level, uint64_t begin,
                      uint64_t end)
{
    for (uint64_t line = begin; line < end; line++)
        ll_cache_run(cache, &(uint64_t){place_of(level, line)}, 1);
}

/* Lines of a stream that goes round that hit in a simulated cache once it has settled, of all. */
static double hits_of_rounds(const struct ll_cache_level *level, uint64_t lines)
{
    enum { SETTLING = 60, ROUNDS = 20 };
    struct ll_arena arena = {0};
    struct ll_cache *cache = ll_cache_new(level, 1, &arena);
    struct ll_cache_counts settled = {0};
    for (uint64_t round = 0; round < SETTLING + ROUNDS; round++) {
        if (round == SETTLING)
            settled = ll_cache_counts(cache, 0);
        run_lines(cache, level, 0, lines);
    }
    uint64_t hits = ll_cache_counts(cache, 0).hits - settled.hits;
    ll_arena_release(&arena);
    return (double)hits / (double)(ROUNDS * lines);
}

static void a_cache_keeps_of_a_round_what_a_simulated_one_keeps(void **state)
{
    (void)state;
    static const enum ll_cache_policy policies[] = {LL_CACHE_LRU, LL_CACHE_RANDOM};
    static const double rounds[] = {0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4};
    enum { ROUNDS = sizeof rounds / sizeof *rounds };
    const uint64_t bytes = UINT64_C(512) * 16 * 64;
    for (size_t i = 0; i < 2 * (size_t)ROUNDS; i++) {
        struct ll_cache_level cache = {
            .sets = 512, .ways = 16, .line_bytes = 64, .policy = policies[i / ROUNDS]};
        uint64_t half = (uint64_t)(rounds[i % ROUNDS] * (double)bytes / 2);
        struct ll_level level = {.size_bytes = bytes, .cache = cache, .cache_given = true};
        double kept = ll_level_keeps(&level, half, (struct ll_round){2 * half, 0}) / (double)half;
        double hits = hits_of_rounds(&cache, 2 * half / 64);
        assert_true(fabs(kept - hits) < 0.06);
    }
}

/* Hits of each time that a stream comes around, of all, in a cache full of other lines at first. */
enum { TIMES = 6 };
static void hits_of_times(const struct ll_cache_level *level, uint64_t lines, double hits[TIMES])
{
    struct ll_arena arena = {0};
    struct ll_cache *cache = ll_cache_new(level, 1, &arena);
    run_lines(cache, level, lines, 40 * lines);
    for (int i = 0; i < TIMES; i++) {
        uint64_t before = ll_cache_counts(cache, 0).hits;
        run_lines(cache, level, 0, lines);
        hits[i] = (double)(ll_cache_counts(cache, 0).hits - before) / (double)lines;
    }
    ll_arena_release(&arena);
}

static void a_cache_that_lets_in_a_part_finds_more_each_time(void **state)
{
    (void)state;
    static const double admissions[] = {0.0625, 0.25, 0.6, 1}, rounds[] = {0.25, 0.5, 1.5, 3};
    enum { ROUNDS = sizeof rounds / sizeof *rounds, CASES = ROUNDS * sizeof admissions / sizeof *admissions };
    const uint64_t bytes = UINT64_C(64) * 16 * 64, first[] = {0, 1, 2, 3, 4, 5, 6};
    for (size_t i = 0; i < (size_t)CASES; i++) {
        struct ll_cache_level cache = {.sets = 64,
                                       .ways = 16,
                                       .line_bytes = 64,
                                       .policy = LL_CACHE_RANDOM,
                                       .admission = admissions[i / ROUNDS]};
        uint64_t round = (uint64_t)(rounds[i % ROUNDS] * (double)bytes);
        struct ll_reuse reuses[TIMES];
        for (uint32_t j = 0; j < TIMES; j++)
            reuses[j] = (struct ll_reuse){.bytes = round, .since = j ? 0 : LL_NO_FIT, .before = j};
        struct ll_residency residency = {.first = first, .reuses = reuses};
        struct ll_machine machine = two_levels(bytes, LL_SCOPE_DEVICE, 4);
        machine.levels[0].cache = cache;
        machine.levels[0].cache_given = true;
        struct ll_arena arena = {0};
        struct ll_so_far so_far = met_by(&residency, &machine, TIMES, &arena);
        struct ll_warm_bytes found;
        double hits[TIMES];
        hits_of_times(&cache, round / 64, hits);
        for (uint32_t j = 0; j < TIMES; j++) {
            ll_residency_saved(&residency, &machine, j, 0, so_far, &found);
            assert_true(fabs(found.saved_bytes[1] / (double)round - hits[j]) < 0.06);
        }
        ll_arena_release(&arena);
    }
}

/* A block comes some times in a row, as weights do that each step of a recurrent layer reads, then `stream`
 * lines of what nobody has used, then the block once more, and again: by use, what hits of it in a simulated
 * cache, and the same uses for the laws. */
enum { OFTEN = 8, USES = OFTEN + 3 };
static void come_and_go(const struct ll_cache_level *level, uint64_t block, uint64_t stream,
                        double hits[USES], struct ll_reuse reuses[USES])
{
    const uint64_t lines = level->sets * level->ways;
    struct ll_arena arena = {0};
    struct ll_cache *cache = ll_cache_new(level, 1, &arena);
    run_lines(cache, level, lines, 40 * lines); /* it fills empty places first */
    for (uint32_t use = 0; use < USES; use++) {
        uint64_t before = ll_cache_counts(cache, 0).hits;
        if (use == OFTEN)
            run_lines(cache, level, 40 * lines, 40 * lines + stream);
        else
            run_lines(cache, level, 0, block);
        hits[use] = (double)(ll_cache_counts(cache, 0).hits - before) / (double)block;
        reuses[use] = (struct ll_reuse){.bytes = 64 * block, .before = use, .op = use};
    }
    reuses[0].since = reuses[OFTEN].since = LL_NO_FIT;
    reuses[OFTEN].bytes = reuses[OFTEN + 1].since = 64 * stream;
    reuses[OFTEN].before = 0;
    reuses[OFTEN + 1].before = OFTEN;
    ll_arena_release(&arena);
}

static void what_comes_once_displaces_what_came_often_by_what_is_let_in(void **state)
{
    (void)state;
    static const double admissions[] = {0.25, 0.5, 1}, others[] = {0.25, 1, 2.5};
    const uint64_t lines = 1024 * 16, block = lines / 8, first[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    for (size_t i = 0; i < 9; i++) {
        struct ll_cache_level cache = {.sets = 1024,
                                       .ways = 16,
                                       .line_bytes = 64,
                                       .policy = LL_CACHE_RANDOM,
                                       .admission = admissions[i / 3]};
        struct ll_reuse reuses[USES];
        double hits[USES];
        come_and_go(&cache, block, (uint64_t)(others[i % 3] * (double)lines), hits, reuses);
        const struct ll_residency residency = {.first = first, .reuses = reuses};
        struct ll_machine machine = two_levels(lines * 64, LL_SCOPE_DEVICE, 4);
        machine.levels[0].cache = cache;
        machine.levels[0].cache_given = true;
        struct ll_arena arena = {0};
        struct ll_so_far so_far = met_by(&residency, &machine, USES, &arena);
        for (uint32_t use = OFTEN + 1; use < USES; use++) {
            struct ll_warm_bytes found;
            ll_residency_saved(&residency, &machine, use, 0, so_far, &found);
            assert_true(fabs(found.saved_bytes[1] / (double)(64 * block) - hits[use]) < 0.04);
        }
        ll_arena_release(&arena);
    }
}

/* A cache of 1000 bytes before the memory. */
static struct ll_machine with_cache(enum ll_cache_policy policy, double admission)
{
    struct ll_machine machine = two_levels(1000, LL_SCOPE_DEVICE, 4);
    machine.levels[0].cache_given = true;
    machine.levels[0].cache.policy = policy;
    machine.levels[0].cache.admission = admission;
    return machine;
}

/* What the last of these uses of one operand each finds, as a share of it; whether a replay begins with the
 * first or the last of them is all one. */
static double last_finds(const struct ll_machine *machine, struct ll_reuse *reuses, uint32_t count)
{
    static const uint64_t first[] = {0, 1, 2, 3, 4};
    struct ll_arena arena = {0};
    for (uint32_t use = 0; use < count; use++)
        reuses[use].op = use;
    const struct ll_residency residency = {.first = first, .reuses = reuses};
    struct ll_warm_bytes found, later;
    ll_residency_saved(&residency, machine, count - 1, 0, met_by(&residency, machine, count, &arena), &found);
    struct ll_history *history = ll_history_new(&residency, machine, count - 1, count, &arena);
    struct ll_so_far so_far = {NULL, count - 1, history};
    ll_history_add(history, count - 1, so_far);
    ll_residency_saved(&residency, machine, count - 1, 0, so_far, &later);
    assert_near(later.saved_bytes[1], found.saved_bytes[1], 0);
    ll_arena_release(&arena);
    return found.saved_bytes[1] / (double)reuses[count - 1].bytes;
}

/* Between two uses of 10 bytes 3000 others are written: by an op, by one that writes past the caches, by the
 * host to the outermost memory, by the host through the caches. */
static void what_passes_by_displaces_nothing(void **state)
{
    (void)state;
    static const struct {
        bool by_host, fills, displaces;
    } cases[] = {{.displaces = true}, {.by_host = true}, {.by_host = true, .fills = true, .displaces = true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ll_machine machine = with_cache(LL_CACHE_RANDOM, 1);
        machine.host.fills_caches = cases[i].fills;
        struct ll_reuse reuses[] = {{.bytes = 10, .since = LL_NO_FIT, .kind = LL_OP_RELU},
                                    {.bytes = 3000,
                                     .since = LL_NO_FIT,
                                     .kind = LL_OP_ADD,
                                     .written = true,
                                     .by_host = cases[i].by_host},
                                    {.bytes = 10, .since = 3000, .before = 1, .kind = LL_OP_RELU}};
        double kept = last_finds(&machine, reuses, 3);
        assert_true(cases[i].displaces ? kept < 0.06 : kept > 0.98);
    }
}

static void the_host_finds_nothing_that_it_overwrites(void **state)
{
    (void)state;
    for (int policy = 0; policy < 2; policy++) {
        struct ll_machine machine = with_cache(policy ? LL_CACHE_RANDOM : LL_CACHE_LRU, 1);
        machine.host.fills_caches = true;
        struct ll_reuse reuses[] = {
            {.bytes = 10, .since = LL_NO_FIT},
            {.bytes = 10, .since = 0, .distance = 0, .before = 1, .written = true, .by_host = true}};
        assert_near(last_finds(&machine, reuses, 2), 0, 0);
        reuses[1].by_host = false;
        assert_true(last_finds(&machine, reuses, 2) > 0.98);
    }
}

/* A direct-mapped cache and as many lines as it has: of others none may be in a line's set, e^-1; with two
 * ways one may, e^-2 (1 + 2). Of many ways, or of one set, all that fit are kept. */
static void a_set_keeps_what_fewer_others_than_its_ways_came_after(void **state)
{
    (void)state;
    const uint64_t bytes = UINT64_C(1) << 20;
    const struct ll_round round = {bytes, 0};
    const struct {
        uint64_t ways;
        double kept;
    } cases[] = {{1, exp(-1)}, {2, 3 * exp(-2)}, {0, 1}, {bytes / 64, 1}, {1024, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ll_level level = {.size_bytes = bytes,
                                 .cache_given = true,
                                 .cache = {.ways = cases[i].ways, .line_bytes = 64, .policy = LL_CACHE_LRU}};
        assert_near(ll_level_keeps(&level, 1000, round), 1000 * cases[i].kept, 1e-9);
    }
    const struct ll_level small = {.size_bytes = 1024,
                                   .cache_given = true,
                                   .cache = {.ways = 16, .line_bytes = 64, .policy = LL_CACHE_LRU}};
    assert_near(ll_level_keeps(&small, 1000, (struct ll_round){1024, 0}), 1000, 0);
}

/* A quarter of 10 bytes is let in each time: 0, 1/4, 7/16, 37/64 are found, by age exactly. */
static void by_age_as_well_a_part_is_let_in_each_time(void **state)
{
    (void)state;
    struct ll_machine machine = with_cache(LL_CACHE_LRU, 0.25);
    struct ll_reuse reuses[] = {{.bytes = 10, .since = LL_NO_FIT},
                                {.bytes = 10, .before = 1},
                                {.bytes = 10, .before = 2},
                                {.bytes = 10, .before = 3}};
    assert_near(last_finds(&machine, reuses, 1), 0, 0);
    assert_near(last_finds(&machine, reuses, 2), 1.0 / 4, 1e-12);
    assert_near(last_finds(&machine, reuses, 3), 7.0 / 16, 1e-12);
    assert_near(last_finds(&machine, reuses, 4), 37.0 / 64, 1e-12);
}

/* A product, then two other ops: the first of them finds nothing in the units' own caches, which let in a
 * quarter of what it asks for then; that is what the second one finds. */
static void what_a_product_left_elsewhere_is_let_in_anew(void **state)
{
    (void)state;
    struct ll_machine machine = with_cache(LL_CACHE_LRU, 0.25);
    machine.levels[0].cache.affinity = true;
    struct ll_reuse reuses[] = {{.bytes = 10, .since = LL_NO_FIT, .kind = LL_OP_MATMUL},
                                {.bytes = 10, .before = 1, .kind = LL_OP_MATMUL},
                                {.bytes = 10, .before = 2, .kind = LL_OP_ADD},
                                {.bytes = 10, .before = 3, .kind = LL_OP_ADD}};
    assert_near(last_finds(&machine, reuses, 2), 1.0 / 4, 1e-12);
    assert_near(last_finds(&machine, reuses, 3), 0, 0);
    assert_near(last_finds(&machine, reuses, 4), 1.0 / 4, 1e-12);
}

static void a_larger_cache_finds_no_less(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int chain = 0; chain < 5000 / ONE_IN; chain++) {
        uint64_t bytes = 1 + ll_random_below(&seed, 1 << 20), more = bytes + ll_random_below(&seed, bytes);
        struct ll_level small = {
            .size_bytes = bytes,
            .cache_given = true,
            .cache = {.policy = ll_random_below(&seed, 2) ? LL_CACHE_RANDOM : LL_CACHE_LRU,
                      .ways = ll_random_below(&seed, 40),
                      .line_bytes = 64,
                      .admission = (double)(1 + ll_random_below(&seed, 16)) / 16}};
        struct ll_level large = small;
        large.size_bytes = more;
        struct ll_cache_found in_small = ll_cache_finds(&small, (struct ll_round){LL_NO_FIT, 0}, NULL),
                              in_large = in_small;
        for (int time = 0; time < 8; time++) {
            struct ll_round round = {ll_random_below(&seed, 4 * bytes), 0};
            round.corunners = (double)ll_random_below(&seed, 2 * bytes) * (chain % 2);
            in_small = ll_cache_finds(&small, round, &in_small);
            in_large = ll_cache_finds(&large, round, &in_large);
            assert_true(in_large.share >= in_small.share - 1e-9);
            assert_true(in_small.share >= 0 && in_large.has <= 1 + 1e-6);
        }
    }
}

/* Three times around, a rest in which others fill it with so many times what it holds, and once more: what
 * hits of that in a simulated cache, and what the law says of it. */
static void check_rest(enum ll_cache_policy policy, double share, double others)
{
    const uint64_t lines = 512 * 16, mine = (uint64_t)(share * (double)lines);
    static const uint64_t first[] = {0, 0, 0, 0, 1, 2, 3, 4}; /* of ops 3 to 6 */
    struct ll_cache_level cache = {.sets = 512, .ways = 16, .line_bytes = 64, .policy = policy};
    struct ll_arena arena = {0};
    struct ll_cache *simulated = ll_cache_new(&cache, 1, &arena);
    run_lines(simulated, &cache, lines, 40 * lines); /* it fills empty places first */
    for (int i = 0; i < 3; i++)
        run_lines(simulated, &cache, 0, mine);
    run_lines(simulated, &cache, 40 * lines, 40 * lines + (uint64_t)(others * (double)lines));
    uint64_t before = ll_cache_counts(simulated, 0).hits;
    run_lines(simulated, &cache, 0, mine);
    double hits = (double)(ll_cache_counts(simulated, 0).hits - before) / (double)mine;

    struct ll_reuse reuses[4];
    for (uint32_t j = 0; j < 4; j++)
        reuses[j] =
            (struct ll_reuse){.bytes = mine * 64, .since = j ? 0 : LL_NO_FIT, .before = j, .op = 3 + j};
    const struct ll_residency residency = {.first = first, .reuses = reuses};
    struct ll_machine machine = two_levels(lines * 64, LL_SCOPE_DEVICE, 4);
    machine.levels[0].cache = cache;
    machine.levels[0].cache_given = true;
    machine.levels[0].cache.corunners_Bps = others * (double)lines * 64;
    static const double begun_s[] = {0, 0, 0, 1};
    struct ll_warm_bytes found;
    for (int rests = 0; rests < 2; rests++) {
        struct ll_history *history = ll_history_new(&residency, &machine, 3, 7, &arena);
        const struct ll_so_far so_far = {rests ? begun_s : NULL, 3, history};
        for (uint32_t op = 3; op < 7; op++)
            ll_history_add(history, op, so_far);
        ll_residency_saved(&residency, &machine, 6, 0, so_far, &found);
        assert_true(fabs(found.saved_bytes[1] / (double)(mine * 64) - (rests ? hits : 1)) < 0.06);
    }
    ll_arena_release(&arena);
}

static void others_displace_what_rests_as_in_a_simulated_cache(void **state)
{
    (void)state;
    static const double shares[] = {0.1, 0.25}, others[] = {0.1, 0.5, 0.7, 1, 2};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (int share = 0; share < 2; share++) {
            check_rest(LL_CACHE_LRU, shares[share], others[i]);
            check_rest(LL_CACHE_RANDOM, shares[share], others[i]);
        }
}

/* Ops 0 and 2 are products, 1 and 3 are not, and each uses what the one two before it has left, or the one
 * right before it. */
static void private_caches_find_what_ops_of_the_same_cut_have_left(void **state)
{
    (void)state;
    static const uint64_t first[] = {0, 1, 2, 3, 4};
    struct ll_machine machine = two_levels(1 << 20, LL_SCOPE_DEVICE, 4);
    machine.levels[0].cache_given = true;
    for (uint32_t back = 1; back <= 2; back++)
        for (int affinity = 0; affinity < 2; affinity++) {
            struct ll_reuse reuses[4];
            for (uint32_t j = 0; j < 4; j++) {
                bool again = j >= back;
                reuses[j] = (struct ll_reuse){.bytes = 1000,
                                              .distance = again ? 0 : LL_NO_FIT,
                                              .since = again ? 0 : LL_NO_FIT,
                                              .before = again ? j + 1 - back : 0,
                                              .op = j,
                                              .kind = j % 2 == 0 ? LL_OP_MATMUL : LL_OP_ADD};
            }
            const struct ll_residency residency = {.first = first, .reuses = reuses};
            struct ll_warm_bytes found;
            machine.levels[0].cache.affinity = affinity;
            for (uint32_t op = 0; op < 4; op++) {
                ll_residency_saved(&residency, &machine, op, 0, timeless, &found);
                assert_near(found.saved_bytes[1], op >= back && (!affinity || back == 2) ? 1000 : 0, 0);
            }
        }
}

/* What op 3 overwrites was written by op 0, read by op 1, by all units or not, and read, or written, by op 2.
 * It is in the caches of the units, or in the one that they share, or in none. */
static void what_all_units_have_read_is_dropped_by_the_others_when_it_is_overwritten(void **state)
{
    (void)state;
    static const uint64_t first[] = {0, 1, 2, 3, 4};
    static const struct {
        bool everywhere, written;
        uint64_t since;
        double near, far;
    } cases[] = {{true, false, 0, 1000, 0}, /* in their own caches */
                 {true, false, 5000, 0, 1000},
                 {true, false, 50000, 0, 0}, /* in none */
                 {false, false, 0, 0, 0},
                 {true, true, 0, 0, 0}};
    struct ll_machine machine = two_levels(4000, LL_SCOPE_DEVICE, 4);
    machine.level_count = 3;
    machine.levels[2] = machine.levels[1];
    machine.levels[1] = machine.levels[0];
    machine.levels[1].size_bytes = 20000;
    for (int l = 0; l < 2; l++) {
        machine.levels[l].cache_given = true;
        machine.levels[l].cache.invalidation_s = 1e-9;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ll_reuse reuses[4];
        for (uint32_t op = 0; op < 4; op++)
            reuses[op] = (struct ll_reuse){.bytes = 1000,
                                           .since = op == 3 ? cases[i].since : 0,
                                           .before = op,
                                           .op = op,
                                           .kind = LL_OP_ADD,
                                           .written = op == 0 || op == 3};
        reuses[0].since = LL_NO_FIT;
        reuses[1].everywhere = cases[i].everywhere;
        reuses[2].written = cases[i].written;
        const struct ll_residency residency = {.first = first, .reuses = reuses};
        struct ll_warm_bytes found;
        for (uint32_t op = 0; op < 3; op++) {
            ll_residency_saved(&residency, &machine, op, 0, timeless, &found);
            assert_near(found.shared_bytes[0] + found.shared_bytes[1],
                        op == 2 && cases[i].written ? 1000 * cases[i].everywhere : 0, 0);
        }
        ll_residency_saved(&residency, &machine, 3, 0, timeless, &found);
        assert_near(found.shared_bytes[0], cases[i].near, 0);
        assert_near(found.shared_bytes[1], cases[i].far, 0);
        assert_near(found.shared_bytes[2], 0, 0);
        machine.levels[0].cache.invalidation_s = machine.levels[1].cache.invalidation_s = 0;
        ll_residency_saved(&residency, &machine, 3, 0, timeless, &found);
        assert_near(found.shared_bytes[0] + found.shared_bytes[1], 0, 0);
        machine.levels[0].cache.invalidation_s = machine.levels[1].cache.invalidation_s = 1e-9;
    }
}

/* A cache of so many bytes; op 1 reads what op 0, or the host, has written, 500 bytes later. */
static double found_behind(const struct ll_reuse *write, bool by_host, uint64_t bytes,
                           struct ll_machine *machine)
{
    static const uint64_t first[] = {0, 1, 2};
    struct ll_reuse reuses[] = {*write, {.bytes = write->bytes, .op = 1, .kind = LL_OP_ADD}};
    reuses[0].written = true;
    reuses[0].by_host = by_host;
    reuses[1].since = reuses[1].distance = reuses[1].since_arrival = LL_NO_FIT;
    *(by_host ? &reuses[1].arrived : &reuses[1].before) = 1;
    *(by_host ? &reuses[1].since_arrival : &reuses[1].since) = 500;
    const struct ll_residency residency = {.first = first, .reuses = reuses};
    struct ll_warm_bytes found;
    machine->levels[0].size_bytes = bytes;
    ll_residency_saved(&residency, machine, 0, 0, timeless, &found);
    assert_near(found.saved_bytes[1], 0, 0);
    ll_residency_saved(&residency, machine, 1, 0, timeless, &found);
    return found.saved_bytes[1];
}

static void what_the_host_brings_is_found_where_it_came_through_the_caches(void **state)
{
    const struct ll_reuse input = {
        .bytes = 1000, .distance = LL_NO_FIT, .since = LL_NO_FIT, .kind = LL_OP_HOST_INPUT};
    struct ll_machine machine = two_levels(1, LL_SCOPE_DEVICE, 4);
    (void)state;
    machine.levels[0].cache_given = true;
    assert_near(found_behind(&input, true, 2000, &machine), 0, 0);
    machine.host.fills_caches = true;
    assert_near(found_behind(&input, true, 2000, &machine), 1000, 0);
    assert_near(found_behind(&input, true, 1499, &machine), 0, 0);
}

/* A memory that is managed keeps what fits beside the others' bytes, whatever their order. */
static void a_scratchpad_keeps_what_fits(void **state)
{
    (void)state;
    const struct ll_level level = {.size_bytes = 1000};
    assert_near(ll_level_keeps(&level, 100, (struct ll_round){100, 0}), 100, 0);
    assert_near(ll_level_keeps(&level, 100, (struct ll_round){1000, 0}), 100, 0);
    assert_near(ll_level_keeps(&level, 100, (struct ll_round){1050, 0}), 50, 0);
    assert_near(ll_level_keeps(&level, 100, (struct ll_round){1100, 0}), 0, 0);
    assert_near(ll_level_keeps(&level, 100, (struct ll_round){LL_NO_FIT, 0}), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cache_keeps_of_a_round_what_a_simulated_one_keeps),
        cmocka_unit_test(a_cache_that_lets_in_a_part_finds_more_each_time),
        cmocka_unit_test(what_comes_once_displaces_what_came_often_by_what_is_let_in),
        cmocka_unit_test(what_passes_by_displaces_nothing),
        cmocka_unit_test(the_host_finds_nothing_that_it_overwrites),
        cmocka_unit_test(a_set_keeps_what_fewer_others_than_its_ways_came_after),
        cmocka_unit_test(by_age_as_well_a_part_is_let_in_each_time),
        cmocka_unit_test(what_a_product_left_elsewhere_is_let_in_anew),
        cmocka_unit_test(a_larger_cache_finds_no_less),
        cmocka_unit_test(others_displace_what_rests_as_in_a_simulated_cache),
        cmocka_unit_test(private_caches_find_what_ops_of_the_same_cut_have_left),
        cmocka_unit_test(what_all_units_have_read_is_dropped_by_the_others_when_it_is_overwritten),
        cmocka_unit_test(what_the_host_brings_is_found_where_it_came_through_the_caches),
        cmocka_unit_test(a_scratchpad_keeps_what_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
