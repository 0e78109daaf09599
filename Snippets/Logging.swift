// Logs requests, and counts the status codes of their responses.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

// snippet.monitor
/// Counts responses by status code. A monitor can be an actor, a class or a
/// structure.
actor StatusCounter: EventMonitor {
    private(set) var counts: [Int: Int] = [:]

    func request(
        _ request: any Request, didReceiveResponse response: HTTPResponse
    ) {
        counts[response.statusCode, default: 0] += 1
    }
}
// snippet.end

enum Logging {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.get("/pages/1") { _ in
                .redirect(to: "/pages/first?token=secret")
            }
            router.get("/pages/first") { _ in .text("Welcome") }
        }

        // snippet.session
        let log = LoggingEventMonitor()  // writes to standard error by default
        let counter = StatusCounter()
        let session = Session(eventMonitors: [log, counter, timing()])
        // snippet.end

        for page in ["/pages/1", "/pages/2"] {
            _ = await session.request(server.url(page))
                .validate().serializingString().response
        }

        // snippet.shutdown
        // When `shutdown()` returns, the monitors have received all events.
        await session.shutdown()
        for (status, count) in await counter.counts.sorted(by: {
            $0.key < $1.key
        }) {
            print("\(status): \(count)")
        }
        // snippet.end
    }

    // snippet.closures
    static func timing() -> ClosureEventMonitor {
        let monitor = ClosureEventMonitor()
        monitor.requestDidCompleteTaskWithError = { request, task, error in
            guard let metrics = task.metrics, error == nil else { return }
            let isSlow = metrics.total > .seconds(1)
            print("\(task.request) took \(isSlow ? "long" : "no time")")
        }
        return monitor
    }
    // snippet.end
}

try await Logging.run()
