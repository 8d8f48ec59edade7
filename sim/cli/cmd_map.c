/* SPDX-License-Identifier: Apache-2.0 */
/* `leadline map`: one problem on a machine's array, by a given mapping or by the best that the search
 * finds; and rows of data with mappings, scored. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sim/array/choose.h"
#include "sim/array/machine.h"
#include "sim/array/notation.h"
#include "sim/cli/command.h"
#include "sim/cli/load.h"
#include "sim/report/table.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"
#include "tracer/base/str.h"
#include "tracer/transform/dtype.h"

enum { MOST_FILE = 1 << 20 };

static const char *const aims[] = {"time", "energy", "edp", "traffic"};
static const char *const notations[] = {"leadline", "timeloop", "zigzag"};

/* What is asked, and what was found. */
struct map {
    const struct ll_args *args;
    struct ll_machine *machine;
    uint64_t unit;
    enum ll_dtype dtype;
    struct ll_array array;
    struct ll_array_problem problem;
    struct ll_array_found found;
    bool given;
};

static int index_of(const char *word, const char *const *words, int count)
{
    int i = 0;
    while (i < count && strcmp(word, words[i]) != 0)
        i++;
    return i;
}

/* --- what is written --- */

static void put_mapping(const struct map *m, int notation, struct ll_str *out)
{
    (notation == 1   ? ll_array_mapping_print_timeloop
     : notation == 2 ? ll_array_mapping_print_zigzag
                     : ll_array_mapping_print)(&m->array, &m->problem, &m->found.mapping, out);
}

static void moves_json(const struct ll_array_moves *moves, const char *key, struct ll_json *json)
{
    ll_json_key(json, key);
    ll_json_open_object(json);
    ll_json_put_number(json, "words", moves->words);
    ll_json_put_number(json, "accesses", moves->accesses);
    ll_json_put_number(json, "energy_j", moves->energy_j);
    ll_json_close_object(json);
}

static void store_json(const struct map *m, int s, enum ll_operand o, struct ll_json *json)
{
    static const char *const ways[] = {"reads", "fills", "updates", "drains"};
    const struct ll_array_cost *cost = &m->found.cost;
    double energy_j = 0;
    if (!m->found.mapping.keeps[o][s])
        return;
    ll_json_open_object(json);
    ll_json_put_text(json, "store", m->array.store[s].name);
    ll_json_put_text(json, "operand", ll_array_operand_name(o));
    ll_json_put_number(json, "instances", m->array.store[s].instances);
    ll_json_put_number(json, "used", cost->used[s]);
    ll_json_put_number(json, "tile_words", cost->tile_words[o][s]);
    for (enum ll_array_way way = 0; way < LL_ARRAY_WAYS; way++) {
        moves_json(&cost->moves[o][s][way], ways[way], json);
        energy_j += cost->moves[o][s][way].energy_j;
    }
    ll_json_put_number(json, "energy_j", energy_j);
    ll_json_close_object(json);
}

static void map_json(const struct map *m, struct ll_str *out)
{
    struct ll_json json = {.out = out, .indent = true};
    struct ll_str text = {0};
    const struct ll_array_cost *cost = &m->found.cost;
    ll_json_open_document(&json, "map", 1);
    ll_json_put_text(&json, "machine", m->machine->stem);
    put_mapping(m, 0, &text);
    ll_json_put_text(&json, "mapping", text.text);
    ll_str_release(&text);
    ll_json_put_bool(&json, "given", m->given);
    ll_json_put_number(&json, "cycles", cost->cycles);
    ll_json_put_number(&json, "compute_cycles", cost->compute_cycles);
    ll_json_put_number(&json, "stall_cycles", cost->stall_cycles);
    ll_json_put_number(&json, "load_cycles", cost->load_cycles);
    ll_json_put_number(&json, "drain_cycles", cost->drain_cycles);
    ll_json_put_number(&json, "utilization", cost->utilization);
    ll_json_put_text(&json, "bound",
                     cost->slowest < m->array.stores ? m->array.store[cost->slowest].name : "compute");
    ll_json_put_number(&json, "energy_j", cost->energy_j);
    ll_json_put_number(&json, "mac_j", cost->mac_j);
    ll_json_put_number(&json, "network_j", cost->network_j);
    ll_json_put_number(&json, "leakage_j", cost->leak_j);
    ll_json_put_number(&json, "macs", m->problem.macs);
    ll_json_put_number(&json, "mappings_evaluated", (double)m->found.evaluated);
    ll_json_put_bool(&json, "complete", m->found.complete);
    ll_json_put_number(&json, "least_cycles", m->found.bound.cycles);
    ll_json_put_number(&json, "least_energy_j", m->found.bound.energy_j);
    ll_json_key(&json, "stores");
    ll_json_open_list(&json);
    for (int s = 0; s < m->array.stores; s++)
        for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
            store_json(m, s, o, &json);
    ll_json_close_list(&json);
    ll_json_close_object(&json);
}

static void store_text(const struct map *m, int s, struct ll_str *out)
{
    const struct ll_array_cost *cost = &m->found.cost;
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
        const struct ll_array_moves *moves = cost->moves[o][s];
        double energy_j = 0;
        if (!m->found.mapping.keeps[o][s])
            continue;
        for (enum ll_array_way way = 0; way < LL_ARRAY_WAYS; way++)
            energy_j += moves[way].energy_j;
        ll_str_addf(out, "  %-22s %-6s %12.10g %14.10g %14.10g %14.10g %14.10g %12.5g\n",
                    m->array.store[s].name, ll_array_operand_name(o), cost->tile_words[o][s],
                    moves[LL_ARRAY_READ].words, moves[LL_ARRAY_FILL].words, moves[LL_ARRAY_UPDATE].words,
                    moves[LL_ARRAY_DRAIN].words, energy_j * 1e12);
    }
}

static double percent_above(double value, double least)
{
    return least > 0 ? 100 * (value / least - 1) : 0;
}

static void map_text(const struct map *m, struct ll_str *out)
{
    const struct ll_array_cost *cost = &m->found.cost;
    put_mapping(m, 0, out);
    ll_str_addf(out,
                "\n\n  %.10g cycles: %.10g multiplying, %.10g waiting for %s, %.10g until the first data is "
                "there, %.10g "
                "behind the last\n",
                cost->cycles, cost->compute_cycles, cost->stall_cycles,
                cost->slowest < m->array.stores ? m->array.store[cost->slowest].name : "nothing",
                cost->load_cycles, cost->drain_cycles);
    ll_str_addf(out, "  utilization %.4g %%, %.1f %% more cycles than the bound of %.10g\n",
                100 * cost->utilization, percent_above(cost->cycles, m->found.bound.cycles),
                m->found.bound.cycles);
    ll_str_addf(
        out,
        "  %.10g pJ: %.5g multiplying, %.5g leaking, %.5g hops; %.1f %% more than the bound of %.5g pJ\n",
        cost->energy_j * 1e12, cost->mac_j * 1e12, cost->leak_j * 1e12, cost->network_j * 1e12,
        percent_above(cost->energy_j, m->found.bound.energy_j), m->found.bound.energy_j * 1e12);
    ll_str_addf(out, "  %" PRIu64 " mapping%s evaluated%s\n\n", m->found.evaluated,
                ll_plural(m->found.evaluated),
                m->given            ? ", as given"
                : m->found.complete ? ", all that there are"
                                    : ", a part of all: the bounds say how much better another one may be");
    ll_str_addf(out, "  %-22s %-6s %12s %14s %14s %14s %14s %12s\n", "words of an instance", "", "tile",
                "reads", "fills", "updates", "drains", "energy, pJ");
    for (int s = 0; s < m->array.stores; s++)
        store_text(m, s, out);
}

/* --- what is read --- */

/* A mapping, or that in a file where the text is the name of one. NULL after saying why not. */
static const char *text_or_file(const char *given, struct ll_arena *arena)
{
    struct ll_contents contents;
    if (strchr(given, '@') || strchr(given, '|'))
        return given;
    enum ll_status status = ll_read_whole(given, MOST_FILE, arena, &contents);
    if (status == LL_OK)
        return contents.bytes;
    ll_cli_reject("%s: %s; a mapping begins with @ and a store, or with an operand and a colon", given,
                  ll_status_text(status));
    return NULL;
}

static bool take_machine(struct map *m, struct ll_machine *machine)
{
    m->machine = machine;
    m->unit = ll_array_find(machine);
    if (m->unit == machine->unit_count)
        return false;
    m->dtype = ll_array_dtype(&machine->units[m->unit]);
    m->array = ll_array_of(machine, m->unit, m->dtype);
    return true;
}

/* Bits of words and sums as the unit has them, where the problem does not say. */
static void set_bits(struct map *m)
{
    double bits = (double)ll_dtype_bits(m->dtype);
    const struct ll_unit *unit = &m->machine->units[m->unit];
    double sum_bits = unit->sum_bytes > 0 ? 8 * (double)unit->sum_bytes : 32;
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
        m->problem.operand[o].bits = bits;
    m->problem.operand[LL_OPERAND_C].sum_bits = fmax(bits, sum_bits);
}

static bool set_dtype(struct map *m, const char *name)
{
    if (!name)
        return true;
    m->dtype = ll_dtype_find(name);
    if (m->dtype >= LL_DTYPE_COUNT || m->machine->units[m->unit].array.macs[m->dtype] == 0) {
        ll_cli_reject("--dtype %s: `%s` does not multiply it", name, m->machine->units[m->unit].name);
        return false;
    }
    m->array = ll_array_of(m->machine, m->unit, m->dtype);
    return true;
}

static int read_problem(struct map *m)
{
    struct ll_str text = {0}, complaint = {0};
    for (size_t i = 0; i < m->args->word_count; i++)
        ll_str_addf(&text, "%s ", m->args->words[i]);
    bool read = text.text && ll_array_problem_parse(text.text, &m->problem, &complaint);
    if (read && !strstr(text.text, "bits="))
        set_bits(m);
    if (!read)
        ll_cli_reject("%s", complaint.text ? complaint.text : "memory ran out");
    ll_str_release(&complaint);
    ll_str_release(&text);
    return read ? LL_DONE : LL_WRONG;
}

static int find_mapping(struct map *m)
{
    const char *given = ll_value(m->args, "mapping", NULL);
    int aim = index_of(ll_value(m->args, "objective", "time"), aims, 4);
    struct ll_str complaint = {0};
    if (aim == 4)
        return ll_cli_reject_unknown("objective", ll_value(m->args, "objective", NULL), aims, 4,
                                     "leadline map --help");
    if (!given) {
        bool found = ll_array_choose(m->machine, m->unit, &m->array, &m->problem, (enum ll_array_aim)aim,
                                     &m->found, &m->given);
        return found ? LL_DONE : ll_cli_fail("no mapping fits the array and its limits");
    }
    const char *text = text_or_file(given, m->args->arena);
    if (!text)
        return LL_WRONG;
    if (!ll_array_mapping_parse(&m->array, &m->problem, text, &m->found.mapping, &complaint)) {
        ll_cli_reject("--mapping: %s", complaint.text ? complaint.text : "memory ran out");
        ll_str_release(&complaint);
        return LL_WRONG;
    }
    ll_array_evaluate(&m->array, &m->problem, &m->found.mapping, &m->found.cost);
    m->given = m->found.complete = true;
    m->found.evaluated = 1;
    m->found.bound = ll_array_least(&m->array, &m->problem);
    if (!m->found.cost.fits)
        ll_cli_warn("the tiles of this mapping are larger than the stores that keep them");
    return LL_DONE;
}

/* --- scoring --- */

enum { MOST_COLUMNS = 64, LEAST_LIKENESS = 5 };

/* A table of cases of ZigZag or Timeloop: which column is which. */
struct table {
    struct ll_csv csv;
    const char *head[MOST_COLUMNS];
    size_t columns;
    bool zigzag;
};

struct score {
    uint64_t scored, cycles_within, energy_within, left_out;
    double worst_cycles, worst_energy;
};

static const char *column(const struct table *t, const struct ll_csv_field *row, size_t count,
                          const char *name)
{
    for (size_t i = 0; i < t->columns && i < count; i++)
        if (!strcmp(t->head[i], name))
            return row[i].text;
    return NULL;
}

/* Images of networks are padded so that strides times results are their sides; padding is not moved. */
static void leave_out_padding(struct ll_array_problem *problem)
{
    struct ll_array_operand *image = &problem->operand[LL_OPERAND_A];
    for (int r = 0; r < image->ranks; r++)
        if (image->rank[r].terms == 2 && problem->of[image->rank[r].dim[1]] > 1)
            image->rank[r].extent = image->rank[r].step[0] * problem->of[image->rank[r].dim[0]];
}

/* The mapping of a row, as one text, and its problem. */
static bool read_case(struct map *m, const struct table *t, const struct ll_csv_field *row, size_t count,
                      struct ll_str *why)
{
    struct ll_str problem = {0}, mapping = {0};
    const char *bits = column(t, row, count, "bits_W_I_O_Ofinal");
    if (t->zigzag) {
        ll_str_addf(&problem, "%s bits=%s ; %s", column(t, row, count, "loops"), bits ? bits : "8/8/16/8",
                    column(t, row, count, "stride_relations"));
        ll_str_addf(&mapping, "%s ; %s", column(t, row, count, "temporal_inner_to_outer"),
                    column(t, row, count, "spatial"));
    } else {
        ll_str_add(&problem, column(t, row, count, "problem"));
        ll_str_add(&mapping, column(t, row, count, "mapping"));
    }
    bool read = !strstr(problem.text, "densities") && ll_array_problem_parse(problem.text, &m->problem, why);
    if (read && !t->zigzag)
        set_bits(m);
    if (read && t->zigzag)
        leave_out_padding(&m->problem);
    read = read && ll_array_mapping_parse(&m->array, &m->problem, mapping.text, &m->found.mapping, why);
    if (strstr(problem.text, "densities"))
        ll_str_add(why, "sparse operands are not scored");
    ll_str_release(&problem);
    ll_str_release(&mapping);
    return read;
}

/* How long a part of one name is in the other. */
static size_t likeness(const char *one, const char *other)
{
    size_t most = 0;
    for (const char *a = one; *a; a++)
        for (const char *b = other; *b; b++) {
            size_t same = 0;
            while (a[same] && a[same] == b[same])
                same++;
            most = same > most ? same : most;
        }
    return most;
}

struct machines {
    struct ll_machine *at[64];
    size_t count;
};

/* The machine of a case: named by the row, or of those on which its mapping can be, the one whose name is
 * most like the case's. NULL: none. */
static struct ll_machine *machine_of(const struct machines *all, const struct table *t,
                                     const struct ll_csv_field *row, size_t count, struct map *m,
                                     struct ll_str *why)
{
    const char *name = column(t, row, count, t->zigzag ? "machine" : "case");
    struct ll_machine *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < all->count; i++) {
        struct ll_str ignored = {0};
        const char *stem = all->at[i]->stem;
        if (t->zigzag && all->count > 1 && (strncmp(stem, "zigzag_", 7) != 0 || strcmp(stem + 7, name) != 0))
            continue;
        if (!take_machine(m, all->at[i]) || !read_case(m, t, row, count, &ignored)) {
            if (t->zigzag || all->count == 1)
                ll_str_add(why, ignored.text ? ignored.text : "");
            ll_str_release(&ignored);
            continue;
        }
        size_t like = t->zigzag || all->count == 1 ? SIZE_MAX : likeness(strchr(stem, '_') + 1, name);
        if (like > most && like >= LEAST_LIKENESS) {
            best = all->at[i];
            most = like;
        }
    }
    return best;
}

static void score_row(struct map *m, const struct table *t, const struct ll_csv_field *row, size_t count,
                      struct score *score, struct ll_str *out)
{
    const char *cycles_text = column(t, row, count, t->zigzag ? "cycles_total" : "cycles");
    const char *energy_text = column(t, row, count, t->zigzag ? "energy_pj" : "energy_pj_sum_of_levels");
    double cycles = ll_strtod(cycles_text, NULL), energy = ll_strtod(energy_text, NULL);
    ll_array_evaluate(&m->array, &m->problem, &m->found.mapping, &m->found.cost);
    const struct ll_array_cost *cost = &m->found.cost;
    double ours = t->zigzag ? cost->energy_j : cost->energy_j - cost->leak_j;
    double cycles_error = cost->cycles / cycles - 1, energy_error = ours * 1e12 / energy - 1;
    const char *name = column(t, row, count, t->zigzag ? "layer" : "case");
    ll_str_addf(out, "  %-44s %-32s %12.10g %12.10g %+8.2f %% %14.8g %14.8g %+8.2f %%\n", name,
                m->machine->stem, cycles, cost->cycles, 100 * cycles_error, energy, ours * 1e12,
                100 * energy_error);
    score->scored++;
    score->cycles_within += fabs(cycles_error) <= 0.03;
    score->energy_within += fabs(energy_error) <= (t->zigzag ? 0.1 : 0.05);
    score->worst_cycles = fmax(score->worst_cycles, fabs(cycles_error));
    score->worst_energy = fmax(score->worst_energy, fabs(energy_error));
}

static bool read_head(struct table *t)
{
    size_t count;
    const struct ll_csv_field *head = ll_csv_next(&t->csv, &count);
    while (head && head->text[0] == '#') /* where it is from */
        head = ll_csv_next(&t->csv, &count);
    for (size_t i = 0; head && i < count && i < MOST_COLUMNS; i++)
        t->head[t->columns++] = head[i].text;
    t->zigzag = t->columns > 0 && !strcmp(t->head[0], "machine");
    static const char *const needed[2][4] = {{"case", "problem", "mapping", "cycles"},
                                             {"loops", "spatial", "temporal_inner_to_outer", "cycles_total"}};
    for (int i = 0; head && i < 4; i++)
        if (!column(t, head, count, needed[t->zigzag][i]))
            return false;
    return head != NULL;
}

static bool load_machines(const struct ll_args *args, struct machines *all)
{
    const char *const *folders = ll_machine_folders(args->arena), *which = ll_value(args, "machine", NULL);
    const char **stems = NULL;
    size_t count = 0, overrides = 0;
    const struct ll_override *set = ll_read_overrides(args, &overrides);
    if (!folders || !set ||
        (!which && !ll_machine_list(folders, "accelerators/", args->arena, &stems, &count)))
        return false;
    for (size_t i = 0; i < (which ? 1 : count) && all->count < 64; i++) {
        bool of_peer = which || !strncmp(stems[i], "zigzag_", 7) || !strncmp(stems[i], "timeloop_", 9);
        struct ll_machine *machine =
            of_peer ? ll_load_machine(which ? which : stems[i], folders, set, overrides) : NULL;
        if (of_peer && !machine)
            return false;
        if (machine)
            all->at[all->count++] = machine;
    }
    return true;
}

static int score_file(const struct ll_args *args, const char *path)
{
    struct machines all = {.count = 0};
    struct ll_contents contents;
    struct ll_diags diags = {0};
    struct map m = {.args = args};
    struct score score = {0};
    struct ll_str out = {0};
    size_t count;
    enum ll_status status = ll_read_whole(path, MOST_FILE * 16, args->arena, &contents);
    if (status != LL_OK)
        return ll_cli_reject("%s: %s", path, ll_status_text(status));
    struct table t = {.csv = {.file = path,
                              .at = contents.bytes,
                              .end = contents.bytes + contents.length,
                              .arena = args->arena,
                              .diags = &diags}};
    if (!read_head(&t))
        return ll_cli_reject(
            "%s: expected a table of ZigZag's layers or of Timeloop's cases, by its column names", path);
    if (!load_machines(args, &all))
        return LL_WRONG;
    ll_str_addf(&out, "  %-44s %-32s %12s %12s %10s %14s %14s %10s\n", "case", "machine", "cycles", "ours",
                "error", "energy, pJ", "ours", "error");
    for (const struct ll_csv_field *row = ll_csv_next(&t.csv, &count); row;
         row = ll_csv_next(&t.csv, &count)) {
        struct ll_str why = {0};
        struct ll_machine *machine = machine_of(&all, &t, row, count, &m, &why);
        bool read = machine && take_machine(&m, machine) && read_case(&m, &t, row, count, &why);
        if (read)
            score_row(&m, &t, row, count, &score, &out);
        else
            ll_str_addf(&out, "  %-44s not scored: %s\n", column(&t, row, count, t.zigzag ? "layer" : "case"),
                        why.text ? why.text : "no machine of this name");
        score.left_out += !read;
        ll_str_release(&why);
    }
    ll_str_addf(&out,
                "\n  %" PRIu64 " scored: cycles within 3 %% in %" PRIu64
                ", at most %.2f %% off; energy within %d %% in "
                "%" PRIu64 ", at most %.2f %% off; %" PRIu64 " not scored\n",
                score.scored, score.cycles_within, 100 * score.worst_cycles, t.zigzag ? 10 : 5,
                score.energy_within, 100 * score.worst_energy, score.left_out);
    for (size_t i = 0; i < all.count; i++)
        ll_machine_free(all.at[i]);
    ll_print_diags(&diags);
    ll_diags_release(&diags);
    int printed = ll_print(&out);
    ll_str_release(&out);
    return printed;
}

/* --- the command --- */

static int map_one(struct map *m, struct ll_str *out)
{
    const struct ll_args *args = m->args;
    size_t count;
    const char *const *folders = ll_machine_folders(args->arena), *which = ll_value(args, "machine", NULL);
    const struct ll_override *overrides = ll_read_overrides(args, &count);
    int notation = index_of(ll_value(args, "notation", "leadline"), notations, 3);
    if (!which || args->word_count == 0)
        return ll_cli_reject("expected -c MACHINE and a problem, as K=64 C=64 OX=56 OY=56 FX=3 FY=3");
    if (notation == 3)
        return ll_cli_reject_unknown("notation", ll_value(args, "notation", NULL), notations, 3,
                                     "leadline map --help");
    if (!folders)
        return ll_cli_fail("memory ran out");
    struct ll_machine *machine = overrides ? ll_load_machine(which, folders, overrides, count) : NULL;
    if (!machine)
        return LL_WRONG;
    if (!take_machine(m, machine))
        return ll_cli_reject("%s: no unit of this machine is an array (`model: array`)", which);
    int status = set_dtype(m, ll_value(args, "dtype", NULL)) ? read_problem(m) : LL_WRONG;
    if (status == LL_DONE)
        status = find_mapping(m);
    if (status != LL_DONE)
        return status;
    if (ll_flag(args, "json"))
        map_json(m, out);
    else if (ll_value(args, "notation", NULL))
        put_mapping(m, notation, out);
    else
        map_text(m, out);
    return LL_DONE;
}

static int run(const struct ll_args *args)
{
    struct map m = {.args = args};
    struct ll_str out = {0};
    const char *table = ll_value(args, "score", NULL);
    if (table)
        return score_file(args, table);
    int status = map_one(&m, &out);
    if (status == LL_DONE)
        status = ll_print(&out);
    ll_str_release(&out);
    ll_machine_free(m.machine);
    return status;
}

static const struct ll_option options[] = {
    {"machine", 'c', "MACHINE", "the machine, which has a unit of model array"},
    {"set", 0, "PATH=VALUE", "change a value of the machine, as for leadline sim"},
    {"mapping", 0, "TEXT|FILE",
     "cost this mapping, in the notation of this program, of Timeloop's maps or of ZigZag's lists"},
    {"objective", 0, "AIM",
     "what the search makes least: time (default), energy, edp or traffic of the outermost memory"},
    {"dtype", 0, "TYPE", "type of the operands (default: the narrowest that the array multiplies)"},
    {"notation", 0, "NAME", "write the mapping alone, as leadline, timeloop (YAML) or zigzag"},
    {"score", 0, "FILE.csv",
     "cost each mapping of a table of ZigZag's layers or Timeloop's cases, and print errors"},
    {0},
};

const struct ll_command ll_command_map = {
    .name = "map",
    .synopsis = "-c MACHINE DIMENSION=SIZE...",
    .summary = "map one loop nest onto an array of elements: accesses, cycles, energy",
    .examples = "  leadline map -c zigzag_tpu_like K=64 C=64 OX=56 OY=56 FX=3 FY=3\n"
                "  leadline map -c zigzag_gemm_l1 --objective energy M=128 N=128 K=128\n",
    .details = "Dimensions are ZigZag's (B K G C OY OX FY FX), Timeloop's (N C M or K, P Q R S) or M N K of "
               "a GEMM; steps of "
               "windows are Hstride, Wstride, Hdilation and Wdilation.\n"
               "A mapping lists stores, outermost first, and the loops inside of each: @dram K4 OX8 K16:D1 "
               "C8:D2 @rf[weight] "
               "FY3 FX3. A loop with an axis runs side by side.\n",
    .options = options,
    .repeated = (const char *const[]){"set", NULL},
    .reads = (const char *const[]){"machine", "mapping", "score", NULL},
    .rows = "stores",
    .most_words = 32,
    .run = run,
};
