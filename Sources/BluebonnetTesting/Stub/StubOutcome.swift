import Bluebonnet
import FoundationEssentials

/// Makes the outcome of an exchange from what a stub answered.
struct StubOutcome {
    let request: HTTPRequest
    /// The longest body that is allowed, in bytes.
    let limit: Int64?
    let duration: Duration

    func outcome(_ result: Result<StubTransport.Response.Storage, RequestError>) -> ExchangeOutcome {
        switch result {
        case .failure(let error), .success(.failure(let error)):
            return ExchangeOutcome(response: nil, error: error, metrics: metrics(received: 0, nil))
        case .success(.response(let status, let version, let headers, let body)):
            let response = HTTPResponse(
                url: request.url, statusCode: status, httpVersion: version, headers: headers)
            let metrics = metrics(received: body.count, version)
            guard let limit, body.count > limit else {
                return ExchangeOutcome(response: response, body: body, metrics: metrics)
            }
            return ExchangeOutcome(
                response: response, body: Data(body.prefix(Int(limit))),
                error: RequestError(.invalidResponse(.bodyTooLarge(limit: limit))), metrics: metrics)
        case .success(.delayed), .success(.never):
            // These have been waited for.
            return ExchangeOutcome(response: nil, error: RequestError(.internal))
        }
    }

    private func metrics(received: Int, _ version: HTTPVersion?) -> TransferMetrics {
        var metrics = TransferMetrics()
        metrics.total = duration
        metrics.bytesSent = request.body?.length ?? 0
        metrics.bytesReceived = Int64(received)
        metrics.httpVersion = version
        return metrics
    }
}
