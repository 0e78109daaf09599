public import Bluebonnet
public import FoundationEssentials

/// A transport that returns the responses of stubs without a network, for tests of code that sends requests.
///
/// ```swift
/// let transport = StubTransport { request in .json(["name": "Ada"]) }
/// let session = Session(transport: transport)
/// ```
///
/// A stub provides the responses for a method and a path; see ``stub(_:_:_:)-(_,_,StubTransport.Response...)``. If
/// there is no stub for a request, the closure of the initializer provides the response. Without a stub and without
/// this closure, the request fails with a `RequestError` of the kind `.connection(.refused)`.
///
/// If you set `Timeouts.idle` or `Timeouts.total`, a longer delay ends at the limit, by the transport's clock. The
/// default limits do not apply. To test another time limit, return ``Response/failure(_:)-(RequestError.Kind)``. If
/// several sessions share a transport, the limits are those of the newest session.
///
/// Each call of a closure runs on the global executor, in its own task. If the request is cancelled, this task is
/// cancelled too. A cancelled request ends immediately, even if the closure never returns.
///
/// An exchange is one request that the transport sends, with its response. Every exchange ends exactly once. The
/// transport calls the observers of exchanges on the global executor.
public final class StubTransport: Transport, LimitedTransport {
    /// A closure that returns the response to a request.
    ///
    /// If the closure throws a `RequestError`, the request fails with this error. If it throws a `CancellationError`,
    /// the request fails with `.cancelled`. If it throws another error, the request fails with `.connection(.failed)`,
    /// and the closure's error is the underlying error.
    package typealias Handler = @Sendable (HTTPRequest) async throws -> Response

    private struct State: Sendable {
        var table = StubTable()
        var requests = RecentElements<HTTPRequest>(capacity: 10_000)
        var exchanges: [Int: StubExchange] = [:]
        var lastNumber = 0
        var timeouts = Timeouts()
        var isShutDown = false
    }

    private let state = ObservedState(State())
    private let clock: any Clock<Duration>
    /// The cookies of replayed responses; `nil` if there is no replay.
    private let storedCookies: SessionCookies?

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - clock: The clock that measures the delays of responses; a `ContinuousClock` by default.
    ///   - handler: A closure that returns the response to a request without a stub; `nil` by default. If there is no
    ///     closure, a request without a stub fails. If the closure throws a `RequestError`, the request fails with this
    ///     error. If it throws a `CancellationError`, the request fails with `.cancelled`. If it throws another error,
    ///     the request fails with `.connection(.failed)`, and the closure's error is the underlying error.
    public init(
        clock: any Clock<Duration> = ContinuousClock(),
        _ handler: (@Sendable (_ request: HTTPRequest) async throws -> Response)? = nil
    ) {
        self.clock = clock
        storedCookies = nil
        guard let handler else { return }
        state.change { $0.table.fallback = handler }
    }

    /// Creates a transport that replays recorded exchanges.
    init(replaying replay: HARReplay) {
        clock = ContinuousClock()
        storedCookies = SessionCookies(Session.Configuration.Cookies())
        let replay = ObservedState(replay)
        state.change { $0.table.fallback = { request in try replay.change { $0.answer(to: request) }.get() } }
    }

    package func setLimits(_ timeouts: Timeouts) { state.change { $0.timeouts = timeouts } }

    // MARK: The table

    /// Adds a stub for a method and a path, which returns the given responses one after the other.
    ///
    /// After the last response, the stub repeats the last response. A second stub for the same method and path replaces
    /// the first stub.
    ///
    /// - Parameters:
    ///   - method: The HTTP method; `nil` means all methods.
    ///   - path: The percent-encoded path, which matches requests to any host. The path can also be a URL without a
    ///     query. It then matches only requests with the scheme, the host and the port of the URL. A segment `:name`
    ///     matches any segment that is not empty. A last segment `*` matches all remaining segments.
    ///   - responses: The responses, in order. If there are no responses, the requests fail with
    ///     `.connection(.refused)`.
    public func stub(_ method: HTTPMethod?, _ path: String, _ responses: Response...) {
        replaceTable { $0.set(responses, method: method, path: path) }
    }

    /// Adds a stub for a method and a path, which calls a closure to create the response.
    ///
    /// - Parameters:
    ///   - method: The HTTP method; `nil` means all methods.
    ///   - path: The path, in the same form as for ``stub(_:_:_:)-(_,_,StubTransport.Response...)``.
    ///   - handler: A closure that returns the response. It runs on the global executor. ``init(clock:_:)`` describes
    ///     the errors that the closure can throw.
    public func stub(
        _ method: HTTPMethod?, _ path: String,
        _ handler: @escaping @Sendable (_ request: HTTPRequest) async throws -> Response
    ) {
        replaceTable { $0.set(handler, method: method, path: path) }
    }

    /// Changes the table.
    ///
    /// Removed handlers are released outside the lock, because their release may run user code.
    private func replaceTable(_ change: @Sendable (inout StubTable) -> Void) {
        _ = state.change { state in
            let earlier = state.table
            change(&state.table)
            return earlier
        }
    }

    // MARK: Received requests

    /// The latest 10,000 started requests, the oldest first.
    public var requests: [HTTPRequest] { state.read { $0.requests.elements } }

    /// The total number of started requests.
    public var requestCount: Int { state.read { $0.requests.count } }

    /// The number of exchanges that have not ended.
    package var runningCount: Int { state.read { $0.exchanges.count } }

    /// Waits until the request with the given number has started, and returns this request.
    ///
    /// - Parameter number: The number of the request, in the order of starting; 1 for the first request.
    /// - Returns: The request with this number.
    /// - Throws: `CancellationError` if the task is cancelled or the request is no longer recorded. A `RequestError` of
    ///   the kind `.sessionShutDown` if the transport was shut down.
    public func request(_ number: Int) async throws -> HTTPRequest {
        try await state.wait { state in
            if let request = state.requests[number] { return .success(request) }
            if number <= state.requests.count { return .failure(CancellationError()) }
            return state.isShutDown ? .failure(RequestError(.sessionShutDown)) : nil
        }
    }

    /// Waits until every exchange has ended and the observers have been notified.
    ///
    /// An exchange is one request that the transport sends, with its response. For a redirect or a retry, a session
    /// starts a new exchange.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func waitUntilIdle() async throws {
        try await state.wait { $0.exchanges.isEmpty ? .success(()) : nil }
    }

    // MARK: Transport

    /// Starts an exchange; see `Transport`.
    ///
    /// - Parameters:
    ///   - request: The request of the exchange.
    ///   - options: The options of this exchange. An exchange that starts suspended receives its response after it is
    ///     resumed.
    ///   - observer: The observer of the exchange.
    /// - Returns: The started exchange.
    public func start(
        _ request: HTTPRequest, options: ExchangeOptions, observer: any ExchangeObserver
    ) -> any Exchange {
        let number = state.change { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let exchange = StubExchange(
            observer: observer, pausesBody: options.pausesBody,
            answer: { [self] in
                if let error = await readBody(of: request, for: observer) {
                    return (ExchangeOutcome(response: nil, error: error), nil)
                }
                return await answer(to: request, limit: options.maximumResponseBytes)
            },
            ended: { [self] in _ = state.change { $0.exchanges.removeValue(forKey: number) } })
        let (isShutDown, _) = state.change { state in
            state.exchanges[number] = exchange
            return (state.isShutDown, state.requests.append(request))
        }
        if isShutDown {
            exchange.abort(with: RequestError(.sessionShutDown))
        } else if !options.startsSuspended {
            exchange.resume()
        }
        return exchange
    }

    /// Ends all current exchanges, and all exchanges that start later, with `.sessionShutDown`.
    ///
    /// This method returns when the observers of the exchanges have been notified. It cancels running closures, but
    /// does not wait for them.
    public func shutDown() async {
        let exchanges = state.change { state in
            state.isShutDown = true
            return Array(state.exchanges.values)
        }
        for exchange in exchanges { exchange.abort(with: RequestError(.sessionShutDown)) }
        storedCookies?.close()
        // A separate task waits, so that the wait is complete even if the caller's task is cancelled.
        await Task { try? await waitUntilIdle() }.value
    }

    /// Always `nil`, because the stub runs on the global executor.
    public var executor: (any TaskExecutor)? { nil }

    /// The cookies of the replayed responses; `nil` if the transport replays no recording.
    public var cookieStorage: (any CookieStorage)? { storedCookies }

    /// Reads a body that is not in memory to its end, like a server; returns the error if reading fails.
    private func readBody(of request: HTTPRequest, for observer: any ExchangeObserver) async -> RequestError? {
        do {
            guard let body = request.body else { return nil }
            guard let opened = try body.open() else {
                observer.exchangeDidSend(body.length ?? 0, ofExpected: body.length)
                return nil
            }
            var reader = opened.makeReader()
            var sent: Int64 = 0
            while let piece = try await reader.next() {
                sent += Int64(piece.count)
                observer.exchangeDidSend(sent, ofExpected: opened.length)
            }
            guard let length = opened.length, length != sent else { return nil }
            return RequestError(.requestBody(.lengthMismatch(expected: length, actual: sent)))
        } catch {
            return error as? RequestError ?? RequestError(.requestBody(.sequenceFailed), underlying: error)
        }
    }

    private func answer(to request: HTTPRequest, limit: Int64?) async -> StubExchange.Answer {
        let begin = ContinuousClock.now
        var metrics = TransferMetrics()
        metrics.bytesSent = request.body?.length ?? 0
        var answer: (response: HTTPResponse, body: Data)?
        var socket: WebSocketScript?
        var failure: RequestError?
        do {
            let (response, body, script) = try await response(to: request)
            socket = script
            metrics.bytesReceived = Int64(body.count)
            metrics.httpVersion = response.httpVersion
            answer = (response, body)
            if let limit, body.count > limit {
                answer = (response, Data(body.prefix(Int(limit))))
                failure = RequestError(.invalidResponse(.bodyTooLarge(limit: limit)))
            }
        } catch let error as RequestError {
            failure = error
        } catch is CancellationError {
            failure = RequestError(.cancelled)
        } catch {
            failure = RequestError(.connection(.failed), detail: "the stub threw", underlying: error)
        }
        metrics.total = ContinuousClock.now - begin
        let outcome = ExchangeOutcome(
            response: answer?.response, body: answer?.body ?? Data(), error: failure, metrics: metrics)
        return (outcome, socket)
    }

    /// The limit that ends a delay first.
    private func limit(for request: HTTPRequest) -> (time: Duration, stage: RequestError.TimeoutStage)? {
        let (idle, total) = request.timeouts.filled(from: state.read { $0.timeouts }).ownLimits
        guard let idle else { return total.map { ($0, .total) } }
        return total.map { $0 <= idle ? ($0, .total) : (idle, .idle) } ?? (idle, .idle)
    }

    /// Returns the response after its delay.
    ///
    /// For ``Response/never``, this method waits until the task is cancelled.
    private func response(to request: HTTPRequest) async throws -> (HTTPResponse, body: Data, WebSocketScript?) {
        guard let answer = state.change({ $0.table.answer(to: request) }) else {
            throw RequestError(.connection(.refused), detail: "there is no stub for \(request)")
        }
        var storage = try await answer(request).storage
        let limit = limit(for: request)
        var waited = Duration.zero
        while true {
            switch storage {
            case .delayed(let delay, let later):
                if let limit, waited + delay > limit.time {
                    try await clock.sleep(for: limit.time - waited)
                    throw RequestError(.timedOut(limit.stage))
                }
                try await clock.sleep(for: delay)
                waited += delay
                storage = later
            case .never:
                if let limit {
                    try await clock.sleep(for: limit.time - waited)
                    throw RequestError(.timedOut(limit.stage))
                }
                try await state.wait { _ in nil as Result<Void, any Error>? }
            case .failure(let error): throw error
            case .response(let status, let version, let headers, let body):
                for field in headers.values(for: "Set-Cookie") where request.handlesCookies {
                    storedCookies?.received(Array(field.utf8), from: request.url)
                }
                return (
                    HTTPResponse(url: request.url, statusCode: status, httpVersion: version, headers: headers), body,
                    nil
                )
            case .webSocket(let script):
                let (status, headers) = script.handshake(request.headers)
                let response = HTTPResponse(
                    url: request.url, statusCode: status, httpVersion: .http1_1, headers: headers)
                return (response, Data(), status == 101 ? script : nil)
            }
        }
    }
}

extension StubTransport {
    /// The result of a stub: a response, a failure, or no response.
    public struct Response: Sendable {
        indirect enum Storage: Sendable {
            case response(status: Int, version: HTTPVersion, headers: HTTPHeaders, body: Data)
            case failure(RequestError)
            case delayed(Duration, Storage)
            case never
            case webSocket(WebSocketScript)
        }

        let storage: Storage
    }
}

extension StubTransport.Response {
    /// Creates a response.
    ///
    /// - Parameters:
    ///   - status: The status code; 200 by default.
    ///   - headers: The header fields; none by default. The transport adds no fields.
    ///   - body: The response body; empty by default.
    ///   - httpVersion: The HTTP version of the response; HTTP/1.1 by default.
    /// - Returns: The new response.
    public static func response(
        status: Int = 200, headers: HTTPHeaders = [:], body: Data = Data(), httpVersion: HTTPVersion = .http1_1
    ) -> Self {
        Self(storage: .response(status: status, version: httpVersion, headers: headers, body: body))
    }

    /// Creates a response whose body is a value in JSON, with sorted keys.
    ///
    /// - Parameters:
    ///   - value: The value to encode. If it cannot be encoded, the request fails with `.internal`, and the encoder's
    ///     error is the underlying error.
    ///   - status: The status code; 200 by default.
    ///   - headers: The header fields; none by default. If there is no `Content-Type`, the method adds
    ///     `application/json`.
    /// - Returns: The new response.
    public static func json(_ value: some Encodable, status: Int = 200, headers: HTTPHeaders = [:]) -> Self {
        do {
            let headers = headers.including(contentType: "application/json")
            return response(status: status, headers: headers, body: try sortedJSON(value))
        } catch {
            return failure(RequestError(.internal, detail: "the stub's JSON cannot be encoded", underlying: error))
        }
    }

    /// Creates a response whose body is text in UTF-8.
    ///
    /// - Parameters:
    ///   - text: The text of the body.
    ///   - status: The status code; 200 by default.
    ///   - headers: The header fields; none by default. If there is no `Content-Type`, the method adds
    ///     `text/plain; charset=utf-8`.
    /// - Returns: The new response.
    public static func text(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> Self {
        response(
            status: status, headers: headers.including(contentType: "text/plain; charset=utf-8"), body: Data(text.utf8))
    }

    /// Creates a response without header fields and without a body.
    ///
    /// - Parameter status: The status code.
    /// - Returns: The new response.
    public static func status(_ status: Int) -> Self { response(status: status) }

    /// A response with the status 200, without header fields and without a body.
    public static let ok = response()

    /// Creates a failure instead of a response, for example a lost connection.
    ///
    /// - Parameter error: The error that the transport reports instead of a response.
    /// - Returns: The new failure.
    public static func failure(_ error: RequestError) -> Self { Self(storage: .failure(error)) }

    /// Creates a failure of a kind, such as `.failure(.timedOut(.total))`.
    ///
    /// - Parameter kind: The kind of the error.
    /// - Returns: The new failure.
    public static func failure(_ kind: RequestError.Kind) -> Self { failure(RequestError(kind)) }

    /// A failure because `Timeouts.total` was exceeded.
    public static let timeout = failure(.timedOut(.total))

    /// Returns the same response or failure after a delay; see ``delayed(_:_:)``.
    ///
    /// - Parameter delay: The delay.
    /// - Returns: The delayed response.
    public func delayed(by delay: Duration) -> Self { .delayed(delay, self) }

    /// Creates a delayed response or failure; the transport's clock measures the delay.
    ///
    /// If you set `Timeouts.idle` or `Timeouts.total` for the request or the session, and the limit is shorter, the
    /// request fails at the limit.
    ///
    /// - Parameters:
    ///   - delay: The time that the transport waits before it delivers the response or failure.
    ///   - response: The response or failure after the delay.
    /// - Returns: The delayed response.
    public static func delayed(_ delay: Duration, _ response: Self) -> Self {
        Self(storage: .delayed(delay, response.storage))
    }

    /// No response; the request ends at a time limit that you have set, or when it is cancelled.
    public static let never = Self(storage: .never)
}

/// Finds the stub for a request; a value type without I/O.
struct StubTable: Sendable {
    private enum Stub: Sendable {
        /// The index of a sequence of responses.
        case sequence(Int)
        case handler(StubTransport.Handler)
    }

    /// The handler of requests without a stub.
    var fallback: StubTransport.Handler?

    private var routes = RouteTable<Stub>()
    private var sequences: [[StubTransport.Response]] = []

    mutating func set(_ responses: [StubTransport.Response], method: HTTPMethod?, path: String) {
        // The order is reversed, so that the next response is the last element.
        sequences.append(responses.reversed())
        routes.set(.sequence(sequences.count - 1), path: path, method: method)
    }

    mutating func set(_ handler: @escaping StubTransport.Handler, method: HTTPMethod?, path: String) {
        routes.set(.handler(handler), path: path, method: method)
    }

    /// Returns the closure that makes the response; `nil` if there is no stub.
    mutating func answer(to request: HTTPRequest) -> StubTransport.Handler? {
        switch stub(for: request) {
        case .sequence(let number):
            guard let response = sequences[number].last else { return nil }
            if sequences[number].count > 1 { sequences[number].removeLast() }
            return { _ in response }
        case .handler(let handler):
            return handler
        case nil:
            return fallback
        }
    }

    private func stub(for request: HTTPRequest) -> Stub? {
        let absolute = request.url.absoluteString.prefix { $0 != "?" && $0 != "#" }
        let path = RequestTarget(String(absolute)).path
        for name in [String(absolute), path] {
            if case .found(let stub, _) = routes.match(request.method, name) { return stub }
        }
        return nil
    }
}
