import CSystem
import FoundationEssentials

/// Knows the public suffixes, which are domains such as `com` and `co.uk` under which the public can register names.
///
/// The list belongs to libpsl, which libcurl also uses. Without a list, the last label of a name is treated as the
/// suffix, and every host as a site of its own.
// Safety: the list is created once and then only read; a returned pointer points into the name that was passed.
enum PublicSuffixes {
    /// Safety: created once, and then only read.
    private nonisolated(unsafe) static let list: bb_psl = unsafe bb_psl_open()

    /// Whether a list is installed.
    static var isAvailable: Bool { unsafe list.list != nil }

    /// Whether the public can register names under the domain, which must be in lower case.
    static func isPublicSuffix(_ domain: String) -> Bool {
        // A single label such as `localhost` is its own last label, which the list would treat as a suffix.
        guard !HostName.hasNoDomains(domain), !domain.utf8.contains(0) else { return false }
        guard isAvailable else { return !domain.contains(".") }
        return unsafe withUnsafePointer(to: list) { unsafe bb_psl_is_public_suffix($0, domain) != 0 }
    }

    /// Returns the domain of a host that is registered under a public suffix; the whole host if there is none.
    static func site(of host: String) -> String {
        guard !HostName.hasNoDomains(host), !host.utf8.contains(0), isAvailable else { return host }
        return unsafe withUnsafePointer(to: list) { list in
            unsafe host.withCString { name in
                unsafe bb_psl_registrable_domain(list, name).map { unsafe String(cString: $0) } ?? host
            }
        }
    }
}
