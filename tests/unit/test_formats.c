/* SPDX-License-Identifier: Apache-2.0 */
/* Topologies, rows and timelines: what comes in has the counts made on paper, what goes out comes in
 * again. */
#include "check.h"
#include "convert.h"

#include "sim/replay/replay.h"
#include "sim/validate/predict.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"
#include "tracer/convert/convert.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

/* MACs by SCALE-Sim's rules: ceil((in - filter + stride) / stride) outputs a side times the filter. What is
 * written again has the sides that were read. */
static void topologies_have_their_macs(void **state)
{
    static const char convs[] =
        "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, "
        "Num Filter, Strides,\nConv1,224,224,11,11,3,96,4,\nDP1,28,28,3,3,16,1,1,\nodd,10,10,3,3,8,4,2,\n";
    (void)state;
    struct conversion c = import_choosing(ll_import_SCALESIM, convs, NULL, NULL);
    assert_non_null(c.trace);
    assert_int_equal(c.trace->signatures[c.trace->ops[0].signature].flops, 2ull * 55 * 55 * 96 * 11 * 11 * 3);
    assert_int_equal(c.trace->signatures[c.trace->ops[1].signature].flops, 2ull * 26 * 26 * 16 * 9);
    assert_int_equal(c.trace->signatures[c.trace->ops[2].signature].flops, 14400);
    assert_int_equal(c.trace->signatures[c.trace->ops[0].signature].view.in[0].dtype, LL_INT8);
    struct ll_str text = exported(ll_export_SCALESIM, c.trace);
    assert_non_null(strstr(text.text, "224, 224, 11, 11, 3, 96, 4, 4,"));
    assert_non_null(strstr(text.text, "10, 10, 3, 3, 8, 4, 2, 2,"));
    ll_str_release(&text);
    end_conversion(&c);
    c = import_choosing(ll_import_SCALESIM, "Layer,M,N,K,\nfc,128,256,512,\n", "dtype", "f16");
    assert_non_null(c.trace);
    assert_int_equal(c.trace->signatures[0].flops, 2ull * 128 * 256 * 512);
    assert_int_equal(c.trace->signatures[0].bytes_read, 2ull * (128 * 512 + 512 * 256));
    end_conversion(&c);
    c = import_choosing(ll_import_SCALESIM, "Layer,M,N,K,\nfc,128,256,512,\n", "dtype", "f17");
    assert_true(complained(&c, "-p dtype=f17: expected a type of elements"));
    end_conversion(&c);
}

/* What is written of a trace is read as the same FLOPs; of products in a batch, a row for each. */
static void topologies_come_back(void **state)
{
    static const char rows[] =
        "source,hardware,op,dtype,dims,time_s,notes\n"
        "t,h,conv2d_fwd,fp32,b=1;c=3;h=224;w=224;k=64;r=7;s=7;stride_h=2;stride_w=2;pad_h=3;pad_w=3,1e-3,\n"
        "t,h,conv2d_fwd,fp32,b=1;c=32;h=28;w=28;k=32;r=3;s=3;pad_h=1;pad_w=1;groups=32,1e-3,\n"
        "t,h,conv2d_fwd,fp32,b=4;c=8;h=14;w=14;k=16;r=3;s=3;groups=2,1e-3,\n"
        "t,h,conv2d_bwd_filter,fp32,b=2;c=8;h=14;w=14;k=16;r=3;s=3,1e-3,\n"
        "t,h,bmm,fp16,b=3;m=10;n=11;k=12,1e-3,\n"
        "t,h,gemm,fp32,m=35;n=700;k=2048;ta=N;tb=T,1e-3,\n"
        "t,h,softmax,fp32,b=10;h=20,1e-3,\n";
    (void)state;
    struct conversion first = import_choosing(ll_import_CSV, rows, NULL, NULL);
    if (!first.trace)
        fail_msg("%s", first.diags.kept[0].message);
    struct ll_str text = exported(ll_export_SCALESIM, first.trace);
    struct conversion second = import_choosing(ll_import_SCALESIM, text.text, NULL, NULL);
    if (!second.trace)
        fail_msg("%s", second.diags.kept[0].message);
    assert_int_equal(second.trace->op_count, 1 + 1 + 2 + 1 + 3 + 1);
    assert_near(class_flops(second.trace, LL_CLASS_CONV),
                class_flops(first.trace, LL_CLASS_CONV) + class_flops(first.trace, LL_CLASS_MATRIX), 0);
    ll_str_release(&text);
    end_conversion(&first);
    end_conversion(&second);
}

/* A recorded program may do something before its first step, and may be cut off in its last. */
static void the_layers_are_those_of_a_complete_step(void **state)
{
    static const char rows[] = "source,hardware,op,dtype,dims,time_s,notes\n"
                               "t,h,gemm,fp32,m=77;n=7;k=7;ta=N;tb=N,1e-3,\n"
                               "t,h,gemm,fp32,m=5;n=256;k=9;ta=N;tb=N,1e-3,\n"
                               "t,h,gemm,fp32,m=5;n=1024;k=9;ta=N;tb=N,1e-3,\n";
    struct ll_step steps[] = {{.first_op = 0, .op_count = 1},
                              {.first_op = 1, .op_count = 1, .complete = true},
                              {.first_op = 2, .op_count = 1}};
    (void)state;
    struct conversion c = import_choosing(ll_import_CSV, rows, NULL, NULL);
    assert_non_null(c.trace);
    struct ll_trace cut = *c.trace;
    cut.steps = steps;
    cut.step_count = 3;
    struct ll_str text = exported(ll_export_SCALESIM, &cut);
    assert_null(strstr(text.text, "77,"));
    assert_non_null(strstr(text.text, "256,"));
    assert_null(strstr(text.text, "1024,"));
    ll_str_release(&text);
    end_conversion(&c);
}

/* Rows of every op that data may name, but for whole networks. */
static const char all_rows[] =
    "source,hardware,op,dtype,dims,time_s,notes\n"
    "s,h,gemm,fp16_tc,m=1760;n=128;k=1760;ta=T;tb=N,1e-3,\n"
    "s,h,bmm,fp32,b=5;m=17;n=19;k=23,2e-3,\n"
    "s,h,fc_bwd,fp32,m=64;n=512;k=1024,3e-3,\n"
    "s,h,conv2d_fwd,fp32,b=16;c=3;h=112;w=112;k=64;r=7;s=7;stride_h=2;stride_w=2;pad_h=3;pad_w=3,1e-3,\n"
    "s,h,conv2d_bwd_data,fp32,b=4;c=8;h=14;w=14;k=16;r=3;s=3;pad_h=1;pad_w=1,1e-3,\n"
    "s,h,conv2d_bwd_filter,fp32,b=4;c=8;h=14;w=14;k=16;r=3;s=3;pad_h=1;pad_w=1,1e-3,\n"
    "s,h,conv2d_bwd,fp32,b=4;c=8;h=14;w=14;k=16;r=3;s=3;pad_h=1;pad_w=1,1e-3,\n"
    "s,h,softmax,fp32,b=512;h=1000,1e-3,\n"
    "s,h,relu,fp16,b=512;h=768,1e-3,\n"
    "s,h,relu_bwd,fp32,n=1000,1e-3,\n"
    "s,h,gelu,fp32,b=512;h=768,1e-3,\n"
    "s,h,tanh,fp32,b=512;h=768,1e-3,\n"
    "s,h,silu_mul,fp32,b=512;h=768,1e-3,\n"
    "s,h,ew_add,fp32,b=512;h=768;nin=2,1e-3,\n"
    "s,h,maxpool_fwd,fp32,b=2;c=64;h=55;w=55;oh=27;ow=27;r=3;s=3;stride_h=2;stride_w=2,1e-3,\n";

/* An op of a row asks of a machine what `leadline validate` takes the row for: the same work, piece by piece.
 */
static void rows_become_the_work_that_validation_predicts(void **state)
{
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    size_t count = 0;
    uint32_t op = 0;
    (void)state;
    struct conversion c = import_choosing(ll_import_CSV, all_rows, NULL, NULL);
    if (!c.trace)
        fail_msg("%s", c.diags.kept[0].message);
    const struct ll_measured *rows =
        ll_measured_read(all_rows, sizeof all_rows - 1, "rows", &arena, &diags, &count);
    for (size_t i = 0; i < count; i++) {
        struct ll_measured_works works = {0};
        assert_null(ll_measured_works(&rows[i], NULL, &works));
        for (uint64_t p = 0; p < works.count; p++, op++) {
            struct ll_work work;
            const struct ll_op_view *view = &c.trace->signatures[c.trace->ops[op].signature].view;
            assert_true(ll_op_lower(view, &work));
            if (view->kind != works.at[p].kind || work.kind != works.at[p].work.kind ||
                work.flops != works.at[p].work.flops || work.a_bytes != works.at[p].work.a_bytes ||
                work.b_bytes != works.at[p].work.b_bytes || work.c_bytes != works.at[p].work.c_bytes)
                if (strcmp(rows[i].op, "maxpool_fwd") != 0) /* a row's is VECTOR work, an op's REDUCE */
                    fail_msg("%s: %s", rows[i].op, rows[i].dims);
        }
        ll_measured_works_release(&works);
    }
    assert_int_equal(op, c.trace->op_count);
    assert_int_equal(c.trace->ops[1].duration_ns, 2000000);
    end_conversion(&c);
    ll_arena_release(&arena);
}

static void rows_come_back(void **state)
{
    (void)state;
    struct conversion first = import_choosing(ll_import_CSV, all_rows, NULL, NULL);
    struct ll_str text = exported(ll_export_CSV, first.trace);
    struct conversion second = {.importer = ll_import_CSV, .allow_opaque = true};
    add_file(&second, "again.csv", &text);
    convert(&second);
    if (!second.trace)
        fail_msg("%s", second.diags.kept[0].message);
    for (int op_class = 0; op_class < LL_CLASS_COUNT; op_class++)
        if (op_class == LL_CLASS_MATRIX || op_class == LL_CLASS_CONV || op_class == LL_CLASS_ELEMENTWISE)
            assert_near(class_flops(second.trace, (enum ll_op_class)op_class),
                        class_flops(first.trace, (enum ll_op_class)op_class), 0);
    ll_str_release(&text);
    end_conversion(&first);
    end_conversion(&second);
}

/* What data has no name for comes back by its kind, whatever it takes. */
static void ops_without_a_name_come_back_whole(void **state)
{
    static const char rows[] = "source,hardware,op,dtype,dims,time_s,notes\n"
                               "s,h,dot,fp64,in=7:f64+7:f64;out=:f64,1,\n"
                               "s,h,matmul_add,c64,in=3x7:c64+3x5:c64+7x5:c64;out=3x7:c64;transpose_b=1,1,\n"
                               "s,h,reorder,fp32,in=2x3:f32;out=2x3:bf16,1,\n"
                               "s,h,dropout,fp32,in=4:f32+:f32;out=4:f32+4:bool;keep=0.25,1,\n";
    (void)state;
    struct conversion first = import_choosing(ll_import_CSV, rows, NULL, NULL);
    if (!first.trace)
        fail_msg("%s", first.diags.kept[0].message);
    struct ll_str text = exported(ll_export_CSV, first.trace);
    struct conversion second = import_choosing(ll_import_CSV, text.text, NULL, NULL);
    assert_non_null(second.trace);
    assert_int_equal(second.trace->op_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        const struct ll_op_signature *a = &first.trace->signatures[first.trace->ops[i].signature],
                                     *b = &second.trace->signatures[second.trace->ops[i].signature];
        assert_int_equal(a->view.kind, b->view.kind);
        assert_int_equal(a->flops, b->flops);
        assert_int_equal(a->bytes_read, b->bytes_read);
        assert_int_equal(a->bytes_written, b->bytes_written);
    }
    const struct ll_op_view *product = op_of_kind(second.trace, LL_OP_MATMUL_ADD, 0);
    assert_int_equal(ll_attr_count(product, LL_ATTR_TRANSPOSE_B, 0), 1);
    assert_int_equal(ll_op_flops(product), 8 * 3 * 7 * 5);
    ll_str_release(&text);
    end_conversion(&first);
    end_conversion(&second);
    struct conversion c = import_choosing(
        ll_import_CSV, "source,hardware,op,dtype,dims,time_s,notes\ns,h,dot,fp64,in=7f64;out=:f64,1,\n", NULL,
        NULL);
    assert_null(c.trace);
    end_conversion(&c);
}

static void rows_that_are_no_ops_are_named(void **state)
{
    static const char rows[] =
        "source,hardware,op,dtype,dims,time_s,notes\n"
        "s,h,spmm,fp32,m=1;n=1;k=1,1,\ns,h,gemm,fp32,m=1;n=1,1,\ns,h,gemm,fp3,m=1,1,\n";
    (void)state;
    struct conversion c = import_choosing(ll_import_CSV, rows, NULL, NULL);
    assert_null(c.trace);
    assert_true(complained(&c, "spmm: no op of a trace stands for rows of this name (rows: 1)"));
    assert_true(complained(&c, "gemm: a dimension is missing or impossible"));
    assert_true(complained(&c, "gemm: the element type is not known"));
    assert_int_equal(c.diags.kept[2].place.line, 4);
    end_conversion(&c);
}

static void what_a_row_says_of_its_operands_is_checked(void **state)
{
    static const char *const dims[] = {"gemm,fp32,m=1;n=1;k=1;ta=X", "gemm,fp32,m=1;n=1;k=1;tb=TN",
                                       "bmm,fp32,b=1;m=1;n=1;k=1;ta=1", "ew_add,fp32,n=8;nin=0",
                                       "ew_add,fp32,n=8;nin=3"};
    (void)state;
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        char row[128];
        snprintf(row, sizeof row, "source,hardware,op,dtype,dims,time_s,notes\ns,h,%s,1,\n", dims[i]);
        struct conversion c = import_choosing(ll_import_CSV, row, NULL, NULL);
        assert_null(c.trace);
        assert_true(complained(&c, "a dimension is missing or impossible"));
        end_conversion(&c);
    }
}

static void what_contradicts_an_op_is_told_with_its_line(void **state)
{
    static const struct {
        const char *row, *words;
    } rows[] = {
        {"concat,fp32,in=3x4:f32+3x5:f32;out=3x9:f32;axis=foo",
         "concat: `axis=foo`: expected a whole number"},
        {"concat,fp32,in=3x4:f32+3x5:f32;out=3x9:f32;axis=1.5",
         "concat: `axis=1.5`: expected a whole number"},
        {"dropout,fp32,in=4:f32+:f32;out=4:f32+4:bool;keep=x", "dropout: `keep=x`: expected a number"},
        {"matmul,fp32,in=3x5:f32+5x7:f32;out=3x8:f32",
         "matmul: `out` says another shape than inputs and attributes make: expected 3x7:f32 as number 1"},
        {"concat,fp32,in=3x4:f32+3x5:f32;out=3x10:f32;axis=1", "expected 3x9:f32 as number 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200];
        snprintf(text, sizeof text, "source,hardware,op,dtype,dims,time_s,notes\ns,h,%s,1,\n", rows[i].row);
        struct conversion c = import_choosing(ll_import_CSV, text, NULL, NULL);
        assert_null(c.trace);
        assert_true(complained(&c, rows[i].words));
        assert_int_equal(c.diags.kept[0].place.line, 2);
        end_conversion(&c);
    }
}

static void a_name_that_is_no_op_is_told_once(void **state)
{
    static const char rows[] =
        "source,hardware,op,dtype,dims,time_s,notes\n"
        "s,h,spmm,fp32,m=1;n=1;k=1,1,\ns,h,fft,fp32,n=1,1,\ns,h,spmm,fp32,m=1;n=1;k=1,1,\n";
    (void)state;
    struct conversion c = import_choosing(ll_import_CSV, rows, NULL, NULL);
    assert_null(c.trace);
    assert_int_equal(c.diags.count, 2);
    assert_true(complained(&c, "spmm: no op of a trace stands for rows of this name (rows: 2)"));
    assert_true(complained(&c, "fft: no op of a trace stands for rows of this name (rows: 1)"));
    end_conversion(&c);
}

static void time_outside_of_ops_comes_back_as_such(void **state)
{
    static const char rows[] = "source,hardware,op,dtype,dims,time_s,notes\n"
                               "s,h,gap,fp32,n=0;nin=0,0.5,memory\ns,h,relu,fp32,n=8;nin=1,0.25,\n";
    (void)state;
    struct conversion c = import_choosing(ll_import_CSV, rows, NULL, NULL);
    assert_non_null(c.trace);
    assert_int_equal(c.trace->op_count, 2);
    assert_int_equal(c.trace->signatures[c.trace->ops[0].signature].view.kind, LL_OP_GAP);
    assert_int_equal(c.trace->ops[0].duration_ns, 500000000);
    end_conversion(&c);
}

/* Counts events of a phase, and checks that each ends. */
static uint64_t count_events(const struct ll_str *text, const char *phase)
{
    struct ll_diags diags = {0};
    struct ll_json_reader json = {.file = "t",
                                  .begin = text->text,
                                  .at = text->text,
                                  .end = text->text + text->length,
                                  .diags = &diags};
    uint64_t count = 0;
    bool is_phase = false;
    while (ll_json_read(&json) != LL_JSON_END) {
        if (json.token == LL_JSON_TEXT && is_phase)
            count += ll_json_says(&json, phase);
        is_phase = json.token == LL_JSON_KEY && ll_json_says(&json, "ph");
    }
    assert_int_equal(diags.count, 0);
    return count;
}

static void timelines_have_every_op_and_dependency(void **state)
{
    (void)state;
    struct conversion c = import_whole_file(ll_import_ONEDNN, "tests/peers/resnet18_forward.onednn.csv");
    struct ll_str text = exported(ll_export_TIMELINE, c.trace);
    assert_int_equal(count_events(&text, "X"), 79 + 1); /* and a step */
    assert_int_equal(count_events(&text, "s"), 78);
    assert_int_equal(count_events(&text, "f"), 78);
    assert_int_equal(count_events(&text, "M"), 5); /* the process; steps and a thread, each with its place */
    assert_true(count_events(&text, "C") >= 79);
    assert_non_null(strstr(text.text, "\"name\":\"conv2d convolution\","));
    assert_non_null(strstr(text.text, "\"dur\":7281.98,"));
    ll_str_release(&text);
    end_conversion(&c);
}

static void take_from_list(const struct ll_op_schedule *schedule, uint32_t op, struct ll_scheduled *scheduled)
{
    const struct ll_scheduled *ops = schedule->context;
    *scheduled = ops[op];
}

/* Ops one right after the other, whose lengths are no whole nanoseconds: each begins where the one before
 * ends. */
static void slices_meet_where_ops_do(void **state)
{
    enum { OPS = 79 };
    static const char *const tracks[] = {"unit"};
    uint64_t random = ll_seed(9);
    (void)state;
    struct conversion c = import_whole_file(ll_import_ONEDNN, "tests/peers/resnet18_forward.onednn.csv");
    struct ll_scheduled ops[OPS] = {{0}};
    for (int i = 0; i < OPS; i++) {
        ops[i].time_s = ops[i].active_s = 1e-9 + 1e-12 * (double)ll_random_below(&random, 1000000);
        ops[i].start_s = i ? ops[i - 1].start_s + ops[i - 1].time_s : 0.3e-9;
    }
    const struct ll_op_schedule schedule = {.name = "x",
                                            .process_count = 1,
                                            .tracks = tracks,
                                            .track_count = 1,
                                            .op_count = OPS,
                                            .static_w = NAN,
                                            .at = take_from_list,
                                            .context = ops};
    struct ll_str text = exported_as(ll_export_TIMELINE, c.trace, &schedule);
    double end_us = 0;
    int count = 0;
    for (const char *at = text.text; (at = strstr(at, "\"ph\":\"X\"")); at++) {
        const char *track = strstr(at, "\"tid\":");
        if (strtod(track + 6, NULL) == 1) /* the step */
            continue;
        count++;
        double begin_us = strtod(strstr(at, "\"ts\":") + 5, NULL);
        assert_int_equal(llround(1e3 * begin_us), llround(1e3 * end_us));
        end_us = begin_us + strtod(strstr(at, "\"dur\":") + 6, NULL);
    }
    assert_int_equal(count, OPS);
    ll_str_release(&text);
    end_conversion(&c);
}

/* The dumb twin: every length is tried. */
static void the_period_is_the_shortest_that_repeats(void **state)
{
    uint64_t random = ll_seed(23);
    (void)state;
    for (int round = 0; round < 2000; round++) {
        uint64_t looks[40], count = ll_random_below(&random, 40), motif = 1 + ll_random_below(&random, 12);
        for (uint64_t i = 0; i < count; i++)
            looks[i] = i < motif ? ll_random_below(&random, 3) : looks[i - motif];
        if (count > 0 && round % 3 == 0)
            looks[ll_random_below(&random, count)] = 7;
        uint64_t shortest = count;
        for (uint64_t p = count / 2; p > 0; p--) {
            bool repeats = true;
            for (uint64_t i = p; i < count; i++)
                repeats = repeats && looks[i] == looks[i - p];
            shortest = repeats ? p : shortest;
        }
        assert_int_equal(ll_period(looks, count), shortest);
    }
}

static const char *made_in_the_way;

/* Begins a trace of one op, and makes a folder where it is to go. */
static bool block(struct ll_import *import)
{
    return ll_import_begin(import) &&
           !ll_import_record(import, &(struct ll_import_op){.kind = LL_OP_GAP}, NULL) &&
           mkdir(made_in_the_way, 0700) == 0;
}

static void a_trace_that_cannot_take_its_name_leaves_nothing(void **state)
{
    (void)state;
    char folder[] = "/tmp/leadline-formats-XXXXXX", path[64];
    struct ll_diags diags = {0};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.llt", folder);
    made_in_the_way = path;
    struct ll_import import = {.output = path, .diags = &diags};
    assert_false(ll_import_run(block, &import));
    assert_int_equal(import.status, LL_IS_FOLDER);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0); /* nothing is left in it */
}

/* So long that 64 bits hold the nanoseconds of eighteen, not of nineteen. */
static void times_that_do_not_fit_are_named_with_their_row(void **state)
{
    (void)state;
    struct ll_str rows = {0}, log = {0};
    ll_str_add(&rows, "source,hardware,op,dtype,dims,time_s,notes\n");
    for (int i = 0; i < 19; i++) {
        ll_str_add(&rows, "x,y,relu,fp32,n=16,9.9e8,z\n");
        ll_str_add(&log, "onednn_verbose,exec,cpu,eltwise,jit,forward_training,data_f32::blocked:a:f0,,"
                         "alg:eltwise_relu alpha:0 beta:0,16,9.9e11\n");
    }
    const struct {
        ll_importer *importer;
        const char *text;
        uint64_t line;
    } inputs[] = {{ll_import_CSV, rows.text, 20}, {ll_import_ONEDNN, log.text, 19}};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        struct conversion c = import_choosing(inputs[i].importer, inputs[i].text, NULL, NULL);
        assert_null(c.trace);
        assert_int_equal(c.diags.count, 1);
        assert_int_equal(c.diags.kept[0].place.line, inputs[i].line);
        assert_true(complained(&c, "its time does not fit in 64 bits"));
        end_conversion(&c);
    }
    ll_str_release(&rows);
    ll_str_release(&log);
}

/* A single one as well, with the row's own line: it is not taken for no time at all. */
static void a_time_that_does_not_fit_is_named_with_its_row(void **state)
{
    static const char rows[] = "source,hardware,op,dtype,dims,time_s,notes\n"
                               "x,y,relu,fp32,n=16,1e9,z\nx,y,relu,fp32,n=16,1e10,z\n"
                               "x,y,relu,fp32,n=16,2e10,z\nx,y,fc_bwd,fp32,m=1;n=1;k=1,1e300,z\n";
    static const char log[] = "onednn_verbose,exec,cpu,eltwise,jit,forward_training,data_f32::blocked:a:f0,,"
                              "alg:eltwise_relu alpha:0 beta:0,16,1e14\n";
    (void)state;
    struct conversion c = import_choosing(ll_import_CSV, rows, NULL, NULL);
    assert_null(c.trace);
    assert_int_equal(c.diags.count, 2);
    assert_int_equal(c.diags.kept[0].place.line, 4);
    assert_int_equal(c.diags.kept[1].place.line, 5);
    assert_true(complained(&c, "fc_bwd: its time does not fit in 64 bits"));
    end_conversion(&c);
    c = import_choosing(ll_import_ONEDNN, log, NULL, NULL);
    assert_null(c.trace);
    assert_int_equal(c.diags.kept[0].place.line, 1);
    end_conversion(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topologies_have_their_macs),
        cmocka_unit_test(topologies_come_back),
        cmocka_unit_test(the_layers_are_those_of_a_complete_step),
        cmocka_unit_test(rows_become_the_work_that_validation_predicts),
        cmocka_unit_test(rows_come_back),
        cmocka_unit_test(ops_without_a_name_come_back_whole),
        cmocka_unit_test(rows_that_are_no_ops_are_named),
        cmocka_unit_test(what_a_row_says_of_its_operands_is_checked),
        cmocka_unit_test(what_contradicts_an_op_is_told_with_its_line),
        cmocka_unit_test(a_name_that_is_no_op_is_told_once),
        cmocka_unit_test(time_outside_of_ops_comes_back_as_such),
        cmocka_unit_test(a_trace_that_cannot_take_its_name_leaves_nothing),
        cmocka_unit_test(times_that_do_not_fit_are_named_with_their_row),
        cmocka_unit_test(a_time_that_does_not_fit_is_named_with_its_row),
        cmocka_unit_test(timelines_have_every_op_and_dependency),
        cmocka_unit_test(slices_meet_where_ops_do),
        cmocka_unit_test(the_period_is_the_shortest_that_repeats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
