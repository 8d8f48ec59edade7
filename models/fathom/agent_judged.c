/* SPDX-License-Identifier: Apache-2.0 */
/* How well an agent plays, and a picture of it. */
#include "models/data/picture.h"
#include "models/fathom/agent.h"
#include "models/nn/runner.h"
#include "tracer/base/arena.h"

#include <stdlib.h>

enum { STRIP_FRAMES = 16, ACTIONS_A_STRIP_FRAME = 2 };
static const double judged_epsilon = 0.05;

/* What the first of the judged sees in the beginning, every second frame. */
struct strip {
    float frames[STRIP_FRAMES][LL_SCREEN_PIXELS];
    uint64_t count;
};

static void keep_frame(struct strip *strip, const struct ll_player *player, uint64_t turn)
{
    if (!strip || turn % ACTIONS_A_STRIP_FRAME != 0 || strip->count == STRIP_FRAMES)
        return;
    const uint8_t *frame = ll_player_frame(player);
    for (uint64_t i = 0; i < LL_SCREEN_PIXELS; i++)
        strip->frames[strip->count][i] = (float)frame[i] / 255;
    strip->count++;
}

/* Side by side. */
static bool write_strip(const struct strip *strip, const struct ll_scores *scores)
{
    struct ll_arena arena = {0};
    const char *path = ll_format(&arena, "%s/game.pgm", scores->folder);
    enum ll_status status = LL_NO_MEMORY;
    if (path)
        status = ll_picture_write_grid(path, strip->frames[0], LL_SCREEN, strip->count, 1);
    if (status != LL_OK)
        ll_complain(scores->diags, (struct ll_place){0}, "%s/game.pgm: %s", scores->folder,
                    ll_status_text(status));
    ll_arena_release(&arena);
    return status == LL_OK;
}

/* Games of the judged, one each. */
struct trial {
    const struct ll_agent *agent;
    double epsilon, score;
    bool over[LL_JUDGED_GAMES];
    uint64_t playing;
};

static void take_turn(struct trial *trial, const struct ll_runner *runner, uint64_t turn)
{
    const struct ll_table *judged = &trial->agent->judged;
    for (uint64_t i = 0; i < judged->count; i++) {
        if (trial->over[i])
            continue;
        uint64_t bits = ll_agent_draw(trial->agent, LL_JUDGED_ACTING, turn * judged->count + i);
        struct ll_moment moment = ll_table_act(judged, runner, i, trial->epsilon, bits);
        trial->score += (double)moment.reward;
        trial->over[i] = moment.last;
        trial->playing -= moment.last;
    }
}

/* The mean score; the games are the same whoever plays. The strip may be NULL. */
static double judge(const struct ll_agent *agent, struct ll_runner *runner, double epsilon,
                    struct strip *strip)
{
    const struct ll_table *judged = &agent->judged;
    struct trial trial = {.agent = agent, .epsilon = epsilon, .playing = judged->count};
    for (uint64_t i = 0; i < judged->count; i++)
        ll_player_begin(&judged->players[i], &agent->options.rules, ll_agent_draw(agent, LL_JUDGED, i));
    for (uint64_t turn = 0; trial.playing > 0; turn++) {
        if (!trial.over[0])
            keep_frame(strip, judged->players, turn);
        ll_runner_run(runner, judged->program, turn);
        take_turn(&trial, runner, turn);
    }
    return trial.score / (double)judged->count;
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
