/* SPDX-License-Identifier: Apache-2.0 */
/* What leadline plan --serve found: deployments, and how they are shown. Private to plan_serving*.c; one
 * thread. */
#ifndef LL_SIM_CLI_PLAN_SERVING_H
#define LL_SIM_CLI_PLAN_SERVING_H

#include "sim/cli/serving.h"
#include "sim/cli/serving_commands.h"

/* A machine, and how it stores the model's weights. */
struct ll_plan_variant {
    const char *machine, *format; /* as -c and --quantization take them */
    double usd_per_hour;          /* of a device; NaN where the machine does not say */
    struct ll_server_batch usual; /* limits of a step that the server has by itself */
    struct ll_served_floor least;
};

/* How the devices of an instance are used, and the limits of its steps. */
struct ll_plan_layout {
    uint64_t tp, pp, dp, ep;
    uint64_t sequences, tokens; /* of a step at most; 0: as options or the server have it */
};

/* Devices of an instance; 0 of a layout that is none. */
static inline uint64_t ll_plan_devices(const struct ll_plan_layout *l)
{
    return l->tp * l->pp * l->dp;
}

/* A layout that was judged. */
struct ll_plan_judged {
    const struct ll_plan_variant *variant;
    struct ll_plan_layout layout;
    const char *why; /* it serves nothing as a whole; NULL: it does */
};

/* A deployment. */
struct ll_plan_found {
    const struct ll_plan_variant *variant;
    struct ll_plan_layout layout,
        decode;                 /* decode: of instances that make tokens; of no devices: none are apart */
    uint64_t replicas, decodes; /* instances; of those for decoding */
    uint64_t devices;
    double expense;               /* what deployments are ordered by: USD an hour, or devices */
    double rate_Hz;               /* the largest of one instance (of the slower pool, where two are) */
    double prefill_Hz, decode_Hz; /* in closed form: of an instance for prompts, or whole; for decoding */
    uint64_t decoding;            /* sequences of a rank then */
    double ttft_s, tpot_s;        /* at the percentile, at the rate that is asked for */
    bool holds;                   /* these hold the limits */
    double per_device_Hz, per_user_Hz; /* tokens made a second */
    double usd_per_m_input, usd_per_m_output;
    size_t number;  /* in the order in which deployments were considered */
    unsigned front; /* while choosing: how many fronts lie before its own */
};

/* All that is shown. Lists belong to the search. */
struct ll_plan_served {
    const struct ll_args *args;
    double rate_Hz, percentile;
    uint64_t most_devices;
    const struct ll_plan_variant *variants;
    size_t variant_count, machine_count;
    const struct ll_plan_judged *judged;
    size_t judged_count;
    const struct ll_plan_found *found; /* the least expense first */
    size_t count, considered, simulated;
    bool by_usd;     /* expenses are USD an hour */
    const char *why; /* none of the simulated ones holds the limits: of the first; NULL: nothing is known */
};

/* "2 x tp=4,pp=1,dp=1,ep=1", as --prefill and --decode take it. In args->arena. */
const char *ll_plan_workers(const struct ll_args *args, uint64_t instances, const struct ll_plan_layout *l);

/* A deployment as its servers are started. */
struct ll_deployed ll_plan_deployed(const struct ll_plan_served *plans, const struct ll_plan_found *found);

/* The document of --json, and the screen; appended. */
void ll_plan_served_json(const struct ll_plan_served *plans, struct ll_str *out);
void ll_plan_served_text(const struct ll_plan_served *plans, struct ll_str *out);

#endif
