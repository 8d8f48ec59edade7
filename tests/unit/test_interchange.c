/* SPDX-License-Identifier: Apache-2.0 */
/* Machines of other tools: what is written comes back as the same array; YAML of others; arithmetic in it. */
#include "check.h"

#include <string.h>

#include "sim/array/machine.h"
#include "sim/interchange/expression.h"
#include "sim/interchange/interchange.h"
#include "sim/machine/node.h"

static const struct ll_peer_format *format_named(const char *name)
{
    size_t i = 0;
    while (strcmp(ll_peer_format_at(i)->name, name) != 0)
        i++;
    return ll_peer_format_at(i);
}

static struct ll_machine *read_file(const char *stem)
{
    char path[128];
    struct ll_diags diags = {0};
    snprintf(path, sizeof path, "hwconfigs/accelerators/%s.yaml", stem);
    struct ll_machine *machine = ll_machine_read(path, NULL, NULL, 0, &diags);
    assert_non_null(machine);
    ll_diags_release(&diags);
    return machine;
}

/* The machine that its own export becomes by an import. */
static struct ll_machine *there_and_back(const struct ll_machine *machine, const char *name)
{
    static const char *const folders[] = {"hwconfigs", NULL};
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_left_list left = {NULL, NULL, 0, 0};
    struct ll_str out[LL_PEER_OUTPUTS] = {{0}}, yaml = {0};
    assert_true(ll_peer_export(format_named(name), machine, &arena, out, &left, &diags));
    struct ll_peer_file file = {"one.yaml", out[0].text, out[0].length};
    struct ll_peer_import import = {.files = &file, .count = 1, .closed = true};
    assert_true(ll_peer_import(format_named(name), &import, &arena, &yaml, &left, &diags));
    struct ll_machine *back = ll_machine_parse(yaml.text, yaml.length, "back.yaml", folders, NULL, 0, &diags);
    assert_non_null(back);
    assert_int_equal(diags.count, 0);
    ll_str_release(&yaml);
    for (int i = 0; i < LL_PEER_OUTPUTS; i++)
        ll_str_release(&out[i]);
    ll_diags_release(&diags);
    ll_arena_release(&arena);
    return back;
}

static struct ll_array array_of(const struct ll_machine *machine)
{
    uint64_t u = ll_array_find(machine);
    assert_true(u < machine->unit_count);
    return ll_array_of(machine, u, ll_array_dtype(&machine->units[u]));
}

static void check_port(const struct ll_array_port *one, const struct ll_array_port *other)
{
    assert_near(one->width_bits, other->width_bits, 1e-9);
    assert_near(one->min_bits, other->min_bits, 1e-9);
    assert_memory_equal(one->serves, other->serves, sizeof one->serves);
}

static void check_store(const struct ll_array_store *one, const struct ll_array_store *other)
{
    assert_string_equal(one->name, other->name);
    assert_near(one->size_bits, other->size_bits, 1e-12);
    assert_memory_equal(one->holds, other->holds, sizeof one->holds);
    assert_int_equal(one->serves, other->serves);
    assert_near(one->read_j, other->read_j, 1e-9);
    assert_near(one->write_j, other->write_j, 1e-9);
}

static void arrays_come_back_from_zigzag_and_timeloop(void **state)
{
    static const char *const rows[][2] = {
        {"zigzag_tpu_like", "zigzag"},       {"zigzag_edge_tpu", "zigzag"},
        {"zigzag_meta_prototype", "zigzag"}, {"zigzag_dimc", "zigzag"},
        {"zigzag_gemm_l1_l3", "zigzag"},     {"timeloop_eyeriss", "timeloop"},
        {"timeloop_simba_like", "timeloop"}, {"timeloop_conv1d_3level_spatial", "timeloop"}};
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct ll_machine *machine = read_file(rows[r][0]), *back = there_and_back(machine, rows[r][1]);
        struct ll_array one = array_of(machine), other = array_of(back);
        assert_int_equal(one.axes, other.axes);
        assert_memory_equal(one.axis, other.axis, one.axes * sizeof *one.axis);
        assert_near(one.mac_j, other.mac_j, 1e-9);
        assert_near(one.macs_per_cycle, other.macs_per_cycle, 1e-9);
        assert_int_equal(one.stores, other.stores);
        for (int s = 0; s < one.stores; s++) {
            check_store(&one.store[s], &other.store[s]);
            assert_int_equal(one.store[s].ports, other.store[s].ports);
            for (int p = 0; p < one.store[s].ports; p++)
                check_port(&one.store[s].port[p], &other.store[s].port[p]);
            assert_near(one.store[s].leak_j, other.store[s].leak_j, 1e-9);
            assert_near(one.store[s].cluster, other.store[s].cluster, 0);
        }
        ll_machine_free(machine);
        ll_machine_free(back);
    }
}

static struct ll_node *foreign(struct ll_arena *arena, const char *text, struct ll_diags *diags)
{
    return ll_node_parse_foreign(arena, text, strlen(text), "foreign.yaml", diags);
}

static void foreign_files_may_share_values(void **state)
{
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    (void)state;
    struct ll_node *root = foreign(&arena,
                                   "base: &base {a: 1, b: {c: 2, d: 3}}\n"
                                   "same: *base\n"
                                   "flat: {<<: *base, b: {c: 4}}\n"
                                   "deep: {<<<: *base, b: {c: 4}}\n"
                                   "list: [!Part {name: x}, !Part {name: y}]\n"
                                   "a: 1\na: 2\n",
                                   &diags);
    assert_non_null(root);
    assert_int_equal(diags.count, 0);
    assert_string_equal(ll_node_get_text(ll_node_get(root, "same"), "a"), "1");
    assert_string_equal(ll_node_get_text(ll_node_get(root, "flat"), "a"), "1");
    assert_null(ll_node_get(ll_node_get(ll_node_get(root, "flat"), "b"), "d"));
    assert_string_equal(ll_node_get_text(ll_node_get(ll_node_get(root, "deep"), "b"), "d"), "3");
    assert_string_equal(ll_node_get(root, "list")->first->tag, "Part");
    assert_string_equal(ll_node_get_text(root, "a"), "2");
    ll_diags_release(&diags);
    ll_arena_release(&arena);
}

/* Aliases are copies, and copies count: nine levels of nine would be 387 million values. */
static void aliases_that_grow_without_bound_are_refused(void **state)
{
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_str text = {0};
    (void)state;
    ll_str_add(&text, "l0: &l0 [x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 9; i++) {
        ll_str_addf(&text, "l%d: &l%d [", i, i);
        for (int k = 0; k < 9; k++)
            ll_str_addf(&text, "%s*l%d", k ? ", " : "", i - 1);
        ll_str_add(&text, "]\n");
    }
    assert_null(foreign(&arena, text.text, &diags));
    assert_true(diags.count > 0);
    assert_null(foreign(&arena, "a: &a [*a]\n", &diags));
    assert_null(foreign(&arena, "a: *b\n", &diags));
    text.length = 0;
    for (int i = 0; i < 2000; i++) /* each alias looks at all of them */
        ll_str_addf(&text, "k%d: &a%d x\n", i, i);
    assert_null(foreign(&arena, text.text, &diags));
    ll_str_release(&text);
    ll_diags_release(&diags);
    ll_arena_release(&arena);
}

static void attributes_are_computed_as_python_does(void **state)
{
    static const struct {
        const char *text;
        double value;
    } rows[] = {{"2 + 3 * 4", 14},           {"-2 ** 2", -4},     {"2 ** 3 ** 2", 512},
                {"7 // 2 + 7 % 4", 6},       {"(1 + 2) * 3", 9},  {"ceil(log2(width))", 5},
                {"max(1, depth - 5, 2)", 2}, {"size / width", 2}, {"1e3 - 1_000", 0}};
    static const char *const wrong[] = {"", "1 +", "(1", "unknown", "f(1)", "1 2", "loop", "1 / 0", "min()"};
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    double value;
    (void)state;
    struct ll_node *map = foreign(&arena, "{width: 20, depth: 6, size: 2 * width, loop: loop + 1}", &diags);
    struct ll_scopes scopes = {.map = {map}, .count = 1};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(ll_expression(rows[i].text, &scopes, &value));
        assert_near(value, rows[i].value, 1e-12);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(ll_expression(wrong[i], &scopes, &value));
    ll_diags_release(&diags);
    ll_arena_release(&arena);
}

/* 40 names within each of 12 names would be looked up 10^19 times. */
static void names_within_names_come_to_an_end(void **state)
{
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_str text = {0};
    double value;
    (void)state;
    for (int i = 0; i < 12; i++) {
        ll_str_addf(&text, "n%d: n%d", i, i + 1);
        for (int k = 1; k < 40; k++)
            ll_str_addf(&text, " + n%d", i + 1);
        ll_str_add(&text, "\n");
    }
    ll_str_add(&text, "n12: 1\n");
    struct ll_scopes scopes = {.map = {foreign(&arena, text.text, &diags)}, .count = 1};
    assert_true(ll_expression("n10", &scopes, &value));
    assert_near(value, 1600, 0);
    assert_false(ll_expression("n0", &scopes, &value));
    ll_str_release(&text);
    ll_diags_release(&diags);
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_come_back_from_zigzag_and_timeloop),
        cmocka_unit_test(foreign_files_may_share_values),
        cmocka_unit_test(aliases_that_grow_without_bound_are_refused),
        cmocka_unit_test(attributes_are_computed_as_python_does),
        cmocka_unit_test(names_within_names_come_to_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
