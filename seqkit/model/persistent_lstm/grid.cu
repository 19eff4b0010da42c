// The exchange through L2 between blocks that all run at once, without clusters. It follows common.cu.
//
// There is no barrier. A piece of 16 bytes is written and read as a whole, and one bit of it tells a
// new piece from that of two exchanges ago, which was in the same place of the two buffers: readers
// poll the pieces themselves. Exchange number n is in buffer n % 2 with the bit n / 2 % 2 == 0. It
// starts as zeros. The argument that nothing is overwritten too early is that of the clusters.

__device__ __forceinline__ uint4 load_piece(const void *place) {
  unsigned long long low, high;
  asm volatile("{.reg .b128 v; ld.relaxed.gpu.global.b128 v, [%2]; mov.b128 {%0, %1}, v;}"
               : "=l"(low), "=l"(high) : "l"(place) : "memory");
  return make_uint4(low, low >> 32, high, high >> 32);
}

// With its first word's bit `bit` as exchange `number` has it.
__device__ __forceinline__ void send_piece(void *place, uint4 piece, unsigned bit, int number) {
  piece.x = number & 2 ? piece.x & ~bit : piece.x | bit;
  const unsigned long long low = (unsigned long long)piece.y << 32 | piece.x;
  const unsigned long long high = (unsigned long long)piece.w << 32 | piece.z;
  asm volatile("{.reg .b128 v; mov.b128 v, {%1, %2}; st.relaxed.gpu.global.b128 [%0], v;}"
               :: "l"(place), "l"(low), "l"(high) : "memory");
}

// Poll until pieces, which have been loaded, are those of exchange `number`; i is at `place(i)`.
// Loads have no conditions, because what is loaded under one is waited for at once.
template <int COUNT, typename Place>
__device__ __forceinline__ void await_pieces(
    uint4 (&pieces)[COUNT], Place place, unsigned bit, int number, Watch &watch) {
  const unsigned expected = number & 2 ? 0 : bit;
  auto missing = [&]() {
    bool some = false;
#pragma unroll
    for (int i = 0; i < COUNT; i++) some |= (pieces[i].x & bit) != expected;
    return some;
  };
  if (missing() && !watch.over) {
    const long long begun = clock64();
    do {
#pragma unroll
      for (int i = 0; i < COUNT; i++)
        if ((pieces[i].x & bit) != expected) pieces[i] = load_piece(place(i));
    } while (missing() && !watch.gives_up(begun));
  }
  __syncwarp();
}
