import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Responses to the handshake on the wire (RFC 6455 §4.1, RFC 7692 §7.1), whole and byte by byte.
@Suite(.timeLimit(.minutes(10))) struct WebSocketHandshakeTableTests {
    private typealias Failure = WebSocketHandshakeFailure

    struct Row: Sendable {
        let name: String
        /// The response for the value of `Sec-WebSocket-Accept`.
        let head: @Sendable (String) -> String
        let kind: RequestError.Kind?
        var selected: String?

        init(
            _ name: String, _ kind: RequestError.Kind? = nil, selected: String? = nil,
            _ head: @escaping @Sendable (String) -> String
        ) {
            self.name = name
            self.kind = kind
            self.selected = selected
            self.head = head
        }

        init(_ name: String, _ failure: WebSocketHandshakeFailure, _ head: @escaping @Sendable (String) -> String) {
            self.init(name, .webSocket(.handshake(failure)), head)
        }
    }

    /// A head with fields in place of others; the sample's `Sec-WebSocket-Accept` becomes the one for the request.
    private static func head(_ changes: [(String, String?)], _ accept: String) -> String {
        let headers = WebSocketHandshakeTests.headers(changes)
        let lines = headers.map { field in
            "\(field.name): \(field.value.replacing(WebSocketHandshakeTests.accept, with: accept))\r\n"
        }
        return "HTTP/1.1 101 Switching Protocols\r\n\(lines.joined())\r\n"
    }

    private static let fields: [Row] =
        WebSocketHandshakeTests.accepted.map { changes, selected, _ in
            Row("accepted \(changes)", selected: selected) { head(changes, $0) }
        }
        + WebSocketHandshakeTests.refused.map { changes, failure in
            let isUppercase = changes.contains { $0.1 == WebSocketHandshakeTests.accept.uppercased() }
            return Row("refused \(changes)", failure) {
                isUppercase ? head([("Sec-WebSocket-Accept", $0.uppercased())], $0) : head(changes, $0)
            }
        }

    private static let parameters: [Row] =
        WebSocketDeflateTests.fitting.filter { $0.0 == WebSocketDeflateTests.plain }.map { _, element, _ in
            Row("accepted: \(element)") { head([("Sec-WebSocket-Extensions", element)], $0) }
        }
        + WebSocketDeflateTests.unfitting.filter { $0.0 == WebSocketDeflateTests.plain }.map { _, parameters, name in
            Row("refused: \(parameters)", Failure.invalidExtensionParameter(name)) {
                head([("Sec-WebSocket-Extensions", "permessage-deflate; \(parameters)")], $0)
            }
        }

    private static let lines: [Row] = [
        Row("no reason phrase") { head([], $0).replacing("101 Switching Protocols", with: "101 ") },
        Row("no space behind the code") { head([], $0).replacing("101 Switching Protocols", with: "101") },
        Row("lines that end with LF") { head([], $0).replacing("\r\n", with: "\n") },
        Row("other cases of the names") {
            head([], $0).replacing("Sec-WebSocket-Accept", with: "sec-websocket-ACCEPT")
                .replacing("Upgrade:", with: "UPGRADE:").replacing("Connection", with: "connection")
        },
        Row("no space behind colons") { head([], $0).replacing(": ", with: ":") },
        Row("unknown fields") { head([("Server", "x"), ("X-Empty", ""), ("Date", "now")], $0) },
        Row("a field of 20,000 bytes") { head([("X-Long", String(repeating: "a", count: 20_000))], $0) },
        Row("Content-Length, which a 101 response cannot have") { head([("Content-Length", "5")], $0) },
        Row("Transfer-Encoding, which a 101 response cannot have") { head([("Transfer-Encoding", "chunked")], $0) },
        Row("an informational response before") { "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" + head([], $0) },
        Row("100 before") { "HTTP/1.1 100 Continue\r\n\r\n" + head([], $0) },
        Row("the key of another request", .webSocket(.handshake(.invalidField("Sec-WebSocket-Accept")))) { _ in
            head([], WebSocketHandshakeTests.accept)
        },
        Row("another protocol", .webSocket(.handshake(.invalidField("Upgrade")))) { _ in
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"
        },
        Row("no fields", .webSocket(.handshake(.invalidField("Upgrade")))) { _ in "HTTP/1.1 101 OK\r\n\r\n" },
        Row("no HTTP", .invalidResponse(.malformed)) { _ in "SSH-2.0-OpenSSH_9.2\r\n\r\n" },
    ]

    private static let codes: [Row] = [200, 201, 204, 300, 304, 400, 401, 403, 404, 405, 426, 429, 500, 503].map {
        code in
        Row("\(code)", Failure.unacceptableStatusCode(code)) { accept in
            head([], accept).replacing("101 Switching Protocols", with: "\(code) X")
        }
    }

    @Test(arguments: [fields, parameters, lines, codes], [true, false])
    fileprivate func `responses are accepted or refused for the right reason`(
        _ rows: [Row], isWhole: Bool
    ) async throws {
        let scripts = rows.map { row in
            let isAccepted = row.kind == nil
            // A message and the close frame follow at once.
            let bytes = isAccepted ? ServerFrame.text("a") + ServerFrame.close(1000) : []
            return SocketScript(
                head: row.head, bytes: bytes, cuts: !isAccepted, isWhole: isWhole, piece: 1)
        }
        try await SocketTable.with(scripts) { table in
            try await SocketTable.run(rows) { number, row in
                let selected = Locked<String?>(nil)
                let outcome = await table.outcome(number, protocols: ["chat", "superchat"]) { task in
                    guard row.kind == nil else { return }
                    _ = try await task.response
                    selected.withLock { $0 = task.negotiatedProtocol }
                }
                var expected = SocketOutcome(kind: row.kind)
                if row.kind == nil {
                    expected = SocketOutcome(
                        messages: [.text("a")], sent: [SocketOutcome.close(1000)], closeCode: 1000, closeReason: "")
                } else {
                    // There was no WebSocket; its end is not the subject.
                    expected.closeCode = outcome.closeCode
                    expected.closeReason = outcome.closeReason
                    expected.detail = outcome.detail
                }
                #expect(outcome == expected, "\(row.name)")
                #expect(selected.withLock(\.self) == row.selected, "\(row.name)")
            }
        }
    }
}
