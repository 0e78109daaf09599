import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Times and messages for the tables.
///
/// The response was requested, created and received at `begin`.
enum CacheFixtures {
    static let begin = Date(timeIntervalSince1970: 1_800_000_000)

    static func date(_ seconds: Double) -> String { HTTPDate.format(begin.addingTimeInterval(seconds)) }

    static func request(
        _ headers: HTTPHeaders = [:], method: HTTPMethod = .get, url: String = "http://a.test/x",
        policy: HTTPRequest.CachePolicy? = nil, settings: CacheSettings = .init(),
        change: (inout HTTPRequest) -> Void = { _ in }
    ) throws -> CacheRequest {
        var request = HTTPRequest(url: try #require(URL(string: url)), method: method, headers: headers)
        request.cachePolicy = policy
        change(&request)
        return CacheRequest(request, settings: settings)
    }

    /// A stored response; its `Date` is `begin` unless the fields contain a `Date`.
    static func stored(
        _ headers: HTTPHeaders, status: Int = 200, body: String = "stored", for request: CacheRequest? = nil,
        at time: Double = 0
    ) throws -> StoredResponse {
        let time = begin.addingTimeInterval(time)
        let head = try response(headers, status: status, date: time)
        return try #require(
            StoredResponse(
                head, body: .memory(Data(body.utf8)), to: try request ?? self.request(), requestTime: time,
                responseTime: time))
    }

    static func response(_ headers: HTTPHeaders, status: Int = 200, date: Date = begin) throws -> HTTPResponse {
        var headers = headers
        if !headers.contains("Date") { headers.append(name: "Date", value: HTTPDate.format(date)) }
        return HTTPResponse(url: try #require(URL(string: "http://a.test/x")), statusCode: status, headers: headers)
    }
}
