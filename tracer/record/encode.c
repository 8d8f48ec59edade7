/* SPDX-License-Identifier: Apache-2.0 */
/* Interning and encoding: the first section gives each distinct form and links a number, the second turns
 * tables and waiting ops into the columns of frames. */
#include "tracer/record/encode.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/format/format.h"
#include "tracer/ir/trace.h"

/* A form and its links are interned as packed keys. The comparisons read a key and the record side by side,
 * which is much cheaper than packing and hashing the record: a training loop is guessed right nearly always.
 */

void ll_tables_release(struct ll_tables *tables)
{
    ll_map_release(&tables->strings);
    ll_map_release(&tables->descs);
    ll_map_release(&tables->signatures);
    ll_map_release(&tables->edges);
    free(tables->counts);
    free(tables->tensors);
    ll_bytes_release(&tables->key);
    free(tables->shapes);
    *tables = (struct ll_tables){0};
}

static struct ll_signature_key signature_key(const struct ll_record *record)
{
    return (struct ll_signature_key){record->kind,        record->phase,        record->scope,
                                     record->input_count, record->output_count, record->attr_count};
}

static struct ll_links_key links_key(const struct ll_record *record)
{
    return (struct ll_links_key){record->input_count, record->control_count, record->storage_count,
                                 record->gap_count};
}

static inline uint32_t desc_of(const struct ll_tables *tables, uint32_t tensor)
{
    assert(tensor < tables->tensor_count);
    return tables->tensors[tensor] & ~LL_BROUGHT;
}

bool ll_tables_has_signature(const struct ll_tables *tables, uint32_t signature,
                             const struct ll_record *record)
{
    assert(signature < tables->signatures.count);
    const struct ll_signature_key *key = tables->signatures.entries[signature].bytes,
                                  wanted = signature_key(record);
    size_t attr_bytes = wanted.attr_count * sizeof *record->attrs;
    if (memcmp(key, &wanted, sizeof wanted) != 0 ||
        (attr_bytes && memcmp(ll_signature_key_attrs(key), record->attrs, attr_bytes) != 0))
        return false;
    const uint32_t *outputs = ll_signature_key_outputs(key), *inputs = outputs + wanted.output_count;
    for (uint32_t i = 0; i < wanted.output_count; i++)
        if (outputs[i] != record->outputs[i])
            return false;
    for (uint32_t i = 0; i < wanted.input_count; i++)
        if (inputs[i] != desc_of(tables, record->inputs[i]))
            return false;
    return true;
}

/* As in struct ll_op_edges. */
static inline uint64_t link_to(const struct ll_tables *tables, uint32_t tensor, uint32_t first_output)
{
    return tables->tensors[tensor] & LL_BROUGHT ? 2 * (uint64_t)tensor + 1
                                                : 2 * (uint64_t)(first_output - tensor);
}

bool ll_tables_has_links(const struct ll_tables *tables, uint32_t edges, const struct ll_record *record,
                         uint32_t first_output, uint32_t op)
{
    assert(edges < tables->edges.count);
    const struct ll_links_key *key = tables->edges.entries[edges].bytes;
    const struct ll_links_key wanted = links_key(record);
    if (memcmp(key, &wanted, sizeof wanted) != 0)
        return false;
    const uint64_t *inputs = ll_links_key_inputs(key), *controls = inputs + key->input_count;
    for (uint32_t i = 0; i < record->input_count; i++)
        if (inputs[i] != link_to(tables, record->inputs[i], first_output))
            return false;
    for (uint32_t i = 0; i < record->control_count; i++)
        if (controls[i] != op - record->controls[i])
            return false;
    return true;
}

/* What the op table says of the signature: its counts, LL_NO_FIT where they do not fit. */
static bool count_signature(struct ll_tables *tables, const struct ll_record *record,
                            struct ll_signature_counts *counts)
{
    uint32_t inputs = record->input_count, outputs = record->output_count;
    if (tables->known) {
        *counts = *tables->known;
        return true;
    }
    if (!ll_grow(&tables->shapes, &tables->shape_capacity, (uint64_t)inputs + outputs + 1,
                 sizeof *tables->shapes))
        return false;
    for (uint32_t i = 0; i < inputs + outputs; i++) {
        uint32_t number = i < inputs ? desc_of(tables, record->inputs[i]) : record->outputs[i - inputs];
        tables->shapes[i] = ((const struct ll_tensor_desc *)tables->descs.entries[number].bytes)->shape;
    }
    const struct ll_op_view view = {record->kind,       inputs,         outputs,
                                    record->attr_count, tables->shapes, tables->shapes + inputs,
                                    record->attrs};
    const char *trouble = ll_signature_count(&view, counts);
    assert(!trouble);
    if (trouble)
        *counts = (struct ll_signature_counts){LL_NO_FIT, LL_NO_FIT, LL_NO_FIT};
    return true;
}

static bool fits(const struct ll_record *record)
{
    return record->input_count <= LL_MAX_OP_REFS && record->control_count <= LL_MAX_OP_REFS &&
           record->output_count <= LL_MAX_OP_REFS && record->attr_count <= LL_MAX_ATTRS;
}

/* Room for a key of so many bytes; NULL when memory ran out. */
static void *key_room(struct ll_tables *tables, size_t bytes)
{
    struct ll_bytes *key = &tables->key;
    if (!ll_grow(&key->data, &key->capacity, bytes, 1))
        return NULL;
    key->size = bytes;
    return key->data;
}

/* Packs the signature into a key, looks it up, and counts FLOPs and bytes when it is new. Called for a record
 * that was not guessed right, which is rare in a training loop. */
uint32_t ll_tables_signature(struct ll_tables *tables, const struct ll_record *record, enum ll_status *status)
{
    *status = fits(record) ? LL_NO_MEMORY : LL_TOO_LARGE;
    if (!fits(record))
        return LL_NO_ID;
    struct ll_signature_key *key =
        key_room(tables, sizeof *key + record->attr_count * sizeof *record->attrs +
                             (record->output_count + record->input_count) * sizeof *record->outputs);
    if (!key)
        return LL_NO_ID;
    *key = signature_key(record);
    struct ll_attr *attrs = (struct ll_attr *)(key + 1);
    uint32_t *outputs = (uint32_t *)(attrs + record->attr_count), *inputs = outputs + record->output_count;
    if (record->attr_count)
        memcpy(attrs, record->attrs, record->attr_count * sizeof *attrs);
    for (uint32_t i = 0; i < record->output_count; i++)
        outputs[i] = record->outputs[i];
    for (uint32_t i = 0; i < record->input_count; i++)
        inputs[i] = desc_of(tables, record->inputs[i]);
    bool is_new = false;
    uint32_t signature = ll_map_intern(&tables->signatures, key, tables->key.size, &is_new);
    if (!is_new)
        return signature;
    struct ll_signature_counts counts;
    if (!ll_grow(&tables->counts, &tables->count_capacity, signature + 1u, sizeof *tables->counts) ||
        !count_signature(tables, record, &counts))
        return LL_NO_ID;
    tables->counts[signature] = counts;
    *status = LL_TOO_LARGE;
    return ll_fits(counts.flops) && ll_fits(counts.bytes_read) && ll_fits(counts.bytes_written) ? signature
                                                                                                : LL_NO_ID;
}

uint32_t ll_tables_links(struct ll_tables *tables, const struct ll_record *record, uint32_t first_output,
                         uint32_t op, enum ll_status *status)
{
    *status = fits(record) ? LL_NO_MEMORY : LL_TOO_LARGE;
    if (!fits(record))
        return LL_NO_ID;
    struct ll_links_key *key =
        key_room(tables, sizeof *key + (record->input_count + record->control_count) * sizeof(uint64_t));
    if (!key)
        return LL_NO_ID;
    *key = links_key(record);
    uint64_t *inputs = (uint64_t *)(key + 1), *controls = inputs + record->input_count;
    for (uint32_t i = 0; i < record->input_count; i++)
        inputs[i] = link_to(tables, record->inputs[i], first_output);
    for (uint32_t i = 0; i < record->control_count; i++) {
        assert(record->controls[i] < op);
        controls[i] = op - record->controls[i];
    }
    return ll_map_intern(&tables->edges, key, tables->key.size, NULL);
}

bool ll_tables_add_tensors(struct ll_tables *tables, const uint32_t *descs, uint32_t count, uint32_t brought)
{
    uint64_t needed = tables->tensor_count + count;
    if (needed >= LL_NONE ||
        !ll_grow(&tables->tensors, &tables->tensor_capacity, needed, sizeof *tables->tensors))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        assert(descs[i] < tables->descs.count);
        tables->tensors[tables->tensor_count++] = descs[i] | brought;
    }
    return true;
}

/* One walk over the definitions fills a list for each column; the lists are then put in the order of their
 * tags. Ops are turned from rows into columns. */

bool ll_numbers_add(struct ll_numbers *numbers, uint64_t value)
{
    assert(numbers->count <= numbers->capacity);
    if (!ll_grow(&numbers->values, &numbers->capacity, numbers->count + 1, sizeof *numbers->values))
        return false;
    numbers->values[numbers->count++] = value;
    return true;
}

void ll_waiting_ops_release(struct ll_waiting_ops *rows)
{
    free(rows->ops);
    free(rows->brought_before.values);
    free(rows->brought_desc.values);
    free(rows->column);
    *rows = (struct ll_waiting_ops){0};
}

uint64_t ll_encode_facts(struct ll_bytes *out, const struct ll_fact *facts, uint64_t count)
{
    struct ll_numbers key_sizes = {0}, value_sizes = {0};
    struct ll_bytes text = {0};
    bool done = true;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t key_size = strlen(facts[i].key), value_size = strlen(facts[i].value);
        done = ll_numbers_add(&key_sizes, key_size) && ll_numbers_add(&value_sizes, value_size) && done;
        ll_put_bytes(&text, facts[i].key, key_size);
        ll_put_bytes(&text, facts[i].value, value_size);
    }
    ll_put_varint(out, LL_FRAME_FACTS);
    ll_put_column(out, LL_FACTS_KEY_SIZE, LL_PLAIN, key_sizes.values, key_sizes.count);
    ll_put_column(out, LL_FACTS_VALUE_SIZE, LL_PLAIN, value_sizes.values, value_sizes.count);
    ll_put_raw(out, LL_FACTS_TEXT, text.data, text.size);
    out->failed |= !done || text.failed;
    uint64_t weight = count * LL_WEIGHT_FACT + text.size;
    free(key_sizes.values);
    free(value_sizes.values);
    ll_bytes_release(&text);
    return weight;
}

/* The lists of a definitions frame, by tag. */
struct lists {
    struct ll_numbers of[LL_DEF_TAGS];
    struct ll_tables *tables;
    uint64_t weight;
    bool edges; /* whether some control is more than order */
    bool zeros; /* whether of some tensor some are known */
    bool failed;
};

static void add(struct lists *lists, enum ll_definitions_tag tag, uint64_t value)
{
    lists->failed |= !ll_numbers_add(&lists->of[tag], value);
}

static void add_name(struct lists *lists, enum ll_definitions_tag tag, const char *name)
{
    uint32_t string = ll_map_intern(&lists->tables->strings, name, strlen(name), NULL);
    lists->failed |= string == LL_NO_ID;
    add(lists, tag, string);
}

static void add_desc(struct lists *lists, const struct ll_tensor_desc *desc)
{
    add(lists, LL_DEF_DESC_NAME, desc->name);
    add_name(lists, LL_DEF_DESC_MEMORY, ll_memory_name((enum ll_memory_class)desc->memory));
    add_name(lists, LL_DEF_DESC_DTYPE, ll_dtype_name((enum ll_dtype)desc->shape.dtype));
    add(lists, LL_DEF_DESC_RANK, desc->shape.rank);
    for (unsigned i = 0; i < desc->shape.rank; i++) {
        add(lists, LL_DEF_DESC_DIM, desc->shape.dim[i]);
        add_name(lists, LL_DEF_DESC_ROLE, ll_role_name((enum ll_role)desc->shape.role[i]));
    }
    const struct ll_shape *shape = &desc->shape;
    add(lists, LL_DEF_DESC_ZEROS,
        (uint64_t)shape->scales << 32 | (uint64_t)shape->unstructured << 24 | (uint64_t)shape->along << 16 |
            (uint64_t)shape->of << 8 | (uint64_t)shape->kept);
    lists->zeros |= shape->of > 0 || shape->scales > 0;
    lists->weight += LL_WEIGHT_DESC;
}

static void add_attr(struct lists *lists, const struct ll_attr *attr)
{
    uint64_t bits;
    memcpy(&bits, &attr->count, sizeof bits);
    add_name(lists, LL_DEF_FORM_ATTR_KEY, ll_attr_name((enum ll_attr_key)attr->key));
    add(lists, LL_DEF_FORM_ATTR_VALUE, ll_attr_is_real((enum ll_attr_key)attr->key) ? bits : ll_zigzag(bits));
}

/* The values of one signature in the columns; names of kinds, phases and attributes become numbers of
 * strings, which are interned here where they are new. */
static void add_signature(struct lists *lists, const struct ll_signature_key *key,
                          const struct ll_signature_counts *counts)
{
    const struct ll_op_view view = {.kind = (enum ll_op_kind)key->kind,
                                    .input_count = key->input_count,
                                    .attr_count = key->attr_count,
                                    .attrs = ll_signature_key_attrs(key)};
    add_name(lists, LL_DEF_FORM_KIND, ll_op_name(view.kind));
    add_name(lists, LL_DEF_FORM_PHASE, ll_phase_name((enum ll_phase)key->phase));
    add(lists, LL_DEF_FORM_SCOPE, key->scope);
    add(lists, LL_DEF_FORM_INPUTS, key->input_count);
    add(lists, LL_DEF_FORM_OUTPUTS, key->output_count);
    add(lists, LL_DEF_FORM_ATTRS, key->attr_count);
    for (uint32_t i = 0; i < key->input_count; i++)
        add(lists, LL_DEF_FORM_INPUT, ll_signature_key_inputs(key)[i]);
    for (uint32_t i = 0; i < key->output_count; i++) {
        add(lists, LL_DEF_FORM_OUTPUT, ll_signature_key_outputs(key)[i]);
        uint32_t alias = ll_op_alias(&view, i);
        add(lists, LL_DEF_FORM_ALIAS, alias == LL_NONE ? 0 : alias + 1u);
    }
    for (uint32_t i = 0; i < key->attr_count; i++)
        add_attr(lists, &ll_signature_key_attrs(key)[i]);
    add(lists, LL_DEF_FORM_FLOPS, counts->flops);
    add(lists, LL_DEF_FORM_READ, counts->bytes_read);
    add(lists, LL_DEF_FORM_WRITTEN, counts->bytes_written);
    lists->weight += LL_WEIGHT_FORM + (uint64_t)LL_WEIGHT_ATTR * key->attr_count +
                     LL_WEIGHT_FORM_REF * ((uint64_t)key->input_count + key->output_count);
}

static void add_links(struct lists *lists, const struct ll_links_key *key)
{
    add(lists, LL_DEF_LINKS_INPUTS, key->input_count);
    add(lists, LL_DEF_LINKS_CONTROLS, key->control_count);
    add(lists, LL_DEF_LINKS_STORAGE, key->storage_count);
    add(lists, LL_DEF_LINKS_GAPS, key->gap_count);
    lists->edges |= key->storage_count || key->gap_count;
    for (uint32_t i = 0; i < key->input_count; i++)
        add(lists, LL_DEF_LINKS_INPUT, ll_links_key_inputs(key)[i]);
    for (uint32_t i = 0; i < key->control_count; i++)
        add(lists, LL_DEF_LINKS_CONTROL, ll_links_key_controls(key)[i]);
    lists->weight +=
        LL_WEIGHT_LINKS + LL_WEIGHT_LINKS_REF * ((uint64_t)key->input_count + key->control_count);
}

/* Numbers given in order of first sight grow slowly: their differences are small. */
static enum ll_encoding encoding_of(int tag)
{
    bool grows = tag == LL_DEF_DESC_NAME || tag == LL_DEF_FORM_SCOPE || tag == LL_DEF_FORM_INPUT ||
                 tag == LL_DEF_FORM_OUTPUT;
    return grows ? LL_DELTA : LL_PLAIN;
}

static void put_lists(struct ll_bytes *out, struct lists *lists, const struct ll_bytes *text)
{
    ll_put_varint(out, LL_FRAME_DEFINITIONS);
    for (int tag = 1; tag < LL_DEF_TAGS; tag++) {
        if (tag == LL_DEF_TEXT)
            ll_put_raw(out, LL_DEF_TEXT, text->data, text->size);
        bool plain = ((tag == LL_DEF_LINKS_STORAGE || tag == LL_DEF_LINKS_GAPS) && !lists->edges) ||
                     (tag == LL_DEF_DESC_ZEROS && !lists->zeros);
        if (!plain)
            ll_put_column(out, (uint64_t)tag, encoding_of(tag), lists->of[tag].values, lists->of[tag].count);
        free(lists->of[tag].values);
    }
}

/* Strings are collected last, because encoding descs and forms interns the names that they need. */
uint64_t ll_encode_definitions(struct ll_bytes *out, struct ll_tables *tables,
                               const struct ll_written *written)
{
    assert(written->strings <= tables->strings.count && written->descs <= tables->descs.count);
    assert(written->signatures <= tables->signatures.count && written->edges <= tables->edges.count);
    struct lists lists = {.tables = tables};
    struct ll_bytes text = {0};
    add(&lists, LL_DEF_FIRST, written->strings);
    add(&lists, LL_DEF_FIRST, written->descs);
    add(&lists, LL_DEF_FIRST, written->signatures);
    add(&lists, LL_DEF_FIRST, written->edges);
    for (uint32_t i = written->descs; i < tables->descs.count; i++)
        add_desc(&lists, tables->descs.entries[i].bytes);
    for (uint32_t i = written->signatures; i < tables->signatures.count; i++)
        add_signature(&lists, tables->signatures.entries[i].bytes, &tables->counts[i]);
    for (uint32_t i = written->edges; i < tables->edges.count; i++)
        add_links(&lists, tables->edges.entries[i].bytes);
    for (uint32_t i = written->strings; i < tables->strings.count; i++) { /* last: the names came in above */
        const struct ll_map_entry *string = &tables->strings.entries[i];
        add(&lists, LL_DEF_STRING_SIZE, string->length);
        ll_put_bytes(&text, string->bytes, string->length);
        lists.weight += LL_WEIGHT_STRING + string->length;
    }
    put_lists(out, &lists, &text);
    out->failed |= lists.failed || text.failed;
    ll_bytes_release(&text);
    return lists.weight;
}

/* One member of each op as a column. */
#define PUT_MEMBER(out, tag, encoding, rows, member)                                                         \
    do {                                                                                                     \
        for (uint64_t i = 0; i < (rows)->count; i++)                                                         \
            (rows)->column[i] = (rows)->ops[i].member;                                                       \
        ll_put_column(out, tag, encoding, (rows)->column, (rows)->count);                                    \
    } while (0)

static void put_gaps(struct ll_bytes *out, const struct ll_waiting_ops *rows, uint64_t base_ns)
{
    uint64_t end_ns[LL_TRACKS];
    for (int i = 0; i < LL_TRACKS; i++)
        end_ns[i] = base_ns;
    for (uint64_t i = 0; i < rows->count; i++) {
        const struct ll_waiting_op *op = &rows->ops[i];
        uint64_t *end = &end_ns[op->thread % LL_TRACKS];
        rows->column[i] = ll_zigzag(op->start_ns - *end);
        *end = op->start_ns + op->duration_ns;
    }
    ll_put_column(out, LL_OPS_GAP, LL_PLAIN, rows->column, rows->count);
}

static void put_output_counts(struct ll_bytes *out, const struct ll_tables *tables,
                              const struct ll_waiting_ops *rows)
{
    for (uint64_t i = 0; i < rows->count; i++) {
        const struct ll_signature_key *key = tables->signatures.entries[rows->ops[i].signature].bytes;
        rows->column[i] = key->output_count;
    }
    ll_put_column(out, LL_OPS_OUTPUTS, LL_PLAIN, rows->column, rows->count);
}

uint64_t ll_encode_ops(struct ll_bytes *out, const struct ll_tables *tables, struct ll_waiting_ops *rows)
{
    assert(rows->count <= LL_MAX_FRAME_OPS);
    assert(rows->count > 0 || rows->brought_desc.count > 0);
    assert(rows->brought_before.count == rows->brought_desc.count);
    const uint64_t base_ns = rows->count ? rows->ops[0].start_ns : 0;
    const uint64_t first[] = {rows->first_op, rows->first_tensor, base_ns};
    if (!ll_grow(&rows->column, &rows->column_capacity, rows->count, sizeof *rows->column)) {
        out->failed = true;
        return 0;
    }
    ll_put_varint(out, LL_FRAME_OPS);
    ll_put_column(out, LL_OPS_FIRST, LL_PLAIN, first, 3);
    PUT_MEMBER(out, LL_OPS_FORM, LL_DELTA, rows, signature);
    PUT_MEMBER(out, LL_OPS_LINKS, LL_DELTA, rows, edges);
    PUT_MEMBER(out, LL_OPS_STEP, LL_PLAIN, rows, step);
    PUT_MEMBER(out, LL_OPS_THREAD, LL_PLAIN, rows, thread);
    put_output_counts(out, tables, rows);
    put_gaps(out, rows, base_ns);
    PUT_MEMBER(out, LL_OPS_DURATION, LL_PLAIN, rows, duration_ns);
    ll_put_column(out, LL_OPS_BROUGHT_BEFORE, LL_DELTA, rows->brought_before.values,
                  rows->brought_before.count);
    ll_put_column(out, LL_OPS_BROUGHT_DESC, LL_DELTA, rows->brought_desc.values, rows->brought_desc.count);
    uint64_t tensors = tables->tensor_count - rows->first_tensor;
    return rows->count * LL_WEIGHT_OP + rows->refs * LL_WEIGHT_OP_REF + tensors * LL_WEIGHT_TENSOR;
}

/* One number of each step as a column. */
static void put_steps(struct ll_bytes *out, enum ll_steps_tag tag, enum ll_encoding encoding,
                      const struct ll_step *steps, uint64_t count,
                      uint64_t (*number)(const struct ll_step *step))
{
    struct ll_numbers numbers = {0};
    for (uint64_t i = 0; i < count; i++)
        out->failed |= !ll_numbers_add(&numbers, number(&steps[i]));
    ll_put_column(out, tag, encoding, numbers.values, numbers.count);
    free(numbers.values);
}

static uint64_t first_op(const struct ll_step *step)
{
    return step->first_op;
}

static uint64_t op_count(const struct ll_step *step)
{
    return step->op_count;
}

static uint64_t start(const struct ll_step *step)
{
    return step->start_ns;
}

static uint64_t wall(const struct ll_step *step)
{
    return step->wall_ns;
}

static uint64_t recording(const struct ll_step *step)
{
    return step->recording_ns;
}

static uint64_t partial(const struct ll_step *step)
{
    return !step->complete;
}

uint64_t ll_encode_steps(struct ll_bytes *out, enum ll_frame_kind kind, const struct ll_step *steps,
                         uint64_t first, uint64_t count)
{
    assert(kind == LL_FRAME_STEPS || kind == LL_FRAME_CUTS);
    assert(count > 0);
    ll_put_varint(out, kind);
    ll_put_column(out, LL_STEPS_FIRST, LL_PLAIN, &first, 1);
    put_steps(out, LL_STEPS_FIRST_OP, LL_DELTA, steps, count, first_op);
    put_steps(out, LL_STEPS_OPS, LL_PLAIN, steps, count, op_count);
    put_steps(out, LL_STEPS_START, LL_DELTA, steps, count, start);
    put_steps(out, LL_STEPS_WALL, LL_PLAIN, steps, count, wall);
    put_steps(out, LL_STEPS_RECORDING, LL_PLAIN, steps, count, recording);
    if (kind == LL_FRAME_CUTS)
        put_steps(out, LL_STEPS_PARTIAL, LL_PLAIN, steps, count, partial);
    return count * LL_WEIGHT_STEP;
}

uint64_t ll_encode_end(struct ll_bytes *out, uint64_t ops, uint64_t tensors, uint64_t steps)
{
    const uint64_t totals[] = {ops, tensors, steps};
    ll_put_varint(out, LL_FRAME_END);
    ll_put_column(out, LL_END_TOTALS, LL_PLAIN, totals, 3);
    return 0;
}
