/* SPDX-License-Identifier: Apache-2.0 */
/* From a name to a machine: find the file, read the tree, lay it over what it inherits, set the overrides,
 * read the tree by the schema, check the whole. Complaints of one step do not keep the next from finding
 * more. */
#include "sim/machine/machine.h"

#include "sim/machine/steps.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What is asked for, for all steps. The tree lives in a scratch arena that is released at the end. */
struct request {
    const char *name; /* of the file, or what stands for it in complaints */
    const char *path; /* NULL when it was not read from a file */
    const char *const *folders;
    const struct ll_override *overrides;
    size_t override_count;
    struct ll_arena *scratch;
    struct ll_diags *diags;
};

static bool no_memory(const struct request *request)
{
    return ll_complain(request->diags, (struct ll_place){.file = request->name}, "memory ran out");
}

/* Reads and checks a whole tree. False after complaints. */
static bool fill(const struct request *request, struct ll_node *root, struct ll_machine *machine)
{
    struct ll_reading reading = {.arena = &machine->arena,
                                 .diags = request->diags,
                                 .root = root,
                                 .machine = machine,
                                 .folders = request->folders};
    size_t before = request->diags->count;
    for (size_t i = 0; i < request->override_count; i++)
        ll_override_apply(root, &request->overrides[i], request->scratch, request->diags);
    if (ll_field_table_read(&ll_machine_table, root, machine, &reading) || root->type == LL_NODE_MAP)
        ll_machine_check(&reading);
    if (request->diags->count > before)
        return false; /* what was not read well cannot be written either, hence not hashed */
    machine->path = ll_copy_text(&machine->arena, request->name, strlen(request->name));
    machine->stem = ll_file_stem(request->name, &machine->arena);
    return (machine->path && machine->stem && ll_machine_hash(machine)) || no_memory(request);
}

static bool comes_before(const struct ll_place *a, const struct ll_place *b)
{
    int files = a->file && b->file ? strcmp(a->file, b->file) : 0;
    if (files || a->line == b->line)
        return files ? files < 0 : a->column < b->column;
    return a->line < b->line;
}

/* Complaints in the order of the file, not of the steps that found them. */
static void sort_complaints(struct ll_diags *diags, size_t first)
{
    for (size_t i = first + 1; i < diags->kept_count; i++) {
        struct ll_diag late = diags->kept[i];
        size_t j = i;
        for (; j > first && comes_before(&late.place, &diags->kept[j - 1].place); j--)
            diags->kept[j] = diags->kept[j - 1];
        diags->kept[j] = late;
    }
}

static struct ll_machine *build_unsorted(const struct request *request, const char *text, size_t length)
{
    size_t before = request->diags->count;
    struct ll_node *root = ll_node_parse(request->scratch, text, length, request->name, request->diags);
    root = root ? ll_inherit(root, request->path, request->folders, request->scratch, request->diags) : NULL;
    if (!root)
        return NULL;
    struct ll_machine *machine = calloc(1, sizeof *machine);
    if (!machine)
        no_memory(request);
    else if (!fill(request, root, machine) || request->diags->count > before) {
        ll_machine_free(machine);
        machine = NULL;
    }
    return machine;
}

static struct ll_machine *build(const struct request *request, const char *text, size_t length)
{
    size_t before = request->diags->kept_count;
    struct ll_machine *machine = build_unsorted(request, text, length);
    sort_complaints(request->diags, before);
    return machine;
}

struct ll_machine *ll_machine_read(const char *which, const char *const *folders,
                                   const struct ll_override *overrides, size_t override_count,
                                   struct ll_diags *diags)
{
    struct ll_arena scratch = {0};
    struct ll_machine *machine = NULL;
    struct ll_place nowhere = {0};
    size_t length;
    const char *path = ll_file_find(which, NULL, folders, nowhere, &scratch, diags);
    const char *text = path ? ll_file_read(path, nowhere, &scratch, diags, &length) : NULL;
    if (text) {
        struct request request = {path, path, folders, overrides, override_count, &scratch, diags};
        machine = build(&request, text, length);
    }
    ll_arena_release(&scratch);
    return machine;
}

struct ll_machine *ll_machine_parse(const char *text, size_t length, const char *name,
                                    const char *const *folders, const struct ll_override *overrides,
                                    size_t override_count, struct ll_diags *diags)
{
    struct ll_arena scratch = {0};
    struct request request = {name, NULL, folders, overrides, override_count, &scratch, diags};
    struct ll_machine *machine = build(&request, text, length);
    ll_arena_release(&scratch);
    return machine;
}

void ll_machine_free(struct ll_machine *machine)
{
    if (!machine)
        return;
    struct ll_arena arena = machine->arena;
    ll_arena_release(&arena);
    free(machine);
}

double ll_machine_peak_flops(const struct ll_machine *machine, enum ll_dtype dtype)
{
    double peak = 0;
    for (uint64_t i = 0; i < machine->unit_count; i++) {
        const struct ll_unit *unit = &machine->units[i];
        double flops = ll_unit_flops_per_cycle(unit, dtype) * (double)unit->count * unit->clock_hz;
        peak = flops > peak ? flops : peak;
    }
    return peak;
}

static bool takes(const struct ll_kernel *kernel, enum ll_op_kind kind, const struct ll_work *work)
{
    bool product = work->kind == LL_WORK_GEMM, is_long = product && work->gemm.m > kernel->rows;
    bool plain = product && !(work->along_k & LL_LINES_OF_B);
    bool many = product && (work->gemm.k > kernel->terms || work->along_k);
    bool folds = work->kind == LL_WORK_REDUCE && work->reduce.folds;
    uint64_t row = work->kind == LL_WORK_VECTOR ? work->vector.row : 0;
    bool uneven = kernel->row_multiple > 0 && row % kernel->row_multiple != 0;
    bool other = kernel->dtype > 0 && kernel->dtype != 1u + work->dtype;
    return kernel->ops[kind] && !other && !(kernel->rows > 0 && is_long) && !(kernel->transposed && plain) &&
           !(kernel->terms > 0 && many) && !(kernel->folds && !folds) && !uneven;
}

const struct ll_kernel *ll_machine_kernel(const struct ll_machine *machine, enum ll_op_kind kind,
                                          const struct ll_work *work)
{
    static const struct ll_kernel perfect = {.compute = 1, .memory = 1, .passes = 1, .reads = 1, .work = 1};
    for (uint64_t i = 0; i < machine->software.kernel_count; i++)
        if (takes(&machine->software.kernels[i], kind, work))
            return &machine->software.kernels[i];
    return &perfect;
}

struct ll_cache_level ll_machine_cache(const struct ll_level *level)
{
    struct ll_cache_level cache = level->cache;
    uint64_t lines = level->size_bytes / cache.line_bytes;
    if (cache.ways == 0)
        cache.ways = lines;
    cache.sets = cache.ways ? lines / cache.ways : 0;
    return cache;
}

uint64_t ll_level_instances(const struct ll_level *level, uint64_t units)
{
    uint64_t sharing = level->scope == LL_SCOPE_UNIT      ? 1
                       : level->scope == LL_SCOPE_CLUSTER ? ll_max(level->share, 1)
                                                          : UINT64_MAX;
    return units > sharing ? ll_ceil_div(units, sharing) : 1;
}

int ll_catcher(const struct ll_machine *machine, uint64_t level, enum ll_operand operand)
{
    int inside = (int)level - 1;
    while (inside > LL_CATCHER_UNIT && !ll_level_holds(&machine->levels[inside], operand))
        inside--;
    return inside;
}

bool ll_catcher_is_shared(const struct ll_machine *machine, int catcher)
{
    return catcher > LL_CATCHER_UNIT && machine->levels[catcher].scope == LL_SCOPE_DEVICE;
}

uint64_t ll_near_levels(const struct ll_machine *machine)
{
    uint64_t near = 1;
    for (uint64_t l = 1; l < machine->level_count; l++)
        for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
            if (ll_level_holds(&machine->levels[l], i) &&
                !ll_catcher_is_shared(machine, ll_catcher(machine, l, i)))
                near = l + 1;
    return near;
}

struct ll_levels ll_nested_levels(const struct ll_machine *machine, enum ll_scope scope)
{
    uint64_t l = scope == LL_SCOPE_DEVICE ? ll_near_levels(machine) : 1, end;
    while (l < machine->level_count && machine->levels[l - 1].scope != scope)
        l++;
    for (end = l; end < machine->level_count && machine->levels[end - 1].scope == scope; end++)
        if (!ll_level_holds_all(&machine->levels[end - 1]) || !ll_level_holds_all(&machine->levels[end]))
            break;
    return (struct ll_levels){l, end};
}

uint64_t ll_machine_instances(const struct ll_machine *machine, uint64_t level)
{
    uint64_t instances = 1;
    for (uint64_t u = 0; u < machine->unit_count; u++)
        instances = ll_max(instances, ll_level_instances(&machine->levels[level], machine->units[u].count));
    return instances;
}

uint64_t ll_machine_devices(const struct ll_machine *machine)
{
    uint64_t devices = 1;
    for (uint64_t i = 0; i < machine->network_count; i++)
        devices = ll_mul(devices, machine->networks[i].devices);
    return devices;
}

double ll_machine_memory_Bps(const struct ll_machine *machine)
{
    const struct ll_level *outermost = &machine->levels[machine->level_count - 1];
    return outermost->bandwidth_Bps * outermost->efficiency;
}
