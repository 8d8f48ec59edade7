/* SPDX-License-Identifier: Apache-2.0 */
/* Reference workloads: what there is, and running one here.
 *
 * A workload is a row of models.def and a file with a `const struct ll_model ll_model_NAME` whose build
 * function says one step of it as a network (models/nn). Everything else (parameters of the command line,
 * memory, recording, dry runs) follows from that. Workloads are static and never change. */
#ifndef LL_MODELS_MODEL_H
#define LL_MODELS_MODEL_H

#include "tracer/base/diag.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ll_nn;
struct ll_runner;
struct ll_trace;
struct ll_value;

/* What -p sets: a count with a default and bounds, or one of several words (struct ll_model). */
struct ll_model_param {
    const char *name;
    int64_t standard, min, max;
    const char *doc;
};

/* One -p key=value. */
struct ll_setting {
    const char *key, *value;
};

/* What a build function is told. */
struct ll_build {
    bool train;    /* else inference: the forward pass alone */
    bool evaluate; /* also add what the model's evaluate function runs */
    bool measure;  /* nothing will run: one forward pass as papers count it, without losses */
    uint64_t batch, seed;
    const int64_t *params;             /* values, in the order of the model's params */
    const char *data;                  /* where real data lies; NULL: generate some */
    const struct ll_setting *settings; /* those that texts of params are in: ll_build_text */
    struct ll_diags *diags;            /* for complaints about the data; the network is then to fail, too */
};

/* How a model is trained when nothing else is asked for: settings small enough to learn the generated data
 * within minutes. */
enum { LL_MOST_RECIPE_SETTINGS = 12 };
struct ll_training_recipe {
    uint64_t steps, batch;
    struct ll_setting settings[LL_MOST_RECIPE_SETTINGS]; /* ended by one without key */
};

/* How well a network does on what it was not trained on. */
struct ll_score {
    const char *name, *doc; /* static storage */
    double value;
    bool falls; /* lower is better */
};
enum { LL_MOST_SCORES = 8 };
struct ll_scores {
    struct ll_score at[LL_MOST_SCORES];
    size_t count;
    const char *folder;     /* an existing one, for samples of what the network does; NULL: none are wanted */
    struct ll_diags *diags; /* for complaints of whoever scores */
};

/* One more score, copied; fewer than LL_MOST_SCORES are there. */
void ll_scores_add(struct ll_scores *scores, struct ll_score score);

/* What a sample counts as, where throughput is not samples a second: `each` times the parameter. */
struct ll_model_amount {
    const char *unit; /* "audio seconds"; NULL: a sample is a sample */
    size_t param;
    double each;
};

/* The numbers of the paper, or of the sum that the model's first comment makes: tests hold the model to them.
 * All zero where tests/known_models.h has them. */
struct ll_model_published {
    uint64_t parameters;
    uint64_t forward_flops; /* of one sample, at the default settings, as ll_model_measure counts */
};

struct ll_model {
    /* as users type it; the paper or benchmark it is from; one line for lists */
    const char *name, *suite, *doc;
    struct ll_model_published published;
    const char *data;                        /* what --data is to name; NULL: the model makes its own data */
    uint64_t default_batch, inference_batch; /* inference_batch: 0 when it is the same; both 0: has none */
    const struct ll_model_param *params;     /* what -p sets, in the order of the model's enum */
    size_t param_count;
    const char *const *const *words; /* by parameter: the words that stand for 0, 1, ..., NULL behind the
                                        last, ll_any_text for a text, or NULL for a number; NULL: all
                                        parameters are numbers */
    const char *batch_param;         /* the parameter that is the batch, which --batch sets, too; or NULL */
    bool infers;                     /* inference is what is recorded when nothing else is asked for */
    struct ll_model_amount amount;
    bool counts_every_op; /* its forward FLOPs are those of all ops, not of GEMMs and convolutions alone */
    /* Adds one step to the network. Returns the loss, a kept scalar, when training; what is inferred
     * otherwise. */
    struct ll_value *(*build)(struct ll_nn *nn, const struct ll_build *build);
    struct ll_training_recipe recipe; /* of no steps: there is nothing to learn, and evaluate is NULL */
    bool shows; /* evaluate writes samples of what the network does, where the scores have a folder */
    /* Runs programs that build added for this, with the context of the network's driver. False after
     * complaints. Called before the first step of a training and after the last. */
    bool (*evaluate)(void *context, struct ll_runner *runner, struct ll_scores *scores);
};

/* The workloads in the order of models.def; i is below the count. */
size_t ll_model_count(void);
const struct ll_model *ll_model_at(size_t i);

/* By its name, a common name of it (`resnet34`), or a name of an earlier version; NULL when there is none. */
const struct ll_model *ll_model_find(const char *name);

/* A name that people say, which stands for a model and one setting of it (`qwen3-8b`: llm with
 * config=qwen3-8b; `gpt2`: gpt with preset=gpt2): the model, and the setting, which is left alone where the
 * name needs none. NULL when there is no such name. Static storage. */
const struct ll_model *ll_model_named(const char *name, struct ll_setting *setting);

/* What a model that had this name in an earlier version is called now; NULL when it is no such name. */
const char *ll_model_renamed(const char *name);

/* The name of the model that was probably meant; NULL when none is near. */
const char *ll_model_nearest(const char *name);

struct ll_run_options {
    bool train;                 /* else inference */
    bool evaluate;              /* before the first step and after the last */
    const char *data, *samples; /* folders, or NULL: real data; where samples of the trained network go */
    uint64_t batch;             /* 0: the model's default */
    uint64_t steps, seed;       /* how many steps to run; of data, initial weights and dropout */
    bool dry_run;               /* record without computing */
    unsigned threads;           /* 0: one for each CPU */
    const struct ll_setting *settings; /* each -p of the user, in order; of one key the last counts */
    size_t setting_count;
    const char *path;        /* the trace to write, or NULL: do not record into a file */
    struct ll_trace **trace; /* where to leave the trace when it is not written, the caller's to free after
                                success; NULL: nowhere */
    /* Called after each step by the thread that runs, 1 being the first; the loss is NaN when there is none,
     * step_s 0 in a dry run. NULL: not called. */
    void (*progress)(void *context, uint64_t step, uint64_t steps, double loss, double step_s);
    void *context;
    /* Once this is not 0 the step at hand is the last; at least one is run. NULL: all steps are run. */
    const volatile sig_atomic_t *stop;
};

struct ll_run_report {
    bool refused;                    /* settings or data cannot be used: nothing ran */
    uint64_t parameters, steps, ops; /* ops of all steps */
    double first_loss, last_loss;    /* NaN when nothing was computed or there is no loss */
    struct ll_scores before, after;  /* empty unless asked for */
    double median_step_s;            /* 0 in a dry run */
    double waited_s;                 /* for a good moment, by ll_pool_settle */
    /* OpenBLAS' kernels in use, and better ones that the environment forbids; NULL: none. */
    const char *blas_core, *better_core;
};

/* Builds, runs and records as the options say; the report is filled in either case. False after complaints:
 * all unknown keys and impossible values, or a failure of the system. Starts threads of its own and sees them
 * end; OpenBLAS stays loaded. */
bool ll_model_run(const struct ll_model *model, const struct ll_run_options *options,
                  struct ll_run_report *report, struct ll_diags *diags);

struct ll_model_size {
    uint64_t parameters;
    /* Of one sample, GEMMs and convolutions only, unless the model says otherwise. */
    uint64_t forward_flops;
};

/* How large the model is with these settings, without running it. False after complaints. */
bool ll_model_measure(const struct ll_model *model, const struct ll_setting *settings, size_t setting_count,
                      struct ll_model_size *size, struct ll_diags *diags);

/* In place of a parameter's words: any text, as a file's name. Its value is 0 where nothing is set, else 1 +
 * the number of the setting that has it. */
extern const char *const ll_any_text[];

/* What a text parameter is set to; NULL: nothing. It lives as long as the settings. */
const char *ll_build_text(const struct ll_build *build, size_t param);

/* The word for a value of a parameter, NULL where values are numbers, "" for texts. Static storage. */
const char *ll_model_word(const struct ll_model *model, size_t param, int64_t value);

/* Reads settings into values[model->param_count]: the defaults where nothing is set. False after complaints.
 */
bool ll_model_settings(const struct ll_model *model, const struct ll_setting *settings, size_t setting_count,
                       int64_t *values, struct ll_diags *diags);

#endif
