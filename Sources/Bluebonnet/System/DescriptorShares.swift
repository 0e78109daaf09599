import BluebonnetLibc
import Synchronization

/// Divides the descriptors of the process into four quarters: connections in use, unused ones, files, and the program.
final class DescriptorShares: Sendable {
    static let shared = DescriptorShares(descriptors: descriptorLimit)

    /// The number of descriptors in each share, after what the event loops need.
    var limit: Int { max(8, (descriptors - engineCount.load(ordering: .relaxed) * Self.descriptorsPerEngine) / 4) }
    let descriptors: Int
    private let engineCount = Atomic<Int>(0)
    /// The descriptors of an engine and its loop, with libcurl's own.
    private static let descriptorsPerEngine = 4

    init(descriptors: Int) { self.descriptors = descriptors }

    func engineBegan() { engineCount.add(1, ordering: .relaxed) }
    func engineEnded() { engineCount.subtract(1, ordering: .relaxed) }

    // Safety: the system writes into the value only within the call.
    private static var descriptorLimit: Int {
        var limits = rlimit()
        #if canImport(Musl)
            let code = unsafe getrlimit(RLIMIT_NOFILE, &limits)
        #else
            let code = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        #endif
        return code == 0 ? Int(clamping: limits.rlim_cur) : 1024
    }
}
