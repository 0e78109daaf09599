import FoundationEssentials

extension HTTPResponse {
    /// The name under which the body might be saved.
    ///
    /// From `Content-Disposition` (RFC 6266): `filename*` before `filename`; else the last component of the URL's path.
    /// Always a bare name: what looks like a path is cut to its last component, control characters are dropped.
    public var suggestedFilename: String? {
        let disposition = head.value(for: "Content-Disposition").map { MediaType.parameters(of: $0) } ?? []
        let candidates = [
            disposition.first { $0.name == "filename*" }.flatMap { Self.extendedValue($0.value) },
            disposition.first { $0.name == "filename" }?.value,
            url.path(percentEncoded: false),
        ]
        return candidates.lazy.compactMap { $0 }.compactMap { Self.bareName($0) }.first
    }

    /// Returns the text of an extended parameter such as `UTF-8''na%C3%AFve.txt` (RFC 8187).
    private static func extendedValue(_ text: String) -> String? {
        let parts = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = PercentEncoding.decode(parts[2].utf8) else { return nil }
        switch parts[0].lowercased() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": return String(String.UnicodeScalarView(bytes.map { UnicodeScalar($0) }))
        default: return nil
        }
    }

    /// Returns the last component of what may be a path, or nil when there is nothing left that can name a file.
    private static func bareName(_ text: String) -> String? {
        let scalars = text.unicodeScalars.filter { $0.properties.generalCategory != .control }
        let component = scalars.split { $0 == "/" || $0 == "\\" }.last.map { String($0) } ?? ""
        let isDirectory = scalars.last == "/" || scalars.last == "\\"
        return isDirectory || component.isEmpty || component == "." || component == ".." ? nil : component
    }
}
