/// The retriers of one request.
enum RetrierChain {
    /// The retriers that others ask, so that an error tells which of them it was.
    static func parts(of retriers: [any RequestRetrier]) -> [any RequestRetrier] {
        retriers.flatMap { ($0 as? Interceptor).map { parts(of: $0.retriers) } ?? [$0] }
    }
}
