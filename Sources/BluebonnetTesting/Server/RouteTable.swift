import Bluebonnet

/// Finds the endpoint for a method and a path; a value type without I/O.
struct RouteTable<Endpoint: Sendable>: Sendable {
    enum Match {
        case found(Endpoint, parameters: [String: String])
        /// The path has routes for these other methods only.
        case otherMethods([HTTPMethod])
        case nothing
    }

    /// The endpoints of one path.
    private struct Route: Sendable {
        /// The endpoints by method; `nil` means all methods.
        var endpoints: [HTTPMethod?: Endpoint] = [:]

        func endpoint(for method: HTTPMethod) -> Endpoint? {
            endpoints[method] ?? (method == .head ? endpoints[.get] : nil) ?? endpoints[nil]
        }

        var allowedMethods: [HTTPMethod] {
            var methods = Set(endpoints.keys.compactMap(\.self))
            if methods.contains(.get) { methods.insert(.head) }
            return methods.sorted { $0.rawValue < $1.rawValue }
        }
    }

    /// The endpoint for requests that match no route.
    var fallback: Endpoint?

    private var exact: [String: Route] = [:]
    private var patterns: [(pattern: RoutePattern, route: Route)] = []

    mutating func set(_ endpoint: Endpoint, path: String, method: HTTPMethod?) {
        guard let pattern = RoutePattern(path) else {
            exact[path, default: Route()].endpoints[method] = endpoint
            return
        }
        let index = patterns.firstIndex { $0.pattern == pattern } ?? patterns.endIndex
        if index == patterns.endIndex { patterns.append((pattern, Route())) }
        patterns[index].route.endpoints[method] = endpoint
    }

    func match(_ method: HTTPMethod, _ path: String) -> Match {
        var allowed: [HTTPMethod]?
        if let route = exact[path] {
            if let endpoint = route.endpoint(for: method) { return .found(endpoint, parameters: [:]) }
            allowed = route.allowedMethods
        }
        for (pattern, route) in patterns {
            guard let parameters = pattern.match(path) else { continue }
            if let endpoint = route.endpoint(for: method) { return .found(endpoint, parameters: parameters) }
            allowed = allowed ?? route.allowedMethods
        }
        if let fallback { return .found(fallback, parameters: [:]) }
        guard let allowed else { return .nothing }
        return .otherMethods(allowed)
    }
}

/// A path with placeholder segments.
struct RoutePattern: Equatable, Sendable {
    private enum Segment: Equatable, Sendable {
        case literal(Substring)
        case parameter(String)
    }

    private var segments: [Segment] = []
    private var takesRest = false

    /// Creates the pattern for a path; returns `nil` if the path has no placeholder.
    init?(_ path: String) {
        let parts = Self.segments(of: path)
        for (index, part) in parts.enumerated() {
            if part == "*", index == parts.count - 1, path != "*" {
                takesRest = true
            } else {
                segments.append(part.hasPrefix(":") ? .parameter(String(part.dropFirst())) : .literal(part))
            }
        }
        let isPattern = segments.contains { if case .parameter = $0 { true } else { false } }
        guard takesRest || isPattern else { return nil }
    }

    /// Returns the values of the parameters; `nil` if the path does not match.
    func match(_ path: String) -> [String: String]? {
        let parts = Self.segments(of: path)
        guard takesRest ? parts.count >= segments.count : parts.count == segments.count else { return nil }
        var parameters: [String: String] = [:]
        for (segment, part) in zip(segments, parts) {
            switch segment {
            case .literal(let text):
                guard text == part else { return nil }
            case .parameter(let name):
                guard !part.isEmpty else { return nil }
                parameters[name] = part.percentDecoded()
            }
        }
        return parameters
    }

    private static func segments(of path: String) -> [Substring] {
        path.split(separator: "/", omittingEmptySubsequences: false)
    }
}

extension StringProtocol {
    /// Returns the text with `%XX` decoded; malformed sequences stay unchanged.
    ///
    /// If `plusIsSpace` is `true`, `+` is decoded as a space.
    func percentDecoded(plusIsSpace: Bool = false) -> String {
        guard utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) else { return String(self) }
        var rest = Array(utf8)[...]
        var decoded: [UInt8] = []
        while let byte = rest.first {
            let escaped = byte == UInt8(ascii: "%") ? PercentEncoding.decode(rest.prefix(3))?.first : nil
            decoded.append(escaped ?? (plusIsSpace && byte == UInt8(ascii: "+") ? .space : byte))
            rest.removeFirst(escaped == nil ? 1 : 3)
        }
        return String(decoding: decoded, as: UTF8.self)
    }
}
