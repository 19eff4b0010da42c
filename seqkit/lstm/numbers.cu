// Numbers in the dtype of tensors. Constant: DTYPE, 0 for fp32, 1 for fp16, 2 for bf16.

__device__ __forceinline__ void store_number(void *tensor, long long at, float value) {
#if DTYPE == 0
  ((float *)tensor)[at] = value;
#elif DTYPE == 1
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  ((unsigned short *)tensor)[at] = bits;
#else
  const unsigned bits = __float_as_uint(value);  // rounded to the nearest, ties to even
  const unsigned rounded = isnan(value) ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1);
  ((unsigned short *)tensor)[at] = rounded >> 16;
#endif
}

__device__ __forceinline__ float load_number(const void *tensor, long long at) {
#if DTYPE == 0
  return ((const float *)tensor)[at];
#elif DTYPE == 1
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(((const unsigned short *)tensor)[at]));
  return value;
#else
  return __uint_as_float((unsigned)((const unsigned short *)tensor)[at] << 16);
#endif
}
