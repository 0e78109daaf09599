import CCurl

/// The cookies that a handle knows, as lines of a Netscape cookie file: those of each host in the order of their coming.
// Safety: the list is this value's own until it goes, and the lines are copied where they are looked at.
@safe
struct CookieLines: ~Copyable {
    /// One of the lines, which is there as long as the list.
    @safe
    struct Line {
        fileprivate let bytes: UnsafePointer<CChar>

        var text: String { unsafe String(cString: bytes) }

        /// The first field, without the mark and the dot that may be in front, and without making a text of the rest.
        var domain: String {
            var count = 0
            while unsafe bytes[count] != 0, unsafe bytes[count] != 0x09 { count += 1 }
            var domain = unsafe Substring(
                decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
            if domain.hasPrefix(Cookie.httpOnlyMark) { domain = domain.dropFirst(Cookie.httpOnlyMark.count) }
            return Cookie.canonicalDomain(String(domain))
        }
    }

    private let list: UnsafeMutablePointer<curl_slist>?

    init(of easy: EasyHandle) {
        unsafe list = unsafe bb_curl_copy_cookies(easy.pointer)
    }

    deinit {
        unsafe curl_slist_free_all(list)
    }

    borrowing func forEach(_ body: (Line) -> Void) {
        var next = unsafe list
        while let node = unsafe next {
            if let text = unsafe node.pointee.data { body(unsafe Line(bytes: text)) }
            unsafe next = node.pointee.next
        }
    }
}
