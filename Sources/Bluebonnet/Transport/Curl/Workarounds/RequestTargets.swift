import CCurl
import FoundationEssentials

/// Finds the request targets that libcurl would change (RFC 9112 §3.2).
///
/// Libcurl 7.88.1 omits the `?` of an empty query in requests to proxies, and 8.14.1 also in requests to servers.
/// Libcurl 8.21.0 and later writes percent-encoded octets in upper case. A server that verifies the signature of a URL
/// then refuses the request. Such a target is therefore passed to libcurl in addition to the URL.
enum RequestTargets {
    enum Form {
        /// The path and the query, for servers.
        case origin
        /// The whole URL, for HTTP proxies that do not open a tunnel.
        case absolute
    }

    /// Whether libcurl changes percent-encoded octets.
    private static let changesCase = Libcurl.version >= 0x08_0f_00

    /// Whether libcurl would change the target of a URL, which has no fragment.
    static func changes(_ url: String, changesCase: Bool = Self.changesCase) -> Bool {
        let bytes = url.utf8.span
        guard bytes.count > 0, bytes[bytes.count - 1] != UInt8(ascii: "?") else { return true }
        guard changesCase else { return false }
        for index in bytes.indices.dropLast(2) where bytes[index] == UInt8(ascii: "%") {
            if isLowerCase(bytes[index + 1]) || isLowerCase(bytes[index + 2]) { return true }
        }
        return false
    }

    /// Returns the target of a URL in the given form; `nil` if the URL has characters that libcurl has to encode.
    static func target(of url: String, _ form: Form) -> String? {
        let syntax = URLSyntax(url.utf8.span)
        let utf8 = Array(url.utf8)
        let sent = form == .origin ? utf8[syntax.authority.upperBound...] : utf8[...]
        guard sent.allSatisfy({ 0x20 < $0 && $0 < 0x7f }) else { return nil }
        let path = String(decoding: utf8[syntax.authority.upperBound...], as: UTF8.self)
        let origin = path.hasPrefix("/") ? path : "/" + path
        switch form {
        case .origin: return origin
        case .absolute:
            let scheme = String(decoding: utf8[syntax.scheme], as: UTF8.self)
            let host = utf8[syntax.host.lowerBound..<syntax.authority.upperBound]
            return "\(scheme)://\(String(decoding: host, as: UTF8.self))\(origin)"
        }
    }

    private static func isLowerCase(_ digit: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(digit) }
}

extension TransferOptions {
    /// Passes the target of the request to libcurl, if libcurl would otherwise change it.
    func applyTarget(of transfer: Transfer, to easy: EasyHandle) {
        let recipient = recipient(of: transfer)
        let form: RequestTargets.Form = recipient == .server ? .origin : .absolute
        guard recipient != .unknown, !usesDigest(transfer, form),
            let target = RequestTargets.target(of: transfer.url.curlString, form)
        else { return }
        easy.set(CURLOPT_REQUEST_TARGET, target)
    }

    /// Whether the response to a challenge may contain the target.
    ///
    /// Libcurl always computes this response for the target that it has changed (RFC 7616 §3.4.6), and a server refuses
    /// a response for another target. A proxy that opens a tunnel does not receive the target.
    private func usesDigest(_ transfer: Transfer, _ form: RequestTargets.Form) -> Bool {
        transfer.serverChallenges.mayDigest || form == .absolute && transfer.proxyChallenges.mayDigest
    }
}
