#ifndef TESTS_CUDA_DEVICE_TEST_H
#define TESTS_CUDA_DEVICE_TEST_H

/* Shared by tests of devices: they are linked with the stand-in and use it as the device. */
#include <stdlib.h>
#include <string.h>

#include "tests/kernels/check.h"
#include "tests/support/cuda_host/host.h"
#include "tests/support/device_trip.h"
#include "tests/support/test.h"

#define END (~UINT64_C(0)) /* ends a list of sizes */
#define COUNT(list) (sizeof(list) / sizeof(*(list)))

extern struct gcb_device device;

int open_device(void **state); /* setup function of a cmocka group */

/* A test that runs last: everything allocated on the device was freed. */
void nothing_is_left(void **state);

/* Calls device_same_all for each of the methods. */
void same_all(const char *const *specs, size_t count, const uint64_t *sizes);

#endif
