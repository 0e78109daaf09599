/// What is stored of the responses.
extension RequestCore {
    /// Refuses what must not be asked of the network when there is nothing else to ask.
    func checkCachePolicy(of request: HTTPRequest) throws(RequestError) {
        guard !context.hasCache else { return }
        let policy = request.cachePolicy ?? context.configuration.cachePolicy
        if policy == .returnCacheDontLoad { throw RequestError(.cache(.notStored)) }
    }

    /// What asks the request's handler, or the session's, about a response that may be stored.
    func storing() -> (@Sendable (CachedResponse) async -> CachedResponse?)? {
        guard let handler = mailbox.withLock({ $0.cachedResponseHandler }) ?? context.cachedResponseHandler else {
            return nil
        }
        return { [self] response in
            guard let request = context.request(id) else { return nil }
            return await handler.request(request, willCacheResponse: response)
        }
    }
}
