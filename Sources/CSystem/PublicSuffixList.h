// The public suffix list of libpsl, which libcurl uses for its own checks of cookies and does not pass on.
//
// The library is looked up when the program runs: it is in the process already where libcurl is built with it, and its
// headers are not needed.
#ifndef BLUEBONNET_PUBLIC_SUFFIX_LIST_H
#define BLUEBONNET_PUBLIC_SUFFIX_LIST_H

#include <dlfcn.h>
#include <stddef.h>

struct bb_psl {
    const void *list;
    int (*is_public_suffix)(const void *list, const char *domain);
    const char *(*registrable_domain)(const void *list, const char *domain);
};

static inline void *bb_psl_symbol(void *library, const char *name, int *missing) {
    void *symbol = dlsym(library, name);
    if (symbol == NULL) *missing = 1;
    return symbol;
}

// Opens the list: the newer of the system's file and the one in the library. Its `list` is NULL when there is none.
static inline struct bb_psl bb_psl_open(void) {
    struct bb_psl psl = {NULL, NULL, NULL};
    void *(*latest)(const char *file);
    const void *(*builtin)(void);
    int missing = 0;
    void *library = dlopen("libpsl.so.5", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) return psl;
    *(void **)&psl.is_public_suffix = bb_psl_symbol(library, "psl_is_public_suffix", &missing);
    *(void **)&psl.registrable_domain = bb_psl_symbol(library, "psl_registrable_domain", &missing);
    *(void **)&latest = bb_psl_symbol(library, "psl_latest", &missing);
    *(void **)&builtin = bb_psl_symbol(library, "psl_builtin", &missing);
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

#endif
