/// Says why an ``AuthenticationInterceptor`` could not authenticate a request.
@nonexhaustive
public enum AuthenticationError: Error, Hashable, Sendable {
    /// The interceptor has no credential.
    case missingCredential
    /// The credential was refreshed as often as the ``RefreshWindow`` allows, and should have been refreshed again.
    case excessiveRefresh
}

extension AuthenticationError: CustomStringConvertible {
    /// The error in a few words.
    public var description: String {
        switch self {
        case .missingCredential: "there is no credential"
        case .excessiveRefresh: "the credential was refreshed too often"
        }
    }
}
