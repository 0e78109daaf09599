public import FoundationEssentials

/// A transport that records the exchanges of another transport as an HTTP archive (HAR 1.2).
///
/// ```swift
/// let recorder = HARRecorder()
/// let session = Session(transport: recorder)
/// // … requests …
/// try await recorder.save(to: file)
/// ```
///
/// The developer tools of browsers can open the archive, and `StubTransport` in `BluebonnetTesting` can replay it. Each
/// exchange with a server has an entry, so each redirect and each retry has its own entry. A response from the
/// session's cache has no entry. If an exchange is still running, its entry contains the part of the response that the
/// recorder has received so far. There is no entry until the recorder has received the head of a response or an error.
///
/// By default, `<redacted>` replaces the secrets in URLs, header fields, cookies, forms and JSON. Secrets are
/// recognized by their names. Other text and binary bodies are recorded unchanged. Bodies in which secrets cannot be
/// recognized are left out: multipart bodies, bodies with a content coding that was not decoded, and JSON and forms
/// that are not in UTF-8.
///
/// The request's body is recorded if it is in memory. Response bodies are recorded after content decoding, for every
/// kind of request. If the body of a response is collected in memory, the recorder receives the body at the end of the
/// exchange. The fields that libcurl adds itself, such as `Host`, are not recorded. HTTP trailers are not recorded,
/// because the format has no place for them.
public final class HARRecorder: WrappingTransport {
    /// The transport that sends the requests.
    public let inner: any Transport

    private let defaultHeaders: HTTPHeaders
    private let text: HARText
    private let entryLimit: Int
    private let bodyLimit: Int
    /// The exchanges in the order in which they started; each can still change.
    private let exchanges = Locked<[Locked<RecordedExchange>]>([])

    /// Creates a recorder.
    ///
    /// - Parameters:
    ///   - transport: The transport that sends the requests; `nil`, the default, for a ``CurlTransport`` with the
    ///     configuration.
    ///   - configuration: The configuration of the session that uses the recorder. Its default header fields are
    ///     recorded with each request.
    ///   - includingSecrets: Whether secrets are recorded; `false` by default. With `true`, a replay also has the
    ///     cookies of the responses. Do not share such an archive.
    ///   - maximumEntries: The number of entries to keep; 1,000 by default. Each further exchange replaces the
    ///     oldest entry.
    ///   - maximumBodyBytes: The maximum number of bytes to keep of each body; 256 KiB by default. The limit applies to
    ///     each request body and to each response body. A longer request body is left out, and a longer response body
    ///     is cut. In both cases, the entry has a comment.
    public init(
        _ transport: (any Transport)? = nil, configuration: Session.Configuration = .default,
        includingSecrets: Bool = false, maximumEntries: Int = 1000, maximumBodyBytes: Int = 256 * 1024
    ) {
        inner = transport ?? CurlTransport(configuration: configuration)
        defaultHeaders = configuration.effectiveHeaders
        text = HARText(includesSecrets: includingSecrets)
        entryLimit = max(1, maximumEntries)
        bodyLimit = max(0, maximumBodyBytes)
    }

    // MARK: The archive

    /// Returns the archive of all recorded exchanges, in the order in which they started.
    ///
    /// - Returns: The archive as JSON in UTF-8.
    public func har() -> Data {
        let exchanges = exchanges.withLock { $0 }.map { $0.withLock { $0 } }.filter(\.hasAnswer)
        let creator: JSONValue = ["name": "Bluebonnet", "version": .string(BluebonnetInfo.version)]
        let entries = JSONValue.array(exchanges.map { $0.entry(text) })
        let log: JSONValue = ["version": "1.2", "creator": creator, "entries": entries]
        return JSONValue.object(["log": log]).encode(prettyPrinted: true)
    }

    /// Saves the archive to a file.
    ///
    /// The file has the mode 0600, so only its owner can read it. The method writes the file on the global executor,
    /// and replaces an existing file atomically.
    ///
    /// - Parameter file: The URL of the file, whose name should end with `.har`.
    /// - Throws: `.download(.destinationInvalid)` if the URL is not a file URL, and `.download(.cannotWriteFile)` if
    ///   the file cannot be written.
    @concurrent
    public func save(to file: URL) async throws(RequestError) {
        let path = file.path(percentEncoded: false)
        guard file.isFileURL, !path.isEmpty, !path.utf8.contains(0) else {
            throw RequestError(.download(.destinationInvalid(file.redactedDescription)))
        }
        // The name is random, so two tasks that save at the same time do not write to the same file.
        let unfinished = "\(path).\(String(UInt64.random(in: 0 ... .max), radix: 16)).new"
        do throws(SystemError) {
            try OpenFile.replace(path, with: har(), by: unfinished)
        } catch {
            throw RequestError(.download(.cannotWriteFile(path: path)), detail: error.message)
        }
    }

    // MARK: Transport

    /// Starts an exchange with the wrapped transport, and records it; see ``Transport/start(_:options:observer:)``.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - options: The options for this exchange only.
    ///   - observer: The observer, which receives the events.
    /// - Returns: The handle of the exchange.
    public func start(
        _ request: HTTPRequest, options: ExchangeOptions, observer: any ExchangeObserver
    ) -> any Exchange {
        let exchange = Locked(RecordedExchange(request, headers: sentHeaders(of: request), bodyLimit: bodyLimit))
        // The oldest exchange is released outside the lock, because its body may belong to the user.
        _ = exchanges.withLock { exchanges in
            exchanges.append(exchange)
            return exchanges.count > entryLimit ? exchanges.removeFirst() : nil
        }
        let observer = FilteringObserver(observer) { event in
            switch event {
            case .head(let response): exchange.withLock { $0.response = response }
            case .outcome(let outcome): exchange.withLock { $0.ended(outcome) }
            case .sentBytes, .informational, .receivedBytes: break
            }
            return true
        }
        return RecordingExchange(inner: inner.start(request, options: options, observer: observer), exchange: exchange)
    }

    /// The fields of the request and the session, with the cookies that are stored at this time.
    private func sentHeaders(of request: HTTPRequest) -> HTTPHeaders {
        let defaults = defaultHeaders.filter(request.takesDefault).map(request.defaultField)
        var headers = HTTPHeaders(defaults + Array(request.headers))
        guard let cookies = inner.cookieStorage as? SessionCookies, cookies.areUsed(by: request) else { return headers }
        let stored = String(decoding: cookies.field(for: request.url), as: UTF8.self)
        guard !stored.isEmpty else { return headers }
        headers.update(name: "Cookie", value: ([stored] + headers.values(for: "Cookie")).joined(separator: "; "))
        return headers
    }
}

/// Passes the pieces of a body on, and records them.
private final class RecordingReceiver: BodyReceiver {
    private let next: any BodyReceiver
    private let exchange: Locked<RecordedExchange>

    init(next: any BodyReceiver, exchange: Locked<RecordedExchange>) {
        (self.next, self.exchange) = (next, exchange)
    }

    func receive(_ bytes: Data) -> ReceiveAction {
        exchange.withLock { $0.received(bytes) }
        return next.receive(bytes)
    }
}

private struct RecordingExchange: Exchange {
    let inner: any Exchange
    let exchange: Locked<RecordedExchange>

    func cancel() { inner.cancel() }
    func suspend() { inner.suspend() }
    func resume() { inner.resume() }
    func receiveMore() { inner.receiveMore() }
    func send(_ bytes: Data) { inner.send(bytes) }

    func receiveBody(with receiver: (any BodyReceiver)?) {
        inner.receiveBody(with: receiver.map { RecordingReceiver(next: $0, exchange: exchange) })
    }
}
