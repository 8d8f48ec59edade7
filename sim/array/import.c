/* SPDX-License-Identifier: Apache-2.0 */
/* Both tools describe a chain of memories around an array. Those that serve all elements become levels of
 * memory, the others registers; what a file leaves open (a vector unit, bandwidth without limit) is said
 * to be assumed. */
#include "sim/array/import.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/machine/unit.h"

enum { MOST_STORES = 16, MOST_AXES = 6 };

/* A memory on its way from one file to the other. */
struct store {
    const char *name;
    double size_bits; /* 0: without limit */
    bool holds[LL_OPERAND_COUNT];
    unsigned serves; /* axes */
    struct ll_array_port port[LL_ARRAY_PORTS];
    int ports;
    double width_bits, read_pj, write_pj, update_pj, leak_pj; /* width 0: of the port */
    double word_bits, cell_ports;                             /* of Timeloop's; 0: not said */
    bool by_line;
};

struct chain {
    struct store store[MOST_STORES]; /* innermost first */
    int stores;
    uint64_t axis[MOST_AXES];
    int axes;
    double mac_pj;
    double hop_pj;  /* of a bit, on the innermost network that has a figure */
    double node_nm; /* 0: not said */
    int sum_bytes;
    const char *name, *counts, *dtype;
    struct ll_diags *diags;
};

static const char *const operand_names[] = {"input", "weight", "output"};

static double number_in(const struct ll_node *map, const char *key, double otherwise)
{
    const char *text = ll_node_get_text(map, key);
    char *end;
    double value = text ? ll_strtod(text, &end) : otherwise;
    return text && end == text ? otherwise : value;
}

static bool wrong(struct chain *c, const struct ll_node *node, const char *what)
{
    return ll_complain(c->diags, node->place, "%s", what);
}

/* --- writing --- */

static void write_accesses(const struct store *s, struct ll_str *out)
{
    ll_str_add(out, ", accesses: {");
    if (s->ports > 0)
        ll_str_add(out, "ports: [");
    for (int p = 0; p < s->ports; p++) {
        char text[LL_PORT_TEXT];
        ll_port_print(&s->port[p], text);
        ll_str_addf(out, "%s\"%s\"", p ? ", " : "", text);
    }
    if (s->ports > 0)
        ll_str_add(out, "], ");
    if (s->width_bits > 0)
        ll_str_addf(out, "width: %.10g, ", s->width_bits);
    ll_str_addf(out, "read_pj: %.10g, write_pj: %.10g", s->read_pj, s->write_pj);
    if (s->update_pj > 0 && s->update_pj != s->write_pj)
        ll_str_addf(out, ", update_pj: %.10g", s->update_pj);
    if (s->leak_pj > 0)
        ll_str_addf(out, ", leak_pj: %.10g", s->leak_pj);
    if (s->read_pj == 0 && s->write_pj == 0 && s->cell_ports > 1)
        ll_str_addf(out, ", cell_ports: %.0f", s->cell_ports);
    ll_str_addf(out, "%s}}\n", s->by_line ? ", by_line: true" : "");
}

static void write_store(const struct chain *c, const struct store *s, bool is_level, struct ll_str *out)
{
    double bytes = s->size_bits > 0 ? ceil(s->size_bits / 8) : 0x1p40, bits = 0;
    for (int p = 0; p < s->ports; p++)
        bits += s->port[p].width_bits;
    ll_str_addf(out, "%s- {name: %s, size: %.0fB", is_level ? "  " : "      ", s->name, bytes);
    if (is_level)
        ll_str_addf(out, ", bandwidth: %.10gB/cycle", bits > 0 ? bits / 8 : 1e6);
    if (!s->holds[0] || !s->holds[1] || !s->holds[2]) {
        const char *gap = ", holds: [";
        for (int o = 0; o < LL_OPERAND_COUNT; o++)
            if (s->holds[o]) {
                ll_str_addf(out, "%s%s", gap, operand_names[o]);
                gap = ", ";
            }
        ll_str_add(out, "]");
    }
    const char *gap = ", serves: [";
    for (int a = 0; a < c->axes && !is_level; a++)
        if (s->serves >> a & 1) {
            ll_str_addf(out, "%sD%d", gap, a + 1);
            gap = ", ";
        }
    if (!is_level && *gap == ',' && gap[2] == '\0')
        ll_str_add(out, "]");
    write_accesses(s, out);
}

static bool is_level(const struct chain *c, int i)
{
    for (int k = i; k < c->stores; k++)
        if (c->store[k].serves != (1u << c->axes) - 1)
            return false;
    return true;
}

/* Whether nothing has a figure of energy, so that a technology has to say it. */
static bool lacks_energy(const struct chain *c)
{
    bool lacks = c->mac_pj == 0;
    for (int i = 0; i < c->stores; i++)
        lacks = lacks && c->store[i].read_pj == 0 && c->store[i].write_pj == 0;
    return lacks;
}

static void write_machine(const struct chain *c, struct ll_str *out)
{
    bool scaled = lacks_energy(c) && c->node_nm > 0;
    ll_str_addf(
        out, "%sname: %s\nkind: custom\nclock: 1GHz\n\nunits:\n  - name: array\n    model: array\n    axes: ",
        scaled ? "inherits: technology/n45\n" : "", c->name);
    for (int a = 0; a < c->axes; a++)
        ll_str_addf(out, "%s%.0f", a ? "x" : "", (double)c->axis[a]);
    ll_str_addf(out, "%s\n    counts: %s\n", c->axes ? "" : "1", c->counts);
    if (c->hop_pj > 0)
        ll_str_addf(out, "    hop_pj: %.10g\n", c->hop_pj);
    if (c->stores > 0 && !is_level(c, 0))
        ll_str_add(out, "    registers:\n");
    for (int i = 0; i < c->stores && !is_level(c, i); i++)
        write_store(c, &c->store[i], false, out);
    ll_str_addf(out,
                "    macs: {%s: 1}\n    sum_bytes: %d\n    runs: [matrix, conv]\n  - name: lanes\n    model: "
                "vector\n    lanes: 64\n"
                "    flops: {int8: 1, i16: 1, i32: 1, f32: 1, bool: 1}\n\nmemory:\n",
                c->dtype, c->sum_bytes);
    for (int i = 0; i < c->stores; i++)
        if (is_level(c, i))
            write_store(c, &c->store[i], true, out);
    ll_str_add(out, "\nsoftware: {mapping: search}\n");
    if (c->mac_pj > 0)
        ll_str_addf(out, "energy: {mac_pj: {%s: %.10g}}\n", c->dtype, c->mac_pj);
    if (scaled)
        ll_str_addf(out, "energy: {node_nm: %.10g}\n", c->node_nm);
    ll_str_add(out, "\nsources:\n  clock: \"assumed: cycles are what counts\"\n  lanes.lanes: \"assumed: the "
                    "imported file has none\"\n"
                    "  array.sum_bytes: \"assumed: as wide as the imported file's tool has it\"\n");
}

static bool finish(struct chain *c, const struct ll_node *root, struct ll_str *out)
{
    if (c->stores == 0 || !is_level(c, c->stores - 1))
        return wrong(c, root, "expected memories, the outermost of which serves all elements");
    for (int o = 0; o < LL_OPERAND_COUNT; o++)
        c->store[c->stores - 1].holds[o] = true;
    write_machine(c, out);
    return true;
}

/* --- ZigZag --- */

static int operand_of(const char *name)
{
    return !strcmp(name, "I1")   ? LL_OPERAND_A
           : !strcmp(name, "I2") ? LL_OPERAND_B
           : !strcmp(name, "O")  ? LL_OPERAND_C
                                 : -1;
}

static int way_of(const char *direction)
{
    static const char *const directions[] = {"tl", "fh", "fl", "th"};
    for (int way = 0; way < LL_ARRAY_WAYS; way++)
        if (!strcmp(directions[way], direction))
            return way;
    return -1;
}

/* "I1, tl" */
static bool take_allocation(struct chain *c, const struct ll_node *node, struct ll_array_port *port)
{
    char operand[8] = "", direction[8] = "";
    size_t length = node->text ? strcspn(node->text, ", ") : 0;
    if (length == 0 || length >= sizeof operand)
        return wrong(c, node, "expected an operand and a direction, as I1, tl");
    memcpy(operand, node->text, length);
    const char *behind = node->text + length + strspn(node->text + length, ", ");
    if (strlen(behind) >= sizeof direction)
        return wrong(c, node, "expected an operand and a direction, as I1, tl");
    memcpy(direction, behind, strlen(behind));
    int o = operand_of(operand), way = way_of(direction);
    if (way < 0)
        return wrong(c, node, "expected a direction: fh, tl, fl or th");
    if (o >= 0) /* others are of no operand that is mapped */
        port->serves[o] |= (uint8_t)(1u << way);
    return true;
}

/* Ports with names, widths and what they serve. */
static bool take_ports(struct chain *c, const struct ll_node *ports, struct store *s)
{
    bool right = true;
    for (const struct ll_node *p = ports->first; p; p = p->next) {
        const struct ll_node *allocation = ll_node_get(p, "allocation");
        if (s->ports == LL_ARRAY_PORTS || !allocation)
            return wrong(c, p, "expected at most 8 ports with `allocation`");
        struct ll_array_port *port = &s->port[s->ports++];
        port->width_bits = number_in(p, "bandwidth_max", 0);
        port->min_bits = number_in(p, "bandwidth_min", port->width_bits);
        for (const struct ll_node *a = allocation->first; a; a = a->next)
            right &= take_allocation(c, a, port);
    }
    return right;
}

/* Ports by operand, as {fh: w_port_1, tl: r_port_1} for each of `operands`; widths stand beside them. */
static bool take_old_ports(struct chain *c, const struct ll_node *memory, struct store *s)
{
    static const char *const directions[] = {"tl", "fh", "fl", "th"};
    const char *names[LL_ARRAY_PORTS] = {0};
    const struct ll_node *operand = ll_node_get(memory, "operands")->first;
    for (const struct ll_node *p = ll_node_get(memory, "ports")->first; p && operand;
         p = p->next, operand = operand->next)
        for (int way = 0; way < LL_ARRAY_WAYS; way++) {
            const char *name = ll_node_get_text(p, directions[way]);
            int i = 0, o = operand->text ? operand_of(operand->text) : -1;
            if (!name || o < 0)
                continue;
            while (i < s->ports && strcmp(names[i], name) != 0)
                i++;
            if (i == LL_ARRAY_PORTS)
                return wrong(c, p, "more than 8 ports");
            bool writes = name[0] == 'w', reads = name[0] == 'r' && name[1] != 'w';
            if (i == s->ports) {
                names[s->ports++] = name;
                s->port[i].width_bits = number_in(memory, writes ? "w_bw" : "r_bw", 0);
                s->port[i].min_bits = number_in(memory, writes ? "min_w_granularity" : "min_r_granularity",
                                                s->port[i].width_bits);
            }
            (void)reads;
            s->port[i].serves[o] |= (uint8_t)(1u << way);
        }
    return true;
}

static bool take_memory(struct chain *c, const struct ll_node *memory)
{
    const struct ll_node *operands = ll_node_get(memory, "operands"), *ports = ll_node_get(memory, "ports"),
                         *served = ll_node_get(memory, "served_dimensions");
    if (c->stores == MOST_STORES || !operands || !ports || ports->type != LL_NODE_LIST)
        return wrong(c, memory, "expected at most 16 memories with `operands` and `ports`");
    struct store *s = &c->store[c->stores++];
    *s = (struct store){.name = memory->key,
                        .size_bits = number_in(memory, "size", 0),
                        .read_pj = number_in(memory, "r_cost", 0),
                        .write_pj = number_in(memory, "w_cost", 0)};
    for (const struct ll_node *o = operands->first; o; o = o->next)
        if (o->text && operand_of(o->text) >= 0)
            s->holds[operand_of(o->text)] = true;
    for (const struct ll_node *d = served ? served->first : NULL; d; d = d->next)
        if (d->text && d->text[0] == 'D' && d->text[1] > '0' && d->text[1] <= '0' + c->axes)
            s->serves |= 1u << (d->text[1] - '1');
    bool named = ports->first && ll_node_get(ports->first, "allocation");
    return named ? take_ports(c, ports, s) : take_old_ports(c, memory, s);
}

bool ll_array_import_zigzag(const struct ll_node *root, struct ll_str *yaml, struct ll_diags *diags)
{
    const struct ll_node *memories = ll_node_get(root, "memories"),
                         *array = ll_node_get(root, "operational_array");
    struct chain c = {.counts = "zigzag", .dtype = "int8", .sum_bytes = 2, .diags = diags};
    array = array ? array : ll_node_get(root, "multipliers");
    const struct ll_node *sizes = array ? ll_node_get(array, "sizes") : NULL;
    const char *name = ll_node_get_text(root, "name");
    if (!memories || memories->type != LL_NODE_MAP || !sizes || sizes->count > MOST_AXES)
        return wrong(&c, root,
                     "expected ZigZag's hardware: `memories`, and `operational_array` with `sizes`");
    c.name = name ? name : "imported";
    for (const struct ll_node *s = sizes->first; s; s = s->next)
        c.axis[c.axes++] = s->text ? strtoull(s->text, NULL, 10) : 1;
    c.mac_pj = number_in(array, "unit_energy", number_in(array, "multiplier_energy", 0));
    bool right = true;
    for (const struct ll_node *m = memories->first; m; m = m->next)
        right &= take_memory(&c, m);
    if (c.stores > 0) /* whatever it is said to serve */
        c.store[c.stores - 1].serves = (1u << c.axes) - 1;
    return right && finish(&c, root, yaml);
}

/* --- Timeloop --- */

/* The ERT's energy of an action of a component, or otherwise. */
static double energy_of(const struct ll_node *ert, const char *name, const char *action, double otherwise)
{
    const struct ll_node *tables = ert ? ll_node_get(ll_node_get(ert, "ERT"), "tables") : NULL;
    for (const struct ll_node *t = tables ? tables->first : NULL; t; t = t->next) {
        const char *path = ll_node_get_text(t, "name");
        const struct ll_node *actions = ll_node_get(t, "actions");
        size_t end = path ? strcspn(path, "[") : 0, length = strlen(name); /* system.part.NAME[1..16] */
        if (end < length || strncmp(path + end - length, name, length) != 0 ||
            (end > length && path[end - length - 1] != '.'))
            continue;
        for (const struct ll_node *a = actions ? actions->first : NULL; a; a = a->next)
            if (ll_node_get_text(a, "name") && !strcmp(ll_node_get_text(a, "name"), action))
                return number_in(a, "energy", otherwise);
    }
    return otherwise;
}

static bool lists(const struct ll_node *list, const char *word)
{
    for (const struct ll_node *i = list ? list->first : NULL; i; i = i->next)
        if (i->text && !strcmp(i->text, word))
            return true;
    return false;
}

static void take_kept(const struct ll_node *node, struct store *s)
{
    static const char *const spaces[] = {"Inputs", "Weights", "Outputs"};
    const struct ll_node *space = ll_node_get(ll_node_get(node, "constraints"), "dataspace");
    const struct ll_node *only = ll_node_get(space, "keep_only"), *bypass = ll_node_get(space, "bypass");
    for (int o = 0; o < LL_OPERAND_COUNT; o++)
        s->holds[o] = only ? lists(only, spaces[o]) : !lists(bypass, spaces[o]);
}

/* A number with a unit behind it, as 45nm. */
static double node_in(const struct ll_node *attributes)
{
    double nm = number_in(attributes, "technology", 0);
    return nm > 0 && nm < 1e-3 ? nm * 1e9 : nm; /* 45e-9, too */
}

/* What the network of a component takes: a bit to the next element by the wire's length and the router
 * behind it, or a word by hops. */
static void take_network(struct chain *c, const struct ll_node *a, double word_bits)
{
    double wire = number_in(a, "network_wire_energy", number_in(a, "wire_energy", 0)),
           width_mm = number_in(a, "network_tile_width", number_in(a, "tile_width", 0)),
           hop = number_in(a, "network_energy_per_hop", number_in(a, "energy_per_hop", 0)),
           router = number_in(a, "network_router_energy", number_in(a, "router_energy", 0));
    double hop_pj = (hop > 0 ? hop / word_bits : wire * width_mm) + router / word_bits;
    if (hop_pj > 0)
        c->hop_pj = hop_pj;
}

/* A component that converts what passes: results on their way out (ADC), inputs on their way in (DAC). The
 * memory around it takes each conversion with the access that it belongs to. */
static bool take_converter(struct chain *c, const struct ll_node *node, const struct ll_node *ert,
                           const char *name, bool is_adc)
{
    double each_pj = energy_of(ert, name, "convert", energy_of(ert, name, is_adc ? "read" : "drive", 0));
    if (c->stores == 0)
        return wrong(c, node, "expected a memory around a converter");
    struct store *s = &c->store[c->stores - 1];
    double words = s->width_bits > 0 && s->word_bits > 0 ? s->width_bits / s->word_bits : 1;
    if (is_adc) {
        s->update_pj = (s->update_pj > 0 ? s->update_pj : s->write_pj) + words * each_pj;
        return s->holds[LL_OPERAND_C] || wrong(c, node, "expected results in the memory around an ADC");
    }
    s->read_pj += words * each_pj;
    return (s->holds[LL_OPERAND_A] && !s->holds[LL_OPERAND_B] && !s->holds[LL_OPERAND_C]) ||
           wrong(c, node,
                 "a DAC converts inputs alone: expected a memory around it that keeps nothing else "
                 "(keep_only)");
}

/* A component that stores. */
static bool take_component(struct chain *c, const struct ll_node *node, const struct ll_node *ert,
                           const char *name)
{
    const struct ll_node *a = ll_node_get(node, "attributes");
    double word = number_in(a, "datawidth", 8), width = number_in(a, "width", word),
           depth = number_in(a, "depth", 0);
    double reads = number_in(a, "read_bandwidth", 0), writes = number_in(a, "write_bandwidth", 0);
    if (c->stores == MOST_STORES)
        return wrong(c, node, "more than 16 memories");
    struct store *s = &c->store[c->stores++];
    *s = (struct store){.name = name,
                        .size_bits = depth * width,
                        .width_bits = width,
                        .by_line = true,
                        .read_pj = energy_of(ert, name, "read", 0),
                        .write_pj = energy_of(ert, name, "write", 0),
                        .update_pj = energy_of(ert, name, "update", 0),
                        .leak_pj = energy_of(ert, name, "leak", 0),
                        .word_bits = word,
                        .cell_ports = number_in(a, "n_rdwr_ports", number_in(a, "n_rw_ports", 0)) +
                                      number_in(a, "n_rd_ports", 0) + number_in(a, "n_wr_ports", 0)};
    c->node_nm = fmax(c->node_nm, node_in(a));
    take_network(c, a, word);
    take_kept(node, s);
    if (reads > 0)
        s->port[s->ports++] = (struct ll_array_port){
            reads * word, reads * word, {1u << LL_ARRAY_READ, 1u << LL_ARRAY_READ, 1u << LL_ARRAY_READ}};
    if (writes > 0)
        s->port[s->ports++] = (struct ll_array_port){
            writes * word,
            writes * word,
            {1u << LL_ARRAY_FILL, 1u << LL_ARRAY_FILL, 1u << LL_ARRAY_FILL | 1u << LL_ARRAY_UPDATE}};
    return true;
}

/* Whether the class of a component is this kind of converter, as isaac_adc is. */
static bool is_converter(const struct ll_node *node, const char *kind, const char *capitals)
{
    const char *class = ll_node_get_text(node, "class"), *subclass = ll_node_get_text(node, "subclass");
    return (class && (strstr(class, kind) || strstr(class, capitals))) ||
           (subclass && (strstr(subclass, kind) || strstr(subclass, capitals)));
}

/* Elements side by side from this node inwards: further axes, which all memories outside of it serve. */
static bool take_mesh(struct chain *c, const struct ll_node *node)
{
    static const char *const keys[] = {"meshX", "meshY"};
    for (int i = 0; i < 2; i++) {
        double many = number_in(ll_node_get(node, "spatial"), keys[i], 1);
        if (many <= 1)
            continue;
        if (c->axes == MOST_AXES)
            return wrong(c, node, "more than 6 axes of elements");
        for (int s = 0; s < c->stores; s++)
            c->store[s].serves |= 1u << c->axes;
        c->axis[c->axes++] = (uint64_t)many;
    }
    return true;
}

bool ll_array_import_timeloop(const struct ll_node *root, const struct ll_node *ert, struct ll_str *yaml,
                              struct ll_diags *diags)
{
    const struct ll_node *nodes = ll_node_get(ll_node_get(root, "architecture"), "nodes");
    struct chain c = {
        .name = "imported", .counts = "timeloop", .dtype = "int8", .sum_bytes = 1, .diags = diags};
    bool right = true;
    if (!nodes || nodes->type != LL_NODE_LIST)
        return wrong(&c, root, "expected Timeloop's architecture: `architecture` with `nodes`");
    for (const struct ll_node *node = nodes->first; node && right; node = node->next) {
        const char *name = ll_node_get_text(node, "name");
        if (!name)
            return wrong(&c, node, "expected a node with a name");
        right = take_mesh(&c, node);
        if (!node->next) /* the multipliers */
            c.mac_pj = energy_of(ert, name, "compute", 0);
        else if (right && is_converter(node, "adc", "ADC"))
            right = take_converter(&c, node, ert, name, true);
        else if (right && is_converter(node, "dac", "DAC"))
            right = take_converter(&c, node, ert, name, false);
        else if (right && ll_node_get(node, "class"))
            right = take_component(&c, node, ert, name);
    }
    for (int i = 0, k = c.stores - 1; i < k; i++, k--) { /* outermost first there */
        struct store other = c.store[i];
        c.store[i] = c.store[k];
        c.store[k] = other;
    }
    return right && finish(&c, root, yaml);
}

const char *ll_array_without_tags(const char *text, struct ll_arena *arena)
{
    size_t length = strlen(text), kept = 0;
    char *out = ll_alloc(arena, length + 1, 1);
    for (size_t i = 0; out && i < length; i++) {
        bool begins = text[i] == '!' && i > 0 && text[i - 1] == ' ';
        while (begins && i < length && text[i] != ' ' && text[i] != '\n')
            i++;
        out[kept++] = text[i];
    }
    return out;
}
