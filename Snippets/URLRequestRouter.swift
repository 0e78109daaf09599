// Uses code that was written for URLRequest: an enum with the routes of an API,
// and Foundation streams.

import Bluebonnet
import BluebonnetFoundation
import BluebonnetTesting
import Foundation
import FoundationNetworking

// snippet.router
/// The routes of an API for notes.
enum Route: URLRequestConvertible {
    case list(tag: String)
    case create(Parameters)
    case update(id: Int, text: String)
    case remove(id: Int)

    /// The base URL of the API.
    static let base = URL(string: "http://notes.example")

    var method: HTTPMethod {
        switch self {
        case .list: .get
        case .create: .post
        case .update: .put
        case .remove: .delete
        }
    }

    var path: String {
        switch self {
        case .list, .create: "/notes"
        case .update(let id, _), .remove(let id): "/notes/\(id)"
        }
    }

    func asURLRequest() throws -> URLRequest {
        guard let url = Self.base?.appendingPathComponent(path) else {
            throw URLError(.badURL)
        }
        var request = URLRequest(url: url)
        request.method = method
        request.timeoutInterval = 10
        switch self {
        case .list(let tag):
            return try URLEncoding.default.encode(request, with: ["tag": tag])
        case .create(let parameters):
            return try JSONEncoding.default.encode(request, with: parameters)
        case .update(_, let text):
            return try JSONParameterEncoder.default.encode(
                ["text": text], into: request)
        case .remove: return request
        }
    }
}
// snippet.end

enum URLRequestRouter {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.fallback { request in
                .text("\(request.method) \(request.target) \(request.text)")
            }
        }
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.dns.connectTo = [
            "notes.example:80": "127.0.0.1:\(server.port)"
        ]
        let session = Session(configuration: configuration)

        let parameters: Parameters = [
            "text": "Buy tea", "tags": ["home", "urgent"],
        ]
        let routes: [Route] = [
            .list(tag: "home"), .create(parameters),
            .update(id: 1, text: "Bought"),
            .remove(id: 1),
        ]
        for route in routes {
            // snippet.request
            let text = try await session.request(route)
                .validate().serializingString().value
            // snippet.end
            print(text)
        }

        // snippet.response
        let response = await session.request(Route.list(tag: "home"))
            .serializingData().response
        let urlResponse: HTTPURLResponse? = response.urlResponse
        // snippet.end
        print(urlResponse?.statusCode ?? 0)
        try await streams(session)
        await session.shutdown()
    }

    static func streams(_ session: Session) async throws {
        // snippet.streams
        let stream = InputStream(data: Data("from a stream".utf8))
        let text = try await session.upload(
            stream, to: "http://notes.example/file"
        )
        .serializingString().value
        // snippet.end
        print(text)
    }
}

try await URLRequestRouter.run()
