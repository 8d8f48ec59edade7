/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as text: reading a plan from YAML or options, checking it, writing it as JSON or as options. A key is
 * a row of plan_keys.def, a type of value three functions here. */
#include "sim/parallel/plan.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/machine/node.h"
#include "sim/machine/quantity.h"
#include "sim/parallel/pipeline.h"
#include "tracer/base/num.h"
#include "tracer/base/str.h"

struct row;

/* A type of value: reads a text, writes JSON, writes words. */
struct type {
    bool (*read)(const struct row *row, const char *text, void *value);
    void (*write)(const void *value, struct ll_json *json);
    void (*say)(const void *value, struct ll_str *out);
    const char *expected; /* NULL: a number between the row's bounds */
};

struct row {
    struct ll_plan_key key;
    const struct type *type;
    size_t offset, size;
    uint64_t least, most;
};

static const char *const recomputes[LL_RECOMPUTE_COUNT] = {
#define X(word, name, help) name,
    LL_RECOMPUTE_LIST(X)
#undef X
};

enum { MOST_COMPRESSED = 1000000 };

/* --- types --- */

static bool read_COUNT(const struct row *row, const char *text, void *value)
{
    uint64_t count;
    if (!ll_count_parse(text, &count) || count < row->least || count > row->most)
        return false;
    *(uint64_t *)value = count;
    return true;
}

static void write_COUNT(const void *value, struct ll_json *json)
{
    ll_json_count(json, *(const uint64_t *)value);
}

static void say_COUNT(const void *value, struct ll_str *out)
{
    ll_str_addf(out, "%" PRIu64, *(const uint64_t *)value);
}

static bool read_SIZE(const struct row *row, const char *text, void *value)
{
    struct ll_quantity quantity;
    const char *unit;
    (void)row;
    if (strcmp(text, "0") == 0) {
        *(uint64_t *)value = 0;
        return true;
    }
    if (ll_quantity_parse(text, &quantity, &unit) != LL_QUANTITY_FINE ||
        quantity.dimension != LL_DIMENSION_SIZE || quantity.value > 0x1p60)
        return false;
    *(uint64_t *)value = (uint64_t)quantity.value;
    return true;
}

static void say_SIZE(const void *value, struct ll_str *out)
{
    ll_str_add(out, ll_quantity_text((double)*(const uint64_t *)value, LL_DIMENSION_SIZE).text);
}

static bool read_FLAG(const struct row *row, const char *text, void *value)
{
    (void)row;
    *(bool *)value = strcmp(text, "true") == 0;
    return *(bool *)value || strcmp(text, "false") == 0;
}

static void write_FLAG(const void *value, struct ll_json *json)
{
    ll_json_bool(json, *(const bool *)value);
}

static bool read_SCHEDULE(const struct row *row, const char *text, void *value)
{
    (void)row;
    for (unsigned i = 0; i < LL_SCHEDULE_COUNT; i++)
        if (strcmp(ll_schedule_name((enum ll_schedule)i), text) == 0) {
            *(enum ll_schedule *)value = (enum ll_schedule)i;
            return true;
        }
    return false;
}

static void write_SCHEDULE(const void *value, struct ll_json *json)
{
    ll_json_text(json, ll_schedule_name(*(const enum ll_schedule *)value));
}

static void say_SCHEDULE(const void *value, struct ll_str *out)
{
    ll_str_add(out, ll_schedule_name(*(const enum ll_schedule *)value));
}

static const char *const cp_comms[LL_CP_COMM_COUNT] = {
#define X(word, name, help) name,
    LL_CP_COMM_LIST(X)
#undef X
};

static bool read_CP_COMM(const struct row *row, const char *text, void *value)
{
    (void)row;
    for (unsigned i = 0; i < LL_CP_COMM_COUNT; i++)
        if (strcmp(cp_comms[i], text) == 0) {
            *(enum ll_cp_comm *)value = (enum ll_cp_comm)i;
            return true;
        }
    return false;
}

static void write_CP_COMM(const void *value, struct ll_json *json)
{
    ll_json_text(json, cp_comms[*(const enum ll_cp_comm *)value]);
}

static void say_CP_COMM(const void *value, struct ll_str *out)
{
    ll_str_add(out, cp_comms[*(const enum ll_cp_comm *)value]);
}

static bool read_RECOMPUTE(const struct row *row, const char *text, void *value)
{
    (void)row;
    for (unsigned i = 0; i < LL_RECOMPUTE_COUNT; i++)
        if (strcmp(recomputes[i], text) == 0) {
            *(enum ll_recompute *)value = (enum ll_recompute)i;
            return true;
        }
    return false;
}

static void write_RECOMPUTE(const void *value, struct ll_json *json)
{
    ll_json_text(json, recomputes[*(const enum ll_recompute *)value]);
}

static void say_RECOMPUTE(const void *value, struct ll_str *out)
{
    ll_str_add(out, recomputes[*(const enum ll_recompute *)value]);
}

static const char *const recipe_names[LL_RECIPE_COUNT] = {
#define X(word, name, help) name,
    LL_RECIPE_LIST(X)
#undef X
};

static bool read_RECIPE(const struct row *row, const char *text, void *value)
{
    (void)row;
    for (unsigned i = 0; i < LL_RECIPE_COUNT; i++)
        if (strcmp(recipe_names[i], text) == 0) {
            *(enum ll_recipe *)value = (enum ll_recipe)i;
            return true;
        }
    return false;
}

static void write_RECIPE(const void *value, struct ll_json *json)
{
    ll_json_text(json, recipe_names[*(const enum ll_recipe *)value]);
}

static void say_RECIPE(const void *value, struct ll_str *out)
{
    ll_str_add(out, recipe_names[*(const enum ll_recipe *)value]);
}

static const struct {
    const char *name;
    bool takes; /* a number follows it */
} compressions[LL_COMPRESSION_COUNT] = {
#define X(word, name, takes, help) {name, takes},
    LL_COMPRESSION_LIST(X)
#undef X
};

/* A name, with a colon and a number behind it where it takes one. */
static bool read_COMPRESSION(const struct row *row, const char *text, void *value)
{
    const size_t length = strcspn(text, ":");
    struct ll_compression read = {0};
    (void)row;
    while (read.kind < LL_COMPRESSION_COUNT && (strlen(compressions[read.kind].name) != length ||
                                                strncmp(compressions[read.kind].name, text, length) != 0))
        read.kind++;
    if (read.kind == LL_COMPRESSION_COUNT || compressions[read.kind].takes != (text[length] == ':'))
        return false;
    if (text[length] == ':' && (!ll_count_parse(text + length + 1, &read.amount) || read.amount < 1 ||
                                read.amount > MOST_COMPRESSED))
        return false;
    *(struct ll_compression *)value = read;
    return true;
}

static void say_COMPRESSION(const void *value, struct ll_str *out)
{
    const struct ll_compression *said = value;
    ll_str_add(out, compressions[said->kind].name);
    if (compressions[said->kind].takes)
        ll_str_addf(out, ":%" PRIu64, said->amount);
}

static void write_COMPRESSION(const void *value, struct ll_json *json)
{
    struct ll_str words = {0};
    say_COMPRESSION(value, &words);
    ll_json_text(json, words.text ? words.text : "");
    ll_str_release(&words);
}

/* Flags that a value is made of, by their names, one behind the other in memory. */
struct names {
    const char *const *names;
    size_t count;
};

/* Names with commas between, or none at all. */
static bool read_flags(const struct names *names, const char *text, bool *flags)
{
    memset(flags, 0, names->count * sizeof *flags);
    for (size_t length; *text; text += length + (text[length] == ',')) {
        size_t i = 0;
        length = strcspn(text, ",");
        while (i < names->count &&
               (strlen(names->names[i]) != length || strncmp(names->names[i], text, length) != 0))
            i++;
        if (i == names->count)
            return false;
        flags[i] = true;
    }
    return true;
}

static void write_flags(const struct names *names, const bool *flags, struct ll_json *json)
{
    ll_json_open_list(json);
    for (size_t i = 0; i < names->count; i++)
        if (flags[i])
            ll_json_text(json, names->names[i]);
    ll_json_close_list(json);
}

static void say_flags(const struct names *names, const bool *flags, struct ll_str *out)
{
    for (size_t i = 0, some = 0; i < names->count; i++)
        if (flags[i])
            ll_str_addf(out, "%s%s", some++ ? "," : "", names->names[i]);
}

enum { MOST_FLAGS = 4 };
static const struct names offloads = {(const char *const[]){"optimizer", "activations", "weights"}, 3},
                          excepts = {(const char *const[]){"unread", "qkv", "out", "gemms"}, 4},
                          gemms = {(const char *const[]){"fprop", "dgrad", "wgrad"}, 3};

static bool read_OFFLOAD(const struct row *row, const char *text, void *value)
{
    bool flags[MOST_FLAGS];
    (void)row;
    if (!read_flags(&offloads, text, flags))
        return false;
    *(struct ll_offload *)value = (struct ll_offload){flags[0], flags[1], flags[2]};
    return true;
}

static void write_OFFLOAD(const void *value, struct ll_json *json)
{
    const struct ll_offload *of = value;
    write_flags(&offloads, (const bool[]){of->optimizer, of->activations, of->weights}, json);
}

static void say_OFFLOAD(const void *value, struct ll_str *out)
{
    const struct ll_offload *of = value;
    say_flags(&offloads, (const bool[]){of->optimizer, of->activations, of->weights}, out);
}

static bool read_EXCEPT(const struct row *row, const char *text, void *value)
{
    bool flags[MOST_FLAGS];
    (void)row;
    if (!read_flags(&excepts, text, flags))
        return false;
    *(struct ll_recompute_except *)value =
        (struct ll_recompute_except){flags[0], flags[1], flags[2], flags[3]};
    return true;
}

static void write_EXCEPT(const void *value, struct ll_json *json)
{
    const struct ll_recompute_except *of = value;
    write_flags(&excepts, (const bool[]){of->unread, of->qkv, of->out, of->gemms}, json);
}

static void say_EXCEPT(const void *value, struct ll_str *out)
{
    const struct ll_recompute_except *of = value;
    say_flags(&excepts, (const bool[]){of->unread, of->qkv, of->out, of->gemms}, out);
}

/* One at least: without any nothing would be narrow. */
static bool read_GEMMS(const struct row *row, const char *text, void *value)
{
    bool flags[MOST_FLAGS];
    (void)row;
    if (!read_flags(&gemms, text, flags) || !(flags[0] || flags[1] || flags[2]))
        return false;
    *(struct ll_low_gemms *)value = (struct ll_low_gemms){flags[0], flags[1], flags[2]};
    return true;
}

static void write_GEMMS(const void *value, struct ll_json *json)
{
    const struct ll_low_gemms *of = value;
    write_flags(&gemms, (const bool[]){of->fprop, of->dgrad, of->wgrad}, json);
}

static void say_GEMMS(const void *value, struct ll_str *out)
{
    const struct ll_low_gemms *of = value;
    say_flags(&gemms, (const bool[]){of->fprop, of->dgrad, of->wgrad}, out);
}

enum { SLOWEST = 1000 };

/* A share and a factor, with a colon between, or none. */
static bool read_SLOW(const struct row *row, const char *text, void *value)
{
    struct ll_slow_share read = {.factor = 1};
    const size_t length = strcspn(text, ":");
    char share[32];
    (void)row;
    if (strcmp(text, "none") != 0) {
        if (text[length] != ':' || length >= sizeof share)
            return false;
        memcpy(share, text, length);
        share[length] = '\0';
        if (!ll_number_parse(share, "", &read.share) ||
            !ll_number_parse(text + length + 1, "", &read.factor) ||
            !(read.share >= 0 && read.share <= 1 && read.factor >= 1 && read.factor <= SLOWEST))
            return false;
    }
    *(struct ll_slow_share *)value = read;
    return true;
}

static void say_SLOW(const void *value, struct ll_str *out)
{
    const struct ll_slow_share *said = value;
    if (said->share > 0)
        ll_str_addf(out, "%.10g:%.10g", said->share, said->factor);
    else
        ll_str_add(out, "none");
}

static void write_SLOW(const void *value, struct ll_json *json)
{
    struct ll_str words = {0};
    say_SLOW(value, &words);
    ll_json_text(json, words.text ? words.text : "");
    ll_str_release(&words);
}

/* "none" is none, as in a file that takes back what another one says. */
static bool read_LAYOUT(const struct row *row, const char *text, void *value)
{
    struct ll_layout layout;
    (void)row;
    const bool none = strcmp(text, "none") == 0;
    if (strlen(text) >= LL_LAYOUT_ROOM ||
        (!none && strcmp(text, "auto") != 0 && !ll_layout_read(text, &layout, NULL, 0)))
        return false;
    memset(value, 0, LL_LAYOUT_ROOM);
    memcpy(value, text, none ? 0 : strlen(text));
    return true;
}

static void say_LAYOUT(const void *value, struct ll_str *out)
{
    const char *text = value;
    ll_str_addf(out, strpbrk(text, "|(*") ? "'%s'" : "%s", *text ? text : "none");
}

static void write_LAYOUT(const void *value, struct ll_json *json)
{
    ll_json_text(json, *(const char *)value ? value : "none");
}

/* Numbers with commas between, at least one for each of two pools; "none" for no word on it. */
static bool read_STAGES(const struct row *row, const char *text, void *value)
{
    uint64_t read[LL_MOST_POOLS] = {0};
    size_t count = 0;
    (void)row;
    bool right = true;
    for (const char *at = text; right && strcmp(text, "none") != 0; count++) {
        const size_t length = strcspn(at, ",");
        char number[24];
        right = count < LL_MOST_POOLS && length < sizeof number;
        if (!right)
            break;
        memcpy(number, at, length);
        number[length] = '\0';
        right = ll_count_parse(number, &read[count]) && read[count] >= 1 && read[count] <= 1u << 20;
        if (!at[length])
            break;
        at += length + 1;
    }
    if (right)
        memcpy(value, read, sizeof read);
    return right;
}

static void say_STAGES(const void *value, struct ll_str *out)
{
    const uint64_t *stages = value;
    for (size_t i = 0; i < LL_MOST_POOLS && stages[i] > 0; i++)
        ll_str_addf(out, "%s%" PRIu64, i ? "," : "", stages[i]);
    if (stages[0] == 0)
        ll_str_add(out, "none");
}

static void write_STAGES(const void *value, struct ll_json *json)
{
    const uint64_t *stages = value;
    ll_json_open_list(json);
    for (size_t i = 0; i < LL_MOST_POOLS && stages[i] > 0; i++)
        ll_json_count(json, stages[i]);
    ll_json_close_list(json);
}

static const struct type
    type_COUNT = {read_COUNT, write_COUNT, say_COUNT, NULL},
    type_SIZE = {read_SIZE, write_COUNT, say_SIZE, "a size, as in 25MiB, or 0"},
    type_FLAG = {read_FLAG, write_FLAG, NULL, "true or false"},
    type_SCHEDULE = {read_SCHEDULE, write_SCHEDULE, say_SCHEDULE,
                     "gpipe, 1f1b, interleaved, breadth_first, zb_h1, zb_h2, zb_v, dualpipe or dualpipe_v"},
    type_RECOMPUTE = {read_RECOMPUTE, write_RECOMPUTE, say_RECOMPUTE, "none, selective or full"},
    type_COMPRESSION = {read_COMPRESSION, write_COMPRESSION, say_COMPRESSION,
                        "none, bf16, f8, powersgd:RANK or top_k:N, with a number from 1 to 1000000"},
    type_RECIPE = {read_RECIPE, write_RECIPE, say_RECIPE,
                   "none, delayed, tensorwise, blockwise, mxfp8 or nvfp4"},
    type_EXCEPT = {read_EXCEPT, write_EXCEPT, say_EXCEPT, "some of unread, qkv, out, gemms"},
    type_GEMMS = {read_GEMMS, write_GEMMS, say_GEMMS, "some of fprop, dgrad, wgrad"},
    type_CP_COMM = {read_CP_COMM, write_CP_COMM, say_CP_COMM, "all_gather, a2a or ring"},
    type_STAGES = {read_STAGES, write_STAGES, say_STAGES,
                   "numbers of stages with commas between, as in 4,4, for at most 4 pools"},
    type_LAYOUT = {read_LAYOUT, write_LAYOUT, say_LAYOUT,
                   "auto or a layout of less than 512 letters, as in E|t*4|(tt|)*2L: virtual stages with | "
                   "between, E first where it is, L last, t for each layer"},
    type_SLOW = {read_SLOW, write_SLOW, say_SLOW,
                 "none or SHARE:FACTOR, as in 0.01:1.5, a share from 0 to 1 and a factor from 1 to 1000"},
    type_OFFLOAD = {read_OFFLOAD, write_OFFLOAD, say_OFFLOAD, "some of optimizer, activations, weights"};

static const struct row rows[] = {
#define LL_PLAN_KEY(key, option, value, type, member, least, most, help)                                     \
    {{key, option, value, help},                                                                             \
     &type_##type,                                                                                           \
     offsetof(struct ll_parallel, member),                                                                   \
     sizeof((struct ll_parallel *)0)->member,                                                                \
     least,                                                                                                  \
     most},
#include "sim/parallel/plan_keys.def"
#undef LL_PLAN_KEY
};

enum { ROWS = sizeof rows / sizeof *rows };

size_t ll_plan_key_count(void)
{
    return ROWS;
}

struct ll_plan_key ll_plan_key_at(size_t i)
{
    assert(i < ROWS);
    return rows[i].key;
}

size_t ll_plan_member_of(size_t i)
{
    assert(i < ROWS);
    return rows[i].offset;
}

bool ll_plan_key_is_list(size_t i)
{
    assert(i < ROWS);
    const struct type *type = rows[i].type;
    return type == &type_OFFLOAD || type == &type_GEMMS || type == &type_STAGES || type == &type_LAYOUT;
}

/* Values are written by rows alone, so that what pads them is as in a plan of one. */
bool ll_plan_member_equals(size_t i, const struct ll_parallel *a, const struct ll_parallel *b)
{
    assert(i < ROWS);
    return memcmp((const char *)a + rows[i].offset, (const char *)b + rows[i].offset, rows[i].size) == 0;
}

void ll_plan_take_member(size_t i, const struct ll_parallel *from, struct ll_parallel *to)
{
    assert(i < ROWS);
    memcpy((char *)to + rows[i].offset, (const char *)from + rows[i].offset, rows[i].size);
}

/* --- reading --- */

struct ll_parallel ll_plan_of_one(void)
{
    return (struct ll_parallel){.data = 1,
                                .tensor = 1,
                                .context = 1,
                                .pipeline = 1,
                                .expert = 1,
                                .schedule = LL_SCHEDULE_ONE_F_ONE_B,
                                .chunks = 1,
                                .bucket_bytes = 25 << 20,
                                .overlap = true,
                                .prefetch = 1,
                                .pass_overlap = true,
                                .low_precision = {.gemms = {true, true, true}},
                                .parts = 1,
                                .stragglers = {.factor = 1},
                                .slow_links = {.factor = 1},
                                .seed = 1};
}

static bool complain_of_key(const char *key, struct ll_place place, struct ll_diags *diags)
{
    const char *keys[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        keys[i] = rows[i].key.key;
    const char *near = ll_nearest(key, keys, ROWS);
    struct ll_shown shown = ll_shown_text(key);
    if (near)
        return ll_complain(diags, place, "no key `%s` here; did you mean `%s`?", shown.text, near);
    return ll_complain(diags, place, "no key `%s` here", shown.text);
}

/* NULL when there is none. */
static const struct row *row_of(const char *key)
{
    const struct row *row = rows;
    while (row < rows + ROWS && strcmp(row->key.key, key) != 0)
        row++;
    return row < rows + ROWS ? row : NULL;
}

size_t ll_plan_key_index(const char *key)
{
    const struct row *row = row_of(key);
    assert(row);
    return (size_t)(row - rows);
}

bool ll_plan_key_is_known(const char *key, struct ll_place place, struct ll_diags *diags)
{
    return row_of(key) || complain_of_key(key, place, diags);
}

bool ll_plan_set(struct ll_parallel *plan, const char *key, const char *text, struct ll_place place,
                 struct ll_diags *diags)
{
    const struct row *row = row_of(key);
    if (!row)
        return complain_of_key(key, place, diags);
    if (row->type->read(row, text, (char *)plan + row->offset))
        return true;
    struct ll_shown shown = ll_shown_text(text);
    if (row->type->expected)
        return ll_complain(diags, place, "`%s: %s`: expected %s", key, shown.text, row->type->expected);
    return ll_complain(diags, place, "`%s: %s`: expected a whole number from %" PRIu64 " to %" PRIu64, key,
                       shown.text, row->least, row->most);
}

/* The texts of a list, with commas between. */
static bool set_list(struct ll_parallel *plan, const struct ll_node *list, struct ll_diags *diags)
{
    struct ll_str text = {0};
    bool right = true;
    for (const struct ll_node *item = list->first; item; item = item->next)
        if (item->type == LL_NODE_SCALAR)
            ll_str_addf(&text, "%s%s", item == list->first ? "" : ",", item->text);
        else
            right = ll_complain(diags, item->place, "expected text, not %s", ll_node_type_name(item->type));
    if (text.failed)
        right = ll_complain(diags, list->place, "memory ran out");
    right = right && ll_plan_set(plan, list->key, text.text ? text.text : "", list->place, diags);
    ll_str_release(&text);
    return right;
}

bool ll_plan_parse(struct ll_parallel *plan, const char *text, size_t length, const char *name,
                   struct ll_diags *diags)
{
    struct ll_arena arena = {0};
    size_t before = diags->count;
    const struct ll_node *root = ll_node_parse(&arena, text, length, name, diags);
    if (root && root->type != LL_NODE_MAP)
        ll_complain(diags, root->place, "expected a map of keys, as in `dp: 8`, not %s",
                    ll_node_type_name(root->type));
    for (const struct ll_node *node = root && root->type == LL_NODE_MAP ? root->first : NULL; node;
         node = node->next) {
        if (node->type == LL_NODE_SCALAR)
            ll_plan_set(plan, node->key, node->text, node->key_place, diags);
        else if (node->type == LL_NODE_LIST)
            set_list(plan, node, diags);
        else
            ll_complain(diags, node->place, "`%s`: expected a value, not a map", ll_node_shown(node).text);
    }
    ll_arena_release(&arena);
    return root && diags->count == before;
}

uint64_t ll_pool_of(const struct ll_parallel *plan, uint64_t pools, uint64_t stage)
{
    assert(pools > 0 && pools <= LL_MOST_POOLS);
    const uint64_t each = plan->pipeline / pools, longer = plan->pipeline % pools;
    uint64_t pool = 0, end = 0;
    for (; pool + 1 < pools; pool++) {
        end += plan->pool_stages[0] > 0 ? plan->pool_stages[pool] : each + (pool < longer);
        if (stage < end)
            break;
    }
    return pool;
}

/* --- checking --- */

static const struct ll_place nowhere;

/* "dp 4", or "dp 4 x cp 2" where devices share sequences. */
static void complain_of_devices(const struct ll_parallel *plan, uint64_t devices, struct ll_diags *diags)
{
    char context[32] = "";
    if (plan->context > 1)
        snprintf(context, sizeof context, " x cp %" PRIu64, plan->context);
    ll_complain(diags, nowhere,
                "dp %" PRIu64 "%s x tp %" PRIu64 " x pp %" PRIu64 ": the machine's network joins %" PRIu64
                " devices",
                plan->data, context, plan->tensor, plan->pipeline, devices);
}

static void complain_of_divisor(const struct ll_parallel *plan, const char *key, uint64_t ways,
                                struct ll_diags *diags)
{
    char context[32] = "";
    if (plan->context > 1)
        snprintf(context, sizeof context, " x cp %" PRIu64, plan->context);
    ll_complain(diags, nowhere, "%s %" PRIu64 ": expected a divisor of dp %" PRIu64 "%s", key, ways,
                plan->data, context);
}

/* Chunks are for some schedules as many as one likes, two for those that fold the model or have it twice. */
static void check_schedule(const struct ll_parallel *plan, struct ll_diags *diags)
{
    const char *name = ll_schedule_name(plan->schedule);
    bool many = plan->schedule == LL_SCHEDULE_INTERLEAVED || plan->schedule == LL_SCHEDULE_BREADTH_FIRST,
         two = ll_schedule_placement(plan->schedule) != LL_PLACED_AROUND;
    if (plan->chunks > 1 && !many && !two)
        ll_complain(diags, nowhere,
                    "chunks %" PRIu64 ": only the schedules interleaved and breadth_first have more than one",
                    plan->chunks);
    if (plan->chunks < 2 && many)
        ll_complain(diags, nowhere, "schedule %s: chunks, the virtual stages of a device, are 2 or more",
                    name);
    if (plan->chunks != 2 && two)
        ll_complain(diags, nowhere, "schedule %s: a device has two virtual stages; expected chunks 2", name);
    if (plan->pipeline < 2 && (many || two || ll_schedule_splits(plan->schedule)))
        ll_complain(diags, nowhere, "schedule %s: expected several stages, there is pp 1", name);
    if (plan->schedule == LL_SCHEDULE_DUALPIPE && plan->pipeline % 2 != 0)
        ll_complain(diags, nowhere, "schedule dualpipe: expected an even pp, not %" PRIu64, plan->pipeline);
}

/* Layers are divided in one way. */
static void check_split(const struct ll_parallel *plan, struct ll_diags *diags)
{
    const struct ll_layer_split *split = &plan->split;
    struct ll_layout layout;
    const bool numbers = split->first > 0 || split->last > 0, ends = split->embedding || split->loss,
               twice = ll_schedule_placement(plan->schedule) == LL_PLACED_BOTH_WAYS;
    const uint64_t parts = ll_mul(plan->pipeline, twice ? 1 : plan->chunks);
    if (ends && numbers)
        ll_complain(diags, nowhere,
                    "account_for_%s_in_pipeline_split: not together with first_stage_layers and "
                    "last_stage_layers",
                    split->embedding ? "embedding" : "loss");
    if ((ends || *split->layout) && parts == 1)
        ll_complain(diags, nowhere, "%s: expected several stages, there is pp 1",
                    *split->layout     ? "pipeline_model_parallel_layout"
                    : split->embedding ? "account_for_embedding_in_pipeline_split"
                                       : "account_for_loss_in_pipeline_split");
    if (*split->layout && (ends || numbers || split->evenly))
        ll_complain(diags, nowhere,
                    "pipeline_model_parallel_layout: not together with other keys that divide layers");
    else if (*split->layout && parts > 1 && !ll_split_is_by_cost(split) &&
             ll_layout_read(split->layout, &layout, NULL, 0) && layout.parts != parts)
        ll_complain(diags, nowhere,
                    "pipeline_model_parallel_layout: it has %" PRIu32
                    " virtual stages; expected pp x chunks, %" PRIu64,
                    layout.parts, parts);
}

/* What is said of casts and of gathering weights must have casts, and weights to gather. */
static void check_idle_keys(const struct ll_parallel *plan, struct ll_diags *diags)
{
    const struct ll_low_precision *low = &plan->low_precision;
    const int taken = low->gemms.fprop + low->gemms.dgrad + low->gemms.wgrad;
    const bool some = taken == 1 || taken == 2 || low->first_kept > 0 || low->last_kept > 0,
               by_tensor = low->recipe == LL_RECIPE_DELAYED || low->recipe == LL_RECIPE_TENSORWISE;
    if (some && low->recipe == LL_RECIPE_NONE)
        ll_complain(diags, nowhere, "low_precision none: no GEMM is narrow, so that none can be left out");
    if (low->turned_copies && !by_tensor)
        ll_complain(diags, nowhere,
                    "turned_copies: expected low_precision delayed or tensorwise, not %s, whose casts make "
                    "such copies where they need them",
                    recipe_names[low->recipe]);
    if (plan->prefetch > 1 && plan->zero < 3 && !plan->offload.weights)
        ll_complain(diags, nowhere, "prefetch %" PRIu64 ": no weights are gathered with zero %" PRIu64,
                    plan->prefetch, plan->zero);
    if (ll_recompute_excepts(&plan->recompute_except) && plan->recompute != LL_RECOMPUTE_FULL)
        ll_complain(diags, nowhere, "recompute_except: expected recompute full, not %s",
                    recomputes[plan->recompute]);
    if (plan->scatter_waits && plan->zero < 2)
        ll_complain(diags, nowhere, "scatter_waits: no gradients are reduce-scattered with zero %" PRIu64,
                    plan->zero);
    if (plan->compression.kind != LL_COMPRESSION_NONE && plan->data == 1 && plan->context == 1)
        ll_complain(diags, nowhere, "grad_compression %s: expected replicas, between which gradients go",
                    compressions[plan->compression.kind].name);
    if (plan->seed > 1 && plan->stragglers.share == 0 && plan->slow_links.share == 0)
        ll_complain(diags, nowhere, "seed %" PRIu64 ": expected stragglers or slow_links, which it draws",
                    plan->seed);
}

/* Whether the numbers of devices go together: data, context, tensor and pipeline multiply to those that
 * there are, expert and ZeRO groups divide the replicas, and the schedule has the stages that it needs. */
static bool check_ways(const struct ll_parallel *plan, uint64_t devices, struct ll_diags *diags,
                       struct ll_plan_sizes *sizes)
{
    size_t before = diags->count;
    uint64_t replicas = ll_mul(plan->data, plan->context); /* is not known to fit yet */
    sizes->devices = ll_mul(ll_mul(replicas, plan->tensor), plan->pipeline);
    if (sizes->devices > 1 && devices == 1)
        ll_complain(diags, nowhere, "%" PRIu64 " devices: the machine has no network between devices",
                    sizes->devices);
    else if (sizes->devices > devices)
        complain_of_devices(plan, devices, diags);
    if (replicas % plan->expert != 0)
        complain_of_divisor(plan, "ep", plan->expert, diags);
    if (plan->within > 0 && replicas % plan->within != 0)
        complain_of_divisor(plan, "zero_within", plan->within, diags);
    if (plan->within > 0 && plan->zero == 0)
        ll_complain(diags, nowhere, "zero_within %" PRIu64 ": nothing is sharded with zero 0", plan->within);
    if (plan->within > 0 && plan->expert > 1)
        ll_complain(diags, nowhere, "zero_within %" PRIu64 ": not together with ep %" PRIu64, plan->within,
                    plan->expert);
    check_idle_keys(plan, diags);
    if (plan->slow_links.share > 0 && sizes->devices == 1)
        ll_complain(diags, nowhere, "slow_links: expected several devices, there is one");
    if (plan->tensor_overlap && (plan->tensor < 2 || !plan->sequence))
        ll_complain(
            diags, nowhere,
            "tp_overlap: expected tp 2 or more with sequence_parallel, whose exchanges come in pieces");
    if (plan->zero > 0 && compressions[plan->compression.kind].takes)
        ll_complain(diags, nowhere,
                    "grad_compression %s: expected zero 0, for parts of gradients have no such form",
                    compressions[plan->compression.kind].name);
    check_schedule(plan, diags);
    check_split(plan, diags);
    return diags->count == before;
}

/* Each takes its place in a schedule, at every stage: so many take seconds. */
enum { MOST_MICRO_BATCHES = 1 << 20 };

/* Whether the batch divides into replicas and micro-batches; fills the sizes that follow from it. */
static bool check_batch(const struct ll_parallel *plan, uint64_t trace_batch, struct ll_diags *diags,
                        struct ll_plan_sizes *sizes)
{
    uint64_t batch = plan->batch ? plan->batch : ll_mul(trace_batch, plan->data);
    sizes->batch = batch;
    sizes->micro_batches = 1;
    if (batch == 0 && plan->micro_batch > 0)
        return ll_complain(diags, nowhere,
                           "micro_batch %" PRIu64 ": the trace does not say how many samples a step has",
                           plan->micro_batch);
    if (batch % plan->data != 0)
        return ll_complain(diags, nowhere, "batch %" PRIu64 ": expected a multiple of dp %" PRIu64, batch,
                           plan->data);
    uint64_t replica = batch / plan->data;
    sizes->micro_batch = plan->micro_batch ? plan->micro_batch : replica;
    if (replica > 0 && replica % sizes->micro_batch != 0)
        return ll_complain(diags, nowhere,
                           "micro_batch %" PRIu64 ": expected a divisor of a replica's %" PRIu64 " samples",
                           plan->micro_batch, replica);
    sizes->micro_batches = replica > 0 ? replica / sizes->micro_batch : 1;
    if (plan->parts > 1 && sizes->micro_batch % plan->parts != 0)
        return ll_complain(diags, nowhere,
                           "micro_batches_overlapped %" PRIu64
                           ": expected a divisor of a micro-batch's %" PRIu64 " samples",
                           plan->parts, sizes->micro_batch);
    if (plan->parts > 1 && (plan->pipeline > 1 || replica == 0))
        return ll_complain(diags, nowhere, "micro_batches_overlapped %" PRIu64 ": %s", plan->parts,
                           replica == 0 ? "the trace does not say how many samples a step has"
                                        : "not together with stages of a pipeline");
    if (plan->pipeline > 1 && sizes->micro_batches > MOST_MICRO_BATCHES)
        return ll_complain(diags, nowhere,
                           "micro_batch %" PRIu64 ": a replica's %" PRIu64 " samples are %" PRIu64
                           " micro-batches; at most %d are scheduled one by one",
                           sizes->micro_batch, replica, sizes->micro_batches, MOST_MICRO_BATCHES);
    uint64_t least = plan->schedule == LL_SCHEDULE_DUALPIPE     ? 2 * plan->pipeline
                     : plan->schedule == LL_SCHEDULE_DUALPIPE_V ? 4 * plan->pipeline
                                                                : 1;
    if (sizes->micro_batches < least)
        return ll_complain(diags, nowhere,
                           "schedule %s: expected at least %" PRIu64 " micro-batches with pp %" PRIu64
                           ", there are %" PRIu64,
                           ll_schedule_name(plan->schedule), least, plan->pipeline, sizes->micro_batches);
    if (plan->schedule == LL_SCHEDULE_DUALPIPE && sizes->micro_batches % 2 != 0)
        return ll_complain(diags, nowhere,
                           "schedule dualpipe: expected an even number of micro-batches, there are %" PRIu64,
                           sizes->micro_batches);
    if (plan->schedule == LL_SCHEDULE_INTERLEAVED && sizes->micro_batches % plan->pipeline != 0)
        return ll_complain(diags, nowhere,
                           "schedule interleaved: expected a multiple of pp %" PRIu64
                           " micro-batches, there are %" PRIu64,
                           plan->pipeline, sizes->micro_batches);
    return true;
}

bool ll_plan_resolve(const struct ll_parallel *plan, uint64_t trace_batch, uint64_t devices,
                     struct ll_diags *diags, struct ll_plan_sizes *sizes)
{
    *sizes = (struct ll_plan_sizes){0};
    bool ways = check_ways(plan, devices, diags, sizes);
    bool right = check_batch(plan, trace_batch, diags, sizes) && ways;
    assert(!right || sizes->devices == ll_replicas(plan) * plan->tensor * plan->pipeline);
    assert(!right || sizes->micro_batches > 0);
    assert(!right || sizes->batch == 0 ||
           sizes->batch == sizes->micro_batches * sizes->micro_batch * plan->data);
    return right;
}

/* --- writing --- */

void ll_plan_json(const struct ll_parallel *plan, struct ll_json *json)
{
    assert(plan->schedule < LL_SCHEDULE_COUNT && plan->recompute < LL_RECOMPUTE_COUNT);
    ll_json_open_object(json);
    for (size_t i = 0; i < ROWS; i++) {
        ll_json_key(json, rows[i].key.key);
        rows[i].type->write((const char *)plan + rows[i].offset, json);
    }
    ll_json_close_object(json);
}

static bool says_alike(const struct row *row, const struct ll_parallel *a, const struct ll_parallel *b)
{
    struct ll_str words[2] = {{0}, {0}};
    const struct ll_parallel *both[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        const void *value = (const char *)both[i] + row->offset;
        if (row->type->say)
            row->type->say(value, &words[i]);
        else
            ll_str_add(&words[i], *(const bool *)value ? "true" : "false");
    }
    bool same = strcmp(words[0].text ? words[0].text : "", words[1].text ? words[1].text : "") == 0;
    ll_str_release(&words[0]);
    ll_str_release(&words[1]);
    return same;
}

bool ll_plan_differs_in_batch_alone(const struct ll_parallel *a, const struct ll_parallel *b)
{
    size_t i = 0;
    while (i < ROWS && (rows[i].offset == offsetof(struct ll_parallel, batch) || says_alike(&rows[i], a, b)))
        i++;
    return i == ROWS;
}

void ll_plan_words(const struct ll_parallel *plan, struct ll_str *out)
{
    const struct ll_parallel one = ll_plan_of_one();
    bool some = false;
    for (size_t i = 0; i < ROWS; i++) {
        const void *value = (const char *)plan + rows[i].offset;
        if (says_alike(&rows[i], plan, &one))
            continue;
        ll_str_addf(out, "%s--%s", some ? " " : "", rows[i].key.option);
        some = true;
        if (rows[i].type->say) {
            ll_str_add(out, " ");
            rows[i].type->say(value, out);
        }
    }
}
