// Sends two requests at the same time, many requests at the same time, and many
// requests with at most eight at a time.

import Bluebonnet
import BluebonnetTesting

struct Station: Codable, Sendable {
    var number: Int
    var temperature: Double
}

enum ParallelRequests {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.get("/stations/:number") { request in
                let number = Int(request.parameters["number"] ?? "") ?? 0
                try await Task.sleep(for: .milliseconds(20))
                return .json(
                    Station(
                        number: number, temperature: 10 + Double(number) / 10))
            }
        }
        let session = Session()
        try await two(session, server)
        try await many(session, server)
        try await fewAtOnce(session, server)
        try await onTheLoop(session, server)
        await session.shutdown()
    }

    static func two(_ session: Session, _ server: LocalServer) async throws {
        // snippet.two
        async let first = session.request(server.url("/stations/1"))
            .serializingDecodable(Station.self).value
        async let second = session.request(server.url("/stations/2"))
            .serializingDecodable(Station.self).value
        let stations = try await [first, second]
        // snippet.end
        show("Two", stations)
    }

    static func many(_ session: Session, _ server: LocalServer) async throws {
        // snippet.many
        let stations = try await withThrowingTaskGroup(of: Station.self) {
            group in
            for number in 1...100 {
                group.addTask {
                    try await session.request(server.url("/stations/\(number)"))
                        .validate()
                        .serializingDecodable(Station.self)
                        .value
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        // snippet.end
        show("All at once", stations)
    }

    static func fewAtOnce(_ session: Session, _ server: LocalServer)
        async throws
    {
        // snippet.few
        let stations = try await withThrowingTaskGroup(of: Station.self) {
            group in
            var stations: [Station] = []
            for number in 1...100 {
                // After the eighth request, a request starts only when another
                // request has ended.
                if number > 8, let station = try await group.next() {
                    stations.append(station)
                }
                group.addTask {
                    try await session.request(server.url("/stations/\(number)"))
                        .validate()
                        .serializingDecodable(Station.self)
                        .value
                }
            }
            for try await station in group { stations.append(station) }
            return stations
        }
        // snippet.end
        show("Eight at once", stations)
    }

    static func onTheLoop(_ session: Session, _ server: LocalServer)
        async throws
    {
        // snippet.executor
        let stations = try await withTaskExecutorPreference(session.executor) {
            var stations: [Station] = []
            for number in 1...10 {
                let request = session.request(server.url("/stations/\(number)"))
                    .validate()
                stations.append(
                    try await request.serializingDecodable(Station.self).value)
            }
            return stations
        }
        // snippet.end
        show("One after the other, without a change of threads", stations)
    }

    static func show(_ title: String, _ stations: [Station]) {
        let mean =
            stations.map(\.temperature).reduce(0, +) / Double(stations.count)
        print(
            "\(title): \(stations.count) stations, \((mean * 10).rounded() / 10)° on average"
        )
    }
}

try await ParallelRequests.run()
