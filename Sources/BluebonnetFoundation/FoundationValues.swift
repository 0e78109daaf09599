// Who imports this module gets the types that it is about with it.
@_exported public import Bluebonnet
public import Foundation
@_exported public import FoundationNetworking

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
    /// - Parameter cookie: Bluebonnet's cookie; the result is `nil` if Foundation rejects the cookie, for example
    ///   without a name or a domain.
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

extension Credential {
    /// Creates a credential from one of Foundation's.
    ///
    /// It is used as long as its request lives: there is no storage of credentials, so persistence means nothing.
    ///
    /// - Parameter urlCredential: Foundation's credential; the result is `nil` without a name and a password, as for a
    ///   certificate.
    public init?(_ urlCredential: URLCredential) {
        guard let user = urlCredential.user, let password = urlCredential.password else { return nil }
        self.init(username: user, password: password)
    }
}

extension URLCredential {
    /// Creates a credential from one of Bluebonnet's.
    ///
    /// The schemes that it is for have no place in it.
    ///
    /// - Parameters:
    ///   - credential: Bluebonnet's credential.
    ///   - persistence: How long a `URLSession` keeps it.
    public convenience init(_ credential: Credential, persistence: Persistence = .forSession) {
        self.init(user: credential.username, password: credential.password, persistence: persistence)
    }
}

extension Request {
    /// Answers challenges of the server with a credential of Foundation's, as `authenticate(using:)` does with one of ours.
    ///
    /// One without a name and a password changes nothing: the challenge is the response then.
    ///
    /// - Parameter credential: The credential.
    /// - Returns: The request.
    @discardableResult
    package nonisolated func authenticate(using credential: URLCredential) -> Self {
        guard let credential = Credential(credential) else { return self }
        return authenticate(using: credential)
    }

    /// Answers challenges of the server with a credential of Foundation's, as `authenticate(using:)` does.
    ///
    /// - Parameter credential: The credential.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func authenticate(with credential: URLCredential) -> Self {
        authenticate(using: credential)
    }

    /// Answers challenges of the server with a name and a password.
    ///
    /// - Parameters:
    ///   - username: The user's name.
    ///   - password: The password.
    ///   - persistence: Without meaning: they are used for this request.
    /// - Returns: The request.
    @discardableResult
    public nonisolated func authenticate(
        username: String, password: String, persistence: URLCredential.Persistence
    ) -> Self {
        authenticate(username: username, password: password)
    }
}

extension Certificate {
    /// Reads the certificates among the resources of a bundle: its files that end in `cer`, `crt`, `der` or `pem`.
    ///
    /// - Parameter bundle: The bundle; the program's by default.
    /// - Returns: The certificates; a file that holds none is left out.
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
    /// Creates an evaluator that pins the certificates of the program's bundle; without any, it refuses every server.
    ///
    /// - Parameters:
    ///   - acceptSelfSignedCertificates: Whether a pinned certificate needs no authority; it does need one by default.
    ///   - performDefaultValidation: Whether the chain is checked; it is by default.
    ///   - validateHost: Whether the certificate has to be for the host; it has by default.
    public init(
        acceptSelfSignedCertificates: Bool = false, performDefaultValidation: Bool = true, validateHost: Bool = true
    ) {
        self.init(
            certificates: Certificate.all(), acceptSelfSignedCertificates: acceptSelfSignedCertificates,
            performDefaultValidation: performDefaultValidation, validateHost: validateHost)
    }
}

extension PublicKeysTrustEvaluator {
    /// Creates an evaluator that pins the keys of the certificates of the program's bundle; without any, it refuses every
    /// server.
    ///
    /// - Parameters:
    ///   - performDefaultValidation: Whether the chain is checked; it is by default.
    ///   - validateHost: Whether the certificate has to be for the host; it has by default.
    public init(performDefaultValidation: Bool = true, validateHost: Bool = true) {
        self.init(
            keys: Certificate.all().map(\.publicKey), performDefaultValidation: performDefaultValidation,
            validateHost: validateHost)
    }
}

extension Progress {
    /// Creates a progress with the current values of a transfer's progress.
    ///
    /// - Parameter transfer: How far the body is.
    public convenience init(_ transfer: TransferProgress) {
        self.init(totalUnitCount: -1)
        kind = .file
        update(to: transfer)
    }

    /// Says from now on what a transfer's progress says.
    ///
    /// The total is -1 while it is not known. A body of no bytes counts as one unit, done: Foundation's progress traps
    /// when its total is set to zero. Changes the progress where it is called: on Linux a `Progress` has no lock, so use
    /// one from one thread or actor only.
    ///
    /// - Parameter transfer: How far the body is.
    package func update(to transfer: TransferProgress) {
        let total = transfer.total.map { $0 == 0 ? 1 : $0 } ?? -1
        let completed = transfer.total == 0 ? 1 : transfer.completed
        if totalUnitCount != total { totalUnitCount = total }
        if completedUnitCount != completed { completedUnitCount = completed }
    }

    /// Says what a sequence of progress says until that ends, such as `request.downloadProgressUpdates()`.
    ///
    /// Runs on the caller's actor and changes the progress nowhere else:
    ///
    /// ```swift
    /// Task { @MainActor in await progress.follow(request.downloadProgressUpdates()) }
    /// ```
    ///
    /// Ends early when its task is cancelled. Following neither starts nor slows the request; to have the progress
    /// cancel it, set `cancellationHandler`.
    ///
    /// - Parameter updates: The sequence.
    public func follow(_ updates: StreamOf<TransferProgress>) async {
        for await transfer in updates { update(to: transfer) }
    }
}

extension DownloadRequest {
    /// Returns the destination of a file in one of the user's directories, under the name that the response suggests.
    ///
    /// - Parameters:
    ///   - directory: Which directory; documents by default.
    ///   - domain: Whose; the user's by default.
    ///   - options: What to do about directories and a previous file.
    /// - Returns: The destination; in the temporary directory if there is no such one.
    public static func suggestedDownloadDestination(
        for directory: FileManager.SearchPathDirectory = .documentDirectory,
        in domain: FileManager.SearchPathDomainMask = .userDomainMask, options: Options = []
    ) -> Destination {
        FileManager.default.urls(for: directory, in: domain).first.map { .directory($0, options: options) }
            ?? .temporary(options: options)
    }
}

extension RetryResult {
    /// Try again after a delay in seconds; see `retryWithDelay` with a `Duration`.
    public static func retryWithDelay(_ delay: TimeInterval) -> RetryResult {
        // A duration of no number of seconds is a trap.
        .retryWithDelay(.seconds(delay.isFinite ? min(max(delay, 0), 1e9) : 0))
    }
}
