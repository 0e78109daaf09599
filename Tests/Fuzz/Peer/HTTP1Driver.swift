import Foundation

/// The peer's side of HTTP/1.1: finds requests, and runs their scripts in order.
final class HTTP1Driver: Driver {
    private enum State {
        case head
        case body(remaining: Int)
        case chunkHead
        case chunk(remaining: Int)
        case trailers
        /// Frames of a WebSocket, which are not read.
        case frames
    }

    private let place: Place
    private let table: ExchangeTable
    private var random: Random
    private var state = State.head
    private var buffer: [UInt8] = []
    private var runs: [ScriptRun] = []
    private var isOpen = false
    /// Whether the connection began with bytes that the first request takes for its answer, whenever it is sent.
    private var hasOpened = false
    /// Whether bytes that answer no request went out or will go out, and when the last went out.
    private var isUnclean = false
    private var lastSent = 0
    /// Of the last exchange whose answer has more than an answer.
    private var mark: ExchangeMark?
    /// A request that comes so soon after unsolicited bytes may have been on its way already: the order is unknown
    /// then.
    private static let flight = 10

    init(place: Place, table: ExchangeTable, random: Random) {
        self.place = place
        self.table = table
        self.random = random
    }

    func opening() -> [Step] {
        guard !place.isTame, table.families.has(.surplus), random.chance(2) else { return [] }
        let text = random.pick([
            "HTTP/1.1 408 Request Timeout\r\nX-Greeting:\r\nContent-Length: 0\r\n\r\n", "\r\n", "x",
            "HTTP/1.1 200 OK\r\nX-Greeting:\r\n\r\nevil",
        ])
        return [.send(Array(text.utf8))] + random.pick([[], [.close], [.wait(milliseconds: 20), .reset]])
    }

    func received(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        buffer += bytes
        var reply: [UInt8] = []
        while advance(&reply) {}
        return reply
    }

    func next(at time: Int) -> Action {
        if !isOpen {
            isOpen = true
            let steps = opening()
            if !steps.isEmpty {
                isUnclean = true
                hasOpened = true
                runs.insert(ScriptRun(steps, requestIsComplete: true), at: 0)
            }
        }
        while !runs.isEmpty {
            if let action = runs[0].next(at: time) {
                if case .send = action {
                    lastSent = time
                    mark.map { table.noteUnasked($0, at: time) }
                }
                return action
            }
            guard runs[0].isDone else { break }
            runs.removeFirst()
        }
        return .wait(until: time + 1000)
    }

    // MARK: Requests

    /// Takes one step in what has come in; false when more has to come.
    private func advance(_ reply: inout [UInt8]) -> Bool {
        switch state {
        case .frames:
            buffer.removeAll()
            return false
        case .head:
            guard let end = buffer.firstRange(of: [13, 10, 13, 10]) else { return false }
            let head = Array(buffer[..<end.upperBound])
            buffer.removeSubrange(..<end.upperBound)
            begin(head, &reply)
        case .body(let remaining):
            guard let count = take(remaining) else { return false }
            count == remaining ? finish() : (state = .body(remaining: remaining - count))
        case .chunkHead:
            guard let line = line() else { return false }
            let digits = String(decoding: line.prefix { $0 != 59 }, as: UTF8.self)
            let size = Int(digits, radix: 16) ?? 0
            state = size == 0 ? .trailers : .chunk(remaining: size + 2)
        case .chunk(let remaining):
            guard let count = take(remaining) else { return false }
            state = count == remaining ? .chunkHead : .chunk(remaining: remaining - count)
        case .trailers:
            guard let line = line() else { return false }
            if line.isEmpty { finish() }
        }
        return true
    }

    private func take(_ wanted: Int) -> Int? {
        guard !buffer.isEmpty || wanted == 0 else { return nil }
        let count = min(wanted, buffer.count)
        buffer.removeFirst(count)
        return count
    }

    private func line() -> [UInt8]? {
        guard let end = buffer.firstIndex(of: 10) else { return nil }
        let line = Array(buffer[..<end].filter { $0 != 13 })
        buffer.removeSubrange(...end)
        return line
    }

    private func begin(_ head: [UInt8], _ reply: inout [UInt8]) {
        let text = String(decoding: head, as: UTF8.self).lowercased()
        let isHead = text.hasPrefix("head ")
        let key = text.firstRange(of: "\r\nsec-websocket-key: ").map { range in
            let start = text.utf8.distance(from: text.startIndex, to: range.upperBound)
            return String(decoding: head[start...].prefix { $0 != 13 }, as: UTF8.self)
        }
        let answer = table.answer(marks: ExchangeMark.all(in: head), at: place, stream: nil, isHead: isHead, key: key)
        let script = answer?.script
        if isUnclean, let answer, hasOpened || !runs.isEmpty || now() - lastSent < Self.flight {
            table.mix([answer.mark])
        }
        hasOpened = false
        isUnclean = isUnclean || script?.isClean == false
        if let answer, script?.isClean == false { mark = answer.mark }
        if text.contains("\r\nexpect: 100-continue") { reply += Array("HTTP/1.1 100 Continue\r\n\r\n".utf8) }
        runs.append(ScriptRun(script?.steps ?? Self.unknown, requestIsComplete: false))
        if script?.isSocket == true {
            finish()
            state = .frames
        } else if text.contains("\r\ntransfer-encoding: chunked") {
            state = .chunkHead
        } else if let range = text.range(of: "\r\ncontent-length: "),
            let length = Int(text[range.upperBound...].prefix { $0.isNumber })
        {
            state = .body(remaining: length)
        } else {
            finish()
        }
        if case .body(0) = state { finish() }
    }

    private func finish() {
        state = .head
        if !runs.isEmpty { runs[runs.count - 1].requestIsComplete = true }
    }

    private static let unknown: [Step] = [
        .send(Array("HTTP/1.1 404 Unknown\r\nContent-Length: 0\r\n\r\n".utf8))
    ]
}
