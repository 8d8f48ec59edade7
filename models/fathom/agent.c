/* SPDX-License-Identifier: Apache-2.0 */
/* A step of learning: act on what is seen, remember it, draw a batch of memories, ask the target network what
 * the best action after each was worth. What the network then does with the batch is the step itself. */
#include "models/fathom/agent.h"

#include "models/feed.h"
#include "models/nn/runner.h"
#include "tracer/base/file.h"
#include "tracer/base/random.h"

#include <stdlib.h>
#include <string.h>

/* Streams of the seed. The judged play other games than those learned from. */
enum { PLAYING, ACTING, DRAWING, JUDGED, JUDGED_ACTING };

enum { JUDGED_GAMES = 32, LEAST_MOMENTS = 100, STRIP_FRAMES = 16, ACTIONS_A_STRIP_FRAME = 2 };
static const double first_epsilon = 1, last_epsilon = 0.1, judged_epsilon = 0.05;

/* Of a kept value that is no scalar. */
static double read_element(const struct ll_runner *runner, const struct ll_value *value, uint64_t i)
{
    const void *data = ll_runner_data(runner, value);
    return value->shape.dtype == LL_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static void read_row(const struct ll_runner *runner, const struct ll_value *values, uint64_t row,
                     double actions[LL_ACTION_COUNT])
{
    for (uint64_t i = 0; i < LL_ACTION_COUNT; i++)
        actions[i] = read_element(runner, values, row * LL_ACTION_COUNT + i);
}

/* By the values that the table's program has left. */
static struct ll_moment act(const struct ll_table *table, const struct ll_runner *runner, uint64_t row,
                            double epsilon, uint64_t random_bits)
{
    double values[LL_ACTION_COUNT];
    read_row(runner, table->values, row, values);
    return ll_player_act(&table->players[row], ll_choose_action(values, epsilon, random_bits));
}

static uint64_t draw(const struct ll_agent *agent, uint64_t stream, uint64_t i)
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
    const struct ll_table *playing = &agent->playing;
    ll_runner_run(runner, playing->program, agent->steps);
    memcpy(frame, ll_player_frame(playing->players), sizeof frame);
    ll_replay_add(agent->replay, frame,
                  act(playing, runner, 0, epsilon_of(agent), draw(agent, ACTING, agent->acted++)));
}

static void draw_batch(struct ll_agent *agent)
{
    uint64_t size = agent->options.batch, count = ll_replay_count(agent->replay);
    for (uint64_t i = 0; i < size; i++)
        ll_replay_get(agent->replay, draw(agent, DRAWING, agent->steps * size + i) % count, &agent->batch[i]);
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
    const struct ll_table *playing = &agent->playing;
    for (uint64_t row = 0; agent->steps > 0 && row < playing->count; row++)
        act(playing, runner, row, judged_epsilon, draw(agent, ACTING, agent->acted++));
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

static void release(void *context)
{
    struct ll_agent *agent = context;
    ll_replay_free(agent->replay);
}

/* Each row of the table a player with games of its own. */
static bool seat(struct ll_nn *nn, struct ll_table *table, uint64_t count, const struct ll_agent *agent)
{
    table->count = count;
    table->players = ll_alloc(&nn->arena, count, sizeof *table->players);
    for (uint64_t i = 0; table->players && i < count; i++)
        ll_player_begin(&table->players[i], &agent->options.rules, draw(agent, PLAYING, i));
    return table->players;
}

static bool furnish(struct ll_nn *nn, struct ll_agent *agent)
{
    const struct ll_agent_options *options = &agent->options;
    if (!seat(nn, &agent->playing, options->learns ? 1 : options->batch, agent) ||
        !seat(nn, &agent->judged, options->judged ? JUDGED_GAMES : 0, agent))
        return false;
    if (!options->learns)
        return true;
    agent->replay = ll_replay_new(options->replay, LL_SCREEN_PIXELS);
    agent->batch = ll_alloc(&nn->arena, options->batch, sizeof *agent->batch);
    agent->next_values = ll_alloc(&nn->arena, options->batch, sizeof *agent->next_values);
    return agent->replay && agent->batch && agent->next_values;
}

struct ll_agent *ll_agent_new(struct ll_nn *nn, const struct ll_agent_options *options)
{
    struct ll_agent *agent = ll_alloc(&nn->arena, 1, sizeof *agent);
    if (agent) {
        agent->options = *options;
        ll_nn_drive(nn, &(struct ll_driver){agent, begin_step, release});
    }
    if (agent && furnish(nn, agent))
        return agent;
    ll_nn_fail(nn, "memory ran out");
    return NULL;
}

enum { SIGHT = LL_SEEN_FRAMES * LL_SCREEN_PIXELS };

static void fill_seen(void *context, uint64_t step, float *pixels)
{
    (void)step;
    const struct ll_table *table = context;
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

static struct ll_value *add_sights(struct ll_nn *nn, const char *name, uint64_t count, ll_fill_floats *fill,
                                   void *context)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL};
    struct ll_shape shape =
        ll_nn_shape(nn, 4, (uint64_t[]){count, LL_SCREEN, LL_SCREEN, LL_SEEN_FRAMES}, roles);
    return ll_feed_floats(nn, name, &shape, fill, context);
}

struct ll_value *ll_agent_sees(struct ll_nn *nn, struct ll_table *table)
{
    return add_sights(nn, "screens", table->count, fill_seen, table);
}

struct ll_value *ll_agent_saw_before(struct ll_nn *nn, struct ll_agent *agent)
{
    return add_sights(nn, "before", agent->options.batch, fill_before, agent);
}

struct ll_value *ll_agent_saw_after(struct ll_nn *nn, struct ll_agent *agent)
{
    return add_sights(nn, "after", agent->options.batch, fill_after, agent);
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

/* The frames that the first of the judged has seen, every second one of its beginning. */
struct strip {
    uint8_t frames[STRIP_FRAMES][LL_SCREEN_PIXELS];
    uint64_t count;
};

/* Side by side, as a portable graymap. */
static bool write_strip(const struct strip *strip, const struct ll_scores *scores)
{
    struct ll_str text = {0};
    struct ll_arena arena = {0};
    ll_str_addf(&text, "P5\n%d %d\n255\n", (int)strip->count * LL_SCREEN, LL_SCREEN);
    for (uint64_t y = 0; y < LL_SCREEN; y++)
        for (uint64_t i = 0; i < strip->count; i++)
            ll_str_add_bytes(&text, (const char *)strip->frames[i] + y * LL_SCREEN, LL_SCREEN);
    const char *path = ll_format(&arena, "%s/game.pgm", scores->folder);
    enum ll_status status = text.failed || !path ? LL_NO_MEMORY : ll_write_whole(path, &text);
    if (status != LL_OK)
        ll_complain(scores->diags, (struct ll_place){0}, "%s/game.pgm: %s", scores->folder,
                    ll_status_text(status));
    ll_str_release(&text);
    ll_arena_release(&arena);
    return status == LL_OK;
}

static void keep_frame(struct strip *strip, const struct ll_player *player, uint64_t turn)
{
    if (strip && turn % ACTIONS_A_STRIP_FRAME == 0 && strip->count < STRIP_FRAMES)
        memcpy(strip->frames[strip->count++], ll_player_frame(player), LL_SCREEN_PIXELS);
}

/* One game each, the same games whoever plays: the mean score. The strip may be NULL. */
static double judge(const struct ll_agent *agent, struct ll_runner *runner, double epsilon,
                    struct strip *strip)
{
    const struct ll_table *judged = &agent->judged;
    bool over[JUDGED_GAMES] = {false};
    uint64_t playing = judged->count;
    double score = 0;
    for (uint64_t i = 0; i < judged->count; i++)
        ll_player_begin(&judged->players[i], &agent->options.rules, draw(agent, JUDGED, i));
    for (uint64_t turn = 0; playing > 0; turn++) {
        ll_runner_run(runner, judged->program, turn);
        for (uint64_t i = 0; i < judged->count; i++) {
            if (over[i])
                continue;
            if (i == 0)
                keep_frame(strip, judged->players, turn);
            struct ll_moment moment =
                act(judged, runner, i, epsilon, draw(agent, JUDGED_ACTING, turn * judged->count + i));
            score += (double)moment.reward;
            over[i] = moment.last;
            playing -= moment.last;
        }
    }
    return score / (double)judged->count;
}

bool ll_agent_evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    const struct ll_agent *agent = context;
    struct strip *strip = scores->folder ? calloc(1, sizeof *strip) : NULL;
    if (scores->folder && !strip)
        return ll_complain(scores->diags, (struct ll_place){0}, "%s", ll_status_text(LL_NO_MEMORY));
    double score = judge(agent, runner, judged_epsilon, strip), random = judge(agent, runner, 1, NULL);
    ll_scores_add(scores, (struct ll_score){"score", "bricks a game on unseen games", score, false});
    ll_scores_add(
        scores, (struct ll_score){"random_score", "bricks a game when all actions are drawn", random, false});
    bool written = !strip || write_strip(strip, scores);
    free(strip);
    return written;
}
