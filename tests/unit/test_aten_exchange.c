/* SPDX-License-Identifier: Apache-2.0 */
/* What devices exchange, as PyTorch's profiler writes it: each exchange once, with its size and group. */
#include "check.h"
#include "kineto.h"

#define NOTE(time, name, read, written, group)                                                               \
    OP("record_param_comms", time, 4,                                                                        \
       TAKES("[],[],[]", "'TensorList','Scalar',''") ",'Collective name':'" name "','In msg nelems':" #read  \
                                                     ",'Out msg nelems':" #written ",'Group size':" #group   \
                                                     ",'dtype':'BFloat16','Dst Rank':3,'Src Rank':0")

/* Events, and the only op that comes of them beside a product: kind, elements in and out, devices. */
static void expect_one(const char *events, enum ll_op_kind kind, uint64_t read, uint64_t written,
                       int64_t devices)
{
    struct ll_str text = {0};
    ll_str_addf(&text, "%s,%s", ADDMM(1, 5), events);
    struct conversion c = import_fine(text.text);
    assert_int_equal(c.trace->op_count, 3);
    const struct ll_op_view *op = op_of_kind(c.trace, kind, 0);
    assert_non_null(op);
    assert_int_equal(ll_elements(&op->in[0]), read);
    assert_int_equal(ll_elements(&op->out[0]), written);
    assert_int_equal(ll_attr_count(op, LL_ATTR_DEVICES, 0), devices);
    end_conversion(&c);
    ll_str_release(&text);
}

/* With shapes, with those of lists, without any but what the communicator notes, and the note alone. */
static void each_exchange_is_one_op(void **state)
{
    (void)state;
    expect_one(OP("c10d::allreduce_", 10, 9,
                  TAKES("[],[],[]", "'TensorList','',''")) "," NOTE(11, "allreduce", 2049000, 2049000, 2),
               LL_OP_ALL_REDUCE, 2049000, 2049000, 2);
    expect_one(OP("c10d::allreduce_", 10, 9,
                  TAKES("[[3,5]],[],[]", "'TensorList','',''")) "," NOTE(11, "allreduce", 15, 15, 4),
               LL_OP_ALL_REDUCE, 15, 15, 4);
    expect_one(OP("c10d::_allgather_base_", 10, 9, TAKES("[1024],[256],[]", "'float','float',''")),
               LL_OP_ALL_GATHER, 256, 1024, 4);
    expect_one(OP("c10d::_reduce_scatter_base_", 10, 9, TAKES("[256],[1024],[]", "'float','float',''")),
               LL_OP_REDUCE_SCATTER, 1024, 256, 4);
    expect_one(OP("c10d::allgather_", 10, 9,
                  TAKES("[],[[256]],[]", "'','TensorList',''")) "," NOTE(11, "all_gather", 256, 2048, 8),
               LL_OP_ALL_GATHER, 256, 2048, 8);
    expect_one(OP("c10d::reduce_scatter_", 10, 9,
                  TAKES("[[256]],[],[]", "'TensorList','',''")) "," NOTE(11, "reduce_scatter", 2048, 256, 8),
               LL_OP_REDUCE_SCATTER, 2048, 256, 8);
    expect_one(OP("c10d::alltoall_base_", 10, 9,
                  TAKES("[64,8],[64,8],[]", "'float','float',''")) "," NOTE(11, "all_to_allv", 512, 512, 4),
               LL_OP_ALL_TO_ALL, 512, 512, 4);
    expect_one(OP("c10d::broadcast_", 10, 9, TAKES("[[7]],[],[]", "'TensorList','',''")), LL_OP_BROADCAST, 7,
               7, 0);
    expect_one(OP("c10d::barrier", 10, 9, TAKES("[],[]", "'',''")) "," NOTE(11, "barrier", 0, 0, 4),
               LL_OP_BARRIER, 1, 1, 4);
    expect_one(OP("c10d::gather_", 10, 9, TAKES("[],[[5]],[]", "'','TensorList',''")) "," NOTE(11, "gather",
                                                                                               5, 20, 4),
               LL_OP_COLLECT, 5, 20, 4);
    expect_one(OP("c10d::scatter_", 10, 9, TAKES("[[5]],[],[]", "'TensorList','',''")) "," NOTE(11, "scatter",
                                                                                                20, 5, 4),
               LL_OP_DISTRIBUTE, 20, 5, 4);
    expect_one(OP("_c10d_functional::all_gather_into_tensor", 10, 9,
                  TAKES("[6],[],[]", "'float','Scalar',''") ",'Concrete Inputs':['','4','']"),
               LL_OP_ALL_GATHER, 6, 24, 4);
    expect_one(OP("nccl:all_reduce", 10, 9, TAKES("[33]", "'float'")), LL_OP_ALL_REDUCE, 33, 33, 0);
    static const struct {
        const char *note;
        enum ll_op_kind kind;
        uint64_t read, written;
    } alone[] = {{NOTE(11, "_allgather_base", 256, 1024, 4), LL_OP_ALL_GATHER, 256, 1024},
                 {NOTE(11, "allreduce_coalesced", 30, 30, 4), LL_OP_ALL_REDUCE, 30, 30},
                 {NOTE(11, "reduce_scatter_tensor_coalesced", 40, 10, 4), LL_OP_REDUCE_SCATTER, 40, 10},
                 {NOTE(11, "all_to_all", 40, 40, 4), LL_OP_ALL_TO_ALL, 40, 40},
                 {NOTE(11, "nccl:all_to_all", 40, 40, 4), LL_OP_ALL_TO_ALL, 40, 40},
                 {NOTE(11, "ALLGATHER", 10, 40, 4), LL_OP_ALL_GATHER, 10, 40},
                 {NOTE(11, "broadcast", 40, 40, 4), LL_OP_BROADCAST, 40, 40},
                 {NOTE(11, "reduce", 40, 40, 4), LL_OP_REDUCE, 40, 40}};
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
        expect_one(alone[i].note, alone[i].kind, alone[i].read, alone[i].written, 4);
}

/* Rank 1 sends to rank 3 and receives from rank 0; elements are those that the note tells, of its type. */
static void messages_know_the_other_end(void **state)
{
    (void)state;
    struct conversion c = import_fine(
        OP("c10d::send", 10, 9, TAKES("[],[],[],[]", "'TensorList','','Scalar','Scalar'")) "," NOTE(
            11, "send", 100, 100,
            2) "," OP("c10d::recv_", 30, 9,
                      TAKES("[],[],[],[]", "'TensorList','','Scalar','Scalar'")) "," NOTE(31, "recv", 100,
                                                                                          100, 2));
    assert_int_equal(c.trace->op_count, 2);
    assert_int_equal(ll_attr_count(op_of_kind(c.trace, LL_OP_SEND, 0), LL_ATTR_PEER, 0), 2);
    assert_int_equal(ll_attr_count(op_of_kind(c.trace, LL_OP_RECEIVE, 0), LL_ATTR_PEER, 0), -1);
    assert_int_equal(op_of_kind(c.trace, LL_OP_SEND, 0)->in[0].dtype, LL_BF16);
    end_conversion(&c);
}

static void waiting_is_no_exchange_and_unknown_sizes_are_refused(void **state)
{
    (void)state;
    struct conversion c = import_fine(ADDMM(1, 5) "," NOTE(11, "wait", 0, 0, 4) "," NOTE(
        21, "coalesced", 9, 9, 4) "," OP("_c10d_functional::wait_tensor", 30, 4, TAKES("[5]", "'float'")));
    assert_int_equal(c.trace->op_count, 2);
    end_conversion(&c);
    c = import_events(OP("c10d::allreduce_", 10, 9, TAKES("[],[],[]", "'TensorList','',''")), false);
    assert_null(c.trace);
    assert_true(complained(&c, "c10d::allreduce_: the file does not say how much it exchanges"));
    end_conversion(&c);
    c = import_events(ADDMM(1, 5) "," NOTE(11, "rotate", 9, 9, 4), false);
    assert_null(c.trace);
    assert_true(complained(&c, "record_param_comms: nobody knows the exchange `rotate`"));
    end_conversion(&c);
    c = import_events(ADDMM(1, 5) "," OP("c10d::allreduce_", 10, 9, TAKES("[],[]", "'TensorList',''")), true);
    assert_non_null(c.trace);
    assert_true(warned(&c, "1 call is left out, whose sizes are not in the file: c10d::allreduce_"));
    end_conversion(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_exchange_is_one_op),
        cmocka_unit_test(messages_know_the_other_end),
        cmocka_unit_test(waiting_is_no_exchange_and_unknown_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
