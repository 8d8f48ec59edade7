/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of each reference workload from its paper or formula, and settings small enough for a quick
 * run; a row more for a preset whose ops are others. A model that publishes its numbers itself (struct
 * ll_model_published) needs no row; one without either fails tests/unit/test_model.c.
 * One file because it is one table. */
#ifndef LL_TESTS_KNOWN_MODELS_H
#define LL_TESTS_KNOWN_MODELS_H

#include "models/model.h"

enum { MOST_SETTINGS = LL_MOST_RECIPE_SETTINGS };

/* What is known of a model from its paper, and settings for a quick run. */
static const struct known {
    const char *name;
    uint64_t parameters, forward_flops; /* of the model as it is; the FLOPs of a sample */
    uint64_t train_ops,
        constants; /* of a step at the small settings: ops, and what they read that none makes */
    struct ll_setting preset[MOST_SETTINGS]; /* of these numbers, where they are not the model's own */
    struct ll_setting small[MOST_SETTINGS];
    uint64_t steps; /* after which a batch of 8 has at most half of the first loss; 0: nobody promises that */
    const char *loss_of; /* the loss is that of weights whose names begin so; NULL: of all weights */
    bool dry;            /* nobody computes it here */
} known_models[] = {
#include "known_decoders.def"
    /* Of 4096 tokens, by the sum in llm.c: 4096 x (2 x 6,979,321,856 + 2 x 525,336,576), and 524,288 x 4096
     * x 4097 / 2. test_llm.c has the other sizes. Small, Qwen3's layers: llama's with attention as one op,
     * and of each layer two norms of heads, a weight each, seen otherwise before and behind, forward and
     * back; one weight fewer, as the head's is that of the embedding, whose two gradients are added. */
    {
        .name = "llm",
        .parameters = UINT64_C(8030261248),
        .forward_flops = UINT64_C(65877282127872),
        .train_ops = 179 + 2 * (6 + 6 + 2) + 1 - 1,
        .constants = 2,
        .small =
            {{"config", "tiny"}, {"ops", "computed"}, {"dtype", "f32"}, {"tokens", "8"}, {"rate", "10000"}},
        .steps = 60,
    },
    /* Dao and Gu, 2024: of a layer 768 x (2 x 1536 + 2 x 128 + 24) + 1536 x 768 weights that a token meets,
     * 24 heads of 64 x 128, 1792 channels of 4 taps. FLOPs of 4096 tokens: 24 x (2 x 3,753,984 + 6 x
     * 196,608 + 2 x 7168) + 2 x 768 x 50288 each. Ops of two small layers: 2 input; 61 forward (28 a layer,
     * 5 of embedding, head, loss), 97 backward, 25 update. Constants more: the one of softplus, two states
     * of zeros. */
    {
        .name = "llm",
        .parameters = 128989632,
        .forward_flops = UINT64_C(1171821428736),
        .train_ops = 2 + 61 + 97 + 25,
        .constants = 2 + 3,
        .preset = {{"config", "mamba2-130m"}},
        .small = {{"config", "tiny-mamba2"},
                  {"ops", "computed"},
                  {"dtype", "f32"},
                  {"tokens", "8"},
                  {"rate", "10000"}},
        .steps = 60,
    },
    /* Qwen3-Next's layers, a gated delta rule and a gated attention, each with experts: 2 input, 125
     * forward, 203 backward, 38 update (37 weights). Constants more: the one of softplus, two states of
     * zeros, what keys and queries of length one are made by. */
    {
        .name = "llm",
        .parameters = UINT64_C(34660610688),
        .forward_flops = UINT64_C(25896975073280), /* 4096 times test_llm.c's fixed ones, and what is seen */
        .train_ops = 2 + 125 + 203 + 38,
        .constants = 2 + 5,
        .preset = {{"config", "qwen3.5-35b-a3b"}},
        .small = {{"config", "tiny-delta"},
                  {"ops", "computed"},
                  {"dtype", "f32"},
                  {"tokens", "8"},
                  {"rate", "10000"}},
        .steps = 60,
    },
    /* DeepSeek-V2's layers, a dense one and one with experts, each with latent attention. Of 4096 tokens: 4096
     * x 73,249,193,984, and 4,997,120 x 4096 x 4097 / 2 for what they see. Ops of two small layers: 2 input;
     * 112 forward (39 of each attention, 6 of the dense part, 23 of the experts, 5 of embedding, head and
     * loss), 168 backward, 37 update (36 weights). */
    {
        .name = "llm",
        .parameters = UINT64_C(671026419200),
        .forward_flops = UINT64_C(341957813469184),
        .train_ops = 2 + 112 + 168 + 37,
        .constants = 2,
        .preset = {{"config", "deepseek-v3"}},
        .small = {{"config", "tiny-latent"},
                  {"ops", "computed"},
                  {"dtype", "f32"},
                  {"tokens", "8"},
                  {"rate", "10000"}},
        .steps = 60,
    },
    /* test_towers.c has other sizes. Ops of two layers: 2 input; 29 a layer, 7 for squares and positions,
     * 12 for the norm, the head, loss and accuracy; 33 update (32 weights, Adam's powers). Constants:
     * Adam's betas, the one that gradients start from. */
    {
        .name = "vit",
        .parameters = 86567656,
        .forward_flops = UINT64_C(35127656448),
        .train_ops = 199,
        .constants = 2,
        .small = {{"image", "16"},
                  {"patch", "8"},
                  {"layers", "2"},
                  {"hidden", "12"},
                  {"heads", "3"},
                  {"ffn_hidden", "10"},
                  {"classes", "4"},
                  {"rate", "10000"}},
        .steps = 60,
    },
    /* Ops: 29 input (numbers, 26 categories, clicks, pairs); 60 forward (26 gathers, 3 a layer with ReLU,
     * 2 of the last, 9 for the pairs, 3 for the loss); 42 update (42 weights). Constants: the loss' two,
     * the one that gradients start from. Plain steps of eight samples say little of who clicks:
     * test_towers.c has more. */
    {
        .name = "dlrm",
        .parameters = UINT64_C(24036595969),
        .forward_flops = 4916992,
        .train_ops = 202,
        .constants = 2,
        .small = {{"rows", "4"}, {"factors", "8"}, {"width", "64"}},
    },
    /* Three matrices of rank 512; a category of several values is a gather and a sum. */
    {
        .name = "dlrm",
        .parameters = UINT64_C(26151671809),
        .forward_flops = 32060928,
        .train_ops = 338,
        .constants = 2,
        .preset = {{"interaction", "cross"}},
        .small = {{"rows", "4"},
                  {"factors", "4"},
                  {"width", "16"},
                  {"rank", "3"},
                  {"bag", "2"},
                  {"interaction", "cross"}},
    },
    /* Ops of a layer on either side: 4 input; 98 forward (31 a layer, of which 3 are the GELU; 9 for
     * squares, positions and their norm, 4 for tokens, 4 and 3 for the norm and the rows that are asked, 6
     * a projection, 4 for what is compared, 4 for the loss); 39 update. Constants: steepness, the
     * two of a square's gradient, and as of vit. */
    {
        .name = "clip",
        .parameters = 151277313,
        .forward_flops = UINT64_C(14777164800),
        .train_ops = 275,
        .constants = 4,
        .small = {{"image", "16"},
                  {"patch", "8"},
                  {"layers", "1"},
                  {"hidden", "24"},
                  {"classes", "40"},
                  {"text_layers", "1"},
                  {"text_hidden", "16"},
                  {"embedding", "16"},
                  {"context", "4"},
                  {"vocabulary", "60"},
                  {"rate", "5000"}},
        .steps = 500,
    },
    /* Ops of a layer on either side: 3 input; 105 forward (29 and 29, and 24 for the memory, one of which
     * scales its scores; 8 for convolutions and sines, 5 for tokens, 2 norms, head and loss); 50 update
     * (49 weights, of which the sines are none). Constants: the sines, the root, and as of vit. */
    {
        .name = "whisper",
        .parameters = 1543490560,
        .forward_flops = UINT64_C(3448479088640),
        .train_ops = 296,
        .constants = 4,
        .small = {{"layers", "1"},
                  {"text_layers", "1"},
                  {"hidden", "12"},
                  {"heads", "3"},
                  {"mels", "5"},
                  {"frames", "12"},
                  {"seq", "4"},
                  {"positions", "4"},
                  {"vocabulary", "7"},
                  {"rate", "10000"}},
        .steps = 200,
    },
    /* Ops of two layers: 4 input; 154 forward (56 a layer, of which 13 set its six vectors; 23 for
     * squares, sines, time and class, 15 for the head, 4 for the loss); 32 update (31 weights). Constants:
     * one and nothing of the norms, what is added to scales, sines, the two of a square's gradient, and as
     * of vit. */
    {
        .name = "dit",
        .parameters = 675129632,
        .forward_flops = UINT64_C(237242843136),
        .train_ops = 403,
        .constants = 7,
        .small = {{"image", "4"},
                  {"layers", "2"},
                  {"hidden", "12"},
                  {"heads", "3"},
                  {"classes", "4"},
                  {"rate", "3000"}},
        .steps = 300,
    },
    /* Parameters and FLOPs by the sums of joint.c, the former as published; 64 x 64 squares and 154 or 512
     * tokens. Ops of a layer of two streams: 5 input, 128 forward, 175 backward, 31 update (30 weights); of
     * FLUX, whose text goes on through two layers of one stream, with norms of queries and keys and a
     * guidance: 6, 297, 399, 65. Constants as of the plain one, what places
     * add being one, too; FLUX's turn. */
    {
        .name = "dit",
        .parameters = UINT64_C(2028328000),
        .forward_flops = UINT64_C(8437355053056),
        .train_ops = 5 + 128 + 175 + 31,
        .constants = 7,
        .preset = {{"preset", "sd3-medium"}},
        .small = {{"preset", "sd3-medium"},
                  {"image", "4"},
                  {"channels", "2"},
                  {"layers", "1"},
                  {"hidden", "12"},
                  {"heads", "3"},
                  {"text", "3"},
                  {"rate", "10000"}},
        .steps = 60,
    },
    {
        .name = "dit",
        .parameters = UINT64_C(11901408320),
        .forward_flops = UINT64_C(74384653418496),
        .train_ops = 6 + 297 + 399 + 65,
        .constants = 6,
        .preset = {{"preset", "flux-dev"}},
        .small = {{"preset", "flux-dev"},
                  {"image", "4"},
                  {"channels", "2"},
                  {"layers", "1"},
                  {"hidden", "12"},
                  {"heads", "3"},
                  {"text", "3"},
                  {"rate", "10000"}},
        .steps = 60,
    },
    {
        .name = "dit",
        .parameters = UINT64_C(8056627520),
        .forward_flops = UINT64_C(29596766900224),
        .preset = {{"preset", "sd3.5-large"}},
        .dry = true,
    },
    {
        .name = "dit",
        .parameters = UINT64_C(11891178560),
        .forward_flops = UINT64_C(74384632971264),
        .preset = {{"preset", "flux-schnell"}},
        .dry = true,
    },
    {
        .name = "unet",
        .parameters = 859520964,
        .forward_flops = UINT64_C(803273441280),
        .dry = true,
    },
#include "known_single_ops.def"
    /* Sum over layers of inputs x outputs + biases; products as in tests/cases/alexnet.case. Ops: 31 forward
     * with loss and accuracy, 2 input, 42 backward, 17 update. Constants: the one that gradients start from,
     * Adam's betas. */
    {
        .name = "alexnet",
        .parameters = 61104937,
        .forward_flops = 1433542656,
        .train_ops = 92,
        .constants = 2,
        .small = {{"image", "67"}, {"classes", "7"}, {"channels", "4"}, {"hidden", "24"}},
        .steps = 30,
    },
    /* Mnih et al., 2015, with Breakout's four actions; the sum over the layers that the first comment of
     * deepq.c lists. Ops: 5 input, 29 forward (3 for each layer with ReLU, 2 for the last one, a reshape, 14
     * for the loss), 41 backward (22 for the loss), 10 update. Constants: the loss has one, two, half and the
     * discount, its gradient one and zero. It is the surprise at what the player meets, new all the time:
     * test_deepq.c holds what is learned. */
    {
        .name = "deepq",
        .parameters = 1686180,
        .forward_flops = 18690048,
        .train_ops = 85,
        .constants = 6,
        .small = {{"replay", "1000"}, {"channels", "4"}, {"hidden", "24"}, {"lives", "1"}},
    },
    /* The sums of deepspeech2.c's first comment. Ops with two layers and 50 frames, which leave 10 steps: 4
     * input; 586 forward (142 a layer and direction: 13 a step, 6 and 5 for what gates and candidate hear, a
     * stack; 18 for convolutions, the top and CTC); 920 backward; 167 update (51 weights, clipped in two and
     * changed, and two averages of each of 7 normalisations). Constants: the state before the first step, the
     * one that gradients start from, what each element of a gradient is clipped to. */
    {
        .name = "deepspeech2",
        .parameters = 181043613,
        .forward_flops = 143592373760,
        .train_ops = 1677,
        .constants = 4,
        .small = {{"frames", "50"},
                  {"layers", "2"},
                  {"hidden", "6"},
                  {"classes", "3"},
                  {"bins", "81"},
                  {"channels", "2"},
                  {"rate", "10000"}},
        .steps = 60,
    },
    /* Seven layers, as the suite's code has them: two more in each direction, 18,603,200 parameters each. */
    {
        .name = "deepspeech2",
        .parameters = 255456413,
        .forward_flops = 200836021760,
        .train_ops = 1677,
        .constants = 4,
        .preset = {{"layers", "7"}},
        .small = {{"frames", "50"},
                  {"layers", "2"},
                  {"hidden", "6"},
                  {"classes", "3"},
                  {"bins", "81"},
                  {"channels", "2"},
                  {"rate", "10000"}},
        .steps = 60,
    },
    /* Plain cells, step by step: of a layer and direction 672 or 1760 x 1760, 1760 x 1760, two biases and a
     * normalisation. Ops: 72 forward for each of these (7 a step, an unstack and a stack); 191 update (35
     * weights; averages of 3 normalisations and of 40 steps). */
    {
        .name = "deepspeech2",
        .parameters = 64693533,
        .forward_flops = 54084124160,
        .train_ops = 1101,
        .constants = 4,
        .preset = {{"gated", "0"}, {"stepwise", "1"}},
        .small = {{"frames", "50"},
                  {"layers", "2"},
                  {"hidden", "32"},
                  {"classes", "3"},
                  {"bins", "81"},
                  {"channels", "2"},
                  {"rate", "3000"},
                  {"gated", "0"},
                  {"stepwise", "1"}},
        .steps = 100,
    },
    /* 784 x 200 + 200 twice, 200 x 784 + 784; three products of 2 x 784 x 200. Ops: 1 input, 24 forward (3
     * products and biases, 5 for the sample, 13 for the loss), 27 backward (4 products, a sum for each bias,
     * 20 for loss and sample), 8 update. */
    {
        .name = "autoenc",
        .parameters = 471584,
        .forward_flops = 940800,
        .train_ops = 60,
        .constants = 7,
        .small = {{"image", "6"}, {"hidden", "5"}},
        .steps = 300,
    },
    /* 2 x 20 x 20 words, 10 x 20 times, 20 x 20 between hops, 20 x 20 for the answer. FLOPs of a sample: 120
     * + 120 for the question, 1,200 + 1,200 + 200 for the memory, 200 + 200 + 50 + 200 + 200 + 800 + 20 for
     * each hop, 800 for the answer. Ops: 3 input, 46 forward (each hop 12), 91 backward, 56 update (6 to
     * clip, 3 for noise and Adam for each of five weights, 2 for each of two first rows, Adam's powers, the
     * counter of steps). */
    {
        .name = "memnet",
        .parameters = 1800,
        .forward_flops = 8340,
        .train_ops = 196,
        .constants = 7,
        .small = {{"embedding", "4"}},
        .steps = 400,
    },
    /* The sum of seq2seq.c's first comment. FLOPs: 5 x 3 layers of 2 x 512 x 1024 that read, features of the
     * attention 5 x 2 x 256 x 256; 10 times 3 layers, linear layers 2 x 512 x 256 twice and 2 x 1536 x 256.
     * Ops of two layers: 3 input, 903 forward, 1310 backward, 67 update (20 weights, each measured, scaled
     * and subtracted; 7 for the norm of all and the counter of steps). */
    {
        .name = "seq2seq",
        .parameters = 34633792,
        .forward_flops = 60948480,
        .train_ops = 2283,
        .constants = 11,
        .small = {{"bucket", "1"}, {"vocabulary", "30"}, {"hidden", "12"}, {"layers", "2"}, {"samples", "5"}},
        .steps = 1500,
    },
    /* Hannun et al., 2014, with TIMIT's 61 phonemes: the sums of speech.c's first comment. Ops with 40
     * frames: 4 input; 342 forward (4 for each frame and direction: concat, product, bias, ReLU; 11 for the
     * other layers; stacks, transposition, sum of the directions, 4 reshapes; CTC and its mean); 776 backward
     * (for each frame and direction 2 products, bias and ReLU, 2 slices of which the first state wants none,
     * 3 sums but for one frame; a sum a frame where the directions meet; 20 others and 4 reshapes); 12
     * update. Constants: the one that gradients start from, the state before the first frame. */
    {
        .name = "speech",
        .parameters = 6386750,
        .forward_flops = 19987070976,
        .train_ops = 1134,
        .constants = 2,
        .small = {{"frames", "40"}, {"hidden", "8"}, {"classes", "4"}, {"rate", "10000"}},
        .steps = 60,
    },
    /* The same, weights and biases repeated for each utterance. Ops: of the four layers that hear frames
     * alone 8 copies more, backward 4 sums of weights more, those of biases for those of rows; 4 reshapes
     * less, backward 3; 2 transpositions more, backward too. */
    {
        .name = "speech",
        .parameters = 6386750,
        .forward_flops = 19987070976,
        .train_ops = 1143,
        .constants = 2,
        .preset = {{"tile", "1"}},
        .small = {{"frames", "40"}, {"hidden", "8"}, {"classes", "4"}, {"rate", "10000"}, {"tile", "1"}},
        .steps = 60,
    },
    /* The suite's code, without the fourth layer: 26 x 1024 + 2 x 1024 x 1024 + 1024 x 62, and biases. Ops: 4
     * input; 22 forward (16 for the layers, 3 ReLU, a transposition, CTC and its mean); 22 backward (7
     * products, 8 sums, 3 ReLU, a transposition, 3 for CTC and mean); 8 update. Constants: the one. */
    {
        .name = "speech",
        .parameters = 2190398,
        .forward_flops = 6850510848,
        .train_ops = 56,
        .constants = 1,
        .preset = {{"tile", "1"}, {"recurrent", "0"}},
        .small = {{"frames", "40"},
                  {"hidden", "8"},
                  {"classes", "4"},
                  {"rate", "10000"},
                  {"tile", "1"},
                  {"recurrent", "0"}},
        .steps = 60,
    },
    /* ResNet-34 (He et al., 2016): 3.6 GMAC in the paper's table 1 are 7.328 GFLOP with the last layer of
     * 1001 classes; 36 convolutions, each with its normalisation. Ops: 2 input, 131 forward (36 convolutions,
     * 36 normalisations, 33 ReLU, 16 sums, 2 pools, 2 dense, 6 loss and accuracy), 163 backward (one less for
     * the images, 16 sums of what meets at a shortcut), 183 update (110 weights, 72 averages, Adam's powers).
     */
    {
        .name = "residual",
        .parameters = 21798185,
        .forward_flops = 7327523840,
        .train_ops = 479,
        .constants = 2,
        .small = {{"image", "32"}, {"classes", "7"}, {"channels", "4"}},
        .steps = 60,
    },
    /* Sum over 41 convolutions and a product as the comment above residual (fathom/convnets.c) lists them;
     * 38 have a bias, 37 a ReLU. Ops: 2 input, 137 forward, 174 backward (38 sums for the biases), 81
     * update. */
    {
        .name = "residual_code",
        .parameters = 6178624,
        .forward_flops = 32447055872,
        .train_ops = 394,
        .constants = 2,
        .small = {{"image", "32"}, {"classes", "7"}, {"channels", "4"}},
        .steps = 60,
    },
    /* The sums of transformer.c's first comment. Ops of one layer each way: 7 input (sentences and where
     * their words are, language), 128 forward: 26 for an attention to itself, 28 for one to the source, 11
     * and 9 for the feed-forward layers, 10 and 8 before and behind the layers, 1 for the softmax, 9 for the
     * loss and views of what it reads; 149 backward; 45 update (38 weights, Adam's powers, 5 for its rate,
     * the counter of steps). Constants: the factors of embedding and heads, two lists of positions, the
     * causal bias, the loss at best, the one that gradients start from, of Adam the betas and what the rate
     * rises by. */
    {
        .name = "transformer",
        .parameters = 61415424,
        .forward_flops = 3960864768,
        .train_ops = 329,
        .constants = 11,
        .small = {{"vocabulary", "8"},
                  {"task_vocabulary", "3"},
                  {"hidden", "16"},
                  {"ffn_hidden", "24"},
                  {"layers", "1"},
                  {"heads", "2"},
                  {"source", "4"},
                  {"target", "4"},
                  {"padding", "25"},
                  {"warmup", "100"}},
        .steps = 600,
    },
    /* Vaswani et al., 2017: no biases in attention, one vocabulary of 37000; nothing tells the language. Ops:
     * 7 biases less, forward, backward and in the update; 7 of the language. */
    {
        .name = "transformer",
        .parameters = 63047680,
        .forward_flops = 4068737024,
        .train_ops = 301,
        .constants = 11,
        .preset = {{"paper", "1"}, {"vocabulary", "37000"}},
        .small = {{"vocabulary", "8"},
                  {"task_vocabulary", "3"},
                  {"hidden", "16"},
                  {"ffn_hidden", "24"},
                  {"layers", "1"},
                  {"heads", "2"},
                  {"source", "4"},
                  {"target", "4"},
                  {"paper", "1"},
                  {"warmup", "100"}},
        .steps = 600,
    },
    /* The sums of nmt.c's first comment. Ops with 3 words read and 4 written: 5 input, 266 forward (14 for a
     * cell, of which there are 6 and 8; 10 for an attention and 3 more a step, 10 where words become vectors
     * and these a memory with keys, 2 for the logits, 6 for the loss), 420 backward, 52 update (15 weights,
     * each measured, scaled and changed; 6 for the norm of all, Adam's powers). */
    {
        .name = "nmt",
        .parameters = 27190272,
        .forward_flops = 722278400,
        .train_ops = 743,
        .constants = 8,
        .small = {{"source_vocabulary", "8"},
                  {"target_vocabulary", "9"},
                  {"task_vocabulary", "4"},
                  {"hidden", "6"},
                  {"source", "3"},
                  {"target", "4"},
                  {"padding", "25"},
                  {"rate", "10000"}},
        .steps = 300,
    },
    /* The sums of sockeye.c's first comment. Ops with 3 words read and 4 written: 5 input, 350 forward (15
     * for a cell, of which there are 9 and 8; 15 more a step, 3 for each of 4 first states and each step of
     * the layer in two directions joined, 10 where words become vectors and these a memory with keys, 3 for
     * the logits, 7 for the loss), 555 backward, 112 update (37 weights, clipped in two and changed; Adam's
     * powers). */
    {
        .name = "sockeye",
        .parameters = 27733021,
        .forward_flops = 837527552,
        .train_ops = 1022,
        .constants = 6,
        .small = {{"source_vocabulary", "8"},
                  {"target_vocabulary", "9"},
                  {"task_vocabulary", "4"},
                  {"hidden", "6"},
                  {"source", "3"},
                  {"target", "4"},
                  {"padding", "25"},
                  {"rate", "10000"}},
        .steps = 300,
    },
    /* Simonyan and Zisserman, 2015, table 2: 144 million parameters. FLOPs: the sum over the layers that
     * the comment above vgg (fathom/convnets.c) lists. Ops: 2 input, 70 forward (16 convolutions and 3
     * dense layers with bias, 18 ReLU, 5 pools, a reshape, 2 dropouts, 6 loss and accuracy), 84 backward,
     * 40 update (38 weights, Adam's powers, the counter of steps). Constants: also what the counter
     * advances by. */
    {
        .name = "vgg",
        .parameters = 143671337,
        .forward_flops = 39264133120,
        .train_ops = 196,
        .constants = 3,
        .small = {{"image", "32"}, {"classes", "3"}, {"channels", "8"}, {"hidden", "128"}},
        .steps = 100,
    },
    /* Four convolutions less, a ReLU more. */
    {
        .name = "vgg_code",
        .parameters = 137771561,
        .forward_flops = 27241160704,
        .train_ops = 162,
        .constants = 3,
        .small = {{"image", "32"}, {"classes", "3"}, {"channels", "8"}, {"hidden", "128"}},
        .steps = 100,
    },
    /* Gulrajani et al., 2017: the sums of wgan.c's first comment. What is inferred is the generator's,
     * and so is the loss. Ops with two of the critic's updates: 2 input, 1551 forward, 4177 backward, 126
     * update (the generator's weights once, the critic's twice, Adam's powers with each; the counter of
     * steps). Constants: the ones that gradients start from, Adam's betas of two networks, one, two, quarter,
     * epsilon, the penalty's weight, what the counter advances by. */
    {
        .name = "wgan",
        .parameters = 8540483,
        .forward_flops = 3573022720,
        .train_ops = 5856,
        .constants = 11,
        .small = {{"image", "16"}, {"channels", "2"}, {"critic_steps", "2"}},
        .loss_of = "generator/",
    },
    /* The critic's part of it, and the shift instead of the generator. */
    {
        .name = "wgan_critic",
        .parameters = 7491841,
        .forward_flops = 3394781184,
        .train_ops = 2477,
        .constants = 10,
        .small = {{"image", "16"}, {"channels", "2"}, {"rate", "1000"}},
        .steps = 60,
    },
    /* Mnih et al., 2016, as TBD has it: the sum over the layers that the first comment of a3c.c lists. What
     * is met while playing is new all the time: test_a3c.c holds what is learned. Ops: of each of four turns
     * 4 input, 29 forward (16 for the layers, 13 for the loss), 36 backward; 30 sums of the gradients of ten
     * weights, the sum of the losses, 11 update. Constants: shade, entropy, what is added to probabilities,
     * the one that gradients start from, Adam's betas. */
    {
        .name = "a3c",
        .parameters = 677429,
        .forward_flops = 5933568,
        .train_ops = 318,
        .constants = 5,
        .small = {{"channels", "2"}, {"hidden", "16"}, {"lives", "1"}},
    },
    /* The same on raw screens, which the suite's code shows; two turns. */
    {
        .name = "a3c",
        .parameters = 3561013,
        .forward_flops = 63040000,
        .train_ops = 160,
        .constants = 5,
        .preset = {{"raw", "1"}},
        .small = {{"channels", "2"}, {"hidden", "16"}, {"lives", "1"}, {"raw", "1"}, {"turns", "2"}},
    },
    /* He et al., 2016 ("Identity Mappings"), as MXNet has it: 25,549,483 parameters are the 25,557,032 of
     * ResNet-50 without four normalisations behind shortcuts and with those of what comes in and goes out.
     * FLOPs as ResNet-50's. Ops with 18 layers: 2 input; 76 forward (21 convolutions, 19 normalisations, 18
     * ReLU, 8 sums, 2 pools, 2 dense, 6 loss and accuracy); 94 backward (the images are shifted, so that the
     * first convolution gives a gradient, too; 8 sums where a unit's two ways meet); 98 update (60 weights,
     * 38 averages). Constants: the one that gradients start from, the scale of the images. */
    {
        .name = "resnet",
        .parameters = 25549483,
        .forward_flops = 8178368512,
        .train_ops = 270,
        .constants = 2,
        .small = {{"image", "32"}, {"classes", "7"}, {"channels", "4"}, {"depth", "18"}, {"rate", "10"}},
        .steps = 60,
    },
    /* Szegedy et al., 2016, without the second head; the sum over the layers that the first comment of
     * inception_v3.c lists. Ops: 2 input; 315 forward (94 convolutions, normalisations and ReLU, 8 means and
     * 5 largest of windows, 11 joins, the mean over the image, 2 dense, 6 loss and accuracy); 475 backward
     * (375 for convolutions, 13 pools, 46 slices, 35 sums where chains begin, 6 after them); 378 update (190
     * weights, 188 averages). Constants: the one that gradients start from, 94 scales. */
    {
        .name = "inception_v3",
        .parameters = 23817352,
        .forward_flops = 11426432192,
        .train_ops = 1170,
        .constants = 95,
        .small = {{"image", "107"}, {"classes", "7"}, {"channels", "2"}, {"rate", "10"}},
        .steps = 50,
    },
    /* He et al., 2015, table 1. Ops with 18 layers: 2 input; 75 forward (20 convolutions and normalisations,
     * 17 ReLU, 8 sums, 2 pools, 2 dense, 6 loss and accuracy); 91 backward (8 sums of what meets at a
     * shortcut); 102 update (62 weights, 40 averages). */
    {
        .name = "resnet_v1",
        .parameters = 25557032,
        .forward_flops = 8178368512,
        .train_ops = 270,
        .constants = 1,
        .small = {{"image", "32"}, {"classes", "7"}, {"channels", "4"}, {"depth", "18"}, {"rate", "10"}},
        .steps = 60,
    },
    /* Huang et al., 2017, with 3x3 convolutions alone in the blocks. Ops: 2 input; 257 forward (62
     * convolutions with normalisation and ReLU, 58 joins, 5 pools, 2 dense, 6 loss and accuracy); 431
     * backward (247 for convolutions, 58 times two slices and a sum, 10 others); 312 update (188 weights, 124
     * averages). */
    {
        .name = "densenet",
        .parameters = 10868073,
        .forward_flops = 6093015040,
        .train_ops = 1002,
        .constants = 1,
        .small = {{"image", "32"}, {"classes", "7"}, {"growth", "4"}, {"rate", "10"}},
        .steps = 60,
    },
    /* Huang et al., 2017, table 1, with a class more and no normalisation behind the last block. Ops: 58
     * convolutions with normalisation and ReLU more than without bottlenecks, and what follows from them. */
    {
        .name = "densenet_bottleneck",
        .parameters = 7977833,
        .forward_flops = 5668325376,
        .train_ops = 1698,
        .constants = 1,
        .small = {{"image", "32"}, {"classes", "7"}, {"growth", "4"}, {"rate", "10"}},
        .steps = 60,
    },
    /* Howard et al., 2017, table 1: 4.2 million parameters, 569 million multiplications and additions. Ops: 2
     * input; 90 forward (27 convolutions, normalisations and ReLU, a mean, 2 dense, 6 loss and accuracy); 113
     * backward; 220 update (83 weights, each with an average, 54 averages of the normalisations). */
    {
        .name = "mobilenet",
        .parameters = 4233001,
        .forward_flops = 1137482752,
        .train_ops = 425,
        .constants = 1,
        .small = {{"image", "32"}, {"classes", "3"}, {"channels", "8"}, {"rate", "10"}},
        .steps = 120,
    },
    /* Iandola et al., 2016, table 1: 1,248,424 parameters with 1000 classes, each of which has 513. Ops: 2
     * input; 97 forward (26 convolutions with bias and ReLU, 8 joins, 4 pools, a dropout, 6 loss and
     * accuracy); 134 backward (8 times two slices and a sum); 53 update (52 weights, the counter of steps).
     * Constants: also what the counter advances by. */
    {
        .name = "squeezenet",
        .parameters = 1248937,
        .forward_flops = 1671802880,
        .train_ops = 286,
        .constants = 2,
        .small = {{"image", "48"}, {"classes", "3"}, {"channels", "4"}, {"rate", "1"}},
        .steps = 300,
    },
    /* Lin et al., 2017, as TensorFlow's code for TPUs has it; the sum over the layers that the first comment
     * of retinanet.c lists. Ops with 18 layers: 5 input; 240 forward (21 convolutions of the trunk, 5 of the
     * pyramid and 50 of the heads, the latter 55 with bias; 16 normalisations, 57 ReLU, a pool, 8 + 2 + 1
     * sums, 2 maps enlarged, 2 joins, 12 views, 8 others of the loss); 410 backward, of them 80 sums for
     * filters and biases that five levels share, 19 where something is used twice; 115 update (83 weights, 32
     * averages). Constants: the one that gradients start from, the weight of the boxes. */
    {
        .name = "retinanet",
        .parameters = 35744116,
        .forward_flops = 173245696000,
        .train_ops = 770,
        .constants = 2,
        .small = {{"image", "64"},
                  {"classes", "2"},
                  {"channels", "4"},
                  {"features", "8"},
                  {"depth", "18"},
                  {"shapes", "2"},
                  {"frozen", "0"},
                  {"rate", "3"}},
        .steps = 120,
    },
    /* Three sizes of anchors, as the paper has them; normalisation that does not follow the batch, so that
     * there are no averages to update, but 32 constants more. */
    {
        .name = "retinanet",
        .parameters = 36394126,
        .forward_flops = 184323558400,
        .train_ops = 738,
        .constants = 34,
        .preset = {{"sizes", "3"}},
        .small = {{"image", "64"},
                  {"classes", "2"},
                  {"channels", "4"},
                  {"features", "8"},
                  {"depth", "18"},
                  {"shapes", "2"}},
    },
    /* Ren et al., 2015, as MXNet has it; the sum over the layers that the first comment of faster_rcnn.c
     * lists, with 128 regions. Ops with 18 layers: 6 input; 116 forward (21 convolutions of the trunk, 3 that
     * propose, 5 products and convolutions with bias, 19 normalisations and ReLU, 8 + 3 sums, 5 pools, 18
     * that propose, of them 5 views; 4 views more, 11 others of the losses); 123 backward; 243 update (68
     * weights, each gradient cut above and below; 38 averages, the counter of steps). Constants: the one that
     * gradients start from, anchors, the score of what is too small, both bounds of gradients, the regions'
     * share, the scale of the images, what the counter advances by. */
    {
        .name = "faster_rcnn",
        .parameters = 47454562,
        .forward_flops = 399721125888,
        .train_ops = 488,
        .constants = 8,
        .small = {{"height", "64"},
                  {"width", "48"},
                  {"classes", "2"},
                  {"channels", "4"},
                  {"depth", "18"},
                  {"shapes", "2"},
                  {"scale", "1"},
                  {"regions", "8"},
                  {"frozen", "0"},
                  {"rate", "20"}},
        .steps = 80,
    },
    /* The same, its normalisation, stem and first stage frozen: 25 weights are trained, 43 are constants as
     * are 38 means and variances. */
    {
        .name = "faster_rcnn",
        .parameters = 47454562,
        .forward_flops = 399721125888,
        .train_ops = 290,
        .constants = 89,
        .small = {{"height", "64"},
                  {"width", "48"},
                  {"classes", "2"},
                  {"channels", "4"},
                  {"depth", "18"},
                  {"shapes", "2"},
                  {"scale", "1"},
                  {"regions", "8"}},
    },
    /* Hestness et al., 2019: 16 h^2 + 2 h v + 8 h + v + 2 parameters, q (32 h^2 + 2 h v) FLOPs of products.
     * Ops of q = 6 steps: 11 input (words, labels, positions, 2 x 4 states); 188 forward (14 a step and
     * layer, 4 around each loop, 17 besides), 533 backward, 28 update. What they are counted as is held by
     * test_accounting.c. */
    {
        .name = "word_lm",
        .parameters = 104378326,
        .forward_flops = 13488683520,
        .train_ops = 764,
        .constants = 8,
        .small = {{"hidden", "5"}, {"vocabulary", "9"}, {"sequence", "6"}, {"rate", "2000"}},
        .steps = 300,
    },
    {
        .name = "char_lm",
        .parameters = 88785316,
        .forward_flops = 26564623200,
        .train_ops = 828,
        .constants = 8,
        .small = {{"hidden", "5"}, {"vocabulary", "9"}, {"sequence", "6"}, {"depth", "3"}, {"rate", "2000"}},
        .steps = 300,
    },
    /* The same: 33 h^2 + 3 h v + 12 h + 1. */
    {
        .name = "nmt_luong",
        .parameters = 146890753,
        .forward_flops = 3749617664,
        .train_ops = 1397,
        .constants = 15,
        .small = {{"hidden", "6"}, {"vocabulary", "9"}, {"sequence", "4"}, {"rate", "200"}},
        .steps = 300,
    },
    /* The same: the sums of speech_attention.c's first comment. */
    {
        .name = "speech_attention",
        .parameters = 71084729,
        .forward_flops = 20425782288,
        .train_ops = 3875,
        .constants = 18,
        .small = {{"hidden", "6"},
                  {"vocabulary", "5"},
                  {"steps", "12"},
                  {"features", "3"},
                  {"attention", "4"},
                  {"width", "4"},
                  {"filters", "2"},
                  {"rate", "1000"}},
        .steps = 300,
    },
    /* resnet_v1's, and two scalars; Catamount's own count for 152 layers. */
    {
        .name = "image_resnet",
        .parameters = 25557034,
        .forward_flops = 8178368512,
        .train_ops = 305,
        .constants = 6,
        .small = {{"image", "32"}, {"classes", "7"}, {"channels", "4"}, {"depth", "18"}, {"rate", "10"}},
        .steps = 60,
    },
    /* The closed form of fc.c's first comment. Ops with three layers: 3 input, 14 forward (matmul, bias, ReLU
     * of each, a view, 2 of the last, 2 of the loss), 16 backward, 8 update. Constants: the one that
     * gradients start from. */
    {
        .name = "paradnn_fc",
        .parameters = 2000 * 1024 + 7 * 1024 * 1024 + 1024 * 1000 + 8 * 1024 + 1000,
        .forward_flops = 2 * (2000 * 1024 + 7 * 1024 * 1024 + 1024 * 1000),
        .train_ops = 41,
        .constants = 1,
        .small = {{"layers", "3"}, {"nodes", "32"}, {"input", "64"}, {"output", "4"}, {"rate", "30"}},
        .steps = 60,
    },
    /* Wang et al., 2020: its smallest network of bottlenecks, one a group; the sums over the layers that the
     * first comment of cnn.c lists. Ops: 3 input; 58 forward (17 convolutions and normalisations, 13 ReLU, 4
     * sums, 2 pools, a view, 2 of the output, 2 of the loss), 75 backward, 53 update (17 filters, 34 of
     * normalisations, 2 of the output). Constants as above. */
    {
        .name = "paradnn_cnn",
        .parameters = 762884,
        .forward_flops = 191819264,
        .train_ops = 189,
        .constants = 1,
        .preset = {{"blocks", "1"}, {"filters", "16"}, {"output", "500"}},
        .small = {{"blocks", "1"}, {"filters", "2"}, {"output", "3"}},
        .steps = 40,
    },
    /* The same of residual blocks: 4 convolutions and normalisations less, 4 ReLU less. */
    {
        .name = "paradnn_cnn",
        .parameters = 374244,
        .forward_flops = 131269120,
        .train_ops = 149,
        .constants = 1,
        .preset = {{"block", "residual"}, {"blocks", "1"}, {"filters", "16"}, {"output", "500"}},
        .small = {{"block", "residual"}, {"blocks", "1"}, {"filters", "2"}, {"output", "3"}},
        .steps = 40,
    },
    /* The closed forms of rnn.c's first comment at the smallest network and at the largest ones. Ops of two
     * layers and six words: 3 input; 59 forward (4 a cell; 2 that give words, 2 that take states, 2 of the
     * output, 5 of the loss), 113 backward, 7 update. Constants: the one that
     * gradients start from, the zeros of all states. */
    {
        .name = "paradnn_rnn",
        .parameters = 20502,
        .forward_flops = 404000,
        .train_ops = 182,
        .constants = 2,
        .preset = {{"layers", "1"}, {"embed", "100"}, {"length", "10"}, {"vocabulary", "2"}},
        .small = {{"layers", "2"}, {"embed", "8"}, {"length", "6"}, {"vocabulary", "4"}},
        .steps = 60,
    },
    /* 13 a cell forward; the same zeros for states of both kinds. */
    {
        .name = "paradnn_rnn",
        .parameters = 86131024,
        .forward_flops = 15329088000,
        .train_ops = 430,
        .constants = 2,
        .preset =
            {{"cell", "lstm"}, {"layers", "13"}, {"embed", "900"}, {"length", "90"}, {"vocabulary", "1024"}},
        .small = {{"cell", "lstm"},
                  {"layers", "2"},
                  {"embed", "8"},
                  {"length", "6"},
                  {"vocabulary", "4"},
                  {"rate", "300"}},
        .steps = 60,
    },
    /* 13 a cell forward, four weights each. */
    {
        .name = "paradnn_rnn",
        .parameters = 65059324,
        .forward_flops = 11538288000,
        .train_ops = 500,
        .constants = 2,
        .preset =
            {{"cell", "gru"}, {"layers", "13"}, {"embed", "900"}, {"length", "90"}, {"vocabulary", "1024"}},
        .small = {{"cell", "gru"}, {"layers", "2"}, {"embed", "8"}, {"length", "6"}, {"vocabulary", "4"}},
        .steps = 60,
    },
};

#endif
