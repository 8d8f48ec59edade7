/* SPDX-License-Identifier: Apache-2.0 */
/* The program: all of it is in the library. */
#include "sim/api/leadline.h"

int main(int argc, char **argv)
{
    return leadline_main(argc, argv);
}
