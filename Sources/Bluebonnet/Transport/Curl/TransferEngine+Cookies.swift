import BluebonnetLibc
import FoundationEssentials

/// Reads and changes the session's cookies while libcurl does not use them.
extension TransferEngine: CookieStorage {
    func cookies() throws(RequestError) -> [Cookie] {
        guard !isShutDown else { throw RequestError(.sessionShutDown) }
        return cookieJar?.cookies() ?? []
    }

    func changeCookies(_ change: CookieChange) throws(RequestError) {
        guard !isShutDown else { throw RequestError(.sessionShutDown) }
        guard let cookieJar else {
            guard case .set = change else { return }
            throw RequestError(.cookies(.disabled))
        }
        if case .set(let cookies) = change { for cookie in cookies { try cookie.validate() } }
        cookieJar.change(change)
    }
}

extension Transfer {
    /// Reports the cookies in lines of a head to the cookie jar.
    // Safety: the bytes are only read within the callback that provides them.
    func noteCookies(in lines: UnsafeRawBufferPointer) {
        guard let jar = turn.cookieJar, let easy, easy.usesCookies else { return }
        var rest = unsafe lines
        while let start = rest.baseAddress, let end = unsafe memchr(start, 0x0a, rest.count) {
            let count = unsafe UnsafeRawPointer(end) - start
            let line = unsafe UnsafeRawBufferPointer(rebasing: rest[..<count])
            unsafe rest = UnsafeRawBufferPointer(rebasing: rest[(count + 1)...])
            guard unsafe FieldSyntax.isField(line.assumingMemoryBound(to: UInt8.self).span, named: "set-cookie") else {
                continue
            }
            let bytes = unsafe line.last == 0x0d ? line[11...].dropLast() : line[11...]
            let field = unsafe String(decoding: bytes, as: UTF8.self)
            jar.received(String(field.trimmed), from: easy.upgradedURL(of: request.url) ?? request.url)
        }
    }
}
