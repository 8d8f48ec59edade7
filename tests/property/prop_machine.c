/* SPDX-License-Identifier: Apache-2.0 */
/* Laws of machine files, on random ones. They are made from the rows of the schema, so that a new key is
 * tried the day it is added: every row gets a value within its bounds, or is left out where it may be. */
#include "check.h"

#include "random.h"
#include "sim/machine/path.h"
#include "toy_machine.h"

#include <float.h>
#include <inttypes.h>

enum { MACHINES = 200 / ONE_IN };

/* A random file under construction. */
struct writer {
    struct ll_str out;
    uint64_t random;
    uint64_t item, item_count; /* in the list being written */
    const char *list;
    uint64_t level_count;
    bool dram; /* of the level being written is one */
    int width; /* how widely it is shared, 2 for the device; all further out are at least that */
};

static double random_within(struct writer *w, double min, double max)
{
    double low = fmax(min, max * 1e-6), share = (double)ll_random_below(&w->random, 1000) / 1000;
    if (min == 0 && ll_random_below(&w->random, 4) == 0)
        return 0;
    return low * pow(max / low, share);
}

static void write_table(struct writer *w, const struct ll_field_table *table, const char *skip);

typedef void write_value(struct writer *w, const struct ll_field *field);

static void write_NAME(struct writer *w, const struct ll_field *field)
{
    (void)field;
    ll_str_addf(&w->out, "%s-%" PRIu64, w->list, w->item);
}

static void write_TEXT(struct writer *w, const struct ll_field *field)
{
    if (field->choices)
        ll_str_add(&w->out, field->choices[0]);
    else
        ll_str_addf(&w->out, "\"a \\\"text\\\": %" PRIu64 ", \\u00e9\\n\"", ll_random_below(&w->random, 100));
}

static size_t choice_count(const struct ll_field *field)
{
    size_t count = 0;
    while (field->choices[count])
        count++;
    return count;
}

/* Scopes go from unit to device and not back; the outermost is of the device. */
/* Clusters are of 1, 2, 4, ... units, each of whole clusters further in. */
static void write_scope(struct writer *w)
{
    if (w->item + 1 == w->item_count)
        w->width = 2;
    ll_str_add(&w->out, w->width == 2 ? "device" : w->width == 1 ? "cluster" : "unit");
    if (w->width == 1)
        ll_str_addf(&w->out, ", share: %" PRIu64, UINT64_C(1) << w->item);
}

static void write_CHOICE(struct writer *w, const struct ll_field *field)
{
    size_t chosen = ll_random_below(&w->random, choice_count(field));
    if (!strcmp(field->key, "scope")) {
        w->width += (int)ll_random_below(&w->random, 3u - (unsigned)w->width);
        write_scope(w);
        return;
    }
    if (!strcmp(field->key, "topology")) /* others need a shape or edges */
        chosen = ll_random_below(&w->random, LL_TOPOLOGY_MESH);
    if (!strcmp(field->key, "algorithm")) /* it serves every collective */
        chosen = LL_ALGORITHM_COUNT;
    if (!strcmp(field->key, "collectives")) /* the last needs what is expected */
        chosen = ll_random_below(&w->random, LL_ALGORITHM_TUNED);
    if (!strcmp(field->key, "objective")) /* others need figures of energy, which may be missing */
        chosen = LL_OBJECTIVE_TIME;
    ll_str_add(&w->out, field->choices[chosen]);
}

static void write_BOOL(struct writer *w, const struct ll_field *field)
{
    (void)field;
    ll_str_add(&w->out, ll_random_below(&w->random, 2) ? "true" : "false");
}

static void write_WHOLE(struct writer *w, const struct ll_field *field)
{
    uint64_t span = (uint64_t)(field->max - field->min) + 1;
    ll_str_addf(&w->out, "%" PRIu64, (uint64_t)field->min + ll_random_below(&w->random, span));
}

/* Levels grow outward; a size that belongs to none is of any kind. */
static void write_SIZE(struct writer *w, const struct ll_field *field)
{
    static const char *const units[] = {"kB", "kB", "kB", "MB", "MiB", "MiB", "MiB", "GB"}; /* by level */
    (void)field;
    ll_str_addf(&w->out, "%" PRIu64 "%s", (w->item + 1) * 1000 + ll_random_below(&w->random, 1000),
                units[ll_min(w->item, sizeof units / sizeof *units - 1)]);
}

static void write_QUANTITY(struct writer *w, const struct ll_field *field)
{
    bool per_cycle = field->dimension == LL_DIMENSION_BANDWIDTH && ll_random_below(&w->random, 4) == 0;
    if (per_cycle)
        ll_str_addf(&w->out, "%" PRIu64 "B/cycle", 1 + ll_random_below(&w->random, 999));
    else
        ll_str_add(&w->out,
                   ll_quantity_text(random_within(w, field->min, field->max), field->dimension).text);
}

static void write_NUMBER(struct writer *w, const struct ll_field *field)
{
    double value = random_within(w, field->min, field->max);
    ll_str_add(&w->out, ll_number_in(value, field->unit ? field->unit : "").text);
}

static void write_DTYPES(struct writer *w, const struct ll_field *field)
{
    uint64_t dtypes = ll_random(&w->random) | 1;
    for (int i = 0; i < LL_DTYPE_COUNT; i++)
        if (dtypes >> i & 1) {
            ll_str_addf(&w->out, "%s%s: ", i ? ", " : "{", ll_dtype_name((enum ll_dtype)i));
            write_NUMBER(w, field);
        }
    ll_str_add(&w->out, "}");
}

/* Tiles of experts are powers of two; limits of collectives are for four numbers of devices. */
static void write_NUMBERS(struct writer *w, const struct ll_field *field)
{
    enum { LIMITS = 4 };
    bool limits = !strcmp(field->key, "limits_KiB");
    size_t count = 1 + ll_random_below(&w->random, limits ? LIMITS : LL_MAX_NUMBERS);
    ll_str_add(&w->out, "[");
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(field->key, "tiles"))
            ll_str_addf(&w->out, "%u", LL_LEAST_EXPERT_TILE << ll_random_below(&w->random, LL_EXPERT_TILES));
        else
            write_NUMBER(w, field);
        ll_str_add(&w->out, i + 1 < count ? ", " : "]");
    }
}

static void write_TILES(struct writer *w, const struct ll_field *field)
{
    uint64_t count = 1 + ll_random_below(&w->random, LL_MAX_TILES);
    uint64_t rows = 0; /* more from tile to tile, as some lists want it */
    (void)field;
    for (uint64_t i = 0; i < count; i++) {
        rows += 1 + ll_random_below(&w->random, 65536 / LL_MAX_TILES);
        ll_str_addf(&w->out, "%s%" PRIu64 "x%" PRIu64 "x%" PRIu64, i ? ", " : "[", rows,
                    1 + ll_random_below(&w->random, 256), UINT64_C(1) + i);
    }
    ll_str_add(&w->out, "]");
}

/* Products only, which every model computes; the last unit lists nothing and takes what is left. */
static void write_RUNS(struct writer *w, const struct ll_field *field)
{
    static const char *const lists[] = {"[]", "[matrix, conv]", "[matmul]", "[conv2d_data_grad, matrix]",
                                        "[conv]"};
    (void)field;
    ll_str_add(&w->out, lists[ll_random_below(&w->random, sizeof lists / sizeof *lists)]);
}

/* The outermost level holds everything. */
static void write_OPERANDS(struct writer *w, const struct ll_field *field)
{
    static const char *const lists[] = {"[weight]", "[a, c]", "[input, b]", "[input, weight, output]"};
    bool outermost = w->item + 1 == w->item_count;
    (void)field;
    ll_str_add(&w->out, lists[outermost ? 3 : ll_random_below(&w->random, sizeof lists / sizeof *lists)]);
}

static void write_TEXTS(struct writer *w, const struct ll_field *field)
{
    (void)field;
    ll_str_add(&w->out, "[one, \"two: 2\", 'three']");
}

static void write_RESIDUALS(struct writer *w, const struct ll_field *field)
{
    uint64_t count = 1 + ll_random_below(&w->random, 3);
    (void)field;
    for (uint64_t i = 0; i < count; i++)
        ll_str_addf(&w->out, "%s%" PRIu64 "x%" PRIu64 "x%" PRIu64 "=%.17g/%.17g", i ? ", " : "[",
                    1 + ll_random_below(&w->random, UINT64_C(1) << 50), 1 + ll_random_below(&w->random, 256),
                    UINT64_C(1) + i, (double)(1 + ll_random_below(&w->random, 4000)) / 1000,
                    (double)(1 + ll_random_below(&w->random, 1000000)));
    ll_str_add(&w->out, "]");
}

static void write_SOURCES(struct writer *w, const struct ll_field *field)
{
    (void)field;
    ll_str_add(&w->out, "{clock: a guess, memory.memory-0.size: \"a\\tguess\", units-0.count: 'it''s one'}");
}

static void write_OBJECT(struct writer *w, const struct ll_field *field)
{
    ll_str_add(&w->out, "{");
    write_table(w, field->table, NULL);
    ll_str_add(&w->out, "}");
}

/* The last unit is a vector unit that takes everything. */
static void write_unit(struct writer *w, const struct ll_field_table *table)
{
    bool last = w->item + 1 == w->item_count;
    unsigned model = last ? LL_UNIT_VECTOR : (unsigned)ll_random_below(&w->random, LL_UNIT_MODEL_COUNT);
    ll_str_addf(&w->out, "model: %s, ", ll_field_table_find(table, "model")->choices[model]);
    write_table(w, table, last ? "runs" : "");
    write_table(w, table->variants[model], NULL);
}

static void write_LIST(struct writer *w, const struct ll_field *field)
{
    uint64_t least = field->required ? 1 : 0, item = w->item, item_count = w->item_count;
    const char *list = w->list;
    w->item_count = least + ll_random_below(&w->random, (uint64_t)field->max + 1 - least);
    w->list = field->key;
    if (!strcmp(w->list, "memory"))
        w->level_count = w->item_count;
    w->width = 0;
    ll_str_add(&w->out, "[");
    for (w->item = 0; w->item < w->item_count; w->item++) {
        ll_str_add(&w->out, "{");
        if (field->table->variants)
            write_unit(w, field->table);
        else
            write_table(w, field->table, NULL);
        ll_str_add(&w->out, "}, ");
    }
    ll_str_add(&w->out, "]");
    w->list = list;
    w->item = item;
    w->item_count = item_count;
}

/* One key a level, for those that there are: they were written before. */
static void write_levels(struct writer *w, const struct ll_field *field)
{
    for (uint64_t i = 0; i < w->level_count; i++) {
        ll_str_addf(&w->out, "memory-%" PRIu64 "%s: ", i, strchr(field->key, '>') + 1);
        write_NUMBER(w, field);
        ll_str_add(&w->out, ", ");
    }
}

/* At least one of the choices. */
static void write_WORDS(struct writer *w, const struct ll_field *field)
{
    size_t count = 0;
    while (field->choices[count])
        count++;
    size_t always = ll_random_below(&w->random, count);
    ll_str_add(&w->out, "[");
    for (size_t i = 0; i < count; i++)
        if (i == always || ll_random_below(&w->random, 2))
            ll_str_addf(&w->out, "%s, ", field->choices[i]);
    ll_str_add(&w->out, "]");
}

/* Nothing side by side, for which any number of elements suffices (tests/unit/test_machine_errors.c has
 * others). */
static void write_UNROLLS(struct writer *w, const struct ll_field *field)
{
    uint64_t ways = 1 + ll_random_below(&w->random, LL_MAX_UNROLLS);
    (void)field;
    ll_str_add(&w->out, "[");
    for (uint64_t i = 0; i < ways; i++)
        ll_str_addf(&w->out, "OY1 / K%" PRIu64 " FX%" PRIu64 ", ", 1 + ll_random_below(&w->random, 65536),
                    1 + ll_random_below(&w->random, 65536));
    ll_str_add(&w->out, "]");
}

/* Sides of an array or of a network. */
static void write_EXTENTS(struct writer *w, const struct ll_field *field)
{
    (void)field;
    ll_str_addf(&w->out, "%" PRIu64 "x%" PRIu64, 1 + ll_random_below(&w->random, 64),
                1 + ll_random_below(&w->random, 64));
}

/* Any port of any width. */
static void write_PORTS(struct writer *w, const struct ll_field *field)
{
    uint64_t ports = 1 + ll_random_below(&w->random, LL_ARRAY_PORTS);
    (void)field;
    ll_str_add(&w->out, "[");
    for (uint64_t i = 0; i < ports; i++)
        ll_str_addf(&w->out, "%" PRIu64 " %s, ", 1 + ll_random_below(&w->random, 4096),
                    ll_random_below(&w->random, 2) ? "input.read weight.fill" : "output.update output.drain");
    ll_str_add(&w->out, "]");
}

static write_value *const writers[LL_TYPE_COUNT] = {
    [LL_TYPE_TEXT] = write_TEXT,         [LL_TYPE_NAME] = write_NAME,
    [LL_TYPE_CHOICE] = write_CHOICE,     [LL_TYPE_BOOL] = write_BOOL,
    [LL_TYPE_WHOLE] = write_WHOLE,       [LL_TYPE_SIZE] = write_SIZE,
    [LL_TYPE_QUANTITY] = write_QUANTITY, [LL_TYPE_NUMBER] = write_NUMBER,
    [LL_TYPE_DTYPES] = write_DTYPES,     [LL_TYPE_TILES] = write_TILES,
    [LL_TYPE_RUNS] = write_RUNS,         [LL_TYPE_TEXTS] = write_TEXTS,
    [LL_TYPE_OPERANDS] = write_OPERANDS, [LL_TYPE_SOURCES] = write_SOURCES,
    [LL_TYPE_OBJECT] = write_OBJECT,     [LL_TYPE_RESIDUALS] = write_RESIDUALS,
    [LL_TYPE_LIST] = write_LIST,         [LL_TYPE_NUMBERS] = write_NUMBERS,
    [LL_TYPE_UNROLLS] = write_UNROLLS,   [LL_TYPE_WORDS] = write_WORDS,
    [LL_TYPE_PORTS] = write_PORTS,       [LL_TYPE_EXTENTS] = write_EXTENTS,
};

/* Whether this key is written now. The machine's clock, all scopes, tiles and chunks are: others lean on
 * them. */
static bool wanted(struct writer *w, const struct ll_field *field, const char *skip)
{
    /* A cache's keys must fit the level's size (tests/property/prop_cache.c), nodes and a cluster's share
     * its scope, a shape and edges the number of devices, what adds up a switch
     * (tests/property/prop_net.c), a limit of power what flows all the time (tests/unit/test_power.c);
     * what units draw goes with no ports (tests/unit/test_machine_errors.c), tiles and their loops with a
     * search (tests/unit/test_machine.c), tiles for a narrow n with that n, reach with a rate, cores and
     * what joins them the names of others (tests/errors/machines/core*.yaml), wafers hold the area's dies
     * (tests/unit/test_price.c), converters the node (tests/unit/test_components.c), weights that stay a
     * level's place (tests/unit/test_residency_hand.c), and a fat tree and levels of groups have keys of their
     * own (tests/unit/test_net.c). */
    static const char *const fitted[] = {"cache",
                                         "share",
                                         "shape",
                                         "edges",
                                         "limit_w",
                                         "power_per_clock",
                                         "feed",
                                         "split_k_reduce_cycles",
                                         "unit_bandwidth",
                                         "in_network",
                                         "in_network_chunk",
                                         "links",
                                         "group_port",
                                         "oversubscription",
                                         "numa",
                                         "tile",
                                         "loops",
                                         "cores",
                                         "core_links",
                                         "narrow_n",
                                         "narrow_tiles",
                                         "strided_reach",
                                         "strided_drift",
                                         "adc_bits",
                                         "keeps_weights",
                                         "price"};
    for (size_t i = 0; i < sizeof fitted / sizeof *fitted; i++)
        if (!strcmp(field->key, fitted[i]))
            return false;
    if (!strcmp(field->key, "dram"))
        return w->dram = ll_random_below(&w->random, 2);
    if (!field->required && (!strcmp(field->key, "channels") || !strcmp(field->key, "rest")) && !w->dram)
        return false;
    if (!writers[field->type] || (skip && (!strcmp(field->key, skip) || !strcmp(field->key, "model"))))
        return false;
    return field->required || !strcmp(field->key, "clock") || !strcmp(field->key, "scope") ||
           !strcmp(field->key, "bandwidth") || !strcmp(field->key, "conv_tiles") ||
           !strcmp(field->key, "tiles") || !strcmp(field->key, "chunk") || ll_random_below(&w->random, 4) > 0;
}

static void write_key(struct writer *w, const struct ll_field *field)
{
    ll_str_addf(&w->out, "%s: ", field->key);
    writers[field->type](w, field);
    ll_str_add(&w->out, ", ");
}

static void write_table(struct writer *w, const struct ll_field_table *table, const char *skip)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->fields[i].type == LL_TYPE_LEVELS && !skip)
            write_levels(w, &table->fields[i]);
        else if (wanted(w, &table->fields[i], skip))
            write_key(w, &table->fields[i]);
    }
}

static struct ll_machine *random_machine(struct writer *w)
{
    w->out.length = 0;
    ll_str_add(&w->out, "{");
    write_table(w, &ll_machine_table, NULL);
    ll_str_add(&w->out, "}\n");
    struct ll_machine *machine = ll_toy_machine(w->out.text);
    if (!machine)
        fail_msg("%s", w->out.text);
    return machine;
}

static char *dumped(const struct ll_machine *machine, bool as_json)
{
    struct ll_str text = {0};
    struct ll_json json = {.out = &text};
    if (as_json)
        ll_machine_json(machine, &json);
    else
        ll_machine_yaml(machine, &text);
    assert_false(text.failed);
    return text.text;
}

static void assert_same(const struct ll_machine *a, const struct ll_machine *b)
{
    char *json_a = dumped(a, true), *json_b = dumped(b, true);
    assert_string_equal(json_a, json_b);
    assert_int_equal(a->config_hash, b->config_hash);
    assert_memory_equal(&a->energy, &b->energy, sizeof a->energy);
    assert_memory_equal(&a->area, &b->area, sizeof a->area);
    for (uint64_t i = 0; i < a->unit_count; i++)
        assert_memory_equal(a->units[i].runs, b->units[i].runs, sizeof a->units[i].runs);
    free(json_a);
    free(json_b);
}

static void a_machine_that_is_written_reads_back_equal(void **state)
{
    struct writer w = {.random = ll_seed(4)};
    (void)state;
    for (int i = 0; i < MACHINES; i++) {
        struct ll_machine *machine = random_machine(&w);
        char *yaml = dumped(machine, false);
        struct ll_machine *again = ll_toy_machine(yaml);
        if (!again)
            fail_msg("%s", yaml);
        assert_same(machine, again);
        free(yaml);
        ll_machine_free(machine);
        ll_machine_free(again);
    }
    ll_str_release(&w.out);
}

static void no_knob_leaves_a_machine_as_it_was(void **state)
{
    struct writer w = {.random = ll_seed(5)};
    (void)state;
    for (int i = 0; i < MACHINES / 10; i++) {
        struct ll_machine *machine = random_machine(&w);
        struct ll_arena arena = {0};
        size_t count;
        const struct ll_knob *knobs = ll_machine_knobs(machine, &arena, &count);
        assert_non_null(knobs);
        for (size_t k = 0; k < count; k++) {
            struct ll_machine *turned = ll_machine_turn(machine, k);
            char *before = dumped(machine, true), *after = dumped(turned, true);
            assert_string_not_equal(before, after);
            free(before);
            free(after);
            ll_machine_free(turned);
        }
        ll_arena_release(&arena);
        ll_machine_free(machine);
    }
    ll_str_release(&w.out);
}

static void every_machine_has_a_rate_for_what_it_computes(void **state)
{
    struct writer w = {.random = ll_seed(6)};
    (void)state;
    for (int i = 0; i < MACHINES / 4; i++) {
        struct ll_machine *machine = random_machine(&w);
        double best = 0;
        for (int d = 0; d < LL_DTYPE_COUNT; d++) {
            double peak = ll_machine_peak_flops(machine, (enum ll_dtype)d);
            assert_true(isfinite(peak) && peak >= 0);
            best = fmax(best, peak);
        }
        assert_true(best > 0 && ll_machine_memory_Bps(machine) > 0);
        ll_machine_free(machine);
    }
    ll_str_release(&w.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_that_is_written_reads_back_equal),
        cmocka_unit_test(no_knob_leaves_a_machine_as_it_was),
        cmocka_unit_test(every_machine_has_a_rate_for_what_it_computes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
