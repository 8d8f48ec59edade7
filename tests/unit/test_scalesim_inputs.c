/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/scalesim/scalesim.h"

struct inputs {
    struct ll_arena arena;
    struct ll_diags diags, notes;
    struct ll_scalesim_config config;
};

static void release(struct inputs *inputs)
{
    ll_arena_release(&inputs->arena);
    ll_diags_release(&inputs->diags);
    ll_diags_release(&inputs->notes);
    free(inputs);
}

static const struct ll_scalesim_layer *read_layers(struct inputs *inputs, const char *text, bool products,
                                                   size_t *count)
{
    return ll_scalesim_read_topology(text, strlen(text), "t.csv", products, &inputs->arena, &inputs->diags,
                                     &inputs->notes, count);
}

static bool read_config(struct inputs *inputs, const char *text)
{
    return ll_scalesim_read_config(text, strlen(text), "t.cfg", 2, &inputs->arena, &inputs->diags,
                                   &inputs->config);
}

static bool is_layer(const struct ll_scalesim_layer *layer, const char *name, const uint64_t numbers[8])
{
    uint64_t v[8] = {layer->in_h,     layer->in_w,    layer->filter_h, layer->filter_w,
                     layer->channels, layer->filters, layer->stride_h, layer->stride_w};
    return strcmp(layer->name, name) == 0 && memcmp(v, numbers, sizeof v) == 0;
}

#define HEADER                                                                                               \
    "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,"

/* Each of these occurs in a topology that comes with SCALE-Sim, some of which it cannot read itself. */
static void a_row_is_read_however_it_is_dressed(void **state)
{
    (void)state;
    static const uint64_t numbers[8] = {56, 28, 3, 1, 64, 128, 2, 2};
    static const char *const texts[] = {
        HEADER "\nL, 56, 28, 3, 1, 64, 128, 2,\n",
        HEADER "\nL,56,28,3,1,64,128,2",
        HEADER "\r\nL,56,28,3,1,64,128,2,\r\n\r\n",
        HEADER "\rL,56,28,3,1,64,128,2,\r",
        HEADER "\n\n\tL , 56 ,28\t,3,1,64,128,2   ,  \n",
        "Layer name\t IFMAP Height\t IFMAP Width\t \nL\t56\t28\t3\t1\t64\t128\t2\t\n",
        "Layer name;IFMAP Height;IFMAP Width\nL;56;28;3;1;64;128;2\n",
        HEADER ",,Eh,Ew\n,,,,,,,,,,\nL,56,28,3,1,64,128,2,,,54,14\n",
        HEADER "\nL,56,28,3,1,64,128,2,#dw\n",
        HEADER "\nL,56,28,3,1,64,128,2,2,\n",
        HEADER "\nL,56,28,3,1,64,128,2,2\n",
        "\n  \n" HEADER "\nL,56,28,3,1,64,128,2,\n",
        "L,56,28,3,1,64,128,2,\n",
        "\xEF\xBB\xBF" HEADER "\nL,+56,028,3,1,64,128,2,\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct inputs *inputs = calloc(1, sizeof *inputs);
        size_t count = 0;
        const struct ll_scalesim_layer *layers = read_layers(inputs, texts[i], false, &count);
        if (!layers || count != 1 || !is_layer(&layers[0], "L", numbers))
            fail_msg("misread: %s", texts[i]);
        assert_int_equal(inputs->diags.count, 0);
        release(inputs);
    }
}

/* Topologies, and what is read of their first layer. */
static const struct {
    const char *text;
    bool products;
    uint64_t numbers[8], batch, kept, of;
    const char *note; /* NULL: none */
} named[] = {
    {HEADER " Batch Size,\nL,56,28,3,1,64,128,2,8,\n", false, {56, 28, 3, 1, 64, 128, 2, 2}, 8, 0, 0, NULL},
    {HEADER " Sparsity,\nL,56,28,3,1,64,128,2,2:4,\n", false, {56, 28, 3, 1, 64, 128, 2, 2}, 1, 2, 4, NULL},
    {HEADER " Sparsity,\nL,56,28,3,1,64,128,2,4:4,\n", false, {56, 28, 3, 1, 64, 128, 2, 2}, 1, 0, 0, NULL},
    {HEADER "\nL,56,28,3,1,64,128,2,1:4,\n", false, {56, 28, 3, 1, 64, 128, 2, 2}, 1, 1, 4, NULL},
    {HEADER " Stride Width, Padding, Batch,\nL,56,28,3,1,64,128,2,3,1,4,\n",
     false,
     {56, 28, 3, 1, 64, 128, 2, 3},
     4,
     0,
     0,
     "no column `Padding` is known here"},
    {HEADER "\nL,56,28,3,1,64,128,2,3,7,\nL,56,28,3,1,64,128,2,3,7,\n",
     false,
     {56, 28, 3, 1, 64, 128, 2, 3},
     1,
     0,
     0,
     "`7` stands behind the columns"},
    {"Layer,Batch,K,M,N,Sparsity\nL,3,64,1024,4800,2:4\n",
     true,
     {1024, 64, 1, 64, 1, 4800, 1, 1},
     3,
     2,
     4,
     NULL},
    {"Layer,M,N,K,\nL,1024,4800,64,2:4,\n", true, {1024, 64, 1, 64, 1, 4800, 1, 1}, 1, 2, 4, NULL},
    {"Layer,M,N,K,A,B,C,D,E\nL,1024,4800,64,,,,,1\n",
     true,
     {1024, 64, 1, 64, 1, 4800, 1, 1},
     1,
     0,
     0,
     "no column `A` is known here"},
    {"layer\tIFMAP Height\tx\tx\tx\tx\tx\ts\nL\t56\t28\t3\t1\t64\t128\t2\n",
     false,
     {56, 28, 3, 1, 64, 128, 2, 2},
     1,
     0,
     0,
     "no column `x` is known here; by its place it is taken for the ifmap width"},
    {"Num Filter,Channels,Filter Width,Filter Height,IFMAP Width,IFMAP Height,Strides,Layer name\n"
     "128,64,1,3,28,56,2,L\n",
     false,
     {56, 28, 3, 1, 64, 128, 2, 2},
     1,
     0,
     0,
     NULL},
    {"Name,Input Height,Input Width,Kernel Height,Kernel Width,Channels,Filters,Stride Height,Stride Width\n"
     "L,56,28,3,1,64,128,2,3\n",
     false,
     {56, 28, 3, 1, 64, 128, 2, 3},
     1,
     0,
     0,
     NULL},
};

/* Whatever their order; what nobody knows is named, once. */
static void columns_are_found_by_their_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        struct inputs *inputs = calloc(1, sizeof *inputs);
        size_t count = 0;
        assert_int_equal(ll_scalesim_holds_products(named[i].text, strlen(named[i].text)), named[i].products);
        const struct ll_scalesim_layer *layers =
            read_layers(inputs, named[i].text, named[i].products, &count);
        if (!layers || !is_layer(&layers[0], "L", named[i].numbers))
            fail_msg("misread: %s", named[i].text);
        assert_int_equal(layers[0].batch, named[i].batch);
        assert_int_equal(layers[0].zeros.kept, named[i].kept);
        assert_int_equal(layers[0].zeros.of, named[i].of);
        assert_int_equal(inputs->notes.count > 0, named[i].note != NULL);
        if (named[i].note)
            assert_non_null(strstr(inputs->notes.kept[0].message, named[i].note));
        struct ll_scalesim_config config = {.rows = 4, .columns = 4};
        assert_int_equal(ll_scalesim_obstacle(&config, &layers[0]) != NULL,
                         named[i].batch > 1 || named[i].of > 0);
        release(inputs);
    }
    static const char *const wrongs[][2] = {
        {HEADER " Sparsity,\nL,56,28,3,1,64,128,2,half,\n", "expected how many of how many neighbours"},
        {HEADER " Batch Size,\nL,56,28,3,1,64,128,2,0,\n", "batch size `0`: expected a whole number"},
        {"Layer,M,N,K,M\nL,1,2,3,4\n", "there are two columns of this name"},
        {"Layer,K,M,x\nL,1,2,3\n", "there is no column for the n"},
    };
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        struct inputs *inputs = calloc(1, sizeof *inputs);
        size_t count = 0;
        assert_null(read_layers(inputs, wrongs[i][0], i >= 2, &count));
        if (!strstr(inputs->diags.kept[0].message, wrongs[i][1]))
            fail_msg("%s: %s", wrongs[i][0], inputs->diags.kept[0].message);
        release(inputs);
    }
}

static void a_product_is_a_convolution_of_one_column(void **state)
{
    (void)state;
    static const uint64_t first[8] = {1024, 64, 1, 64, 1, 4800, 1, 1},
                          second[8] = {128, 2048, 1, 2048, 1, 1, 1, 1};
    struct inputs *inputs = calloc(1, sizeof *inputs);
    size_t count = 0;
    const struct ll_scalesim_layer *layers =
        read_layers(inputs, "Layer,M,N,K\nQKT,1024,4800,64\n10,128,1,2048,\n", true, &count);
    assert_int_equal(count, 2);
    assert_true(is_layer(&layers[0], "QKT", first));
    assert_true(is_layer(&layers[1], "10", second));
    release(inputs);
}

static void a_depthwise_layer_stands_for_one_of_each_channel(void **state)
{
    (void)state;
    static const uint64_t numbers[8] = {112, 112, 3, 3, 1, 1, 1, 1};
    struct inputs *inputs = calloc(1, sizeof *inputs);
    size_t count = 0;
    const struct ll_scalesim_layer *layers =
        read_layers(inputs, "Conv2_DP,112,112,3,3,32,1,1,\n", false, &count);
    assert_int_equal(count, 1);
    assert_int_equal(layers[0].copies, 32);
    assert_true(is_layer(&layers[0], "Conv2_DP", numbers));
    release(inputs);
}

static void every_wrong_row_is_named_with_line_and_column(void **state)
{
    (void)state;
    struct inputs *inputs = calloc(1, sizeof *inputs);
    size_t count;
    assert_null(read_layers(inputs,
                            HEADER
                            "\na,5,5,3,3,4\nb,5,x,3,3,4,4,1,\nc,5,5,7,3,4,4,1,\nd,5,5,0,-3,4,4,99999999999,\n"
                            "e,9,9,3,3,1,1,1,2\n",
                            false, &count));
    static const struct {
        uint64_t line, column;
    } places[] = {{2, 11}, {3, 5}, {4, 7}, {5, 7}, {5, 9}, {5, 16}, {6, 17}};
    assert_int_equal(inputs->diags.count, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(inputs->diags.kept[i].place.line, places[i].line);
        assert_int_equal(inputs->diags.kept[i].place.column, places[i].column);
    }
    release(inputs);
}

#define CONFIG                                                                                               \
    "# from nowhere\n[general]\nrun_name = test run\n\n[architecture_presets]\nArrayHeight:    32\n"         \
    "arraywidth =16\nIfmapSramSzkB: 64\nFilterSramSzkB:65\nOfmapSramSzkB :66\nFilterOffset: "                \
    "5\nMemoryBanks: 1\n"

static void a_configuration_is_read_with_keys_in_any_case(void **state)
{
    (void)state;
    struct inputs *inputs = calloc(1, sizeof *inputs);
    assert_true(read_config(inputs,
                            CONFIG "Bandwidth : 10, 20\nDataflow : is\n[run_presets]\n"
                                   "InterfaceBandwidth: USER \n[sparsity]\nSparsitySupport : false\n"));
    const struct ll_scalesim_config *config = &inputs->config;
    assert_string_equal(config->run_name, "test run");
    assert_int_equal(config->rows, 32);
    assert_int_equal(config->columns, 16);
    assert_int_equal(config->buffer_kB[LL_SCALESIM_IFMAP], 64);
    assert_int_equal(config->buffer_kB[LL_SCALESIM_FILTER], 65);
    assert_int_equal(config->buffer_kB[LL_SCALESIM_OFMAP], 66);
    assert_int_equal(config->first_address[LL_SCALESIM_FILTER], 5);
    assert_int_equal(config->first_address[LL_SCALESIM_OFMAP], 20000000);
    assert_int_equal(config->dataflow, LL_INPUT_STATIONARY);
    assert_true(config->user_bandwidth);
    assert_int_equal(config->words_per_cycle, 10);
    release(inputs);
}

static void bandwidth_is_wanted_in_user_mode_alone(void **state)
{
    (void)state;
    struct inputs *inputs = calloc(1, sizeof *inputs);
    assert_true(read_config(inputs, CONFIG "Dataflow: os\n[run_presets]\nInterfaceBandwidth: CALC\n"));
    assert_true(
        read_config(inputs, CONFIG "Bandwidth: 0\nDataflow: os\n[run_presets]\nInterfaceBandwidth: CALC\n"));
    assert_int_equal(inputs->diags.count, 0);
    assert_false(read_config(inputs, CONFIG "Dataflow: os\n[run_presets]\nInterfaceBandwidth: USER\n"));
    assert_int_equal(inputs->diags.count, 1);
    assert_false(
        read_config(inputs, CONFIG "Bandwidth: 0\nDataflow: os\n[run_presets]\nInterfaceBandwidth: USER\n"));
    assert_int_equal(inputs->diags.count, 2);
    assert_int_equal(inputs->diags.kept[1].place.line, 13);
    assert_int_equal(inputs->diags.kept[1].place.column, 12);
    release(inputs);
}

/* Only a bandwidth may be several, of which the first counts. */
static void any_other_number_is_one(void **state)
{
    (void)state;
    struct inputs *inputs = calloc(1, sizeof *inputs);
    assert_false(read_config(inputs, CONFIG "OfmapOffset: 7, 8\nDataflow: os\n[run_presets]\n"
                                            "InterfaceBandwidth: CALC\n"));
    assert_int_equal(inputs->diags.count, 1);
    assert_int_equal(inputs->diags.kept[0].place.line, 13);
    release(inputs);
}

/* SCALE-Sim looks for a key in its section only. */
static void a_key_in_another_section_is_missing(void **state)
{
    (void)state;
    struct inputs *inputs = calloc(1, sizeof *inputs);
    assert_false(read_config(inputs, CONFIG "[run_presets]\nDataflow: os\nInterfaceBandwidth: CALC\n"));
    assert_int_equal(inputs->diags.count, 1);
    assert_string_equal(
        inputs->diags.kept[0].message,
        "no key `Dataflow` in section [architecture_presets]; it stands in section [run_presets]");
    release(inputs);
}

/* Python reads lines that end in a line feed, a carriage return or both. */
static void lines_may_end_in_a_carriage_return_alone(void **state)
{
    (void)state;
    static const char text[] = CONFIG "Dataflow: os\nBandwidth: x\n[run_presets]\nInterfaceBandwidth: USER\n";
    char other[sizeof text];
    for (size_t i = 0; i < sizeof text; i++)
        other[i] = text[i] == '\n' ? '\r' : text[i];
    struct inputs *inputs = calloc(1, sizeof *inputs);
    assert_false(read_config(inputs, text));
    assert_false(read_config(inputs, other));
    assert_int_equal(inputs->diags.count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(inputs->diags.kept[i].place.line, 14);
        assert_int_equal(inputs->diags.kept[i].place.column, 12);
    }
    static const char products[] = "Layer,M,N,K,\ra,1,2,3,\rb,1,2,3,\r";
    static const char tabs[] = "Layer\tM\tN\tK\na\t1\t2\t3\t\n";
    assert_true(ll_scalesim_holds_products(products, sizeof products - 1));
    assert_true(ll_scalesim_holds_products(tabs, sizeof tabs - 1));
    release(inputs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_read_however_it_is_dressed),
        cmocka_unit_test(columns_are_found_by_their_names),
        cmocka_unit_test(a_product_is_a_convolution_of_one_column),
        cmocka_unit_test(a_depthwise_layer_stands_for_one_of_each_channel),
        cmocka_unit_test(every_wrong_row_is_named_with_line_and_column),
        cmocka_unit_test(a_configuration_is_read_with_keys_in_any_case),
        cmocka_unit_test(lines_may_end_in_a_carriage_return_alone),
        cmocka_unit_test(bandwidth_is_wanted_in_user_mode_alone),
        cmocka_unit_test(any_other_number_is_one),
        cmocka_unit_test(a_key_in_another_section_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
