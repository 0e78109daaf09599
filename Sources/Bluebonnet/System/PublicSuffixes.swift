import CSystem
import FoundationEssentials

/// The list of public suffixes, which are domains such as `com` and `co.uk` in which anyone can register a name.
///
/// The list is that of libpsl, which libcurl uses as well. Without a list, the last label of a name is its public
/// suffix, and every host is its own site.
// Safety: the list is created once and then only read; a returned pointer points into the name that was passed.
enum PublicSuffixes {
    /// Safety: created once, and then only read.
    private nonisolated(unsafe) static let list: bb_psl = unsafe bb_psl_open()

    /// Whether a list is installed.
    static var isAvailable: Bool { unsafe list.list != nil }

    /// Whether a domain, which must be in lower case, is a public suffix.
    static func isPublicSuffix(_ domain: String) -> Bool {
        // The list would treat a single label, such as `localhost`, as a public suffix.
        guard !HostName.hasNoDomains(domain), !domain.utf8.contains(0) else { return false }
        guard isAvailable else { return !domain.contains(".") }
        return unsafe withUnsafePointer(to: list) { unsafe bb_psl_is_public_suffix($0, domain) != 0 }
    }

    /// Returns the registered domain of a host, which is one label longer than its public suffix.
    ///
    /// If there is none, the method returns the host.
    static func site(of host: String) -> String {
        guard !HostName.hasNoDomains(host), !host.utf8.contains(0), isAvailable else { return host }
        return unsafe withUnsafePointer(to: list) { list in
            unsafe host.withCString { name in
                unsafe bb_psl_registrable_domain(list, name).map { unsafe String(cString: $0) } ?? host
            }
        }
    }
}
