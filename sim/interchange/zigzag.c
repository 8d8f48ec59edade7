/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware of ZigZag (Mei et al., IEEE Transactions on Computers 70, 2021): `memories`, innermost first,
 * each with the operands that it holds, its ports and the dimensions of the array whose elements share it;
 * `operational_array`, or `multipliers` before 3.8. Ports are a list with names, widths and what they
 * serve, or one map of directions for each operand, with widths beside them. A mapping file says which
 * loops run along which dimension.
 *
 * Directions: fh is written from outside (fill), tl read by what lies inside (read), fl written from
 * inside (update), th read towards the outside (drain).
 *
 * A system of Stream, which names cores, is read by stream.c. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/array/machine.h"
#include "sim/interchange/zigzag.h"

#define MOST_BITS 1e18
#define MOST_PORT_BITS 1e9
#define MOST_PJ 1e12

static const char *const directions[] = {"tl", "fh", "fl", "th"}; /* by enum ll_array_way */

static const struct ll_why reasons[] = {
    {"area", "areas of single memories have no place here; ZigZag gives them no unit"},
    {"unit_area", "areas of single elements have no place here; ZigZag gives them no unit"},
    {"multiplier_area", "areas of single elements have no place here; ZigZag gives them no unit"},
    {"latency", "ZigZag itself does not use it"},
    {"mem_type", "CACTI is not run; costs are taken as they are written"},
    {"double_buffering", "whether tiles are doubled follows from their size, as by default in ZigZag"},
    {"utilization", "whether elements idle follows from the mapping"},
    {"temporal_ordering", "the search looks at all orders"},
    {"temporal_mapping", "the search looks at all orders"},
    {"spatial_mapping_hint", "the search looks at all unrollings that `spatial_mapping` allows"},
    {"kernel", "kernels of single operators are not modelled"},
    {"operator_types", "the kind of an op decides which unit runs it"},
    {"type", "what a core is counts in a system of Stream"},
    {"operand_precision", "the trace says the types of operands"},
    {NULL, "no key of ZigZag's hardware or mapping that is known here"},
};

const struct ll_why *ll_zigzag_reasons(void)
{
    return reasons;
}

/* Which operand of ours I1, I2 and O are: `memory_operand_links` of a mapping may say otherwise. */
static int operand_of(const struct ll_zigzag_links *links, const char *name)
{
    return !strcmp(name, "O")    ? LL_OPERAND_C
           : !strcmp(name, "I1") ? (links->swapped ? LL_OPERAND_B : LL_OPERAND_A)
           : !strcmp(name, "I2") ? (links->swapped ? LL_OPERAND_A : LL_OPERAND_B)
                                 : -1;
}

/* One memory being read. */
struct memory {
    struct ll_interchange *x;
    const struct ll_zigzag_links *links;
    struct ll_chain_store *store;
};

static bool wrong(struct ll_interchange *x, const struct ll_node *node, const char *expected)
{
    return ll_complain(x->diags, node->place, "`%s`: expected %s", ll_node_shown(node).text, expected);
}

/* "I1, tl" */
static bool take_allocation(struct memory *m, const struct ll_node *node, struct ll_array_port *port)
{
    static const char expected[] = "an operand (I1, I2, O) and a direction (fh, tl, fl, th), as I1, tl";
    char operand[8] = "", direction[8] = "";
    size_t length = node->text ? strcspn(node->text, ", ") : 0;
    if (length == 0 || length >= sizeof operand)
        return wrong(m->x, node, expected);
    memcpy(operand, node->text, length);
    const char *behind = node->text + length + strspn(node->text + length, ", ");
    if (strlen(behind) >= sizeof direction)
        return wrong(m->x, node, expected);
    memcpy(direction, behind, strlen(behind));
    int o = operand_of(m->links, operand), way = 0;
    while (way < LL_ARRAY_WAYS && strcmp(directions[way], direction) != 0)
        way++;
    if (o < 0 || way == LL_ARRAY_WAYS)
        return wrong(m->x, node, expected);
    if (o == LL_OPERAND_C || way == LL_ARRAY_READ || way == LL_ARRAY_FILL)
        port->serves[o] |= (uint8_t)(1u << way);
    return true;
}

static bool serves_something(const struct ll_array_port *port)
{
    return port->serves[0] || port->serves[1] || port->serves[2];
}

/* Ports with names, widths and what they serve. */
static bool take_ports(struct memory *m, const struct ll_node *ports)
{
    bool right = true;
    for (struct ll_node *p = ports->first; p; p = p->next) {
        struct ll_node *allocation = ll_take(p, "allocation");
        struct ll_array_port port = {0};
        p->taken = true;
        ll_take_text(p, "name");
        ll_take_text(p, "type");
        if (m->store->ports == LL_ARRAY_PORTS || !allocation || allocation->type != LL_NODE_LIST)
            return ll_complain(m->x->diags, p->place, "expected at most %d ports, each with `allocation`",
                               LL_ARRAY_PORTS);
        right &= ll_take_number(m->x, p, "bandwidth_max", 1, MOST_PORT_BITS, 0, &port.width_bits);
        right &= ll_take_number(m->x, p, "bandwidth_min", 1, MOST_PORT_BITS, port.width_bits, &port.min_bits);
        if (right && (port.width_bits == 0 || port.min_bits > port.width_bits))
            right = ll_complain(m->x->diags, p->place,
                                "expected `bandwidth_max`, in bits a cycle, no less than `bandwidth_min`");
        for (const struct ll_node *a = allocation->first; a; a = a->next)
            right &= take_allocation(m, a, &port);
        if (serves_something(&port))
            m->store->port[m->store->ports++] = port;
    }
    return right;
}

/* Whether a port's name says that it reads, that it writes: r_port_1, w_port_1, rw_port_1. */
static bool name_reads(const char *name)
{
    return name[0] == 'r' || name[1] == 'r';
}

static bool name_writes(const char *name)
{
    return name[0] == 'w' || name[1] == 'w';
}

/* Ports by operand, as {fh: w_port_1, tl: r_port_1} for each of `operands`; widths stand beside them. */
static bool take_port_names(struct memory *m, const struct ll_node *memory, const struct ll_node *operands,
                            const struct ll_node *ports)
{
    const char *names[LL_ARRAY_PORTS] = {0};
    double width[2], least[2];
    bool right = ll_take_number(m->x, memory, "r_bw", 1, MOST_PORT_BITS, 0, &width[0]) &&
                 ll_take_number(m->x, memory, "w_bw", 1, MOST_PORT_BITS, width[0], &width[1]) &&
                 ll_take_number(m->x, memory, "min_r_granularity", 1, MOST_PORT_BITS, width[0], &least[0]) &&
                 ll_take_number(m->x, memory, "min_w_granularity", 1, MOST_PORT_BITS, width[1], &least[1]);
    if (right && width[0] == 0)
        return ll_complain(m->x->diags, memory->place, "expected `r_bw` and `w_bw`, in bits a cycle");
    const struct ll_node *operand = operands->first;
    for (struct ll_node *p = ports->first; right && p && operand; p = p->next, operand = operand->next) {
        int o = operand->text ? operand_of(m->links, operand->text) : -1;
        p->taken = true;
        for (int way = 0; way < LL_ARRAY_WAYS; way++) {
            const char *name = ll_take_text(p, directions[way]);
            int i = 0;
            if (!name || o < 0 || (o != LL_OPERAND_C && way >= LL_ARRAY_UPDATE))
                continue;
            while (i < m->store->ports && strcmp(names[i], name) != 0)
                i++;
            if (i == LL_ARRAY_PORTS)
                return ll_complain(m->x->diags, p->place, "more than %d ports", LL_ARRAY_PORTS);
            if (i == m->store->ports) {
                int side = !name_reads(name) && name_writes(name);
                names[m->store->ports++] = name;
                m->store->port[i] = (struct ll_array_port){.width_bits = width[side],
                                                           .min_bits = fmin(least[side], width[side])};
            }
            m->store->port[i].serves[o] |= (uint8_t)(1u << way);
        }
    }
    return right;
}

/* [D1, D2]: a bit for each. */
static bool take_served(struct memory *m, const struct ll_node *served, int axes)
{
    for (struct ll_node *d = served->first; d; d = d->next) {
        char *end = NULL;
        unsigned long axis = d->text && *d->text == 'D' ? strtoul(d->text + 1, &end, 10) : 0;
        if (axis < 1 || axis > LL_CHAIN_AXES || *end)
            return wrong(m->x, d, "a dimension of the array, as D1");
        if (axis <= (unsigned long)axes) /* of others there is one element */
            m->store->serves |= 1u << (axis - 1);
    }
    return true;
}

static bool take_memory(struct ll_interchange *x, const struct ll_zigzag_links *links, struct ll_node *memory,
                        struct ll_chain *chain)
{
    struct ll_node *operands = ll_take(memory, "operands"), *ports = ll_take(memory, "ports"),
                   *served = ll_take(memory, "served_dimensions");
    memory->taken = true;
    if (!operands || operands->type != LL_NODE_LIST || !ports || ports->type != LL_NODE_LIST)
        return ll_complain(x->diags, memory->key_place,
                           "memory `%s`: expected `operands` and `ports`, a list each",
                           ll_shown_text(memory->key).text);
    struct memory m = {x, links, ll_chain_add(x, chain, memory, memory->key)};
    if (!m.store)
        return false;
    static const char *const counts[] = {"r_port", "w_port", "rw_port"};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        ll_take_text(memory, counts[i]); /* `ports` says it too */
    bool right = ll_take_number(x, memory, "size", 1, MOST_BITS, 0, &m.store->size_bits) &&
                 ll_take_number(x, memory, "r_cost", 0, MOST_PJ, 0, &m.store->read_pj) &&
                 ll_take_number(x, memory, "w_cost", 0, MOST_PJ, 0, &m.store->write_pj);
    if (right && m.store->size_bits == 0)
        right = ll_complain(x->diags, memory->key_place, "memory `%s`: expected `size`, in bits",
                            ll_shown_text(memory->key).text);
    ll_chain_cap_size(x, m.store, memory->key_place);
    if (ll_take_bool(memory, "auto_cost_extraction", false))
        ll_leave(x, ll_said(x, "memories.%s.auto_cost_extraction", memory->key), memory->key_place,
                 "CACTI is not run; costs are taken as they are written");
    for (const struct ll_node *o = operands->first; o; o = o->next) {
        int operand = o->text ? operand_of(links, o->text) : -1;
        if (operand < 0)
            return wrong(x, o, "an operand: I1, I2 or O");
        m.store->holds[operand] = true;
    }
    if (!operands->first)
        return wrong(x, operands, "an operand: I1, I2 or O");
    if (served && !take_served(&m, served, chain->axes))
        return false;
    bool named = ports->first && ll_node_get(ports->first, "allocation");
    return right && (named ? take_ports(&m, ports) : take_port_names(&m, memory, operands, ports));
}

/* --- what runs side by side --- */

/* A loop of ZigZag's as one of our convolutions, of our GEMMs: "" for none. */
static const struct {
    const char *zigzag, *conv, *gemm;
} loops[] = {{"K", "K", "N"}, {"C", "C", "K"},  {"OX", "OX", "M"}, {"OY", "OY", "M"}, {"B", "B", "B,M"},
             {"G", "G", "B"}, {"FX", "FX", ""}, {"FY", "FY", ""},  {"D", "", "M"},    {"D0", "", "M"},
             {"D1", "", "N"}, {"D2", "", "K"},  {"N", "K", "N"},   {"M", "OX", "M"}};

/* The loops of an axis, as "C,FX", in words of convolutions or of GEMMs. */
static bool axis_loops(struct ll_interchange *x, const struct ll_node *list, bool gemm, struct ll_str *out)
{
    size_t before = out->length;
    const struct ll_node *item = list->type == LL_NODE_LIST ? list->first : list;
    for (; item; item = list->type == LL_NODE_LIST ? item->next : NULL) {
        char word[8] = "";
        size_t length = item->text ? strcspn(item->text, ", ") : 0, i = 0;
        if (length == 0 || length >= sizeof word)
            return wrong(x, item, "a loop and how often it is unrolled, as K, 32");
        for (size_t c = 0; c < length; c++)
            word[c] = (char)toupper((unsigned char)item->text[c]);
        while (i < sizeof loops / sizeof *loops && strcmp(loops[i].zigzag, word) != 0)
            i++;
        if (i == sizeof loops / sizeof *loops)
            return wrong(x, item,
                         "a loop of a convolution (K, C, OX, OY, FX, FY, B, G) or a GEMM (D0, D1, D2)");
        const char *ours = gemm ? loops[i].gemm : loops[i].conv;
        if (*ours && !(out->text && out->length > before && strstr(out->text + before, ours)))
            ll_str_addf(out, "%s%s", out->length > before ? "," : "", ours);
    }
    return true;
}

/* Loops and how often each is unrolled, over all axes together: "K8 C8 OX2". A loop of GEMMs is the one of
 * convolutions that it would be with filters of one pixel. */
static const char *all_loops(struct ll_interchange *x, const struct ll_node *map)
{
    static const char *const convs[] = {"K", "C", "OX", "OY", "FX", "FY", "B", "G"};
    double by[sizeof convs / sizeof *convs];
    struct ll_str text = {0};
    for (size_t c = 0; c < sizeof convs / sizeof *convs; c++)
        by[c] = 1;
    for (const struct ll_node *d = map->first; d; d = d->next)
        for (const struct ll_node *item = d->first; item; item = item->next) {
            size_t length = item->text ? strcspn(item->text, ", ") : 0, i = 0, c = 0;
            double many =
                length ? ll_strtod(item->text + length + strspn(item->text + length, ", "), NULL) : 1;
            while (i < sizeof loops / sizeof *loops &&
                   (strlen(loops[i].zigzag) != length || strncmp(loops[i].zigzag, item->text, length) != 0))
                i++;
            if (i == sizeof loops / sizeof *loops)
                continue;
            const char *conv = *loops[i].conv          ? loops[i].conv
                               : *loops[i].gemm == 'M' ? "OX"
                               : *loops[i].gemm == 'N' ? "K"
                                                       : "C";
            while (strcmp(convs[c], conv) != 0)
                c++;
            by[c] *= fmax(1, floor(many));
        }
    for (size_t c = 0; c < sizeof convs / sizeof *convs; c++)
        if (by[c] > 1)
            ll_str_addf(&text, "%s%s%.0f", text.length ? " " : "", convs[c], by[c]);
    const char *said = text.length ? ll_said(x, "%s", text.text) : NULL;
    ll_str_release(&text);
    return said;
}

/* {D1: ["K, 32"], D2: ["C, 32"]} becomes a way to unroll convolutions and one to unroll GEMMs. */
static bool take_unrolls(struct ll_interchange *x, struct ll_node *map, struct ll_chain *chain)
{
    bool right =
        map->type == LL_NODE_MAP || wrong(x, map, "dimensions and their loops, as {D1: [\"K, 32\"]}");
    ll_take_all(map);
    chain->side_by_side = right ? all_loops(x, map) : NULL;
    for (int gemm = 0; right && gemm < 2; gemm++) {
        struct ll_str way = {0};
        for (const struct ll_node *d = map->first; right && d; d = d->next) {
            struct ll_str ours = {0};
            char *end = NULL;
            unsigned long axis = *d->key == 'D' ? strtoul(d->key + 1, &end, 10) : 0;
            if (axis < 1 || axis > LL_CHAIN_AXES || *end)
                right = ll_complain(x->diags, d->key_place, "`%s`: expected a dimension of the array, as D1",
                                    ll_shown_text(d->key).text);
            else if (axis <= (unsigned long)chain->axes)
                right = axis_loops(x, d, gemm == 1, &ours);
            if (right && ours.length > 0)
                ll_str_addf(&way, " D%lu:%s", axis, ours.text);
            ll_str_release(&ours);
        }
        if (right && way.length > 0)
            right =
                ll_chain_say(x, &chain->unroll, map, ll_said(x, "%s%s", gemm ? "gemm" : "conv", way.text));
        ll_str_release(&way);
    }
    return right;
}

/* A mapping file is a list of entries, one of which is `default`; others are of single operators. */
static bool take_mapping(struct ll_interchange *x, struct ll_node *list, struct ll_chain *chain)
{
    bool right = true;
    for (struct ll_node *entry = list->first; right && entry; entry = entry->next) {
        const char *name = ll_take_text(entry, "name");
        if (!name || strcmp(name, "default") != 0) {
            ll_leave(x, name ? ll_said(x, "mapping.%s", name) : "mapping", entry->place,
                     "ways to unroll hold for all ops here; only the entry `default` is taken");
            ll_take_all(entry);
            continue;
        }
        struct ll_node *spatial = ll_take(entry, "spatial_mapping");
        ll_take_text(entry, "core_allocation_is_fixed");
        struct ll_node *cores = ll_take(entry, "core_allocation");
        if (cores)
            ll_take_all(cores);
        if (spatial)
            right = take_unrolls(x, spatial, chain);
        ll_leave_rest(x, entry, "mapping.default", reasons);
    }
    return right;
}

/* `memory_operand_links: {O: O, W: I1, I: I2}`: weights in the memories of I1. */
static struct ll_zigzag_links links_of(const struct ll_node *mapping)
{
    struct ll_zigzag_links links = {false};
    for (const struct ll_node *entry = mapping ? mapping->first : NULL; entry; entry = entry->next) {
        struct ll_node *map = ll_node_get(entry, "memory_operand_links");
        const char *weights = ll_node_get_text(map, "W"), *name = ll_node_get_text(entry, "name");
        if (map && name && !strcmp(name, "default")) {
            ll_take_all(map);
            links.swapped = weights && !strcmp(weights, "I1");
        }
    }
    return links;
}

/* --- the array --- */

/* Bits of an adder tree that sums `count` words of `bits`: half as many adders from step to step, of a bit
 * more. */
static double tree_bits(double count, double bits)
{
    double sum = 0;
    for (; count > 1; count = ceil(count / 2), bits++)
        sum += floor(count / 2) * bits;
    return sum;
}

/* Energy of a multiplication in an array that computes in memory, in pJ: cells that multiply a bit, of
 * 0.28 fJ; then logic, adders of 3.4 fJ a bit and registers of 5.1 fJ a bit; or converters, of (100 b +
 * 0.001 4^b) V^2 fJ (ADC) and 50 b V^2 fJ (DAC, none for a bit), at 0.9 V. Houshmand et al., 2023; 28 nm,
 * as in ZigZag 3.8. */
static double in_memory_pj(const struct ll_chain *chain, bool analog, const double bits[2], double serial,
                           double adc_bits)
{
    double rows = chain->axes > 1 ? (double)chain->axis[1] : 1,
           columns = chain->axes > 0 ? (double)chain->axis[0] : 1;
    double steps = bits[0] / serial, fJ = 0.28 * serial * bits[1], volts = 0.9;
    double sum_bits = bits[1] + serial - 1 + ceil(log2(rows));
    if (analog)
        fJ += bits[1] * (100 * adc_bits + 0.001 * pow(4, adc_bits)) * volts * volts / rows +
              (serial > 1 ? 50 * serial * volts * volts / columns : 0);
    else
        fJ += 3.4 * tree_bits(rows, bits[1] + serial - 1) / rows;
    return steps * (fJ + 5.1 * (sum_bits + bits[0]) / rows) / 1000;
}

static bool take_in_memory(struct ll_interchange *x, const struct ll_node *array, struct ll_chain *chain,
                           const double bits[2])
{
    const char *type = ll_take_text(array, "imc_type");
    double serial, adc_bits;
    if (!ll_take_number(x, array, "bit_serial_precision", 1, 64, 1, &serial) ||
        !ll_take_number(x, array, "adc_resolution", 0, 32, 0, &adc_bits))
        return false;
    bool analog = type && !strcmp(type, "analog");
    chain->one_type = true;
    chain->macs = fmin(1, serial / bits[0]);
    if (chain->mac_pj == 0)
        chain->mac_pj = in_memory_pj(chain, analog, bits, serial, adc_bits);
    ll_leave(x, "operational_array.imc_type", array->key_place,
             analog ? "energy of cells' lines and the period of the clock, which ZigZag sums up from circuits"
                    : "the period of the clock, which ZigZag sums up from gates");
    return true;
}

/* The narrowest integers that have room for both operands; partial sums are at least as wide. */
static void take_dtype(struct ll_interchange *x, const struct ll_node *precision, const double bits[2],
                       struct ll_chain *chain)
{
    static const struct {
        const char *name;
        int bits;
    } types[] = {{"int2", 2}, {"int4", 4}, {"int8", 8}, {"i16", 16}, {"i32", 32}, {"i64", 64}};
    size_t i = 0;
    while (types[i].bits < fmax(bits[0], bits[1])) /* at most 64 */
        i++;
    chain->dtype = types[i].name;
    chain->sum_bytes = types[i].bits > 16 ? types[i].bits / 8 : 2;
    if (bits[0] != types[i].bits || bits[1] != types[i].bits)
        ll_leave(x, "operational_array.input_precision", precision->key_place,
                 ll_said(x, "operands of %.10g and %.10g bits are multiplied as %s", bits[0], bits[1],
                         types[i].name));
}

static bool take_array(struct ll_interchange *x, struct ll_node *root, struct ll_chain *chain)
{
    struct ll_node *array = ll_take(root, "operational_array");
    array = array ? array : ll_take(root, "multipliers");
    struct ll_node *sizes = ll_take(array, "sizes"), *dimensions = ll_take(array, "dimensions"),
                   *precision = ll_take(array, "input_precision"), *dataflows = ll_take(root, "dataflows");
    double bits[2] = {8, 8}, size;
    bool empty = false; /* a core that holds or hands on what others compute */
    int given = 0;
    if (!array || !sizes || sizes->type != LL_NODE_LIST || sizes->count > LL_CHAIN_AXES)
        return ll_complain(x->diags, root->place,
                           "expected ZigZag's hardware: `operational_array` with at most %d `sizes`",
                           LL_CHAIN_AXES);
    if (dimensions)
        ll_take_all(dimensions);
    ll_take_all(sizes);
    for (const struct ll_node *s = sizes->first; s; s = s->next) {
        if (!s->text || !ll_is_number(s->text, &size) || size < 0 || size > 1048576 || size != floor(size))
            return wrong(x, s, "a whole number of elements from 0 to 1048576");
        chain->axis[chain->axes++] = (uint64_t)size;
        empty |= size == 0;
    }
    if (precision && empty)
        ll_take_all(precision);
    for (struct ll_node *p = precision && !empty ? precision->first : NULL; p && given < 2; p = p->next)
        if (!p->text || !ll_is_number(p->text, &bits[given++]) || bits[given - 1] < 1 || bits[given - 1] > 64)
            return wrong(x, p, "bits of an operand, from 1 to 64");
    take_dtype(x, precision, bits, chain);
    if (!ll_take_number(x, array, "multiplier_energy", 0, MOST_PJ, 0, &chain->mac_pj) ||
        !ll_take_number(x, array, "unit_energy", 0, MOST_PJ, chain->mac_pj, &chain->mac_pj))
        return false;
    if (ll_take_bool(array, "is_imc", false) && !take_in_memory(x, array, chain, bits))
        return false;
    return !dataflows || take_unrolls(x, dataflows, chain);
}

bool ll_zigzag_take_core(struct ll_interchange *x, struct ll_node *root, const struct ll_zigzag_links *links,
                         struct ll_chain *chain)
{
    struct ll_node *memories = ll_take(root, "memories");
    const char *name = ll_take_text(root, "name");
    bool right = true;
    *chain =
        (struct ll_chain){.name = name ? name : "imported",
                          .counts = "zigzag",
                          .dtype = "int8",
                          .sum_bytes = 2,
                          .clock = "1GHz",
                          .clock_source = "assumed: cycles are what counts",
                          .tool = ll_said(x, "%s", root->place.file ? ll_base_name(root->place.file) : "")};
    if (!memories || memories->type != LL_NODE_MAP)
        return ll_complain(x->diags, root->place,
                           "expected ZigZag's hardware: `memories`, and `operational_array` with `sizes`");
    if (!take_array(x, root, chain))
        return false;
    for (struct ll_node *m = memories->first; right && m; m = m->next)
        right = take_memory(x, links, m, chain);
    return right;
}

bool ll_peer_import_ZIGZAG(struct ll_interchange *x, const struct ll_peer_import *import, struct ll_str *yaml)
{
    struct ll_node *roots[64] = {NULL}, *mapping = NULL;
    struct ll_chain *chain = ll_alloc(x->arena, 1, sizeof *chain);
    if (!chain)
        return ll_complain(x->diags, (struct ll_place){0}, "memory ran out");
    for (size_t i = 0; i < import->count; i++) {
        const struct ll_peer_file *file = &import->files[i];
        roots[i] = ll_node_parse_foreign(x->arena, file->text, file->length, file->name, x->diags);
        if (!roots[i])
            return false;
        if (ll_node_get(roots[i], "cores"))
            return ll_stream_import(x, import, roots[i], yaml);
        mapping = roots[i]->type == LL_NODE_LIST ? roots[i] : mapping;
    }
    struct ll_zigzag_links links = links_of(mapping);
    struct ll_node *root = roots[0] == mapping && import->count > 1 ? roots[1] : roots[0];
    for (size_t i = 0; i < import->count; i++)
        if (roots[i] != root && roots[i] != mapping)
            return ll_complain(x->diags, roots[i]->place,
                               "a second hardware file; expected one, and a mapping (a list)");
    if (!ll_zigzag_take_core(x, root, &links, chain))
        return false;
    for (int a = 0; a < chain->axes; a++)
        if (chain->axis[a] == 0)
            return ll_complain(x->diags, root->place,
                               "an array of no elements; expected the hardware of a core that computes");
    if (mapping && !take_mapping(x, mapping, chain))
        return false;
    if (chain->stores > 0) /* whatever it is said to serve */
        chain->store[chain->stores - 1].serves = (1u << chain->axes) - 1;
    ll_leave_rest(x, root, "", reasons);
    return ll_chain_put(x, chain, root, yaml);
}

/* --- export --- */

static void put_port(const struct ll_array_port *port, int number, struct ll_str *out)
{
    static const char *const names[] = {"I1", "I2", "O"};
    bool reads = false, writes = false;
    for (int o = 0; o < LL_OPERAND_COUNT; o++) {
        reads |= (port->serves[o] & (1u << LL_ARRAY_READ | 1u << LL_ARRAY_DRAIN)) != 0;
        writes |= (port->serves[o] & (1u << LL_ARRAY_FILL | 1u << LL_ARRAY_UPDATE)) != 0;
    }
    ll_str_addf(
        out,
        "      - name: %s_port_%d\n        type: %s\n        bandwidth_min: %.10g\n        bandwidth_max: "
        "%.10g\n        allocation:\n",
        reads && writes ? "rw"
        : reads         ? "r"
                        : "w",
        number,
        reads && writes ? "read_write"
        : reads         ? "read"
                        : "write",
        port->min_bits, port->width_bits);
    for (int o = 0; o < LL_OPERAND_COUNT; o++)
        for (int way = 0; way < LL_ARRAY_WAYS; way++)
            if (port->serves[o] >> way & 1)
                ll_str_addf(out, "          - \"%s, %s\"\n", names[o], directions[way]);
}

/* One port for all that a store moves, where ours says none. */
static struct ll_array_port whole_port(const struct ll_array_store *store)
{
    double bits = store->width_bits > 0 ? store->width_bits : 8;
    struct ll_array_port port = {.width_bits = bits, .min_bits = bits};
    for (int o = 0; o < LL_OPERAND_COUNT; o++)
        if (store->holds[o])
            port.serves[o] = o == LL_OPERAND_C ? 0xF : 0x3;
    return port;
}

static void put_memory(struct ll_interchange *x, const struct ll_array *array, int s, struct ll_str *out)
{
    static const char *const names[] = {"I1", "I2", "O"};
    const struct ll_array_store *store = &array->store[s];
    struct ll_array_port one = whole_port(store);
    const char *gap = "";
    ll_str_addf(out,
                "  %s:\n    size: %.0f\n    r_cost: %.10g\n    w_cost: %.10g\n    area: 0\n    latency: 1\n"
                "    operands: [",
                store->name, store->size_bits, store->read_j * 1e12, store->write_j * 1e12);
    for (int o = 0; o < LL_OPERAND_COUNT; o++)
        if (store->holds[o]) {
            ll_str_addf(out, "%s%s", gap, names[o]);
            gap = ", ";
        }
    ll_str_add(out, "]\n    ports:\n");
    for (int p = 0; p < store->ports; p++)
        put_port(&store->port[p], p + 1, out);
    if (store->ports == 0) {
        put_port(&one, 1, out);
        ll_assume(x, ll_said(x, "memories.%s.ports", store->name),
                  "ports are no limit in the machine file; here is one as wide as an access");
    }
    ll_str_add(out, "    served_dimensions: [");
    gap = "";
    for (int a = 0; a < array->axes; a++)
        if (store->serves >> a & 1) {
            ll_str_addf(out, "%sD%d", gap, a + 1);
            gap = ", ";
        }
    ll_str_add(out, "]\n");
    if (store->update_j > 0 && store->update_j != store->write_j)
        ll_leave(x, ll_said(x, "%s.accesses.update_pj", store->name), (struct ll_place){0},
                 "ZigZag has one cost of writing");
    if (store->leak_j > 0)
        ll_leave(x, ll_said(x, "%s.accesses.leak_pj", store->name), (struct ll_place){0},
                 "memories of ZigZag do not leak");
    if (store->cluster > 1)
        ll_leave(x, ll_said(x, "%s.accesses.cluster", store->name), (struct ll_place){0},
                 "each instance of a memory has its own accesses in ZigZag");
}

/* Whether a way to unroll is one of GEMMs alone: it says so, or names a loop that convolutions do not
 * have. */
static bool is_of_gemms(const char *way)
{
    return !strncmp(way, "gemm ", 5) || strstr(way, ":M") || strstr(way, ":N") || strstr(way, ",M") ||
           strstr(way, ",N");
}

/* "conv D1:K,FX D2:C" as dataflows; loops of GEMMs are D0, D1 and D2 there. */
static void put_dataflows(const char *way, const struct ll_array *array, struct ll_str *out)
{
    bool gemm = is_of_gemms(way);
    way += !strncmp(way, "conv ", 5) || !strncmp(way, "gemm ", 5) ? 5 : 0;
    ll_str_add(out, "dataflows:\n");
    for (way += strspn(way, " "); *way == 'D'; way += strspn(way, " ")) {
        char *end;
        unsigned long axis = strtoul(way + 1, &end, 10);
        ll_str_addf(out, "  D%lu:\n", axis);
        for (way = end; *way == ':' || *way == ',';) {
            size_t length = strcspn(++way, ", ");
            const char *letter = length == 1 && gemm ? strchr("MNK", *way) : NULL;
            ll_str_add(out, "    - \"");
            if (letter)
                ll_str_addf(out, "D%d", *letter == 'M' ? 0 : *letter == 'N' ? 1 : 2);
            else
                ll_str_addf(out, "%.*s", (int)length, way);
            ll_str_addf(out, ", %" PRIu64 "\"\n",
                        axis >= 1 && axis <= array->axes ? array->axis[axis - 1] : 1);
            way += length;
        }
    }
}

/* The first way of convolutions, or where there is none of GEMMs; those of GEMMs beside it follow from it. */
static void put_unrolls(struct ll_interchange *x, const struct ll_array_unit *unit,
                        const struct ll_array *array, struct ll_str *out)
{
    uint64_t chosen = 0;
    while (chosen < unit->unroll_count && is_of_gemms(unit->unroll[chosen]))
        chosen++;
    bool convs = chosen < unit->unroll_count;
    chosen = convs ? chosen : 0;
    for (uint64_t i = 0; i < unit->unroll_count; i++)
        if (i == chosen)
            put_dataflows(unit->unroll[i], array, out);
        else if (!convs || strncmp(unit->unroll[i], "gemm ", 5) != 0)
            ll_leave(
                x, "units.array.unroll", (struct ll_place){0},
                ll_said(x, "ZigZag's hardware has one dataflow; `%s` is a further one", unit->unroll[i]));
}

static const struct ll_why export_reasons[] = {
    {"clock", "ZigZag counts cycles"},
    {"kind", "wording of reports"},
    {"sources", "ZigZag's files have none"},
    {"software", "ZigZag has no software"},
    {"host", "ZigZag has no host"},
    {"network", "ZigZag has one device"},
    {"price", "ZigZag has no prices"},
    {"area", "areas stand with memories and elements in ZigZag, without a unit"},
    {"units[]", "ZigZag has one array; vector work takes no time there"},
    {"counts", "ZigZag counts as it does"},
    {"sum_bytes", "the precision of partial sums stands in ZigZag's workload"},
    {"limits", "constraints of mappings stand in files of their own in ZigZag"},
    {"mapping", "mappings stand in files of their own in ZigZag"},
    {"gated", "memories of ZigZag do not leak"},
    {"decode_bits", "costs of accesses are written out"},
    {NULL, "ZigZag's hardware has no key for it"},
};

bool ll_peer_export_ZIGZAG(struct ll_interchange *x, const struct ll_machine *machine,
                           struct ll_str out[LL_PEER_OUTPUTS])
{
    struct ll_array array;
    struct ll_node *tree = ll_machine_tree(x, machine);
    const struct ll_array_unit *unit = ll_exported_array(x, machine, tree, "ZigZag", &array);
    if (!unit)
        return false;
    ll_str_add(out, "name: ");
    ll_put_quoted(out, machine->name);
    ll_str_add(out, "\n\nmemories:\n");
    for (int s = 0; s < array.stores; s++)
        put_memory(x, &array, s, out);
    ll_str_addf(out, "\noperational_array:\n  unit_energy: %.10g\n  unit_area: 1\n  dimensions: [",
                array.mac_j * 1e12);
    for (int a = 0; a < array.axes; a++)
        ll_str_addf(out, "%sD%d", a ? ", " : "", a + 1);
    ll_str_add(out, "]\n  sizes: [");
    for (int a = 0; a < array.axes; a++)
        ll_str_addf(out, "%s%" PRIu64, a ? ", " : "", array.axis[a]);
    ll_str_add(out, "]\n");
    if (array.macs_per_cycle > 0 && array.macs_per_cycle < 1)
        ll_str_addf(out,
                    "  is_imc: true\n  imc_type: digital\n  input_precision: [%.0f, %.0f]\n"
                    "  bit_serial_precision: 1\n",
                    1 / array.macs_per_cycle, 1 / array.macs_per_cycle);
    put_unrolls(x, unit, &array, out);
    ll_leave_rest(x, tree, "", export_reasons);
    return true;
}

const struct ll_array_unit *ll_exported_array(struct ll_interchange *x, const struct ll_machine *machine,
                                              struct ll_node *tree, const char *tool, struct ll_array *array)
{
    static const char *const keys[] = {"name",
                                       "units.array.name",
                                       "units.array.clock",
                                       "units.array.axes",
                                       "units.array.registers",
                                       "units.array.unroll",
                                       "units.array.model",
                                       "units.array.runs",
                                       "units.array.macs",
                                       "memory",
                                       "energy.mac_pj"};
    uint64_t u = ll_array_find(machine);
    if (!tree)
        return NULL;
    if (u == machine->unit_count || machine->core_type_count > 0) {
        ll_complain(x->diags, (struct ll_place){.file = machine->stem},
                    machine->core_type_count > 0
                        ? "%s describes one core; expected a machine without `cores`"
                        : "%s describes arrays of elements; expected a unit of `model: array`",
                    tool);
        return NULL;
    }
    const struct ll_unit *unit = &machine->units[u];
    *array = ll_array_of(machine, u, ll_array_dtype(unit));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *key = keys[i];
        if (!strncmp(key, "units.array.", 12))
            key = ll_said(x, "units.%s.%s", unit->name, keys[i] + 12);
        struct ll_node *node = ll_take_path(tree, key);
        if (node)
            ll_take_all(node);
    }
    return &unit->array;
}
