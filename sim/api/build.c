/* SPDX-License-Identifier: Apache-2.0 */
/* Traces built op by op: texts become shapes and attributes, the op table tells what an op makes, and the
 * recorder does the rest, as it does for importers.
 *
 * The first mistake is kept. Every later call repeats it and adds nothing, so that no trace lacks an op. */
#include "sim/api/call.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/output.h"
#include "sim/machine/quantity.h"
#include "sim/report/table.h"
#include "tracer/record/host.h"
#include "tracer/record/recorder.h"

/* The tensors that an op makes. */
struct made {
    uint64_t first, count;
};

struct leadline_builder {
    struct ll_recorder *recorder; /* NULL: closed */
    struct ll_arena arena;        /* of the name and the first mistake */
    const char *name;
    const char *trouble; /* the first mistake; NULL: none so far */
    struct ll_shape *shapes;
    uint64_t tensor_count, shape_capacity;
    struct made *ops;
    uint64_t op_count, op_capacity;
    uint64_t clock_ns; /* the end of the last op that has a time */
    struct ll_str shape_text;
};

/* What the options of a tensor or an op ask for. */
struct asked {
    struct ll_arena arena;
    const char *name, *scope, *roles;
    unsigned memory, phase; /* enum ll_memory_class, enum ll_phase */
    uint64_t duration_ns;
    struct ll_attr attrs[LL_MAX_ATTRS];
    uint32_t attr_count, after_count, given_count;
    uint32_t *after;        /* ops */
    struct ll_shape *given; /* what comes out */
};

static bool no_memory(void)
{
    return ll_cli_fail("%s", ll_status_text(LL_NO_MEMORY)) == LL_DONE;
}

/* --- options --- */

/* Words that a value may be. */
struct words {
    unsigned count;
    const char *(*name)(unsigned i);
};

static const char *memory_name(unsigned i)
{
    return ll_memory_name((enum ll_memory_class)i);
}

static const char *phase_name(unsigned i)
{
    return ll_phase_name((enum ll_phase)i);
}

static const char *role_name(unsigned i)
{
    return ll_role_name((enum ll_role)i);
}

static const char *dtype_name(unsigned i)
{
    return ll_dtype_name((enum ll_dtype)i);
}

static const char *attr_name(unsigned i)
{
    return ll_attr_name((enum ll_attr_key)i);
}

static const struct words memories = {LL_MEMORY_COUNT, memory_name}, phases = {LL_PHASE_COUNT, phase_name},
                          roles = {LL_ROLE_COUNT, role_name}, dtypes = {LL_DTYPE_COUNT, dtype_name},
                          attributes = {LL_ATTR_COUNT, attr_name};

/* The number of a word; their count where it is none of them. */
static unsigned find_word(const struct words *words, const char *text, size_t length)
{
    unsigned i = 0;
    while (i < words->count && (strncmp(words->name(i), text, length) != 0 || words->name(i)[length] != '\0'))
        i++;
    return i;
}

/* The same, after saying of `option` which words there are. */
static bool read_word(const char *option, const struct words *words, const char *text, size_t length,
                      unsigned *word)
{
    struct ll_str names = {0};
    *word = find_word(words, text, length);
    if (*word < words->count)
        return true;
    for (unsigned i = 0; i < words->count; i++)
        if (*words->name(i))
            ll_str_addf(&names, "%s%s", names.length ? ", " : "", words->name(i));
    ll_cli_reject("%s: there is no `%.*s`; there are %s", option, (int)length, text,
                  names.text ? names.text : "none");
    ll_str_release(&names);
    return false;
}

/* Reads "64x128:bf16" up to its end or a `+`, where *end is then. */
static bool read_shape(const char *text, struct ll_shape *shape, const char **end)
{
    const char *at = text;
    errno = 0;
    *shape = (struct ll_shape){.rank = 0};
    while (*at >= '0' && *at <= '9' && shape->rank < LL_MAX_RANK) {
        char *behind;
        shape->dim[shape->rank++] = strtoull(at, &behind, 10);
        at = behind + (*behind == 'x');
    }
    const size_t length = *at == ':' ? strcspn(at + 1, "+") : 0;
    if (errno || length == 0 || (at > text && at[-1] == 'x'))
        return ll_cli_reject("%s: expected up to %d dimensions and a type of elements, as in 64x128:bf16, or "
                             ":f32 of a single number",
                             text, LL_MAX_RANK) == LL_DONE;
    unsigned dtype;
    if (!read_word(text, &dtypes, at + 1, length, &dtype))
        return false;
    shape->dtype = (uint8_t)dtype;
    *end = at + 1 + length;
    return ll_fits(ll_size_bytes(shape)) ||
           ll_cli_reject("%s: %s", text, ll_status_text(LL_TOO_LARGE)) == LL_DONE;
}

/* Shapes with `+` between them. */
static bool read_shapes(const char *text, struct asked *asked)
{
    size_t most = 1;
    for (const char *at = text; *at; at++)
        most += *at == '+';
    asked->given = ll_alloc(&asked->arena, most, sizeof *asked->given);
    if (!asked->given || most > LL_MAX_OP_REFS)
        return ll_cli_reject("out: an op makes at most %d tensors", LL_MAX_OP_REFS) == LL_DONE;
    for (const char *at = text; asked->given_count < most; at++)
        if (!read_shape(at, &asked->given[asked->given_count++], &at))
            return false;
    return true;
}

/* What dimensions mean, from the first on, with commas between; nothing is no meaning. */
static bool read_roles(const char *text, struct ll_shape *shape)
{
    const char *at = text;
    for (unsigned i = 0, role; at; i++) {
        const size_t length = strcspn(at, ",");
        if (i == shape->rank)
            return ll_cli_reject("roles=%s: there are %u dimensions", text, shape->rank) == LL_DONE;
        if (!read_word("roles", &roles, at, length, &role))
            return false;
        shape->role[i] = (uint8_t)role;
        at = at[length] ? at + length + 1 : NULL;
    }
    return true;
}

static bool read_after(const leadline_builder *builder, const char *text, struct asked *asked)
{
    uint64_t op;
    if (!ll_count_parse(text, &op) || op >= builder->op_count)
        return ll_cli_reject("after=%s: expected the number of an op that was added before", text) == LL_DONE;
    asked->after[asked->after_count++] = (uint32_t)op;
    return true;
}

static bool read_time(const char *text, uint64_t *time_ns)
{
    struct ll_quantity quantity;
    const char *unit;
    const bool good = ll_quantity_parse(text, &quantity, &unit) == LL_QUANTITY_FINE &&
                      quantity.dimension == LL_DIMENSION_TIME && quantity.value < 1e9;
    if (!good)
        return ll_cli_reject("time=%s: expected a time, as in 12us", text) == LL_DONE;
    *time_ns = (uint64_t)round(quantity.value * 1e9);
    return true;
}

/* An attribute of the op table: a number, 1 where only its name is given. */
static bool read_attr(enum ll_attr_key key, const char *text, struct asked *asked)
{
    const bool real = ll_attr_is_real(key);
    const char *end;
    const struct ll_attr attr = ll_attr_of_text(key, text, &end);
    if (end == text || *end)
        return ll_cli_reject("%s=%s: expected a %snumber", ll_attr_name(key), text, real ? "" : "whole ") ==
               LL_DONE;
    if (asked->attr_count == LL_MAX_ATTRS)
        return ll_cli_reject("%s: an op has at most %d attributes", ll_attr_name(key), LL_MAX_ATTRS) ==
               LL_DONE;
    asked->attrs[asked->attr_count++] = attr;
    return true;
}

/* Options that are no attributes. */
#define OPTION_LIST(X)                                                                                       \
    X(CLASS, "class")                                                                                        \
    X(NAME, "name")                                                                                          \
    X(ROLES, "roles")                                                                                        \
    X(OUT, "out")                                                                                            \
    X(AFTER, "after")                                                                                        \
    X(PHASE, "phase")                                                                                        \
    X(SCOPE, "scope")                                                                                        \
    X(TIME, "time")

enum option {
#define X(word, name) OPTION_##word,
    OPTION_LIST(X)
#undef X
        OPTION_COUNT
};
static const char *const option_names[] = {
#define X(word, name) name,
    OPTION_LIST(X)
#undef X
};

/* What dimensions of an op's results mean follows from its inputs. */
static bool takes(enum option option, bool of_op)
{
    return option == OPTION_CLASS || option == OPTION_NAME || (option == OPTION_ROLES) != of_op;
}

static bool reject_option(const char *name, bool of_op)
{
    const char *names[OPTION_COUNT + LL_ATTR_COUNT], *thing = of_op ? "an op" : "a tensor";
    size_t count = 0;
    for (unsigned i = 0; i < OPTION_COUNT; i++)
        if (takes((enum option)i, of_op))
            names[count++] = option_names[i];
    for (unsigned i = 0; of_op && i < LL_ATTR_COUNT; i++)
        names[count++] = attr_name(i);
    const char *nearest = ll_nearest(name, names, count);
    if (nearest)
        ll_cli_reject("%s has no option `%s`; did you mean `%s`?", thing, name, nearest);
    else
        ll_cli_reject("%s has no option `%s`; expected class, name, %s", thing, name,
                      of_op ? "out, after, phase, scope, time or an attribute" : "roles");
    return false;
}

static bool read_value(const leadline_builder *builder, enum option option, const char *value,
                       struct asked *asked)
{
    switch (option) {
    case OPTION_CLASS:
        return read_word("class", &memories, value, strlen(value), &asked->memory);
    case OPTION_PHASE:
        return read_word("phase", &phases, value, strlen(value), &asked->phase);
    case OPTION_OUT:
        return read_shapes(value, asked);
    case OPTION_AFTER:
        return read_after(builder, value, asked);
    case OPTION_TIME:
        return read_time(value, &asked->duration_ns);
    case OPTION_NAME:
        asked->name = value;
        return true;
    case OPTION_SCOPE:
        asked->scope = value;
        return true;
    case OPTION_ROLES:
        asked->roles = value;
        return true;
    case OPTION_COUNT:
        break;
    }
    return false;
}

static bool read_option(const leadline_builder *builder, const char *text, bool of_op, struct asked *asked)
{
    const size_t length = strcspn(text, "=");
    const char *name = ll_copy_text(&asked->arena, text, length);
    unsigned option = 0;
    if (!name)
        return no_memory();
    while (option < OPTION_COUNT && strcmp(name, option_names[option]) != 0)
        option++;
    if (option < OPTION_COUNT && takes((enum option)option, of_op))
        return read_value(builder, (enum option)option, text[length] ? text + length + 1 : "", asked);
    const unsigned key = of_op ? find_word(&attributes, name, length) : LL_ATTR_COUNT;
    return key < LL_ATTR_COUNT
               ? read_attr((enum ll_attr_key)key, text[length] ? text + length + 1 : "1", asked)
               : reject_option(name, of_op);
}

/* All options, of which only `after` may stand again. */
static bool read_options(const leadline_builder *builder, const char *const *options, bool of_op,
                         struct asked *asked)
{
    size_t count = 0;
    while (options && options[count])
        count++;
    asked->after = ll_alloc(&asked->arena, count, sizeof *asked->after);
    if (!asked->after)
        return no_memory();
    for (size_t i = 0; i < count; i++) {
        const size_t length = strcspn(options[i], "=");
        for (size_t k = 0; k < i; k++)
            if (strcspn(options[k], "=") == length && strncmp(options[k], options[i], length) == 0 &&
                strncmp(options[i], "after=", strlen("after=")) != 0)
                return ll_cli_reject("`%.*s` stands twice", (int)length, options[i]) == LL_DONE;
        if (!read_option(builder, options[i], of_op, asked))
            return false;
    }
    return true;
}

/* --- a call --- */

static bool begin(leadline_builder *builder)
{
    ll_call_begin();
    if (builder->trouble)
        return ll_cli_reject("%s", builder->trouble) == LL_DONE;
    return builder->recorder || ll_cli_reject("the trace is closed: nothing can be added to it") == LL_DONE;
}

/* NULL in place of something is a mistake as well. */
static bool is_given(const void *what, const char *name)
{
    return what || ll_cli_reject("there is no %s: NULL was given", name) == LL_DONE;
}

/* Ends it; what was wrong is kept. Gives the number, or -1. */
static int64_t end(leadline_builder *builder, bool good, uint64_t number)
{
    if (good && ll_recorder_status(builder->recorder) != LL_OK)
        good = ll_cli_fail("%s", ll_status_text(ll_recorder_status(builder->recorder))) == LL_DONE;
    if (ll_call_end(good ? LL_DONE : LL_WRONG))
        return (int64_t)number;
    const char *said = leadline_messages(), *prefix = "leadline: ";
    said += strncmp(said, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;
    if (!builder->trouble)
        builder->trouble = ll_copy_text(&builder->arena, said, strcspn(said, "\n"));
    return -1;
}

/* --- what is added --- */

/* Remembers a tensor; its number is the recorder's. */
static bool add_shape(leadline_builder *builder, const struct ll_shape *shape)
{
    if (!ll_grow(&builder->shapes, &builder->shape_capacity, builder->tensor_count + 1,
                 sizeof *builder->shapes))
        return no_memory();
    builder->shapes[builder->tensor_count++] = *shape;
    return true;
}

int64_t leadline_build_tensor(leadline_builder *builder, const char *shape, const char *const *options)
{
    struct asked asked = {.name = "", .memory = LL_INPUT};
    struct ll_shape tensor;
    const char *end_of_shape;
    if (!builder) {
        ll_call_without("builder");
        return -1;
    }
    bool good =
        begin(builder) && is_given(shape, "shape of a tensor") && read_shape(shape, &tensor, &end_of_shape);
    if (good && *end_of_shape)
        good = ll_cli_reject("%s: expected one shape", shape) == LL_DONE;
    good = good && read_options(builder, options, false, &asked) &&
           (!asked.roles || read_roles(asked.roles, &tensor));
    const uint64_t number = builder->tensor_count;
    if (good && add_shape(builder, &tensor)) {
        const uint32_t desc =
            ll_recorder_desc(builder->recorder, asked.name, &tensor, (enum ll_memory_class)asked.memory);
        if (desc != LL_NONE)
            ll_recorder_tensor(builder->recorder, desc);
    }
    ll_arena_release(&asked.arena);
    return end(builder, good, number);
}

/* The op as the rules see it, with room for what comes out. */
static bool look(const leadline_builder *builder, enum ll_op_kind kind, const int64_t *inputs,
                 size_t input_count, struct asked *asked, struct ll_op_view *view)
{
    const uint32_t room = asked->given_count > LL_MAX_OUTPUTS ? asked->given_count : LL_MAX_OUTPUTS;
    struct ll_shape *shapes = ll_alloc(&asked->arena, input_count + room, sizeof *shapes);
    if (input_count > LL_MAX_OP_REFS)
        return ll_cli_reject("an op reads at most %d tensors", LL_MAX_OP_REFS) == LL_DONE;
    if (!shapes)
        return no_memory();
    for (size_t i = 0; i < input_count; i++) {
        if (inputs[i] < 0 || (uint64_t)inputs[i] >= builder->tensor_count)
            return ll_cli_reject("%s: input %zu: there is no tensor %" PRId64, ll_op_name(kind), i,
                                 inputs[i]) == LL_DONE;
        shapes[i] = builder->shapes[inputs[i]];
    }
    for (uint32_t i = 0; i < asked->given_count; i++)
        shapes[input_count + i] = asked->given[i];
    *view = (struct ll_op_view){.kind = kind,
                                .input_count = (uint32_t)input_count,
                                .output_count = asked->given_count,
                                .attr_count = asked->attr_count,
                                .in = shapes,
                                .out = shapes + input_count,
                                .attrs = asked->attrs};
    return true;
}

static void add_shape_text(struct ll_str *text, const struct ll_shape *shape)
{
    for (unsigned d = 0; d < shape->rank; d++)
        ll_str_addf(text, "%s%" PRIu64, d ? "x" : "", shape->dim[d]);
    ll_str_addf(text, ":%s", ll_dtype_name((enum ll_dtype)shape->dtype));
}

/* Asks the rules what comes out. Where that was given, too, its dimensions are right, and its types count. */
static bool infer(const struct asked *asked, struct ll_op_view *view)
{
    const char *name = ll_op_name(view->kind), *trouble = ll_op_infer(view);
    if (trouble)
        return ll_cli_reject("%s: %s", name, trouble) == LL_DONE;
    if (asked->given_count > 0 && asked->given_count != view->output_count)
        return ll_cli_reject("%s: out has %u shape%s; it makes %u", name, asked->given_count,
                             ll_plural(asked->given_count), view->output_count) == LL_DONE;
    for (uint32_t i = 0; i < asked->given_count; i++) {
        const struct ll_shape *given = &asked->given[i];
        if (given->rank != view->out[i].rank ||
            memcmp(given->dim, view->out[i].dim, sizeof given->dim) != 0) {
            struct ll_str text = {0};
            add_shape_text(&text, &view->out[i]);
            ll_cli_reject("%s: inputs and attributes make %s, not what out says as number %u", name,
                          text.text ? text.text : "", i);
            ll_str_release(&text);
            return false;
        }
        view->out[i].dtype = given->dtype;
    }
    return ll_op_counts_fit(view) || ll_cli_reject("%s: %s", name, ll_status_text(LL_TOO_LARGE)) == LL_DONE;
}

/* Remembers the op and its results, whose descs are then `descs`. */
static bool add_op(leadline_builder *builder, const struct ll_op_view *view, const struct asked *asked,
                   uint32_t *descs)
{
    const struct made made = {builder->tensor_count, view->output_count};
    if (!ll_grow(&builder->ops, &builder->op_capacity, builder->op_count + 1, sizeof *builder->ops))
        return no_memory();
    for (uint32_t i = 0; i < view->output_count; i++) {
        descs[i] = ll_recorder_desc(builder->recorder, asked->name, &view->out[i],
                                    (enum ll_memory_class)asked->memory);
        if (!add_shape(builder, &view->out[i]))
            return false;
    }
    builder->ops[builder->op_count++] = made;
    return true;
}

/* Hands an op that the rules accept to the recorder. */
static bool record(leadline_builder *builder, const struct ll_op_view *view, const int64_t *inputs,
                   struct asked *asked)
{
    const size_t count = (size_t)view->input_count + view->output_count;
    uint32_t *numbers = ll_alloc(&asked->arena, count, sizeof *numbers), *descs = numbers + view->input_count;
    if (!numbers)
        return no_memory();
    for (uint32_t i = 0; i < view->input_count; i++)
        numbers[i] = (uint32_t)inputs[i];
    if (!add_op(builder, view, asked, descs))
        return false;
    ll_recorder_op(builder->recorder,
                   &(struct ll_record){.kind = view->kind,
                                       .phase = (enum ll_phase)asked->phase,
                                       .scope = ll_recorder_string(builder->recorder, asked->scope),
                                       .inputs = numbers,
                                       .input_count = view->input_count,
                                       .outputs = descs,
                                       .output_count = view->output_count,
                                       .attrs = view->attrs,
                                       .attr_count = view->attr_count,
                                       .controls = asked->after,
                                       .control_count = asked->after_count,
                                       .start_ns = builder->clock_ns,
                                       .duration_ns = asked->duration_ns});
    builder->clock_ns += asked->duration_ns;
    return true;
}

static enum ll_op_kind find_kind(const char *name)
{
    const enum ll_op_kind kind = ll_op_find(name);
    const char *names[LL_OP_NONE];
    for (int i = 0; kind == LL_OP_NONE && i < ll_op_count(); i++)
        names[i] = ll_op_name((enum ll_op_kind)i);
    if (kind == LL_OP_NONE)
        ll_cli_reject_unknown("op", name, names, (size_t)ll_op_count(), "leadline ops");
    return kind;
}

int64_t leadline_build_op(leadline_builder *builder, const char *kind, const int64_t *inputs,
                          size_t input_count, const char *const *options)
{
    struct asked asked = {.name = "", .scope = "", .memory = LL_ACTIVATION, .phase = LL_PHASE_FORWARD};
    struct ll_op_view view;
    if (!builder) {
        ll_call_without("builder");
        return -1;
    }
    bool good = begin(builder) && is_given(kind, "kind of an op") &&
                (input_count == 0 || is_given(inputs, "list of inputs"));
    const enum ll_op_kind found = good ? find_kind(kind) : LL_OP_NONE;
    good = found != LL_OP_NONE && read_options(builder, options, true, &asked) &&
           look(builder, found, inputs, input_count, &asked, &view) && infer(&asked, &view) &&
           record(builder, &view, inputs, &asked);
    ll_arena_release(&asked.arena);
    return end(builder, good, builder->op_count - 1);
}

int64_t leadline_build_output(const leadline_builder *builder, int64_t op, size_t i)
{
    const bool there = builder && op >= 0 && (uint64_t)op < builder->op_count && i < builder->ops[op].count;
    return there ? (int64_t)(builder->ops[op].first + i) : -1;
}

const char *leadline_build_shape(leadline_builder *builder, int64_t tensor)
{
    if (!builder || tensor < 0 || (uint64_t)tensor >= builder->tensor_count)
        return NULL;
    ll_str_release(&builder->shape_text);
    add_shape_text(&builder->shape_text, &builder->shapes[tensor]);
    return builder->shape_text.text;
}

/* --- from the beginning to the end --- */

/* What the options of a trace say, as facts of its header. */
static bool read_facts(const char *const *options, struct ll_facts *facts)
{
    bool trains = false, infers = false;
    uint64_t batch = 1;
    for (; options && *options; options++) {
        const char *given = *options;
        if (strcmp(given, "train") == 0)
            trains = true;
        else if (strcmp(given, "infer") == 0)
            infers = true;
        else if (strncmp(given, "batch=", 6) != 0)
            return ll_cli_reject("%s: expected train, infer or batch=N", given) == LL_DONE;
        else if (!ll_count_parse(given + 6, &batch) || batch == 0)
            return ll_cli_reject("%s: expected a whole number from 1 on", given) == LL_DONE;
    }
    if (trains && infers)
        return ll_cli_reject("train and infer: a step is one of them") == LL_DONE;
    ll_facts_add(facts, "mode", trains ? "train" : "infer");
    ll_facts_add(facts, "batch", "%" PRIu64, batch);
    ll_facts_add(facts, "native", "no");
    ll_facts_add(facts, "leadline", "%s", LL_VERSION);
    return !facts->failed || no_memory();
}

leadline_builder *leadline_build_open(const char *name, const char *const *options)
{
    if (!name)
        return ll_call_without("name of a trace");
    ll_call_begin();
    leadline_builder *builder = calloc(1, sizeof *builder);
    int status = LL_WRONG;
    if (!builder) {
        ll_call_end(ll_cli_fail("%s", ll_status_text(LL_NO_MEMORY)));
        return NULL;
    }
    struct ll_facts facts = {.arena = &builder->arena};
    builder->name = ll_copy_text(&builder->arena, name, strlen(name));
    ll_facts_add(&facts, "model", "%s", name);
    if (read_facts(options, &facts)) {
        enum ll_status opened = LL_OK;
        builder->recorder = ll_recorder_open_memory(facts.items, facts.count, &opened);
        status = builder->recorder && builder->name ? LL_DONE : ll_cli_fail("%s", ll_status_text(opened));
    }
    if (ll_call_end(status))
        return builder;
    leadline_build_free(builder);
    return NULL;
}

leadline_trace *leadline_build_close(leadline_builder *builder)
{
    enum ll_status status = LL_OK;
    leadline_trace *made = NULL;
    if (!builder)
        return ll_call_without("builder");
    bool good = begin(builder);
    if (good && builder->op_count == 0)
        good = ll_cli_reject("%s: there is no op in it", builder->name) == LL_DONE;
    if (!good) {
        end(builder, good, 0);
        return NULL;
    }
    struct ll_trace *trace = ll_recorder_take(builder->recorder, &status);
    builder->recorder = NULL;
    if (trace)
        made = ll_call_wrap_trace(trace, builder->name);
    else
        ll_cli_fail("%s: %s", builder->name, ll_status_text(status));
    ll_call_end(made ? LL_DONE : LL_FAILED);
    return made;
}

void leadline_build_free(leadline_builder *builder)
{
    enum ll_status status;
    if (!builder)
        return;
    if (builder->recorder)
        ll_trace_free(ll_recorder_take(builder->recorder, &status));
    ll_str_release(&builder->shape_text);
    ll_arena_release(&builder->arena);
    free(builder->shapes);
    free(builder->ops);
    free(builder);
}
