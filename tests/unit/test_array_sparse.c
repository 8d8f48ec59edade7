/* SPDX-License-Identifier: Apache-2.0 */
/* Zeros on arrays, counted as Sparseloop counts them in the reference outputs of its artifact
 * (tests/peers/sparseloop_cases.csv, sparseloop_levels.csv). Its designs stand here by hand, with what its
 * descriptions say of formats, savings and bandwidth. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/array/notation.h"
#include "sim/array/sparse.h"

enum { FIELDS = 24 };
static const enum ll_operand A = LL_OPERAND_A, B = LL_OPERAND_B, C = LL_OPERAND_C;

/* --- rows of a file, with fields in quotes --- */

static int split(char *line, char **fields)
{
    int count = 0;
    for (char *at = line; count < FIELDS; at++) {
        bool quoted = *at == '"';
        char *to = at += quoted;
        fields[count++] = at;
        for (; *at && *at != '\n' && (quoted ? *at != '"' || at[1] == '"' : *at != ','); at++) {
            at += quoted && *at == '"';
            *to++ = *at;
        }
        at += quoted && *at == '"';
        bool last = *at != ',';
        *to = '\0';
        if (last)
            break;
    }
    return count;
}

/* --- designs --- */

struct design {
    struct ll_array array;
    struct ll_array_sparse sparse;
};

static void add_store(struct design *d, const char *name, const char *holds, uint32_t serves)
{
    struct ll_array_store *s = &d->array.store[d->array.stores];
    *s = (struct ll_array_store){.name = name,
                                 .size_bits = INFINITY,
                                 .serves = serves,
                                 .instances = 1,
                                 .width_bits = 8,
                                 .min_bits = 8,
                                 .coalesces = true,
                                 .read_j = 1,
                                 .write_j = 1,
                                 .update_j = 1};
    s->holds[A] = strchr(holds, 'A') != NULL;
    s->holds[B] = strchr(holds, 'B') != NULL;
    s->holds[C] = strchr(holds, 'C') != NULL;
    d->sparse.word_bits[d->array.stores++] = 8;
}

static void save(struct design *d, int store, enum ll_operand target, uint32_t on, bool skips, uint64_t width)
{
    d->sparse.saving[d->sparse.savings++] =
        (struct ll_array_saving){(uint8_t)store, target, on, skips, width};
}

static void compress(struct design *d, enum ll_operand o, int store, enum ll_array_places places, double bits)
{
    d->sparse.format[o][store] = (struct ll_array_format){places, bits, 1};
}

/* One element of Eyeriss v2: weights are fetched for inputs that are not zero. */
static void eyeriss_v2_element(struct design *d)
{
    add_store(d, "reg", "A", 0);
    add_store(d, "psum_spad", "C", 0);
    add_store(d, "weight_spad", "B", 0);
    add_store(d, "iact_spad", "A", 0);
    add_store(d, "BackingStorage", "ABC", 0);
    compress(d, A, 3, LL_ARRAY_RUNS, 4);
    compress(d, A, 4, LL_ARRAY_RUNS, 4);
    compress(d, B, 2, LL_ARRAY_RUNS, 4);
    compress(d, B, 4, LL_ARRAY_RUNS, 4);
    save(d, 2, B, 1u << A, true, 0);
    save(d, 1, C, 1u << A | 1u << B, true, 0);
    d->sparse.skipped_by_macs = 1u << A | 1u << B;
}

/* One multiplier; each side is read where the other is not zero. The memory reads two words a cycle, places
 * among them, sums are written one a cycle. */
static void formats(struct design *d, bool coordinates)
{
    add_store(d, "Reg", "C", 0);
    add_store(d, "Buffer", "AB", 0);
    add_store(d, "BackingStorage", "ABC", 0);
    for (int s = 1; s <= 2; s++)
        for (enum ll_operand o = A; o <= B; o++)
            compress(d, o, s, coordinates ? LL_ARRAY_COORDINATES : LL_ARRAY_BITMASK, coordinates ? 14 : 0);
    save(d, 1, A, 1u << B, coordinates, 0);
    save(d, 1, B, 1u << A, coordinates, 0);
    save(d, 0, C, 1u << A | 1u << B, coordinates, 0);
    d->sparse.skipped_by_macs = 1u << A | 1u << B;
    d->sparse.reads[2] = 2;
    d->sparse.writes[0] = 1;
}

/* Eyeriss: 14 x 12 elements; run lengths in DRAM, of 5 bits and one for three; weights are not read for
 * inputs of zero, two a cycle at most. */
static void eyeriss(struct design *d, bool sparse)
{
    d->array.axes = 2;
    d->array.axis[0] = 14;
    d->array.axis[1] = 12;
    add_store(d, "psum_spad", "C", 0);
    add_store(d, "weights_spad", "B", 0);
    add_store(d, "ifmap_spad", "A", 0);
    add_store(d, "shared_glb", "AC", 3);
    add_store(d, "DRAM", "ABC", 3);
    d->sparse.reads[1] = 2;
    if (!sparse)
        return;
    compress(d, C, 4, LL_ARRAY_RUNS, 5 + 1. / 3);
    if (d->sparse.density[A].share > 0.99)
        return;
    compress(d, A, 4, LL_ARRAY_RUNS, 5 + 1. / 3);
    save(d, 1, B, 1u << A, false, 0);
    d->sparse.gated_by_macs = 1u << A;
    d->sparse.gated_saves_time = true;
}

/* Tensor cores, 1,024 multipliers in four groups behind a shared memory of 42 words a cycle. a are weights,
 * N of M zero; b activations. */
static void tensor_core(struct design *d, const char *name, uint64_t across)
{
    bool outer = strncmp(name, "DSTC", 4) == 0, dual = strstr(name, "dual") != NULL,
         flexible = strstr(name, "flexible") != NULL;
    const uint64_t axis[] = {1, 4, outer ? 16 : across, 16};
    d->array.axes = 4;
    memcpy(d->array.axis, axis, sizeof axis);
    add_store(d, "LRF", outer ? "AB" : "A", outer ? 12 : 0);
    add_store(d, "RF", "C", 12);
    add_store(d, "SMEM", "AB", 15);
    add_store(d, "DRAM", "ABC", 15);
    d->sparse.reads[2] = 42;
    double *weights = &d->sparse.density[A].share;
    d->sparse.density[A].even = !outer;
    if (!outer && !flexible)
        *weights = *weights > 0.5 ? 1 : 0.5;
    double places = *weights >= 0.5 ? 2 : 4;
    for (int s = 2; s <= 3; s++) {
        if (*weights < 1)
            compress(d, A, s, outer ? LL_ARRAY_BITMASK : LL_ARRAY_RUNS, places);
        if (outer || dual)
            compress(d, B, s, LL_ARRAY_BITMASK, 0);
    }
    if (!outer) {
        d->sparse.packed = 1u << A;
        return;
    }
    d->sparse.skipped_by_macs = 1u << A | 1u << B;
    d->sparse.reads[0] = 32;
    save(d, 1, C, 1u << A | 1u << B, true, 0);
    save(d, 0, A, 1u << B, true, 16);
    save(d, 0, B, 1u << A, true, 16);
    if (*weights < 1)
        compress(d, A, 0, LL_ARRAY_BITMASK, 0);
    compress(d, B, 0, LL_ARRAY_BITMASK, 0);
}

/* The number behind a key, or `otherwise`. */
static double number_behind(const char *text, const char *key, double otherwise)
{
    const char *at = strstr(text, key);
    return at ? strtod(at + strlen(key), NULL) : otherwise;
}

static double density_of(const char *problem, const char *operand)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", operand);
    const char *at = strstr(problem, key);
    if (!at)
        return 1;
    at += strlen(key);
    return *at == '{' ? number_behind(at, "\"density\":", 1) : strtod(at, NULL);
}

static void set_densities(struct design *d, const char *problem)
{
    static const char *const names[2][3] = {{"Inputs", "Weights", "Outputs"}, {"A", "B", "Z"}};
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
        double first = density_of(problem, names[0][o]), second = density_of(problem, names[1][o]);
        d->sparse.density[o] = (struct ll_array_density){fmin(first, second), false};
    }
    if (strstr(problem, "fixed-structured"))
        d->sparse.density[A].even = d->sparse.density[B].even = true;
    if (strstr(problem, "weight_density")) {
        d->sparse.density[A].share = number_behind(problem, "weight_density=", 1);
        d->sparse.density[B].share = number_behind(problem, "act_density=", 1);
    }
}

static bool design_of(const char *problem, const char *mapping, struct design *d)
{
    const char *name = problem + strlen("design=");
    *d = (struct design){.array = {.rules = ll_array_rules_timeloop, .mac_j = 1}};
    d->array.rules.latches_behind_network = false;
    set_densities(d, problem);
    if (strncmp(name, "EyerissV2", 9) == 0)
        eyeriss_v2_element(d);
    else if (strncmp(name, "bitmask", 7) == 0 || strncmp(name, "coordinate", 10) == 0)
        formats(d, *name == 'c');
    else if (strncmp(name, "dense", 5) == 0 || strncmp(name, "RLE", 3) == 0)
        eyeriss(d, *name == 'R');
    else
        tensor_core(d, name, (uint64_t)number_behind(mapping, "M16y K", 32));
    return true;
}

/* The loops' sizes alone, and E and F, which are rows and columns of outputs, in the letters of
 * convolutions. */
static void plain_problem(const char *problem, char out[static 512])
{
    size_t length = 0;
    for (const char *at = problem; *at; at += strcspn(at, " "), at += *at == ' ') {
        size_t word = strcspn(at, " "), equals = strcspn(at, "=");
        bool loop = (equals == 1 || (equals < word && strchr("HW", *at) != NULL)) && *at != 'd';
        if (!loop || length + word + 2 > 512)
            continue;
        memcpy(out + length, at, word);
        if (equals == 1)
            out[length] = *at == 'E' ? 'P' : *at == 'F' ? 'Q' : *at;
        out[length + word] = ' ';
        length += word + 1;
    }
    out[length] = '\0';
}

static void plain_mapping(char *mapping)
{
    for (char *at = mapping; *at; at++)
        if (at > mapping && at[-1] == ' ' && at[1] >= '0' && at[1] <= '9')
            *at = *at == 'E' ? 'P' : *at == 'F' ? 'Q' : *at;
}

/* Where the loops over K make more than K, zeros pad it: the runs count them. */
static void whole_k(const char *mapping, char loops[static 512])
{
    char *k = strstr(loops, " K=");
    unsigned long all = 1, of = k ? strtoul(k + 3, NULL, 10) : 0;
    for (const char *at = strstr(mapping, " K"); at; at = strstr(at + 1, " K"))
        all *= strtoul(at + 2, NULL, 10);
    if (k && all > of) {
        char rest[512];
        snprintf(rest, sizeof rest, "%s", k + 3 + strspn(k + 3, "0123456789"));
        snprintf(k, (size_t)(loops + 512 - k), " K=%lu%s", all, rest);
    }
}

struct evaluated {
    struct design design;
    struct ll_array_problem problem;
    struct ll_array_mapping mapping;
    struct ll_array_cost dense;
    struct ll_array_sparse_cost cost;
};

static void evaluate(const char *problem, char *mapping, struct evaluated *e)
{
    char loops[512];
    struct ll_str complaint = {0};
    assert_true(design_of(problem, mapping, &e->design));
    plain_problem(problem, loops);
    plain_mapping(mapping);
    whole_k(mapping, loops);
    if (!ll_array_problem_parse(loops, &e->problem, &complaint) ||
        !ll_array_mapping_parse(&e->design.array, &e->problem, mapping, &e->mapping, &complaint))
        fail_msg("%s | %s: %s", loops, mapping, complaint.text);
    ll_array_evaluate(&e->design.array, &e->problem, &e->mapping, &e->dense);
    ll_array_sparse_evaluate(&e->design.array, &e->problem, &e->mapping, &e->dense, &e->design.sparse,
                             &e->cost);
    ll_str_release(&complaint);
}

static void cycles_and_multiplications_are_sparseloops(void **state)
{
    (void)state;
    char line[4096], *fields[FIELDS];
    FILE *file = fopen("tests/peers/sparseloop_cases.csv", "r");
    int rows = 0, exact = 0;
    double sum = 0, worst = 0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        struct evaluated e;
        if (*line == '#' || split(line, fields) < 7 || strcmp(fields[0], "case") == 0 ||
            strstr(fields[0], "_actual"))
            continue;
        evaluate(fields[5], fields[6], &e);
        double cycles = strtod(fields[1], NULL), macs = strtod(fields[4], NULL);
        double error = fabs(e.cost.cycles / cycles - 1);
        if (getenv("LL_SHOW") || error > 0.02)
            print_message("%s: %.0f cycles, Sparseloop %.0f, %.2f %%; %.0f multiplications, %.0f\n",
                          fields[0], e.cost.cycles, cycles, 100 * error, e.cost.macs, macs);
        sum += error;
        worst = fmax(worst, error);
        exact += error < 1e-3;
        rows++;
    }
    fclose(file);
    print_message(
        "%d runs of Sparseloop: cycles %.2f %% off in the mean, %.2f %% at most, %d within 0.1 %%\n", rows,
        100 * sum / rows, 100 * worst, exact);
    assert_true(rows > 80 && sum / rows < 0.01 && worst < 0.1);
}

/* --- accesses --- */

static int store_named(const struct ll_array *array, const char *name)
{
    for (int s = 0; s < array->stores; s++)
        if (strcmp(array->store[s].name, name) == 0)
            return s;
    return -1;
}

static enum ll_operand operand_named(const char *name)
{
    return *name == 'I' || *name == 'A' ? A : *name == 'W' || *name == 'B' ? B : C;
}

/* Of "reads/fills/updates" the largest difference, of what an instance moves; of few words rounding counts.
 * The Timeloop of those runs also fills each sum with a zero before its first update, which is no access
 * here. */
static double differ(const struct ll_array_kinds *moves, const char *text, bool result)
{
    static const enum ll_array_way ways[] = {LL_ARRAY_READ, LL_ARRAY_FILL, LL_ARRAY_UPDATE};
    double worst = 0;
    for (int i = 0; i < 3; i++) {
        double expected = strtod(text, NULL), got = moves[ways[i]].actual;
        if (!result || ways[i] != LL_ARRAY_FILL)
            worst = fmax(worst, fabs(got - expected) / fmax(expected, 1000));
        text = strchr(text, '/') ? strchr(text, '/') + 1 : text;
    }
    return worst;
}

/* The rows of one run, as the file has them, one after the other. */
static bool find_case(const char *name, struct evaluated *e)
{
    char line[4096], *fields[FIELDS];
    FILE *file = fopen("tests/peers/sparseloop_cases.csv", "r");
    bool found = false;
    assert_non_null(file);
    while (!found && fgets(line, sizeof line, file))
        if (*line != '#' && split(line, fields) >= 7 && strcmp(fields[0], name) == 0) {
            evaluate(fields[5], fields[6], e);
            found = true;
        }
    fclose(file);
    return found;
}

static void accesses_are_sparseloops(void **state)
{
    (void)state;
    char line[4096], last[64] = "", *fields[FIELDS];
    FILE *file = fopen("tests/peers/sparseloop_levels.csv", "r");
    struct evaluated e;
    int rows = 0, near = 0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (*line == '#' || split(line, fields) < 20 || strcmp(fields[3], "storage") || !*fields[15] ||
            strstr(fields[0], "_actual"))
            continue;
        if (strcmp(last, fields[0]) != 0)
            assert_true(find_case(fields[0], &e));
        snprintf(last, sizeof last, "%s", fields[0]);
        int s = store_named(&e.design.array, fields[2]);
        enum ll_operand o = operand_named(fields[4]);
        if (s < 0)
            continue;
        double error = differ(e.cost.moves[o][s], fields[15], o == C);
        if (getenv("LL_SHOW") && error > 0.02)
            print_message("%s, %s of %s: %.0f reads, %.0f fills, %.0f updates; Sparseloop %s\n", fields[0],
                          fields[2], fields[4], e.cost.moves[o][s][LL_ARRAY_READ].actual,
                          e.cost.moves[o][s][LL_ARRAY_FILL].actual,
                          e.cost.moves[o][s][LL_ARRAY_UPDATE].actual, fields[15]);
        near += error < 0.02;
        rows++;
    }
    fclose(file);
    print_message("%d of %d rows of accesses within 2 %%\n", near, rows);
    assert_true(rows == 218 && near == rows);
}

/* --- published figures --- */

/* The element of Eyeriss v2, with zeros that lie anywhere: its layers' own lie together, which takes
 * longer. */
static void layers_on_an_element_of_eyeriss_v2_take_what_was_published(const char *const *fields, double *sum,
                                                                       int *rows)
{
    char name[64];
    struct evaluated e;
    snprintf(name, sizeof name, "s12_only_%s_uniform", fields[1]);
    if (!find_case(name, &e))
        return;
    double published = strtod(fields[2], NULL), error = e.cost.cycles / published - 1;
    print_message("Eyeriss v2's element, %s: %.0f cycles, published %.0f, %+.1f %%\n", fields[1],
                  e.cost.cycles, published, 100 * error);
    *sum += fabs(error);
    ++*rows;
}

/* DSTC multiplies a column of 32 by a row of 32 in steps of 8 x 16 words that are not zero (Wang et al.,
 * section 4), so that its time goes with the steps; beside the dense run. */
static void points_of_dstc(const char *const *fields, double *sum, int *rows)
{
    static const double dense_cycles = 4600;
    double a = number_behind(fields[1], "A=", 1), b = number_behind(fields[1], "B=", 1);
    const struct ll_array_density of_a = {a, false}, of_b = {b, false};
    double steps = ll_array_groups(&of_a, 32, 8) / 4 * ll_array_groups(&of_b, 32, 16) / 2;
    double published = strtod(fields[2], NULL), error = dense_cycles * steps / published - 1;
    if (a == 1 && b == 1)
        return;
    print_message("DSTC, %s: %.0f, published %.0f, %+.1f %%\n", fields[1], dense_cycles * steps, published,
                  100 * error);
    *sum += fabs(error);
    ++*rows;
}

static void published_figures_are_met(void **state)
{
    (void)state;
    char line[4096], *fields[FIELDS];
    FILE *file = fopen("tests/peers/sparse_published.csv", "r");
    double sum[2] = {0};
    int rows[2] = {0};
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (*line == '#' || split(line, fields) < 3)
            continue;
        if (strncmp(fields[0], "eyeriss", 7) == 0)
            layers_on_an_element_of_eyeriss_v2_take_what_was_published((const char *const *)fields, &sum[0],
                                                                       &rows[0]);
        else if (strncmp(fields[0], "dstc", 4) == 0)
            points_of_dstc((const char *const *)fields, &sum[1], &rows[1]);
    }
    fclose(file);
    print_message("Eyeriss v2's element %.1f %% off in %d layers, DSTC %.1f %% in %d points\n",
                  100 * sum[0] / rows[0], rows[0], 100 * sum[1] / rows[1], rows[1]);
    assert_true(rows[0] == 5 && sum[0] / rows[0] < 0.04);
    assert_true(rows[1] == 6 && sum[1] / rows[1] < 0.08);
}

/* --- laws --- */

/* Of all words, what happens, what is gated and what is skipped is never more than what there is, and less of
 * anything that is not zero costs less. */
static void fewer_words_never_cost_more(void **state)
{
    (void)state;
    struct evaluated e;
    static const char *const runs[] = {"s1_bitmask_0.08", "s1_coordinate_list_0.4", "s12_only_L09_uniform",
                                       "s15_004", "s15_000"};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        double cycles = 0, energy = 0;
        assert_true(find_case(runs[i], &e));
        for (double share = 0.05; share <= 1; share += 0.05) {
            struct ll_array_sparse sparse = e.design.sparse;
            struct ll_array_sparse_cost cost;
            sparse.density[A].share = sparse.density[B].share = share;
            ll_array_sparse_evaluate(&e.design.array, &e.problem, &e.mapping, &e.dense, &sparse, &cost);
            assert_true(cost.cycles >= cycles * (1 - 1e-9) && cost.energy_j >= energy * (1 - 1e-9));
            assert_true(cost.macs + cost.gated_macs + cost.skipped_macs <= e.problem.macs * (1 + 1e-9));
            cycles = cost.cycles;
            energy = cost.energy_j;
        }
    }
}

/* C(6, 2) / C(8, 2) = 15 / 28; evenly, four of eight leave no tile of two empty. Two of four in steps of
 * two: none with 1/16, one step with 10/16, two with 5/16. */
static void tiles_are_empty_as_often_as_they_should_be(void **state)
{
    (void)state;
    const struct ll_array_density quarter = {0.25, false}, half = {0.5, false}, even = {0.5, true};
    assert_near(ll_array_empty(&quarter, 2, 8), 15. / 28, 1e-12);
    assert_near(ll_array_empty(&quarter, 7, 8), 0, 0);
    assert_near(ll_array_empty(&even, 1, 8), 0.5, 0);
    assert_near(ll_array_empty(&even, 2, 8), 0, 0);
    assert_near(ll_array_groups(&half, 4, 2), (10 + 2 * 5) / 16., 1e-12);
    assert_near(ll_array_groups(&even, 32, 8), 2, 0);
    const struct ll_array_format csr = {LL_ARRAY_CSR, 8, 16}, blocks = {LL_ARRAY_BLOCKS, 0, 2};
    assert_near(ll_array_stored(&csr, &quarter, 64).place_bits, 8 * (16 + 4), 0);
    assert_near(ll_array_stored(&blocks, &quarter, 8).words, 8 * 13. / 28, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses_are_sparseloops),
        cmocka_unit_test(published_figures_are_met),
        cmocka_unit_test(fewer_words_never_cost_more),
        cmocka_unit_test(tiles_are_empty_as_often_as_they_should_be),
        cmocka_unit_test(cycles_and_multiplications_are_sparseloops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
