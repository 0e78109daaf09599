/// What can be wrong with a message of HTTP/1.1.
extension HTTP1Message {
    /// Makes one thing wrong; says which.
    mutating func mutate(_ random: inout Random, families: Families) -> String? {
        guard random.chance(45) else { return nil }
        switch random.below(20) {
        case 0 where families.has(.prevhead):
            lines.insert(Array(random.pick([" ", "\t", " X: y", "\tX: y", "  "]).utf8), at: 0)
            return "folded first line"
        case 1: return foldLine(&random)
        case 2: return changeLength(&random)
        case 3:
            body = Array(random.pick(Odd.chunks).utf8) + body
            return "odd first chunk"
        case 4, 5:
            let line = random.pick(Odd.statusLines)
            statusLine = families.has(.mixedversions) || !line.hasPrefix("HTTP/2") ? line : "HTTP/0 200"
            return "status line \(statusLine)"
        case 6:
            lines.insert(Array(random.pick(Odd.lines).utf8), at: random.below(lines.count + 1))
            return "bad line"
        case 7:
            lines = [Array(lines.joined(separator: [10]))]
            return "bare line feeds"
        case 8: return enlarge(&random)
        case 9: return interim(&random)
        case 10:
            statusLine = "HTTP/1.1 \(random.pick([204, 304, 205])) x"
            return "body where none may be"
        case 11:
            statusLine = "HTTP/1.1 \(random.pick([401, 407])) x"
            lines.append(Array(random.pick(Odd.challenges).utf8))
            return "challenge"
        case 12 where families.has(.chunkflood): return floodChunks(&random)
        case 13:
            statusLine = "HTTP/1.1 \(random.pick([503, 429, 500, 408])) x"
            lines.append(Array("Retry-After: \(random.pick(Odd.retries))".utf8))
            return "Retry-After"
        case 14:
            if random.chance(50) { statusLine = "HTTP/1.1 206 Partial" }
            lines.append(Array("Content-Range: bytes \(random.pick(Odd.ranges))".utf8))
            return "Content-Range"
        default:
            let line = random.pick(Odd.fields)
            lines.append(Array(line.utf8))
            return line.utf8.count < 100 ? line : "\(line.prefix(40))…"
        }
    }

    private mutating func foldLine(_ random: inout Random) -> String {
        let line = random.pick([" folded", "\tfolded: x", " ", "\t", " \u{0}", "\t\t:"])
        lines.insert(Array(line.utf8), at: random.number(in: 1...max(1, lines.count)))
        return "folded line"
    }

    private mutating func changeLength(_ random: inout Random) -> String {
        let name = Array("Content-Length".utf8)
        if random.chance(50) { lines.removeAll { $0.starts(with: name) } }
        let near = "\(body.count + random.pick([-1, 1, 1000]))"
        let value = random.chance(40) ? near : random.pick(Odd.lengths)
        lines.append(Array("Content-Length: \(value)".utf8))
        return "Content-Length \(value)"
    }

    private mutating func enlarge(_ random: inout Random) -> String {
        if random.chance(50) {
            let count = random.pick([100, 400, 5000])
            lines += Array(repeating: Array("X-Many: m".utf8), count: count)
            return "\(count) fields"
        }
        let count = random.pick([20_000, 100_000, 400_000])
        lines.append(Array("X-Huge: ".utf8) + [UInt8](repeating: 98, count: count))
        return "a field of \(count) bytes"
    }

    private mutating func interim(_ random: inout Random) -> String {
        let text = random.pick(Odd.interim)
        interim += Array(repeating: Array(text.utf8), count: random.pick([1, 1, 20, 1000]))
        return "\(interim.count) interim: \(text.prefix(30))"
    }

    private mutating func floodChunks(_ random: inout Random) -> String {
        lines.removeAll { $0.starts(with: Array("Content-Length".utf8)) || $0.starts(with: Array("Transfer-".utf8)) }
        lines.append(Array("Transfer-Encoding: chunked".utf8))
        let count = random.pick([1000, 30_000, 100_000])
        func many(_ text: String) -> [UInt8] { Array(repeatElement(Array(text.utf8), count: count).joined()) }
        switch random.below(4) {
        case 0:
            body = many("1\r\na\r\n") + Array("0\r\n\r\n".utf8)
            return "\(count) chunks of a byte"
        case 1:
            body = Array("1;".utf8) + [UInt8](repeating: 101, count: count * 5) + Array("\r\na\r\n0\r\n\r\n".utf8)
            return "chunk extension of \(count * 5) bytes"
        case 2:
            let chunk = Array("1;".utf8) + [UInt8](repeating: 101, count: 8000) + Array("\r\na\r\n".utf8)
            body = Array(repeatElement(chunk, count: count / 100).joined()) + Array("0\r\n\r\n".utf8)
            return "\(count / 100) bytes with extensions of 8,000 bytes"
        default:
            body = Array("0\r\n".utf8) + many("X-Trailer: abc\r\n") + [13, 10]
            return "\(count) trailers"
        }
    }
}

/// Lines and values that a server may send and should not.
private enum Odd {
    static let lengths = [
        "-1", "x", "", "1e3", "0x5", "99999999999999999999", "5, 5", "5,6", "+3", "3 3", " ", "9223372036854775807",
        "٣",
    ]
    static let chunks = [
        "zz\r\n", "-1\r\n", "ffffffffffffffffff\r\n", "\r\n", "5", "5 \r\nabcde\r\n", "5;\r\n", "7fffffffffffffff\r\n",
        "0\r\n\r\n", "00000000000000000000\r\n", "5\nabcde\n", "0x5\r\nabcde\r\n",
    ]
    static let statusLines = [
        "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 2000 OK", "HTTP/1.1 20 OK", "HTTP/1.1 000 x", "HTTP/1.1 999 x",
        "HTTP/9.9 200 OK",
        "HTTP/1.0 200 OK", "HTTP/2 200", "HTTP/3 200 OK", "http/1.1 200 ok", "HTTP/1.1 -20 OK", "ICY 200 OK", "200 OK",
        "",
        " HTTP/1.1 200 OK", "HTTP/1.1 200", "HTTP/1.1\t200\tOK", "HTTP/1.1 2 0 0", "HTTP/11 200 OK", "RTSP/1.0 200 OK",
        "HTTP/1.1 101 Switching Protocols", "HTTP/1.1 199 x", "HTTP/1.1 100 Continue", "HTTP/1.1 200 \u{0}",
    ]
    static let lines = [
        "no colon", ": no name", "A B: c", "A : b", "A\u{0}B: c", "A: b\u{0}c", "é: f", "A\rB: 2", "\r", "A: b\rC: d",
        ":",
    ]
    static let interim = [
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nSet-Cookie: a=b\r\nContent-Length: 9\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", "HTTP/1.1 102 x\r\n\r\n",
        "\r\n",
        "HTTP/1.1 199 x\r\nTransfer-Encoding: chunked\r\n\r\n", "\n\n", "x", "\u{0}", "HTTP/1.1 100\r\n\r\n",
    ]
    static let challenges = [
        "WWW-Authenticate: Basic realm=\"x\"", "WWW-Authenticate: Digest realm=\"a\", nonce=\"b\", qop=\"auth\"",
        "WWW-Authenticate: Digest algorithm=SHA-512-256\r\nWWW-Authenticate: Digest realm=\"a\\\"b\", nonce=\"\u{85}\\\\\"",
        "WWW-Authenticate: Digest algorithm=x, Digest realm=, nonce=1, algorithm=MD5-sess, userhash=true, stale=true",
        "Keep-Alive: timeout=0", "Keep-Alive: timeout=18446744073709551616, max=0", "Keep-Alive: timeout=,timeout==1",
        "WWW-Authenticate: Digest", "WWW-Authenticate: ", "Proxy-Authenticate: Basic realm=x",
        "WWW-Authenticate: NTLM TlRMTVNTUAACAAAA", "WWW-Authenticate: Negotiate YII=",
        "WWW-Authenticate: Digest realm=\"" + String(repeating: "r", count: 3000) + "\", nonce=\"\\\"\"",
        "WWW-Authenticate: Basic realm=\"x\", Basic realm=y, Digest nonce=,,,",
    ]
    static let retries = ["0", "-1", "99999999999999999999", "x", "Fri, 31 Feb 1999 99:99:99 GMT"]
    static let ranges = ["0-1/2", "5-1/3", "*/0", "-1--1/x", "0-99999999999999999999/*", "0-0/0"]
    static let fields = [
        "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: identity", "Transfer-Encoding: x",
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: gzip", "Transfer-Encoding: ,",
        "Transfer-Encoding: chunked;a=b", "Connection: close, keep-alive", "Connection: upgrade",
        "Connection: Content-Length",
        "Connection: ,,,", "Connection: close", "Content-Type: text/plain; charset=\u{1}",
        "Content-Type: a/b; charset=\"",
        "Content-Type: ;;;", "Content-Type: text/html; charset=utf-7", "Content-Type: /",
        "Content-Type: application/json; charset=iso-8859-15", "Content-Type: " + String(repeating: "a/", count: 2000),
        "Content-Disposition: attachment; filename=../../x", "Content-Disposition: attachment; filename=\"\\\"",
        "Content-Disposition: attachment; filename=/etc/passwd", "Content-Disposition: attachment; filename=..",
        "Content-Disposition: attachment; filename=\u{0}", "Content-Encoding: x",
        "Content-Encoding: gzip, br, zstd, deflate, gzip, br",
        "Content-Encoding: " + String(repeating: "gzip, ", count: 500) + "gzip", "Upgrade: h2c",
        "Trailer: Content-Length",
        "Persistent-Auth: true", "Content-Length: 0", "Location: ", "Link: <" + String(repeating: "l", count: 5000),
    ]
}
