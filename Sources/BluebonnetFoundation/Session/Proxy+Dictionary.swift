import Bluebonnet
import Foundation

extension Session.Configuration.Proxy {
    /// The proxy that a dictionary with CFNetwork's keys names.
    init(proxyDictionary dictionary: [AnyHashable: Any]) {
        let kinds = [("HTTPS", "http"), ("HTTP", "http"), ("SOCKS", "socks5h")]
        let found = kinds.lazy.compactMap { Self.url(dictionary, prefix: $0, scheme: $1) }.first
        guard let found else {
            self = .none
            return
        }
        let username = dictionary["kCFProxyUsernameKey"] as? String
        let password = dictionary["kCFProxyPasswordKey"] as? String
        let credential = username.map { Credential(username: $0, password: password ?? "") }
        self = .url(found, credential: credential, excluding: dictionary["ExceptionsList"] as? [String] ?? [])
    }

    private static func url(_ dictionary: [AnyHashable: Any], prefix: String, scheme: String) -> String? {
        guard let host = dictionary["\(prefix)Proxy"] as? String, !host.isEmpty, isOn(dictionary["\(prefix)Enable"])
        else { return nil }
        // An IPv6 address comes without brackets.
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        let port = (dictionary["\(prefix)Port"] as? NSNumber)?.intValue ?? (dictionary["\(prefix)Port"] as? Int)
        return "\(scheme)://\(name)\(port.map { ":\($0)" } ?? "")"
    }

    private static func isOn(_ value: Any?) -> Bool {
        switch value {
        case let flag as Bool: flag
        case let number as Int: number != 0
        case let number as NSNumber: number.intValue != 0
        default: false
        }
    }
}
