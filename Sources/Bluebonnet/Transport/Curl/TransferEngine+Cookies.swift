import CCurl
import FoundationEssentials

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

    /// Looks after what the heads of this turn have set.
    func confineCookies(of transfers: inout [Transfer]) {
        guard !transfers.isEmpty else { return }
        for transfer in transfers {
            transfer.hasNewCookies = false
            cookieJar?.confineCookies(of: transfer.request.url)
        }
        transfers.removeAll(keepingCapacity: true)
    }
}

extension Transfer {
    /// Whether a line of a head sets a cookie.
    // Safety: the bytes are looked at within the callback that provides them.
    static func setsCookie(_ line: UnsafeRawBufferPointer) -> Bool {
        guard line.count > 11, unsafe line[0] | 0x20 == 0x73, unsafe line[10] == 0x3a else { return false }
        return unsafe zip(line, "set-cookie".utf8).allSatisfy { $0 | 0x20 == $1 || $0 == $1 }
    }
}

extension CurlTransport: CookieKeepingTransport {
    func cookies() async throws(RequestError) -> [Cookie] {
        try await onLoop { $0.cookies() }.get()
    }

    func changeCookies(_ change: CookieChange) async throws(RequestError) {
        if let error = await onLoop({ $0.changeCookies(change) }) { throw error }
    }
}
