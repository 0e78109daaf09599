extension RequestError {
    /// Says why a redirect is not followed.
    @nonexhaustive
    public enum RedirectReason: Hashable, Sendable {
        /// There were as many redirects as are allowed, and one more.
        case tooMany(limit: Int)
        /// The request was led back to where it had been, in the same way.
        case loop(url: String)
        /// A redirect leads from `https` to `http`, which is not allowed.
        case insecure(url: String)
        /// The `Location` is not a URL that can be requested.
        case invalidLocation(String)
        /// The body would have to be sent a second time, and cannot be.
        case bodyNotReplayable
        /// The handler gave a request that cannot be sent; see ``RequestError/underlying``.
        case invalidRequest
    }

    /// Says why there is no answer without the network.
    @nonexhaustive
    public enum CacheReason: Hashable, Sendable {
        /// Nothing is stored that could be the answer, or the request's kind is not answered with what is stored.
        case notStored
    }

    /// Says why a challenge cannot be answered.
    @nonexhaustive
    public enum AuthenticationReason: Hashable, Sendable {
        /// The server offers no algorithm for Digest that libcurl gets right: MD5 and SHA-256.
        case unsupportedDigestAlgorithm(String)
        /// The server offers no quality of protection for Digest that libcurl gets right: `auth`, or for a request
        /// without a body `auth-int`.
        case unsupportedDigestProtection(String)
        /// Libcurl is built without a scheme that the credential asks for.
        case unsupportedScheme(String)
    }
}

extension RequestError.RedirectReason: CustomStringConvertible {
    /// The reason in a few words.
    public var description: String {
        switch self {
        case .tooMany(let limit): "the request was redirected more than \(limit) times"
        case .loop(let url): "the request is redirected in a circle, back to \(url)"
        case .insecure(let url): "a redirect from https leads to \(url)"
        case .invalidLocation(let location): "the redirect's location \(location.debugDescription) cannot be requested"
        case .bodyNotReplayable: "the body cannot be sent again to where the request is redirected"
        case .invalidRequest: "the redirect handler gave a request that cannot be sent"
        }
    }
}

extension RequestError.CacheReason: CustomStringConvertible {
    /// The reason in a few words.
    public var description: String {
        switch self {
        case .notStored: "no stored response can be the answer, and the network must not be asked"
        }
    }
}

extension RequestError.AuthenticationReason: CustomStringConvertible {
    /// The reason in a few words.
    public var description: String {
        switch self {
        case .unsupportedDigestAlgorithm(let name):
            "the server asks for Digest with \(name.debugDescription), which is not supported"
        case .unsupportedDigestProtection(let name):
            "the server asks for Digest with the protection \(name.debugDescription), which is not supported"
        case .unsupportedScheme(let name): "libcurl is built without \(name)"
        }
    }
}
