/// Holds what has been encoded at one place of a form.
///
/// Encoders of values write into it in whatever order and however often they like: a later shape replaces an earlier one
/// only when something is written in it. Not Sendable: it lives as long as one call of the encoder.
final class FormNode {
    /// What has been written.
    enum Content {
        case nothing
        case text(String)
        case keyed(Members)
        case unkeyed([FormNode])
    }

    /// The members of a keyed value in the order of their first appearance.
    struct Members {
        private(set) var pairs: [(key: String, node: FormNode)] = []
        private var positions: [String: Int] = [:]

        /// Returns the member of the key, made when it is not there.
        mutating func node(for key: String) -> FormNode {
            if let position = positions[key] {
                return pairs[position].node
            }
            let node = FormNode()
            positions[key] = pairs.count
            pairs.append((key, node))
            return node
        }
    }

    private(set) var content = Content.nothing

    /// How many elements there are, if this is an array.
    var count: Int { if case .unkeyed(let elements) = content { elements.count } else { 0 } }

    /// Makes this a single value.
    func write(_ text: String) {
        content = .text(text)
    }

    /// Returns the member of the key, made when it is not there; makes this a keyed value.
    func member(_ key: String) -> FormNode {
        var members = Members()
        if case .keyed(let existing) = content { members = existing }
        content = .nothing
        defer { content = .keyed(members) }
        return members.node(for: key)
    }

    /// Returns a new element at the end; makes this an array.
    func appendElement() -> FormNode {
        var elements: [FormNode] = []
        if case .unkeyed(let existing) = content { elements = existing }
        content = .nothing
        let element = FormNode()
        elements.append(element)
        content = .unkeyed(elements)
        return element
    }
}
