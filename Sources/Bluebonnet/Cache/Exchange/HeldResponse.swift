import FoundationEssentials

/// The response that an exchange with a cache delivers instead of the response of the server.
struct HeldResponse: Sendable {
    let response: HTTPResponse?
    let body: StoredBody
    /// The positions of the content in the body.
    let bytes: Range<Int>
    var error: RequestError?
    let source: ResponseSource
    var metrics: TransferMetrics?
    var status: CacheStatus?

    /// The failure of a request that must not use the network.
    static let notStored = HeldResponse(
        ExchangeOutcome(response: nil, error: RequestError(.cache(.notStored)), source: .network))

    /// The outcome with a body, or with an error.
    func outcome(body: Data = Data(), error: RequestError? = nil) -> ExchangeOutcome {
        ExchangeOutcome(
            response: response, body: body, error: error ?? self.error, metrics: metrics, source: source,
            cacheStatus: status)
    }

    /// The outcome with the whole content; blocks if the body is in a file.
    func wholeOutcome() -> ExchangeOutcome {
        do throws(SystemError) {
            let whole = try body.all()
            return outcome(
                body: bytes.count == whole.count ? whole : Data(whole.dropFirst(bytes.lowerBound).prefix(bytes.count)))
        } catch {
            return outcome(error: Self.failure(error))
        }
    }

    /// Reads content; blocks if the body is in a file.
    ///
    /// - Parameters:
    ///   - offset: The position in the content.
    ///   - count: The maximum number of bytes.
    /// - Returns: The bytes; fewer than the maximum only at the end.
    /// - Throws: `.cache(.notStored)` if the file cannot be read.
    func read(from offset: Int, upTo count: Int) throws(RequestError) -> Data {
        do throws(SystemError) {
            return try body.read(from: bytes.lowerBound + offset, upTo: min(count, bytes.count - offset))
        } catch {
            throw Self.failure(error)
        }
    }

    private static func failure(_ error: SystemError) -> RequestError {
        RequestError(.cache(.notStored), underlying: error)
    }
}

extension HeldResponse {
    /// Creates a response from the server's outcome.
    init(_ outcome: ExchangeOutcome) {
        self.init(
            response: outcome.response, body: .memory(outcome.body), bytes: 0..<outcome.body.count,
            error: outcome.error, source: outcome.source, metrics: outcome.metrics, status: outcome.cacheStatus)
    }

    /// Creates the answer to a request from a stored response.
    ///
    /// - Parameters:
    ///   - entry: The stored response.
    ///   - request: The request.
    ///   - now: The current time, for the `Age` field; `nil` after a validation.
    ///   - source: The source of the response.
    ///   - metrics: The metrics of the exchange that validated the response.
    ///   - status: The way in which the cache handled the request.
    init?(
        _ entry: StoredResponse, to request: CacheRequest, at now: Date?, source: ResponseSource = .cache,
        metrics: TransferMetrics? = nil, status: CacheStatus?
    ) {
        guard let answer = entry.answer(to: request, at: now) else { return nil }
        self.init(
            response: answer.response, body: entry.body, bytes: request.method == .head ? 0..<0 : answer.bytes,
            source: source, metrics: metrics, status: status)
    }
}

/// Ignores the events of a validation that no request waits for.
final class SilentObserver: ExchangeObserver {
    func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?) {}
    func exchangeDidReceiveHead(_ response: HTTPResponse) {}
    func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?) {}
    func exchangeDidComplete(_ outcome: ExchangeOutcome) {}
}
