/* SPDX-License-Identifier: Apache-2.0 */
/* The key reference: a table for each table of rows, as Markdown. */
#include "sim/machine/schema.h"

#include <float.h>
#include <string.h>

/* What may be written, with its bounds: "size, as 16GiB", "ws, os or is", "whole number, 1 to 65536". */
static void write_choices(struct ll_str *out, const struct ll_field *field)
{
    for (size_t i = 0; field->choices[i]; i++)
        ll_str_addf(out, "%s`%s`", i == 0 ? "" : field->choices[i + 1] ? ", " : " or ", field->choices[i]);
}

static void write_bounds(struct ll_str *out, const struct ll_field *field)
{
    bool named = field->type == LL_TYPE_QUANTITY || field->type == LL_TYPE_SIZE;
    const char *unit = field->unit ? field->unit : "";
    struct ll_quantity_text least =
        named ? ll_quantity_text(field->min, field->dimension) : ll_number_in(field->min, unit);
    struct ll_quantity_text most =
        named ? ll_quantity_text(field->max, field->dimension) : ll_number_in(field->max, unit);
    if (field->min == DBL_MIN)
        ll_str_addf(out, ", more than 0 to %s", most.text);
    else
        ll_str_addf(out, ", %s to %s", least.text, most.text);
}

/* To the table of that name: a heading's anchor has no blanks. */
static void write_link(struct ll_str *out, const char *what)
{
    ll_str_addf(out, ", see [%s](#keys-of-", what);
    for (; *what; what++)
        ll_str_add_bytes(out, *what == ' ' ? "-" : what, 1);
    ll_str_add(out, ")");
}

static void write_type(struct ll_str *out, const struct ll_field *field)
{
    if (field->choices) {
        write_choices(out, field);
        return;
    }
    if (field->type == LL_TYPE_QUANTITY || field->type == LL_TYPE_SIZE)
        ll_str_addf(out, "%s, as %s", ll_dimension_name(field->dimension),
                    ll_dimension_example(field->dimension));
    else
        ll_str_add(out, ll_types[field->type].name);
    if (field->table)
        write_link(out, field->table->what);
    else if (field->max > 0)
        write_bounds(out, field);
}

static void write_row(struct ll_str *out, const struct ll_field *field)
{
    ll_str_addf(out, "| `%s` | ", field->key);
    write_type(out, field);
    ll_str_addf(out, " | %s%s%s | %s |\n", field->otherwise ? "`" : "",
                field->required    ? "required"
                : field->otherwise ? field->otherwise
                                   : "",
                field->otherwise ? "`" : "", field->help);
}

static void write_table(struct ll_str *out, const struct ll_field_table *table)
{
    ll_str_addf(out, "\n### Keys of %s\n\n| key | value | default | meaning |\n|---|---|---|---|\n",
                table->what);
    for (size_t i = 0; i < table->count; i++)
        write_row(out, &table->fields[i]);
    for (size_t i = 0; i < table->variant_count; i++)
        write_table(out, table->variants[i]);
    for (size_t i = 0; i < table->count; i++)
        if (table->fields[i].table)
            write_table(out, table->fields[i].table);
}

static void write_models(struct ll_str *out)
{
    ll_str_add(out, "\n### Unit models\n\n");
#define LL_UNIT_MODEL(word, name, member, doc) ll_str_add(out, "- `" name "`: " doc "\n");
#include "sim/machine/unit_models.def"
#undef LL_UNIT_MODEL
}

static void write_dtypes(struct ll_str *out)
{
    ll_str_add(out, "\nDtypes:");
    for (int i = 0; i < LL_DTYPE_COUNT; i++)
        ll_str_addf(out, "%s `%s`", i ? "," : "", ll_dtype_name((enum ll_dtype)i));
    ll_str_add(out, ".\nOp classes:");
    for (int i = 0; i < LL_CLASS_COUNT; i++)
        ll_str_addf(out, "%s `%s`", i ? "," : "", ll_class_name((enum ll_op_class)i));
    ll_str_add(out, "; the kinds of each: `leadline ops`.\n");
}

void ll_machine_reference(struct ll_str *out)
{
    write_table(out, &ll_machine_table);
    write_models(out);
    write_dtypes(out);
}
