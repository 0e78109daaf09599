import FoundationEssentials

/// An event of an exchange that the attempt loop waits for.
enum ExchangeEvent: Sendable {
    /// The head of the response has arrived, and the body is not received yet.
    indirect case head(HTTPResponse)
    /// The exchange has ended.
    case outcome(ExchangeOutcome)
}

extension ExchangeEvent {
    /// The head of the response, or `nil` if the exchange failed.
    var response: HTTPResponse? {
        switch self {
        case .head(let response): response
        case .outcome(let outcome): outcome.error == nil ? outcome.response : nil
        }
    }

    /// Whether the response is a redirect (RFC 9110 §15.4).
    var isRedirect: Bool { response.map { (300...399).contains($0.statusCode) } ?? false }

    /// Returns the same event with the responses of the preceding redirects.
    func with(_ history: [HTTPResponse]) -> ExchangeEvent {
        guard !history.isEmpty else { return self }
        switch self {
        case .head(let response): return .head(response.with(history))
        case .outcome(let outcome): return .outcome(outcome.with(history))
        }
    }
}

extension ExchangeOutcome {
    /// Returns the same outcome with the responses of the preceding redirects.
    func with(_ history: [HTTPResponse]) -> ExchangeOutcome {
        guard !history.isEmpty else { return self }
        return ExchangeOutcome(
            response: response?.with(history), body: body, error: error, metrics: metrics, source: source,
            cacheStatus: cacheStatus)
    }
}

extension HTTPResponse {
    fileprivate func with(_ history: [HTTPResponse]) -> HTTPResponse {
        var response = self
        response.history = history
        return response
    }
}

extension HTTPResponse {
    /// Whether the head shows that there is no body (RFC 9110 §6.4.1).
    var announcesNoBody: Bool { statusCode == 204 || statusCode == 304 || expectedContentLength == 0 }
}
