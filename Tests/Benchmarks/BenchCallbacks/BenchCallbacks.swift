import BenchSupport
import BluebonnetCallbacks
import Foundation

/// Measures completion handlers: each request is answered on a private queue, from where the next is made.
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
            try await client.run { url in
                let response = await withCheckedContinuation { continuation in
                    session.request(url).responseData(queue: queue) { continuation.resume(returning: $0) }
                }
                return .init(status: response.response?.statusCode, length: try response.result.get().count)
            }
        } catch {
            print("\(error)")
            exit(1)
        }
    }
}
