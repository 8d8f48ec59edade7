/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with a catalogue is told in tests/errors/machines/catalogue*.yaml. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include "toy_machine.h"

#include <unistd.h>

static char path[] = "/tmp/catalogue_XXXXXX";

static void write_catalogue(const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
}

/* A machine whose only matrix unit goes by the file. */
static struct ll_machine *machine_of(const char *text)
{
    char yaml[512];
    write_catalogue(text);
    snprintf(yaml, sizeof yaml,
             "name: T\nclock: 1GHz\nunits:\n"
             "  - {name: cores, model: matrix, catalogue: %s, macs: {f32: 1}, runs: [matmul, conv]}\n"
             "  - {name: simd, model: vector, lanes: 1, flops: {f32: 1}}\n"
             "memory:\n  - {name: ram, size: 1GiB, bandwidth: 1GB/s}\n",
             path);
    return ll_toy_machine(yaml);
}

static const char text_of_two[] = "# for people\ndtype f32\nkernel 64x32x16\n8x8x8 16x8x8\n"
                                  "kernel 16x16x32 parts 8 rate 0.5 # of k\n64x64x4096\n";

static void a_catalogue_is_read_as_it_is_written(void **state)
{
    (void)state;
    struct ll_machine *machine = machine_of(text_of_two);
    assert_non_null(machine);
    const struct ll_catalogue *catalogue = machine->units[0].matrix.catalogue;
    assert_string_equal(catalogue->name, path);
    assert_int_equal(catalogue->dtype, LL_F32);
    assert_int_equal(catalogue->kernel_count, 2);
    assert_int_equal(catalogue->size_count, 3);
    assert_int_equal(catalogue->kernels[0].tile.n, 32);
    assert_int_equal(catalogue->kernels[0].parts, 1);
    assert_true(catalogue->kernels[0].rate == 1);
    assert_int_equal(catalogue->kernels[1].parts, 8);
    assert_true(catalogue->kernels[1].rate == 0.5);
    assert_int_equal(catalogue->sizes[1].kernel, 0);
    assert_int_equal(catalogue->sizes[2].size.k, 4096);
    assert_int_equal(catalogue->sizes[2].kernel, 1);
    ll_machine_free(machine);
}

/* The first of equals, whatever the order in which a dumb twin looks at them. */
static void the_nearest_size_is_found_by_its_plain_distance(void **state)
{
    (void)state;
    uint64_t random = 20;
    struct ll_catalogue_size sizes[64];
    struct ll_catalogue catalogue = {.sizes = sizes, .size_count = 64};
    for (int i = 0; i < 64; i++)
        sizes[i] = (struct ll_catalogue_size){.size = {1 + ll_random_below(&random, 30),
                                                       1 + ll_random_below(&random, 30),
                                                       1 + ll_random_below(&random, 30)}};
    for (int round = 0; round < 1000; round++) {
        struct ll_tile product = {1 + ll_random_below(&random, 40), 1 + ll_random_below(&random, 40),
                                  1 + ll_random_below(&random, 40)};
        int64_t distance[64], best = 63;
        for (int64_t i = 63; i >= 0; i--) {
            int64_t m = (int64_t)sizes[i].size.m - (int64_t)product.m;
            int64_t n = (int64_t)sizes[i].size.n - (int64_t)product.n;
            int64_t k = (int64_t)sizes[i].size.k - (int64_t)product.k;
            distance[i] = m * m + n * n + k * k;
            best = distance[i] <= distance[best] ? i : best;
        }
        assert_ptr_equal(ll_catalogue_nearest(&catalogue, &product), &sizes[best]);
    }
}

static void another_catalogue_makes_another_machine(void **state)
{
    (void)state;
    struct ll_machine *one = machine_of(text_of_two), *same = machine_of(text_of_two);
    struct ll_machine *other = machine_of("dtype f32 kernel 64x32x16 8x8x8");
    assert_non_null(one);
    assert_non_null(same);
    assert_non_null(other);
    assert_int_equal(one->config_hash, same->config_hash);
    assert_int_not_equal(one->config_hash, other->config_hash);
    ll_machine_free(one);
    ll_machine_free(same);
    ll_machine_free(other);
}

static int make_file(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 || close(file);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_catalogue_is_read_as_it_is_written),
        cmocka_unit_test(the_nearest_size_is_found_by_its_plain_distance),
        cmocka_unit_test(another_catalogue_makes_another_machine),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
