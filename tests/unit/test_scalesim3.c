/* SPDX-License-Identifier: Apache-2.0 */
/* Version 3 of SCALE-Sim: every field of the runs in tests/peers/scalesim3_reference.csv. */
#include "check.h"
#include "scalesim_rows.h"

#include "sim/scalesim/scalesim.h"

#include <math.h>

static bool says(const struct scalesim_row *row, const char *name, const char *text)
{
    return strcmp(row_text(row, name), text) == 0;
}

static struct ll_scalesim_config config_of(const struct scalesim_row *row, struct ll_scalesim_layout *layout)
{
    static const char *const dataflows[] = {"os", "ws", "is"}, *const storages[] = {"csr", "csc",
                                                                                    "ellpack_block"};
    struct ll_scalesim_config config = {
        .rows = row_count(row, "rows"),
        .columns = row_count(row, "cols"),
        .buffer_kB = {row_count(row, "ifmap_kb"), row_count(row, "filter_kb"), row_count(row, "ofmap_kb")},
        .first_address = {0, 10000000, 20000000},
        .user_bandwidth = says(row, "mode", "USER"),
        .words_per_cycle = row_count(row, "bandwidth"),
        .version3 = true,
        .read_words = {row_count(row, "ifmap_bank_bw"), row_count(row, "filter_bank_bw")},
        .banks = {row_count(row, "ifmap_banks"), row_count(row, "filter_banks")},
        .ports = {row_count(row, "ifmap_ports"), row_count(row, "filter_ports")},
        .own_layout = {says(row, "ifmap_layout", "True"), says(row, "filter_layout", "True")},
        .layout = layout,
        .sparse = says(row, "sparsity", "true"),
        .row_wise = says(row, "row_wise", "true"),
        .block = row_count(row, "block"),
        .seed = 40,
    };
    while (strcmp(dataflows[config.dataflow], row_text(row, "dataflow")) != 0)
        config.dataflow++;
    while (strcmp(storages[config.storage], row_text(row, "sparse_rep")) != 0)
        config.storage++;
    return config;
}

/* "conv H W FH FW C K S" or "gemm M N K"; "N:M". */
static struct ll_scalesim_layer layer_of(const struct scalesim_row *row)
{
    struct ll_scalesim_layer layer = {"", 1, 1, 1, 1, 1, 1, 1, 1, 1, .line = 0};
    const char *text = row_text(row, "layer");
    unsigned long v[7] = {0};
    unsigned kept, of;
    int read =
        sscanf(text + 5, "%lu %lu %lu %lu %lu %lu %lu", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6]);
    if (strncmp(text, "gemm", 4) == 0) {
        assert_int_equal(read, 3);
        layer.in_h = v[0];
        layer.filters = v[1];
        layer.in_w = layer.filter_w = v[2];
    } else {
        assert_int_equal(read, 7);
        layer.in_h = v[0];
        layer.in_w = v[1];
        layer.filter_h = v[2];
        layer.filter_w = v[3];
        layer.channels = v[4];
        layer.filters = v[5];
        layer.stride_h = layer.stride_w = v[6];
    }
    assert_int_equal(sscanf(row_text(row, "ratio"), "%u:%u", &kept, &of), 2);
    if (kept < of)
        layer.zeros = (struct ll_pattern){.kept = kept, .of = of};
    return layer;
}

/* The twenty numbers behind a layout's name. */
static struct ll_scalesim_layout layout_of(const struct scalesim_row *row)
{
    struct ll_scalesim_layout layout = {{1, 1, 1}, {1, 1, 1, 1}, {0}, {0}, {0}, {0}};
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_str text = {0};
    ll_str_add(&text, "head\nname");
    for (const char *at = row_text(row, "layout_row"); *at; at += strcspn(at, " "), at += *at == ' ')
        ll_str_addf(&text, ",%ld", strtol(at, NULL, 10));
    ll_str_add(&text, ",\n");
    if (*row_text(row, "layout_row")) {
        const struct ll_scalesim_layout *read =
            ll_scalesim_read_layout(text.text, text.length, "t", &arena, &diags);
        assert_non_null(read);
        layout = *read;
    }
    ll_str_release(&text);
    ll_arena_release(&arena);
    return layout;
}

/* The largest relative difference of a field so far, of this row. */
static double compare(const struct scalesim_row *row, const char *name, double value, bool print)
{
    const char *text = row_text(row, name);
    if (!*text)
        return 0;
    double expected = strtod(text, NULL), error = fabs(value - expected) / fmax(fabs(expected), 1e-9);
    if (error > 1e-9 && print)
        print_error("case %s (%s), %s: %.12g, expected %s\n", row_text(row, "case"), row_text(row, "cat"),
                    name, value, text);
    return error > 1e-9 ? error : 0;
}

static double compare_ports(const struct scalesim_row *row, const struct ll_scalesim_port *ports,
                            const char *side, bool print)
{
    static const char *const operands[] = {"if", "f", "o"};
    double worst = 0;
    char name[32];
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++) {
        snprintf(name, sizeof name, "%s_%s_start", side, operands[i]);
        worst = fmax(worst, compare(row, name, (double)ports[i].start_cycle, print));
        snprintf(name, sizeof name, "%s_%s_stop", side, operands[i]);
        worst = fmax(worst, compare(row, name, (double)ports[i].stop_cycle, print));
        snprintf(name, sizeof name, "%s_%s_%s", side, operands[i], i == 2 ? "writes" : "reads");
        worst = fmax(worst, compare(row, name, (double)ports[i].words, print));
    }
    return worst;
}

/* Field by field; the largest relative difference. */
static double differ(const struct scalesim_row *row, const struct ll_scalesim_result *r, bool print)
{
    double worst = compare_ports(row, r->sram, "sram", print);
    worst = fmax(worst, compare_ports(row, r->dram, "dram", print));
    worst = fmax(worst, compare(row, "total_prefetch", (double)r->prefetch_cycles, print));
    worst = fmax(worst, compare(row, "total", (double)r->total_cycles, print));
    worst = fmax(worst, compare(row, "stall", (double)r->stall_cycles, print));
    worst = fmax(worst, compare(row, "overall_util", r->overall_util_pct, print));
    worst = fmax(worst, compare(row, "mapping_eff", r->mapping_pct, print));
    worst = fmax(worst, compare(row, "compute_util", r->compute_util_pct, print));
    worst = fmax(worst, compare(row, "filter_orig", (double)r->filter_words, print));
    worst = fmax(worst, compare(row, "filter_new", r->stored_words, print));
    worst = fmax(worst, compare(row, "metadata", r->metadata_words, print));
    return fmax(worst, compare(row, "avg_meta_bw", r->metadata_bandwidth, print));
}

static void every_field_of_every_reference_row_is_reproduced(void **state)
{
    (void)state;
    struct scalesim_row *row = calloc(1, sizeof *row);
    FILE *file = fopen("tests/peers/scalesim3_reference.csv", "r");
    int rows = 0, differing = 0;
    assert_non_null(row);
    assert_non_null(file);
    for (; next_row(file, row); rows++) {
        struct ll_scalesim_layout layout = layout_of(row);
        struct ll_scalesim_config config = config_of(row, &layout);
        struct ll_scalesim_layer layer = layer_of(row);
        struct ll_scalesim_result result;
        assert_null(ll_scalesim_obstacle(&config, &layer));
        assert_true(ll_scalesim_run(&config, &layer, NULL, &result));
        differing += differ(row, &result, true) > 0;
    }
    fclose(file);
    free(row);
    assert_int_equal(rows, 152);
    assert_int_equal(differing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_of_every_reference_row_is_reproduced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
