/* SPDX-License-Identifier: Apache-2.0 */
/* Which format a file is of, told by what is in it and not by its name: the first bytes of binary formats,
 * the fields of protocol buffers, the keys of JSON, the first words of texts, the header of tables. */
#define _GNU_SOURCE /* memmem */
#include <string.h>

#include "tracer/convert/convert.h"
#include "tracer/convert/wire.h"

/* So much of a file is looked at. */
enum { LOOKED_AT = 1 << 20 };

struct text {
    const char *at, *end;
};

static bool has(struct text text, const char *word)
{
    return memmem(text.at, (size_t)(text.end - text.at), word, strlen(word)) != NULL;
}

static bool begins(struct text text, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(text.end - text.at) >= length && memcmp(text.at, word, length) == 0;
}

/* A field of a message whose bytes may go on behind what is looked at. */
static bool next_field(struct ll_wire *wire, uint64_t *number, struct ll_wire *inside)
{
    uint64_t key, value;
    *inside = (struct ll_wire){NULL, NULL};
    if (wire->at >= wire->end || !ll_wire_varint(wire, &key) || key >> 3 == 0 || key >> 3 > 100)
        return false;
    *number = key >> 3;
    switch (key & 7) {
    case LL_WIRE_VARINT:
        return ll_wire_varint(wire, &value);
    case LL_WIRE_FIXED64:
    case LL_WIRE_FIXED32:
        value = (key & 7) == LL_WIRE_FIXED64 ? 8 : 4;
        break;
    case LL_WIRE_BYTES:
        if (!ll_wire_varint(wire, &value))
            return false;
        break;
    default:
        return false;
    }
    uint64_t left = (uint64_t)(wire->end - wire->at);
    *inside = (struct ll_wire){wire->at, wire->at + (value < left ? value : left)};
    wire->at = inside->end;
    return true;
}

/* A model has a version (1), a graph (7) or versions of operators (8). */
static bool is_onnx(struct ll_wire wire)
{
    uint64_t number;
    struct ll_wire inside;
    bool version = false, graph = false;
    while (next_field(&wire, &number, &inside) && number <= 25) {
        version |= number == 1 && !inside.at;
        graph |= (number == 7 || number == 8) && inside.at;
    }
    return graph && (version || wire.at == wire.end);
}

/* Planes (1), whose names (2) are those of devices or hosts. */
static bool is_xplane(struct ll_wire wire)
{
    uint64_t number, part;
    struct ll_wire plane, inside;
    while (next_field(&wire, &number, &plane) && plane.at)
        while (number == 1 && next_field(&plane, &part, &inside))
            if (part == 2 && inside.at)
                return inside.end - inside.at > 1 &&
                       (*inside.at == '/' ||
                        memcmp(inside.at, "Task", ll_min(4, (uint64_t)(inside.end - inside.at))) == 0);
    return false;
}

/* A message of a known length: a version in digits (1), or attributes (2) of which one is called schema. */
static bool is_chakra(struct ll_wire wire)
{
    uint64_t length, number;
    struct ll_wire inside;
    if (!ll_wire_varint(&wire, &length) || length < 3 || !next_field(&wire, &number, &inside) || !inside.at ||
        inside.at >= inside.end || (uint64_t)(inside.end - inside.at) >= length)
        return false;
    const struct text text = {(const char *)inside.at, (const char *)inside.end};
    return (number == 1 && *inside.at >= '0' && *inside.at <= '9') || (number == 2 && has(text, "schema"));
}

/* Keys that only one format has; the first that is there decides. */
static const char *of_json(struct text text)
{
    static const struct {
        const char *key, *format;
    } keys[] = {{"\"rocprofiler-sdk-tool\"", "rocprofv3"},
                {"\"graph_module\"", "torch-export"},
                {"\"traceEvents\"", "pytorch-profile"},
                {"\"op_name\"", "ort-profile"},
                {"\"Session\"", "ort-profile"},
                {"\"nodes\"", "pytorch-graph"},
                {"\"hidden_size\"", "hf"},
                {"\"architectures\"", "hf"},
                {"\"n_embd\"", "hf"}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (has(text, keys[i].key))
            return keys[i].format;
    return NULL;
}

/* What follows lines of comments and blanks. */
static struct text pass_comments(struct text text)
{
    while (text.at < text.end) {
        if (*text.at == ' ' || *text.at == '\t' || *text.at == '\n' || *text.at == '\r') {
            text.at++;
        } else if (begins(text, "\xEF\xBB\xBF")) {
            text.at += 3;
        } else if (begins(text, "//")) {
            const char *line = memchr(text.at, '\n', (size_t)(text.end - text.at));
            text.at = line ? line : text.end;
        } else {
            break;
        }
    }
    return text;
}

static const char *of_text(struct text text)
{
    struct text whole = pass_comments(text), line = whole;
    const char *end = memchr(line.at, '\n', (size_t)(line.end - line.at));
    line.end = end ? end : line.end;
    if (begins(whole, "{") || begins(whole, "["))
        return of_json(whole);
    if (begins(whole, "HloModule"))
        return "hlo";
    if (begins(whole, "module") || begins(whole, "func.func") || begins(whole, "#loc") ||
        has(whole, "stablehlo."))
        return "stablehlo";
    if (has(whole, "onednn_verbose,") || has(whole, "dnnl_verbose,") || has(whole, "mkldnn_verbose,"))
        return "onednn";
    if (has(line, "Kernel_Name") || has(line, "\"Domain\"") || has(line, "Agent_Id"))
        return "rocprofv3";
    if (has(line, "hardware,op") || (has(line, "hardware") && has(line, "dims")))
        return "csv";
    if (has(line, "IFMAP") || begins(line, "Layer"))
        return "scalesim";
    return NULL;
}

static bool is_safetensors(const uint8_t *bytes, uint64_t size)
{
    uint64_t length = 0;
    for (unsigned i = 0; i < 8 && size > 8; i++)
        length |= (uint64_t)bytes[i] << 8 * i;
    return size > 8 && bytes[8] == '{' && length > 1 && length <= 100000000;
}

const char *ll_format_detect(const uint8_t *bytes, uint64_t size)
{
    const struct ll_wire wire = {bytes, bytes + ll_min(size, LOOKED_AT)};
    const struct text text = {(const char *)bytes, (const char *)wire.end};
    if (size == 0)
        return NULL;
    if (begins(text, "GGUF"))
        return "gguf";
    if (begins(text, "SQLite format 3"))
        return "nsys";
    if (begins(text, "PK\3\4"))
        return "torch-export";
    if (is_safetensors(bytes, size))
        return "safetensors";
    const char *format = of_text(text);
    if (format)
        return format;
    if (is_onnx(wire))
        return "onnx";
    if (is_xplane(wire))
        return "xplane";
    return is_chakra(wire) ? "chakra" : NULL;
}
