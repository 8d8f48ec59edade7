/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "random.h"
#include "tracer/record/elf.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

static struct ll_arena arena;

/* The smallest file with a build id: a header, one segment, one note. */
struct tiny {
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    Elf64_Nhdr note;
    char name[4];
    unsigned char id[20];
};

static struct tiny make_tiny(void)
{
    struct tiny tiny = {
        .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                   .e_type = ET_DYN,
                   .e_machine = EM_X86_64,
                   .e_version = EV_CURRENT,
                   .e_phoff = offsetof(struct tiny, segment),
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = 1,
                   .e_shentsize = sizeof(Elf64_Shdr)},
        .segment = {.p_type = PT_NOTE,
                    .p_offset = offsetof(struct tiny, note),
                    .p_align = 4,
                    .p_filesz = sizeof(struct tiny) - offsetof(struct tiny, note)},
        .note = {.n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID},
        .name = "GNU",
    };
    for (unsigned i = 0; i < sizeof tiny.id; i++)
        tiny.id[i] = (unsigned char)(0xA0 + i);
    return tiny;
}

/* NULL where there is none, or no ELF file. */
static const char *build_id_of(const void *bytes, size_t size)
{
    const struct ll_elf *elf = ll_elf_read_bytes(&arena, bytes, size);
    return elf ? elf->build_id : NULL;
}

static void the_build_id_of_a_tiny_file_is_found(void **state)
{
    (void)state;
    struct tiny tiny = make_tiny();
    const char *id = build_id_of(&tiny, sizeof tiny);
    assert_non_null(id);
    assert_string_equal(id, "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3");
}

static void a_file_without_one_has_none(void **state)
{
    (void)state;
    struct tiny tiny = make_tiny();
    tiny.note.n_type = NT_GNU_ABI_TAG;
    assert_null(build_id_of(&tiny, sizeof tiny));
    tiny = make_tiny();
    tiny.segment.p_type = PT_LOAD;
    assert_null(build_id_of(&tiny, sizeof tiny));
    assert_null(build_id_of("no ELF file", 11));
    assert_null(build_id_of("", 0));
    assert_null(ll_elf_build_id(&arena, "no/such/file"));
    assert_null(ll_elf_build_id(&arena, "/dev/zero"));
    assert_null(ll_elf_build_id(&arena, "."));
}

static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    uint64_t random = ll_seed(8), found = 0;
    for (int round = 0; round < 20000; round++) {
        struct tiny tiny = make_tiny();
        unsigned char *bytes = (unsigned char *)&tiny;
        for (uint64_t left = 1 + ll_random_below(&random, 4); left; left--)
            bytes[ll_random_below(&random, sizeof tiny)] = (unsigned char)ll_random(&random);
        size_t size = round % 4 ? sizeof tiny : ll_random_below(&random, sizeof tiny);
        found += build_id_of(&tiny, size) != NULL;
        if (round % 1000 == 0)
            ll_arena_release(&arena);
    }
    assert_true(found > 0);
}

/* What readelf says of these three, which were linked from
 *
 *     extern int cblas_dgemm(int); extern int dgesv_(void); static int own(void) { return 1; }
 *     int exported(int x) { return cblas_dgemm(x) + 1; }   int (*table[])(void) = {dgesv_, own}; */
#define SEEDS "tests/fuzz/corpus/elf/"

static void imports_tell_the_kind_of_their_slots(void **state)
{
    (void)state;
    const struct ll_elf *elf = ll_elf_read(&arena, SEEDS "imports.so");
    assert_non_null(elf);
    assert_true(elf->dynamic && elf->movable);
    assert_false(elf->program || elf->symbolic || elf->bind_now || elf->has_lines);
    assert_string_equal(elf->soname, "libseed.so.1");
    assert_string_equal(elf->runpath, "$ORIGIN/x");
    assert_null(elf->rpath);
    assert_null(elf->build_id);
    const struct ll_elf_symbol *called = ll_elf_find(elf, "cblas_dgemm"),
                               *listed = ll_elf_find(elf, "dgesv_");
    assert_true(called && !called->defined && called->slots == LL_SLOT_CALL);
    assert_true(listed && !listed->defined && listed->slots == LL_SLOT_DATA);
    assert_true(ll_elf_find(elf, "exported")->defined);
    assert_null(ll_elf_find(elf, "own"));
    assert_true(ll_elf_find_function(elf, "own")->defined);
    assert_null(ll_elf_find(elf, "no such symbol"));
}

/* Linked with -fno-plt -g -Bsymbolic -z now, the old hash table and RPATH. */
static void binding_and_paths_are_read(void **state)
{
    (void)state;
    const struct ll_elf *elf = ll_elf_read(&arena, SEEDS "symbolic.so");
    assert_non_null(elf);
    assert_true(elf->symbolic && elf->bind_now && elf->has_lines);
    assert_string_equal(elf->rpath, "/a:/b");
    assert_null(elf->runpath);
    assert_non_null(elf->build_id);
    assert_int_equal(ll_elf_find(elf, "cblas_dgemm")->slots, LL_SLOT_ADDRESS);
}

static void a_static_program_has_functions_and_nothing_to_bind(void **state)
{
    (void)state;
    const struct ll_elf *elf = ll_elf_read(&arena, SEEDS "static.elf");
    assert_non_null(elf);
    assert_true(elf->program && !elf->dynamic && !elf->movable);
    assert_null(elf->interpreter);
    assert_int_equal(elf->symbol_count, 0);
    const struct ll_elf_symbol *function = ll_elf_find_function(elf, "dgemm_");
    assert_true(function && function->address && function->size_bytes);
    assert_int_equal(elf->entry, ll_elf_find_function(elf, "_start")->address);
}

static void this_program_reads_itself(void **state)
{
    (void)state;
    const struct ll_elf *elf = ll_elf_read(&arena, "/proc/self/exe");
    assert_non_null(elf);
    assert_true(elf->program && elf->dynamic);
    assert_int_equal(elf->bits, sizeof(void *) == 8 ? 64 : 32);
    assert_non_null(elf->interpreter);
    assert_true(elf->needed_count > 0);
    assert_non_null(ll_elf_find(elf, "_assert_true"));
    assert_false(ll_elf_find(elf, "_assert_true")->defined);
    assert_non_null(ll_elf_find_function(elf, "main"));
}

static void the_libraries_of_this_program_are_named(void **state)
{
    (void)state;
    struct ll_facts facts = {.arena = &arena};
    ll_library_facts(&facts);
    assert_false(facts.failed);
    bool c_library = false;
    for (uint64_t i = 0; i < facts.count; i++) {
        c_library |= strncmp(facts.items[i].key, "library.libc.so", 15) == 0;
        assert_true(strlen(facts.items[i].value) % 2 == 0);
        assert_int_equal(strspn(facts.items[i].value, "0123456789abcdef"), strlen(facts.items[i].value));
    }
    assert_true(c_library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_build_id_of_a_tiny_file_is_found),
        cmocka_unit_test(a_file_without_one_has_none),
        cmocka_unit_test(damaged_files_do_no_harm),
        cmocka_unit_test(imports_tell_the_kind_of_their_slots),
        cmocka_unit_test(binding_and_paths_are_read),
        cmocka_unit_test(a_static_program_has_functions_and_nothing_to_bind),
        cmocka_unit_test(this_program_reads_itself),
        cmocka_unit_test(the_libraries_of_this_program_are_named),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ll_arena_release(&arena);
    return failed;
}
