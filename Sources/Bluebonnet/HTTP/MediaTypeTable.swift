package import FoundationEssentials

/// Maps the extensions of file names to media types.
package struct MediaTypeTable: Sendable {
    /// The media type of data with an unknown format (RFC 2046 §4.5.1).
    package static let unknown = "application/octet-stream"

    /// The table of this system: the entries of the system's tables and of the built-in table.
    ///
    /// The first access reads the tables from files. Other threads wait until the tables have been read.
    package static let system = MediaTypeTable(
        mimeTypes: contents(of: "/etc/mime.types"), globs: contents(of: "/usr/share/mime/globs2"))

    private var types: [String: String]

    /// Creates a table.
    ///
    /// Entries in `mimeTypes` take precedence over `globs`, and entries in `globs` over the built-in table. Malformed
    /// lines are skipped.
    ///
    /// - Parameters:
    ///   - mimeTypes: Lines with a media type and its extensions, as in `/etc/mime.types`. If several lines have the
    ///     same extension, the last line applies.
    ///   - globs: Lines with a weight, a media type and a pattern, as in the `globs2` file of the freedesktop.org
    ///     database. If several lines have the same extension, the first line with the greatest weight applies.
    package init(mimeTypes: Data = Data(), globs: Data = Data()) {
        types = Self.builtIn
        types.merge(Self.parse(globs: globs)) { $1 }
        types.merge(Self.parse(mimeTypes: mimeTypes)) { $1 }
    }

    /// Returns the media type for a file name, based on the extension after the last dot.
    ///
    /// The case of the extension is ignored. The result has no charset, because a file name does not show the charset.
    package func mediaType(ofFileNamed name: String) -> String {
        // A dot at the beginning marks a hidden file.
        guard let dot = name.utf8.lastIndex(of: 0x2e), dot > name.startIndex else { return Self.unknown }
        return types[name[name.utf8.index(after: dot)...].lowercased()] ?? Self.unknown
    }

    // MARK: Reading tables

    /// The maximum size of a table file in bytes; a larger file is ignored.
    private static let sizeLimit: Int64 = 4 << 20

    private static func contents(of path: String) -> Data {
        (try? FileReader.contents(of: path, limit: sizeLimit)) ?? Data()
    }

    private static func parse(mimeTypes: Data) -> [String: String] {
        var types: [String: String] = [:]
        for line in mimeTypes.split(whereSeparator: { $0 == 0x0a || $0 == 0x0d }) {
            let words = line.split { FieldSyntax.isWhitespace($0) }.map { String(decoding: $0, as: UTF8.self) }
            guard let type = words.first, isPlain(type) else { continue }
            for word in words.dropFirst() {
                guard !word.hasPrefix("#") else { break }
                types[word.lowercased()] = type
            }
        }
        return types
    }

    private static func parse(globs: Data) -> [String: String] {
        var best: [String: (weight: Int, type: String)] = [:]
        for line in globs.split(whereSeparator: { $0 == 0x0a || $0 == 0x0d }) {
            let fields = line.split(separator: 0x3a, omittingEmptySubsequences: false)
                .map { String(decoding: $0, as: UTF8.self) }
            // A fourth field contains flags; a pattern with flags is case-sensitive.
            guard fields.count == 3, let weight = Int(fields[0]), isPlain(fields[1]), fields[2].hasPrefix("*.")
            else { continue }
            let name = fields[2].dropFirst(2).lowercased()
            guard !name.isEmpty, !name.utf8.contains(where: isSpecial) else { continue }
            if weight > best[name]?.weight ?? .min { best[name] = (weight, fields[1]) }
        }
        return best.mapValues(\.type)
    }

    /// Whether the text is only a type and a subtype.
    private static func isPlain(_ text: String) -> Bool {
        MediaType(text)?.essence == text.lowercased()
    }

    /// Whether the byte makes a pattern more than a plain extension: `*`, `?`, `[`, or another dot.
    private static func isSpecial(_ byte: UInt8) -> Bool {
        byte == 0x2a || byte == 0x3f || byte == 0x5b || byte == 0x2e
    }

    // MARK: The built-in table

    /// The registered types of the most common files, for systems without tables.
    private static let builtIn = [
        "7z": "application/x-7z-compressed", "aac": "audio/aac", "avif": "image/avif",
        "bin": "application/octet-stream",
        "bmp": "image/bmp", "css": "text/css", "csv": "text/csv", "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "epub": "application/epub+zip", "flac": "audio/flac", "gif": "image/gif", "gz": "application/gzip",
        "heic": "image/heic", "htm": "text/html", "html": "text/html", "ico": "image/vnd.microsoft.icon",
        "ics": "text/calendar", "jpeg": "image/jpeg", "jpg": "image/jpeg", "js": "text/javascript",
        "json": "application/json", "m4a": "audio/mp4", "m4v": "video/mp4", "md": "text/markdown",
        "mjs": "text/javascript", "mov": "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4", "oga": "audio/ogg",
        "ogg": "audio/ogg", "otf": "font/otf", "pdf": "application/pdf", "png": "image/png",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation", "rtf": "application/rtf",
        "svg": "image/svg+xml", "tar": "application/x-tar", "tif": "image/tiff", "tiff": "image/tiff",
        "tsv": "text/tab-separated-values", "ttf": "font/ttf", "txt": "text/plain", "vcf": "text/vcard",
        "wasm": "application/wasm", "wav": "audio/x-wav", "webm": "video/webm", "webp": "image/webp",
        "woff": "font/woff", "woff2": "font/woff2", "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xml": "application/xml",
        "yaml": "application/yaml", "yml": "application/yaml", "zip": "application/zip", "zst": "application/zstd",
    ]
}
