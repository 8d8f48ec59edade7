/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/machine/edge.h"

#include "check.h"

static void edges_say_ends_direction_and_width(void **state)
{
    struct ll_network_edge edge;
    (void)state;
    assert_true(ll_edge_parse("0-1", &edge) && edge.both_ways && edge.links == 1);
    assert_true(ll_edge_parse("12>3x2.5", &edge) && !edge.both_ways && edge.from == 12 && edge.to == 3);
    assert_true(edge.links == 2.5);
    static const char *const wrong[] = {"",
                                        "0",
                                        "0-",
                                        "0-0",
                                        "-1-2",
                                        "0-1x",
                                        "0-1x0",
                                        "0-1xe",
                                        "0-1 ",
                                        "0_1",
                                        "99999999999999999999-1",
                                        "0-1xinf",
                                        "0--1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(ll_edge_parse(wrong[i], &edge));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(edges_say_ends_direction_and_width)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
