/* SPDX-License-Identifier: Apache-2.0 */
/* The gallery of bad machine files: tests/errors/machines/NAME.yaml beside NAME.expected, all complaints that
 * the file calls forth, a `line:column: message` each (`file:line:column` where it is another file's).
 *
 * To add one, write the .yaml and run this program with LL_BLESS=1 in the environment: it writes every
 * .expected anew. Then read the difference as if you had made the mistake. */
#include "check.h"

#include "toy_machine.h"
#include "tracer/base/str.h"

#include <stdlib.h>

static const char *const gallery[] = {"tests/errors/machines", NULL};

static void add_complaint(struct ll_str *text, const struct ll_diag *diag, const char *path)
{
    const char *file = diag->place.file, *slash = file ? strrchr(file, '/') : NULL;
    if (file && strcmp(file, path))
        ll_str_addf(text, "%s:", slash ? slash + 1 : file);
    ll_str_addf(text, "%llu:%llu: %s\n", (unsigned long long)diag->place.line,
                (unsigned long long)diag->place.column, diag->message);
}

static void read_complaints(const char *stem, struct ll_str *text)
{
    struct ll_diags diags = {0};
    char path[256];
    snprintf(path, sizeof path, "%s/%s.yaml", gallery[0], stem);
    struct ll_machine *machine = ll_machine_read(path, NULL, NULL, 0, &diags);
    if (machine)
        fail_msg("%s is no bad machine", path);
    for (size_t i = 0; i < diags.kept_count; i++)
        add_complaint(text, &diags.kept[i], path);
    ll_diags_release(&diags);
}

static void bless(const char *path, const struct ll_str *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(text->text, 1, text->length, file);
    fclose(file);
}

/* The whole file, "" when there is none. Freed by the caller. */
static char *read_expected(const char *path)
{
    char *text = calloc(1, 1 << 16);
    FILE *file = fopen(path, "rb");
    assert_non_null(text);
    if (file) {
        size_t length = fread(text, 1, (1 << 16) - 1, file);
        text[length] = '\0';
        fclose(file);
    }
    return text;
}

static void check_file(const char *stem)
{
    struct ll_str text = {0};
    char path[256];
    snprintf(path, sizeof path, "%s/%s.expected", gallery[0], stem);
    read_complaints(stem, &text);
    char *expected = read_expected(path);
    if (getenv("LL_BLESS"))
        bless(path, &text);
    else if (strcmp(text.text, expected))
        fail_msg("%s\nsays:\n%sexpected:\n%s", path, text.text, expected);
    free(expected);
    ll_str_release(&text);
}

static void every_mistake_is_named_with_its_place_and_its_cure(void **state)
{
    struct ll_arena arena = {0};
    const char **stems;
    size_t count;
    (void)state;
    assert_true(ll_machine_list(gallery, NULL, &arena, &stems, &count));
    assert_true(count >= 25);
    for (size_t i = 0; i < count; i++)
        check_file(stems[i]);
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_mistake_is_named_with_its_place_and_its_cure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
