/* SPDX-License-Identifier: Apache-2.0 */
/* Routes of one binary and one kind are told together: "calls cblas_dgemm, cblas_sgemm and 12 more". */
#include "tracer/binary/coverage.h"

#include <string.h>

enum { NAMES_SHOWN = 4 };

/* What helps where a mechanism is blind; NULL: nothing does. */
static const char *cure(const struct ll_coverage *coverage, enum ll_reach reach)
{
    for (enum ll_mechanism m = LL_MECHANISM_PRELOAD; m < LL_MECHANISM_COUNT; m++)
        if (ll_coverage_sees(coverage, reach, m))
            return ll_mechanism_name(m);
    return NULL;
}

/* The routes of one binary that are of one kind. */
struct group {
    struct ll_str names;
    size_t count;
};

static struct group gather(const struct ll_coverage *coverage, uint32_t binary, enum ll_reach reach)
{
    struct group group = {0};
    for (size_t i = 0; i < coverage->route_count; i++) {
        const struct ll_symbol_route *route = &coverage->routes[i];
        if (route->binary != binary || route->reach != reach)
            continue;
        if (group.count++ < NAMES_SHOWN)
            ll_str_addf(&group.names, "%s%s", group.count > 1 ? ", " : "", coverage->names[route->symbol]);
    }
    if (group.count > NAMES_SHOWN)
        ll_str_addf(&group.names, " and %zu more", group.count - NAMES_SHOWN);
    return group;
}

static void tell_group(struct ll_str *out, const struct ll_coverage *coverage, const struct group *group,
                       enum ll_reach reach, enum ll_mechanism mechanism)
{
    bool seen = ll_coverage_sees(coverage, reach, mechanism);
    ll_str_addf(out, "    %-8s %s\n             %s", seen ? "seen" : "NOT SEEN", group->names.text,
                ll_reach_text(reach));
    if (!seen && cure(coverage, reach))
        ll_str_addf(out, "; cure: --mech=%s", cure(coverage, reach));
    ll_str_add(out, "\n");
}

static size_t count_offers(const struct ll_coverage *coverage, uint32_t binary)
{
    size_t count = 0;
    for (size_t i = 0; i < coverage->offer_count; i++)
        count += coverage->offers[i].binary == binary;
    return count;
}

static bool has_routines(const struct ll_coverage *coverage, uint32_t binary)
{
    for (size_t i = 0; i < coverage->route_count; i++)
        if (coverage->routes[i].binary == binary)
            return true;
    return count_offers(coverage, binary) > 0;
}

static void tell_binary(struct ll_str *out, const struct ll_coverage *coverage, uint32_t binary,
                        enum ll_mechanism mechanism)
{
    const struct ll_binary *it = &coverage->closure->binaries[binary];
    const char *build_id = it->elf->build_id;
    ll_str_addf(out, "  %s%s%s\n", ll_base_name(it->path), build_id ? "  build " : "",
                build_id ? build_id : "");
    for (enum ll_reach reach = 0; reach < LL_REACH_COUNT; reach++) {
        struct group group = gather(coverage, binary, reach);
        if (group.count)
            tell_group(out, coverage, &group, reach, mechanism);
        ll_str_release(&group.names);
    }
    if (count_offers(coverage, binary))
        ll_str_addf(out, "    offers   %zu of the routines%s\n", count_offers(coverage, binary),
                    it->elf->symbolic ? ", bound within itself (-Bsymbolic)" : "");
}

static void tell_program(struct ll_str *out, const struct ll_coverage *coverage)
{
    const struct ll_closure *closure = coverage->closure;
    const struct ll_binary *program = &closure->binaries[0];
    if (closure->script)
        ll_str_addf(out, "%s is read by ", closure->script);
    ll_str_addf(out, "%s: %s%s, %zu librar%s loaded at the start\n", program->path,
                coverage->is_static ? "static" : "dynamic", coverage->stripped ? ", without .symtab" : "",
                closure->count - 1, closure->count == 2 ? "y" : "ies");
    if (coverage->closed)
        ll_str_add(out, "  it runs with the rights of another: the loader lets nobody into it\n");
    for (size_t i = 0; i < closure->missing_count; i++)
        ll_str_addf(out, "  %s, which %s needs, is nowhere: the program will not start\n",
                    closure->missing[i].name,
                    ll_base_name(closure->binaries[closure->missing[i].loader].path));
}

static void tell_opening(struct ll_str *out, const struct ll_coverage *coverage, enum ll_mechanism mechanism)
{
    static const enum ll_reach late[] = {LL_REACH_OPENED, LL_REACH_OPENED_DEEP, LL_REACH_OPENED_DEEP_ADDRESS,
                                         LL_REACH_POINTER};
    if (!coverage->opening_count || coverage->is_static)
        return;
    ll_str_addf(out, "Libraries may be opened while it runs (%zu binar%s can); a routine is then\n",
                coverage->opening_count, coverage->opening_count == 1 ? "y" : "ies");
    for (size_t i = 0; i < sizeof late / sizeof late[0]; i++) {
        bool seen = ll_coverage_sees(coverage, late[i], mechanism);
        ll_str_addf(out, "    %-8s %s%s%s\n", seen ? "seen" : "NOT SEEN", ll_reach_text(late[i]),
                    seen ? "" : "; cure: --mech=", seen ? "" : cure(coverage, late[i]));
    }
}

static void tell_verdict(struct ll_str *out, const struct ll_coverage *coverage, enum ll_mechanism mechanism)
{
    if (coverage->is_static && !coverage->possible)
        ll_str_add(out, coverage->stripped
                            ? "Refused: the program is static and has no symbols, so nothing tells where its "
                              "routines begin. Cure: link it dynamically, or do not strip it.\n"
                            : "Refused: the program is static and holds none of the routines.\n");
    else if (coverage->route_count)
        ll_str_addf(out, "Mechanism %s sees %zu of %zu ways to a routine.\n", ll_mechanism_name(mechanism),
                    ll_coverage_seen(coverage, mechanism), coverage->route_count);
    else
        ll_str_addf(out, "Mechanism %s; nothing that is loaded at the start calls a routine.\n",
                    ll_mechanism_name(mechanism));
}

void ll_coverage_text(struct ll_str *out, const struct ll_coverage *coverage, enum ll_mechanism mechanism)
{
    tell_program(out, coverage);
    for (uint32_t i = 0; i < coverage->closure->count; i++)
        if (has_routines(coverage, i))
            tell_binary(out, coverage, i, mechanism);
    tell_opening(out, coverage, mechanism);
    tell_verdict(out, coverage, mechanism);
}

static void put_routes(struct ll_json *json, const struct ll_coverage *coverage, uint32_t binary,
                       enum ll_mechanism mechanism)
{
    ll_json_key(json, "routes");
    ll_json_open_list(json);
    for (size_t i = 0; i < coverage->route_count; i++) {
        const struct ll_symbol_route *route = &coverage->routes[i];
        if (route->binary != binary)
            continue;
        ll_json_open_object(json);
        ll_json_put_text(json, "symbol", coverage->names[route->symbol]);
        ll_json_put_text(json, "reach", ll_reach_word(route->reach));
        bool seen = ll_coverage_sees(coverage, route->reach, mechanism);
        ll_json_put_bool(json, "seen", seen);
        ll_json_put_text(json, "cure", seen ? NULL : cure(coverage, route->reach));
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void put_offers(struct ll_json *json, const struct ll_coverage *coverage, uint32_t binary)
{
    ll_json_key(json, "offers");
    ll_json_open_list(json);
    for (size_t i = 0; i < coverage->offer_count; i++)
        if (coverage->offers[i].binary == binary)
            ll_json_text(json, coverage->names[coverage->offers[i].symbol]);
    ll_json_close_list(json);
}

static void put_binary(struct ll_json *json, const struct ll_coverage *coverage, uint32_t binary,
                       enum ll_mechanism mechanism)
{
    const struct ll_binary *it = &coverage->closure->binaries[binary];
    ll_json_open_object(json);
    ll_json_put_text(json, "path", it->path);
    ll_json_put_text(json, "build_id", it->elf->build_id);
    ll_json_put_bool(json, "symbolic", it->elf->symbolic);
    ll_json_put_bool(json, "bind_now", it->elf->bind_now);
    ll_json_put_bool(json, "position_independent", it->elf->movable);
    ll_json_put_bool(json, "symbols", it->elf->function_count > 0);
    ll_json_put_bool(json, "lines", it->elf->has_lines);
    put_routes(json, coverage, binary, mechanism);
    put_offers(json, coverage, binary);
    ll_json_close_object(json);
}

void ll_coverage_json(struct ll_json *json, const struct ll_coverage *coverage, enum ll_mechanism mechanism)
{
    const struct ll_closure *closure = coverage->closure;
    ll_json_open_object(json);
    ll_json_put_text(json, "program", closure->binaries[0].path);
    ll_json_put_text(json, "script", closure->script);
    ll_json_put_bool(json, "static", coverage->is_static);
    ll_json_put_bool(json, "closed", coverage->closed);
    ll_json_put_bool(json, "possible", coverage->possible);
    ll_json_put_text(json, "mechanism", ll_mechanism_name(mechanism));
    ll_json_put_count(json, "routes", coverage->route_count);
    ll_json_put_count(json, "seen", ll_coverage_seen(coverage, mechanism));
    ll_json_put_bool(json, "opens_libraries", coverage->opening_count > 0);
    ll_json_key(json, "missing");
    ll_json_open_list(json);
    for (size_t i = 0; i < closure->missing_count; i++)
        ll_json_text(json, closure->missing[i].name);
    ll_json_close_list(json);
    ll_json_key(json, "binaries");
    ll_json_open_list(json);
    for (uint32_t i = 0; i < closure->count; i++)
        put_binary(json, coverage, i, mechanism);
    ll_json_close_list(json);
    ll_json_close_object(json);
}
