/* SPDX-License-Identifier: Apache-2.0 */
/* The twin is objdump: on every instruction of the mathematical library (scalar code, and vector code of all
 * widths) it must agree on the length, wherever ours gives one. */
#define _GNU_SOURCE
#include "check.h"

#include "tracer/interpose/patch/instruction.h"

#include <ctype.h>
#include <dlfcn.h>
#include <math.h>

/* "48 89 e5", ended by anything else than a blank and two more digits. */
static unsigned hex_bytes(const char *text, uint8_t bytes[16])
{
    unsigned count = 0;
    while (count < 16 && isxdigit((unsigned char)text[0]) && isxdigit((unsigned char)text[1])) {
        bytes[count++] = (uint8_t)strtoul((char[]){text[0], text[1], 0}, NULL, 16);
        if (text[2] != ' ')
            break;
        text += 3;
    }
    return count;
}

/* Where the distance of the instruction at an address leads. */
static uint64_t target_of(const uint8_t *code, uint64_t at, const struct ll_instruction *instruction)
{
    return at + instruction->bytes + (uint64_t)(int64_t)ll_instruction_distance(code, instruction);
}

/* A moved instruction is an instruction, and leads to where it led. */
static void check_move(const uint8_t *code, const struct ll_instruction *instruction, const char *line)
{
    uint8_t moved[LL_MOVED_BYTES] = {0};
    struct ll_instruction read;
    const uint64_t from = 0x10000000, to = 0x10654321;
    size_t bytes = ll_move_instruction(moved, to, code, from, instruction);
    if (bytes == 0)
        return;
    if (!ll_read_instruction(moved, sizeof moved, &read) || read.bytes != bytes)
        fail_msg("moved into nonsense: %s", line);
    if (instruction->relative_at && target_of(moved, to, &read) != target_of(code, from, instruction))
        fail_msg("moved astray: %s", line);
    if (!instruction->relative_at && memcmp(moved, code, bytes) != 0)
        fail_msg("changed: %s", line);
}

static void lengths_are_those_of_objdump(void **state)
{
    (void)state;
    Dl_info info;
    char line[512], command[600];
    uint64_t agreed = 0, refused = 0;
    double (*volatile function)(double) = cbrt;
#if !defined(__x86_64__)
    skip(); /* the libraries here are of other instructions */
#endif
    if (!dladdr((void *)(uintptr_t)function, &info) || system("objdump --version >/dev/null 2>&1") != 0)
        skip();
    snprintf(command, sizeof command, "objdump -d -w '%s'", info.dli_fname);
    FILE *lines = popen(command, "r");
    assert_non_null(lines);
    while (fgets(line, sizeof line, lines)) {
        struct ll_instruction found = {0};
        uint8_t bytes[16] = {0};
        const char *tab = strchr(line, '\t');
        unsigned count = tab && !strstr(line, "(bad)") ? hex_bytes(tab + 1, bytes) : 0;
        if (count == 0)
            continue;
        if (!ll_read_instruction(bytes, 16, &found))
            refused++, found.relative_at = 0;
        else if (found.bytes == count)
            agreed++, check_move(bytes, &found, line);
        else
            fail_msg("%u bytes, not %u: %s", count, found.bytes, line);
        if (found.relative_at && !strstr(line, "rip") && !strstr(line, "j") && !strstr(line, "call"))
            fail_msg("not relative: %s", line);
    }
    pclose(lines);
    print_message("%llu agreed, %llu refused\n", (unsigned long long)agreed, (unsigned long long)refused);
    assert_true(agreed > 10000);
    assert_true(refused < agreed / 1000);
}

static bool movable(const char *hex, unsigned bytes, unsigned relative_at)
{
    uint8_t code[16] = {0};
    struct ll_instruction found;
    return ll_read_instruction(code, hex_bytes(hex, code), &found) && !found.fixed && found.bytes == bytes &&
           found.relative_at == relative_at;
}

/* Each beginning of a function as compilers make them, by the manual's encoding. */
static void beginnings_of_functions_may_be_moved(void **state)
{
    (void)state;
    assert_true(movable("f3 0f 1e fa", 4, 0));          /* endbr64 */
    assert_true(movable("41 57", 2, 0));                /* push %r15 */
    assert_true(movable("48 89 e5", 3, 0));             /* mov %rsp,%rbp */
    assert_true(movable("48 81 ec 88 00 00 00", 7, 0)); /* sub $0x88,%rsp */
    assert_true(movable("8b 05 11 22 33 44", 6, 2));    /* mov 0x44332211(%rip),%eax */
    assert_true(movable("e9 11 22 33 44", 5, 1));       /* jmp */
    assert_true(movable("66 c7 00 34 12", 5, 0));       /* movw $0x1234,(%rax) */
    assert_true(movable("c5 f8 77", 3, 0));             /* vzeroupper */
    assert_true(movable("62 f1 7c 48 28 00", 6, 0));    /* vmovaps (%rax),%zmm0 */
}

static void what_must_stay_is_told(void **state)
{
    (void)state;
    static const char *const fixed[] = {
        "e8 00 00 00 00", "cc", "ff 15 00 00 00 00", "0f 05", "0f 0b", "", "48", "48 81 ec 88",
    };
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        uint8_t code[16] = {0};
        struct ll_instruction found;
        assert_true(!ll_read_instruction(code, hex_bytes(fixed[i], code), &found) || found.fixed);
    }
}

static void what_is_too_far_away_is_not_moved(void **state)
{
    (void)state;
    uint8_t moved[LL_MOVED_BYTES];
    const uint8_t load[] = {0x8b, 0x05, 0, 0, 0, 0}; /* mov 0(%rip),%eax */
    struct ll_instruction found;
    assert_true(ll_read_instruction(load, sizeof load, &found));
    assert_int_equal(ll_move_instruction(moved, 1ull << 30, load, 0, &found), sizeof load);
    assert_int_equal(ll_move_instruction(moved, 1ull << 32, load, 0, &found), 0);
}

static void nothing_is_read_behind_the_end(void **state)
{
    (void)state;
    uint64_t random = ll_seed(5);
    for (int i = 0; i < 200000; i++) {
        size_t size = ll_random_below(&random, 17);
        uint8_t *code = malloc(size ? size : 1);
        for (size_t at = 0; at < size; at++)
            code[at] = (uint8_t)ll_random(&random);
        struct ll_instruction found;
        if (ll_read_instruction(code, size, &found)) {
            assert_true(found.bytes > 0 && found.bytes <= size);
            assert_true(found.relative_at == 0 || found.relative_at + found.relative_bytes <= found.bytes);
        }
        free(code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_are_those_of_objdump),
        cmocka_unit_test(beginnings_of_functions_may_be_moved),
        cmocka_unit_test(what_must_stay_is_told),
        cmocka_unit_test(what_is_too_far_away_is_not_moved),
        cmocka_unit_test(nothing_is_read_behind_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
