// Reexported, because this module's API uses the types of both modules.
@_exported public import Bluebonnet
public import Foundation
@_exported public import FoundationNetworking

extension Cookie {
    /// Creates a cookie from a Foundation `HTTPCookie`.
    ///
    /// If the domain of the Foundation cookie begins with a dot, the cookie is also sent to subdomains. The comments,
    /// the ports and the version of the Foundation cookie are dropped, because RFC 6265 does not define them.
    ///
    /// - Parameter cookie: The Foundation cookie.
    public init(_ cookie: HTTPCookie) {
        self.init(
            name: cookie.name, value: cookie.value, domain: cookie.domain,
            includesSubdomains: cookie.domain.hasPrefix("."), path: cookie.path, isSecure: cookie.isSecure,
            isHTTPOnly: cookie.isHTTPOnly, expires: cookie.expiresDate)
    }
}

extension HTTPCookie {
    /// Creates a Foundation cookie from a Bluebonnet cookie.
    ///
    /// - Parameter cookie: The Bluebonnet cookie. The result is `nil` if the cookie has no name or no domain, or if
    ///   Foundation rejects the cookie.
    public convenience init?(_ cookie: Cookie) {
        guard !cookie.name.isEmpty, !cookie.domain.isEmpty else { return nil }
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: cookie.name, .value: cookie.value, .path: cookie.path,
            .domain: cookie.includesSubdomains ? ".\(cookie.domain)" : cookie.domain,
        ]
        // Foundation only checks that a value exists, not what the value is.
        if cookie.isSecure { properties[.secure] = "TRUE" }
        if cookie.isHTTPOnly { properties[HTTPCookiePropertyKey(rawValue: "HttpOnly")] = "TRUE" }
        if let expires = cookie.expires { properties[.expires] = expires }
        self.init(properties: properties)
    }
}

extension CookieStore {
    /// Stores Foundation cookies.
    ///
    /// - Parameter cookies: The cookies to store, such as those of an `HTTPCookieStorage`.
    /// - Throws: `.cookies(…)` if one of the cookies cannot be stored, or `.sessionShutDown` if the session was shut
    ///   down or no longer exists. If a cookie is invalid, no cookie is stored.
    public func set(_ cookies: [HTTPCookie]) async throws(RequestError) {
        try await set(cookies.map { Cookie($0) })
    }
}

extension Credential {
    /// Creates a credential from a Foundation `URLCredential`.
    ///
    /// The persistence is ignored, because Bluebonnet has no credential storage.
    ///
    /// - Parameter urlCredential: The Foundation credential. The result is `nil` if the credential has no user name or
    ///   no password, for example if it is a certificate.
    public init?(_ urlCredential: URLCredential) {
        guard let user = urlCredential.user, let password = urlCredential.password else { return nil }
        self.init(username: user, password: password)
    }
}

extension URLCredential {
    /// Creates a Foundation `URLCredential` from a Bluebonnet credential.
    ///
    /// The allowed authentication schemes of the Bluebonnet credential are dropped.
    ///
    /// - Parameters:
    ///   - credential: The Bluebonnet credential.
    ///   - persistence: The time for which a `URLSession` keeps the credential; the lifetime of the session by default.
    public convenience init(_ credential: Credential, persistence: Persistence = .forSession) {
        self.init(user: credential.username, password: credential.password, persistence: persistence)
    }
}

extension Request {
    /// Authenticates with a Foundation `URLCredential` when the server sends a challenge.
    ///
    /// A credential without a user name or a password, such as a certificate, has no effect. The request then receives
    /// the server's challenge as its response.
    ///
    /// - Parameter credential: The credential with the user name and the password.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func authenticate(using credential: URLCredential) -> Self {
        guard let credential = Credential(credential) else { return self }
        return authenticate(using: credential)
    }

    /// Authenticates with a Foundation `URLCredential` when the server sends a challenge.
    ///
    /// A credential without a user name or a password, such as a certificate, has no effect. The request then receives
    /// the server's challenge as its response.
    ///
    /// - Parameter credential: The credential with the user name and the password.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func authenticate(with credential: URLCredential) -> Self {
        authenticate(using: credential)
    }

    /// Authenticates with a user name and a password when the server sends a challenge.
    ///
    /// - Parameters:
    ///   - username: The user name.
    ///   - password: The password.
    ///   - persistence: Ignored. The credential is used for this request only.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func authenticate(
        username: String, password: String, persistence: URLCredential.Persistence
    ) -> Self {
        authenticate(username: username, password: password)
    }
}

extension Certificate {
    /// Returns the certificates in the resources of a bundle.
    ///
    /// This method reads the files with the extensions `cer`, `crt`, `der` and `pem`, in lower or upper case.
    ///
    /// - Parameter bundle: The bundle to search; the main bundle by default.
    /// - Returns: The certificates. Files without a certificate are skipped.
    public static func all(in bundle: Bundle = .main) -> [Certificate] {
        let endings = ["cer", "CER", "crt", "CRT", "der", "DER", "pem", "PEM"]
        let paths = Set(endings.flatMap { bundle.paths(forResourcesOfType: $0, inDirectory: nil) })
        return paths.sorted().flatMap { (try? all(inFile: URL(filePath: $0))) ?? [] }
    }
}

extension PinnedCertificatesTrustEvaluator {
    /// Creates an evaluator that pins the certificates in the main bundle.
    ///
    /// If the bundle has no certificates, the evaluator refuses every server.
    ///
    /// - Parameters:
    ///   - acceptSelfSignedCertificates: Whether a pinned certificate is trusted even if no certificate authority has
    ///     signed it; `false` by default.
    ///   - performDefaultValidation: Whether the certificate chain is checked; `true` by default.
    ///   - validateHost: Whether the certificate must match the host; `true` by default.
    public init(
        acceptSelfSignedCertificates: Bool = false, performDefaultValidation: Bool = true, validateHost: Bool = true
    ) {
        self.init(
            certificates: Certificate.all(), acceptSelfSignedCertificates: acceptSelfSignedCertificates,
            performDefaultValidation: performDefaultValidation, validateHost: validateHost)
    }
}

extension PublicKeysTrustEvaluator {
    /// Creates an evaluator that pins the public keys of the certificates in the main bundle.
    ///
    /// If the bundle has no certificates, the evaluator refuses every server.
    ///
    /// - Parameters:
    ///   - performDefaultValidation: Whether the certificate chain is checked; `true` by default.
    ///   - validateHost: Whether the certificate must match the host; `true` by default.
    public init(performDefaultValidation: Bool = true, validateHost: Bool = true) {
        self.init(
            keys: Certificate.all().map(\.publicKey), performDefaultValidation: performDefaultValidation,
            validateHost: validateHost)
    }
}

extension Progress {
    /// Creates a progress with the current values of a transfer progress.
    ///
    /// - Parameter transfer: The transfer progress to copy.
    public convenience init(_ transfer: TransferProgress) {
        self.init(totalUnitCount: -1)
        kind = .file
        update(to: transfer)
    }

    /// Sets the values of this progress to the values of a transfer progress.
    ///
    /// While the total is not known, the total of this progress is -1. An empty body counts as one completed unit,
    /// because Foundation's `Progress` traps if its total is set to zero. This method changes the progress on the
    /// caller's thread. On Linux, a `Progress` is not thread-safe. Use it on one thread or actor only.
    ///
    /// - Parameter transfer: The transfer progress to copy.
    package func update(to transfer: TransferProgress) {
        let total = transfer.total.map { $0 == 0 ? 1 : $0 } ?? -1
        let completed = transfer.total == 0 ? 1 : transfer.completed
        if totalUnitCount != total { totalUnitCount = total }
        if completedUnitCount != completed { completedUnitCount = completed }
    }

    /// Updates this progress with a sequence of progress values, such as `request.downloadProgressUpdates()`.
    ///
    /// This method returns when the sequence ends or the task is cancelled. The progress changes on the caller's actor.
    /// On Linux, a `Progress` is not thread-safe. Use it on one thread or actor only:
    ///
    /// ```swift
    /// Task { @MainActor in await progress.follow(request.downloadProgressUpdates()) }
    /// ```
    ///
    /// This method does not start or slow down the request. To cancel the request through the progress, set the
    /// `cancellationHandler` of the progress.
    ///
    /// - Parameter updates: The progress values.
    public func follow(_ updates: StreamOf<TransferProgress>) async {
        for await transfer in updates { update(to: transfer) }
    }
}

extension DownloadRequest {
    /// Returns a destination in a system directory, with the file name that the response suggests.
    ///
    /// - Parameters:
    ///   - directory: The kind of directory; the documents directory by default.
    ///   - domain: The file system domain to search; the user's home directory by default.
    ///   - options: Options for creating directories and replacing an existing file; none by default.
    /// - Returns: The destination. If the system has no directory of this kind, the destination is the temporary
    ///   directory.
    public static func suggestedDownloadDestination(
        for directory: FileManager.SearchPathDirectory = .documentDirectory,
        in domain: FileManager.SearchPathDomainMask = .userDomainMask, options: Options = []
    ) -> Destination {
        FileManager.default.urls(for: directory, in: domain).first.map { .directory($0, options: options) }
            ?? .temporary(options: options)
    }
}

extension RetryResult {
    /// Creates a result that retries the request after a delay in seconds.
    ///
    /// A delay that is negative, infinite or not a number counts as 0. A delay of more than 1,000,000,000 seconds
    /// counts as 1,000,000,000 seconds.
    public static func retryWithDelay(_ delay: TimeInterval) -> RetryResult {
        // `Duration` traps on a number of seconds that it cannot represent.
        .retryWithDelay(.seconds(delay.isFinite ? min(max(delay, 0), 1e9) : 0))
    }
}
