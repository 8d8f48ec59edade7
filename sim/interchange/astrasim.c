/* SPDX-License-Identifier: Apache-2.0 */
/* Networks and systems of ASTRA-sim 2 (Won et al., ISPASS 2023). A network is a list of dimensions,
 * innermost first, each a ring, a switch or links between all, with so many devices, a bandwidth and a
 * latency of a link: levels of our networks. Its GB are 2^30 bytes, its nanoseconds are ours; a message
 * through a switch takes two links in both. A system is what a device can do (`peak-perf` in TFLOP/s,
 * `local-mem-bw` in 10^9 B/s) and how collectives go.
 *
 * The older form, one JSON file with `topologies-per-dim`, is read as well. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sim/interchange/exchange.h"
#include "tracer/transform/dtype.h"

#define GIB 0x1p30

static const struct ll_why reasons[] = {
    {"scheduling-policy", "the order of collectives follows from the trace"},
    {"endpoint-delay", "devices pass messages on without a delay of their own"},
    {"active-chunks-per-dimension", "a collective is one exchange on all its links"},
    {"preferred-dataset-splits", "a collective is cut as its algorithm says"},
    {"collective-optimization", "levels work one after the other, each as fast as it can"},
    {"boost-mode", "all devices are simulated alike"},
    {"track-local-mem", "memory is always reported"},
    {"local-mem-trace-filename", "memory is always reported"},
    {"trace-enabled", "timelines are written by `leadline export`"},
    {"roofline-enabled", "computing is always simulated"},
    {"replay-only", "a trace says what is replayed"},
    {"topology-name", "levels nest"},
    {"dimensions-count", "the lists say it"},
    {"dimension-type", "latencies say it"},
    {"links-count", "a device has as many links as its topology says"},
    {"nic-latency", "latencies of cards have no key of their own"},
    {"router-latency", "latencies of switches have no key of their own"},
    {"hbm-latency", "memory is described by `local-mem-bw`"},
    {"hbm-bandwidth", "memory is described by `local-mem-bw`"},
    {"hbm-scale", "memory is described by `local-mem-bw`"},
    {"all-gather-implementation", "all collectives go the way of all-reduce"},
    {"reduce-scatter-implementation", "all collectives go the way of all-reduce"},
    {"all-to-all-implementation", "all collectives go the way of all-reduce"},
    {"all-reduce-implementation-custom", "algorithms that a trace describes are not read"},
    {NULL, "no key of ASTRA-sim that is known here"},
};

/* Topologies and algorithms: their name there, in machine files. The first row of several is written. */
static const struct {
    const char *astra, *name;
    enum ll_topology topology;
} topologies[] = {{"Ring", "bidirectional_ring", LL_TOPOLOGY_BIDIRECTIONAL_RING},
                  {"Ring", "ring", LL_TOPOLOGY_RING},
                  {"FullyConnected", "full", LL_TOPOLOGY_FULL},
                  {"AllToAll", "full", LL_TOPOLOGY_FULL},
                  {"Switch", "switch", LL_TOPOLOGY_SWITCH}};
static const struct {
    const char *astra, *name;
    enum ll_algorithm algorithm;
} algorithms[] = {{"ring", "ring", LL_ALGORITHM_RING},
                  {"oneRing", "ring", LL_ALGORITHM_RING},
                  {"direct", "direct", LL_ALGORITHM_DIRECT},
                  {"oneDirect", "direct", LL_ALGORITHM_DIRECT},
                  {"halvingDoubling", "halving_doubling", LL_ALGORITHM_HALVING_DOUBLING},
                  {"oneHalvingDoubling", "halving_doubling", LL_ALGORITHM_HALVING_DOUBLING},
                  {"doubleBinaryTree", "double_tree", LL_ALGORITHM_DOUBLE_TREE}};
enum {
    TOPOLOGIES = sizeof topologies / sizeof *topologies,
    ALGORITHMS = sizeof algorithms / sizeof *algorithms
};

/* One dimension. */
struct dimension {
    size_t topology;
    double devices, GiBps, ns;
};

/* The i-th item of a list, or a scalar that stands for all. */
static const struct ll_node *item_of(const struct ll_node *node, size_t i)
{
    if (!node || node->type != LL_NODE_LIST)
        return node && node->type == LL_NODE_SCALAR ? node : NULL;
    const struct ll_node *item = node->first;
    while (item && i-- > 0)
        item = item->next;
    return item;
}

static bool take_item(struct ll_interchange *x, const struct ll_node *list, const struct ll_node *root,
                      const char *key, size_t i, double least, double *value)
{
    const struct ll_node *item = item_of(list, i);
    if (item && item->text && ll_is_number(item->text, value) && *value >= least && *value <= 1e12)
        return true;
    return ll_complain(x->diags, item ? item->place : root->place,
                       "`%s`: expected a number of at least %.10g for each dimension", key, least);
}

static bool take_topology(struct ll_interchange *x, const struct ll_node *root, const struct ll_node *item,
                          size_t *topology)
{
    *topology = 0;
    if (!item)
        return ll_complain(x->diags, root->place, "`topology`: expected one, or a list of one a dimension");
    while (*topology < TOPOLOGIES && (!item->text || strcmp(topologies[*topology].astra, item->text) != 0))
        ++*topology;
    return *topology < TOPOLOGIES ||
           ll_complain(x->diags, item->place, "`%s`: expected Ring, FullyConnected or Switch",
                       ll_node_shown(item).text);
}

static struct ll_node *either(const struct ll_node *root, const char *key, const char *old)
{
    struct ll_node *node = ll_take(root, key);
    node = node ? node : ll_take(root, old);
    if (node)
        ll_take_all(node);
    return node;
}

/* Dimensions of a network; -1 after a complaint. */
static int take_network(struct ll_interchange *x, struct ll_node *root, struct dimension out[LL_MAX_LINKS])
{
    struct ll_node *topology = either(root, "topology", "topologies-per-dim"),
                   *counts = either(root, "npus_count", "units-count"),
                   *bandwidths = either(root, "bandwidth", "link-bandwidth"),
                   *latencies = either(root, "latency", "link-latency");
    size_t many = topology->type == LL_NODE_LIST ? topology->count : 1;
    int kept = 0;
    for (size_t i = 0; i < many; i++) {
        struct dimension d = {0};
        const struct ll_node *name = item_of(topology, i);
        if (!take_topology(x, topology, name, &d.topology) ||
            !take_item(x, counts, root, "npus_count", i, 1, &d.devices) ||
            !take_item(x, bandwidths, root, "bandwidth", i, 1e-9, &d.GiBps) ||
            !take_item(x, latencies, root, "latency", i, 0, &d.ns))
            return -1;
        if (d.devices < 2) {
            ll_leave(x, ll_said(x, "topology.%zu", i), name->place, "a dimension of one device");
            continue;
        }
        if (kept == LL_MAX_LINKS || d.devices != floor(d.devices)) {
            ll_complain(x->diags, name->place, "expected whole numbers of devices, and at most %d dimensions",
                        LL_MAX_LINKS);
            return -1;
        }
        out[kept++] = d;
    }
    if (kept == 0)
        ll_complain(x->diags, root->place, "expected a network of at least two devices");
    return kept > 0 ? kept : -1;
}

/* How collectives go: the algorithm, where all dimensions have the same; else level by level. */
static const char *take_collectives(struct ll_interchange *x, struct ll_node *root, int dimensions)
{
    struct ll_node *list = ll_take(root, "all-reduce-implementation");
    const char *name = NULL;
    if (!list)
        return NULL;
    ll_take_all(list);
    for (size_t i = 0; i < (list->type == LL_NODE_LIST ? list->count : 1); i++) {
        const struct ll_node *item = item_of(list, i);
        size_t a = 0;
        while (a < ALGORITHMS && (!item || !item->text || strcmp(algorithms[a].astra, item->text) != 0))
            a++;
        if (a == ALGORITHMS || (name && strcmp(name, algorithms[a].name) != 0)) {
            ll_leave(x, "all-reduce-implementation", (item ? item : list)->place,
                     a == ALGORITHMS ? "no algorithm of that name is known here"
                                     : "one algorithm for all dimensions; each level goes as fast as it can");
            return a == ALGORITHMS ? NULL : "hierarchical";
        }
        name = algorithms[a].name;
    }
    return dimensions > 1 ? "hierarchical" : name;
}

/* What a device computes: a roof, as in ASTRA-sim, where an op takes what its FLOP or its tensors' bytes
 * take. So what it multiplies comes from the memory once: into a place as large as it must be, in which
 * nothing stays for the next op, since results pass it by. */
static bool put_device(struct ll_interchange *x, struct ll_node *system, struct ll_str *yaml)
{
    static const char *const types[] = {"f32", "f16", "bf16", "int8", "i32", "i64", "bool"};
    double TFLOPs, GBps;
    if (!system || !ll_take_number(x, system, "peak-perf", 1e-9, 1e12, 0, &TFLOPs) ||
        !ll_take_number(x, system, "local-mem-bw", 1e-9, 1e12, 0, &GBps))
        return false;
    if (TFLOPs == 0 || GBps == 0)
        return ll_complain(
            x->diags, system->place,
            "expected `peak-perf` and `local-mem-bw`: what a device can do; or a device (--device)");
    ll_str_add(yaml,
               "clock: 1GHz\n\nunits:\n  - name: npu\n    model: vector\n    lanes: 1000\n    flops: {");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) /* of a lane in a cycle */
        ll_str_addf(yaml, "%s%s: %.10g", i ? ", " : "", types[i], TFLOPs);
    ll_str_addf(
        yaml,
        "}\n\nmemory:\n  - {name: operands, size: 1TiB, bandwidth: 1e18B/s, holds: [a, b], cache: {line: "
        "1MiB}}\n  - {name: local_mem, size: 1TiB, bandwidth: %.10gGB/s}\n\n",
        GBps);
    ll_assume(x, "units.npu", "a roof over all ops: ASTRA-sim knows no units; clock and types are assumed");
    ll_assume(x, "memory.operands",
              "a roof: an op reads its operands once from local_mem; none stays for the next");
    ll_assume(x, "memory.local_mem.size", "ASTRA-sim's memory is as large as it must be");
    return true;
}

static void put_levels(const struct dimension *d, int count, struct ll_str *yaml)
{
    ll_str_add(yaml, "network:\n");
    for (int i = 0; i < count; i++) {
        ll_str_addf(yaml, "  - {name: dim_%d, topology: %s, devices: %.0f, bandwidth: ", i + 1,
                    topologies[d[i].topology].name, d[i].devices);
        ll_put_number(yaml, d[i].GiBps);
        ll_str_add(yaml, "GiB/s, latency: ");
        ll_put_number(yaml, d[i].ns);
        ll_str_add(yaml, "ns}\n");
    }
}

static void put_source(struct ll_interchange *x, const char *key, const char *file, const char *behind,
                       struct ll_str *yaml)
{
    ll_str_addf(yaml, "  %s: ", key);
    ll_put_quoted(yaml, ll_said(x, "imported: %s%s", file, behind));
    ll_str_add(yaml, "\n");
}

bool ll_peer_import_ASTRASIM(struct ll_interchange *x, const struct ll_peer_import *import,
                             struct ll_str *yaml)
{
    struct ll_node *network = NULL, *system = NULL;
    struct dimension dimensions[LL_MAX_LINKS];
    const char *names[2] = {"", ""};
    for (size_t i = 0; i < import->count; i++) {
        const struct ll_peer_file *file = &import->files[i];
        struct ll_node *root =
            ll_node_parse_foreign(x->arena, file->text, file->length, file->name, x->diags);
        if (!root)
            return false;
        bool is_network = ll_node_get(root, "topology") || ll_node_get(root, "topologies-per-dim");
        if ((is_network ? network : system) || root->type != LL_NODE_MAP)
            return ll_complain(x->diags, root->place,
                               "expected a network (`topology`) and a system of ASTRA-sim");
        *(is_network ? &network : &system) = root;
        names[!is_network] = ll_base_name(file->name);
    }
    if (!network)
        return ll_complain(x->diags, system->place,
                           "expected ASTRA-sim's network: `topology`, `npus_count`, "
                           "`bandwidth` and `latency`");
    int count = take_network(x, network, dimensions);
    if (count < 0)
        return false;
    if (import->device) {
        ll_str_add(yaml, "inherits: ");
        ll_put_quoted(yaml, import->device);
        ll_str_add(yaml, "\n");
    }
    ll_str_add(yaml, "name: ");
    ll_put_quoted(
        yaml, ll_said(x, "%s%s%s", import->device ? import->device : "ASTRA-sim", ", network of ", names[0]));
    ll_str_add(yaml, "\n");
    if (!import->device && !system)
        return ll_complain(
            x->diags, network->place,
            "a network alone; expected a system with `peak-perf` and `local-mem-bw`, or a device (--device)");
    if (!import->device && !put_device(x, system, yaml))
        return false;
    const char *collectives = system ? take_collectives(x, system, count) : NULL;
    if (collectives)
        ll_str_addf(yaml, "software: {collectives: %s}\n", collectives);
    put_levels(dimensions, count, yaml);
    ll_str_add(yaml, "\nsources:\n");
    if (!import->device) {
        ll_str_add(yaml, "  clock: \"assumed: the file has rates\"\n");
        put_source(x, "units.npu", names[1], "", yaml);
        ll_str_add(yaml, "  memory.operands: \"assumed: a roof; an op reads its operands once\"\n");
        put_source(x, "memory.local_mem", names[1], "", yaml);
    }
    for (int i = 0; i < count; i++)
        put_source(x, ll_said(x, "network.dim_%d", i + 1), names[0], "; its GB are 2^30 bytes", yaml);
    if (collectives)
        put_source(x, "software.collectives", names[1], "", yaml);
    ll_leave_rest(x, network, "", reasons);
    if (system)
        ll_leave_rest(x, system, "", reasons);
    return true;
}

/* --- export --- */

static const struct ll_why export_reasons[] = {
    {"clock", "ASTRA-sim has rates"},
    {"units", "ASTRA-sim has one rate of computing (`peak-perf`)"},
    {"memory", "ASTRA-sim has one memory (`local-mem-bw`)"},
    {"units[]", "ASTRA-sim has one rate of computing (`peak-perf`)"},
    {"memory[]", "ASTRA-sim has one memory (`local-mem-bw`)"},
    {"kind", "wording of reports"},
    {"year", "wording of reports"},
    {"family", "libraries have no place in ASTRA-sim"},
    {"system", "wording of reports"},
    {"estimated", "wording of reports"},
    {"sources", "ASTRA-sim's files have none"},
    {"software", "ASTRA-sim has no kernels"},
    {"host", "ASTRA-sim has no host"},
    {"energy", "ASTRA-sim's network and system have no energies"},
    {"area", "ASTRA-sim has no areas"},
    {"price", "ASTRA-sim has no prices"},
    {"server", "ASTRA-sim has no servers"},
    {"efficiency", "links of ASTRA-sim give their bandwidth"},
    {NULL, "ASTRA-sim has no key for it"},
};

/* Dimensions of a level: of a torus one for each side. False where ASTRA-sim has no such topology. */
static bool add_dimensions(struct ll_interchange *x, const struct ll_machine *machine,
                           const struct ll_network *level, struct dimension *out, int *count)
{
    struct dimension d = {
        .devices = (double)level->devices, .GiBps = level->bandwidth_Bps / GIB, .ns = level->latency_s * 1e9};
    while (d.topology < TOPOLOGIES && topologies[d.topology].topology != level->topology)
        d.topology++;
    bool torus = level->topology == LL_TOPOLOGY_TORUS;
    if (d.topology == TOPOLOGIES && !torus)
        return ll_complain(
            x->diags, (struct ll_place){.file = machine->stem},
            "`%s` is a topology that ASTRA-sim does not have; expected rings, tori, switches and "
            "links between all",
            level->name);
    d.topology = torus ? 0 : d.topology;
    for (uint64_t side = 0; side < (torus ? level->shape.count : 1); side++) {
        d.devices = torus ? (double)level->shape.at[side] : d.devices;
        out[(*count)++] = d;
    }
    return true;
}

static void put_list(const struct dimension *d, int count, const char *key, int what, struct ll_str *out)
{
    ll_str_addf(out, "%s: [", key);
    for (int i = 0; i < count; i++) {
        const char *gap = i ? ", " : " ";
        if (what == 0)
            ll_str_addf(out, "%s%s", gap, topologies[d[i].topology].astra);
        if (what > 0) {
            ll_str_add(out, gap);
            ll_put_number(out, what == 1 ? d[i].devices : what == 2 ? d[i].GiBps : d[i].ns);
        }
    }
    ll_str_add(out, " ]\n");
}

static void put_system(const struct ll_machine *machine, int dimensions, double flops, struct ll_str *out)
{
    static const char *const keys[] = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"};
    const char *algorithm = "ring";
    for (int a = 0; a < ALGORITHMS; a++)
        if (machine->software.collectives == algorithms[a].algorithm) {
            algorithm = algorithms[a].astra;
            break;
        }
    ll_str_add(out, "{\n  \"scheduling-policy\": \"LIFO\",\n  \"endpoint-delay\": 10,\n"
                    "  \"active-chunks-per-dimension\": 1,\n  \"preferred-dataset-splits\": 1,\n");
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        ll_str_addf(out, "  \"%s-implementation\": [", keys[k]);
        for (int i = 0; i < dimensions; i++)
            ll_str_addf(out, "%s\"%s\"", i ? ", " : "", algorithm);
        ll_str_add(out, "],\n");
    }
    ll_str_addf(
        out,
        "  \"collective-optimization\": \"localBWAware\",\n  \"local-mem-bw\": %.10g,\n  \"boost-mode\": "
        "0,\n  \"roofline-enabled\": 1,\n  \"peak-perf\": %.10g\n}\n",
        ll_machine_memory_Bps(machine) / 1e9, flops / 1e12);
}

/* The rate at which a device multiplies: of 16 bits where it has them, as models are trained. */
static double peak_of(struct ll_interchange *x, const struct ll_machine *machine)
{
    static const enum ll_dtype order[] = {LL_BF16, LL_F16, LL_F32, LL_INT8, LL_I16};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        double flops = ll_machine_peak_flops(machine, order[i]);
        if (flops <= 0)
            continue;
        ll_assume(x, "peak-perf", ll_said(x, "the peak rate of %s", ll_dtype_name(order[i])));
        return flops;
    }
    return 0;
}

bool ll_peer_export_ASTRASIM(struct ll_interchange *x, const struct ll_machine *machine,
                             struct ll_str out[LL_PEER_OUTPUTS])
{
    static const char *const keys[] = {"name", "topology", "devices", "shape", "bandwidth", "latency"};
    struct dimension dimensions[LL_MAX_LINKS * LL_MAX_EXTENTS];
    struct ll_node *tree = ll_machine_tree(x, machine);
    int count = 0;
    if (!tree)
        return false;
    if (machine->network_count == 0)
        return ll_complain(x->diags, (struct ll_place){.file = machine->stem},
                           "ASTRA-sim describes a network; expected a machine with `network`, as dgx_h100");
    for (uint64_t i = 0; i < machine->network_count; i++) {
        if (!add_dimensions(x, machine, &machine->networks[i], dimensions, &count))
            return false;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            ll_take_path(tree, ll_said(x, "network.%s.%s", machine->networks[i].name, keys[k]));
    }
    put_list(dimensions, count, "topology", 0, &out[0]);
    put_list(dimensions, count, "npus_count", 1, &out[0]);
    put_list(dimensions, count, "bandwidth", 2, &out[0]);
    put_list(dimensions, count, "latency", 3, &out[0]);
    double flops = peak_of(x, machine);
    if (flops == 0)
        return ll_complain(x->diags, (struct ll_place){.file = machine->stem},
                           "expected a unit that multiplies, for `peak-perf`");
    put_system(machine, count, flops, &out[1]);
    ll_take_path(tree, "name");
    ll_assume(x, "scheduling-policy", "how ASTRA-sim runs collectives is as in its examples");
    ll_leave_rest(x, tree, "", export_reasons);
    return true;
}
