/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of loops that run side by side, and within each element: [C32 K32, FY3 OY13 / FX3 K16]. */
#include "sim/machine/schema_types.h"
#include "tracer/base/num.h"

#include <stdio.h>
#include <string.h>

enum { MOST_AT_ONCE = 65536 };

static const char *const loop_names[] = {
#define X(word, ...) #word,
    LL_LOOP_LIST(X)
#undef X
};

/* Takes "K16" off the text; false when it is none, or a loop that is there already. */
static bool parse_loop(const char **text, uint32_t by[LL_LOOP_COUNT])
{
    size_t letters = strspn(*text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    size_t digits = strspn(*text + letters, "0123456789");
    char number[8];
    uint64_t count;
    if (digits == 0 || digits >= sizeof number)
        return false;
    memcpy(number, *text + letters, digits);
    number[digits] = '\0';
    if (!ll_count_parse(number, &count) || count == 0 || count > MOST_AT_ONCE)
        return false;
    for (int i = 0; i < LL_LOOP_COUNT; i++) {
        if (strlen(loop_names[i]) != letters || memcmp(*text, loop_names[i], letters) != 0)
            continue;
        bool first = by[i] == 0;
        by[i] = (uint32_t)count;
        *text += letters + digits;
        return first;
    }
    return false;
}

/* Takes "C32 K32" off the text, at least one loop; others get one iteration. */
static bool parse_loops(const char **text, uint32_t by[LL_LOOP_COUNT])
{
    do {
        if (!parse_loop(text, by))
            return false;
        *text += strspn(*text, " ");
    } while (**text && **text != '/');
    return true;
}

static bool parse_unroll(const char *text, struct ll_unroll *unroll)
{
    *unroll = (struct ll_unroll){{0}, {0}};
    bool right = parse_loops(&text, unroll->by);
    if (right && *text == '/') {
        text++;
        text += strspn(text, " ");
        right = parse_loops(&text, unroll->each) && *text == '\0';
    }
    for (int i = 0; i < LL_LOOP_COUNT; i++) {
        unroll->by[i] = unroll->by[i] ? unroll->by[i] : 1;
        unroll->each[i] = unroll->each[i] ? unroll->each[i] : 1;
    }
    return right;
}

bool ll_read_UNROLLS(const struct ll_field *field, const struct ll_node *node, void *object,
                     struct ll_reading *reading)
{
    struct ll_unroll *unrolls = ll_at(object, field->offset);
    uint64_t *count = ll_at(object, field->count_offset);
    bool right = true;
    if (!ll_is_type(node, LL_NODE_LIST, "a list of loops side by side, as [C32 K32, C8 OX8 OY8]", reading) ||
        !ll_length_of(field, node, LL_MAX_UNROLLS, "ways", reading))
        return false;
    *count = 0;
    for (const struct ll_node *child = node->first; child; child = child->next) {
        if (!child->text || !parse_unroll(child->text, &unrolls[*count]))
            right = ll_expected(child, reading,
                                "loops (G, B, K, C, OY, OX, FY, FX), each once, with how many of its "
                                "iterations run side by side (1 to "
                                "65536), and behind a / how many each element does, as C32 K32 / FX3");
        ++*count;
    }
    return right;
}

static size_t print_loops(const uint32_t by[LL_LOOP_COUNT], const char *before, char *text, size_t room)
{
    size_t length = 0;
    for (int i = 0; i < LL_LOOP_COUNT; i++)
        if (by[i] > 1)
            length += (size_t)snprintf(text + length, room - length, "%s%s%u", length ? " " : before,
                                       loop_names[i], by[i]);
    return length;
}

void ll_unroll_print(const struct ll_unroll *unroll, char text[LL_UNROLL_TEXT])
{
    size_t length = print_loops(unroll->by, "", text, LL_UNROLL_TEXT);
    if (length == 0)
        length = (size_t)snprintf(text, LL_UNROLL_TEXT, "%s1", loop_names[0]);
    print_loops(unroll->each, " / ", text + length, LL_UNROLL_TEXT - length);
}

void ll_write_UNROLLS(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                      struct ll_dump *dump)
{
    const struct ll_unroll *unrolls = ll_at_const(object, field->offset);
    char text[LL_UNROLL_TEXT];
    (void)machine;
    dump->verbs->open(dump->out, LL_NODE_LIST, true);
    for (uint64_t i = 0; i < ll_count_of(field, object); i++) {
        ll_unroll_print(&unrolls[i], text);
        dump->verbs->word(dump->out, text);
    }
    dump->verbs->close(dump->out, LL_NODE_LIST);
}
