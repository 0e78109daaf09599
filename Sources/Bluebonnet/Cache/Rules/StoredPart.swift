import FoundationEssentials

/// A single range of bytes that a request asks for (RFC 9110 §14.1.2).
enum ByteRange: Equatable, Sendable {
    /// The bytes from a position, up to and including the last position; to the end if there is none.
    case from(Int64, last: Int64?)
    /// The last bytes.
    case suffix(Int64)

    /// Parses a `Range` field; returns `nil` for several ranges, another unit, or invalid text.
    init?(_ text: String) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].trimmed.lowercased() == "bytes" else { return nil }
        let ends = parts[1].split(separator: "-", omittingEmptySubsequences: false).map(\.trimmed)
        guard ends.count == 2 else { return nil }
        let (first, last) = (Int64(digits: ends[0]), Int64(digits: ends[1]))
        switch (first, last) {
        case (let first?, let last) where last != nil || ends[1].isEmpty:
            guard first <= last ?? .max else { return nil }
            self = .from(first, last: last)
        case (nil, let count?) where ends[0].isEmpty: self = .suffix(count)
        default: return nil
        }
    }

    /// Returns the positions in a representation of a size; `nil` if the range is not satisfiable.
    func bytes(in total: Int64) -> Range<Int64>? {
        let bytes =
            switch self {
            case .from(let first, let last): min(first, total)..<(last.map { min($0, total - 1) + 1 } ?? total)
            case .suffix(let count): max(0, total - count)..<total
            }
        return bytes.isEmpty ? nil : bytes
    }
}

/// The bytes of a representation that a response contains (RFC 9110 §14.4).
struct Extent: Equatable, Sendable {
    let bytes: Range<Int64>
    let total: Int64

    var isWhole: Bool { bytes == 0..<total }

    /// The range that is missing at the end or at the start; `nil` if nothing is missing, or bytes on both sides.
    var missing: String? {
        switch (bytes.lowerBound, bytes.upperBound) {
        case (0, let end) where end < total: "bytes=\(end)-"
        case (let start, total) where start > 0: "bytes=0-\(start - 1)"
        default: nil
        }
    }

    /// Returns the bytes of both parts; `nil` if bytes between them are missing.
    func joined(with other: Extent) -> Extent? {
        guard total == other.total, bytes.lowerBound <= other.bytes.upperBound,
            other.bytes.lowerBound <= bytes.upperBound
        else { return nil }
        let start = min(bytes.lowerBound, other.bytes.lowerBound)
        return Extent(bytes: start..<max(bytes.upperBound, other.bytes.upperBound), total: total)
    }
}

extension Extent {
    /// Determines the bytes in a 206 response; returns `nil` if its fields contradict its content.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - count: The number of bytes that were received. It is less than stated if the connection was lost.
    init?(_ response: HTTPResponse, count: Int) {
        guard
            case .bytes(let first, let last, let total?)? = response.headers["Content-Range"].flatMap(ContentRange.init)
        else { return nil }
        let (count, stated) = (Int64(count), last - first + 1)
        guard count <= stated, response.head.statedLength ?? stated == stated else { return nil }
        bytes = first..<(first + count)
        self.total = total
    }
}

extension StoredResponse {
    /// Whether the response contains only a part of its representation; its status code is then 206.
    var isPart: Bool { response.statusCode == 206 }

    /// Whether the response to a request for the missing bytes is a part that is sent as the whole.
    func isContradicted(by response: HTTPResponse) -> Bool {
        response.isPartSentAsWhole(of: ResumeValidator(self.response), total: extent.total)
    }

    /// The bytes of the representation that the response contains.
    var extent: Extent {
        let whole = Extent(bytes: 0..<Int64(body.count), total: Int64(body.count))
        return isPart ? Extent(response, count: body.count) ?? whole : whole
    }

    /// Returns the positions of the bytes that answer a request; `nil` if some of them are missing.
    func bytes(for request: CacheRequest) -> Range<Int64>? {
        let extent = extent
        guard let range = request.range(of: self) else { return isPart ? nil : extent.bytes }
        guard request.keepsCoding || response.head.isUncoded, let bytes = range.bytes(in: extent.total),
            extent.bytes.contains(bytes)
        else { return nil }
        return bytes
    }

    /// Returns the head for a request, and the positions of its content in the body; `nil` if bytes are missing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - now: The current time, for the `Age` field (RFC 9111 §5.1); `nil` if the server has just validated the
    ///     response.
    /// - Returns: The head and the positions.
    func answer(to request: CacheRequest, at now: Date?) -> (response: HTTPResponse, bytes: Range<Int>)? {
        guard let bytes = bytes(for: request) else { return nil }
        var headers = response.headers
        if let now {
            headers.update(name: "Age", value: String(Int(min(freshness.age(at: now), Double(CacheControl.anyAge)))))
        }
        let extent = extent
        let isRange = request.range(of: self) != nil
        let head =
            isRange
            ? response.with(headers, Extent(bytes: bytes, total: extent.total), statusCode: 206)
            : now == nil ? response : response.with(headers)
        let start = bytes.lowerBound - extent.bytes.lowerBound
        return (
            HTTPResponse(url: request.url, head: head.head, keepsCoding: request.keepsCoding),
            Int(start)..<Int(start) + bytes.count
        )
    }

    /// Returns the condition for the request of the missing bytes; `nil` if these bytes cannot be joined (§3.4).
    func completion(for request: CacheRequest) -> HTTPHeaders? {
        guard isPart, request.method == .get, let validator = ResumeValidator(response) else { return nil }
        guard request.range == nil else { return [:] }
        return extent.missing.map { ["Range": $0, "If-Range": validator.fieldValue] }
    }

    /// Returns the bytes of this response and of a 206 response; `nil` if they cannot be joined (§3.4).
    func extent(joining response: HTTPResponse, count: Int, to request: CacheRequest) -> Extent? {
        guard response.statusCode == 206, [200, 206].contains(self.response.statusCode),
            request.keepsCoding || (response.head.isUncoded && self.response.head.isUncoded),
            let validator = ResumeValidator(response), validator == ResumeValidator(self.response),
            VaryFields(response.headers, control) != nil, let other = Extent(response, count: count)
        else { return nil }
        return extent.joined(with: other)
    }

    /// Returns this response with the bytes and the fields of a 206 response; `nil` if they cannot be joined (§3.4).
    func joined(
        with response: HTTPResponse, _ body: Data, to request: CacheRequest, requestTime: Date, responseTime: Date
    ) -> StoredResponse? {
        guard let whole = extent(joining: response, count: body.count, to: request),
            let other = Extent(response, count: body.count),
            let fresh = Freshening.freshened(self, by: response, requestTime: requestTime, responseTime: responseTime),
            let stored = try? self.body.all()
        else { return nil }
        let own = extent.bytes
        var bytes = Data(capacity: whole.bytes.count)
        // The new bytes are used where both parts have bytes.
        bytes.append(stored.prefix(max(0, Int(other.bytes.lowerBound - own.lowerBound))))
        bytes.append(body)
        bytes.append(stored.suffix(max(0, Int(own.upperBound - other.bytes.upperBound))))
        return StoredResponse(
            fresh.response.with(fresh.response.headers, whole), body: .memory(bytes), selector: selector,
            requestTime: requestTime, responseTime: responseTime, storagePolicy: storagePolicy)
    }
}

extension HTTPResponse {
    /// Returns the response in the form in which a cache stores it; `nil` if its content cannot be stored (§3.3).
    ///
    /// - Parameters:
    ///   - count: The number of bytes that were received.
    ///   - request: The properties of the request.
    ///   - time: The time at which the response was received.
    ///   - isComplete: Whether the content is complete. Otherwise, the received bytes become a part.
    /// - Returns: The response.
    func stored(count: Int, for request: CacheRequest, at time: Date, isComplete: Bool = true) -> HTTPResponse? {
        let headers = headers.stored(at: time)
        guard isComplete || (count > 0 && ResumeValidator(self) != nil) else { return nil }
        guard statusCode == 206 || !isComplete else { return with(headers) }
        guard request.keepsCoding || head.isUncoded else { return nil }
        if statusCode == 206 {
            return Extent(self, count: count).map { with(headers, $0) }
        }
        guard statusCode == 200, let total = head.statedLength, count < total else { return nil }
        return with(headers, Extent(bytes: 0..<Int64(count), total: total))
    }

    /// Returns a response with a part of the representation, or with all of it.
    fileprivate func with(_ headers: HTTPHeaders, _ extent: Extent, statusCode: Int? = nil) -> HTTPResponse {
        let statusCode = statusCode ?? (extent.isWhole ? 200 : 206)
        var headers = headers
        let range = "bytes \(extent.bytes.lowerBound)-\(extent.bytes.upperBound - 1)/\(extent.total)"
        headers["Content-Range"] = statusCode == 206 ? range : nil
        headers["Content-Length"] = String(extent.bytes.count)
        return HTTPResponse(
            url: url, head: ReceivedHead(statusCode: statusCode, httpVersion: head.httpVersion, headers: headers))
    }
}

extension HTTPHeaders {
    /// Returns the fields that a cache stores, with the `Date` at which they were received if there is none.
    ///
    /// The fields of the connection and of proxies are not stored (RFC 9111 §3.1). `Cache-Control` and `Vary` are never
    /// fields of the connection (RFC 9110 §7.6.1).
    func stored(at time: Date) -> HTTPHeaders {
        let named = values(for: "Connection").flatMap { $0.split(separator: ",") }.map { $0.trimmed.lowercased() }
        let removed = Self.hopByHop.union(named).subtracting(["cache-control", "vary"])
        var fields = HTTPHeaders(filter { !removed.contains($0.name.lowercased()) })
        // RFC 9110 §6.6.1.
        if !fields.contains("Date") { fields.append(name: "Date", value: HTTPDate.format(time)) }
        return fields
    }

    private static let hopByHop: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
        "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
    ]
}
