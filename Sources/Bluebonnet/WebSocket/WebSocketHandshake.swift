import FoundationEssentials

/// The opening handshake of a client (RFC 6455 §4.1).
struct WebSocketHandshake: Sendable {
    /// The value of `Sec-WebSocket-Key`.
    let key: String
    /// The subprotocols that are offered, in order of preference.
    let protocols: [String]
    /// The parameters of the compression that is offered; `nil` if it is not offered.
    let offer: WebSocketDeflateParameters?

    /// Creates a handshake; the subprotocols must be different tokens.
    init(
        protocols: [String] = [], offer: WebSocketDeflateParameters? = nil, key: String = randomKey()
    ) throws(WebSocketHandshakeFailure) {
        guard protocols.allSatisfy(\.utf8.isToken), Set(protocols).count == protocols.count else {
            throw .invalidProtocol
        }
        self.protocols = protocols
        self.offer = offer
        self.key = key
    }

    /// The fields of the request, in addition to `Host`; the method is GET.
    var fields: [HTTPHeader] {
        var fields = [
            HTTPHeader(name: "Upgrade", value: "websocket"), HTTPHeader(name: "Connection", value: "Upgrade"),
            HTTPHeader(name: "Sec-WebSocket-Key", value: key), HTTPHeader(name: "Sec-WebSocket-Version", value: "13"),
        ]
        if !protocols.isEmpty {
            fields.append(HTTPHeader(name: "Sec-WebSocket-Protocol", value: protocols.joined(separator: ", ")))
        }
        if let offer { fields.append(HTTPHeader(name: "Sec-WebSocket-Extensions", value: offer.offer)) }
        return fields
    }

    /// Checks the response, and returns the result of the negotiation.
    func agreement(statusCode: Int, headers: HTTPHeaders) throws(WebSocketHandshakeFailure) -> WebSocketAgreement {
        guard statusCode == 101 else { throw .unacceptableStatusCode(statusCode) }
        guard headers.value(for: "Upgrade")?.trimmed.lowercased() == "websocket" else { throw .invalidField("Upgrade") }
        guard Self.elements(headers.value(for: "Connection")).contains(where: { $0.lowercased() == "upgrade" }) else {
            throw .invalidField("Connection")
        }
        guard headers.value(for: "Sec-WebSocket-Accept")?.trimmed == Self.accept(for: key)[...] else {
            throw .invalidField("Sec-WebSocket-Accept")
        }
        let selected = headers.value(for: "Sec-WebSocket-Protocol").map { String($0.trimmed) }
        if let selected, !protocols.contains(selected) { throw .unofferedProtocol }
        var deflate: WebSocketDeflateParameters?
        for element in Self.elements(headers.value(for: "Sec-WebSocket-Extensions")) {
            // A second element of the same name would need another reserved bit.
            guard let offer, deflate == nil else { throw .unofferedExtension(String(element.prefix { $0 != ";" })) }
            deflate = try offer.agreement(element)
        }
        return WebSocketAgreement(negotiatedProtocol: selected, deflate: deflate)
    }

    /// Returns the value of `Sec-WebSocket-Accept` that proves that a server has received the key.
    static func accept(for key: String) -> String {
        Digest.sha1(of: Data((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)).base64EncodedString()
    }

    static func randomKey() -> String {
        Data((0..<16).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString()
    }

    private static func elements(_ value: String?) -> [Substring] {
        var list = Substring(value ?? "").utf8
        var elements: [Substring] = []
        while let element = list.takeElement() { elements.append(element) }
        return elements
    }
}

/// The result of a handshake.
struct WebSocketAgreement: Hashable, Sendable {
    /// The subprotocol that the server has selected.
    let negotiatedProtocol: String?
    /// The parameters of the compression; `nil` if messages are not compressed.
    let deflate: WebSocketDeflateParameters?
}
