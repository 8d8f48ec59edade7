/* SPDX-License-Identifier: Apache-2.0 */
#include "models/trial.h"

#include "models/data/images.h"
#include "tracer/base/arena.h"
#include "tracer/base/random.h"

#include <stdlib.h>

enum { STRIP_FRAMES = 16, ACTIONS_A_STRIP_FRAME = 2 };

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

/* Games of the judged, one each, as they go on. */
struct session {
    const struct ll_trial *trial;
    bool drawn; /* all actions */
    double score;
    bool over[LL_JUDGED_GAMES];
    uint64_t playing;
};

/* One action in each game that goes on; rewards are summed over all games. */
static void take_turn(struct session *session, uint64_t turn)
{
    static const double equal[LL_ACTION_COUNT];
    const struct ll_trial *trial = session->trial;
    for (uint64_t i = 0; i < LL_JUDGED_GAMES; i++) {
        if (session->over[i])
            continue;
        uint64_t bits = ll_random_bits(trial->draws_key, turn * LL_JUDGED_GAMES + i);
        enum ll_action action =
            session->drawn ? ll_choose_action(equal, 1, bits) : trial->choose(trial->context, i, bits);
        struct ll_moment moment = ll_player_act(&trial->players[i], action);
        session->score += (double)moment.reward;
        session->over[i] = moment.last;
        session->playing -= moment.last;
    }
}

/* The mean score; the games are the same whoever plays. The strip may be NULL. */
static double play(const struct ll_trial *trial, bool drawn, struct strip *strip)
{
    struct session session = {.trial = trial, .drawn = drawn, .playing = LL_JUDGED_GAMES};
    for (uint64_t i = 0; i < LL_JUDGED_GAMES; i++)
        ll_player_begin(&trial->players[i], &trial->rules, ll_random_bits(trial->games_key, i));
    for (uint64_t turn = 0; session.playing > 0; turn++) {
        if (!session.over[0])
            keep_frame(strip, trial->players, turn);
        if (!drawn)
            trial->think(trial->context, turn);
        take_turn(&session, turn);
    }
    return session.score / LL_JUDGED_GAMES;
}

/* Plays the same games twice, by the player and by drawing actions, so that the two scores can be
 * compared. */
bool ll_trial_judge(const struct ll_trial *trial, struct ll_scores *scores)
{
    struct strip *strip = scores->folder ? calloc(1, sizeof *strip) : NULL;
    if (scores->folder && !strip)
        return ll_complain(scores->diags, (struct ll_place){0}, "%s", ll_status_text(LL_NO_MEMORY));
    double score = play(trial, false, strip), random = play(trial, true, NULL);
    ll_scores_add(scores, (struct ll_score){"score", "bricks a game on unseen games", score, false});
    ll_scores_add(
        scores, (struct ll_score){"random_score", "bricks a game when all actions are drawn", random, false});
    bool written = !strip || write_strip(strip, scores);
    free(strip);
    return written;
}
