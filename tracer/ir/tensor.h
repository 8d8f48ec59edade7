/* SPDX-License-Identifier: Apache-2.0 */
/* What a tensor is made of: element type, dimensions and what each of them means. Pure data. */
#ifndef LL_TRACER_IR_TENSOR_H
#define LL_TRACER_IR_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/base/num.h"

enum { LL_MAX_RANK = 8 };

/* Element types: word, name in files and machine descriptions, bits of an element. */
#define LL_DTYPE_LIST(X)                                                                                     \
    X(F64, "f64", 64)                                                                                        \
    X(F32, "f32", 32)                                                                                        \
    X(TF32, "tf32", 32)                                                                                      \
    X(F16, "f16", 16)                                                                                        \
    X(BF16, "bf16", 16)                                                                                      \
    X(F8, "f8", 8)                                                                                           \
    X(F4, "f4", 4)                                                                                           \
    X(I64, "i64", 64)                                                                                        \
    X(I32, "i32", 32)                                                                                        \
    X(I16, "i16", 16)                                                                                        \
    X(INT8, "int8", 8)                                                                                       \
    X(INT4, "int4", 4)                                                                                       \
    X(U8, "u8", 8)                                                                                           \
    X(BOOL, "bool", 8)                                                                                       \
    X(C64, "c64", 64)                                                                                        \
    X(C128, "c128", 128)                                                                                     \
    X(INT2, "int2", 2)

/* Scales that neighbouring elements share and that are stored beside them: word, elements of a block, bytes
 * of its scale. F32_ROW and F32_SQUARE: fp32 for 128 elements of a row, for 128 x 128 (DeepSeek-AI,
 * DeepSeek-V3, 2024, section 3.3.2); E8M0: OCP Microscaling, 2023; E4M3: NVIDIA's nvfp4; F16: groups of GPTQ
 * and AWQ. A scale of a whole tensor or row is not worth counting. */
#define LL_SCALES_LIST(X)                                                                                    \
    X(NONE, 0, 0)                                                                                            \
    X(F32_ROW, 128, 4)                                                                                       \
    X(F32_SQUARE, 16384, 4)                                                                                  \
    X(E8M0, 32, 1)                                                                                           \
    X(E4M3, 16, 1)                                                                                           \
    X(F16, 128, 2)

/* Formats in which elements share scales: word, name in files and options, dtype, scales of activations, of
 * weights. */
#define LL_NUMERIC_LIST(X)                                                                                   \
    X(FP8_BLOCK, "fp8_block", F8, F32_ROW, F32_SQUARE)                                                       \
    X(MXFP8, "mxfp8", F8, E8M0, E8M0)                                                                        \
    X(NVFP4, "nvfp4", F4, E4M3, E4M3)                                                                        \
    X(MXFP4, "mxfp4", F4, E8M0, E8M0)                                                                        \
    X(INT4_G128, "int4_g128", INT4, F16, F16)

/* What a dimension means, where the model knows it; lets a trace be rescaled and sharded later. FFN_HIDDEN:
 * the features inside of a feed-forward layer, which is wider than what it reads. */
#define LL_ROLE_LIST(X)                                                                                      \
    X(PLAIN, "")                                                                                             \
    X(BATCH, "batch")                                                                                        \
    X(SEQUENCE, "sequence")                                                                                  \
    X(CHANNEL, "channel")                                                                                    \
    X(HIDDEN, "hidden")                                                                                      \
    X(HEADS, "heads")                                                                                        \
    X(VOCABULARY, "vocabulary")                                                                              \
    X(SPATIAL, "spatial")                                                                                    \
    X(CLASSES, "classes")                                                                                    \
    X(EXPERTS, "experts")                                                                                    \
    X(FFN_HIDDEN, "ffn_hidden")

/* Why a tensor occupies memory. */
#define LL_MEMORY_LIST(X)                                                                                    \
    X(WEIGHT, "weight")                                                                                      \
    X(GRADIENT, "gradient")                                                                                  \
    X(ACTIVATION, "activation")                                                                              \
    X(OPTIMIZER, "optimizer")                                                                                \
    X(WORKSPACE, "workspace")                                                                                \
    X(INPUT, "input")

enum ll_dtype {
#define X(word, name, bytes) LL_##word,
    LL_DTYPE_LIST(X)
#undef X
        LL_DTYPE_COUNT
};
enum ll_scales {
#define X(word, elements, bytes) LL_SCALES_##word,
    LL_SCALES_LIST(X)
#undef X
        LL_SCALES_COUNT
};

/* A dtype, whose elements share no scales, or LL_DTYPE_COUNT, which is none, or one of the formats. */
enum ll_numeric {
    LL_NUMERIC_NONE = LL_DTYPE_COUNT,
#define X(word, name, dtype, activations, weights) LL_NUMERIC_##word,
    LL_NUMERIC_LIST(X)
#undef X
        LL_NUMERIC_COUNT
};

enum ll_role {
#define X(word, name) LL_ROLE_##word,
    LL_ROLE_LIST(X)
#undef X
        LL_ROLE_COUNT
};
enum ll_memory_class {
#define X(word, name) LL_##word,
    LL_MEMORY_LIST(X)
#undef X
        LL_MEMORY_COUNT
};

/* Names as files and reports spell them; static storage. The argument is in range. */
const char *ll_dtype_name(enum ll_dtype dtype);
const char *ll_role_name(enum ll_role role);
const char *ll_memory_name(enum ll_memory_class memory);
uint64_t ll_dtype_bits(enum ll_dtype dtype);

/* The dtype or format of this name, LL_NUMERIC_NONE for none; names, dtypes and scales of one that is not
 * LL_NUMERIC_NONE. Pure. */
enum ll_numeric ll_numeric_find(const char *name);
const char *ll_numeric_name(enum ll_numeric numeric);
enum ll_dtype ll_numeric_dtype(enum ll_numeric numeric);
enum ll_scales ll_numeric_scales(enum ll_numeric numeric, bool of_weights);

/* Of one element by itself, which takes whole bytes; of many: ll_size_bytes, ll_dtype_spread. */
uint64_t ll_dtype_bytes(enum ll_dtype dtype);

/* Bytes of an element among many, which may share one: half a byte of types of 4 bits. */
double ll_dtype_spread(enum ll_dtype dtype);

/* Bytes of so many elements in a row, and how many elements take so many bytes, both rounded up; LL_NO_FIT
 * past 64 bits. */
uint64_t ll_dtype_size(enum ll_dtype dtype, uint64_t elements);
uint64_t ll_dtype_count(enum ll_dtype dtype, uint64_t bytes);

/* The type of the two parts of a complex number; any other type is its own. */
enum ll_dtype ll_dtype_part(enum ll_dtype dtype);

/* Zeros: of each `of` neighbours all but `kept`, which are some but not all; 0 of 0: nobody knows. Or, where
 * unstructured, such a share of all elements, each as likely as any other. */
struct ll_pattern {
    uint32_t kept, of;
    bool unstructured;
};

/* Reads "2:4", two of four; false, *pattern 0 of 0, when the text is no such thing, or of more than
 * LL_MOST_NEIGHBOURS. Pure. */
enum { LL_MOST_NEIGHBOURS = 255 };
#define LL_PATTERN_WANTED "how many of how many neighbours are not zero, as 2:4, of at most 255"
bool ll_pattern_parse(const char *text, struct ll_pattern *pattern);

/* As well "90%", of which 90 in 100 are zero, wherever: whole percents from 1 to 99. Pure. */
#define LL_SPARSITY_WANTED LL_PATTERN_WANTED ", or the share that is zero, wherever, as 90%"
bool ll_sparsity_parse(const char *text, struct ll_pattern *pattern);

/* As it is read, zero-terminated. Pure. */
enum { LL_PATTERN_TEXT = 16 };
void ll_pattern_print(const struct ll_pattern *pattern, char text[LL_PATTERN_TEXT]);

/* Row-major: the last dimension is contiguous. Unused dimensions and roles are zero, so that two equal
 * shapes are equal bytes; rank 0 is a scalar. Images are batch, height, width, channel. */
struct ll_shape {
    uint64_t dim[LL_MAX_RANK];
    uint8_t role[LL_MAX_RANK]; /* enum ll_role */
    uint8_t dtype;             /* enum ll_dtype */
    uint8_t rank;
    /* Of each `of` neighbours along dimension `along` all but `kept` are zero, or, where unstructured is 1,
     * such a share of all elements; all 0: nobody knows of zeros */
    uint8_t kept, of, along, unstructured;
    uint8_t scales;    /* enum ll_scales: that elements, in order, share */
    uint8_t unused[1]; /* zero */
};

/* Number of elements; of those that are not known to be zero: of a rest behind the last whole group as many
 * as of a group, if it has so many, or the share, rounded up; and of bytes: where zeros are known, of the
 * others and, rounded up, of their places. These take log2(of) bits each; of unstructured zeros a bit for
 * each element, or log2(size along the dimension) bits for each that is left and for each row along it,
 * whichever is less (bitmaps and compressed rows, as in Wu et al., Sparseloop, 2022). Bytes have those of
 * scales, one for each block that is begun, of all elements. LL_NO_FIT past 64 bits. Pure. */
uint64_t ll_elements(const struct ll_shape *shape);
uint64_t ll_elements_kept(const struct ll_shape *shape);
uint64_t ll_size_bytes(const struct ll_shape *shape);

/* Whether the elements are of a type that counts places. Pure. */
bool ll_is_index(const struct ll_shape *shape);

/* Whether what is known of zeros makes sense: some are kept, fewer than all, along one of its dimensions; or
 * nothing is. Pure. */
bool ll_zeros_fit(const struct ll_shape *shape);

/* Whether it has no scales, or known ones of elements of at most 8 bits. The dtype is in range. Pure. */
bool ll_scales_fit(const struct ll_shape *shape);

#endif
