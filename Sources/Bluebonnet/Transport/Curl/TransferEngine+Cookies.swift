import CCurl
import FoundationEssentials
import Glibc

/// The session's cookies, between what libcurl does with them.
extension TransferEngine {
    /// Returns the cookies, or why there are none any more.
    func cookies() -> Result<[Cookie], RequestError> {
        isShutDown ? .failure(RequestError(.sessionShutDown)) : .success(cookieJar?.cookies() ?? [])
    }

    /// Changes the cookies; returns why that cannot be.
    func changeCookies(_ change: CookieChange) -> RequestError? {
        guard !isShutDown else { return RequestError(.sessionShutDown) }
        guard let cookieJar else {
            guard case .set = change else { return nil }
            return RequestError(.cookies(.notKept))
        }
        cookieJar.change(change)
        return nil
    }
}

extension Transfer {
    /// Tells the jar of the cookies that lines of a head set.
    // Safety: the bytes are looked at within the callback that provides them.
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
