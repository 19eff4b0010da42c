// Tensors of dtype DTYPE into fp32 tensors, all in one launch. Constant: COUNT of the tensors.

#define THREADS 256
#define EACH 4  // elements of a thread

struct Piece {
  float *target;
  int count, columns;
};

struct Arguments {
  const Piece *pieces;
  const int2 *chunks;  // piece and chunk of each block
  const void *sources[COUNT];
  int strides[COUNT];  // of a source's rows
};

extern "C" __global__ void __launch_bounds__(THREADS) gather(const Arguments a) {
  const int2 chunk = a.chunks[blockIdx.x];
  const Piece p = a.pieces[chunk.x];
  const void *source = a.sources[chunk.x];
  const long long stride = a.strides[chunk.x];
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    const int i = (chunk.y * EACH + k) * THREADS + threadIdx.x;
    if (i >= p.count) continue;
    const bool dense = p.columns == stride;  // a division takes longer than the rest
    p.target[i] = load_number(source, dense ? i : i / p.columns * stride + i % p.columns);
  }
}
