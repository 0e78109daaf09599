import Bluebonnet
import Glibc

@testable import BluebonnetTesting

/// Speaks to a server byte by byte.
///
/// The client has its own event loop, so that waiting for bytes does not block a test.
actor RawClient {
    /// How a connection ended.
    enum End: Equatable {
        /// In order (`FIN`).
        case closed
        /// With a reset (`RST`).
        case reset
        case failed(Int32)

        init(code: Int32) {
            // A socket that was reset reports the reset once; after that, writing to it is a broken pipe.
            self = code == ECONNRESET || code == EPIPE ? .reset : .failed(code)
        }
    }

    private nonisolated let loop = EventLoop(name: "raw-client")
    // Safety: the actor retains the event loop.
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    private let socket: Socket
    private var received: [UInt8] = []
    private var end: End?
    /// How sending failed, which receiving may not show.
    private var sendingEnd: End?
    private var waiters: [(condition: ([UInt8]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    private var isOpen = true
    private var isReading = false
    /// The tasks that wait until the peer accepts bytes.
    private var writers: [CheckedContinuation<Void, Never>] = []
    private var buffer = [UInt8](repeating: 0, count: 64 * 1024)

    init(_ server: LocalServer) throws {
        socket = try Socket.connecting(to: UInt16(server.port))
        loop.attach()
    }

    /// Connects, and sends a text at once.
    static func sending(_ text: String, to server: LocalServer) async throws -> RawClient {
        let client = try RawClient(server)
        await client.send(text)
        return client
    }

    func send(_ text: String) async {
        await send(Array(text.utf8))
    }

    /// Sends bytes while the peer accepts them; receiving continues meanwhile.
    func send(_ bytes: [UInt8]) async {
        var offset = 0
        while offset < bytes.count, isOpen {
            switch socket.write(bytes, from: offset, moreFollows: false) {
            case .done(let count): offset += count
            case .wouldBlock: await writable()
            case .ended: return
            case .failed(let code):
                sendingEnd = End(code: code)
                return
            }
        }
    }

    private func writable() async {
        await withCheckedContinuation { continuation in
            writers.append(continuation)
            updateWatch()
        }
    }

    /// Watches for what is waited for.
    private func updateWatch() {
        guard isOpen else { return }
        var interest: Interest = writers.isEmpty ? [] : .writable
        if isReading { interest.insert(.readable) }
        guard !interest.isEmpty else { return loop.unwatch(socket.descriptor) }
        loop.watch(socket.descriptor, for: interest) { [self] in becameReady($0) }
    }

    private func becameReady(_ readiness: Readiness) {
        if !readiness.isDisjoint(with: [.writable, .error, .hangup]) { resumeWriters() }
        if isReading, !readiness.isDisjoint(with: [.readable, .error, .hangup]) { read() }
        updateWatch()
    }

    private func resumeWriters() {
        let resumed = writers
        writers = []
        for writer in resumed { writer.resume() }
    }

    /// The received bytes, when they contain a text or no more will come.
    func receive(until text: String) async -> String {
        let needle = Array(text.utf8)
        await wait { $0.contains(needle) }
        return String(decoding: received, as: UTF8.self)
    }

    /// The received bytes, when there are at least so many or no more will come.
    func receive(atLeast count: Int) async -> Int {
        await wait { $0.count >= count }
        return received.count
    }

    /// All that was received, when the connection has ended.
    func receiveAll() async -> (text: String, end: End?) {
        await wait { _ in false }
        return (String(decoding: received, as: UTF8.self), end)
    }

    /// Removes the received bytes.
    func forget() {
        received = []
    }

    func closeWriting() {
        socket.shutDownWriting()
    }

    func close(resetting: Bool = false) {
        guard isOpen else { return }
        isOpen = false
        loop.unwatch(socket.descriptor)
        if resetting { socket.resetOnClose() }
        socket.close()
        finish(.failed(0))
        loop.detach()
    }

    private func wait(until condition: @escaping ([UInt8]) -> Bool) async {
        guard isOpen, end == nil, !condition(received) else { return }
        await withCheckedContinuation { continuation in
            waiters.append((condition, continuation))
            isReading = true
            updateWatch()
        }
    }

    private func read() {
        switch socket.read(into: &buffer) {
        case .done(let count): received += buffer[..<count]
        case .wouldBlock: return
        case .ended: finish(sendingEnd ?? .closed)
        case .failed(let code): finish(End(code: code))
        }
        wakeWaiters()
    }

    private func finish(_ end: End) {
        if self.end == nil { self.end = end }
        isReading = false
        wakeWaiters()
        resumeWriters()
        updateWatch()
    }

    private func wakeWaiters() {
        let satisfied = waiters.filter { end != nil || $0.condition(received) }
        waiters.removeAll { end != nil || $0.condition(received) }
        // No task waits: the bytes stay in the socket, as with a client that does not read.
        if waiters.isEmpty {
            isReading = false
            updateWatch()
        }
        for waiter in satisfied { waiter.continuation.resume() }
    }
}
