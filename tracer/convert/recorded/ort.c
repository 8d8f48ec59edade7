/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of ONNX Runtime: a list of Chrome's events, which a crash leaves without its end.
 *
 *   {"cat": "Node", "name": "MatMul_7_kernel_time", "ts", "dur", "tid", "args": {"op_name": "MatMul",
 *    "provider": "CPUExecutionProvider", "input_type_shape": [{"float": [2, 3]}], "output_type_shape": []}}
 *
 * Nodes are what a provider ran; kernels of GPUs stand beside them ("Kernel"). A run ends with "model_run",
 * in whose time its nodes lie: each is a step. GEMMs, and what goes element by element, are known by their
 * names and shapes; what needs attributes, which the file lacks (strides, axes), keeps its recorded time.
 * Nodes of branches and loops lie within the node that runs them, whose own time is not counted twice. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/json.h"
#include "tracer/convert/recorded/recorded.h"

enum { MOST_SHAPES = 32 };

struct node {
    uint64_t start_ns, end_ns;
    uint32_t name, track;            /* of the timeline */
    const char *op;                  /* name of the operator; "" where there is none */
    const struct ll_shape *in, *out; /* in the arena */
    uint32_t in_count, out_count;
    bool kernel; /* of a GPU */
    bool shapes; /* all of them could be read */
    bool around; /* other nodes of its thread lie within it */
};

struct ort {
    struct ll_recorded *recorded;
    struct ll_import *import;
    struct ll_json_reader json;
    struct node *nodes;
    uint64_t count, capacity;
    uint64_t *run_ends; /* of runs, in the order of the file */
    uint64_t run_count, run_capacity;
    bool kernels;                        /* there are some: the device's time is theirs */
    struct ll_shape shapes[MOST_SHAPES]; /* of the list that is read */
};

static enum ll_dtype dtype_of(const struct ll_json_reader *json)
{
    static const struct {
        const char *name;
        enum ll_dtype dtype;
    } types[] = {{"float", LL_F32}, {"float16", LL_F16}, {"bfloat16", LL_BF16}, {"double", LL_F64},
                 {"int64", LL_I32}, {"int32", LL_I32},   {"int16", LL_I16},     {"int8", LL_INT8},
                 {"uint8", LL_U8},  {"uint16", LL_I16},  {"uint32", LL_I32},    {"uint64", LL_I32},
                 {"bool", LL_BOOL}, {"int4", LL_INT4},   {"uint4", LL_INT4}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (ll_json_says(json, types[i].name))
            return types[i].dtype;
    return LL_DTYPE_COUNT;
}

/* [{"float": [2, 3]}, ...]; the reader stands at the list. False where a shape is none that is known. */
static bool read_shapes(struct ort *o, const struct ll_shape **shapes, uint32_t *count)
{
    struct ll_json_reader *json = &o->json;
    bool known = true;
    *count = 0;
    if (json->token != LL_JSON_LIST) {
        ll_json_pass(json);
        return false;
    }
    while (ll_json_read(json) == LL_JSON_OBJECT) {
        struct ll_shape shape = {.rank = 0};
        while (ll_json_read(json) == LL_JSON_KEY) {
            enum ll_dtype dtype = dtype_of(json);
            known = known && dtype != LL_DTYPE_COUNT;
            shape.dtype = (uint8_t)(dtype == LL_DTYPE_COUNT ? LL_F32 : dtype);
            if (ll_json_read(json) != LL_JSON_LIST) {
                ll_json_pass(json);
                known = false;
                continue;
            }
            while (ll_json_read(json) == LL_JSON_NUMBER) {
                int64_t dim = ll_json_as_integer(json);
                known = known && dim >= 0 && shape.rank < LL_MAX_RANK;
                if (known)
                    shape.dim[shape.rank++] = (uint64_t)dim;
            }
        }
        known = known && *count < MOST_SHAPES && ll_fits(ll_size_bytes(&shape));
        if (known)
            o->shapes[(*count)++] = shape;
    }
    *shapes = ll_copy(&o->import->arena, o->shapes, *count * sizeof *o->shapes);
    return *shapes ? known : ll_import_no_memory(o->import);
}

static void read_args(struct ort *o, struct node *node)
{
    struct ll_json_reader *json = &o->json;
    bool in = false, out = false;
    if (ll_json_read(json) != LL_JSON_OBJECT) {
        ll_json_pass(json);
        return;
    }
    while (ll_json_read(json) == LL_JSON_KEY) {
        bool name = ll_json_says(json, "op_name"), inputs = ll_json_says(json, "input_type_shape"),
             outputs = ll_json_says(json, "output_type_shape");
        ll_json_read(json);
        if (inputs || outputs) {
            bool known = inputs ? read_shapes(o, &node->in, &node->in_count)
                                : read_shapes(o, &node->out, &node->out_count);
            in = inputs ? known : in;
            out = outputs ? known : out;
            continue;
        }
        if (name && json->token == LL_JSON_TEXT && !(node->op = ll_json_copy(json, &o->import->arena))) {
            ll_import_no_memory(o->import);
            node->op = "";
        }
        ll_json_pass(json);
    }
    node->shapes = in && out;
}

static bool add_run(struct ort *o, uint64_t end_ns)
{
    if (!ll_grow(&o->run_ends, &o->run_capacity, o->run_count + 1, sizeof *o->run_ends))
        return ll_import_no_memory(o->import);
    o->run_ends[o->run_count++] = end_ns;
    return true;
}

static bool add_node(struct ort *o, struct node *node, const struct ll_json_reader *name, uint64_t thread)
{
    char label[64];
    const char *text = ll_json_copy(name, &o->import->arena);
    if (!text)
        return ll_import_no_memory(o->import);
    if (!node->kernel && strstr(text, "_fence_")) /* waits of older versions, of no time */
        return true;
    snprintf(label, sizeof label, "%s %" PRIu64, node->kernel ? "stream" : "thread", thread);
    node->track = ll_recorded_track(o->recorded, false, node->kernel, thread, label);
    const char *end = strstr(text, "_kernel_time");
    node->name = ll_recorded_name(o->recorded, text, end ? (size_t)(end - text) : strlen(text));
    if (o->import->status != LL_OK)
        return false;
    if (!ll_grow(&o->nodes, &o->capacity, o->count + 1, sizeof *o->nodes))
        return ll_import_no_memory(o->import);
    o->kernels = o->kernels || node->kernel;
    o->nodes[o->count++] = *node;
    return true;
}

/* An event: a node, a kernel, the end of a run, or nothing that counts. */
static bool take_event(struct ort *o)
{
    struct ll_json_reader *json = &o->json, name = {.text = ""}, category = {.text = ""};
    struct node node = {.op = ""};
    uint64_t thread = 0, duration_ns = 0;
    while (ll_json_read(json) == LL_JSON_KEY) {
        bool is_name = ll_json_says(json, "name"), is_category = ll_json_says(json, "cat"),
             is_start = ll_json_says(json, "ts"), is_duration = ll_json_says(json, "dur"),
             is_thread = ll_json_says(json, "tid");
        if (ll_json_says(json, "args")) {
            read_args(o, &node);
            continue;
        }
        ll_json_read(json);
        double number = json->token == LL_JSON_NUMBER ? ll_json_as_real(json) : 0;
        if (is_name && json->token == LL_JSON_TEXT)
            name = *json;
        else if (is_category && json->token == LL_JSON_TEXT)
            category = *json;
        else if (is_start)
            node.start_ns = ll_min(ll_series_ns(number * 1e3), INT64_MAX / 4);
        else if (is_duration)
            duration_ns = ll_min(ll_series_ns(number * 1e3), INT64_MAX / 4);
        else if (is_thread)
            thread = (uint64_t)(number > 0 && number < 0x1p53 ? number : 0);
        ll_json_pass(json);
    }
    if (json->failed)
        return false;
    node.end_ns = node.start_ns + duration_ns;
    node.kernel = ll_json_says(&category, "Kernel");
    if (ll_json_says(&category, "Session") && ll_json_says(&name, "model_run"))
        return add_run(o, node.end_ns);
    bool counts = node.kernel || (ll_json_says(&category, "Node") && node.op[0]);
    return !counts || add_node(o, &node, &name, thread);
}

/* A crash leaves the list without its end: what is complete counts. */
static bool read_file(struct ort *o, const struct ll_input_file *input)
{
    const char *text = (const char *)input->bytes, *end = text + input->size;
    struct ll_diags quiet = {0};
    const char *last = end;
    while (last > text && last[-1] != ']' && last[-1] != '}')
        last--;
    bool cut = last > text && last[-1] == '}';
    o->json = (struct ll_json_reader){.file = input->path,
                                      .begin = text,
                                      .at = text,
                                      .end = cut ? last : end,
                                      .diags = cut ? &quiet : o->import->diags};
    bool fine = ll_json_read(&o->json) == LL_JSON_LIST;
    if (!fine && !cut)
        return ll_json_expected(&o->json, "a list of events, as ONNX Runtime's profiler writes it");
    while (fine && ll_json_read(&o->json) == LL_JSON_OBJECT)
        if (!take_event(o))
            break;
    ll_diags_release(&quiet);
    if (o->import->status != LL_OK)
        return false;
    return (!o->json.failed || cut) &&
           (o->count > 0 || ll_complain(o->import->diags, (struct ll_place){.file = input->path},
                                        "there is no node in it that was run"));
}

static int by_start(const void *a, const void *b)
{
    const struct node *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

/* Whether a node is counted: a kernel where there are some, else a node within which no other lies. */
static bool counts(const struct ort *o, const struct node *node)
{
    return o->kernels ? node->kernel : !node->around;
}

/* Nodes that lie within another of their thread: the next one that begins on it tells. */
static bool find_nests(struct ort *o)
{
    uint64_t tracks = o->recorded->timeline.track_count;
    uint64_t *next = calloc(tracks + 1, sizeof *next); /* 1 + the node that begins next; 0: none */
    for (uint64_t i = o->count; next && i-- > 0;) {
        struct node *node = &o->nodes[i];
        const struct node *behind = next[node->track] ? &o->nodes[next[node->track] - 1] : NULL;
        node->around = behind && behind->start_ns < node->end_ns && behind->end_ns <= node->end_ns;
        next[node->track] = i + 1;
    }
    free(next);
    return next || ll_import_no_memory(o->import);
}

static bool add_events(struct ort *o)
{
    for (uint64_t i = 0; i < o->count; i++) {
        const struct node *node = &o->nodes[i];
        struct ll_timeline_event event = {.start_ns = node->start_ns,
                                          .duration_ns = node->end_ns - node->start_ns,
                                          .name = node->name,
                                          .track = node->track,
                                          .caller = LL_NO_PART,
                                          .call = LL_NO_PART,
                                          .kind = LL_EVENT_KERNEL,
                                          .group = LL_NO_PART,
                                          .order = LL_NO_PART};
        if (node->op[0])
            event.caller = ll_recorded_name(o->recorded, node->op, strlen(node->op));
        if (counts(o, node) && (o->import->status != LL_OK || !ll_recorded_event(o->recorded, &event, 0)))
            return false;
    }
    return true;
}

/* --- ops --- */

/* Operators that names and shapes tell. */
static const struct known {
    const char *op;
    enum ll_op_kind kind;
    uint32_t inputs;
} known[] = {{"Add", LL_OP_ADD, 2},
             {"Sub", LL_OP_SUB, 2},
             {"Mul", LL_OP_MUL, 2},
             {"Div", LL_OP_DIV, 2},
             {"Pow", LL_OP_POW, 2},
             {"Relu", LL_OP_RELU, 1},
             {"Sqrt", LL_OP_SQRT, 1},
             {"Exp", LL_OP_EXP, 1},
             {"Tanh", LL_OP_TANH, 1},
             {"Sigmoid", LL_OP_SIGMOID, 1},
             {"Erf", LL_OP_ERF, 1},
             {"Gelu", LL_OP_GELU, 1},
             {"FastGelu", LL_OP_GELU, 1},
             {"Neg", LL_OP_NEG, 1},
             {"Abs", LL_OP_ABS, 1},
             {"MatMul", LL_OP_MATMUL, 2},
             {"FusedMatMul", LL_OP_MATMUL, 2},
             {"Gemm", LL_OP_MATMUL, 2}};

/* The product of all but the last two, or last one, dimensions. */
static uint64_t outer(const struct ll_shape *shape, unsigned inner)
{
    uint64_t count = 1;
    for (unsigned i = 0; i + inner < shape->rank; i++)
        count = ll_mul(count, shape->dim[i]);
    return count;
}

static struct ll_shape matrix(enum ll_dtype dtype, uint64_t batch, uint64_t rows, uint64_t columns)
{
    return batch == 1 ? (struct ll_shape){.dtype = (uint8_t)dtype, .rank = 2, .dim = {rows, columns}}
                      : (struct ll_shape){.dtype = (uint8_t)dtype, .rank = 3, .dim = {batch, rows, columns}};
}

/* A product by the shapes of both operands and of the result, whichever way they lie: m n of the result, k of
 * what is left. False where they are not those of one. */
static bool as_product(const struct node *node, struct ll_shape in[2])
{
    const struct ll_shape *a = &node->in[0], *y = &node->out[0];
    if (node->out_count < 1 || y->rank < 2 || a->rank < 2 || node->in[1].rank < 2)
        return false;
    uint64_t n = y->dim[y->rank - 1], m = y->dim[y->rank - 2], batch = outer(y, 2);
    if (node->in[1].rank == 2) {
        m = ll_mul(m, batch);
        batch = 1;
    }
    uint64_t elements = ll_elements(a), rows = ll_mul(m, batch);
    if (!ll_fits(rows) || rows == 0 || n == 0 || !ll_fits(elements) || elements % rows ||
        ll_elements(&node->in[1]) != ll_mul(ll_mul(batch, elements / rows), n))
        return false;
    in[0] = matrix((enum ll_dtype)a->dtype, batch, m, elements / rows);
    in[1] = matrix((enum ll_dtype)node->in[1].dtype, batch, elements / rows, n);
    return true;
}

/* NULL after recording the node as an op that is known; else why not. */
static const char *record_known(struct ll_series *series, const struct node *node)
{
    struct ll_imported in[2];
    struct ll_shape shapes[2];
    const struct known *row = NULL;
    for (size_t i = 0; node->shapes && i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].op, node->op) == 0)
            row = &known[i];
    if (!row || node->in_count < row->inputs)
        return "its meaning is not known";
    for (uint32_t i = 0; i < row->inputs; i++)
        shapes[i] = node->in[i];
    bool product = row->kind == LL_OP_MATMUL;
    if (product && !as_product(node, shapes))
        return "its shapes are those of no product";
    for (uint32_t i = 0; i < row->inputs; i++)
        in[i] = ll_series_tensor(series, LL_ACTIVATION, (enum ll_dtype)shapes[i].dtype, shapes[i].rank,
                                 shapes[i].dim);
    return ll_series_record(
        series,
        &(struct ll_import_op){.kind = product && shapes[0].rank == 3 ? LL_OP_BATCH_MATMUL : row->kind,
                               .in = in,
                               .in_count = row->inputs},
        NULL);
}

static bool record_nodes(struct ort *o)
{
    const struct ll_device_timeline *t = &o->recorded->timeline;
    struct ll_series series = {.import = o->import, .phase = LL_PHASE_FORWARD};
    uint64_t run = 0;
    for (uint64_t i = 0; i < o->count; i++) {
        const struct node *node = &o->nodes[i];
        uint64_t duration_ns = node->end_ns - node->start_ns;
        const struct ll_attr bound = {
            LL_ATTR_BOUND_BY, {.count = (int64_t)ll_recorded_bound(node->op, LL_EVENT_KERNEL, duration_ns)}};
        if (!counts(o, node))
            continue;
        if (series.ops > 0 && run < o->run_count && node->start_ns >= o->run_ends[run])
            ll_recorder_step_begin(o->import->recorder);
        while (run < o->run_count && node->start_ns >= o->run_ends[run])
            run++;
        series.scope = t->names[node->name];
        series.clock_ns = node->start_ns + 1;
        series.duration_ns = duration_ns;
        const char *trouble = node->kernel ? "" : record_known(&series, node);
        if (trouble)
            trouble = ll_series_record(
                &series, &(struct ll_import_op){.kind = LL_OP_KERNEL, .attrs = &bound, .attr_count = 1},
                NULL);
        if (trouble)
            return ll_complain(o->import->diags, (struct ll_place){.file = o->import->inputs[0].path}, "%s",
                               trouble);
    }
    return o->import->status == LL_OK;
}

static bool record(struct ort *o)
{
    struct ll_import *import = o->import;
    const char *model = ll_import_choice(import, "model");
    ll_facts_add(&import->facts, "model", "%s", model ? model : ll_import_stem(import, "profile"));
    ll_facts_add(&import->facts, "mode", "infer");
    ll_facts_add(&import->facts, "source", "ONNX Runtime");
    ll_facts_add(&import->facts, "coverage", "1");
    ll_facts_add(&import->facts, "memory.unknown", "yes");
    if (!ll_import_begin(import) || !record_nodes(o))
        return false;
    ll_recorded_keep(o->recorded);
    return import->status == LL_OK;
}

bool ll_import_ORT_PROFILE(struct ll_import *import)
{
    struct ll_recorded recorded = {.import = import};
    struct ort o = {.recorded = &recorded, .import = import};
    bool done = import->input_count == 1 ||
                ll_complain(import->diags, (struct ll_place){0}, "expected one profile of ONNX Runtime");
    done = done && read_file(&o, &import->inputs[0]);
    if (done) {
        qsort(o.nodes, o.count, sizeof *o.nodes, by_start);
        done = find_nests(&o) && add_events(&o) && ll_recorded_finish(&recorded) && record(&o);
    }
    ll_recorded_release(&recorded);
    free(o.nodes);
    free(o.run_ends);
    return done && import->status == LL_OK;
}
