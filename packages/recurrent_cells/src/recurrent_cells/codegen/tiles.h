/* Tiles (AMX): registers of 16 rows of 64 bytes. A tile of rows times one of weights, packed as for other products, adds to one of
   sums. Every tile is whole: rows are copied side by side, with zeros up to EVEN(n), and what lies behind the last one is computed
   and left. */

#if TILES
#include <sys/syscall.h>
#include <unistd.h>

#define FEW 3   /* rows for which tiles are not worth it */
#define TALL 32 /* rows of two tiles */
#define TILE_NUMBERS (64 / (long)sizeof(number))
#if INT8
#define add_product _tile_dpbusd
#else
#define add_product _tile_dpbf16ps
#endif

static int tile_permission; /* of the system: 1 given, -1 refused */
INLINE int tiled(long rows) { return rows > FEW && __atomic_load_n(&tile_permission, __ATOMIC_RELAXED) > 0; }
static void ask_for_tiles(void) {
  enum { REQUEST = 0x1023, TILE_DATA = 18 };
  if (__atomic_load_n(&tile_permission, __ATOMIC_RELAXED)) return;
  __atomic_store_n(&tile_permission, syscall(SYS_arch_prctl, REQUEST, TILE_DATA) ? -1 : 1, __ATOMIC_RELAXED);
}
/* Of a thread. rows: as many as it may compute together. */
static void begin_tiles(long rows) {
  static const struct {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
  } shapes = {1, 0, {0}, {[0 ... 7] = 64}, {[0 ... 7] = 16}};
  if (tiled(rows)) _tile_loadconfig(&shapes);
}
static void end_tiles(long rows) {
  if (tiled(rows)) _tile_release();
}

/* Sums in tiles 0 and 1, side by side, of tall ones below them 2 and 3; right: whether 1 and 3 are wanted. Compilers do not know that
   tiles are loaded from memory. */
#define MEMORY_IS_READ __asm__ volatile("" ::: "memory")
INLINE void begin_sums(int tall, int right, const float *from, long row) {
  row *= sizeof(float);
  MEMORY_IS_READ;
  _tile_loadd(0, from, row);
  if (right) _tile_loadd(1, from + 16, row);
  if (!tall) return;
  _tile_loadd(2, (const char *)from + 16 * row, row);
  if (right) _tile_loadd(3, (const char *)from + 16 * row + 64, row);
}
INLINE void begin_with_zeros(void) {
  MEMORY_IS_READ;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}
INLINE void store_sums(int tall, int right, float *to, long row) {
  row *= sizeof(float);
  _tile_stored(0, to, row);
  if (right) _tile_stored(1, to + 16, row);
  if (!tall) return;
  _tile_stored(2, (char *)to + 16 * row, row);
  if (right) _tile_stored(3, (char *)to + 16 * row + 64, row);
}
/* Adds products of n numbers, left or right or both. Rows of a are a_row apart, their next numbers a_step, and the next 16 rows
   a_tile; w: the pairs for the left tile, w_row apart, those for the right one behind them. */
INLINE void add_products(int tall, int left, int right, const number *a, long a_row, long a_step, long a_tile, const number *w,
                         long w_row, long n) {
  const long a_bytes = a_row * sizeof(number), w_bytes = w_row * sizeof(number);
  for (; n > 0; n -= TILE_NUMBERS, a += a_step, w += 16 * w_row) {
    _tile_loadd(4, a, a_bytes);
    if (tall) _tile_loadd(5, a + a_tile, a_bytes);
    if (left) {
      _tile_loadd(6, w, w_bytes);
      add_product(0, 4, 6);
      if (tall) add_product(2, 5, 6);
    }
    if (right) {
      _tile_loadd(7, w + TILE_NUMBERS, w_bytes);
      add_product(1, 4, 7);
      if (tall) add_product(3, 5, 7);
    }
  }
}
INLINE void add_rows(int tall, int left, int right, const number *rows, long row, const number *w, long vectors, long n) {
  add_products(tall, left, right, rows, row, TILE_NUMBERS, 16 * row, w, vectors * TILE_NUMBERS, n);
}
#endif /* TILES */
