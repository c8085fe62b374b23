// clang-format off
#include "prelude.h"
#include "known_work.h"
