extension RequestError {
    /// Says why a cookie is not kept, or a file of cookies cannot be used.
    @nonexhaustive
    public enum CookieReason: Hashable, Sendable {
        /// The session keeps no cookies.
        case notKept
        /// The value of `Set-Cookie` has not the form of a cookie.
        case malformed
        /// The name is empty, or holds white space, `=`, `;` or a control character.
        case invalidName
        /// The value holds `;` or a control character, or begins or ends with white space.
        case invalidValue(name: String)
        /// The path does not begin with a slash, or holds `;` or a control character.
        case invalidPath(name: String)
        /// The domain is not the name of a host, or is an address and to include subdomains.
        case invalidDomain(name: String)
        /// The name and the value have more than 4,096 bytes.
        case tooLarge(name: String)
        /// The cookie was to go to all hosts below a public suffix, such as `co.uk`.
        case publicSuffix(name: String, domain: String)
        /// The host that set the cookie does not belong to its domain.
        case foreignDomain(name: String, domain: String)
        /// A secure cookie was set without TLS.
        case insecure(name: String)
        /// The cookie is not what the prefix of its name promises (`__Secure-`, `__Host-`).
        case prefix(name: String)
        /// The URL is not one of a file.
        case notAFileURL(String)
        /// The file of cookies cannot be read; the detail has the system's words.
        case fileUnreadable(path: String)
        /// The file of cookies cannot be written; the detail has the system's words.
        case fileUnwritable(path: String)
    }
}

extension RequestError.CookieReason: CustomStringConvertible {
    /// The reason in a few words, without the cookie's value.
    public var description: String {
        switch self {
        case .notKept: "the session keeps no cookies"
        case .malformed: "the value of Set-Cookie is not a cookie"
        case .invalidName: "the name of a cookie cannot be sent"
        case .invalidValue(let name): "the value of the cookie \(name.debugDescription) cannot be sent"
        case .invalidPath(let name): "the path of the cookie \(name.debugDescription) is not one"
        case .invalidDomain(let name): "the domain of the cookie \(name.debugDescription) is not a host"
        case .tooLarge(let name): "the cookie \(name.prefix(40).debugDescription) has more than 4,096 bytes"
        case .publicSuffix(let name, let domain):
            "the cookie \(name.debugDescription) would go to all hosts of \(domain.debugDescription)"
        case .foreignDomain(let name, let domain):
            "the cookie \(name.debugDescription) is for another domain, \(domain.debugDescription)"
        case .insecure(let name): "the secure cookie \(name.debugDescription) was set without TLS"
        case .prefix(let name): "the cookie \(name.debugDescription) is not what its prefix promises"
        case .notAFileURL(let url): "the URL \(url.debugDescription) is not one of a file"
        case .fileUnreadable(let path): "the cookies in \(path) cannot be read"
        case .fileUnwritable(let path): "the cookies cannot be written to \(path)"
        }
    }
}
