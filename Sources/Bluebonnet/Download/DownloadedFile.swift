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
            data = try FileReader.contents(of: url.path, limit: limit ?? .max)
        } catch {
            throw RequestError(.download(.cannotReadFile(path: url.path)), detail: error.words)
        }
        guard let data else { throw RequestError(.invalidResponse(.bodyTooLarge(limit: limit ?? .max))) }
        return data
    }
}
