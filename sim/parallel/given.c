/* SPDX-License-Identifier: Apache-2.0 */
/* Values that all plans of a search have to hold: read as those of a plan, each into a plan of its own. */
#include "sim/parallel/given.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "sim/machine/node.h"
#include "tracer/base/num.h"

/* One more value. */
static bool add(struct ll_plan_given *given, const char *key, const char *text, struct ll_place place,
                struct ll_arena *arena, struct ll_diags *diags)
{
    struct ll_parallel read = ll_plan_of_one();
    if (!ll_plan_key_is_known(key, place, diags) || !ll_plan_set(&read, key, text, place, diags))
        return false;
    const size_t i = ll_plan_key_index(key);
    assert(i < LL_MOST_GIVEN);
    const uint64_t count = given->of[i].count;
    struct ll_parallel *values = ll_alloc(arena, count + 1, sizeof *values);
    if (!values)
        return ll_complain(diags, place, "memory ran out");
    if (count > 0)
        memcpy(values, given->of[i].values, count * sizeof *values);
    values[count] = read;
    for (uint64_t k = 0; k < count; k++)
        if (ll_plan_member_equals(i, &values[k], &read))
            return true; /* it is there already */
    given->of[i].values = values;
    given->of[i].count = count + 1;
    return true;
}

bool ll_given_add(struct ll_plan_given *given, const char *key, const char *text, struct ll_place place,
                  struct ll_arena *arena, struct ll_diags *diags)
{
    if (!ll_plan_key_is_known(key, place, diags))
        return false;
    if (ll_plan_key_is_list(ll_plan_key_index(key)) || !strchr(text, ','))
        return add(given, key, text, place, arena, diags);
    bool right = true;
    for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const char *one = ll_copy_text(arena, at, strcspn(at, ","));
        if (!one)
            return ll_complain(diags, place, "memory ran out");
        right = add(given, key, one, place, arena, diags) && right;
    }
    return right;
}

/* A list is several values, or one that has commas. */
static bool add_list(struct ll_plan_given *given, const struct ll_node *list, struct ll_arena *arena,
                     struct ll_diags *diags)
{
    struct ll_str text = {0};
    bool right = true;
    if (!ll_plan_key_is_known(list->key, list->place, diags))
        return false;
    const size_t member = ll_plan_member_of(ll_plan_key_index(list->key));
    const bool layouts = member == offsetof(struct ll_parallel, split.layout); /* values with commas */
    for (const struct ll_node *item = layouts ? list->first : NULL; item; item = item->next)
        right = (item->type == LL_NODE_SCALAR ? add(given, list->key, item->text, item->place, arena, diags)
                                              : ll_complain(diags, item->place, "expected text, not %s",
                                                            ll_node_type_name(item->type))) &&
                right;
    if (layouts)
        return right;
    for (const struct ll_node *item = list->first; item; item = item->next)
        if (item->type == LL_NODE_SCALAR)
            ll_str_addf(&text, "%s%s", item == list->first ? "" : ",", item->text);
        else
            right = ll_complain(diags, item->place, "expected text, not %s", ll_node_type_name(item->type));
    if (text.failed)
        right = ll_complain(diags, list->place, "memory ran out");
    right = right && ll_given_add(given, list->key, text.text ? text.text : "", list->place, arena, diags);
    ll_str_release(&text);
    return right;
}

bool ll_given_parse(struct ll_plan_given *given, const char *text, size_t length, const char *name,
                    struct ll_arena *arena, struct ll_diags *diags)
{
    struct ll_arena scratch = {0};
    size_t before = diags->count;
    const struct ll_node *root = ll_node_parse(&scratch, text, length, name, diags);
    if (root && root->type != LL_NODE_MAP)
        ll_complain(diags, root->place, "expected a map of keys, as in `tp: [4, 8]`, not %s",
                    ll_node_type_name(root->type));
    for (const struct ll_node *node = root && root->type == LL_NODE_MAP ? root->first : NULL; node;
         node = node->next) {
        if (node->type == LL_NODE_SCALAR)
            ll_given_add(given, node->key, node->text, node->key_place, arena, diags);
        else if (node->type == LL_NODE_LIST)
            add_list(given, node, arena, diags);
        else
            ll_complain(diags, node->place, "`%s`: expected a value, not a map", ll_node_shown(node).text);
    }
    ll_arena_release(&scratch);
    return root && diags->count == before;
}

uint64_t ll_given_of(const struct ll_plan_given *given, size_t member)
{
    for (size_t i = 0; given && i < ll_plan_key_count(); i++)
        if (ll_plan_member_of(i) == member)
            return given->of[i].count;
    return 0;
}

bool ll_given_hold(const struct ll_plan_given *given, const struct ll_parallel *plan, size_t member)
{
    for (size_t i = 0; given && i < ll_plan_key_count(); i++) {
        if (ll_plan_member_of(i) != member)
            continue;
        bool holds = given->of[i].count == 0;
        for (uint64_t k = 0; k < given->of[i].count && !holds; k++)
            holds = ll_plan_member_equals(i, &given->of[i].values[k], plan);
        return holds;
    }
    return true;
}

static bool is_among(size_t member, const size_t *others, size_t count)
{
    size_t i = 0;
    while (i < count && others[i] != member)
        i++;
    return i < count;
}

struct ll_parallel *ll_given_bases(const struct ll_plan_given *given, const size_t *others,
                                   size_t other_count, struct ll_arena *arena, uint64_t *count)
{
    const size_t keys = given ? ll_plan_key_count() : 0;
    *count = 1;
    for (size_t i = 0; i < keys; i++)
        if (!is_among(ll_plan_member_of(i), others, other_count))
            *count = ll_mul(*count, ll_max(1, given->of[i].count));
    struct ll_parallel *bases = *count <= LL_MOST_BASES ? ll_alloc(arena, *count, sizeof *bases) : NULL;
    for (uint64_t b = 0; bases && b < *count; b++) {
        uint64_t left = b;
        bases[b] = ll_plan_of_one();
        for (size_t i = keys; i-- > 0;) { /* the last key changes fastest */
            const uint64_t values = given->of[i].count;
            if (values == 0 || is_among(ll_plan_member_of(i), others, other_count))
                continue;
            ll_plan_take_member(i, &given->of[i].values[left % values], &bases[b]);
            left /= values;
        }
    }
    return bases;
}
