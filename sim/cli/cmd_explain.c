/* SPDX-License-Identifier: Apache-2.0 */
/* `leadline explain` and `leadline schema`: what words of the output mean, and what is in JSON documents. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "sim/cli/command.h"
#include "sim/cli/commands.h"
#include "sim/cli/serving_file.h"
#include "sim/machine/machine.h"
#include "sim/explore/space.h"
#include "sim/machine/schema.h"
#include "sim/parallel/plan.h"
#include "sim/report/schemas.h"
#include "sim/report/table.h"
#include "tracer/base/json.h"
#include "tracer/base/str.h"
#include "tracer/ir/ops.h"

/* Terms, then heads of columns and keys of JSON. */
static const struct term {
    const char *names; /* with `|` between them */
    const char *meaning;
} all_terms[] = {
#define LL_TERM(names, meaning) {names, meaning},
#include "sim/cli/terms.def"
#include "sim/cli/words.def"
#undef LL_TERM
};
enum { TERM_COUNT = sizeof all_terms / sizeof *all_terms };

static const struct term *find_term(const char *word)
{
    const size_t length = strlen(word);
    for (size_t i = 0; i < TERM_COUNT; i++)
        for (const char *at = all_terms[i].names; *at;) {
            size_t name = strcspn(at, "|");
            if (name == length && strncmp(at, word, length) == 0)
                return &all_terms[i];
            at += name + (at[name] == '|');
        }
    return NULL;
}

/* What one page says: the same as text and as JSON. */
struct page {
    struct ll_str out;
    struct ll_json json;
    bool as_json;
    uint64_t count;
};

static void add_meaning(struct page *page, const char *names, const char *meaning)
{
    page->count++;
    if (page->as_json) {
        ll_json_open_object(&page->json);
        ll_json_put_text(&page->json, "term", names);
        ll_json_put_text(&page->json, "meaning", meaning);
        ll_json_close_object(&page->json);
        return;
    }
    struct ll_str line = {0};
    ll_str_add(&line, LL_MARK_VALUE);
    for (; *names; names++)
        ll_str_addf(&line, *names == '|' ? ", " : "%c", *names);
    ll_wrap_behind(&page->out, 0, line.text ? line.text : "", 0, ll_screen_width());
    ll_wrap(&page->out, meaning, ll_screen_width());
    ll_str_release(&line);
}

/* A key of machine files, by its name or at the end of a path: in each table that has it. */
static void add_machine_key(void *context, const char *table, const char *key, const char *meaning)
{
    struct ll_str text = {0};
    ll_str_addf(&text, "Key of %s in machine files: %s.", table, meaning);
    add_meaning(context, key, text.text ? text.text : "");
    ll_str_release(&text);
}

static void add_op_kind(struct page *page, const char *word)
{
    const enum ll_op_kind kind = ll_op_find(word);
    struct ll_str text = {0};
    if (kind == LL_OP_NONE)
        return;
    ll_str_addf(&text, "An op kind of class %s; leadline ops %s has its rules.",
                ll_class_name(ll_op_class(kind)), word);
    add_meaning(page, word, text.text ? text.text : "");
    ll_str_release(&text);
}

/* Says that there is no such word, and the nearest one. */
static int reject_word(const struct ll_args *args)
{
    size_t count = 0;
    const char **names = ll_alloc(args->arena, 1024, sizeof *names);
    for (size_t i = 0; names && i < TERM_COUNT; i++)
        for (const char *at = all_terms[i].names; *at && count < 1024;) {
            size_t length = strcspn(at, "|");
            names[count++] = ll_format(args->arena, "%.*s", (int)length, at);
            if (!names[count - 1])
                return ll_cli_fail("memory ran out");
            at += length + (at[length] == '|');
        }
    return names ? ll_cli_reject_unknown("word", args->words[0], names, count, "leadline explain")
                 : ll_cli_fail("memory ran out");
}

static int run_explain(const struct ll_args *args)
{
    struct page page = {.as_json = ll_flag(args, "json")};
    page.json = (struct ll_json){.out = &page.out, .indent = true};
    if (page.as_json) {
        ll_json_open_document(&page.json, "explain", 1);
        ll_json_key(&page.json, "terms");
        ll_json_open_list(&page.json);
    }
    if (args->word_count == 0) {
        for (size_t i = 0; i < TERM_COUNT; i++)
            add_meaning(&page, all_terms[i].names, all_terms[i].meaning);
    } else {
        const char *word = args->words[0], *dot = strrchr(word, '.');
        const struct term *term = find_term(word);
        if (term)
            add_meaning(&page, term->names, term->meaning);
        ll_machine_key_meanings(dot ? dot + 1 : word, add_machine_key, &page);
        add_op_kind(&page, word);
    }
    if (page.count == 0) {
        ll_str_release(&page.out);
        return reject_word(args);
    }
    if (page.as_json) {
        ll_json_close_list(&page.json);
        ll_json_close_object(&page.json);
    }
    return ll_print(&page.out);
}

const struct ll_command ll_command_explain = {
    .name = "explain",
    .rows = "terms",
    .synopsis = "[TERM]",
    .summary = "explain a word of the output",
    .examples = "  leadline explain\n  leadline explain dependency\n",
    .most_words = 1,
    .run = run_explain,
};

/* `leadline schema`: the documents that --json prints, and what is in each. */

static const char *meaning_of_key(const char *key)
{
    const struct term *term = find_term(key);
    return term ? term->meaning : NULL;
}

static int list_schemas(const struct ll_args *args)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    struct ll_table *table = ll_table_new("document|>version|printed by");
    bool as_json = ll_flag(args, "json");
    if (as_json) {
        ll_json_open_document(&json, "schemas", 1);
        ll_json_key(&json, "schemas");
        ll_json_open_list(&json);
    }
    for (const struct ll_schema *schema = ll_schemas(); schema->name; schema++) {
        if (!as_json) {
            ll_table_row(table, "%s|%u|leadline %s", schema->name, schema->version, schema->command);
            continue;
        }
        ll_json_open_object(&json);
        ll_json_put_text(&json, "name", schema->name);
        ll_json_put_count(&json, "version", schema->version);
        ll_json_put_text(&json, "command", schema->command);
        ll_json_close_object(&json);
    }
    if (as_json) {
        ll_json_close_list(&json);
        ll_json_close_object(&json);
        ll_table_free(table);
    } else {
        ll_show_table(table, &out);
    }
    return ll_print(&out);
}

/* Schemas of files that people write, for editors (draft 7, which these know). */

static void open_file_schema(const char *title, struct ll_json *json)
{
    ll_json_open_object(json);
    ll_json_put_text(json, "$schema", "http://json-schema.org/draft-07/schema#");
    ll_json_put_text(json, "title", title);
    ll_json_put_text(json, "type", "object");
    ll_json_put_bool(json, "additionalProperties", false);
}

static void plan_file_schema(struct ll_json *json)
{
    open_file_schema("a plan of Leadline: sim --plan FILE", json);
    ll_json_key(json, "properties");
    ll_json_open_object(json);
    for (size_t i = 0; i < ll_plan_key_count(); i++) {
        const struct ll_plan_key key = ll_plan_key_at(i);
        bool counts = key.value && strlen(key.value) == 1; /* N, V, Z */
        ll_json_key(json, key.key);
        ll_json_open_object(json);
        if (!key.value || counts)
            ll_json_put_text(json, "type", counts ? "integer" : "boolean");
        ll_json_put_text(json, "description", key.help);
        ll_json_close_object(json);
    }
    ll_json_close_object(json);
    ll_json_close_object(json);
}

static void sweep_file_schema(struct ll_json *json)
{
    struct ll_space_key key;
    open_file_schema("a sweep of Leadline: leadline sweep FILE", json);
    ll_json_key(json, "properties");
    ll_json_open_object(json);
    for (size_t i = 0; ll_space_key_at(i, &key); i++) {
        ll_json_key(json, key.key);
        ll_json_open_object(json);
        if (key.type)
            ll_json_put_text(json, "type", key.type);
        ll_json_put_text(json, "description", key.help);
        ll_json_close_object(json);
    }
    ll_json_close_object(json);
    ll_json_key(json, "required");
    ll_json_open_list(json);
    for (size_t i = 0; ll_space_key_at(i, &key); i++)
        if (key.required)
            ll_json_text(json, key.key);
    ll_json_close_list(json);
    ll_json_close_object(json);
}

static void serve_file_schema(struct ll_json *json)
{
    open_file_schema("a server under load: leadline serve --settings FILE", json);
    ll_json_key(json, "properties");
    ll_json_open_object(json);
    ll_serving_file_schema(json);
    ll_json_close_object(json);
    ll_json_close_object(json);
}

static const struct {
    const char *name;
    void (*write)(struct ll_json *json);
} file_schemas[] = {{"machine", ll_machine_file_schema},
                    {"plan_file", plan_file_schema},
                    {"sweep_file", sweep_file_schema},
                    {"serve_file", serve_file_schema}};
enum { FILE_SCHEMAS = sizeof file_schemas / sizeof *file_schemas };

const char *ll_file_schema_name(size_t i)
{
    return i < FILE_SCHEMAS ? file_schemas[i].name : NULL;
}

static int run_schema(const struct ll_args *args)
{
    enum { MOST = 64 };
    const char *names[MOST];
    size_t count = 0;
    if (args->word_count == 0)
        return list_schemas(args);
    for (size_t i = 0; i < FILE_SCHEMAS; i++) {
        names[count++] = file_schemas[i].name;
        if (strcmp(file_schemas[i].name, args->words[0]) == 0) {
            struct ll_str out = {0};
            file_schemas[i].write(&(struct ll_json){.out = &out, .indent = true});
            return ll_print_data(&out);
        }
    }
    for (const struct ll_schema *schema = ll_schemas(); schema->name && count < MOST; schema++) {
        names[count++] = schema->name;
        if (strcmp(schema->name, args->words[0]) != 0)
            continue;
        struct ll_str out = {0};
        struct ll_json json = {.out = &out, .indent = true};
        ll_schema_json(schema, meaning_of_key, &json);
        return ll_print_data(&out);
    }
    return ll_cli_reject_unknown("document", args->words[0], names, count, "leadline schema");
}

const struct ll_command ll_command_schema = {
    .name = "schema",
    .rows = "schemas",
    .cuts_tables = true,
    .synopsis = "[DOCUMENT | machine | plan_file | sweep_file | serve_file]",
    .summary = "print the JSON Schema of what --json prints, or of files that people write",
    .examples = "  leadline schema\n  leadline schema sim > sim.schema.json\n"
                "  leadline schema machine > machine.schema.json\n",
    .details =
        "machine, plan_file, sweep_file and serve_file are the schemas of files that people write: an "
        "editor that knows yaml-language-server completes and checks keys by them, where a line of the "
        "file names one: # yaml-language-server: $schema=machine.schema.json\n"
        "Every document begins with its name, `schema`, and a `version`, which grows when a reader of "
        "the one "
        "before would misread it; new keys alone do not change it.\n"
        "Two outputs are no such documents: a dump is JSON lines, one op each, and machines NAME "
        "--json is the "
        "machine itself, with the keys that machines --keys lists.",
    .most_words = 1,
    .run = run_schema,
};
