// The C library of the platform; this is the only file that names it.
#if canImport(Musl)
    @_exported public import Musl
#else
    @_exported public import Glibc
#endif
