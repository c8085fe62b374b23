// One source for a kernel and its twin: compiled for an AMD GPU, or for this machine as plain C++.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef long long i64;
typedef _Float16 half;

#ifdef __AMDGCN__
#include "device.h"
#else
#include "twin.h"
#endif
