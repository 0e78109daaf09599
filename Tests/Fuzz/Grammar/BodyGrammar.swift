import CZlib

/// The body of an answer: what the client shall read, and how it is coded on the wire.
struct Body: Sendable {
    var plain: [UInt8]
    var coded: [UInt8]
    /// The value of Content-Encoding, when there is one.
    var coding: String?
    var contentType: String
    /// Whether the coded bytes mean the plain ones.
    var isSound = true
}

/// Makes bodies whose pieces carry the mark of their exchange.
struct BodyGrammar {
    let mark: ExchangeMark
    let families: Families

    /// A body of about so many bytes in the form that a kind of request reads.
    func make(_ random: inout Random, form: BodyForm, decodes: Bool, isSmall: Bool) -> Body {
        let large = isSmall ? 5000 : random.pick([70_000, 70_000, 300_000])
        let size = random.pick(weighted: [(3, 0), (8, 40), (8, 400), (6, 5000), (3, large)])
        var body = Body(plain: [], coded: [], coding: nil, contentType: form.contentType)
        switch form {
        case .data: body.plain = lines(&random, size: size, end: "\n")
        case .lines: body.plain = lines(&random, size: size, end: random.pick(["\n", "\r\n", "\n\n"]))
        case .json: body.plain = json(&random, size: size)
        case .events: body.plain = events(&random, size: min(size, 70_000))
        case .multipart: body.plain = multipart(&random, size: size)
        }
        body.coded = body.plain
        guard decodes, random.chance(families.has(.coding) ? 35 : 0) else { return body }
        code(&body, &random)
        return body
    }

    private func lines(_ random: inout Random, size: Int, end: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var number = 0
        while bytes.count < size {
            bytes += Array("<".utf8) + mark.bytes + Array("> \(number)".utf8)
            if random.chance(10) {
                bytes += Array(repeating: UInt8(random.number(in: 33...36)), count: random.below(300))
            }
            bytes += Array(end.utf8)
            number += 1
        }
        return bytes
    }

    private func json(_ random: inout Random, size: Int) -> [UInt8] {
        var text = #"{"mark":"\#(mark.text)","list":["#
        for number in 0..<(size / 50) {
            text += number == 0 ? "" : ","
            text += random.pick(["1e9", "-0.5", "null", "true", #"{"a":"\#(mark.text)"}"#, #""\u00e9\ud83d\ude00""#])
        }
        return Array((text + "]}").utf8)
    }

    private func events(_ random: inout Random, size: Int) -> [UInt8] {
        var bytes: [UInt8] = random.chance(10) ? [0xEF, 0xBB, 0xBF] : []
        let end = random.pick(["\n", "\r\n", "\r"])
        while bytes.count < size {
            var lines = ["data: \(mark.text)"]
            if random.chance(30) { lines.append("id: \(random.below(1000))") }
            if random.chance(20) { lines.append("event: \(random.pick(["", "message", "x"]))") }
            if random.chance(10) {
                lines.append("retry: \(random.pick(["10", "0", "99999999999999999999", "-1", "x"]))")
            }
            if random.chance(10) { lines.append(":" + String(repeating: "c", count: random.below(200))) }
            if random.chance(10) { lines.append("data") }
            if random.chance(5) { lines.append("id: \u{0}") }
            bytes += Array((lines.joined(separator: end) + end + end).utf8)
        }
        return bytes
    }

    private func multipart(_ random: inout Random, size: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < size {
            bytes += Array("--frame\r\nContent-Type: text/plain\r\n\r\n\(mark.text)\r\n".utf8)
        }
        return bytes + Array("--frame--\r\n".utf8)
    }

    // MARK: Content codings

    private func code(_ body: inout Body, _ random: inout Random) {
        let coding = random.pick([
            "gzip", "gzip", "deflate", "deflate", "br", "zstd", "x-gzip", "identity", "gzip, gzip",
        ])
        switch coding {
        case "gzip", "x-gzip": body.coded = Coding.deflate(body.plain, windowBits: 31)
        case "gzip, gzip":
            body.coded = Coding.deflate(Coding.deflate(body.plain, windowBits: 31), windowBits: 31)
        case "deflate":
            // Without zlib's header it is what some servers send, and clients may not understand.
            body.isSound = random.chance(70)
            body.coded = Coding.deflate(body.plain, windowBits: body.isSound ? 15 : -15)
        case "br": body.coded = Coding.brotli(body.plain)
        case "zstd": body.coded = Coding.zstandard(body.plain)
        default: break
        }
        body.coding = coding
        guard random.chance(35) else { return }
        body.isSound = false
        switch random.below(5) {
        case 0: body.coded = Array(body.coded.prefix(random.below(body.coded.count)))
        case 1: body.coded = Mutator.mutate(body.coded, &random)
        case 2: body.coding = random.pick(["gzip", "br", "zstd", "deflate", "compress", "gzip;q=1", "", ",,,", "GZIP"])
        case 3: body.coded += body.coded
        default: body.coded += random.bytes(random.number(in: 1...40))
        }
    }

    /// A body that is some kilobytes on the wire and `megabytes` when it is decoded.
    func bomb(_ random: inout Random, megabytes: Int) -> Body {
        let start = Array("<".utf8) + mark.bytes + Array(">".utf8)
        let plain = start + [UInt8](repeating: 0, count: megabytes << 20)
        var body = Body(plain: plain, coded: [], coding: nil, contentType: "application/octet-stream")
        if random.chance(50) {
            body.coded = Coding.deflate(plain, windowBits: 31)
            body.coding = "gzip"
        } else {
            body.coded = Coding.zstandard(start, zeros: megabytes << 20)
            body.coding = "zstd"
        }
        return body
    }
}

/// What shape a body has, by what its reader expects.
enum BodyForm: Sendable {
    case data, lines, json, events, multipart

    var contentType: String {
        switch self {
        case .data: "application/octet-stream"
        case .lines: "text/plain; charset=utf-8"
        case .json: "application/json"
        case .events: "text/event-stream"
        case .multipart: "multipart/x-mixed-replace; boundary=frame"
        }
    }
}

/// The content codings, as far as a peer needs them.
// Safety: the stream's pointers are used within the closures that provide them, with the lengths of the memory behind.
enum Coding {
    /// zlib's format (window bits 15), gzip's (31) or none (-15).
    static func deflate(_ bytes: [UInt8], windowBits: Int32) -> [UInt8] {
        var stream = unsafe z_stream()
        guard unsafe bb_deflate_init(&stream, 6, windowBits) == Z_OK else { return bytes }
        defer { unsafe _ = deflateEnd(&stream) }
        var input = bytes
        var output = [UInt8](repeating: 0, count: Int(unsafe deflateBound(&stream, UInt(bytes.count))) + 64)
        let count = unsafe input.withUnsafeMutableBufferPointer { source in
            unsafe output.withUnsafeMutableBufferPointer { target in
                unsafe stream.next_in = source.baseAddress
                unsafe stream.avail_in = UInt32(source.count)
                unsafe stream.next_out = target.baseAddress
                unsafe stream.avail_out = UInt32(target.count)
                _ = unsafe CZlib.deflate(&stream, Z_FINISH)
                return unsafe Int(stream.total_out)
            }
        }
        return Array(output.prefix(count))
    }

    /// Brotli's format (RFC 7932) with nothing but uncompressed meta-blocks.
    static func brotli(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        var isFirst = true
        for start in stride(from: 0, to: bytes.count, by: 65_536) {
            let piece = bytes[start..<min(start + 65_536, bytes.count)]
            // ISLAST 0, MNIBBLES 0 (4 nibbles), MLEN - 1, ISUNCOMPRESSED 1; before the first, WBITS 0 (16).
            var bits = (piece.count - 1) << 3 | 1 << 19
            if isFirst { bits <<= 1 }
            output += [UInt8(bits & 255), UInt8(bits >> 8 & 255), UInt8(bits >> 16 & 255)]
            output += piece
            isFirst = false
        }
        // ISLAST 1, ISLASTEMPTY 1.
        return output + [isFirst ? 0b110 : 0b11]
    }

    /// Zstandard's format (RFC 8878) with raw blocks, and blocks that repeat a zero.
    static func zstandard(_ bytes: [UInt8], zeros: Int = 0) -> [UInt8] {
        var output: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x58]
        func block(_ count: Int, kind: Int, isLast: Bool) {
            let head = (isLast ? 1 : 0) | kind << 1 | count << 3
            output += [UInt8(head & 255), UInt8(head >> 8 & 255), UInt8(head >> 16 & 255)]
        }
        for start in stride(from: 0, to: bytes.count, by: 131_072) {
            let piece = bytes[start..<min(start + 131_072, bytes.count)]
            block(piece.count, kind: 0, isLast: false)
            output += piece
        }
        for start in stride(from: 0, to: zeros, by: 131_072) {
            block(min(131_072, zeros - start), kind: 1, isLast: false)
            output.append(0)
        }
        block(0, kind: 0, isLast: true)
        return output
    }
}
