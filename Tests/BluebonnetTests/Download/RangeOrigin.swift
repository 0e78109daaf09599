import BluebonnetTesting
import FoundationEssentials
import Synchronization

@testable import Bluebonnet

/// Serves one file at any path as an origin server does, with a validator and ranges, and misbehaves as a test wants it.
final class RangeOrigin: Sendable {
    /// The behavior of the origin; may be changed at any time, for later requests.
    struct Behaviour: Sendable {
        var body = Data.pattern(count: 100_000)
        /// Fields of every response with the body or a part of it.
        var fields: HTTPHeaders = ["ETag": "\"one\"", "Content-Type": "application/octet-stream"]
        var ignoresRanges = false
        /// The maximum number of bytes in a part; fewer than were requested (RFC 9110 §15.3.7).
        var largestPart = Int.max
        /// The number of body bytes before the connection breaks, for each request in order; later connections do not
        /// break.
        var cuts: [Int] = []
        /// Answers some requests otherwise.
        var exception: @Sendable (LocalServer.Request) -> LocalServer.Response? = { _ in nil }
        /// Awaited after each piece, with how much of the file has been sent by then.
        var pace: @Sendable (_ position: Int) async -> Void = { _ in }
    }

    /// A part of the file that was sent, or was about to be.
    struct Transmission: Equatable, Sendable {
        let start: Int
        var count = 0
    }

    private struct State: Sendable {
        var behaviour: Behaviour
        var transmissions: [Transmission] = []
    }

    private final class Shared: Sendable {
        let state: Locked<State>

        init(_ behaviour: Behaviour) { state = Locked(State(behaviour: behaviour)) }
    }

    /// How the connection breaks.
    private struct Cut: Error {}

    static let pieceSize = 8192

    let server: LocalServer
    private let shared: Shared

    init(_ change: (inout Behaviour) -> Void = { _ in }) async throws {
        var behaviour = Behaviour()
        change(&behaviour)
        let shared = Shared(behaviour)
        self.shared = shared
        server = try await LocalServer { router in
            router.fallback { request in Self.answer(to: request, shared) }
        }
    }

    var url: URL { server.url("/file.bin") }

    var body: Data { shared.state.withLock { $0.behaviour.body } }

    /// The parts that were sent, in the order of the requests for them.
    var transmissions: [Transmission] { shared.state.withLock { $0.transmissions } }

    /// The `Range` of each request; "all" for a request without a `Range`.
    var ranges: [String] { server.requests.map { $0.headers["Range"] ?? "all" } }

    func change(_ change: @Sendable (inout Behaviour) -> Void) { shared.state.withLock { change(&$0.behaviour) } }

    private static func answer(to request: LocalServer.Request, _ shared: Shared) -> LocalServer.Response {
        let (behaviour, cut) = shared.state.withLock { state in
            (state.behaviour, state.behaviour.cuts.isEmpty ? nil : state.behaviour.cuts.removeFirst())
        }
        if let exception = behaviour.exception(request) { return exception }
        let (body, range) = (behaviour.body, behaviour.range(for: request))
        let start = range?.lowerBound
        if let start, start >= body.count {
            return .status(416, headers: ["Content-Range": "bytes */\(body.count)"])
        }
        var fields = behaviour.fields
        let (first, end) = (start ?? 0, min(range?.upperBound ?? .max, body.count))
        let bound = start == nil ? end : first + min(end - first, behaviour.largestPart)
        if start != nil {
            fields.update(name: "Content-Range", value: "bytes \(first)-\(bound - 1)/\(body.count)")
        }
        return .stream(
            status: start == nil ? 200 : 206, headers: fields,
            length: request.method == .head ? nil : bound - first
        ) { writer in
            let number = shared.state.withLock { state in
                state.transmissions.append(Transmission(start: first))
                return state.transmissions.count - 1
            }
            let end = cut.map { min(first + $0, bound) } ?? bound
            var position = first
            while position < end {
                let piece = body[position..<min(position + Self.pieceSize, end)]
                shared.state.withLock { $0.transmissions[number].count += piece.count }
                try await writer.write(Data(piece))
                position += piece.count
                await behaviour.pace(position)
                // The server sends nothing more to a disconnected client.
                try Task.checkCancellation()
            }
            if cut != nil { throw Cut() }
        }
    }
}

extension RangeOrigin.Behaviour {
    /// The requested range; nil for the whole.
    fileprivate func range(for request: LocalServer.Request) -> Range<Int>? {
        guard !ignoresRanges, let range = request.headers["Range"], range.hasPrefix("bytes=") else { return nil }
        if let condition = request.headers["If-Range"], condition != fields["ETag"],
            condition != fields["Last-Modified"]
        {
            return nil
        }
        let ends = range.dropFirst(6).split(separator: "-").compactMap { Int($0) }
        guard let first = ends.first else { return nil }
        return first..<(ends.count > 1 ? max(first, ends[1] + 1) : .max)
    }
}

/// Waits until there are so many bytes in a file.
func waitForSize(of path: String, atLeast size: Int) async {
    while !Task.isCancelled, FileSystem.status(path, followingLinks: false)?.size ?? 0 < Int64(size) {
        await Task.yield()
    }
}

/// Watches a destination: whatever is seen there is all of one of the right files.
final class DestinationObserver: Sendable {
    private let task: Task<Set<Int64>, Never>

    init(_ path: String) {
        task = Task {
            var sizes: Set<Int64> = []
            while !Task.isCancelled {
                if let status = FileSystem.status(path, followingLinks: false) { sizes.insert(status.size) }
                await Task.yield()
            }
            return sizes
        }
    }

    deinit { task.cancel() }

    /// Ends the watch and returns the sizes of the files that were seen.
    func sizes() async -> Set<Int64> {
        task.cancel()
        return await task.value
    }
}
