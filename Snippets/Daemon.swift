// A program that polls a server until it receives SIGTERM or ^C, and then lets
// its requests finish for a time.
//
// With a number as the argument, the program ends itself after as many polls.

import Bluebonnet
import BluebonnetTesting
@preconcurrency import Dispatch  // for sources, which are thread-safe
import FoundationEssentials
import Glibc

// snippet.signals
/// The signals that ask a program to end.
///
/// `@Sendable` matters in `main.swift`: a closure there otherwise belongs to
/// the main actor, and traps on the queue of the signal source.
func terminations() -> AsyncStream<Int32> {
    AsyncStream { continuation in
        let sources = [SIGTERM, SIGINT].map { number in
            // Without this, the signal would end the program at once.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(
                signal: number, queue: .global())
            source.setEventHandler { @Sendable in continuation.yield(number) }
            source.resume()
            return source
        }
        continuation.onTermination = { @Sendable _ in
            sources.forEach { $0.cancel() }
        }
    }
}
// snippet.end

// snippet.daemon
/// Polls until its task is cancelled.
func poll(_ session: Session, _ url: URL) async {
    while !Task.isCancelled {
        let response = await session.request(url)
            .validate().serializingString().response
        switch response.result {
        case .success(let text): print("the server is \(text)")
        case .failure(let error) where error.isCancellation: break
        case .failure(let error): print("warning: \(error)")
        }
        try? await Task.sleep(for: .milliseconds(300))
    }
}

func serve(_ url: URL) async {
    let metrics = MetricsMonitor()
    let session = Session(eventMonitors: [metrics])
    let poller = Task { await poll(session, url) }
    for await number in terminations() {
        print("signal \(number): no new requests; running ones have 5 seconds")
        break
    }
    poller.cancel()
    await session.shutdown(within: .seconds(5))
    for series in metrics.snapshot() where series.instrument == .responses {
        print("done, after \(series.count) responses")
    }
}
// snippet.end

let server = try await LocalServer { $0.get("/health", .text("well")) }
let limit = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 3
let watcher = Task {
    _ = try await server.request(limit)
    try await Task.sleep(for: .milliseconds(100))
    kill(getpid(), SIGTERM)
}
await serve(server.url("/health"))
try await watcher.value
