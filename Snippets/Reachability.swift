// Observes whether there is a network, retries requests when the network
// returns, and explains failures to people.

import Bluebonnet
import BluebonnetReachability
import BluebonnetTesting

enum Reachability {
    static func run() async throws {
        try await watch()
        try await handle()
        try await renew()
        try await retry()
    }

    static func watch() async throws {
        // snippet.statuses
        guard let manager = NetworkReachabilityManager(host: "localhost") else {
            return
        }
        for await status in manager.statuses {
            switch status {
            case .reachable(.cellular):
                print("There is a way, over a mobile network.")
            case .reachable(.ethernetOrWiFi): print("There is a way.")
            case .notReachable: print("There is no way.")
            case .unknown: print("The system does not say.")
            }
            // snippet.hide
            break  // a real program does not stop here
            // snippet.show
        }
        // snippet.end
    }

    static func handle() async throws {
        let (heard, continuation) = AsyncStream<Void>.makeStream()
        // snippet.handler
        // Keep the manager as long as its handler is needed. The handler runs
        // on the global executor.
        let manager = NetworkReachabilityManager()
        manager?.startListening { status in
            print(
                status == .notReachable
                    ? "Offline: what you write is kept." : "Online.")
            // snippet.hide
            continuation.finish()
            // snippet.show
        }
        // snippet.end
        for await _ in heard {}
        manager?.stopListening()
    }

    static func renew() async throws {
        let session = Session()
        // snippet.renew
        if let manager = NetworkReachabilityManager() {
            for await status in manager.statuses where status != .notReachable {
                session.renewConnections()
                // snippet.hide
                break  // a real program does not stop here
                // snippet.show
            }
        }
        // snippet.end
        await session.shutdown()
    }

    static func retry() async throws {
        let server = try await LocalServer { router in
            router.get("/news", .text("Rain at last."))
        }
        let url = server.url("/news")

        // snippet.retrier
        // If a request fails without a network, the retrier waits for a network
        // for at most 30 seconds, and retries the request. If the request fails
        // again, for example because names cannot be resolved yet, the retry
        // policy retries it after a delay.
        let session = Session(
            interceptor: Interceptor(retriers: [
                OfflineRetrier(maximumWait: .seconds(30)), .retryPolicy,
            ]))
        // snippet.end

        // snippet.explain
        do {
            print(
                try await session.request(url)
                    .validate().serializingString().value)
        } catch {
            guard error.isConnectionFailure else { throw error }
            let isOffline =
                NetworkReachabilityManager.default?.status == .notReachable
            print(
                isOffline ? "You are offline." : "The server cannot be reached."
            )
        }
        // snippet.end
        await session.shutdown()
    }
}

try await Reachability.run()
