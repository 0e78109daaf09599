import FoundationEssentials

/// Writes the fields before a part's bytes (RFC 7578 §4.2, §4.4, §4.8).
struct MultipartPartHead {
    let name: String
    var fileName: String?
    var mimeType: String?
    var headers: HTTPHeaders = [:]

    /// Returns the fields with the empty line that ends them.
    func bytes() throws(RequestError) -> Data {
        var text = "Content-Disposition: form-data; name=\"\(Self.escaped(name, isFieldName: true))\""
        if let fileName { text += "; filename=\"\(Self.escaped(fileName, isFieldName: false))\"" }
        try Self.check("Content-Disposition", text)
        if let mimeType {
            try Self.check("Content-Type", mimeType)
            text += "\r\nContent-Type: \(mimeType)"
        }
        for header in headers {
            // A field that is written already, a second time.
            let isTaken =
                header.name.isSameIgnoringCase(as: "Content-Disposition")
                || mimeType != nil && header.name.isSameIgnoringCase(as: "Content-Type")
            guard !isTaken else { throw Self.invalid(header.name) }
            try Self.check(header.name, header.value)
            text += "\r\n\(header.name): \(header.value)"
        }
        return Data((text + "\r\n\r\n").utf8)
    }

    /// Returns a name as it stands between quotes.
    ///
    /// The rule is that of the HTML standard, "multipart/form-data encoding algorithm": a quote becomes `%22`, CR `%0D`
    /// and LF `%0A`, and nothing else changes. In the name of a field, but not of a file, a CR or LF that stands alone is
    /// made CR LF first.
    static func escaped(_ text: String, isFieldName: Bool) -> String {
        guard text.utf8.contains(where: { $0 == 0x22 || $0 == 0x0d || $0 == 0x0a }) else { return text }
        var bytes: [UInt8] = []
        var previous: UInt8 = 0
        for byte in text.utf8 {
            switch byte {
            case 0x22: bytes += "%22".utf8
            case 0x0d: bytes += (isFieldName ? "%0D%0A" : "%0D").utf8
            // The CR before it has brought its LF along.
            case 0x0a where isFieldName && previous == 0x0d: break
            case 0x0a: bytes += (isFieldName ? "%0D%0A" : "%0A").utf8
            default: bytes.append(byte)
            }
            previous = byte
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func check(_ name: String, _ value: String) throws(RequestError) {
        guard name.utf8.isToken, value.utf8.isFieldValue else { throw invalid(name) }
    }

    private static func invalid(_ name: String) -> RequestError {
        RequestError(.multipartEncoding(.bodyPartHeaderInvalid(name)))
    }
}
