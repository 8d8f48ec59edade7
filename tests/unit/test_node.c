/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/machine/node.h"
#include "tracer/base/clock.h"
#include "tracer/base/file.h"
#include "tracer/base/str.h"

#include <glob.h>
#include <string.h>

static struct ll_arena arena;
static struct ll_diags diags;

static int set_up(void **state)
{
    (void)state;
    arena = (struct ll_arena){0};
    diags = (struct ll_diags){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ll_arena_release(&arena);
    ll_diags_release(&diags);
    return 0;
}

static struct ll_node *parse(const char *text)
{
    return ll_node_parse(&arena, text, strlen(text), "toy.yaml", &diags);
}

static void assert_complaint(uint64_t line, uint64_t column, const char *message)
{
    assert_true(diags.count >= 1);
    assert_string_equal(diags.kept[0].message, message);
    assert_int_equal(diags.kept[0].place.line, line);
    assert_int_equal(diags.kept[0].place.column, column);
}

static void every_value_knows_where_it_stands(void **state)
{
    (void)state;
    struct ll_node *root = parse("name: Toy\nunits:\n  - {rows: 128, \"co ls\": x}\n");
    const struct ll_node *item = ll_node_get(root, "units")->first, *rows = ll_node_get(item, "rows");
    assert_int_equal(diags.count, 0);
    assert_int_equal(item->type, LL_NODE_MAP);
    assert_string_equal(rows->text, "128");
    assert_string_equal(rows->place.file, "toy.yaml");
    assert_int_equal(rows->place.line, 3);
    assert_int_equal(rows->place.column, 12);
    assert_int_equal(rows->place.width, 3);
    assert_string_equal(rows->place.source_line, "  - {rows: 128, \"co ls\": x}");
    assert_int_equal(rows->key_place.column, 6);
    assert_int_equal(ll_node_get(item, "co ls")->key_place.width, 7);
    assert_int_equal(ll_node_get(parse("empty:\n"), "empty")->place.width, 1); /* a caret needs something */
    assert_null(ll_node_get(item, "nothing"));
    assert_null(ll_node_get(rows, "of no map"));
    assert_string_equal(ll_node_get_text(root, "name"), "Toy");
    assert_null(ll_node_get_text(root, "units"));
}

static void lines_end_as_libyaml_ends_them(void **state)
{
    (void)state;
    struct ll_node *root = parse("a: 1\r\nb: 2\rc: \"x\xC2\x85y\"\nd: 4\xE2\x80\xA8"
                                 "e: 5\n");
    assert_non_null(root);
    assert_string_equal(ll_node_get(root, "b")->place.source_line, "b: 2");
    assert_int_equal(ll_node_get(root, "b")->place.line, 2);
    assert_int_equal(ll_node_get(root, "d")->place.line, 5);
    assert_string_equal(ll_node_get(root, "d")->place.source_line, "d: 4");
    assert_string_equal(ll_node_get(root, "e")->place.source_line, "e: 5");
}

static void a_value_of_a_command_line_has_no_line(void **state)
{
    (void)state;
    struct ll_node *list = ll_node_parse_value(&arena, "[8x8x8, 4x4x4]", "--set tiles=...", &diags);
    assert_int_equal(list->count, 2);
    assert_string_equal(list->last->text, "4x4x4");
    assert_string_equal(list->last->place.file, "--set tiles=...");
    assert_int_equal(list->last->place.line, 0);
    assert_null(list->last->place.source_line);
}

static void what_is_not_used_here_is_refused(void **state)
{
    static const struct {
        const char *text;
        uint64_t line, column;
        const char *message;
    } cases[] = {
        {"a: &x 1\n", 1, 4, "anchors (&) and tags (!) are not used here; `inherits` shares values"},
        {"a: !t {}\n", 1, 4, "anchors (&) and tags (!) are not used here; `inherits` shares values"},
        {"a: &x [*x]\n", 1, 4, "anchors (&) and tags (!) are not used here; `inherits` shares values"},
        {"a: 1\n--- \nb: 2\n", 2, 1, "a second document begins here; one file describes one thing"},
        {"{a: 1}: 2\n", 1, 1, "a key must be a word; this is a map"},
        {"? [a]\n: 2\n", 1, 3, "a key must be a word; this is a list"},
        {"\"\": 2\n", 1, 1, "a key must be a word; this one is empty"},
        {"a: 1\nb: 2\na: 3\n", 3, 1, "`a` stands here a second time; the first is in line 1"},
        {"a: \"\\0\"\n", 1, 4, "a control character inside a text"},
        {"a: \"\\e[2J\"\n", 1, 4, "a control character inside a text"},
        {"a: \"\\x7F\"\n", 1, 4, "a control character inside a text"},
        {"a: \"\\x9B\"\n", 1, 4, "a control character inside a text"},
        {"a: \"\\uFEFF\"\n", 1, 4, "a control character inside a text"},
        {"", 0, 0, "there is nothing in this file"},
        {"# a comment\n", 0, 0, "there is nothing in this file"},
        {"a: [1, 2\n", 2, 1,
         "not YAML: did not find expected ',' or ']', while parsing a flow sequence that began "
         "in line 1"},
        {"a: 1\nb: \xC3(\n", 2, 5, "not UTF-8 text: invalid trailing UTF-8 octet"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parse(cases[i].text);
        assert_complaint(cases[i].line, cases[i].column, cases[i].message);
        tear_down(state);
        set_up(state);
    }
}

static void a_doubled_key_leaves_a_tree_to_go_on_with(void **state)
{
    (void)state;
    struct ll_node *root = parse("a: 1\na: 2\na: 3\n");
    assert_int_equal(diags.count, 2);
    assert_string_equal(ll_node_get_text(root, "a"), "1");
}

/* libyaml alone takes more than 20 s for this; a depth that is refused takes none. */
static void brackets_without_end_are_refused_at_once(void **state)
{
    (void)state;
    struct ll_str text = {0};
    for (int i = 0; i < 200000; i++)
        ll_str_add(&text, "[");
    uint64_t start_ns = ll_now_ns();
    assert_null(parse(text.text));
    assert_complaint(1, 33, "nested deeper than 32");
    assert_true(ll_now_ns() - start_ns < 1000000000u);
    ll_str_release(&text);
}

static void many_keys_are_compared_in_no_quadratic_time(void **state)
{
    (void)state;
    struct ll_str text = {0};
    for (int i = 0; i < 200000; i++)
        ll_str_addf(&text, "k%d: \n", i);
    ll_str_add(&text, "k77: again\n");
    uint64_t start_ns = ll_now_ns();
    assert_non_null(parse(text.text));
    assert_complaint(200001, 1, "`k77` stands here a second time; the first is in line 78");
    assert_true(ll_now_ns() - start_ns < 10000000000u); /* comparing each with each would take minutes */
    ll_str_release(&text);
}

static void sizes_are_limited(void **state)
{
    (void)state;
    struct ll_str text = {0};
    ll_str_add(&text, "[");
    for (int i = 0; i < LL_NODE_LIMIT; i++)
        ll_str_add(&text, "1,");
    assert_null(parse(text.text));
    assert_complaint(1, 2 * LL_NODE_LIMIT, "more than 500000 values in one file");
    tear_down(state);
    while (text.length <= LL_YAML_LIMIT_BYTES)
        ll_str_add(&text, "#################################################################");
    assert_null(parse(text.text));
    assert_complaint(0, 0, "longer than 4 MiB");
    ll_str_release(&text);
}

static void a_member_can_be_taken_out(void **state)
{
    (void)state;
    struct ll_node *root = parse("a: 1\nb: 2\nc: 3\n");
    assert_string_equal(ll_node_remove(root, "b")->text, "2");
    assert_string_equal(ll_node_remove(root, "c")->text, "3");
    assert_null(ll_node_remove(root, "c"));
    assert_int_equal(root->count, 1);
    assert_ptr_equal(root->first, root->last);
    struct ll_node *more = ll_node_new(&arena, LL_NODE_SCALAR, root->place);
    more->key = "d";
    ll_node_add(root, more);
    assert_ptr_equal(ll_node_get(root, "d"), more);
    assert_string_equal(ll_node_remove(root, "a")->text, "1");
    assert_ptr_equal(root->first, more);
}

static void what_is_shown_is_short_and_plain(void **state)
{
    (void)state;
    struct ll_node *root = parse("key: \"two\\nlines\"\nempty:\nlist: []\n");
    assert_string_equal(ll_node_shown(ll_node_get(root, "key")).text, "key: two lines");
    assert_string_equal(ll_node_shown(ll_node_get(root, "empty")).text, "empty:");
    assert_string_equal(ll_node_shown(ll_node_get(root, "list")).text, "list");
    char text[200];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    memcpy(text + 75, "\xE2\x82\xAC", 3); /* the cut would go through a character */
    struct ll_shown shown = ll_shown_text(text);
    assert_int_equal(strlen(shown.text), 78);
    assert_string_equal(shown.text + 74, "x...");
}

#define with_arena(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static void assert_place(struct ll_place a, struct ll_place b)
{
    assert_int_equal(a.line, b.line);
    assert_int_equal(a.column, b.column);
    assert_int_equal(a.width, b.width);
    assert_string_equal(a.source_line ? a.source_line : "", b.source_line ? b.source_line : "");
}

static void assert_tree(const struct ll_node *a, const struct ll_node *b)
{
    assert_int_equal(a->type, b->type);
    assert_string_equal(a->key ? a->key : "", b->key ? b->key : "");
    assert_string_equal(a->text ? a->text : "", b->text ? b->text : "");
    assert_place(a->place, b->place);
    assert_place(a->key_place, b->key_place);
    assert_int_equal(a->count, b->count);
    for (a = a->first, b = b->first; a && b; a = a->next, b = b->next)
        assert_tree(a, b);
    assert_true(!a && !b);
}

/* A remark at the end makes libyaml read all of a text. Whether there is a tree, and no complaint. */
static bool assert_twins(const char *text, size_t length)
{
    struct ll_diags of_whole = {0};
    ll_diags_release(&diags);
    const char *whole = ll_format(&arena, "%.*s%s", (int)length, text, "# the end\n");
    const struct ll_node *tree = ll_node_parse(&arena, text, length, "toy.yaml", &diags);
    const struct ll_node *twin = ll_node_parse(&arena, whole, strlen(whole), "toy.yaml", &of_whole);
    assert_int_equal(diags.count, of_whole.count);
    for (size_t i = 0; i < diags.kept_count; i++) {
        assert_string_equal(diags.kept[i].message, of_whole.kept[i].message);
        if (tree) /* else it may be at the end, which is a line further */
            assert_place(diags.kept[i].place, of_whole.kept[i].place);
    }
    assert_true((tree != NULL) == (twin != NULL));
    if (tree)
        assert_tree(tree, twin);
    bool right = tree && diags.count == 0;
    ll_diags_release(&of_whole);
    return right;
}

static void sources_at_the_end_are_what_libyaml_reads(void **state)
{
    (void)state;
    static const char *const right[] = {
        "name: a\nsources:\n  a.b: \"by: hand, # 1\"\n  c-d: \"\"\n",
        "# a remark\n\nunits:\n- {a: b}\n\nsources:\n  a: \" b \"\n",
        "a: |\n  text\nsources:\n  a: \"b\"\n",
        "a: |\n  sources:\n    a: \"b\"\nb: c\nsources:\n  a: \"b\"\n",
        "a:\nsources:\n  a: \"b\"\n",
        "a: b\r\nsources:\r\n  a: \"b\"\r\n",
        "a: b\nsources:\n  a: \"b\\n\\\"c\\\"\"\n",
        "a: b\nsources:\n  a: \"\xC3\xA9\"\n",
        "a: b\nsources:\n  a: b\n",
        "a: b\nsources:\n   a: \"b\"\n   b: \"b\"\n",
        "sources:\n  a: \"b\"\n",
        "--- \na: b\nsources:\n  a: \"b\"\n",
    };
    static const char *const wrong[] = {
        "sources: {}\nsources:\n  a: \"b\"\n",
        "a: b\na: c\nsources:\n  a: \"b\"\n",
        "a: b\nsources:\n  a: \"b\"\n  a: \"c\"\n",
        "{a: b}\nsources:\n  a: \"b\"\n",
        "{\na: b}\nsources:\n  a: \"b\"\n",
        "{\nsources:\n  a: \"b\"\n",
        "- a\nsources:\n  a: \"b\"\n",
        " a: b\nsources:\n  a: \"b\"\n",
        "a: 'b\nsources:\n  a: \"b\"\n",
        "a: [b,\nsources:\n  a: \"b\"\n",
        "a: b\n---\nc: d\nsources:\n  a: \"b\"\n",
        "a: b\n...\nsources:\n  a: \"b\"\n",
        "a: &b c\nsources:\n  a: \"b\"\n",
        "a\nsources:\n  a: \"b\"\n",
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        assert_true(assert_twins(right[i], strlen(right[i])));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(assert_twins(wrong[i], strlen(wrong[i])));
}

static void descriptions_that_are_shipped_are_what_libyaml_reads(void **state)
{
    (void)state;
    static const char *const patterns[] = {"hwconfigs/*.yaml", "hwconfigs/*/*.yaml", "hwconfigs/*/*/*.yaml"};
    size_t count = 0;
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        glob_t found;
        assert_int_equal(glob(patterns[p], 0, NULL, &found), 0);
        for (size_t i = 0; i < found.gl_pathc; i++, count++) {
            struct ll_contents text;
            assert_int_equal(ll_read_whole(found.gl_pathv[i], LL_YAML_LIMIT_BYTES, &arena, &text), LL_OK);
            assert_true(assert_twins(text.bytes, text.length));
        }
        globfree(&found);
    }
    assert_true(count > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_arena(sources_at_the_end_are_what_libyaml_reads),
        with_arena(descriptions_that_are_shipped_are_what_libyaml_reads),
        with_arena(every_value_knows_where_it_stands),
        with_arena(lines_end_as_libyaml_ends_them),
        with_arena(a_value_of_a_command_line_has_no_line),
        with_arena(what_is_not_used_here_is_refused),
        with_arena(a_doubled_key_leaves_a_tree_to_go_on_with),
        with_arena(brackets_without_end_are_refused_at_once),
        with_arena(many_keys_are_compared_in_no_quadratic_time),
        with_arena(sizes_are_limited),
        with_arena(a_member_can_be_taken_out),
        with_arena(what_is_shown_is_short_and_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
