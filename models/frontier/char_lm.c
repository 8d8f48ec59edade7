/* SPDX-License-Identifier: Apache-2.0 */
/* The character language model of Catamount (Hestness et al., 2019): embeddings, a recurrent highway network
 * (Zilly et al., 2017) of width h and depth d, a softmax over v characters, q characters at a time, SGD with
 * gradients clipped to a common norm. A step of the loop is d layers over one state s, coupled so that what
 * is not carried on is replaced:
 *
 *     H = tanh(W s + b),  T = sigmoid(V s + c),  s' = (H - s) T + s
 *
 * of which the first reads [x s] in place of s.
 *
 *     parameters (4 + 2 (d - 1)) h^2 + 2 h v + 2 d h + v + 2      88,785,316 with h = 2004, v = 98, d = 10
 *
 * the 2 being TensorFlow's counter of steps and learning rate. */
#include "models/frontier/language.h"
#include "models/nn/formula.h"
#include "models/nn/init.h"
#include "models/nn/recurrent.h"

enum { HIDDEN, VOCABULARY, SEQUENCE, DEPTH, RATE };
enum { MOST_DEPTH = 64 };

static const struct ll_model_param params[] = {
    [HIDDEN] = {"hidden", 2004, 1, 1 << 18, "width of embeddings and the state"},
    [VOCABULARY] = {"vocabulary", 98, 2, 1 << 24, "characters"},
    [SEQUENCE] = {"sequence", 150, 1, 10000, "characters of a sample"},
    [DEPTH] = {"depth", 10, 1, MOST_DEPTH, "layers that the state goes through in each step"},
    [RATE] = {"rate", 1000, 1, 1000000, "learning rate, in thousandths"},
};

struct highway {
    uint64_t depth;
    struct ll_linear candidate[MOST_DEPTH], gate[MOST_DEPTH];
};

static struct highway begin(struct ll_nn *nn, uint64_t hidden, uint64_t depth)
{
    struct highway highway = {.depth = depth};
    ll_nn_push(nn, "highway");
    for (unsigned i = 0; i < depth; i++) {
        const uint64_t inputs = i == 0 ? 2 * hidden : hidden;
        const struct ll_init init = ll_init_keeping_size(inputs, 1);
        ll_nn_push_numbered(nn, "layer", i);
        highway.candidate[i] = ll_linear_begin(nn, "candidate", inputs, hidden, init);
        highway.gate[i] = ll_linear_begin(nn, "gate", inputs, hidden, init);
        ll_nn_pop(nn);
    }
    ll_nn_pop(nn);
    return highway;
}

static void step(struct ll_nn *nn, const void *layer, struct ll_value *x, struct ll_value **states)
{
    const struct highway *highway = layer;
    for (unsigned i = 0; i < highway->depth; i++) {
        struct ll_value *s = states[0], *read[] = {x, s};
        const uint32_t first = i == 0 ? 0 : 1;
        ll_nn_push_numbered(nn, "layer", i);
        struct ll_value *candidate =
            ll_nn_do1(nn, LL_OP_TANH, ll_linear_apply(nn, &highway->candidate[i], 2 - first, read + first));
        struct ll_value *gate =
            ll_nn_do1(nn, LL_OP_SIGMOID, ll_linear_apply(nn, &highway->gate[i], 2 - first, read + first));
        states[0] = ll_add_of(nn, ll_mul_of(nn, ll_sub_of(nn, candidate, s), gate), s);
        ll_nn_pop(nn);
    }
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    struct ll_language language;
    struct ll_value *x = ll_language_begin(&language, nn,
                                           (struct ll_language_sizes){
                                               .batch = build->batch,
                                               .steps = (uint64_t)build->params[SEQUENCE],
                                               .vocabulary = (uint64_t)build->params[VOCABULARY],
                                               .hidden = (uint64_t)build->params[HIDDEN],
                                               .states = 1,
                                           });
    const struct highway highway = begin(nn, language.sizes.hidden, (uint64_t)build->params[DEPTH]);
    x = ll_language_loop(&language, &(struct ll_language_loop){"highway", 1, step, &highway}, x);
    struct ll_value *scores = ll_language_scores(&language, x);
    return build->train ? ll_language_learn(&language, scores, (double)build->params[RATE] / 1000) : scores;
}

const struct ll_model ll_model_char_lm = {
    .name = "char_lm",
    .suite = "frontier",
    .doc = "next-character prediction by a recurrent highway network (Catamount's character language model)",
    .default_batch = 96,
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
};
