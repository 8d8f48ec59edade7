/* SPDX-License-Identifier: Apache-2.0 */
/* A writer of small ONNX models for tests: onnx.proto's fields by number, one call a thing. */
#ifndef LL_TESTS_ONNX_MODEL_H
#define LL_TESTS_ONNX_MODEL_H

#include "convert.h"

#include <stdarg.h>

enum { ONNX_FLOAT = 1, ONNX_UINT8 = 2, ONNX_INT8 = 3, ONNX_INT64 = 7, ONNX_BOOL = 9 };

struct onnx_model {
    struct ll_str graph, node; /* a node in the making */
};

static inline void put_names(struct ll_str *out, uint64_t field, const char *names)
{
    for (const char *at = names; *at;) {
        size_t length = strcspn(at, " ");
        ll_wire_put_bytes(out, field, at, length == 1 && *at == '-' ? 0 : length);
        at += length + (at[length] == ' ');
    }
}

/* Ends the node that was begun; a new one with these inputs and outputs, between blanks, `-` for one left
 * out. */
static inline void end_node(struct onnx_model *m)
{
    if (m->node.length > 0)
        ll_wire_put_bytes(&m->graph, 1, m->node.text, m->node.length);
    m->node.length = 0;
}

static inline void begin_node(struct onnx_model *m, const char *type, const char *inputs, const char *outputs)
{
    end_node(m);
    put_names(&m->node, 1, inputs);
    put_names(&m->node, 2, outputs);
    ll_wire_put_text(&m->node, 3, outputs);
    ll_wire_put_text(&m->node, 4, type);
}

static inline void node_int(struct onnx_model *m, const char *name, int64_t value)
{
    struct ll_str attr = {0};
    ll_wire_put_text(&attr, 1, name);
    ll_wire_put_integer(&attr, 3, (uint64_t)value);
    ll_wire_put_bytes(&m->node, 5, attr.text, attr.length);
    ll_str_release(&attr);
}

static inline void node_text(struct onnx_model *m, const char *name, const char *value)
{
    struct ll_str attr = {0};
    ll_wire_put_text(&attr, 1, name);
    ll_wire_put_text(&attr, 4, value);
    ll_wire_put_bytes(&m->node, 5, attr.text, attr.length);
    ll_str_release(&attr);
}

static inline void node_ints(struct onnx_model *m, const char *name, unsigned count, const int64_t *values)
{
    struct ll_str attr = {0};
    ll_wire_put_text(&attr, 1, name);
    for (unsigned i = 0; i < count; i++)
        ll_wire_put_integer(&attr, 8, (uint64_t)values[i]);
    ll_wire_put_bytes(&m->node, 5, attr.text, attr.length);
    ll_str_release(&attr);
}

/* A constant of one dimension, with its elements. */
static inline void put_list(struct onnx_model *m, const char *name, unsigned count, const int64_t *values)
{
    struct ll_str tensor = {0}, packed = {0};
    ll_wire_put_integer(&tensor, 1, count);
    ll_wire_put_integer(&tensor, 2, ONNX_INT64);
    ll_wire_put_text(&tensor, 8, name);
    for (unsigned i = 0; i < count; i++)
        ll_wire_put_varint(&packed, (uint64_t)values[i]);
    ll_wire_put_bytes(&tensor, 7, packed.text, packed.length);
    ll_wire_put_bytes(&m->graph, 5, tensor.text, tensor.length);
    ll_str_release(&tensor);
    ll_str_release(&packed);
}

/* A scalar, with its element in so many bytes. */
static inline void put_scalar(struct onnx_model *m, const char *name, int type, const void *element,
                              size_t size)
{
    struct ll_str tensor = {0};
    ll_wire_put_integer(&tensor, 2, (uint64_t)type);
    ll_wire_put_text(&tensor, 8, name);
    ll_wire_put_bytes(&tensor, 9, element, size);
    ll_wire_put_bytes(&m->graph, 5, tensor.text, tensor.length);
    ll_str_release(&tensor);
}

/* A list, with its elements in another file. */
static inline void put_list_elsewhere(struct onnx_model *m, const char *name, unsigned count,
                                      const char *file, const char *offset)
{
    const char *const entries[][2] = {{"location", file}, {"offset", offset}};
    struct ll_str tensor = {0};
    ll_wire_put_integer(&tensor, 1, count);
    ll_wire_put_integer(&tensor, 2, ONNX_INT64);
    ll_wire_put_text(&tensor, 8, name);
    ll_wire_put_integer(&tensor, 14, 1);
    for (unsigned i = 0; i < 2; i++) {
        struct ll_str entry = {0};
        ll_wire_put_text(&entry, 1, entries[i][0]);
        ll_wire_put_text(&entry, 2, entries[i][1]);
        ll_wire_put_bytes(&tensor, 13, entry.text, entry.length);
        ll_str_release(&entry);
    }
    ll_wire_put_bytes(&m->graph, 5, tensor.text, tensor.length);
    ll_str_release(&tensor);
}

/* A constant, without its elements. */
static inline void put_tensor(struct onnx_model *m, const char *name, int type, unsigned rank,
                              const int64_t *dims)
{
    struct ll_str tensor = {0};
    for (unsigned i = 0; i < rank; i++)
        ll_wire_put_integer(&tensor, 1, (uint64_t)dims[i]);
    ll_wire_put_integer(&tensor, 2, (uint64_t)type);
    ll_wire_put_text(&tensor, 8, name);
    ll_wire_put_bytes(&m->graph, 5, tensor.text, tensor.length);
    ll_str_release(&tensor);
}

static inline void put_weight(struct onnx_model *m, const char *name, unsigned rank, const int64_t *dims)
{
    put_tensor(m, name, ONNX_FLOAT, rank, dims);
}

/* An input (field 11) or output (12); a dimension of -1 is open and called `open`. */
static inline void put_info(struct onnx_model *m, uint64_t field, const char *name, int type, unsigned rank,
                            const int64_t *dims)
{
    struct ll_str dim = {0}, shape = {0}, tensor = {0}, whole = {0}, info = {0};
    for (unsigned i = 0; i < rank; i++) {
        dim.length = 0;
        if (dims[i] < 0)
            ll_wire_put_text(&dim, 2, "open");
        else
            ll_wire_put_integer(&dim, 1, (uint64_t)dims[i]);
        ll_wire_put_bytes(&shape, 1, dim.text, dim.length);
    }
    ll_wire_put_integer(&tensor, 1, (uint64_t)type);
    ll_wire_put_bytes(&tensor, 2, shape.text, shape.length);
    ll_wire_put_bytes(&whole, 1, tensor.text, tensor.length);
    ll_wire_put_text(&info, 1, name);
    ll_wire_put_bytes(&info, 2, whole.text, whole.length);
    ll_wire_put_bytes(&m->graph, field, info.text, info.length);
    struct ll_str *const all[] = {&dim, &shape, &tensor, &whole, &info};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ll_str_release(all[i]);
}

/* The model as a file of this version of the operators; nothing is left of the writer. */
static inline struct ll_str end_model(struct onnx_model *m, int64_t version)
{
    struct ll_str model = {0}, opset = {0};
    end_node(m);
    ll_wire_put_text(&opset, 1, "");
    ll_wire_put_integer(&opset, 2, (uint64_t)version);
    ll_wire_put_integer(&model, 1, 8);
    ll_wire_put_bytes(&model, 8, opset.text, opset.length);
    ll_wire_put_bytes(&model, 7, m->graph.text, m->graph.length);
    ll_str_release(&opset);
    ll_str_release(&m->graph);
    ll_str_release(&m->node);
    return model;
}

#define DIMS(...)                                                                                            \
    (sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[])                            \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }

#endif
