/* SPDX-License-Identifier: Apache-2.0 */
/* How well an agent plays, and a picture of it. */
#include "models/fathom/agent.h"
#include "models/nn/runner.h"
#include "tracer/base/file.h"

#include <stdlib.h>
#include <string.h>

enum { STRIP_FRAMES = 16, ACTIONS_A_STRIP_FRAME = 2 };
static const double judged_epsilon = 0.05;

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
    bool over[LL_JUDGED_GAMES] = {false};
    uint64_t playing = judged->count;
    double score = 0;
    for (uint64_t i = 0; i < judged->count; i++)
        ll_player_begin(&judged->players[i], &agent->options.rules, ll_agent_draw(agent, LL_JUDGED, i));
    for (uint64_t turn = 0; playing > 0; turn++) {
        ll_runner_run(runner, judged->program, turn);
        for (uint64_t i = 0; i < judged->count; i++) {
            if (over[i])
                continue;
            if (i == 0)
                keep_frame(strip, judged->players, turn);
            struct ll_moment moment = ll_table_act(
                judged, runner, i, epsilon, ll_agent_draw(agent, LL_JUDGED_ACTING, turn * judged->count + i));
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
