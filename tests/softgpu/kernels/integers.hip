// Integers of all widths.
#include "kernel.h"

KERNEL divide_int(const int* a, const int* b, int* c, int n) {
  int i = item();
  if (i < n) {
    u32 x = a[i], y = b[i];
    c[4 * i] = a[i] / b[i];
    c[4 * i + 1] = a[i] % b[i];
    c[4 * i + 2] = x / y;
    c[4 * i + 3] = x % y;
  }
}
TWIN(divide_int)

KERNEL divide_long(const i64* a, const i64* b, i64* c, int n) {
  int i = item();
  if (i < n) {
    u64 x = a[i], y = b[i];
    c[4 * i] = a[i] / b[i];
    c[4 * i + 1] = a[i] % b[i];
    c[4 * i + 2] = x / y;
    c[4 * i + 3] = x * y + (x >> (y & 63));
  }
}
TWIN(divide_long)

KERNEL bits(const u32* a, const u32* b, u32* c, int n) {
  int i = item();
  if (i < n) {
    u32 x = a[i], y = b[i], s = y & 31;
    u32* to = c + 8 * i;
    to[0] = __builtin_popcount(x);
    to[1] = x ? __builtin_clz(x) : 99;
    to[2] = x ? __builtin_ctz(x) : 99;
    to[3] = __builtin_bitreverse32(x);
    to[4] = x << s | x >> ((32 - s) & 31);
    to[5] = (u32)((u64)x * y >> 32) + (u32)((i64)(int)x * (int)y >> 32);
    to[6] = __builtin_bswap32(x) ^ (x & y) ^ (x | ~y);
    to[7] = (x >> s & 0xff) + (u32)((int)x >> s);
  }
}
TWIN(bits)

KERNEL bytes(const u8* a, const u8* b, u8* c, i8* d, int n) {
  int i = item();
  if (4 * i < n)
    for (int k = 0; k < 4; ++k) {
      int sum = a[4 * i + k] + b[4 * i + k];
      c[4 * i + k] = sum > 255 ? 255 : sum;
      d[4 * i + k] = (i8)(a[4 * i + k] * 3 - (i8)b[4 * i + k]) >> 1;
    }
}
TWIN(bytes)

KERNEL shorts(const short* a, const u16* b, short* c, u16* d, int n) {
  int i = item();
  if (2 * i < n)
    for (int k = 0; k < 2; ++k) {
      short x = a[2 * i + k];
      u16 y = b[2 * i + k];
      c[2 * i + k] = (short)(x * (short)y + x);
      d[2 * i + k] = (u16)((x > 0 ? y >> (x & 15) : y << (x & 3)) + (x < (short)y ? x : y));
    }
}
TWIN(shorts)

// Lanes leave the loop one by one.
KERNEL collatz(const u32* start, u32* steps, int n) {
  int i = item();
  if (i >= n) return;
  u32 count = 0;
  for (u64 x = start[i]; x > 1; ++count) x = x & 1 ? 3 * x + 1 : x / 2;
  steps[i] = count;
}
TWIN(collatz)

KERNEL choices(const int* a, int* b, int n) {
  int i = item();
  if (i >= n) return;
  int x = a[i];
  switch (x & 7) {
    case 0:
      x += 11;
      break;
    case 1:
      x *= 3;
      break;
    case 2:
      x ^= 0x55;
      [[fallthrough]];
    case 3:
      x -= 7;
      break;
    case 4:
      for (int k = 0; k < (x & 15); ++k) x += k * x;
      break;
    case 5:
      if (x < 0) return;
      x = -x;
      break;
    default:
      x = x > 100 ? 100 : x;
  }
  b[i] = x;
}
TWIN(choices)
