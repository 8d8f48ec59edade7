/* SPDX-License-Identifier: Apache-2.0 */
/* The program: all of it is in the library. */
#include "sim/api/leadline.h"

#include <malloc.h>

/* A program that ends soon asks for memory a few times, in large pieces, and gives none back before: what is
 * touched for the first time costs a fault a page. */
static void take_memory_in_large_pieces(void)
{
    mallopt(M_TOP_PAD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
}

int main(int argc, char **argv)
{
    take_memory_in_large_pieces();
    return leadline_main(argc, argv);
}
