/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "random.h"

#include "tracer/record/recorder.h"

#include <string.h>

enum { NOTES = 500, MOST = 9 };

struct told {
    uint32_t inputs[MOST], outputs[MOST], controls[MOST];
    struct ll_attr attrs[MOST];
    struct ll_record record;
};

/* A record with lists of random lengths; the same random state, the same record. */
static void tell(uint64_t *random, struct told *told)
{
    memset(told, 0, sizeof *told);
    told->record = (struct ll_record){.kind = (enum ll_op_kind)ll_random_below(random, LL_OP_NONE),
                                      .scope = (uint32_t)ll_random(random),
                                      .start_ns = ll_random(random),
                                      .input_count = (uint32_t)ll_random_below(random, MOST + 1),
                                      .output_count = (uint32_t)ll_random_below(random, MOST + 1),
                                      .control_count = (uint32_t)ll_random_below(random, MOST + 1),
                                      .attr_count = (uint32_t)ll_random_below(random, MOST + 1)};
    for (unsigned i = 0; i < MOST; i++) {
        told->inputs[i] = (uint32_t)ll_random(random);
        told->outputs[i] = (uint32_t)ll_random(random);
        told->controls[i] = (uint32_t)ll_random(random);
        told->attrs[i].key = ll_random(random);
        told->attrs[i].count = (int64_t)ll_random(random);
    }
    told->record.inputs = told->inputs;
    told->record.outputs = told->outputs;
    told->record.controls = told->controls;
    told->record.attrs = told->attrs;
}

static void assert_same_list(const void *kept, const void *told, uint32_t count, size_t size)
{
    if (count)
        assert_memory_equal(kept, told, count * size);
}

static void what_was_told_comes_back_in_order(void **state)
{
    (void)state;
    struct ll_notes notes = {0};
    struct told told;
    uint64_t seed = ll_seed(17), writing = seed, reading = seed, place = 0;
    for (uint32_t i = 0; i < NOTES; i++) {
        tell(&writing, &told);
        assert_true(ll_notes_take(&notes, &told.record, i));
    }
    struct ll_record kept;
    uint32_t step, count = 0;
    for (; ll_notes_next(&notes, &place, &kept, &step); count++) {
        tell(&reading, &told);
        assert_int_equal(step, count);
        assert_true(kept.kind == told.record.kind && kept.scope == told.record.scope);
        assert_true(kept.start_ns == told.record.start_ns && kept.control_count == told.record.control_count);
        assert_same_list(kept.inputs, told.inputs, told.record.input_count, sizeof *kept.inputs);
        assert_same_list(kept.outputs, told.outputs, told.record.output_count, sizeof *kept.outputs);
        assert_same_list(kept.controls, told.controls, told.record.control_count, sizeof *kept.controls);
        assert_same_list(kept.attrs, told.attrs, told.record.attr_count, sizeof *kept.attrs);
    }
    assert_int_equal(count, NOTES);
    assert_int_equal(notes.count, NOTES);
    ll_notes_release(&notes);
}

static void a_lasting_record_is_pointed_to_until_it_is_read(void **state)
{
    (void)state;
    struct ll_notes notes = {0};
    struct told first, second;
    uint64_t random = ll_seed(19), place = 0;
    tell(&random, &first);
    tell(&random, &second);
    first.record.lasting = true;
    assert_true(ll_notes_take(&notes, &first.record, 3) && ll_notes_take(&notes, &second.record, 4));
    assert_int_equal(notes.lasting, 1);
    struct ll_record kept;
    uint32_t step;
    assert_true(ll_notes_next(&notes, &place, &kept, &step));
    assert_ptr_equal(kept.inputs, first.inputs);
    assert_int_equal(step, 3);
    assert_true(ll_notes_next(&notes, &place, &kept, &step));
    assert_ptr_not_equal(kept.inputs, second.inputs);
    assert_same_list(kept.attrs, second.attrs, second.record.attr_count, sizeof *kept.attrs);
    assert_false(ll_notes_next(&notes, &place, &kept, &step));
    ll_notes_release(&notes);
}

static void what_was_noted_behind_a_pause_began_so_much_earlier(void **state)
{
    (void)state;
    struct ll_notes notes = {0};
    struct told told;
    uint64_t random = ll_seed(20), place = 0;
    tell(&random, &told);
    told.record.lasting = true;
    told.record.start_ns = 1000;
    assert_true(ll_notes_take(&notes, &told.record, 0));
    notes.paused_ns = 300;
    assert_true(ll_notes_take(&notes, &told.record, 0));
    told.record.lasting = false;
    assert_true(ll_notes_take(&notes, &told.record, 0));
    struct ll_record kept;
    uint32_t step;
    for (int i = 0; i < 3; i++) {
        assert_true(ll_notes_next(&notes, &place, &kept, &step));
        assert_int_equal(kept.start_ns, i == 0 ? 1000 : 700);
    }
    ll_notes_release(&notes);
}

static void cleared_notes_are_gone_and_their_room_is_kept(void **state)
{
    (void)state;
    struct ll_notes notes = {0};
    struct told told;
    uint64_t random = ll_seed(18), place = 0;
    tell(&random, &told);
    assert_true(ll_notes_take(&notes, &told.record, 0));
    uint64_t capacity = notes.capacity;
    ll_notes_clear(&notes);
    uint32_t step;
    assert_false(ll_notes_next(&notes, &place, &told.record, &step));
    assert_int_equal(notes.capacity, capacity);
    ll_notes_release(&notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_told_comes_back_in_order),
        cmocka_unit_test(a_lasting_record_is_pointed_to_until_it_is_read),
        cmocka_unit_test(what_was_noted_behind_a_pause_began_so_much_earlier),
        cmocka_unit_test(cleared_notes_are_gone_and_their_room_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
