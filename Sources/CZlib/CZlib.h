// zlib, with wrappers for the initialisers that are macros.
#ifndef BLUEBONNET_CZLIB_H
#define BLUEBONNET_CZLIB_H

#include <zlib.h>

static inline int bb_deflate_init(z_stream *stream, int level, int window_bits) {
    return deflateInit2(stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
}

static inline int bb_inflate_init(z_stream *stream, int window_bits) { return inflateInit2(stream, window_bits); }

#endif
