/// Says how a download treats the file system, and whether it goes on by itself when it is interrupted.
public struct DownloadOptions: OptionSet, Sendable, Hashable {
    /// The options as bits.
    public let rawValue: Int

    /// Creates a set of options.
    ///
    /// - Parameter rawValue: The options as bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Makes the directories that lead to the destination and do not exist.
    public static let createIntermediateDirectories = DownloadOptions(rawValue: 1 << 0)

    /// Replaces a file that is at the destination already, at the moment when the new one is complete.
    ///
    /// A directory is never replaced, a symbolic link is (not what it leads to). Without this option a download to an
    /// existing file fails before anything is fetched.
    public static let removePreviousFile = DownloadOptions(rawValue: 1 << 1)

    /// Goes on from where it was when the transfer is interrupted, without beginning again.
    ///
    /// Once some of the body is there, a connection that is lost or cannot be made, a time limit for connecting or silence
    /// that runs out, and a body that ends too early are followed by another attempt for the rest, until five in a row
    /// have fetched less than 1 KiB; the waits between them grow from half a second. A download to a named file also takes
    /// up what an earlier one, in this process or another, left beside the destination, if that was asked of the same
    /// URL. That the bytes belong together is the server's promise: where it gives no strong validator (RFC 9110 §8.8.1),
    /// an interruption ends the download, and the next one begins again.
    public static let automaticallyResume = DownloadOptions(rawValue: 1 << 2)
}
