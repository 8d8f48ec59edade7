/* SPDX-License-Identifier: Apache-2.0 */
/* Architectures of Timeloop 0.4 (Parashar et al., ISPASS 2019): a list of nodes, outermost first, of which
 * components store or (the last one) multiply, containers hold all that comes behind them, several times
 * along x and y where they say so, and `!Parallel` holds stores side by side. Before 0.4, and as its front
 * end writes it, a tree of `subtree` and `local`, with numbers of instances in brackets behind names. Before
 * 0.2 `arch`: stores, innermost first, and what multiplies, each with its instances in all.
 *
 * Figures of energy come from Accelergy's table (ERT), of area from its ART; without them from the
 * technology that the file names. Words of all widths are counted as words of the outermost memory's
 * width: Timeloop moves words, not bits. */
#include "sim/interchange/timeloop.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/array/machine.h"
#include "sim/interchange/expression.h"
#include "sim/interchange/zigzag.h"

enum { FILES = 64 };

#define MOST 1e15
#define MOST_WORD_BITS 1024

/* Where the keys of all files together stand. */
struct parts {
    struct ll_node *architecture, *ert, *art, *problem, *mapping, *targets, *variables, *constraints;
};

/* What converts between a store and what lies inside of it, and where it stands. */
struct converters {
    bool adc, dac;
    const struct ll_node *node;
};

struct reader {
    struct ll_timeloop t;
    struct ll_interchange *x;
    struct parts parts;
    struct ll_scopes scopes;
    const struct ll_node *last; /* the component that multiplies */
    double word_bits;           /* of the outermost memory; 0: none was met */
    double instances, across;   /* of the level met last: in all, along x (trees) */
    double technology, cycle_s;
    const char *dram;
    struct converters converts[LL_CHAIN_STORES]; /* by store, outermost first */
};

/* --- attributes --- */

/* An attribute of a component, its own or that of the nearest container around it, by any of its names;
 * `otherwise` where it is not there. */
static bool attribute(struct reader *r, const char *const *keys, double otherwise, double *value)
{
    *value = otherwise;
    for (int i = r->scopes.count - 1; i >= 0; i--)
        for (const char *const *key = keys; *key; key++) {
            struct ll_node *found = ll_take(r->scopes.map[i], *key);
            if (!found || !found->text || !strcmp(found->text, "null") || !strcmp(found->text, "~"))
                continue;
            if (ll_expression(found->text, &r->scopes, value) && *value >= 0 && *value <= MOST)
                return true;
            return ll_complain(r->x->diags, found->place,
                               "`%s`: expected a number, or an expression of attributes that are known",
                               ll_node_shown(found).text);
        }
    return true;
}

#define KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})

static bool push(struct reader *r, struct ll_node *map)
{
    if (map && r->scopes.count == LL_SCOPES)
        return ll_complain(r->x->diags, map->place, "more than %d containers with attributes", LL_SCOPES);
    if (map)
        r->scopes.map[r->scopes.count++] = map;
    return true;
}

/* --- tables of Accelergy --- */

/* The table of a component: its name is the last part of a path, as system.part.NAME[1..16]. */
static struct ll_node *table_of(struct ll_node *root, const char *name)
{
    struct ll_node *tables = ll_node_get(root, "tables");
    for (struct ll_node *t = tables ? tables->first : NULL; t; t = t->next) {
        const char *path = ll_node_get_text(t, "name");
        size_t end = path ? strcspn(path, "[") : 0, length = strlen(name);
        if (end >= length && !strncmp(path + end - length, name, length) &&
            (end == length || path[end - length - 1] == '.'))
            return t;
    }
    return NULL;
}

static bool energy_of(struct reader *r, const char *name, const char *action, double *pj)
{
    const struct ll_node *actions = ll_node_get(table_of(r->parts.ert, name), "actions");
    for (const struct ll_node *a = actions ? actions->first : NULL; a; a = a->next)
        if (ll_node_get_text(a, "name") && !strcmp(ll_node_get_text(a, "name"), action))
            return ll_take_number(r->x, a, "energy", 0, MOST, 0, pj);
    *pj = 0;
    return true;
}

/* Area of all instances, um2 of one. */
static bool add_area(struct reader *r, const char *name, double instances)
{
    const struct ll_node *table = table_of(r->parts.art, name);
    double um2 = 0;
    if (table && !ll_take_number(r->x, table, "area", 0, MOST, 0, &um2))
        return false;
    r->t.chain->area_mm2 += um2 * instances / 1e6;
    return true;
}

/* --- components --- */

static double instances_of(const struct ll_chain *chain)
{
    double many = 1;
    for (int a = 0; a < chain->axes; a++)
        many *= (double)chain->axis[a];
    return many;
}

/* Ports in words a cycle, for all operands together. */
static bool take_ports(struct reader *r, double word, struct ll_chain_store *s)
{
    static const uint8_t in = 1u << LL_ARRAY_FILL | 1u << LL_ARRAY_UPDATE, out = 1u << LL_ARRAY_READ;
    double reads, writes, both, halves;
    if (!attribute(r, KEYS("bandwidth"), 0, &halves) || /* Timeloop: half of it for each */
        !attribute(r, KEYS("read_bandwidth"), halves / 2, &reads) ||
        !attribute(r, KEYS("write_bandwidth"), halves / 2, &writes) ||
        !attribute(r, KEYS("shared_bandwidth", "rw_bandwidth"), 0, &both))
        return false;
    const struct {
        double words;
        uint8_t ways;
    } ports[] = {{reads, out}, {writes, in}, {both, in | out}};
    for (int i = 0; i < 3; i++) {
        double bits = ports[i].words * word;
        struct ll_array_port *port = &s->port[s->ports];
        if (bits <= 0)
            continue;
        *port = (struct ll_array_port){.width_bits = bits, .min_bits = bits};
        for (int o = 0; o < LL_OPERAND_COUNT; o++)
            port->serves[o] =
                (uint8_t)(o == LL_OPERAND_C ? ports[i].ways : ports[i].ways & ~(1u << LL_ARRAY_UPDATE));
        s->ports++;
    }
    return true;
}

/* What the network of a component takes: a bit to the next element by the wire's length and the router
 * behind it, or a word by hops. */
static bool take_network(struct reader *r, double word)
{
    double wire, width_mm, hop, router;
    if (!attribute(r, KEYS("network_wire_energy", "wire_energy"), 0, &wire) ||
        !attribute(r, KEYS("network_tile_width", "tile_width"), 0, &width_mm) ||
        !attribute(r, KEYS("network_energy_per_hop", "energy_per_hop"), 0, &hop) ||
        !attribute(r, KEYS("network_router_energy", "router_energy"), 0, &router))
        return false;
    double hop_pj = (hop > 0 ? hop / word : wire * width_mm) + router / word;
    if (hop_pj > 0)
        r->t.chain->hop_pj = hop_pj;
    return true;
}

/* Ports of a memory's cells, by which its energy follows from its size where no table has it. */
static bool take_cell_ports(struct reader *r, struct ll_chain_store *s)
{
    double both, reads, writes;
    if (!attribute(r, KEYS("n_rdwr_ports", "n_rw_ports"), 0, &both) ||
        !attribute(r, KEYS("n_rd_ports"), 0, &reads) || !attribute(r, KEYS("n_wr_ports"), 0, &writes))
        return false;
    s->cell_ports = both + reads + writes;
    return true;
}

/* A component that stores: lines of so many bits, of which a word takes some. One of no words, which is
 * there for its instances, is no store. */
static bool take_store(struct reader *r, struct ll_node *node, const char *name,
                       struct ll_timeloop_level *level)
{
    double word, width, depth, block, cluster, buffers, kilobytes, entries;
    struct ll_chain_store *s = ll_chain_add(r->x, r->t.chain, node, name);
    if (!s || !attribute(r, KEYS("datawidth", "word-bits", "word_bits"), 8, &word) ||
        !attribute(r, KEYS("block-size", "block_size"), 0, &block) ||
        !attribute(r, KEYS("cluster_size", "cluster-size"), 1, &cluster) ||
        !attribute(r, KEYS("width", "memory_width", "data_storage_width"),
                   fmax(1, block) * word * fmax(1, cluster), &width) ||
        !attribute(r, KEYS("depth", "memory_depth", "data_storage_depth"), -1, &depth) ||
        !attribute(r, KEYS("entries"), -1, &entries) || !attribute(r, KEYS("sizeKB"), -1, &kilobytes) ||
        !attribute(r, KEYS("multiple_buffering", "multiple-buffering"), 1, &buffers))
        return false;
    if (word <= 0 || word > MOST_WORD_BITS || width <= 0 || cluster < 1 || buffers <= 0)
        return ll_complain(
            r->x->diags, node->place,
            "`%s`: expected `width` and `datawidth` of at least a bit, words of at most %d bits",
            ll_shown_text(name).text, MOST_WORD_BITS);
    r->word_bits = r->word_bits > 0 ? r->word_bits : word;
    double words = entries >= 0     ? entries
                   : kilobytes >= 0 ? kilobytes * 8192 / word
                                    : depth * width / cluster / word;
    if (words == 0) {
        ll_leave(r->x, ll_said(r->x, "architecture.%s", name), node->place,
                 "a store of no words holds nothing; its instances count");
        r->t.chain->stores--;
        return true;
    }
    level->store = r->t.chain->stores - 1;
    s->size_bits = fmax(0, floor(words / buffers)) * r->word_bits;
    ll_chain_cap_size(r->x, s, node->place);
    if (words >= 0 && s->size_bits == 0)
        return ll_complain(r->x->diags, node->place,
                           "`%s`: expected a size of at least a word; a store of any size has no `depth`",
                           ll_shown_text(name).text);
    s->width_bits = width / cluster / word * r->word_bits;
    s->cluster = cluster;
    s->by_line = true;
    s->word_bits = r->word_bits;
    for (int o = 0; o < LL_OPERAND_COUNT; o++)
        s->holds[o] = true;
    return take_ports(r, r->word_bits, s) && take_cell_ports(r, s) && take_network(r, word) &&
           energy_of(r, name, "read", &s->read_pj) && energy_of(r, name, "write", &s->write_pj) &&
           energy_of(r, name, "update", &s->update_pj) && energy_of(r, name, "leak", &s->leak_pj) &&
           add_area(r, name, instances_of(r->t.chain));
}

/* Whether a component is a network between others. */
static bool is_network(const struct ll_node *node)
{
    static const char *const networks[] = {"network", "NoC", "Multicast", "ReductionTree"};
    const char *class = ll_node_get_text(node, "class");
    for (size_t i = 0; class && i < sizeof networks / sizeof *networks; i++)
        if (strstr(class, networks[i]))
            return true;
    return false;
}

static bool stores_something(struct reader *r, const struct ll_node *node)
{
    static const char *const keys[] = {"depth",   "memory_depth", "data_storage_depth",
                                       "width",   "memory_width", "data_storage_width",
                                       "entries", "sizeKB",       "datawidth"};
    const char *class = ll_node_get_text(node, "class"), *subclass = ll_node_get_text(node, "subclass");
    const struct ll_node *attributes = ll_node_get(node, "attributes");
    if (is_network(node) || (class && !strcmp(class, "dummy_storage")))
        return false;
    if ((class && !strcmp(class, "DRAM")) || (subclass && !strcmp(subclass, "DRAM"))) {
        const char *type = ll_take_text(attributes, "type");
        r->dram = type ? type : r->dram;
        return true;
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (ll_node_get(attributes, keys[i]))
            return true;
    return false;
}

/* The name without the numbers of instances behind it, of which there are *many: PE[0..13]. */
static const char *plain_name(struct reader *r, const char *name, double *many)
{
    size_t length = strcspn(name, "[");
    const char *dots = name[length] ? strstr(name + length, "..") : NULL;
    double first = name[length] ? ll_strtod(name + length + 1, NULL) : 0;
    *many = dots ? fmax(1, ll_strtod(dots + 2, NULL) - first + 1) : 1;
    return ll_said(r->x, "%.*s", (int)length, name);
}

static struct ll_timeloop_level *add_level(struct reader *r, const struct ll_node *node, const char *name)
{
    if (r->t.levels == LL_TIMELOOP_LEVELS) {
        ll_complain(r->x->diags, node->place, "more than %d nodes", LL_TIMELOOP_LEVELS);
        return NULL;
    }
    struct ll_timeloop_level *level = &r->t.level[r->t.levels++];
    *level = (struct ll_timeloop_level){.name = name, .store = -1, .axis = {-1, -1}};
    return level;
}

/* Elements side by side from here inwards: a further axis, which all memories outside of it serve. */
static bool add_axis(struct reader *r, const struct ll_node *node, double many, int *axis)
{
    struct ll_chain *chain = r->t.chain;
    if (many <= 1)
        return true;
    if (chain->axes == LL_CHAIN_AXES || many > 1048576)
        return ll_complain(r->x->diags, node->place, "more than %d axes, or 1048576 elements along one",
                           LL_CHAIN_AXES);
    for (int s = 0; s < chain->stores; s++)
        chain->store[s].serves |= 1u << chain->axes;
    *axis = chain->axes;
    chain->axis[chain->axes++] = (uint64_t)many;
    return true;
}

static bool take_mesh(struct reader *r, struct ll_node *node, struct ll_timeloop_level *level)
{
    static const char *const keys[] = {"meshX", "meshY"};
    const struct ll_node *spatial = ll_take(node, "spatial");
    for (int i = 0; i < 2; i++) {
        const char *text = ll_take_text(spatial, keys[i]);
        double many = 1;
        if (text && (!ll_expression(text, &r->scopes, &many) || many < 1 || many != floor(many)))
            return ll_complain(r->x->diags, spatial->place, "`%s: %s`: expected a whole number of at least 1",
                               keys[i], ll_shown_text(text).text);
        if (!add_axis(r, node, many, &level->axis[i]))
            return false;
    }
    return true;
}

/* In trees instances are counted in all: what is more than before, along x and y, begins here. */
static bool take_instances(struct reader *r, struct ll_node *node, double instances,
                           struct ll_timeloop_level *level)
{
    double across;
    if (!attribute(r, KEYS("meshX"), 0, &across))
        return false;
    across = across > 0 ? across : r->across * (instances / r->instances);
    double x = across / r->across, y = instances / r->instances / x;
    if (x != floor(x) || y != floor(y) || x < 1) {
        x = instances / r->instances;
        y = 1;
    }
    if (x != floor(x) || x < 1 || y < 1)
        return ll_complain(r->x->diags, node->place,
                           "%.10g instance%s inside of %.10g; expected a multiple of as many", instances,
                           instances == 1 ? "" : "s", r->instances);
    r->across = across;
    r->instances = instances;
    return add_axis(r, node, x, &level->axis[0]) && add_axis(r, node, y, &level->axis[1]);
}

/* Whether the class of a component is this kind of converter, as isaac_adc is. */
static bool is_converter(const struct ll_node *node, const char *kind, const char *capitals)
{
    static const char *const keys[] = {"class", "subclass"};
    for (int i = 0; i < 2; i++) {
        const char *class = ll_node_get_text(node, keys[i]);
        if (class && (strstr(class, kind) || strstr(class, capitals)))
            return true;
    }
    return false;
}

/* A component that converts what passes: results on their way out (ADC), inputs on their way in (DAC). The
 * memory around it takes each conversion with the access that it belongs to; converters come behind its
 * constraints. */
static bool take_converter(struct reader *r, const struct ll_node *node, const char *name, bool is_adc)
{
    struct ll_chain *chain = r->t.chain;
    double converts, acts;
    if (chain->stores == 0 || !energy_of(r, name, "convert", &converts) ||
        !energy_of(r, name, is_adc ? "read" : "drive", &acts))
        return chain->stores == 0 &&
               ll_complain(r->x->diags, node->place, "expected a memory around a converter");
    struct ll_chain_store *s = &chain->store[chain->stores - 1];
    double words = s->width_bits > 0 && s->word_bits > 0 ? s->width_bits / s->word_bits : 1;
    double pj = words * (converts > 0 ? converts : acts);
    if (pj == 0) {
        ll_leave(r->x, ll_said(r->x, "architecture.%s", name), node->place,
                 "no table says what a conversion takes");
        return true;
    }
    bool *converter = is_adc ? &r->converts[chain->stores - 1].adc : &r->converts[chain->stores - 1].dac;
    *converter = true;
    r->converts[chain->stores - 1].node = node;
    if (is_adc)
        s->update_pj = (s->update_pj > 0 ? s->update_pj : s->write_pj) + pj;
    else
        s->read_pj += pj;
    return true;
}

/* An ADC needs results in the memory around it, a DAC a memory of inputs alone. */
static bool check_converters(struct reader *r)
{
    for (int s = 0; s < r->t.chain->stores; s++) {
        const bool *holds = r->t.chain->store[s].holds;
        const struct converters *c = &r->converts[s];
        if (c->adc && !holds[LL_OPERAND_C])
            return ll_complain(r->x->diags, c->node->place, "expected results in the memory around an ADC");
        if (c->dac && (!holds[LL_OPERAND_A] || holds[LL_OPERAND_B] || holds[LL_OPERAND_C]))
            return ll_complain(
                r->x->diags, c->node->place,
                "a DAC converts inputs alone: expected a memory around it that keeps nothing else "
                "(keep_only)");
    }
    return true;
}

/* What is known of a component beside its attributes, and means nothing here. */
static void pass_over(struct ll_node *node)
{
    static const char *const keys[] = {"class", "subclass", "enabled", "required_actions"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct ll_node *member = ll_take(node, keys[i]);
        if (member)
            ll_take_all(member);
    }
}

static bool take_component(struct reader *r, struct ll_node *node, const char *name, bool parallel,
                           struct ll_timeloop_level *level)
{
    const char *class = ll_node_get_text(node, "class");
    bool right = true;
    double pj;
    if (node == r->last) {
        right = energy_of(r, name, "compute", &pj) && add_area(r, name, instances_of(r->t.chain));
        r->t.chain->mac_pj = pj;
    } else if (is_converter(node, "adc", "ADC")) {
        right = take_converter(r, node, name, true);
    } else if (is_converter(node, "dac", "DAC")) {
        right = take_converter(r, node, name, false);
    } else if (stores_something(r, node)) {
        right = take_store(r, node, name, level);
        level->only_kept = parallel;
    } else if (class && !strcmp(class, "dummy_storage")) {
        ll_take_all(node); /* a container, as the front end writes it */
    } else if (class) {
        ll_leave(r->x, ll_said(r->x, "architecture.%s", name), node->place,
                 "a component that neither stores nor multiplies; what passes it takes nothing here");
        ll_take_all(node);
    }
    return right;
}

static bool is_disabled(struct ll_node *node)
{
    return ll_node_get(node, "enabled") && !ll_take_bool(node, "enabled", true);
}

/* The nodes of version 0.4, outermost first. */
static bool take_nodes(struct reader *r, struct ll_node *nodes, bool parallel)
{
    bool right = true;
    int scopes = r->scopes.count;
    ll_take_text(nodes, "version");
    for (struct ll_node *node = nodes->first; right && node; node = node->next) {
        const char *name = ll_take_text(node, "name"), *tag = node->tag ? node->tag : "";
        struct ll_node *inside = ll_take(node, "nodes"), *attributes = ll_take(node, "attributes");
        bool component = !inside && (ll_node_get(node, "class") || ll_node_get(node, "subclass"));
        node->taken = true;
        if (inside) {
            right = push(r, attributes) && take_nodes(r, inside, !strcmp(tag, "Parallel"));
            continue;
        }
        if (!strcmp(tag, "Nothing") || is_disabled(node)) {
            ll_take_all(node);
            continue;
        }
        if (!name)
            return ll_complain(r->x->diags, node->place, "expected a node with a `name`");
        struct ll_timeloop_level *level = add_level(r, node, name);
        int before = r->scopes.count;
        right = level && push(r, attributes) && take_mesh(r, node, level);
        if (right && component)
            right = take_component(r, node, name, parallel, level);
        if (right && (level->constraints = ll_take(node, "constraints")) && node == r->last)
            ll_leave_rest(r->x, level->constraints, name,
                          (const struct ll_why[]){{NULL, "nothing is stored there"}});
        pass_over(node);
        r->scopes.count = component ? before : r->scopes.count;
    }
    r->scopes.count = scopes;
    return right;
}

/* Whether so many of a component are so many elements side by side: not of what words only pass. */
static bool fans_out(struct reader *r, const struct ll_node *node)
{
    const char *class = ll_node_get_text(node, "class");
    return node == r->last || (class && !strcmp(class, "dummy_storage")) ||
           (stores_something(r, node) && !is_converter(node, "adc", "ADC") &&
            !is_converter(node, "dac", "DAC"));
}

/* Trees: `local` components, then what is inside of them, so often as their numbers in brackets say. */
static bool take_tree(struct reader *r, struct ll_node *tree, double instances, int depth)
{
    bool right = depth < LL_NODE_DEPTH;
    for (struct ll_node *part = tree->first; right && part; part = part->next) {
        double many = 1;
        const char *name = ll_take_text(part, "name");
        struct ll_node *local = ll_take(part, "local"), *inside = ll_take(part, "subtree");
        int before = r->scopes.count;
        part->taken = true;
        plain_name(r, name ? name : "", &many);
        right = push(r, ll_take(part, "attributes"));
        for (struct ll_node *node = local ? local->first : NULL; right && node; node = node->next) {
            double of_it = 1;
            const char *full = ll_take_text(node, "name");
            int outside = r->scopes.count;
            node->taken = true;
            if (!full)
                return ll_complain(r->x->diags, node->place, "expected a component with a `name`");
            const char *plain = plain_name(r, full, &of_it);
            struct ll_timeloop_level *level = add_level(r, node, plain);
            double all = instances * many * of_it;
            right = level && push(r, ll_take(node, "attributes")) &&
                    attribute(r, KEYS("instances"), all, &all) &&
                    (!fans_out(r, node) || take_instances(r, node, all, level)) &&
                    take_component(r, node, plain, false, level);
            if (level)
                level->fans_out_inside = true;
            pass_over(node);
            r->scopes.count = outside;
        }
        right = right && (!inside || take_tree(r, inside, instances * many, depth + 1));
        r->scopes.count = before;
    }
    return right;
}

/* One of what stands in `arch`. */
static bool take_part(struct reader *r, struct ll_node *node, const char *name, bool multiplies)
{
    struct ll_timeloop_level *level = add_level(r, node, name);
    const char *technology = ll_node_get_text(node, "technology");
    double instances;
    if (!level || !push(r, node) || !attribute(r, KEYS("instances"), 1, &instances) ||
        !take_instances(r, node, instances, level))
        return false;
    node->taken = level->fans_out_inside = true;
    r->dram = technology && !strcmp(technology, "DRAM") ? technology : r->dram;
    bool right =
        multiplies ? energy_of(r, name, "compute", &r->t.chain->mac_pj) : take_store(r, node, name, level);
    r->scopes.count--;
    return right;
}

static bool take_arch(struct reader *r, const struct ll_node *storage, struct ll_node *arithmetic)
{
    const char *name = ll_take_text(arithmetic, "name");
    for (size_t i = storage->count; i-- > 0;) {
        struct ll_node *node = storage->first;
        for (size_t k = 0; k < i; k++)
            node = node->next;
        const char *of_store = ll_take_text(node, "name");
        if (!of_store)
            return ll_complain(r->x->diags, node->place, "expected a store with a `name`");
        if (!take_part(r, node, of_store, false))
            return false;
    }
    return take_part(r, arithmetic, name ? name : "MACs", true);
}

/* The component that comes last multiplies. */
static const struct ll_node *last_of(const struct ll_node *nodes, int depth)
{
    const struct ll_node *last = NULL;
    for (const struct ll_node *node = nodes ? nodes->first : NULL; node && depth < LL_NODE_DEPTH;
         node = node->next) {
        static const char *const lists[] = {"nodes", "local", "subtree"};
        for (int i = 0; i < 3; i++) {
            const struct ll_node *inside = ll_node_get(node, lists[i]), *found = last_of(inside, depth + 1);
            last = found ? found : last;
        }
        if (ll_node_get(node, "class") || ll_node_get(node, "subclass"))
            last = node;
    }
    return last;
}

/* --- files --- */

static void keep(struct ll_node *root, const char *key, struct ll_node **part)
{
    struct ll_node *node = ll_take(root, key);
    *part = node ? node : *part;
}

/* Which keys of which file are what. Constraints are a map with `targets`, or the list itself. */
static void take_keys(struct ll_node *root, struct parts *parts)
{
    static const char *const constraints[] = {"architecture_constraints", "mapspace_constraints",
                                              "constraints", "mapspace"};
    keep(root, "architecture", &parts->architecture);
    keep(root, "arch", &parts->architecture);
    keep(root, "ERT", &parts->ert);
    keep(root, "ART", &parts->art);
    keep(root, "problem", &parts->problem);
    keep(root, "mapping", &parts->mapping);
    keep(root, "variables", &parts->variables);
    for (size_t i = 0; i < sizeof constraints / sizeof *constraints; i++) {
        struct ll_node *found = ll_take(root, constraints[i]), *targets = ll_take(found, "targets");
        targets = targets ? targets : ll_take(found, "constraints");
        ll_take_text(found, "version");
        found = found && targets ? targets : found;
        parts->targets = found && found->type == LL_NODE_LIST ? found : parts->targets;
    }
}

static bool no_templates(struct ll_interchange *x, const struct ll_peer_file *file)
{
    const char *mark = strstr(file->text, "{{");
    uint64_t line = 1;
    mark = mark ? mark : strstr(file->text, "{%");
    for (const char *c = file->text; mark && c < mark; c++)
        line += *c == '\n';
    return !mark || ll_complain(x->diags, (struct ll_place){.file = file->name, .line = line, .column = 1},
                                "a template of Jinja2; expected the files that it includes, as YAML");
}

static const struct ll_why reasons[] = {
    {"version", "the keys say which version it is"},
    {"compound_components", "energies come from the ERT, or from the technology"},
    {"components", "energies come from the ERT, or from the technology"},
    {"mapper", "how the search goes on is no part of a machine"},
    {"sparse_optimizations",
     "zeros are described by `packs_rows`, `gates_zeros` and `inputs_stored`, by hand"},
    {"globals", "functions of Python are not called"},
    {"ERT_summary", "the ERT says it"},
    {"ART_summary", "the ART says it"},
    {"dumped_by_timeloop_front_end", "a remark of Timeloop's front end"},
    {"n_banks", "banks are not modelled; the ERT has what they cost"},
    {"nports", "ports are as wide as the bandwidths say"},
    {"word-bits", "words of stores count, and of these `datawidth` beside it"},
    {"num_ports", "ports are as wide as the bandwidths say"},
    {"num-ports", "ports are as wide as the bandwidths say"},
    {"num_banks", "banks are not modelled; the ERT has what they cost"},
    {"num-banks", "banks are not modelled; the ERT has what they cost"},
    {"per_dataspace_bandwidth_consumption_scale", "a word takes as much of a port whosever it is"},
    {"power_gated_at", "what idles leaks, or does not (`gated`)"},
    {"has_power_gating", "what idles leaks, or does not (`gated`)"},
    {"reduction_supported", "partial sums meet wherever they are stored"},
    {"min_utilization", "no constraint of the search"},
    {"allow_overbooking", "tiles fit their stores"},
    {"update_fifo_depth", "an attribute of Accelergy's component; the ERT has what it costs"},
    {"multiplier_width", "an attribute of Accelergy's component; the ERT has what it costs"},
    {"adder_width", "an attribute of Accelergy's component; the ERT has what it costs"},
    {"metadata_storage_width", "places of zeros are described by `inputs_stored`, by hand"},
    {"metadata_storage_depth", "places of zeros are described by `inputs_stored`, by hand"},
    {"metadata_datawidth", "places of zeros are described by `inputs_stored`, by hand"},
    {"datawidth", "no store takes its width from here"},
    {"width", "no store takes its width from here"},
    {"depth", "no store takes its size from here"},
    {"meshX", "numbers of instances say it"},
    {"meshY", "numbers of instances say it"},
    {"action_latency_cycles", "cycles are those of the slowest port or of computing"},
    {NULL, "no key of Timeloop that is known here"},
};

/* --- energies without a table --- */

static void take_technology(struct reader *r)
{
    static const char *const memories[] = {"lpddr4", "ddr3", "ddr4", "hbm2", "hbm3", "gddr5", "gddr6"};
    const char *memory = "lpddr4";
    if (r->technology <= 0) {
        ll_leave(r->x, "energy", (struct ll_place){0},
                 "no ERT is given and no technology named, so that no energy is reported");
        return;
    }
    for (size_t i = 0; r->dram && i < sizeof memories / sizeof *memories; i++)
        memory = ll_same_but_case(r->dram, memories[i]) ? memories[i] : memory;
    r->t.chain->inherits = ll_said(r->x, "technology/n45, technology/%s", memory);
    r->t.chain->node_nm = r->technology;
    ll_assume(r->x, "energy",
              ll_said(r->x,
                      "no ERT is given: figures of technology/n45, scaled to %.10g nm, and of technology/%s",
                      r->technology, memory));
}

/* "45nm", 45, 45e-9. */
static void take_settings(struct reader *r, struct ll_node *map)
{
    const char *technology = ll_take_text(map, "technology"),
               *cycle = ll_take_text(map, "global_cycle_seconds");
    double value = 0;
    char *end = NULL;
    if (technology && isdigit((unsigned char)*technology)) {
        value = ll_strtod(technology, &end);
        r->technology = value > 0 && value < 1e-3 ? value * 1e9 : value;
    }
    if (cycle && ll_is_number(cycle, &value) && value > 0)
        r->cycle_s = value;
}

static void find_settings(struct reader *r, struct ll_node *node)
{
    if (node->type == LL_NODE_MAP)
        take_settings(r, node);
    for (struct ll_node *child = node->first; child; child = child->next)
        find_settings(r, child);
}

/* --- the whole --- */

static const char *dtype_of(double bits)
{
    return bits <= 4 ? "int4" : bits <= 8 ? "int8" : bits <= 16 ? "i16" : bits <= 32 ? "f32" : "f64";
}

static bool is_list(const struct ll_node *node)
{
    return node && node->type == LL_NODE_LIST;
}

static bool take_architecture(struct reader *r)
{
    struct ll_node *architecture = r->parts.architecture, *nodes = ll_take(architecture, "nodes"),
                   *tree = ll_take(architecture, "subtree"), *storage = ll_take(architecture, "storage"),
                   *arithmetic = ll_take(architecture, "arithmetic");
    struct ll_chain *chain = r->t.chain;
    ll_take_text(architecture, "version");
    bool parts = is_list(storage) && arithmetic && arithmetic->type == LL_NODE_MAP;
    if (!is_list(nodes) && !is_list(tree) && !parts)
        return ll_complain(r->x->diags, architecture->place,
                           "expected `nodes` (0.4), `subtree` (0.2, 0.3), or `storage` and `arithmetic` "
                           "(before) of an architecture");
    r->last = last_of(is_list(nodes) ? nodes : tree, 0);
    find_settings(r, architecture);
    if (!push(r, r->parts.variables) || !(is_list(nodes)  ? take_nodes(r, nodes, false)
                                          : is_list(tree) ? take_tree(r, tree, 1, 0)
                                                          : take_arch(r, storage, arithmetic)))
        return false;
    chain->dtype = dtype_of(r->word_bits);
    chain->sum_bytes = (int)fmax(1, ceil(fmin(r->word_bits, MOST_WORD_BITS) / 8));
    if (r->cycle_s > 0) {
        chain->clock = ll_said(r->x, "%.10gHz", 1 / r->cycle_s);
        chain->clock_source = "global_cycle_seconds of the imported file";
    }
    return true;
}

/* Outermost first becomes innermost first; ports serve what their stores hold. */
static void turn_chain(struct ll_timeloop *t)
{
    struct ll_chain *chain = t->chain;
    for (int s = 0; s < chain->stores; s++)
        for (int p = 0; p < chain->store[s].ports; p++)
            for (int o = 0; o < LL_OPERAND_COUNT; o++)
                if (!chain->store[s].holds[o])
                    chain->store[s].port[p].serves[o] = 0;
    for (int i = 0, k = chain->stores - 1; i < k; i++, k--) {
        struct ll_chain_store other = chain->store[i];
        chain->store[i] = chain->store[k];
        chain->store[k] = other;
    }
}

static bool read_files(struct reader *r, const struct ll_peer_import *import, struct ll_node *roots[FILES])
{
    for (size_t i = 0; i < import->count && i < FILES; i++) {
        const struct ll_peer_file *file = &import->files[i];
        if (!no_templates(r->x, file))
            return false;
        roots[i] = ll_node_parse_foreign(r->x->arena, file->text, file->length, file->name, r->x->diags);
        if (!roots[i])
            return false;
        take_keys(roots[i], &r->parts);
    }
    if (!r->parts.architecture)
        return ll_complain(r->x->diags, roots[0]->place,
                           "expected Timeloop's architecture: `architecture` with `nodes`");
    return true;
}

bool ll_peer_import_TIMELOOP(struct ll_interchange *x, const struct ll_peer_import *import,
                             struct ll_str *yaml)
{
    struct ll_node *roots[FILES] = {NULL};
    struct reader *r = ll_alloc(x->arena, 1, sizeof *r);
    struct ll_chain *chain = ll_alloc(x->arena, 1, sizeof *chain);
    if (!r || !chain)
        return ll_complain(x->diags, (struct ll_place){0}, "memory ran out");
    *chain =
        (struct ll_chain){.name = ll_said(x, "%.*s", (int)ll_stem_length(ll_base_name(import->files[0].name)),
                                          ll_base_name(import->files[0].name)),
                          .counts = "timeloop",
                          .clock = "1GHz",
                          .clock_source = "assumed: cycles are what counts",
                          .tool = ll_said(x, "%s", ll_base_name(import->files[0].name))};
    r->x = r->t.x = x;
    r->t.chain = chain;
    r->instances = r->across = 1;
    if (!read_files(r, import, roots) || !take_architecture(r) ||
        !ll_timeloop_take_problem(&r->t, r->parts.problem) ||
        !ll_timeloop_take_constraints(&r->t, r->parts.targets) || !check_converters(r))
        return false;
    if (r->parts.mapping && !ll_timeloop_take_mapping(&r->t, r->parts.mapping, r->parts.problem))
        return false;
    if (!r->parts.ert)
        take_technology(r);
    turn_chain(&r->t);
    struct ll_node *tables[] = {r->parts.ert, r->parts.art, r->parts.problem};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (tables[i])
            ll_take_all(tables[i]);
    for (size_t i = 0; i < import->count && i < FILES; i++)
        ll_leave_rest(x, roots[i], "", reasons);
    return ll_chain_put(x, chain, r->parts.architecture, yaml);
}
