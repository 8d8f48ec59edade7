/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of a workload: by the numbers in scopes, else by what repeats, else one per weight. The first
 * section finds repetition, the third finds runs of equal layers, most of which need not be simulated. The
 * last section computes activations again in the backward pass instead of keeping them. */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sim/parallel/parallel.h"
#include "sim/parallel/pipeline.h"
#include "sim/parallel/shard.h"
#include "tracer/base/map.h"
#include "tracer/transform/rewrite.h"

/* Layers by repetition. A token is the kind of the op that begins a layer and the shape of its weight. The
 * sequence of tokens is compared with itself at every distance. The distance at which most tokens agree,
 * without a gap and on different weights, is the length of a layer. Time steps of a recurrent layer agree
 * too, but on the same weights. */

enum { MOST_TOKENS = 4096 }; /* the search takes their square */

struct token {
    uint32_t look, storage;
};

/* Packed: compared as bytes. */
struct look {
    uint64_t kind;
    struct ll_shape shape;
};

struct repetition {
    /* Tokens first ... first + agreeing - 1 agree with those at the distance. */
    uint32_t first, distance, agreeing;
};

static bool read_token(const struct ll_trace *trace, uint32_t op, struct ll_map *looks, struct token *token)
{
    const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
    for (uint32_t i = 0; i < signature->view.input_count; i++) {
        const struct ll_tensor *tensor = &trace->tensors[ll_op_input(trace, op, i)];
        if (trace->descs[tensor->desc].memory != LL_WEIGHT)
            continue;
        struct look look = {signature->view.kind, trace->descs[tensor->desc].shape};
        *token = (struct token){ll_map_intern(looks, &look, sizeof look, NULL), tensor->storage};
        return token->look != LL_NO_ID;
    }
    return true;
}

/* Of the ops that begin layers, as they first come. */
static struct token *read_tokens(const struct ll_trace *trace, const struct ll_layers *layers,
                                 struct ll_arena *arena)
{
    struct token *tokens = ll_alloc(arena, layers->count + 1u, sizeof *tokens);
    struct ll_map looks = {0};
    bool right = tokens;
    uint32_t next = 0;
    for (uint32_t op = 0; right && op < trace->op_count && next < layers->count; op++)
        if (layers->named[op] == next)
            right = read_token(trace, op, &looks, &tokens[next++]);
    ll_map_release(&looks);
    return right ? tokens : NULL;
}

/* The longest run of tokens that agree with those at this distance. */
static struct repetition longest_run(const struct token *tokens, uint32_t count, uint32_t distance)
{
    struct repetition best = {0, distance, 0};
    for (uint32_t i = 0, run = 0; i + distance < count; i++) {
        const struct token *a = &tokens[i], *b = &tokens[i + distance];
        run = a->look == b->look && a->storage != b->storage ? run + 1 : 0;
        if (run > best.agreeing)
            best = (struct repetition){i + 1 - run, distance, run};
    }
    return best;
}

/* The distance that covers most tokens, the least of equals. */
static struct repetition find_repetition(const struct token *tokens, uint32_t count)
{
    struct repetition best = {0};
    for (uint32_t distance = 1; distance <= count / 2; distance++) {
        struct repetition run = longest_run(tokens, count, distance);
        uint32_t times = run.agreeing / distance + 1;
        if (times > 1 &&
            times * distance > (best.agreeing ? (best.agreeing / best.distance + 1) * best.distance : 0))
            best = run;
    }
    return best;
}

/* The layer of a token: before, one of the times, behind. */
static uint32_t layer_of(const struct repetition *r, uint32_t token)
{
    uint32_t times = r->agreeing / r->distance + 1, before = r->first > 0;
    if (token < r->first)
        return 0;
    uint32_t time = (token - r->first) / r->distance;
    return before + (time < times ? time : times);
}

/* Joins layers of single weights, as far as a row of them comes several times with other weights of the same
 * shapes: each time is a layer, what is before and behind are two more. Nothing changes when less than half
 * repeats. False when memory ran out. */
static bool layers_repeat(const struct ll_trace *trace, struct ll_arena *arena, struct ll_layers *layers)
{
    if (layers->count > MOST_TOKENS || layers->count < 2)
        return true;
    const struct token *tokens = read_tokens(trace, layers, arena);
    if (!tokens)
        return false;
    struct repetition r = find_repetition(tokens, layers->count);
    if (r.agreeing == 0 || 2 * (r.agreeing / r.distance + 1) * r.distance < layers->count)
        return true;
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (layers->named[op] != LL_NONE)
            layers->named[op] = layer_of(&r, layers->named[op]);
    layers->count = layer_of(&r, layers->count - 1) + 1;
    return true;
}

/* First scopes are judged, each once: where in it a layer's name ends. Then one walk over the ops follows the
 * data for those whose scope names no layer. */

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
    bool ends;           /* what comes before and behind the numbered layers are the first and the last one */
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

static const struct ll_op_signature *signature_of(const struct finding *f, uint64_t op)
{
    return &f->trace->signatures[f->trace->ops[op].signature];
}

/* The strings that are scopes, each once, in the order of the signatures; NULL when memory ran out. */
static uint32_t *list_scopes(struct finding *f, uint64_t *count)
{
    const struct ll_trace *trace = f->trace;
    bool *listed = ll_alloc(f->arena, trace->string_count + 1, sizeof *listed);
    uint32_t *scopes = ll_alloc(f->arena, trace->string_count + 1, sizeof *scopes);
    *count = 0;
    for (uint64_t i = 0; listed && scopes && i < trace->signature_count; i++) {
        uint32_t scope = trace->signatures[i].scope;
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
        const struct ll_op_signature *signature = signature_of(f, op);
        uint32_t name = f->name[signature->scope];
        if (name == LL_NONE || signature->phase != LL_PHASE_FORWARD)
            continue;
        if (f->layer[name] == LL_NONE) {
            const struct ll_map_entry *entry = &f->names.entries[name];
            layers->names[layers->count] = ll_copy_text(f->arena, entry->bytes, entry->length);
            f->layer[name] = layers->count++;
        }
        layers->named[op] = f->layer[name];
    }
    for (uint64_t op = 0; op < f->trace->op_count; op++) {
        uint32_t name = f->name[signature_of(f, op)->scope];
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
    for (uint32_t i = 0; i < signature_of(f, op)->view.input_count; i++)
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
        const struct ll_op_signature *signature = signature_of(f, op);
        if (f->trace->ops[op].step != step) {
            step = f->trace->ops[op].step;
            count = 0;
            layer = LL_NONE;
        }
        if (signature->phase != LL_PHASE_FORWARD)
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
        ahead[op] = signature_of(f, op)->phase == LL_PHASE_BACKWARD ? LL_NONE
                    : layers->named[op] != LL_NONE                  ? layers->named[op]
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
    for (uint32_t i = 0; i < signature_of(f, op)->view.input_count; i++) {
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
    if (signature_of(f, op)->phase == LL_PHASE_UPDATE && user != LL_NONE)
        return user;
    return forward != LL_NONE ? forward : gradient;
}

/* Notes what the op's layer has made, and which weights it was the first to read. */
static void note(struct finding *f, uint32_t op, uint32_t owner)
{
    const struct ll_op_signature *signature = signature_of(f, op);
    const struct ll_tensor *tensors = f->trace->tensors;
    for (uint32_t i = 0; i < signature->view.output_count; i++)
        f->made_by[ll_op_output(f->trace, op, i)] = owner;
    for (uint32_t i = 0; i < signature->view.input_count && signature->phase == LL_PHASE_FORWARD; i++) {
        uint32_t storage = tensors[ll_op_input(f->trace, op, i)].storage;
        if (f->first_use[storage] == LL_NONE)
            f->first_use[storage] = owner;
    }
}

static bool has_gradient_of(const struct finding *f, uint32_t op, uint32_t layer)
{
    const struct ll_trace *trace = f->trace;
    bool has = false;
    for (uint32_t i = 0; i < signature_of(f, op)->view.input_count; i++) {
        const uint32_t tensor = ll_op_input(trace, op, i);
        has |= f->made_by[tensor] == layer && trace->descs[trace->tensors[tensor].desc].memory == LL_GRADIENT;
    }
    return has;
}

/* Where the ends are layers of their own: ops of a pass that no scope names are theirs if they follow the
 * last numbered layer or come before the first one; going backward, if the head gave their gradient, or the
 * first layer did. */
static uint32_t at_an_end(const struct finding *f, const struct ll_layers *layers, const uint32_t *ahead,
                          uint32_t op, uint32_t owner)
{
    const uint32_t head = layers->count - 1, last = head - 1, first = 1;
    switch (signature_of(f, op)->phase) {
    case LL_PHASE_FORWARD:
        return owner == last && ahead[op] == LL_NONE ? head : owner;
    case LL_PHASE_BACKWARD:
        if (owner == last && has_gradient_of(f, op, head))
            return head;
        return owner == first ? 0 : owner;
    default:
        return owner;
    }
}

/* The layer of an op that follows none and reads weights: the next numbered one, or the last one so far. */
static uint32_t beside_weights(const struct finding *f, const struct ll_layers *layers, const uint32_t *ahead,
                               uint32_t op, uint32_t last)
{
    const bool forward = f->ends && signature_of(f, op)->phase == LL_PHASE_FORWARD;
    const uint32_t owner = ahead[op] != LL_NONE ? ahead[op] : last;
    return forward && ahead[op] == 1 ? 0 : forward && ahead[op] == LL_NONE ? layers->count - 1 : owner;
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
            owner = beside_weights(f, layers, ahead, op, last);
        else if (owner != LL_NONE && f->ends)
            owner = at_an_end(f, layers, ahead, op, owner);
        layers->owner[op] = owner;
        note(f, op, owner);
        if (owner != LL_NONE)
            layers->flops[owner] = ll_add(layers->flops[owner], signature_of(f, op)->flops);
        if (layers->named[op] != LL_NONE)
            layers->named_flops[owner] = ll_add(layers->named_flops[owner], signature_of(f, op)->flops);
    }
    return true;
}

/* Numbered layers make room for one before and one behind them. */
static bool add_ends(const struct finding *f, struct ll_layers *layers)
{
    const char **names = ll_alloc(f->arena, layers->count + 2u, sizeof *names);
    if (!names)
        return false;
    memcpy(names + 1, layers->names, layers->count * sizeof *names);
    names[0] = "embedding";
    names[layers->count + 1] = "loss";
    layers->names = names;
    layers->count += 2;
    for (uint64_t op = 0; op < f->trace->op_count; op++)
        layers->named[op] += layers->named[op] != LL_NONE;
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
        if (!part_by_weights(f, layers) || !layers_repeat(f->trace, f->arena, layers))
            return false;
    }
    if (f->ends && !add_ends(f, layers))
        return false;
    layers->flops = ll_alloc(f->arena, layers->count + 1u, sizeof *layers->flops);
    layers->named_flops = ll_alloc(f->arena, layers->count + 1u, sizeof *layers->named_flops);
    return layers->flops && layers->named_flops && find_owners(f, layers);
}

bool ll_layers_find_ends(const struct ll_trace *trace, bool ends, struct ll_arena *arena,
                         struct ll_layers *layers)
{
    struct finding finding = {.trace = trace, .arena = arena, .ends = ends};
    *layers = (struct ll_layers){0};
    bool found = find(&finding, layers);
    ll_map_release(&finding.prefixes);
    ll_map_release(&finding.names);
    free(finding.prefix);
    for (uint32_t op = 0; found && op < trace->op_count; op++)
        assert(layers->owner[op] == LL_NONE || layers->owner[op] < ll_max(layers->count, 1));
    for (uint32_t i = 0; found && i < layers->count; i++)
        assert(layers->named_flops[i] <= layers->flops[i]);
    return found;
}

bool ll_layers_find(const struct ll_trace *trace, struct ll_arena *arena, struct ll_layers *layers)
{
    return ll_layers_find_ends(trace, false, arena, layers);
}

enum { KEPT = 2 }; /* layers at either end of a run that stay */

/* Lists the ops of each layer: counted, then put in their places. */
static bool list_ops(const struct ll_trace *trace, struct ll_arena *arena, struct ll_equal_layers *equal)
{
    uint32_t layers = equal->layers.count;
    uint64_t *begin = ll_alloc(arena, layers + 2u, sizeof *begin);
    equal->place = ll_alloc(arena, trace->op_count + 1, sizeof *equal->place);
    equal->ops = ll_alloc(arena, trace->op_count + 1, sizeof *equal->ops);
    if (!begin || !equal->place || !equal->ops)
        return false;
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (equal->layers.owner[op] != LL_NONE)
            equal->place[op] = (uint32_t)begin[equal->layers.owner[op] + 1]++;
        else
            equal->place[op] = LL_NONE;
    for (uint32_t layer = 0; layer < layers; layer++)
        begin[layer + 1] += begin[layer];
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (equal->place[op] != LL_NONE)
            equal->ops[begin[equal->layers.owner[op]] + equal->place[op]] = op;
    equal->begin = begin;
    return true;
}

static uint32_t producer_of(const struct ll_trace *trace, uint32_t op, uint32_t input)
{
    return trace->tensors[ll_op_input(trace, op, input)].producer;
}

/* Whether an input comes from the same place, as far as it comes from the op's own layer. */
static bool reads_equal(const struct ll_trace *trace, const struct ll_equal_layers *equal, uint32_t a,
                        uint32_t b, uint32_t input)
{
    uint32_t x = producer_of(trace, a, input), y = producer_of(trace, b, input);
    bool own_x = x != LL_NONE && equal->layers.owner[x] == equal->layers.owner[a],
         own_y = y != LL_NONE && equal->layers.owner[y] == equal->layers.owner[b];
    return own_x == own_y && (!own_x || equal->place[x] == equal->place[y]);
}

static bool ops_equal(const struct ll_trace *trace, const struct ll_equal_layers *equal, uint32_t a,
                      uint32_t b)
{
    const struct ll_op_signature *x = &trace->signatures[trace->ops[a].signature],
                                 *y = &trace->signatures[trace->ops[b].signature];
    if (!ll_same_signature(trace, x, trace, y))
        return false;
    for (uint32_t i = 0; i < x->view.input_count; i++)
        if (!reads_equal(trace, equal, a, b, i))
            return false;
    return true;
}

static bool layers_equal(const struct ll_trace *trace, const struct ll_equal_layers *equal, uint32_t a,
                         uint32_t b)
{
    uint64_t count = equal->begin[a + 1] - equal->begin[a];
    if (equal->begin[b + 1] - equal->begin[b] != count)
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (!ops_equal(trace, equal, equal->ops[equal->begin[a] + i], equal->ops[equal->begin[b] + i]))
            return false;
    return true;
}

bool ll_equal_layers_find(const struct ll_trace *trace, struct ll_arena *arena, struct ll_equal_layers *equal)
{
    *equal = (struct ll_equal_layers){0};
    if (!ll_layers_find(trace, arena, &equal->layers) || !list_ops(trace, arena, equal))
        return false;
    for (uint32_t first = 0, next; first < equal->layers.count; first = next) {
        for (next = first + 1; next < equal->layers.count && layers_equal(trace, equal, first, next);)
            next++;
        if (next - first > 1 && next - first > equal->count) {
            equal->first = first;
            equal->count = next - first;
        }
    }
    assert(equal->count != 1 && equal->first + equal->count <= equal->layers.count);
    return true;
}

uint32_t ll_dropped_layers(const struct ll_equal_layers *equal)
{
    return equal->count > 2 * KEPT ? equal->count - 2 * KEPT : 0;
}

static bool is_left_out(const struct ll_equal_layers *equal, uint32_t op)
{
    uint32_t layer = op == LL_NONE ? LL_NONE : equal->layers.owner[op];
    return layer != LL_NONE && layer >= equal->first + KEPT && layer < equal->first + equal->count - KEPT;
}

/* What a tensor of a layer that is left out becomes: going forward that of the last layer before, going
 * backward that of the first one behind. */
static void stand_in(struct ll_rewrite *rewrite, const struct ll_equal_layers *equal, uint32_t op)
{
    const struct ll_op_signature *signature = &rewrite->old->signatures[rewrite->old->ops[op].signature];
    bool forward = signature->phase == LL_PHASE_FORWARD || signature->phase == LL_PHASE_INPUT;
    uint32_t layer = forward ? equal->first + KEPT - 1 : equal->first + equal->count - KEPT;
    uint32_t other = equal->ops[equal->begin[layer] + equal->place[op]];
    for (uint32_t i = 0; i < signature->view.output_count; i++) {
        uint32_t now = ll_rewrite_tensor(rewrite, ll_op_output(rewrite->old, other, i));
        if (now != LL_NONE)
            ll_rewrite_redirect(rewrite, ll_op_output(rewrite->old, op, i), now);
    }
}

struct ll_trace *ll_drop_layers(const struct ll_trace *trace, const struct ll_equal_layers *equal,
                                const char **trouble)
{
    assert(trace->step_count == 1);
    struct ll_rewrite rewrite;
    *trouble = NULL;
    if (ll_dropped_layers(equal) == 0)
        return NULL;
    ll_rewrite_begin(&rewrite, trace, NULL, 0);
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (is_left_out(equal, op))
            stand_in(&rewrite, equal, op);
        else
            ll_rewrite_keep(&rewrite, op);
    return ll_rewrite_end(&rewrite, trouble);
}

/* Activation recomputation. Ops that are recomputed together are a group: a layer, or the middle of an
 * attention. A tensor that a group makes and that only the group reads in the forward pass is inside the
 * group; the first backward op that reads a tensor inside triggers the recomputation. Tensors outside do not
 * change, so groups may be recomputed in any order. */

/* Ops of a group within a step, as a chain. */
struct group {
    uint32_t first;
    bool repeated;
};

struct recomputing {
    const struct ll_trace *trace;
    struct ll_rewrite rewrite;
    uint32_t *group_of; /* by op, LL_NONE for most with SELECTIVE */
    uint32_t *next;     /* by op: the next of its group */
    bool *outside;      /* by tensor: it is kept, as where forward ops outside of its group read it */
    bool *idle;         /* by op: it is not made again; NULL: all of a group are */
    struct group *groups;
    uint32_t group_count;
};

static const struct ll_op_signature *recompute_signature_of(const struct recomputing *r, uint32_t op)
{
    return &r->trace->signatures[r->trace->ops[op].signature];
}

static bool is_forward(const struct recomputing *r, uint32_t op)
{
    return recompute_signature_of(r, op)->phase == LL_PHASE_FORWARD;
}

/* A layer going forward is a group, each time that the trace goes forward anew. */
static bool group_layers(struct recomputing *r)
{
    struct ll_layers layers;
    uint32_t times = 0;
    bool backward = false;
    if (!ll_layers_find(r->trace, &r->rewrite.arena, &layers))
        return false;
    for (uint32_t op = 0; op < r->trace->op_count; op++) {
        backward |= recompute_signature_of(r, op)->phase == LL_PHASE_BACKWARD;
        if (layers.named[op] == LL_NONE || !is_forward(r, op))
            continue;
        times += backward;
        backward = false;
        r->group_of[op] = times * layers.count + layers.named[op];
    }
    r->group_count = (times + 1) * layers.count;
    return true;
}

static bool is_gemm(const struct recomputing *r, uint32_t op)
{
    enum ll_op_kind kind = recompute_signature_of(r, op)->view.kind;
    return kind != LL_OP_NONE && ll_op_class(kind) == LL_CLASS_MATRIX;
}

/* Whether it is a weight, or another look at one. */
static bool is_of_weight(const struct recomputing *r, uint32_t tensor)
{
    uint32_t from = r->trace->tensors[tensor].producer;
    while (from != LL_NONE && ll_is_view(&recompute_signature_of(r, from)->view)) {
        tensor = ll_op_input(r->trace, from, 0);
        from = r->trace->tensors[tensor].producer;
    }
    return r->trace->descs[r->trace->tensors[tensor].desc].memory == LL_WEIGHT;
}

/* Both GEMMs of attention are of activations. One that reads a weight is a layer: the softmax behind it is
 * of a router or a classifier. */
static bool is_between_activations(const struct recomputing *r, uint32_t product)
{
    for (uint32_t i = 0; i < recompute_signature_of(r, product)->view.input_count; i++)
        if (is_of_weight(r, ll_op_input(r->trace, product, i)))
            return false;
    return true;
}

/* Whether the op reads something of a group's. */
static bool reads_group(const struct recomputing *r, uint32_t op, uint32_t group)
{
    for (uint32_t i = 0; i < recompute_signature_of(r, op)->view.input_count; i++) {
        uint32_t from = r->trace->tensors[ll_op_input(r->trace, op, i)].producer;
        if (from != LL_NONE && r->group_of[from] == group)
            return true;
    }
    return false;
}

/* From the softmax back to the GEMM of queries and keys; what else flows in (a mask) stays outside. */
static bool take_scores(struct recomputing *r, uint32_t softmax, uint32_t group)
{
    uint32_t op = softmax;
    r->group_of[op] = group;
    while (!is_gemm(r, op)) {
        uint32_t from = recompute_signature_of(r, op)->view.input_count
                            ? r->trace->tensors[ll_op_input(r->trace, op, 0)].producer
                            : LL_NONE;
        if (from == LL_NONE || !is_forward(r, from) || r->group_of[from] != LL_NONE)
            return false;
        op = from;
        r->group_of[op] = group;
    }
    return is_between_activations(r, op);
}

enum { AHEAD_MOST = 64 }; /* ops between a softmax and the GEMM with the values */

/* From the softmax on to the GEMM with the values. */
static bool take_values(struct recomputing *r, uint32_t softmax, uint32_t group)
{
    for (uint32_t op = softmax + 1; op < r->trace->op_count && op - softmax < AHEAD_MOST; op++) {
        if (!is_forward(r, op) || r->group_of[op] != LL_NONE || !reads_group(r, op, group))
            continue;
        r->group_of[op] = group;
        if (is_gemm(r, op))
            return is_between_activations(r, op);
    }
    return false;
}

static void give_up(struct recomputing *r, uint32_t softmax, uint32_t group)
{
    for (uint32_t op = 0; op < softmax + AHEAD_MOST && op < r->trace->op_count; op++)
        if (r->group_of[op] == group)
            r->group_of[op] = LL_NONE;
}

static bool is_softmax(const struct recomputing *r, uint32_t op)
{
    enum ll_op_kind kind = recompute_signature_of(r, op)->view.kind;
    return kind == LL_OP_SOFTMAX || kind == LL_OP_CAUSAL_SOFTMAX;
}

static void group_attentions(struct recomputing *r)
{
    for (uint32_t op = 0; op < r->trace->op_count; op++) {
        if (!is_forward(r, op) || !is_softmax(r, op) || r->group_of[op] != LL_NONE)
            continue;
        if (take_scores(r, op, r->group_count) && take_values(r, op, r->group_count))
            r->group_count++;
        else
            give_up(r, op, r->group_count);
    }
}

static bool chain_groups(struct recomputing *r)
{
    struct ll_arena *arena = &r->rewrite.arena;
    r->groups = ll_alloc(arena, r->group_count + 1u, sizeof *r->groups);
    r->next = ll_alloc(arena, r->trace->op_count + 1, sizeof *r->next);
    if (!r->groups || !r->next)
        return false;
    for (uint32_t g = 0; g < r->group_count; g++)
        r->groups[g].first = LL_NONE;
    for (uint64_t i = r->trace->op_count; i-- > 0;) {
        uint32_t op = (uint32_t)i;
        if (r->group_of[op] == LL_NONE)
            continue;
        struct group *group = &r->groups[r->group_of[op]];
        r->next[op] = group->first;
        group->first = op;
    }
    return true;
}

static bool mark_outside(struct recomputing *r)
{
    r->outside = ll_alloc(&r->rewrite.arena, r->trace->tensor_count + 1, sizeof *r->outside);
    for (uint32_t op = 0; r->outside && op < r->trace->op_count; op++)
        for (uint32_t i = 0; is_forward(r, op) && i < recompute_signature_of(r, op)->view.input_count; i++) {
            uint32_t tensor = ll_op_input(r->trace, op, i), from = r->trace->tensors[tensor].producer;
            r->outside[tensor] |= from != LL_NONE && r->group_of[from] != r->group_of[op];
        }
    return r->outside;
}

/* What is not made again. Attention is one op or GEMMs of activations; what follows from it up to the next
 * GEMM is behind it. */

static bool attends(const struct recomputing *r, uint32_t op)
{
    struct ll_work work;
    const struct ll_op_view *view = &recompute_signature_of(r, op)->view;
    if (view->kind == LL_OP_NONE)
        return false;
    return is_gemm(r, op) ? is_between_activations(r, op)
                          : ll_op_lower(view, &work) && work.kind == LL_WORK_ATTENTION;
}

static bool makes(const bool *of_ops, const struct recomputing *r, uint32_t tensor)
{
    uint32_t from = r->trace->tensors[tensor].producer;
    return from != LL_NONE && of_ops[from];
}

/* Queries, keys and values as attention reads them; results of the GEMM that reads what is behind it;
 * results of all GEMMs with weights. */
static bool keep_some(struct recomputing *r, const struct ll_recompute_except *except)
{
    bool *behind = ll_alloc(&r->rewrite.arena, r->trace->op_count + 1, sizeof *behind);
    for (uint32_t op = 0; behind && op < r->trace->op_count; op++) {
        if (r->group_of[op] == LL_NONE)
            continue;
        const bool attention = attends(r, op), gemm = !attention && is_gemm(r, op);
        bool reads = false;
        for (uint32_t i = 0; i < recompute_signature_of(r, op)->view.input_count; i++) {
            uint32_t tensor = ll_op_input(r->trace, op, i);
            const bool follows = makes(behind, r, tensor);
            reads |= follows;
            r->outside[tensor] |= attention && except->qkv && !follows;
        }
        behind[op] = attention || (reads && !gemm);
        for (uint32_t o = 0; gemm && o < recompute_signature_of(r, op)->view.output_count; o++)
            r->outside[ll_op_output(r->trace, op, o)] |= except->gemms || (except->out && reads);
    }
    return behind;
}

/* Whether it is made again once something reads it that the forward pass has not left. */
static bool is_made_again(const struct recomputing *r, uint32_t tensor)
{
    uint32_t from = r->trace->tensors[tensor].producer;
    return from != LL_NONE && r->group_of[from] != LL_NONE && !r->outside[tensor];
}

/* Ops of groups from which nothing follows that a backward op reads. */
static bool find_idle(struct recomputing *r)
{
    bool *read = ll_alloc(&r->rewrite.arena, r->trace->tensor_count + 1, sizeof *read);
    r->idle = ll_alloc(&r->rewrite.arena, r->trace->op_count + 1, sizeof *r->idle);
    if (!read || !r->idle)
        return false;
    for (uint64_t i = r->trace->op_count; i-- > 0;) {
        uint32_t op = (uint32_t)i;
        const struct ll_op_signature *signature = recompute_signature_of(r, op);
        bool works = signature->phase == LL_PHASE_BACKWARD;
        for (uint32_t o = 0; r->group_of[op] != LL_NONE && o < signature->view.output_count; o++)
            works |= read[ll_op_output(r->trace, op, o)];
        r->idle[op] = !works;
        for (uint32_t k = 0; works && k < signature->view.input_count; k++) {
            uint32_t tensor = ll_op_input(r->trace, op, k);
            read[tensor] |= is_made_again(r, tensor);
        }
    }
    return true;
}

static void repeat(struct recomputing *r, struct group *group)
{
    struct ll_record record;
    group->repeated = true;
    for (uint32_t op = group->first; op != LL_NONE; op = r->next[op])
        if (!(r->idle && r->idle[op]) && ll_rewrite_record(&r->rewrite, op, &record)) {
            record.phase = LL_PHASE_BACKWARD;
            ll_rewrite_put(&r->rewrite, op, &record);
        }
}

/* Whatever a backward op reads from inside of groups is made again first. */
static void repeat_for(struct recomputing *r, uint32_t op)
{
    const struct ll_op_signature *signature = recompute_signature_of(r, op);
    for (uint32_t i = 0; signature->phase == LL_PHASE_BACKWARD && i < signature->view.input_count; i++) {
        uint32_t tensor = ll_op_input(r->trace, op, i), from = r->trace->tensors[tensor].producer;
        uint32_t group = from == LL_NONE ? LL_NONE : r->group_of[from];
        if (group != LL_NONE && !r->outside[tensor] && !r->groups[group].repeated)
            repeat(r, &r->groups[group]);
    }
}

/* What is there for the whole step is not made again. */
static void leave_casts(struct recomputing *r)
{
    for (uint32_t op = 0; op < r->trace->op_count; op++)
        if (ll_is_lasting_cast(r->trace, recompute_signature_of(r, op)))
            r->group_of[op] = LL_NONE;
}

static bool find_groups(struct recomputing *r, enum ll_recompute recompute,
                        const struct ll_recompute_except *except)
{
    const bool some = except && ll_recompute_excepts(except);
    r->group_of = ll_alloc(&r->rewrite.arena, r->trace->op_count + 1, sizeof *r->group_of);
    if (!r->group_of)
        return false;
    memset(r->group_of, 0xff, r->trace->op_count * sizeof *r->group_of);
    if (recompute == LL_RECOMPUTE_FULL && !group_layers(r))
        return false;
    if (recompute == LL_RECOMPUTE_SELECTIVE)
        group_attentions(r);
    leave_casts(r);
    return chain_groups(r) && mark_outside(r) && (!some || (keep_some(r, except) && find_idle(r)));
}

static struct ll_trace *recompute_but(const struct ll_trace *trace, enum ll_recompute recompute,
                                      const struct ll_recompute_except *except, const char **trouble)
{
    assert(recompute < LL_RECOMPUTE_COUNT);
    static const char *const names[] = {
#define X(word, name, help) name,
        LL_RECOMPUTE_LIST(X)
#undef X
    };
    struct recomputing r = {.trace = trace};
    ll_rewrite_begin(&r.rewrite, trace, &(struct ll_fact){"recompute", names[recompute]}, 1);
    if (!find_groups(&r, recompute, except))
        ll_rewrite_trouble(&r.rewrite, ll_status_text(LL_NO_MEMORY));
    for (uint32_t op = 0; op < trace->op_count && !r.rewrite.trouble; op++) {
        repeat_for(&r, op);
        ll_rewrite_keep(&r.rewrite, op);
    }
    return ll_rewrite_end(&r.rewrite, trouble);
}

struct ll_trace *ll_recompute(const struct ll_trace *trace, enum ll_recompute recompute, const char **trouble)
{
    return recompute_but(trace, recompute, NULL, trouble);
}

struct ll_trace *ll_recompute_but(const struct ll_trace *trace, const struct ll_recompute_except *except,
                                  const char **trouble)
{
    return recompute_but(trace, LL_RECOMPUTE_FULL, except, trouble);
}

bool ll_trains(const struct ll_trace *trace)
{
    for (uint64_t i = 0; i < trace->signature_count; i++)
        if (trace->signatures[i].phase == LL_PHASE_BACKWARD || trace->signatures[i].phase == LL_PHASE_UPDATE)
            return true;
    return false;
}
