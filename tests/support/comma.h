#ifndef TESTS_SUPPORT_COMMA_H
#define TESTS_SUPPORT_COMMA_H

#include <stdbool.h>

/*
 * Sets a locale with a decimal comma, as programs may that load the library: one that is installed,
 * or else made in a temporary folder with localedef. False: neither is to be had. Ends with
 * setlocale(LC_ALL, "C").
 */
bool comma_begin(void);

#endif
