/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of files of weights: GGUF (ggml-org/ggml, docs/gguf.md: keys and values, then tensors by name,
 * type and dimensions, fastest first) and safetensors (huggingface/safetensors: a length, then JSON). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/json.h"
#include "tracer/convert/weights/weights.h"

enum { MOST_TENSORS = 1 << 22, MOST_NAME = 1 << 12 };

static struct ll_stored *add(struct ll_import *import, struct ll_stored_model *model)
{
    if (model->count == MOST_TENSORS ||
        !ll_grow(&model->tensors, &model->capacity, model->count + 1, sizeof *model->tensors)) {
        ll_import_no_memory(import);
        return NULL;
    }
    return &model->tensors[model->count++];
}

/* GGUF, byte by byte. */

struct gguf {
    struct ll_import *import;
    const uint8_t *at, *end;
    char architecture[64];
};

static bool broken(struct gguf *g, const char *what)
{
    return ll_complain(g->import->diags, (struct ll_place){.file = g->import->inputs[0].path},
                       "a GGUF header that %s at byte %" PRIu64, what,
                       (uint64_t)(g->at - g->import->inputs[0].bytes));
}

static bool number(struct gguf *g, unsigned bytes, uint64_t *value)
{
    *value = 0;
    if ((uint64_t)(g->end - g->at) < bytes)
        return broken(g, "ends too early");
    for (unsigned i = 0; i < bytes; i++)
        *value |= (uint64_t)*g->at++ << 8 * i;
    return true;
}

static bool text(struct gguf *g, const char **at, uint64_t *length)
{
    if (!number(g, 8, length))
        return false;
    if (*length > (uint64_t)(g->end - g->at))
        return broken(g, "has a text longer than the file");
    *at = (const char *)g->at;
    g->at += *length;
    return true;
}

enum { GGUF_TEXT = 8, GGUF_LIST = 9, GGUF_TYPES = 13 };

static unsigned bytes_of(uint64_t type)
{
    static const uint8_t bytes[GGUF_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return type < GGUF_TYPES ? bytes[type] : 0;
}

/* Passes a value; *first: the first number of it that is not zero. */
static bool value(struct gguf *g, uint64_t type, unsigned depth, uint64_t *first)
{
    const char *at;
    uint64_t length, inside, one;
    if (type == GGUF_TEXT)
        return text(g, &at, &length);
    if (type == GGUF_LIST) {
        if (depth > 4 || !number(g, 4, &inside) || !number(g, 8, &length))
            return depth > 4 && broken(g, "has lists too deep");
        if (bytes_of(inside) > 0 && length > (uint64_t)(g->end - g->at) / bytes_of(inside))
            return broken(g, "has a list longer than the file");
        for (uint64_t i = 0; i < length; i++)
            if (!value(g, inside, depth + 1, first))
                return false;
        return true;
    }
    if (bytes_of(type) == 0)
        return broken(g, "has a value of a type that is not known");
    if (!number(g, bytes_of(type), &one))
        return false;
    *first = *first ? *first : one;
    return true;
}

static bool ends_with(const char *key, uint64_t length, const char *ending)
{
    size_t size = strlen(ending);
    return length > size && memcmp(key + length - size, ending, size) == 0;
}

/* A key and its value; those that describe attention and experts are kept. */
static bool entry(struct gguf *g, struct ll_stored_model *model)
{
    const struct {
        const char *ending;
        uint64_t *to;
    } known[] = {
        {".attention.head_count", &model->heads},      {".attention.head_count_kv", &model->kv_heads},
        {".attention.key_length", &model->key},        {".attention.value_length", &model->value},
        {".attention.sliding_window", &model->window}, {".expert_used_count", &model->top_k}};
    const char *key = NULL, *named;
    uint64_t length, type, first = 0, size;
    if (!text(g, &key, &length) || !number(g, 4, &type))
        return false;
    if (ends_with(key, length, "general.name") || (length == 12 && memcmp(key, "general.name", 12) == 0)) {
        if (type != GGUF_TEXT)
            return value(g, type, 0, &first);
        if (!text(g, &named, &size))
            return false;
        model->name = ll_copy_text(&g->import->arena, named, ll_min(size, 100));
        return true;
    }
    if (!value(g, type, 0, &first))
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (ends_with(key, length, known[i].ending) && first < UINT64_C(1) << 32)
            *known[i].to = first;
    return true;
}

/* How elements of a type are stored: bits with their scales, and the type and scales here that come nearest
 * (ggml, src/ggml-common.h: blocks and their bytes). */
struct stored_as {
    double bits;
    uint8_t dtype, scales;
};

static bool find_type(uint64_t type, struct stored_as *as)
{
    static const struct {
        uint8_t id, dtype, scales;
        uint16_t block, bytes;
    } types[] = {{0, LL_F32, 0, 1, 4},
                 {1, LL_F16, 0, 1, 2},
                 {30, LL_BF16, 0, 1, 2},
                 {28, LL_F64, 0, 1, 8},
                 {24, LL_INT8, 0, 1, 1},
                 {25, LL_I16, 0, 1, 2},
                 {26, LL_I32, 0, 1, 4},
                 {27, LL_I64, 0, 1, 8},
                 {2, LL_INT4, LL_SCALES_E4M3, 32, 18},
                 {3, LL_INT4, LL_SCALES_E4M3, 32, 20},
                 {6, LL_INT8, LL_SCALES_NONE, 32, 22},
                 {7, LL_INT8, LL_SCALES_NONE, 32, 24},
                 {8, LL_INT8, LL_SCALES_E4M3, 32, 34},
                 {9, LL_INT8, LL_SCALES_E4M3, 32, 36},
                 {10, LL_INT2, LL_SCALES_E4M3, 256, 84},
                 {11, LL_INT4, LL_SCALES_NONE, 256, 110},
                 {12, LL_INT4, LL_SCALES_E4M3, 256, 144},
                 {13, LL_INT8, LL_SCALES_NONE, 256, 176},
                 {14, LL_INT8, LL_SCALES_NONE, 256, 210},
                 {15, LL_INT8, LL_SCALES_E4M3, 256, 292},
                 {16, LL_INT2, LL_SCALES_NONE, 256, 66},
                 {17, LL_INT2, LL_SCALES_E8M0, 256, 74},
                 {18, LL_INT4, LL_SCALES_NONE, 256, 98},
                 {19, LL_INT2, LL_SCALES_NONE, 256, 50},
                 {20, LL_INT4, LL_SCALES_E4M3, 32, 18},
                 {21, LL_INT4, LL_SCALES_NONE, 256, 110},
                 {22, LL_INT2, LL_SCALES_E4M3, 256, 82},
                 {23, LL_INT4, LL_SCALES_E8M0, 256, 136},
                 {29, LL_INT2, LL_SCALES_NONE, 256, 56},
                 {34, LL_INT2, LL_SCALES_NONE, 256, 54},
                 {35, LL_INT2, LL_SCALES_NONE, 256, 66},
                 {39, LL_F4, LL_SCALES_E8M0, 32, 17},
                 {40, LL_F4, LL_SCALES_E4M3, 64, 36},
                 {41, LL_INT2, LL_SCALES_NONE, 128, 18},
                 {42, LL_INT2, LL_SCALES_NONE, 64, 18}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].id == type) {
            *as = (struct stored_as){8.0 * types[i].bytes / types[i].block, types[i].dtype, types[i].scales};
            return true;
        }
    return false;
}

static bool tensor(struct gguf *g, struct ll_stored_model *model)
{
    const char *name = NULL;
    uint64_t length, rank, type, offset, dims[LL_MAX_RANK];
    struct stored_as as;
    if (!text(g, &name, &length) || !number(g, 4, &rank))
        return false;
    if (rank > LL_MAX_RANK || length > MOST_NAME)
        return broken(g, "has a tensor of too many dimensions");
    for (uint64_t i = 0; i < rank; i++)
        if (!number(g, 8, &dims[i]))
            return false;
    if (!number(g, 4, &type) || !number(g, 8, &offset))
        return false;
    if (!find_type(type, &as))
        return broken(g, "has a tensor of a type that is not known");
    struct ll_stored *stored = add(g->import, model);
    if (!stored)
        return false;
    *stored = (struct ll_stored){.name = ll_copy_text(&g->import->arena, name, length), .bits = as.bits};
    stored->shape = (struct ll_shape){.rank = (uint8_t)rank, .dtype = as.dtype, .scales = as.scales};
    for (uint64_t i = 0; i < rank; i++)
        stored->shape.dim[i] = dims[rank - 1 - i];
    if (!ll_fits(ll_size_bytes(&stored->shape)))
        return broken(g, "has a tensor whose size does not fit in 64 bits");
    return stored->name || ll_import_no_memory(g->import);
}

static bool read_gguf(struct gguf *g, struct ll_stored_model *model)
{
    uint64_t magic, version, tensors, entries;
    if (!number(g, 4, &magic) || !number(g, 4, &version))
        return false;
    if (magic != 0x46554747 || version < 2 || version > 3)
        return broken(g, version == 0x03000000 ? "is of a machine with the other order of bytes"
                                               : "is of a version other than 2 and 3");
    if (!number(g, 8, &tensors) || !number(g, 8, &entries))
        return false;
    for (uint64_t i = 0; i < entries; i++)
        if (!entry(g, model))
            return false;
    for (uint64_t i = 0; i < tensors; i++)
        if (!tensor(g, model))
            return false;
    return true;
}

bool ll_import_GGUF(struct ll_import *import)
{
    const struct ll_input_file *file = &import->inputs[0];
    struct gguf g = {.import = import, .at = file->bytes, .end = file->bytes + file->size};
    struct ll_stored_model model = {0};
    bool done =
        import->input_count == 1 || ll_complain(import->diags, (struct ll_place){0}, "expected one file");
    done = done && read_gguf(&g, &model) && ll_stored_record(import, &model, "gguf");
    free(model.tensors);
    return done;
}

/* safetensors. */

static uint8_t dtype_of(const struct ll_json_reader *json)
{
    static const struct {
        const char *name;
        uint8_t dtype;
    } types[] = {{"BF16", LL_BF16},  {"F16", LL_F16},    {"F32", LL_F32}, {"F64", LL_F64}, {"F8_E4M3", LL_F8},
                 {"F8_E5M2", LL_F8}, {"F8_E8M0", LL_U8}, {"F4", LL_F4},   {"I64", LL_I64}, {"I32", LL_I32},
                 {"I16", LL_I16},    {"I8", LL_INT8},    {"U8", LL_U8},   {"U16", LL_I16}, {"U32", LL_I32},
                 {"U64", LL_I64},    {"BOOL", LL_BOOL},  {"C64", LL_C64}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (ll_json_says(json, types[i].name))
            return types[i].dtype;
    return LL_DTYPE_COUNT;
}

static bool read_stored(struct ll_import *import, struct ll_json_reader *json, struct ll_stored_model *model,
                        const char *name)
{
    struct ll_shape shape = {.dtype = LL_DTYPE_COUNT};
    if (ll_json_read(json) != LL_JSON_OBJECT)
        return ll_json_expected(json, "a tensor: an object with dtype and shape");
    while (ll_json_read(json) == LL_JSON_KEY) {
        if (ll_json_says(json, "dtype")) {
            if (ll_json_read(json) != LL_JSON_TEXT || (shape.dtype = dtype_of(json)) == LL_DTYPE_COUNT)
                return ll_json_expected(json, "a type of elements that is known here");
        } else if (ll_json_says(json, "shape")) {
            if (ll_json_read(json) != LL_JSON_LIST)
                return ll_json_expected(json, "a list of sizes");
            while (ll_json_read(json) == LL_JSON_NUMBER) {
                int64_t size = ll_json_as_integer(json);
                if (shape.rank == LL_MAX_RANK || size < 0)
                    return ll_json_expected(json, "at most eight sizes that are not negative");
                shape.dim[shape.rank++] = (uint64_t)size;
            }
        } else {
            ll_json_pass(json);
        }
    }
    if (json->failed)
        return false;
    if (shape.dtype == LL_DTYPE_COUNT || !ll_fits(ll_size_bytes(&shape)))
        return ll_json_expected(json, "a tensor with a dtype, whose size fits in 64 bits");
    struct ll_stored *stored = add(import, model);
    if (!stored)
        return false;
    *stored = (struct ll_stored){.name = name, .shape = shape, .bits = (double)ll_dtype_bits(shape.dtype)};
    return true;
}

bool ll_import_SAFETENSORS(struct ll_import *import)
{
    struct ll_stored_model model = {0};
    bool done = true;
    for (uint64_t i = 0; i < import->input_count && done; i++) { /* shards of one model */
        const struct ll_input_file *file = &import->inputs[i];
        uint64_t length = 0;
        for (unsigned k = 0; k < 8 && file->size >= 8; k++)
            length |= (uint64_t)file->bytes[k] << 8 * k;
        if (file->size < 8 || length > file->size - 8)
            return free(model.tensors),
                   ll_complain(import->diags, (struct ll_place){.file = file->path},
                               "this is no safetensors file, or its header ends too early");
        const char *begin = (const char *)file->bytes + 8;
        struct ll_json_reader json = {
            .file = file->path, .begin = begin, .at = begin, .end = begin + length, .diags = import->diags};
        done = ll_json_read(&json) == LL_JSON_OBJECT || ll_json_expected(&json, "an object of tensors");
        while (done && ll_json_read(&json) == LL_JSON_KEY) {
            const char *name = ll_json_copy(&json, &import->arena);
            if (ll_json_says(&json, "__metadata__"))
                ll_json_pass(&json);
            else
                done = name ? read_stored(import, &json, &model, name) : ll_import_no_memory(import);
        }
        done = done && !json.failed;
    }
    done = done && ll_stored_record(import, &model, "safetensors");
    free(model.tensors);
    return done;
}
