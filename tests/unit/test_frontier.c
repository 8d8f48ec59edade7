/* SPDX-License-Identifier: Apache-2.0 */
/* Language models of any size against closed forms: parameters, FLOPs, bytes of weights and their state. */
#include "check.h"
#include "dry_model.h"

#include "models/model.h"
#include "tracer/transform/dtype.h"
#include "tracer/ir/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct ll_trace *dry(const char *model, const struct ll_run_options *asked)
{
    struct ll_run_options options = *asked;
    options.steps = 1;
    if (options.setting_count == 0 && options.settings)
        options.setting_count = settings_in(options.settings, 8);
    return dry_run(model, options);
}

/* FLOPs of all products in a step. */
static double product_flops(const struct ll_trace *trace)
{
    struct ll_arena arena = {0};
    const struct ll_profile *profile = ll_profile(trace, &arena);
    double flops = 0;
    for (uint64_t i = 0; i < profile->kind_count; i++)
        if (ll_op_class(profile->kinds[i].op_kind) == LL_CLASS_MATRIX)
            flops += profile->kinds[i].flops;
    ll_arena_release(&arena);
    return flops;
}

/* Layers, features, vocabulary and words of published models, and their parameters: GPT-2 by OpenAI, MPT as
 * MosaicML's table of throughputs has them. */
static const struct {
    const char *preset, *seq;
    double parameters, layers, hidden, words, vocabulary;
} sizes[] = {
    {"gpt2", "1024", 124439808, 12, 768, 1024, 50257},
    {"gpt2-xl", "1024", 1557611200, 48, 1600, 1024, 50257},
    {"mpt-7b", "65536", 6918905856, 32, 4096, 65536, 50368},
    {"mpt-30b", "8192", 30019254272, 48, 7168, 8192, 50368},
    {"mpt-70b", "2048", 64862437376, 80, 8192, 2048, 50368},
};

static void parameters_are_the_published_ones(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct ll_setting settings[] = {{"preset", sizes[i].preset}, {"seq", sizes[i].seq}};
        struct ll_diags diags = {0};
        struct ll_model_size size;
        assert_true(ll_model_measure(ll_model_find("gpt"), settings, 2, &size, &diags));
        assert_true((double)size.parameters == sizes[i].parameters);
    }
}

static uint64_t parameters_of(const char *model, const char *preset)
{
    struct ll_setting setting = {"preset", preset};
    struct ll_diags diags = {0};
    struct ll_model_size size;
    assert_true(ll_model_measure(ll_model_find(model), &setting, 1, &size, &diags));
    return size.parameters;
}

/* As the published files of weights have them. */
static void llamas_and_mixtures_have_the_published_parameters(void **state)
{
    (void)state;
    assert_true(parameters_of("llama", "llama-7b") == UINT64_C(6738415616));
    assert_true(parameters_of("llama", "llama-13b") == UINT64_C(13015864320));
    assert_true(parameters_of("llama", "llama-65b") == UINT64_C(65285660672));
    assert_true(parameters_of("llama", "llama2-70b") == UINT64_C(68976648192));
    assert_true(parameters_of("llama", "llama3-70b") == UINT64_C(70553706496));
    assert_true(parameters_of("llama", "llama3-405b") == UINT64_C(405853388800));
    assert_true(parameters_of("moe", "mixtral-8x22b") == UINT64_C(140630071296));
}

/* Narayanan et al., 2021: 96 b s L h^2 (1 + s / 6 h + V / 16 L h), of which the forward pass that is computed
 * again is not there: 72 b s L h^2 (1 + s / 6 h + V / 12 L h). */
static void a_step_has_the_flops_of_the_closed_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const double b = 3, s = sizes[i].words, l = sizes[i].layers, h = sizes[i].hidden;
        struct ll_setting settings[] = {{"preset", sizes[i].preset}, {"seq", sizes[i].seq}, {NULL, NULL}};
        struct ll_trace *trace =
            dry("gpt", &(struct ll_run_options){.train = true, .batch = 3, .settings = settings});
        double expected = 72 * b * s * l * h * h * (1 + s / (6 * h) + sizes[i].vocabulary / (12 * l * h));
        assert_true(fabs(product_flops(trace) / expected - 1) < 1e-12);
        ll_trace_free(trace);
    }
}

/* A layer's forward FLOPs: 24 b s h^2 + 4 b s^2 h. */
static void a_layer_has_the_flops_of_the_closed_form(void **state)
{
    (void)state;
    struct ll_trace *trace = dry("gpt", &(struct ll_run_options){.batch = 2});
    double flops = 0;
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        bool is_gemm = ll_op_class(signature->view.kind) == LL_CLASS_MATRIX;
        if (is_gemm && strncmp(trace->strings[signature->scope], "layer7/", 7) == 0)
            flops += (double)signature->flops;
    }
    assert_true(flops == 24. * 2 * 1024 * 768 * 768 + 4. * 2 * 1024 * 1024 * 768);
    ll_trace_free(trace);
}

/* Weights and gradients of 2 bytes, master weights and two moments of 4 (Rajbhandari et al., 2020). */
static void mixed_precision_takes_sixteen_bytes_a_parameter(void **state)
{
    (void)state;
    struct ll_setting settings[] = {{"dtype", "bf16"}, {NULL, NULL}};
    struct ll_trace *trace =
        dry("gpt", &(struct ll_run_options){.train = true, .batch = 1, .settings = settings});
    double bytes[LL_MEMORY_COUNT] = {0};
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        const struct ll_tensor_desc *desc = &trace->descs[trace->tensors[i].desc];
        if (trace->tensors[i].producer == LL_NONE)
            bytes[desc->memory] += (double)ll_size_bytes(&desc->shape);
    }
    assert_true(bytes[LL_WEIGHT] == 2. * 124439808);
    assert_true(fabs(bytes[LL_OPTIMIZER] - 12. * 124439808) < 32); /* and Adam's powers */
    ll_trace_free(trace);
}

/* One more word of each sentence: of b sentences with s words, 24 b h^2 + 4 b s h a layer, and all keys and
 * values are read. */
static void decoding_reads_what_is_remembered(void **state)
{
    (void)state;
    const double b = 4, s = 500, l = 12, h = 768, v = 50257;
    struct ll_setting settings[] = {{"pass", "decode"}, {"context", "500"}, {NULL, NULL}};
    struct ll_trace *trace = dry("gpt", &(struct ll_run_options){.batch = 4, .settings = settings});
    double remembered = 0;
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        const struct ll_tensor_desc *desc = &trace->descs[trace->tensors[i].desc];
        if (trace->tensors[i].producer == LL_NONE && desc->memory == LL_ACTIVATION)
            remembered += (double)ll_size_bytes(&desc->shape);
    }
    assert_true(remembered == 2 * l * h * s * b * 4);
    assert_true(product_flops(trace) == l * (24 * b * h * h + 4 * b * s * h) + 2 * b * h * v);
    ll_trace_free(trace);
}

/* So many words at once: of b sentences of s words w are new, 24 b w h^2 + 4 b w s h a layer. A piece of a
 * prompt asks its last word, guesses are all asked. */
static void pieces_of_sentences_read_what_is_remembered(void **state)
{
    (void)state;
    static const char *const passes[] = {"prefill", "decode"}, *const ways[] = {"0", "1"};
    const double b = 4, s = 500, w = 20, l = 12, h = 768, v = 50257;
    for (int pass = 0; pass < 2; pass++)
        for (int eager = 0; eager < 2; eager++) {
            struct ll_setting settings[] = {{"pass", passes[pass]},
                                            {"context", "500"},
                                            {"tokens", "20"},
                                            {"eager", ways[eager]},
                                            {NULL, NULL}};
            struct ll_trace *trace = dry("gpt", &(struct ll_run_options){.batch = 4, .settings = settings});
            double asked = pass == 0 ? 1 : w;
            assert_true(product_flops(trace) ==
                        l * (24 * b * w * h * h + 4 * b * w * s * h) + 2 * b * asked * h * v);
            ll_trace_free(trace);
        }
}

/* A prompt that is its own only piece is a prompt. */
static void a_piece_may_be_all(void **state)
{
    (void)state;
    struct ll_setting whole[] = {{"pass", "prefill"}, {"seq", "64"}, {NULL, NULL}};
    struct ll_setting piece[] = {
        {"pass", "prefill"}, {"seq", "64"}, {"tokens", "64"}, {"context", "64"}, {NULL, NULL}};
    struct ll_setting told[] = {{"pass", "prefill"}, {"context", "64"}, {NULL, NULL}};
    const struct ll_setting *same[] = {piece, told};
    struct ll_trace *one = dry("llama", &(struct ll_run_options){.batch = 2, .settings = whole});
    for (int i = 0; i < 2; i++) {
        struct ll_trace *other = dry("llama", &(struct ll_run_options){.batch = 2, .settings = same[i]});
        assert_int_equal(one->op_count, other->op_count);
        assert_int_equal(one->signature_count, other->signature_count);
        assert_true(product_flops(one) == product_flops(other));
        ll_trace_free(other);
    }
    ll_trace_free(one);
}

/* All experts compute on all their places: 6 E c h f of a layer's products, c being 125 percent of 2 of 8. */
static void experts_compute_on_their_places(void **state)
{
    (void)state;
    const double tokens = 2 * 4096, h = 4096, f = 14336, places = tokens * 2 / 8 * 1.25;
    struct ll_trace *trace = dry("moe", &(struct ll_run_options){.batch = 2});
    double flops = 0;
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        bool stacked =
            signature->view.kind == LL_OP_BATCH_MATMUL && signature->view.in[0].role[0] == LL_ROLE_EXPERTS;
        if (stacked && strncmp(trace->strings[signature->scope], "layer3/experts/", 15) == 0)
            flops += (double)signature->flops;
    }
    assert_true(flops == 6 * 8 * places * h * f);
    ll_trace_free(trace);
}

/* One word goes through two of eight experts; of what n words choose by chance, each expert is missed by
 * (3/4)^n: 8 (1 - (3/4)^n) = 2, 3.5, 4.625, 5.469, 6.102 are read. */
static void experts_that_no_word_has_chosen_are_not_read(void **state)
{
    (void)state;
    const struct ll_setting settings[] = {{"layers", "1"},      {"hidden", "64"},     {"heads", "4"},
                                          {"kv_heads", "2"},    {"ffn_hidden", "96"}, {"experts", "8"},
                                          {"top_k", "2"},       {"pass", "decode"},   {"context", "16"},
                                          {"vocabulary", "64"}, {NULL, NULL}};
    for (uint64_t words = 1; words <= 5; words++) {
        static const uint64_t asked_by[] = {0, 2, 4, 5, 5, 6};
        const uint64_t asked = asked_by[words], places = ll_ceil_div(2 * words * 125, 800);
        struct ll_trace *trace = dry("moe", &(struct ll_run_options){.batch = words, .settings = settings});
        uint64_t read = 0;
        for (uint32_t i = 0; i < trace->op_count; i++) {
            const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
            bool experts = signature->view.kind == LL_OP_BATCH_MATMUL &&
                           signature->view.in[0].role[0] == LL_ROLE_EXPERTS;
            read += experts ? signature->bytes_read : 0;
        }
        assert_int_equal(read, 4 * asked * (3 * 64 * 96 + places * (64 + 64 + 96)));
        ll_trace_free(trace);
    }
}

/* Products of the forward pass: of 8 bits, and others. By hand: a mixture's layer has Llama's four with
 * weights, the router's and three of the experts', and two among activations, and one makes words of it all;
 * ncf has four layers; BERT's layer has six and two, and there are its pooler, two heads and, of 16 bits, the
 * product with the table of words. */
static void products_of_weights_are_of_eight_bits_where_that_is_asked_for(void **state)
{
    static const struct {
        const char *model;
        uint64_t narrow, wide;
        struct ll_setting settings[3];
    } rows[] = {{"moe", 2 * 8 + 1, 2 * 2, {{"layers", "2"}, {"dtype", "f8"}}},
                {"ncf", 4, 0, {{"dtype", "f8"}}},
                {"bert", 2 * 6 + 1 + 1 + 1, 2 * 2 + 1, {{"layers", "2"}, {"dtype", "f8"}}}};
    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        struct ll_trace *trace =
            dry(rows[row].model,
                &(struct ll_run_options){
                    .train = true, .batch = 2, .settings = rows[row].settings, .setting_count = 0});
        uint64_t narrow = 0, wide = 0;
        for (uint32_t i = 0; i < trace->op_count; i++) {
            const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
            if (ll_op_class(signature->view.kind) != LL_CLASS_MATRIX || signature->phase != LL_PHASE_FORWARD)
                continue;
            bool reads_f8 = signature->view.in[0].dtype == LL_F8 && signature->view.in[1].dtype == LL_F8;
            narrow += reads_f8;
            wide += !reads_f8;
        }
        print_message("%s: %d of 8 bits, %d not\n", rows[row].model, (int)narrow, (int)wide);
        assert_int_equal(narrow, rows[row].narrow);
        assert_int_equal(wide, rows[row].wide);
        ll_trace_free(trace);
    }
}

/* What is read in 8 bits is cast once in a step however many products read it, and products write what they
 * would write without. As --gemm-dtype makes of GPT's recording in bf16; in those of the others products
 * with words count, or weights are held in f32. */
static void what_products_of_eight_bits_read_is_cast_once(void **state)
{
    static const char *const models[] = {"gpt", "ncf", "llama", "bert", "moe"};
    (void)state;
    for (size_t m = 0; m < 2 * sizeof models / sizeof *models; m++) {
        struct ll_setting settings[] = {{"dtype", "f8"}, {m / 2 == 1 ? NULL : "layers", "2"}, {NULL, NULL}};
        const struct ll_run_options options = {.train = m % 2, .batch = 2, .settings = settings};
        struct ll_trace *trace = dry(models[m / 2], &options);
        bool *cast = calloc(trace->tensor_count, sizeof *cast);
        uint64_t casts = 0, others, products;
        const char *trouble;
        for (uint32_t i = 0; i < trace->op_count; i++) {
            const struct ll_op_view *view = &trace->signatures[trace->ops[i].signature].view;
            if (ll_op_class(view->kind) == LL_CLASS_MATRIX)
                assert_int_equal(view->out[0].dtype, LL_BF16);
            if (view->kind != LL_OP_CAST || view->out[0].dtype != LL_F8)
                continue;
            assert_false(cast[ll_op_input(trace, i, 0)]);
            cast[ll_op_input(trace, i, 0)] = true;
            casts++;
        }
        assert_true(casts > 0);
        settings[0].value = "bf16";
        struct ll_trace *wide = dry(models[m / 2], &options);
        struct ll_trace *narrow =
            ll_trace_change_gemm_dtype(wide, (enum ll_numeric)LL_F8, &products, &trouble);
        assert_non_null(narrow);
        others = narrow->op_count - wide->op_count;
        if (m < 2)
            assert_int_equal(casts, others);
        free(cast);
        ll_trace_free(narrow);
        ll_trace_free(wide);
        ll_trace_free(trace);
    }
}

/* Those that are trained are cast in each step; those that are not are held in the type. */
static void weights_of_eight_bits_are_held_where_nobody_trains_them(void **state)
{
    static const char *const models[] = {"llama", "moe", "bert", "ncf"};
    (void)state;
    for (size_t m = 0; m < 2 * sizeof models / sizeof *models; m++) {
        const struct ll_setting settings[] = {{"dtype", "f8"}, {m < 6 ? "layers" : NULL, "2"}, {NULL, NULL}};
        bool train = m % 2;
        struct ll_trace *trace =
            dry(models[m / 2], &(struct ll_run_options){.train = train, .batch = 1, .settings = settings});
        uint64_t casts = 0;
        for (uint32_t i = 0; i < trace->op_count; i++) {
            const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
            casts += signature->view.kind == LL_OP_CAST && signature->view.in[0].rank > 1 &&
                     trace->descs[signature->inputs[0]].memory == LL_WEIGHT;
        }
        assert_true(train ? casts > 0 : casts == 0);
        ll_trace_free(trace);
    }
}

/* Logits of 16 bits are cast before. */
static void cross_entropies_are_of_32_bits(void **state)
{
    static const char *const models[] = {"gpt", "llama", "bert"};
    static const struct ll_setting settings[] = {{"layers", "2"}, {"dtype", "bf16"}, {NULL, NULL}};
    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        struct ll_trace *trace =
            dry(models[m], &(struct ll_run_options){.train = true, .batch = 1, .settings = settings});
        uint64_t losses = 0;
        for (uint32_t i = 0; i < trace->op_count; i++) {
            const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
            if (signature->view.kind != LL_OP_SOFTMAX_XENT)
                continue;
            losses++;
            assert_int_equal(signature->view.in[0].dtype, LL_F32);
        }
        assert_int_equal(losses, strcmp(models[m], "bert") == 0 ? 2 : 1);
        ll_trace_free(trace);
    }
}

/* In the recipe's size all pairs are soon judged rightly; what is left of the loss is small, not nothing. */
static void a_network_that_is_nearly_right_still_loses_a_little(void **state)
{
    static const struct ll_setting settings[] = {
        {"users", "40"}, {"items", "30"}, {"factors", "8"}, {"rate", "3000"}};
    const struct ll_run_options options = {
        .train = true, .batch = 256, .steps = 260, .settings = settings, .setting_count = 4};
    struct ll_diags diags = {0};
    struct ll_run_report report;
    (void)state;
    skip_under_sanitizer();
    assert_true(ll_model_run(ll_model_find("ncf"), &options, &report, &diags));
    print_message("loss %g\n", report.last_loss);
    assert_true(report.last_loss > 0 && report.last_loss < 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_the_published_ones),
        cmocka_unit_test(llamas_and_mixtures_have_the_published_parameters),
        cmocka_unit_test(a_step_has_the_flops_of_the_closed_form),
        cmocka_unit_test(a_layer_has_the_flops_of_the_closed_form),
        cmocka_unit_test(mixed_precision_takes_sixteen_bytes_a_parameter),
        cmocka_unit_test(decoding_reads_what_is_remembered),
        cmocka_unit_test(pieces_of_sentences_read_what_is_remembered),
        cmocka_unit_test(a_piece_may_be_all),
        cmocka_unit_test(experts_compute_on_their_places),
        cmocka_unit_test(experts_that_no_word_has_chosen_are_not_read),
        cmocka_unit_test(products_of_weights_are_of_eight_bits_where_that_is_asked_for),
        cmocka_unit_test(what_products_of_eight_bits_read_is_cast_once),
        cmocka_unit_test(weights_of_eight_bits_are_held_where_nobody_trains_them),
        cmocka_unit_test(cross_entropies_are_of_32_bits),
        cmocka_unit_test(a_network_that_is_nearly_right_still_loses_a_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
