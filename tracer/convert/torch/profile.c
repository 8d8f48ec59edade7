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
#include "tracer/convert/torch/launched.h"

enum { MOST_DEVICES = 64 };

struct profile {
    struct ll_import *import;
    struct ll_json_reader json;
    struct ll_torch_nodes *nodes;
    struct ll_torch_launched
        *kernels; /* what ran on a device, to be added to the operators that started it */
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

/* Microseconds with up to three digits behind the point, a number or a text, without its sign; more than
 * doubles can tell apart. LL_NO_FIT past 64 bits. */
static uint64_t size_ns(const struct ll_json_reader *json)
{
    const char *at = json->text, *end = at ? at + json->length : at;
    uint64_t value = 0, digits = 0;
    if (json->token != LL_JSON_NUMBER && json->token != LL_JSON_TEXT)
        return 0;
    at += at < end && *at == '-';
    if (at == end || *at < '0' || *at > '9') /* infinite, or no number at all */
        return json->token == LL_JSON_NUMBER && ll_json_as_integer(json) != 0 ? LL_NO_FIT : 0;
    if (memchr(at, 'e', (size_t)(end - at)) || memchr(at, 'E', (size_t)(end - at))) {
        char number[64] = "";
        memcpy(number, at, ll_min((uint64_t)(end - at), sizeof number - 1));
        double ns = ll_strtod(number, NULL) * 1000 + 0.5;
        return ns < 9e18 ? (uint64_t)ns : LL_NO_FIT;
    }
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        value = ll_add(ll_mul(value, 10), (uint64_t)(*at - '0'));
    for (at += at < end; digits < 3; digits++)
        value = ll_add(ll_mul(value, 10), at < end && *at >= '0' && *at <= '9' ? (uint64_t)(*at++ - '0') : 0);
    return value;
}

static bool is_below_zero(const struct ll_json_reader *json)
{
    return json->length > 0 && json->text && *json->text == '-';
}

/* Durations below zero are those of broken clocks. */
static uint64_t duration_ns(const struct ll_json_reader *json)
{
    return is_below_zero(json) ? 0 : size_ns(json);
}

/* Times are counted from before all that a file may have: those that count from a base time may lie before
 * it. In whole microseconds, as grain_ns needs it. */
static const uint64_t before_all_ns = UINT64_C(1000000000000000);
static uint64_t moment_ns(const struct ll_json_reader *json)
{
    uint64_t size = size_ns(json);
    return is_below_zero(json) ? before_all_ns - ll_min(size, before_all_ns) : ll_add(before_all_ns, size);
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

/* A whole number, which may stand in a text. */
static int64_t integer_of(const struct ll_json_reader *json)
{
    char text[24] = "";
    if (json->token != LL_JSON_TEXT)
        return ll_json_as_integer(json);
    memcpy(text, json->text, ll_min(json->length, sizeof text - 1));
    return strtoll(text, NULL, 10);
}

static uint64_t count_of(const struct ll_json_reader *json)
{
    int64_t number = integer_of(json);
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
        event->device = (uint64_t)integer_of(json);
    else if (ll_json_says(key, "stream"))
        event->stream = (uint64_t)integer_of(json);
    else if (ll_json_says(key, "bytes"))
        event->bytes = count_of(json);
    else if (ll_json_says(key, "wait_on_stream"))
        event->waits_for = (uint64_t)integer_of(json);
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
            event->node.start_ns = moment_ns(json);
        else if (duration)
            event->node.duration_ns = duration_ns(json);
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
    return value->tensors ? right && dims->token == LL_JSON_LIST_END : ll_import_no_memory(p->import);
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
        value->tensors = ll_copy(&p->import->arena, &tensor, sizeof tensor);
        return value->tensors ? !dims->failed : ll_import_no_memory(p->import);
    }
    ll_json_pass(dims);
    value->untold = !concrete || (!concrete[0] && strncmp(type, "Scalar", 6) == 0);
    if (!concrete || !concrete[0] || !read_numbers(concrete, numbers, MOST_NUMBERS, &value->count))
        return !dims->failed;
    value->kind = LL_TORCH_NUMBERS;
    value->list = concrete[0] == '[';
    value->numbers = ll_copy(&p->import->arena, numbers, value->count * sizeof *numbers);
    return value->numbers ? !dims->failed : ll_import_no_memory(p->import);
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
 * shapes and types, or where these are not lists of one length, nothing is known, which is no mistake. */
static bool read_arguments(struct profile *p, const struct event *event, struct ll_torch_node *node)
{
    enum { MOST = 64 };
    struct ll_torch_value values[MOST];
    struct ll_json_reader dims = again(p, event->dims), types = again(p, event->types),
                          concrete = again(p, event->concrete);
    if (!event->dims || !event->types || ll_json_read(&dims) != LL_JSON_LIST ||
        ll_json_read(&types) != LL_JSON_LIST || (event->concrete && ll_json_read(&concrete) != LL_JSON_LIST))
        return true;
    p->shapes = true;
    uint32_t count = 0;
    while (count < MOST && ll_json_read(&types) == LL_JSON_TEXT) {
        const char *type = ll_json_copy(&types, &p->import->arena);
        const char *text = next_text(p, &concrete);
        if (!type || !text)
            return ll_import_no_memory(p->import);
        if (ll_json_read(&dims) == LL_JSON_LIST_END || dims.failed ||
            !read_argument(p, type, &dims, event->concrete ? text : NULL, &values[count++]))
            return p->import->status == LL_OK;
    }
    node->input_count = count;
    node->inputs = ll_copy(&p->import->arena, values, count * sizeof *values);
    return node->inputs || ll_import_no_memory(p->import);
}

static bool add_kernel(struct profile *p, const struct ll_torch_node *node, enum ll_device_event_kind kind)
{
    if (!ll_grow(&p->kernels, &p->kernel_capacity, p->kernel_count + 1, sizeof *p->kernels))
        return ll_import_no_memory(p->import);
    p->kernels[p->kernel_count++] = (struct ll_torch_launched){.start_ns = node->start_ns,
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
    return launch.correlation == 0 || p->recorded->rank > 0 ||
           ll_torch_add_node(p->import, p->nodes, &launch);
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
    return keep_exchange(p, &event) && read_arguments(p, &event, &event.node) &&
           ll_torch_add_node(p->import, p->nodes, &event.node);
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

/* What the device is called on which the first kernel ran; NULL: not told. Where a process sees some devices
 * of a host, its events may number them as the host does: of devices that are all alike it is one. */
static const char *device_of(const struct profile *p, uint64_t device)
{
    const char *any = NULL;
    if (device < MOST_DEVICES && p->devices[device])
        return p->devices[device];
    for (size_t i = 0; i < MOST_DEVICES; i++) {
        if (any && p->devices[i] && p->devices[i] != any) /* equal names are one text */
            return NULL;
        any = p->devices[i] ? p->devices[i] : any;
    }
    return any;
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
        done = ll_torch_tie_kernels(import, p->nodes, p->kernels, p->kernel_count, p->recorded);
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
        if (done && nodes.left_out) /* all operators are: what ran is what is known */
            done = ll_recorded_ops(&recorded, "PyTorch profile");
        else if (done && recorded.timeline.event_count > 0)
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
