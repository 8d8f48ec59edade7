/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody else's program: the FLOPs of a product, asked of the installed library. */
#include <stdio.h>
#include <tracer/ir/ops.h>

int main(void)
{
    struct ll_shape in[2] = {{.rank = 2, .dim = {3, 5}, .dtype = LL_F32},
                             {.rank = 2, .dim = {5, 7}, .dtype = LL_F32}};
    struct ll_shape out[LL_MAX_OUTPUTS] = {{.rank = 0}};
    struct ll_op_view op = {.kind = LL_OP_MATMUL, .input_count = 2, .in = in, .out = out};
    const char *trouble = ll_op_infer(&op);
    return trouble != NULL || printf("%llu\n", (unsigned long long)ll_op_flops(&op)) < 0;
}
