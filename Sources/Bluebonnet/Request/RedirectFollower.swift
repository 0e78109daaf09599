import FoundationEssentials

/// Follows redirects, as a stage of the ``AttemptLoop``.
///
/// A ``RedirectChain`` creates the next request of each redirect, which the redirect handler can change or refuse.
struct RedirectFollower {
    let core: RequestCore
    /// The redirect responses of the current attempt, in order.
    private(set) var history: [HTTPResponse] = []

    /// Follows redirects, and returns the first event that is not a followed redirect.
    mutating func follow(from first: ExchangeEvent) async -> ExchangeEvent {
        var event = first
        guard event.isRedirect, let origin = core.read({ $0.record.requests.last }) else { return event }
        var chain = RedirectChain(request: origin, limits: core.context.configuration.redirects)
        while event.isRedirect, let response = event.response {
            do throws(RequestError) {
                guard var request = try await redirected(by: response, in: &chain) else { break }
                request.firstPartyURL = origin.url
                if case .head = event { await endRedirecting(response) }
                history.append(response)
                core.events?.emit(.willBeRedirected(to: request, for: response))
                core.send(request, isRedirect: true)
            } catch {
                return ExchangeEvent.outcome(await refused(event, error.about(response, body: nil))).with(history)
            }
            event = await core.nextEvent()
        }
        return event.with(history)
    }

    /// Returns the next request of a redirect, or `nil` if the redirect is not followed.
    private func redirected(
        by response: HTTPResponse, in chain: inout RedirectChain
    ) async throws(RequestError) -> HTTPRequest? {
        let handler = core.read({ $0.setup.redirectHandler }) ?? core.context.redirectHandler
        // With this behavior, an invalid location is not an error.
        if case .doNotFollow = (handler as? Redirector)?.behavior { return nil }
        let proposal: HTTPRequest
        switch chain.received(response) {
        case .deliver: return nil
        case .refuse(let reason): throw RequestError(.redirect(reason))
        case .follow(let request): proposal = request
        }
        guard let handler else { return try chain.followed(with: proposal) }
        guard let request = core.context.request(core.id) else { return nil }
        let chosen = try await core.interruptible { () async throws(RequestError) in
            await handler.request(request, willBeRedirectedTo: proposal, for: response)
        }
        guard let chosen else { return nil }
        return try chain.followed(with: chosen)
    }

    /// Ends the exchange of a redirect response, and discards its body.
    ///
    /// If the bodies of the request and the response are short, the body is read, so that the connection can be reused.
    private func endRedirecting(_ response: HTTPResponse) async {
        let body = core.read { $0.record.requests.last?.body }
        let (limit, length) = (Int64(RequestError.bodyLimit), response.expectedContentLength ?? 0)
        guard length <= limit, body.map({ $0.length ?? .max <= limit }) ?? true else {
            _ = await core.abandonedOutcome()
            return
        }
        _ = await core.outcome(with: ErrorBodyPrefix(limit: RequestError.bodyLimit + 1))
    }

    /// Ends an attempt with the error of a redirect that was refused.
    private func refused(_ event: ExchangeEvent, _ error: RequestError) async -> ExchangeOutcome {
        switch event {
        case .outcome(let outcome):
            return ExchangeOutcome(
                response: outcome.response, body: outcome.body,
                error: error.about(outcome.response, body: outcome.body),
                metrics: outcome.metrics, source: outcome.source, cacheStatus: outcome.cacheStatus)
        case .head(let response):
            let outcome = await core.abandonedOutcome()
            return ExchangeOutcome(response: response, error: error, metrics: outcome.metrics)
        }
    }
}
