// Products by matrix instructions; each lane loads what AMD's guides say that it holds.
#include "kernel.h"

typedef float float4 __attribute__((ext_vector_type(4)));
typedef float float8 __attribute__((ext_vector_type(8)));
typedef float float16 __attribute__((ext_vector_type(16)));
typedef half half4 __attribute__((ext_vector_type(4)));
typedef half half16 __attribute__((ext_vector_type(16)));
typedef short short4 __attribute__((ext_vector_type(4)));
typedef short short16 __attribute__((ext_vector_type(16)));
typedef double double4 __attribute__((ext_vector_type(4)));
typedef int int4 __attribute__((ext_vector_type(4)));
typedef int int8 __attribute__((ext_vector_type(8)));

#if defined(__gfx90a__) || defined(__gfx942__)
KERNEL product_f16(const half* a, const half* b, float* c, int depth) {
  u32 l = thread_x(), side = l & 15, quarter = l >> 4;
  float4 sum = {};
  for (int k = 0; k < depth; k += 16) {
    half4 left, right;
    for (int j = 0; j < 4; ++j) {
      left[j] = a[side * depth + k + 4 * quarter + j];
      right[j] = b[(k + 4 * quarter + j) * 16 + side];
    }
    sum = __builtin_amdgcn_mfma_f32_16x16x16f16(left, right, sum, 0, 0, 0);
  }
  for (int j = 0; j < 4; ++j) c[(4 * quarter + j) * 16 + side] = sum[j];
}

KERNEL product_bf16(const short* a, const short* b, float* c, int depth) {
  u32 l = thread_x(), side = l & 31, half_of_wave = l >> 5;
  float16 sum = {};
  for (int k = 0; k < depth; k += 8) {
    short4 left, right;
    for (int j = 0; j < 4; ++j) {
      left[j] = a[side * depth + k + 4 * half_of_wave + j];
      right[j] = b[(k + 4 * half_of_wave + j) * 32 + side];
    }
    sum = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(left, right, sum, 0, 0, 0);
  }
  for (int j = 0; j < 16; ++j) c[(8 * (j / 4) + 4 * half_of_wave + j % 4) * 32 + side] = sum[j];
}

KERNEL product_f32(const float* a, const float* b, float* c, int depth) {
  u32 l = thread_x(), side = l & 31, half_of_wave = l >> 5;
  float16 sum = {};
  for (int k = 0; k < depth; k += 2)
    sum = __builtin_amdgcn_mfma_f32_32x32x2f32(a[side * depth + k + half_of_wave], b[(k + half_of_wave) * 32 + side],
                                               sum, 0, 0, 0);
  for (int j = 0; j < 16; ++j) c[(8 * (j / 4) + 4 * half_of_wave + j % 4) * 32 + side] = sum[j];
}

KERNEL product_f64(const double* a, const double* b, double* c, int depth) {
  u32 l = thread_x(), side = l & 15, quarter = l >> 4;
  double4 sum = {};
  for (int k = 0; k < depth; k += 4)
    sum =
        __builtin_amdgcn_mfma_f64_16x16x4f64(a[side * depth + k + quarter], b[(k + quarter) * 16 + side], sum, 0, 0, 0);
  for (int j = 0; j < 4; ++j) c[(4 * j + quarter) * 16 + side] = sum[j];
}

// Sixteen products of 4 by 4 at once.
KERNEL product_blocks(const float* a, const float* b, float* c, int depth) {
  u32 l = thread_x(), side = l & 3, block = l >> 2;
  float4 sum = {};
  for (int k = 0; k < depth; ++k)
    sum = __builtin_amdgcn_mfma_f32_4x4x1f32(a[(block * 4 + side) * depth + k], b[(block * depth + k) * 4 + side], sum,
                                             0, 0, 0);
  for (int j = 0; j < 4; ++j) c[(block * 4 + j) * 4 + side] = sum[j];
}
#endif

#if defined(__gfx90a__)
KERNEL product_i8(const i8* a, const i8* b, int* c, int depth) {
  u32 l = thread_x(), side = l & 15, quarter = l >> 4;
  int4 sum = {};
  for (int k = 0; k < depth; k += 16) {
    int left = 0, right = 0;
    for (int j = 0; j < 4; ++j) {
      left |= (u8)a[side * depth + k + 4 * quarter + j] << (8 * j);
      right |= (u8)b[(k + 4 * quarter + j) * 16 + side] << (8 * j);
    }
    sum = __builtin_amdgcn_mfma_i32_16x16x16i8(left, right, sum, 0, 0, 0);
  }
  for (int j = 0; j < 4; ++j) c[(4 * quarter + j) * 16 + side] = sum[j];
}
#elif defined(__gfx942__)
KERNEL product_i8(const i8* a, const i8* b, int* c, int depth) {
  u32 l = thread_x(), side = l & 15, quarter = l >> 4;
  int4 sum = {};
  for (int k = 0; k < depth; k += 32) {
    u64 left = 0, right = 0;
    for (int j = 0; j < 8; ++j) {
      left |= (u64)(u8)a[side * depth + k + 8 * quarter + j] << (8 * j);
      right |= (u64)(u8)b[(k + 8 * quarter + j) * 16 + side] << (8 * j);
    }
    sum = __builtin_amdgcn_mfma_i32_16x16x32_i8((long)left, (long)right, sum, 0, 0, 0);
  }
  for (int j = 0; j < 4; ++j) c[(4 * quarter + j) * 16 + side] = sum[j];
}

KERNEL product_fp8(const u8* a, const u8* b, float* c, int depth) {
  u32 l = thread_x(), side = l & 15, quarter = l >> 4;
  float4 sum = {};
  for (int k = 0; k < depth; k += 32) {
    u64 left = 0, right = 0;
    for (int j = 0; j < 8; ++j) {
      left |= (u64)a[side * depth + k + 8 * quarter + j] << (8 * j);
      right |= (u64)b[(k + 8 * quarter + j) * 16 + side] << (8 * j);
    }
    sum = __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8((long)left, (long)right, sum, 0, 0, 0);
  }
  for (int j = 0; j < 4; ++j) c[(4 * quarter + j) * 16 + side] = sum[j];
}

KERNEL convert_fp8(const float* x, u32* packed, float* back, int n) {
  int i = item();
  if (2 * i >= n) return;
  float a = x[2 * i], b = x[2 * i + 1];
  u32 word = __builtin_amdgcn_cvt_pk_fp8_f32(a, b, 0, false);
  word = __builtin_amdgcn_cvt_pk_bf8_f32(a, b, word, true);
  packed[i] = word;
  back[4 * i] = __builtin_amdgcn_cvt_f32_fp8(word, 0);
  back[4 * i + 1] = __builtin_amdgcn_cvt_f32_fp8(word, 1);
  back[4 * i + 2] = __builtin_amdgcn_cvt_f32_bf8(word, 2);
  back[4 * i + 3] = __builtin_amdgcn_cvt_f32_bf8(word, 3);
}
#endif

#if defined(__gfx1100__) || defined(__gfx1151__)
KERNEL product_f16(const half* a, const half* b, float* c, int depth) {
  u32 l = thread_x(), side = l & 15;
  float8 sum = {};
  for (int k = 0; k < depth; k += 16) {
    half16 left, right;
    for (int j = 0; j < 16; ++j) {
      left[j] = a[side * depth + k + j];
      right[j] = b[(k + j) * 16 + side];
    }
    sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(left, right, sum);
  }
  for (int j = 0; j < 8; ++j) c[(2 * j + (l >> 4)) * 16 + side] = sum[j];
}

KERNEL product_bf16(const short* a, const short* b, float* c, int depth) {
  u32 l = thread_x(), side = l & 15;
  float8 sum = {};
  for (int k = 0; k < depth; k += 16) {
    short16 left, right;
    for (int j = 0; j < 16; ++j) {
      left[j] = a[side * depth + k + j];
      right[j] = b[(k + j) * 16 + side];
    }
    sum = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(left, right, sum);
  }
  for (int j = 0; j < 8; ++j) c[(2 * j + (l >> 4)) * 16 + side] = sum[j];
}

KERNEL product_i8(const i8* a, const i8* b, int* c, int depth) {
  u32 l = thread_x(), side = l & 15;
  int8 sum = {};
  for (int k = 0; k < depth; k += 16) {
    int4 left = {}, right = {};
    for (int j = 0; j < 16; ++j) {
      left[j / 4] |= (u8)a[side * depth + k + j] << (8 * (j % 4));
      right[j / 4] |= (u8)b[(k + j) * 16 + side] << (8 * (j % 4));
    }
    sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, left, true, right, sum, false);
  }
  for (int j = 0; j < 8; ++j) c[(2 * j + (l >> 4)) * 16 + side] = sum[j];
}

// The sum in half precision, in both halves of the registers.
KERNEL product_half(const half* a, const half* b, half* c, int depth) {
  u32 l = thread_x(), side = l & 15;
  half16 sum = {};
  for (int k = 0; k < depth; k += 16) {
    half16 left, right;
    for (int j = 0; j < 16; ++j) {
      left[j] = a[side * depth + k + j];
      right[j] = b[(k + j) * 16 + side];
    }
    sum = __builtin_amdgcn_wmma_f16_16x16x16_f16_w32(left, right, sum, false);
  }
  for (int j = 0; j < 8; ++j) c[(2 * j + (l >> 4)) * 16 + side] = sum[2 * j];
}
#endif
