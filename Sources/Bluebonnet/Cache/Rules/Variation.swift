/// The fields of a request that have chosen a response (RFC 9111 §4.1).
struct Variation: Equatable, Sendable {
    /// The names in lower case, sorted, each once.
    let names: [String]
    /// Whether the server says that cookies choose the response.
    let variesByCookie: Bool

    /// Reads a response's `Vary`; `nil` when no request can match: it holds a `*`.
    ///
    /// `Authorization` and `Cookie` are among the names unless the response says `public`: what was made for one user is
    /// not for another, whom the same program may act for, and servers forget to say so.
    init?(_ headers: HTTPHeaders) {
        var names = Set(
            headers.values(for: "Vary").flatMap { $0.split(separator: ",") }.map { $0.trimmed.lowercased() })
        names.remove("")
        guard !names.contains("*") else { return nil }
        variesByCookie = names.contains("cookie")
        if !CacheControl(headers.value(for: "Cache-Control")).isPublic { names.formUnion(["authorization", "cookie"]) }
        self.names = names.sorted()
    }
}
