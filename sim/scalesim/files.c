/* SPDX-License-Identifier: Apache-2.0 */
/* SCALE-Sim's files: the configuration that it reads, the same hardware in our words, the reports that it
 * writes.
 *
 * A configuration has sections in brackets, `key: value` or `key = value`, keys in any case; lines that begin
 * with # or ; are comments. Its own reader is Python's configparser. */
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/scalesim/scalesim.h"
#include "tracer/base/num.h"

#define MOST_kB (UINT64_C(1) << 32)

/* What stands behind a key. */
enum kind { TEXT, COUNT, FIRST_COUNT, DATAFLOW, BANDWIDTH, SWITCH, STORAGE };

/* When a key must be there. Those of version 3, from USER_3 on, are unknown to version 2. */
enum need { NEVER, ALWAYS, USER, NEVER_3, USER_3, LAYOUT_3, SPARSE_3, ROW_WISE_3 };

struct key {
    const char *section, *name;
    enum kind kind;
    size_t offset; /* in struct ll_scalesim_config */
    enum need need;
    uint64_t least, most;
};

#define ARCHITECTURE "architecture_presets"
#define AT(member) offsetof(struct ll_scalesim_config, member)
static const struct key keys[] = {
    {"general", "run_name", TEXT, AT(run_name), NEVER, 0, 0},
    {ARCHITECTURE, "ArrayHeight", COUNT, AT(rows), ALWAYS, 1, 65536},
    {ARCHITECTURE, "ArrayWidth", COUNT, AT(columns), ALWAYS, 1, 65536},
    {ARCHITECTURE, "IfmapSramSzkB", COUNT, AT(buffer_kB[LL_SCALESIM_IFMAP]), ALWAYS, 1, MOST_kB},
    {ARCHITECTURE, "FilterSramSzkB", COUNT, AT(buffer_kB[LL_SCALESIM_FILTER]), ALWAYS, 1, MOST_kB},
    {ARCHITECTURE, "OfmapSramSzkB", COUNT, AT(buffer_kB[LL_SCALESIM_OFMAP]), ALWAYS, 1, MOST_kB},
    {ARCHITECTURE, "IfmapOffset", COUNT, AT(first_address[LL_SCALESIM_IFMAP]), NEVER, 0, INT32_MAX},
    {ARCHITECTURE, "FilterOffset", COUNT, AT(first_address[LL_SCALESIM_FILTER]), NEVER, 0, INT32_MAX},
    {ARCHITECTURE, "OfmapOffset", COUNT, AT(first_address[LL_SCALESIM_OFMAP]), NEVER, 0, INT32_MAX},
    {ARCHITECTURE, "Dataflow", DATAFLOW, AT(dataflow), ALWAYS, 0, 0},
    {ARCHITECTURE, "Bandwidth", FIRST_COUNT, AT(words_per_cycle), USER, 1, UINT32_MAX},
    {"run_presets", "InterfaceBandwidth", BANDWIDTH, AT(user_bandwidth), ALWAYS, 0, 0},
    {"layout", "IfmapCustomLayout", SWITCH, AT(own_layout[LL_SCALESIM_IFMAP]), NEVER_3, 0, 0},
    {"layout", "IfmapSRAMBankBandwidth", COUNT, AT(read_words[LL_SCALESIM_IFMAP]), USER_3, 1, UINT32_MAX},
    {"layout", "IfmapSRAMBankNum", COUNT, AT(banks[LL_SCALESIM_IFMAP]), LAYOUT_3, 1, UINT16_MAX},
    {"layout", "IfmapSRAMBankPort", COUNT, AT(ports[LL_SCALESIM_IFMAP]), LAYOUT_3, 1, UINT32_MAX},
    {"layout", "FilterCustomLayout", SWITCH, AT(own_layout[LL_SCALESIM_FILTER]), NEVER_3, 0, 0},
    {"layout", "FilterSRAMBankBandwidth", COUNT, AT(read_words[LL_SCALESIM_FILTER]), USER_3, 1, UINT32_MAX},
    {"layout", "FilterSRAMBankNum", COUNT, AT(banks[LL_SCALESIM_FILTER]), LAYOUT_3, 1, UINT16_MAX},
    {"layout", "FilterSRAMBankPort", COUNT, AT(ports[LL_SCALESIM_FILTER]), LAYOUT_3, 1, UINT32_MAX},
    {"sparsity", "SparsitySupport", SWITCH, AT(sparse), NEVER_3, 0, 0},
    {"sparsity", "SparseRep", STORAGE, AT(storage), SPARSE_3, 0, 0},
    {"sparsity", "OptimizedMapping", SWITCH, AT(row_wise), SPARSE_3, 0, 0},
    {"sparsity", "BlockSize", COUNT, AT(block), ROW_WISE_3, 2, 65536},
    {"sparsity", "RandomNumberGeneratorSeed", COUNT, AT(seed), ROW_WISE_3, 0, UINT32_MAX},
};
enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

struct reading {
    struct ll_arena *arena;
    struct ll_diags *diags;
    struct ll_scalesim_config *config;
    const char *name;
    uint64_t line;
    const char *line_text; /* of the line at hand, NUL-terminated */
    const char *cut_text;  /* its copy, cut into the pieces that complaints point to */
    char *section;
    uint64_t given[KEY_COUNT]; /* the line in which the key was given, 0 for none */
    struct later {             /* a value that counts in USER mode alone, whatever it is otherwise */
        uint64_t line;
        const char *line_text, *cut_text, *value;
    } bandwidth;
    const char *unknown[64], *unknown_in[64]; /* other keys, the first ones, and their sections */
    size_t unknown_count;
    bool failed;
};

/* `at` lies in the cut copy of the line at hand; its column is that of the line as it was read. */
static bool complain(struct reading *reading, const char *at, const char *what, const char *expected)
{
    assert(at >= reading->cut_text);
    struct ll_place place = {.file = reading->name, .line = reading->line, .source_line = reading->line_text};
    place.column = (uint64_t)(at - reading->cut_text) + 1;
    place.width = strlen(at);
    reading->failed = true;
    return ll_complain(reading->diags, place, "`%.60s`: expected %s", what, expected);
}

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    for (size_t length = strlen(text); length > 0 && isspace((unsigned char)text[length - 1]);)
        text[--length] = '\0';
    return text;
}

/* A whole number, as Python's int() reads it, up to a comma when there may be several. */
static bool read_count(struct reading *reading, const struct key *key, const char *value, uint64_t *count)
{
    const char *at = value + (*value == '+');
    *count = 0;
    for (; isdigit((unsigned char)*at) && *count <= key->most; at++)
        *count = *count * 10 + (uint64_t)(*at - '0');
    bool digits = at > value && isdigit((unsigned char)at[-1]);
    at += strspn(at, " \t");
    if (digits && (!*at || (key->kind == FIRST_COUNT && *at == ',')) && *count >= key->least &&
        *count <= key->most)
        return true;
    const char *expected =
        ll_format(reading->arena, "a whole number from %" PRIu64 " to %" PRIu64, key->least, key->most);
    return complain(reading, value, value, expected ? expected : "a whole number");
}

static bool read_word(struct reading *reading, const char *value, const char *const *words, unsigned *index)
{
    for (*index = 0; words[*index]; ++*index)
        if (strcmp(words[*index], value) == 0)
            return true;
    char *list = ll_format(reading->arena, "`%s` or `%s`%s%s%s", words[0], words[1], words[2] ? " or `" : "",
                           words[2] ? words[2] : "", words[2] ? "`" : "");
    return complain(reading, value, value, list ? list : "another word");
}

static bool read_value(struct reading *reading, const struct key *key, const char *value)
{
    static const char *const dataflows[] = {"os", "ws", "is", NULL};
    static const char *const bandwidths[] = {"CALC", "USER", NULL};
    static const char *const storages[] = {"csr", "csc", "ellpack_block", NULL};
    void *member = (char *)reading->config + key->offset;
    assert(key->offset < sizeof *reading->config);
    unsigned index;
    switch (key->kind) {
    case TEXT:
        return (*(const char **)member = ll_copy_text(reading->arena, value, strlen(value))) != NULL;
    case COUNT:
        return read_count(reading, key, value, member);
    case FIRST_COUNT:
        reading->bandwidth = (struct later){reading->line, reading->line_text, reading->cut_text, value};
        return true;
    case DATAFLOW:
        if (read_word(reading, value, dataflows, &index))
            *(enum ll_dataflow *)member = (enum ll_dataflow)index;
        return true;
    case BANDWIDTH:
        if (read_word(reading, value, bandwidths, &index))
            *(bool *)member = index == 1;
        return true;
    case SWITCH:
        *(bool *)member = strcasecmp(value, "true") == 0;
        return *(bool *)member || strcasecmp(value, "false") == 0 ||
               complain(reading, value, value, "`true` or `false`");
    case STORAGE:
        if (read_word(reading, value, storages, &index))
            *(enum ll_scalesim_storage *)member = (enum ll_scalesim_storage)index;
        return true;
    }
    return true;
}

/* What is switched on and changes nothing here: what version 3 can do and version 2 would ignore without a
 * word, and latencies of a DRAM that another program wrote. */
static void look_beyond(struct reading *reading, const char *name, const char *value)
{
    static const char *const switches[] = {"SparsitySupport", "IfmapCustomLayout", "FilterCustomLayout",
                                           "UseRamulatorTrace"};
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        if (!reading->config->beyond && !strcasecmp(switches[i], name) && !strcasecmp(value, "true")) {
            reading->config->beyond = switches[i];
            reading->config->beyond_line = reading->line;
        }
}

/* Whether a name is a key's; version 1 has sizes of buffers without kB. */
static bool is_key(const struct reading *reading, const struct key *key, const char *name)
{
    size_t length = strlen(key->name);
    bool kB = reading->config->version1 && length > 2 && !strcmp(key->name + length - 2, "kB");
    return !strcasecmp(key->name, name) ||
           (kB && strlen(name) == length - 2 && !strncasecmp(key->name, name, length - 2));
}

static void read_key(struct reading *reading, const char *name, const char *value)
{
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (!is_key(reading, &keys[i], name) || strcmp(keys[i].section, reading->section) ||
            (keys[i].need >= NEVER_3 && !reading->config->version3))
            continue;
        if (reading->given[i])
            complain(reading, name, name, "each key once");
        else
            read_value(reading, &keys[i], value);
        reading->given[i] = reading->line;
        return;
    }
    look_beyond(reading, name, value);
    enum { MOST = sizeof reading->unknown / sizeof reading->unknown[0] };
    if (reading->unknown_count == MOST)
        return;
    reading->unknown_in[reading->unknown_count] = reading->section;
    reading->unknown[reading->unknown_count++] = name;
}

static void read_line(struct reading *reading, char *line)
{
    char *text = trim(line);
    reading->cut_text = line;
    if (*text == '\0' || *text == '#' || *text == ';')
        return;
    if (*text == '[') {
        char *end = strchr(text, ']');
        if (!end)
            complain(reading, text, text, "a `]` behind the section's name");
        else
            *end = '\0';
        reading->section = text + 1;
        return;
    }
    char *delimiter = strpbrk(text, ":=");
    if (!delimiter || !reading->section) {
        complain(reading, text, text,
                 delimiter ? "a section such as [general] before the first key"
                           : "`key: value` or a section");
        return;
    }
    *delimiter = '\0';
    char *value = trim(delimiter + 1);
    const char *name = trim(text);
    read_key(reading, name, value);
}

static void read_bandwidth(struct reading *reading)
{
    const struct later *later = &reading->bandwidth;
    reading->line = later->line;
    reading->line_text = later->line_text;
    reading->cut_text = later->cut_text;
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (keys[i].kind == FIRST_COUNT && later->value && reading->config->user_bandwidth)
            read_count(reading, &keys[i], later->value,
                       (uint64_t *)((char *)reading->config + keys[i].offset));
}

/* The section where a key of this name stands, NULL for none. */
static const char *other_section(const struct reading *reading, const struct key *key)
{
    for (size_t i = 0; i < reading->unknown_count; i++)
        if (strcasecmp(reading->unknown[i], key->name) == 0)
            return reading->unknown_in[i];
    return NULL;
}

/* A key of this name may stand in another section, or one that was meant to be it. */
static void complain_missing(struct reading *reading, const struct key *key)
{
    struct ll_place file = {.file = reading->name};
    const char *nearest = ll_nearest(key->name, reading->unknown, reading->unknown_count);
    const char *section = other_section(reading, key);
    if (section)
        ll_complain(reading->diags, file, "no key `%s` in section [%s]; it stands in section [%.40s]",
                    key->name, key->section, section);
    else if (nearest)
        ll_complain(reading->diags, file, "no key `%s` in section [%s]; is it `%.40s`?", key->name,
                    key->section, nearest);
    else
        ll_complain(reading->diags, file, "no key `%s` in section [%s]", key->name, key->section);
}

static bool is_needed(const struct ll_scalesim_config *config, size_t key)
{
    bool own = config->own_layout[LL_SCALESIM_IFMAP] || config->own_layout[LL_SCALESIM_FILTER];
    switch (keys[key].need) {
    case NEVER:
    case NEVER_3:
        return false;
    case ALWAYS: /* version 1 has no bandwidth but the one that it counts */
        return !config->version1 || keys[key].kind != BANDWIDTH;
    case USER:
        return config->user_bandwidth;
    case USER_3:
        return config->version3 && config->user_bandwidth;
    case LAYOUT_3:
        return config->version3 && own;
    case SPARSE_3:
        return config->version3 && config->sparse;
    case ROW_WISE_3:
        return config->version3 && config->sparse && config->row_wise;
    }
    return false;
}

static void check_missing(struct reading *reading)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (!reading->given[i] && is_needed(reading->config, i)) {
            complain_missing(reading, &keys[i]);
            reading->failed = true;
        }
}

/* What version 3 asserts of its layouts. */
static void check_layouts(struct reading *reading)
{
    static const char *const names[] = {"Ifmap", "Filter"};
    const struct ll_scalesim_config *config = reading->config;
    struct ll_place file = {.file = reading->name};
    for (int i = LL_SCALESIM_IFMAP; i <= LL_SCALESIM_FILTER && !reading->failed; i++)
        if (config->user_bandwidth && config->read_words[i] % config->banks[i])
            reading->failed =
                !ll_complain(reading->diags, file,
                             "%sSRAMBankBandwidth, %" PRIu64 ", does not divide by %sSRAMBankNum, %" PRIu64,
                             names[i], config->read_words[i], names[i], config->banks[i]);
    if (config->own_layout[LL_SCALESIM_IFMAP] && config->first_address[LL_SCALESIM_IFMAP] > 0)
        reading->failed =
            !ll_complain(reading->diags, file,
                         "IfmapOffset must be 0 with IfmapCustomLayout, whose addresses begin there");
    if (config->sparse && config->row_wise && config->block > config->rows)
        reading->failed = !ll_complain(reading->diags, file,
                                       "BlockSize, %" PRIu64 ", is larger than ArrayHeight", config->block);
}

/* Up to a line feed, a carriage return or both, as Python has it. */
static size_t line_length(const char *text, const char *end)
{
    size_t length = 0;
    while (text + length < end && text[length] != '\n' && text[length] != '\r')
        length++;
    return length;
}

int ll_scalesim_version_of(const char *text)
{
    return strstr(text, "[layout]") ? 3 : strstr(text, "SramSz") && !strstr(text, "SramSzkB") ? 1 : 2;
}

bool ll_scalesim_read_config(const char *text, size_t length, const char *name, int version,
                             struct ll_arena *arena, struct ll_diags *diags,
                             struct ll_scalesim_config *config)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* the byte order mark that some editors write */
    *config = (struct ll_scalesim_config){.run_name = "scale_run",
                                          .first_address = {0, 10000000, 20000000},
                                          .version1 = version == 1,
                                          .version3 = version == 3,
                                          .read_words = {1, 1},
                                          .banks = {1, 1},
                                          .ports = {2, 2},
                                          .block = 4};
    struct reading *reading = ll_alloc(arena, 1, sizeof *reading);
    if (!reading)
        return false;
    *reading = (struct reading){.arena = arena, .diags = diags, .config = config, .name = name};
    const char *end = text + length;
    if (length >= 3 && memcmp(text, mark, 3) == 0)
        text += 3;
    while (text < end) {
        size_t size = line_length(text, end);
        char *line = ll_copy_text(arena, text, size);
        reading->line_text = ll_copy_text(arena, text, size);
        if (!line || !reading->line_text)
            return false;
        reading->line++;
        read_line(reading, line);
        text += size;
        text += end - text >= 2 && memcmp(text, "\r\n", 2) == 0;
        text += text < end;
    }
    read_bandwidth(reading);
    check_missing(reading);
    if (config->version3)
        check_layouts(reading);
    return !reading->failed;
}

/* The same hardware in our words. SCALE-Sim's three buffers become one memory, which gives and takes what the
 * array can ask for in a cycle; its three private channels become one of three times the bandwidth. In CALC
 * mode the memory outside is as fast as the array, so that nothing waits for it. One cycle is a nanosecond.
 * A word of SCALE-Sim is a byte; elements take other types as fast, which move their own bytes. What is no
 * GEMM would run on lanes as many as the array has columns. */

#define MOST_Bpc UINT64_C(1000000000) /* the fastest memory of a machine: 1e18 B/s */

void ll_scalesim_machine_yaml(const struct ll_scalesim_config *config, bool overlap, struct ll_str *out)
{
    static const char *const dataflows[] = {"os", "ws", "is"};
    assert(config->rows > 0 && config->columns > 0 && (size_t)config->dataflow < 3);
    const uint64_t *kB = config->buffer_kB;
    uint64_t array_Bpc = config->rows + 2 * config->columns;
    uint64_t channels_Bpc = 3 * config->words_per_cycle;
    if (config->version3)
        channels_Bpc = ll_add(ll_add(config->read_words[0], config->read_words[1]), config->words_per_cycle);
    uint64_t channel_Bpc = config->user_bandwidth ? ll_min(channels_Bpc, MOST_Bpc) : array_Bpc;
    ll_str_add(out, "name: from a SCALE-Sim configuration\nkind: systolic\nclock: 1GHz\n");
    ll_str_addf(out,
                "units:\n  - {name: array, model: systolic, count: 1, rows: %" PRIu64 ", cols: %" PRIu64
                ", dataflow: %s, overlap_folds: %s, macs: {int8: 1, i16: 1, f16: 1, bf16: 1, f32: 1}, runs: "
                "[matrix, conv]}\n",
                config->rows, config->columns, dataflows[config->dataflow], overlap ? "true" : "false");
    ll_str_addf(out,
                "  - {name: lanes, model: vector, lanes: %" PRIu64
                ", flops: {f32: 1, int8: 1, i32: 1, bool: 1}}\n",
                config->columns);
    ll_str_addf(out,
                "memory:\n  - {name: sram, size: %" PRIu64 "KiB, bandwidth: %" PRIu64 "B/cycle}\n"
                "  - {name: dram, size: 64TiB, bandwidth: %" PRIu64 "B/cycle}\n",
                kB[LL_SCALESIM_IFMAP] + kB[LL_SCALESIM_FILTER] + kB[LL_SCALESIM_OFMAP], array_Bpc,
                channel_Bpc);
}

struct ll_work ll_scalesim_work(const struct ll_scalesim_layer *layer, const struct ll_scalesim_folds *folds)
{
    assert(folds->m == ll_mul(folds->out_h, folds->out_w) && folds->n == layer->filters);
    if (folds->k < folds->dense_k) /* what is compressed away is computed no more */
        return (struct ll_work){.kind = LL_WORK_GEMM,
                                .dtype = LL_INT8,
                                .flops = ll_mul(2, ll_mul(ll_mul(folds->m, folds->n), folds->k)),
                                .a_bytes = ll_mul(folds->m, folds->k),
                                .b_bytes = ll_mul(folds->k, folds->n),
                                .c_bytes = ll_mul(folds->m, folds->n),
                                .gemm = {.batch = 1, .m = folds->m, .n = folds->n, .k = folds->k}};
    struct ll_work work = {
        .kind = LL_WORK_CONV,
        .dtype = LL_INT8,
        .flops = ll_mul(2, ll_mul(ll_mul(folds->m, folds->n), folds->k)),
        .a_bytes = ll_mul(ll_mul(layer->in_h, layer->in_w), layer->channels),
        .b_bytes = ll_mul(folds->k, folds->n),
        .c_bytes = ll_mul(folds->m, folds->n),
    };
    work.conv = (struct ll_conv){
        .batch = 1,
        .in_h = layer->in_h,
        .in_w = layer->in_w,
        .in_c = layer->channels,
        .out_h = folds->out_h,
        .out_w = folds->out_w,
        .out_c = folds->n,
        .kernel_h = layer->filter_h,
        .kernel_w = layer->filter_w,
        .stride_h = layer->stride_h,
        .stride_w = layer->stride_w,
        .groups = 1,
        .pass = LL_CONV_FORWARD,
    };
    return work;
}

/* SCALE-Sim's three files, byte by byte: blanks behind commas, a comma at the end of each line. */

/* The fewest digits that read back: "d.ddde+xx", at most 23 characters. */
static void shortest_text(double value, char text[static 32])
{
    for (int precision = 0; precision <= 16; precision++) {
        ll_snprintf(text, 32, "%.*e", precision, value);
        if (ll_strtod(text, NULL) == value)
            return;
    }
}

/* Python's repr writes an exponent below 10^-4 and from 10^16 on; between them as many decimals as the
 * shortest text has digits behind the point. */
void ll_scalesim_float_text(double value, char text[static 32])
{
    if (!isfinite(value)) {
        snprintf(text, 32, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    shortest_text(value, text);
    const char *e = strchr(text, 'e');
    int exponent = (int)strtol(e + 1, NULL, 10);
    int digits = (int)(e - text) - (value < 0) - (e - text > 2 + (value < 0));
    if (exponent < -4 || exponent >= 16)
        return;
    ll_snprintf(text, 32, "%.*f", digits - 1 > exponent ? digits - 1 - exponent : 1, value);
}

static void add_float(struct ll_str *out, double value)
{
    char text[32];
    ll_scalesim_float_text(value, text);
    ll_str_addf(out, ", %s", text);
}

static void add_headings(struct ll_str *out, const char *const *headings)
{
    ll_str_add(out, "LayerID");
    for (; *headings; headings++)
        ll_str_addf(out, ", %s", *headings);
    ll_str_add(out, ",\n");
}

static void compute_header(const struct ll_scalesim_config *config, struct ll_str *out)
{
    static const char *const headings[] = {"Total Cycles (incl. prefetch)",
                                           "Total Cycles",
                                           "Stall Cycles",
                                           "Overall Util %",
                                           "Mapping Efficiency %",
                                           "Compute Util %",
                                           NULL};
    add_headings(out, headings + !config->version3);
}

static void add_compute(const struct ll_scalesim_config *config, const struct ll_scalesim_result *result,
                        uint64_t layer_id, struct ll_str *out)
{
    ll_str_addf(out, "%" PRIu64, layer_id);
    if (config->version3)
        ll_str_addf(out, ", %" PRId64, result->prefetch_cycles);
    ll_str_addf(out, ", %" PRId64 ", %" PRId64, result->total_cycles, result->stall_cycles);
    add_float(out, result->overall_util_pct);
    add_float(out, result->mapping_pct);
    add_float(out, result->compute_util_pct);
    ll_str_add(out, ",\n");
}

static void bandwidth_header(const struct ll_scalesim_config *config, struct ll_str *out)
{
    static const char *const dense[] = {"Avg IFMAP SRAM BW",
                                        "Avg FILTER SRAM BW",
                                        "Avg OFMAP SRAM BW",
                                        "Avg IFMAP DRAM BW",
                                        "Avg FILTER DRAM BW",
                                        "Avg OFMAP DRAM BW",
                                        NULL};
    static const char *const sparse[] = {
        "Avg IFMAP SRAM BW", "Avg FILTER SRAM BW", "Avg FILTER Metadata SRAM BW", "Avg OFMAP SRAM BW",
        "Avg IFMAP DRAM BW", "Avg FILTER DRAM BW", "Avg OFMAP DRAM BW",           NULL};
    add_headings(out, config->sparse ? sparse : dense);
}

static void add_bandwidth(const struct ll_scalesim_config *config, const struct ll_scalesim_result *result,
                          uint64_t layer_id, struct ll_str *out)
{
    ll_str_addf(out, "%" PRIu64, layer_id);
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++) {
        if (i == LL_SCALESIM_OFMAP && config->sparse)
            add_float(out, result->metadata_bandwidth);
        add_float(out, result->sram[i].bandwidth);
    }
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++)
        add_float(out, result->dram[i].bandwidth);
    ll_str_add(out, ",\n");
}

static void detail_header(const struct ll_scalesim_config *config, struct ll_str *out)
{
    static const char *const headings[] = {"SRAM IFMAP Start Cycle",
                                           "SRAM IFMAP Stop Cycle",
                                           "SRAM IFMAP Reads",
                                           "SRAM Filter Start Cycle",
                                           "SRAM Filter Stop Cycle",
                                           "SRAM Filter Reads",
                                           "SRAM OFMAP Start Cycle",
                                           "SRAM OFMAP Stop Cycle",
                                           "SRAM OFMAP Writes",
                                           "DRAM IFMAP Start Cycle",
                                           "DRAM IFMAP Stop Cycle",
                                           "DRAM IFMAP Reads",
                                           "DRAM Filter Start Cycle",
                                           "DRAM Filter Stop Cycle",
                                           "DRAM Filter Reads",
                                           "DRAM OFMAP Start Cycle",
                                           "DRAM OFMAP Stop Cycle",
                                           "DRAM OFMAP Writes",
                                           NULL};
    (void)config;
    add_headings(out, headings);
}

/* SCALE-Sim counts fractions of a read where it takes a sparse filter's inputs M / N times. */
static void add_port(struct ll_str *out, const struct ll_scalesim_port *port, double fractions)
{
    add_float(out, (double)port->start_cycle);
    add_float(out, (double)port->stop_cycle);
    if (fractions > 0)
        add_float(out, fractions);
    else
        ll_str_addf(out, ", %" PRIu64, port->words);
}

static void add_detail(const struct ll_scalesim_config *config, const struct ll_scalesim_result *result,
                       uint64_t layer_id, struct ll_str *out)
{
    (void)config;
    ll_str_addf(out, "%" PRIu64, layer_id);
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++)
        add_port(out, &result->sram[i], i == LL_SCALESIM_IFMAP ? result->sparse_ifmap_reads : 0);
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++)
        add_port(out, &result->dram[i], 0);
    ll_str_add(out, ",\n");
}

static void sparse_header(const struct ll_scalesim_config *config, struct ll_str *out)
{
    static const char *const headings[] = {"Sparsity Representation",       "Original Filter Storage",
                                           "New Storage (Filter+Metadata)", "Filter Metadata Storage",
                                           "Avg FILTER Metadata SRAM BW",   NULL};
    (void)config;
    add_headings(out, headings);
}

/* Python keeps the storage of CSR and CSC as whole numbers, that of ELLPACK as floats. */
static void add_sparse(const struct ll_scalesim_config *config, const struct ll_scalesim_result *result,
                       uint64_t layer_id, struct ll_str *out)
{
    static const char *const storages[] = {"csr", "csc", "ellpack_block"};
    ll_str_addf(out, "%" PRIu64 ", %s, %" PRIu64, layer_id, storages[config->storage], result->filter_words);
    if (config->storage == LL_SCALESIM_ELLPACK) {
        add_float(out, result->stored_words);
        add_float(out, result->metadata_words);
    } else {
        ll_str_addf(out, ", %.0f, %.0f", result->stored_words, result->metadata_words);
    }
    add_float(out, result->metadata_bandwidth);
    ll_str_add(out, ",\n");
}

const struct ll_scalesim_report ll_scalesim_reports[LL_SCALESIM_REPORTS] = {
    {"COMPUTE_REPORT.csv", compute_header, add_compute},
    {"BANDWIDTH_REPORT.csv", bandwidth_header, add_bandwidth},
    {"DETAILED_ACCESS_REPORT.csv", detail_header, add_detail},
    {"SPARSE_REPORT.csv", sparse_header, add_sparse},
};

int ll_scalesim_report_count(const struct ll_scalesim_config *config)
{
    return config->sparse ? LL_SCALESIM_REPORTS : LL_SCALESIM_REPORTS - 1;
}
