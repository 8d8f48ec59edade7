/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a step: every player takes its turns, each beginning with a run of the acting program; one run
 * more tells what the moment behind the last turn is worth; then returns are added up from the last turn to
 * the first. */
#include <assert.h>
#include <string.h>

#include "models/feed.h"
#include "models/model.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"
#include "models/nn/training.h"
#include "models/nn/runner.h"
#include "models/tbd/a3c.h"
#include "tracer/base/random.h"

enum { PLAYING, ACTING, JUDGED, JUDGED_ACTING }; /* streams of the seed */

static uint64_t draw(const struct ll_actors *actors, uint64_t stream, uint64_t i)
{
    return ll_random_bits(ll_random_key(actors->options.seed, stream), i);
}

/* An action as often as the policy has it. */
static enum ll_action draw_action(const struct ll_actor_crew *crew, const struct ll_runner *runner,
                                  uint64_t player, uint64_t random_bits)
{
    double left = ll_random_fine_unit(random_bits);
    enum ll_action action = LL_NOOP;
    for (; action + 1 < LL_ACTION_COUNT; action++) {
        left -= ll_runner_element(runner, crew->policy, player * LL_ACTION_COUNT + action);
        if (left < 0)
            break;
    }
    return action;
}

/* What was done in a game at a turn and what came of it; rewards count one at most, as Mnih et al. (2015)
 * clip them. */
static void take_turn(struct ll_actors *actors, const struct ll_runner *runner, uint64_t turn, uint64_t game)
{
    uint64_t i = turn * actors->options.games + game;
    enum ll_action action =
        draw_action(&actors->playing, runner, game, draw(actors, ACTING, actors->acted++));
    struct ll_moment moment = ll_player_act(&actors->playing.players[game], action);
    actors->actions[i] = (int32_t)action;
    actors->rewards[i] = moment.reward > 1 ? 1 : moment.reward;
    actors->ends[i] = moment.last;
    actors->worths[i] = (float)ll_runner_element(runner, actors->playing.worth, game);
}

/* The returns of a game, from those of the last turn; `later` is what the moment behind it is worth. */
static void add_up(struct ll_actors *actors, uint64_t game, double later)
{
    const struct ll_actors_options *options = &actors->options;
    for (uint64_t turn = options->turns; turn-- > 0;) {
        uint64_t i = turn * options->games + game;
        later = (double)actors->rewards[i] + (actors->ends[i] > 0 ? 0 : options->discount * later);
        actors->returns[i] = (float)later;
        actors->advantages[i] = (float)(later - (double)actors->worths[i]);
    }
}

struct screen {
    uint64_t height, width, colours;
};

static struct screen screen_of(const struct ll_actors *actors)
{
    return actors->options.raw ? (struct screen){210, 160, 3} : (struct screen){LL_SCREEN, LL_SCREEN, 1};
}

static uint64_t screen_bytes(const struct ll_actors *actors)
{
    struct screen screen = screen_of(actors);
    return screen.height * screen.width * LL_SEEN_FRAMES * screen.colours;
}

/* The frames that a player sees, on the actors' screen: [height, width, frames, colours], all colours alike.
 */
static void show(const struct ll_actors *actors, const struct ll_player *player, uint8_t *bytes)
{
    struct screen screen = screen_of(actors);
    struct ll_sight sight = ll_player_sight(player);
    for (uint64_t y = 0; y < screen.height; y++)
        for (uint64_t x = 0; x < screen.width; x++) {
            uint64_t pixel = y * LL_SCREEN / screen.height * LL_SCREEN + x * LL_SCREEN / screen.width;
            for (uint64_t f = 0; f < LL_SEEN_FRAMES; f++)
                for (uint64_t c = 0; c < screen.colours; c++)
                    *bytes++ = sight.frames[f] ? sight.frames[f][pixel] : 0;
        }
}

/* All turns of all games, and what is to be learned from them. */
static void play(struct ll_actors *actors, struct ll_runner *runner)
{
    const struct ll_actors_options *options = &actors->options;
    uint64_t bytes = screen_bytes(actors);
    for (uint64_t turn = 0; turn < options->turns; turn++) {
        ll_runner_run(runner, actors->playing.program, actors->steps);
        for (uint64_t game = 0; game < options->games; game++) {
            show(actors, &actors->playing.players[game],
                 actors->screens + (turn * options->games + game) * bytes);
            take_turn(actors, runner, turn, game);
        }
    }
    ll_runner_run(runner, actors->playing.program, actors->steps);
    for (uint64_t game = 0; game < options->games; game++)
        add_up(actors, game, ll_runner_element(runner, actors->playing.worth, game));
}

/* All games go on by what the last step has said. */
static void play_on(struct ll_actors *actors, struct ll_runner *runner)
{
    for (uint64_t game = 0; actors->steps > 0 && game < actors->options.games; game++)
        ll_player_act(&actors->playing.players[game],
                      draw_action(&actors->playing, runner, game, draw(actors, ACTING, actors->acted++)));
}

/* A step that is asked for again learns from the same turns again. */
static uint32_t begin_step(void *context, struct ll_runner *runner, uint64_t step)
{
    struct ll_actors *actors = context;
    if (!ll_runner_data(runner, actors->playing.policy))
        return 0;
    for (; actors->steps <= step; actors->steps++)
        (actors->options.learn ? play : play_on)(actors, runner);
    return 0;
}

static bool seat(struct ll_actors *actors, struct ll_actor_crew *crew)
{
    crew->players = ll_alloc(&actors->arena, crew->count, sizeof *crew->players);
    for (uint64_t i = 0; crew->players && i < crew->count; i++)
        ll_player_begin(&crew->players[i], &actors->options.rules, draw(actors, PLAYING, i));
    return crew->players;
}

static void release(void *context)
{
    struct ll_actors *actors = context;
    ll_arena_release(&actors->arena);
}

/* Begins anew. */
static enum ll_status prepare(void *context)
{
    struct ll_actors *actors = context;
    uint64_t moments = actors->options.learn ? actors->options.turns * actors->options.games : 0;
    release(actors);
    actors->steps = actors->acted = 0;
    float **numbers[] = {&actors->rewards, &actors->ends, &actors->worths, &actors->returns,
                         &actors->advantages};
    bool ready = seat(actors, &actors->playing) && seat(actors, &actors->judged);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        *numbers[i] = ll_alloc(&actors->arena, moments, sizeof **numbers[i]);
        ready = ready && *numbers[i];
    }
    actors->actions = ll_alloc(&actors->arena, moments, sizeof *actors->actions);
    actors->screens = ll_alloc(&actors->arena, moments, screen_bytes(actors));
    return ready && actors->actions && actors->screens ? LL_OK : LL_NO_MEMORY;
}

/* Drives the network from now on. NULL after trouble. */
static struct ll_actors *actors_new(struct ll_nn *nn, const struct ll_actors_options *options)
{
    assert(options->games > 0 && options->turns > 0 && options->discount > 0 && options->discount <= 1);
    struct ll_actors *actors = ll_alloc(&nn->arena, 1, sizeof *actors);
    if (!actors) {
        ll_nn_fail(nn, "memory ran out");
        return NULL;
    }
    actors->options = *options;
    actors->playing.count = options->games;
    actors->judged.count = options->judged ? LL_JUDGED_GAMES : 0;
    ll_nn_drive(nn, &(struct ll_driver){actors, begin_step, release, prepare});
    return actors;
}

/* What an input op reads: a crew's screens, or a turn. */
struct view {
    const struct ll_actors *actors;
    const struct ll_actor_crew *crew;
    uint64_t turn;
};

static void fill_seen(void *context, uint64_t step, uint8_t *bytes)
{
    (void)step;
    const struct view *view = context;
    for (uint64_t i = 0; i < view->crew->count; i++)
        show(view->actors, &view->crew->players[i], bytes + i * screen_bytes(view->actors));
}

static void fill_screens(void *context, uint64_t step, uint8_t *bytes)
{
    (void)step;
    const struct view *view = context;
    uint64_t size = view->actors->options.games * screen_bytes(view->actors);
    memcpy(bytes, view->actors->screens + view->turn * size, size);
}

static void fill_actions(void *context, uint64_t step, int32_t *actions)
{
    (void)step;
    const struct view *view = context;
    uint64_t games = view->actors->options.games;
    memcpy(actions, view->actors->actions + view->turn * games, games * sizeof *actions);
}

static void fill_returns(void *context, uint64_t step, float *returns)
{
    (void)step;
    const struct view *view = context;
    uint64_t games = view->actors->options.games;
    memcpy(returns, view->actors->returns + view->turn * games, games * sizeof *returns);
}

static void fill_advantages(void *context, uint64_t step, float *advantages)
{
    (void)step;
    const struct view *view = context;
    uint64_t games = view->actors->options.games;
    memcpy(advantages, view->actors->advantages + view->turn * games, games * sizeof *advantages);
}

static struct view *add_view(struct ll_nn *nn, struct view view)
{
    struct view *kept = ll_copy(&nn->arena, &view, sizeof view);
    if (!kept)
        ll_nn_fail(nn, "memory ran out");
    return kept;
}

static struct ll_shape screens_shape(const struct ll_nn *nn, const struct ll_actors *actors, uint64_t count)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL};
    struct screen screen = screen_of(actors);
    return ll_nn_shape(
        nn, 4, (uint64_t[]){count, screen.height, screen.width, LL_SEEN_FRAMES * screen.colours}, roles);
}

/* Input ops. What a crew sees now: u8 [count, height, width, frames], colours after each other. */
static struct ll_value *actor_crew_sees(struct ll_nn *nn, const struct ll_actors *actors,
                                        struct ll_actor_crew *crew)
{
    struct ll_shape shape = screens_shape(nn, actors, crew->count);
    struct view *view = add_view(nn, (struct view){actors, crew, 0});
    return ll_feed_bytes(nn, "screens", &shape, fill_seen, view);
}

static struct ll_turn actors_turn(struct ll_nn *nn, struct ll_actors *actors, uint64_t turn)
{
    assert(turn < actors->options.turns && actors->options.turns <= LL_MOST_TURNS);
    struct ll_shape screens = screens_shape(nn, actors, actors->options.games);
    struct ll_shape games = ll_nn_shape(nn, 1, &actors->options.games, (enum ll_role[]){LL_ROLE_BATCH});
    struct view *view = add_view(nn, (struct view){actors, NULL, turn});
    return (struct ll_turn){ll_feed_bytes(nn, "screens", &screens, fill_screens, view),
                            ll_feed_indices(nn, "actions", &games, fill_actions, view),
                            ll_feed_floats(nn, "returns", &games, fill_returns, view),
                            ll_feed_floats(nn, "advantages", &games, fill_advantages, view)};
}

/* Actors that are judged, and what computes for them. */
struct candidate {
    const struct ll_actors *actors;
    struct ll_runner *runner;
};

static void think(void *context, uint64_t turn)
{
    const struct candidate *candidate = context;
    ll_runner_run(candidate->runner, candidate->actors->judged.program, turn);
}

static enum ll_action choose(void *context, uint64_t player, uint64_t random_bits)
{
    const struct candidate *candidate = context;
    return draw_action(&candidate->actors->judged, candidate->runner, player, random_bits);
}

/* A model's evaluate function: the mean score of games that it has not played, actions being drawn as the
 * policy says, beside the score of a player who draws them evenly. */
static bool actors_evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    const struct ll_actors *actors = context;
    struct candidate candidate = {actors, runner};
    const struct ll_trial trial = {actors->judged.players,
                                   actors->options.rules,
                                   ll_random_key(actors->options.seed, JUDGED),
                                   ll_random_key(actors->options.seed, JUDGED_ACTING),
                                   think,
                                   choose,
                                   &candidate};
    return ll_trial_judge(&trial, scores);
}

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
 * it (a3c.h). The loss is the sum over turns and games of
 *
 *     -advantage log p(action)  +  1/2 (return - worth)^2  -  0.08 entropy(p)
 *
 * Inference is the players' next action. */

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
    struct ll_conv_options options = ll_conv_of(x->shape.dim[3], kernel, stride, filters, 2);
    options.padding = LL_VALID;
    options.activation = LL_RELU;
    return ll_conv_layer(nn, name, x, &options);
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
    struct ll_value *x = ll_nn_mul_scalar(nn, ll_as_real(nn, screens), "shade", 1.0 / 255);
    ll_nn_pop(nn);
    x = conv(nn, "conv1", x, 8, 4, channels);
    x = ll_flatten(nn, conv(nn, "conv2", x, 4, 2, 2 * channels));
    x = ll_dense_layer(nn, "fc", x,
                       &(struct ll_dense_options){.units = (uint64_t)build->params[HIDDEN],
                                                  .activation = LL_RELU,
                                                  .init = ll_init_fan_in(x->shape.dim[1], 2)});
    struct opinion opinion = {
        ll_dense_layer(nn, "policy", x, &(struct ll_dense_options){.units = LL_ACTION_COUNT, .init = small}),
        ll_dense_layer(nn, "worth", x, &(struct ll_dense_options){.units = 1, .init = small})};
    return opinion;
}

/* What a crew is told. */
static struct ll_value *advise(struct ll_nn *nn, const struct ll_build *build, const struct ll_actors *actors,
                               struct ll_actor_crew *crew)
{
    struct opinion opinion = opinion_on(nn, actor_crew_sees(nn, actors, crew), build);
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
    struct ll_value *worth = ll_nn_reshape(nn, opinion.worth, &turn->returns->shape);
    struct ll_value *error = ll_nn_do1(nn, LL_OP_L2_LOSS, ll_sub_of(nn, worth, turn->returns));
    struct ll_value *order =
        ll_nn_mul_scalar(nn, order_of(nn, opinion.logits), "entropy", 1e-3 * (double)build->params[ENTROPY]);
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
        struct ll_turn turn = actors_turn(nn, actors, i);
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

/* Inference is the policy of the players for what they see now. Training learns from the turns that were
 * just played; programs for playing, and for the games that judge, stand behind the step. */
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
    struct ll_actors *actors = actors_new(nn, &options);
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

/* The training recipe: deepq's easy game and a narrow network. Bricks a game after 1, 2 and 3 thousand steps:
 * 51, 66, 53 with seed 1; a player who draws all actions has 1.0. */
const struct ll_model ll_model_a3c = {
    .name = "a3c",
    .suite = "tbd",
    .doc = "actor-critic that plays many games in parallel (A3C)",
    .default_batch = 32,
    .amount = {"turns", TURNS, 1},
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
    .recipe = {.steps = 1500,
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
    .evaluate = actors_evaluate,
};
