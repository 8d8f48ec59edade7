/* SPDX-License-Identifier: Apache-2.0 */
/* Data is in two parts: what a network learns from, and what it is asked after that. */
#ifndef LL_DATA_PART_H
#define LL_DATA_PART_H

enum ll_part { LL_LEARNED, LL_HELD_BACK, LL_PART_COUNT };

#endif
