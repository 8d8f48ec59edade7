/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's profiler traces: Chrome's JSON, a list of events or an object with them under "traceEvents".
 *
 *   {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "tid", "ts": microseconds, "dur": microseconds, "args":
 *    {"External id", "Sequence number", "Input Dims": [[2, 3], [3, 4]], "Input type": ["float", "float"],
 *     "Concrete Inputs": ["", ""]}}
 *
 * Operators lie within each other by time, thread by thread. Kernels ("cat": "kernel") name the operator that
 * started them: where there are any, an operator took the time of its kernels. Nobody says which tensor is
 * which, so every op waits for the one before it. */
#include "tracer/base/map.h"
#include "tracer/base/plain.h"
#include "tracer/convert/torch.h"

#include <stdlib.h>
#include <string.h>

/* What kernels took for an operator, or for what it called. */
struct kernels {
    uint64_t start_ns, duration_ns;
};

struct profile {
    struct ll_import *import;
    struct ll_json_reader json;
    struct ll_torch_nodes *nodes;
    struct ll_map externals; /* of kernels, by the number of the operator that started them */
    struct kernels *kernels; /* by place in the map */
    uint64_t kernel_capacity;
    uint64_t nameless; /* tensors so far */
    bool shapes;       /* some operator has them */
};

/* An event being read; places of its arguments, NULL: nowhere. */
struct event {
    struct ll_torch_node node;
    char category[16];
    bool complete; /* it has a beginning and an end */
    const char *dims, *types, *concrete;
};

static bool copy_word(const struct ll_json_reader *json, char *word, size_t size)
{
    word[0] = '\0';
    if (json->token != LL_JSON_TEXT || json->length >= size)
        return false;
    memcpy(word, json->text, json->length);
    word[json->length] = '\0';
    return true;
}

/* Microseconds with up to three digits behind the point; more than doubles can tell apart. LL_NO_FIT past 64
 * bits. */
static uint64_t nanoseconds(const struct ll_json_reader *json)
{
    const char *at = json->text, *end = at ? at + json->length : at;
    uint64_t value = 0, digits = 0;
    if (json->token != LL_JSON_NUMBER || *at == '-')
        return 0;
    bool plain = *at >= '0' && *at <= '9'; /* no NaN */
    if (!plain || memchr(at, 'e', json->length) || memchr(at, 'E', json->length))
        return ll_mul((uint64_t)ll_json_as_integer(json), 1000);
    for (; at < end && *at != '.'; at++)
        value = ll_add(ll_mul(value, 10), (uint64_t)(*at - '0'));
    for (at += at < end; digits < 3; digits++)
        value = ll_add(ll_mul(value, 10), at < end ? (uint64_t)(*at++ - '0') : 0);
    return value;
}

static struct ll_json_reader again(const struct profile *p, const char *at)
{
    return (struct ll_json_reader){
        .file = p->json.file, .begin = p->json.begin, .at = at, .end = p->json.end, .diags = p->json.diags};
}

static void read_args(struct profile *p, struct event *event)
{
    struct ll_json_reader *json = &p->json;
    const struct {
        const char *key;
        const char **place;
    } places[] = {
        {"Input Dims", &event->dims}, {"Input type", &event->types}, {"Concrete Inputs", &event->concrete}};
    if (ll_json_read(json) != LL_JSON_OBJECT) {
        ll_json_pass(json);
        return;
    }
    while (ll_json_read(json) == LL_JSON_KEY) {
        bool sequence = ll_json_says(json, "Sequence number");
        bool external = ll_json_says(json, "External id") || ll_json_says(json, "external id");
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
            if (ll_json_says(json, places[i].key))
                *places[i].place = json->at;
        ll_json_read(json);
        if (sequence)
            event->node.sequence = ll_json_as_integer(json);
        if (external)
            event->node.external = (uint64_t)ll_json_as_integer(json);
        ll_json_pass(json);
    }
}

static void read_event(struct profile *p, struct event *event)
{
    struct ll_json_reader *json = &p->json;
    *event = (struct event){.node = {.name = "", .sequence = -1}};
    while (ll_json_read(json) == LL_JSON_KEY) {
        bool name = ll_json_says(json, "name"), phase = ll_json_says(json, "ph"),
             start = ll_json_says(json, "ts"), duration = ll_json_says(json, "dur"),
             thread = ll_json_says(json, "tid"), category = ll_json_says(json, "cat");
        char word[4];
        if (ll_json_says(json, "args")) {
            read_args(p, event);
            continue;
        }
        ll_json_read(json);
        if (name && json->token == LL_JSON_TEXT)
            event->node.name = ll_json_copy(json, &p->import->arena);
        else if (phase)
            event->complete = copy_word(json, word, sizeof word) && strcmp(word, "X") == 0;
        else if (category)
            copy_word(json, event->category, sizeof event->category);
        else if (thread)
            event->node.thread = (uint32_t)ll_json_as_integer(json);
        else if (start)
            event->node.start_ns = nanoseconds(json);
        else if (duration)
            event->node.duration_ns = nanoseconds(json);
        ll_json_pass(json);
    }
}

/* Numbers in a text, "[1, 2]" or "1e-5" or "True": as many as fit. Whether there was nothing else. */
static bool read_numbers(const char *text, double *numbers, uint32_t most, uint32_t *count)
{
    *count = 0;
    while (*text) {
        char *end;
        if (strchr("[], ()", *text)) {
            text++;
            continue;
        }
        bool truth = strncmp(text, "True", 4) == 0, lie = strncmp(text, "False", 5) == 0;
        double number = truth ? 1 : lie ? 0 : ll_strtod(text, &end);
        if (truth || lie)
            end = (char *)text + (truth ? 4 : 5);
        if (end == text || *count == most)
            return false;
        numbers[(*count)++] = number;
        text = end;
    }
    return true;
}

/* The shape whose list begins where the reader stands. False when it is none. */
static bool read_shape(struct ll_json_reader *json, enum ll_dtype dtype, struct ll_shape *shape)
{
    *shape = (struct ll_shape){.dtype = (uint8_t)dtype};
    bool right = json->token == LL_JSON_LIST;
    while (right && ll_json_read(json) == LL_JSON_NUMBER) {
        int64_t dim = ll_json_as_integer(json);
        right = dim >= 0 && shape->rank < LL_MAX_RANK;
        if (right)
            shape->dim[shape->rank++] = (uint64_t)dim;
    }
    return right && json->token == LL_JSON_LIST_END && ll_fits(ll_size_bytes(shape));
}

enum { MOST_NUMBERS = 16, MOST_TENSORS = 1024 };

/* The shapes of a list of tensors, in the arena; the reader stands at its beginning. */
static bool read_shapes(struct profile *p, struct ll_json_reader *dims, struct ll_torch_value *value)
{
    struct ll_torch_tensor tensors[MOST_TENSORS];
    while (ll_json_read(dims) == LL_JSON_LIST && value->count < MOST_TENSORS) {
        struct ll_torch_tensor *tensor = &tensors[value->count++];
        *tensor = (struct ll_torch_tensor){.storage = UINT64_MAX - p->nameless++};
        if (!read_shape(dims, LL_F32, &tensor->shape))
            return false;
    }
    value->kind = LL_TORCH_TENSORS;
    value->list = true;
    value->tensors = ll_copy(&p->import->arena, tensors, value->count * sizeof *tensors);
    return dims->token == LL_JSON_LIST_END && value->tensors;
}

/* One argument: its type, its shape, and its text where it is no tensor. */
static bool read_argument(struct profile *p, const char *type, struct ll_json_reader *dims,
                          const char *concrete, struct ll_torch_value *value)
{
    enum ll_dtype dtype = ll_torch_dtype(type, strlen(type));
    double numbers[MOST_NUMBERS];
    *value = (struct ll_torch_value){.kind = LL_TORCH_NONE};
    if (strcmp(type, "TensorList") == 0)
        return dims->token == LL_JSON_LIST && read_shapes(p, dims, value);
    if (dtype != LL_DTYPE_COUNT) {
        struct ll_torch_tensor tensor = {.storage = UINT64_MAX - p->nameless++};
        value->kind = LL_TORCH_TENSORS;
        value->count = 1;
        return read_shape(dims, dtype, &tensor.shape) &&
               (value->tensors = ll_copy(&p->import->arena, &tensor, sizeof tensor));
    }
    ll_json_pass(dims);
    if (!concrete || !concrete[0] || !read_numbers(concrete, numbers, MOST_NUMBERS, &value->count))
        return !dims->failed;
    value->kind = LL_TORCH_NUMBERS;
    value->list = concrete[0] == '[';
    value->numbers = ll_copy(&p->import->arena, numbers, value->count * sizeof *numbers);
    return !dims->failed && value->numbers;
}

/* The next element of a list of texts, in the arena; "" when the list is over or there is none. */
static const char *next_text(struct profile *p, struct ll_json_reader *json)
{
    bool there = json->at && json->token != LL_JSON_LIST_END && ll_json_read(json) == LL_JSON_TEXT;
    if (json->at && !there && json->token != LL_JSON_LIST_END)
        ll_json_pass(json);
    return there ? ll_json_copy(json, &p->import->arena) : "";
}

static bool read_arguments(struct profile *p, const struct event *event, struct ll_torch_node *node)
{
    enum { MOST = 64 };
    struct ll_torch_value values[MOST];
    struct ll_json_reader dims = again(p, event->dims), types = again(p, event->types),
                          concrete = again(p, event->concrete);
    if (!event->dims || !event->types)
        return true;
    p->shapes = true;
    if (ll_json_read(&dims) != LL_JSON_LIST || ll_json_read(&types) != LL_JSON_LIST ||
        (event->concrete && ll_json_read(&concrete) != LL_JSON_LIST))
        return ll_json_expected(&dims, "lists of shapes and types");
    while (node->input_count < MOST && ll_json_read(&types) == LL_JSON_TEXT) {
        const char *type = ll_json_copy(&types, &p->import->arena);
        const char *text = next_text(p, &concrete);
        if (!type || !text)
            return ll_import_no_memory(p->import);
        if (ll_json_read(&dims) == LL_JSON_LIST_END || dims.failed ||
            !read_argument(p, type, &dims, text, &values[node->input_count++]))
            return ll_json_expected(&dims, "a shape for each type, of at most eight dimensions");
    }
    node->inputs = ll_copy(&p->import->arena, values, node->input_count * sizeof *values);
    return node->inputs || ll_import_no_memory(p->import);
}

/* Kernels that one operator has started are one stretch of work. */
static bool add_kernel(struct profile *p, const struct ll_torch_node *node)
{
    bool is_new = false;
    uint32_t at = ll_map_intern(&p->externals, &node->external, sizeof node->external, &is_new);
    if (at == LL_NO_ID || !ll_grow(&p->kernels, &p->kernel_capacity, (uint64_t)at + 1, sizeof *p->kernels))
        return ll_import_no_memory(p->import);
    struct kernels *kernels = &p->kernels[at];
    if (is_new)
        *kernels = (struct kernels){node->start_ns, 0};
    kernels->start_ns = ll_min(kernels->start_ns, node->start_ns);
    kernels->duration_ns = ll_add(kernels->duration_ns, node->duration_ns);
    return true;
}

static bool take_event(struct profile *p)
{
    static const char *const taken[] = {"cpu_op", "user_annotation", ""};
    static const char *const kernels[] = {"kernel", "gpu_memcpy", "gpu_memset"};
    struct event event;
    bool wanted = false;
    read_event(p, &event);
    if (p->json.failed || !event.complete)
        return !p->json.failed;
    if (!event.node.name)
        return ll_import_no_memory(p->import);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(event.category, kernels[i]) == 0)
            return add_kernel(p, &event.node);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        wanted = wanted || strcmp(event.category, taken[i]) == 0;
    if (!wanted)
        return true;
    if (!read_arguments(p, &event, &event.node))
        return false;
    if (!ll_grow(&p->nodes->at, &p->nodes->capacity, p->nodes->count + 1, sizeof event.node))
        return ll_import_no_memory(p->import);
    event.node.id = p->nodes->count + 1;
    p->nodes->at[p->nodes->count++] = event.node;
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
static bool nest(struct profile *p)
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
        uint64_t parent = is_new ? 0 : newest[at];
        while (parent && !lies_within(node, &nodes->at[parent - 1], grain))
            parent = nodes->at[parent - 1].parent;
        node->parent = parent;
        node->id = newest[at] = i + 1;
    }
    ll_map_release(&threads);
    free(newest);
    return fine || ll_import_no_memory(p->import);
}

/* Operators take the time of their kernels, those that they called included; without any kernels in the file
 * their own. */
static void take_kernels(struct profile *p)
{
    struct kernels *times = calloc(p->nodes->count + 1, sizeof *times);
    if (!times)
        p->import->status = LL_NO_MEMORY;
    for (uint64_t i = p->nodes->count; times && p->externals.count > 0 && i > 0; i--) {
        struct ll_torch_node *node = &p->nodes->at[i - 1];
        uint32_t at =
            node->external ? ll_map_find(&p->externals, &node->external, sizeof node->external) : LL_NO_ID;
        struct kernels *own = &times[i], *outer = &times[node->parent];
        if (at != LL_NO_ID) {
            const struct kernels *started = &p->kernels[at];
            own->start_ns = own->duration_ns ? ll_min(own->start_ns, started->start_ns) : started->start_ns;
            own->duration_ns = ll_add(own->duration_ns, started->duration_ns);
        }
        node->duration_ns = own->duration_ns;
        if (own->duration_ns == 0)
            continue;
        node->start_ns = own->start_ns;
        outer->start_ns = outer->duration_ns ? ll_min(outer->start_ns, own->start_ns) : own->start_ns;
        outer->duration_ns = ll_add(outer->duration_ns, own->duration_ns);
    }
    free(times);
}

static bool read_events(struct profile *p)
{
    struct ll_json_reader *json = &p->json;
    if (json->token != LL_JSON_LIST)
        return ll_json_expected(json, "a list of events");
    while (ll_json_read(json) == LL_JSON_OBJECT)
        if (!take_event(p))
            return false;
    return json->token == LL_JSON_LIST_END || ll_json_expected(json, "an event, which is an object");
}

static bool read_file(struct profile *p)
{
    struct ll_json_reader *json = &p->json;
    bool found = false;
    if (ll_json_read(json) == LL_JSON_LIST)
        return read_events(p) && ll_json_read(json) == LL_JSON_END && !json->failed;
    if (json->token != LL_JSON_OBJECT)
        return ll_json_expected(json, "an object with traceEvents, or a list of events");
    while (ll_json_read(json) == LL_JSON_KEY) {
        if (!ll_json_says(json, "traceEvents")) {
            ll_json_pass(json);
            continue;
        }
        found = true;
        ll_json_read(json);
        if (!read_events(p))
            return false;
    }
    ll_json_read(json);
    return !json->failed && (found || ll_complain(json->diags, (struct ll_place){.file = json->file},
                                                  "there are no traceEvents in it"));
}

/* Times from a moment near the first event on, never zero: who has one was measured. */
static void shift(struct ll_torch_nodes *nodes)
{
    uint64_t first = nodes->count ? nodes->at[0].start_ns : 0;
    for (uint64_t i = 0; i < nodes->count; i++)
        first = ll_min(first, nodes->at[i].start_ns);
    for (uint64_t i = 0; i < nodes->count; i++)
        nodes->at[i].start_ns = ll_add(ll_sub(nodes->at[i].start_ns, first), 1);
}

bool ll_torch_read_profile(struct ll_import *import, struct ll_torch_nodes *nodes)
{
    const struct ll_input_file *input = &import->inputs[0];
    const char *text = (const char *)input->bytes;
    struct profile p = {.import = import, .nodes = nodes};
    p.json = (struct ll_json_reader){
        .file = input->path, .begin = text, .at = text, .end = text + input->size, .diags = import->diags};
    bool done = read_file(&p);
    if (done && !p.shapes)
        done = ll_complain(import->diags, (struct ll_place){.file = input->path},
                           "no operator in it has shapes; record them with record_shapes=True");
    if (done && (done = nest(&p)))
        take_kernels(&p);
    if (done)
        shift(nodes);
    ll_map_release(&p.externals);
    free(p.kernels);
    return done && import->status == LL_OK;
}

bool ll_import_TORCH_PROFILE(struct ll_import *import)
{
    struct ll_torch_nodes nodes = {NULL, 0, 0};
    bool done = import->input_count == 1
                    ? ll_torch_read_profile(import, &nodes) && ll_torch_sort(import, &nodes) &&
                          ll_torch_record(import, &nodes, LL_TORCH_PROFILE)
                    : ll_complain(import->diags, (struct ll_place){0}, "expected one profiler trace");
    free(nodes.at);
    return done;
}
