/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of fused kernels in a machine file (kernel_figures.h), a row each, in the order in which they are
 * read, documented and written. */
#include "sim/machine/schema.h"

#include <float.h>

#define POSITIVE DBL_MIN
#define MOST_BPS 1e18
#define MOST_SECONDS 1e6
#define MOST_RATE 1e6

static const char *const passes[] = {
#define X(word, name) name,
    LL_ATTENTION_PASS_LIST(X)
#undef X
        NULL,
};
static const char *const backends[] = {
#define X(word, name) name,
    LL_ATTENTION_BACKEND_LIST(X)
#undef X
        NULL,
};
static const char *const traits[] = {
#define X(word, name) name,
    LL_ATTENTION_TRAIT_LIST(X)
#undef X
        NULL,
};
static const char *const formats[] = {
#define X(word, name, ...) name,
    LL_EXPERT_FORMAT_LIST(X)
#undef X
        NULL,
};
static const char *const expert_backends[] = {
#define X(word, name) name,
    LL_EXPERT_BACKEND_LIST(X)
#undef X
        NULL,
};
static const char *const expert_traits[] = {
#define X(word, name) name,
    LL_EXPERT_TRAIT_LIST(X)
#undef X
        NULL,
};
static const char *const linear_formats[] = {
#define X(word, name, ...) name,
    LL_LINEAR_FORMAT_LIST(X)
#undef X
        NULL,
};
static const char *const linear_backends[] = {
#define X(word, name) name,
    LL_LINEAR_BACKEND_LIST(X)
#undef X
        NULL,
};
static const char *const splits[] = {"none", "fill", "flash_2", "flash_3", NULL};

#define COUNT_OF(fields) (sizeof(fields) / sizeof *(fields))
#define TABLE(words, rows, type) .what = words, .fields = rows, .count = COUNT_OF(rows), .size = sizeof(type)

/* clang-format off */
#define AT(member) .offset = offsetof(struct ll_attention_kernel, member)
#define SECONDS(name, member) \
    .key = name, .type = LL_TYPE_QUANTITY, AT(member), .dimension = LL_DIMENSION_TIME, .min = 0, .max = MOST_SECONDS, .otherwise = "0s"
#define FACTOR(name, member) .key = name, .type = LL_TYPE_NUMBER, AT(member), .min = 0, .max = MOST_RATE
#define RATE(name, member) \
    .key = name, .type = LL_TYPE_QUANTITY, AT(member), .dimension = LL_DIMENSION_BANDWIDTH, .min = 0, .max = MOST_BPS
#define COUNT(name, member) .key = name, .type = LL_TYPE_WHOLE, AT(member), .min = 0, .max = 65536, .otherwise = "0"

static const struct ll_field attention_fields[] = {
    {.key = "name", .type = LL_TYPE_NAME, AT(name), .required = true, .help = "name that paths and reports use"},
    {.key = "pass", .type = LL_TYPE_CHOICE, AT(pass), .choices = passes, .required = true,
     .help = "what it is for: several new tokens a sequence (prefill), one (decode), either of a latent attention "
             "(latent_prefill, latent_decode), gradients (backward)"},
    {.key = "backend", .type = LL_TYPE_CHOICE, AT(backend), .choices = backends, .otherwise = "any",
     .help = "attention backend that has to be asked for; any: where none is"},
    {.key = "traits", .type = LL_TYPE_WORDS, AT(traits), .choices = traits,
     .help = "what it does: takes the first tile that holds all queries, not the fastest (first_fit); packs query heads of a "
             "group into a tile where rows without packing fill less than 0.9 of what they fill with it (packs_heads); pads "
             "heads to powers of two (pads_heads); takes 128 rows an instruction (wide_rows); makes up to 32 heads columns "
             "(swaps); spills registers above heads of 192 (spills); computes in 8 bits where the cache has 8 (narrow_cache); "
             "rotates queries with the write of the cache (rotates); attends to the latent vector itself (absorbs); takes a "
             "block for each query head where groups have one (single_heads); also decodes prompts of one token "
             "(first_token); is launched without a graph, so that `launch` is a floor (in_stream)"},
    {.key = "splits", .type = LL_TYPE_CHOICE, AT(splits), .choices = splits, .otherwise = "none",
     .help = "how many blocks share the keys of a row block: one; as many as units have room for, where that is faster "
             "(fill); by the rule of FlashAttention-2 or -3"},
    {COUNT("max_splits", max_splits), .help = "the most of these; 0: any number"},
    {COUNT("max_group", max_group),
     .help = "decode: the most query heads of a key head that share a block; above, a block takes one query head; 0: any"},
    {.key = "tiles", .type = LL_TYPE_TILES, AT(tiles), .count_offset = offsetof(struct ll_attention_kernel, tile_count),
     .help = "tiles, query rows x keys of a step x the largest head that they are for; of those for a head the fastest is "
             "used. Decode needs none"},
    {.key = "narrow_tiles", .type = LL_TYPE_TILES, AT(narrow_tiles),
     .count_offset = offsetof(struct ll_attention_kernel, narrow_tile_count),
     .help = "the same for arithmetic in 8 bits; when not given, `tiles`"},
    {SECONDS("launch", launch_s), .help = "time to launch all kernels of the call"},
    {SECONDS("cast", cast_s), .help = "time to launch a further kernel, where queries or cache have 8 bits"},
    {SECONDS("copies", copies_s),
     .help = "time of further kernels that copy operands: where values are narrower than keys, and in decode that splits by "
             "flash_2 where groups of several key heads become rows, which also moves queries and results; 0s: no copies"},
    {RATE("write_unit_bandwidth", write_unit_Bps),
     .help = "bandwidth of one unit in the kernel that writes the KV cache; when not given, any"},
    {SECONDS("write_block", write_block_s), .help = "time that a block of threads lives in that kernel, one a token"},
    {RATE("convert_bandwidth", convert_Bps),
     .help = "bandwidth of the device in the kernel that converts a cache of 8 bits first; when not given, none does"},
    {SECONDS("block", block_s), .help = "time to start and end a block"},
    {SECONDS("narrow_block", narrow_block_s), .help = "decode: the same with a cache of 8 bits; 0s: `block`"},
    {SECONDS("single_block", single_block_s), .help = "decode: time to start and end a block of one query head"},
    {SECONDS("head", head_s), .help = "decode: time that each query head of a group adds to a block"},
    {SECONDS("width", width_s), .help = "decode: time that each 128 elements of a head beyond 128 add to a block"},
    {FACTOR("tail", tail), .otherwise = "0",
     .help = "share of the difference between the longest and the shortest block that ends the kernel: 0 where the longest "
             "start first, 1 where they start last"},
    {SECONDS("combine", combine_s), .help = "time to launch the kernel that combines the parts of split keys"},
    {.key = "gemm_time", .type = LL_TYPE_DTYPES, AT(gemm_time), .min = POSITIVE, .max = MOST_RATE,
     .help = "time of a step's GEMMs over that at the unit's peak rate, by dtype; when not given, that of bf16, or 1"},
    {FACTOR("softmax_time", softmax_time), .otherwise = "1",
     .help = "time that a step's exponentials add, over that of all of them at the rate of the special functions"},
    {SECONDS("skipped_step", skipped_step_s), .help = "time of a step outside the window, which is walked without computing"},
    {RATE("unit_bandwidth", unit_Bps), .help = "decode: bandwidth of one unit that reads keys and values; when not given, any"},
    {.key = "dram_efficiency", .type = LL_TYPE_DTYPES, AT(dram_efficiency), .min = POSITIVE, .max = 1,
     .help = "share of the outermost level's bandwidth that it reaches, by dtype of the cache; when not given, that of bf16, or 1"},
};
#undef AT

#define AT(member) .offset = offsetof(struct ll_expert_kernel, member)
#define SHARE(name, member) .key = name, .type = LL_TYPE_NUMBER, AT(member), .min = POSITIVE, .max = 1, .otherwise = "1"
static const struct ll_field expert_fields[] = {
    {.key = "name", .type = LL_TYPE_NAME, AT(name), .required = true, .help = "name that paths and reports use"},
    {.key = "formats", .type = LL_TYPE_WORDS, AT(formats), .choices = formats, .required = true,
     .help = "how the experts that it multiplies store weights and activations"},
    {.key = "backend", .type = LL_TYPE_CHOICE, AT(backend), .choices = expert_backends, .otherwise = "any",
     .help = "backend by which it can be asked for"},
    {.key = "traits", .type = LL_TYPE_WORDS, AT(traits), .choices = expert_traits,
     .help = "what it does: activates and sums rows of experts on other devices, too (all_rows); copies the rows of an expert "
             "together first (permutes); applies the gate within the GEMM (fused_gate); has one block a unit (persistent); "
             "multiplies by Ampere's instructions (mma_sync); multiplies activations of 16 bits with weights that it expands to them "
             "(weight_only); stores weights in 16 bits (wide_weights); multiplies all rows of a "
             "token that has an expert here (whole_tokens); reads weights for rows of experts elsewhere (reads_all)"},
    {.key = "tiles", .type = LL_TYPE_NUMBERS, AT(tiles), .count_offset = offsetof(struct ll_expert_kernel, tile_count),
     .required = true, .min = LL_LEAST_EXPERT_TILE, .max = LL_LEAST_EXPERT_TILE << (LL_EXPERT_TILES - 1),
     .help = "rows of its token tiles, powers of two, of which the fastest is used; 128 columns each"},
    {COUNT("least_rows", least_rows), .help = "rows that a matrix instruction takes, where a tile has fewer"},
    {SECONDS("launch", launch_s), .help = "time to launch all kernels of the call"},
    {SECONDS("block", block_s), .help = "time of a tile beside its steps"},
    {SHARE("compute_efficiency", compute_efficiency), .help = "share of the unit's peak rate that a tile's steps reach"},
    {FACTOR("step_cycles", step_cycles), .otherwise = "0", .help = "cycles in which a step of 128 bytes a row is loaded"},
    {RATE("unit_bandwidth", unit_Bps), .help = "bandwidth at which a block loads; when not given, as `step_cycles` says"},
    {SHARE("dram_efficiency", dram_efficiency), .help = "share of the outermost level's bandwidth that the GEMMs reach"},
    {SHARE("pass_efficiency", pass_efficiency),
     .help = "share of the outermost level's bandwidth that the kernels around the GEMMs reach: routing, permutation, gate, finalization"},
};
#undef AT

#define AT(member) .offset = offsetof(struct ll_linear_kernel, member)
static const struct ll_field linear_fields[] = {
    {.key = "name", .type = LL_TYPE_NAME, AT(name), .required = true, .help = "name that paths and reports use"},
    {.key = "formats", .type = LL_TYPE_WORDS, AT(formats), .choices = linear_formats, .required = true,
     .help = "how the layers that it is for store weights and activations"},
    {.key = "backend", .type = LL_TYPE_CHOICE, AT(backend), .choices = linear_backends, .otherwise = "any",
     .help = "backend by which it can be asked for; any: whichever is"},
    {SECONDS("quantize", quantize_s), .help = "time to launch the kernel that quantizes activations, and what else runs beside"},
    {FACTOR("quantize_bandwidth", quantize_bandwidth), .otherwise = "0",
     .help = "bytes a cycle that a unit moves in that kernel; 0: activations come quantized"},
    {FACTOR("quantize_passes", quantize_passes), .otherwise = "1", .help = "times that it reads the activations"},
    {.key = "quantize_fused", .type = LL_TYPE_BOOL, AT(quantize_fused), .otherwise = "false",
     .help = "whether in a server's step the kernel before it quantizes them, in no more time"},
    {SECONDS("quantize_row", quantize_row_s), .help = "time that a block of it lives, of which a unit holds two; one a row"},
    {COUNT("row_blocks", row_blocks), .help = "its blocks that move a row together; 0: one"},
    {SHARE("efficiency", efficiency), .help = "share of the peak rate that the GEMM's main loop sustains"},
    {FACTOR("tile_cycles", tile_cycles), .otherwise = "0", .help = "cycles of a tile beside its steps and its epilogue"},
    {FACTOR("min_step_cycles", min_step_cycles), .otherwise = "0",
     .help = "least cycles of one step along k; 0: those of the unit's `gemm`"},
    {.key = "split_k", .type = LL_TYPE_BOOL, AT(split_k), .otherwise = "false", .help = "whether units may share k"},
    {.key = "tiles", .type = LL_TYPE_TILES, AT(tiles), .count_offset = offsetof(struct ll_linear_kernel, tile_count),
     .help = "tile by size, as m x n x the largest m that it is for: the first that fits is used, beyond all the last; when "
             "not given, the fastest of the unit's `gemm`"},
    {.key = "narrow_tiles", .type = LL_TYPE_TILES, AT(narrow_tiles),
     .count_offset = offsetof(struct ll_linear_kernel, narrow_tile_count),
     .help = "the same for an n of at most `narrow_n`; beyond all, `tiles`"},
    {.key = "narrow_n", .type = LL_TYPE_WHOLE, AT(narrow_n), .min = 0, .max = UINT32_MAX, .otherwise = "0",
     .help = "the largest n that `narrow_tiles` are for"},
    {.key = "pair_above", .type = LL_TYPE_WHOLE, AT(pair_above), .min = 0, .max = UINT32_MAX, .otherwise = "0",
     .help = "two units compute one of these tiles where m is larger than this; 0: none do"},
    {SECONDS("stream", stream_s), .help = "host's time for a call that no graph holds: the layer takes no less; 0s: a graph does"},
};
#undef AT
/* clang-format on */

const struct ll_field_table ll_linear_table = {TABLE("linear layer", linear_fields, struct ll_linear_kernel)};

const struct ll_field_table ll_expert_table = {TABLE("grouped GEMM", expert_fields, struct ll_expert_kernel)};

const struct ll_field_table ll_attention_table = {
    TABLE("attention kernel", attention_fields, struct ll_attention_kernel)};

/* --- the server --- */

static const char *const admissions[] = {
#define X(word, name, help) name,
    LL_ADMISSION_LIST(X)
#undef X
        NULL,
};

/* clang-format off */
#define AT(member) .offset = offsetof(struct ll_server_batch, member)
static const struct ll_field server_batch_fields[] = {
    {.key = "memory", .type = LL_TYPE_SIZE, AT(memory_bytes), .dimension = LL_DIMENSION_SIZE, .min = 0, .max = 1e18,
     .otherwise = "0B",
     .help = "memory of a device from which on this row counts"},
    {.key = "tokens", .type = LL_TYPE_WHOLE, AT(tokens), .required = true, .min = 1, .max = 1e9,
     .help = "the most new tokens of a step"},
    {.key = "sequences", .type = LL_TYPE_WHOLE, AT(sequences), .required = true, .min = 1, .max = 1e6,
     .help = "the most sequences of a step"},
    {.key = "captured", .type = LL_TYPE_WHOLE, AT(captured), .min = 0, .max = 1e6, .otherwise = "0",
     .help = "tokens of the largest batch that a captured graph computes; up to it batches are padded; 0: none"},
};
#undef AT
static const struct ll_field_table server_batch_table = {
    TABLE("batch of a server", server_batch_fields, struct ll_server_batch)};

#define AT(member) .offset = offsetof(struct ll_server, member)
static const struct ll_field server_fields[] = {
    {.key = "admission", .type = LL_TYPE_CHOICE, AT(admission), .choices = admissions, .otherwise = "known",
     .help = "which waiting requests are let in"},
    {.key = "prompts_first", .type = LL_TYPE_BOOL, AT(prompts_first), .otherwise = "false",
     .help = "whether a step computes prompts alone while some wait; else they go beside sequences that decode"},
    {.key = "chunks", .type = LL_TYPE_BOOL, AT(chunks), .otherwise = "true",
     .help = "whether a prompt is cut where a step's tokens end"},
    {.key = "prefix_caching", .type = LL_TYPE_BOOL, AT(prefix_caching), .otherwise = "true",
     .help = "whether full blocks of keys and values are found again by their content"},
    {.key = "overlaps", .type = LL_TYPE_BOOL, AT(overlaps), .otherwise = "true",
     .help = "whether the host prepares a step while the device computes the one before"},
    {.key = "captures_prompts", .type = LL_TYPE_BOOL, AT(captures_prompts), .otherwise = "true",
     .help = "whether captured graphs compute steps with tokens of prompts, too"},
    {.key = "block", .type = LL_TYPE_WHOLE, AT(block), .min = 1, .max = 65536, .otherwise = "16",
     .help = "tokens of a block of the KV cache"},
    {.key = "reserved_blocks", .type = LL_TYPE_WHOLE, AT(reserved_blocks), .min = 0, .max = 65536, .otherwise = "0",
     .help = "blocks that no sequence gets"},
    {.key = "memory_share", .type = LL_TYPE_NUMBER, AT(memory_share), .min = DBL_MIN, .max = 1, .otherwise = "0.9",
     .help = "share of the memory for weights, activations and the KV cache"},
    {.key = "share_of_rest", .type = LL_TYPE_BOOL, AT(share_of_rest), .otherwise = "false",
     .help = "whether memory_share is of what weights and activations leave, all of it for the KV cache"},
    {.key = "context", .type = LL_TYPE_QUANTITY, AT(context_bytes), .dimension = LL_DIMENSION_SIZE, .min = 0, .max = 1e18,
     .otherwise = "0B",
     .help = "memory of libraries and the framework"},
    {.key = "step", .type = LL_TYPE_QUANTITY, AT(step_s), .dimension = LL_DIMENSION_TIME, .min = 0, .max = MOST_SECONDS,
     .otherwise = "0s",
     .help = "time of the host for a step"},
    {.key = "sequence", .type = LL_TYPE_QUANTITY, AT(sequence_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s",
     .help = "time of the host for each sequence in a step"},
    {.key = "eager_op", .type = LL_TYPE_QUANTITY, AT(eager_op_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s",
     .help = "time of the host to start an op's kernels in a step that no captured graph holds: it takes no less than that of all"},
    {.key = "request", .type = LL_TYPE_QUANTITY, AT(request_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s",
     .help = "time of the server's interface for a request, one after another, before it is in the queue"},
    {.key = "receive_steps", .type = LL_TYPE_WHOLE, AT(receive_steps), .min = 0, .max = 65536, .otherwise = "0",
     .help = "steps that decode alone until new requests are looked for again; 0: after each"},
    {.key = "wait_steps", .type = LL_TYPE_WHOLE, AT(wait_steps), .min = 0, .max = 65536, .otherwise = "0",
     .help = "the most steps that prompts wait for more of them while sequences decode"},
    {.key = "wait_share", .type = LL_TYPE_NUMBER, AT(wait_share), .min = 0, .max = 1, .otherwise = "0",
     .help = "share of a step's tokens that is enough to wait no longer"},
    {.key = "balance_steps", .type = LL_TYPE_WHOLE, AT(balance_steps), .min = 0, .max = 65536, .otherwise = "0",
     .help = "the most steps that prompts wait until each rank of attention has one to begin"},
    {.key = "batches", .type = LL_TYPE_LIST, AT(batches), .count_offset = offsetof(struct ll_server, batch_count),
     .table = &server_batch_table, .max = LL_MAX_SERVER_BATCHES,
     .help = "the most of a step by the memory of a device: the last row whose memory it has counts"},
};
#undef AT
/* clang-format on */
const struct ll_field_table ll_server_table = {TABLE("server section", server_fields, struct ll_server)};
