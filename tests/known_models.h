/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of each reference workload from its paper, and settings small enough for a quick run; a row
 * more for a preset whose ops are others. A model without a row fails tests/unit/test_model.c. */
#ifndef LL_TESTS_KNOWN_MODELS_H
#define LL_TESTS_KNOWN_MODELS_H

#include "models/model.h"

enum { MOST_SETTINGS = 5 };

/* What is known of a model from its paper, and settings for a quick run. */
static const struct known {
    const char *name;
    uint64_t parameters, forward_flops, train_ops, constants;
    struct ll_setting preset[MOST_SETTINGS]; /* of these numbers, where they are not the model's own */
    struct ll_setting small[MOST_SETTINGS];
    uint64_t steps; /* after which a batch of 8 has at most half of the first loss; 0: nobody promises that */
    const char *loss_of; /* the loss is that of weights whose names begin so; NULL: of all weights */
} known_models[] = {
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
        .forward_flops = 8650,
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
        .small = {{"frames", "40"}, {"hidden", "8"}, {"classes", "4"}},
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
        .small = {{"frames", "40"}, {"hidden", "8"}, {"classes", "4"}, {"tile", "1"}},
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
        .small = {{"frames", "40"}, {"hidden", "8"}, {"classes", "4"}, {"tile", "1"}, {"recurrent", "0"}},
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
    /* Sum over 41 convolutions and a product as the first comment of residual.c lists them; 38 have a bias,
     * 37 a ReLU. Ops: 2 input, 137 forward, 174 backward (38 sums for the biases), 81 update. */
    {
        .name = "residual_code",
        .parameters = 6178624,
        .forward_flops = 32447055872,
        .train_ops = 394,
        .constants = 2,
        .small = {{"image", "32"}, {"classes", "7"}, {"channels", "4"}},
        .steps = 60,
    },
    /* Simonyan and Zisserman, 2015, table 2: 144 million parameters. FLOPs: the sum over the layers that
     * the first comment of vgg.c lists. Ops: 2 input, 70 forward (16 convolutions and 3 dense layers with
     * bias, 18 ReLU, 5 pools, a reshape, 2 dropouts, 6 loss and accuracy), 84 backward, 40 update (38
     * weights, Adam's powers, the counter of steps). Constants: also what the counter advances by. */
    {
        .name = "vgg",
        .parameters = 143671337,
        .forward_flops = 39264133120,
        .train_ops = 196,
        .constants = 3,
        .small = {{"image", "32"}, {"classes", "3"}, {"channels", "8"}, {"hidden", "128"}},
        .steps = 160,
    },
    /* Four convolutions less, a ReLU more. */
    {
        .name = "vgg_code",
        .parameters = 137771561,
        .forward_flops = 27241160704,
        .train_ops = 162,
        .constants = 3,
        .small = {{"image", "32"}, {"classes", "3"}, {"channels", "8"}, {"hidden", "128"}},
        .steps = 160,
    },
    /* Gulrajani et al., 2017: the sums of wgan_net.h's first comment. What is inferred is the generator's,
     * and so is the loss. Ops with two of the critic's updates: 2 input, 1551 forward, 4322 backward, 126
     * update (the generator's weights once, the critic's twice, Adam's powers with each; the counter of
     * steps). Constants: the ones that gradients start from, Adam's betas of two networks, one, two, quarter,
     * epsilon, the penalty's weight, what the counter advances by. */
    {
        .name = "wgan",
        .parameters = 8540483,
        .forward_flops = 3573022720,
        .train_ops = 6001,
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
};

#endif
