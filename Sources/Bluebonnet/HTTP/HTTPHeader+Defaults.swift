import FoundationEssentials

extension HTTPHeader {
    /// The languages that the process's environment asks for, most wanted first.
    ///
    /// Read once, from `LANGUAGE`, `LC_ALL`, `LC_MESSAGES` and `LANG` as gettext does: at most six, such as
    /// `de-DE;q=1.0, en;q=0.9`; English where the environment names none.
    public static let defaultAcceptLanguage = acceptLanguage(
        languages(in: ProcessInfo.processInfo.environment).enumerated()
            .map { "\($1);q=\($0 == 0 ? "1.0" : "0.\(10 - $0)")" }
            .joined(separator: ", "))

    /// The content codings that are decoded, such as `br;q=1.0, gzip;q=0.9, deflate;q=0.8` (RFC 9110 §12.5.3).
    public static let defaultAcceptEncoding = acceptEncoding(ContentCoding.acceptable)

    /// Names the program, the system and this library, such as `weather (Linux 6.12.0) Bluebonnet/0.1.0`.
    public static let defaultUserAgent = userAgent(userAgent(program: CommandLine.arguments.first, release: release))

    /// Returns the language tags (RFC 5646) that an environment asks for.
    package static func languages(in environment: [String: String]) -> [String] {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? "C"
        // The list is not looked at in the C locale.
        guard languageTag(locale) != nil else { return ["en"] }
        var tags: [String] = []
        let wanted = (environment["LANGUAGE"] ?? "").split(separator: ":") + [locale[...]]
        for tag in wanted.compactMap({ languageTag($0) }) where !tags.contains(tag) {
            tags.append(tag)
        }
        return Array(tags.prefix(6))
    }

    /// Returns the language tag for a locale such as `de_DE.UTF-8@euro`, or nil for the C locale and what is no locale.
    private static func languageTag(_ locale: some StringProtocol) -> String? {
        let name = locale.prefix { $0 != "." && $0 != "@" }
        guard name != "C", name != "POSIX" else { return nil }
        let subtags = name.split(separator: "_", omittingEmptySubsequences: false).flatMap { $0.split(separator: "-") }
        let isTag = subtags.allSatisfy { subtag in
            (1...8).contains(subtag.utf8.count) && subtag.utf8.allSatisfy { FieldSyntax.isAlphanumeric($0) }
        }
        guard isTag, let language = subtags.first, language.utf8.count >= 2 else { return nil }
        return subtags.joined(separator: "-")
    }

    /// Returns the value of a `User-Agent` field for a program on a Linux.
    package static func userAgent(program: String?, release: String) -> String {
        let name = String((program ?? "").split(separator: "/").last ?? "").utf8.map { byte in
            FieldSyntax.isTokenByte(byte) ? Character(UnicodeScalar(byte)) : "_"
        }
        return "\(name.isEmpty ? "Unknown" : String(name)) (Linux \(release)) Bluebonnet/\(BluebonnetInfo.version)"
    }

    private static var release: String {
        let system = ProcessInfo.processInfo.operatingSystemVersion
        return "\(system.majorVersion).\(system.minorVersion).\(system.patchVersion)"
    }
}

extension HTTPHeaders {
    /// The fields of every request: `Accept-Encoding`, `Accept-Language` and `User-Agent`.
    public static let `default`: HTTPHeaders = [
        .defaultAcceptEncoding, .defaultAcceptLanguage, .defaultUserAgent,
    ]
}
