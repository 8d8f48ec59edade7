/* SPDX-License-Identifier: Apache-2.0 */
/* TBD's A3C (Zhu et al., 2018): an actor-critic after Mnih et al. (2016), as the suite takes it from MXNet's
 * examples: many games at once instead of many threads, a network without memory.
 *
 *   screens       84x84x4       the last four frames, bytes; cast, over 255
 *   conv1         20x20x16      8/4 VALID + bias, ReLU
 *   conv2         9x9x32        4/2 VALID + bias, ReLU
 *   fc            256           bias, ReLU
 *   policy, worth 4, 1          bias; how likely each action is to be right, what the moment is worth
 *
 * 677,429 parameters, 5.934 MFLOP forward a sample; with raw screens of 210x160 in three colours 3,561,013
 * and 63.04 MFLOP. A step of training is an update: for each of four turns forward and backward, gradients
 * added up, then Adam. The five runs in between which the games are played come before the step, outside of
 * it (actors.h). The loss is the sum over turns and games of
 *
 *     -advantage log p(action)  +  1/2 (return - worth)^2  -  0.08 entropy(p)
 *
 * Inference is the players' next action. */
#include "models/model.h"
#include "models/nn/formula.h"
#include "models/nn/init.h"
#include "models/nn/layers.h"
#include "models/nn/optim.h"
#include "models/tbd/actors.h"

enum { TURNS, CHANNELS, HIDDEN, RAW, RATE, ENTROPY, PADDLE, BALL, LIVES };

static const struct ll_model_param params[] = {
    [TURNS] = {"turns", 4, 1, LL_MOST_TURNS, "of each game between two updates"},
    [CHANNELS] = {"channels", 16, 1, 4096, "filters of the first convolution; the second has twice as many"},
    [HIDDEN] = {"hidden", 256, 1, 1000000, "units of the hidden dense layer"},
    [RAW] = {"raw", 0, 0, 1, "1: screens of 210 x 160 in three colours, not 84 x 84 in grey"},
    [RATE] = {"rate", 100, 1, 1000000, "learning rate, in millionths"},
    [ENTROPY] = {"entropy", 80, 0, 1000, "what entropy is worth, in thousandths"},
    [PADDLE] = {"paddle", 8, LL_LEAST_PADDLE, LL_MOST_PADDLE, "width of the paddle, in pixels of 72"},
    [BALL] = {"ball", 2, LL_LEAST_BALL, LL_MOST_BALL, "height and width of the ball, in pixels"},
    [LIVES] = {"lives", 5, 1, LL_MOST_LIVES, "balls in a game"},
};

static struct ll_value *conv(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t kernel,
                             uint64_t stride, uint64_t filters)
{
    return ll_conv_layer(nn, name, x,
                         &(struct ll_conv_options){
                             .kernel = kernel,
                             .stride = stride,
                             .filters = filters,
                             .padding = LL_VALID,
                             .bias = LL_BIAS,
                             .activation = LL_RELU,
                             .init = ll_init_keeping_size(kernel * kernel * x->shape.dim[3], 2),
                         });
}

/* What the network says: logits[games, actions] and worth[games, 1]. */
struct opinion {
    struct ll_value *logits, *worth;
};

static struct opinion opinion_on(struct ll_nn *nn, struct ll_value *screens, const struct ll_build *build)
{
    static const struct ll_init small = {LL_INIT_NORMAL, 0.01, NULL};
    uint64_t channels = (uint64_t)build->params[CHANNELS];
    ll_nn_push(nn, "screen");
    struct ll_value *x = ll_scaled(nn, ll_as_real(nn, screens), "shade", 1.0 / 255);
    ll_nn_pop(nn);
    x = conv(nn, "conv1", x, 8, 4, channels);
    x = ll_flatten(nn, conv(nn, "conv2", x, 4, 2, 2 * channels));
    x = ll_dense_layer(nn, "fc", x,
                       &(struct ll_dense_options){.units = (uint64_t)build->params[HIDDEN],
                                                  .activation = LL_RELU,
                                                  .init = ll_init_keeping_size(x->shape.dim[1], 2)});
    struct opinion opinion = {
        ll_dense_layer(nn, "policy", x, &(struct ll_dense_options){.units = LL_ACTION_COUNT, .init = small}),
        ll_dense_layer(nn, "worth", x, &(struct ll_dense_options){.units = 1, .init = small})};
    return opinion;
}

/* What a crew is told. */
static struct ll_value *advise(struct ll_nn *nn, const struct ll_build *build, const struct ll_actors *actors,
                               struct ll_actor_crew *crew)
{
    struct opinion opinion = opinion_on(nn, ll_actor_crew_sees(nn, actors, crew), build);
    crew->policy = ll_nn_do1(nn, LL_OP_SOFTMAX, opinion.logits);
    crew->worth = opinion.worth;
    ll_nn_keep(crew->policy);
    ll_nn_keep(crew->worth);
    return crew->policy;
}

/* The sum over all games of sum p log p; a little is added to p, as it may be zero. */
static struct ll_value *order_of(struct ll_nn *nn, struct ll_value *logits)
{
    struct ll_value *p = ll_nn_do1(nn, LL_OP_SOFTMAX, logits);
    struct ll_value *log = ll_nn_do1(nn, LL_OP_LOG, ll_add_of(nn, p, ll_constant(nn, "little", 1e-6)));
    return ll_nn_do1(nn, LL_OP_SUM, ll_mul_of(nn, p, log));
}

static struct ll_value *loss_of_turn(struct ll_nn *nn, const struct ll_build *build,
                                     const struct ll_turn *turn)
{
    struct opinion opinion = opinion_on(nn, turn->screens, build);
    ll_nn_push(nn, "loss");
    struct ll_value *surprise = ll_nn_do2(nn, LL_OP_SOFTMAX_XENT, opinion.logits, turn->actions);
    struct ll_value *policy = ll_nn_do1(nn, LL_OP_SUM, ll_mul_of(nn, surprise, turn->advantages));
    struct ll_value *worth = ll_seen_as(nn, opinion.worth, &turn->returns->shape);
    struct ll_value *error = ll_nn_do1(nn, LL_OP_L2_LOSS, ll_sub_of(nn, worth, turn->returns));
    struct ll_value *order =
        ll_scaled(nn, order_of(nn, opinion.logits), "entropy", 1e-3 * (double)build->params[ENTROPY]);
    struct ll_value *loss =
        ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_ADD_N,
                                          .input_count = 3,
                                          .inputs = (struct ll_value *[]){policy, error, order}});
    ll_nn_pop(nn);
    return loss;
}

/* Gradients are added up over the turns; the weights change once. */
static struct ll_value *learn(struct ll_nn *nn, const struct ll_build *build, struct ll_actors *actors)
{
    const struct ll_optimizer adam = {.kind = LL_ADAM,
                                      .rate = 1e-6 * (double)build->params[RATE],
                                      .beta1 = 0.9,
                                      .beta2 = 0.999,
                                      .epsilon = 1e-3};
    struct ll_descent descent = {0};
    struct ll_value *losses[LL_MOST_TURNS];
    uint64_t turns = actors->options.turns;
    ll_nn_share(nn, true);
    for (uint64_t i = 0; i < turns; i++) {
        struct ll_turn turn = ll_actors_turn(nn, actors, i);
        losses[i] = loss_of_turn(nn, build, &turn);
        ll_descent_add(nn, &descent, losses[i], &adam);
    }
    struct ll_value *loss = ll_nn_do(
        nn, &(struct ll_nn_call){.kind = LL_OP_ADD_N, .input_count = (uint32_t)turns, .inputs = losses});
    ll_descend(nn, &descent, &adam);
    ll_nn_share(nn, false);
    return loss;
}

static void add_crew(struct ll_nn *nn, const struct ll_build *build, const struct ll_actors *actors,
                     struct ll_actor_crew *crew)
{
    crew->program = ll_nn_begin_program(nn);
    advise(nn, build, actors, crew);
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    const struct ll_actors_options options = {
        .rules = {.paddle = (uint32_t)build->params[PADDLE],
                  .ball = (uint32_t)build->params[BALL],
                  .rows = 6,
                  .lives = (uint32_t)build->params[LIVES],
                  .frame_skip = 4},
        .games = build->batch,
        .turns = (uint64_t)build->params[TURNS],
        .seed = build->seed,
        .discount = 0.99,
        .raw = build->params[RAW],
        .learn = build->train,
        .judged = build->evaluate,
    };
    struct ll_actors *actors = ll_actors_new(nn, &options);
    if (!actors)
        return &nn->nothing;
    if (!build->train)
        return advise(nn, build, actors, &actors->playing);
    struct ll_value *loss = learn(nn, build, actors);
    add_crew(nn, build, actors, &actors->playing);
    if (build->evaluate)
        add_crew(nn, build, actors, &actors->judged);
    return loss;
}

/* The lesson: deepq's easy game and a narrow network. Bricks a game after 1, 2 and 3 thousand steps: 51, 66,
 * 53 with seed 1; a player who draws all actions has 1.0. */
const struct ll_model ll_model_a3c = {
    .name = "a3c",
    .suite = "tbd",
    .doc = "actor-critic that plays many games in parallel (A3C)",
    .default_batch = 32,
    .amount = {"turns", TURNS, 1},
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
    .lesson = {.steps = 1500,
               .batch = 32,
               .settings =
                   {
                       {"channels", "8"},
                       {"hidden", "128"},
                       {"rate", "1000"},
                       {"paddle", "28"},
                       {"ball", "4"},
                       {"lives", "1"},
                   }},
    .shows = true,
    .evaluate = ll_actors_evaluate,
};
