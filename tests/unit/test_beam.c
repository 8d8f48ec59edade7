/* SPDX-License-Identifier: Apache-2.0 */
/* Beam search against trying all sentences, for a language whose next word depends on the last one alone. */
#include "check.h"

#include "models/data/text.h"
#include "models/nn/nn.h"
#include "models/tbd/translation.h"

#include <math.h>

enum { WORDS = 6, STEPS = 4, BATCH = 3, WIDTH = 30 };

/* Logits of the next word by the last one: the sentence's own table. */
static double table[BATCH * WORDS * WORDS];

static void fill_table(void)
{
    for (int i = 0; i < BATCH * WORDS * WORDS; i++)
        table[i] = 2 * sin(7.3 * i + 0.4);
}

static double log_chance(int sentence, int32_t last, int32_t next)
{
    const double *logits = table + (sentence * WORDS + last) * WORDS;
    double sum = 0;
    for (int i = 0; i < WORDS; i++)
        sum += exp(logits[i]);
    return logits[next] - log(sum);
}

/* Of all sentences of so many words; an end is followed by ends alone. */
static double best_score(int sentence, int32_t last, int step)
{
    double best = -INFINITY;
    if (step == STEPS || (step > 0 && last == LL_WORD_EOS))
        return 0;
    for (int32_t next = 0; next < WORDS; next++)
        best = fmax(best, log_chance(sentence, last, next) + best_score(sentence, next, step + 1));
    return best;
}

/* A number of the table's row for each hypothesis: sentence x WORDS + last word. */
static struct ll_value *logits_after(struct ll_nn *nn, const struct ll_beam *beam)
{
    double *list = ll_alloc(&nn->arena, BATCH * WIDTH * BATCH, sizeof *list);
    for (int i = 0; i < BATCH * WIDTH; i++)
        list[i * BATCH + i / WIDTH] = 1;
    struct ll_shape mask = ll_nn_shape(nn, 2, (uint64_t[]){BATCH * WIDTH, BATCH}, NULL);
    struct ll_shape tables = ll_nn_shape(nn, 2, (uint64_t[]){WORDS, BATCH * WORDS}, NULL);
    struct ll_shape picked = ll_nn_shape(nn, 3, (uint64_t[]){BATCH * WIDTH, BATCH, WORDS}, NULL);
    double *turned = ll_alloc(&nn->arena, BATCH * WORDS * WORDS, sizeof *turned);
    for (int s = 0; s < BATCH; s++)
        for (int last = 0; last < WORDS; last++)
            for (int next = 0; next < WORDS; next++)
                turned[(last * BATCH + s) * WORDS + next] = table[(s * WORDS + last) * WORDS + next];
    struct ll_value *rows =
        ll_nn_variable(nn, "table", &tables, LL_INPUT, (struct ll_init){LL_INIT_LIST, 0, turned});
    struct ll_value *own =
        ll_nn_variable(nn, "own", &mask, LL_INPUT, (struct ll_init){LL_INIT_LIST, 0, list});
    struct ll_shape column = ll_nn_shape(nn, 3, (uint64_t[]){BATCH * WIDTH, BATCH, 1}, NULL);
    struct ll_value *all = ll_nn_reshape(nn, ll_nn_gather(nn, rows, beam->words), &picked);
    return ll_sum_over(nn, ll_mul_of(nn, all, ll_nn_reshape(nn, own, &column)), 1, 1);
}

static struct ll_nn *searched(struct ll_beam *beam)
{
    struct ll_nn *nn = ll_nn_new(LL_F64);
    fill_table();
    *beam = (struct ll_beam){.batch = BATCH, .width = WIDTH, .vocabulary = WORDS, .steps = STEPS};
    ll_beam_begin(nn, beam);
    ll_nn_share(nn, true);
    while (beam->done < beam->steps && !ll_nn_trouble(nn))
        ll_beam_grow(nn, beam, logits_after(nn, beam));
    ll_nn_keep(beam->scores->root);
    if (ll_nn_trouble(nn))
        fail_msg("%s", ll_nn_trouble(nn));
    return nn;
}

static void a_wide_beam_finds_the_best_sentence_of_all(void **state)
{
    (void)state;
    enum ll_status status;
    struct ll_beam beam;
    struct ll_nn *nn = searched(&beam);
    struct ll_runner *runner = ll_runner_new(nn, &(struct ll_runner_options){.seed = 1}, &status);
    ll_runner_step(runner, 0);
    const double *scores = ll_runner_data(runner, beam.scores->root);
    for (int i = 0; i < BATCH; i++) {
        int32_t words[STEPS], last = LL_WORD_GO;
        double score = 0;
        ll_beam_read(&beam, runner, (uint64_t)i, words);
        for (int t = 0; t < STEPS && (t == 0 || last != LL_WORD_EOS); last = words[t++])
            score += log_chance(i, last, words[t]);
        for (int t = 1; t < STEPS; t++)
            assert_true(words[t - 1] != LL_WORD_EOS || words[t] == LL_WORD_EOS);
        assert_near(score, best_score(i, LL_WORD_GO, 0), 1e-9);
        assert_near(scores[i * WIDTH], score, 1e-9);
        for (int k = 1; k < WIDTH; k++)
            assert_true(scores[i * WIDTH + k] <= scores[i * WIDTH + k - 1]);
    }
    ll_runner_free(runner);
    ll_nn_free(nn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wide_beam_finds_the_best_sentence_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
