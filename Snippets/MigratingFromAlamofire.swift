// Migrates code that was written for Alamofire, task by task.

import BluebonnetCallbacks
import BluebonnetTesting
import Foundation

struct Plant: Codable, Sendable {
    var name: String
}

enum MigratingFromAlamofire {
    static func run() async throws {
        let transport = StubTransport { _ in .json(Plant(name: "Bluebonnet")) }
        let session = Session(transport: transport)
        let url = "http://garden.test/plants/1"
        try await values(session, url)
        try await bodies(session, url)
        try await files(session, url)
        try await streams(session, url)
        try await watching(session, url)
        await session.shutdown()
        sessions()
    }

    static func values(_ session: Session, _ url: String) async throws {
        // snippet.value
        let plant = try await session.request(url)
            .validate().serializingDecodable(Plant.self).value
        // snippet.end
        // snippet.parameters
        let found = session.request(url, parameters: ["colour": "blue"])
        let posted = session.request(
            url, method: .post, parameters: plant, encoder: .json)
        let legacy = session.request(
            url, method: .post, parameters: ["name": "Alba"],
            encoding: JSONEncoding.default)
        // snippet.end
        for request in [found, posted, legacy] {
            print(try await request.serializingString().value)
        }
    }

    static func bodies(_ session: Session, _ url: String) async throws {
        // snippet.upload
        let data = session.upload(Data("seeds".utf8), to: url)
        let form = session.upload(
            multipartFormData: { form in
                form.append(Data("Alba".utf8), withName: "name")
            }, to: url)
        // snippet.end
        for request in [data, form] {
            _ = try await request.serializingData().value
        }
    }

    static func files(_ session: Session, _ url: String) async throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: directory) }
        // snippet.download
        let file = try await session.download(
            url,
            to: .custom { _, response in
                (
                    directory.appendingPathComponent(
                        "\(response.statusCode).json"),
                    [.createIntermediateDirectories]
                )
            }
        ).serializingURL().value
        // snippet.end
        print(file.lastPathComponent)
    }

    static func streams(_ session: Session, _ url: String) async throws {
        // snippet.stream
        for try await plant in session.streamRequest(url)
            .validate().streamTask().decodables(of: Plant.self)
        {
            print(plant.name)
        }
        // snippet.end
    }

    static func watching(_ session: Session, _ url: String) async throws {
        // snippet.progress
        let request = session.request(url)
        let task = request.serializingData()
        for await progress in request.downloadProgressUpdates() {
            print(progress.completed)
        }
        // snippet.end
        print(try await task.value.count)
    }

    static func sessions() {
        // snippet.session
        var configuration = Session.Configuration.default
        configuration.timeouts.idle = .seconds(20)
        let session = Session(
            configuration: configuration, interceptor: .retryPolicy,
            serverTrustManager: ServerTrustManager(evaluators: [
                "*.garden.test": PublicKeysTrustEvaluator(keys: [])
            ]),
            redirectHandler: .doNotFollow)
        // snippet.end
        print(session.configuration.timeouts.idle ?? .zero)
        // snippet.interceptor
        let adapter = Adapter { request, _ in
            var request = request
            request.headers.update(.authorization(bearerToken: "secret"))
            return request
        }
        let retrier = Retrier { request, _, _ in
            request.retryCount < 2 ? .retryWithDelay(.seconds(1)) : .doNotRetry
        }
        let interceptor = Interceptor(adapter: adapter, retrier: retrier)
        // snippet.end
        print(interceptor.adapters.count)
    }
}

try await MigratingFromAlamofire.run()
