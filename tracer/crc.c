/* SPDX-License-Identifier: Apache-2.0 */
/* Eight bytes at a time: table[k][b] is what byte b does to the sum when k more bytes follow it, and the sum
 * is linear, so eight look-ups are xored together (Kounavis and Berry, 2005). The tables are computed once,
 * by whichever thread comes first. */
#include "tracer/crc.h"

#include <threads.h>

enum { SLICES = 8 };

static uint32_t table[SLICES][256];
static once_flag table_made = ONCE_FLAG_INIT;

static void make_table(void)
{
    const uint32_t polynomial = 0x82F63B78u; /* 0x1EDC6F41, lowest bit first */
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t sum = byte;
        for (int bit = 0; bit < 8; bit++)
            sum = sum & 1 ? sum >> 1 ^ polynomial : sum >> 1;
        table[0][byte] = sum;
    }
    for (uint32_t byte = 0; byte < 256; byte++)
        for (int k = 1; k < SLICES; k++)
            table[k][byte] = table[k - 1][byte] >> 8 ^ table[0][table[k - 1][byte] & 0xFF];
}

uint32_t ll_crc32c(const void *bytes, size_t size)
{
    call_once(&table_made, make_table);
    const unsigned char *p = bytes;
    uint32_t sum = UINT32_MAX;
    for (; size >= SLICES; p += SLICES, size -= SLICES) {
        sum ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        sum = table[7][sum & 0xFF] ^ table[6][sum >> 8 & 0xFF] ^ table[5][sum >> 16 & 0xFF] ^
              table[4][sum >> 24] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
    }
    for (; size; p++, size--)
        sum = sum >> 8 ^ table[0][(sum ^ *p) & 0xFF];
    return ~sum;
}
