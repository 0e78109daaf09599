import Bluebonnet
import BluebonnetFoundation
import Foundation
import FoundationNetworking
import Testing

struct URLRequestTests {
    @Test func `a URLRequest is a request`() throws {
        var request = URLRequest(url: try #require(URL(string: "http://example.com/a")))
        request.httpMethod = "PUT"
        let converted = try request.asHTTPRequest()
        #expect(converted.method == .put)
    }
}
