/// Finds the byte order mark that UTF-8 may begin with.
enum ByteOrderMark {
    /// Returns how many bytes at the beginning are the mark: three or none.
    static func utf8Length(in bytes: Span<UInt8>) -> Int {
        bytes.count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF ? 3 : 0
    }
}
