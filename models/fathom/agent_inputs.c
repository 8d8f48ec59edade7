/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent shows to its network. */
#include "models/fathom/agent.h"
#include "models/feed.h"

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
