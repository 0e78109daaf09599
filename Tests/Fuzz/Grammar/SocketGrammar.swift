import Bluebonnet

/// The parts of a request for a WebSocket that its answer depends on.
struct SocketSpec: Sendable {
    /// The value of `Sec-WebSocket-Key`.
    var key: String
    var offersCompression: Bool
    /// The largest message that the client accepts.
    var maximumMessage: Int
}

/// Generates what a peer sends for a request for a WebSocket (RFC 6455): handshakes and frames that are right, nearly
/// right, or wrong.
struct SocketGrammar {
    let mark: ExchangeMark
    let families: Families
    /// Whether nothing may be sent that breaks a rule.
    let isTame: Bool
    let spec: SocketSpec

    /// A script for one request.
    func script(_ random: inout Random) -> Script {
        var script = Script("socket", isClean: true)
        var head = handshake(&random, &script)
        let (frames, messages, isLimited) = frames(&random)
        var bytes = frames
        if isTame || script.isClean { script.expectation = isLimited ? .anything : .body(messages, status: 101) }
        if !isTame, families.has(.mutation), random.chance(25) {
            script.label += ", mutated"
            script.isClean = false
            if random.chance(70) {
                bytes = Mutator.mutate(bytes, &random)
            } else {
                head = Mutator.mutate(head, &random)
            }
        }
        if random.chance(20) { script.steps.append(.wait(milliseconds: random.pick([1, 5, 30, 120]))) }
        deliver(head, bytes, into: &script, &random)
        if !script.isClean { script.expectation = .anything }
        return script
    }

    // MARK: The handshake

    private func handshake(_ random: inout Random, _ script: inout Script) -> [UInt8] {
        var lines = [
            "HTTP/1.1 101 \(random.pick(["Switching Protocols", "", "é"]))",
            random.pick(["Upgrade: websocket", "upgrade: WebSocket"]),
            random.pick(["Connection: Upgrade", "Connection: keep-alive, upgrade"]),
            "Sec-WebSocket-Accept: \(WebSocketRequest.accept(for: spec.key))", "X-Mark: \(mark.text)",
        ]
        if spec.offersCompression {
            lines.append(
                "Sec-WebSocket-Extensions: permessage-deflate"
                    + random.pick([
                        "", "; server_no_context_takeover", "; client_max_window_bits=10; server_max_window_bits=15",
                    ]))
        }
        if !isTame, random.chance(15) {
            script.label += ", nearly a handshake"
            script.isClean = false
            let place = random.below(lines.count)
            switch random.below(7) {
            case 0: lines.remove(at: place)
            case 1: lines.insert(lines[place], at: place)
            case 2: lines[3] = "Sec-WebSocket-Accept: \(spec.key)"
            case 3:
                lines.append(
                    "Sec-WebSocket-Extensions: \(random.pick(["permessage-deflate; x", "bbf", ",", "\u{1b}[2J"]))")
            case 4: lines.append("Sec-WebSocket-Protocol: chat")
            case 5:
                lines.append(
                    random.pick(["Content-Encoding: gzip", "Content-Length: 3", "Transfer-Encoding: chunked"]))
            default:
                let interim = "HTTP/1.1 100 Continue\r\n\r\n"
                lines[0] = String(repeating: interim, count: random.pick([1, 5, 20_000])) + lines[0]
            }
        }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    // MARK: Frames

    /// The frames of some messages and a close frame, the bytes of the messages, and whether a limit may be met.
    private func frames(_ random: inout Random) -> (frames: [UInt8], messages: [UInt8], isLimited: Bool) {
        var (bytes, messages, isLimited) = ([UInt8](), [UInt8](), false)
        for _ in 0..<random.pick([0, 1, 2, 5, 20]) {
            let size = random.pick([0, 1, 32, 125, 126, 1000, 65_535, 65_536, 150_000])
            let isText = random.chance(50)
            let text = Array(("é" + mark.text + "-").utf8)
            let payload = isText && size < text.count ? [] : Array((0..<size).map { text[$0 % text.count] })
            // A text ends with a whole character.
            let message = isText && payload.last.map { $0 >= 0xc0 } == true ? Array(payload.dropLast()) : payload
            isLimited = isLimited || message.count > spec.maximumMessage
            messages += message
            let isCompressed = spec.offersCompression && random.chance(50)
            let wire = isCompressed ? Coding.deflate(message, windowBits: -15) + [0] : message
            append(wire, isText: isText, isCompressed: isCompressed, to: &bytes, &random)
        }
        if !isTame, random.chance(20) { bytes += wrong(&random) }
        if families.has(.bomb), !isTame, spec.offersCompression, random.chance(2) {
            let zeros = [UInt8](repeating: 0, count: random.pick([1, 8, 40]) << 20)
            isLimited = true
            bytes += Self.frame(0xc2, Coding.deflate(zeros, windowBits: -15) + [0])
        }
        let end: [UInt8] = random.pick([[], [3, 0xe8], [3, 0xe8] + Array("bye".utf8), [3, 0xe9]])
        return (bytes + Self.frame(0x88, end), messages, isLimited)
    }

    private func append(
        _ payload: [UInt8], isText: Bool, isCompressed: Bool, to bytes: inout [UInt8], _ random: inout Random
    ) {
        var rest = payload[...]
        var first: UInt8 = (isText ? 1 : 2) | (isCompressed ? 0x40 : 0)
        for _ in 0..<random.pick([0, 0, 0, 1, 3]) {
            let piece = rest.prefix(random.chance(30) ? 0 : random.below(rest.count + 1))
            bytes += Self.frame(first, Array(piece))
            rest = rest.dropFirst(piece.count)
            first = 0
            if random.chance(30) { bytes += Self.frame(random.pick([0x89, 0x8a]), random.bytes(random.below(126))) }
        }
        bytes += Self.frame(0x80 | first, Array(rest))
    }

    /// A frame that breaks a rule.
    private func wrong(_ random: inout Random) -> [UInt8] {
        random.pick([
            [0x81, 0x80, 1, 2, 3, 4], [0x83, 0], [0x8b, 0], [0xa1, 0], [0x09, 0], [0x80, 0], [0x89, 126, 0, 126],
            [0x81, 126, 0, 5], [0x81, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], [0x81, 127, 0x7f, 0xff, 0, 0, 0, 0, 0, 0],
            [0x88, 1, 3], [0x88, 2, 3, 0xed], [0x88, 3, 3, 0xe8, 0xff], [0x81, 1, 0xff], [0x01, 1, 0x61, 0x81, 0],
            [0xc1, 3, 0xff, 0xff, 0xff],
        ])
    }

    private static func frame(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let count = payload.count
        var bytes = [first, count < 126 ? UInt8(count) : count < 65_536 ? 126 : 127]
        let size = count < 126 ? 0 : count < 65_536 ? 2 : 8
        for byte in (0..<size).reversed() { bytes.append(UInt8(truncatingIfNeeded: count >> (8 * byte))) }
        return bytes + payload
    }

    // MARK: Delivery

    private func deliver(_ head: [UInt8], _ frames: [UInt8], into script: inout Script, _ random: inout Random) {
        // The frames may come with the head, or in any pieces.
        var bytes = head + frames
        if random.chance(50) {
            script.steps += [.send(head), .wait(milliseconds: random.pick([0, 1, 15]))]
            bytes = frames
        }
        if !isTame, families.has(.cuts), random.chance(20), !bytes.isEmpty {
            script.isClean = false
            script.label += ", cut"
            script.steps.append(.send(Array(bytes.prefix(random.below(bytes.count)))))
            script.steps += random.pick([
                [.close], [.reset], [.halfClose, .wait(milliseconds: 200), .close],
                [.wait(milliseconds: 5000), .close],
            ])
            return
        }
        if !isTame, families.has(.socketflood), random.chance(6) {
            script.isClean = false
            script.label += ", flood"
            let frame: [UInt8] = random.pick([
                [0x81, 0], [0x82, 1, 7], [0x89, 0], [0x8a, 1, 1], [0x00, 0], [0x02, 0, 0x80, 0],
            ])
            // Without a close frame before it.
            script.steps.append(.send(Array(bytes.prefix(max(0, bytes.count - 7)))))
            script.steps.append(.flood((0..<5000).flatMap { _ in frame }, milliseconds: 300))
            return script.steps.append(.close)
        }
        if bytes.count < 600, random.chance(6) {
            script.steps.append(.dribble(bytes, every: random.below(3)))
        } else {
            var rest = bytes[...]
            for _ in 0..<random.pick([0, 0, 1, 3]) where rest.count > 1 {
                let piece = rest.prefix(random.number(in: 1...min(300, rest.count)))
                script.steps += [.send(Array(piece)), .wait(milliseconds: random.pick([0, 1, 15]))]
                rest = rest.dropFirst(piece.count)
            }
            script.steps.append(.send(Array(rest)))
        }
        // The client has read everything and answered the close frame before the connection is closed, or it has not:
        // then the system may reset the connection, and discard what the client has not read.
        let isEarly = !isTame && random.chance(40)
        if isEarly { script.isClean = false }
        let pause = Step.wait(milliseconds: isEarly ? 40 : 5000)
        script.steps += random.pick([[pause], [.halfClose, pause]])
        script.steps.append(isEarly && random.chance(25) ? .reset : .close)
    }
}
