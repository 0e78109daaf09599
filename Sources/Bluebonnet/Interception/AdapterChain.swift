/// The adapters of one request, of which an error can tell which it was.
struct AdapterChain: Sendable {
    let adapters: [any RequestAdapter]

    init(adapters: [any RequestAdapter]) {
        self.adapters = adapters.flatMap(Self.parts)
    }

    /// The adapters that an interceptor asks, so that an error tells which of them it was.
    private static func parts(of adapter: any RequestAdapter) -> [any RequestAdapter] {
        guard let interceptor = adapter as? Interceptor else { return [adapter] }
        return interceptor.adapters.flatMap(parts)
    }

    /// Asks the adapters, one after the other.
    @concurrent
    func adapt(_ request: HTTPRequest, using state: RequestAdapterState) async -> Result<HTTPRequest, RequestError> {
        var request = request
        for adapter in adapters {
            guard !Task.isCancelled else { return .failure(RequestError(.cancelled)) }
            do {
                request = try await adapter.adapt(request, using: state)
            } catch {
                return .failure(Self.error(of: adapter, error))
            }
        }
        return .success(request)
    }

    private static func error(of adapter: any RequestAdapter, _ error: any Error) -> RequestError {
        RequestError(.adaptation, detail: "in \(hookName(of: adapter))", underlying: error)
    }
}

/// The name of a hook's type, for errors; without the values of the hook, which may be secret.
func hookName(of hook: Any) -> String { String(describing: type(of: hook)) }
