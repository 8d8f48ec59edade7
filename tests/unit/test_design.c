/* SPDX-License-Identifier: Apache-2.0 */
/* A machine that is changed in place is the one that --set gives. */
#include "check.h"

#include "sim/machine/design.h"
#include "sim/machine/path.h"

#include <unistd.h>

static const char *const folders[] = {"hwconfigs", NULL};

static const char *json_of(const struct ll_machine *machine, struct ll_arena *arena)
{
    struct ll_machine plain = *machine;
    struct ll_str text = {0};
    struct ll_json json = {.out = &text};
    plain.source_count = 0; /* where values are from, --set says and a design does not */
    ll_machine_json(&plain, &json);
    const char *copy = ll_copy_text(arena, text.text, text.length);
    ll_str_release(&text);
    return copy;
}

/* Values of the numbers, drawn around what the machine has. */
static const char *random_value(const struct ll_machine_number *number, const struct ll_machine *machine,
                                struct ll_arena *arena, uint64_t *random)
{
    double value = ll_number_get(machine, number);
    double factor = 0.5 + (double)ll_random_below(random, 1000) / 1000;
    value = fmin(fmax(value > 0 ? value * factor : number->min * 2, number->min), number->max);
    struct ll_quantity_text text = ll_number_words(number, value);
    return ll_copy_text(arena, text.text, strlen(text.text));
}

enum { CHANGES = 3, ROUNDS = 12 / ONE_IN };

/* Three numbers of the machine get values, over and over, in one design; each time a file is read as well. */
static void try_machine(const char *stem, uint64_t seed)
{
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_design *design = ll_design_new(stem, folders, &diags);
    struct ll_machine *base = ll_machine_read(stem, folders, NULL, 0, &diags);
    const struct ll_machine_number *numbers[CHANGES];
    uint32_t slots[CHANGES];
    size_t count;
    const struct ll_machine_number *all = ll_machine_numbers(base, &arena, &count);
    assert_true(design && base && all && count > 0);
    for (size_t i = 0; i < CHANGES; i++)
        do
            numbers[i] = &all[ll_random_below(&seed, count)];
        while (!ll_design_bind(design, numbers[i]->path, (struct ll_place){0}, &diags, &slots[i]));
    ll_diags_release(&diags);
    for (int round = 0; round < ROUNDS; round++) {
        struct ll_override overrides[CHANGES];
        for (size_t i = 0; i < CHANGES; i++) {
            overrides[i] =
                (struct ll_override){numbers[i]->path, random_value(numbers[i], base, &arena, &seed)};
            struct ll_node node = {.type = LL_NODE_SCALAR, .text = overrides[i].value};
            ll_design_put(design, slots[i], ll_design_value(design, slots[i], &node, &diags));
        }
        struct ll_machine *read = ll_machine_read(stem, folders, overrides, CHANGES, &diags);
        ll_diags_release(&diags);
        const struct ll_machine *changed = ll_design_read(design, &diags);
        ll_diags_release(&diags);
        assert_true((read != NULL) == (changed != NULL));
        if (read)
            assert_string_equal(json_of(changed, &arena), json_of(read, &arena));
        ll_machine_free(read);
    }
    ll_machine_free(base);
    ll_design_free(design);
    ll_arena_release(&arena);
}

static void a_changed_machine_is_the_one_that_set_gives(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    const char **stems;
    size_t count;
    assert_true(ll_machine_list(folders, NULL, &arena, &stems, &count));
    for (size_t i = 0; i < count; i += ONE_IN)
        try_machine(stems[i], 100 + i);
    ll_arena_release(&arena);
}

/* Puts texts into slots of the example machine and reads it. */
static const struct ll_machine *changed(struct ll_design *design, const char *const (*changes)[2],
                                        size_t count)
{
    static struct ll_node nodes[8];
    struct ll_diags diags = {0};
    for (size_t i = 0; i < count; i++) {
        uint32_t slot;
        assert_true(ll_design_bind(design, changes[i][0], (struct ll_place){0}, &diags, &slot));
        nodes[i] = (struct ll_node){.type = LL_NODE_SCALAR, .text = changes[i][1]};
        ll_design_put(design, slot, ll_design_value(design, slot, &nodes[i], &diags));
    }
    const struct ll_machine *machine = ll_design_read(design, &diags);
    ll_diags_release(&diags);
    return machine;
}

static void the_clock_reaches_all_that_counts_by_it(void **state)
{
    (void)state;
    static const char *const changes[][2] = {{"clock", "2GHz"}};
    struct ll_diags diags = {0};
    struct ll_design *design = ll_design_new("custom_example", folders, &diags);
    const struct ll_machine *machine = changed(design, changes, 1);
    assert_non_null(machine);
    assert_near(machine->units[0].clock_hz, 2e9, 0);
    assert_near(machine->levels[0].bandwidth_Bps, 512 * 2e9, 0); /* 512B/cycle */
    assert_near(machine->levels[1].bandwidth_Bps, 900e9, 0);
    ll_design_free(design);
}

static void what_the_file_does_not_say_can_be_put(void **state)
{
    (void)state;
    static const char *const changes[][2] = {{"memory.sram.latency", "5ns"}, {"software.queue", "16"}};
    struct ll_diags diags = {0};
    struct ll_design *design = ll_design_new("custom_example", folders, &diags);
    const struct ll_machine *machine = changed(design, changes, 2);
    assert_non_null(machine);
    assert_near(machine->levels[0].latency_s, 5e-9, 0);
    assert_int_equal(machine->software.queue, 16);
    ll_design_free(design);
}

/* Costs that are remembered are told apart by the bytes of levels: another order of loops is another pointer,
 * and the same one the same. */
static void a_word_of_several_is_the_word_itself(void **state)
{
    (void)state;
    static const char *const words[] = {"mnk", "nkm", "mnk"};
    static const char *const changes[][2] = {{"software.mapping", "search"}, {"memory.sram.loops", "kmn"}};
    struct ll_diags diags = {0};
    struct ll_design *design = ll_design_new("custom_example", folders, &diags);
    const char *loops[3];
    assert_non_null(changed(design, changes, 2));
    for (size_t i = 0; i < 3; i++) {
        struct ll_node node = {.type = LL_NODE_SCALAR, .text = words[i]};
        ll_design_put(design, 1, ll_design_value(design, 1, &node, &diags));
        loops[i] = ll_design_read(design, &diags)->levels[0].loops;
        assert_string_equal(loops[i], words[i]);
    }
    assert_ptr_not_equal(loops[0], loops[1]);
    assert_ptr_equal(loops[0], loops[2]);
    ll_design_free(design);
}

static void a_part_is_laid_over_what_the_file_says_not_over_another_part(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_design *design = ll_design_new("custom_example", folders, &diags);
    uint32_t slot;
    assert_true(ll_design_bind(design, "memory.hbm", (struct ll_place){0}, &diags, &slot));
    static const char *const texts[] = {"{size: 64GiB, latency: 1us}", "{bandwidth: 50GB/s}"};
    const struct ll_machine *machine = NULL;
    for (size_t i = 0; i < 2; i++) {
        struct ll_node *map = ll_node_parse_value(&arena, texts[i], "part", &diags);
        ll_design_put(design, slot, ll_design_value(design, slot, map, &diags));
        machine = ll_design_read(design, &diags);
        assert_non_null(machine);
    }
    assert_int_equal(machine->levels[1].size_bytes, UINT64_C(16) << 30); /* the file's */
    assert_near(machine->levels[1].latency_s, 120e-9, 0);
    assert_near(machine->levels[1].bandwidth_Bps, 50e9, 0);
    assert_string_equal(machine->levels[1].name, "hbm");
    ll_design_free(design);
    ll_arena_release(&arena);
}

static void a_machine_that_cannot_be_is_refused_and_the_next_one_read(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    struct ll_design *design = ll_design_new("custom_example", folders, &diags);
    uint32_t slot;
    assert_true(ll_design_bind(design, "memory.sram.size", (struct ll_place){0}, &diags, &slot));
    ll_design_put_number(design, slot, 64e9); /* larger than the memory behind it */
    assert_null(ll_design_read(design, &diags));
    assert_int_equal(diags.count, 1);
    ll_diags_release(&diags);
    ll_design_put_number(design, slot, 1 << 20);
    const struct ll_machine *machine = ll_design_read(design, &diags);
    assert_non_null(machine);
    assert_int_equal(machine->levels[0].size_bytes, 1 << 20);
    ll_design_free(design);
}

/* Names of levels stand in one section and are referred to in another. */
static void values_are_tried_in_any_order(void **state)
{
    (void)state;
    static const char *const paths[][2] = {
        {"memory.hbm.bandwidth", "1TB/s"}, {"energy.hbm_pj_per_byte", "20"}, {"memory.sram.size", "8MiB"}};
    struct ll_diags diags = {0};
    struct ll_design *design = ll_design_new("custom_example", folders, &diags);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        uint32_t slot;
        struct ll_node node = {.type = LL_NODE_SCALAR, .text = paths[i][1]};
        assert_true(ll_design_bind(design, paths[i][0], (struct ll_place){0}, &diags, &slot));
        assert_true(ll_design_try(design, slot, &node, &diags));
    }
    ll_design_free(design);
}

static void a_unit_may_be_called_like_a_section(void **state)
{
    (void)state;
    char path[] = "named.XXXXXX";
    static const char text[] = "name: Toy\nclock: 1GHz\nunits:\n  - {name: host, model: vector, lanes: 8, "
                               "flops: {f32: 2}}\nmemory:\n  - {name: ram, size: 1GiB, bandwidth: "
                               "100GB/s}\nhost: {bandwidth: 1GB/s}\n";
    int file = mkstemp(path);
    static const char *const changes[][2] = {{"host.bandwidth", "10MB/s"}};
    struct ll_diags diags = {0};
    assert_int_equal(write(file, text, sizeof text - 1), sizeof text - 1);
    struct ll_design *design = ll_design_new(path, folders, &diags);
    const struct ll_machine *machine = design ? changed(design, changes, 1) : NULL;
    unlink(path);
    close(file);
    assert_non_null(machine);
    assert_near(machine->host.bandwidth_Bps, 10e6, 0);
    ll_design_free(design);
}

static void numbers_are_found_where_paths_lead(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    struct ll_machine *machine = ll_machine_read("custom_example", folders, NULL, 0, &diags);
    static const struct {
        const char *path;
        double value;
    } right[] = {{"units.array.rows", 32},
                 {"array.cols", 64},
                 {"memory.sram.size", 4 << 20},
                 {"hbm.bandwidth", 900e9},
                 {"clock", 1e9},
                 {"software.op_overhead", 3e-6},
                 {"units.array.macs.f32", 0.25},
                 {"energy.static_w", 20},
                 {"units.simd.lanes", 128},
                 {"area.pe_um2.bf16", 450e-12},
                 {"network.link.devices", 8}};
    static const char *const wrong[] = {"units",
                                        "units.array",
                                        "units.array.dataflow",
                                        "units.array.lanes",
                                        "array.rows.more",
                                        "nothing",
                                        "",
                                        "units.array.macs",
                                        "name",
                                        "."};
    struct ll_location location;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        assert_true(ll_machine_locate(machine, right[i].path, &location));
        assert_near(ll_located(machine, &location), right[i].value, 1e-15);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(ll_machine_locate(machine, wrong[i], &location));
    ll_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_changed_machine_is_the_one_that_set_gives),
        cmocka_unit_test(the_clock_reaches_all_that_counts_by_it),
        cmocka_unit_test(what_the_file_does_not_say_can_be_put),
        cmocka_unit_test(a_word_of_several_is_the_word_itself),
        cmocka_unit_test(a_part_is_laid_over_what_the_file_says_not_over_another_part),
        cmocka_unit_test(a_machine_that_cannot_be_is_refused_and_the_next_one_read),
        cmocka_unit_test(values_are_tried_in_any_order),
        cmocka_unit_test(a_unit_may_be_called_like_a_section),
        cmocka_unit_test(numbers_are_found_where_paths_lead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
