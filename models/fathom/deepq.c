/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent shows to its network. */
#include "models/fathom/deepq.h"

#include <assert.h>
#include <string.h>

#include "models/feed.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"
#include "models/nn/training.h"
#include "models/nn/runner.h"
#include "tracer/base/random.h"

enum { SIGHT = LL_SEEN_FRAMES * LL_SCREEN_PIXELS };

static void fill_seen(void *context, uint64_t step, float *pixels)
{
    (void)step;
    const struct ll_game_table *table = context;
    for (uint64_t i = 0; i < table->count; i++) {
        struct ll_sight sight = ll_player_sight(&table->players[i]);
        ll_sight_pixels(&sight, LL_SCREEN_PIXELS, pixels + i * SIGHT);
    }
}

static void fill_before(void *context, uint64_t step, float *pixels)
{
    (void)step;
    const struct ll_agent *agent = context;
    for (uint64_t i = 0; i < agent->options.batch; i++)
        ll_sight_pixels(&agent->batch[i].before, LL_SCREEN_PIXELS, pixels + i * SIGHT);
}

static void fill_after(void *context, uint64_t step, float *pixels)
{
    (void)step;
    const struct ll_agent *agent = context;
    for (uint64_t i = 0; i < agent->options.batch; i++)
        ll_sight_pixels(&agent->batch[i].after, LL_SCREEN_PIXELS, pixels + i * SIGHT);
}

static void fill_actions(void *context, uint64_t step, float *chosen)
{
    (void)step;
    const struct ll_agent *agent = context;
    for (uint64_t i = 0; i < agent->options.batch; i++)
        for (uint32_t action = 0; action < LL_ACTION_COUNT; action++)
            *chosen++ = agent->batch[i].moment.action == action;
}

/* At most one, as Mnih et al. (2015) clip it. */
static void fill_rewards(void *context, uint64_t step, float *rewards)
{
    (void)step;
    const struct ll_agent *agent = context;
    for (uint64_t i = 0; i < agent->options.batch; i++)
        rewards[i] = agent->batch[i].moment.reward > 1 ? 1 : agent->batch[i].moment.reward;
}

static void fill_ends(void *context, uint64_t step, float *ends)
{
    (void)step;
    const struct ll_agent *agent = context;
    for (uint64_t i = 0; i < agent->options.batch; i++)
        ends[i] = agent->batch[i].moment.last;
}

static void fill_next_values(void *context, uint64_t step, float *values)
{
    (void)step;
    const struct ll_agent *agent = context;
    for (uint64_t i = 0; i < agent->options.batch; i++)
        values[i] = (float)agent->next_values[i];
}

/* So many screens, of the batch or not. */
static struct ll_shape sights(struct ll_nn *nn, uint64_t count, bool batched)
{
    const enum ll_role roles[] = {batched ? LL_ROLE_BATCH : LL_ROLE_PLAIN, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL,
                                  LL_ROLE_CHANNEL};
    return ll_nn_shape(nn, 4, (uint64_t[]){count, LL_SCREEN, LL_SCREEN, LL_SEEN_FRAMES}, roles);
}

/* Input ops. What the players at a table see, and what was seen before and after the actions that the batch
 * remembers: [count, height, width, frames], from 0 to 1. */
static struct ll_value *agent_sees(struct ll_nn *nn, struct ll_game_table *table)
{
    const struct ll_shape shape = sights(nn, table->count, table->batched);
    return ll_feed_floats(nn, "screens", &shape, fill_seen, table);
}

static struct ll_value *agent_saw_before(struct ll_nn *nn, struct ll_agent *agent)
{
    const struct ll_shape shape = sights(nn, agent->options.batch, true);
    return ll_feed_floats(nn, "before", &shape, fill_before, agent);
}

static struct ll_value *agent_saw_after(struct ll_nn *nn, struct ll_agent *agent)
{
    const struct ll_shape shape = sights(nn, agent->options.batch, true);
    return ll_feed_floats(nn, "after", &shape, fill_after, agent);
}

/* Of the batch: one at the action, else zero, [batch, actions]; and [batch]: the reward, one where the game
 * was then over, what the target network thinks of the best action afterwards. */
static struct ll_value *agent_actions(struct ll_nn *nn, struct ll_agent *agent)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){agent->options.batch, LL_ACTION_COUNT}, roles);
    return ll_feed_floats(nn, "actions", &shape, fill_actions, agent);
}

static struct ll_value *add_numbers(struct ll_nn *nn, const char *name, struct ll_agent *agent,
                                    ll_fill_floats *fill)
{
    static const enum ll_role role = LL_ROLE_BATCH;
    struct ll_shape shape = ll_nn_shape(nn, 1, &agent->options.batch, &role);
    return ll_feed_floats(nn, name, &shape, fill, agent);
}

static struct ll_value *agent_rewards(struct ll_nn *nn, struct ll_agent *agent)
{
    return add_numbers(nn, "rewards", agent, fill_rewards);
}

static struct ll_value *agent_ends(struct ll_nn *nn, struct ll_agent *agent)
{
    return add_numbers(nn, "ends", agent, fill_ends);
}

static struct ll_value *agent_next_values(struct ll_nn *nn, struct ll_agent *agent)
{
    return add_numbers(nn, "next_values", agent, fill_next_values);
}

/* A step of learning: act on what is seen, remember it, draw a batch of memories, ask the target network what
 * the best action after each was worth. What the network then does with the batch is the step itself. */

enum { LEAST_MOMENTS = 100 };
static const double first_epsilon = 1, last_epsilon = 0.1, playing_epsilon = 0.05, judged_epsilon = 0.05;

static void read_row(const struct ll_runner *runner, const struct ll_value *values, uint64_t row,
                     double actions[LL_ACTION_COUNT])
{
    for (uint64_t i = 0; i < LL_ACTION_COUNT; i++)
        actions[i] = ll_runner_element(runner, values, row * LL_ACTION_COUNT + i);
}

/* The moment after an action that the program's last values decide. */
static struct ll_moment act_at(const struct ll_game_table *table, const struct ll_runner *runner,
                               uint64_t row, double epsilon, uint64_t random_bits)
{
    double values[LL_ACTION_COUNT];
    read_row(runner, table->values, row, values);
    return ll_player_act(&table->players[row], ll_choose_action(values, epsilon, random_bits));
}

/* Streams of the agent's seed. The judged play other games than those learned from. */
enum stream { PLAYING, ACTING, DRAWING, JUDGED, JUDGED_ACTING };

/* Bits number i of one. */
static uint64_t bits_of(const struct ll_agent *agent, enum stream stream, uint64_t i)
{
    return ll_random_bits(ll_random_key(agent->options.seed, stream), i);
}

/* Falls from first to last in a straight line, then stays. */
static double epsilon_of(const struct ll_agent *agent)
{
    if (agent->steps >= agent->options.exploration)
        return last_epsilon;
    double share = (double)agent->steps / (double)agent->options.exploration;
    return first_epsilon + (last_epsilon - first_epsilon) * share;
}

/* One action of the learner's game. The values are computed even where chance decides, as in Fathom's code.
 */
static void play_on(struct ll_agent *agent, struct ll_runner *runner)
{
    uint8_t frame[LL_SCREEN_PIXELS];
    const struct ll_game_table *playing = &agent->playing;
    ll_runner_run(runner, playing->program, agent->steps);
    memcpy(frame, ll_player_frame(playing->players), sizeof frame);
    ll_replay_add(agent->replay, frame,
                  act_at(playing, runner, 0, epsilon_of(agent), bits_of(agent, ACTING, agent->acted++)));
}

static void draw_batch(struct ll_agent *agent)
{
    uint64_t size = agent->options.batch, count = ll_replay_count(agent->replay);
    for (uint64_t i = 0; i < size; i++)
        ll_replay_get(agent->replay, bits_of(agent, DRAWING, agent->steps * size + i) % count,
                      &agent->batch[i]);
}

static void ask_target(struct ll_agent *agent, struct ll_runner *runner)
{
    double values[LL_ACTION_COUNT];
    ll_runner_run(runner, agent->target_program, agent->steps);
    for (uint64_t row = 0; row < agent->options.batch; row++) {
        read_row(runner, agent->target_values, row, values);
        agent->next_values[row] = values[ll_choose_action(values, 0, 0)];
    }
}

static void prepare_learning(struct ll_agent *agent, struct ll_runner *runner)
{
    if (agent->steps % agent->options.copy_every == 0)
        ll_runner_run(runner, agent->copy_program, agent->steps);
    do
        play_on(agent, runner);
    while (agent->acted <= LEAST_MOMENTS);
    draw_batch(agent);
    ask_target(agent, runner);
}

/* All games go on by what the last step has said. */
static void play_all(struct ll_agent *agent, struct ll_runner *runner)
{
    const struct ll_game_table *playing = &agent->playing;
    for (uint64_t row = 0; agent->steps > 0 && row < playing->count; row++)
        act_at(playing, runner, row, playing_epsilon, bits_of(agent, ACTING, agent->acted++));
}

/* A step that is asked for again learns from the same batch again. */
static uint32_t begin_step(void *context, struct ll_runner *runner, uint64_t step)
{
    struct ll_agent *agent = context;
    if (!ll_runner_data(runner, agent->playing.values))
        return 0;
    for (; agent->steps <= step; agent->steps++)
        (agent->options.learns ? prepare_learning : play_all)(agent, runner);
    return 0;
}

/* Each row of the table a player with games of its own. */
static bool seat(struct ll_agent *agent, struct ll_game_table *table)
{
    table->players = ll_alloc(&agent->arena, table->count, sizeof *table->players);
    for (uint64_t i = 0; table->players && i < table->count; i++)
        ll_player_begin(&table->players[i], &agent->options.rules, bits_of(agent, PLAYING, i));
    return table->players;
}

static void release(void *context)
{
    struct ll_agent *agent = context;
    ll_replay_free(agent->replay);
    agent->replay = NULL;
    ll_arena_release(&agent->arena);
}

/* Begins anew, with nothing remembered. */
static enum ll_status prepare(void *context)
{
    struct ll_agent *agent = context;
    uint64_t batch = agent->options.batch;
    release(agent);
    agent->steps = agent->acted = 0;
    if (!seat(agent, &agent->playing) || !seat(agent, &agent->judged))
        return LL_NO_MEMORY;
    if (!agent->options.learns)
        return LL_OK;
    agent->replay = ll_replay_new(agent->options.replay, LL_SCREEN_PIXELS);
    agent->batch = ll_alloc(&agent->arena, batch, sizeof *agent->batch);
    agent->next_values = ll_alloc(&agent->arena, batch, sizeof *agent->next_values);
    return agent->replay && agent->batch && agent->next_values ? LL_OK : LL_NO_MEMORY;
}

/* Drives the network from now on. NULL after trouble. */
static struct ll_agent *agent_new(struct ll_nn *nn, const struct ll_agent_options *options)
{
    assert(options->batch > 0);
    struct ll_agent *agent = ll_alloc(&nn->arena, 1, sizeof *agent);
    if (!agent) {
        ll_nn_fail(nn, "memory ran out");
        return NULL;
    }
    agent->options = *options;
    agent->playing.count = options->learns ? 1 : options->batch;
    agent->playing.batched = !options->learns;
    agent->judged.count = options->judged ? LL_JUDGED_GAMES : 0;
    ll_nn_drive(nn, &(struct ll_driver){agent, begin_step, release, prepare});
    return agent;
}

/* An agent that is judged, and what computes for it. */
struct candidate {
    const struct ll_agent *agent;
    struct ll_runner *runner;
};

static void think(void *context, uint64_t turn)
{
    const struct candidate *candidate = context;
    ll_runner_run(candidate->runner, candidate->agent->judged.program, turn);
}

static enum ll_action choose(void *context, uint64_t player, uint64_t random_bits)
{
    const struct candidate *candidate = context;
    double values[LL_ACTION_COUNT];
    read_row(candidate->runner, candidate->agent->judged.values, player, values);
    return ll_choose_action(values, judged_epsilon, random_bits);
}

/* A model's evaluate function: the mean score of games that it has not played, one action in twenty being
 * drawn, beside the score of a player who draws them all. With a folder, the first game's beginning as a
 * picture. */
static bool agent_evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    const struct ll_agent *agent = context;
    struct candidate candidate = {agent, runner};
    const struct ll_trial trial = {agent->judged.players,
                                   agent->options.rules,
                                   ll_random_key(agent->options.seed, JUDGED),
                                   ll_random_key(agent->options.seed, JUDGED_ACTING),
                                   think,
                                   choose,
                                   &candidate};
    return ll_trial_judge(&trial, scores);
}

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
 * step (deepq.h). Inference is the player's action, in as many games at once as the batch has. */

enum { REPLAY, EXPLORATION, COPY_EVERY, CHANNELS, HIDDEN, RATE, PADDLE, BALL, LIVES };

static const struct ll_model_param deepq_params[] = {
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
    struct ll_conv_options options = ll_conv_of(x->shape.dim[3], kernel, stride, filters, 2);
    options.padding = LL_VALID;
    options.activation = LL_RELU;
    options.bias = LL_BIAS_BY_ADD;
    return ll_conv_layer(nn, name, x, &options);
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
                                        .init = ll_init_fan_in(x->shape.dim[1], 2)});
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
    struct inputs inputs = {.before = agent_saw_before(nn, agent)};
    inputs.actions = agent_actions(nn, agent);
    inputs.rewards = agent_rewards(nn, agent);
    inputs.ends = agent_ends(nn, agent);
    inputs.next_values = agent_next_values(nn, agent);
    return inputs;
}

/* The score, and unless the game was then over what the best action was worth to the target network:
 * r + (1 - end) (discount max Q'). */
static struct ll_value *expected_value(struct ll_nn *nn, const struct inputs *inputs)
{
    struct ll_value *goes_on = ll_sub_of(nn, ll_constant(nn, "one", 1), inputs->ends);
    struct ll_value *later = ll_nn_mul_scalar(nn, inputs->next_values, "discount", 0.99);
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
    return ll_sum_over(nn, ll_add_of(nn, ll_nn_mul_scalar(nn, square, "half", 0.5), rest), 0, 1);
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
    table->values = values_of(nn, agent_sees(nn, table), build);
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
    agent->target_values = values_of(nn, agent_saw_after(nn, agent), build);
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

/* A training step updates from replay memory; inference is the values of the actions for the frames of
 * `batch` games. */
static struct ll_value *build_deepq(struct ll_nn *nn, const struct ll_build *build)
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
    struct ll_agent *agent = agent_new(nn, &options);
    if (!agent)
        return &nn->nothing;
    if (build->train)
        return learn(nn, build, agent);
    add_values(nn, build, &agent->playing);
    return agent->playing.values;
}

/* The training recipe: a narrow network, and a game with a large ball, which is seen at once, and a wide
 * paddle, which is hit by chance often enough. Bricks a game after 2, 4, 6 and 8 thousand steps: 0.6, 6.2,
 * 29, 54 with seed 1; 1.0, 1.7, 16, 20 with seed 2; a player who draws all actions has 0.8. */
const struct ll_model ll_model_deepq = {
    .name = "deepq",
    .suite = "fathom",
    .doc = "deep Q-network that learns a game from its screen and score",
    .default_batch = 32,
    .inference_batch = 1,
    .params = deepq_params,
    .param_count = sizeof deepq_params / sizeof *deepq_params,
    .build = build_deepq,
    .recipe = {.steps = 8000,
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
    .evaluate = agent_evaluate,
};
