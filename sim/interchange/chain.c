/* SPDX-License-Identifier: Apache-2.0 */
/* ZigZag and Timeloop describe a chain of memories around an array. Those that serve all elements become
 * levels of memory, the others registers. What neither of them has (lanes for what is no GEMM) is assumed. */
#include "sim/interchange/chain.h"

#include <math.h>
#include <string.h>

static const char *const operands[] = {"input", "weight", "output"};

struct ll_chain_store *ll_chain_add(struct ll_interchange *x, struct ll_chain *chain,
                                    const struct ll_node *node, const char *name)
{
    if (chain->stores == LL_CHAIN_STORES) {
        ll_complain(x->diags, node->place, "more than %d memories; expected at most as many",
                    LL_CHAIN_STORES);
        return NULL;
    }
    struct ll_chain_store *store = &chain->store[chain->stores++];
    *store = (struct ll_chain_store){.name = ll_fit_name(x, name)};
    for (int i = 0, again = 2; i + 1 < chain->stores; i++)
        if (!strcmp(chain->store[i].name, store->name)) {
            store->name = ll_fit_name(x, ll_said(x, "%.36s_%d", name, again++));
            i = -1;
        }
    return store;
}

void ll_chain_cap_size(struct ll_interchange *x, struct ll_chain_store *store, struct ll_place place)
{
    static const double most_bits = 8 * 0x1p50;
    if (store->size_bits > most_bits) {
        ll_leave(x, ll_said(x, "%s.size", store->name), place, "a memory has at most 1 PiB");
        store->size_bits = most_bits;
    }
}

bool ll_chain_say(struct ll_interchange *x, struct ll_chain_texts *texts, const struct ll_node *node,
                  const char *text)
{
    for (int i = 0; i < texts->count; i++)
        if (!strcmp(texts->at[i], text))
            return true;
    if (texts->count == LL_CHAIN_TEXTS)
        return ll_complain(x->diags, node->place, "more than %d constraints of the array", LL_CHAIN_TEXTS);
    texts->at[texts->count++] = text;
    return true;
}

bool ll_chain_is_level(const struct ll_chain *chain, int store)
{
    for (; store < chain->stores; store++)
        if (chain->store[store].serves != (1u << chain->axes) - 1)
            return false;
    return true;
}

static void put_accesses(const struct ll_chain_store *s, struct ll_str *out)
{
    const char *gap = "";
    ll_str_add(out, ", accesses: {");
    if (s->ports > 0)
        ll_str_add(out, "ports: [");
    for (int p = 0; p < s->ports; p++) {
        char text[LL_PORT_TEXT];
        ll_port_print(&s->port[p], text);
        ll_str_addf(out, "%s\"%s\"", p ? ", " : "", text);
    }
    if (s->ports > 0) {
        ll_str_add(out, "]");
        gap = ", ";
    }
    const struct {
        const char *key;
        double value;
        bool there;
    } keys[] = {{"width", s->width_bits, s->width_bits > 0},
                {"read_pj", s->read_pj, s->read_pj > 0 || s->write_pj > 0},
                {"write_pj", s->write_pj, s->read_pj > 0 || s->write_pj > 0},
                {"update_pj", s->update_pj, s->update_pj > 0 && s->update_pj != s->write_pj},
                {"leak_pj", s->leak_pj, s->leak_pj > 0},
                {"cluster", s->cluster, s->cluster > 1},
                {"cell_ports", s->cell_ports, s->cell_ports > 1 && s->read_pj == 0 && s->write_pj == 0}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].there) {
            ll_str_addf(out, "%s%s: %.10g", gap, keys[i].key, keys[i].value);
            gap = ", ";
        }
    if (s->by_line)
        ll_str_addf(out, "%sby_line: true", gap);
    ll_str_add(out, "}}\n");
}

static void put_store(const struct ll_chain *c, const struct ll_chain_store *s, bool level,
                      struct ll_str *out)
{
    double bytes = s->size_bits > 0 ? ceil(s->size_bits / 8) : 0x1p40, bits = 0;
    for (int i = 0; i < c->stores && s->size_bits == 0; i++) /* without limit: room for all inside */
        bytes = fmax(bytes, ceil(c->store[i].size_bits / 8));
    for (int p = 0; p < s->ports; p++)
        bits += s->port[p].width_bits;
    ll_str_addf(out, "%s- {name: %s, size: %.0fB", level ? "  " : "      ", s->name, bytes);
    if (level)
        ll_str_addf(out, ", bandwidth: %.10gB/cycle", bits > 0 ? bits / 8 : 1e6);
    if (!s->holds[0] || !s->holds[1] || !s->holds[2]) {
        const char *gap = ", holds: [";
        for (int o = 0; o < LL_OPERAND_COUNT; o++)
            if (s->holds[o]) {
                ll_str_addf(out, "%s%s", gap, operands[o]);
                gap = ", ";
            }
        ll_str_add(out, "]");
    }
    const char *gap = ", serves: [";
    for (int a = 0; a < c->axes && !level; a++)
        if (s->serves >> a & 1) {
            ll_str_addf(out, "%sD%d", gap, a + 1);
            gap = ", ";
        }
    if (!level && *gap == ',' && gap[2] == '\0')
        ll_str_add(out, "]");
    put_accesses(s, out);
}

static void put_texts(const struct ll_chain_texts *texts, const char *key, struct ll_str *out)
{
    if (texts->count > 0)
        ll_str_addf(out, "    %s:\n", key);
    for (int i = 0; i < texts->count; i++) {
        ll_str_add(out, "      - ");
        ll_put_quoted(out, texts->at[i]);
        ll_str_add(out, "\n");
    }
}

/* An element multiplies words of the file's type, and wider ones, as fast: neither tool asks for types. */
static void put_macs(const struct ll_chain *c, struct ll_str *out)
{
    static const struct {
        const char *name;
        int bits;
        bool common; /* whatever type the file has */
    } types[] = {{"int2", 2, false}, {"int4", 4, true},  {"int8", 8, true}, {"i16", 16, true},
                 {"f16", 16, true},  {"bf16", 16, true}, {"f32", 32, true}, {"i32", 32, false},
                 {"f64", 64, false}, {"i64", 64, false}};
    size_t own = 0, count = sizeof types / sizeof *types;
    while (own + 1 < count && strcmp(types[own].name, c->dtype) != 0)
        own++;
    ll_str_addf(out, "    macs: {%s: %.10g", types[own].name, c->macs > 0 ? c->macs : 1);
    for (size_t i = 0; i < count && !c->one_type; i++)
        if (i != own && types[i].common && types[i].bits >= types[own].bits)
            ll_str_addf(out, ", %s: 1", types[i].name);
    ll_str_add(out, "}\n");
}

void ll_chain_put_unit(const struct ll_chain *c, const char *name, struct ll_str *out)
{
    ll_str_addf(out, "  - name: %s\n    model: array\n    axes: ", name);
    for (int a = 0; a < c->axes; a++)
        ll_str_addf(out, "%s%.0f", a ? "x" : "", (double)c->axis[a]);
    ll_str_addf(out, "%s\n    counts: %s\n", c->axes ? "" : "1", c->counts);
    if (c->stores > 0 && !ll_chain_is_level(c, 0))
        ll_str_add(out, "    registers:\n");
    for (int i = 0; i < c->stores && !ll_chain_is_level(c, i); i++)
        put_store(c, &c->store[i], false, out);
    put_texts(&c->unroll, "unroll", out);
    put_texts(&c->limits, "limits", out);
    put_texts(&c->given, "mapping", out);
    if (c->hop_pj > 0)
        ll_str_addf(out, "    hop_pj: %.10g\n", c->hop_pj);
    if (c->gated)
        ll_str_add(out, "    gated: true\n");
    put_macs(c, out);
    ll_str_addf(out, "    sum_bytes: %d\n    runs: [matrix, conv]\n", c->sum_bytes);
}

void ll_chain_put_level(const struct ll_chain *chain, const struct ll_chain_store *store, struct ll_str *out)
{
    put_store(chain, store, true, out);
}

static void put_sources(struct ll_interchange *x, const struct ll_chain *c, struct ll_str *out)
{
    const char *source = ll_said(x, "imported: %s", c->tool);
    const char *energy = c->mac_pj > 0 ? "mac_pj" : c->node_nm > 0 ? "node_nm" : NULL;
    ll_str_add(out, "\nsources:\n  clock: ");
    ll_put_quoted(out, c->clock_source);
    ll_str_add(out, "\n  units.array: ");
    ll_put_quoted(out, source);
    ll_str_add(out, "\n  array.macs: \"assumed: an element multiplies words of any type in a cycle, as in "
                    "the tool of the imported file\"\n"
                    "  array.sum_bytes: \"assumed: as wide as the tool of the imported file has it\"\n"
                    "  lanes.lanes: \"assumed: the imported file has none\"\n  lanes.flops: \"assumed: one "
                    "operation a lane and cycle\"\n");
    for (int i = 0; i < c->stores; i++)
        if (ll_chain_is_level(c, i)) {
            ll_str_addf(out, "  memory.%s: ", c->store[i].name);
            ll_put_quoted(out, source);
            ll_str_add(out, "\n");
        }
    ll_str_add(out, "  software.mapping: \"chosen: the array searches for the mappings of all work\"\n");
    if (energy) {
        ll_str_addf(out, "  energy.%s: ", energy);
        ll_put_quoted(out, source);
        ll_str_add(out, "\n");
    }
    if (c->area_mm2 > 0) {
        ll_str_add(out, "  area: ");
        ll_put_quoted(out, source);
        ll_str_add(out, "\n");
    }
}

/* Where no memory holds all operands at the end, one without limit does. */
static bool add_outside(struct ll_interchange *x, struct ll_chain *c, const struct ll_node *node)
{
    struct ll_chain_store *outside = ll_chain_add(x, c, node, "outside");
    if (!outside)
        return false;
    outside->serves = (1u << c->axes) - 1;
    outside->by_line = c->store[0].by_line;
    for (int o = 0; o < LL_OPERAND_COUNT; o++)
        outside->holds[o] = true;
    ll_assume(x, ll_said(x, "memory.%s", outside->name),
              "no memory of the file holds all operands in the end; one without limit does");
    return true;
}

bool ll_chain_put(struct ll_interchange *x, struct ll_chain *c, const struct ll_node *node,
                  struct ll_str *out)
{
    if (c->stores == 0 || !ll_chain_is_level(c, c->stores - 1))
        return ll_complain(x->diags, node->place,
                           "expected memories, the outermost of which serves all elements");
    const bool *holds = c->store[c->stores - 1].holds;
    if (!(holds[0] && holds[1] && holds[2]) && !add_outside(x, c, node))
        return false;
    if (c->inherits)
        ll_str_addf(out, "inherits: [%s]\n", c->inherits);
    ll_str_add(out, "name: ");
    ll_put_quoted(out, c->name);
    ll_str_addf(out, "\nkind: custom\nclock: %s\n\nunits:\n", c->clock);
    ll_chain_put_unit(c, "array", out);
    ll_str_add(out,
               "  - name: lanes\n    model: vector\n    lanes: 64\n    flops: {int8: 1, i16: 1, i32: 1, i64: "
               "1, f16: 1, bf16: 1, f32: 1, bool: 1}\n\nmemory:\n");
    for (int i = 0; i < c->stores; i++)
        if (ll_chain_is_level(c, i))
            put_store(c, &c->store[i], true, out);
    ll_str_add(out, "\nsoftware: {mapping: search}\n");
    if (c->mac_pj > 0)
        ll_str_addf(out, "energy: {mac_pj: {%s: %.10g}}\n", c->dtype, c->mac_pj);
    else if (c->node_nm > 0)
        ll_str_addf(out, "energy: {node_nm: %.10g}\n", c->node_nm);
    if (c->area_mm2 > 0)
        ll_str_addf(out, "area: {fixed_mm2: %.10g}\n", c->area_mm2);
    put_sources(x, c, out);
    ll_assume(x, "units.lanes", "the file has no unit for what is no GEMM or convolution");
    if (!c->one_type)
        ll_assume(x, "units.array.macs", "an element multiplies words of any type in a cycle");
    if (strncmp(c->clock_source, "assumed", 7) == 0)
        ll_assume(x, "clock", "the file counts cycles; each takes a nanosecond");
    return true;
}
