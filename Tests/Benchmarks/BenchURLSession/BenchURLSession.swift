import BenchSupport
import Foundation
import FoundationNetworking

/// Measures `URLSession`, without a cache and cookies, with as many connections as requests in flight.
@main
struct BenchURLSession {
    static func main() async {
        do {
            let client = try BenchClient()
            let configuration = URLSessionConfiguration.ephemeral
            configuration.urlCache = nil
            configuration.httpCookieStorage = nil
            configuration.httpMaximumConnectionsPerHost = client.usesHTTP2 ? 1 : client.concurrency
            guard client.workload == .requests else { return try await BodyWorkloads(client, configuration).run() }
            let session = URLSession(configuration: configuration)
            let decoder = JSONDecoder()
            try await client.run { url in
                let (body, response) = try await session.data(from: url)
                if client.decodesJSON, try decoder.decode(Person.self, from: body) != .ada {
                    throw BenchFailure("the object was decoded wrongly")
                }
                return .init(status: (response as? HTTPURLResponse)?.statusCode, length: body.count)
            }
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }
}
