/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of whole steps: what networks.def makes of them. */
#include "check.h"

#include "sim/validate/predict.h"

#include <math.h>

/* What was asked for last; released at the end. */
static struct ll_measured_works held;

static struct ll_measured_works good_works(const char *op, const char *dtype, const char *dims)
{
    const struct ll_measured row = {.op = op, .dtype = dtype, .dims = dims, .time_s = 1};
    assert_null(ll_measured_works(&row, NULL, &held));
    assert_false(held.failed);
    return held;
}

static int release(void **state)
{
    (void)state;
    ll_measured_works_release(&held);
    return 0;
}

/* The first version of MobileNetV3 has fewer weights than the last one, which is torchvision's: that squeezes
 * 72 channels to 24 and twice 120 to 32, where the first has 18 and 30; and its 14th block, from 160 channels
 * to 160, has 960 within, squeezed to 240, where the first has 672 and 168. */
enum {
    MOBILENET_V3 = 5483032 - 6 * (2 * 72 + 1) - 2 * 2 * (2 * 120 + 1) -
                   (960 - 672) * (160 + 2 + 25 + 2 + 160) - 2 * (960 * 240 - 672 * 168) -
                   (960 + 240 - 672 - 168)
};

/* ncnn's ShuffleNet has fewer than the published one (pytorchcv's table, three groups): where the image
 * shrinks, a quarter of the new channels is convolved alone, 54, 60 and 120, not of all, 60, 120 and 240. */
enum {
    SHUFFLENET = 1865728 - (60 - 54) * (24 + 2 + 9 + 2 + 216 / 3) -
                 (120 - 60) * (240 / 3 + 2 + 9 + 2 + 240 / 3) - (240 - 120) * (480 / 3 + 2 + 9 + 2 + 480 / 3)
};

/* By the optimizer's work: momentum reads three numbers of four bytes for each weight. */
static uint64_t weights_of(const char *network)
{
    char dims[96];
    snprintf(dims, sizeof dims, "model=%s;batch=2;mode=train", network);
    struct ll_measured_works works = good_works("e2e_train", "fp32", dims);
    uint64_t bytes = 0;
    for (uint64_t p = 0; p < works.count; p++)
        bytes += works.at[p].kind == LL_OP_MOMENTUM ? works.at[p].work.a_bytes : 0;
    return bytes / 12;
}

/* The counts are those of torchvision's documentation; of AlexNet in two groups and of GoogLeNet, of Caffe's
 * model zoo; of ResNet-200, of its own blocks: 64.67 million; of MobileNet, the trainable ones of Keras's
 * documentation. */
static void networks_have_the_published_number_of_weights(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t weights;
    } networks[] = {
        {"alexnet", 60965224},      {"alexnet_owt", 61100840},      {"vgg11_a", 132863336},
        {"vgg16", 138357544},       {"vgg19", 143667240},           {"googlenetv1", 6998552},
        {"resnet18", 11689512},     {"resnet34", 21797672},         {"resnet50", 25557032},
        {"resnet101", 44549160},    {"resnet50v1.5", 25557032},     {"resnet152", 60192808},
        {"densenet121", 7978856},   {"densenet161", 28681000},      {"googlenet", 6998552},
        {"squeezenet", 1235496},    {"mobilenet", 4231976},         {"mobilenet_v2", 3504872},
        {"mnasnet", 4383312},       {"mobilenet_v3", MOBILENET_V3}, {"efficientnet_b0", 5288548},
        {"shufflenet", SHUFFLENET}, {"shufflenet_v2", 2278604},
    };
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        assert_int_equal(weights_of(networks[i].name), networks[i].weights);
}

/* Of all products and convolutions of the row that was read last. */
static uint64_t held_product_flops(void)
{
    uint64_t flops = 0;
    for (uint64_t i = 0; i < held.count; i++)
        if (held.at[i].work.kind == LL_WORK_GEMM || held.at[i].work.kind == LL_WORK_CONV)
            flops += held.at[i].times * held.at[i].work.flops;
    return flops;
}

static uint64_t product_flops(const char *op, const char *dims)
{
    good_works(op, "fp32", dims);
    return held_product_flops();
}

/* In billions of multiply-adds an image, as torchvision's documentation has them in its column GFLOPS. */
static void networks_have_the_published_number_of_operations(void **state)
{
    (void)state;
    static const struct {
        const char *dims;
        double published;
    } networks[] = {{"model=vgg16;batch=1", 15.47},
                    {"model=resnet50v1.5;batch=1", 4.09},
                    {"model=efficientnet_b0;batch=1", 0.39},
                    {"model=vision_transformer;batch=1;image=224", 4.41}};
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        uint64_t forward = product_flops("e2e_infer", networks[i].dims),
                 backward = product_flops("e2e_bwd", networks[i].dims);
        assert_true(fabs((double)forward / 2e9 - networks[i].published) < 0.005);
        assert_true(backward < 2 * forward);
        assert_int_equal(product_flops("e2e_train", networks[i].dims), forward + backward);
    }
}

/* The multiply-adds of an image are the weights of the layers times the places of their results: sums over
 * layers whose results have 112, 56, 28, 14, 7 rows or one, from the sizes in the .param files of ncnn's
 * benchmark. Published are 0.219 billion for MobileNetV3 (its last version), 0.39 for EfficientNet-B0, 0.14
 * for ShuffleNet (which is wider, as above), 0.146 for ShuffleNetV2. */
static void networks_have_as_many_operations_as_their_files_say(void **state)
{
    (void)state;
    static const struct {
        const char *dims;
        uint64_t weights[6];
    } networks[] = {
        {"model=mobilenet_v3;batch=1", {1856, 7944, 39480, 677512, 609120, 3779168}},
        {"model=efficientnet_b0;batch=1", {3200, 14832, 44160, 697680, 2569120, 1907200}},
        {"model=shufflenet;batch=1", {648, 1296, 39594, 300900, 487560, 960000}},
        {"model=shufflenet_v2;batch=1", {648, 1392, 40700, 278516, 916168, 1024000}},
    };
    static const uint64_t rows[6] = {112, 56, 28, 14, 7, 1};
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        uint64_t counted = 0;
        for (size_t p = 0; p < 6; p++)
            counted += networks[i].weights[p] * rows[p] * rows[p];
        assert_int_equal(product_flops("e2e_infer", networks[i].dims), 2 * counted);
    }
}

/* 144 patches of 32 x 32 x 3 and a class are 145 tokens of 768 numbers. In each of 12 layers these become
 * queries, keys, values and results of 12 heads, and then four times as many and back; scores and means of
 * values are products of tokens and tokens. One token is classified. An image of 224 has 49 patches, and no
 * other difference: torchvision's documentation has its weights. */
static void a_vision_transformer_works_on_tokens(void **state)
{
    (void)state;
    const uint64_t features = 768, tokens = 145, weights = (4 + 2 * 4) * features * features;
    const uint64_t layer = tokens * weights + 2 * tokens * tokens * features;
    assert_int_equal(product_flops("e2e_infer", "model=vision_transformer;batch=1"),
                     2 * (144 * 32 * 32 * 3 * features + 12 * layer + features * 1000));
    assert_int_equal(weights_of("vision_transformer;image=224"), 88224232);
    assert_int_equal(weights_of("vision_transformer"), 88224232 + (144 - 49) * features);
}

static uint64_t count_of(const char *dims, enum ll_op_kind kind)
{
    struct ll_measured_works works = good_works("e2e_infer", "fp32", dims);
    uint64_t count = 0;
    for (uint64_t i = 0; i < works.count; i++)
        count += works.at[i].kind == kind;
    return count;
}

static uint64_t sums_of(const char *op, const char *dims)
{
    struct ll_measured_works works = good_works(op, "fp32", dims);
    uint64_t count = 0;
    for (uint64_t i = 0; i < works.count; i++)
        count += works.at[i].kind == LL_OP_ADD;
    return count;
}

/* Every block of a residual network has a way around it; of MobileNetV2 and MnasNet those that change neither
 * the number of channels nor the size have: all but the first of a row of alike ones. Where ways part, what
 * comes back is added up, too; they part once more where channels are weighed by their means. */
static void networks_have_as_many_ways_around_blocks_as_published(void **state)
{
    (void)state;
    static const struct {
        const char *dims;
        uint64_t sums, weighed;
    } networks[] = {{"model=resnet18;batch=2", 8, 0},
                    {"model=resnet50;batch=2", 16, 0},
                    {"model=mobilenet_v2;batch=2", 1 + 2 + 3 + 2 + 2, 0},
                    {"model=mnasnet;batch=2", 2 + 2 + 2 + 1 + 3, 0},
                    {"model=mobilenet_v3;batch=2", 1 + 1 + 2 + 3 + 1 + 1, 3 + 2 + 3},
                    {"model=efficientnet_b0;batch=2", 1 + 1 + 2 + 2 + 3, 1 + 2 + 2 + 3 + 3 + 4 + 1},
                    {"model=vgg16;batch=2", 0, 0}};
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        assert_int_equal(sums_of("e2e_infer", networks[i].dims), networks[i].sums);
        assert_int_equal(sums_of("e2e_bwd", networks[i].dims), networks[i].sums + networks[i].weighed);
        assert_int_equal(count_of(networks[i].dims, LL_OP_MUL), networks[i].weighed);
    }
}

/* DenseNet-121 has 120 convolutions, of which all but the first come behind a ReLU; one more is behind the
 * first and one before the last layer. GoogLeNet has nine blocks of four ways: the pools of these leave the
 * image as large as it was, and what comes out of the first, 256 channels of 28 x 28, is put together. */
static void blocks_have_their_parts(void **state)
{
    (void)state;
    assert_int_equal(count_of("model=densenet121;batch=1", LL_OP_RELU), 119 + 2);
    assert_int_equal(count_of("model=googlenetv1;batch=1", LL_OP_CONCAT), 9);
    uint64_t kept = 0, first_bytes = 0;
    for (uint64_t i = 0; i < held.count; i++) {
        const struct ll_work *work = &held.at[i].work;
        kept += held.at[i].kind == LL_OP_MAX_POOL && work->a_bytes == work->c_bytes;
        if (held.at[i].kind == LL_OP_CONCAT && first_bytes == 0)
            first_bytes = work->c_bytes;
    }
    assert_int_equal(kept, 9);
    assert_int_equal(first_bytes, 4 * 256 * 28 * 28);
}

/* Of ShuffleNet's sixteen units three shrink the image, and all but the first are shuffled. Those of its
 * successor all are, behind two ways that come together; where the image keeps its size, channels part. */
static void channels_are_shuffled(void **state)
{
    (void)state;
    static const struct {
        const char *dims;
        enum ll_op_kind kind;
        uint64_t count;
    } parts[] = {
        {"model=shufflenet;batch=1", LL_OP_TRANSPOSE, 15},
        {"model=shufflenet;batch=1", LL_OP_ADD, 13},
        {"model=shufflenet;batch=1", LL_OP_AVG_POOL, 3},
        {"model=shufflenet;batch=1", LL_OP_CONCAT, 3},
        {"model=shufflenet_v2;batch=1", LL_OP_TRANSPOSE, 16},
        {"model=shufflenet_v2;batch=1", LL_OP_SPLIT, 13},
        {"model=shufflenet_v2;batch=1", LL_OP_CONCAT, 16},
        {"model=shufflenet_v2;batch=1", LL_OP_ADD, 0},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        assert_int_equal(count_of(parts[i].dims, parts[i].kind), parts[i].count);
}

/* The 96 channels of 56 x 56 that EfficientNet's second block weighs are read with a weight for each. */
static void weighed_channels_are_read_again(void **state)
{
    (void)state;
    uint64_t bytes = 0;
    struct ll_measured_works works = good_works("e2e_infer", "fp32", "model=efficientnet_b0;batch=1");
    for (uint64_t i = 0; i < works.count; i++) {
        const struct ll_measured_part *part = &works.at[i];
        assert_int_equal(part->apart, part->kind == LL_OP_MUL);
        if (part->apart && part->work.c_bytes == 4 * 96 * 56 * 56)
            bytes = part->work.a_bytes;
    }
    assert_int_equal(bytes, 4 * 96 * (56 * 56 + 1));
}

/* Sixteen products of weights and channels start on their own, as nothing but a weight is at hand. */
static void what_stands_apart_is_not_joined(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    struct ll_machine *machine =
        ll_machine_read("hwconfigs/devices/azure_d64s_v6.yaml+ncnn", NULL, NULL, 0, &diags);
    struct ll_predicted apart, joined;
    const char *trouble;
    good_works("e2e_infer", "fp32", "model=efficientnet_b0;batch=1;threads=1");
    assert_true(machine && ll_predict(machine, &held, &apart, &trouble));
    for (uint64_t i = 0; i < held.count; i++)
        held.at[i].apart = false;
    assert_true(ll_predict(machine, &held, &joined, &trouble));
    assert_near(apart.overhead_s - joined.overhead_s, 16 * machine->software.op_overhead_s, 1e-9);
    assert_true(apart.time_s > joined.time_s + apart.overhead_s - joined.overhead_s);
    ll_machine_free(machine);
}

/* Reads a row as software that its notes name drove it. */
static void read_noted(const char *op, const char *dims, const char *notes)
{
    const struct ll_measured row = {.op = op, .dtype = "fp32", .dims = dims, .notes = notes, .time_s = 1};
    assert_null(ll_measured_works(&row, NULL, &held));
}

/* 96 filters of 11 x 11 x 3 at 55 x 55 places are the first layer of AlexNet. */
static void torch7_trains_and_wants_the_gradient_of_the_image(void **state)
{
    (void)state;
    uint64_t first = UINT64_C(2) * 96 * 55 * 55 * 3 * 11 * 11,
             others = product_flops("e2e_bwd", "model=alexnet;batch=1");
    read_noted("e2e_bwd", "model=alexnet;batch=1;mode=backward", "Torch7 cuDNN 5105; mean of 10");
    assert_int_equal(held_product_flops(), others + first);
    read_noted("e2e_infer", "model=resnet18;batch=1;mode=forward", "Torch7 nn");
    assert_int_equal(held.at[1].kind, LL_OP_BATCH_NORM);
    read_noted("e2e_infer", "model=resnet18;batch=1;mode=forward", "PyTorch");
    assert_int_equal(held.at[1].kind, LL_OP_BATCH_NORM_FIXED);
}

/* 2000 x 64, twice 64 x 64, 64 x 10, for 32 samples on each of 8 devices; nothing flows back to the input. */
static void a_dense_network_is_split_over_its_devices(void **state)
{
    (void)state;
    const char *dims =
        "model=paradnn_fc;layers=3;nodes=64;input=2000;output=10;batch=256;mode=train;devices=8";
    uint64_t first = 2000 * 64, others = 2 * 64 * 64 + 64 * 10, exchanged = 0;
    assert_int_equal(product_flops("e2e_train", dims), 2 * 32 * (2 * first + 3 * others));
    for (uint64_t i = 0; i < held.count; i++)
        if (held.at[i].work.kind == LL_WORK_COLLECTIVE) {
            exchanged += held.at[i].times * held.at[i].work.a_bytes;
            assert_int_equal(held.at[i].devices, 8);
        }
    assert_int_equal(exchanged, 4 * (first + others + 3 * 64 + 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_have_the_published_number_of_weights),
        cmocka_unit_test(networks_have_the_published_number_of_operations),
        cmocka_unit_test(networks_have_as_many_operations_as_their_files_say),
        cmocka_unit_test(a_vision_transformer_works_on_tokens),
        cmocka_unit_test(networks_have_as_many_ways_around_blocks_as_published),
        cmocka_unit_test(blocks_have_their_parts),
        cmocka_unit_test(channels_are_shuffled),
        cmocka_unit_test(weighed_channels_are_read_again),
        cmocka_unit_test(what_stands_apart_is_not_joined),
        cmocka_unit_test(torch7_trains_and_wants_the_gradient_of_the_image),
        cmocka_unit_test(a_dense_network_is_split_over_its_devices),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
