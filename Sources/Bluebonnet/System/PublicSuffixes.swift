import CSystem
import FoundationEssentials

/// Knows the public suffixes: the domains under which names can be registered by the public, such as `com` and `co.uk`.
///
/// The list is that of libpsl, which libcurl asks for itself. Where there is none, the last label of a name is treated
/// as the suffix, and every host as a site of its own.
// Safety: the list is made once, and only read then; what it returns points into the name it is asked about.
enum PublicSuffixes {
    /// Safety: made once, and only read then.
    private nonisolated(unsafe) static let list: bb_psl = unsafe bb_psl_open()

    /// Whether there is a list.
    static var isAvailable: Bool { unsafe list.list != nil }

    /// Whether names can be registered by the public under the domain, which is in lower case.
    static func isPublicSuffix(_ domain: String) -> Bool {
        // A name alone, such as `localhost`, is the last label of itself: a suffix to the list.
        guard !HostName.hasNoDomains(domain), !domain.utf8.contains(0) else { return false }
        guard isAvailable else { return !domain.contains(".") }
        return unsafe withUnsafePointer(to: list) { unsafe bb_psl_is_public_suffix($0, domain) != 0 }
    }

    /// Returns the part of a host's name that is registered under a public suffix; the whole host where there is none.
    static func site(of host: String) -> String {
        guard !HostName.hasNoDomains(host), !host.utf8.contains(0), isAvailable else { return host }
        return unsafe withUnsafePointer(to: list) { list in
            unsafe host.withCString { name in
                unsafe bb_psl_registrable_domain(list, name).map { unsafe String(cString: $0) } ?? host
            }
        }
    }
}
