/* SPDX-License-Identifier: Apache-2.0 */
#include "models/games/player.h"

#include "tracer/base/random.h"

#include <stddef.h>

static void look(struct ll_player *player)
{
    ll_breakout_draw(&player->game, player->frames[player->seen++ % LL_SEEN_FRAMES]);
}

static void begin_game(struct ll_player *player)
{
    ll_breakout_begin(&player->game, &player->rules, ll_random_bits(player->key, player->games++));
    player->seen = 0;
    look(player);
}

void ll_player_begin(struct ll_player *player, const struct ll_rules *rules, uint64_t seed)
{
    player->rules = *rules;
    player->key = ll_random_key(seed, 0);
    player->games = 0;
    begin_game(player);
}

const uint8_t *ll_player_frame(const struct ll_player *player)
{
    return player->frames[(player->seen - 1) % LL_SEEN_FRAMES];
}

struct ll_sight ll_player_sight(const struct ll_player *player)
{
    struct ll_sight sight = {{NULL}};
    for (uint32_t i = 0; i < LL_SEEN_FRAMES && i < player->seen; i++)
        sight.frames[LL_SEEN_FRAMES - 1 - i] = player->frames[(player->seen - 1 - i) % LL_SEEN_FRAMES];
    return sight;
}

struct ll_moment ll_player_act(struct ll_player *player, enum ll_action action)
{
    uint32_t scored = ll_breakout_act(&player->game, action);
    struct ll_moment moment = {action, (float)scored, ll_breakout_over(&player->game)};
    if (moment.last)
        begin_game(player);
    else
        look(player);
    return moment;
}

enum ll_action ll_choose_action(const double values[LL_ACTION_COUNT], double epsilon, uint64_t random_bits)
{
    enum ll_action best = LL_NOOP;
    if ((double)ll_random_unit((uint32_t)random_bits) < epsilon)
        return (enum ll_action)((random_bits >> 32) % LL_ACTION_COUNT);
    for (enum ll_action action = best + 1; action < LL_ACTION_COUNT; action++)
        if (values[action] > values[best])
            best = action;
    return best;
}
