/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations of SCALE-Sim as machine files and back. What one says is a systolic array, three buffers,
 * here one memory, and the words that come in and go out in a cycle (sim/scalesim/files.c). */
#include "sim/scalesim/scalesim.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sim/interchange/exchange.h"

/* Keys whose meaning is in the reports of SCALE-Sim, or in how it runs. */
static void leave_keys(struct ll_interchange *x, const struct ll_peer_file *file,
                       const struct ll_scalesim_config *config)
{
    static const struct ll_why keys[] = {
        {"IfmapOffset", "addresses of operands do not change what a machine takes"},
        {"FilterOffset", "addresses of operands do not change what a machine takes"},
        {"OfmapOffset", "addresses of operands do not change what a machine takes"},
        {"MemoryBanks", "banks are not modelled; `leadline sim --compat scalesim3` has them"},
        {"IfmapCustomLayout", "layouts are not modelled; `leadline sim --compat scalesim3` has them"},
        {"FilterCustomLayout", "layouts are not modelled; `leadline sim --compat scalesim3` has them"},
        {"SparsitySupport", "zeros are described by `skips`, by hand; `--compat scalesim3` has them"},
        {"UseRamulatorTrace", "latencies of a DRAM come from `leadline dram`"},
        {NULL, ""}};
    uint64_t line = 1;
    (void)config;
    for (const char *at = file->text; *at; line++) {
        size_t length = strcspn(at, "\n");
        for (const struct ll_why *key = keys; key->key; key++)
            if (length > strlen(key->key) && !strncmp(at, key->key, strlen(key->key)))
                ll_leave(x, key->key, (struct ll_place){.file = file->name, .line = line, .column = 1},
                         key->why);
        at += length + (at[length] != '\0');
    }
}

bool ll_peer_import_SCALESIM(struct ll_interchange *x, const struct ll_peer_import *import,
                             struct ll_str *yaml)
{
    const struct ll_peer_file *file = &import->files[0];
    struct ll_scalesim_config config;
    int version = ll_scalesim_version_of(file->text);
    if (!ll_scalesim_read_config(file->text, file->length, file->name, version, x->arena, x->diags, &config))
        return false;
    ll_scalesim_machine_yaml(&config, true, yaml);
    ll_str_add(yaml, "\nsources:\n  clock: \"assumed: cycles are what counts\"\n  array: ");
    ll_put_quoted(yaml, ll_said(x, "imported: %s", ll_base_name(file->name)));
    ll_str_add(yaml, "\n  sram: ");
    ll_put_quoted(yaml, ll_said(x, "imported: %s: its three buffers", ll_base_name(file->name)));
    ll_str_add(yaml, "\n  dram: ");
    ll_put_quoted(yaml, ll_said(x, "imported: %s: %s", ll_base_name(file->name),
                                config.user_bandwidth ? "three channels of its bandwidth"
                                                      : "as fast as the array asks (CALC)"));
    ll_str_add(yaml, "\n  lanes: \"assumed: as many as the array has columns\"\n");
    leave_keys(x, file, &config);
    ll_assume(x, "clock", "the file counts cycles; each takes a nanosecond");
    ll_assume(x, "memory.sram", "its three buffers are one memory, which any operand may fill");
    ll_assume(x, "memory.dram.bandwidth", "a word is a byte; types of more bytes take as many words");
    ll_assume(x, "units.lanes", "the file has no unit for what is no GEMM or convolution");
    return true;
}

static const struct ll_why reasons[] = {
    {"clock", "SCALE-Sim counts cycles"},
    {"name", "wording of reports"},
    {"kind", "wording of reports"},
    {"sources", "SCALE-Sim's files have none"},
    {"software", "SCALE-Sim has no software"},
    {"host", "SCALE-Sim has no host"},
    {"network", "SCALE-Sim has one device"},
    {"energy", "SCALE-Sim's configuration has no energies"},
    {"area", "SCALE-Sim has no areas"},
    {"price", "SCALE-Sim has no prices"},
    {"server", "SCALE-Sim has no servers"},
    {"units[]", "SCALE-Sim has one array"},
    {"memory[]", "SCALE-Sim has one level of buffers before the memory"},
    {"macs", "an element of SCALE-Sim multiplies once a cycle, whatever the type"},
    {"overlap_folds", "folds never overlap in SCALE-Sim"},
    {"accumulators", "SCALE-Sim writes partial sums of each row fold"},
    {"count", "SCALE-Sim has one array"},
    {"latency", "memory has no latency in SCALE-Sim"},
    {"efficiency", "memory gives its bandwidth in SCALE-Sim"},
    {"size", "SCALE-Sim's memory is as large as it must be"},
    {"bandwidth", "buffers of SCALE-Sim give what the array asks for"},
    {NULL, "SCALE-Sim's configuration has no key for it"},
};

/* The first systolic array; unit_count: none. */
static uint64_t find_systolic(const struct ll_machine *machine)
{
    uint64_t u = 0;
    while (u < machine->unit_count && machine->units[u].model != LL_UNIT_SYSTOLIC)
        u++;
    return u;
}

static void take_unit(struct ll_interchange *x, struct ll_node *tree, const struct ll_unit *unit)
{
    static const char *const keys[] = {"name", "model", "rows", "cols", "dataflow", "runs"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct ll_node *node = ll_take_path(tree, ll_said(x, "units.%s.%s", unit->name, keys[i]));
        if (node)
            ll_take_all(node);
    }
}

/* Words of a byte that all three channels together bring in a cycle become those of one. */
bool ll_peer_export_SCALESIM(struct ll_interchange *x, const struct ll_machine *machine,
                             struct ll_str out[LL_PEER_OUTPUTS])
{
    static const char *const dataflows[] = {"os", "ws", "is"};
    struct ll_node *tree = ll_machine_tree(x, machine);
    uint64_t u = find_systolic(machine), outer = machine->level_count - 1;
    if (!tree)
        return false;
    if (u == machine->unit_count || machine->level_count < 2)
        return ll_complain(
            x->diags, (struct ll_place){.file = machine->stem},
            "SCALE-Sim describes a systolic array with buffers before a memory; expected a unit of "
            "`model: systolic` and at least two levels of memory");
    const struct ll_unit *unit = &machine->units[u];
    const struct ll_level *buffers = &machine->levels[outer - 1], *memory = &machine->levels[outer];
    const struct ll_systolic *array = &unit->systolic;
    double words = ll_machine_memory_Bps(machine) / unit->clock_hz;
    uint64_t kB = buffers->size_bytes / 1024, each = kB / 3;
    double asked = (double)array->rows + 2 * (double)array->cols;
    bool fed = fabs(buffers->bandwidth_Bps / unit->clock_hz - asked) < 1e-6 * asked;
    bool calc = fed && fabs(words - asked) < 1e-6 * asked;
    if (kB < 3)
        return ll_complain(x->diags, (struct ll_place){.file = machine->stem},
                           "`%s` has less than 3 KiB; SCALE-Sim's three buffers have whole KiB",
                           buffers->name);
    take_unit(x, tree, unit);
    ll_take_path(tree, ll_said(x, "memory.%s.size", buffers->name));
    ll_take_path(tree, ll_said(x, "memory.%s.name", buffers->name));
    ll_take_path(tree, ll_said(x, "memory.%s.name", memory->name));
    ll_take_path(tree, ll_said(x, "memory.%s.bandwidth", memory->name));
    if (fed)
        ll_take_path(tree, ll_said(x, "memory.%s.bandwidth", buffers->name));
    ll_str_addf(
        out,
        "[general]\nrun_name = leadline\n\n[architecture_presets]\nArrayHeight: %" PRIu64
        "\nArrayWidth: %" PRIu64 "\nIfmapSramSzkB: %" PRIu64 "\nFilterSramSzkB: %" PRIu64
        "\nOfmapSramSzkB: %" PRIu64
        "\nIfmapOffset: 0\nFilterOffset: 10000000\nOfmapOffset: 20000000\nDataflow: %s\nBandwidth: %.0f\n"
        "MemoryBanks: 1\n\n[run_presets]\nInterfaceBandwidth: %s\n",
        array->rows, array->cols, each, each, kB - 2 * each, dataflows[array->dataflow],
        fmax(1, floor(words / 3)), calc ? "CALC" : "USER");
    ll_assume(x, "IfmapSramSzkB", "one memory is divided evenly among three buffers");
    if (buffers->size_bytes % 1024)
        ll_leave(x, ll_said(x, "memory.%s.size", buffers->name), (struct ll_place){0},
                 "buffers have whole KiB");
    if (!calc && words / 3 != floor(words / 3))
        ll_leave(x, ll_said(x, "memory.%s.bandwidth", memory->name), (struct ll_place){0},
                 ll_said(x, "three channels of whole words; %.10g B/cycle are not", words));
    ll_leave_rest(x, tree, "", reasons);
    return true;
}
