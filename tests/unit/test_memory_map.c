/* SPDX-License-Identifier: Apache-2.0 */
/* What memory that nobody wrote, and that was read as part of more, is taken for. */
#include "check.h"

#include "tracer/capture/memory.h"

enum { ROWS = 4, HALF = 16, WHOLE = 2 * HALF, LEFT = 0x1000, RIGHT = LEFT + HALF };

static struct ll_touch columns(uint64_t address, uint64_t row_bytes)
{
    return (struct ll_touch){.at = ll_stretch(address, ROWS, row_bytes, WHOLE)};
}

static uint32_t look(struct ll_memory *memory, uint64_t width)
{
    const struct ll_shape shape = {.dtype = LL_F32, .rank = 2, .dim = {ROWS, width}};
    return ll_recorder_desc(memory->recorder, "", &shape, LL_ACTIVATION);
}

/* Of a matrix the left half is made by op 0, the right one by nobody; op 2 reads both. */
static uint32_t read_both(struct ll_memory *memory)
{
    enum ll_status status;
    *memory = (struct ll_memory){.recorder = ll_recorder_open_memory(NULL, 0, &status)};
    assert_non_null(memory->recorder);
    uint32_t half = look(memory, HALF / 4), made = ll_recorder_tensor(memory->recorder, half);
    struct ll_touch left = columns(LEFT, HALF), both = columns(LEFT, WHOLE);
    ll_memory_was_written(memory, &left, 0, made, half, false);
    uint32_t seen = ll_memory_read(memory, &both, look(memory, WHOLE / 4), 0);
    assert_int_not_equal(seen, LL_NONE);
    ll_memory_was_read(memory, &both, 2, 0);
    return seen;
}

static void end(struct ll_memory *memory)
{
    enum ll_status status;
    ll_memory_release(memory);
    ll_trace_free(ll_recorder_take(memory->recorder, &status));
}

static void what_nobody_wrote_comes_from_nobody(void **state)
{
    struct ll_memory memory;
    bool updated;
    (void)state;
    uint32_t seen = read_both(&memory);
    struct ll_touch right = columns(RIGHT, HALF), both = columns(LEFT, WHOLE);
    uint32_t brought = ll_memory_read(&memory, &right, look(&memory, HALF / 4), 1);
    assert_int_equal(memory.views_made, 1); /* of both; this half is no view of that */
    assert_int_not_equal(brought, seen);
    assert_int_equal(ll_memory_brought(&memory, &right, &updated), brought);
    assert_false(updated);
    assert_int_equal(ll_memory_read(&memory, &right, look(&memory, HALF / 4), 1), brought);
    assert_int_not_equal(ll_memory_read(&memory, &both, look(&memory, WHOLE / 4), 0), seen);
    assert_int_equal(memory.views_made, 2); /* of the left half and of what was brought */
    end(&memory);
}

/* Before anybody reads it alone, and after. */
static void what_nobody_wrote_is_overwritten_behind_its_readers(void **state)
{
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        struct ll_memory memory;
        struct ll_waits waits = {0};
        read_both(&memory);
        struct ll_touch right = columns(RIGHT, HALF);
        if (alone) {
            ll_memory_read(&memory, &right, look(&memory, HALF / 4), 1);
            ll_memory_was_read(&memory, &right, 3, 1);
        }
        ll_memory_overwrite(&memory, &right, false, &waits);
        assert_int_equal(waits.count, 1 + alone);
        for (uint64_t i = 0; i < waits.count; i++)
            assert_true(waits.ops[i] == 2 || waits.ops[i] == 3);
        free(waits.ops);
        end(&memory);
    }
}

/* More than was read before, of which nobody wrote anything: one tensor. */
static void what_nobody_wrote_is_brought_whole(void **state)
{
    struct ll_memory memory;
    (void)state;
    read_both(&memory);
    uint32_t row = look(&memory, WHOLE / 4);
    struct ll_touch wide = {.at = ll_stretch(RIGHT + WHOLE * (ROWS - 1), 1, WHOLE, WHOLE)};
    uint32_t brought = ll_memory_read(&memory, &wide, row, 0);
    assert_int_equal(memory.views_made, 1);
    assert_int_equal(ll_memory_read(&memory, &wide, row, 0), brought);
    end(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_wrote_comes_from_nobody),
        cmocka_unit_test(what_nobody_wrote_is_overwritten_behind_its_readers),
        cmocka_unit_test(what_nobody_wrote_is_brought_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
