#ifndef CLI_DOCS_MANUAL_METHODS_H
#define CLI_DOCS_MANUAL_METHODS_H

#include <stdio.h>

/* Sections METHODS of the manual, from the registry. */

void manual_methods(FILE *out);      /* each method with its paper, promise and parameters */
void manual_methods_list(FILE *out); /* a line each */

#endif
