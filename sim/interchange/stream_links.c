/* SPDX-License-Identifier: Apache-2.0 */
/* What joins the cores of a system of Stream. Links are listed one by one there, `graph` before version 1
 * named rows and columns. Here rows and columns become a mesh, a circle a ring, and the rest stars. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/interchange/stream.h"

bool ll_stream_wrong(const struct ll_stream_system *s, const struct ll_node *node, const char *expected)
{
    return ll_complain(s->x->diags, node->place, "`%s`: expected %s", ll_node_shown(node).text, expected);
}

/* "0, 1, 2" or [0, 1, 2]. */
int ll_stream_take_ids(const struct ll_stream_system *s, struct ll_node *node, int ids[LL_STREAM_CORES])
{
    int count = 0;
    const struct ll_node *item = node->type == LL_NODE_LIST ? node->first : node;
    ll_take_all(node);
    for (; item; item = node->type == LL_NODE_LIST ? item->next : NULL)
        for (const char *text = item->text; text && *text;) {
            char *end;
            unsigned long id = strtoul(text, &end, 10);
            if (end == text || id >= LL_STREAM_CORES || !s->core[id].there || count == LL_STREAM_CORES) {
                ll_stream_wrong(s, item, "numbers of cores of this system");
                return -1;
            }
            ids[count++] = (int)id;
            text = end + strspn(end, ", ");
        }
    return count;
}

static bool add_pair(struct ll_stream_system *s, const struct ll_node *node, int from, int to, double bits,
                     double cost)
{
    from = s->core[from].stands_for;
    to = s->core[to].stands_for;
    for (int i = 0; i < s->pairs; i++)
        if ((s->pair[i].from == from && s->pair[i].to == to) ||
            (s->pair[i].from == to && s->pair[i].to == from))
            return true;
    if (from == to)
        return true;
    if (s->pairs == LL_STREAM_PAIRS)
        return ll_stream_wrong(s, node, "at most 4096 links");
    s->pair[s->pairs++] = (struct ll_stream_pair){from, to, bits, cost, false};
    return true;
}

static bool add_bus(struct ll_stream_system *s, const struct ll_node *node, const int *ids, int count,
                    double bits, double cost)
{
    int ends = 0;
    if (s->buses == (int)(sizeof s->bus / sizeof *s->bus))
        return ll_stream_wrong(s, node, "at most 16 buses");
    struct ll_stream_bus *bus = &s->bus[s->buses++];
    *bus = (struct ll_stream_bus){.bits = bits, .cost = cost};
    for (int i = 0; i < count; i++) {
        bool *end = &bus->ends[s->core[ids[i]].stands_for];
        ends += !*end;
        *end = true;
    }
    return ends >= 2 || ll_stream_wrong(s, node, "a bus between two cores or more");
}

static bool take_connection(struct ll_stream_system *s, struct ll_node *item, double bits, double cost)
{
    int ids[LL_STREAM_CORES];
    struct ll_node *cores = item->type == LL_NODE_MAP ? ll_take(item, "cores") : item;
    const char *type = ll_take_text(item, "type");
    item->taken = true;
    if (!cores)
        return ll_stream_wrong(s, item, "`cores` that a link or a bus joins");
    int count = ll_stream_take_ids(s, cores, ids);
    if (count < 0 || !ll_take_number(s->x, item, "bandwidth", 1, 1e9, bits, &bits) ||
        !ll_take_number(s->x, item, "unit_energy_cost", 0, 1e12, cost, &cost))
        return false;
    if (bits == 0)
        return ll_stream_wrong(s, item, "a `bandwidth`, in bits a cycle");
    if (type && !strcmp(type, "bus"))
        return add_bus(s, item, ids, count, bits, cost);
    return count == 2 ? add_pair(s, item, ids[0], ids[1], bits, cost)
                      : ll_stream_wrong(s, item, "a link between two cores, or `type: bus`");
}

/* The width at which a memory reads, in bits a cycle. */
double ll_stream_port_bits(const struct ll_chain_store *store)
{
    double bits = 0;
    for (int p = 0; p < store->ports; p++)
        bits = fmax(bits, store->port[p].width_bits);
    return bits > 0 ? bits : 1;
}

const struct ll_chain_store *ll_stream_top(const struct ll_stream_system *s, int id)
{
    const struct ll_chain *chain = &s->file[s->core[id].file].chain;
    return &chain->store[chain->stores - 1];
}

/* `graph`, before version 1: all cores on a bus, or those that multiply in rows and columns and all others
 * linked to each; what is outside linked to all, at the width of its port. */
static bool take_graph(struct ll_stream_system *s, struct ll_node *graph)
{
    const char *type = ll_take_text(graph, "type");
    double rows, columns, bits, cost;
    int ids[LL_STREAM_CORES], count = 0, all[LL_STREAM_CORES], everyone = 0;
    if (!ll_take_number(s->x, graph, "nb_rows", 1, LL_STREAM_CORES, 1, &rows) ||
        !ll_take_number(s->x, graph, "nb_cols", 1, LL_STREAM_CORES, 1, &columns) ||
        !ll_take_number(s->x, graph, "bandwidth", 1, 1e9, 0, &bits) ||
        !ll_take_number(s->x, graph, "unit_energy_cost", 0, 1e12, 0, &cost))
        return false;
    if (bits == 0)
        return ll_stream_wrong(s, graph, "a `bandwidth`, in bits a cycle");
    for (int id = 0; id < LL_STREAM_CORES; id++) {
        if (!s->core[id].there)
            continue;
        all[everyone++] = id;
        if (id != s->offchip && s->file[s->core[id].file].role == LL_STREAM_ARRAY)
            ids[count++] = id;
    }
    if (type && !strcmp(type, "bus"))
        return add_bus(s, graph, all, everyone, bits, cost);
    for (int i = 0; i < count; i++) {
        int right = (i + 1) % (int)columns != 0 && i + 1 < count ? i + 1 : -1;
        int below = i + (int)columns < count ? i + (int)columns : -1;
        if ((right >= 0 && !add_pair(s, graph, ids[i], ids[right], bits, cost)) ||
            (below >= 0 && !add_pair(s, graph, ids[i], ids[below], bits, cost)))
            return false;
        for (int other = 0; other < everyone; other++)
            if (all[other] != s->offchip && s->file[s->core[all[other]].file].role != LL_STREAM_ARRAY &&
                !add_pair(s, graph, ids[i], all[other], bits, cost))
                return false;
    }
    return add_bus(s, graph, all, everyone, ll_stream_port_bits(ll_stream_top(s, s->offchip)), 0);
}

bool ll_stream_take_links(struct ll_stream_system *s, struct ll_node *system)
{
    struct ll_node *connectivity = ll_take(system, "core_connectivity"), *graph = ll_take(system, "graph");
    graph = graph ? graph : ll_node_get(system, "bus");
    double bits = 0, cost;
    const struct ll_node *width = ll_node_get(system, "bandwidth");
    if (!ll_take_number(s->x, system, "unit_energy_cost", 0, 1e12, 0, &cost) ||
        (width && width->text && !ll_take_number(s->x, system, "bandwidth", 1, 1e9, 0, &bits)))
        return false;
    for (struct ll_node *item = connectivity ? connectivity->first : NULL; item; item = item->next)
        if (!take_connection(s, item, bits, cost))
            return false;
    if (graph && graph->type == LL_NODE_MAP) {
        graph->taken = true;
        static const char *const roles[] = {"pooling_core_id", "simd_core_id"};
        for (int i = 0; i < 2; i++)
            ll_take_text(graph, roles[i]);
        return take_graph(s, graph);
    }
    return connectivity ? true : ll_stream_wrong(s, system, "`core_connectivity`: links between cores");
}

/* Cores that share a memory are joined by it, and what is outside is linked to whom nothing else links. */
bool ll_stream_join_rest(struct ll_stream_system *s, const struct ll_node *system)
{
    int all[LL_STREAM_CORES], count = 0;
    bool outside = false;
    for (int g = 0; g < s->groups; g++) {
        int first = -1;
        for (int i = 0; i < s->group_size[g]; i++) {
            int id = s->group[g][i];
            if (s->core[id].slot < 0)
                continue;
            first = first < 0 ? id : first;
            if (id != first &&
                !add_pair(s, system, first, id, ll_stream_port_bits(ll_stream_top(s, first)), 0))
                return false;
        }
    }
    for (int i = 0; i < s->pairs; i++)
        outside |= s->pair[i].from == s->offchip || s->pair[i].to == s->offchip;
    for (int b = 0; b < s->buses; b++)
        outside |= s->bus[b].ends[s->offchip];
    for (int id = 0; id < LL_STREAM_CORES && !outside; id++)
        if (s->core[id].there && s->core[id].stands_for == id)
            all[count++] = id;
    return outside || add_bus(s, system, all, count, ll_stream_port_bits(ll_stream_top(s, s->offchip)), 0);
}

static const char *end_name(const struct ll_stream_system *s, int id)
{
    const struct ll_stream_core *c = &s->core[id];
    if (id == s->offchip)
        return ll_stream_top(s, id)->name;
    const struct ll_stream_kind *kind = &s->kind[c->kind];
    return kind->count == 1 ? kind->name : ll_said(s->x, "%s.%d", kind->name, c->index);
}

static void open_link(struct ll_stream_system *s, const char *topology, double bits, double cost)
{
    ll_str_addf(&s->links, "  - {name: link_%d, topology: %s, bandwidth: %.10gB/cycle", ++s->link_count,
                topology, bits / 8);
    if (cost > 0) /* of as many bits as the link moves in a cycle */
        ll_str_addf(&s->links, ", pj_per_byte: %.10g", cost / (bits / 8));
}

static struct ll_stream_pair *find_pair(struct ll_stream_system *s, int kind, int i, int j, double bits,
                                        double cost)
{
    for (int p = 0; p < s->pairs; p++) {
        struct ll_stream_pair *pair = &s->pair[p];
        const struct ll_stream_core *a = &s->core[pair->from], *b = &s->core[pair->to];
        bool ends = (a->index == i && b->index == j) || (a->index == j && b->index == i);
        if (!pair->used && a->kind == kind && b->kind == kind && ends && pair->bits == bits &&
            pair->cost == cost)
            return pair;
    }
    return NULL;
}

/* Whether all cores of a kind are linked as rows of so many columns (as a circle: columns 0); with `use`
 * the links are used up. */
static bool is_grid(struct ll_stream_system *s, int kind, int columns, double bits, double cost, bool use)
{
    int count = s->kind[kind].count;
    for (int i = 0; i < count; i++) {
        int next[2] = {(i + 1) % columns != 0 && i + 1 < count ? i + 1 : -1,
                       i + columns < count ? i + columns : -1};
        for (int n = 0; n < 2; n++) {
            struct ll_stream_pair *pair = next[n] < 0 ? NULL : find_pair(s, kind, i, next[n], bits, cost);
            if (next[n] >= 0 && !pair)
                return false;
            if (use && pair)
                pair->used = true;
        }
    }
    return true;
}

static void put_grids(struct ll_stream_system *s)
{
    for (int p = 0; p < s->pairs; p++) {
        const struct ll_stream_pair *pair = &s->pair[p];
        int kind = s->core[pair->from].kind, count = kind < 0 ? 0 : s->kind[kind].count;
        if (pair->used || count < 3 || s->core[pair->to].kind != kind)
            continue;
        struct ll_stream_pair *closing = find_pair(s, kind, 0, count - 1, pair->bits, pair->cost);
        for (int columns = count; columns >= 2; columns--) {
            if (count % columns || !is_grid(s, kind, columns, pair->bits, pair->cost, false))
                continue;
            bool ring = columns == count && closing;
            is_grid(s, kind, columns, pair->bits, pair->cost, true);
            if (ring)
                closing->used = true;
            open_link(s, ring ? "ring" : "mesh", pair->bits, pair->cost);
            if (!ring)
                ll_str_addf(&s->links, ", shape: %dx%d", count / columns, columns);
            ll_str_addf(&s->links, ", joins: [%s]}\n", s->kind[kind].name);
            break;
        }
    }
}

/* The end with most links that are left is the middle of a star. */
static void put_stars(struct ll_stream_system *s)
{
    for (;;) {
        int most = 0, hub = -1, first = -1;
        for (int p = 0; p < s->pairs && first < 0; p++)
            first = s->pair[p].used ? -1 : p;
        if (first < 0)
            return;
        double bits = s->pair[first].bits, cost = s->pair[first].cost;
        for (int id = 0; id < LL_STREAM_CORES; id++) {
            int degree = 0;
            for (int p = first; p < s->pairs; p++)
                degree += !s->pair[p].used && s->pair[p].bits == bits && s->pair[p].cost == cost &&
                          (s->pair[p].from == id || s->pair[p].to == id);
            hub = degree > most ? id : hub;
            most = degree > most ? degree : most;
        }
        open_link(s, "star", bits, cost);
        ll_str_addf(&s->links, ", joins: [%s", end_name(s, hub));
        for (int p = first; p < s->pairs; p++) {
            struct ll_stream_pair *pair = &s->pair[p];
            if (pair->used || pair->bits != bits || pair->cost != cost ||
                (pair->from != hub && pair->to != hub))
                continue;
            pair->used = true;
            ll_str_addf(&s->links, ", %s", end_name(s, pair->from == hub ? pair->to : pair->from));
        }
        ll_str_add(&s->links, "]}\n");
    }
}

static void put_buses(struct ll_stream_system *s)
{
    for (int b = 0; b < s->buses; b++) {
        const char *gap = ", joins: [";
        open_link(s, "bus", s->bus[b].bits, s->bus[b].cost);
        for (int k = 0; k < s->kinds; k++) {
            bool all = true;
            for (int id = 0; id < LL_STREAM_CORES; id++)
                all &= !s->core[id].there || s->core[id].kind != k || s->bus[b].ends[id];
            for (int id = 0; id < LL_STREAM_CORES; id++)
                if (s->core[id].there && s->core[id].kind == k && s->bus[b].ends[id]) {
                    ll_str_addf(&s->links, "%s%s", gap, all ? s->kind[k].name : end_name(s, id));
                    gap = ", ";
                    if (all)
                        break;
                }
        }
        if (s->bus[b].ends[s->offchip])
            ll_str_addf(&s->links, "%s%s", gap, ll_stream_top(s, s->offchip)->name);
        ll_str_add(&s->links, "]}\n");
    }
}

/* Cores to which nothing leads are left out. */
void ll_stream_drop_lonely(struct ll_stream_system *s)
{
    for (int id = 0; id < LL_STREAM_CORES; id++) {
        bool linked = id == s->offchip || s->core[id].slot >= 0;
        for (int p = 0; p < s->pairs && s->core[id].there; p++)
            linked |= s->pair[p].from == id || s->pair[p].to == id;
        for (int b = 0; b < s->buses; b++)
            linked |= s->bus[b].ends[id];
        if (s->core[id].there && !linked && s->core[id].stands_for == id) {
            ll_leave(s->x, ll_said(s->x, "cores.%d", id), (struct ll_place){0}, "no link leads to this core");
            s->core[id].there = false;
        }
    }
}

void ll_stream_put_links(struct ll_stream_system *s)
{
    put_grids(s);
    put_stars(s);
    put_buses(s);
}
