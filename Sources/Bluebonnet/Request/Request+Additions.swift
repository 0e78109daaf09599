extension Request {
    /// Adds a value that interceptors, event monitors and the receiver of the response can read.
    ///
    /// Call this method before the request starts. The value replaces an earlier value with the same key.
    ///
    /// - Parameters:
    ///   - key: The type that is the key.
    ///   - value: The value.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func tag<Key: RequestTag>(_ key: Key.Type, _ value: Key.Value) -> Self {
        let identifier = ObjectIdentifier(key)
        // The earlier value is released after the lock.
        _ = core.configure { $0.additions.tags.replace(identifier, with: value) }
        return self
    }

    /// The values that ``tag(_:_:)`` has added so far.
    package nonisolated var tags: RequestTags { core.read { $0.setup.additions.tags } }
}

extension Request {
    /// Limits the speeds at which the request's bodies are sent and received.
    ///
    /// Call this method before the request starts. A limit replaces the limit of ``HTTPRequest/speedLimits``, and the
    /// limit of an earlier call. The session's limits also apply.
    ///
    /// - Parameters:
    ///   - upload: The maximum number of bytes of the request body per second; `nil`, the default, for no limit.
    ///   - download: The maximum number of bytes of the response body per second; `nil`, the default, for no limit.
    /// - Returns: This request, for chaining.
    @discardableResult
    public nonisolated func speedLimits(upload: Int64? = nil, download: Int64? = nil) -> Self {
        let limits = SpeedLimits(upload: upload, download: download)
        core.configure { $0.additions.speedLimits = limits.filled(from: $0.additions.speedLimits) }
        return self
    }
}
