/* SPDX-License-Identifier: Apache-2.0 */
/* Looking workloads up, and what users set. Running one is in run.c. */
#include "models/model.h"

#include "models/nn/nn.h"
#include "tracer/base/str.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LL_MODEL(name) extern const struct ll_model ll_model_##name;
#include "models/models.def"
#undef LL_MODEL

static const struct ll_model *const models[] = {
#define LL_MODEL(name) &ll_model_##name,
#include "models/models.def"
#undef LL_MODEL
};

size_t ll_model_count(void)
{
    return sizeof models / sizeof *models;
}

const struct ll_model *ll_model_at(size_t i)
{
    return models[i];
}

const struct ll_model *ll_model_find(const char *name)
{
    for (size_t i = 0; i < ll_model_count(); i++)
        if (strcmp(models[i]->name, name) == 0)
            return models[i];
    return NULL;
}

const char *ll_model_nearest(const char *name)
{
    const char *names[sizeof models / sizeof *models];
    for (size_t i = 0; i < ll_model_count(); i++)
        names[i] = models[i]->name;
    return ll_nearest(name, names, ll_model_count());
}

void ll_scores_add(struct ll_scores *scores, struct ll_score score)
{
    assert(scores->count < LL_MOST_SCORES);
    scores->at[scores->count++] = score;
}

static size_t find_param(const struct ll_model *model, const char *key)
{
    size_t i = 0;
    while (i < model->param_count && strcmp(model->params[i].name, key) != 0)
        i++;
    return i;
}

static bool unknown_key(const struct ll_model *model, const char *key, struct ll_diags *diags)
{
    struct ll_arena arena = {0};
    const char **keys = ll_alloc(&arena, model->param_count, sizeof(const char *));
    const char *near = NULL;
    for (size_t i = 0; keys && i < model->param_count; i++)
        keys[i] = model->params[i].name;
    if (keys)
        near = ll_nearest(key, keys, model->param_count);
    if (near)
        ll_complain(diags, (struct ll_place){0}, "%s has no parameter `%s`; did you mean `%s`?", model->name,
                    key, near);
    else
        ll_complain(diags, (struct ll_place){0}, "%s has no parameter `%s`; `leadline models %s` lists them",
                    model->name, key, model->name);
    ll_arena_release(&arena);
    return false;
}

const char *ll_model_word(const struct ll_model *model, size_t param, int64_t value)
{
    return model->words && model->words[param] ? model->words[param][value] : NULL;
}

static bool read_word(const struct ll_setting *setting, const char *const *words, int64_t *value,
                      struct ll_diags *diags)
{
    struct ll_str all = {0};
    size_t i = 0;
    for (; words[i] && strcmp(words[i], setting->value) != 0; i++)
        ll_str_addf(&all, "%s`%s`", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
    if (words[i])
        *value = (int64_t)i;
    else
        ll_complain(diags, (struct ll_place){0}, "-p %s=%s: expected %s", setting->key, setting->value,
                    all.failed ? "another word" : all.text);
    ll_str_release(&all);
    return words[i] != NULL;
}

static bool read_setting(const struct ll_model *model, const struct ll_setting *setting, int64_t *values,
                         struct ll_diags *diags)
{
    size_t i = find_param(model, setting->key);
    if (i == model->param_count)
        return unknown_key(model, setting->key, diags);
    if (model->words && model->words[i])
        return read_word(setting, model->words[i], &values[i], diags);
    const struct ll_model_param *param = &model->params[i];
    char *end;
    errno = 0;
    long long value = strtoll(setting->value, &end, 10);
    if (end == setting->value || *end || errno || value < param->min || value > param->max)
        return ll_complain(diags, (struct ll_place){0},
                           "-p %s=%s: expected a whole number from %" PRId64 " to %" PRId64, setting->key,
                           setting->value, param->min, param->max);
    values[i] = value;
    return true;
}

bool ll_model_settings(const struct ll_model *model, const struct ll_setting *settings, size_t setting_count,
                       int64_t *values, struct ll_diags *diags)
{
    bool good = true;
    for (size_t i = 0; i < model->param_count; i++)
        values[i] = model->params[i].standard;
    for (size_t i = 0; i < setting_count; i++)
        good &= read_setting(model, &settings[i], values, diags);
    return good;
}

bool ll_model_measure(const struct ll_model *model, const struct ll_setting *settings, size_t setting_count,
                      struct ll_model_size *size, struct ll_diags *diags)
{
    struct ll_nn *nn = ll_nn_new(LL_F32);
    int64_t *values = calloc(model->param_count + 1, sizeof *values);
    bool good = nn && values;
    if (!good)
        ll_complain(diags, (struct ll_place){0}, "%s: memory ran out", model->name);
    else if ((good = ll_model_settings(model, settings, setting_count, values, diags))) {
        model->build(nn, &(struct ll_build){.measure = true, .batch = 1, .params = values, .diags = diags});
        *size =
            (struct ll_model_size){ll_nn_parameters(nn), model->counts_every_op ? ll_nn_all_forward_flops(nn)
                                                                                : ll_nn_forward_flops(nn)};
        good = !ll_nn_trouble(nn) ||
               ll_complain(diags, (struct ll_place){0}, "%s: %s", model->name, ll_nn_trouble(nn));
    }
    ll_nn_free(nn);
    free(values);
    return good;
}
