/* base_test.h: what every test of src/base includes. */
#ifndef WEIR_TESTS_BASE_TEST_H
#define WEIR_TESTS_BASE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

#endif
