/* SPDX-License-Identifier: Apache-2.0 */
#include "models/facts.h"

#include "models/nn/blas.h"
#include "tracer/base/pool.h"
#include "tracer/record/elf.h"
#include "tracer/record/host.h"

#include <inttypes.h>

static void add_workload(const struct ll_workload *workload, struct ll_facts *facts)
{
    const struct ll_model *model = workload->model;
    ll_facts_add(facts, "model", "%s", model->name);
    ll_facts_add(facts, "mode", "%s", workload->options->train ? "train" : "infer");
    ll_facts_add(facts, "batch", "%" PRIu64, workload->batch);
    ll_facts_add(facts, "native", "%s", workload->options->dry_run ? "no" : "yes");
    if (model->amount.unit) {
        ll_facts_add(facts, "sample.unit", "%s", model->amount.unit);
        ll_facts_add(facts, "sample.amount", "%.10g",
                     model->amount.each * (double)workload->params[model->amount.param]);
    }
    for (size_t i = 0; i < model->param_count; i++) {
        const char *key = ll_format(facts->arena, "param.%s", model->params[i].name);
        const char *word = ll_model_word(model, i, workload->params[i]);
        if (word)
            ll_facts_add(facts, key ? key : "", "%s", word);
        else
            ll_facts_add(facts, key ? key : "", "%" PRId64, workload->params[i]);
        facts->failed |= !key;
    }
    ll_facts_add(facts, "parameters", "%" PRIu64, workload->parameters);
    ll_facts_add(facts, "seed", "%" PRIu64, workload->options->seed);
}

static void add_machine(const struct ll_workload *workload, struct ll_facts *facts)
{
    struct ll_blas_facts blas = ll_blas_facts();
    ll_host_facts("", facts);
    ll_facts_add(facts, "blas.core", "%s", blas.core);
    if (blas.better_core)
        ll_facts_add(facts, "blas.better_core", "%s", blas.better_core);
    ll_facts_add(facts, "blas.config", "%s", blas.config);
    ll_facts_add(facts, "blas.threads", "%u", blas.threads);
    unsigned threads = workload->options->threads;
    ll_facts_add(facts, "threads", "%u", threads ? threads : ll_pool_usable_cpus());
    ll_library_facts(facts);
}

enum ll_status ll_workload_facts(const struct ll_workload *workload, struct ll_facts *facts)
{
    add_workload(workload, facts);
    if (workload->options->dry_run) {
        ll_facts_add(facts, "leadline", "%s", LL_VERSION);
    } else {
        enum ll_status status = ll_blas_open();
        if (status != LL_OK)
            return status;
        add_machine(workload, facts);
    }
    return facts->failed ? LL_NO_MEMORY : LL_OK;
}
