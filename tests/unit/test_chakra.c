/* SPDX-License-Identifier: Apache-2.0 */
/* Chakra traces: our own go out and come back, those of others are read by what they say of themselves. */
#define _GNU_SOURCE /* memmem */
#include "check.h"
#include "convert.h"
#include "scene.h"

#include "sim/parallel/parallel.h"
#include "toy_trace.h"
#include "tracer/base/clock.h"

#include <math.h>

static const char yaml[] = "name: paper\nclock: 1GHz\nunits:\n"
                           "  - {name: array, model: matrix, macs: {f32: 64}}\n"
                           "  - {name: simd, model: vector, lanes: 8, flops: {f32: 2, i32: 2}}\n"
                           "memory:\n  - {name: dram, size: 1GiB, bandwidth: 1000GB/s}\n"
                           "software: {op_overhead: 1us}\nhost: {bandwidth: 1GB/s, latency: 1us}\n";

static double simulated_s(const struct ll_trace *trace)
{
    struct scene scene = open_scene((struct ll_trace *)trace, yaml);
    play(&scene);
    assert_non_null(scene.result);
    double time_s = scene.result->time_s;
    scene.trace = NULL; /* the caller's */
    close_scene(&scene);
    return time_s;
}

static struct ll_trace *long_toy_trace(void)
{
    for (uint64_t seed = 1;; seed++) {
        struct ll_trace *trace = toy_trace(seed);
        if (trace->step_count == 3)
            return trace;
        ll_trace_free(trace);
    }
}

static void export_and_import(struct conversion *c, const struct ll_trace *trace)
{
    struct ll_str bytes = exported(ll_export_CHAKRA, trace);
    *c = (struct conversion){.importer = ll_import_CHAKRA};
    add_file(c, "toy.et", &bytes);
    convert(c);
    assert_non_null(c->trace);
    ll_str_release(&bytes);
}

static void our_traces_come_back_and_take_as_long(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 25; seed++) {
        struct ll_trace *trace = toy_trace(seed);
        struct conversion c;
        export_and_import(&c, trace);
        assert_int_equal(c.trace->op_count, trace->op_count);
        assert_int_equal(c.trace->step_count, trace->step_count);
        assert_int_equal(c.trace->tensor_count, trace->tensor_count);
        assert_int_equal(c.trace->storage_count, trace->storage_count);
        for (uint64_t i = 0; i < trace->op_count; i++) {
            const struct ll_op_signature *a = &trace->signatures[trace->ops[i].signature];
            const struct ll_op_signature *b = &c.trace->signatures[c.trace->ops[i].signature];
            assert_int_equal(a->view.kind, b->view.kind);
            assert_int_equal(a->flops, b->flops);
            assert_int_equal(a->bytes_read, b->bytes_read);
            assert_string_equal(trace->strings[a->scope], c.trace->strings[b->scope]);
            assert_int_equal(trace->ops[i].duration_ns, c.trace->ops[i].duration_ns);
        }
        assert_near(simulated_s(c.trace), simulated_s(trace), 0);
        end_conversion(&c);
        ll_trace_free(trace);
    }
}

/* The same program on two devices: each file is a rank. */
static void our_traces_may_be_ranks(void **state)
{
    struct ll_trace *trace = long_toy_trace();
    struct ll_str bytes = exported(ll_export_CHAKRA, trace);
    struct conversion c = {.importer = ll_import_CHAKRA};
    (void)state;
    add_file(&c, "toy.0.et", &bytes);
    add_file(&c, "toy.1.et", &bytes);
    convert(&c);
    assert_non_null(c.trace);
    assert_int_equal(c.trace->op_count, 2 * trace->op_count);
    uint64_t of_rank[2] = {0};
    for (uint64_t i = 0; i < c.trace->op_count; i++) {
        assert_true(c.trace->ops[i].thread < 2);
        of_rank[c.trace->ops[i].thread]++;
    }
    assert_int_equal(of_rank[0], of_rank[1]);
    end_conversion(&c);
    ll_str_release(&bytes);
    ll_trace_free(trace);
}

/* As of a program that did much before its first step, and waited between two. */
static void what_is_no_whole_step_comes_back_as_none(void **state)
{
    (void)state;
    struct ll_trace *trace = long_toy_trace();
    struct conversion c;
    trace->steps[0].complete = false;
    for (uint64_t i = 0; i < trace->step_count; i++) {
        trace->steps[i].start_ns = 7000000 * i;
        trace->steps[i].wall_ns = 5000000 + i;
        trace->steps[i].recording_ns = 40 + i;
    }
    export_and_import(&c, trace);
    assert_int_equal(c.trace->step_count, trace->step_count);
    for (uint64_t i = 0; i < trace->step_count; i++) {
        const struct ll_step *sent = &trace->steps[i], *back = &c.trace->steps[i];
        assert_int_equal(back->first_op, sent->first_op);
        assert_int_equal(back->op_count, sent->op_count);
        assert_int_equal(back->start_ns, sent->start_ns);
        assert_int_equal(back->wall_ns, sent->wall_ns);
        assert_int_equal(back->recording_ns, sent->recording_ns);
        assert_int_equal(back->complete, sent->complete);
    }
    assert_near(simulated_s(c.trace), simulated_s(trace), 0);
    end_conversion(&c);
    ll_trace_free(trace);
}

static void steps_that_do_not_hold_all_ops_are_those_that_the_nodes_tell(void **state)
{
    (void)state;
    struct ll_trace *trace = long_toy_trace();
    struct conversion c;
    trace->steps[1].op_count--;
    export_and_import(&c, trace);
    assert_int_equal(c.trace->step_count, trace->step_count);
    assert_int_equal(c.trace->steps[1].op_count, trace->steps[1].op_count + 1);
    assert_true(c.trace->steps[1].complete);
    end_conversion(&c);
    ll_trace_free(trace);
}

/* A file of another hand: what et_def.proto calls Node, with the attributes that simulators read. */
struct other {
    struct ll_str file, node, attr;
};

static void end_message(struct other *o)
{
    ll_wire_put_varint(&o->file, o->node.length);
    if (o->node.length)
        ll_str_add_bytes(&o->file, o->node.text, o->node.length);
    o->node.length = 0;
}

static void begin_file(struct other *o)
{
    ll_wire_put_text(&o->node, 1, "0.0.4");
    end_message(o);
}

static void begin(struct other *o, uint64_t id, uint64_t type, const char *name)
{
    ll_wire_put_integer(&o->node, 1, id);
    ll_wire_put_text(&o->node, 2, name);
    ll_wire_put_integer(&o->node, 3, type);
}

static void attr(struct other *o, const char *name, uint64_t field, uint64_t value)
{
    o->attr.length = 0;
    ll_wire_put_text(&o->attr, 1, name);
    ll_wire_put_integer(&o->attr, field, value);
    ll_wire_put_bytes(&o->node, 10, o->attr.text, o->attr.length);
}

static void release(struct other *o)
{
    ll_str_release(&o->file);
    ll_str_release(&o->node);
    ll_str_release(&o->attr);
}

enum { CTRL = 4, DATA = 5, DURATION = 7, INT64 = 9, UINT64 = 13 };

static void computation(struct other *o, uint64_t id, uint64_t flops, uint64_t bytes)
{
    begin(o, id, 4, "comp");
    attr(o, "num_ops", INT64, flops);
    attr(o, "tensor_size", UINT64, bytes);
}

/* A computation whose num_ops is a real number, and a collective of so many bytes. */
static struct conversion import_odd_sizes(double flops, uint64_t bytes)
{
    enum { DOUBLE = 3, COLLECTIVE = 7 };
    struct other o = {0};
    struct conversion c = {.importer = ll_import_CHAKRA};
    begin_file(&o);
    begin(&o, 1, 4, "comp");
    ll_wire_put_text(&o.attr, 1, "num_ops");
    ll_wire_put_varint(&o.attr, DOUBLE << 3 | LL_WIRE_FIXED64);
    ll_str_add_bytes(&o.attr, (const char *)&flops, sizeof flops);
    ll_wire_put_bytes(&o.node, 10, o.attr.text, o.attr.length);
    attr(&o, "tensor_size", UINT64, 400);
    end_message(&o);
    begin(&o, 2, COLLECTIVE, "sum");
    attr(&o, "comm_type", INT64, 0);
    attr(&o, "comm_size", INT64, bytes);
    end_message(&o);
    add_file(&c, "a.et", &o.file);
    convert(&c);
    release(&o);
    return c;
}

static void sizes_are_numbers_of_any_type_but_never_negative(void **state)
{
    (void)state;
    struct conversion c = import_odd_sizes(16000, 1024);
    assert_non_null(c.trace);
    assert_int_equal(ll_op_flops(op_of_kind(c.trace, LL_OP_COMPUTATION, 0)), 16000);
    end_conversion(&c);
    const double wrong[] = {NAN, INFINITY, -1, 1e30, 16000};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        c = import_odd_sizes(wrong[i], wrong[i] == 16000 ? (uint64_t)-1024 : 1024);
        assert_null(c.trace);
        assert_true(complained(&c, "must be below 2^63"));
        end_conversion(&c);
    }
}

/* Three ops, the last of which follows the first in its thread, overwrites nothing, and stands beside a
 * gap; then one that waits for it in memory alone. */
static void why_an_op_waits_comes_back(void **state)
{
    static const struct {
        uint32_t controls[3], count, storage, gaps;
    } rows[] = {{{0}, 0, 0, 0}, {{0}, 1, 0, 0}, {{0, 1}, 2, 0, 1}, {{0, 2, 1}, 3, 1, 1}};
    enum ll_status status = LL_OK;
    (void)state;
    struct ll_recorder *recorder = ll_recorder_open_memory(NULL, 0, &status);
    assert_non_null(recorder);
    ll_recorder_step_begin(recorder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct ll_shape shape = {.rank = 1, .dtype = LL_F32, .dim = {4}};
        const uint32_t desc = ll_recorder_desc(recorder, "", &shape, LL_ACTIVATION);
        ll_recorder_op(recorder, &(struct ll_record){.kind = LL_OP_CONSTANT,
                                                     .outputs = &desc,
                                                     .output_count = 1,
                                                     .controls = rows[i].controls,
                                                     .control_count = rows[i].count,
                                                     .storage_count = rows[i].storage,
                                                     .gap_count = rows[i].gaps});
    }
    ll_recorder_step_end(recorder);
    struct ll_trace *trace = ll_recorder_take(recorder, &status);
    assert_non_null(trace);
    struct conversion c = {0};
    export_and_import(&c, trace);
    for (uint32_t op = 0; op < 4; op++)
        for (uint32_t dep = 0; dep < op; dep++)
            assert_int_equal(ll_edge_of(c.trace, op, dep), ll_edge_of(trace, op, dep));
    assert_int_equal(ll_edge_of(c.trace, 2, 1), LL_EDGE_GAP);
    assert_int_equal(ll_edge_of(c.trace, 3, 2), LL_EDGE_STORAGE);
    assert_int_equal(ll_edge_of(c.trace, 3, 0), LL_EDGE_ORDER);
    ll_trace_free(trace);
    end_conversion(&c);
}

static void others_nodes_are_as_large_as_they_say(void **state)
{
    (void)state;
    struct other o = {0};
    begin_file(&o);
    computation(&o, 20, 2000000, 4000); /* waits for one that stands behind it */
    ll_wire_put_integer(&o.node, DATA, 10);
    end_message(&o);
    computation(&o, 10, 16000, 400);
    end_message(&o);
    begin(&o, 30, 4, "aten::something");
    ll_wire_put_integer(&o.node, CTRL, 20);
    ll_wire_put_integer(&o.node, DURATION, 7);
    end_message(&o);
    struct conversion c = {.importer = ll_import_CHAKRA};
    add_file(&c, "dir/other.0.et", &o.file);
    convert(&c);
    assert_non_null(c.trace);
    assert_string_equal(ll_trace_fact(c.trace, "model"), "other");
    assert_int_equal(c.trace->op_count, 3);
    const struct ll_op_view *first = op_of_kind(c.trace, LL_OP_COMPUTATION, 0);
    assert_int_equal(ll_op_flops(first), 16000);
    assert_int_equal(ll_op_bytes_written(first), 400);
    assert_int_equal(ll_op_flops(op_of_kind(c.trace, LL_OP_COMPUTATION, 1)), 2000000);
    assert_non_null(op_of_kind(c.trace, LL_OP_GAP, 0));
    assert_int_equal(c.trace->ops[2].duration_ns, 7000);
    struct ll_arena arena = {0};
    const struct ll_deps *deps = ll_trace_deps(c.trace, &arena);
    for (uint32_t i = 1; i < 3; i++) {
        assert_int_equal(deps->first[i + 1] - deps->first[i], 1);
        assert_int_equal(deps->ops[deps->first[i]], i - 1);
    }
    assert_true(simulated_s(c.trace) >= 7e-6 + 2016000.0 / (2 * 64e9));
    ll_arena_release(&arena);
    end_conversion(&c);
    release(&o);
}

static void ranks_are_threads_that_exchange(void **state)
{
    (void)state;
    struct other o = {0};
    begin_file(&o);
    computation(&o, 0, 2000, 40);
    end_message(&o);
    begin(&o, 1, 7, "sum");
    attr(&o, "comm_type", INT64, 0);
    attr(&o, "comm_size", INT64, 1 << 20);
    ll_wire_put_integer(&o.node, DATA, 0);
    end_message(&o);
    begin(&o, 2, 5, "on");
    attr(&o, "comm_size", INT64, 64);
    attr(&o, "comm_dst", 7, 3);
    end_message(&o);
    struct conversion c = {.importer = ll_import_CHAKRA};
    add_file(&c, "two.0.et", &o.file);
    add_file(&c, "two.1.et", &o.file);
    convert(&c);
    assert_non_null(c.trace);
    assert_string_equal(ll_trace_fact(c.trace, "ranks"), "2");
    assert_int_equal(c.trace->op_count, 6);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(c.trace->ops[i].thread, i / 3);
    const struct ll_op_view *sum = op_of_kind(c.trace, LL_OP_ALL_REDUCE, 1);
    assert_int_equal(ll_op_bytes_read(sum), 1 << 20);
    assert_int_equal(ll_attr_count(sum, LL_ATTR_DEVICES, 0), 2);
    assert_int_equal(ll_attr_count(op_of_kind(c.trace, LL_OP_SEND, 0), LL_ATTR_PEER, 0), 3);
    end_conversion(&c);
    release(&o);
}

static void collective(struct other *o, uint64_t id, uint64_t group)
{
    begin(o, id, 7, "sum");
    attr(o, "comm_type", INT64, 0);
    attr(o, "comm_size", INT64, 64);
    attr(o, "pg_name", INT64, group);
    end_message(o);
}

/* Group 5 is of ranks 0 and 2, group 6 of 0, 2 and 3, group 0 of all. */
static void groups_are_the_ranks_that_speak_of_them(void **state)
{
    (void)state;
    static const char *const said[] = {"556", "0", "65", "60"};
    static const uint64_t devices[] = {4, 2, 3}, strides[] = {1, 2, 1};
    struct conversion c = {.importer = ll_import_CHAKRA};
    struct other ranks[4] = {0};
    for (unsigned i = 0; i < 4; i++) {
        begin_file(&ranks[i]);
        for (uint64_t n = 0; said[i][n]; n++)
            collective(&ranks[i], n, (uint64_t)(said[i][n] - '0'));
        add_file(&c, "group.et", &ranks[i].file);
    }
    convert(&c);
    assert_non_null(c.trace);
    assert_int_equal(c.trace->op_count, 8);
    for (uint32_t i = 0; i < 8; i++) {
        const struct ll_op_view *view = &c.trace->signatures[c.trace->ops[i].signature].view;
        int64_t group = ll_attr_count(view, LL_ATTR_GROUP, -1), at = group ? group - 4 : 0;
        assert_int_equal(ll_attr_count(view, LL_ATTR_DEVICES, 0), devices[at]);
        assert_int_equal(ll_attr_count(view, LL_ATTR_STRIDE, 0), strides[at]);
    }
    end_conversion(&c);
    for (unsigned i = 0; i < 4; i++)
        release(&ranks[i]);
}

/* pg_name is text in the schema: "1" is of ranks 0 and 1, "tp" of 2 and 3, "0" of 0 and 3; nothing is all.
 * What is exported names them, too, and comes back as it was. */
static void groups_are_named_in_words(void **state)
{
    (void)state;
    static const char *const said[4][4] = {{"1", "0", ""}, {"1", ""}, {"tp", ""}, {"tp", "0", ""}};
    struct conversion c = {.importer = ll_import_CHAKRA};
    struct other ranks[4] = {0};
    for (unsigned i = 0; i < 4; i++) {
        begin_file(&ranks[i]);
        for (uint64_t n = 0; said[i][n]; n++) {
            begin(&ranks[i], n, 7, said[i][n]);
            attr(&ranks[i], "comm_type", INT64, 0);
            attr(&ranks[i], "comm_size", INT64, 64);
            ranks[i].attr.length = 0;
            ll_wire_put_text(&ranks[i].attr, 1, "pg_name");
            ll_wire_put_text(&ranks[i].attr, 29, said[i][n]);
            ll_wire_put_bytes(&ranks[i].node, 10, ranks[i].attr.text, ranks[i].attr.length);
            end_message(&ranks[i]);
        }
        add_file(&c, "group.et", &ranks[i].file);
    }
    convert(&c);
    assert_non_null(c.trace);
    int64_t groups[3] = {0};
    for (uint32_t i = 0; i < c.trace->op_count; i++) {
        const struct ll_op_signature *signature = &c.trace->signatures[c.trace->ops[i].signature];
        const char *name = c.trace->strings[signature->scope];
        int64_t group = ll_attr_count(&signature->view, LL_ATTR_GROUP, -1);
        assert_int_equal(ll_attr_count(&signature->view, LL_ATTR_DEVICES, 0), *name ? 2 : 4);
        assert_int_equal(ll_attr_count(&signature->view, LL_ATTR_STRIDE, 0), *name == '0' ? 3 : 1);
        if (*name)
            groups[*name == '0' ? 0 : *name == '1' ? 1 : 2] = group;
        else
            assert_int_equal(group, 0);
    }
    assert_int_equal(groups[1], 1);
    assert_true(groups[0] > 1 && groups[2] > 1 && groups[0] != groups[2]);
    struct ll_str bytes = exported_choosing(ll_export_CHAKRA, c.trace, "rank", "3");
    struct ll_str name = {0};
    for (unsigned i = 0; i < 3; i += 2) {
        name.length = 0;
        ll_wire_put_text(&name, 1, "pg_name");
        ll_wire_put_text(&name, 29, ll_format(&c.diags.arena, "%lld", (long long)groups[i]));
        assert_non_null(memmem(bytes.text, bytes.length, name.text, name.length));
    }
    ll_str_release(&name);
    ll_str_release(&bytes);
    end_conversion(&c);
    for (unsigned i = 0; i < 4; i++)
        release(&ranks[i]);
}

static void message(struct other *o, uint64_t id, uint64_t type, uint64_t other, uint64_t dep)
{
    begin(o, id, type, "message");
    attr(o, "comm_size", INT64, 1 << 10);
    attr(o, type == 5 ? "comm_dst" : "comm_src", INT64, other);
    if (dep)
        ll_wire_put_integer(&o->node, DATA, dep);
    end_message(o);
}

/* Rank 0 works, sends, and takes back what rank 1 made of it; whichever stands first in its file. */
static void a_receive_holds_nothing_back(void **state)
{
    (void)state;
    static const char *const two =
        "name: two\nclock: 1GHz\nunits:\n"
        "  - {name: simd, model: vector, lanes: 8, flops: {f32: 2}}\n"
        "memory:\n  - {name: dram, size: 1GiB, bandwidth: 1000GB/s}\n"
        "network:\n  - {name: link, topology: switch, devices: 2, bandwidth: 4MB/s}\n";
    double time_s[2];
    for (unsigned receives_first = 0; receives_first < 2; receives_first++) {
        struct conversion c = {.importer = ll_import_CHAKRA};
        struct other ranks[2] = {0};
        for (unsigned i = 0; i < 2; i++)
            begin_file(&ranks[i]);
        computation(&ranks[0], 1, 16000, 4000);
        end_message(&ranks[0]);
        if (receives_first)
            message(&ranks[0], 3, 6, 1, 0);
        message(&ranks[0], 2, 5, 1, 1);
        if (!receives_first)
            message(&ranks[0], 3, 6, 1, 0);
        message(&ranks[1], 1, 6, 0, 0);
        message(&ranks[1], 2, 5, 0, 1);
        for (unsigned i = 0; i < 2; i++)
            add_file(&c, "pair.et", &ranks[i].file);
        convert(&c);
        assert_non_null(c.trace);
        struct scene scene = open_scene((struct ll_trace *)c.trace, two);
        const struct ll_prepared *prepared = ll_prepare(c.trace, &scene.arena, &scene.diags);
        const struct ll_multi_rank_result *multi_rank =
            ll_multi_rank_replay(prepared, scene.machine, &scene.remembered, &scene.arena, &scene.diags);
        assert_non_null(multi_rank);
        time_s[receives_first] = multi_rank->result->time_s;
        scene.trace = NULL;
        close_scene(&scene);
        end_conversion(&c);
        for (unsigned i = 0; i < 2; i++)
            release(&ranks[i]);
    }
    assert_true(time_s[0] > 0 && time_s[0] == time_s[1]);
}

/* Chakra's own traces of PyTorch name parents that its converter left out. And an order that goes round with
 * the data is none. */
static void an_order_that_leads_nowhere_is_dropped_and_said(void **state)
{
    (void)state;
    for (unsigned goes_round = 0; goes_round < 2; goes_round++) {
        struct other o = {0};
        struct conversion c = {.importer = ll_import_CHAKRA};
        begin_file(&o);
        computation(&o, 1, 16000, 400);
        ll_wire_put_integer(&o.node, CTRL, goes_round ? 2 : 9);
        end_message(&o);
        computation(&o, 2, 16000, 400);
        ll_wire_put_integer(&o.node, DATA, 1);
        end_message(&o);
        begin(&o, 3, 7, "c10d::broadcast_"); /* the host's part of one */
        ll_wire_put_integer(&o.node, CTRL, goes_round ? 2 : 8);
        ll_wire_put_integer(&o.node, DURATION, 5);
        end_message(&o);
        add_file(&c, "orders.et", &o.file);
        convert(&c);
        assert_non_null(c.trace);
        assert_int_equal(c.notes.count, 1);
        assert_true(complained(&c, "2 control dependencies are dropped"));
        assert_string_equal(ll_trace_fact(c.trace, "imported.dropped"), "2");
        assert_int_equal(c.trace->op_count, 3);
        assert_true(ll_edge_of(c.trace, 1, 0));
        assert_non_null(op_of_kind(c.trace, LL_OP_GAP, 0));
        end_conversion(&c);
        release(&o);
    }
}

static void many_groups_are_found_in_one_pass(void **state)
{
    (void)state;
    enum { GROUPS = 16000 };
    struct other o = {0};
    begin_file(&o);
    for (uint64_t i = 1; i <= GROUPS; i++)
        collective(&o, i, i);
    struct conversion c = {.importer = ll_import_CHAKRA};
    add_file(&c, "many.0.et", &o.file);
    add_file(&c, "many.1.et", &o.file);
    uint64_t start_ns = ll_now_ns();
    convert(&c);
    assert_true(ll_now_ns() - start_ns < 10000000000u); /* all nodes for each group would take a minute */
    assert_non_null(c.trace);
    assert_int_equal(c.trace->op_count, 2 * GROUPS);
    end_conversion(&c);
    release(&o);
}

/* Each file is the one before it with one more thing wrong. */
static void what_cannot_be_is_named(void **state)
{
    (void)state;
    static const struct {
        uint64_t id, dep;
        const char *words;
    } wrongs[] = {{1, 9, "node 1: it takes data of node 9, which is not in the file"},
                  {1, 1, "1 nodes wait for each other, or for such"},
                  {0, 0, "node 0: there is another one with this id"}};
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        struct other o = {0};
        begin_file(&o);
        computation(&o, 0, 1, 1);
        end_message(&o);
        computation(&o, wrongs[i].id, 1, 1);
        ll_wire_put_integer(&o.node, DATA, wrongs[i].dep);
        end_message(&o);
        struct conversion c = {.importer = ll_import_CHAKRA};
        add_file(&c, "wrong.et", &o.file);
        convert(&c);
        assert_null(c.trace);
        for (size_t k = 0; k < c.diags.kept_count && !complained(&c, wrongs[i].words); k++)
            print_message("%s\n", c.diags.kept[k].message);
        assert_true(complained(&c, wrongs[i].words));
        end_conversion(&c);
        o.file.length -= 1; /* and cut off */
        struct conversion partition = {.importer = ll_import_CHAKRA};
        add_file(&partition, "cut.et", &o.file);
        convert(&partition);
        assert_true(complained(&partition, "ends too early"));
        end_conversion(&partition);
        release(&o);
    }
}

/* As many as an op can wait for, and one more. */
static void a_node_that_waits_for_too_many_is_refused(void **state)
{
    (void)state;
    for (uint64_t more = 0; more < 2; more++) {
        const uint64_t count = LL_MAX_OP_REFS + more;
        struct other o = {0};
        struct conversion c = {.importer = ll_import_CHAKRA};
        begin_file(&o);
        for (uint64_t i = 0; i < count; i++) {
            computation(&o, i, 1, 1);
            end_message(&o);
        }
        computation(&o, count, 1, 1);
        for (uint64_t i = 0; i < count; i++)
            ll_wire_put_integer(&o.node, CTRL, i);
        end_message(&o);
        add_file(&c, "wide.et", &o.file);
        convert(&c);
        assert_true(more ? complained(&c, "it waits for too many nodes") : c.trace != NULL);
        assert_true((c.trace == NULL) == more);
        end_conversion(&c);
        release(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_traces_come_back_and_take_as_long),
        cmocka_unit_test(our_traces_may_be_ranks),
        cmocka_unit_test(what_is_no_whole_step_comes_back_as_none),
        cmocka_unit_test(steps_that_do_not_hold_all_ops_are_those_that_the_nodes_tell),
        cmocka_unit_test(sizes_are_numbers_of_any_type_but_never_negative),
        cmocka_unit_test(why_an_op_waits_comes_back),
        cmocka_unit_test(others_nodes_are_as_large_as_they_say),
        cmocka_unit_test(ranks_are_threads_that_exchange),
        cmocka_unit_test(groups_are_the_ranks_that_speak_of_them),
        cmocka_unit_test(groups_are_named_in_words),
        cmocka_unit_test(a_receive_holds_nothing_back),
        cmocka_unit_test(an_order_that_leads_nowhere_is_dropped_and_said),
        cmocka_unit_test(many_groups_are_found_in_one_pass),
        cmocka_unit_test(what_cannot_be_is_named),
        cmocka_unit_test(a_node_that_waits_for_too_many_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
