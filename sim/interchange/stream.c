/* SPDX-License-Identifier: Apache-2.0 */
/* Systems of Stream (Symons et al., IEEE Transactions on Computers 74(1), 2025): cores, each a file of
 * ZigZag's hardware, one of them the memory outside of the chip; links and buses between them; memories
 * that cores share.
 *
 * Cores of one file become a kind of core here, its array a unit of loops side by side, its memories
 * levels of its own. Where cores share their outermost memory, those that stand at the same place of their
 * groups are a kind, so that the i-th of each kind share the i-th memory. A core without multipliers is no
 * core here: where it shares its memory, its links are those of the first core that computes with it; else
 * it only passes on.
 *
 * Links are listed one by one there. Here rows and columns become a mesh, a circle a ring, and the rest
 * stars. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/interchange/stream.h"
#include "tracer/base/file.h"

enum { MOST_FILE = 1 << 20 };

/* --- files of cores --- */

static const struct ll_peer_file *given_file(const struct ll_stream_system *s, const char *path)
{
    for (size_t i = 0; i < s->import->count; i++)
        if (!strcmp(ll_base_name(s->import->files[i].name), ll_base_name(path)))
            return &s->import->files[i];
    return NULL;
}

/* The text of a core's file: of those given, or where its path says from the system's folder or from where
 * one is, or beside the system or in its folder `cores`, whatever folders the path names. */
static bool read_core(const struct ll_stream_system *s, const struct ll_node *node, struct ll_peer_file *file)
{
    const struct ll_peer_file *given = given_file(s, node->text);
    const char *base = ll_base_name(node->text);
    const char *const places[] = {ll_said(s->x, "%s%s", s->folder, node->text), node->text,
                                  ll_said(s->x, "%s%s", s->folder, base),
                                  ll_said(s->x, "%scores/%s", s->folder, base)};
    if (given) {
        *file = *given;
        return true;
    }
    for (size_t i = 0; !s->import->closed && i < sizeof places / sizeof *places; i++) {
        struct ll_contents contents;
        if (ll_read_whole(places[i], MOST_FILE, s->x->arena, &contents) == LL_OK) {
            if (s->import->spares && !s->import->spares(s->import->context, places[i]))
                return ll_stream_wrong(s, node, "a file of a core that is not written over");
            *file = (struct ll_peer_file){places[i], contents.bytes, contents.length};
            return true;
        }
    }
    return ll_stream_wrong(s, node, "the file of a core, beside the system, in `cores`, or given behind it");
}

static bool takes_gemms(const struct ll_node *types)
{
    static const char *const words[] = {"Conv", "MatMul", "Gemm", "Einsum", "QLinearConv"};
    for (const struct ll_node *t = types->first; t; t = t->next)
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (t->text && !strcmp(t->text, words[i]))
                return true;
    return false;
}

/* What a core does: multiply in an array, work on lanes, or nothing. Its file may say which operators it
 * takes; else an array of one axis, or without memories inside, is taken for lanes (settle_roles). */
static void take_role(struct ll_stream_file *f)
{
    const char *type = ll_take_text(f->root, "type");
    struct ll_node *types = ll_take(f->root, "operator_types");
    const char *kind = type ? strrchr(type, '.') : NULL;
    int wide = 0;
    kind = kind ? kind + 1 : type ? type : "compute";
    f->elements = 1;
    for (int a = 0; a < f->chain.axes; a++) {
        f->elements *= (double)f->chain.axis[a];
        wide += f->chain.axis[a] > 1;
    }
    if (types)
        ll_take_all(types);
    f->one_axis = wide <= 1 || ll_chain_is_level(&f->chain, 0);
    f->role = f->elements == 0 || !strcmp(kind, "memory") || !strcmp(kind, "shim") ? LL_STREAM_MEMORY
              : types && !takes_gemms(types)                                       ? LL_STREAM_LANES
              : types                                                              ? LL_STREAM_ARRAY
              : f->one_axis                                                        ? LL_STREAM_LANES
                                                                                   : LL_STREAM_ARRAY;
}

static int find_file(struct ll_stream_system *s, const struct ll_node *node)
{
    const struct ll_zigzag_links links = {false};
    struct ll_peer_file text = {NULL, NULL, 0};
    for (int f = 0; f < s->files; f++)
        if (!strcmp(s->file[f].path, node->text))
            return f;
    if (s->files == LL_STREAM_FILES) {
        ll_stream_wrong(s, node, "no more than 16 different files of cores");
        return -1;
    }
    struct ll_stream_file *f = &s->file[s->files];
    if (!read_core(s, node, &text))
        return -1;
    for (int other = 0; other < s->files; other++)
        if (!strcmp(s->file[other].name, text.name))
            return other;
    f->path = node->text;
    f->name = text.name;
    f->root = ll_node_parse_foreign(s->x->arena, text.text, text.length, text.name, s->x->diags);
    if (!f->root || !ll_zigzag_take_core(s->x, f->root, &links, &f->chain))
        return -1;
    if (f->chain.stores == 0) {
        ll_complain(s->x->diags, f->root->place, "expected a core with `memories`");
        return -1;
    }
    f->chain.store[f->chain.stores - 1].serves = (1u << f->chain.axes) - 1;
    take_role(f);
    return s->files++;
}

static bool take_core(struct ll_stream_system *s, uint64_t id, struct ll_node *node)
{
    if (id >= LL_STREAM_CORES || !node->text)
        return ll_stream_wrong(s, node, "the file of a core, and at most 128 of them");
    int file = find_file(s, node);
    if (file < 0)
        return false;
    node->taken = true;
    s->core[id] = (struct ll_stream_core){true, file, -1, 0, -1, -1, (int)id};
    return true;
}

static bool take_cores(struct ll_stream_system *s, struct ll_node *system)
{
    struct ll_node *cores = ll_take(system, "cores");
    uint64_t index = 0;
    bool right = cores->type != LL_NODE_SCALAR && cores->count > 0
                     ? true
                     : ll_stream_wrong(s, cores, "files of cores by their numbers");
    for (struct ll_node *c = cores->first; right && c; c = c->next, index++) {
        char *end = NULL;
        uint64_t id = c->key ? strtoull(c->key, &end, 10) : index;
        right = c->key && (end == c->key || *end)
                    ? ll_stream_wrong(s, c, "a number of a core before its file")
                    : take_core(s, id, c);
    }
    return right;
}

/* The core outside of the chip: by number, or by a file of its own. */
static bool take_offchip(struct ll_stream_system *s, struct ll_node *system, struct ll_node *graph)
{
    const struct ll_node *at = ll_node_get(system, "offchip_core_id") ? system : graph;
    struct ll_node *file = ll_take(system, "offchip_core");
    double id = -1;
    if (file && file->text) {
        int free_id = 0;
        while (free_id < LL_STREAM_CORES && s->core[free_id].there)
            free_id++;
        s->offchip = free_id;
        return take_core(s, (uint64_t)free_id, file);
    }
    if (!ll_take_number(s->x, at ? at : system, "offchip_core_id", 0, LL_STREAM_CORES - 1, -1, &id))
        return false;
    if (id < 0 || !s->core[(int)id].there)
        return ll_stream_wrong(s, system, "`offchip_core_id`: the number of the core outside of the chip");
    s->offchip = (int)id;
    return true;
}

/* What is outside of the chip does not compute. Where nothing multiplies, lanes do: those whose file does not
 * say which operators they take. */
static void settle_roles(struct ll_stream_system *s)
{
    bool any = false, lanes = false;
    int outside = s->core[s->offchip].file, users = 0;
    for (int id = 0; id < LL_STREAM_CORES; id++)
        users += s->core[id].there && s->core[id].file == outside;
    if (users == 1)
        s->file[outside].role = LL_STREAM_MEMORY;
    for (int f = 0; f < s->files; f++)
        any |= s->file[f].role == LL_STREAM_ARRAY;
    for (int f = 0; f < s->files && !any; f++)
        if (s->file[f].role == LL_STREAM_LANES && !ll_node_get(s->file[f].root, "operator_types"))
            s->file[f].role = LL_STREAM_ARRAY;
    for (int f = 0; f < s->files; f++)
        lanes |= s->file[f].role == LL_STREAM_LANES && f != s->core[s->offchip].file;
    for (int f = 0; f < s->files && !lanes; f++)
        if (s->file[f].role == LL_STREAM_ARRAY) {
            ll_assume(s->x, "units.lanes", "no core of the system is for what is no GEMM or convolution");
            return;
        }
}

/* --- numbers of cores --- */

static bool take_sharing(struct ll_stream_system *s, struct ll_node *system)
{
    struct ll_node *sharing = ll_take(system, "core_memory_sharing");
    if (sharing && sharing->type == LL_NODE_SCALAR && ll_take_text(system, "core_memory_sharing"))
        return ll_stream_wrong(s, sharing, "a list of groups of cores, as [[0, 1], [2, 3]]");
    for (struct ll_node *g = sharing ? sharing->first : NULL; g; g = g->next) {
        if (s->groups == LL_STREAM_GROUPS)
            return ll_stream_wrong(s, g, "at most 64 groups of cores that share a memory");
        int count = ll_stream_take_ids(s, g, s->group[s->groups]);
        if (count < 2)
            return count < 0 ? false : ll_stream_wrong(s, g, "at least two cores that share a memory");
        for (int i = 0; i < count; i++) {
            int id = s->group[s->groups][i];
            if (s->core[id].group == s->groups || id == s->offchip)
                return ll_stream_wrong(s, g, "cores of the chip, each once");
            s->core[id].group = s->groups;
        }
        s->group_size[s->groups++] = count;
    }
    return true;
}

/* Who computes in a group comes first, so that links of its memory land there. */
static void settle_groups(struct ll_stream_system *s)
{
    for (int g = 0; g < s->groups; g++) {
        int first = -1, slot = 0;
        for (int i = 0; i < s->group_size[g]; i++) {
            int id = s->group[g][i];
            if (s->file[s->core[id].file].role == LL_STREAM_MEMORY)
                continue;
            first = first < 0 ? id : first;
            s->core[id].slot = slot++;
        }
        for (int i = 0; i < s->group_size[g] && first >= 0; i++)
            if (s->file[s->core[s->group[g][i]].file].role == LL_STREAM_MEMORY)
                s->core[s->group[g][i]].stands_for = first;
    }
}

static bool settle_kinds(struct ll_stream_system *s)
{
    for (int id = 0; id < LL_STREAM_CORES; id++) {
        struct ll_stream_core *c = &s->core[id];
        int k = 0;
        if (!c->there || id == s->offchip || c->stands_for != id)
            continue;
        while (k < s->kinds && (s->kind[k].file != c->file || s->kind[k].slot != c->slot))
            k++;
        if (k == LL_STREAM_KINDS)
            return ll_complain(s->x->diags, s->file[c->file].root->place,
                               "more than %d kinds of core; expected fewer different files", LL_STREAM_KINDS);
        if (k == s->kinds) {
            const char *name = s->file[c->file].chain.name;
            bool again = false;
            for (int i = 0; i < k; i++)
                again |= !strcmp(s->kind[i].name, ll_fit_name(s->x, name));
            s->kind[s->kinds++] = (struct ll_stream_kind){
                ll_fit_name(s->x, again ? ll_said(s->x, "%.30s_%d", name, k) : name), c->file, c->slot, 0};
        }
        c->kind = k;
        c->index = s->kind[k].count++;
    }
    return true;
}

/* --- writing --- */

static bool puts_level(const struct ll_stream_file *f, int store)
{
    return ll_chain_is_level(&f->chain, store);
}

/* Whether a memory is the outermost one of its core for some operand: those are what cores share. */
static bool is_top(const struct ll_chain *chain, int store)
{
    bool top = false;
    for (int o = 0; o < LL_OPERAND_COUNT; o++) {
        bool last = chain->store[store].holds[o];
        for (int i = store + 1; i < chain->stores; i++)
            last = last && !chain->store[i].holds[o];
        top |= last;
    }
    return top;
}

/* Whether a kind has a level of its own: those that share do with what the first of them has. */
static bool owns_level(const struct ll_stream_system *s, int k, int store)
{
    const struct ll_stream_file *f = &s->file[s->kind[k].file];
    return puts_level(f, store) && !(s->kind[k].slot > 0 && is_top(&f->chain, store));
}

/* The kind whose memory a kind shares; itself where it shares none. */
static int owner_of(const struct ll_stream_system *s, int k)
{
    for (int id = 0; id < LL_STREAM_CORES && s->kind[k].slot > 0; id++)
        if (s->core[id].there && s->core[id].kind == k)
            for (int i = 0; i < s->group_size[s->core[id].group]; i++) {
                const struct ll_stream_core *other = &s->core[s->group[s->core[id].group][i]];
                if (other->slot == 0)
                    return other->kind;
            }
    return k;
}

/* The level of a core's memory. */
static const char *level_name(const struct ll_stream_system *s, int k, int store)
{
    const struct ll_stream_file *f = &s->file[s->kind[k].file];
    bool again = false;
    for (int other = 0; other <= s->kinds; other++) {
        int file = other < s->kinds ? s->kind[other].file : s->core[s->offchip].file;
        for (int i = 0; i < s->file[file].chain.stores && other != k; i++)
            again |= !strcmp(s->file[file].chain.store[i].name, f->chain.store[store].name);
    }
    return again ? ll_fit_name(s->x, ll_said(s->x, "%s_%s", s->kind[k].name, f->chain.store[store].name))
                 : f->chain.store[store].name;
}

static const char *unit_name(const struct ll_stream_system *s, int k)
{
    for (int other = 0; other < k; other++) /* kinds of one file have one unit */
        if (s->kind[other].file == s->kind[k].file)
            return unit_name(s, other);
    return ll_fit_name(s->x, ll_said(s->x, "%.30s_%s", s->kind[k].name,
                                     s->file[s->kind[k].file].role == LL_STREAM_ARRAY ? "array" : "lanes"));
}

static void put_lanes(const char *name, double lanes, struct ll_str *out)
{
    ll_str_addf(
        out,
        "  - name: %s\n    model: vector\n    lanes: %.0f\n    flops: {int8: 1, i16: 1, i32: 1, i64: 1, "
        "f16: 1, bf16: 1, f32: 1, bool: 1}\n",
        name, lanes);
}

static bool any_lanes(const struct ll_stream_system *s)
{
    for (int k = 0; k < s->kinds; k++)
        if (s->file[s->kind[k].file].role == LL_STREAM_LANES)
            return true;
    return false;
}

/* Loops that the axes of an array may run, in the order in which they are tried. */
static const char *const loops[] = {"K", "C", "OX", "B"};
enum { LOOPS = sizeof loops / sizeof *loops };

/* Iterations side by side of each loop. */
struct way {
    uint64_t by[LOOPS];
};

/* Fewer loops first, of equals the more even ones; then the order of `loops`. */
static int compare_ways(const void *a, const void *b)
{
    const struct way *ways[] = {a, b};
    double key[2][2] = {{0}};
    for (int i = 0; i < 2; i++)
        for (int l = 0; l < LOOPS; l++) {
            key[i][0] += ways[i]->by[l] > 1;
            key[i][1] = fmax(key[i][1], (double)ways[i]->by[l]);
        }
    for (int k = 0; k < 2; k++)
        if (key[0][k] != key[1][k]) {
            bool one[2] = {key[0][0] < 2, key[1][0] < 2}; /* a single loop comes last */
            bool less = k == 0 && one[0] != one[1] ? one[1] : key[0][k] < key[1][k];
            return less ? -1 : 1;
        }
    return -memcmp(ways[0]->by, ways[1]->by, sizeof ways[0]->by);
}

/* All ways to give each axis a loop, as far as they differ. */
static int all_ways(const struct ll_chain *chain, struct way ways[4096])
{
    int count = 0, codes = 1;
    for (int a = 0; a < chain->axes; a++)
        codes *= LOOPS;
    for (int code = 0; code < codes; code++) {
        struct way way = {{1, 1, 1, 1}};
        int rest = code, same = 0;
        for (int a = 0; a < chain->axes; a++, rest /= LOOPS)
            way.by[rest % LOOPS] *= chain->axis[a];
        while (same < count && memcmp(&ways[same], &way, sizeof way))
            same++;
        if (same == count)
            ways[count++] = way;
    }
    qsort(ways, (size_t)count, sizeof *ways, compare_ways);
    return count;
}

/* Bits a cycle at which an element reads the narrower of its two operands; 0: from no register of its own. */
static double operand_bits(const struct ll_chain *chain)
{
    double bits = 0;
    for (int i = 0; i < chain->stores && !ll_chain_is_level(chain, i); i++)
        for (int o = 0; o < LL_OPERAND_C; o++)
            for (int p = 0; p < chain->store[i].ports && chain->store[i].holds[o]; p++)
                if (chain->store[i].port[p].serves[o] >> LL_ARRAY_READ & 1)
                    bits = bits > 0 ? fmin(bits, chain->store[i].port[p].width_bits)
                                    : chain->store[i].port[p].width_bits;
    return bits;
}

/* An array as elements whose loops run side by side: what a tile takes then follows from a formula, so that
 * thousands of plans can be looked at. */
static void put_array(struct ll_stream_system *s, const struct ll_stream_file *f, const char *name,
                      struct ll_str *out)
{
    static const struct {
        const char *name;
        double bits;
    } types[] = {{"int8", 8}, {"u8", 8}, {"i16", 16}, {"f16", 16}, {"bf16", 16}, {"f32", 32}, {"i32", 32}};
    static const char *const stationary[] = {"is", "ws", "os"};
    struct way *ways = ll_alloc(s->x->arena, 4096, sizeof *ways);
    const char *dataflow = "os";
    double bits = operand_bits(&f->chain);
    int count = ways ? all_ways(&f->chain, ways) : 0;
    for (int o = 0; o < LL_OPERAND_COUNT && !ll_chain_is_level(&f->chain, 0); o++)
        if (f->chain.store[0].holds[o])
            dataflow = stationary[o];
    ll_str_addf(out, "  - name: %s\n    model: spatial\n    elements: %.0f\n    unroll: [", name,
                f->elements);
    if (f->chain.side_by_side)
        ll_str_add(out, f->chain.side_by_side);
    for (int w = 0; !f->chain.side_by_side && w < count && w < LL_MAX_UNROLLS; w++) {
        ll_str_add(out, w ? ", " : "");
        const char *blank = "";
        for (int l = 0; l < LOOPS; l++)
            if (ways[w].by[l] > 1) {
                ll_str_addf(out, "%s%s%" PRIu64, blank, loops[l], ways[w].by[l]);
                blank = " ";
            }
    }
    ll_str_addf(out, "]\n    dataflow: %s\n    macs: {", dataflow);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        ll_str_addf(out, "%s%s: %.10g", i ? ", " : "", types[i].name,
                    bits > 0 ? fmin(1, bits / types[i].bits) : 1);
    ll_str_add(out, "}\n    sum_bytes: 4\n    runs: [matrix, conv]\n");
}

static void put_units(struct ll_stream_system *s, struct ll_str *out)
{
    ll_str_add(out, "units:\n");
    for (int k = 0; k < s->kinds; k++) {
        struct ll_stream_file *f = &s->file[s->kind[k].file];
        bool first = true;
        for (int other = 0; other < k; other++)
            first &= s->kind[other].file != s->kind[k].file;
        if (first && f->role == LL_STREAM_ARRAY)
            put_array(s, f, unit_name(s, k), out);
        else if (first && f->role == LL_STREAM_LANES)
            put_lanes(unit_name(s, k), f->elements, out);
    }
    if (!any_lanes(s))
        put_lanes("lanes", 64, out);
}

static void put_level(const struct ll_chain_store *store, const char *name, bool all, struct ll_str *out)
{
    static const char *const operands[] = {"input", "weight", "output"};
    const char *gap = ", holds: [";
    double bits = 0;
    for (int p = 0; p < store->ports; p++)
        bits += store->port[p].width_bits;
    ll_str_addf(out, "  - {name: %s, size: %.0fB, bandwidth: %.10gB/cycle", name, ceil(store->size_bits / 8),
                fmax(1, bits) / 8);
    if (!all && !(store->holds[0] && store->holds[1] && store->holds[2])) {
        for (int o = 0; o < LL_OPERAND_COUNT; o++)
            if (store->holds[o]) {
                ll_str_addf(out, "%s%s", gap, operands[o]);
                gap = ", ";
            }
        ll_str_add(out, "]");
    }
    ll_str_add(out, "}\n");
}

static void put_own_levels(struct ll_stream_system *s, int k, int from, int end, struct ll_str *out)
{
    const struct ll_stream_file *f = &s->file[s->kind[k].file];
    for (int i = from; i < end; i++)
        if (owns_level(s, k, i))
            put_level(&f->chain.store[i], level_name(s, k, i), false, out);
}

/* From which of its memories on a kind shares them: the number of them where it is not the first of those who
 * do. */
static int first_shared(const struct ll_stream_system *s, int k)
{
    const struct ll_chain *chain = &s->file[s->kind[k].file].chain;
    int i = s->kind[k].slot == 0 ? 0 : chain->stores;
    while (i < chain->stores && !is_top(chain, i))
        i++;
    return i;
}

/* Levels stand innermost first: a memory that is shared behind what any of those who share it have inside. */
static void put_memory(struct ll_stream_system *s, struct ll_str *out)
{
    ll_str_add(out, "\nmemory:\n");
    for (int k = 0; k < s->kinds; k++)
        put_own_levels(s, k, 0, first_shared(s, k), out);
    for (int k = 0; k < s->kinds; k++)
        put_own_levels(s, k, first_shared(s, k), s->file[s->kind[k].file].chain.stores, out);
    const struct ll_chain_store *outside = ll_stream_top(s, s->offchip);
    put_level(outside, outside->name, true, out);
}

static void put_cores(struct ll_stream_system *s, struct ll_str *out)
{
    bool lanes = any_lanes(s), given = false;
    ll_str_add(out, "\ncores:\n");
    for (int k = 0; k < s->kinds; k++) {
        const struct ll_stream_file *f = &s->file[s->kind[k].file];
        const char *gap = "";
        ll_str_addf(out, "  - {name: %s, count: %d, units: [", s->kind[k].name, s->kind[k].count);
        if (f->role != LL_STREAM_MEMORY)
            ll_str_add(out, unit_name(s, k));
        if (f->role == LL_STREAM_ARRAY && !lanes && !given) {
            ll_str_add(out, ", lanes");
            given = true;
        }
        ll_str_add(out, "], memory: [");
        for (int i = 0; i < f->chain.stores; i++)
            if (owns_level(s, k, i)) {
                ll_str_addf(out, "%s%s", gap, level_name(s, k, i));
                gap = ", ";
            }
        int owner = owner_of(s, k);
        const struct ll_stream_file *shared = &s->file[s->kind[owner].file];
        for (int i = 0; owner != k && i < shared->chain.stores; i++)
            if (puts_level(shared, i) && is_top(&shared->chain, i)) {
                ll_str_addf(out, "%s%s", gap, level_name(s, owner, i));
                gap = ", ";
            }
        ll_str_add(out, "]}\n");
    }
}

/* Energy of a byte of a level, where no array counts its accesses. */
static void put_energy(struct ll_stream_system *s, struct ll_str *out)
{
    double mac_pj = 0, op_pj = 0;
    for (int f = 0; f < s->files; f++) {
        mac_pj = s->file[f].role == LL_STREAM_ARRAY ? fmax(mac_pj, s->file[f].chain.mac_pj) : mac_pj;
        op_pj = s->file[f].role == LL_STREAM_LANES ? fmax(op_pj, s->file[f].chain.mac_pj) : op_pj;
    }
    ll_str_add(out, "\nenergy:\n");
    if (mac_pj > 0)
        ll_str_addf(out, "  mac_pj: {int8: %.10g}\n", mac_pj);
    if (op_pj > 0)
        ll_str_addf(out, "  op_pj: {int8: %.10g}\n", op_pj);
    for (int k = 0; k <= s->kinds; k++) {
        const struct ll_stream_file *f = &s->file[k < s->kinds ? s->kind[k].file : s->core[s->offchip].file];
        for (int i = k < s->kinds ? 0 : f->chain.stores - 1; i < f->chain.stores; i++) {
            const struct ll_chain_store *store = &f->chain.store[i];
            bool own = k == s->kinds || owns_level(s, k, i);
            double pj = (store->read_pj + store->write_pj) / 2 / (ll_stream_port_bits(store) / 8);
            if (puts_level(f, i) && own && pj > 0)
                ll_str_addf(out, "  %s_pj_per_byte: %.10g\n",
                            k < s->kinds ? level_name(s, k, i) : store->name, pj);
        }
    }
}

static void put_machine(struct ll_stream_system *s, const char *name, const char *source, struct ll_str *out)
{
    ll_str_add(out, "name: ");
    ll_put_quoted(out, name);
    ll_str_add(out, "\nkind: custom\nclock: 1GHz\n\n");
    put_units(s, out);
    put_memory(s, out);
    put_cores(s, out);
    ll_str_addf(out, "\ncore_links:\n%s\nsoftware: {mapping: search}\n", s->links.text ? s->links.text : "");
    put_energy(s, out);
    ll_str_add(out, "\nsources:\n  clock: \"assumed: cycles are what counts\"\n");
    static const char *const parts[] = {"units", "memory", "cores", "core_links", "energy"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        ll_str_addf(out, "  %s: ", parts[i]);
        ll_put_quoted(out, source);
        ll_str_add(out, "\n");
    }
    ll_str_add(out, "  software.mapping: \"chosen: arrays search for the mappings of all work\"\n");
}

static const struct ll_why reasons[] = {
    {"core_coordinates", "ways between cores follow from their links"},
    {"kernel_library", "kernels of single operators are not modelled"},
    {"technology_node", "costs of accesses are taken as they are written"},
    {"bandwidth", "shares of a port that short bursts reach are not modelled between cores"},
    {"nb_rows", "ways between cores follow from their links"},
    {NULL, "no key of Stream's system that is known here"},
};

/* What the memories of cores say that only pass on, and registers of lanes, have no place here. */
static void leave_memories(struct ll_stream_system *s)
{
    for (int f = 0; f < s->files; f++) {
        struct ll_stream_file *file = &s->file[f];
        bool outside = f == s->core[s->offchip].file;
        ll_leave_rest(s->x, file->root, file->chain.name, ll_zigzag_reasons());
        for (int i = 0; file->role != LL_STREAM_MEMORY && i < file->chain.stores; i++)
            if (!puts_level(file, i))
                ll_leave(s->x, ll_said(s->x, "%s.memories.%s", file->chain.name, file->chain.store[i].name),
                         file->root->place,
                         file->role == LL_STREAM_LANES
                             ? "lanes work on the memory outside of them"
                             : "of a register its port and operand are kept, not its energy");
        if (file->role == LL_STREAM_ARRAY && !outside && !file->chain.side_by_side)
            ll_assume(s->x, ll_said(s->x, "units.%s_array.unroll", file->chain.name),
                      "the file fixes no dataflow: filters, channels, pixels and images along its axes");
        if (file->role == LL_STREAM_LANES && !outside)
            ll_assume(s->x, ll_said(s->x, "units.%s_lanes", file->chain.name),
                      "a core of one axis, or without memories inside, or for no GEMMs: lanes that do one "
                      "operation a cycle");
        if (file->role == LL_STREAM_MEMORY && !outside)
            ll_leave(s->x, ll_said(s->x, "%s.memories", file->chain.name), file->root->place,
                     "a core that does not compute passes on; tiles wait with those that use them");
    }
}

bool ll_stream_import(struct ll_interchange *x, const struct ll_peer_import *import, struct ll_node *system,
                      struct ll_str *yaml)
{
    struct ll_stream_system *s = ll_alloc(x->arena, 1, sizeof *s);
    const char *name = ll_take_text(system, "name"), *file = system->place.file ? system->place.file : "";
    struct ll_node *graph = ll_node_get(system, "graph");
    if (!s)
        return ll_complain(x->diags, system->place, "memory ran out");
    s->x = x;
    s->import = import;
    s->folder = ll_said(x, "%.*s", (int)(ll_base_name(file) - file), file);
    if (!take_cores(s, system) || !take_offchip(s, system, graph ? graph : ll_node_get(system, "bus")))
        return false;
    settle_roles(s);
    bool right = take_sharing(s, system);
    settle_groups(s);
    right = right && ll_stream_take_links(s, system) && ll_stream_join_rest(s, system);
    ll_stream_drop_lonely(s);
    right = right && settle_kinds(s);
    if (right)
        ll_stream_put_links(s);
    bool computes = false;
    for (int k = 0; k < s->kinds; k++)
        computes |= s->file[s->kind[k].file].role == LL_STREAM_ARRAY;
    if (right && !computes)
        right = ll_complain(x->diags, system->place,
                            "expected a core that multiplies beside the one outside of the chip");
    if (right && s->link_count > LL_MAX_CORE_LINKS)
        right = ll_complain(x->diags, system->place,
                            "links between cores that make more than %d meshes, rings, stars and buses",
                            LL_MAX_CORE_LINKS);
    if (right) {
        put_machine(s, name ? name : "imported", ll_said(x, "imported: %s", ll_base_name(file)), yaml);
        ll_leave_rest(x, system, "", reasons);
        leave_memories(s);
        ll_assume(x, "clock", "the files count cycles; each takes a nanosecond");
    }
    ll_str_release(&s->links);
    return right;
}
