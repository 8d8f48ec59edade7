/* SPDX-License-Identifier: Apache-2.0 */
/* The interval map against its dumb twin: an array that knows of every single byte which tensor lies there,
 * who wrote it and who of each thread read it last. Random reads, writes and releases of runs and of matrices
 * whose rows lie apart must find the same in both. */
#include "check.h"

#include "tracer/capture/memory.h"
#include "tracer/ir/trace.h"

enum { BYTES = 600, BASE = 1000, OPS = 60000, THREADS = 3 };

struct byte {
    bool known;
    uint32_t tensor, writer, readers[THREADS];
};

struct twin {
    struct byte bytes[BYTES];
};

/* A run, or rows apart, most of them at one of a few distances; all within the bytes. */
static struct ll_stretch_of_memory roll_stretch(uint64_t *random)
{
    static const uint64_t strides[] = {8, 16, 24, 48, 56};
    uint64_t stride = strides[ll_random_below(random, 5)], row = 1 + ll_random_below(random, stride);
    uint64_t rows = 1 + ll_random_below(random, ll_random_below(random, 2) ? 8 : BYTES / stride);
    if (ll_random_below(random, 4) == 0)
        stride = row + ll_random_below(random, 30);
    rows = ll_random_below(random, 3) == 0 ? 1 : rows;
    while ((rows - 1) * stride + row > BYTES)
        rows--;
    uint64_t span = (rows - 1) * stride + row, at = ll_random_below(random, BYTES - span + 1);
    if (ll_random_below(random, 2)) /* the same few places again and again */
        at = at / 50 * 50;
    return ll_stretch(BASE + at, rows, row, stride);
}

static bool covers(const struct ll_stretch_of_memory *at, uint64_t address)
{
    if (address < at->address || address >= ll_stretch_end(at))
        return false;
    return (address - at->address) % at->stride_bytes < at->row_bytes;
}

/* The pieces say of every byte of the stretch what the twin says of it, and of no other byte anything. */
static void assert_same(struct ll_regions *regions, const struct ll_region_list *pieces,
                        const struct ll_stretch_of_memory *at, const struct twin *twin)
{
    bool told[BYTES] = {false};
    for (uint64_t i = 0; i < pieces->count; i++) {
        const struct ll_region *piece = &pieces->items[i];
        for (uint64_t byte = 0; byte < BYTES; byte++) {
            const struct byte *expected = &twin->bytes[byte];
            if (!covers(&piece->at, BASE + byte))
                continue;
            assert_true(covers(at, BASE + byte));
            assert_false(told[byte]);
            told[byte] = true;
            assert_true(expected->known);
            assert_int_equal(piece->tensor, expected->tensor);
            assert_int_equal(piece->writer, expected->writer);
            uint32_t readers[THREADS] = {0};
            for (uint32_t r = piece->readers; r; r = regions->readers[r].next)
                readers[regions->readers[r].thread] = regions->readers[r].op;
            assert_memory_equal(readers, expected->readers, sizeof readers);
        }
    }
    for (uint64_t byte = 0; byte < BYTES; byte++)
        assert_true(told[byte] == (covers(at, BASE + byte) && twin->bytes[byte].known));
}

static void drop(struct ll_regions *regions, struct ll_region_list *pieces)
{
    for (uint64_t i = 0; i < pieces->count; i++)
        ll_readers_clear(regions, &pieces->items[i].readers);
}

static void a_map_of_regions_knows_of_every_byte_what_an_array_knows(void **state)
{
    (void)state;
    uint64_t random = ll_seed(41);
    struct ll_regions regions = {0};
    struct ll_region_list pieces = {0};
    struct twin twin = {0};
    for (uint32_t op = 1; op < OPS; op++) {
        struct ll_stretch_of_memory at = roll_stretch(&random);
        uint64_t what = ll_random_below(&random, 10);
        uint32_t thread = (uint32_t)ll_random_below(&random, THREADS);
        pieces.count = 0;
        ll_regions_take(&regions, &at, &pieces);
        assert_same(&regions, &pieces, &at, &twin);
        bool reads = what < 5, writes = what >= 5 && what < 9;
        for (uint64_t i = 0; i < pieces.count && reads; i++) {
            ll_readers_add(&regions, &pieces.items[i].readers, op, thread);
            ll_regions_put(&regions, &pieces.items[i]);
        }
        if (!reads)
            drop(&regions, &pieces);
        if (writes)
            ll_regions_put(&regions, &(struct ll_region){.at = at, .whole = at, .tensor = op, .writer = op});
        for (uint64_t byte = 0; byte < BYTES; byte++) {
            if (!covers(&at, BASE + byte))
                continue;
            if (reads)
                twin.bytes[byte].readers[thread] = twin.bytes[byte].known ? op : 0;
            else
                twin.bytes[byte] = (struct byte){.known = writes, .tensor = op, .writer = op};
        }
    }
    assert_false(regions.failed);
    assert_true(regions.node_count <= BYTES); /* what was freed is used again */
    ll_region_list_release(&pieces);
    ll_regions_release(&regions);
}

/* A million rows, cut as factorizations cut their matrices: a few regions each time, however many rows. */
static void rows_that_lie_apart_stay_one_region(void **state)
{
    (void)state;
    enum { ROWS = 1 << 20, STRIDE = 128 };
    struct ll_regions regions = {0};
    struct ll_region_list pieces = {0};
    struct ll_stretch_of_memory left = ll_stretch(0x1000, ROWS, 64, STRIDE),
                                right = ll_stretch(0x1040, ROWS, 64, STRIDE),
                                middle = ll_stretch(0x1020, ROWS, 64, STRIDE),
                                window = ll_stretch(0x1000 + 10 * STRIDE + 8, ROWS - 20, 16, STRIDE),
                                run = ll_stretch(0x1000 + 100 * STRIDE + 4, 1, 1000 * STRIDE, 1000 * STRIDE);
    ll_regions_put(&regions, &(struct ll_region){.at = left, .tensor = 1});
    assert_non_null(ll_regions_at(&regions, &left));
    ll_regions_take(&regions, &right, &pieces); /* columns between its own: nothing of it */
    assert_int_equal(pieces.count, 0);
    ll_regions_put(&regions, &(struct ll_region){.at = right, .tensor = 2});
    ll_regions_take(&regions, &left, &pieces);
    assert_int_equal(pieces.count, 1);
    assert_true(ll_stretch_is(&pieces.items[0].at, &left));
    ll_regions_put(&regions, &pieces.items[0]);
    pieces.count = 0;
    ll_regions_take(&regions, &middle, &pieces); /* half of either */
    assert_int_equal(pieces.count, 2);
    for (uint64_t i = 0; i < pieces.count; i++)
        ll_regions_put(&regions, &pieces.items[i]);
    pieces.count = 0;
    ll_regions_take(&regions, &window, &pieces);
    assert_int_equal(pieces.count, 1);
    assert_int_equal(pieces.items[0].tensor, 1);
    pieces.count = 0;
    ll_regions_take(&regions, &run, &pieces);
    assert_true(pieces.count <= 12);
    assert_true(regions.node_count <= 24);
    ll_region_list_release(&pieces);
    ll_regions_release(&regions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_of_regions_knows_of_every_byte_what_an_array_knows),
        cmocka_unit_test(rows_that_lie_apart_stay_one_region),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
