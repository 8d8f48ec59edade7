/* SPDX-License-Identifier: Apache-2.0 */
/* A form and its links are interned as packed keys. The comparisons read a key and the record side by side,
 * which is much cheaper than packing and hashing the record: a training loop is guessed right nearly always.
 */
#include "tracer/tables.h"

#include "tracer/form.h"
#include "tracer/format.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void ll_tables_release(struct ll_tables *tables)
{
    ll_map_release(&tables->strings);
    ll_map_release(&tables->descs);
    ll_map_release(&tables->forms);
    ll_map_release(&tables->links);
    free(tables->counts);
    free(tables->tensors);
    ll_bytes_release(&tables->key);
    free(tables->shapes);
    *tables = (struct ll_tables){0};
}

const struct ll_attr *ll_form_key_attrs(const struct ll_form_key *key)
{
    return (const struct ll_attr *)(key + 1);
}

const uint32_t *ll_form_key_outputs(const struct ll_form_key *key)
{
    return (const uint32_t *)(ll_form_key_attrs(key) + key->attr_count);
}

const uint32_t *ll_form_key_inputs(const struct ll_form_key *key)
{
    return ll_form_key_outputs(key) + key->output_count;
}

const uint64_t *ll_links_key_inputs(const struct ll_links_key *key)
{
    return (const uint64_t *)(key + 1);
}

const uint64_t *ll_links_key_controls(const struct ll_links_key *key)
{
    return ll_links_key_inputs(key) + key->input_count;
}

static struct ll_form_key form_key(const struct ll_record *record)
{
    return (struct ll_form_key){record->kind,        record->phase,        record->scope,
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

bool ll_tables_has_form(const struct ll_tables *tables, uint32_t form, const struct ll_record *record)
{
    const struct ll_form_key *key = tables->forms.entries[form].bytes, wanted = form_key(record);
    size_t attr_bytes = wanted.attr_count * sizeof *record->attrs;
    if (memcmp(key, &wanted, sizeof wanted) != 0 ||
        (attr_bytes && memcmp(ll_form_key_attrs(key), record->attrs, attr_bytes) != 0))
        return false;
    const uint32_t *outputs = ll_form_key_outputs(key), *inputs = outputs + wanted.output_count;
    for (uint32_t i = 0; i < wanted.output_count; i++)
        if (outputs[i] != record->outputs[i])
            return false;
    for (uint32_t i = 0; i < wanted.input_count; i++)
        if (inputs[i] != desc_of(tables, record->inputs[i]))
            return false;
    return true;
}

/* As in struct ll_links. */
static inline uint64_t link_to(const struct ll_tables *tables, uint32_t tensor, uint32_t first_output)
{
    return tables->tensors[tensor] & LL_BROUGHT ? 2 * (uint64_t)tensor + 1
                                                : 2 * (uint64_t)(first_output - tensor);
}

bool ll_tables_has_links(const struct ll_tables *tables, uint32_t links, const struct ll_record *record,
                         uint32_t first_output, uint32_t op)
{
    const struct ll_links_key *key = tables->links.entries[links].bytes;
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

/* What the op table says of the form: its counts, LL_NO_FIT where they do not fit. */
static bool count_form(struct ll_tables *tables, const struct ll_record *record,
                       struct ll_form_counts *counts)
{
    uint32_t inputs = record->input_count, outputs = record->output_count;
    if (!ll_grow(&tables->shapes, &tables->shape_capacity, (uint64_t)inputs + outputs + 1,
                 sizeof *tables->shapes))
        return false;
    for (uint32_t i = 0; i < inputs + outputs; i++) {
        uint32_t number = i < inputs ? desc_of(tables, record->inputs[i]) : record->outputs[i - inputs];
        tables->shapes[i] = ((const struct ll_desc *)tables->descs.entries[number].bytes)->shape;
    }
    const struct ll_op_view view = {record->kind,       inputs,         outputs,
                                    record->attr_count, tables->shapes, tables->shapes + inputs,
                                    record->attrs};
    const char *trouble = ll_form_count(&view, counts);
    assert(!trouble);
    if (trouble)
        *counts = (struct ll_form_counts){LL_NO_FIT, LL_NO_FIT, LL_NO_FIT};
    return true;
}

static bool fits(const struct ll_record *record)
{
    return record->input_count <= LL_MAX_OP_REFS && record->control_count <= LL_MAX_OP_REFS &&
           record->output_count <= LL_MAX_OP_REFS && record->attr_count <= LL_MAX_ATTRS;
}

uint32_t ll_tables_form(struct ll_tables *tables, const struct ll_record *record, enum ll_status *status)
{
    struct ll_bytes *key = &tables->key;
    struct ll_form_key head = form_key(record);
    key->size = 0;
    ll_put_bytes(key, &head, sizeof head);
    ll_put_bytes(key, record->attrs, record->attr_count * sizeof *record->attrs);
    ll_put_bytes(key, record->outputs, record->output_count * sizeof *record->outputs);
    for (uint32_t i = 0; i < record->input_count; i++) {
        uint32_t desc = desc_of(tables, record->inputs[i]);
        ll_put_bytes(key, &desc, sizeof desc);
    }
    bool is_new = false;
    *status = fits(record) ? LL_NO_MEMORY : LL_TOO_LARGE;
    if (key->failed || !fits(record))
        return LL_NO_ID;
    uint32_t form = ll_map_intern(&tables->forms, key->data, key->size, &is_new);
    if (!is_new)
        return form;
    struct ll_form_counts counts;
    if (!ll_grow(&tables->counts, &tables->count_capacity, form + 1u, sizeof *tables->counts) ||
        !count_form(tables, record, &counts))
        return LL_NO_ID;
    tables->counts[form] = counts;
    *status = LL_TOO_LARGE;
    return ll_fits(counts.flops) && ll_fits(counts.bytes_read) && ll_fits(counts.bytes_written) ? form
                                                                                                : LL_NO_ID;
}

uint32_t ll_tables_links(struct ll_tables *tables, const struct ll_record *record, uint32_t first_output,
                         uint32_t op, enum ll_status *status)
{
    struct ll_bytes *key = &tables->key;
    struct ll_links_key head = links_key(record);
    key->size = 0;
    ll_put_bytes(key, &head, sizeof head);
    for (uint32_t i = 0; i < record->input_count; i++) {
        uint64_t link = link_to(tables, record->inputs[i], first_output);
        ll_put_bytes(key, &link, sizeof link);
    }
    for (uint32_t i = 0; i < record->control_count; i++) {
        assert(record->controls[i] < op);
        uint64_t distance = op - record->controls[i];
        ll_put_bytes(key, &distance, sizeof distance);
    }
    *status = fits(record) ? LL_NO_MEMORY : LL_TOO_LARGE;
    if (key->failed || !fits(record))
        return LL_NO_ID;
    return ll_map_intern(&tables->links, key->data, key->size, NULL);
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
