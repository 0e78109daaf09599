import FoundationEssentials

extension Cookie {
    /// Reads a line of a Netscape cookie file, as libcurl and browsers' tools write them.
    ///
    /// - Parameter line: Seven fields that tabs separate: domain, whether subdomains are included, path, whether it is
    ///   secure, expiry in seconds since 1970 or 0, name, value. `#HttpOnly_` may stand in front.
    public init?(netscapeLine line: some StringProtocol) {
        var line = Substring(line)
        while let last = line.utf8.last, last == 0x0a || last == 0x0d { line = Substring(line.utf8.dropLast()) }
        let isHTTPOnly = line.hasPrefix(Self.httpOnlyMark)
        if isHTTPOnly { line = line.dropFirst(Self.httpOnlyMark.count) }
        guard line.utf8.first != 0x23 else { return nil }
        // Tabs in a row are one to libcurl: only the value, at the end, can be empty. So may the path, by its look.
        var fields = line.split(separator: "\t")
        if fields.count > 2, ["TRUE", "FALSE"].contains(fields[2]) { fields.insert("/", at: 2) }
        if fields.count == 6 { fields.append("") }
        guard fields.count == 7, let seconds = Int64(fields[4]), seconds >= 0 else { return nil }
        self.init(
            name: String(fields[5]), value: String(fields[6]), domain: String(fields[0]),
            includesSubdomains: fields[1].isTrue, path: String(fields[2]), isSecure: fields[3].isTrue,
            isHTTPOnly: isHTTPOnly, expires: seconds == 0 ? nil : Date(timeIntervalSince1970: Double(seconds)))
    }

    /// The cookie as a line of a Netscape cookie file, without a line end.
    ///
    /// It shows the value.
    public var netscapeLine: String {
        let fields = [
            (isHTTPOnly ? Self.httpOnlyMark : "") + (includesSubdomains ? "." : "") + domain,
            includesSubdomains ? "TRUE" : "FALSE", path, isSecure ? "TRUE" : "FALSE", String(expirySeconds), name,
            value,
        ]
        return fields.joined(separator: "\t")
    }

    static let httpOnlyMark = "#HttpOnly_"

    /// The expiry in seconds since 1970; 0 stands for none, so that one in the far past is in the first second.
    private var expirySeconds: Int64 {
        guard let seconds = expires?.timeIntervalSince1970 else { return 0 }
        // What is no time at all is past.
        guard !seconds.isNaN else { return 1 }
        return Int64(min(max(seconds.rounded(.down), 1), 9e15))
    }
}

extension Substring {
    fileprivate var isTrue: Bool { String(self).isSameIgnoringCase(as: "TRUE") }
}
