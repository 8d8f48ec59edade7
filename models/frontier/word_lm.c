/* SPDX-License-Identifier: Apache-2.0 */
/* The word language model of Catamount (Hestness et al., 2019; Jozefowicz et al., 2016): embeddings, two
 * layers of long short-term memory of the same width h, a softmax over v words, q words at a time, SGD with
 * gradients clipped to a common norm.
 *
 *     parameters 16 h^2 + 2 h v + 8 h + v + 2      104,378,326 with h = 2004, v = 10004
 *
 * the 2 being TensorFlow's counter of steps and learning rate. With a projection to p behind the layers, the
 * "LSTM-p" of the paper's case study, 16 h^2 + h v + h p + p v + 8 h + v + 2: that matrix is trained, but its
 * gradient is not clipped. Products forward a sample: q (16 h^2 l / 2 + 2 h v). */
#include "models/frontier/language.h"
#include "models/nn/formula.h"
#include "models/nn/init.h"
#include "models/nn/recurrent.h"

enum { HIDDEN, VOCABULARY, SEQUENCE, LAYERS, PROJECTION, RATE };
enum { MOST_LAYERS = 8 };

static const struct ll_model_param params[] = {
    [HIDDEN] = {"hidden", 2004, 1, 1 << 18, "width of embeddings and layers"},
    [VOCABULARY] = {"vocabulary", 10004, 2, 1 << 24, "words"},
    [SEQUENCE] = {"sequence", 80, 1, 10000, "words of a sample"},
    [LAYERS] = {"layers", 2, 1, MOST_LAYERS, "layers of long short-term memory"},
    [PROJECTION] = {"projection", 0, 0, 1 << 18,
                    "width of the projection behind the layers; 0: there is none"},
    [RATE] = {"rate", 1000, 1, 1000000, "learning rate, in thousandths"},
};

static void step(struct ll_nn *nn, const void *layer, struct ll_value *x, struct ll_value **states)
{
    struct ll_lstm_state state = ll_lstm_step(nn, layer, x, (struct ll_lstm_state){states[0], states[1]});
    states[0] = state.c;
    states[1] = state.h;
}

static struct ll_value *layers(struct ll_language *language, uint64_t count, struct ll_value *x)
{
    static const char *const names[MOST_LAYERS] = {"lstm1", "lstm2", "lstm3", "lstm4",
                                                   "lstm5", "lstm6", "lstm7", "lstm8"};
    const uint64_t hidden = language->sizes.hidden;
    for (uint64_t i = 0; i < count; i++) {
        ll_nn_push(language->nn, names[i]);
        struct ll_lstm lstm =
            ll_lstm_begin(language->nn, "cell", hidden, hidden, ll_init_keeping_size(2 * hidden, 1));
        ll_nn_pop(language->nn);
        x = ll_language_loop(language, &(struct ll_language_loop){names[i], 2, step, &lstm}, x);
    }
    return x;
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
                                               .states = 2 * (uint32_t)build->params[LAYERS],
                                           });
    x = layers(&language, (uint64_t)build->params[LAYERS], x);
    if (build->params[PROJECTION] > 0)
        x = ll_language_project(&language, x, (uint64_t)build->params[PROJECTION]);
    struct ll_value *scores = ll_language_scores(&language, x);
    return build->train ? ll_language_learn(&language, scores, (double)build->params[RATE] / 1000) : scores;
}

const struct ll_model ll_model_word_lm = {
    .name = "word_lm",
    .suite = "frontier",
    .doc = "next-word prediction by two LSTM layers (Catamount's word language model)",
    .default_batch = 128,
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
};
