import FoundationEssentials

/// The parts of an exchange for its entry in an HTTP archive; a value without objects of the user.
struct RecordedExchange: Sendable {
    private let started = Date()
    /// The request without its tags, and without a body that is not in memory or too long.
    private let request: HTTPRequest
    /// The length of the request's body; `nil` if it is unknown.
    private let sentLength: Int64?
    var response: HTTPResponse?
    /// The beginning of the response body.
    private var body = Data()
    private var bodyLength = 0
    private let bodyLimit: Int
    private var metrics = TransferMetrics()
    /// The kind of failure, without the underlying error, which may be an object of the user.
    private var failure: RequestError.Kind?

    init(_ request: HTTPRequest, headers: HTTPHeaders, bodyLimit: Int) {
        let body = request.body?.data.flatMap { $0.count <= bodyLimit ? RequestBody.data($0) : nil }
        self.request = HTTPRequest(url: request.url, method: request.method, headers: headers, body: body)
        sentLength = request.body.map(\.length) ?? 0
        self.bodyLimit = bodyLimit
    }

    /// Whether there is something to replay.
    var hasAnswer: Bool { response != nil || failure != nil }

    mutating func received(_ bytes: Data) {
        bodyLength += bytes.count
        body.append(bytes.prefix(bodyLimit - body.count))
    }

    mutating func ended(_ outcome: ExchangeOutcome) {
        received(outcome.body)
        response = outcome.response ?? response
        failure = outcome.error?.kind
        metrics.total = .seconds(max(0, Date().timeIntervalSince(started)))
        metrics = outcome.metrics ?? metrics
    }
}

/// The entry in the format HAR 1.2.
///
/// Members with an underscore are our own, as the specification demands. Unknown sizes and durations are -1.
extension RecordedExchange {
    func entry(_ text: HARText) -> JSONValue {
        let phases = metrics.harPhases
        // `ssl` is part of `connect`.
        let time = phases.reduce(0) { $1.key == "ssl" ? $0 : $0 + max(0, $1.value) }
        return object([
            "startedDateTime": string(started.harText), "time": .double(time), "cache": [:],
            "timings": .object(phases.mapValues { .double($0) }), "request": request(text), "response": response(text),
            "serverIPAddress": string(metrics.remoteAddress?.host),
            "connection": string(metrics.localAddress.map { "\($0.port)" }),
        ])
    }

    private func request(_ text: HARText) -> JSONValue {
        let url = text.url(request.url.absoluteString)
        let cookies = request.headers.values(for: "Cookie").flatMap { $0.split(separator: ";") }.map { pair in
            // A cookie without a name is only a value.
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(\.trimmed)
            let (name, value) = parts.count > 1 ? (parts[0], parts[1]) : ("", parts[0])
            return object(["name": string("\(name)"), "value": text.secret("\(value)")])
        }
        return object([
            "method": string(request.method.rawValue), "url": string(url), "headersSize": -1,
            "httpVersion": string((metrics.httpVersion ?? response?.httpVersion)?.text ?? ""),
            "cookies": .array(cookies), "headers": text.fields(request.headers),
            "queryString": .array((URLComponents(string: url)?.queryItems ?? []).map { text.pair($0.name, $0.value) }),
            "bodySize": .integer(sentLength ?? -1), "postData": sentLength == 0 ? nil : postData(text),
        ])
    }

    private func postData(_ text: HARText) -> JSONValue {
        let type = request.headers["Content-Type"] ?? ""
        let data = request.body?.data
        let isHidden = data.map { text.isHidden($0, headers: request.headers, isDecoded: false) } ?? false
        let body = isHidden ? nil : data.map { text.body($0, type: type) }
        return object([
            "mimeType": string(type), "text": string(body?.text), "_encoding": string(body?.encoding),
            "comment": body == nil ? "The body was not recorded." : nil,
        ])
    }

    private func response(_ text: HARText) -> JSONValue {
        let headers = response?.headers ?? [:]
        let location = headers.first { $0.name.isSameIgnoringCase(as: "Location") }
        // For a replay, a response whose rest was not needed is like any other.
        let wasEnded = failure == .cancelled && response != nil
        return object([
            "status": .integer(Int64(response?.statusCode ?? 0)), "statusText": string(response?.reasonPhrase ?? ""),
            "httpVersion": string(response?.httpVersion.text ?? ""), "headers": text.fields(headers),
            "cookies": .array(headers.values(for: "Set-Cookie").compactMap { cookie($0, text) }),
            "redirectURL": string(location.map { text.value(of: $0) } ?? ""), "headersSize": -1,
            "bodySize": .integer(bodyLength == 0 ? 0 : response?.head.statedLength ?? -1),
            "content": content(headers, text),
            "comment": wasEnded ? "The client ended the exchange early." : nil,
            "_error": wasEnded ? nil : string(failure?.text),
        ])
    }

    private func cookie(_ field: String, _ text: HARText) -> JSONValue? {
        guard let cookie = CookieTarget(request.url).flatMap({ Cookie(parsing: field, for: $0) }) else { return nil }
        return object([
            "name": string(cookie.name), "value": text.secret(cookie.value), "domain": string(cookie.domain),
            "path": string(cookie.path), "expires": string(cookie.expires?.harText),
            "secure": .bool(cookie.isSecure), "httpOnly": .bool(cookie.isHTTPOnly),
        ])
    }

    private func content(_ headers: HTTPHeaders, _ text: HARText) -> JSONValue {
        let (type, isCut) = (headers["Content-Type"], body.count < bodyLength)
        let isHidden = text.isHidden(body, headers: headers, isDecoded: response?.keepsCoding == false)
        let recorded = isHidden ? (text: "", encoding: nil) : text.body(body, type: type, isCut: isCut)
        let cut = isCut ? "Cut after \(body.count) of \(bodyLength) bytes." : nil
        return object([
            "size": .integer(Int64(bodyLength)), "mimeType": string(type ?? "x-unknown"),
            "text": string(recorded.text), "encoding": string(recorded.encoding),
            "comment": string(isHidden ? "The body was not recorded." : cut),
        ])
    }
}

extension TransferMetrics {
    /// The phases of the exchange in milliseconds, under their names in an HTTP archive.
    ///
    /// The time for sending is part of `wait`, because it is not measured.
    var harPhases: [String: Double] {
        let ready = tlsHandshake ?? connect ?? nameLookup ?? .zero
        let sent = max(requestStart ?? ready, ready)
        let first = max(firstByte ?? total, sent)
        let durations = [
            "blocked": (queue ?? .zero) + sent - ready, "dns": nameLookup,
            "connect": (tlsHandshake ?? connect).map { $0 - (nameLookup ?? .zero) },
            "ssl": tlsHandshake.map { $0 - (connect ?? .zero) },
            "send": .zero, "wait": first - sent, "receive": total - first,
        ]
        return durations.mapValues { $0.map { Double(max(0, $0.nanoseconds / 1000)) / 1000 } ?? -1 }
    }
}

extension Date {
    fileprivate var harText: String { formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }
}

/// Returns an object without the members that are `nil` or `null`.
private func object(_ members: [String: JSONValue?]) -> JSONValue {
    .object(members.compactMapValues(\.self).filter { !$0.value.isNull })
}

private func string(_ text: String?) -> JSONValue? { text.map { .string($0) } }
