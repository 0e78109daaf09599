import FoundationEssentials

/// An event of an exchange that the attempt loop waits for.
enum ExchangeEvent: Sendable {
    /// The head of the response is there, and its body is held back.
    indirect case head(HTTPResponse)
    /// The exchange has ended.
    case outcome(ExchangeOutcome)
}

extension ExchangeEvent {
    /// The head, if nothing went wrong so far.
    var response: HTTPResponse? {
        switch self {
        case .head(let response): response
        case .outcome(let outcome): outcome.error == nil ? outcome.response : nil
        }
    }

    /// Whether a complete response, or the head of one, may lead elsewhere (RFC 9110 §15.4).
    var isRedirect: Bool {
        switch self {
        case .head(let response): (300...399).contains(response.statusCode)
        case .outcome(let outcome): outcome.error == nil && outcome.statusCode.map((300...399).contains) ?? false
        }
    }

    /// The same with what redirected to it.
    func with(_ history: [HTTPResponse]) -> ExchangeEvent {
        guard !history.isEmpty else { return self }
        switch self {
        case .head(let response): return .head(response.with(history))
        case .outcome(let outcome): return .outcome(outcome.with(history))
        }
    }
}

extension ExchangeOutcome {
    /// The status code of the response, if there is one.
    fileprivate var statusCode: Int? { response?.statusCode }

    /// The same with what redirected to it.
    func with(_ history: [HTTPResponse]) -> ExchangeOutcome {
        guard !history.isEmpty else { return self }
        return ExchangeOutcome(
            response: response?.with(history), body: body, error: error, metrics: metrics, source: source)
    }
}

extension HTTPResponse {
    fileprivate func with(_ history: [HTTPResponse]) -> HTTPResponse {
        var response = self
        response.history = history
        return response
    }
}
