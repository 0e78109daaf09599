/// One thing that is wrong, or odd, with the frames of an answer.
struct HTTP2Mutation {
    let mark: ExchangeMark
    let families: Families
    let stream: UInt32
    /// The answer cannot be mistaken for a complete one.
    var makesIncomplete = false
    /// Frames go to other streams.
    var misdirects = false
    /// Sent before or after the frames, many times.
    var flood: Step?
    /// What is done when the frames are sent.
    var after: [Step] = []

    init(mark: ExchangeMark, families: Families, stream: UInt32) {
        self.mark = mark
        self.families = families
        self.stream = stream
    }

    /// Changes the frames; says how.
    mutating func apply(to frames: inout [HTTP2Frame], _ random: inout Random) -> String? {
        let kind = random.below(12)
        misdirects = [2, 3, 5, 9, 11].contains(kind)
        return switch kind {
        case 0: reset(&frames, &random)
        case 1: goAway(&frames, &random)
        case 2: insertOdd(&frames, &random)
        case 3: changeFrame(&frames, &random)
        case 4: changeFields(&frames, &random)
        case 5: moveStream(&frames, &random)
        case 6 where families.has(.h2flood): makeFlood(&frames, &random)
        case 7 where families.has(.h2idle): idle(&random)
        case 8: dropFrame(&frames, &random)
        case 9: push(&frames, &random)
        case 10 where families.has(.h2flood): floodContinuations(&frames, &random)
        default: insertOdd(&frames, &random)
        }
    }

    private mutating func reset(_ frames: inout [HTTP2Frame], _ random: inout Random) -> String? {
        var codes: [UInt32] = [1, 2, 3, 5, 7, 8, 11, 13, 0xFFFF_FFFF]
        if families.has(.h2reset) { codes += [0, 0, 0] }
        let code = random.pick(codes)
        let place = random.below(frames.count)
        let kept = frames.prefix(place)
        // Trailers that are not whole say that the body is.
        makesIncomplete = !kept.contains { $0.stream == stream && $0.flags & HTTP2Frame.endStream != 0 }
        frames = kept + [.reset(stream, code)]
        return "RST_STREAM \(code) after \(place) frames"
    }

    private mutating func goAway(_ frames: inout [HTTP2Frame], _ random: inout Random) -> String? {
        let last = random.pick([0, stream, stream &+ 2, 0x7FFF_FFFF, (stream &- 2) & 0x7FFF_FFFF])
        let code = random.pick([UInt32(0), 0, 1, 2, 11, 13])
        let place = random.below(frames.count + 1)
        frames.insert(.goAway(last: last, code, "bye"), at: place)
        if random.chance(40) { after = [.wait(milliseconds: random.pick([0, 1, 20])), .close] }
        return "GOAWAY last \(last) code \(code) after \(place) frames"
    }

    private func insertOdd(_ frames: inout [HTTP2Frame], _ random: inout Random) -> String? {
        let any = random.pick([0, stream, stream &+ 2, 2, 4, 0x7FFF_FFFF, 1])
        let choices: [HTTP2Frame] = [
            .ping(), .ping(acknowledges: true),
            .settings([(4, random.pick([0, 1, 65_535, 0x7FFF_FFFF, 0x8000_0000]))]),
            .settings([(3, 0)]), .settings([]), .settings([(5, random.pick([0, 16_384, 0xFF_FFFF, 0xFFFF_FFFF]))]),
            .windowUpdate(any, 0),
            .windowUpdate(any, 0x7FFF_FFFF), .windowUpdate(any, 1),
            HTTP2Frame(kind: .priority, stream: any, payload: [0, 0, 0, 1, 5]),
            HTTP2Frame(kind: .priority, stream: stream, payload: HTTP2Frame.word(stream) + [5]),
            HTTP2Frame(kind: .altSvc, stream: any, payload: [0, 8] + Array("https://ah2=\":1\"".utf8)),
            HTTP2Frame(kind: .altSvc, stream: 0, payload: [255, 255, 1]),
            HTTP2Frame(kind: .origin, stream: 0, payload: [0, 3, 97, 98, 99]),
            HTTP2Frame(kind: .unknown, flags: 255, stream: any, payload: random.bytes(random.pick([0, 20, 16_000]))),
            HTTP2Frame(kind: .data, stream: any), HTTP2Frame(kind: .data, stream: any, payload: Array("evil".utf8)),
            HTTP2Frame(kind: .continuation, stream: any, payload: [1]), .reset(any, 8),
            HTTP2Frame(
                kind: .headers, flags: 5, stream: any, payload: FieldBlock.make([(":status", "200"), ("x-evil", "1")])),
            HTTP2Frame(kind: .settings, flags: 1, stream: 0), HTTP2Frame(kind: .ping, stream: 0, payload: [1]),
            HTTP2Frame(kind: .goAway, stream: 0, payload: [0]),
            HTTP2Frame(kind: .settings, stream: 0, payload: [1, 2, 3]),
        ]
        let frame = random.pick(choices)
        let place = random.below(frames.count + 1)
        frames.insert(frame, at: place)
        return "\(frame.kind) on \(frame.stream) after \(place) frames"
    }

    private func changeFrame(_ frames: inout [HTTP2Frame], _ random: inout Random) -> String? {
        let index = random.below(frames.count)
        switch random.below(4) {
        case 0: frames[index].flags ^= 1 << UInt8(random.below(8))
        case 1: frames[index].claimedLength = random.pick([0, 1, frames[index].payload.count + 1, 16_385, 0xFF_FFFF])
        case 2: frames[index].kind = random.pick([.data, .headers, .continuation, .pushPromise, .unknown, .settings])
        default:
            frames[index].flags |= HTTP2Frame.padded
            frames[index].payload = [random.pick([0, 1, 255])] + frames[index].payload
        }
        return "changed frame \(index)"
    }

    private func changeFields(_ frames: inout [HTTP2Frame], _ random: inout Random) -> String? {
        let fields: [(String, String)] = random.pick([
            [(":status", "20")], [(":status", "abc")], [(":status", "99999")], [(":status", "")], [(":status", "101")],
            [(":status", "200"), (":status", "201")],
            [("x", "y"), (":status", "200")], [(":path", "/"), (":status", "200")], [],
            [(":status", "200"), ("X-Upper", "1")],
            [(":status", "200"), ("connection", "close")], [(":status", "200"), ("transfer-encoding", "chunked")],
            [(":status", "200"), ("", "x")], [(":status", "200"), ("a b", "x")],
            [(":status", "200"), ("a", "x\r\nb: c")], [(":status", "200"), ("a", "\u{0}")],
            [(":status", "200"), ("content-length", "-1")],
            [(":status", "200"), ("content-length", "5"), ("content-length", "6")],
            [(":status", "200"), ("content-length", "99999999999999999999")],
            [(":status", "200"), ("big", String(repeating: "b", count: 70_000))],
            (0..<3000).map { ("n\($0)", "v") }, [(":status", "401"), ("www-authenticate", "Basic realm=x")],
            [(":unknown", "1"), (":status", "200")],
        ])
        var block = FieldBlock.make(fields)
        if random.chance(30) {
            block = random.pick([
                [0x80], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0xBE], [0x3F, 0xE1, 0xFF, 0xFF, 0xFF, 0x7F],
                [0x40, 0x85, 0xFF], [0x88, 0x00, 0xFF], [0x20, 0x20, 0x20, 0x88],
                [0x88, 0x5C, 0x81, 0xFF], random.bytes(40), [0x00, 0x81, 0xFF, 0x81, 0xFF], [],
            ])
        }
        let first = frames.firstIndex { $0.kind == .headers } ?? 0
        frames.removeAll { $0.kind == .continuation }
        frames[min(first, frames.count - 1)] = HTTP2Frame(
            kind: .headers, flags: random.pick([4, 4, 5]), stream: stream, payload: Array(block.prefix(16_384)))
        if block.count > 16_384 {
            frames[first].flags &= ~HTTP2Frame.endHeaders
            var rest = block.dropFirst(16_384)
            var index = first + 1
            while !rest.isEmpty {
                frames.insert(
                    HTTP2Frame(kind: .continuation, stream: stream, payload: Array(rest.prefix(16_384))), at: index)
                rest = rest.dropFirst(16_384)
                index += 1
            }
            frames[index - 1].flags |= HTTP2Frame.endHeaders
        }
        return "odd fields"
    }

    private func moveStream(_ frames: inout [HTTP2Frame], _ random: inout Random) -> String? {
        let index = random.below(frames.count)
        frames[index].stream = random.pick([
            0, 2, stream &+ 2, (stream &- 2) & 0x7FFF_FFFF, 0x7FFF_FFFF, 0x8000_0000 | stream,
        ])
        return "frame \(index) on stream \(frames[index].stream)"
    }

    private func dropFrame(_ frames: inout [HTTP2Frame], _ random: inout Random) -> String? {
        let index = random.below(frames.count)
        frames.remove(at: index)
        return "without frame \(index)"
    }

    private func push(_ frames: inout [HTTP2Frame], _ random: inout Random) -> String? {
        let block = FieldBlock.make([
            (":method", "GET"), (":scheme", "http"), (":authority", "a.test"), (":path", "/pushed"),
        ])
        let promised = random.pick([UInt32(2), 4, 0, 3, stream])
        frames.insert(
            HTTP2Frame(kind: .pushPromise, flags: 4, stream: stream, payload: HTTP2Frame.word(promised) + block), at: 0)
        frames.append(
            HTTP2Frame(kind: .headers, flags: 4, stream: promised, payload: FieldBlock.make([(":status", "200")])))
        frames.append(HTTP2Frame(kind: .data, flags: 1, stream: promised, payload: Array("evil".utf8)))
        return "PUSH_PROMISE of \(promised)"
    }

    // MARK: More than one

    private mutating func makeFlood(_ frames: inout [HTTP2Frame], _ random: inout Random) -> String? {
        let frame = random.pick([
            HTTP2Frame(kind: .data, stream: stream),
            HTTP2Frame(kind: .priority, stream: stream, payload: [0, 0, 0, 0, 5]),
            HTTP2Frame(kind: .altSvc, stream: stream, payload: [0, 0] + Array("h2=\":1\"".utf8)), .ping(),
            .settings([]), .windowUpdate(0, 1),
            HTTP2Frame(kind: .unknown, stream: 0), HTTP2Frame(kind: .settings, flags: 1, stream: 0),
            HTTP2Frame(kind: .headers, flags: 4, stream: stream, payload: FieldBlock.make([(":status", "103")])),
            .reset(stream, 8),
            .goAway(last: 0x7FFF_FFFF, 0), HTTP2Frame(kind: .data, flags: 8, stream: stream, payload: [3, 0, 0, 0]),
        ])
        let bytes = frame.bytes
        let many = (0..<(262_144 / bytes.count)).flatMap { _ in bytes }
        flood = .flood(many, milliseconds: random.pick([50, 500, 3000, 6000]))
        guard random.chance(50), let head = frames.firstIndex(where: { $0.kind == .headers }) else {
            return "flood of \(frame.kind)"
        }
        // The request stays under way, so that only the client's own guard ends the connection.
        frames = Array(frames.prefix(head + 1))
        frames[head].flags &= ~HTTP2Frame.endStream
        // Libcurl that hides a reset also hides that the server broke a rule, which is what such a flood is in the end.
        makesIncomplete = families.has(.h2reset)
        return "flood of \(frame.kind) after a head"
    }

    /// Fields without an end.
    private mutating func floodContinuations(_ frames: inout [HTTP2Frame], _ random: inout Random) -> String? {
        let block = FieldBlock.make([("x-many", String(repeating: "m", count: random.pick([0, 100, 8000])))])
        frames = [HTTP2Frame(kind: .headers, stream: stream, payload: FieldBlock.make([(":status", "200")]))]
        let frame = HTTP2Frame(kind: .continuation, stream: stream, payload: random.chance(20) ? [] : block)
        after = [.flood(frame.bytes, milliseconds: random.pick([50, 1000])), .close]
        return "CONTINUATION without end"
    }

    /// Frames that come when the answer is complete, and then the end of the connection.
    private mutating func idle(_ random: inout Random) -> String? {
        let frames: [[HTTP2Frame]] = [
            [.ping()], [.settings([])], [.goAway(last: stream, 0)], [.ping(), .goAway(last: stream, 0)],
            [.goAway(last: 0x7FFF_FFFF, 0)],
            [.windowUpdate(0, 1)], [HTTP2Frame(kind: .unknown, stream: 0)], [],
        ]
        after = [.wait(milliseconds: random.pick([0, 1, 10, 40])), .send(random.pick(frames).flatMap(\.bytes))]
        if random.chance(70) {
            after += [.wait(milliseconds: random.pick([0, 0, 5])), random.chance(70) ? .close : .reset]
        }
        return "idle frames"
    }
}
