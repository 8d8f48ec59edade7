/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's profiler traces: Chrome's JSON, a list of events or an object with them under "traceEvents".
 *
 *   {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "tid", "ts": microseconds, "dur": microseconds, "args":
 *    {"External id", "Sequence number", "Input Dims": [[2, 3], [3, 4]], "Input type": ["float", "float"],
 *     "Concrete Inputs": ["", ""]}}
 *
 * Operators lie within each other by time, thread by thread. Kernels ("cat": "kernel") name the operator that
 * started them ("External id"), or the call of the driver that did ("correlation"), which lies within one:
 * where there are any, an operator took the time of its kernels. Nobody says which tensor is which, so every
 * op waits for the one before it.
 *
 * Versions before 1.12 write other categories ("Operator", "Kernel", "Runtime"), "Input dims", threads as
 * texts and whole microseconds; those before 2.1 no "Concrete Inputs". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/hash.h"
#include "tracer/base/map.h"
#include "tracer/base/str.h"
#include "tracer/convert/torch/torch.h"

/* What a device did, and who started it. */
struct kernel {
    uint64_t start_ns, duration_ns, external, correlation;
    const char *name;
    enum ll_device_event_kind kind;
};

enum { MOST_DEVICES = 64 };

struct profile {
    struct ll_import *import;
    struct ll_json_reader json;
    struct ll_torch_nodes *nodes;
    struct kernel *kernels; /* what ran on a device, to be added to the operators that started it */
    uint64_t kernel_count, kernel_capacity;
    uint64_t nameless;            /* tensors so far */
    int64_t rank;                 /* whose profile it is; -1: not told */
    bool shapes;                  /* some operator has them */
    struct ll_recorded *recorded; /* the timeline in the making */
    uint64_t first_device;        /* number of the device of the first event */
    struct ll_map raw;            /* names as the file spells them, and what they are */
    const char **names;
    uint64_t name_capacity;
    const char *devices[MOST_DEVICES]; /* their names, by number; NULL: not told */
};

/* An event being read; places of its arguments, NULL: nowhere. */
struct event {
    struct ll_torch_node node;
    struct ll_torch_exchange exchange;
    char category[20];
    struct ll_json_reader name, group; /* where these stand; length 0: nowhere */
    uint64_t device, stream, bytes;
    uint64_t waits_for, record; /* stream, and the number of the call that recorded the event there */
    int64_t source, target;     /* ranks; -1: not told */
    bool waits;                 /* a stream waits for an event of another */
    bool complete;              /* it has a beginning and an end */
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

/* "[0, 2, 4]", a text or a list: how many there are, and how far they lie apart. */
static void read_group(struct profile *p, struct ll_torch_exchange *exchange)
{
    struct ll_json_reader *json = &p->json;
    bool even = json->length > 0;
    uint64_t count = 0, stride = 0, before = 0;
    const char *at = json->text, *end = at + json->length;
    if (json->token == LL_JSON_LIST) {
        const char *begin = json->text;
        ll_json_pass(json);
        at = begin;
        end = json->at;
    } else if (json->token != LL_JSON_TEXT) {
        return;
    }
    while (at < end) {
        if (*at < '0' || *at > '9') {
            even = even && *at != '.'; /* long lists are cut short: [0, 1, ...] */
            at++;
            continue;
        }
        uint64_t rank = 0;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
            rank = ll_add(ll_mul(rank, 10), (uint64_t)(*at - '0'));
        if (count == 1)
            stride = ll_sub(rank, before);
        even = even && (count == 0 || (rank > before && rank - before == stride));
        before = rank;
        count++;
    }
    if (even && count > 1)
        exchange->stride = stride;
}

static uint64_t count_of(const struct ll_json_reader *json)
{
    int64_t number = ll_json_as_integer(json);
    return number > 0 ? (uint64_t)number : 0;
}

/* "Float", "BFloat16": the name of a scalar type. */
static enum ll_dtype scalar_type(const struct ll_json_reader *json)
{
    static const struct {
        const char *name;
        enum ll_dtype dtype;
    } types[] = {{"Float", LL_F32},          {"Double", LL_F64},        {"Half", LL_F16},
                 {"BFloat16", LL_BF16},      {"Int", LL_I32},           {"Long", LL_I32},
                 {"Short", LL_I16},          {"Char", LL_INT8},         {"Byte", LL_U8},
                 {"Bool", LL_BOOL},          {"Float8_e4m3fn", LL_F8},  {"Float8_e5m2", LL_F8},
                 {"Float8_e4m3fnuz", LL_F8}, {"Float8_e5m2fnuz", LL_F8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (ll_json_says(json, types[i].name))
            return types[i].dtype;
    return ll_torch_dtype(json->text ? json->text : "", json->text ? json->length : 0);
}

/* What is told of an exchange between devices; the reader stands at the value of the key. */
static void read_exchange(struct profile *p, const struct ll_json_reader *key, struct event *event)
{
    struct ll_json_reader *json = &p->json;
    struct ll_torch_exchange *exchange = &event->exchange;
    if (ll_json_says(key, "Collective name") && json->token == LL_JSON_TEXT)
        exchange->name = ll_json_copy(json, &p->import->arena);
    else if (ll_json_says(key, "In msg nelems"))
        exchange->read_elements = count_of(json);
    else if (ll_json_says(key, "Out msg nelems"))
        exchange->written_elements = count_of(json);
    else if (ll_json_says(key, "Group size"))
        exchange->devices = count_of(json);
    else if (ll_json_says(key, "dtype"))
        exchange->dtype = scalar_type(json);
    else if (ll_json_says(key, "Process Group Ranks"))
        read_group(p, exchange);
    else if (ll_json_says(key, "Src Rank"))
        event->source = ll_json_as_integer(json);
    else if (ll_json_says(key, "Dst Rank"))
        event->target = ll_json_as_integer(json);
    else if (ll_json_says(key, "Process Group Name") && json->token == LL_JSON_TEXT)
        event->group = *json;
}

/* Where an event ran, and what a stream waits for; the reader stands at the value of the key. */
static void read_place(const struct ll_json_reader *json, const struct ll_json_reader *key,
                       struct event *event)
{
    if (ll_json_says(key, "device"))
        event->device = (uint64_t)ll_json_as_integer(json);
    else if (ll_json_says(key, "stream"))
        event->stream = (uint64_t)ll_json_as_integer(json);
    else if (ll_json_says(key, "bytes"))
        event->bytes = count_of(json);
    else if (ll_json_says(key, "wait_on_stream"))
        event->waits_for = (uint64_t)ll_json_as_integer(json);
    else if (ll_json_says(key, "wait_on_cuda_event_record_corr_id"))
        event->record = count_of(json);
}

/* The arguments of an event. Lists of shapes, types and values are not read here but only where they begin
 * is kept: most events need none of them. */
static void read_args(struct profile *p, struct event *event)
{
    struct ll_json_reader *json = &p->json;
    const struct {
        const char *key, *older;
        const char **place;
    } places[] = {{"Input Dims", "Input dims", &event->dims},
                  {"Input type", "Input types", &event->types},
                  {"Concrete Inputs", "Concrete inputs", &event->concrete}};
    if (ll_json_read(json) != LL_JSON_OBJECT) {
        ll_json_pass(json);
        return;
    }
    while (ll_json_read(json) == LL_JSON_KEY) {
        const struct ll_json_reader key = *json;
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
            if (ll_json_says(json, places[i].key) || ll_json_says(json, places[i].older))
                *places[i].place = json->at;
        ll_json_read(json);
        if (ll_json_says(&key, "Sequence number"))
            event->node.sequence = ll_json_as_integer(json);
        else if (ll_json_says(&key, "External id") || ll_json_says(&key, "external id"))
            event->node.external = count_of(json);
        else if (ll_json_says(&key, "correlation"))
            event->node.correlation = count_of(json);
        else if (ll_json_says(&key, "kernel_backend"))
            event->node.compiled = ll_json_says(json, "triton");
        else {
            read_place(json, &key, event);
            read_exchange(p, &key, event);
        }
        ll_json_pass(json);
    }
}

/* A number, or a text, which older versions write. */
static uint32_t thread_of(const struct ll_json_reader *json)
{
    return json->token == LL_JSON_TEXT ? (uint32_t)ll_hash_bytes(LL_HASH_START, json->text, json->length)
                                       : (uint32_t)ll_json_as_integer(json);
}

/* Whether events of a category may count: those of Python's functions and flows are most of a file. */
static bool may_count(const struct event *event)
{
    return strcmp(event->category, "python_function") != 0 && strcmp(event->category, "ac2g") != 0 &&
           strcmp(event->category, "cpu_instant_event") != 0;
}

/* One event of the Chrome format; which keys there are depends on its category, and their order on the
 * version. */
static void read_event(struct profile *p, struct event *event)
{
    struct ll_json_reader *json = &p->json;
    *event = (struct event){
        .node = {.name = "", .sequence = -1}, .exchange.dtype = LL_DTYPE_COUNT, .source = -1, .target = -1};
    while (ll_json_read(json) == LL_JSON_KEY) {
        bool name = ll_json_says(json, "name"), phase = ll_json_says(json, "ph"),
             start = ll_json_says(json, "ts"), duration = ll_json_says(json, "dur"),
             thread = ll_json_says(json, "tid"), category = ll_json_says(json, "cat");
        char word[4];
        if (ll_json_says(json, "args") && may_count(event)) {
            read_args(p, event);
            continue;
        }
        ll_json_read(json);
        if (name && json->token == LL_JSON_TEXT)
            event->name = *json;
        else if (phase)
            event->complete = copy_word(json, word, sizeof word) && strcmp(word, "X") == 0;
        else if (category && !copy_word(json, event->category, sizeof event->category))
            event->category[0] = '?';
        else if (thread)
            event->node.thread = thread_of(json);
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

enum { MOST_NUMBERS = 16 };

/* The shapes of a list of tensors, in the arena; the reader stands at its beginning. */
static bool read_shapes(struct profile *p, struct ll_json_reader *dims, struct ll_torch_value *value)
{
    struct ll_torch_tensor *tensors = NULL;
    uint64_t capacity = 0;
    bool right = true;
    while (right && ll_json_read(dims) == LL_JSON_LIST) {
        if (!ll_grow(&tensors, &capacity, (uint64_t)value->count + 1, sizeof *tensors)) {
            free(tensors);
            return ll_import_no_memory(p->import);
        }
        struct ll_torch_tensor *tensor = &tensors[value->count++];
        *tensor = (struct ll_torch_tensor){.storage = UINT64_MAX - p->nameless++, .typeless = true};
        right = read_shape(dims, LL_F32, &tensor->shape);
    }
    value->kind = LL_TORCH_TENSORS;
    value->list = true;
    value->tensors =
        ll_copy(&p->import->arena, tensors ? (void *)tensors : "", value->count * sizeof *tensors);
    free(tensors);
    return right && dims->token == LL_JSON_LIST_END && value->tensors;
}

/* One argument: its type, its shape, and its text where it is no tensor; NULL where the file has no texts. */
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
        struct ll_json_reader look = *dims;
        bool plain = read_shape(&look, dtype, &tensor.shape);
        ll_json_pass(dims);
        if (!plain) /* a tensor of tensors, or of very many dimensions: none that a rule could take */
            return !dims->failed;
        value->kind = LL_TORCH_TENSORS;
        value->count = 1;
        return (value->tensors = ll_copy(&p->import->arena, &tensor, sizeof tensor)) && !dims->failed;
    }
    ll_json_pass(dims);
    value->untold = !concrete || (!concrete[0] && strncmp(type, "Scalar", 6) == 0);
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

/* Shapes, types and concrete values stand in three lists; side by side they are the arguments. Without
 * shapes and types nothing is known, which is no mistake. */
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
            !read_argument(p, type, &dims, event->concrete ? text : NULL, &values[node->input_count++]))
            return ll_json_expected(&dims, "a shape for each type, of at most eight dimensions");
    }
    node->inputs = ll_copy(&p->import->arena, values, node->input_count * sizeof *values);
    return node->inputs || ll_import_no_memory(p->import);
}

static bool add_node(struct profile *p, struct ll_torch_node *node)
{
    if (!ll_grow(&p->nodes->at, &p->nodes->capacity, p->nodes->count + 1, sizeof *node))
        return ll_import_no_memory(p->import);
    node->id = p->nodes->count + 1;
    node->begin_ns = node->start_ns;
    node->end_ns = ll_add(node->start_ns, node->duration_ns);
    p->nodes->at[p->nodes->count++] = *node;
    return true;
}

static bool add_kernel(struct profile *p, const struct ll_torch_node *node, enum ll_device_event_kind kind)
{
    if (!ll_grow(&p->kernels, &p->kernel_capacity, p->kernel_count + 1, sizeof *p->kernels))
        return ll_import_no_memory(p->import);
    p->kernels[p->kernel_count++] = (struct kernel){.start_ns = node->start_ns,
                                                    .duration_ns = node->duration_ns,
                                                    .external = node->external,
                                                    .correlation = node->correlation,
                                                    .name = node->name,
                                                    .kind = kind};
    return true;
}

/* A name as the file spells it, without its escapes; equal ones are one text. NULL with import->status. */
static const char *name_of(struct profile *p, const struct ll_json_reader *text)
{
    bool is_new = false;
    if (text->length == 0)
        return "";
    uint32_t at = ll_map_intern(&p->raw, text->text, text->length, &is_new);
    if (at == LL_NO_ID || !ll_grow(&p->names, &p->name_capacity, (uint64_t)at + 1, sizeof *p->names) ||
        (is_new && !(p->names[at] = ll_json_copy(text, &p->import->arena)))) {
        ll_import_no_memory(p->import);
        return NULL;
    }
    return p->names[at];
}

static enum ll_device_event_kind kind_of(const struct event *event)
{
    if (strstr(event->category, "emcpy"))
        return LL_EVENT_COPY;
    if (strstr(event->category, "emset"))
        return LL_EVENT_FILL;
    return ll_recorded_exchanges(event->node.name) ? LL_EVENT_EXCHANGE : LL_EVENT_KERNEL;
}

static uint32_t stream_of(struct profile *p, const struct event *event, uint64_t stream)
{
    char label[64];
    snprintf(label, sizeof label, "device %" PRId64 ", stream %" PRId64, (int64_t)event->device,
             (int64_t)stream);
    return ll_recorded_track(p->recorded, false, event->device, stream, label);
}

/* An event of a device, for the timeline and, of the first file, for the operators. */
static bool take_kernel(struct profile *p, const struct event *event)
{
    const struct ll_torch_node *node = &event->node;
    const struct ll_torch_exchange *exchange = &event->exchange;
    enum ll_device_event_kind kind = kind_of(event);
    const char *group = kind == LL_EVENT_EXCHANGE ? name_of(p, &event->group) : "";
    uint64_t elements = ll_max(exchange->read_elements, exchange->written_elements);
    struct ll_timeline_event row = {.start_ns = node->start_ns,
                                    .duration_ns = node->duration_ns,
                                    .bytes = event->bytes,
                                    .caller = LL_NO_PART,
                                    .call = LL_NO_PART,
                                    .kind = kind,
                                    .group = LL_NO_PART,
                                    .order = LL_NO_PART};
    if (!group)
        return false;
    if (kind == LL_EVENT_EXCHANGE && exchange->dtype != LL_DTYPE_COUNT && elements)
        row.bytes = ll_min(ll_dtype_size(exchange->dtype, elements), INT64_MAX);
    row.name = ll_recorded_name(p->recorded, node->name, strlen(node->name));
    row.track = stream_of(p, event, event->stream);
    if (group[0])
        row.group = ll_recorded_name(p->recorded, group, strlen(group));
    if (p->recorded->timeline.event_count == 0)
        p->first_device = event->device;
    if (p->import->status != LL_OK || !ll_recorded_event(p->recorded, &row, node->correlation))
        return false;
    return p->recorded->rank > 0 || add_kernel(p, node, kind);
}

/* A call of the driver: for the timeline and, where it may launch something, for the operators. */
static bool take_call(struct profile *p, const struct ll_torch_node *node)
{
    char label[32];
    snprintf(label, sizeof label, "thread %" PRIu32, node->thread);
    struct ll_timeline_call row = {.start_ns = node->start_ns, .duration_ns = node->duration_ns};
    row.name = ll_recorded_name(p->recorded, node->name, strlen(node->name));
    row.track = ll_recorded_track(p->recorded, true, node->thread, 0, label);
    if (p->import->status != LL_OK || !ll_recorded_call(p->recorded, &row, node->correlation))
        return false;
    struct ll_torch_node launch = {.name = "",
                                   .sequence = -1,
                                   .thread = node->thread,
                                   .start_ns = node->start_ns,
                                   .duration_ns = node->duration_ns,
                                   .correlation = node->correlation};
    return launch.correlation == 0 || p->recorded->rank > 0 || add_node(p, &launch);
}

/* "Stream Wait Event": the stream goes on when what another had been given before a record is over. */
static bool take_wait(struct profile *p, const struct event *event)
{
    struct ll_stream_wait wait = {
        .wait = event->node.correlation, .record = event->record, .rank = p->recorded->rank};
    if (!event->record || event->waits_for == event->stream)
        return true;
    wait.track = stream_of(p, event, event->stream);
    wait.after = stream_of(p, event, event->waits_for);
    return p->import->status == LL_OK && ll_recorded_stream_wait(p->recorded, &wait);
}

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words && strcmp(*words, word) != 0)
        words++;
    return *words;
}

/* Keeps what is told of an exchange; whose profile it is says how far the other end is away. */
static bool keep_exchange(struct profile *p, struct event *event)
{
    struct ll_torch_exchange *exchange = &event->exchange;
    int64_t other =
        strncmp(exchange->name ? exchange->name : "", "recv", 4) == 0 ? event->source : event->target;
    if (strcmp(event->node.name, "record_param_comms") != 0)
        return true;
    if (p->rank >= 0 && other >= 0 && other < LL_TORCH_MOST_RANKS && p->rank < LL_TORCH_MOST_RANKS)
        exchange->peer = other - p->rank;
    event->node.exchange = ll_copy(&p->import->arena, exchange, sizeof *exchange);
    return event->node.exchange || ll_import_no_memory(p->import);
}

/* An event becomes a kernel, a launch that ties kernels to the operator around it, an operator, or nothing,
 * by its category. */
static bool take_event(struct profile *p)
{
    static const char *const operators[] = {"cpu_op", "user_annotation", "", "Operator", NULL},
                             *const launches[] = {"cuda_runtime",        "cuda_driver", "Runtime",
                                                  "xpu_runtime",         "hip_runtime", "hip_driver",
                                                  "privateuse1_runtime", NULL},
                             *const kernels[] = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel",
                                                 "Memcpy", "Memset",     NULL};
    struct event event;
    read_event(p, &event);
    if (p->json.failed || !event.complete)
        return !p->json.failed;
    bool kernel = is_one_of(event.category, kernels), launch = is_one_of(event.category, launches);
    bool operates = p->recorded->rank == 0 && is_one_of(event.category, operators);
    if (strcmp(event.category, "cuda_sync") == 0)
        return take_wait(p, &event);
    if (!kernel && !launch && !operates)
        return true;
    if (!(event.node.name = name_of(p, &event.name)))
        return false;
    if (kernel)
        return take_kernel(p, &event);
    if (launch)
        return take_call(p, &event.node);
    event.node.correlation = 0;
    return keep_exchange(p, &event) && read_arguments(p, &event, &event.node) && add_node(p, &event.node);
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
static uint64_t add_stranger(struct profile *p, const struct kernel *kernel)
{
    struct ll_torch_node node = {
        .name = "", .sequence = -1, .start_ns = kernel->start_ns, .duration_ns = kernel->duration_ns};
    return add_node(p, &node) ? p->nodes->count : 0;
}

/* The node that started a kernel, from 1; 0 where that ran before the recording began, or memory ran out. A
 * call of the driver hands it to the operator around it. Kernels whose start is not in a file that has starts
 * belong to what ran before it. */
static uint64_t starter_of(struct profile *p, const struct kernel *kernel, const struct index *externals,
                           const struct index *launches)
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
static bool place_kernels(struct profile *p, const struct index *externals, const struct index *launches)
{
    struct ll_torch_nodes *nodes = p->nodes;
    for (uint64_t i = 0; i < p->kernel_count; i++) {
        const struct kernel *kernel = &p->kernels[i];
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
static void take_kernels(struct profile *p)
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
static void find_types(struct profile *p)
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

static bool read_events(struct profile *p)
{
    struct ll_json_reader *json = &p->json;
    if (json->token != LL_JSON_LIST)
        return ll_json_expected(json, "a list of events");
    while (ll_json_read(json) == LL_JSON_OBJECT) {
        ll_import_progress(p->import, "reading", (uint64_t)(json->at - json->begin),
                           (uint64_t)(json->end - json->begin));
        if (!take_event(p))
            return false;
    }
    return json->token == LL_JSON_LIST_END || ll_json_expected(json, "an event, which is an object");
}

/* Whose profile it is, of those that computed together. */
static void read_rank(struct profile *p)
{
    struct ll_json_reader *json = &p->json;
    if (ll_json_read(json) != LL_JSON_OBJECT) {
        ll_json_pass(json);
        return;
    }
    while (ll_json_read(json) == LL_JSON_KEY) {
        bool rank = ll_json_says(json, "rank");
        ll_json_read(json);
        if (rank && json->token == LL_JSON_NUMBER)
            p->rank = ll_json_as_integer(json);
        ll_json_pass(json);
    }
}

/* "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", ...}, ...]. */
static void read_devices(struct profile *p)
{
    struct ll_json_reader *json = &p->json;
    if (ll_json_read(json) != LL_JSON_LIST) {
        ll_json_pass(json);
        return;
    }
    while (ll_json_read(json) == LL_JSON_OBJECT) {
        struct ll_json_reader name = {.length = 0};
        int64_t id = -1;
        while (ll_json_read(json) == LL_JSON_KEY) {
            bool is_id = ll_json_says(json, "id"), is_name = ll_json_says(json, "name");
            ll_json_read(json);
            if (is_name && json->token == LL_JSON_TEXT)
                name = *json;
            else if (is_id && json->token == LL_JSON_NUMBER)
                id = ll_json_as_integer(json);
            ll_json_pass(json);
        }
        if (id >= 0 && id < MOST_DEVICES && name.length > 0)
            p->devices[id] = name_of(p, &name);
    }
}

/* The file is a list of events, or an object that has one under traceEvents; distributedInfo tells the rank.
 * Keys come in any order. */
static bool read_file(struct profile *p)
{
    struct ll_json_reader *json = &p->json;
    bool found = false;
    if (ll_json_read(json) == LL_JSON_LIST)
        return read_events(p) && ll_json_read(json) == LL_JSON_END && !json->failed;
    if (json->token != LL_JSON_OBJECT)
        return ll_json_expected(json, "an object with traceEvents, or a list of events");
    while (ll_json_read(json) == LL_JSON_KEY) {
        if (ll_json_says(json, "distributedInfo")) {
            read_rank(p);
            continue;
        }
        if (ll_json_says(json, "deviceProperties")) {
            read_devices(p);
            continue;
        }
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
    for (uint64_t i = 0; i < nodes->kernel_count; i++)
        first = ll_min(first, nodes->kernels[i].start_ns);
    for (uint64_t i = 0; i < nodes->count; i++)
        nodes->at[i].start_ns = ll_add(ll_sub(nodes->at[i].start_ns, first), 1);
    for (uint64_t i = 0; i < nodes->kernel_count; i++)
        nodes->kernels[i].start_ns = ll_add(ll_sub(nodes->kernels[i].start_ns, first), 1);
}

/* What the device is called on which the first kernel ran; NULL: not told. */
static const char *device_of(const struct profile *p, uint64_t device)
{
    return device < MOST_DEVICES ? p->devices[device] : NULL;
}

/* One file: its operators, when it is the first, and its timeline. */
static bool read_one(struct profile *p, const struct ll_input_file *input)
{
    const char *text = (const char *)input->bytes;
    p->rank = -1;
    p->json = (struct ll_json_reader){
        .file = input->path, .begin = text, .at = text, .end = text + input->size, .diags = p->import->diags};
    return read_file(p);
}

/* The nodes of the first file, with their kernels. Parents are found by time. */
static bool find_nodes(struct profile *p)
{
    if (!nest(p))
        return false;
    find_types(p);
    take_kernels(p);
    shift(p->nodes);
    return p->import->status == LL_OK;
}

/* Reads all files, a rank each. False after complaints. */
static bool read_profiles(struct profile *p)
{
    struct ll_import *import = p->import;
    bool done = true;
    for (uint64_t i = 0; done && i < import->input_count; i++) {
        p->recorded->rank = (uint32_t)i;
        done = read_one(p, &import->inputs[i]);
    }
    if (done && !p->shapes && p->recorded->timeline.event_count == 0)
        done = ll_complain(import->diags, (struct ll_place){.file = import->inputs[0].path},
                           "no operator in it has shapes; record them with record_shapes=True");
    if (done && p->shapes)
        done = find_nodes(p);
    const char *device = device_of(p, p->first_device);
    if (done && device && device[0])
        ll_facts_add(&import->facts, "device", "%s", device);
    return done && ll_recorded_finish(p->recorded);
}

bool ll_import_TORCH_PROFILE(struct ll_import *import)
{
    struct ll_torch_nodes nodes = {.at = NULL};
    struct ll_recorded recorded = {.import = import};
    struct profile p = {.import = import, .nodes = &nodes, .recorded = &recorded};
    bool done = read_profiles(&p);
    if (done && p.shapes) {
        done = ll_torch_sort(import, &nodes) && ll_torch_record(import, &nodes, LL_TORCH_PROFILE);
        if (done && recorded.timeline.event_count > 0)
            ll_recorded_keep(&recorded);
    } else if (done) {
        done = ll_recorded_ops(&recorded, "PyTorch profile");
    }
    ll_recorded_release(&recorded);
    ll_map_release(&p.raw);
    free(p.names);
    free(p.kernels);
    free(nodes.kernels);
    free(nodes.at);
    return done && import->status == LL_OK;
}
