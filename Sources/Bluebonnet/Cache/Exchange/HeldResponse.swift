import FoundationEssentials

/// The response that an exchange with a cache delivers instead of the response of the server.
struct HeldResponse: Sendable {
    let response: HTTPResponse?
    let body: StoredBody
    var error: RequestError?
    let source: ResponseSource
    var metrics: TransferMetrics?

    /// The failure of a request that must not use the network.
    static let notStored = HeldResponse(
        response: nil, body: .memory(Data()), error: RequestError(.cache(.notStored)), source: .network)

    /// The outcome with a body, or with an error.
    func outcome(body: Data = Data(), error: RequestError? = nil) -> ExchangeOutcome {
        ExchangeOutcome(
            response: response, body: body, error: error ?? self.error, metrics: metrics, source: source)
    }

    /// The outcome with the whole body; blocks if the body is in a file.
    func wholeOutcome() -> ExchangeOutcome {
        do throws(SystemError) {
            return outcome(body: try body.all())
        } catch {
            return outcome(error: RequestError(.cache(.notStored), underlying: error))
        }
    }
}

/// Ignores the events of a validation that no request waits for.
final class SilentObserver: ExchangeObserver {
    func exchangeDidSend(_ sent: Int64, ofExpected expected: Int64?) {}
    func exchangeDidReceiveHead(_ response: HTTPResponse) {}
    func exchangeDidReceive(_ received: Int64, ofExpected expected: Int64?) {}
    func exchangeDidComplete(_ outcome: ExchangeOutcome) {}
}
