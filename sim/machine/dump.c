/* SPDX-License-Identifier: Apache-2.0 */
/* A resolved machine written out, as JSON and as YAML: one walk over the rows, two sets of verbs. */
#include "sim/machine/schema.h"
#include "sim/machine/steps.h"
#include "tracer/base/hash.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- JSON: quantities in base units, numbers in the unit that their key names --- */

static void json_open(void *out, enum ll_node_type type, bool short_one)
{
    (void)short_one;
    if (type == LL_NODE_MAP)
        ll_json_open_object(out);
    else
        ll_json_open_list(out);
}

static void json_close(void *out, enum ll_node_type type)
{
    if (type == LL_NODE_MAP)
        ll_json_close_object(out);
    else
        ll_json_close_list(out);
}

static void json_key(void *out, const char *key)
{
    ll_json_key(out, key);
}

static void json_text(void *out, const char *text)
{
    ll_json_text(out, text);
}

static void json_truth(void *out, bool value)
{
    ll_json_bool(out, value);
}

static void json_count(void *out, uint64_t value)
{
    ll_json_count(out, value);
}

static void json_quantity(void *out, double value, enum ll_dimension dimension)
{
    (void)dimension;
    ll_json_number(out, value);
}

static void json_number(void *out, double value, const char *unit)
{
    double in_unit;
    bool right = ll_number_parse(ll_number_in(value, unit).text, "", &in_unit);
    assert(right);
    ll_json_number(out, right ? in_unit : value);
}

static const struct ll_dump_verbs json_verbs = {json_open,  json_close, json_key,      json_text,  json_text,
                                                json_truth, json_count, json_quantity, json_number};

void ll_machine_json_keys(const struct ll_machine *machine, struct ll_json *json)
{
    struct ll_dump dump = {.verbs = &json_verbs, .out = json};
    ll_field_table_write(&ll_machine_table, machine, machine, &dump);
}

void ll_machine_json(const struct ll_machine *machine, struct ll_json *json)
{
    ll_json_open_object(json);
    ll_machine_json_keys(machine, json);
    ll_json_close_object(json);
}

bool ll_machine_hash(struct ll_machine *machine)
{
    struct ll_str text = {0};
    struct ll_json json = {.out = &text};
    struct ll_dump dump = {.verbs = &json_verbs, .out = &json, .results_only = true};
    ll_json_open_object(&json);
    ll_field_table_write(&ll_machine_table, machine, machine, &dump);
    ll_json_close_object(&json);
    machine->config_hash = ll_digest(text.text, text.length);
    bool right = !text.failed;
    ll_str_release(&text);
    return right;
}

/* --- YAML: a key a line, short lists and maps in brackets --- */

enum { YAML_DEPTH = 8 };

struct yaml_frame {
    enum ll_node_type type;
    bool brackets, has_items;
    unsigned column; /* where its lines begin */
};
struct yaml {
    struct ll_str *out;
    struct yaml_frame frames[YAML_DEPTH];
    unsigned depth;
    bool after_key;
};

static struct yaml_frame *top(struct yaml *yaml)
{
    assert(yaml->depth > 0);
    return &yaml->frames[yaml->depth - 1];
}

static void break_line(struct yaml *yaml, unsigned column)
{
    ll_str_addf(yaml->out, "\n%*s", (int)column, "");
}

/* What stands before the next key of a map or the next item of a list. */
static void separate(struct yaml *yaml)
{
    struct yaml_frame *frame = top(yaml);
    bool of_item = yaml->depth > 1 && frame[-1].type == LL_NODE_LIST; /* its first key stands behind "- " */
    if (frame->brackets)
        ll_str_add(yaml->out, frame->has_items ? ", " : "");
    else if (frame->type == LL_NODE_LIST)
        break_line(yaml, frame->column);
    else if (frame->has_items || (!of_item && yaml->depth > 1))
        break_line(yaml, frame->column);
    if (!frame->brackets && frame->type == LL_NODE_LIST)
        ll_str_add(yaml->out, "- ");
    frame->has_items = true;
}

/* What stands before a value. */
static void begin_value(struct yaml *yaml)
{
    if (yaml->after_key)
        ll_str_add(yaml->out, " ");
    else if (yaml->depth > 0)
        separate(yaml);
    yaml->after_key = false;
}

static void yaml_open(void *out, enum ll_node_type type, bool short_one)
{
    struct yaml *yaml = out;
    unsigned column = yaml->depth > 0 ? top(yaml)->column + 2 : 0;
    assert(yaml->depth < YAML_DEPTH);
    if (short_one || !yaml->after_key)
        begin_value(yaml);
    yaml->after_key = false;
    yaml->frames[yaml->depth++] = (struct yaml_frame){type, short_one, false, column};
    if (short_one)
        ll_str_add(yaml->out, type == LL_NODE_MAP ? "{" : "[");
}

static void yaml_close(void *out, enum ll_node_type type)
{
    struct yaml *yaml = out;
    if (top(yaml)->brackets)
        ll_str_add(yaml->out, type == LL_NODE_MAP ? "}" : "]");
    else if (!top(yaml)->has_items)
        ll_str_add(yaml->out, " {}"); /* only maps can be empty here: lists have items or are not written */
    yaml->depth--;
}

static void yaml_key(void *out, const char *key)
{
    struct yaml *yaml = out;
    separate(yaml);
    ll_str_addf(yaml->out, "%s:", key);
    yaml->after_key = true;
}

static void yaml_word(void *out, const char *word)
{
    struct yaml *yaml = out;
    begin_value(yaml);
    ll_str_add(yaml->out, word);
}

/* In double quotes. Texts hold no control characters but newline and tab (node.h). */
static void yaml_text(void *out, const char *text)
{
    struct yaml *yaml = out;
    begin_value(yaml);
    ll_str_add(yaml->out, "\"");
    for (; *text; text++) {
        const char *escape = *text == '\n' ? "\\n" : *text == '\t' ? "\\t" : *text == '"' ? "\\\"" : "\\\\";
        if (strchr("\n\t\"\\", *text))
            ll_str_add(yaml->out, escape);
        else
            ll_str_add_bytes(yaml->out, text, 1);
    }
    ll_str_add(yaml->out, "\"");
}

static void yaml_truth(void *out, bool value)
{
    yaml_word(out, value ? "true" : "false");
}

static void yaml_count(void *out, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    yaml_word(out, text);
}

static void yaml_quantity(void *out, double value, enum ll_dimension dimension)
{
    yaml_word(out, ll_quantity_text(value, dimension).text);
}

static void yaml_number(void *out, double value, const char *unit)
{
    yaml_word(out, ll_number_in(value, unit).text);
}

static const struct ll_dump_verbs yaml_verbs = {yaml_open,  yaml_close, yaml_key,      yaml_text,  yaml_word,
                                                yaml_truth, yaml_count, yaml_quantity, yaml_number};

void ll_machine_yaml(const struct ll_machine *machine, struct ll_str *out)
{
    struct yaml yaml = {.out = out};
    struct ll_dump dump = {.verbs = &yaml_verbs, .out = &yaml};
    yaml_open(&yaml, LL_NODE_MAP, false);
    ll_field_table_write(&ll_machine_table, machine, machine, &dump);
    yaml_close(&yaml, LL_NODE_MAP);
    ll_str_add(out, "\n");
}
