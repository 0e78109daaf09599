/// Sends and stores what a session keeps between exchanges: cookies, and hosts that require TLS.
extension Transfer {
    var isSecure: Bool { url.isSecure }

    /// Stores the cookies of a response (RFC 6265 §5.3), and that its server requires TLS (RFC 6797 §8.1).
    func store(_ head: ReceivedHead) {
        if responseBuffer.hasCookies, usesCookies, let cookies = turn.cookies {
            for field in head.rawValues(of: "Set-Cookie") { cookies.received(field, from: url) }
        }
        // Only the first field counts.
        guard let hsts = turn.hsts, let field = head.headers.values(for: "Strict-Transport-Security").first else {
            return
        }
        hsts.received(field, from: url)
    }

    /// The cookies of a request that is about to be sent: the stored ones, and then those of its own fields.
    func cookieField() -> [UInt8] {
        var field = usesCookies ? turn.cookies?.field(for: url) ?? [] : []
        guard let ownCookies else { return field }
        if !field.isEmpty { field += [0x3b, 0x20] }
        field += ownCookies.utf8
        return field
    }
}
