import BluebonnetCompatibility
import Foundation
import FoundationNetworking
import Testing

/// Advanced usage: making requests of custom types; with data of our own.
@Suite(.timeLimit(.minutes(10))) struct RoutingExamples {
    @Test func `Texts, URLs and components`() async throws {
        let urlString = try Examples.url("/get")
        let first = await Examples.answer { done in AF.request(urlString).response { done($0) } }

        let url = try #require(URL(string: urlString))
        let second = await Examples.answer { done in AF.request(url).response { done($0) } }

        let urlComponents = try #require(URLComponents(url: url, resolvingAgainstBaseURL: true))
        let third = await Examples.answer { done in AF.request(urlComponents).response { done($0) } }
        #expect([first, second, third].allSatisfy { $0.response?.statusCode == 200 })
    }

    @Test func `A URLRequest`() async throws {
        let url = try #require(URL(string: Examples.url("/post")))
        var urlRequest = URLRequest(url: url)
        urlRequest.method = .post

        let parameters = ["bed": "peonies"]

        do {
            urlRequest.httpBody = try JSONEncoder().encode(parameters)
        } catch {
            Issue.record(error)
        }

        urlRequest.headers.add(.contentType("application/json"))

        let response = await Examples.answer { [urlRequest] done in
            AF.request(urlRequest).responseDecodable(of: Examples.Echo.self) { done($0) }
        }
        #expect(response.value?.json == ["bed": "peonies"])
    }

    private enum Beds: URLRequestConvertible {
        case look, plant

        var baseURL: URL {
            get throws { try Examples.url("").asURL() }
        }

        var method: HTTPMethod {
            switch self {
            case .look: return .get
            case .plant: return .post
            }
        }

        var path: String {
            switch self {
            case .look: return "get"
            case .plant: return "post"
            }
        }

        func asURLRequest() throws -> URLRequest {
            let url = try baseURL.appendingPathComponent(path)
            var request = URLRequest(url: url)
            request.method = method

            return request
        }
    }

    private enum Flowers: URLRequestConvertible {
        case look([String: String]), plant([String: String])

        func asURLRequest() throws -> URLRequest {
            let baseURL = try Examples.url("").asURL()
            switch self {
            case .look(let parameters):
                let request = URLRequest(url: baseURL.appendingPathComponent("get"))
                return try URLEncodedFormParameterEncoder().encode(parameters, into: request)
            case .plant(let parameters):
                var request = URLRequest(url: baseURL.appendingPathComponent("post"))
                request.method = .post
                return try JSONParameterEncoder().encode(parameters, into: request)
            }
        }
    }

    @Test func `Routers`() async throws {
        let look = await Examples.answer { done in AF.request(Beds.look).response { done($0) } }
        let plant = await Examples.answer { done in AF.request(Beds.plant).response { done($0) } }
        #expect(look.request?.method == .get && plant.request?.method == .post)
        #expect(look.error == nil && plant.response?.statusCode == 200)

        let tulips = await Examples.answer { done in
            AF.request(Flowers.look(["kind": "tulip"])).responseDecodable(of: Examples.Echo.self) { done($0) }
        }
        let lilies = await Examples.answer { done in
            AF.request(Flowers.plant(["kind": "lily"])).responseDecodable(of: Examples.Echo.self) { done($0) }
        }
        #expect(tulips.value?.args == ["kind": "tulip"] && lilies.value?.json == ["kind": "lily"])
    }
}
