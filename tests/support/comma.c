#include "tests/support/comma.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "de_DE.UTF-8"

static bool is_comma(void)
{
    return strcmp(localeconv()->decimal_point, ",") == 0;
}

bool comma_begin(void)
{
    char folder[] = "/tmp/gcbench-locale-XXXXXX", command[256];
    bool made;

    if (setlocale(LC_ALL, NAME) && is_comma())
        return true;
    if (!mkdtemp(folder))
        return false;
    snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 %s/" NAME " >/dev/null 2>&1",
             folder);
    made = system(command) == 0;
    setenv("LOCPATH", folder, 1);
    made = made && setlocale(LC_ALL, NAME) && is_comma(); /* it is in memory then */
    unsetenv("LOCPATH");
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command) == 0 && made;
}
