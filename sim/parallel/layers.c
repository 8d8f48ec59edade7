/* SPDX-License-Identifier: Apache-2.0 */
/* First scopes are judged, each once: where in it a layer's name ends. Then one walk over the ops follows the
 * data for those whose scope names no layer. */
#include "sim/parallel/layers.h"

#include "sim/parallel/layers_repeat.h"
#include "tracer/base/map.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* What begins with a numbered part of a scope. */
struct prefix {
    bool more;  /* there are scopes below it */
    bool whole; /* something keeps it together: ops of its own, or parts that are not themselves such */
};

struct finding {
    const struct ll_trace *trace;
    struct ll_arena *arena;
    struct ll_map prefixes, names;
    struct prefix *prefix; /* by number in `prefixes` */
    uint64_t prefix_capacity;
    uint32_t *name;      /* by string: number in `names`, LL_NONE for none */
    uint32_t *layer;     /* by number in `names`: the layer */
    uint32_t *made_by;   /* by tensor: the layer of the op that made it, LL_NONE for nobody's */
    uint32_t *first_use; /* by storage of a weight: the first layer that reads it */
};

/* The end of the part of a scope that begins at `from`. */
static size_t part_end(const char *scope, size_t from)
{
    return from + strcspn(scope + from, "/");
}

static bool is_numbered(const char *scope, size_t from, size_t end)
{
    return end > from && isdigit((unsigned char)scope[end - 1]);
}

static struct prefix *prefix_of(struct finding *f, const char *scope, size_t length)
{
    bool is_new;
    uint32_t id = ll_map_intern(&f->prefixes, scope, length, &is_new);
    if (id == LL_NO_ID || !ll_grow(&f->prefix, &f->prefix_capacity, id + 1u, sizeof *f->prefix))
        return NULL;
    if (is_new)
        f->prefix[id] = (struct prefix){0};
    return &f->prefix[id];
}

/* Notes which numbered parts of the scope have others below them. */
static bool meet_prefixes(struct finding *f, const char *scope)
{
    for (size_t from = 0, end; scope[from]; from = end + (scope[end] == '/')) {
        end = part_end(scope, from);
        struct prefix *prefix = is_numbered(scope, from, end) ? prefix_of(f, scope, end) : NULL;
        if (prefix)
            prefix->more |= scope[end] != '\0';
        else if (is_numbered(scope, from, end))
            return false;
    }
    return true;
}

/* A numbered part holds together what is not in numbered parts below it that have others below them. */
static void judge_prefixes(struct finding *f, const char *scope)
{
    for (size_t from = 0, end; scope[from]; from = end + (scope[end] == '/')) {
        end = part_end(scope, from);
        if (!is_numbered(scope, from, end))
            continue;
        size_t below = scope[end] ? part_end(scope, end + 1) : end;
        uint32_t part = below > end ? ll_map_find(&f->prefixes, scope, below) : LL_NO_ID;
        f->prefix[ll_map_find(&f->prefixes, scope, end)].whole |= part == LL_NO_ID || !f->prefix[part].more;
    }
}

/* The first numbered part, or one below it as long as that only holds numbered parts that hold others. */
static size_t name_length(struct finding *f, const char *scope)
{
    for (size_t from = 0, end; scope[from]; from = end + (scope[end] == '/')) {
        end = part_end(scope, from);
        if (!is_numbered(scope, from, end))
            continue;
        if (f->prefix[ll_map_find(&f->prefixes, scope, end)].whole)
            return end;
    }
    return 0;
}

static const struct ll_form *form_of(const struct finding *f, uint64_t op)
{
    return &f->trace->forms[f->trace->ops[op].form];
}

/* The strings that are scopes, each once, in the order of the forms; NULL when memory ran out. */
static uint32_t *list_scopes(struct finding *f, uint64_t *count)
{
    const struct ll_trace *trace = f->trace;
    bool *listed = ll_alloc(f->arena, trace->string_count + 1, sizeof *listed);
    uint32_t *scopes = ll_alloc(f->arena, trace->string_count + 1, sizeof *scopes);
    *count = 0;
    for (uint64_t i = 0; listed && scopes && i < trace->form_count; i++) {
        uint32_t scope = trace->forms[i].scope;
        if (!listed[scope])
            scopes[(*count)++] = scope;
        listed[scope] = true;
    }
    return listed ? scopes : NULL;
}

static bool name_scopes(struct finding *f)
{
    const char *const *strings = f->trace->strings;
    uint64_t count;
    const uint32_t *scopes = list_scopes(f, &count);
    if (!scopes)
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (!meet_prefixes(f, strings[scopes[i]]))
            return false;
    for (uint64_t i = 0; i < count; i++)
        judge_prefixes(f, strings[scopes[i]]);
    for (uint64_t i = 0; i < count; i++) {
        uint32_t scope = scopes[i];
        size_t length = name_length(f, strings[scope]);
        f->name[scope] = length ? ll_map_intern(&f->names, strings[scope], length, NULL) : LL_NONE;
        if (length && f->name[scope] == LL_NO_ID)
            return false;
    }
    return true;
}

static uint32_t *none(struct ll_arena *arena, uint64_t count)
{
    uint32_t *list = ll_alloc(arena, count + 1, sizeof *list);
    if (list)
        memset(list, 0xff, (count + 1) * sizeof *list);
    return list;
}

/* Layers in the order in which they first compute. */
static bool number_layers(struct finding *f, struct ll_layers *layers)
{
    f->layer = none(f->arena, f->names.count);
    layers->names = ll_alloc(f->arena, f->names.count + 1u, sizeof *layers->names);
    if (!f->layer || !layers->names)
        return false;
    for (uint64_t op = 0; op < f->trace->op_count; op++) {
        const struct ll_form *form = form_of(f, op);
        uint32_t name = f->name[form->scope];
        if (name == LL_NONE || form->phase != LL_PHASE_FORWARD)
            continue;
        if (f->layer[name] == LL_NONE) {
            const struct ll_map_entry *entry = &f->names.entries[name];
            layers->names[layers->count] = ll_copy_text(f->arena, entry->bytes, entry->length);
            f->layer[name] = layers->count++;
        }
        layers->named[op] = f->layer[name];
    }
    for (uint64_t op = 0; op < f->trace->op_count; op++) {
        uint32_t name = f->name[form_of(f, op)->scope];
        layers->named[op] = name == LL_NONE ? LL_NONE : f->layer[name];
    }
    return true;
}

static bool is_weight(const struct ll_trace *trace, uint32_t tensor)
{
    return trace->descs[trace->tensors[tensor].desc].memory == LL_WEIGHT;
}

static bool reads_weight(const struct finding *f, uint32_t op)
{
    for (uint32_t i = 0; i < form_of(f, op)->view.input_count; i++)
        if (is_weight(f->trace, ll_op_input(f->trace, op, i)))
            return true;
    return false;
}

/* Where nothing is numbered: a layer for each forward op of a step that reads a weight, and what follows. */
static bool part_by_weights(struct finding *f, struct ll_layers *layers)
{
    uint64_t most = 0;
    uint32_t step = LL_NONE, layer = LL_NONE, count = 0;
    for (uint32_t op = 0; op < f->trace->op_count; op++) {
        const struct ll_form *form = form_of(f, op);
        if (f->trace->ops[op].step != step) {
            step = f->trace->ops[op].step;
            count = 0;
            layer = LL_NONE;
        }
        if (form->phase != LL_PHASE_FORWARD)
            continue;
        if (reads_weight(f, op))
            layer = count++;
        layers->named[op] = layer;
        most = ll_max(most, count);
    }
    layers->count = (uint32_t)most;
    layers->names = ll_alloc(f->arena, most + 1, sizeof *layers->names);
    for (uint64_t i = 0; layers->names && i < most; i++)
        layers->names[i] = "";
    return layers->names;
}

/* The first layer that is named at or after each op before the trace goes backward; LL_NONE behind the last.
 */
static uint32_t *layers_ahead(const struct finding *f, const struct ll_layers *layers)
{
    uint32_t *ahead = none(f->arena, f->trace->op_count);
    for (uint64_t op = f->trace->op_count; ahead && op-- > 0;)
        ahead[op] = form_of(f, op)->phase == LL_PHASE_BACKWARD ? LL_NONE
                    : layers->named[op] != LL_NONE             ? layers->named[op]
                                                               : ahead[op + 1];
    return ahead;
}

/* Keeps the larger, LL_NONE being less than all. */
static void take_later(uint32_t *layer, uint32_t other)
{
    if (other != LL_NONE && (*layer == LL_NONE || other > *layer))
        *layer = other;
}

/* What an op follows: the last layer of those that made what it reads; of gradients that flow together, the
 * first, since backward the layers run the other way. A weight alone leads to its first reader. */
static uint32_t follow(const struct finding *f, uint32_t op, bool *weights)
{
    const struct ll_trace *trace = f->trace;
    uint32_t forward = LL_NONE, gradient = LL_NONE, user = LL_NONE;
    for (uint32_t i = 0; i < form_of(f, op)->view.input_count; i++) {
        uint32_t tensor = ll_op_input(trace, op, i), made_by = f->made_by[tensor];
        uint32_t memory = trace->descs[trace->tensors[tensor].desc].memory;
        if (memory == LL_GRADIENT && made_by != LL_NONE)
            gradient = gradient == LL_NONE || made_by < gradient ? made_by : gradient;
        else
            take_later(&forward, made_by);
        if (memory != LL_WEIGHT)
            continue;
        *weights = true;
        take_later(&user, f->first_use[trace->tensors[tensor].storage]);
    }
    if (form_of(f, op)->phase == LL_PHASE_UPDATE && user != LL_NONE)
        return user;
    return forward != LL_NONE ? forward : gradient;
}

/* Notes what the op's layer has made, and which weights it was the first to read. */
static void note(struct finding *f, uint32_t op, uint32_t owner)
{
    const struct ll_form *form = form_of(f, op);
    const struct ll_tensor *tensors = f->trace->tensors;
    for (uint32_t i = 0; i < form->view.output_count; i++)
        f->made_by[ll_op_output(f->trace, op, i)] = owner;
    for (uint32_t i = 0; i < form->view.input_count && form->phase == LL_PHASE_FORWARD; i++) {
        uint32_t storage = tensors[ll_op_input(f->trace, op, i)].storage;
        if (f->first_use[storage] == LL_NONE)
            f->first_use[storage] = owner;
    }
}

static bool find_owners(struct finding *f, struct ll_layers *layers)
{
    const uint32_t *ahead = layers_ahead(f, layers);
    f->made_by = none(f->arena, f->trace->tensor_count);
    f->first_use = none(f->arena, f->trace->storage_count);
    if (!ahead || !f->made_by || !f->first_use)
        return false;
    for (uint32_t op = 0, last = 0; op < f->trace->op_count; op++) {
        bool weights = false;
        uint32_t owner = follow(f, op, &weights);
        if (layers->named[op] != LL_NONE)
            last = owner = layers->named[op];
        else if (owner == LL_NONE && weights)
            owner = ahead[op] != LL_NONE ? ahead[op] : last;
        layers->owner[op] = owner;
        note(f, op, owner);
        if (owner != LL_NONE)
            layers->flops[owner] = ll_add(layers->flops[owner], form_of(f, op)->flops);
        if (layers->named[op] != LL_NONE)
            layers->named_flops[owner] = ll_add(layers->named_flops[owner], form_of(f, op)->flops);
    }
    return true;
}

static bool find(struct finding *f, struct ll_layers *layers)
{
    f->name = none(f->arena, f->trace->string_count);
    layers->named = none(f->arena, f->trace->op_count);
    layers->owner = none(f->arena, f->trace->op_count);
    if (!f->name || !layers->named || !layers->owner || !name_scopes(f) || !number_layers(f, layers))
        return false;
    if (layers->count < 2) {
        layers->count = 0;
        memset(layers->named, 0xff, f->trace->op_count * sizeof *layers->named);
        if (!part_by_weights(f, layers) || !ll_layers_repeat(f->trace, f->arena, layers))
            return false;
    }
    layers->flops = ll_alloc(f->arena, layers->count + 1u, sizeof *layers->flops);
    layers->named_flops = ll_alloc(f->arena, layers->count + 1u, sizeof *layers->named_flops);
    return layers->flops && layers->named_flops && find_owners(f, layers);
}

bool ll_layers_find(const struct ll_trace *trace, struct ll_arena *arena, struct ll_layers *layers)
{
    struct finding finding = {.trace = trace, .arena = arena};
    *layers = (struct ll_layers){0};
    bool found = find(&finding, layers);
    ll_map_release(&finding.prefixes);
    ll_map_release(&finding.names);
    free(finding.prefix);
    return found;
}
