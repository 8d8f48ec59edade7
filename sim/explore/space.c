/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a sweep file section by section. The first section reads the workloads; axes.c reads what varies;
 * the rest reads constraints, objectives and the search. */
#include "sim/explore/space.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/explore/database.h"
#include "tracer/base/file.h"
#include "tracer/transform/dtype.h"
#include "tracer/transform/rescale.h"

/* The sections `traces` and `models`: what the designs are to run.
 *
 *     traces: [alexnet.llt, gpt.llt]                    beside the sweep file, or where the program runs
 *     models: [resnet, {name: seq2seq, mode: infer, batch: 8, as: translator, units: 512}] */

static bool add(struct ll_space_reading *reading, struct ll_space_workload workload)
{
    struct ll_space *space = reading->space;
    if (space->workload_count == LL_MOST_WORKLOADS)
        return ll_complain(reading->diags, workload.place, "more than %d workloads", LL_MOST_WORKLOADS);
    for (size_t i = 0; i < space->workload_count; i++)
        if (!strcmp(space->workloads[i].name, workload.name))
            return ll_complain(reading->diags, workload.place, "two workloads are called `%s`%s",
                               ll_shown_text(workload.name).text,
                               workload.model ? "; give one another name with `as`" : "");
    workload.dtype = reading->dtype;
    workload.products = reading->products;
    workload.weights = reading->weights;
    workload.pruned = reading->pruned;
    workload.gaps = reading->gaps;
    space->workloads[space->workload_count++] = workload;
    return true;
}

static bool is_there(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file)
        fclose(file);
    return file != NULL;
}

/* Beside the sweep file, or as it is given. NULL after a complaint. */
static const char *find_file(struct ll_space_reading *reading, const struct ll_node *node)
{
    const char *slash = strrchr(reading->space->path, '/');
    int folder = slash && *node->text != '/' ? (int)(slash + 1 - reading->space->path) : 0;
    const char *beside = ll_format(reading->arena, "%.*s%s", folder, reading->space->path, node->text);
    const char *path = beside && is_there(beside) ? beside : node->text;
    if (beside && is_there(path))
        return path;
    ll_complain(reading->diags, node->place, "there is no file `%s` here", ll_shown_text(node->text).text);
    return NULL;
}

static bool read_trace(struct ll_space_reading *reading, const struct ll_node *node)
{
    if (!node->text || !*node->text)
        return ll_space_expected(reading, node, "the file of a trace");
    const char *path = find_file(reading, node);
    if (!path)
        return false;
    const char *name = ll_base_name(path);
    name = ll_copy_text(reading->arena, name, ll_stem_length(name));
    return name ? add(reading, (struct ll_space_workload){.name = name, .file = path, .place = node->place})
                : ll_space_no_memory(reading, node->place);
}

static bool read_each(struct ll_space_reading *reading, const struct ll_node *list, const char *what,
                      bool (*read)(struct ll_space_reading *, const struct ll_node *))
{
    bool right = true;
    if (list->type == LL_NODE_SCALAR)
        return read(reading, list);
    if (list->type != LL_NODE_LIST || list->count == 0)
        return ll_space_expected(reading, list, what);
    for (const struct ll_node *node = list->first; node; node = node->next)
        right &= read(reading, node);
    return right;
}

/* space.c: the sections `traces` and `models`, into the space. False after complaints. */
static bool space_read_traces(struct ll_space_reading *reading, const struct ll_node *traces)
{
    return read_each(reading, traces, "a list of trace files", read_trace);
}

/* `mode: infer`. */
static bool read_mode(struct ll_space_reading *reading, const struct ll_node *node,
                      struct ll_space_workload *workload)
{
    const struct ll_node *mode = ll_node_get(node, "mode");
    const char *text = mode ? mode->text : "train";
    workload->infer = text && !strcmp(text, "infer");
    return workload->infer || (text && !strcmp(text, "train")) ||
           ll_space_expected(reading, mode, "train or infer");
}

/* What is not said of all models is a parameter of this one. */
static bool read_settings(struct ll_space_reading *reading, const struct ll_node *node,
                          struct ll_space_workload *workload)
{
    bool right = true;
    workload->settings = ll_alloc(reading->arena, node->count, sizeof *workload->settings);
    if (!workload->settings)
        return ll_space_no_memory(reading, node->place);
    for (const struct ll_node *child = node->first; child; child = child->next) {
        if (!strcmp(child->key, "name") || !strcmp(child->key, "mode") || !strcmp(child->key, "as"))
            continue;
        if (!child->text || !*child->text)
            right = ll_space_expected(reading, child, "a value of the model's parameter");
        else
            workload->settings[workload->setting_count++] =
                (struct ll_space_setting){child->key, child->text};
    }
    return right;
}

static bool read_model(struct ll_space_reading *reading, const struct ll_node *node)
{
    struct ll_space_workload workload = {.place = node->place};
    const char *as = ll_node_get_text(node, "as");
    workload.model = node->text ? node->text : ll_node_get_text(node, "name");
    workload.name = as ? as : workload.model;
    if (!workload.model || !*workload.model || !*workload.name)
        return ll_space_expected(reading, node, "a model, or a map with its `name`");
    bool right = read_mode(reading, node, &workload);
    return read_settings(reading, node, &workload) && right && add(reading, workload);
}

static bool space_read_models(struct ll_space_reading *reading, const struct ll_node *models)
{
    return read_each(reading, models, "a list of models", read_model);
}

/* The section `serve`: options of leadline serve, by their names with _ or -. */
static bool read_serving(struct ll_space_reading *reading, const struct ll_node *node)
{
    struct ll_space_workload workload = {.place = node->place, .served = true};
    const char *as = node->type == LL_NODE_MAP ? ll_node_get_text(node, "as") : NULL;
    bool right = true;
    workload.model = node->type == LL_NODE_MAP ? ll_node_get_text(node, "model") : NULL;
    workload.name = as ? as : workload.model;
    if (!workload.model || !*workload.model || !*workload.name)
        return ll_space_expected(reading, node, "a map with a `model`, and options of leadline serve");
    if (!(workload.settings = ll_alloc(reading->arena, node->count, sizeof *workload.settings)))
        return ll_space_no_memory(reading, node->place);
    for (const struct ll_node *child = node->first; child; child = child->next) {
        if (!strcmp(child->key, "model") || !strcmp(child->key, "as"))
            continue;
        if (!child->text || !*child->text)
            right = ll_space_expected(reading, child, "a value of the option");
        else
            workload.settings[workload.setting_count++] = (struct ll_space_setting){child->key, child->text};
    }
    return right && add(reading, workload);
}

static bool space_read_servings(struct ll_space_reading *reading, const struct ll_node *servings)
{
    return servings->type == LL_NODE_LIST ? read_each(reading, servings, "a list of servings", read_serving)
                                          : read_serving(reading, servings);
}

/* A sweep file, section by section. No section stops at its first complaint, and none keeps the next from
 * being read. */

bool ll_space_no_memory(struct ll_space_reading *reading, struct ll_place place)
{
    return ll_complain(reading->diags, place, "memory ran out");
}

bool ll_space_expected(struct ll_space_reading *reading, const struct ll_node *node, const char *what)
{
    return ll_complain(reading->diags, node->place, "`%s`: expected %s", ll_node_shown(node).text, what);
}

bool ll_space_unknown_key(struct ll_space_reading *reading, const struct ll_node *child, const char *where,
                          const char *const *keys, size_t count)
{
    struct ll_near_words words = {.count = 0};
    for (size_t i = 0; i < count; i++)
        ll_near_words_add(&words, keys[i]);
    return ll_complain(reading->diags, child->key_place, "no key `%s` %s%s", ll_shown_text(child->key).text,
                       where, ll_suggest(reading->diags, child->key, &words));
}

void *ll_space_one_more(struct ll_space_reading *reading, void *items, size_t count, size_t size)
{
    if (count & (count - 1))
        return items;
    void *more = ll_alloc(reading->arena, count ? 2 * count : 1, size);
    if (more && count)
        memcpy(more, items, count * size);
    return more;
}

/* --- the sections --- */

static bool read_name(struct ll_space_reading *reading, const struct ll_node *node)
{
    if (!node->text || !*node->text)
        return ll_space_expected(reading, node, "a text");
    reading->space->name = node->text;
    return true;
}

static bool read_type(struct ll_space_reading *reading, const struct ll_node *node, enum ll_dtype *dtype)
{
    *dtype = node->text ? ll_dtype_find(node->text) : LL_DTYPE_COUNT;
    return *dtype < LL_DTYPE_COUNT || ll_space_expected(reading, node, "a dtype, such as bf16 or int8");
}

/* Read before the workloads, each of which takes it over. */
static bool read_dtype(struct ll_space_reading *reading, const struct ll_node *node)
{
    return read_type(reading, node, &reading->dtype);
}

/* The same of stored weights. */
static bool read_weights(struct ll_space_reading *reading, const struct ll_node *node)
{
    reading->weights = node->text ? ll_numeric_find(node->text) : LL_NUMERIC_NONE;
    return reading->weights != LL_NUMERIC_NONE ||
           ll_space_expected(reading, node, "a dtype or format, such as int8, int4_g128 or nvfp4");
}

/* The same of GEMMs and convolutions of weights. */
static bool read_gemm_dtype(struct ll_space_reading *reading, const struct ll_node *node)
{
    reading->products = node->text ? ll_numeric_find(node->text) : LL_NUMERIC_NONE;
    return (reading->products != LL_NUMERIC_NONE &&
            ll_dtype_is_multiplied(ll_numeric_dtype(reading->products))) ||
           ll_space_expected(reading, node,
                             "a floating-point type, as f8 or bf16, int8, int4, or a format, as nvfp4");
}

/* The same under its name of version 0.1. */
static bool read_products(struct ll_space_reading *reading, const struct ll_node *node)
{
    ll_remark(reading->diags, node->place, "key `products` is now `gemm_dtype`");
    return read_gemm_dtype(reading, node);
}

/* And the zeros of their weights. */
static bool read_pruned(struct ll_space_reading *reading, const struct ll_node *node)
{
    return (node->text && ll_sparsity_parse(node->text, &reading->pruned)) ||
           ll_space_expected(reading, node, LL_SPARSITY_WANTED);
}

/* And recorded time outside of ops. */
static bool read_gaps(struct ll_space_reading *reading, const struct ll_node *node)
{
    return (node->text && ll_gaps_parse(node->text, &reading->gaps)) ||
           ll_space_expected(reading, node, LL_GAPS_WANTED);
}

/* A machine beside the sweep file, or where -c finds it. */
static bool read_base(struct ll_space_reading *reading, const struct ll_node *node)
{
    struct ll_space *space = reading->space;
    const char *slash = strrchr(space->path, '/');
    if (!node->text || !*node->text)
        return ll_space_expected(reading, node, "a machine: a file, or a name that leadline machines lists");
    size_t before = reading->diags->count, length = slash ? (size_t)(slash - space->path) : 0;
    size_t folders = 0;
    while (space->folders[folders])
        folders++;
    const char **all = ll_alloc(reading->arena, folders + 2, sizeof *all);
    const char *own = slash ? ll_copy_text(reading->arena, space->path, length) : ".";
    if (!all || !own)
        return ll_space_no_memory(reading, node->place);
    all[0] = own;
    memcpy(all + 1, space->folders, folders * sizeof *all);
    space->folders = all;
    space->base = node->text;
    space->machine = ll_machine_read(space->base, all, NULL, 0, reading->diags);
    if (!space->machine && reading->diags->count > before)
        return ll_complain(reading->diags, node->place, "`%s`: this machine cannot be read",
                           ll_node_shown(node).text);
    reading->design = space->machine ? ll_design_new(space->base, all, reading->diags) : NULL;
    if (reading->design)
        reading->numbers = ll_machine_numbers(space->machine, reading->arena, &reading->number_count);
    return reading->design != NULL;
}

/* A list of texts, or one alone. */
static bool read_texts(struct ll_space_reading *reading, const struct ll_node *node, const char *what,
                       bool (*read)(struct ll_space_reading *, const struct ll_node *))
{
    bool right = true;
    if (node->type == LL_NODE_SCALAR && *node->text)
        return read(reading, node);
    if (node->type != LL_NODE_LIST || node->count == 0)
        return ll_space_expected(reading, node, what);
    for (const struct ll_node *child = node->first; child; child = child->next)
        right &= child->text && *child->text ? read(reading, child) : ll_space_expected(reading, child, what);
    return right;
}

static bool is_word(const char *text)
{
    while (isalnum((unsigned char)*text) || *text == '_')
        text++;
    return !*text;
}

static const char *section_of(enum ll_measure measure)
{
    switch (measure) {
    case LL_MEASURE_ENERGY:
    case LL_MEASURE_EDP:
    case LL_MEASURE_POWER:
    case LL_MEASURE_THROUGHPUT_PER_W:
        return "energy";
    case LL_MEASURE_AREA:
        return "area";
    case LL_MEASURE_PRICE:
        return "price";
    default:
        return NULL;
    }
}

static bool is_within(const char *path, const char *section)
{
    size_t length = strlen(section);
    return !strncmp(path, section, length) && (path[length] == '\0' || path[length] == '.');
}

/* In the base, or by what varies or follows. */
static bool is_described(const struct ll_space *space, const char *section)
{
    const struct ll_machine *base = space->machine;
    bool given = !strcmp(section, "energy") ? base->energy_given
                 : !strcmp(section, "area") ? base->area_given
                                            : ll_machine_has_making_price(base);
    for (size_t i = 0; i < space->axis_count; i++)
        given |= is_within(space->axes[i].path, section);
    for (size_t i = 0; i < space->coupled_count; i++)
        given |= is_within(space->coupled[i].name, section);
    return given;
}

struct looking {
    const struct ll_space *space;
    const char **missed; /* out: the section of one that is missing */
};

static bool is_missing(const void *context, uint32_t slot)
{
    const struct looking *looking = context;
    const struct ll_space *space = looking->space;
    const struct ll_named *named = &space->names[slot];
    if (named->kind == LL_NAMED_DEFINITION && space->definitions[named->index].lacks) {
        *looking->missed = space->definitions[named->index].lacks;
        return true;
    }
    const char *section = named->kind == LL_NAMED_MEASURE ? section_of((enum ll_measure)named->index) : NULL;
    if (!section || is_described(space, section))
        return false;
    *looking->missed = section;
    return true;
}

/* evaluate.c: the section of machines without which an expression has no value, whatever varies; NULL: none.
 * Each definition knows what it lacks already. */
static const char *space_missing_section(const struct ll_space *space, const struct ll_expression *expression)
{
    const char *section = NULL;
    const struct looking looking = {space, &section};
    return space->machine && ll_expression_has_none(expression, is_missing, &looking) ? section : NULL;
}

/* evaluate.c: whether some design may have a value of a constraint or an objective, which stands at the
 * node. False after complaining that the machines do not describe what it asks for. */
static bool space_is_described(struct ll_space_reading *reading, const struct ll_expression *expression,
                               bool constraint, const struct ll_node *node)
{
    const char *section = NULL;
    const struct looking looking = {reading->space, &section};
    if (!reading->space->machine || !(constraint ? ll_expression_fails(expression, is_missing, &looking)
                                                 : ll_expression_has_none(expression, is_missing, &looking)))
        return true;
    return ll_complain(reading->diags, node->place,
                       "`%s`: no design has such a number: the base has no section `%s`, and none varies",
                       ll_node_shown(node).text, section);
}

static bool add_definition(struct ll_space_reading *reading, struct ll_rule rule)
{
    struct ll_space *space = reading->space;
    uint32_t id = ll_map_intern(&reading->definition_names, rule.name, strlen(rule.name), NULL);
    if (id == LL_NO_ID)
        return ll_space_no_memory(reading, rule.place);
    assert(id == space->definition_count); /* no name stands in a map twice */
    rule.lacks = space_missing_section(space, rule.expression);
    space->definitions[space->definition_count++] = rule;
    return true;
}

/* `define`: expressions by name, each of which may use those above it. */
static bool read_definitions(struct ll_space_reading *reading, const struct ll_node *node)
{
    struct ll_space *space = reading->space;
    bool right = true;
    if (node->type != LL_NODE_MAP)
        return ll_space_expected(reading, node, "a map of names and expressions");
    space->definitions = ll_alloc(reading->arena, node->count, sizeof *space->definitions);
    if (!space->definitions)
        return ll_space_no_memory(reading, node->place);
    for (const struct ll_node *child = node->first; child; child = child->next) {
        struct ll_rule rule = {.name = child->key, .text = child->text, .place = child->place};
        const char *meaning = ll_space_meaning(reading, child->key);
        if (!is_word(child->key) || isdigit((unsigned char)*child->key))
            right =
                ll_complain(reading->diags, child->key_place,
                            "`%s`: expected a name of letters, digits and _", ll_shown_text(child->key).text);
        else if (meaning)
            right = ll_complain(reading->diags, child->key_place, "`%s` is %s already; choose another name",
                                child->key, meaning);
        else if (!child->text || !*child->text)
            right = ll_space_expected(reading, child, "an expression");
        else if ((rule.expression =
                      ll_space_expression(reading, rule.text, rule.place, false, space->definition_count)))
            right &= add_definition(reading, rule);
        else
            right = false;
    }
    return right;
}

static bool read_constraint(struct ll_space_reading *reading, const struct ll_node *node)
{
    struct ll_space *space = reading->space;
    struct ll_rule rule = {.text = node->text, .place = node->place};
    rule.expression = ll_space_expression(reading, rule.text, rule.place, false, space->definition_count);
    if (!rule.expression || !space_is_described(reading, rule.expression, true, node))
        return false;
    struct ll_rule *all =
        ll_space_one_more(reading, space->constraints, space->constraint_count, sizeof *all);
    if (!all)
        return ll_space_no_memory(reading, node->place);
    all[space->constraint_count++] = rule;
    space->constraints = all;
    return true;
}

static bool read_constraints(struct ll_space_reading *reading, const struct ll_node *node)
{
    return read_texts(reading, node, "a list of conditions, as [area_mm2 <= 400, memory.fits]",
                      read_constraint);
}

static bool is_wanted_already(const struct ll_space *space, const struct ll_objective_row *row)
{
    for (size_t i = 0; i < space->objective_count; i++)
        if (space->objectives[i].most == row->most && !strcmp(space->objectives[i].name, row->name))
            return true;
    return false;
}

static bool read_objective(struct ll_space_reading *reading, const struct ll_node *node)
{
    struct ll_space *space = reading->space;
    struct ll_objective_row row = {.text = node->text, .most = !strncmp(node->text, "max ", 4)};
    if (!row.most && strncmp(node->text, "min ", 4))
        return ll_space_expected(reading, node, "`min` or `max` and what of, as min time_s");
    if (space->objective_count == LL_MOST_OBJECTIVES)
        return ll_complain(reading->diags, node->place, "more than %d objectives", LL_MOST_OBJECTIVES);
    row.name = node->text + 4 + strspn(node->text + 4, " ");
    if (is_wanted_already(space, &row))
        return ll_complain(reading->diags, node->place, "`%s` is there twice", ll_node_shown(node).text);
    row.expression = ll_space_expression(reading, row.name, node->place, false, space->definition_count);
    if (!row.expression || !space_is_described(reading, row.expression, false, node))
        return false;
    space->objectives[space->objective_count++] = row;
    return true;
}

static bool read_objectives(struct ll_space_reading *reading, const struct ll_node *node)
{
    return read_texts(reading, node, "a list of objectives, as [min time_s, min energy_j]", read_objective);
}

/* --- search --- */

static const char *const search_names[] = {
#define LL_SEARCH(word, name, ...) name,
#include "sim/explore/searches.def"
#undef LL_SEARCH
};

static bool read_kind(struct ll_space_reading *reading, const struct ll_node *node)
{
    struct ll_near_words words = {.count = 0};
    for (size_t i = 0; i < LL_SEARCH_COUNT; i++) {
        if (node->text && !strcmp(node->text, search_names[i])) {
            reading->space->search.kind = (enum ll_search_kind)i;
            return true;
        }
        ll_near_words_add(&words, search_names[i]);
    }
    const char *wrong = node->text ? node->text : ll_node_type_name(node->type);
    return ll_complain(reading->diags, node->place, "no search `%s`%s", ll_shown_text(wrong).text,
                       ll_suggest(reading->diags, wrong, &words));
}

static bool read_search_count(struct ll_space_reading *reading, const struct ll_node *node, uint64_t least,
                              uint64_t *count)
{
    return !node || (node->text && ll_count_parse(node->text, count) && *count >= least) ||
           ll_space_expected(reading, node, least ? "a whole number from 1" : "a whole number");
}

static bool read_prune(struct ll_space_reading *reading, const struct ll_node *node, bool *prune)
{
    *prune = node && node->text && strcmp(node->text, "true") == 0;
    return !node || *prune || (node->text && strcmp(node->text, "false") == 0) ||
           ll_space_expected(reading, node, "true or false");
}

static bool read_search(struct ll_space_reading *reading, const struct ll_node *node)
{
    static const char *const keys[] = {"kind", "points", "seed", "prune"};
    enum { KEYS = sizeof keys / sizeof *keys };
    struct ll_sweep_search *search = &reading->space->search;
    bool right = true;
    if (node->type == LL_NODE_SCALAR)
        return read_kind(reading, node);
    if (node->type != LL_NODE_MAP)
        return ll_space_expected(reading, node,
                                 "a search, or a map with its `kind`, `points`, `seed` and `prune`");
    for (const struct ll_node *child = node->first; child; child = child->next) {
        size_t i = 0;
        while (i < KEYS && strcmp(child->key, keys[i]))
            i++;
        if (i == KEYS)
            right = ll_space_unknown_key(reading, child, "of a search", keys, KEYS);
    }
    const struct ll_node *kind = ll_node_get(node, "kind");
    right &= !kind || read_kind(reading, kind);
    right &= read_search_count(reading, ll_node_get(node, "points"), 1, &search->points);
    right &= read_prune(reading, ll_node_get(node, "prune"), &search->prune);
    right &= read_search_count(reading, ll_node_get(node, "seed"), 0, &search->seed);
    if (search->prune && !ll_has_bounds(reading->space))
        right = ll_complain(reading->diags, ll_node_get(node, "prune")->place,
                            "every objective needs a bound to leave points out by; time_s, energy_j, edp, "
                            "area_mm2 and price_usd have "
                            "one, to be least");
    return right;
}

/* In the order in which they are read: expressions come behind what they name. */
static const struct section {
    const char *key;
    bool (*read)(struct ll_space_reading *reading, const struct ll_node *node);
    const char *need;        /* what is missing without it; NULL: it may be left out */
    const char *type, *help; /* for editors: of JSON; NULL: any */
} sections[] = {
    {"name", read_name, NULL, "string", "what the sweep is called"},
    {"base", read_base, "the machine that is varied", "string",
     "the machine that is varied: a name, or a file beside this one"},
    {"dtype", read_dtype, NULL, "string", "all floating-point tensors in this type, as --as"},
    {"gemm_dtype", read_gemm_dtype, NULL, "string", "operands of GEMMs with weights, as --gemm-dtype"},
    {"weights", read_weights, NULL, "string", "type to which weights are quantized, as --weights-as"},
    {"pruned", read_pruned, NULL, NULL, "zeros of weights, as --prune"},
    {"gaps", read_gaps, NULL, NULL, "time of recorded programs outside of calls, as --gaps"},
    {"traces", space_read_traces, NULL, "array", "trace files, beside this file or where the program runs"},
    {"models", space_read_models, NULL, "array",
     "reference models, recorded dry: names, or maps with parameters"},
    {"serve", space_read_servings, NULL, NULL,
     "a language model on a server: its model, and options of leadline serve"},
    {"vary", ll_space_read_axes, "what varies, paths and their values", "object",
     "what varies: paths of the machine, model.KEY, plan.KEY, serve.KEY, and their values"},
    {"define", read_definitions, NULL, "object", "names for expressions"},
    {"constraints", read_constraints, NULL, NULL, "expressions that hold of each workload"},
    {"objectives", read_objectives, "what is wanted, as [min time_s]", NULL,
     "what is wanted, as [min time_s]"},
    {"search", read_search, NULL, "object",
     "how points are chosen: kind, points, seed, prune; a grid without it"},
    {"products", read_products, NULL, NULL, NULL}, /* of version 0.1, known but not proposed */
};
enum { SECTION_COUNT = sizeof sections / sizeof *sections };

bool ll_space_key_at(size_t i, struct ll_space_key *key)
{
    if (i >= SECTION_COUNT || !sections[i].help)
        return false;
    *key =
        (struct ll_space_key){sections[i].key, sections[i].type, sections[i].help, sections[i].need != NULL};
    return true;
}

static bool check_keys(struct ll_space_reading *reading)
{
    const char *keys[SECTION_COUNT];
    bool right = true;
    for (size_t i = 0; i < SECTION_COUNT; i++)
        keys[i] = sections[i].key;
    for (const struct ll_node *child = reading->root->first; child; child = child->next) {
        size_t i = 0;
        while (i < SECTION_COUNT && strcmp(child->key, keys[i]))
            i++;
        if (i == SECTION_COUNT)
            right = ll_space_unknown_key(reading, child, "in a sweep file", keys, SECTION_COUNT - 1);
    }
    return right;
}

/* Whether a key that the file has was probably meant to be this one; its own complaint says it all. */
static bool is_misspelt(const struct ll_node *root, const char *key)
{
    for (const struct ll_node *child = root->first; child; child = child->next)
        if (ll_nearest(child->key, &key, 1) && strcmp(child->key, key))
            return true;
    return false;
}

static bool read_sections(struct ll_space_reading *reading)
{
    bool right = check_keys(reading);
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        const struct ll_node *node = ll_node_get(reading->root, sections[i].key);
        if (node)
            right &= sections[i].read(reading, node);
        else if (sections[i].need && !is_misspelt(reading->root, sections[i].key))
            right = ll_complain(reading->diags, reading->root->place, "a sweep file needs `%s`: %s",
                                sections[i].key, sections[i].need);
    }
    bool runs = ll_node_get(reading->root, "traces") || ll_node_get(reading->root, "models") ||
                ll_node_get(reading->root, "serve") || is_misspelt(reading->root, "traces") ||
                is_misspelt(reading->root, "models");
    return right &
           (runs || ll_complain(reading->diags, reading->root->place,
                                "a sweep file needs `traces`, `models` or `serve`: what the designs run"));
}

/* --- the whole --- */

static bool count_points(struct ll_space_reading *reading)
{
    struct ll_space *space = reading->space;
    double count = 1;
    for (size_t i = 0; i < space->axis_count; i++)
        count *= (double)space->axes[i].value_count;
    if (count > 9007199254740992.0) /* 2^53: a number of a point is exact as a double too */
        return ll_complain(reading->diags, ll_node_get(reading->root, "vary")->key_place,
                           "the space has more than 2^53 points");
    space->point_count = (uint64_t)count;
    return true;
}

/* Whether something varies that is of servings, or else of models that are recorded. */
static bool varies(const struct ll_space *space, bool served)
{
    for (size_t i = 0; i < space->axis_count; i++)
        if (space->axes[i].target == LL_AXIS_MODEL && ll_is_of_serving(&space->axes[i]) == served)
            return true;
    return false;
}

/* What varies of models, servings and plans needs some. */
static bool check_models(struct ll_space_reading *reading)
{
    const struct ll_space *space = reading->space;
    const struct ll_node *vary = ll_node_get(reading->root, "vary");
    bool models = false, servings = false, steps = false;
    for (size_t i = 0; i < space->workload_count; i++) {
        models |= space->workloads[i].model && !space->workloads[i].served;
        servings |= space->workloads[i].served;
        steps |= !space->workloads[i].served;
    }
    if (varies(space, false) && !models)
        return ll_complain(reading->diags, vary->key_place,
                           "parameters of models vary, but no model is listed under `models`");
    if (varies(space, true) && !servings)
        return ll_complain(reading->diags, vary->key_place,
                           "options of a server vary, but there is no `serve`");
    for (size_t i = 0; i < space->axis_count && !steps; i++)
        if (space->axes[i].target == LL_AXIS_PLAN)
            return ll_complain(reading->diags, space->axes[i].place,
                               "`%s`: plans are of steps, and nothing here is one; expected serve.KEY, as "
                               "serve.tp",
                               space->axes[i].path);
    return true;
}

static bool fill(struct ll_space_reading *reading)
{
    if (reading->root->type != LL_NODE_MAP)
        return ll_space_expected(reading, reading->root, "a map with the keys of a sweep file");
    bool right = read_sections(reading);
    return right && check_models(reading) && count_points(reading);
}

struct ll_space *ll_space_parse(const char *text, size_t length, const char *name, const char *const *folders,
                                struct ll_diags *diags)
{
    struct ll_space *space = calloc(1, sizeof *space);
    size_t before = diags->count;
    if (!space) {
        ll_complain(diags, (struct ll_place){.file = name}, "memory ran out");
        return NULL;
    }
    struct ll_space_reading reading = {.space = space,
                                       .arena = &space->arena,
                                       .diags = diags,
                                       .dtype = LL_DTYPE_COUNT,
                                       .products = LL_NUMERIC_NONE,
                                       .weights = LL_NUMERIC_NONE,
                                       .gaps = 1};
    space->folders = folders;
    space->text_hash = ll_hash_bytes(LL_HASH_START, text, length);
    space->path = ll_copy_text(&space->arena, name, strlen(name));
    space->workloads = ll_alloc(&space->arena, LL_MOST_WORKLOADS, sizeof *space->workloads);
    space->search.seed = 1;
    reading.root = ll_node_parse(&space->arena, text, length, name, diags);
    bool right = space->path && space->workloads && reading.root && fill(&reading);
    ll_design_free(reading.design);
    ll_map_release(&reading.definition_names);
    if (right && diags->count == before) {
        space->name = space->name ? space->name : space->path;
        return space;
    }
    ll_space_free(space);
    return NULL;
}

struct ll_space *ll_space_read(const char *path, const char *const *folders, struct ll_diags *diags)
{
    struct ll_arena arena = {0};
    struct ll_contents text = {0};
    struct ll_space *space = NULL;
    enum ll_status status = ll_read_whole(path, LL_YAML_LIMIT_BYTES, &arena, &text);
    if (status == LL_OK)
        space = ll_space_parse(text.bytes, text.length, path, folders, diags);
    else
        ll_complain(diags, (struct ll_place){.file = path}, "%s", ll_status_text(status));
    ll_arena_release(&arena);
    return space;
}

void ll_space_free(struct ll_space *space)
{
    if (!space)
        return;
    ll_machine_free(space->machine);
    struct ll_arena arena = space->arena;
    ll_arena_release(&arena);
    free(space);
}

void ll_space_point(const struct ll_space *space, uint64_t number, uint32_t *point)
{
    assert(number < space->point_count);
    for (size_t a = space->axis_count; a-- > 0;) {
        assert(space->axes[a].value_count > 0);
        point[a] = (uint32_t)(number % space->axes[a].value_count);
        number /= space->axes[a].value_count;
    }
}

uint64_t ll_space_number(const struct ll_space *space, const uint32_t *point)
{
    uint64_t number = 0;
    for (size_t a = 0; a < space->axis_count; a++)
        number = number * space->axes[a].value_count + point[a];
    assert(number < space->point_count);
    return number;
}
