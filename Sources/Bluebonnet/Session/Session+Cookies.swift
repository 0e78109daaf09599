extension Session {
    /// The session's cookies.
    public nonisolated var cookies: CookieStore { CookieStore(context.transport.cookieStorage) }
}
