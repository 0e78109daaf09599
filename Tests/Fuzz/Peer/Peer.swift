import Bluebonnet
import Foundation

/// The scripted peer: sockets on 127.0.0.1, and a thread for each connection that does what the scripts say.
final class Peer: Sendable {
    let places: [Place]
    let table: ExchangeTable
    private let seed: UInt64
    private let listeners: [Int32]
    private let tls: TLSIdentity?
    private let state = Locked(State())

    private struct State {
        var isStopping = false
        var connections: Set<Int32> = []
        var threads = 0
        var accepted = 0
    }

    /// Opens the places and begins to accept.
    init(
        seed: UInt64, wishes: [(host: String, speech: Place.SpokenProtocol, isTame: Bool, isControl: Bool)],
        table: ExchangeTable,
        tls: TLSIdentity?
    ) {
        self.seed = seed
        self.table = table
        self.tls = tls
        let sockets = wishes.map { _ in PeerSocket.listening() }
        listeners = sockets.map(\.descriptor)
        places = wishes.indices.map { index in
            Place(
                index: index, host: wishes[index].host, speech: wishes[index].speech, port: sockets[index].port,
                isTame: wishes[index].isTame, isControl: wishes[index].isControl)
        }
        startThread { self.acceptConnections() }
    }

    private func startThread(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.threads += 1 }
        Thread.detachNewThread {
            // OpenSSL writes to sockets as to files: a client that is gone would be a signal. Only here: the library's
            // own threads must do without.
            PeerSocket.blockBrokenPipes()
            body()
            self.state.withLock { $0.threads -= 1 }
        }
    }

    private func acceptConnections() {
        while !isStopping {
            for index in PeerSocket.wait(for: listeners.map { ($0, false) }, milliseconds: 100) {
                guard let socket = PeerSocket(descriptor: listeners[index]).accept() else { continue }
                let descriptor = socket.descriptor
                let number: Int? = state.withLock { state in
                    guard !state.isStopping else { return nil }
                    state.connections.insert(descriptor)
                    state.accepted += 1
                    return state.accepted
                }
                guard let number else { PeerSocket.close(descriptor); continue }
                startThread { self.serve(descriptor, at: self.places[index], number: number) }
            }
        }
        for listener in listeners { PeerSocket.close(listener) }
    }

    private func serve(_ descriptor: Int32, at place: Place, number: Int) {
        let socket = PeerSocket(descriptor: descriptor)
        var random = Random(seed: Random.derive(seed, number))
        let speaksHTTP2: Bool? = table.families.has(.mixedversions) ? nil : (seed >> UInt64(place.index)) & 1 == 0
        let accepted: (any ByteChannel, Bool)? =
            place.speech == .tls
            ? tls?.accept(socket, random: &random, isTame: place.isTame, speaksHTTP2: speaksHTTP2) : (socket, false)
        if let channel = accepted {
            let isHTTP2 = place.speech == .h2c || channel.1
            let driver: any Driver =
                isHTTP2
                ? HTTP2Driver(place: place, table: table, random: random)
                : HTTP1Driver(place: place, table: table, random: random)
            PeerConnection(channel: channel.0, driver: driver) { self.isStopping }.run()
        }
        state.withLock { _ = $0.connections.remove(descriptor) }
        PeerSocket.close(descriptor)
    }

    private var isStopping: Bool { state.withLock { $0.isStopping } }

    /// Ends all connections and waits for the threads.
    func stop() async {
        state.withLock { state in
            state.isStopping = true
            for connection in state.connections { PeerSocket.shutDown(connection) }
        }
        while state.withLock({ $0.threads }) > 0 { try? await Task.sleep(for: .milliseconds(5)) }
    }
}
