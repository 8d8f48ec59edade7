/* SPDX-License-Identifier: Apache-2.0 */
/* Bases are the machines of hwconfigs/, so that no file has to be written; wrong ones stand in
 * tests/errors/machines. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include "toy_machine.h"

#include <stdlib.h>
#include <unistd.h>

static const char *source_of(const struct ll_machine *machine, const char *path)
{
    for (uint64_t i = 0; i < machine->source_count; i++)
        if (!strcmp(machine->sources[i].path, path))
            return machine->sources[i].text;
    return NULL;
}

static void own_values_win_and_the_rest_is_the_bases(void **state)
{
    (void)state;
    struct ll_machine *machine = ll_toy_machine("inherits: tpu_v2_core\n"
                                                "name: Wider\n"
                                                "units:\n"
                                                "  - {name: mxu, rows: 256, macs: {int8: 4}}\n"
                                                "memory:\n"
                                                "  - {name: hbm, bandwidth: 1TB/s}\n");
    assert_non_null(machine);
    assert_string_equal(machine->name, "Wider");
    assert_true(machine->clock_hz == 700e6);
    assert_int_equal(machine->unit_count, 2);
    assert_int_equal(machine->units[0].systolic.rows, 256);
    assert_int_equal(machine->units[0].systolic.cols, 128);
    assert_true(machine->units[0].systolic.macs[LL_INT8] == 4);
    assert_true(machine->units[0].systolic.macs[LL_BF16] == 1);
    assert_true(machine->levels[1].bandwidth_Bps == 1e12);
    assert_int_equal(machine->levels[1].size_bytes, UINT64_C(8) << 30);
    assert_non_null(source_of(machine, "mxu.macs")); /* of which a part is the base's still */
    ll_machine_free(machine);
}

static void items_of_a_new_name_come_after_the_bases(void **state)
{
    (void)state;
    struct ll_machine *machine =
        ll_toy_machine("inherits: tpu_v2_core\n"
                       "units:\n"
                       "  - {name: helper, model: vector, lanes: 8, flops: {f32: 1}}\n");
    assert_non_null(machine);
    assert_int_equal(machine->unit_count, 3);
    assert_string_equal(machine->units[2].name, "helper");
    ll_machine_free(machine);
}

/* A level between two, and a kernel that takes ops before another does: the order is the list's. */
static void a_new_item_stands_before_the_one_that_follows_it(void **state)
{
    (void)state;
    struct ll_machine *machine =
        ll_toy_machine("inherits: tpu_v2_core\n"
                       "units: [{name: a, model: vector, lanes: 8, flops: {f32: 1}},\n"
                       "        {name: b, model: vector, lanes: 8, flops: {f32: 1}}, {name: vpu},\n"
                       "        {name: c, model: vector, lanes: 8, flops: {f32: 1}}]\n");
    assert_non_null(machine);
    const char *const expected[] = {"mxu", "a", "b", "vpu", "c"};
    assert_int_equal(machine->unit_count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(machine->units[i].name, expected[i]);
    ll_machine_free(machine);
}

static void an_item_stands_once_in_a_list_that_is_laid_over(void **state)
{
    struct ll_diags diags = {0};
    (void)state;
    assert_null(ll_toy_parse("inherits: tpu_v2_core\n"
                             "memory: [{name: hbm, size: 16GiB}, {name: hbm, size: 32GiB}]\n",
                             NULL, 0, &diags));
    assert_int_equal(diags.kept[0].place.line, 2);
    assert_non_null(strstr(diags.kept[0].message, "hbm"));
    ll_diags_release(&diags);
}

static void lists_without_names_are_replaced(void **state)
{
    (void)state;
    struct ll_machine *machine = ll_toy_machine("inherits: v100_sxm_16gb+archive/deepbench\n"
                                                "units:\n"
                                                "  - {name: tensor, tiles: [16x16x16], runs: [matmul]}\n");
    assert_non_null(machine);
    assert_int_equal(machine->units[0].matrix.tile_count, 1);
    assert_int_equal(machine->units[0].matrix.tiles[0].m, 16);
    assert_false(machine->units[0].runs[LL_OP_CONV2D]);
    ll_machine_free(machine);
}

static void what_data_calls_the_base_is_not_inherited(void **state)
{
    (void)state;
    struct ll_machine *machine = ll_toy_machine("inherits: v100_sxm_16gb+archive/deepbench\n");
    assert_non_null(machine);
    assert_int_equal(machine->alias_count, 0);
    ll_machine_free(machine);
}

static void a_source_goes_with_the_value_it_speaks_of(void **state)
{
    (void)state;
    struct ll_machine *machine = ll_toy_machine("inherits: tpu_v2_core\n"
                                                "clock: 1GHz\n"
                                                "memory: [{name: hbm, size: 16GiB, bandwidth: 1TB/s}]\n"
                                                "sources: {memory.hbm.size: a guess}\n");
    assert_non_null(machine);
    assert_null(source_of(machine, "clock"));
    assert_null(source_of(machine, "hbm.bandwidth"));
    assert_null(source_of(machine, "hbm.size")); /* the same path, said otherwise */
    assert_string_equal(source_of(machine, "memory.hbm.size"), "a guess");
    assert_non_null(source_of(machine, "hbm.latency"));
    ll_machine_free(machine);
}

static void a_complaint_points_at_the_file_that_the_value_stands_in(void **state)
{
    struct ll_diags diags = {0};
    (void)state;
    assert_null(ll_toy_parse("inherits: tpu_v2_core\n"
                             "memory: [{name: hbm, size: 1KiB}]\n"
                             "units: [{name: mxu, lanes: 3}]\n",
                             NULL, 0, &diags));
    assert_int_equal(diags.count, 2);
    assert_string_equal(diags.kept[0].place.file, "toy.yaml");
    assert_int_equal(diags.kept[0].place.line, 2);
    assert_int_equal(diags.kept[0].place.column, 28);
    assert_string_equal(diags.kept[1].message,
                        "no key `lanes` in this systolic unit; it belongs in a vector unit");
    ll_diags_release(&diags);
    diags = (struct ll_diags){0};
    assert_null(ll_toy_parse("inherits: tpu_v2_core\n"
                             "memory: [{name: vmem, size: 1TiB}]\n",
                             NULL, 0, &diags));
    assert_string_equal(diags.kept[0].place.file,
                        "hwconfigs/devices/tpu_v2_core.yaml"); /* hbm is smaller than that */
    ll_diags_release(&diags);
}

static void a_value_of_another_type_replaces_the_bases(void **state)
{
    struct ll_diags diags = {0};
    (void)state;
    assert_null(ll_toy_parse("inherits: custom_example\nsoftware: [{name: x}]\n", NULL, 0, &diags));
    assert_int_equal(diags.count, 1);
    assert_int_equal(diags.kept[0].place.line, 2);
    ll_diags_release(&diags);
}

/* Writes FOLDER/NUMBER.yaml, which inherits the next one; the last inherits nothing. */
static void write_chain(const char *folder, int length, char *path, size_t room)
{
    for (int i = length; i-- > 0;) {
        snprintf(path, room, "%s/%d.yaml", folder, i);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        if (i + 1 < length)
            fprintf(file, "inherits: %d.yaml\n", i + 1);
        else
            fputs(LL_TOY_MACHINE, file);
        fclose(file);
    }
}

static void a_chain_of_eight_files_is_long_enough(void **state)
{
    char folder[] = "/tmp/leadline_XXXXXX", path[64];
    struct ll_diags diags = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    write_chain(folder, 8, path, sizeof path);
    struct ll_machine *machine = ll_machine_read(path, NULL, NULL, 0, &diags);
    assert_non_null(machine);
    ll_machine_free(machine);
    write_chain(folder, 9, path, sizeof path);
    assert_null(ll_machine_read(path, NULL, NULL, 0, &diags));
    assert_string_equal(diags.kept[0].message, "more than 8 files inherit one another");
    ll_diags_release(&diags);
    for (int i = 0; i < 9; i++) {
        snprintf(path, sizeof path, "%s/%d.yaml", folder, i);
        unlink(path);
    }
    rmdir(folder);
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s.yaml", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void of_several_bases_the_later_wins_and_the_own_values_over_all(void **state)
{
    char folder[] = "/tmp/leadline_XXXXXX", path[64];
    static const char *const names[] = {"hardware", "stack", "own"};
    struct ll_diags diags = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    write_text(folder, "hardware",
               LL_TOY_MACHINE "software: {op_overhead: 1us}\n"
                              "sources: {software.op_overhead: old, clock: kept}\n");
    write_text(folder, "stack",
               "software: {op_overhead: 2us, grain: 7}\nsources: {software.op_overhead: new}\n");
    write_text(folder, "own", "inherits: [hardware, stack]\nsoftware: {grain: 8}\n");
    snprintf(path, sizeof path, "%s/own.yaml", folder);
    struct ll_machine *machine = ll_machine_read(path, NULL, NULL, 0, &diags);
    assert_non_null(machine);
    assert_true(machine->software.op_overhead_s == 2e-6);
    assert_true(machine->software.grain == 8);
    assert_string_equal(source_of(machine, "software.op_overhead"), "new");
    assert_string_equal(source_of(machine, "clock"), "kept");
    ll_machine_free(machine);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s.yaml", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

/* Each of a chain of files inherits the next one nine times. */
static void files_are_not_read_without_end(void **state)
{
    char folder[] = "/tmp/leadline_XXXXXX", path[64];
    struct ll_diags diags = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    write_text(folder, "a", "inherits: [b, b, b, b, b, b, b, b, b]\n");
    write_text(folder, "b", "inherits: [c, c, c, c, c, c, c, c, c]\n");
    write_text(folder, "c", LL_TOY_MACHINE);
    snprintf(path, sizeof path, "%s/a.yaml", folder);
    assert_null(ll_machine_read(path, NULL, NULL, 0, &diags));
    assert_string_equal(diags.kept[0].message, "more than 64 files are inherited");
    ll_diags_release(&diags);
    for (const char *name = "abc"; *name; name++) {
        snprintf(path, sizeof path, "%s/%c.yaml", folder, *name);
        unlink(path);
    }
    rmdir(folder);
}

static void only_a_file_or_stem_can_be_inherited(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"inherits: []\n", "`inherits`: expected a file or the name of a machine, or a list of them"},
        {"inherits: [[a]]\n", "`inherits`: expected a file or the name of a machine, or a list of them"},
        {"inherits:\n", "`inherits:`: expected a file or the name of a machine, or a list of them"},
        {"inherits: [tpu_v2_core, tpu_v2_cor]\n",
         "no file and no known machine `tpu_v2_cor`; did you mean `tpu_v2_core`?"},
        {"inherits: tpu_v2_cor\n", "no file and no known machine `tpu_v2_cor`; did you mean `tpu_v2_core`?"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ll_diags diags = {0};
        assert_null(ll_toy_parse(cases[i].text, NULL, 0, &diags));
        assert_int_equal(diags.count, 1);
        assert_string_equal(diags.kept[0].message, cases[i].message);
        ll_diags_release(&diags);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_values_win_and_the_rest_is_the_bases),
        cmocka_unit_test(items_of_a_new_name_come_after_the_bases),
        cmocka_unit_test(a_new_item_stands_before_the_one_that_follows_it),
        cmocka_unit_test(an_item_stands_once_in_a_list_that_is_laid_over),
        cmocka_unit_test(lists_without_names_are_replaced),
        cmocka_unit_test(what_data_calls_the_base_is_not_inherited),
        cmocka_unit_test(a_source_goes_with_the_value_it_speaks_of),
        cmocka_unit_test(a_complaint_points_at_the_file_that_the_value_stands_in),
        cmocka_unit_test(a_value_of_another_type_replaces_the_bases),
        cmocka_unit_test(a_chain_of_eight_files_is_long_enough),
        cmocka_unit_test(of_several_bases_the_later_wins_and_the_own_values_over_all),
        cmocka_unit_test(files_are_not_read_without_end),
        cmocka_unit_test(only_a_file_or_stem_can_be_inherited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
