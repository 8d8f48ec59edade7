/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "check.h"

#include "tracer/binary/callsite.h"

#include <dlfcn.h>
#include <link.h>

static struct ll_arena arena;
static struct ll_module modules[256];
static size_t module_count;

static int note_module(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size, (void)context;
    const char *path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
    if (module_count < 256)
        modules[module_count++] = (struct ll_module){ll_format(&arena, "%s", path), info->dlpi_addr};
    return 0;
}

static struct ll_callsites *open_sites(void)
{
    struct ll_callsites *sites = NULL;
    module_count = 0;
    dl_iterate_phdr(note_module, NULL);
    assert_int_equal(ll_callsites_open(modules, module_count, &sites), LL_OK);
    return sites;
}

/* Returns the place behind the call to it. */
static __attribute__((noinline)) uint64_t here(void)
{
    return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

static void a_call_of_this_program_is_found_in_its_function(void **state)
{
    (void)state;
    struct ll_callsites *sites = open_sites();
    const struct ll_callsite *site = ll_callsite_find(sites, here());
    assert_non_null(site);
    assert_non_null(site->library);
    assert_non_null(strstr(site->library, "exe"));
    assert_string_equal(site->symbol, __func__);
    assert_true(site->symbol_offset > 0 && site->symbol_offset < 4096);
    ll_callsites_release(sites);
}

static void the_same_address_gives_the_same_site(void **state)
{
    (void)state;
    struct ll_callsites *sites = open_sites();
    uint64_t address = here();
    const struct ll_callsite *first = ll_callsite_find(sites, address);
    for (uint64_t i = 0; i < 1000; i++)
        assert_non_null(ll_callsite_find(sites, address + i));
    assert_ptr_equal(ll_callsite_find(sites, address), first);
    ll_callsites_release(sites);
}

/* The loader itself is the twin: dladdr knows what it has loaded. The C library is asked, since a sanitizer
 * puts functions of its own in front. */
static void libraries_symbols_and_offsets_are_those_of_the_loader(void **state)
{
    (void)state;
    struct ll_callsites *sites = open_sites();
    void *library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    assert_non_null(library);
    static const char *const names[] = {"qsort", "fopen", "regcomp", "getaddrinfo"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *function = dlsym(library, names[i]);
        Dl_info info;
        assert_non_null(function);
        assert_true(dladdr(function, &info));
        const struct ll_callsite *site = ll_callsite_find(sites, (uint64_t)(uintptr_t)function + 5);
        assert_string_equal(site->library, info.dli_fname);
        assert_int_equal(site->offset, function + 5 - (char *)info.dli_fbase);
        assert_non_null(strstr(site->symbol, names[i]));
        assert_int_equal(site->symbol_offset, 5);
        assert_non_null(site->build_id);
    }
    ll_callsites_release(sites);
}

static void an_address_of_no_file_keeps_itself(void **state)
{
    (void)state;
    struct ll_callsites *sites = open_sites();
    const uint64_t nowhere[] = {0, 1, 4096, UINT64_MAX};
    for (size_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++) {
        const struct ll_callsite *site = ll_callsite_find(sites, nowhere[i]);
        assert_null(site->library);
        assert_null(site->symbol);
        assert_null(site->file);
        assert_int_equal(site->offset, nowhere[i]);
    }
    assert_string_equal(ll_callsite_text(&arena, ll_callsite_find(sites, 4096)), "0x1000");
    ll_callsites_release(sites);
}

static void modules_without_a_readable_file_are_left_out(void **state)
{
    (void)state;
    const struct ll_module bad[] = {{"no/such/file", 0x1000}, {"/dev/zero", 0x2000}, {".", 0x3000}, {"", 0}};
    struct ll_callsites *sites = NULL;
    assert_int_equal(ll_callsites_open(bad, sizeof bad / sizeof bad[0], &sites), LL_OK);
    assert_null(ll_callsite_find(sites, 0x1001)->library);
    ll_callsites_release(sites);
    assert_int_equal(ll_callsites_open(NULL, 0, &sites), LL_OK);
    assert_null(ll_callsite_find(sites, 0x1001)->library);
    ll_callsites_release(sites);
}

static void a_module_named_twice_does_no_harm(void **state)
{
    (void)state;
    const struct ll_module twice[] = {
        {"/proc/self/exe", 0x10000000}, {"/proc/self/exe", 0x10000000}, {"/proc/self/exe", 0x10001000}};
    struct ll_callsites *sites = NULL;
    assert_int_equal(ll_callsites_open(twice, 3, &sites), LL_OK);
    assert_non_null(ll_callsite_find(sites, 0x10002000)->library);
    ll_callsites_release(sites);
}

static void the_text_says_the_most_that_is_known(void **state)
{
    (void)state;
    struct ll_callsite site = {.offset = 0x108edf0};
    assert_string_equal(ll_callsite_text(&arena, &site), "0x108edf0");
    site.library = "/lib/libtorch_cpu.so";
    assert_string_equal(ll_callsite_text(&arena, &site), "libtorch_cpu.so+0x108edf0");
    site.symbol = "dlabrd_", site.symbol_offset = 0x282;
    assert_string_equal(ll_callsite_text(&arena, &site), "libtorch_cpu.so:dlabrd_+0x282");
    site.file = "src/gemm.c", site.line = 12;
    assert_string_equal(ll_callsite_text(&arena, &site), "libtorch_cpu.so:dlabrd_ at gemm.c:12");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_of_this_program_is_found_in_its_function),
        cmocka_unit_test(the_same_address_gives_the_same_site),
        cmocka_unit_test(libraries_symbols_and_offsets_are_those_of_the_loader),
        cmocka_unit_test(an_address_of_no_file_keeps_itself),
        cmocka_unit_test(modules_without_a_readable_file_are_left_out),
        cmocka_unit_test(a_module_named_twice_does_no_harm),
        cmocka_unit_test(the_text_says_the_most_that_is_known),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ll_arena_release(&arena);
    return failed;
}
