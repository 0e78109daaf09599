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
            configuration.eventLoops = .init(client.loops)
            if client.isBare { configuration.cookies.policy = .never }
            if client.usesHTTP3 { configuration.httpVersion = .http3Only }
            if client.makesHandshakes {
                configuration.headers["Connection"] = "close"
                configuration.httpVersion = .http1_1
            }
            let folder = FileManager.default.temporaryDirectory.appending(path: "bluebonnet-cache-\(getpid())")
            defer { try? FileManager.default.removeItem(at: folder) }
            switch client.cache {
            case "memory": configuration.cache = ResponseCache()
            case "files": configuration.cache = ResponseCache(memoryCapacity: 0, directory: folder)
            default: break
            }
            let session = Session(
                configuration: configuration, interceptor: client.isIntercepted ? Self.interceptor : nil,
                serverTrustManager: client.makesHandshakes ? try Self.pin(client.authorityFile) : nil,
                eventMonitors: client.hasMetrics ? [MetricsMonitor()] : [])
            if client.isIntercepted { try await session.cookies.set(Self.cookie) }
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

    /// Pins the key of the server's certificate, which is its own authority.
    private static func pin(_ file: String?) throws -> ServerTrustManager {
        let certificate = try Certificate.all(inFile: URL(filePath: file ?? ""))[0]
        return ServerTrustManager(evaluators: ["127.0.0.1": PublicKeysTrustEvaluator(keys: [certificate.publicKey])])
    }

    /// The usual parts of an application's session; they do not change requests.
    private static var interceptor: Interceptor {
        Interceptor(
            adapters: [Adapter { request, _ in request }, Adapter { request, _ in request }],
            retriers: [RetryPolicy()])
    }

    /// A cookie that is sent with every request.
    private static let cookie = Cookie(name: "a", value: "1", domain: "127.0.0.1")

    private static func run(_ client: BenchClient, _ session: Session) async throws {
        if client.workload.usesSockets { return try await SocketWorkloads(client, session).run() }
        guard client.workload == .requests else { return try await BodyWorkloads(client, session).run() }
        try await client.run { url in
            // Each kind of request has a frame of its own, as in a program that only makes one kind.
            client.decodesJSON ? try await decodedPerson(at: url, session) : try await data(at: url, session)
        }
    }

    private static func data(at url: URL, _ session: Session) async throws -> BenchClient.BenchResponse {
        let response = await session.request(url).serializingData().response
        return .init(status: response.response?.statusCode, length: try response.result.get().count)
    }

    private static func decodedPerson(at url: URL, _ session: Session) async throws -> BenchClient.BenchResponse {
        let response = await session.request(url).serializingDecodable(Person.self).response
        guard try response.result.get() == .ada else { throw BenchFailure("the object was decoded wrongly") }
        return .init(status: response.response?.statusCode, length: response.data?.count ?? 0)
    }
}
