/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/validate/layer_files.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tracer/base/file.h"
#include "tracer/base/num.h"

enum op { GEMM, EXPERTS, RMS_NORM, SILU_MUL, NOTHING };

static const struct layer {
    const char *name;
    enum op op;
    size_t n, k; /* where the sizes have them */
} layers[] = {
#define LL_LAYER(name, op, n, k)                                                                             \
    {name, op, offsetof(struct ll_layer_sizes, n), offsetof(struct ll_layer_sizes, k)},
#include "sim/validate/layer_names.def"
#undef LL_LAYER
};

enum { MOST_COLUMNS = 5 };
enum kind { BY_TOKENS, BY_SEQUENCES, ATTENTION, KINDS };

static const struct {
    const char *header;
    size_t columns;
} kinds[KINDS] = {{"layer,tokens,time_us", 3},
                  {"layer,sequences,time_us", 3},
                  {"prefill_chunk,kv_prefill,n_decode,kv_decode,time_us", MOST_COLUMNS}};

static enum kind kind_of(const char *text)
{
    enum kind kind = BY_TOKENS;
    for (; kind < KINDS; kind++) {
        size_t length = strlen(kinds[kind].header);
        if (strncmp(text, kinds[kind].header, length) == 0 && strchr("\r\n", text[length]))
            break;
    }
    return kind;
}

bool ll_is_layer_file(const char *text)
{
    return kind_of(text) < KINDS;
}

/* What a file is read into. */
struct reading {
    struct ll_csv csv;
    enum kind kind;
    const struct ll_layer_sizes *sizes;
    const char *hardware, *dtype;
    struct ll_measured *rows;
    size_t count, capacity, left_out;
};

static uint64_t size_at(const struct reading *r, size_t offset)
{
    uint64_t value;
    memcpy(&value, (const char *)r->sizes + offset, sizeof value);
    return value;
}

/* A number of a row, at least 0; false after a complaint. */
static bool read(struct reading *r, const struct ll_csv_field *field, double *value)
{
    char *end;
    *value = ll_strtod(field->text, &end);
    if (end > field->text && *end == '\0' && *value >= 0 && *value < (double)(UINT64_C(1) << LL_DIM_BITS))
        return true;
    return ll_complain(r->csv.diags, ll_csv_place(&r->csv, field), "`%.40s`: expected a number", field->text);
}

/* One more row; false when memory ran out. */
static bool add(struct reading *r, const char *op, const char *dims, double time_us)
{
    struct ll_arena *arena = r->csv.arena;
    if (r->count == r->capacity) {
        size_t capacity = ll_max(256, 2 * r->capacity);
        struct ll_measured *more = ll_alloc(arena, capacity, sizeof *more);
        if (more && r->count > 0)
            memcpy(more, r->rows, r->count * sizeof *more);
        if (!more)
            return ll_complain(r->csv.diags, (struct ll_place){.file = r->csv.file}, "memory ran out");
        r->rows = more;
        r->capacity = capacity;
    }
    if (!dims)
        return ll_complain(r->csv.diags, (struct ll_place){.file = r->csv.file}, "memory ran out");
    r->rows[r->count++] = (struct ll_measured){.source = "served_layers",
                                               .hardware = r->hardware,
                                               .op = op,
                                               .dtype = r->dtype,
                                               .dims = dims,
                                               .notes = "",
                                               .time_s = time_us * 1e-6,
                                               .line = r->csv.line};
    return true;
}

static bool add_layer(struct reading *r, const struct ll_csv_field *fields)
{
    const struct layer *layer = NULL;
    double m, time_us;
    for (size_t i = 0; i < sizeof layers / sizeof *layers && !layer; i++)
        if (strcmp(layers[i].name, fields[0].text) == 0)
            layer = &layers[i];
    if (!layer)
        return ll_complain(r->csv.diags, ll_csv_place(&r->csv, &fields[0]),
                           "layer `%.40s` is not known; expected one as qkv_proj or lm_head", fields[0].text);
    if (!read(r, &fields[1], &m) || !read(r, &fields[2], &time_us))
        return false;
    const uint64_t n = size_at(r, layer->n), k = size_at(r, layer->k), rows = (uint64_t)m;
    struct ll_arena *arena = r->csv.arena;
    switch (layer->op) {
    case GEMM:
        if (n > 0 && k > 0)
            return add(r, "gemm", ll_format(arena, "m=%" PRIu64 ";n=%" PRIu64 ";k=%" PRIu64, rows, n, k),
                       time_us);
        break;
    case EXPERTS:
        if (n > 0 && k > 0)
            return add(r, "moe",
                       ll_format(arena,
                                 "tokens=%" PRIu64 ";hidden=%" PRIu64 ";inter=%" PRIu64 ";topk=%" PRIu64
                                 ";experts=%" PRIu64 ";tp=%" PRIu64 ";ep=1;dist=balanced",
                                 rows, k, n, r->sizes->top_k, r->sizes->experts, r->sizes->tensor),
                       time_us);
        break;
    case RMS_NORM:
        return add(r, "rmsnorm", ll_format(arena, "b=%" PRIu64 ";h=%" PRIu64, rows, n), time_us);
    case SILU_MUL:
        return add(r, "silu_mul", ll_format(arena, "b=%" PRIu64 ";h=%" PRIu64, rows, n), time_us);
    case NOTHING:
        break;
    }
    r->left_out++;
    return true;
}

static bool add_attention(struct reading *r, const struct ll_csv_field *fields)
{
    double values[MOST_COLUMNS];
    for (size_t i = 0; i < MOST_COLUMNS; i++)
        if (!read(r, &fields[i], &values[i]))
            return false;
    const uint64_t chunk = (uint64_t)values[0], past = (uint64_t)values[1], decoding = (uint64_t)values[2],
                   kv = (uint64_t)values[3];
    if ((chunk > 0) == (decoding > 0)) {
        r->left_out++;
        return true;
    }
    const bool prompt = chunk > 0;
    return add(r, "attention",
               ll_format(r->csv.arena,
                         "b=%" PRIu64 ";q=%" PRIu64 ";kv=%" PRIu64 ";heads=%" PRIu64 ";kv_heads=%" PRIu64
                         ";d=%" PRIu64 ";kv_dtype=bf16",
                         prompt ? 1 : decoding, prompt ? chunk : 1, prompt ? past + chunk : ll_max(kv, 2),
                         r->sizes->heads, r->sizes->kv_heads, r->sizes->head),
               values[4]);
}

const struct ll_measured *ll_layer_rows(const char *text, size_t length, const char *file,
                                        const struct ll_layer_sizes *sizes, const char *hardware,
                                        const char *dtype, struct ll_arena *arena, struct ll_diags *diags,
                                        size_t *count, size_t *left_out)
{
    struct reading r = {
        .csv = {.file = file, .at = text, .end = text + length, .arena = arena, .diags = diags},
        .kind = kind_of(text),
        .sizes = sizes,
        .hardware = hardware,
        .dtype = dtype};
    const struct ll_csv_field *fields;
    size_t columns;
    bool good = r.kind < KINDS && ll_csv_next(&r.csv, &columns);
    while (good && (fields = ll_csv_next(&r.csv, &columns))) {
        if (columns != kinds[r.kind].columns)
            good = ll_complain(diags, ll_csv_place(&r.csv, NULL), "%zu fields; expected %s", columns,
                               kinds[r.kind].header);
        else
            good = r.kind == ATTENTION ? add_attention(&r, fields) : add_layer(&r, fields);
    }
    if (good && !r.csv.failed && r.count == 0)
        good = ll_complain(diags, (struct ll_place){.file = file}, "no row stands for a kernel");
    *count = r.count;
    *left_out = r.left_out;
    return good && !r.csv.failed ? r.rows : NULL;
}
