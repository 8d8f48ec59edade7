/* SPDX-License-Identifier: Apache-2.0 */
/* SCALE-Sim's topologies, also those that it ships and cannot read: blank rows of commas, no comma at the end
 * of a row, empty columns behind it, notes behind the strides, tabs between fields.
 *
 * A layer whose name holds DP is depthwise there: one layer with one channel for each of its channels. */
#include "tracer/convert/scalesim.h"

#include "tracer/base/csv.h"
#include "tracer/base/num.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* The numbers of a row, in order. */
enum { IN_H, IN_W, FILTER_H, FILTER_W, CHANNELS, FILTERS, STRIDE_H, STRIDE_W, CONV_NUMBERS };
static const char *const conv_names[CONV_NUMBERS] = {
    "ifmap height", "ifmap width", "filter height", "filter width",
    "channels",     "filters",     "stride",        "stride of the width",
};
enum { M, N, K, PRODUCT_NUMBERS };
static const char *const product_names[PRODUCT_NUMBERS] = {"m", "n", "k"};

struct reading {
    struct ll_csv csv;
    struct ll_arena *arena;
    bool products;
    struct ll_scalesim_layer *layers;
    uint64_t capacity;
    size_t count;
    uint64_t report_lines;
    bool failed;
};

static bool complain(struct reading *reading, const struct ll_csv_field *field, const char *what)
{
    struct ll_place place = ll_csv_place(&reading->csv, field);
    place.width = field ? strlen(field->text) : 0;
    reading->failed = true;
    return ll_complain(reading->csv.diags, place, "%s", what);
}

/* Blanks on both sides off, in place; fields are the reader's own copies. */
static const char *trimmed(const struct reading *reading, const struct ll_csv_field *field)
{
    const char *text = field->text;
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    const char *copy = ll_copy_text(reading->arena, text, length);
    return copy ? copy : "";
}

static bool is_number(const char *text)
{
    text += *text == '+' || *text == '-';
    return *text && text[strspn(text, "0123456789")] == '\0';
}

/* From 1 to 2^31 - 1, the integers of SCALE-Sim's addresses. */
static bool read_number(struct reading *reading, const struct ll_csv_field *field, const char *name,
                        uint64_t *number)
{
    const char *text = trimmed(reading, field);
    *number = 0;
    for (const char *at = text + (*text == '+'); is_number(text) && isdigit((unsigned char)*at); at++)
        *number = ll_min(*number * 10 + (uint64_t)(*at - '0'), UINT32_MAX);
    if (*number >= 1 && *number <= INT32_MAX)
        return true;
    const char *what = ll_format(reading->arena, "%s `%.40s`: expected a whole number from 1 to %" PRId32,
                                 name, text, INT32_MAX);
    return complain(reading, field, what ? what : "no whole number");
}

/* The fields that count: the name and those behind it, up to the first empty one or a note behind strides. */
static size_t count_fields(const struct reading *reading, const struct ll_csv_field *fields, size_t count,
                           size_t most)
{
    size_t used = 1;
    while (used < count && used <= most && trimmed(reading, &fields[used])[0] &&
           (used <= STRIDE_W || is_number(trimmed(reading, &fields[used]))))
        used++;
    return used;
}

static bool is_blank(const struct reading *reading, const struct ll_csv_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (trimmed(reading, &fields[i])[0])
            return false;
    return true;
}

static bool fits_in(struct reading *reading, const struct ll_csv_field *fields, const uint64_t *numbers,
                    size_t filter, size_t in)
{
    if (numbers[filter] <= numbers[in])
        return true;
    const char *what = ll_format(reading->arena, "the %s, %" PRIu64 ", is larger than the %s, %" PRIu64,
                                 conv_names[filter], numbers[filter], conv_names[in], numbers[in]);
    return complain(reading, &fields[1 + filter], what ? what : "the filter is larger than the ifmap");
}

static bool add_layer(struct reading *reading, const struct ll_csv_field *fields,
                      struct ll_scalesim_layer layer)
{
    layer.name = trimmed(reading, &fields[0]);
    layer.copies = 1;
    layer.line = reading->csv.line;
    if (!reading->products && strstr(layer.name, "DP")) {
        layer.copies = layer.channels;
        layer.channels = 1;
    }
    reading->report_lines += layer.copies;
    if (reading->report_lines > LL_SCALESIM_MOST_LAYERS)
        return complain(reading, &fields[0], "with its channels these are more than 1,000,000 layers");
    if (reading->count == reading->capacity) {
        uint64_t capacity = reading->capacity * 2 + 16;
        struct ll_scalesim_layer *more = ll_alloc(reading->arena, (size_t)capacity, sizeof *more);
        if (!more)
            return false;
        if (reading->count)
            memcpy(more, reading->layers, reading->count * sizeof *more);
        reading->layers = more;
        reading->capacity = capacity;
    }
    reading->layers[reading->count++] = layer;
    return true;
}

static bool read_conv(struct reading *reading, const struct ll_csv_field *fields, size_t count)
{
    uint64_t v[CONV_NUMBERS];
    size_t used = count_fields(reading, fields, count, CONV_NUMBERS);
    if (used < 1 + STRIDE_W)
        return complain(reading, &fields[used < count ? used : count - 1],
                        "expected name, ifmap height and width, filter height and width, channels, filters, "
                        "stride");
    bool fine = true;
    for (size_t i = 0; i + 1 < used; i++)
        fine &= read_number(reading, &fields[1 + i], conv_names[i], &v[i]);
    if (!fine)
        return false;
    if (used == 1 + STRIDE_W)
        v[STRIDE_W] = v[STRIDE_H];
    if (used == count && v[STRIDE_W] != v[STRIDE_H])
        return complain(reading, &fields[1 + STRIDE_W],
                        "SCALE-Sim drops a field without a comma behind it, and would take the other stride; "
                        "end the row with a comma");
    if (!fits_in(reading, fields, v, FILTER_H, IN_H) || !fits_in(reading, fields, v, FILTER_W, IN_W))
        return false;
    return add_layer(reading, fields,
                     (struct ll_scalesim_layer){.in_h = v[IN_H],
                                                .in_w = v[IN_W],
                                                .filter_h = v[FILTER_H],
                                                .filter_w = v[FILTER_W],
                                                .channels = v[CHANNELS],
                                                .filters = v[FILTERS],
                                                .stride_h = v[STRIDE_H],
                                                .stride_w = v[STRIDE_W]});
}

static bool read_product(struct reading *reading, const struct ll_csv_field *fields, size_t count)
{
    uint64_t v[PRODUCT_NUMBERS];
    size_t used = count_fields(reading, fields, count, PRODUCT_NUMBERS);
    if (used < 1 + PRODUCT_NUMBERS)
        return complain(reading, &fields[used < count ? used : count - 1], "expected name, m, n, k");
    bool fine = true;
    for (size_t i = 0; i < PRODUCT_NUMBERS; i++)
        fine &= read_number(reading, &fields[1 + i], product_names[i], &v[i]);
    return fine && add_layer(reading, fields,
                             (struct ll_scalesim_layer){.in_h = v[M],
                                                        .in_w = v[K],
                                                        .filter_h = 1,
                                                        .filter_w = v[K],
                                                        .channels = 1,
                                                        .filters = v[N],
                                                        .stride_h = 1,
                                                        .stride_w = 1});
}

static void read_rows(struct reading *reading)
{
    const struct ll_csv_field *fields;
    size_t count;
    for (bool first = true; (fields = ll_csv_next(&reading->csv, &count));) {
        if (is_blank(reading, fields, count))
            continue;
        bool header = first && (count < 2 || !is_number(trimmed(reading, &fields[1])));
        first = false;
        if (header)
            continue;
        if (reading->products)
            read_product(reading, fields, count);
        else
            read_conv(reading, fields, count);
    }
}

/* What stands between fields: where there is no comma at all, spreadsheets wrote something else. */
static char separator(const char *text, size_t length)
{
    static const char others[] = {'\t', ';'};
    if (length && memchr(text, ',', length))
        return ',';
    for (size_t i = 0; length && i < sizeof others; i++)
        if (memchr(text, others[i], length))
            return others[i];
    return ',';
}

/* The same text with commas between its fields. NULL when memory ran out. */
static const char *with_commas(const char *text, size_t length, struct ll_arena *arena)
{
    char sign = separator(text, length), *copy = sign == ',' ? NULL : ll_copy_text(arena, text, length);
    for (size_t i = 0; copy && i < length; i++)
        copy[i] = copy[i] == sign ? ',' : copy[i];
    return sign == ',' ? text : copy;
}

bool ll_scalesim_holds_products(const char *text, size_t length)
{
    size_t most = 0, fields = 0;
    bool filled = false;
    char sign = separator(text, length);
    for (const char *at = text, *end = text + length; at < end; at++) {
        bool line_end = *at == '\n' || *at == '\r';
        filled = filled || (*at != sign && *at != ' ' && !line_end);
        if (*at != sign && !line_end)
            continue;
        fields += filled;
        filled = false;
        most = fields > most ? fields : most;
        fields = line_end ? 0 : fields;
    }
    most = fields + filled > most ? fields + filled : most;
    return most > 1 && most < 1 + STRIDE_W;
}

const struct ll_scalesim_layer *ll_scalesim_read_topology(const char *text, size_t length, const char *name,
                                                          bool products, struct ll_arena *arena,
                                                          struct ll_diags *diags, size_t *count)
{
    struct reading *reading = ll_alloc(arena, 1, sizeof *reading);
    if (!reading)
        return NULL;
    *reading = (struct reading){.arena = arena, .products = products};
    reading->csv = (struct ll_csv){.file = name, .arena = arena, .diags = diags};
    if (length && memchr(text, '\0', length)) {
        ll_complain(diags, (struct ll_place){.file = name}, "this is not text: it holds bytes of value zero");
        return NULL;
    }
    reading->csv.at = with_commas(text, length, arena);
    if (!reading->csv.at)
        return NULL;
    reading->csv.end = reading->csv.at + length;
    read_rows(reading);
    *count = reading->count;
    if (reading->count == 0 && !reading->failed && !reading->csv.failed)
        complain(reading, NULL, "no layer stands in this file");
    return reading->failed || reading->csv.failed ? NULL : reading->layers;
}
