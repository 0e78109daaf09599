/// Delivers the body to its readers while it arrives.
struct StreamSink: ResponseSink, SinkWriter {
    let body: BodyFanOut

    func receive(_ response: HTTPResponse, of core: RequestCore) async -> ExchangeOutcome {
        body.receive(from: core.accept(response))
        let outcome = await core.nextOutcome()
        // If the upload was stopped early, the outcome contains the whole body of the response.
        if !outcome.body.isEmpty { _ = body.receive(outcome.body) }
        return outcome
    }

    func finish(with error: RequestError?) { body.finish(with: error) }
}
