import BenchSupport
import BluebonnetCallbacks
import Foundation

/// Measures completion handlers.
///
/// Each handler runs on a private queue and creates the next request.
@main
struct BenchCallbacks {
    static func main() async {
        do {
            let client = try BenchClient()
            var configuration = Session.Configuration()
            configuration.tls.caFile = client.authorityFile
            configuration.cookies.policy = .never
            let session = Session(configuration: configuration)
            let queue = DispatchQueue(label: "answers")
            try await client.runHandlers { url, answered in
                session.request(url).responseData(queue: queue) { response in
                    answered(
                        response.result.map { .init(status: response.response?.statusCode, length: $0.count) }
                            .mapError { $0 })
                }
            }
        } catch {
            print("\(error)")
            exit(1)
        }
    }
}
