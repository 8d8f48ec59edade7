/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent shows to its network. */
#include "models/fathom/agent.h"

#include <string.h>

#include "models/feed.h"
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

struct ll_value *ll_agent_sees(struct ll_nn *nn, struct ll_game_table *table)
{
    const struct ll_shape shape = sights(nn, table->count, table->batched);
    return ll_feed_floats(nn, "screens", &shape, fill_seen, table);
}

struct ll_value *ll_agent_saw_before(struct ll_nn *nn, struct ll_agent *agent)
{
    const struct ll_shape shape = sights(nn, agent->options.batch, true);
    return ll_feed_floats(nn, "before", &shape, fill_before, agent);
}

struct ll_value *ll_agent_saw_after(struct ll_nn *nn, struct ll_agent *agent)
{
    const struct ll_shape shape = sights(nn, agent->options.batch, true);
    return ll_feed_floats(nn, "after", &shape, fill_after, agent);
}

struct ll_value *ll_agent_actions(struct ll_nn *nn, struct ll_agent *agent)
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

struct ll_value *ll_agent_rewards(struct ll_nn *nn, struct ll_agent *agent)
{
    return add_numbers(nn, "rewards", agent, fill_rewards);
}

struct ll_value *ll_agent_ends(struct ll_nn *nn, struct ll_agent *agent)
{
    return add_numbers(nn, "ends", agent, fill_ends);
}

struct ll_value *ll_agent_next_values(struct ll_nn *nn, struct ll_agent *agent)
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

struct ll_agent *ll_agent_new(struct ll_nn *nn, const struct ll_agent_options *options)
{
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

bool ll_agent_evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
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
