/* SPDX-License-Identifier: Apache-2.0 */
/* An array as an architecture of Timeloop 0.4 with its ERT: components outermost first, a container of
 * elements where an axis begins. Levels nest there: a store that is shared along an axis lies outside of
 * all that are not. Limits and ways to unroll become constraints, in the letters of Timeloop's
 * convolutions. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/array/machine.h"
#include "sim/interchange/zigzag.h"

static const char *const spaces[LL_OPERAND_COUNT] = {"Inputs", "Weights", "Outputs"};

/* A loop of ours in Timeloop's letters; NULL: none there. */
static const char *letter_of(const char *name, size_t length, bool gemm)
{
    static const char *const convs[][2] = {{"B", "N"},  {"K", "M"},  {"C", "C"},  {"OX", "P"},
                                           {"OY", "Q"}, {"FX", "R"}, {"FY", "S"}, {"G", "G"}};
    static const char *const gemms[] = {"M", "N", "K", "B"};
    for (size_t i = 0; !gemm && i < sizeof convs / sizeof *convs; i++)
        if (strlen(convs[i][0]) == length && !memcmp(convs[i][0], name, length))
            return convs[i][1];
    for (size_t i = 0; gemm && i < sizeof gemms / sizeof *gemms; i++)
        if (length == 1 && *gemms[i] == *name)
            return gemms[i];
    return NULL;
}

/* The machine's texts that are written: those of convolutions, or where there is none those of GEMMs
 * alone. */
struct texts {
    struct ll_interchange *x;
    const struct ll_array_unit *unit;
    const struct ll_array *array;
    bool gemm;
};

static bool is_written(const struct texts *t, const char **text)
{
    bool conv = !strncmp(*text, "conv ", 5), gemm = !strncmp(*text, "gemm ", 5);
    *text += conv || gemm ? 5 : 0;
    return t->gemm ? !conv : !gemm;
}

static bool only_gemms(const struct ll_array_unit *unit)
{
    bool any = false;
    for (uint64_t i = 0; i < unit->unroll_count; i++) {
        any |= !strncmp(unit->unroll[i], "gemm ", 5);
        if (!strncmp(unit->unroll[i], "conv ", 5))
            return false;
    }
    for (uint64_t i = 0; i < unit->limit_count; i++) {
        any |= !strncmp(unit->limits[i], "gemm ", 5);
        if (!strncmp(unit->limits[i], "conv ", 5))
            return false;
    }
    return any;
}

/* Words of a limit as a list: "FX FY" as [R, S], "FX=1 K=1" as [R=1, M=1]. */
static void put_words(const struct texts *t, const char *words, const char *end, bool factors,
                      struct ll_str *out)
{
    const char *gap = "[";
    while ((words += strspn(words, " ,")) < end) {
        size_t length = strcspn(words, " ,=;"), whole = strcspn(words, " ,;");
        const char *letter = letter_of(words, length, t->gemm);
        if (letter)
            ll_str_addf(out, "%s%s%.*s", gap, letter, factors ? (int)(whole - length) : 0, words + length);
        gap = letter ? ", " : gap;
        words += whole;
    }
    ll_str_add(out, *gap == '[' ? "[]" : "]");
}

/* Whether a word stands between two places of a text. */
static bool has_word(const char *text, const char *end, const char *word)
{
    const char *found = strstr(text, word);
    return found && found < end;
}

/* Constraints of a store: what passes it by, what it must keep, which loops run there. */
static void put_constraints(const struct texts *t, int s, struct ll_str *out)
{
    const struct ll_array_store *store = &t->array->store[s];
    struct ll_str space = {0}, temporal = {0};
    const char *gap = "bypass: [";
    for (int o = 0; o < LL_OPERAND_COUNT; o++)
        if (!store->holds[o]) {
            ll_str_addf(&space, "%s%s", gap, spaces[o]);
            gap = ", ";
        }
    if (space.length)
        ll_str_add(&space, "]");
    for (uint64_t i = 0; i < t->unit->limit_count; i++) {
        const char *text = t->unit->limits[i], *at;
        size_t name = strlen(store->name);
        if (!is_written(t, &text) || strncmp(text, store->name, name) != 0 || text[name] != ':')
            continue;
        for (at = text + name + 1; *(at += strspn(at, " ;"));) {
            const char *end = at + strcspn(at, ";");
            size_t verb = strcspn(at, " ;");
            if (!strncmp(at, "keep", verb)) {
                gap = space.length ? ", keep: [" : "keep: [";
                for (int o = 0; o < LL_OPERAND_COUNT; o++)
                    if (has_word(at, end, (const char *const[]){"input", "weight", "output"}[o])) {
                        ll_str_addf(&space, "%s%s", gap, spaces[o]);
                        gap = ", ";
                    }
                ll_str_add(&space, "]");
            } else if (!strncmp(at, "order", verb) || !strncmp(at, "factors", verb)) {
                bool factors = *at == 'f';
                ll_str_addf(&temporal, "%s%s: ", temporal.length ? ", " : "",
                            factors ? "factors" : "permutation");
                put_words(t, at + verb, end, factors, &temporal);
            } else {
                ll_leave(t->x, "units.array.limits", (struct ll_place){0},
                         ll_said(t->x,
                                 "`%s`: operands that a store may keep, and must not, are not distinguished",
                                 text));
            }
            at = end;
        }
    }
    if (space.length || temporal.length)
        ll_str_add(out, "    constraints:\n");
    if (space.length)
        ll_str_addf(out, "      dataspace: {%s}\n", space.text);
    if (temporal.length)
        ll_str_addf(out, "      temporal: {%s}\n", temporal.text);
    ll_str_release(&space);
    ll_str_release(&temporal);
}

/* Loops that may not run along an axis, by the first way to unroll: factors of 1. */
static void put_axis(const struct texts *t, int axis, struct ll_str *out)
{
    static const char *const loops[2][8] = {{"B", "C", "K", "OX", "OY", "FX", "FY", "G"},
                                            {"M", "N", "K", "B"}};
    const char *way = NULL, *gap = "[";
    ll_str_addf(out, "  - !Container\n    name: axis_D%d\n    spatial: {meshX: %" PRIu64 "}\n", axis + 1,
                t->array->axis[axis]);
    for (uint64_t i = 0; i < t->unit->unroll_count && !way; i++) {
        const char *text = t->unit->unroll[i];
        way = is_written(t, &text) ? text : NULL;
    }
    if (!way)
        return;
    const char *own = strstr(way, ll_said(t->x, "D%d:", axis + 1));
    size_t length = own ? strcspn(own, " ") : 0;
    ll_str_add(out, "    constraints:\n      spatial: {factors: ");
    for (int i = 0; i < 8 && loops[t->gemm][i]; i++) {
        const char *loop = loops[t->gemm][i];
        bool may = false;
        for (const char *at = own ? own + 2 : NULL; at && at < own + length;) {
            size_t word = strcspn(++at, ", ");
            may |= word == strlen(loop) && !memcmp(at, loop, word);
            at += word;
        }
        if (!may) {
            ll_str_addf(out, "%s%s=1", gap, letter_of(loop, strlen(loop), t->gemm));
            gap = ", ";
        }
    }
    ll_str_add(out, *gap == '[' ? "[]}\n" : "]}\n");
}

/* Words that a port moves in a cycle for all operands that the store holds, in these ways; 0: no one port
 * does. */
static double words_of(const struct ll_array_store *store, double word, unsigned ways)
{
    for (int p = 0; p < store->ports; p++) {
        bool all = true;
        for (int o = 0; o < LL_OPERAND_COUNT; o++) {
            unsigned wanted = o == LL_OPERAND_C ? ways : ways & ~(1u << LL_ARRAY_UPDATE);
            all &= !store->holds[o] || (store->port[p].serves[o] & wanted) == wanted;
        }
        if (all)
            return store->port[p].width_bits / word;
    }
    return 0;
}

/* Ports that are not for all operands alike, and what of accesses Timeloop has no word for. */
static void leave_ports(const struct texts *t, const struct ll_array_store *store, double read, double write)
{
    if (store->ports > 0 && (read == 0 || write == 0))
        ll_leave(t->x, ll_said(t->x, "%s.accesses.ports", store->name), (struct ll_place){0},
                 "a port of Timeloop serves all data spaces");
    if (!store->coalesces)
        ll_leave(t->x, ll_said(t->x, "%s.accesses.min_width", store->name), (struct ll_place){0},
                 "accesses of Timeloop are whole lines, which transfers share");
}

static void put_store(const struct texts *t, int s, double word, struct ll_str *out)
{
    const struct ll_array_store *store = &t->array->store[s];
    double cluster = fmax(1, store->cluster), width = store->width_bits > 0 ? store->width_bits : word;
    double read = words_of(store, word, 1u << LL_ARRAY_READ),
           write = words_of(store, word, 1u << LL_ARRAY_FILL | 1u << LL_ARRAY_UPDATE);
    bool without_limit = store->size_bits >= 0x1p43, one = s + 1 == t->array->stores && without_limit;
    ll_str_addf(out, "  - !Component\n    name: %s\n    class: %s\n    attributes: {", store->name,
                one                                           ? "DRAM"
                : store->serves == (1u << t->array->axes) - 1 ? "SRAM"
                                                              : "regfile");
    if (!without_limit)
        ll_str_addf(out, "depth: %.10g, ", store->size_bits / width);
    ll_str_addf(out, "width: %.10g, datawidth: %.10g", width * cluster, word);
    if (cluster > 1)
        ll_str_addf(out, ", cluster_size: %.10g", cluster);
    if (read > 0)
        ll_str_addf(out, ", read_bandwidth: %.10g", read);
    if (write > 0)
        ll_str_addf(out, ", write_bandwidth: %.10g", write);
    ll_str_add(out, "}\n");
    leave_ports(t, store, read, write);
    put_constraints(t, s, out);
}

static void put_table(const char *name, const char *const *actions, const double *pj, int count,
                      struct ll_str *out)
{
    ll_str_addf(out, "    - name: system.%s[1..1]\n      actions:\n", name);
    for (int i = 0; i < count; i++)
        ll_str_addf(out, "        - {name: %s, arguments: {}, energy: %.10g}\n", actions[i], pj[i]);
}

static void put_energies(const struct ll_array *array, struct ll_str *out)
{
    static const char *const actions[] = {"read", "write", "update", "leak"}, *const computes[] = {"compute"};
    double mac_pj = array->mac_j * 1e12;
    ll_str_add(out, "ERT:\n  version: '0.4'\n  tables:\n");
    for (int s = array->stores - 1; s >= 0; s--) {
        const struct ll_array_store *store = &array->store[s];
        double update = store->update_j > 0 ? store->update_j : store->write_j;
        double pj[] = {store->read_j * 1e12, store->write_j * 1e12, update * 1e12, store->leak_j * 1e12};
        put_table(store->name, actions, pj, 4, out);
    }
    put_table("mac", computes, &mac_pj, 1, out);
}

static const struct ll_why reasons[] = {
    {"kind", "wording of reports"},
    {"sources", "Timeloop's files have none"},
    {"software", "Timeloop has no software"},
    {"host", "Timeloop has no host"},
    {"network", "Timeloop has one device"},
    {"price", "Timeloop has no prices"},
    {"area", "areas stand in Accelergy's table (ART), by component"},
    {"units[]", "Timeloop has one array; vector work takes no time there"},
    {"counts", "Timeloop counts as it does"},
    {"sum_bytes", "a partial sum is a word in Timeloop"},
    {"limits", "constraints are those of convolutions, or of GEMMs where there are no others"},
    {"mapping", "mappings stand in files of their own in Timeloop"},
    {"decode_bits", "energies of accesses are written out"},
    {"gated", "Timeloop has it in attributes of each component"},
    {NULL, "Timeloop's architecture has no key for it"},
};

bool ll_peer_export_TIMELOOP(struct ll_interchange *x, const struct ll_machine *machine,
                             struct ll_str out[LL_PEER_OUTPUTS])
{
    struct ll_array array;
    struct ll_node *tree = ll_machine_tree(x, machine);
    const struct ll_array_unit *unit = ll_exported_array(x, machine, tree, "Timeloop", &array);
    if (!unit)
        return false;
    struct texts t = {x, unit, &array, only_gemms(unit)};
    double word = (double)ll_dtype_bits(ll_array_dtype(&machine->units[ll_array_find(machine)]));
    uint32_t inside = (1u << array.axes) - 1;
    ll_str_add(
        out, "architecture:\n  version: 0.4\n  nodes:\n  - !Container\n    name: system\n    attributes: {");
    ll_str_addf(out, "global_cycle_seconds: %.10g}\n", 1 / machine->units[ll_array_find(machine)].clock_hz);
    ll_take_path(tree, "clock");
    for (int s = array.stores - 1; s >= 0; s--) {
        uint32_t begins = inside & ~array.store[s].serves;
        if (array.store[s].serves & ~inside)
            return ll_complain(x->diags, (struct ll_place){.file = machine->stem},
                               "`%s` is shared along an axis along which what lies outside of it is not; "
                               "levels of Timeloop nest",
                               array.store[s].name);
        for (int a = 0; a < array.axes; a++)
            if (begins >> a & 1)
                put_axis(&t, a, out);
        inside = array.store[s].serves;
        put_store(&t, s, word, out);
    }
    for (int a = 0; a < array.axes; a++)
        if (inside >> a & 1)
            put_axis(&t, a, out);
    ll_str_add(out, "  - !Component\n    name: mac\n    class: intmac\n");
    put_energies(&array, out);
    for (uint64_t i = 0; i < unit->limit_count; i++)
        if (unit->limits[i][0] == 'D')
            ll_leave(x, "units.array.limits", (struct ll_place){0},
                     ll_said(x, "`%s`: factors of an axis are of one problem", unit->limits[i]));
    ll_leave_rest(x, tree, "", reasons);
    return true;
}
