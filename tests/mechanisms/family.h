/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LL_TESTS_FAMILY_H
#define LL_TESTS_FAMILY_H

/* Calls of each thread and process; threads at once; threads in turn; processes, those gone included. */
enum { FAMILY_CALLS = 20, FAMILY_THREADS = 4, FAMILY_SHORT = 40, FAMILY_PROCESSES = 5 };

#endif
