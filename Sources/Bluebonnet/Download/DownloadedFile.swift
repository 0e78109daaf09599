import FoundationEssentials

/// Reads a file that was downloaded, for serializers that want its bytes.
enum DownloadedFile {
    /// Returns the bytes of a file; blocks.
    ///
    /// - Throws: `.invalidResponse(.bodyTooLarge)` when there are more than the limit, `.download(.cannotReadFile)` when
    ///   they cannot be read.
    static func read(_ url: URL, limit: Int64?) throws(RequestError) -> Data {
        let data: Data?
        do throws(FileError) {
            data = try contents(of: url.path, limit: limit ?? .max)
        } catch {
            throw RequestError(.download(.cannotReadFile(path: url.path)), detail: error.words)
        }
        guard let data else { throw RequestError(.invalidResponse(.bodyTooLarge(limit: limit ?? .max))) }
        return data
    }

    /// Returns nothing when there are more bytes than the limit.
    private static func contents(of path: String, limit: Int64) throws(FileError) -> Data? {
        var reader = try FileReader(path: path)
        guard reader.length <= limit else { return nil }
        var data = Data(capacity: Int(reader.length))
        while let piece = try reader.next() { data.append(piece) }
        return data
    }
}
