/// The adapters of one request, of which an error can tell which it was.
struct AdapterChain: Sendable {
    let adapters: [any RequestAdapter]

    /// The adapters that others ask, so that an error tells which of them it was.
    static func parts(of adapters: [any RequestAdapter]) -> [any RequestAdapter] {
        adapters.flatMap { ($0 as? Interceptor).map { parts(of: $0.adapters) } ?? [$0] }
    }

    /// Asks the adapters, one after the other.
    @concurrent
    func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async throws(RequestError) -> HTTPRequest {
        var request = request
        for adapter in adapters {
            guard !Task.isCancelled else { throw RequestError(.cancelled) }
            do {
                request = try await adapter.adapt(request, using: state)
            } catch {
                throw Self.error(of: adapter, error)
            }
        }
        return request
    }

    private static func error(of adapter: any RequestAdapter, _ error: any Error) -> RequestError {
        RequestError(.adaptation, detail: "in \(hookName(of: adapter))", underlying: error)
    }
}

/// The name of a hook's type, for errors; without the values of the hook, which may be secret.
func hookName(of hook: Any) -> String { String(describing: type(of: hook)) }
