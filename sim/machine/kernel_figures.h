/* SPDX-License-Identifier: Apache-2.0 */
/* Fused kernels of a software stack, as its file describes them: attention. A kernel is a loop over tiles;
 * its figures are what a tile's step, a block and the kernel itself take beside what the machine's rates say
 * (sim/cost/attention.c has the formulas). Plain data, owned by the machine. */
#ifndef LL_SIM_MACHINE_KERNEL_FIGURES_H
#define LL_SIM_MACHINE_KERNEL_FIGURES_H

#include "sim/machine/unit.h"
#include "tracer/ir/work.h"

enum {
    LL_MAX_ATTENTION_KERNELS = 24,
    LL_MAX_EXPERT_KERNELS = 24,
    LL_MAX_LINEAR_KERNELS = 24,
    LL_MAX_NUMBERS = 32 /* of a list of numbers */
};

/* How many blocks share the keys of one row block. */
enum ll_key_splits {
    LL_SPLITS_NONE,
    LL_SPLITS_FILL,    /* as many as the units have room for, where that is faster */
    LL_SPLITS_FLASH_2, /* by FlashAttention-2's rule of wave efficiency, of blocks two a unit */
    LL_SPLITS_FLASH_3  /* by FlashAttention-3's, of blocks one a unit */
};

/* What a kernel does, or the library that calls it; bits of `traits`: word, name, what it means. */
#define LL_ATTENTION_TRAIT_LIST(X)                                                                           \
    X(FIRST_FIT, "first_fit")       /* the first tile for a head that holds all queries, not the fastest */  \
    X(PACKS_HEADS, "packs_heads")   /* heads of a group share a tile where that saves padding */             \
    X(PADS_HEADS, "pads_heads")     /* head sizes are padded to powers of two */                             \
    X(WIDE_ROWS, "wide_rows")       /* a matrix instruction takes 128 rows, however few a tile has */        \
    X(SWAPS, "swaps")               /* up to 32 heads are columns, which need no padding beyond 8 */         \
    X(SPILLS, "spills")             /* GEMMs of heads above 192 take head / 192 as long */                   \
    X(NARROW_CACHE, "narrow_cache") /* a cache of 8 bits means arithmetic in 8 bits: queries are cast */     \
    X(ROTATES, "rotates")           /* the kernel that writes the cache rotates queries, too */              \
    X(ABSORBS, "absorbs")           /* latent prefill on the latent vector, all heads packed on its key */   \
    X(SINGLE_HEADS, "single_heads") /* decode takes a block for each query head where groups have one */     \
    X(FIRST_TOKEN, "first_token")   /* decode also runs a prompt of one token */                             \
    X(IN_STREAM, "in_stream")       /* no graph holds the launches: a floor under the kernels' time */

enum ll_attention_trait {
#define X(word, name) LL_ATTENTION_BIT_##word,
    LL_ATTENTION_TRAIT_LIST(X)
#undef X
#define X(word, name) LL_TRAIT_##word = 1 << LL_ATTENTION_BIT_##word,
        LL_ATTENTION_TRAIT_LIST(X)
#undef X
};

/* One kernel of a library, with what a server starts beside it. Times are in seconds, rates in bytes a
 * second. 0 where a kernel has no such term. By dtype: of the arithmetic, or where an entry says so of the
 * cache; what is not given is that of bf16. */
struct ll_attention_kernel {
    const char *name;
    unsigned pass;       /* enum ll_attention_pass: what it is for */
    unsigned backend;    /* enum ll_attention_backend */
    uint64_t traits;     /* of enum ll_attention_trait */
    unsigned splits;     /* enum ll_key_splits */
    uint64_t max_splits; /* 0: any number */
    uint64_t
        max_group; /* decode: query heads of a key head that share a block; above, each takes one; 0: any */

    /* Tiles: query rows x keys of a step x the largest head that they are for; narrow: in 8 bits. Of those
     * for a head the fastest is taken. */
    struct ll_tile tiles[LL_MAX_TILES], narrow_tiles[LL_MAX_TILES];
    uint64_t tile_count, narrow_tile_count;

    /* Beside the kernel. */
    double launch_s;       /* of all kernels of the call */
    double cast_s;         /* further kernel where arithmetic, or the cache, has 8 bits */
    double copies_s;       /* further kernels that copy what the kernel wants to lie otherwise: where values
                             * are narrower than keys; by FlashAttention-2's rule where groups become rows */
    double write_unit_Bps; /* of one unit, in the write into the KV cache; 0: any */
    double write_block_s;  /* of the same: life of a block of threads, one a token */
    double convert_Bps;    /* of the device: a cache of 8 bits is converted first */

    /* Of a block. */
    double block_s;        /* to start and end one */
    double narrow_block_s; /* the same with a cache of 8 bits; 0: block_s */
    double single_block_s; /* of one query head */
    double head_s;         /* decode: that each query head of a group adds */
    double width_s;        /* decode: that each 128 elements of head beyond 128 add */
    double tail;      /* share of the difference between longest and shortest block that ends the kernel */
    double combine_s; /* kernel that adds up the parts of split keys */

    /* Of a step. */
    double gemm_time[LL_DTYPE_COUNT]; /* of its GEMMs, over that at the unit's peak, by dtype */
    double softmax_time;              /* of its exponentials, over that at the special functions' rate */
    double skipped_step_s;            /* of one outside the window, which it walks without computing */

    /* Of memory. */
    double unit_Bps; /* decode: that one unit draws; 0: any */
    double
        dram_efficiency[LL_DTYPE_COUNT]; /* share of the outermost level's bandwidth, by dtype of the cache */
};

/* What a grouped GEMM of experts does; bits of `traits`: word, name, what it means. */
#define LL_EXPERT_TRAIT_LIST(X)                                                                              \
    X(ALL_ROWS, "all_rows")       /* activation and sum take rows of experts elsewhere, too */               \
    X(PERMUTES, "permutes")       /* a kernel copies the rows of each expert together */                     \
    X(FUSED_GATE, "fused_gate")   /* the GEMM up applies the gate, and gathers its rows itself */            \
    X(PERSISTENT, "persistent")   /* one block a unit */                                                     \
    X(MMA_SYNC, "mma_sync")       /* instructions of Ampere, on whatever device */                           \
    X(WEIGHT_ONLY, "weight_only") /* activations have 16 bits, to which it expands weights while it runs */  \
    X(WIDE_WEIGHTS, "wide_weights") /* weights are stored in 16 bits, whatever their format */               \
    X(WHOLE_TOKENS, "whole_tokens") /* all rows of a token that has an expert here are multiplied */         \
    X(READS_ALL, "reads_all")       /* rows of experts elsewhere read weights of those here */

enum ll_expert_trait {
#define X(word, name) LL_EXPERT_BIT_##word,
    LL_EXPERT_TRAIT_LIST(X)
#undef X
#define X(word, name) LL_EXPERT_##word = 1 << LL_EXPERT_BIT_##word,
        LL_EXPERT_TRAIT_LIST(X)
#undef X
};

/* One grouped GEMM of a library, with the kernels beside it: routing, gate, finalization. Times are in
 * seconds, rates in bytes a second. */
struct ll_expert_kernel {
    const char *name;
    uint64_t formats;             /* bits of enum ll_expert_format */
    unsigned backend;             /* enum ll_expert_backend */
    uint64_t traits;              /* of enum ll_expert_trait */
    double tiles[LL_MAX_NUMBERS]; /* sides of its token tiles, of which the fastest is taken */
    uint64_t tile_count;
    uint64_t least_rows; /* that a matrix instruction takes, where a tile has fewer */
    double launch_s;     /* of all kernels of the call */
    double block_s;      /* of a tile beside its steps */
    double compute_efficiency;
    double step_cycles;     /* until a step of 128 bytes a row is loaded */
    double unit_Bps;        /* that one block draws; 0: as step_cycles says */
    double dram_efficiency; /* share of the outermost level's bandwidth, of the GEMMs */
    double pass_efficiency; /* the same share, of the memory-bound kernels around the GEMMs */
};

/* GEMMs of a quantized linear layer with what its stack starts beside them (sim/cost/gemm_kernels.c).
 * Times are in seconds. What is 0 or not given is as in the unit's `gemm` kernels. */
struct ll_linear_kernel {
    const char *name;
    uint64_t formats; /* bits of enum ll_linear_format */
    unsigned backend; /* enum ll_linear_backend */

    /* The kernel that quantizes activations. */
    double quantize_s;         /* to launch it, and whatever else runs beside the GEMM */
    double quantize_bandwidth; /* bytes that a unit moves in a cycle; 0: they come quantized */
    double quantize_passes;    /* times that it reads the activations */
    bool quantize_fused;       /* in a server's step the kernel before it quantizes them, in no more time */
    double quantize_row_s;     /* life of a block, of which a unit holds two */
    uint64_t row_blocks;       /* blocks that share a row */

    /* The GEMM. */
    double efficiency;      /* share of the peak rate that the main loop sustains */
    double tile_cycles;     /* instead of the unit's */
    double min_step_cycles; /* instead of the unit's; 0: those */
    bool split_k;           /* whether k may be shared by units */

    /* Tiles by size, m x n x the largest m that each is for, the first that fits; beyond the last, the last.
     * narrow_tiles: the same where n is at most narrow_n. None: the fastest of the unit's. */
    struct ll_tile tiles[LL_MAX_TILES], narrow_tiles[LL_MAX_TILES];
    uint64_t tile_count, narrow_tile_count, narrow_n;
    uint64_t pair_above; /* two units compute a tile where m is larger; 0: none do */

    double
        stream_s; /* host's time for a call that no graph holds: a floor under the layer's time; 0: a graph */
};

#endif
