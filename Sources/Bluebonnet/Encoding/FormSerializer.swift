/// Turns nodes into pairs.
struct FormSerializer {
    let options: URLEncodedFormEncoder

    /// Returns the pairs of a keyed value.
    func serialize(_ root: FormNode) -> String {
        guard case .keyed(let members) = root.content else { return "" }
        return join(members.pairs.compactMap { serialize($0.node, key: $0.key) })
    }

    /// Returns the pairs of a node, or nil when nothing has been written in it.
    private func serialize(_ node: FormNode, key: String) -> String? {
        switch node.content {
        case .nothing:
            return nil
        case .text(let text):
            return "\(escape(options.keyEncoding.convert(key)))=\(escape(text))"
        case .keyed(let members):
            let pairs = members.pairs.compactMap { member in
                serialize(member.node, key: key + options.keyPathEncoding.suffix(member.key))
            }
            return pairs.isEmpty ? nil : join(pairs)
        case .unkeyed(let elements):
            var pairs: [String] = []
            for element in elements {
                // An element in which nothing was written has no index.
                guard let pair = serialize(element, key: options.arrayEncoding.key(key, at: pairs.count))
                else { continue }
                pairs.append(pair)
            }
            return pairs.isEmpty ? nil : join(pairs)
        }
    }

    private func join(_ pairs: [String]) -> String {
        (options.alphabetizeKeyValuePairs ? pairs.sorted() : pairs).joined(separator: "&")
    }

    private func escape(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            if byte == 0x20 && options.spaceEncoding == .plusReplaced {
                bytes.append(0x2b)
            } else if byte != 0x20 && options.allowedCharacters.contains(byte) {
                bytes.append(byte)
            } else {
                PercentEncoding.append(byte, to: &bytes)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
