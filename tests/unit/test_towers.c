/* SPDX-License-Identifier: Apache-2.0 */
/* Models that look, listen and recommend (vit, clip, whisper, dit, unet, mamba2, dlrm): parameters as
 * published, FLOPs by closed forms that count what each layer multiplies, worked out apart from the
 * program. */
#include "check.h"
#include "dry_model.h"

#include "models/model.h"
#include "tracer/ir/profile.h"

#include <inttypes.h>
#include <math.h>

static struct ll_model_size size_of(const char *model, const struct ll_setting *settings, size_t count)
{
    struct ll_diags diags = {0};
    struct ll_model_size size = {0};
    if (!ll_model_measure(ll_model_find(model), settings, count, &size, &diags))
        fail_msg("%s: %s", model, diags.kept[0].message);
    return size;
}

static void expect(const char *what, uint64_t counted, uint64_t expected)
{
    if (counted != expected)
        fail_msg("%s: %" PRIu64 ", expected %" PRIu64, what, counted, expected);
}

/* 2 m n k. */
static uint64_t gemm(uint64_t m, uint64_t n, uint64_t k)
{
    return 2 * m * n * k;
}

/* Layers whose t tokens see k others: queries, keys, values, output; scores and what they weigh; two more. */
static uint64_t layers(uint64_t count, uint64_t t, uint64_t hidden, uint64_t ffn)
{
    return count * (4 * gemm(t, hidden, hidden) + 2 * gemm(t, t, hidden) + gemm(t, ffn, hidden) +
                    gemm(t, hidden, ffn));
}

/* An image cut into squares, and a token more. */
static uint64_t looked(uint64_t image, uint64_t patch, uint64_t count, uint64_t hidden, uint64_t ffn)
{
    const uint64_t squares = image / patch * (image / patch);
    return gemm(squares, hidden, 3 * patch * patch) + layers(count, squares + 1, hidden, ffn);
}

/* Weights of 1,000 classes as timm and torchvision publish them (vit_base_patch16_224: 86.57 million). */
static void vision_transformers_are_as_published(void **state)
{
    (void)state;
    static const struct {
        const char *preset;
        uint64_t parameters, patch, layers, hidden;
    } all[] = {{"b16", 86567656, 16, 12, 768},   {"b32", 88224232, 32, 12, 768},
               {"l16", 304326632, 16, 24, 1024}, {"l32", 306535400, 32, 24, 1024},
               {"h14", 632045800, 14, 32, 1280}, {"ti16", 5717416, 16, 12, 192},
               {"s16", 22050664, 16, 12, 384}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct ll_model_size size = size_of("vit", &(struct ll_setting){"preset", all[i].preset}, 1);
        expect(all[i].preset, size.parameters, all[i].parameters);
        expect(all[i].preset, size.forward_flops,
               looked(224, all[i].patch, all[i].layers, all[i].hidden, 4 * all[i].hidden) +
                   gemm(1, 1000, all[i].hidden));
    }
}

/* Parameters of OpenAI's files of weights: 151.3, 149.6, 427.6 and 427.9 million. */
static void images_and_texts_are_as_published(void **state)
{
    (void)state;
    static const struct {
        const char *preset;
        uint64_t parameters, image, patch, layers, hidden, text;
    } all[] = {{"b32", 151277313, 224, 32, 12, 768, 512},
               {"b16", 149620737, 224, 16, 12, 768, 512},
               {"l14", 427616513, 224, 14, 24, 1024, 768},
               {"l14-336", 427944193, 336, 14, 24, 1024, 768}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const uint64_t hidden = all[i].hidden, text = all[i].text; /* what both have in common is as wide */
        const struct ll_model_size size = size_of("clip", &(struct ll_setting){"preset", all[i].preset}, 1);
        expect(all[i].preset, size.parameters, all[i].parameters);
        expect(all[i].preset, size.forward_flops,
               looked(all[i].image, all[i].patch, all[i].layers, hidden, 4 * hidden) + gemm(1, text, hidden) +
                   layers(12, 77, text, 4 * text) + gemm(1, text, text) + gemm(1, 1, text));
    }
}

/* Parameters of the weights on Hugging Face, openai/whisper-*, where the encoder's sines count. */
static void listeners_are_as_published(void **state)
{
    (void)state;
    static const struct {
        const char *preset;
        uint64_t parameters, mels, layers, text_layers, hidden, vocabulary;
    } all[] = {{"large-v3", 1543490560, 128, 32, 32, 1280, 51866},
               {"large-v2", 1543304960, 80, 32, 32, 1280, 51865},
               {"large-v3-turbo", 808878080, 128, 32, 4, 1280, 51866},
               {"medium", 763857920, 80, 24, 24, 1024, 51865},
               {"small", 241734912, 80, 12, 12, 768, 51865},
               {"base", 72593920, 80, 6, 6, 512, 51865},
               {"tiny", 37760640, 80, 4, 4, 384, 51865}};
    enum { FRAMES = 3000, HEARD = 1500, TOKENS = 448 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const uint64_t h = all[i].hidden;
        const struct ll_model_size size =
            size_of("whisper", &(struct ll_setting){"preset", all[i].preset}, 1);
        const uint64_t ears = gemm(FRAMES, h, 3 * all[i].mels) + gemm(HEARD, h, 3 * h);
        const uint64_t memory = 2 * gemm(TOKENS, h, h) + 2 * gemm(HEARD, h, h) + 2 * gemm(TOKENS, HEARD, h);

        expect(all[i].preset, size.parameters, all[i].parameters);
        expect(all[i].preset, size.forward_flops,
               ears + layers(all[i].layers, HEARD, h, 4 * h) + layers(all[i].text_layers, TOKENS, h, 4 * h) +
                   all[i].text_layers * memory + gemm(TOKENS, all[i].vocabulary, h));
    }
}

/* Peebles and Xie, 2023: 675, 458, 130 and 33 million parameters, and table 4's Gflops of 256 x 256 pixels
 * with squares of 2, which count a multiplication and an addition once. */
static void denoisers_are_as_published(void **state)
{
    (void)state;
    static const struct {
        const char *preset;
        uint64_t parameters, layers, hidden;
        double gflops;
    } all[] = {{"xl", 675129632, 28, 1152, 118.64},
               {"l", 458102816, 24, 1024, 80.71},
               {"b", 130512416, 12, 768, 23.01},
               {"s", 32963360, 12, 384, 6.06}};
    enum { TOKENS = 256, SQUARE = 2 * 2 * 4, SINES = 256 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const uint64_t h = all[i].hidden, l = all[i].layers;
        const struct ll_model_size size = size_of("dit", &(struct ll_setting){"preset", all[i].preset}, 1);
        expect(all[i].preset, size.parameters, all[i].parameters);
        expect(all[i].preset, size.parameters,
               SQUARE * h + h + TOKENS * h + (SINES + 1) * h + (h + 1) * h + 1001 * h +
                   l * (18 * h * h + 15 * h) + 2 * (h + 1) * h + 2 * SQUARE * (h + 1));
        expect(all[i].preset, size.forward_flops,
               gemm(TOKENS, h, SQUARE) + gemm(1, h, SINES) + gemm(1, h, h) + layers(l, TOKENS, h, 4 * h) +
                   l * gemm(1, 6 * h, h) + gemm(1, 2 * h, h) + gemm(TOKENS, 2 * SQUARE, h));
        assert_true(fabs((double)size.forward_flops / 2e9 / all[i].gflops - 1) < 1e-3);
    }
}

/* Of an image: pixels on a side, channels in and out of a residual part, layers of the transformer behind
 * it. */
struct part {
    uint64_t side, in, out, depth;
};

static uint64_t conv(uint64_t side, uint64_t kernel, uint64_t in, uint64_t out)
{
    return gemm(side * side, out, kernel * kernel * in);
}

/* Residual parts and transformers that read 77 tokens of a text. */
static uint64_t parts(const struct part *list, size_t count, uint64_t text)
{
    uint64_t flops = 0;
    for (const struct part *p = list; p < list + count; p++) {
        const uint64_t t = p->side * p->side, c = p->out;
        flops += conv(p->side, 3, p->in, c) + conv(p->side, 3, c, c) + gemm(1, c, 1280);
        flops += p->in == c ? 0 : conv(p->side, 1, p->in, c);
        if (p->depth > 0)
            flops += 2 * gemm(t, c, c);
        flops += p->depth * (6 * gemm(t, c, c) + 2 * gemm(t, t, c) + 2 * gemm(77, c, text) +
                             2 * gemm(t, 77, c) + gemm(t, 8 * c, c) + gemm(t, c, 4 * c));
    }
    return flops;
}

/* The weights of runwayml/stable-diffusion-v1-5 and stabilityai/stable-diffusion-xl-base-1.0: 859,520,964 and
 * 2,567,463,684 parameters of their U-Nets, whose parts stand here as their configurations list them. */
static void networks_of_stable_diffusion_are_as_published(void **state)
{
    (void)state;
    static const struct part small[] = {
        {64, 320, 320, 1},   {64, 320, 320, 1},  {32, 320, 640, 1},  {32, 640, 640, 1},   {16, 640, 1280, 1},
        {16, 1280, 1280, 1}, {8, 1280, 1280, 0}, {8, 1280, 1280, 0}, {8, 1280, 1280, 1},  {8, 1280, 1280, 0},
        {8, 2560, 1280, 0},  {8, 2560, 1280, 0}, {8, 2560, 1280, 0}, {16, 2560, 1280, 1}, {16, 2560, 1280, 1},
        {16, 1920, 1280, 1}, {32, 1920, 640, 1}, {32, 1280, 640, 1}, {32, 960, 640, 1},   {64, 960, 320, 1},
        {64, 640, 320, 1},   {64, 640, 320, 1},
    };
    static const struct part large[] = {
        {128, 320, 320, 0},   {128, 320, 320, 0},   {64, 320, 640, 2},    {64, 640, 640, 2},
        {32, 640, 1280, 10},  {32, 1280, 1280, 10}, {32, 1280, 1280, 10}, {32, 1280, 1280, 0},
        {32, 2560, 1280, 10}, {32, 2560, 1280, 10}, {32, 1920, 1280, 10}, {64, 1920, 640, 2},
        {64, 1280, 640, 2},   {64, 960, 640, 2},    {128, 960, 320, 0},   {128, 640, 320, 0},
        {128, 640, 320, 0},
    };
    const uint64_t time = gemm(1, 1280, 320) + gemm(1, 1280, 1280), pooled = gemm(1, 1280, 2816 + 1280);
    const struct ll_model_size one = size_of("unet", NULL, 0);
    expect("1.5", one.parameters, 859520964);
    expect("1.5", one.forward_flops,
           time + parts(small, sizeof small / sizeof *small, 768) + conv(64, 3, 4, 320) +
               conv(64, 3, 320, 4) + conv(32, 3, 320, 320) + conv(16, 3, 640, 640) + conv(8, 3, 1280, 1280) +
               conv(16, 3, 1280, 1280) + conv(32, 3, 1280, 1280) + conv(64, 3, 640, 640));
    const struct ll_model_size xl = size_of("unet", &(struct ll_setting){"preset", "sdxl"}, 1);
    expect("XL", xl.parameters, UINT64_C(2567463684));
    expect("XL", xl.forward_flops,
           time + pooled + parts(large, sizeof large / sizeof *large, 2048) + conv(128, 3, 4, 320) +
               conv(128, 3, 320, 4) + conv(64, 3, 320, 320) + conv(32, 3, 640, 640) +
               conv(64, 3, 1280, 1280) + conv(128, 3, 640, 640));
}

/* Dao and Gu, 2024: the weights of state-spaces/mamba2-*, whose embeddings serve twice. A layer projects
 * to twice as many features and gates, keys and queries of a state and a step of each head; convolves four
 * tokens; keeps a state of 128 for each feature, which decays, takes in and is read: 6 FLOPs an element;
 * and projects back. */
static void state_space_models_are_as_published(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t parameters, hidden, layers;
    } all[] = {{"mamba2-130m", 128989632, 768, 24},
               {"mamba2-370m", 368346624, 1024, 48},
               {"mamba2-780m", 780161280, 1536, 48},
               {"mamba2-1.3b", 1343757312, 2048, 48},
               {"mamba2", 2702599680, 2560, 64}};
    enum { VOCABULARY = 50288, STATE = 128, TAPS = 4, HEAD = 64, TOKENS = 1000 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const uint64_t h = all[i].hidden, inner = 2 * h, heads = inner / HEAD, mixed = inner + 2 * STATE;
        const uint64_t into = h * (inner + mixed + heads), back = inner * h;
        const struct ll_setting settings[] = {{"config", all[i].name}, {"tokens", "1000"}};
        const struct ll_model_size size = size_of("llm", settings, 2);
        expect(all[i].name, size.parameters, all[i].parameters);
        expect(all[i].name, size.parameters,
               VOCABULARY * h + h +
                   all[i].layers * (into + (TAPS + 1) * mixed + 3 * heads + inner + back + h));
        expect(all[i].name, size.forward_flops,
               TOKENS * all[i].layers * (2 * (into + back) + 2 * TAPS * mixed + 6 * inner * STATE) +
                   gemm(TOKENS, VOCABULARY, h));
    }
}

/* MLPerf training's two: 187,767,399 rows of embeddings, and 204,184,588; Criteo's data with indices below 40
 * million. FLOPs of a sample: of the first one all 27 x 27 products, of which half are read. */
static void recommenders_are_those_of_mlperf(void **state)
{
    (void)state;
    enum { F = 128, VECTORS = 27, MET = VECTORS * (VECTORS - 1) / 2 + F, ALL = VECTORS * F, RANK = 512 };
    const uint64_t bottom = 13 * 512 + 512 * 256 + 256 * F, below = 512 + 256 + F;
    const uint64_t top = 1024 * 1024 + 1024 * 512 + 512 * 256 + 256, above = 1024 + 1024 + 512 + 256 + 1;
    const struct ll_model_size dot = size_of("dlrm", NULL, 0);
    expect("dot", dot.parameters, UINT64_C(187767399) * F + bottom + below + MET * 1024 + top + above);
    expect("dot", dot.parameters, UINT64_C(24036595969));
    expect("dot", dot.forward_flops, 2 * (bottom + MET * 1024 + top) + gemm(VECTORS, VECTORS, F));
    const struct ll_model_size cross = size_of("dlrm", &(struct ll_setting){"interaction", "cross"}, 1);
    const uint64_t crosses = 3 * 2 * ALL * RANK;
    expect("cross", cross.parameters,
           UINT64_C(204184588) * F + bottom + below + crosses + 3 * ALL + ALL * 1024 + top + above);
    expect("cross", cross.forward_flops, 2 * (bottom + crosses + ALL * 1024 + top));
}

/* As `leadline train dlrm` does it: three in four samples are not clicked, and none is judged wrongly
 * then. */
static void recommenders_learn_who_clicks(void **state)
{
    (void)state;
    skip_under_sanitizer();
    const struct ll_training_recipe *recipe = &ll_model_find("dlrm")->recipe;
    const struct ll_run_options options = {.train = true,
                                           .evaluate = true,
                                           .batch = recipe->batch,
                                           .steps = recipe->steps,
                                           .settings = recipe->settings,
                                           .setting_count =
                                               settings_in(recipe->settings, LL_MOST_RECIPE_SETTINGS)};
    struct ll_run_report report;
    struct ll_diags diags = {0};
    assert_true(ll_model_run(ll_model_find("dlrm"), &options, &report, &diags));
    assert_true(report.before.at[0].value < 0.85);
    assert_true(report.after.at[0].value > 0.98);
}

/* With weights of 16 bits each of them learns and infers, recorded dry. */
static void all_of_them_come_in_sixteen_bits(void **state)
{
    (void)state;
    static const char *const models[] = {"vit", "clip", "whisper", "dit", "dlrm"};
    static const struct ll_setting dtype = {"dtype", "bf16"};
    for (size_t i = 0; i < 2 * sizeof models / sizeof *models; i++)
        ll_trace_free(
            dry_run(models[i / 2],
                    (struct ll_run_options){
                        .train = i % 2, .steps = 1, .batch = 2, .settings = &dtype, .setting_count = 1}));
}

/* One token more reads the keys and values of the recording from memory: its GEMMs are those of a row. */
static void a_token_more_computes_nothing_of_the_recording(void **state)
{
    (void)state;
    static const struct ll_setting settings[] = {{"pass", "decode"}, {"context", "100"}, {NULL, NULL}};
    struct ll_run_options options = {.steps = 1, .batch = 3, .settings = settings, .setting_count = 2};
    struct ll_trace *trace = dry_run("whisper", options);
    struct ll_arena arena = {0};
    const struct ll_profile *profile = ll_profile(trace, &arena);
    uint64_t flops = 0;
    for (uint64_t i = 0; i < profile->kind_count; i++)
        if (ll_op_class(profile->kinds[i].op_kind) == LL_CLASS_MATRIX)
            flops += (uint64_t)profile->kinds[i].flops;
    const uint64_t h = 1280;
    expect(
        "decode", flops,
        3 * (32 * (6 * gemm(1, h, h) + 2 * gemm(1, 4 * h, h) + 2 * gemm(1, 100, h) + 2 * gemm(1, 1500, h)) +
             gemm(1, 51866, h)));
    ll_arena_release(&arena);
    ll_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vision_transformers_are_as_published),
        cmocka_unit_test(images_and_texts_are_as_published),
        cmocka_unit_test(listeners_are_as_published),
        cmocka_unit_test(denoisers_are_as_published),
        cmocka_unit_test(networks_of_stable_diffusion_are_as_published),
        cmocka_unit_test(state_space_models_are_as_published),
        cmocka_unit_test(recommenders_are_those_of_mlperf),
        cmocka_unit_test(recommenders_learn_who_clicks),
        cmocka_unit_test(all_of_them_come_in_sixteen_bits),
        cmocka_unit_test(a_token_more_computes_nothing_of_the_recording),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
