private import Glibc

/// Where a program says what is not its output.
enum StandardError {
    /// Writes a text as a whole, as far as that is possible.
    // Safety: the bytes are read within the call, up to their number.
    static func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
