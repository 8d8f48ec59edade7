/* SPDX-License-Identifier: Apache-2.0 */
/* Operators lie within each other by time, thread by thread; kernels name the operator that started them,
 * or the call of the driver that did, which lies within one. An operator takes the time of its kernels. */
#include "tracer/convert/torch/launched.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/map.h"
#include "tracer/base/num.h"

struct tying {
    struct ll_import *import;
    struct ll_torch_nodes *nodes;
    const struct ll_torch_launched *kernels;
    uint64_t kernel_count;
    struct ll_recorded *recorded;
};

bool ll_torch_add_node(struct ll_import *import, struct ll_torch_nodes *nodes, struct ll_torch_node *node)
{
    if (!ll_grow(&nodes->at, &nodes->capacity, nodes->count + 1, sizeof *node))
        return ll_import_no_memory(import);
    node->id = nodes->count + 1;
    node->begin_ns = node->start_ns;
    node->end_ns = ll_add(node->start_ns, node->duration_ns);
    nodes->at[nodes->count++] = *node;
    return true;
}

static int by_start(const void *a, const void *b)
{
    const struct ll_torch_node *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->duration_ns != y->duration_ns)
        return x->duration_ns > y->duration_ns ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static uint64_t end_ns(const struct ll_torch_node *node)
{
    return ll_add(node->start_ns, node->duration_ns);
}

/* What times are cut off to: whole microseconds, as older versions write them, or nanoseconds. */
static uint64_t grain_ns(const struct ll_torch_nodes *nodes)
{
    for (uint64_t i = 0; i < nodes->count; i++)
        if (nodes->at[i].start_ns % 1000 || nodes->at[i].duration_ns % 1000)
            return 1;
    return 1000;
}

/* Whether a node that began after another lies in its time. With begin and duration cut off it may seem to
 * end a grain later, but what comes after another cannot seem to begin before that ends. */
static bool lies_within(const struct ll_torch_node *inner, const struct ll_torch_node *outer, uint64_t grain)
{
    uint64_t end = end_ns(inner), outer_end = end_ns(outer);
    return end <= outer_end || (inner->start_ns < outer_end && end <= ll_add(outer_end, grain));
}

/* Finds for each node the one of its thread in whose time it lies. Numbers are then places, from 1. */
static bool nest(struct tying *p)
{
    struct ll_torch_nodes *nodes = p->nodes;
    struct ll_map threads = {0};
    uint64_t *newest = NULL, capacity = 0;
    const uint64_t grain = grain_ns(nodes);
    bool fine = true;
    qsort(nodes->at, nodes->count, sizeof *nodes->at, by_start);
    for (uint64_t i = 0; fine && i < nodes->count; i++) {
        struct ll_torch_node *node = &nodes->at[i];
        bool is_new = false;
        uint32_t at = ll_map_intern(&threads, &node->thread, sizeof node->thread, &is_new);
        fine = at != LL_NO_ID && ll_grow(&newest, &capacity, (uint64_t)at + 1, sizeof *newest);
        if (!fine)
            break;
        newest[at] = is_new ? 0 : newest[at];
        uint64_t parent = newest[at];
        while (parent && !lies_within(node, &nodes->at[parent - 1], grain))
            parent = nodes->at[parent - 1].parent;
        node->parent = parent;
        node->id = i + 1;
        if (!node->correlation) /* nothing lies within a launch */
            newest[at] = i + 1;
    }
    ll_map_release(&threads);
    free(newest);
    return fine || ll_import_no_memory(p->import);
}

/* Places of nodes, from 1, by a number of theirs; the first of those that have the same. */
struct index {
    struct ll_map numbers;
    uint64_t *places, capacity;
};

static bool index_node(struct index *index, uint64_t number, uint64_t place)
{
    bool is_new = false;
    uint32_t at = number ? ll_map_intern(&index->numbers, &number, sizeof number, &is_new) : 0;
    if (number == 0)
        return true;
    if (at == LL_NO_ID || !ll_grow(&index->places, &index->capacity, (uint64_t)at + 1, sizeof(uint64_t)))
        return false;
    if (is_new)
        index->places[at] = place;
    return true;
}

static uint64_t look_up(const struct index *index, uint64_t number)
{
    uint32_t at = number ? ll_map_find(&index->numbers, &number, sizeof number) : LL_NO_ID;
    return at == LL_NO_ID ? 0 : index->places[at];
}

/* What was started by no node that is known, though it belongs to the run, becomes a node of its own. */
static uint64_t add_stranger(struct tying *p, const struct ll_torch_launched *kernel)
{
    struct ll_torch_node node = {
        .name = "", .sequence = -1, .start_ns = kernel->start_ns, .duration_ns = kernel->duration_ns};
    return ll_torch_add_node(p->import, p->nodes, &node) ? p->nodes->count : 0;
}

/* The node that started a kernel, from 1; 0 where that ran before the recording began, or memory ran out. A
 * call of the driver hands it to the operator around it. Kernels whose start is not in a file that has starts
 * belong to what ran before it. */
static uint64_t starter_of(struct tying *p, const struct ll_torch_launched *kernel,
                           const struct index *externals, const struct index *launches)
{
    const struct ll_torch_nodes *nodes = p->nodes;
    uint64_t launch = look_up(launches, kernel->correlation), place = look_up(externals, kernel->external);
    if (!place && !launch && launches->numbers.count > 0 && kernel->correlation)
        return 0;
    if (!place && launch)
        place = nodes->at[launch - 1].parent ? nodes->at[launch - 1].parent : launch;
    return place ? place : add_stranger(p, kernel);
}

static int by_place(const void *a, const void *b)
{
    const struct ll_torch_kernel *x = a, *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Who started a kernel takes its time. False when memory ran out. */
static bool place_kernels(struct tying *p, const struct index *externals, const struct index *launches)
{
    struct ll_torch_nodes *nodes = p->nodes;
    for (uint64_t i = 0; i < p->kernel_count; i++) {
        const struct ll_torch_launched *kernel = &p->kernels[i];
        uint64_t place = starter_of(p, kernel, externals, launches);
        if (p->import->status != LL_OK || !ll_grow(&nodes->kernels, &nodes->kernel_capacity,
                                                   nodes->kernel_count + 1, sizeof *nodes->kernels))
            return ll_import_no_memory(p->import);
        if (place == 0)
            continue;
        struct ll_torch_node *node = &nodes->at[place - 1];
        nodes->kernels[nodes->kernel_count++] = (struct ll_torch_kernel){
            kernel->name, kernel->start_ns, kernel->duration_ns, place, kernel->kind};
        node->device_ns = ll_add(node->device_ns, kernel->duration_ns);
        node->compiled = node->compiled || strcmp(node->name, kernel->name) == 0;
        if (node->name[0])
            p->recorded->timeline.events[i].caller =
                ll_recorded_name(p->recorded, node->name, strlen(node->name));
    }
    qsort(nodes->kernels, nodes->kernel_count, sizeof *nodes->kernels, by_place);
    for (uint64_t i = nodes->kernel_count; i-- > 0;) {
        struct ll_torch_node *node = &nodes->at[nodes->kernels[i].place - 1];
        node->kernel_first = i;
        node->kernel_count++;
    }
    return true;
}

/* From the innermost out: an operator begins with the first kernel of its own or of what it called, and takes
 * as long as all of them. */
static void time_by_kernels(struct ll_torch_nodes *nodes, uint64_t *first_ns)
{
    for (uint64_t i = 0; i < nodes->count; i++) {
        nodes->at[i].duration_ns = nodes->at[i].device_ns;
        if (nodes->at[i].kernel_count)
            first_ns[i + 1] = nodes->kernels[nodes->at[i].kernel_first].start_ns;
    }
    for (uint64_t i = nodes->count; i > 0; i--) {
        struct ll_torch_node *node = &nodes->at[i - 1];
        if (node->duration_ns == 0)
            continue;
        node->start_ns = first_ns[i];
        if (node->parent == 0)
            continue;
        struct ll_torch_node *outer = &nodes->at[node->parent - 1];
        uint64_t *first = &first_ns[node->parent];
        *first = outer->duration_ns ? ll_min(*first, node->start_ns) : node->start_ns;
        outer->duration_ns = ll_add(outer->duration_ns, node->duration_ns);
    }
}

/* Operators take the time of their kernels; without any kernels in the file their own. */
static void take_kernels(struct tying *p)
{
    struct index externals = {.places = NULL}, launches = {.places = NULL};
    uint64_t *first_ns = NULL;
    bool fine = true;
    p->nodes->measured = p->kernel_count > 0;
    for (uint64_t i = 0; fine && i < p->nodes->count; i++)
        fine = index_node(&externals, p->nodes->at[i].external, i + 1) &&
               index_node(&launches, p->nodes->at[i].correlation, i + 1);
    if (!fine)
        ll_import_no_memory(p->import);
    if (fine && p->nodes->measured && place_kernels(p, &externals, &launches)) {
        first_ns = calloc(p->nodes->count + 1, sizeof *first_ns);
        if (first_ns)
            time_by_kernels(p->nodes, first_ns);
        else
            ll_import_no_memory(p->import);
    }
    ll_map_release(&externals.numbers);
    ll_map_release(&launches.numbers);
    free(externals.places);
    free(launches.places);
    free(first_ns);
}

static bool is_floating(enum ll_dtype dtype)
{
    return dtype == LL_F32 || dtype == LL_F16 || dtype == LL_BF16 || dtype == LL_F64;
}

/* What lists of tensors do not say: tensors of such dimensions had this type before, or, where there were
 * none yet, the last one of floating point. */
static void find_types(struct tying *p)
{
    struct ll_map dims = {0};
    uint8_t *types = NULL, last = LL_F32;
    uint64_t capacity = 0;
    bool fine = true;
    for (uint64_t i = 0; fine && i < p->nodes->count; i++)
        for (uint32_t a = 0; fine && a < p->nodes->at[i].input_count; a++) {
            const struct ll_torch_value *value = &p->nodes->at[i].inputs[a];
            for (uint32_t t = 0; fine && value->kind == LL_TORCH_TENSORS && t < value->count; t++) {
                struct ll_shape *shape = &value->tensors[t].shape;
                uint32_t at = ll_map_intern(&dims, shape->dim, shape->rank * sizeof *shape->dim, NULL);
                uint64_t before = capacity;
                fine = at != LL_NO_ID && ll_grow(&types, &capacity, (uint64_t)at + 1, 1);
                if (fine && capacity > before)
                    memset(types + before, LL_DTYPE_COUNT, capacity - before);
                if (fine && value->tensors[t].typeless)
                    shape->dtype = types[at] == LL_DTYPE_COUNT ? last : types[at];
                else if (fine)
                    types[at] = shape->dtype;
                if (fine && !value->tensors[t].typeless && is_floating((enum ll_dtype)shape->dtype))
                    last = shape->dtype;
            }
        }
    ll_map_release(&dims);
    free(types);
    if (!fine)
        ll_import_no_memory(p->import);
}

/* Times from a moment near the first event on, never zero: who has one was measured. */
static void shift(struct ll_torch_nodes *nodes)
{
    uint64_t first = nodes->count ? nodes->at[0].start_ns : 0;
    for (uint64_t i = 0; i < nodes->count; i++)
        first = ll_min(first, nodes->at[i].start_ns);
    for (uint64_t i = 0; i < nodes->kernel_count; i++)
        first = ll_min(first, nodes->kernels[i].start_ns);
    for (uint64_t i = 0; i < nodes->count; i++)
        nodes->at[i].start_ns = ll_add(ll_sub(nodes->at[i].start_ns, first), 1);
    for (uint64_t i = 0; i < nodes->kernel_count; i++)
        nodes->kernels[i].start_ns = ll_add(ll_sub(nodes->kernels[i].start_ns, first), 1);
}

bool ll_torch_tie_kernels(struct ll_import *import, struct ll_torch_nodes *nodes,
                          const struct ll_torch_launched *kernels, uint64_t count,
                          struct ll_recorded *recorded)
{
    struct tying tying = {import, nodes, kernels, count, recorded};
    assert(count <= recorded->timeline.event_count);
    if (!nest(&tying))
        return false;
    find_types(&tying);
    take_kernels(&tying);
    shift(nodes);
    return import->status == LL_OK;
}
