/* SPDX-License-Identifier: Apache-2.0 */
/* A variant's index: the model axes of a point are its digits, as the axes are those of a point. Traces that
 * are files have one variant. */
#include "sim/explore/variants.h"

#include "sim/explore/key.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_KEPT = 256 }; /* of a workload, when a batch begins */

struct variant {
    uint64_t index;
    struct ll_trace *trace;
    const struct ll_prepared *prepared;
    struct ll_arena arena; /* of what is prepared */
    bool used;             /* by the batch */
};

struct workload {
    struct variant *kept; /* by index, ascending */
    uint64_t count, capacity;
};

struct ll_variants {
    const struct ll_space *space;
    ll_bring *bring;
    void *context;
    struct workload workloads[LL_MOST_WORKLOADS];
    uint64_t hashes[LL_MOST_WORKLOADS];
};

static uint64_t index_of(const struct ll_space *space, size_t workload, const uint32_t *point)
{
    uint64_t index = 0;
    for (size_t a = 0; a < space->axis_count && space->workloads[workload].model; a++)
        if (space->axes[a].target == LL_AXIS_MODEL)
            index = index * space->axes[a].value_count + point[a];
    return index;
}

/* Where the variant is, or where it belongs. */
static uint64_t place_of(const struct workload *workload, uint64_t index)
{
    uint64_t low = 0, high = workload->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (workload->kept[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void drop(struct variant *variant)
{
    ll_arena_release(&variant->arena);
    ll_trace_free(variant->trace);
}

/* The settings of the workload, those of the point's model axes laid over. */
static size_t settings_of(const struct ll_space *space, const struct ll_workload *workload,
                          const uint32_t *point, struct ll_workload_setting *settings)
{
    size_t count = 0;
    for (size_t i = 0; i < workload->setting_count; i++)
        settings[count++] = workload->settings[i];
    for (size_t a = 0; a < space->axis_count; a++) {
        const struct ll_axis *axis = &space->axes[a];
        if (axis->target != LL_AXIS_MODEL)
            continue;
        struct ll_workload_setting setting = {strchr(axis->path, '.') + 1, axis->values[point[a]].text};
        size_t i = 0;
        while (i < count && strcmp(settings[i].key, setting.key))
            i++;
        settings[i] = setting;
        count += i == count;
    }
    return count;
}

static bool bring(struct ll_variants *variants, size_t w, const uint32_t *point, struct variant *variant,
                  struct ll_diags *diags)
{
    const struct ll_workload *workload = &variants->space->workloads[w];
    struct ll_workload_setting *settings = calloc(workload->setting_count + LL_MOST_AXES, sizeof *settings);
    if (!settings)
        return ll_complain(diags, workload->place, "memory ran out");
    size_t count = workload->model ? settings_of(variants->space, workload, point, settings) : 0;
    variant->trace = variants->bring(variants->context, workload, settings, count, diags);
    free(settings);
    if (!variant->trace)
        return false;
    variant->prepared = ll_prepare(variant->trace, &variant->arena, diags);
    if (variant->prepared)
        return true;
    drop(variant);
    return ll_complain(diags, workload->place, "`%s` cannot be replayed", workload->name);
}

static bool need(struct ll_variants *variants, size_t w, const uint32_t *point, struct ll_diags *diags)
{
    struct workload *workload = &variants->workloads[w];
    struct variant made = {.index = index_of(variants->space, w, point), .used = true};
    uint64_t place = place_of(workload, made.index);
    if (place < workload->count && workload->kept[place].index == made.index) {
        workload->kept[place].used = true;
        return true;
    }
    if (!ll_grow(&workload->kept, &workload->capacity, workload->count + 1, sizeof *workload->kept))
        return ll_complain(diags, variants->space->workloads[w].place, "memory ran out");
    if (!bring(variants, w, point, &made, diags))
        return false;
    memmove(&workload->kept[place + 1], &workload->kept[place],
            (workload->count - place) * sizeof *workload->kept);
    workload->kept[place] = made;
    workload->count++;
    return true;
}

static void forget_unused(struct workload *workload)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < workload->count; i++)
        if (workload->kept[i].used)
            workload->kept[kept++] = workload->kept[i];
        else
            drop(&workload->kept[i]);
    workload->count = kept;
}

bool ll_variants_bring(struct ll_variants *variants, const struct ll_evaluation *evaluations, size_t count,
                       struct ll_diags *diags)
{
    uint32_t point[LL_MOST_AXES];
    for (size_t w = 0; w < variants->space->workload_count; w++) {
        struct workload *workload = &variants->workloads[w];
        for (uint64_t i = 0; i < workload->count; i++)
            workload->kept[i].used = false;
        for (size_t i = 0; i < count; i++) {
            ll_space_point(variants->space, evaluations[i].number, point);
            if (!need(variants, w, point, diags))
                return false;
        }
        if (workload->count > MOST_KEPT)
            forget_unused(workload);
    }
    return true;
}

const struct ll_prepared *ll_variants_get(const struct ll_variants *variants, size_t w, const uint32_t *point)
{
    const struct workload *workload = &variants->workloads[w];
    return workload->kept[place_of(workload, index_of(variants->space, w, point))].prepared;
}

const uint64_t *ll_variants_hashes(const struct ll_variants *variants)
{
    return variants->hashes;
}

/* A file by its bytes, a model by its name and its settings: what it records follows from the version. */
static bool hash_workload(const struct ll_workload *workload, uint64_t *hash)
{
    if (workload->file)
        return ll_hash_file(workload->file, hash);
    *hash = ll_hash_text(LL_HASH_START, workload->model);
    *hash = ll_hash_text(*hash, workload->infer ? "infer" : "train");
    for (size_t i = 0; i < workload->setting_count; i++) {
        *hash = ll_hash_text(*hash, workload->settings[i].key);
        *hash = ll_hash_text(*hash, workload->settings[i].value);
    }
    return true;
}

struct ll_variants *ll_variants_new(const struct ll_space *space, ll_bring *bring_one, void *context,
                                    struct ll_diags *diags)
{
    static const uint32_t first[LL_MOST_AXES] = {0};
    struct ll_variants *variants = calloc(1, sizeof *variants);
    bool right = variants || ll_complain(diags, (struct ll_place){.file = space->path}, "memory ran out");
    if (!right)
        return NULL;
    *variants = (struct ll_variants){.space = space, .bring = bring_one, .context = context};
    for (size_t w = 0; w < space->workload_count; w++) {
        const struct ll_workload *workload = &space->workloads[w];
        if (!hash_workload(workload, &variants->hashes[w]))
            right = ll_complain(diags, workload->place, "`%s` cannot be read", workload->file);
        else
            right &= need(variants, w, first, diags);
    }
    if (right)
        return variants;
    ll_variants_free(variants);
    return NULL;
}

void ll_variants_free(struct ll_variants *variants)
{
    if (!variants)
        return;
    for (size_t w = 0; w < LL_MOST_WORKLOADS; w++) {
        for (uint64_t i = 0; i < variants->workloads[w].count; i++)
            drop(&variants->workloads[w].kept[i]);
        free(variants->workloads[w].kept);
    }
    free(variants);
}
