/* SPDX-License-Identifier: Apache-2.0 */
/* Work: what an op asks of a machine, stripped of what the op is for.
 *
 * Every op lowers to one of these few shapes (tracer/ir/ops.h); the simulator costs work and never asks
 * for the op. Counts are exact and algorithmic: multiply and add are two FLOPs, every input is read
 * once and every output written once. Plain data, compared and hashed as bytes: unused fields are zero. */
#ifndef LL_TRACER_IR_WORK_H
#define LL_TRACER_IR_WORK_H

#include "tracer/ir/tensor.h"

/* Shapes of work: word, name, what it is. */
#define LL_WORK_LIST(X)                                                                                      \
    X(NOTHING, "nothing", "a view: no time, no traffic")                                                     \
    X(GEMM, "gemm", "batch GEMMs C[m,n] += A[m,k] B[k,n]")                                                   \
    X(CONV, "conv", "a convolution, or one of its two gradients")                                            \
    X(VECTOR, "vector", "the same few operations on every element")                                          \
    X(REDUCE, "reduce", "many elements become few")                                                          \
    X(MOVE, "move", "bytes go elsewhere, nothing is computed")                                               \
    X(GATHER, "gather", "rows picked by index")                                                              \
    X(ATTENTION, "attention", "softmax(Q K^T) V by one kernel, whose scores never leave the chip")           \
    X(EXPERTS, "experts", "a layer of experts, of which each token goes to a few: grouped GEMMs")            \
    X(SEQUENCE, "sequence", "dependent steps over resident weights")                                         \
    X(COLLECTIVE, "collective", "devices exchange data")                                                     \
    X(HOST, "host", "data comes from the host")                                                              \
    X(SWAP, "swap", "data waits on the host meanwhile: it goes there, or comes back")                        \
    X(WAIT, "wait", "the host does something else, for as long as it did when this was recorded")

enum ll_work_kind {
#define X(word, name, doc) LL_WORK_##word,
    LL_WORK_LIST(X)
#undef X
        LL_WORK_COUNT
};

/* Which product of a convolution is meant: y = x * w, dx = dy * w, dw = x * dy. */
enum ll_conv_pass { LL_CONV_FORWARD, LL_CONV_DATA, LL_CONV_FILTER };

/* Operands of a product whose unbroken runs in memory go along k; bits. Elsewhere: its sides are no sides of
 * what lies in memory, as of the products within an attention, whose n is how many keys a row sees. */
enum ll_lines_along { LL_LINES_OF_A = 1, LL_LINES_OF_B = 2, LL_LINES_ELSEWHERE = 4 };

struct ll_gemm {
    uint64_t batch, m, n, k;
};

/* Always the dimensions of the forward convolution, whichever pass. */
struct ll_conv {
    uint64_t batch, in_h, in_w, in_c, out_h, out_w, out_c, kernel_h, kernel_w, stride_h, stride_w, groups;
    uint64_t pass;                   /* enum ll_conv_pass */
    uint64_t dilation_h, dilation_w; /* how far taps lie apart; 0 as 1: side by side */
};

/* What an attention is asked for, as kernels tell it apart. Prefill: new tokens attend to themselves and
 * to what came before. Decode: one new token a sequence. Latent: keys and values are expanded from one
 * latent vector that all heads share (DeepSeek-AI, DeepSeek-V2, 2024, section 2.1), prefill with expanded
 * ones, decode on the vector itself. Backward: the three gradients; scores are computed again. */
#define LL_ATTENTION_PASS_LIST(X)                                                                            \
    X(PREFILL, "prefill")                                                                                    \
    X(DECODE, "decode")                                                                                      \
    X(LATENT_PREFILL, "latent_prefill")                                                                      \
    X(LATENT_DECODE, "latent_decode")                                                                        \
    X(BACKWARD, "backward")

enum ll_attention_pass {
#define X(word, name) LL_ATTENTION_##word,
    LL_ATTENTION_PASS_LIST(X)
#undef X
        LL_ATTENTION_PASS_COUNT
};

/* Elements of the latent vector of a token that all heads share, as keys and, but for those that are rotated,
 * as values (DeepSeek-AI, DeepSeek-V2, 2024: 512, and 64 that are rotated). */
enum { LL_LATENT_KEY = 576, LL_LATENT_VALUE = 512 };

/* Which of a server's attention backends runs it, where the user or the model asks for one. */
#define LL_ATTENTION_BACKEND_LIST(X)                                                                         \
    X(ANY, "any")                                                                                            \
    X(TRITON, "triton")                                                                                      \
    X(FLASHINFER, "flashinfer")

enum ll_attention_backend {
#define X(word, name) LL_BACKEND_##word,
    LL_ATTENTION_BACKEND_LIST(X)
#undef X
        LL_BACKEND_COUNT
};

/* Sequences of equal lengths. A latent attention's head sizes are those of its expanded keys and values. */
struct ll_attention {
    uint64_t batch;         /* sequences */
    uint64_t queries, keys; /* new tokens of a sequence; tokens that the last of them sees, itself included */
    uint64_t heads, kv_heads;
    uint64_t head_qk, head_v; /* elements of a head of queries and keys; of values */
    uint64_t window;          /* keys before its own that a query sees; 0: all */
    /* The queries are one of so many equal shares of all positions, cut so that each sees as many keys as any
     * other; 0 as 1. */
    uint64_t parts;
    uint8_t causal;  /* 1: no query sees keys behind its own position; 0: all see all keys */
    uint8_t pass;    /* enum ll_attention_pass */
    uint8_t backend; /* enum ll_attention_backend */
    uint8_t cache;   /* enum ll_dtype: of an element of keys and values */
    uint8_t cached;  /* 1: keys and values of new tokens are first written into a KV cache */
    uint8_t unused[3];
};

/* How an expert's weights are stored, and what multiplies them with activations of which type: word, name,
 * bytes of a weight and of an activation with their scales, dtype of the arithmetic. Block scales: fp32
 * for 128 x 128 weights and 128 activations; e8m0 for 32 elements (OCP Microscaling, 2023); e4m3 for 16
 * (nvfp4); bf16 for 128 (int4). */
#define LL_EXPERT_FORMAT_LIST(X)                                                                             \
    X(BF16, "bf16", 2, 2, BF16)                                                                              \
    X(FP8, "fp8", 1, 1, F8)                                                                                  \
    X(FP8_BLOCK, "fp8_block", 1, 1.03, F8)                                                                   \
    X(NVFP4, "nvfp4", 0.5625, 0.5625, F4)                                                                    \
    X(W4A16_MXFP4, "w4a16_mxfp4", 0.53125, 2, BF16)                                                          \
    X(W4A8_MXFP4_MXFP8, "w4a8_mxfp4_mxfp8", 0.53125, 1.03, F8)                                               \
    X(INT4_WO, "int4_wo", 0.516, 2, BF16)

enum ll_expert_format {
#define X(word, ...) LL_EXPERTS_##word,
    LL_EXPERT_FORMAT_LIST(X)
#undef X
        LL_EXPERT_FORMAT_COUNT
};

/* Which of a server's grouped GEMMs runs the experts, where the user or the model asks for one. */
#define LL_EXPERT_BACKEND_LIST(X)                                                                            \
    X(ANY, "any")                                                                                            \
    X(TRITON, "triton")                                                                                      \
    X(CUTLASS, "cutlass")                                                                                    \
    X(MARLIN, "marlin")                                                                                      \
    X(TRTLLM, "trtllm")

enum ll_expert_backend {
#define X(word, name) LL_GROUPED_##word,
    LL_EXPERT_BACKEND_LIST(X)
#undef X
        LL_GROUPED_COUNT
};

/* Sides of the token tiles by which grouped GEMMs pad the rows of an expert. */
enum { LL_EXPERT_TILES = 6, LL_LEAST_EXPERT_TILE = 8 };

/* The experts of one device, the one that has most rows (tracer/ir/experts.h): the whole layer, or one of its
 * grouped GEMMs. */
struct ll_experts {
    uint64_t tokens, hidden,
        inter; /* of all devices that share the experts; features; features of an expert here */
    uint64_t top_k, experts, local; /* experts of a token; of the layer; of this device */
    uint64_t rows, touched;         /* pairs of a token and an expert of this device; experts that have any */
    uint64_t local_tokens;          /* that have an expert of this device */
    uint32_t tiles[LL_EXPERT_TILES]; /* that all rows fill, of 8, 16, ..., 256 rows of one expert */
    uint8_t gated;                   /* 1: two GEMMs up, one of which gates the other; 0: one */
    uint8_t format, backend;         /* enum ll_expert_format, enum ll_expert_backend */
    uint8_t
        single; /* 1: one GEMM alone, from `hidden` to `inter` features; what is beside it are other ops */
    uint8_t unused[4];
};

/* How a quantized linear layer stores weights and activations: word, name, bytes of a weight and of an
 * activation with their scales, dtype of the arithmetic, whether its activations come in 16 bits and are
 * quantized first. Block scales as of LL_EXPERT_FORMAT_LIST. */
#define LL_LINEAR_FORMAT_LIST(X)                                                                             \
    X(FP8, "fp8", 1, 1, F8, true)                                                                            \
    X(FP8_BLOCK, "fp8_block", 1, 1.03, F8, true)                                                             \
    X(MXFP8, "mxfp8", 1.03125, 1.03125, F8, true)                                                            \
    X(NVFP4, "nvfp4", 0.5625, 0.5625, F4, true)                                                              \
    X(MXFP4, "mxfp4", 0.53125, 0.53125, F4, true)                                                            \
    X(INT8, "int8", 1, 1, INT8, false)                                                                       \
    X(INT8_WO, "int8_wo", 1, 2, BF16, false)                                                                 \
    X(INT4_WO, "int4_wo", 0.52, 2, BF16, false)

enum ll_linear_format {
#define X(word, ...) LL_LINEAR_##word,
    LL_LINEAR_FORMAT_LIST(X)
#undef X
        LL_LINEAR_FORMAT_COUNT
};

/* Which of a server's kernels multiplies a quantized linear layer, where the user or the model asks for
 * one. */
#define LL_LINEAR_BACKEND_LIST(X)                                                                            \
    X(ANY, "any")                                                                                            \
    X(CUTLASS, "cutlass")                                                                                    \
    X(DEEPGEMM, "deepgemm")                                                                                  \
    X(FLASHINFER, "flashinfer")

enum ll_linear_backend {
#define X(word, name) LL_LINEAR_BY_##word,
    LL_LINEAR_BACKEND_LIST(X)
#undef X
        LL_LINEAR_BY_COUNT
};

struct ll_work {
    uint64_t kind;  /* enum ll_work_kind */
    uint64_t dtype; /* enum ll_dtype: of the arithmetic */
    uint64_t flops; /* algorithmic */
    /* Bytes of the operands: for products a is the left or input operand, b the right or weight operand,
     * c the result (for a convolution's gradients: the two read are a, b in the order of the op's
     * inputs, the one written is c). For other work: a is all that is read, c all that is written. */
    uint64_t a_bytes, b_bytes, c_bytes;
    /* Of a product that is a quantized linear layer, or of a move that quantizes its activations: 1 + enum
     * ll_linear_format; 0: it is none. */
    uint32_t linear;
    uint16_t linear_backend; /* enum ll_linear_backend */
    uint16_t quantized;      /* 1: its activations come quantized, by a move before it */
    uint64_t lines;          /* unbroken runs in which elements lie, where a loop goes along them; 0: one */
    uint64_t in_place;       /* 1: the result overwrites an operand that is read; 0: it lies elsewhere */
    uint64_t along_k;        /* of a product: enum ll_lines_along; 0: no operand's runs go along k */
    uint64_t between; /* of a product: operations on its results while it goes on, not among its FLOPs */
    uint64_t
        specials; /* of operations on elements, or on results of a product: exponentials, quotients, ... */
    /* Of each `of` neighbours of b along k at most `kept` are not zero, and only these count as FLOPs and
     * are stored, with their places; 0: nobody knows of zeros, or they do not lie along k. Where
     * unstructured is 1, such a share of b is not zero, anywhere. */
    uint64_t kept, of, unstructured;
    uint64_t a_nonzero; /* of 100 elements of a so many are not zero, anywhere; 0: nobody knows */
    union {
        struct ll_gemm gemm;
        struct ll_conv conv;
        struct ll_attention attention;
        struct ll_experts experts;
        struct {
            uint64_t elements; /* flops / elements operations each */
            uint64_t row; /* so many of them depend on one another, as in a softmax; 0: none on another */
            uint64_t picked, picked_bytes; /* so many rows of a table, of so many bytes, read and written */
        } vector;
        struct {
            uint64_t rows, columns;
        } quantize; /* of a move with `linear` */
        struct {
            uint64_t in_elements, out_elements;
            uint64_t folds; /* 1: the elements of a line become one; 0: lines are added to lines */
        } reduce;
        struct {
            uint64_t rows, row_bytes;
            uint64_t table_bytes; /* what they are picked from; 0: more than they */
        } gather;
        struct {
            uint64_t steps;
            struct ll_gemm step; /* the product of one step */
            uint64_t fresh;      /* 1: b is another one in each step; 0: it stays where it is */
        } sequence;
    };
};

/* Whether it multiplies matrices, so that its operands are blocked. */
static inline bool ll_is_gemm(const struct ll_work *work)
{
    return work->kind == LL_WORK_GEMM || work->kind == LL_WORK_CONV || work->kind == LL_WORK_SEQUENCE ||
           work->kind == LL_WORK_ATTENTION || work->kind == LL_WORK_EXPERTS;
}

/* The name of a shape of work; static storage. The argument is in range. */
const char *ll_work_name(enum ll_work_kind kind);

/* The product that computes a convolution pass, all groups together as its batch: for the forward pass
 * m = batch * out_h * out_w, n = out_c / groups, k = kernel_h * kernel_w * in_c / groups. Sizes in
 * elements, LL_NO_FIT past 64 bits. Pure. */
struct ll_gemm ll_conv_as_gemm(const struct ll_conv *conv);

/* An attention for machines without a kernel for it: one GEMM of a depth that stands for all of its GEMMs
 * (two of a score forward, five backward), for all rows and as many keys as a row sees on average, with the
 * softmax as work between. FLOPs and bytes stay as they are. Pure. */
struct ll_work ll_attention_as_gemm(const struct ll_work *work);

/* The GEMM that stands for attention or experts; other work as it is. Pure. */
struct ll_work ll_work_as_gemm(const struct ll_work *work);

/* Keys that a query sees on average, rounded up. LL_NO_FIT past 64 bits. Pure. */
uint64_t ll_attention_seen(const struct ll_attention *attention);

/* FLOPs of its GEMMs, of the scores that are seen alone; LL_NO_FIT past 64 bits. Pure. */
uint64_t ll_attention_flops(const struct ll_attention *attention);

#endif
