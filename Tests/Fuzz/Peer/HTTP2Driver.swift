/// The peer's side of HTTP/2: finds requests, and runs the scripts of all streams side by side.
final class HTTP2Driver: Driver {
    private let place: Place
    private let table: ExchangeTable
    private var random: Random
    private var buffer: [UInt8] = []
    private var isBegun = false
    private var runs: [(stream: UInt32, run: ScriptRun)] = []
    /// A block of fields that has not come in whole.
    private var block: (stream: UInt32, bytes: [UInt8], ends: Bool)?
    private var isOpen = false
    /// What has to be said to the client's own frames.
    private var replies: [UInt8] = []
    /// The stream that has sent a part of a frame: no other stream may send before the rest.
    private var holder: UInt32?
    private var boundary = FrameBoundary()
    /// The exchanges that were here, and whether frames of one may have been sent to another.
    private var marks: Set<ExchangeMark> = []
    private var isMixed = false
    private var goesAway = false
    /// The exchanges of the streams, and the sizes of their bodies so far.
    private var bodies: [UInt32: (mark: ExchangeMark, bytes: Int)] = [:]

    init(place: Place, table: ExchangeTable, random: Random) {
        self.place = place
        self.table = table
        self.random = random
    }

    func opening() -> [Step] {
        // No table: fields that a client sends again are sent as they are, and their marks are seen.
        var values: [(UInt16, UInt32)] = [(1, 0), (4, 1 << 20), (3, random.pick([100, 100, 2, 1]))]
        var extra: [HTTP2Frame] = [.windowUpdate(0, 1 << 24)]
        var text = ""
        if !place.isTame, random.chance(15) {
            let odd: (UInt16, UInt32) = random.pick([
                (4, 0), (4, 0x7FFF_FFFF), (4, 0x8000_0000), (5, 1), (5, 0xFF_FFFF), (5, 0x100_0000), (3, 0), (2, 1),
                (2, 7), (6, 0), (6, 100),
                (0xFFFF, 1), (8, 1), (1, 0xFFFF_FFFF), (4, 1),
            ])
            values.append(odd)
        }
        if !place.isTame, random.chance(4) {
            switch random.below(5) {
            case 0:
                extra.append(.goAway(last: 0, 0))
                // The client may read it after it has sent a request, and then sends the request again.
                goesAway = true
            case 1: extra.append(.windowUpdate(0, 0x7FFF_FFFF))
            case 2: extra = [HTTP2Frame(kind: .settings, stream: 1, payload: [1])]
            case 3: text = "HTTP/1.1 400 Bad Request\r\nX-Greeting: 1\r\nContent-Length: 0\r\n\r\n"
            default: extra.append(HTTP2Frame(kind: .data, stream: 1, payload: [1, 2, 3]))
            }
        }
        return [.send(Array(text.utf8) + HTTP2Frame.settings(values).bytes + extra.flatMap(\.bytes))]
    }

    func received(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        buffer += bytes
        if !isBegun {
            guard buffer.count >= 24 else { return [] }
            isBegun = true
            buffer.removeFirst(24)
        }
        var start = 0
        while buffer.count - start >= 9 {
            let length = Int(buffer[start]) << 16 | Int(buffer[start + 1]) << 8 | Int(buffer[start + 2])
            guard buffer.count - start >= 9 + length else { break }
            let stream = buffer[(start + 5)..<(start + 9)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
            let payload = Array(buffer[(start + 9)..<(start + 9 + length)])
            if let kind = HTTP2Frame.Kind(rawValue: buffer[start + 3]) {
                take(kind, flags: buffer[start + 4], stream: stream, payload: payload)
            }
            start += 9 + length
        }
        buffer.removeFirst(start)
        return []
    }

    func next(at time: Int) -> Action {
        if !isOpen {
            isOpen = true
            runs.append((0, ScriptRun(opening(), requestIsComplete: true)))
        }
        if holder == nil, !replies.isEmpty {
            defer { replies = [] }
            return .send(replies)
        }
        var waitsUntil = time + 1000
        // In turn, so that a stream which sends much does not keep the others from sending.
        for _ in 0..<runs.count {
            var first = runs.removeFirst()
            guard holder == nil || holder == first.stream else {
                runs.append(first)
                continue
            }
            let action = first.run.next(at: time)
            if case .send(let bytes)? = action { boundary.send(bytes) }
            if !first.run.isDone {
                runs.append(first)
                holder = boundary.isReached ? nil : first.stream
            } else {
                holder = nil
                boundary = FrameBoundary()
            }
            switch action {
            case nil: break
            case .wait(let end)?: waitsUntil = min(waitsUntil, end)
            case let action?: return action
            }
        }
        return .wait(until: waitsUntil)
    }

    // MARK: Frames

    private func take(_ kind: HTTP2Frame.Kind, flags: UInt8, stream: UInt32, payload: [UInt8]) {
        switch kind {
        case .settings:
            guard flags & HTTP2Frame.acknowledgement == 0 else { return }
            replies += HTTP2Frame(kind: .settings, flags: HTTP2Frame.acknowledgement, stream: 0).bytes
        case .ping:
            guard flags & HTTP2Frame.acknowledgement == 0 else { return }
            replies += HTTP2Frame(kind: .ping, flags: HTTP2Frame.acknowledgement, stream: 0, payload: payload).bytes
        case .headers:
            block = (stream, payload, flags & HTTP2Frame.endStream != 0)
            if flags & HTTP2Frame.endHeaders != 0 { begin() }
        case .continuation:
            block?.bytes += payload
            if flags & HTTP2Frame.endHeaders != 0 { begin() }
        case .data:
            bodies[stream]?.bytes += payload.count
            if !payload.isEmpty {
                replies += HTTP2Frame.windowUpdate(0, UInt32(payload.count)).bytes
                if flags & HTTP2Frame.endStream == 0 {
                    replies += HTTP2Frame.windowUpdate(stream, UInt32(payload.count)).bytes
                }
            }
            if flags & HTTP2Frame.endStream != 0 { finish(stream) }
        case .reset: runs.removeAll { $0.stream == stream && stream != holder }
        default: break
        }
    }

    private func begin() {
        guard let block else { return }
        self.block = nil
        let answer = table.answer(
            marks: ExchangeMark.all(in: block.bytes), at: place, stream: block.stream,
            isHead: block.bytes.firstRange(of: Array("HEAD".utf8)) != nil)
        if let answer {
            marks.insert(answer.mark)
            bodies[block.stream] = (answer.mark, 0)
            isMixed = isMixed || answer.script.misdirects
            if isMixed { table.mix(marks) }
            // It may send a GOAWAY frame, which concerns other streams as well.
            goesAway = goesAway || (!answer.script.isClean && !answer.script.endsSilently)
            if goesAway { table.refuse(marks) }
        }
        // A path that was sent before on the connection may be an index (RFC 7541 §2.3.2), and its mark is not seen.
        let unknown = HTTP2Frame(
            kind: .headers, flags: HTTP2Frame.endHeaders | HTTP2Frame.endStream, stream: block.stream,
            payload: FieldBlock.make([(":status", "404"), ("x-greeting", "unknown")]))
        runs.append(
            (block.stream, ScriptRun(answer?.script.steps ?? [.send(unknown.bytes)], requestIsComplete: block.ends)))
    }

    private func finish(_ stream: UInt32) {
        if let body = bodies.removeValue(forKey: stream) { table.bodyArrived(body.mark, bytes: body.bytes) }
        for index in runs.indices where runs[index].stream == stream { runs[index].run.requestIsComplete = true }
    }
}

/// Follows frames through what is sent.
private struct FrameBoundary {
    private var head: [UInt8] = []
    private var remaining = 0

    var isReached: Bool { head.isEmpty && remaining == 0 }

    mutating func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            if remaining > 0 {
                let count = min(remaining, rest.count)
                remaining -= count
                rest = rest.dropFirst(count)
                continue
            }
            let count = min(9 - head.count, rest.count)
            head += rest.prefix(count)
            rest = rest.dropFirst(count)
            guard head.count == 9 else { continue }
            remaining = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            head = []
        }
    }
}
