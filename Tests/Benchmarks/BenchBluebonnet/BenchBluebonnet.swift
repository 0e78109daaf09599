import BenchSupport
import Bluebonnet
import FoundationEssentials
import Glibc

/// Measures Bluebonnet as a user writes it; links neither Foundation nor FoundationNetworking.
@main
struct BenchBluebonnet {
    static func main() async {
        do {
            let client = try BenchClient()
            var configuration = Session.Configuration()
            configuration.tls.caFile = client.authorityFile
            let session = Session(configuration: configuration)
            if client.prefersExecutor {
                try await withTaskExecutorPreference(session.executor) { try await run(client, session) }
            } else {
                try await run(client, session)
            }
        } catch {
            print("\(error)")
            exit(1)
        }
    }

    private static func run(_ client: BenchClient, _ session: Session) async throws {
        guard client.workload == .requests else { return try await BodyWorkloads(client, session).run() }
        try await client.run { url in
            if client.decodesJSON {
                let response = await session.request(url).serializingDecodable(Person.self).response
                guard try response.result.get() == .ada else { throw BenchFailure("the object was decoded wrongly") }
                return .init(status: response.response?.statusCode, length: response.data?.count ?? 0)
            }
            let response = await session.request(url).serializingData().response
            return .init(status: response.response?.statusCode, length: try response.result.get().count)
        }
    }
}
