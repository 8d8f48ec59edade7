/* SPDX-License-Identifier: Apache-2.0 */
/* The sections `traces` and `models`: what the designs are to run.
 *
 *     traces: [alexnet.llt, gpt.llt]                    beside the sweep file, or where the program runs
 *     models: [resnet, {name: seq2seq, mode: infer, batch: 8, as: translator, units: 512}] */
#include "sim/explore/space_parts.h"

#include <stdio.h>
#include <string.h>

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

bool ll_space_read_traces(struct ll_space_reading *reading, const struct ll_node *traces)
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

bool ll_space_read_models(struct ll_space_reading *reading, const struct ll_node *models)
{
    return read_each(reading, models, "a list of models", read_model);
}
