/* SPDX-License-Identifier: Apache-2.0 */
/* TBD's models of sequences, beside what test_model.c asks of every model: what they cost at other sizes, and
 * that they do on unseen data what they were taught. */
#include "check.h"

#include "models/model.h"

#include <string.h>

static size_t count_of(const struct ll_setting *settings)
{
    size_t count = 0;
    while (settings[count].key)
        count++;
    return count;
}

static struct ll_model_size size_of(const char *model, const struct ll_setting *settings)
{
    struct ll_model_size size;
    struct ll_diags diags = {0};
    if (!ll_model_measure(ll_model_find(model), settings, count_of(settings), &size, &diags))
        fail_msg("%s", diags.kept[0].message);
    return size;
}

/* GFLOP a sample of T frames, from the dimensions of the suite's code, and within half a per cent. */
static void deep_speech_costs_what_it_should_at_any_length(void **state)
{
    (void)state;
    static const struct {
        const char *frames, *layers;
        double gflop;
    } rows[] = {{"200", "5", 31.7}, {"800", "5", 143.6}, {"1600", "5", 292.8},
                {"200", "7", 44.4}, {"800", "7", 200.8}, {"1600", "7", 409.5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ll_setting settings[] = {{"frames", rows[i].frames}, {"layers", rows[i].layers}, {0}};
        assert_near((double)size_of("deepspeech2", settings).forward_flops * 1e-9, rows[i].gflop, 0.005);
    }
}

/* Where inputs are multiplied changes neither. */
static void deep_speech_is_the_same_step_by_step(void **state)
{
    (void)state;
    struct ll_model_size whole = size_of("deepspeech2", (struct ll_setting[]){{"frames", "100"}, {0}});
    struct ll_model_size steps =
        size_of("deepspeech2", (struct ll_setting[]){{"frames", "100"}, {"stepwise", "1"}, {0}});
    assert_int_equal(whole.parameters, steps.parameters);
    assert_int_equal(whole.forward_flops, steps.forward_flops);
}

/* Vaswani et al., 2017, table 3: 65 and 213 million with a vocabulary of about 37000. */
static void the_transformers_of_the_paper_have_its_sizes(void **state)
{
    (void)state;
    struct ll_model_size base =
        size_of("transformer", (struct ll_setting[]){{"paper", "1"}, {"vocabulary", "37000"}, {0}});
    struct ll_model_size big = size_of("transformer", (struct ll_setting[]){{"paper", "1"},
                                                                            {"vocabulary", "37000"},
                                                                            {"hidden", "1024"},
                                                                            {"ffn_hidden", "4096"},
                                                                            {"heads", "16"},
                                                                            {0}});
    assert_near((double)base.parameters * 1e-6, 65, 0.04);
    assert_near((double)big.parameters * 1e-6, 213, 0.04);
}

static struct ll_run_report train(const char *model, uint64_t steps)
{
    const struct ll_model *found = ll_model_find(model);
    struct ll_diags diags = {0};
    struct ll_run_report report;
    struct ll_run_options options = {.train = true,
                                     .evaluate = true,
                                     .batch = found->recipe.batch,
                                     .steps = steps,
                                     .seed = 5,
                                     .settings = found->recipe.settings,
                                     .setting_count = count_of(found->recipe.settings)};
    if (!ll_model_run(found, &options, &report, &diags))
        fail_msg("%s", diags.kept[0].message);
    return report;
}

/* The training recipes, cut short: a third of the sentences without a mistake. */
static void translators_read_unseen_sentences_backwards(void **state)
{
    (void)state;
    skip_under_sanitizer();
    static const struct {
        const char *model;
        uint64_t steps;
    } rows[] = {{"nmt", 150}, {"sockeye", 100}, {"transformer", 300}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ll_run_report report = train(rows[i].model, rows[i].steps);
        assert_true(report.before.at[0].value < 0.05);
        if (!(report.after.at[0].value > 0.33))
            fail_msg("%s: %g of the sentences", rows[i].model, report.after.at[0].value);
        assert_true(report.after.at[1].value >= report.after.at[0].value);
    }
}

static void unseen_tones_are_transcribed(void **state)
{
    (void)state;
    skip_under_sanitizer();
    struct ll_run_report report = train("deepspeech2", 300);
    assert_true(report.before.at[0].value > 0.5);
    if (!(report.after.at[0].value < 0.25))
        fail_msg("%g of the labels are wrong", report.after.at[0].value);
}

static void expect_refusal(const char *model, struct ll_setting setting, const char *expected)
{
    struct ll_diags diags = {0};
    struct ll_run_report report;
    struct ll_run_options options = {.steps = 1, .dry_run = true, .settings = &setting, .setting_count = 1};
    assert_false(ll_model_run(ll_model_find(model), &options, &report, &diags));
    if (!strstr(diags.kept[0].message, expected))
        fail_msg("`%s`, expected `%s`", diags.kept[0].message, expected);
    ll_diags_release(&diags);
}

static void impossible_sizes_are_named(void **state)
{
    (void)state;
    expect_refusal("transformer", (struct ll_setting){"heads", "7"}, "shared out evenly");
    expect_refusal("transformer", (struct ll_setting){"hidden", "511"}, "an odd number of hidden features");
    expect_refusal("transformer", (struct ll_setting){"task_vocabulary", "40000"},
                   "40000 letters; expected at most 33704");
    expect_refusal("sockeye", (struct ll_setting){"hidden", "511"}, "an odd number of hidden units");
    expect_refusal("nmt", (struct ll_setting){"target_vocabulary", "20"}, "26 letters; expected at most 16");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deep_speech_costs_what_it_should_at_any_length),
        cmocka_unit_test(deep_speech_is_the_same_step_by_step),
        cmocka_unit_test(the_transformers_of_the_paper_have_its_sizes),
        cmocka_unit_test(translators_read_unseen_sentences_backwards),
        cmocka_unit_test(unseen_tones_are_transcribed),
        cmocka_unit_test(impossible_sizes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
