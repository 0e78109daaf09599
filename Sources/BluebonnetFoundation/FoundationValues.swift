// Reexported, because this module's API uses the types of both modules.
@_exported public import Bluebonnet
public import Foundation
@_exported public import FoundationNetworking

extension Cookie {
    /// Creates a cookie from a Foundation `HTTPCookie`.
    ///
    /// If Foundation's domain begins with a dot, the cookie is also sent to subdomains. The comments, ports and version
    /// of Foundation's cookie, which RFC 6265 no longer has, are left out.
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
    /// - Parameter cookie: The Bluebonnet cookie. The result is `nil` if Foundation rejects the cookie, for example
    ///   because it has no name or no domain.
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
    /// Stores Foundation cookies, as `set(_:)` stores Bluebonnet cookies.
    ///
    /// - Parameter cookies: The cookies to store, such as those of an `HTTPCookieStorage`.
    /// - Throws: `.cookies(…)` for the first cookie that cannot be stored.
    public func set(_ cookies: [HTTPCookie]) async throws(RequestError) {
        try await set(cookies.map { Cookie($0) })
    }
}

extension Credential {
    /// Creates a credential from a Foundation `URLCredential`.
    ///
    /// The credential is used for the lifetime of its request. There is no credential storage, so the persistence is
    /// ignored.
    ///
    /// - Parameter urlCredential: The Foundation credential. The result is `nil` if it has no user name or no password,
    ///   as for a certificate.
    public init?(_ urlCredential: URLCredential) {
        guard let user = urlCredential.user, let password = urlCredential.password else { return nil }
        self.init(username: user, password: password)
    }
}

extension URLCredential {
    /// Creates a Foundation `URLCredential` from a Bluebonnet credential.
    ///
    /// The authentication schemes that the Bluebonnet credential allows are dropped.
    ///
    /// - Parameters:
    ///   - credential: The Bluebonnet credential.
    ///   - persistence: How long a `URLSession` keeps the credential; for the session by default.
    public convenience init(_ credential: Credential, persistence: Persistence = .forSession) {
        self.init(user: credential.username, password: credential.password, persistence: persistence)
    }
}

extension Request {
    /// Answers the server's challenges with a Foundation `URLCredential`, as `authenticate(using:)` does with a
    /// `Credential`.
    ///
    /// A credential without a user name and a password changes nothing: the challenge is then the response.
    ///
    /// - Parameter credential: The user name and the password to answer with.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func authenticate(using credential: URLCredential) -> Self {
        guard let credential = Credential(credential) else { return self }
        return authenticate(using: credential)
    }

    /// Answers the server's challenges with a Foundation `URLCredential`.
    ///
    /// A credential without a user name and a password, such as a certificate, changes nothing: the challenge is then
    /// the response.
    ///
    /// - Parameter credential: The user name and the password to answer with.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func authenticate(with credential: URLCredential) -> Self {
        authenticate(using: credential)
    }

    /// Answers the server's challenges with a user name and a password.
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
    /// Reads the certificates in a bundle's resources: the files with the extension `cer`, `crt`, `der` or `pem`.
    ///
    /// - Parameter bundle: The bundle to search; the main bundle by default.
    /// - Returns: The certificates. A file without a certificate is skipped.
    public static func all(in bundle: Bundle = .main) -> [Certificate] {
        let endings = ["cer", "CER", "crt", "CRT", "der", "DER", "pem", "PEM"]
        var paths: Set<String> = []
        for ending in endings {
            paths.formUnion(bundle.paths(forResourcesOfType: ending, inDirectory: nil))
        }
        var certificates: [Certificate] = []
        for path in paths.sorted() { certificates += (try? all(inFile: URL(filePath: path))) ?? [] }
        return certificates
    }
}

extension PinnedCertificatesTrustEvaluator {
    /// Creates an evaluator that pins the certificates in the main bundle; if there are none, it refuses every server.
    ///
    /// - Parameters:
    ///   - acceptSelfSignedCertificates: Whether a pinned certificate is trusted without a certificate authority;
    ///     `false` by default.
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
    /// Creates a progress with the current values of a transfer's progress.
    ///
    /// - Parameter transfer: The transfer progress to copy.
    public convenience init(_ transfer: TransferProgress) {
        self.init(totalUnitCount: -1)
        kind = .file
        update(to: transfer)
    }

    /// Sets the values to those of a transfer's progress.
    ///
    /// The total is -1 while it is not known. An empty body counts as one completed unit, because Foundation's
    /// `Progress` traps when its total is set to zero. On Linux a `Progress` has no lock, so use it from one thread or
    /// actor only; this method changes it on the caller's thread.
    ///
    /// - Parameter transfer: The transfer progress to copy.
    package func update(to transfer: TransferProgress) {
        let total = transfer.total.map { $0 == 0 ? 1 : $0 } ?? -1
        let completed = transfer.total == 0 ? 1 : transfer.completed
        if totalUnitCount != total { totalUnitCount = total }
        if completedUnitCount != completed { completedUnitCount = completed }
    }

    /// Follows a sequence of progress values, such as `request.downloadProgressUpdates()`, until the sequence ends.
    ///
    /// Runs on the caller's actor and only changes the progress there. On Linux a `Progress` has no lock, so use it
    /// from one thread or actor only:
    ///
    /// ```swift
    /// Task { @MainActor in await progress.follow(request.downloadProgressUpdates()) }
    /// ```
    ///
    /// Ends early if its task is cancelled. Following neither starts nor slows down the request. To cancel the request
    /// through the progress, set the progress's `cancellationHandler`.
    ///
    /// - Parameter updates: The progress values to follow.
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
    /// - Returns: The destination. If there is no such directory, the destination is the temporary directory.
    public static func suggestedDownloadDestination(
        for directory: FileManager.SearchPathDirectory = .documentDirectory,
        in domain: FileManager.SearchPathDomainMask = .userDomainMask, options: Options = []
    ) -> Destination {
        FileManager.default.urls(for: directory, in: domain).first.map { .directory($0, options: options) }
            ?? .temporary(options: options)
    }
}

extension RetryResult {
    /// Retries after a delay in seconds; see `retryWithDelay` with a `Duration`.
    ///
    /// A negative or non-finite delay counts as 0, and a delay over 1,000,000,000 seconds counts as 1,000,000,000.
    public static func retryWithDelay(_ delay: TimeInterval) -> RetryResult {
        // `Duration` traps on a number of seconds that it cannot represent.
        .retryWithDelay(.seconds(delay.isFinite ? min(max(delay, 0), 1e9) : 0))
    }
}
