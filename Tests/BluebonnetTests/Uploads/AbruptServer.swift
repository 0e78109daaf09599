import CSystem
import Foundation
import Glibc
import Testing

@testable import Bluebonnet

/// A server that reads some of a body, answers, and resets the connection in the same moment.
///
/// How long it waits before it answers differs from connection to connection: a client may be between its look at the socket
/// and its next write then. One connection at a time; all waits are bounded.
// Safety: every pointer is used only during its call.
final class AbruptServer: Sendable {
    private let listener: Int32
    private let answer: [UInt8]
    private let amount: Int
    private let firstAnswers: [[UInt8]]
    private let connections = Locked(0)
    private let isStopped = Locked(false)

    /// Starts it.
    ///
    /// - Parameters:
    ///   - answer: What it sends.
    ///   - amount: How many bytes it reads before.
    ///   - firstAnswers: What it sends before, each after a head on the same connection.
    /// - Throws: What `#require` throws when the system has no socket.
    init(answering answer: String, after amount: Int, firstAnswers: [String] = []) throws {
        self.answer = Array(answer.utf8)
        self.amount = amount
        self.firstAnswers = firstAnswers.map { Array($0.utf8) }
        listener = try listenOnLoopback()
        Thread.detachNewThread { self.run() }
    }

    var url: String { "http://127.0.0.1:\(bb_local_port(listener))/" }

    var connectionCount: Int { connections.withLock { $0 } }

    func stop() {
        isStopped.withLock { $0 = true }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func run() {
        var number = 0
        while true {
            let descriptor = accept(listener, nil, nil)
            guard descriptor >= 0, !isStopped.withLock({ $0 }) else { break }
            number += 1
            connections.withLock { $0 += 1 }
            serve(descriptor, delay: Int64(number % 100) * 3_000)
        }
        close(listener)
    }

    private func serve(_ descriptor: Int32, delay: Int64) {
        defer { close(descriptor) }
        var patience = timeval(tv_sec: 10, tv_usec: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        // Closing the socket resets the connection.
        var option = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        for first in firstAnswers {
            var head: [UInt8] = []
            while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                // A body may follow at once.
                guard unsafe recv(descriptor, &buffer, 1, 0) == 1 else { return }
                head.append(buffer[0])
            }
            _ = unsafe send(descriptor, first, first.count, Int32(MSG_NOSIGNAL))
        }
        var count = 0
        while count < amount {
            let received = unsafe recv(descriptor, &buffer, buffer.count, 0)
            guard received > 0 else { return }
            count += received
        }
        // The time is what this is about, and too short for a timer.
        let due = MonotonicClock.now() + delay
        while MonotonicClock.now() < due {}
        _ = unsafe send(descriptor, answer, answer.count, Int32(MSG_NOSIGNAL))
    }
}
