/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/explore/database.h"
#include "sim/explore/sweep.h"
#include "sim/explore/space.h"
#include "tracer/base/str.h"

#include <sys/resource.h>

#define HEAD "base: custom_example\ntraces: [traces/alexnet_infer_b1.llt]\nobjectives: [min time_s]\n"

static struct ll_space *read(const char *vary)
{
    static const char *const folders[] = {"hwconfigs", NULL};
    struct ll_diags diags = {0};
    char text[2000];
    snprintf(text, sizeof text, HEAD "%s", vary);
    struct ll_space *space = ll_space_parse(text, strlen(text), "space.yaml", folders, &diags);
    if (!space)
        fail_msg("%s", diags.kept[0].message);
    return space;
}

/* The values of the only axis, as texts in a row. */
static void check_values(const char *values, const char *expected)
{
    char vary[500], texts[500] = "";
    snprintf(vary, sizeof vary, "vary: {%s}\n", values);
    struct ll_space *space = read(vary);
    for (uint32_t i = 0; i < space->axes[0].value_count; i++)
        snprintf(texts + strlen(texts), sizeof texts - strlen(texts), "%s%s", i ? " " : "",
                 space->axes[0].values[i].text);
    assert_string_equal(texts, expected);
    ll_space_free(space);
}

static void ranges_have_the_values_that_they_say(void **state)
{
    (void)state;
    check_values("units.array.rows: {from: 8, to: 32, by: 8}", "8 16 24 32");
    check_values("units.array.rows: {from: 8, to: 30, by: 8}", "8 16 24");
    check_values("units.array.rows: {from: 8, to: 64, times: 2}", "8 16 32 64");
    check_values("units.array.rows: {from: 1, to: 5, points: 3}", "1 3 5");
    check_values("units.array.rows: {from: 1, to: 3, points: 9}", "1 2 3"); /* each whole number once */
    check_values("units.array.rows: {from: 1, to: 100, points: 3, log: true}", "1 10 100");
    check_values("memory.hbm.bandwidth: {from: 25GB/s, to: 1.6TB/s, points: 10, log: true}",
                 "25GB/s 39.69GB/s 63GB/s 100GB/s 158.74GB/s 252GB/s 400GB/s 635GB/s 1.0079TB/s 1.6TB/s");
    check_values("memory.hbm.efficiency: {from: 0.5, to: 0.6, points: 4}", "0.5 0.53333 0.56667 0.6");
    check_values("clock: {from: 1GHz, to: 1.000000001GHz, points: 3}", "1GHz 1000000000.5Hz 1000000001Hz");
    check_values("memory.sram.size: {from: 1MiB, to: 4MiB, times: 2}", "1MiB 2MiB 4MiB");
    check_values("memory.hbm.bandwidth: {from: 100GB/s, to: 0.2TB/s, by: 50GB/s}", "100GB/s 150GB/s 200GB/s");
    check_values("memory.sram.bandwidth: {from: 64B/cycle, to: 128B/cycle, points: 2}",
                 "64B/cycle 128B/cycle");
    check_values("memory.hbm.efficiency: {from: 0.5, to: 1, by: 0.25}", "0.5 0.75 1");
    check_values("units.array.macs.bf16: {from: 1, to: 2, points: 2}", "1 2");
    check_values("energy.mac_pj.bf16: {from: 0.5, to: 1, points: 2}", "0.5 1");
    check_values("units.array.dataflow: [ws, os]", "ws os");
    check_values("clock: 2GHz", "2GHz");
    check_values("memory.hbm: [{size: 8GiB, latency: 1us}, {size: 16GiB}]",
                 "{size: 8GiB, latency: 1us} {size: 16GiB}");
    check_values("memory.hbm: {old: {size: 8GiB}, new: {size: 16GiB}}", "old new");
}

/* Databases hold these hashes, and are gone on with by what follows: the numbers here are of a little-endian
 * machine, of the program that first wrote them, and stay. */
static void a_space_is_known_again_on_every_machine(void **state)
{
    (void)state;
    struct ll_space *drawn = read("vary: {clock: [1GHz, 2GHz], units.array.rows: [32, 64, 128]}\n"
                                  "search: {kind: random, points: 4, seed: 7}\n");
    struct ll_space *latin = read("vary: {clock: [1GHz, 2GHz], memory.hbm: [{size: 8GiB}]}\n"
                                  "search: {kind: latin, points: 4, seed: 7}\n");
    assert_int_equal(ll_space_hash(drawn), UINT64_C(0xe7a2be0ea855457d));
    assert_int_equal(ll_space_hash(latin), UINT64_C(0x392a4f1633ba644a));
    assert_int_equal(ll_point_key(latin, 1, 1), UINT64_C(0x68051b3d8926d844));
    ll_space_free(drawn);
    ll_space_free(latin);
}

static void numbers_of_values_are_in_base_units(void **state)
{
    (void)state;
    struct ll_space *space = read("vary:\n"
                                  "  energy.mac_pj.bf16: [0.5, 1]\n"
                                  "  memory.sram.size: [1MiB]\n"
                                  "  units.array.dataflow: [ws]\n"
                                  "  memory.hbm: [{size: 8GiB}]\n");
    assert_near(space->axes[0].values[1].number, 1e-12, 1e-15);
    assert_near(space->axes[1].values[0].number, 1 << 20, 0);
    assert_true(isnan(space->axes[2].values[0].number) && isnan(space->axes[3].values[0].number));
    assert_true(space->axes[0].ordered && space->axes[1].ordered && !space->axes[2].ordered);
    assert_int_equal(space->axes[3].target, LL_AXIS_PART);
    ll_space_free(space);
}

/* Time and memory grow as the file does, also where every definition doubles the one before. */
static void many_rules_take_little_more_than_their_text(void **state)
{
    (void)state;
    enum { RULES = 6000, MOST_KB = 500000 };
    static const char *const folders[] = {"hwconfigs", NULL};
    struct ll_diags diags = {0};
    struct ll_str text = {0};
    struct rusage used;
    ll_str_add(&text, HEAD "vary: {clock: [1GHz, 2GHz]}\ndefine:\n  d0: time_s\n");
    for (int i = 1; i < RULES; i++)
        ll_str_addf(&text, "  d%d: d%d + d%d\n", i, i - 1, i - 1);
    ll_str_add(&text, "constraints:\n");
    for (int i = 0; i < RULES; i++)
        ll_str_addf(&text, "  - time_s < %d or d%d > 1\n", i + 1, i);
    struct ll_space *space = ll_space_parse(text.text, text.length, "space.yaml", folders, &diags);
    assert_non_null(space);
    assert_int_equal(space->definition_count, RULES);
    assert_int_equal(space->constraint_count, RULES);
    assert_int_equal(getrusage(RUSAGE_SELF, &used), 0);
    assert_in_range(used.ru_maxrss, 0, MOST_KB);
    ll_space_free(space);
    ll_str_release(&text);
}

static void areas_are_in_mm2_as_in_expressions(void **state)
{
    (void)state;
    struct ll_space *space = read("vary:\n"
                                  "  area.fixed_mm2: {from: 100, to: 300, by: 100}\n"
                                  "  area.sram_mm2_per_MiB: [0.5]\n");
    assert_string_equal(space->axes[0].values[1].text, "200");
    assert_near(space->axes[0].values[1].number, 200, 1e-15);
    assert_near(space->axes[1].values[0].number * (1 << 20), 0.5, 1e-15);
    ll_space_free(space);
}

static struct ll_space *some_space(void)
{
    return read("vary:\n"
                "  units.array.rows: [8, 16, 32]\n"
                "  clock: [1GHz, 2GHz]\n"
                "  memory.hbm.bandwidth: {from: 1GB/s, to: 7GB/s, by: 1GB/s}\n"
                "  units.array.cols: [8, 16, 32, 64, 128]\n");
}

static void points_and_numbers_are_one(void **state)
{
    (void)state;
    struct ll_space *space = some_space();
    assert_int_equal(space->point_count, 3 * 2 * 7 * 5);
    for (uint64_t number = 0; number < space->point_count; number++) {
        uint32_t point[LL_MOST_AXES];
        ll_space_point(space, number, point);
        for (size_t a = 0; a < space->axis_count; a++)
            assert_true(point[a] < space->axes[a].value_count);
        assert_int_equal(ll_space_number(space, point), number);
    }
    ll_space_free(space);
}

static bool mark(void *context, const uint64_t *numbers, size_t count, struct ll_answer *outcomes)
{
    unsigned char *seen = context;
    (void)outcomes;
    for (size_t i = 0; i < count; i++)
        seen[numbers[i]]++;
    return true;
}

static void a_grid_has_every_point_once(void **state)
{
    (void)state;
    struct ll_space *space = some_space();
    unsigned char seen[3 * 2 * 7 * 5] = {0};
    assert_true(ll_search_GRID(space, mark, seen));
    for (size_t i = 0; i < sizeof seen; i++)
        assert_int_equal(seen[i], 1);
    ll_space_free(space);
}

enum { MOST_PLACES = 70000 };
static unsigned char owned[MOST_PLACES];

/* The places of a piece, each marked. */
static uint64_t mark_piece(const struct ll_deal *deal, const struct ll_deal_piece *piece)
{
    uint64_t places = 0;
    for (uint64_t round = piece->first_round; round < piece->end_round; round++) {
        uint64_t first, count = ll_deal_block(deal, piece->lane, round, &first);
        assert_true(count <= deal->block && (count == 0 || first + count <= deal->count));
        for (uint64_t i = 0; i < count; i++)
            owned[first + i]++;
        places += count;
    }
    return places;
}

static void check_each_once(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        assert_int_equal(owned[i], 1);
    memset(owned, 0, sizeof owned);
}

static const struct {
    uint64_t count, lanes;
} deals[] = {{1, 1},    {1, 16},    {7, 3},      {24, 16},    {100, 7},     {1000, 8},
             {1024, 4}, {4800, 16}, {65536, 16}, {69999, 13}, {70000, 1000}};

static void shards_are_even_and_share_all_points(void **state)
{
    (void)state;
    for (size_t d = 0; d < sizeof deals / sizeof *deals; d++) {
        const struct ll_deal deal = ll_deal_of(deals[d].count, deals[d].lanes);
        const double mean = (double)deal.count / (double)deal.lanes;
        uint64_t most = 0;
        for (uint64_t lane = 0; lane < deal.lanes; lane++) {
            const struct ll_deal_piece all = ll_deal_lane(&deal, lane);
            const uint64_t places = mark_piece(&deal, &all);
            most = places > most ? places : most;
        }
        check_each_once(deal.count);
        assert_int_equal(most, ll_deal_most(&deal));
        assert_true((double)most <= fmax(ceil(mean), 1.004 * mean));
    }
}

/* The pieces that processes take: all places once, the first of each process about half of its share, the
 * last ones a block. */
static void pieces_are_all_points_and_become_small(void **state)
{
    (void)state;
    for (size_t d = 0; d < sizeof deals / sizeof *deals; d++) {
        const struct ll_deal deal = ll_deal_of(deals[d].count, deals[d].lanes);
        const double mean = (double)deal.count / (double)deal.lanes;
        struct ll_deal_piece piece;
        uint64_t number = 0, places = 0, before = UINT64_MAX;
        for (; ll_deal_next(&deal, number, &piece); number++) {
            places = mark_piece(&deal, &piece);
            assert_true(number >= deal.lanes || (double)places <= fmax(1, mean / 2 + 2 * (double)deal.block));
            assert_true(piece.end_round - piece.first_round <= before);
            before = piece.end_round - piece.first_round;
        }
        assert_true(places <= deal.block && number <= 20 * deal.lanes);
        check_each_once(deal.count);
    }
}

/* Any stretch of what a search proposes is what asking for all of it has there. */
static void proposals_are_the_same_from_any_place(void **state)
{
    (void)state;
    static const enum ll_search_kind kinds[] = {LL_SEARCH_GRID, LL_SEARCH_RANDOM, LL_SEARCH_LATIN};
    struct ll_space *space = some_space();
    for (size_t k = 0; k < 3; k++) {
        uint64_t all[3 * 2 * 7 * 5], some[11];
        space->search = (struct ll_sweep_search){.kind = kinds[k], .points = 150, .seed = 3};
        struct ll_proposals whole = ll_proposals_of(space), parts = ll_proposals_of(space);
        assert_int_equal(whole.count, 150);
        assert_true(ll_proposals_at(&whole, 0, 150, all));
        for (uint64_t left = 140; left >= 7; left -= 7) { /* from behind */
            assert_true(ll_proposals_at(&parts, left - 1, 11, some));
            assert_memory_equal(some, all + left - 1, sizeof some);
        }
        ll_proposals_release(&whole);
        ll_proposals_release(&parts);
    }
    ll_space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_have_the_values_that_they_say),
        cmocka_unit_test(a_space_is_known_again_on_every_machine),
        cmocka_unit_test(numbers_of_values_are_in_base_units),
        cmocka_unit_test(many_rules_take_little_more_than_their_text),
        cmocka_unit_test(areas_are_in_mm2_as_in_expressions),
        cmocka_unit_test(points_and_numbers_are_one),
        cmocka_unit_test(a_grid_has_every_point_once),
        cmocka_unit_test(shards_are_even_and_share_all_points),
        cmocka_unit_test(pieces_are_all_points_and_become_small),
        cmocka_unit_test(proposals_are_the_same_from_any_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
