public import FoundationEssentials

extension HTTPResponse {
    /// A link from the `Link` field of a response (RFC 8288).
    public struct Link: Hashable, Sendable {
        /// The absolute URL of the link's target.
        public let target: URL

        /// The relation types in lower case, such as `next`.
        public let relations: [String]

        /// The values of the other parameters, by parameter name in lower case.
        ///
        /// If a name occurs several times, the first value is used. Extended values, such as the value of `title*`
        /// (RFC 8187), are not decoded.
        public let parameters: [String: String]
    }

    /// The links of all `Link` fields, in the order received (RFC 8288).
    ///
    /// Relative targets are resolved against ``url``. Links without a relation type, links with an `anchor` parameter
    /// and malformed links are omitted. An `anchor` parameter means that the link belongs to another resource.
    public var links: [Link] {
        headers.values(for: "Link").flatMap { Self.links(in: $0, base: url) }
    }

    /// Returns the target of the first link with a relation type, such as `next`; `nil` if there is none.
    ///
    /// - Parameter relation: The relation type, in any case.
    /// - Returns: The absolute URL of the target.
    public func link(relation: String) -> URL? {
        let relation = relation.lowercased()
        return links.first { $0.relations.contains(relation) }?.target
    }

    private static func links(in value: String, base: URL) -> [Link] {
        var links: [Link] = []
        var rest = Substring(value).utf8
        // A value that begins otherwise may contain `<` within a quoted string.
        rest = rest.drop { [0x20, 0x09, 0x2c].contains($0) }
        guard rest.first == 0x3c else { return [] }
        while let start = rest.firstIndex(of: 0x3c), let end = rest[start...].firstIndex(of: 0x3e) {
            let target = String(Substring(rest[rest.index(after: start)..<end]))
            rest = rest[rest.index(after: end)...]
            var parameters: [String: String] = [:]
            while true {
                rest.skipWhitespace()
                guard rest.first == 0x3b else { break }
                rest.removeFirst()
                rest.skipWhitespace()
                let name = rest.takeToken()
                guard !name.isEmpty else { continue }
                let text = rest.takeParameterValue(until: [0x3b, 0x2c]) ?? ""
                if parameters[name] == nil { parameters[name] = text }
            }
            let relations = parameters.removeValue(forKey: "rel")?.lowercased().split(separator: " ").map(String.init)
            if let relations, !relations.isEmpty, parameters["anchor"] == nil,
                let url = target.isEmpty ? base : URLText.url(target, relativeTo: base)
            {
                links.append(Link(target: url, relations: relations, parameters: parameters))
            }
        }
        return links
    }
}

extension HTTPResponse.Link: SecretKeeping {
    /// The redacted target and the relation types.
    package var text: String { "<\(target.redactedDescription)>; rel=\(relations.joined(separator: " "))" }
}
