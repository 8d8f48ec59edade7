/* SPDX-License-Identifier: Apache-2.0 */
/* A serving as options of `leadline serve` describe it: for the command, and for measured servers that
 * `leadline validate` predicts. */
#ifndef LL_SIM_CLI_SERVING_H
#define LL_SIM_CLI_SERVING_H

#include <stdio.h>

#include "sim/cli/command.h"
#include "sim/cli/served_model.h"
#include "sim/serve/serve.h"

enum { LL_POOL_WHOLE, LL_POOL_PREFILL, LL_POOL_DECODE, LL_SERVING_POOLS };

/* Instances that are alike, and how they were asked for. */
struct ll_serving_group {
    uint64_t instances, tensor, pipeline, data, expert;
    uint64_t sequences, tokens; /* of a step at most; 0: as options or the server have it */
    struct ll_machine *machine;
    struct ll_served_model *model;
    struct ll_served_memory memory;
    struct ll_step_costs *costs;
    struct ll_server_pool *pool; /* NULL: there are none */
};

/* Machines and models that several servings have in common, by what options say of them: read once, and what
 * a form costs is known from one to the next. It starts as {0}; to be released; one thread at a time. */
struct ll_serving_shared {
    struct ll_arena arena;
    struct ll_shared_group *first;
    struct ll_served_traces traces;
};
void ll_serving_shared_release(struct ll_serving_shared *shared);

/* The first machine of this name among them, NULL: there is none. */
const struct ll_machine *ll_serving_shared_machine(const struct ll_serving_shared *shared, const char *stem);

struct ll_serving_setup {
    const struct ll_args *args;       /* options of ll_command_serve */
    bool roofline;                    /* steps cost what a plain roofline says */
    struct ll_serving_shared *shared; /* outlives the setup; NULL: nothing is kept */
    struct ll_served_traces *traces;  /* likewise, where nothing else is shared */
    /* All instances are of this machine, which outlives the setup, and only its `software.serves` is set; nothing
     * is shared then. NULL: the one that the options name. */
    struct ll_machine *machine;
    struct ll_serving_group groups[LL_SERVING_POOLS];
    struct ll_deployment deployment;
    struct ll_load load;
    struct ll_serve_limits limits;
    const char *config, *name;
    struct ll_diags diags;
};

/* A command line of `leadline serve` that is put together: it begins empty; options that there are not, and
 * values of NULL, are left out. Values are not copied. */
enum { LL_MOST_SERVING_OPTIONS = 48 };
struct ll_serving_options {
    struct ll_given given[LL_MOST_SERVING_OPTIONS];
    struct ll_args args;
};
void ll_serving_begin(struct ll_serving_options *options, struct ll_arena *arena);
void ll_serving_give(struct ll_serving_options *options, const char *name, const char *value);
void ll_serving_give_count(struct ll_serving_options *options, const char *name, uint64_t value);

/* Reads all that the options say. False after saying what is wrong. To be released in either case. */
bool ll_serving_read(struct ll_serving_setup *setup);

/* Parts of it. A time with its unit; infinite without the option. A number between two; "inf" where most is
 * infinite. The load. False after saying what is wrong. */
bool ll_serving_time(const struct ll_args *args, const char *name, double *time_s);
bool ll_serving_number(const struct ll_args *args, const char *name, double least, double most,
                       double otherwise, double *value);
bool ll_serving_load(struct ll_serving_setup *setup);

/* The limits of a step that a machine's server has by itself, by the device's memory. Pure. */
struct ll_server_batch ll_serving_batch(const struct ll_machine *machine);

/* How weights are stored (-p weights of llm), by a name that servers have for it; NULL: it is none.
 * Static. */
const char *ll_serving_weights(const char *name);

/* Tokens of a sequence at its end: the most of a range, else the mean. */
uint64_t ll_serving_usual_length(const struct ll_load *load);

/* Frees machines and what is remembered. */
void ll_serving_release(struct ll_serving_setup *setup);

/* Serves the load. NULL after saying why not. The result lives in the arena. */
const struct ll_serving *ll_serving_run(struct ll_serving_setup *setup, const struct ll_serve_watch *watch,
                                        struct ll_arena *arena);

/* The largest rate at which the limits hold at this percentile, to 1 %; 0: none does; infinite: also where
 * all requests come at once. The load is then at this rate. False after saying why nothing could be
 * served. */
bool ll_serving_find_rate(struct ll_serving_setup *setup, double percentile,
                          const struct ll_serve_watch *watch, double *rate_Hz);

/* What renting the devices of a group costs; NaN where the machine does not say. */
double ll_serving_usd_per_hour(const struct ll_serving_group *group);

/* leadline plan --serve: deployments that hold limits, the fewest devices first; an exit status. */
int ll_plan_serving(const struct ll_args *args);

extern const struct ll_command ll_command_serve;

/* Other spellings of these options, for other commands that take them. */
extern const char *const ll_serving_aliases[][2];

/* Files of measured servers: served settings (silicon_ttft_ms, silicon_tpot_ms), or requests with their times
 * (first_token_s, last_token_s). */
bool ll_is_served_file(const char *path);

/* Shows a validation as the options say; an exit status (cmd_validate.c). */
struct ll_validation;
struct ll_pool;
int ll_show_validation(const struct ll_args *args, const struct ll_validation *validation,
                       struct ll_pool *pool);

/* Predicts them with the options of the command line; an exit status. */
int ll_validate_served(const struct ll_args *args);

#endif
