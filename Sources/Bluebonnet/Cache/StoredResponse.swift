import FoundationEssentials

/// A response in a cache, with its freshness and its ``selector``.
final class StoredResponse: Sendable {
    let response: HTTPResponse
    let body: StoredBody
    /// The file that contains the response, if there is one.
    let file = LazyReference<StoredFile>()
    /// The time of the last request whose response created or freshened this response.
    let requestTime: Date
    /// The time at which the response was complete.
    let responseTime: Date
    /// The request fields that select the response; ``selector`` identifies their values.
    let varyFields: VaryFields
    let selector: Data
    let storagePolicy: CachedResponse.StoragePolicy
    let control: CacheControl
    let freshness: Freshness

    /// Creates a stored response; `nil` if no request can match it.
    init?(
        _ response: HTTPResponse, body: StoredBody, selector: Data, requestTime: Date, responseTime: Date,
        storagePolicy: CachedResponse.StoragePolicy = .memoryAndDisk
    ) {
        control = CacheControl(response.headers.value(for: "Cache-Control"))
        guard let varyFields = VaryFields(response.headers, control) else { return nil }
        self.response = response
        self.body = body
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.varyFields = varyFields
        self.selector = selector
        self.storagePolicy = storagePolicy
        freshness = Freshness(
            statusCode: response.statusCode, headers: response.headers, control: control, requestTime: requestTime,
            responseTime: responseTime)
    }

    /// Creates a stored response from the response to a request.
    ///
    /// An incomplete response becomes a part of its representation.
    convenience init?(
        _ response: HTTPResponse, body: StoredBody, to request: CacheRequest, requestTime: Date, responseTime: Date,
        storagePolicy: CachedResponse.StoragePolicy = .memoryAndDisk, isComplete: Bool = true
    ) {
        guard
            let response = response.stored(count: body.count, for: request, at: responseTime, isComplete: isComplete),
            let varyFields = VaryFields(
                response.headers, CacheControl(response.headers.value(for: "Cache-Control")))
        else { return nil }
        self.init(
            response, body: body, selector: request.selector(for: varyFields), requestTime: requestTime,
            responseTime: responseTime, storagePolicy: storagePolicy)
    }

    /// Whether a request has the same values in the fields that select the response (RFC 9111 §4.1).
    func matches(_ request: CacheRequest) -> Bool {
        request.selects(by: varyFields) && request.selector(for: varyFields) == selector
            && request.hasUsualCodings(response.headers)
    }

    var entityTag: String? { response.headers.values(for: "ETag").first }
    var lastModified: String? { response.headers.values(for: "Last-Modified").first }

    /// The time that is compared to find the newest of several responses.
    var date: Date {
        response.headers.values(for: "Date").first.flatMap { HTTPDate.parse($0, now: responseTime) } ?? responseTime
    }

    /// Whether another stored response is more current, because its request began while this response was in transit.
    ///
    /// A request in the future means that the clock was set back. A part does not replace a whole body.
    func isOutdated(byRequestAt time: Date, isForPart: Bool) -> Bool {
        requestTime < time && time <= responseTime && (isPart || !isForPart)
    }

    /// The number of bytes that the response occupies in memory, approximately.
    var cost: Int {
        body.count + response.headers.reduce(into: 512) { $0 += $1.name.utf8.count + $1.value.utf8.count + 64 }
    }
}

extension HTTPResponse {
    /// Returns this response with other fields.
    func with(_ headers: HTTPHeaders) -> HTTPResponse {
        HTTPResponse(url: url, head: head.with(headers))
    }
}
