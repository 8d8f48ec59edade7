/* SPDX-License-Identifier: Apache-2.0 */
/* The costs of ops that were already computed, keyed by kind and work, and the lines of an explanation. A
 * cost serves all machines for which the signature of its unit is the same. */
#include "sim/cost/memo.h"

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cost/cost.h"
#include "sim/cost/cost_parts.h"
#include "tracer/base/str.h"

enum { LINE_LIMIT = 1024 };

static void keep(struct ll_explain *why, const char *text, size_t length)
{
    const char *line = ll_copy_text(&why->arena, text, length);
    if (!line || !ll_grow(&why->lines, &why->capacity, why->line_count + 1, sizeof *why->lines) ||
        !ll_grow(&why->marks, &why->mark_capacity, why->line_count + 1, sizeof *why->marks)) {
        why->failed = true;
        return;
    }
    why->lines[why->line_count] = line;
    why->marks[why->line_count++] = (struct ll_line_mark){.group = why->group};
}

void ll_explain_group(struct ll_explain *why, const char *name)
{
    why->group = ll_copy_text(&why->arena, name, strlen(name));
    why->failed |= !why->group;
}

void ll_explain_wins(struct ll_explain *why)
{
    if (why->line_count > 0)
        why->marks[why->line_count - 1].wins = true;
}

void ll_say(struct ll_explain *why, const char *format, ...)
{
    char text[LINE_LIMIT];
    va_list args;
    if (why->failed)
        return;
    va_start(args, format);
    int length = ll_vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length >= 0)
        keep(why, text, length < LINE_LIMIT ? (size_t)length : LINE_LIMIT - 1);
}

void ll_explain_release(struct ll_explain *why)
{
    ll_arena_release(&why->arena);
    free((void *)why->lines);
    free(why->marks);
    *why = (struct ll_explain){0};
}

/* Compared as bytes: no padding, unused fields of the work are zero. */
struct key {
    uint64_t kind;
    struct ll_work work;
};

/* Room first, then the key: a key without an entry must never exist. */
static struct ll_memo_entry *entry_of(struct ll_memo *memo, const struct key *key)
{
    bool is_new;
    uint64_t needed = (uint64_t)memo->keys.count + 1;
    if (!ll_grow(&memo->entries, &memo->capacity, needed, sizeof *memo->entries))
        return NULL;
    uint32_t id = ll_map_intern(&memo->keys, key, sizeof *key, &is_new);
    if (id != LL_NO_ID && is_new)
        memo->entries[id] = (struct ll_memo_entry){0};
    return id == LL_NO_ID ? NULL : &memo->entries[id];
}

/* Refused work has no unit: why it was refused depends on what all units can do. */
static uint64_t signature_of(const struct ll_memo *memo, const struct ll_work *work,
                             const struct ll_memo_version *version)
{
    bool none = version->trouble || version->costs->unit == LL_NO_UNIT;
    uint64_t signature = memo->signatures[none ? LL_MAX_UNITS : version->costs->unit];
    /* other units have a part in it: in attention the exponentials */
    const bool shared = work->kind == LL_WORK_ATTENTION || ll_epilogue_any(work);
    return shared ? signature ^ memo->all_units : signature;
}

/* Whether the version is of the memo's machine, but for what starting an op takes. */
static inline bool is_of_machine(const struct ll_memo *memo, const struct ll_work *work,
                                 const struct ll_memo_version *v)
{
    return v->known && v->signature == signature_of(memo, work, v);
}

/* The latest is of the memo's machine as it is. */
static inline bool latest_serves(const struct ll_memo *memo, const struct ll_work *work,
                                 const struct ll_memo_entry *entry)
{
    const struct ll_memo_version *v = &entry->versions[entry->latest];
    return v->starts == memo->starts && is_of_machine(memo, work, v);
}

/* Whether the version is of the memo's machine, or can be made so; then it is the latest. */
static bool serves(const struct ll_memo *memo, const struct key *key, struct ll_memo_entry *entry,
                   uint32_t version)
{
    struct ll_memo_version *v = &entry->versions[version];
    if (!is_of_machine(memo, &key->work, v) ||
        (v->starts != memo->starts && !v->trouble &&
         !ll_cost_restart(memo->machine, (enum ll_op_kind)key->kind, &key->work, v->costs)))
        return false;
    v->starts = memo->starts;
    entry->latest = version;
    return true;
}

/* In the place of what was there. False when memory ran out. */
static bool compute(const struct ll_memo *memo, const struct key *key, struct ll_memo_version *version)
{
    struct ll_cost costs[LL_MOST_ALGORITHMS];
    free(version->costs);
    *version = (struct ll_memo_version){.known = false};
    uint32_t count =
        ll_cost_algorithms(memo->machine, (enum ll_op_kind)key->kind, &key->work, costs, &version->trouble);
    version->costs = count > 0 ? malloc(count * sizeof *costs) : NULL;
    if (count > 0 && !version->costs)
        return false;
    if (count > 0)
        memcpy(version->costs, costs, count * sizeof *costs);
    version->signature = signature_of(memo, &key->work, version);
    version->starts = memo->starts;
    version->known = true;
    return true;
}

const struct ll_cost *ll_memo_cost(struct ll_memo *memo, enum ll_op_kind kind, const struct ll_work *work,
                                   const char **trouble)
{
    const struct key key = {kind, *work};
    struct ll_memo_entry *entry = entry_of(memo, &key);
    *trouble = NULL;
    if (!entry)
        return NULL;
    if (!latest_serves(memo, work, entry) && !serves(memo, &key, entry, entry->latest) &&
        !serves(memo, &key, entry, 1 - entry->latest)) {
        entry->latest = entry->versions[0].known ? 1 : 0;
        if (!compute(memo, &key, &entry->versions[entry->latest]))
            return NULL;
    }
    *trouble = entry->versions[entry->latest].trouble;
    return entry->versions[entry->latest].costs;
}

void ll_memo_settle(struct ll_memo *memo)
{
    for (uint64_t i = 0; i < memo->keys.count; i++) {
        struct ll_memo_entry *entry = &memo->entries[i];
        struct ll_memo_version first = entry->versions[entry->latest];
        entry->versions[entry->latest] = entry->versions[0];
        entry->versions[0] = first;
        entry->latest = 0;
    }
}

bool ll_memo_keeps(const struct ll_memo *memo, enum ll_op_kind kind, const struct ll_work *work)
{
    const struct key key = {kind, *work};
    const uint32_t id = ll_map_find(&memo->keys, &key, sizeof key);
    const struct ll_memo_version *first = id == LL_NO_ID ? NULL : &memo->entries[id].versions[0];
    return first && first->starts == memo->starts && is_of_machine(memo, work, first);
}

/* --- signatures --- */

/* A word spread over all bits by a multiplication (the constant of splitmix64). */
static uint64_t spread(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* Four words at a time, each into a sum of its own, then what is left over. Structs are hashed as they lie in
 * memory: what pads them was zero from the start, and names in them, which no cost looks at, may differ by
 * their address, so that at worst a cost is computed again. What costs do look at behind an address is hashed
 * too: another machine's may lie at the same one. */
static uint64_t mix(uint64_t hash, const void *bytes, size_t length)
{
    enum { AT_ONCE = 4 };
    const unsigned char *at = bytes;
    uint64_t words[AT_ONCE], sums[AT_ONCE] = {hash, ~hash, hash << 32 ^ length, length};
    for (; length >= sizeof words; at += sizeof words, length -= sizeof words) {
        memcpy(words, at, sizeof words);
        for (int i = 0; i < AT_ONCE; i++) {
            sums[i] = (sums[i] ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
            sums[i] = sums[i] << 31 | sums[i] >> 33;
        }
    }
    for (int i = 0; i < AT_ONCE; i++)
        hash = spread(hash, sums[i]);
    for (; length > 0;) {
        uint64_t word = 0;
        size_t taken = length < sizeof word ? length : sizeof word;
        memcpy(&word, at, taken);
        hash = spread(hash, word);
        at += taken;
        length -= taken;
    }
    return hash;
}

/* A struct but for one of its members, which is a double. */
static uint64_t mix_without(uint64_t hash, const void *bytes, size_t length, size_t member)
{
    const size_t behind = member + sizeof(double);
    hash = mix(hash, bytes, member);
    return mix(hash, (const char *)bytes + behind, length - behind);
}

/* Kernels and transforms that there are, and what stands between them, but for what starting an op takes. */
static uint64_t mix_software(uint64_t hash, const struct ll_software *software)
{
    enum { BEGIN = offsetof(struct ll_software, queue) };
    hash = mix(hash, software, offsetof(struct ll_software, op_overhead_s));
    hash = mix_without(hash, (const char *)software + BEGIN, offsetof(struct ll_software, kernels) - BEGIN,
                       offsetof(struct ll_software, step_overhead_s) - BEGIN);
    for (uint64_t i = 0; i < software->kernel_count; i++)
        hash = mix_without(hash, &software->kernels[i], sizeof *software->kernels,
                           offsetof(struct ll_kernel, launch_overhead_s));
    for (uint64_t i = 0; i < software->transform_count; i++)
        hash = mix_without(hash, &software->transforms[i], sizeof *software->transforms,
                           offsetof(struct ll_transform, overhead_s));
    hash = mix(hash, software->attention, software->attention_count * sizeof *software->attention);
    hash = mix(hash, software->experts, software->expert_count * sizeof *software->experts);
    return mix(hash, software->linear, software->linear_count * sizeof *software->linear);
}

static uint64_t spread_number(uint64_t hash, double number)
{
    uint64_t word;
    memcpy(&word, &number, sizeof word);
    return spread(hash, word);
}

/* What starting an op takes: ll_cost_restart makes costs follow it. */
static uint64_t mix_starts(const struct ll_software *software)
{
    uint64_t hash = spread_number(1, software->op_overhead_s);
    hash = spread_number(hash, software->step_overhead_s);
    for (uint64_t i = 0; i < software->kernel_count; i++)
        hash = spread_number(hash, software->kernels[i].launch_overhead_s);
    for (uint64_t i = 0; i < software->transform_count; i++)
        hash = spread_number(hash, software->transforms[i].overhead_s);
    return hash;
}

/* Of ways that take the same time that with the least energy is taken; static power decides where the
 * software wants the least energy, and a limit of power is kept by what GEMMs take. */
static uint64_t mix_energy(uint64_t hash, const struct ll_machine *machine)
{
    bool static_counts = machine->energy.limit_w > 0 || machine->software.objective != LL_OBJECTIVE_TIME;
    double static_w = static_counts ? ll_machine_static_w(machine) : 0;
    return mix(mix(hash, &machine->energy, sizeof machine->energy), &static_w, sizeof static_w);
}

/* What of a unit matters for work on others: who runs what, in which types, and how many share a memory. */
static uint64_t mix_ability(uint64_t hash, const struct ll_unit *unit)
{
    hash = mix(hash, &unit->model, sizeof unit->model);
    hash = mix(hash, &unit->count, sizeof unit->count);
    hash = mix(hash, unit->runs, sizeof unit->runs);
    hash = mix(hash, &unit->runs_listed, sizeof unit->runs_listed);
    hash = mix(hash, &unit->align, sizeof unit->align);
    hash = mix(hash, &unit->line_align, sizeof unit->line_align);
    const double *rates = ll_unit_arithmetic(unit).rates;
    uint64_t able = 0;
    static_assert(LL_DTYPE_COUNT <= 64, "a bit for each type");
    for (unsigned i = 0; i < LL_DTYPE_COUNT; i++)
        able |= (uint64_t)(rates[i] > 0) << i;
    return spread(hash, able);
}

/* A vector unit turns elements of one type into another for all others. */
static bool casts(const struct ll_unit *unit)
{
    for (unsigned i = 0; unit->model == LL_UNIT_VECTOR && i < LL_DTYPE_COUNT; i++)
        if (unit->vector.casts[i] > 0)
            return true;
    return false;
}

void ll_memo_turn(struct ll_memo *memo, const struct ll_machine *machine)
{
    uint64_t hash = mix(1, machine->levels, machine->level_count * sizeof *machine->levels);
    memo->machine = machine;
    memo->starts = mix_starts(&machine->software);
    hash = mix_software(hash, &machine->software);
    hash = mix_energy(hash, machine);
    for (uint64_t i = 0; i < machine->overlay_count; i++)
        hash = mix(hash, machine->overlays[i].shapes,
                   machine->overlays[i].shape_count * sizeof *machine->overlays[i].shapes);
    uint64_t table[] = {machine->table ? ll_kernel_table_digest(machine->table) : 0, machine->table_leaves};
    hash = mix(hash, table, sizeof table);
    uint64_t units[LL_MAX_UNITS];
    memo->all_units = 1;
    for (uint64_t i = 0; i < machine->unit_count; i++) {
        const struct ll_unit *unit = &machine->units[i];
        units[i] = mix(1, unit, sizeof *unit);
        hash = casts(unit) ? spread(hash, units[i]) : mix_ability(hash, unit);
        memo->all_units = spread(memo->all_units, units[i]);
    }
    memo->signatures[LL_MAX_UNITS] =
        mix(hash, &machine->host, sizeof machine->host); /* input needs no unit */
    for (uint64_t i = 0; i < LL_MAX_UNITS; i++)          /* of a unit that is not there no cost is good */
        memo->signatures[i] = i < machine->unit_count ? spread(hash, units[i]) : UINT64_MAX;
}

void ll_memo_release(struct ll_memo *memo)
{
    for (uint64_t i = 0; i < memo->keys.count; i++)
        for (uint32_t v = 0; v < 2; v++)
            free(memo->entries[i].versions[v].costs);
    ll_map_release(&memo->keys);
    free(memo->entries);
    *memo = (struct ll_memo){.machine = memo->machine};
}
