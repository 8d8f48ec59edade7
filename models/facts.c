/* SPDX-License-Identifier: Apache-2.0 */
#include "models/facts.h"

#include "models/nn/blas.h"
#include "tracer/base/clock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool add(struct ll_facts *facts, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool add(struct ll_facts *facts, const char *key, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *value = ll_copy_text(&facts->arena, text, strlen(text));
    if (!key || !value ||
        !ll_grow((void **)&facts->list, &facts->capacity, facts->count + 1, sizeof *facts->list))
        return false;
    facts->list[facts->count++] = (struct ll_fact){key, value};
    return true;
}

static bool add_params(struct ll_facts *facts, const struct ll_workload *workload)
{
    bool good = true;
    for (size_t i = 0; i < workload->model->param_count; i++)
        good = good && add(facts, ll_format(&facts->arena, "param.%s", workload->model->params[i].name),
                           "%" PRId64, workload->params[i]);
    return good;
}

static bool add_workload(struct ll_facts *facts, const struct ll_workload *workload)
{
    const struct ll_run_options *options = workload->options;
    return add(facts, "model", "%s", workload->model->name) &&
           add(facts, "mode", "%s", options->train ? "train" : "infer") &&
           add(facts, "batch", "%" PRIu64, workload->batch) &&
           add(facts, "native", "%s", options->dry_run ? "no" : "yes") && add_params(facts, workload) &&
           add(facts, "parameters", "%" PRIu64, workload->parameters) &&
           add(facts, "seed", "%" PRIu64, options->seed);
}

static bool add_libraries(struct ll_facts *facts)
{
    struct ll_blas_facts blas = ll_blas_facts();
    return add(facts, "blas.core", "%s", blas.core) && add(facts, "blas.config", "%s", blas.config) &&
           add(facts, "blas.threads", "%u", blas.threads);
}

bool ll_facts_of(const struct ll_workload *workload, struct ll_facts *facts, enum ll_status *status)
{
    bool native = !workload->options->dry_run;
    *status = native ? ll_blas_open() : LL_OK;
    if (*status != LL_OK)
        return false;
    bool good = add_workload(facts, workload) && (!native || add_libraries(facts)) &&
                add(facts, "clock.resolution_ns", "%" PRIu64, ll_clock_resolution_ns()) &&
                add(facts, "leadline", "%s", LL_VERSION);
    *status = good ? LL_OK : LL_NO_MEMORY;
    return good;
}

void ll_facts_release(struct ll_facts *facts)
{
    free(facts->list);
    ll_arena_release(&facts->arena);
}
