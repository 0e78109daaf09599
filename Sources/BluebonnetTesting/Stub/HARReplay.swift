public import Bluebonnet
public import FoundationEssentials

extension StubTransport {
    /// The rule that selects the recorded response to a request.
    public enum Matching: Hashable, Sendable {
        /// The method, the URL with its query, and the body must be equal.
        ///
        /// Each recorded exchange is replayed once. Equal requests receive their responses in the recorded order.
        /// Different requests can be sent in any order. JSON bodies are compared by their values. If the value of a
        /// query parameter was not recorded because it is secret, any value matches. If the content of a body was not
        /// recorded or is not in memory, only the presence of a body is compared.
        case strict
        /// The method and the path of the URL must be equal; the host, the query and the body are ignored.
        ///
        /// Requests with the same method and path receive their responses in the recorded order. The last response is
        /// repeated.
        case lenient
    }

    /// Creates a transport that replays an HTTP archive (HAR), for example of a `HARRecorder` or a browser.
    ///
    /// Nothing is sent. A stub for a method and a path takes precedence over the recording. If a request was not
    /// recorded, it fails with a `RequestError` of the kind `.connection(.refused)`, whose details name the nearest
    /// recorded request.
    ///
    /// A response has the recorded status, fields and body. The recorded body is already decoded, so it is delivered
    /// unchanged. All recorded fields are kept, even `Content-Encoding`. There is one exception: a `Content-Length`
    /// without a `Content-Encoding` becomes the length of the recorded body, which may be shortened or redacted. If the
    /// recorded exchange failed, the replayed exchange fails with `.connection(.lost)`. Recorded times are ignored.
    ///
    /// The cookies of the responses are available from the session, if the recording includes secrets.
    ///
    /// - Parameters:
    ///   - har: The archive as JSON.
    ///   - matching: The rule that selects the recorded response; ``Matching/strict`` by default.
    /// - Throws: A `RequestError` that names the mistake if the data is not an archive.
    public convenience init(har: Data, matching: Matching = .strict) throws(RequestError) {
        self.init(replaying: try HARReplay(har, matching: matching))
    }

    /// Creates a transport that replays the HTTP archive in a file; see ``init(har:matching:)-(Data,_)``.
    ///
    /// The initializer reads the file on the calling thread.
    ///
    /// - Parameters:
    ///   - har: The URL of the file.
    ///   - matching: The rule that selects the recorded response; ``Matching/strict`` by default.
    /// - Throws: A `RequestError` if the file cannot be read or is not an archive.
    public convenience init(har: URL, matching: Matching = .strict) throws(RequestError) {
        guard let data = try? Data(contentsOf: har) else {
            throw RequestError(.invalidRequest(.configuration("the recording \(har.path()) cannot be read")))
        }
        try self.init(har: data, matching: matching)
    }
}

/// Finds the recorded response for a request; a value type without I/O.
struct HARReplay: Sendable {
    private var entries: [HAREntry] = []
    private let matching: StubTransport.Matching

    init(_ data: Data, matching: StubTransport.Matching) throws(RequestError) {
        self.matching = matching
        let archive: JSONValue
        do throws(JSONParsingError) { archive = try JSONValue(parsing: data) } catch { throw malformed("\(error)") }
        guard let list = archive["log"]?["entries"]?.array else { throw malformed("log.entries is not an array") }
        for (index, entry) in list.enumerated() { entries.append(try HAREntry(entry, at: index)) }
    }

    /// Returns the next response for a request, or the error that names the nearest recorded request.
    mutating func answer(to request: HTTPRequest) -> Result<StubTransport.Response, RequestError> {
        let url = HARURL(request.url.absoluteString)
        let matches = entries.indices.filter { index in
            switch matching {
            case .strict: entries[index].differences(from: request, url).isEmpty
            case .lenient: entries[index].method == request.method.rawValue && entries[index].url.path == url.path
            }
        }
        guard let index = matches.first(where: { !entries[$0].isUsed }) ?? (matching == .lenient ? matches.last : nil)
        else {
            let detail = matches.isEmpty ? nearest(to: request, url) : "all recorded responses were already replayed"
            return .failure(RequestError(.connection(.refused), detail: detail))
        }
        entries[index].isUsed = true
        return .success(entries[index].response)
    }

    private func nearest(to request: HTTPRequest, _ url: HARURL) -> String {
        let candidates = entries.map { entry in
            let differences = entry.differences(from: request, url)
            // A request with the same URL is nearer than a request with the same method and body.
            let distance = differences.count + (differences.contains("URL") ? 4 : 0)
            return (distance, -entry.url.commonPrefix(with: url), entry, differences)
        }
        guard let (_, _, entry, differences) = candidates.min(by: { ($0.0, $0.1) < ($1.0, $1.1) }) else {
            return "the recording is empty"
        }
        let words = differences.map { "another \($0)" }.joined(separator: " and ")
        return "not recorded; the nearest is \(entry.method) \(redactedURL(entry.url.text)), with \(words)"
    }
}

/// A recorded exchange.
private struct HAREntry: Sendable {
    let method: String
    let url: HARURL
    private let postData: JSONValue?
    let response: StubTransport.Response
    var isUsed = false

    init(_ entry: JSONValue, at index: Int) throws(RequestError) {
        let request = entry["request"]
        guard let method = request?["method"]?.string, let url = request?["url"]?.string,
            let response = StubTransport.Response(recorded: entry["response"] ?? .null, isHead: method == "HEAD")
        else { throw malformed("log.entries[\(index)] has an invalid method, url, status, field or content") }
        (self.method, self.url, self.response, postData) = (method, HARURL(url), response, request?["postData"])
    }

    /// Returns the names of the parts that are not equal.
    func differences(from request: HTTPRequest, _ requested: HARURL) -> [String] {
        [
            request.method.rawValue == method ? nil : "method", requested.address == url.address ? nil : "URL",
            url.hasSameQuery(as: requested) ? nil : "query", hasSameBody(as: request) ? nil : "body",
        ].compactMap(\.self)
    }

    private func hasSameBody(as request: HTTPRequest) -> Bool {
        guard let postData, !postData.isNull else { return request.body?.data?.isEmpty ?? (request.body == nil) }
        guard let text = postData["text"]?.string, let body = request.body?.data else { return request.body != nil }
        // It is not known whether the recording includes secrets.
        return [true, false].contains { includesSecrets in
            let sent = HARText(includesSecrets: includesSecrets).body(body, type: postData["mimeType"]?.string)
            if let json = try? JSONValue(parsing: text), json == (try? JSONValue(parsing: sent.text)) { return true }
            return sent.text == text && sent.encoding == postData["_encoding"]?.string
        }
    }
}

/// The parts of a URL that are compared.
private struct HARURL: Sendable {
    let text: String
    /// The URL without user info, secret parameters and query.
    let address: String
    private let query: [URLQueryItem]

    init(_ text: String) {
        self.text = text
        let sent = text.prefix { $0 != "#" }
        address = HARText(includesSecrets: false).url(String(sent.prefix { $0 != "?" }))
        query = URLComponents(string: String(sent))?.queryItems ?? []
    }

    var path: String { RequestTarget(address).path }

    func commonPrefix(with other: Self) -> Int { zip(address.utf8, other.address.utf8).prefix { $0 == $1 }.count }

    /// Returns whether the queries are equal; a redacted value equals any value.
    func hasSameQuery(as other: Self) -> Bool {
        query.elementsEqual(other.query) { left, right in
            left.name == right.name
                && (left.value == right.value || [left.value, right.value].contains(HARText.placeholder))
        }
    }
}

extension StubTransport.Response {
    /// Creates a recorded response or failure; `nil` if its status, a field or the body is invalid.
    fileprivate init?(recorded: JSONValue, isHead: Bool) {
        guard let status = recorded["status"]?.int, status == 0 || 100...999 ~= status else { return nil }
        let error = recorded["_error"]?.string
        guard status != 0, error == nil else {
            self = .failure(RequestError(.connection(.lost), detail: "recorded: \(error ?? "no response")"))
            return
        }
        let (content, encoding) = (recorded["content"]?["text"]?.string ?? "", recorded["content"]?["encoding"]?.string)
        guard let body = encoding == "base64" ? Data(base64Encoded: content) : Data(content.utf8),
            let fields = recorded["headers"]?.array
        else { return nil }
        var headers = HTTPHeaders()
        for field in fields {
            guard let name = field["name"]?.string, let value = field["value"]?.string else { return nil }
            // Browsers also record the pseudo-fields of HTTP/2, and several fields of a name as the lines of one value.
            for line in value.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            where !name.hasPrefix(":") { headers.append(name: name, value: String(line)) }
        }
        guard (try? headers.validate()) != nil else { return nil }
        if !isHead, status != 304, headers.contains("Content-Length"), !headers.contains("Content-Encoding") {
            headers.update(name: "Content-Length", value: "\(body.count)")
        }
        // Some programs write HTTP/2 as `h2` or `HTTP/2.0`.
        let text = recorded["httpVersion"]?.string ?? ""
        let version: HTTPVersion =
            text.contains("3") ? .http3 : text.contains("2") ? .http2 : text.hasSuffix("1.0") ? .http1_0 : .http1_1
        self = .response(status: status, headers: headers, body: body, httpVersion: version)
    }
}

private func malformed(_ reason: String) -> RequestError {
    RequestError(.invalidRequest(.configuration("the recording is not a HAR: \(reason)")))
}
