/* SPDX-License-Identifier: Apache-2.0 */
/* What language models have in common that write one token after the other: the tokens, attention to those
 * before, the loss, and the three ways to run them.
 *
 * Activations are rows [batch positions, features]. In a training step and in `forward` a sequence of `seq`
 * tokens is read at once and each is asked what the next one is; `prefill` also keeps keys and values and
 * asks the last token alone; `decode` reads one more token of each sequence, `context` being how many there
 * are then, with the keys and values of the others from memory. With `tokens` set so many are read at once,
 * the last of `context`: a piece of a prompt by prefill (chunked, or behind a prefix that is remembered),
 * tokens guessed ahead by decode, which asks them all. A decoder lies in its network's arena. */
#ifndef LL_FRONTIER_DECODER_H
#define LL_FRONTIER_DECODER_H

#include "models/data/part.h"
#include "models/model.h"
#include "models/nn/nn.h"
#include "models/nn/training.h"

enum ll_decoder_pass { LL_PASS_FORWARD, LL_PASS_PREFILL, LL_PASS_DECODE };

struct ll_decoder_sizes {
    uint64_t layers, hidden, ffn_hidden; /* ffn_hidden: features inside a feed-forward layer */
    uint64_t heads, kv_heads;            /* query heads; key and value heads, a divisor of those */
    uint64_t head;                       /* features of a head */
    uint64_t seq, vocabulary;
};

struct ll_decoder {
    struct ll_nn *nn; /* the network to which all parts are added */
    struct ll_decoder_sizes sizes;
    enum ll_decoder_pass pass; /* what an inference does */
    enum ll_data_part part;    /* of the synthetic data: learned from, or held back */
    uint64_t batch, steps;     /* sequences, tokens that are read of each */
    uint64_t context;          /* tokens of a sequence, those included */
    uint64_t seed;             /* of the synthetic data */
    uint64_t task_vocabulary;  /* tokens that the synthetic data uses, at most the vocabulary */
    double dropout;            /* share of activations that is dropped when training */
    struct ll_rng rng;         /* of dropout; begun when training drops anything */
    bool train;                /* a training step is built, else an inference */
    bool fused;                /* attention is one op, whose scores stay on the chip */
    bool eager;                /* scores are scaled, hidden and made shares by an op each */
    struct ll_value *hiding;   /* what is added to scores for that; NULL before it is wanted */
    bool sees_all;             /* tokens attend to those behind them, too */
    bool narrow;               /* GEMMs with weights are of 8 bits */
    enum ll_dtype held;        /* in which their weights are held: these, unless they are trained */
    enum ll_numeric rounded;  /* weights of GEMMs but router and head as they will be stored; none: as held */
    double rotary_base;       /* positions turn queries and keys; 0: they do not */
    uint64_t window;          /* tokens that one sees, itself included, of attention as one op; 0: all */
    const void *net;          /* further settings of the network */
    struct ll_value *guesses; /* of the program that is evaluated */
    uint32_t program;         /* number of the program that is evaluated */
};

/* How a model makes logits [rows, vocabulary] of token numbers [rows]. */
typedef struct ll_value *ll_decoder_net(struct ll_decoder *decoder, struct ll_value *tokens);

/* Settings: those of decoder_params.def, then the decoder's own. */
enum ll_decoder_param {
#define LL_DECODER_PARAM(word, ...) LL_DECODER_##word,
#include "models/frontier/decoder_params.def"
#undef LL_DECODER_PARAM
    LL_DECODER_PARAMS
};

/* What the settings of all decoders say. */
struct ll_decoder_options {
    struct ll_decoder_sizes sizes;
    enum ll_decoder_pass pass; /* when not training */
    int64_t dtype;             /* number of a word of ll_decoder_dtypes */
    uint64_t context, tokens, task_vocabulary;
    double dropout, rate;
    bool fused, eager;
    bool rounds; /* trained weights are rounded as `rounded` will store them (quantization-aware training) */
    enum ll_numeric rounded;
    const void *net; /* further settings of the model; outlive its steps */
};

/* As decoder_params.def's settings say, sizes that are not set as the preset has them. */
struct ll_decoder_options ll_decoder_options_of(const struct ll_build *build,
                                                const struct ll_decoder_sizes *preset);

/* The model's build function. What is made up to be learned: sequences of a few tokens that repeat
 * themselves after a fourth of their length. */
struct ll_value *ll_decoder_build(struct ll_nn *nn, const struct ll_build *build,
                                  const struct ll_decoder_options *options, ll_decoder_net *net);

/* A decoder alone, for models that make something else of it. */
struct ll_decoder ll_decoder_begin(struct ll_nn *nn, const struct ll_build *build,
                                   const struct ll_decoder_options *options);

/* What a parameter is set to, or otherwise where it is 0: a preset's size. */
static inline uint64_t ll_decoder_size(const struct ll_build *build, size_t param, uint64_t otherwise)
{
    return build->params[param] ? (uint64_t)build->params[param] : otherwise;
}

/* The model's evaluate function: the share of unseen tokens that is guessed where a sequence repeats itself.
 */
bool ll_decoder_evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores);

/* The words of the parameters `dtype` and `pass`. Types other than the first can be recorded, not computed;
 * of 16 bits: weights, activations and gradients, with master weights and moments of 32; of 8: products
 * alone, and their weights where nobody trains them, else 16.
 */
extern const char *const ll_decoder_dtypes[], *const ll_decoder_passes[];

/* The type of weights for the dtype of this number, `standard` for the first. */
enum ll_dtype ll_decoder_real(int64_t dtype, enum ll_dtype standard);

/* Whether GEMMs with weights are of 8 bits for the dtype of this number. */
bool ll_decoder_narrow(int64_t dtype);

/* Weights of a GEMM as they are multiplied: rounded where the decoder rounds. */
struct ll_value *ll_decoder_rounded(struct ll_decoder *decoder, struct ll_value *weights);

/* rows times "weights" [features, units], plus "biases" where wanted. Roles are those of features and units.
 * Weights start with this deviation. */
struct ll_decoder_dense {
    uint64_t units;
    enum ll_role from, to;
    bool biased;
    double deviation;
};
struct ll_value *ll_decoder_dense(struct ll_decoder *decoder, const char *name, struct ll_value *rows,
                                  const struct ll_decoder_dense *dense);

/* Each token of queries[rows, heads head] to itself and those before, keys and values[rows, kv_heads head]:
 * softmax(q k^T / sqrt(head)) v, rows again. Where tokens see all others, keys and values may be of another
 * sequence, of any length. */
struct ll_value *ll_decoder_attend(struct ll_decoder *decoder, struct ll_value *queries,
                                   struct ll_value *keys, struct ll_value *values);

/* The same of queries and keys that know their places, to keys and values of all tokens of a sequence, whose
 * heads may have other features than keys, [rows, kv_heads n]: rows [rows, heads n]. */
struct ll_value *ll_decoder_attend_to(struct ll_decoder *decoder, struct ll_value *queries,
                                      struct ll_value *keys, struct ll_value *values);

/* Rows [rows, heads features] of the tokens that are read with each head turned by its token's place; as they
 * are where places turn nothing. */
struct ll_value *ll_decoder_placed(struct ll_decoder *decoder, struct ll_value *rows, uint64_t heads,
                                   uint64_t features);

/* Whether what later tokens need is put into a memory; x of the tokens that are read, which lie along `axis`,
 * put into the one of that name behind those before: all of it. */
bool ll_decoder_remembers(const struct ll_decoder *decoder);
struct ll_value *ll_decoder_remembered(struct ll_decoder *decoder, const char *name, struct ll_value *x,
                                       unsigned axis);

/* The mean cross entropy (models/nn/layers.h) of logits, in 32 bits where they are of 16. */
struct ll_value *ll_decoder_loss(struct ll_nn *nn, struct ll_value *logits, struct ll_value *labels);

/* Rows with a share of their elements dropped where the decoder trains with that. */
struct ll_value *ll_decoder_dropped(struct ll_decoder *decoder, struct ll_value *rows);

/* Rows [batch steps, n] as [batch, steps, n] and back; those whose next token is asked for. */
struct ll_value *ll_decoder_sequences(struct ll_decoder *decoder, struct ll_value *rows);
struct ll_value *ll_decoder_rows(struct ll_decoder *decoder, struct ll_value *sequences);
struct ll_value *ll_decoder_asked(struct ll_decoder *decoder, struct ll_value *rows);

/* A table of the vocabulary's tokens, "tokens" [vocabulary, hidden]. */
struct ll_value *ll_decoder_table(struct ll_decoder *decoder);

#endif
