import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

/// A server's response: the head, the whole body, and the metrics.
struct WireResponse: Sendable {
    let head: HTTPResponse
    let body: Data
    let metrics: TransferMetrics

    var status: Int { head.statusCode }
    var text: String { String(decoding: body, as: UTF8.self) }

    func json() throws -> JSONValue { try JSONValue(parsing: body) }

    /// The request's field as httpbin echoes it.
    func echoedField(_ name: String) throws -> String? { try json()["headers"]?[name]?.string }

    /// The body of the request as httpbin echoes it: text, or a `data:` URL when it was not text.
    func echoedBody() throws -> Data {
        let text = try #require(try json()["data"]?.string)
        let prefix = "data:application/octet-stream;base64,"
        guard text.hasPrefix(prefix) else { return Data(text.utf8) }
        return try #require(Data(base64Encoded: String(text.dropFirst(prefix.count))))
    }
}

extension Session {
    /// The session of most conformance tests, which share its connections.
    static let conformance = {
        var configuration = Session.Configuration.conformance
        // Cookies know no ports: one test's server would see what another's has set.
        configuration.cookies.policy = .never
        return Session(configuration: configuration)
    }()
}

extension Session.Configuration {
    /// The default, and trust in the authority of the test servers.
    static var conformance: Session.Configuration {
        var configuration = Session.Configuration()
        configuration.tls.caFile = try? TestCertificates().authority
        configuration.proxy = .none
        return configuration
    }
}

extension TestServers {
    /// httpbin over HTTP/1.1 and over HTTP/2.
    static let httpbins: [TestServers] = [.httpbin, .httpbinHTTP2]

    /// The version of HTTP that a session uses with the server by default.
    var spokenVersion: HTTPVersion {
        switch self {
        case .httpbin, .nginx: .http1_1
        default: .http2
        }
    }

    /// Sends a request to the server and returns its response with any status and any body.
    ///
    /// Checks the conditions that every exchange fulfills.
    func answer(
        _ path: String, method: HTTPMethod = .get, headers: HTTPHeaders = [:], body: Data? = nil,
        in session: Session = .conformance, at location: SourceLocation = #_sourceLocation
    ) async throws -> WireResponse {
        let request = HTTPRequest(
            url: try url(path), method: method, headers: headers, body: body.map { .data($0) })
        return try await answer(session.request(request), at: location)
    }

    /// Awaits a request to the server and returns its answer, whatever the status and however long the body.
    func answer(_ request: DataRequest, at location: SourceLocation = #_sourceLocation) async throws -> WireResponse {
        let answer = try await WireResponse(of: request, at: location)
        #expect(answer.head.httpVersion == spokenVersion, sourceLocation: location)
        return answer
    }
}

extension WireResponse {
    /// Awaits a request and checks the conditions that every exchange with a test server fulfills.
    init(of request: DataRequest, at location: SourceLocation = #_sourceLocation) async throws {
        let response = await request.serializingData(emptyResponseCodes: Set(100..<600)).response
        if let error = response.error { throw error }
        head = try #require(response.response, sourceLocation: location)
        body = try #require(response.data, sourceLocation: location)
        metrics = try #require(response.metrics, sourceLocation: location)
        #expect(head.url == request.request?.url, sourceLocation: location)
        #expect(metrics.httpVersion == head.httpVersion, sourceLocation: location)
        #expect(request.isFinished && request.error == nil && request.retryCount == 0, sourceLocation: location)
        if request.request?.method != .head, let length = head.expectedContentLength, head.statusCode != 304 {
            #expect(length == body.count, sourceLocation: location)
        }
    }
}

/// Expects two bodies to be equal, and reports their first difference.
///
/// `#expect` would compute the shortest edit between the bodies, which takes minutes.
func expectSame(_ body: Data, _ expected: Data, at location: SourceLocation = #_sourceLocation) {
    guard body != expected else { return }
    let offset = zip(body, expected).enumerated().first { $0.element.0 != $0.element.1 }?.offset
    let place = offset.map { "they differ at \($0)" } ?? "one is the beginning of the other"
    Issue.record("\(body.count) bytes came instead of \(expected.count), and \(place)", sourceLocation: location)
}
