public import Bluebonnet
public import Foundation

extension DownloadRequest {
    /// Returns the destination of a file in one of the user's directories, under the name that the response suggests.
    ///
    /// - Parameters:
    ///   - directory: Which directory; documents by default.
    ///   - domain: Whose; the user's by default.
    ///   - options: What to do about directories and a previous file.
    /// - Returns: The destination; in the temporary directory if there is no such one.
    public static func suggestedDownloadDestination(
        for directory: FileManager.SearchPathDirectory = .documentDirectory,
        in domain: FileManager.SearchPathDomainMask = .userDomainMask, options: Options = []
    ) -> Destination {
        FileManager.default.urls(for: directory, in: domain).first.map { .directory($0, options: options) }
            ?? .temporary(options: options)
    }
}
