/* SPDX-License-Identifier: Apache-2.0 */
/* SCALE-Sim's topologies, also those that it ships and cannot read: blank rows of commas, no comma at the end
 * of a row, empty columns behind it, notes behind the strides, tabs between fields.
 *
 * A layer whose name holds DP is depthwise there: one layer with one channel for each of its channels. */
#include "tracer/convert/scalesim/scalesim.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "tracer/base/file.h"
#include "tracer/base/num.h"
#include "tracer/convert/convert.h"
#include "tracer/ir/ops.h"
#include "tracer/ir/profile.h"

/* What a row tells. Where a header names a column, it is found by its name; else the first ones stand where
 * SCALE-Sim has them, which looks at no header. */
enum {
    IN_H,
    IN_W,
    FILTER_H,
    FILTER_W,
    CHANNELS,
    FILTERS,
    STRIDE_H,
    STRIDE_W,
    M,
    N,
    K,
    BATCH,
    SPARSITY,
    COLUMNS
};
enum { PRODUCTS = 1, CONVS = 2, NOWHERE = INT32_MAX };
static const struct {
    int of;       /* which topologies have it */
    size_t place; /* in the row when nobody names it, behind the layer's name; NOWHERE: not there then */
    bool needed;
    const char *title;
    const char *names[6]; /* in headers, without blanks and signs, in small letters */
} columns[COLUMNS] = {
    [IN_H] = {CONVS, 1, true, "ifmap height", {"ifmapheight", "ifmaph", "inputheight"}},
    [IN_W] = {CONVS, 2, true, "ifmap width", {"ifmapwidth", "ifmapw", "inputwidth"}},
    [FILTER_H] = {CONVS, 3, true, "filter height", {"filterheight", "filterh", "kernelheight"}},
    [FILTER_W] = {CONVS, 4, true, "filter width", {"filterwidth", "filterw", "kernelwidth"}},
    [CHANNELS] = {CONVS, 5, true, "channels", {"channels", "channel", "numchannels", "inputchannels"}},
    [FILTERS] = {CONVS, 6, true, "filters", {"numfilter", "numfilters", "filters", "outputchannels"}},
    [STRIDE_H] = {CONVS, 7, true, "stride", {"strides", "stride", "strideheight", "strideh"}},
    [STRIDE_W] = {CONVS, 8, false, "stride of the width", {"stridewidth", "stridew"}},
    [M] = {PRODUCTS, 1, true, "m", {"m"}},
    [N] = {PRODUCTS, 2, true, "n", {"n"}},
    [K] = {PRODUCTS, 3, true, "k", {"k"}},
    [BATCH] = {PRODUCTS | CONVS, NOWHERE, false, "batch size", {"batchsize", "batch"}},
    [SPARSITY] = {PRODUCTS | CONVS, NOWHERE, false, "sparsity", {"sparsity", "sparsityratio"}},
};

struct reading {
    struct ll_csv csv;
    struct ll_arena *arena;
    struct ll_diags *notes; /* NULL: nobody listens */
    bool products;          /* the topology holds GEMMs */
    size_t name_place;      /* of the layer's name in a row */
    size_t place[COLUMNS];  /* of the row's fields; NOWHERE */
    unsigned told;          /* columns that the header names, a bit each */
    size_t named;           /* fields that the header has */
    bool left_out;          /* a field that no column claims was noted */
    struct ll_scalesim_layer *layers;
    uint64_t capacity;
    size_t count;
    uint64_t report_lines; /* rows of SCALE-Sim's report so far */
    bool failed;
};

static bool complain(struct reading *reading, const struct ll_csv_field *field, const char *what)
{
    struct ll_place place = ll_csv_place(&reading->csv, field);
    place.width = field ? strlen(field->text) : 0;
    reading->failed = true;
    return ll_complain(reading->csv.diags, place, "%s", what);
}

/* Without blanks on both sides; what memory is refused for ends the reading. */
static const char *trimmed(struct reading *reading, const struct ll_csv_field *field)
{
    const char *text = field->text;
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    const char *copy = ll_copy_text(reading->arena, text, length);
    reading->csv.failed |= !copy;
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

static bool is_blank(struct reading *reading, const struct ll_csv_field *fields, size_t count)
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
                                 columns[filter].title, numbers[filter], columns[in].title, numbers[in]);
    return complain(reading, &fields[reading->place[filter]],
                    what ? what : "the filter is larger than the ifmap");
}

/* Keeps a layer. `DP` in the name marks a depthwise layer, as SCALE-Sim reads it: as many layers of one
 * channel as it has channels, reported one by one. */
static bool add_layer(struct reading *reading, const struct ll_csv_field *fields, size_t count,
                      struct ll_scalesim_layer layer)
{
    assert(reading->count <= reading->capacity);
    layer.name = reading->name_place < count ? trimmed(reading, &fields[reading->name_place]) : "";
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

static const struct ll_csv_field *field_of(struct reading *reading, const struct ll_csv_field *fields,
                                           size_t count, size_t column)
{
    size_t place = reading->place[column];
    bool there = place != NOWHERE && place < count && trimmed(reading, &fields[place])[0];
    return there ? &fields[place] : NULL;
}

/* "2:4" or "90%"; nothing, or as many of as many, are no zeros. */
static bool read_sparsity(struct reading *reading, const struct ll_csv_field *field,
                          struct ll_scalesim_layer *layer)
{
    const char *text = field ? trimmed(reading, field) : "", *colon = strchr(text, ':');
    bool dense = !*text || (colon && is_number(colon + 1) && strlen(colon + 1) == (size_t)(colon - text) &&
                            strncmp(text, colon + 1, (size_t)(colon - text)) == 0);
    return dense || ll_sparsity_parse(text, &layer->zeros) ||
           complain(reading, field, "expected " LL_SPARSITY_WANTED);
}

/* Whether a field where the stride of the width may stand, which nobody has named, is none. */
static bool is_note(struct reading *reading, size_t column, const struct ll_csv_field *field)
{
    return column == STRIDE_W && !(reading->told >> column & 1) && !is_number(trimmed(reading, field));
}

/* Fields that no column claims: SCALE-Sim 3 writes a sparsity behind a row without naming it; others are left
 * out, which is said once. */
static const struct ll_csv_field *look_behind(struct reading *reading, const struct ll_csv_field *fields,
                                              size_t count)
{
    const struct ll_csv_field *sparsity = NULL;
    struct ll_pattern zeros;
    for (size_t i = 0; i < count; i++) {
        const char *text = trimmed(reading, &fields[i]);
        bool claimed = i == reading->name_place || i < reading->named || !*text;
        for (size_t c = 0; c < COLUMNS; c++)
            claimed = claimed || (reading->place[c] == i && !is_note(reading, c, &fields[i]));
        if (!claimed && ll_pattern_parse(text, &zeros)) {
            sparsity = &fields[i];
        } else if (!claimed && !reading->left_out && reading->notes) {
            reading->left_out = true;
            ll_complain(reading->notes, ll_csv_place(&reading->csv, &fields[i]),
                        "`%.40s` stands behind the columns that are known here; it is left out", text);
        }
    }
    return sparsity;
}

/* One row of the topology. Fields are found by the header or by their places; missing ones end the row,
 * numbers that are none are reported together. A GEMM of m, n, k is stored as the convolution that computes
 * it. */
static bool read_row(struct reading *reading, const struct ll_csv_field *fields, size_t count)
{
    const int of = reading->products ? PRODUCTS : CONVS;
    uint64_t v[COLUMNS] = {[BATCH] = 1};
    bool fine = true;
    for (size_t c = 0; c < COLUMNS; c++) {
        const struct ll_csv_field *field = columns[c].of & of ? field_of(reading, fields, count, c) : NULL;
        if (columns[c].of & of && columns[c].needed && !field) /* what stands behind it cannot be trusted */
            return complain(reading, &fields[ll_min(reading->place[c], count - 1)],
                            reading->products ? "expected name, m, n, k"
                                              : "expected name, ifmap height and width, filter height and "
                                                "width, channels, filters, stride");
    }
    for (size_t c = 0; c < COLUMNS; c++) {
        const struct ll_csv_field *field = columns[c].of & of ? field_of(reading, fields, count, c) : NULL;
        bool note =
            c == STRIDE_W && !(reading->told >> c & 1) && field && !is_number(trimmed(reading, field));
        if (field && c != SPARSITY && !note)
            fine &= read_number(reading, field, columns[c].title, &v[c]);
    }
    if (!fine)
        return false;
    struct ll_scalesim_layer layer = {.batch = v[BATCH]};
    const struct ll_csv_field *behind = look_behind(reading, fields, count),
                              *sparsity = field_of(reading, fields, count, SPARSITY);
    if (!read_sparsity(reading, sparsity ? sparsity : behind, &layer))
        return false;
    if (reading->products) {
        layer.in_h = v[M];
        layer.in_w = layer.filter_w = v[K];
        layer.filter_h = layer.channels = layer.stride_h = layer.stride_w = 1;
        layer.filters = v[N];
        return add_layer(reading, fields, count, layer);
    }
    if (v[STRIDE_W] == 0)
        v[STRIDE_W] = v[STRIDE_H];
    bool named = reading->told >> STRIDE_W & 1;
    if (!named && reading->place[STRIDE_W] + 1 == count && v[STRIDE_W] != v[STRIDE_H])
        return complain(reading, &fields[reading->place[STRIDE_W]],
                        "SCALE-Sim drops a field without a comma behind it, and would take the other stride; "
                        "end the row with a comma");
    if (!fits_in(reading, fields, v, FILTER_H, IN_H) || !fits_in(reading, fields, v, FILTER_W, IN_W))
        return false;
    layer.in_h = v[IN_H];
    layer.in_w = v[IN_W];
    layer.filter_h = v[FILTER_H];
    layer.filter_w = v[FILTER_W];
    layer.channels = v[CHANNELS];
    layer.filters = v[FILTERS];
    layer.stride_h = v[STRIDE_H];
    layer.stride_w = v[STRIDE_W];
    return add_layer(reading, fields, count, layer);
}

enum { LONGEST = 24 };

/* Letters and digits of a name of a header, the letters small. */
static void plain_name(const char *name, size_t length, char letters[LONGEST])
{
    size_t kept = 0;
    for (size_t i = 0; i < length; i++)
        if (isalnum((unsigned char)name[i]) && kept + 1 < LONGEST)
            letters[kept++] = (char)tolower((unsigned char)name[i]);
    letters[kept] = '\0';
}

/* Where the layers' names stand: in the first field, unless the header says otherwise. */
static size_t find_name(const struct ll_csv_field *fields, size_t count)
{
    char letters[LONGEST];
    for (size_t i = 0; i < count; i++) {
        plain_name(fields[i].text, strlen(fields[i].text), letters);
        if (strcmp(letters, "layername") == 0 || strcmp(letters, "layer") == 0 ||
            strcmp(letters, "name") == 0)
            return i;
    }
    return 0;
}

/* The column that a name of a header means, of these topologies; COLUMNS when it is not known. */
static size_t column_named(const char *name, size_t length, int of)
{
    char letters[LONGEST];
    plain_name(name, length, letters);
    for (size_t c = 0; c < COLUMNS; c++)
        for (size_t i = 0; columns[c].of & of && columns[c].names[i]; i++)
            if (strcmp(columns[c].names[i], letters) == 0)
                return c;
    return COLUMNS;
}

/* Where the columns stand: by name, and, where nobody has the place that SCALE-Sim gives a needed one, there.
 * Names that are not known are noted. */
static void read_header(struct reading *reading, const struct ll_csv_field *fields, size_t count)
{
    const int of = reading->products ? PRODUCTS : CONVS;
    size_t *owner = ll_alloc(reading->arena, count + COLUMNS, sizeof *owner); /* of a place: 1 + column */
    if (!owner) {
        reading->failed = true;
        return;
    }
    reading->name_place = count > 0 ? find_name(fields, count) : 0;
    for (size_t c = 0; c < COLUMNS; c++)
        reading->place[c] = NOWHERE;
    for (size_t i = 0; i < count; i++) {
        size_t column =
            i == reading->name_place ? COLUMNS : column_named(fields[i].text, strlen(fields[i].text), of);
        if (column < COLUMNS && reading->place[column] != NOWHERE)
            complain(reading, &fields[i], "there are two columns of this name");
        if (column < COLUMNS) {
            owner[reading->place[column] = i] = 1 + column;
            reading->told |= 1u << column;
        }
        if (trimmed(reading, &fields[i])[0])
            reading->named = i + 1;
    }
    for (size_t c = 0; c < COLUMNS; c++) {
        size_t place = columns[c].place;
        bool unnamed = columns[c].needed || place >= count || !trimmed(reading, &fields[place])[0];
        if (columns[c].of & of && reading->place[c] == NOWHERE && place != NOWHERE && !owner[place] &&
            unnamed)
            owner[reading->place[c] = place] = 1 + c;
        if (columns[c].of & of && columns[c].needed && reading->place[c] == NOWHERE) {
            const char *what = ll_format(reading->arena, "there is no column for the %s", columns[c].title);
            complain(reading, &fields[0], what ? what : "a column is missing");
        }
    }
    for (size_t i = 0; i < count && reading->notes; i++) {
        const char *name = trimmed(reading, &fields[i]);
        struct ll_place place = ll_csv_place(&reading->csv, &fields[i]);
        if (i == reading->name_place)
            continue;
        if (!owner[i] && *name)
            ll_complain(reading->notes, place, "no column `%.40s` is known here; it is left out", name);
        else if (*name && !(reading->told >> (owner[i] - 1) & 1))
            ll_complain(reading->notes, place,
                        "no column `%.40s` is known here; by its place it is taken for the %s", name,
                        columns[owner[i] - 1].title);
    }
}

/* A row above the header that says what the file holds: it names no column, and no layer follows it. */
static bool is_title(struct reading *reading, const struct ll_csv_field *fields, size_t count)
{
    struct ll_csv ahead = reading->csv;
    for (size_t i = 0; i < count; i++)
        if (column_named(fields[i].text, strlen(fields[i].text), PRODUCTS | CONVS) < COLUMNS)
            return false;
    while ((fields = ll_csv_next(&ahead, &count)))
        if (!is_blank(reading, fields, count))
            return count < 2 || !is_number(trimmed(reading, &fields[1]));
    return false;
}

static void read_rows(struct reading *reading)
{
    const struct ll_csv_field *fields;
    size_t count;
    for (bool first = true; (fields = ll_csv_next(&reading->csv, &count));) {
        if (is_blank(reading, fields, count))
            continue;
        if (first && is_title(reading, fields, count))
            continue;
        bool header = first && (count < 2 || !is_number(trimmed(reading, &fields[1])));
        if (first)
            read_header(reading, fields, header ? count : 0);
        first = false;
        if (!header)
            read_row(reading, fields, count);
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

/* How many columns of these topologies alone the first line names. */
static size_t count_named(const char *text, size_t length, char sign, int of)
{
    const char *end = text + length, *start = text;
    size_t named = 0;
    while (text < end && isspace((unsigned char)*text))
        text++;
    for (bool line_end = false; text < end && !line_end; text++) {
        line_end = *text == '\n' || *text == '\r';
        if (*text != sign && !line_end && text + 1 < end)
            continue;
        size_t column = column_named(start, (size_t)(text + 1 - start), of);
        named += column < COLUMNS && columns[column].of == of;
        start = text + 1;
    }
    return named;
}

enum { LAYOUT_FIELDS = 21 };

/* Fields of this line that hold something; as many as a layout has where it names what lies within lines. */
static size_t count_fields(const char *line, size_t length)
{
    size_t fields = 0;
    bool filled = false;
    for (size_t i = 0; i < length; i++) {
        if (length - i >= 9 && strncasecmp(line + i, "intraline", 9) == 0)
            return LAYOUT_FIELDS;
        filled = line[i] != ',' && (filled || !isspace((unsigned char)line[i]));
        fields += filled && (i + 1 == length || line[i + 1] == ',');
    }
    return fields;
}

/* The first row may be a header that says nothing. */
bool ll_scalesim_is_layout(const char *text, size_t length)
{
    for (int row = 0; row < 2; row++) {
        const char *end = length ? memchr(text, '\n', length) : NULL;
        size_t line = end ? (size_t)(end - text) : length;
        if (count_fields(text, line) >= LAYOUT_FIELDS)
            return true;
        text += line + (end != NULL);
        length -= line + (end != NULL);
    }
    return false;
}

bool ll_scalesim_holds_products(const char *text, size_t length)
{
    size_t most = 0, fields = 0;
    bool filled = false;
    char sign = separator(text, length);
    size_t of_products = count_named(text, length, sign, PRODUCTS);
    if (of_products == 3 || count_named(text, length, sign, CONVS) > 0)
        return of_products == 3;
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
    return most > 1 && most <= columns[STRIDE_H].place;
}

/* Reads all rows even after a mistake, so that all are reported at once. */
const struct ll_scalesim_layer *ll_scalesim_read_topology(const char *text, size_t length, const char *name,
                                                          bool products, struct ll_arena *arena,
                                                          struct ll_diags *diags, struct ll_diags *notes,
                                                          size_t *count)
{
    assert(text || length == 0);
    struct reading *reading = ll_alloc(arena, 1, sizeof *reading);
    if (!reading)
        return NULL;
    *reading = (struct reading){.arena = arena, .products = products, .notes = notes};
    reading->csv = (struct ll_csv){.file = name, .arena = arena, .diags = diags};
    if (length && memchr(text, '\0', length)) {
        ll_complain(diags, (struct ll_place){.file = name}, "this is not text: it holds bytes of value zero");
        return NULL;
    }
    if (ll_scalesim_is_layout(text, length)) {
        ll_complain(diags, (struct ll_place){.file = name},
                    "this is a layout file, which says how tensors lie in buffers; expected a topology");
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

/* SCALE-Sim's topologies as traces: an op a layer, each behind the one before it, of one sample unless a
 * column tells the batch. A word is a byte there, so elements are int8 unless -p dtype=TYPE says otherwise.
 */

/* The filters, with the zeros that they have along what is summed over. */
static struct ll_imported filters_of(struct ll_series *series, enum ll_dtype dtype, unsigned rank,
                                     const uint64_t *dims, const struct ll_scalesim_layer *layer)
{
    struct ll_shape shape = {.rank = (uint8_t)rank, .dtype = (uint8_t)dtype};
    for (unsigned i = 0; i < rank; i++)
        shape.dim[i] = dims[i];
    if (layer->zeros.of > 0) {
        shape.kept = (uint8_t)layer->zeros.kept;
        shape.of = (uint8_t)layer->zeros.of;
        shape.along = (uint8_t)(rank - 2);
        shape.unstructured = layer->zeros.unstructured;
    }
    return ll_import_tensor(series->import, ll_memory_name(LL_WEIGHT), &shape, LL_WEIGHT);
}

/* The rows of all samples meet the same columns. */
static const char *record_product(struct ll_series *series, enum ll_dtype dtype,
                                  const struct ll_scalesim_layer *layer)
{
    const uint64_t a[] = {layer->batch * layer->in_h, layer->in_w}, b[] = {layer->filter_w, layer->filters};
    const struct ll_imported in[] = {ll_series_tensor(series, LL_INPUT, dtype, 2, a),
                                     filters_of(series, dtype, 2, b, layer)};
    return ll_series_record(series, &(struct ll_import_op){.kind = LL_OP_MATMUL, .in = in, .in_count = 2},
                            NULL);
}

/* What of the last window lies outside. */
static int64_t outside(uint64_t in, uint64_t filter, uint64_t stride)
{
    uint64_t reach = ll_add(ll_mul(ll_scalesim_windows(in, filter, stride) - 1, stride), filter);
    return reach > in ? (int64_t)(reach - in) : 0;
}

/* A depthwise layer is as many groups of one channel. */
static const char *record_conv(struct ll_series *series, enum ll_dtype dtype,
                               const struct ll_scalesim_layer *layer)
{
    const uint64_t image[] = {layer->batch, layer->in_h, layer->in_w, layer->channels * layer->copies};
    const uint64_t filter[] = {layer->filter_h, layer->filter_w, layer->channels,
                               layer->filters * layer->copies};
    const struct ll_attr attrs[] = {
        {.key = LL_ATTR_STRIDE_H, .count = (int64_t)layer->stride_h},
        {.key = LL_ATTR_STRIDE_W, .count = (int64_t)layer->stride_w},
        {.key = LL_ATTR_PAD_BOTTOM, .count = outside(layer->in_h, layer->filter_h, layer->stride_h)},
        {.key = LL_ATTR_PAD_RIGHT, .count = outside(layer->in_w, layer->filter_w, layer->stride_w)},
        {.key = LL_ATTR_GROUPS, .count = (int64_t)layer->copies}};
    const struct ll_imported in[] = {ll_series_tensor(series, LL_INPUT, dtype, 4, image),
                                     filters_of(series, dtype, 4, filter, layer)};
    return ll_series_record(
        series,
        &(struct ll_import_op){
            .kind = LL_OP_CONV2D, .in = in, .in_count = 2, .attrs = attrs, .attr_count = 5},
        NULL);
}

/* The batch that all layers have; 1 where they differ. */
static uint64_t batch_of(const struct ll_scalesim_layer *layers, size_t count)
{
    uint64_t batch = layers[0].batch;
    for (size_t i = 1; i < count; i++)
        batch = layers[i].batch == batch ? batch : 1;
    return batch;
}

static bool begin(struct ll_import *import, uint64_t batch, enum ll_dtype *dtype)
{
    if (!ll_series_dtype(import, LL_INT8, dtype))
        return false;
    ll_facts_add(&import->facts, "model", "%s", ll_import_stem(import, "scalesim"));
    ll_facts_add(&import->facts, "mode", "infer");
    ll_facts_add(&import->facts, "batch", "%" PRIu64, batch);
    ll_facts_add(&import->facts, "source", "SCALE-Sim topology");
    return ll_import_begin(import);
}

bool ll_import_SCALESIM(struct ll_import *import)
{
    const struct ll_input_file *input = &import->inputs[0];
    struct ll_series series = {.import = import};
    size_t count = 0, before = import->diags->count;
    enum ll_dtype dtype;
    if (import->input_count != 1)
        return ll_complain(import->diags, (struct ll_place){0}, "expected one topology");
    bool products = ll_scalesim_holds_products((const char *)input->bytes, input->size);
    const struct ll_scalesim_layer *layers =
        ll_scalesim_read_topology((const char *)input->bytes, input->size, input->path, products,
                                  &import->arena, import->diags, import->notes, &count);
    if (!layers)
        return import->diags->count > before ? false : ll_import_no_memory(import);
    if (!begin(import, batch_of(layers, count), &dtype))
        return false;
    for (size_t i = 0; i < count; i++) {
        series.scope = layers[i].name;
        const char *trouble = (products ? record_product : record_conv)(&series, dtype, &layers[i]);
        if (trouble)
            ll_complain(import->diags, (struct ll_place){.file = input->path, .line = layers[i].line},
                        "%s: %s", layers[i].name, trouble);
    }
    return import->diags->count == before;
}

/* The convolutions and GEMMs of a trace's first complete step as a topology of SCALE-Sim: convolutions, of
 * which products are a kind, so that one file has all of them. SCALE-Sim knows neither batches nor padding.
 * An image alone is a layer as it is, its padding part of it; several images, and the gradients of a
 * convolution, are the product that computes them. Where a product stands for several, as in the steps of a
 * recurrent layer, or a convolution has groups, there is a row for each; a depthwise convolution is one row
 * whose name has DP. */

/* Names hold no commas, and DP only where it means depthwise. */
static void add_name(struct ll_str *out, const struct ll_trace *trace, uint32_t op, bool depthwise)
{
    const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
    ll_str_addf(out, "%s%" PRIu32 "_", depthwise ? "DP" : "op", op);
    for (const char *at = trace->strings[signature->scope]; *at; at++) {
        char plain = isalnum((unsigned char)*at) ? *at : '_';
        ll_str_add_bytes(out, plain == 'P' ? "p" : &plain, 1);
    }
    ll_str_addf(out, "_%s, ", trace->strings[signature->kind_name]);
}

static void add_row(struct ll_str *out, const uint64_t numbers[8])
{
    for (int i = 0; i < 8; i++)
        ll_str_addf(out, "%" PRIu64 ", ", numbers[i]);
    ll_str_add(out, "\n");
}

/* An image of m x k under n filters of 1 x k, once for each of the batch. */
static bool add_product(struct ll_export *export, uint32_t op, const struct ll_gemm *gemm)
{
    const uint64_t numbers[] = {gemm->m, gemm->k, 1, gemm->k, 1, gemm->n, 1, 1};
    bool goes_on = true;
    for (uint64_t i = 0; goes_on && i < gemm->batch; i++) {
        add_name(&export->out, export->trace, op, false);
        add_row(&export->out, numbers);
        goes_on = ll_export_spill(export);
    }
    return goes_on;
}

/* The side that SCALE-Sim makes as many windows of: the image's own, or, with its padding, or without what no
 * window reaches, that which they cover. */
static uint64_t side(uint64_t in, uint64_t kernel, uint64_t stride, uint64_t out)
{
    bool same = in >= kernel && ll_scalesim_windows(in, kernel, stride) == out;
    return same ? in : ll_add(ll_mul(out - 1, stride), kernel);
}

static bool add_conv(struct ll_export *export, uint32_t op, const struct ll_conv *conv)
{
    bool depthwise = conv->groups > 1 && conv->groups == conv->in_c;
    if (conv->pass != LL_CONV_FORWARD || conv->batch != 1 || (conv->groups > 1 && !depthwise)) {
        const struct ll_gemm gemm = ll_conv_as_gemm(conv);
        return add_product(export, op, &gemm);
    }
    const uint64_t numbers[] = {side(conv->in_h, conv->kernel_h, conv->stride_h, conv->out_h),
                                side(conv->in_w, conv->kernel_w, conv->stride_w, conv->out_w),
                                conv->kernel_h,
                                conv->kernel_w,
                                conv->in_c,
                                conv->out_c / conv->groups,
                                conv->stride_h,
                                conv->stride_w};
    add_name(&export->out, export->trace, op, depthwise);
    add_row(&export->out, numbers);
    return ll_export_spill(export);
}

static bool export_layer(struct ll_export *export, uint32_t op, const struct ll_work *work)
{
    struct ll_gemm gemm = work->gemm;
    if (work->kind == LL_WORK_CONV)
        return add_conv(export, op, &work->conv);
    if (work->kind == LL_WORK_SEQUENCE) {
        gemm = work->sequence.step;
        gemm.batch = ll_mul(gemm.batch, work->sequence.steps);
    }
    return add_product(export, op, &gemm);
}

/* Whether the op multiplies matrices, and its work. */
static bool is_layer(const struct ll_trace *trace, uint32_t op, struct ll_work *work)
{
    const struct ll_op_view *view = &trace->signatures[trace->ops[op].signature].view;
    bool layer = view->kind != LL_OP_NONE && ll_op_lower(view, work) && work->flops > 0 && ll_is_gemm(work);
    if (layer)
        *work = ll_work_as_gemm(work);
    return layer;
}

/* A row for each convolution and GEMM of a typical step; a recurrent layer is one batched GEMM for all its
 * steps. */
bool ll_export_SCALESIM(struct ll_export *export)
{
    const struct ll_trace *trace = export->trace;
    bool goes_on = ll_export_ready(export);
    const struct ll_step step = ll_trace_typical_step(trace);
    uint32_t first = step.first_op,
             end = trace->step_count ? first + step.op_count : (uint32_t)trace->op_count;
    ll_str_add(&export->out, "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, "
                             "Num Filter, Stride Height, Stride Width,\n");
    bool any = false;
    struct ll_work work;
    for (uint32_t op = first; goes_on && op < end; op++)
        if (is_layer(trace, op, &work)) {
            any = true;
            goes_on = export_layer(export, op, &work);
        }
    if (goes_on && !any)
        return ll_complain(export->diags, (struct ll_place){0},
                           "a topology has GEMMs and convolutions alone, and a step has neither");
    return goes_on;
}
