import FoundationEssentials

/// The parameters of the extension `permessage-deflate` in an offer or after the negotiation (RFC 7692 §7.1).
///
/// A window size is the base-2 logarithm of the number of bytes, from 8 to 15.
struct WebSocketDeflateParameters: Hashable, Sendable {
    static let name = "permessage-deflate"
    /// The end of the compressed data of each message, which is not sent (RFC 7692 §7.2.1).
    static let flushMark = Data([0x00, 0x00, 0xff, 0xff])

    /// Whether the server compresses each message by itself.
    var serverNoContextTakeover = false
    /// Whether the client compresses each message by itself.
    var clientNoContextTakeover = false
    /// The maximum window size of the server.
    var serverMaxWindowBits = 15
    /// The maximum window size of the client.
    var clientMaxWindowBits = 15

    /// The element of `Sec-WebSocket-Extensions` in a request.
    var offer: String {
        var text = Self.name
        if serverNoContextTakeover { text += "; server_no_context_takeover" }
        if clientNoContextTakeover { text += "; client_no_context_takeover" }
        if serverMaxWindowBits < 15 { text += "; server_max_window_bits=\(serverMaxWindowBits)" }
        // The name without a value allows the server to limit the window of the client (RFC 7692 §7.1.2.2).
        text += "; client_max_window_bits"
        return clientMaxWindowBits < 15 ? text + "=\(clientMaxWindowBits)" : text
    }

    /// Returns the negotiated parameters, where these are the offered parameters.
    ///
    /// - Parameter element: The element of `Sec-WebSocket-Extensions` in the response.
    /// - Returns: The parameters for both directions.
    /// - Throws: A failure if the element does not fit the offer.
    func agreement(_ element: Substring) throws(WebSocketHandshakeFailure) -> WebSocketDeflateParameters {
        // The values of these parameters contain no semicolon, not even in quotes.
        let parts = element.split(separator: ";", omittingEmptySubsequences: false).map(\.trimmed)
        guard parts[0].lowercased() == Self.name else { throw .unofferedExtension(String(parts[0])) }
        // The client may limit itself without the server's consent; the server's own limits need its consent.
        var agreed = WebSocketDeflateParameters(
            clientNoContextTakeover: clientNoContextTakeover, clientMaxWindowBits: clientMaxWindowBits)
        var names: Set<String> = []
        for part in parts.dropFirst() {
            var text = part.utf8
            let name = text.takeToken()
            let value = text.takeParameterValue(until: [])
            guard text.isEmpty, names.insert(name).inserted, agreed.accept(name, value, offer: self) else {
                throw .invalidExtensionParameter(name)
            }
        }
        guard !serverNoContextTakeover || agreed.serverNoContextTakeover else {
            throw .invalidExtensionParameter("server_no_context_takeover")
        }
        guard agreed.serverMaxWindowBits <= serverMaxWindowBits else {
            throw .invalidExtensionParameter("server_max_window_bits")
        }
        return agreed
    }

    private mutating func accept(_ name: String, _ value: String?, offer: WebSocketDeflateParameters) -> Bool {
        // The value has no leading zero (RFC 7692 §7.1.2.1).
        let bits = (8...15).first { String($0) == value }
        switch (name, value, bits) {
        case ("server_no_context_takeover", nil, _): serverNoContextTakeover = true
        case ("client_no_context_takeover", nil, _): clientNoContextTakeover = true
        case ("server_max_window_bits", _, let bits?): serverMaxWindowBits = bits
        case ("client_max_window_bits", _, let bits?) where bits <= offer.clientMaxWindowBits:
            clientMaxWindowBits = bits
        default: return false
        }
        return true
    }
}
