/// An answer as a message of HTTP/1.1, in parts that can be changed before they become bytes.
struct HTTP1Message {
    var interim: [[UInt8]] = []
    var statusLine: String
    var lines: [[UInt8]]
    var body: [UInt8]
    /// The end of the body tells the end of the answer.
    var endsByClose: Bool
    /// How many bytes at its end may be missing from an answer that is complete: what follows the last chunk's size.
    var dispensable = 0
    private let isBodiless: Bool

    var headLength: Int { bytes.count - body.count }

    init(_ answer: PlannedResponse, isHead: Bool) {
        statusLine = "HTTP/1.1 \(answer.status) \(answer.reason)"
        lines = answer.fields.map { Array("\($0.0): \($0.1)".utf8) }
        interim = answer.interim.map { fields in
            Array("HTTP/1.1 \(fields.0) Interim\r\n".utf8)
                + fields.1.flatMap { Array("\($0.0): \($0.1)\r\n".utf8) } + [13, 10]
        }
        body = []
        endsByClose = false
        isBodiless = isHead || answer.status == 204 || answer.status == 304
        let coded = answer.body.coded
        switch isBodiless ? .length : answer.framing {
        case .length:
            if answer.status != 204, answer.status != 304 { lines.append(Array("Content-Length: \(coded.count)".utf8)) }
            body = isBodiless ? [] : coded
        case .chunked(let sizes, let extensions, let trailers):
            lines.append(Array("Transfer-Encoding: chunked".utf8))
            body = Self.chunks(coded, sizes: sizes, extensions: extensions, trailers: trailers)
            dispensable = 4 + trailers.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count + 4 }
        case .close:
            endsByClose = true
            lines.append(Array("Connection: close".utf8))
            body = coded
        }
    }

    private static func chunks(_ bytes: [UInt8], sizes: [Int], extensions: [String], trailers: [(String, String)])
        -> [UInt8]
    {
        var output: [UInt8] = []
        var rest = bytes[...]
        var number = 0
        while !rest.isEmpty {
            let count = max(1, min(rest.count, sizes[number % sizes.count]))
            output += Array((String(count, radix: 16) + extensions[number % extensions.count] + "\r\n").utf8)
            output += rest.prefix(count)
            output += [13, 10]
            rest = rest.dropFirst(count)
            number += 1
        }
        output += Array("0\r\n".utf8)
        for trailer in trailers { output += Array("\(trailer.0): \(trailer.1)\r\n".utf8) }
        return output + [13, 10]
    }

    var bytes: [UInt8] {
        var output = Array(interim.joined()) + Array(statusLine.utf8) + [13, 10]
        for line in lines { output += line + [13, 10] }
        return output + [13, 10] + body
    }

    // MARK: Variations that mean the same

    mutating func vary(_ random: inout Random) {
        if random.chance(15) { for index in lines.indices.reversed() { lines.swapAt(index, random.below(index + 1)) } }
        if random.chance(10) {
            for index in lines.indices {
                guard let colon = lines[index].firstIndex(of: 58) else { continue }
                for place in 0..<colon where (65...90).contains(lines[index][place]) { lines[index][place] |= 32 }
            }
        }
        if random.chance(10) { lines = lines.map { $0 + [32, 32] } }
        if random.chance(5) { lines.append(Array("X-Empty:".utf8)) }
        if random.chance(5) { lines.append(Array("X-Long: ".utf8) + [UInt8](repeating: 97, count: random.below(3000))) }
        if random.chance(5) { lines.append([UInt8]("X-Latin: ".utf8) + [0xE9, 0xFC, 0xFF]) }
        if random.chance(4) { lines.insert(Array("Keep-Alive: timeout=5, max=100".utf8), at: 0) }
    }
}
