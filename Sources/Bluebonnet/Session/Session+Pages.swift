public import FoundationEssentials

extension Session {
    /// Returns a sequence of pages, where each page or its response contains the URL of the next page.
    ///
    /// ```swift
    /// for try await page in session.pages(of: [Issue].self, from: "https://api.example/issues") {
    ///     print(page.count)
    /// }
    /// ```
    ///
    /// A page is requested when the loop asks for it. By default, the next page is the `next` link of the `Link` field
    /// (RFC 8288). Each response is validated as with `validate()`.
    ///
    /// - Parameters:
    ///   - type: The type of a page.
    ///   - convertible: The URL of the first page.
    ///   - parameters: The parameters, which are added to the query of the first page; none by default.
    ///   - headers: Header fields of all requests, which replace the session's fields of the same name.
    ///   - decoder: The decoder for the bodies; the session's decoder by default.
    ///   - interceptor: An interceptor for all requests; `nil` by default.
    ///   - next: A closure that receives a page and its response, and returns the URL of the next page, or `nil` at the
    ///     end. The closure runs in the task that iterates over the pages. A relative URL is resolved against the URL
    ///     of the received page.
    /// - Returns: A sequence of the pages; each loop over it begins with the first page.
    public nonisolated func pages<Page: Decodable & Sendable>(
        of type: Page.Type = Page.self, from convertible: any URLConvertible, parameters: [String: JSONValue] = [:],
        headers: HTTPHeaders? = nil, decoder: (any DataDecoder)? = nil, interceptor: (any RequestInterceptor)? = nil,
        next: Pages<Page>.Next? = nil
    ) -> Pages<Page> {
        let encoder = formEncoder(.queryString)
        let encode: @Sendable (HTTPRequest) throws -> HTTPRequest = { try encoder.encode(parameters, into: $0) }
        return pages(
            from: ComposedRequest(
                url: convertible, method: .get, headers: headers, encode: parameters.isEmpty ? nil : encode),
            decoder: decoder, interceptor: interceptor, next: next)
    }

    /// Returns a sequence of pages that begins with the response to your request.
    ///
    /// Each further page is requested with the same method, fields and options.
    /// ``pages(of:from:parameters:headers:decoder:interceptor:next:)`` describes the other rules.
    ///
    /// - Parameters:
    ///   - type: The type of a page.
    ///   - convertible: The request for the first page.
    ///   - decoder: The decoder for the bodies; the session's decoder by default.
    ///   - interceptor: An interceptor for all requests; `nil` by default.
    ///   - next: A closure that receives a page and its response, and returns the URL of the next page, or `nil` at the
    ///     end.
    /// - Returns: A sequence of the pages; each loop over it begins with the first page.
    public nonisolated func pages<Page: Decodable & Sendable>(
        of type: Page.Type = Page.self, from convertible: any HTTPRequestConvertible,
        decoder: (any DataDecoder)? = nil, interceptor: (any RequestInterceptor)? = nil,
        next: Pages<Page>.Next? = nil
    ) -> Pages<Page> {
        Pages(next: next ?? { _, response in response.link(relation: "next") }) { url in
            let page = ModifiedRequest(convertible: convertible) { if let url { $0.url = url } }
            return await self.request(page, interceptor: interceptor).validate()
                .serializingDecodable(Page.self, decoder: decoder).response
        }
    }
}

/// A sequence of pages, where each page or its response contains the URL of the next page.
///
/// ``Session/pages(of:from:parameters:headers:decoder:interceptor:next:)`` creates the sequence. A loop over the
/// sequence ends after the last page. If a request fails, the loop throws its error. If the ``Pages/Next`` closure
/// throws a ``RequestError``, the loop throws this error. If the closure throws another error, the loop throws
/// `.invalidRequest(.conversion)`, and ``RequestError/underlying`` is the error of the closure.
///
/// The loop throws `.invalidURL` in these cases:
/// - The URL of the next page cannot be resolved.
/// - The next page has a different origin from the first page. The request may contain credentials, which another
///   origin must not receive. However, a change from `http` to `https` is allowed for the same host and the default
///   ports.
/// - The next page was already received. The loop would otherwise not end.
public struct Pages<Page: Decodable & Sendable>: AsyncSequence, Sendable {
    /// A closure that receives a page and its response, and returns the URL of the next page, or `nil` at the end.
    public typealias Next = @Sendable (_ page: Page, _ response: HTTPResponse) throws -> URL?

    typealias Fetch = @Sendable (_ url: URL?) async -> SerializedResponse<DataRequest, Page, RequestError>

    fileprivate let next: Next
    fileprivate let fetch: Fetch

    /// The same pages with their responses, such as `response.headers["X-Total-Count"]`.
    ///
    /// The value of each response is a page. An error ends the loop, as in a loop over the pages.
    public var responses: Responses { Responses(pages: self) }

    /// A sequence of the responses with the pages.
    public struct Responses: AsyncSequence, Sendable {
        fileprivate let pages: Pages

        /// Creates an iterator that begins with the first page.
        ///
        /// - Returns: The iterator.
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pages: pages.makeAsyncIterator()) }

        /// Requests the pages one after the other.
        public struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate var pages: Pages.AsyncIterator

            /// Requests the next page; see ``Pages/AsyncIterator/next(isolation:)``.
            ///
            /// - Parameter actor: The actor of the caller.
            /// - Returns: The response with the page; `nil` after the last page.
            /// - Throws: The same errors as a loop over the pages.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(RequestError) -> DataResponse<Page, RequestError>? {
                try await pages.nextResponse(isolation: actor)?.response
            }
        }
    }

    /// Creates an iterator that begins with the first page.
    ///
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pages: self) }

    /// Requests the pages one after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private enum State {
            /// The page with the URL is next; `nil` stands for the first page.
            case waiting(URL?)
            /// The next page must not be requested.
            case refused(RequestError)
            case ended
        }

        fileprivate let pages: Pages
        private var state = State.waiting(nil)
        private var origin: Origin?
        private var received: Set<URL> = []

        fileprivate init(pages: Pages) { self.pages = pages }

        /// Requests the next page.
        ///
        /// - Parameter actor: The actor of the caller.
        /// - Returns: The page; `nil` after the last page.
        /// - Throws: The error of the request, the error of the ``Pages/Next`` closure, or `.invalidURL` if the URL of
        ///   the page is refused.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(RequestError) -> Page? {
            try await nextResponse(isolation: actor)?.page
        }

        fileprivate mutating func nextResponse(
            isolation actor: isolated (any Actor)?
        ) async throws(RequestError) -> (response: DataResponse<Page, RequestError>, page: Page)? {
            let last = state
            state = .ended
            switch last {
            case .ended: return nil
            case .refused(let error): throw error
            case .waiting(let url):
                let answer = await pages.fetch(url)
                let page = try answer.result.get()
                if let response = answer.response { advance(from: page, response) }
                return (answer, page)
            }
        }

        /// Determines the page after a page.
        private mutating func advance(from page: Page, _ response: HTTPResponse) {
            let first = (response.history.first ?? response).url
            received.formUnion([first, response.url])
            let origin = origin ?? Origin(of: first)
            self.origin = origin
            do {
                guard let target = try pages.next(page, response) else { return }
                let url = target.scheme == nil ? URL(string: target.relativeString, relativeTo: response.url) : target
                guard let url = url?.absoluteURL else {
                    throw RequestError.invalidURL(target.redactedDescription, detail: "the next page has no valid URL")
                }
                guard origin.isSame(or: Origin(of: url)) else {
                    throw RequestError.invalidURL(url.redactedDescription, detail: "the next page has another origin")
                }
                guard received.insert(url).inserted else {
                    throw RequestError.invalidURL(url.redactedDescription, detail: "the next page was already received")
                }
                state = .waiting(first.userInfoAdded(to: url))
            } catch {
                state = .refused(
                    error as? RequestError ?? RequestError(.invalidRequest(.conversion), underlying: error))
            }
        }
    }
}

extension Origin {
    /// Whether another origin is the same, or has the same host with TLS, both with their default ports.
    fileprivate func isSame(or other: Origin) -> Bool {
        self == other || isInsecure && !other.isInsecure && host == other.host && port == 80 && other.port == 443
    }
}
