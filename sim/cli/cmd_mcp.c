/* SPDX-License-Identifier: Apache-2.0 */
/* leadline mcp: the commands as tools of the Model Context Protocol (revision 2025-06-18), for agents:
 * JSON-RPC 2.0, one message a line, requests on standard input and answers on standard output. A tool is a
 * command; its arguments are the command's options, by their rows, and `words`. What writes files is not
 * offered unless asked for. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/command.h"
#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/base/json.h"

static const char protocol[] = "2025-06-18";

/* Commands that are tools; those that are there to write are so only with --writes. */
static const struct tool {
    const char *command;
    bool writes;
} tools[] = {
    {"sim", false},      {"plan", false},   {"serve", false},  {"compare", false},    {"info", false},
    {"machines", false}, {"models", false}, {"ops", false},    {"explain", false},    {"map", false},
    {"cache", false},    {"dram", false},   {"verify", false}, {"similarity", false}, {"schema", false},
    {"pareto", false},   {"record", true},  {"import", true},  {"export", true},      {"sweep", true},
};
enum { TOOL_COUNT = sizeof tools / sizeof *tools };

/* Codes of JSON-RPC. */
enum { NOT_JSON = -32700, NO_REQUEST = -32600, NO_METHOD = -32601, WRONG_PARAMS = -32602 };

struct session {
    bool writes;           /* tools may write */
    struct ll_arena arena; /* of the message at hand */
    struct ll_str out;     /* the answer */
    const char *id;        /* as it stands in the request; NULL: nobody waits for an answer */
};

static bool is_common(const char *name)
{
    static const char *const names[] = {"json", "format", "top", "color", "help"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool is_one_of(const char *const *names, const char *name)
{
    for (; names && *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static bool is_offered(const struct session *session, const struct ll_command *command,
                       const struct ll_option *option)
{
    return !is_common(option->name) && (session->writes || !is_one_of(command->writes, option->name));
}

static const struct ll_command *find_tool(const struct session *session, const char *name)
{
    const struct ll_command *command;
    for (size_t t = 0; t < TOOL_COUNT; t++)
        for (size_t i = 0; strcmp(tools[t].command, name) == 0 && (command = ll_command_at(i)); i++)
            if (strcmp(command->name, name) == 0)
                return session->writes || !tools[t].writes ? command : NULL;
    return NULL;
}

/* --- answers --- */

static void begin_answer(struct session *session, struct ll_json *json)
{
    *json = (struct ll_json){.out = &session->out};
    ll_str_addf(&session->out, "{\"jsonrpc\":\"2.0\",\"id\":%s,", session->id ? session->id : "null");
}

static void end_answer(struct session *session)
{
    ll_str_add(&session->out, "}\n");
}

static void answer_error(struct session *session, int code, const char *message)
{
    struct ll_json json;
    begin_answer(session, &json);
    ll_str_add(&session->out, "\"error\":");
    ll_json_open_object(&json);
    ll_json_put_integer(&json, "code", code);
    ll_json_put_text(&json, "message", message);
    ll_json_close_object(&json);
    end_answer(session);
}

static void answer_initialize(struct session *session)
{
    struct ll_json json;
    begin_answer(session, &json);
    ll_str_add(&session->out, "\"result\":");
    ll_json_open_object(&json);
    ll_json_put_text(&json, "protocolVersion", protocol);
    ll_json_key(&json, "capabilities");
    ll_json_open_object(&json);
    ll_json_key(&json, "tools");
    ll_json_open_object(&json);
    ll_json_close_object(&json);
    ll_json_close_object(&json);
    ll_json_key(&json, "serverInfo");
    ll_json_open_object(&json);
    ll_json_put_text(&json, "name", "leadline");
    ll_json_put_text(&json, "version", LL_VERSION);
    ll_json_close_object(&json);
    ll_json_put_text(
        &json, "instructions",
        "Predicts how long deep-learning steps and language-model servers take on described machines. "
        "`machines` and `models` list what there is; `sim` needs `machine` and a trace in `words`; "
        "`serve` needs `machine`, `model` and `rate`. `explain` says what words of results mean.");
    ll_json_close_object(&json);
    end_answer(session);
}

static void option_schema(const struct ll_command *command, const struct ll_option *option,
                          struct ll_json *json)
{
    ll_json_key(json, option->name);
    ll_json_open_object(json);
    if (!option->value) {
        ll_json_put_text(json, "type", "boolean");
    } else {
        ll_json_key(json, "type");
        ll_json_open_list(json);
        ll_json_text(json, "string");
        ll_json_text(json, "number");
        if (is_one_of(command->repeated, option->name))
            ll_json_text(json, "array");
        ll_json_close_list(json);
    }
    ll_json_put_text(json, "description", option->help);
    ll_json_close_object(json);
}

static void tool_schema(const struct session *session, const struct ll_command *command, struct ll_json *json)
{
    const struct ll_option *option;
    ll_json_key(json, "inputSchema");
    ll_json_open_object(json);
    ll_json_put_text(json, "type", "object");
    ll_json_put_bool(json, "additionalProperties", false);
    ll_json_key(json, "properties");
    ll_json_open_object(json);
    for (size_t i = 0; (option = ll_option_at(command, i)); i++)
        if (is_offered(session, command, option))
            option_schema(command, option, json);
    if (command->most_words > 0) {
        ll_json_key(json, "words");
        ll_json_open_object(json);
        ll_json_put_text(json, "type", "array");
        ll_json_put_text(json, "description", command->synopsis);
        ll_json_put_count(json, "minItems", command->least_words);
        ll_json_close_object(json);
    }
    ll_json_close_object(json);
    ll_json_close_object(json);
}

static void answer_list(struct session *session)
{
    struct ll_json json;
    begin_answer(session, &json);
    ll_str_add(&session->out, "\"result\":");
    ll_json_open_object(&json);
    ll_json_key(&json, "tools");
    ll_json_open_list(&json);
    for (size_t i = 0; i < TOOL_COUNT; i++) {
        const struct ll_command *command = find_tool(session, tools[i].command);
        if (!command)
            continue;
        ll_json_open_object(&json);
        ll_json_put_text(&json, "name", command->name);
        ll_json_put_text(&json, "description", command->summary);
        tool_schema(session, command, &json);
        ll_json_key(&json, "annotations");
        ll_json_open_object(&json);
        ll_json_put_bool(&json, "readOnlyHint", !tools[i].writes && !session->writes);
        ll_json_close_object(&json);
        ll_json_close_object(&json);
    }
    ll_json_close_list(&json);
    ll_json_close_object(&json);
    end_answer(session);
}

/* --- calls --- */

/* Texts that grow, ended by NULL. */
struct texts {
    const char **at;
    uint64_t count, capacity;
};

static bool add_text(struct texts *texts, const char *text)
{
    if (!text || !ll_grow(&texts->at, &texts->capacity, texts->count + 2, sizeof *texts->at))
        return false;
    texts->at[texts->count++] = text;
    texts->at[texts->count] = NULL;
    return true;
}

/* The value read last as an option; false of what no option can be. */
static bool take_value(struct session *session, struct ll_json_reader *json, const char *name,
                       struct texts *options)
{
    switch (json->token) {
    case LL_JSON_TRUE:
        return add_text(options, name);
    case LL_JSON_FALSE:
    case LL_JSON_NULL:
        return true;
    case LL_JSON_TEXT:
    case LL_JSON_NUMBER:
        return add_text(options,
                        ll_format(&session->arena, "%s=%s", name, ll_json_copy(json, &session->arena)));
    case LL_JSON_LIST:
        while (ll_json_read(json) != LL_JSON_LIST_END && !json->failed)
            if (json->token == LL_JSON_LIST || !take_value(session, json, name, options))
                return false;
        return !json->failed;
    default:
        return false;
    }
}

static bool take_words(struct session *session, struct ll_json_reader *json, struct texts *words)
{
    if (json->token != LL_JSON_LIST)
        return false;
    while (ll_json_read(json) != LL_JSON_LIST_END && !json->failed)
        if ((json->token != LL_JSON_TEXT && json->token != LL_JSON_NUMBER) ||
            !add_text(words, ll_json_copy(json, &session->arena)))
            return false;
    return !json->failed;
}

/* Options and words out of the object that begins; why not, else NULL. */
static const char *take_arguments(struct session *session, const struct ll_command *command,
                                  struct ll_json_reader *json, struct texts *options, struct texts *words)
{
    if (json->token != LL_JSON_OBJECT)
        return "arguments: expected an object";
    while (ll_json_read(json) == LL_JSON_KEY) {
        const char *name = ll_json_copy(json, &session->arena);
        const struct ll_option *option = NULL;
        ll_json_read(json);
        if (name && strcmp(name, "words") == 0) {
            if (!take_words(session, json, words))
                return "words: expected a list of texts";
            continue;
        }
        for (size_t i = 0; name && (option = ll_option_at(command, i)); i++)
            if (strcmp(option->name, name) == 0)
                break;
        if (!option || !is_offered(session, command, option))
            return ll_format(&session->arena, "%s: %s has no such argument", name ? name : "", command->name);
        if (!take_value(session, json, name, options))
            return ll_format(&session->arena, "%s: expected a text, a number, true or a list of these", name);
    }
    return json->failed ? "arguments: no JSON" : NULL;
}

static void answer_call(struct session *session, const struct ll_command *command, struct texts *options,
                        struct texts *words)
{
    static const volatile sig_atomic_t never = 0;
    struct ll_kept_output kept = {.stop = &never};
    struct ll_json json;
    ll_keep_output(&kept);
    int status = ll_end(ll_command_ask(command, options->at, words->at));
    ll_keep_no_output();
    bool wrong = status != LL_DONE;
    begin_answer(session, &json);
    ll_str_add(&session->out, "\"result\":");
    ll_json_open_object(&json);
    ll_json_key(&json, "content");
    ll_json_open_list(&json);
    const struct ll_str *const parts[] = {&kept.printed, &kept.said};
    for (size_t i = 0; i < 2; i++)
        if (parts[i]->length > 0) {
            ll_json_open_object(&json);
            ll_json_put_text(&json, "type", "text");
            ll_json_put_text(&json, "text", parts[i]->text);
            ll_json_close_object(&json);
        }
    ll_json_close_list(&json);
    ll_json_put_bool(&json, "isError", wrong);
    ll_json_close_object(&json);
    end_answer(session);
    ll_str_release(&kept.printed);
    ll_str_release(&kept.said);
}

/* `params` stands before the value of that key. */
static void call(struct session *session, struct ll_json_reader params)
{
    const struct ll_command *command = NULL;
    struct ll_json_reader arguments = {.token = LL_JSON_END};
    struct texts options = {.at = NULL}, words = {.at = NULL};
    const char *name = NULL, *trouble = NULL;
    if (ll_json_read(&params) == LL_JSON_OBJECT)
        while (ll_json_read(&params) == LL_JSON_KEY) {
            if (ll_json_says(&params, "name") && ll_json_read(&params) == LL_JSON_TEXT) {
                name = ll_json_copy(&params, &session->arena);
            } else if (ll_json_says(&params, "arguments")) {
                arguments = params;
                ll_json_pass(&params);
            } else {
                ll_json_pass(&params);
            }
        }
    command = name ? find_tool(session, name) : NULL;
    if (command && arguments.token == LL_JSON_KEY) {
        ll_json_read(&arguments);
        trouble = take_arguments(session, command, &arguments, &options, &words);
    }
    if (!command)
        answer_error(session, WRONG_PARAMS, "there is no tool of this name; tools/list lists them");
    else if (trouble)
        answer_error(session, WRONG_PARAMS, trouble);
    else
        answer_call(session, command, &options, &words);
    free(options.at);
    free(words.at);
}

/* --- messages --- */

static void answer(struct session *session, const char *method, const struct ll_json_reader *params)
{
    if (!session->id) /* a notification */
        return;
    if (strcmp(method, "initialize") == 0)
        answer_initialize(session);
    else if (strcmp(method, "ping") == 0)
        ll_str_addf(&session->out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n", session->id);
    else if (strcmp(method, "tools/list") == 0)
        answer_list(session);
    else if (strcmp(method, "tools/call") == 0 && params->token == LL_JSON_KEY)
        call(session, *params);
    else
        answer_error(session, strcmp(method, "tools/call") == 0 ? WRONG_PARAMS : NO_METHOD,
                     "this method is not known here");
}

static void read_message(struct session *session, const char *line, size_t length, struct ll_diags *diags)
{
    struct ll_json_reader json = {
        .file = "request", .begin = line, .at = line, .end = line + length, .diags = diags};
    struct ll_json_reader params = {.token = LL_JSON_END};
    const char *method = NULL;
    session->id = NULL;
    if (ll_json_read(&json) == LL_JSON_OBJECT)
        while (ll_json_read(&json) == LL_JSON_KEY) {
            bool is_id = ll_json_says(&json, "id"), is_method = ll_json_says(&json, "method");
            if (ll_json_says(&json, "params"))
                params = json;
            if (!is_id && !is_method) {
                ll_json_pass(&json);
                continue;
            }
            ll_json_read(&json);
            const char *quote = json.token == LL_JSON_TEXT ? "\"" : "";
            if (is_method && json.token == LL_JSON_TEXT)
                method = ll_json_copy(&json, &session->arena);
            else if (is_id && (json.token == LL_JSON_TEXT || json.token == LL_JSON_NUMBER))
                session->id =
                    ll_format(&session->arena, "%s%.*s%s", quote, (int)json.length, json.text, quote);
            else
                ll_json_pass(&json);
        }
    if (json.failed || json.depth > 0)
        answer_error(session, NOT_JSON, "this is no JSON");
    else if (!method)
        answer_error(session, NO_REQUEST, "this is no request: it has no method");
    else
        answer(session, method, &params);
}

static int run(const struct ll_args *args)
{
    struct session session = {.writes = ll_flag(args, "writes")};
    struct ll_diags *diags = ll_alloc(args->arena, 1, sizeof *diags);
    char *line = NULL;
    size_t room = 0;
    if (ll_keeps_output())
        return ll_cli_reject("mcp answers on standard input and output; it is a program of its own");
    int status = diags ? LL_DONE : ll_cli_fail("memory ran out");
    for (ssize_t length; status == LL_DONE && (length = getline(&line, &room, stdin)) > 0;) {
        read_message(&session, line, (size_t)length, diags);
        if (session.out.length > 0 || session.out.failed)
            status = ll_print_data(&session.out);
        ll_diags_release(diags);
        ll_arena_release(&session.arena);
        session.arena = (struct ll_arena){0};
    }
    free(line);
    return status;
}

static const struct ll_option options[] = {
    {"writes", 0, NULL, "also offer commands and options that write files: record, import, export, sweep"},
    {0},
};

const struct ll_command ll_command_mcp = {
    .name = "mcp",
    .synopsis = "",
    .summary = "offer the commands to an agent, by the Model Context Protocol",
    .examples = "  leadline mcp\n  leadline mcp --writes\n",
    .details =
        "Reads requests from standard input and answers on standard output, a line each. Tools are commands, "
        "their arguments the options, and `words` what stands behind them; answers are JSON documents "
        "(leadline schema). Nothing is written unless --writes says so.\n",
    .options = options,
    .run = run,
};
