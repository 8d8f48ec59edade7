/* SPDX-License-Identifier: Apache-2.0 */
/* Files of other tools that tell a model: which they look like, and the FLOPs of the GEMMs and convolutions
 * that they become, counted by hand from the sizes in them. The files are seeds of the fuzz targets, behind
 * whose first byte they begin. */
#include "check.h"
#include "convert.h"

#include "tracer/format/reader.h"

/* x[tokens, 64] by 256 x 64 and back; 4 heads of tokens x tokens scores of 16 features, twice. */
#define MLP_SDPA(tokens) (2 * (2 * (tokens)*64 * 256) + 2 * (2 * 4 * (tokens) * (tokens)*16))
/* x[4, 16] by 16 x 8; 4 x 4 windows of 3 x 3 x 3 by 8 filters. */
#define SMALL (2 * 4 * 16 * 8 + 2 * (4 * 4) * (3 * 3 * 3) * 8)
/* Two layers of 32 features, 4 heads of 8 and 2 of keys, 48 inside, and a table of 64, for 8 tokens that
 * look back. */
#define TINY (8 * 2 * (2 * (2 * 32 * 32 + 2 * 16 * 32 + 3 * 48 * 32) + 64 * 32) + 2 * (2 * 2 * 8 * 4 * 36))
/* 4 of 32 experts of 2,880 features, gated, and what chooses them. */
#define EXPERTS (4 * 2 * (5760 * 2880 + 2880 * 2880) + 2 * 32 * 2880)
/* Two layers of 256 features, 4 heads of 64 and 2 of keys, 256 inside, and a head of 256, for the first
 * token. */
#define LLAMA                                                                                                \
    (2 * (2 * (2 * 256 * 256 + 2 * 128 * 256 + 3 * 256 * 256) + 256 * 256) + 2 * (2 * (64 + 64) * 4))
/* One layer's matrices of latent attention, for a token. */
#define LATENT (2 * (1536 * 7168 + 24576 * 1536 + 576 * 7168 + 32768 * 512 + 7168 * 16384))

static const struct {
    const char *file, *format, *choices[3][2];
    uint64_t flops;
    const char *parameters; /* NULL: not looked at */
} rows[] = {
    {"torch_export/mlp_sdpa.json", "torch-export", {{0}}, MLP_SDPA(8), NULL},
    {"torch_export/mlp_sdpa.pt2", "torch-export", {{0}}, MLP_SDPA(8), NULL},

    {"torch_export/mlp_sdpa.json", "torch-export", {{"s0", "16"}}, MLP_SDPA(16), NULL},
    {"hlo/small.hlo", "hlo", {{0}}, SMALL, "64"},
    {"stablehlo/small.mlir", "stablehlo", {{0}}, SMALL, NULL},
    {"safetensors/tiny_llama",
     "safetensors",
     {{"heads", "4"}, {"kv_heads", "2"}, {"tokens", "8"}},
     TINY,
     "19616"},
    {"safetensors/header_only_mxfp4_experts", "safetensors", {{"top_k", "4"}}, EXPERTS, NULL},
    {"safetensors/header_only_fp8_block", "safetensors", {{0}}, LATENT, NULL},
    {"gguf/made_llama_q8_0_header_only", "gguf", {{0}}, LLAMA, "918784"},
};

static bool read_seed(const char *name, char *bytes, size_t room, size_t *size)
{
    char path[256];
    snprintf(path, sizeof path, "tests/fuzz/corpus/%s", name);
    FILE *file = fopen(path, "rb");
    *size = file ? fread(bytes, 1, room, file) : 0;
    if (file)
        fclose(file);
    return *size > 1 && *size < room;
}

static ll_importer *importer_of(const char *name)
{
    const struct ll_format *format = ll_formats;
    while (format->name && strcmp(format->name, name) != 0)
        format++;
    return format->import;
}

static void files_become_the_products_that_their_sizes_tell(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static char bytes[1 << 18];
        size_t size;
        if (!read_seed(rows[i].file, bytes, sizeof bytes, &size))
            fail_msg("%s is not there", rows[i].file);
        const char *told = ll_format_detect((const uint8_t *)bytes + 1, size - 1);
        assert_non_null(told);
        assert_string_equal(told, rows[i].format);
        struct conversion c = {.importer = importer_of(told)};
        struct ll_str text = {.text = bytes + 1, .length = size - 1};
        add_file(&c, "file", &text);
        for (size_t k = 0; k < 3 && rows[i].choices[k][0]; k++)
            choose_so(&c, rows[i].choices[k][0], rows[i].choices[k][1]);
        convert(&c);
        if ((c.trace != NULL) != (rows[i].flops > 0))
            fail_msg("%s: %s", rows[i].file, c.trace ? "it is imported" : c.diags.kept[0].message);
        uint64_t flops = 0;
        for (uint64_t k = 0; c.trace && k < c.trace->op_count; k++) {
            const struct ll_op_signature *op = &c.trace->signatures[c.trace->ops[k].signature];
            flops += ll_class_is_gemm(ll_op_class(op->view.kind)) ? op->flops : 0;
        }
        if (flops != rows[i].flops)
            fail_msg("%s: %llu FLOPs, expected %llu", rows[i].file, (unsigned long long)flops,
                     (unsigned long long)rows[i].flops);
        if (rows[i].parameters)
            assert_string_equal(ll_trace_fact(c.trace, "parameters"), rows[i].parameters);
        end_conversion(&c);
    }
}

/* What begins like none of them is none. */
static void other_files_look_like_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "hello", "{\"a\": 1}", "a,b,c\n1,2,3\n",
                                        "\x01\x02\x03\x04\x05\x06\x07\x08"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_null(ll_format_detect((const uint8_t *)texts[i], strlen(texts[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_become_the_products_that_their_sizes_tell),
        cmocka_unit_test(other_files_look_like_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
