// The libraries that libcurl brings along and does not pass on: the decoders of brotli and zstd, the public suffix list, and
// the conversion of international names.
//
// They are looked up when the program runs: their headers are not needed, and a system without them works without them.
#ifndef BLUEBONNET_LOADED_LIBRARIES_H
#define BLUEBONNET_LOADED_LIBRARIES_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

static inline void *bb_library_symbol(void *library, const char *name, int *missing) {
    void *symbol = dlsym(library, name);
    if (symbol == NULL) *missing = 1;
    return symbol;
}

// The result of decoding bytes.
static const int bb_decoder_failed = -1;
static const int bb_decoder_goes_on = 0;
static const int bb_decoder_at_end = 1;

struct bb_brotli {
    void *(*create)(void *allocate, void *free, void *context);
    void (*destroy)(void *state);
    int (*decompress)(void *state, size_t *left, const uint8_t **next, size_t *room, uint8_t **out, size_t *total);
    int (*error)(const void *state);
    const char *(*words)(int error);
};

// Opens the library. Its `create` is NULL when there is none.
static inline struct bb_brotli bb_brotli_open(void) {
    struct bb_brotli brotli = {NULL, NULL, NULL, NULL, NULL};
    int missing = 0;
    void *library = dlopen("libbrotlidec.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) return brotli;
    *(void **)&brotli.destroy = bb_library_symbol(library, "BrotliDecoderDestroyInstance", &missing);
    *(void **)&brotli.decompress = bb_library_symbol(library, "BrotliDecoderDecompressStream", &missing);
    *(void **)&brotli.error = bb_library_symbol(library, "BrotliDecoderGetErrorCode", &missing);
    *(void **)&brotli.words = bb_library_symbol(library, "BrotliDecoderErrorString", &missing);
    void *create = bb_library_symbol(library, "BrotliDecoderCreateInstance", &missing);
    if (!missing) *(void **)&brotli.create = create;
    return brotli;
}

static inline void *bb_brotli_create(const struct bb_brotli *brotli) { return brotli->create(NULL, NULL, NULL); }

static inline void bb_brotli_destroy(const struct bb_brotli *brotli, void *state) { brotli->destroy(state); }

// Decodes as far as input and room go; `left` and `room` become what is left of them.
static inline int bb_brotli_decode(
    const struct bb_brotli *brotli, void *state, const void *input, size_t *left, void *output, size_t *room) {
    const uint8_t *next = (const uint8_t *)input;
    uint8_t *out = (uint8_t *)output;
    int result = brotli->decompress(state, left, &next, room, &out, NULL);
    return result == 0 ? bb_decoder_failed : result == 1 ? bb_decoder_at_end : bb_decoder_goes_on;
}

static inline const char *bb_brotli_message(const struct bb_brotli *brotli, const void *state) {
    return brotli->words(brotli->error(state));
}

struct bb_zstd_buffer {
    void *bytes;
    size_t size;
    size_t position;
};

struct bb_zstd {
    void *(*create)(void);
    size_t (*destroy)(void *state);
    size_t (*set)(void *state, int parameter, int value);
    size_t (*decompress)(void *state, struct bb_zstd_buffer *output, struct bb_zstd_buffer *input);
    unsigned (*is_error)(size_t code);
    const char *(*words)(size_t code);
};

// Opens the library. Its `create` is NULL when there is none.
static inline struct bb_zstd bb_zstd_open(void) {
    struct bb_zstd zstd = {NULL, NULL, NULL, NULL, NULL, NULL};
    int missing = 0;
    void *library = dlopen("libzstd.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) return zstd;
    *(void **)&zstd.destroy = bb_library_symbol(library, "ZSTD_freeDCtx", &missing);
    *(void **)&zstd.set = bb_library_symbol(library, "ZSTD_DCtx_setParameter", &missing);
    *(void **)&zstd.decompress = bb_library_symbol(library, "ZSTD_decompressStream", &missing);
    *(void **)&zstd.is_error = bb_library_symbol(library, "ZSTD_isError", &missing);
    *(void **)&zstd.words = bb_library_symbol(library, "ZSTD_getErrorName", &missing);
    void *create = bb_library_symbol(library, "ZSTD_createDCtx", &missing);
    if (!missing) *(void **)&zstd.create = create;
    return zstd;
}

// Makes a decoder for windows of up to 2 to the power of `window_log` bytes, or returns NULL.
static inline void *bb_zstd_create(const struct bb_zstd *zstd, int window_log) {
    const int window_log_max = 100;
    void *state = zstd->create();
    if (state != NULL && zstd->is_error(zstd->set(state, window_log_max, window_log))) {
        zstd->destroy(state);
        return NULL;
    }
    return state;
}

static inline void bb_zstd_destroy(const struct bb_zstd *zstd, void *state) { zstd->destroy(state); }

// Decodes as far as input and room go; `left` and `room` become what is left of them. At the end of a frame, another one
// may follow. `words` becomes what is wrong, when something is.
static inline int bb_zstd_decode(
    const struct bb_zstd *zstd, void *state, const void *input, size_t *left, void *output, size_t *room,
    const char **words) {
    struct bb_zstd_buffer in = {(void *)input, *left, 0}, out = {output, *room, 0};
    size_t code = zstd->decompress(state, &out, &in);
    *left -= in.position;
    *room -= out.position;
    if (zstd->is_error(code)) {
        *words = zstd->words(code);
        return bb_decoder_failed;
    }
    return code == 0 ? bb_decoder_at_end : bb_decoder_goes_on;
}

// libpsl's list, which libcurl uses for its own checks of cookies.
struct bb_psl {
    const void *list;
    int (*is_public_suffix)(const void *list, const char *domain);
    const char *(*registrable_domain)(const void *list, const char *domain);
};

// Opens the list: the newer of the system's file and the one in the library. Its `list` is NULL when there is none.
static inline struct bb_psl bb_psl_open(void) {
    struct bb_psl psl = {NULL, NULL, NULL};
    void *(*latest)(const char *file);
    const void *(*builtin)(void);
    int missing = 0;
    void *library = dlopen("libpsl.so.5", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) return psl;
    *(void **)&psl.is_public_suffix = bb_library_symbol(library, "psl_is_public_suffix", &missing);
    *(void **)&psl.registrable_domain = bb_library_symbol(library, "psl_registrable_domain", &missing);
    *(void **)&latest = bb_library_symbol(library, "psl_latest", &missing);
    *(void **)&builtin = bb_library_symbol(library, "psl_builtin", &missing);
    if (missing) return psl;
    psl.list = latest(NULL);
    if (psl.list == NULL) psl.list = builtin();
    return psl;
}

static inline int bb_psl_is_public_suffix(const struct bb_psl *psl, const char *domain) {
    return psl->is_public_suffix(psl->list, domain);
}

// The end of `domain` that is registered under a public suffix, or NULL when it is a suffix itself.
static inline const char *bb_psl_registrable_domain(const struct bb_psl *psl, const char *domain) {
    return psl->registrable_domain(psl->list, domain);
}

// The name in ASCII, by libidn2, which the caller frees; NULL when the name is invalid or the library is not there.
static inline char *bb_idn_ascii(const char *name) {
    int (*convert)(const uint8_t *name, uint8_t **ascii, int flags);
    uint8_t *ascii = NULL;
    const int flags = 1 | 16; // IDN2_NFC_INPUT, IDN2_NONTRANSITIONAL
    void *library = dlopen("libidn2.so.0", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) return NULL;
    *(void **)&convert = dlsym(library, "idn2_lookup_u8");
    if (convert != NULL && convert((const uint8_t *)name, &ascii, flags) != 0) ascii = NULL;
    dlclose(library);
    return (char *)ascii;
}

#endif
