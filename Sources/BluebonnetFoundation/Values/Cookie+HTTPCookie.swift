public import Bluebonnet
import Foundation
public import FoundationNetworking

extension Cookie {
    /// Creates a cookie from one of Foundation's.
    ///
    /// Foundation's domain begins with a dot where the cookie is sent to the hosts below it, too. Its comments, ports and
    /// version, which RFC 6265 has given up, are left out.
    ///
    /// - Parameter cookie: Foundation's cookie.
    public init(_ cookie: HTTPCookie) {
        self.init(
            name: cookie.name, value: cookie.value, domain: cookie.domain,
            includesSubdomains: cookie.domain.hasPrefix("."), path: cookie.path, isSecure: cookie.isSecure,
            isHTTPOnly: cookie.isHTTPOnly, expires: cookie.expiresDate)
    }
}

extension HTTPCookie {
    /// Creates a cookie from one of Bluebonnet's.
    ///
    /// - Parameter cookie: Bluebonnet's cookie; `nil` comes of one that Foundation does not take, such as one without a
    ///   name or a domain.
    public convenience init?(_ cookie: Cookie) {
        guard !cookie.name.isEmpty, !cookie.domain.isEmpty else { return nil }
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: cookie.name, .value: cookie.value, .path: cookie.path,
            .domain: cookie.includesSubdomains ? ".\(cookie.domain)" : cookie.domain,
        ]
        // Foundation looks at whether there is a value, not at what it is.
        if cookie.isSecure { properties[.secure] = "TRUE" }
        if cookie.isHTTPOnly { properties[HTTPCookiePropertyKey(rawValue: "HttpOnly")] = "TRUE" }
        if let expires = cookie.expires { properties[.expires] = expires }
        self.init(properties: properties)
    }
}

extension CookieStore {
    /// Keeps cookies of Foundation's, as `set(_:)` keeps others.
    ///
    /// - Parameter cookies: The cookies, such as those of an `HTTPCookieStorage`.
    /// - Throws: `.cookies(…)` for the first that cannot be kept.
    public func set(_ cookies: [HTTPCookie]) async throws(RequestError) {
        try await set(cookies.map { Cookie($0) })
    }
}
