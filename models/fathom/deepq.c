/* SPDX-License-Identifier: Apache-2.0 */
/* Fathom's deepq (Adolf et al., 2016): the player of Mnih et al. (2015), a network that says what each action
 * is worth, learned from the score alone.
 *
 *   screens       84x84x4       the last four frames
 *   conv1         20x20x32      8/4 VALID + bias, ReLU
 *   conv2         9x9x64        4/2 VALID + bias, ReLU
 *   conv3         7x7x64        3/1 VALID + bias, ReLU
 *   fc4, fc5      512, 4        bias; fc4 with ReLU
 *
 * 1,686,180 parameters, 18.690 MFLOP forward a sample. A bias is an elementwise sum; what the loss is made of
 * follows Fathom's code, op by op. A step of training is what Fathom profiles, the update from 32 memories:
 * the player's action, the target network's opinion and its copies are programs of their own, run before the
 * step (agent.h). Inference is the player's action, in as many games at once as the batch has. */
#include "models/fathom/agent.h"
#include "models/nn/formula.h"
#include "models/nn/init.h"
#include "models/nn/layers.h"
#include "models/nn/optim.h"

enum { REPLAY, EXPLORATION, COPY_EVERY, CHANNELS, HIDDEN, RATE, PADDLE, BALL, LIVES };

static const struct ll_model_param params[] = {
    [REPLAY] = {"replay", 1000000, 1000, 1000000000, "memories to learn from, at 7 kB each"},
    [EXPLORATION] = {"exploration", 1000000, 1, 1000000000,
                     "steps in which the share of random actions falls from 1 to 0.1"},
    [COPY_EVERY] = {"copy_every", 10000, 1, 1000000000, "steps after which the target network is renewed"},
    [CHANNELS] = {"channels", 32, 1, 4096, "filters of the first convolution; the others have twice as many"},
    [HIDDEN] = {"hidden", 512, 1, 1000000, "units of the hidden dense layer"},
    [RATE] = {"rate", 250, 1, 1000000, "learning rate, in millionths"},
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
                             .bias = LL_BIAS_BY_ADD,
                             .activation = LL_RELU,
                             .init = ll_init_keeping_size(kernel * kernel * x->shape.dim[3], 2),
                         });
}

static struct ll_value *dense(struct ll_nn *nn, const char *name, struct ll_value *x,
                              struct ll_dense_options options)
{
    options.bias = LL_BIAS_BY_ADD;
    return ll_dense_layer(nn, name, x, &options);
}

/* What each action is worth: [batch, actions]. Scores are never negative, and an action that is worth less
 * than nothing would not be learned (taken_value): so all are worth a little at first. */
static struct ll_value *values_of(struct ll_nn *nn, struct ll_value *screens, const struct ll_build *build)
{
    uint64_t channels = (uint64_t)build->params[CHANNELS];
    struct ll_value *x = conv(nn, "conv1", screens, 8, 4, channels);
    x = conv(nn, "conv2", x, 4, 2, 2 * channels);
    x = conv(nn, "conv3", x, 3, 1, 2 * channels);
    x = ll_flatten(nn, x);
    x = dense(nn, "fc4", x,
              (struct ll_dense_options){.units = (uint64_t)build->params[HIDDEN],
                                        .activation = LL_RELU,
                                        .init = ll_init_keeping_size(x->shape.dim[1], 2)});
    return dense(nn, "fc5", x,
                 (struct ll_dense_options){
                     .units = LL_ACTION_COUNT, .init = {LL_INIT_NORMAL, 0.01, NULL}, .bias_start = 0.1});
}

/* What a step learns from, as input ops. */
struct inputs {
    struct ll_value *before, *actions, *rewards, *ends, *next_values;
};

static struct inputs add_inputs(struct ll_nn *nn, struct ll_agent *agent)
{
    struct inputs inputs = {.before = ll_agent_saw_before(nn, agent)};
    inputs.actions = ll_agent_actions(nn, agent);
    inputs.rewards = ll_agent_rewards(nn, agent);
    inputs.ends = ll_agent_ends(nn, agent);
    inputs.next_values = ll_agent_next_values(nn, agent);
    return inputs;
}

/* The score, and unless the game was then over what the best action was worth to the target network:
 * r + (1 - end) (discount max Q'). */
static struct ll_value *expected_value(struct ll_nn *nn, const struct inputs *inputs)
{
    struct ll_value *goes_on = ll_sub_of(nn, ll_constant(nn, "one", 1), inputs->ends);
    struct ll_value *later = ll_scaled(nn, inputs->next_values, "discount", 0.99);
    return ll_add_of(nn, inputs->rewards, ll_mul_of(nn, goes_on, later));
}

/* The value of the action taken. Fathom's code takes the largest of a row after all others were made zero,
 * which is another thing where the value is negative. */
static struct ll_value *taken_value(struct ll_nn *nn, const struct inputs *inputs, struct ll_value *values)
{
    struct ll_value *taken = ll_mul_of(nn, values, inputs->actions);
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, 1), ll_attr_of_count(LL_ATTR_AXES, 1)};
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_MAX, .input_count = 1, .inputs = &taken, .attr_count = 2, .attrs = attrs});
}

/* Huber's: half the square of a difference up to one, the rest as it is, over the batch. */
static struct ll_value *huber_loss(struct ll_nn *nn, struct ll_value *difference)
{
    struct ll_value *size = ll_nn_do1(nn, LL_OP_ABS, difference);
    struct ll_value *small = ll_nn_do2(nn, LL_OP_MINIMUM, size, ll_constant(nn, "one", 1));
    struct ll_value *square = ll_nn_do2(nn, LL_OP_POW, small, ll_constant(nn, "two", 2));
    struct ll_value *rest = ll_sub_of(nn, size, small);
    return ll_sum_over(nn, ll_add_of(nn, ll_scaled(nn, square, "half", 0.5), rest), 0, 1);
}

static struct ll_value *loss_of(struct ll_nn *nn, const struct inputs *inputs, struct ll_value *values)
{
    ll_nn_push(nn, "loss");
    struct ll_value *expected = expected_value(nn, inputs), *taken = taken_value(nn, inputs, values);
    struct ll_value *loss = huber_loss(nn, ll_sub_of(nn, expected, taken));
    ll_nn_pop(nn);
    return loss;
}

/* What a table's players are told. */
static void add_values(struct ll_nn *nn, const struct ll_build *build, struct ll_game_table *table)
{
    table->values = values_of(nn, ll_agent_sees(nn, table), build);
    ll_nn_keep(table->values);
}

static void add_table(struct ll_nn *nn, const struct ll_build *build, struct ll_game_table *table)
{
    table->program = ll_nn_begin_program(nn);
    add_values(nn, build, table);
}

/* The same network with weights of its own: "target/conv1/weights". */
static void add_target(struct ll_nn *nn, const struct ll_build *build, struct ll_agent *agent)
{
    agent->target_program = ll_nn_begin_program(nn);
    ll_nn_push(nn, "target");
    agent->target_values = values_of(nn, ll_agent_saw_after(nn, agent), build);
    ll_nn_keep(agent->target_values);
    ll_nn_pop(nn);
}

/* Every weight of the learning network over its twin's. */
static void add_copy(struct ll_nn *nn, struct ll_agent *agent)
{
    uint64_t learned_end = nn->programs[agent->target_program].first_value;
    agent->copy_program = ll_nn_begin_program(nn);
    nn->phase = LL_PHASE_UPDATE;
    ll_nn_push(nn, "target");
    for (uint64_t i = 0; i < learned_end; i++) {
        struct ll_value *weight = nn->values[i];
        if (!weight->producer && weight->memory == LL_WEIGHT)
            ll_nn_do2(nn, LL_OP_ASSIGN,
                      ll_nn_variable(nn, weight->name, &weight->shape, LL_WEIGHT, weight->init), weight);
    }
    ll_nn_pop(nn);
}

static struct ll_value *learn(struct ll_nn *nn, const struct ll_build *build, struct ll_agent *agent)
{
    struct inputs inputs = add_inputs(nn, agent);
    struct ll_value *loss = loss_of(nn, &inputs, values_of(nn, inputs.before, build));
    ll_minimise(
        nn, loss,
        &(struct ll_optimizer){
            .kind = LL_RMSPROP, .rate = 1e-6 * (double)build->params[RATE], .decay = 0.95, .epsilon = 0.01});
    add_target(nn, build, agent);
    add_copy(nn, agent);
    add_table(nn, build, &agent->playing);
    if (build->evaluate)
        add_table(nn, build, &agent->judged);
    return loss;
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    const struct ll_agent_options options = {
        .rules = {.paddle = (uint32_t)build->params[PADDLE],
                  .ball = (uint32_t)build->params[BALL],
                  .rows = 6,
                  .lives = (uint32_t)build->params[LIVES],
                  .frame_skip = 4},
        .batch = build->batch,
        .replay = (uint64_t)build->params[REPLAY],
        .exploration = (uint64_t)build->params[EXPLORATION],
        .copy_every = (uint64_t)build->params[COPY_EVERY],
        .seed = build->seed,
        .learns = build->train,
        .judged = build->evaluate,
    };
    struct ll_agent *agent = ll_agent_new(nn, &options);
    if (!agent)
        return &nn->nothing;
    if (build->train)
        return learn(nn, build, agent);
    add_values(nn, build, &agent->playing);
    return agent->playing.values;
}

/* The lesson: a narrow network, and a game with a large ball, which is seen at once, and a wide paddle, which
 * is hit by chance often enough. Bricks a game after 2, 4, 6 and 8 thousand steps: 0.6, 6.2, 29, 54 with
 * seed 1; 1.0, 1.7, 16, 20 with seed 2; a player who draws all actions has 0.8. */
const struct ll_model ll_model_deepq = {
    .name = "deepq",
    .suite = "fathom",
    .doc = "deep Q-network that learns a game from its screen and score",
    .default_batch = 32,
    .inference_batch = 1,
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
    .lesson = {.steps = 8000,
               .batch = 32,
               .settings =
                   {
                       {"channels", "8"},
                       {"hidden", "128"},
                       {"replay", "20000"},
                       {"exploration", "2000"},
                       {"copy_every", "250"},
                       {"rate", "1000"},
                       {"paddle", "28"},
                       {"ball", "4"},
                       {"lives", "1"},
                   }},
    .shows = true,
    .evaluate = ll_agent_evaluate,
};
