import Testing

@testable import Bluebonnet

/// A row of the table of cookies: the cookies that a response sets, and those that a later request sends.
struct CookieRow: Sendable, CustomTestStringConvertible {
    /// The rule that the row is about.
    let rule: String
    /// The URL whose response sets the cookies.
    let from: String
    /// The values of the response's `Set-Cookie` fields.
    let sets: [String]
    /// The URL of the next request.
    let asked: String
    /// The `Cookie` field of the next request; `nil` for no field.
    let sent: String?

    var testDescription: String { "\(rule): \(sets) from \(from), to \(asked)" }
}

extension CookieRow {
    /// The hosts that receive a cookie (RFC 6265 §5.1.3, §5.3).
    static let domains: [CookieRow] = [
        row("host-only", "example.com", "a=1", asked: "example.com", sent: "a=1"),
        row("host-only, not below", "example.com", "a=1", asked: "www.example.com", sent: nil),
        row("host-only, not above", "www.example.com", "a=1", asked: "example.com", sent: nil),
        row("host-only, not beside", "a.example.com", "a=1", asked: "b.example.com", sent: nil),
        row("domain", "example.com", "a=1; Domain=example.com", asked: "example.com", sent: "a=1"),
        row("below the domain", "example.com", "a=1; Domain=example.com", asked: "www.example.com", sent: "a=1"),
        row("far below", "example.com", "a=1; Domain=example.com", asked: "c.b.a.example.com", sent: "a=1"),
        row("the domain above", "www.example.com", "a=1; Domain=example.com", asked: "example.com", sent: "a=1"),
        row("beside", "a.example.com", "a=1; Domain=example.com", asked: "b.example.com", sent: "a=1"),
        row("a leading dot", "example.com", "a=1; Domain=.example.com", asked: "www.example.com", sent: "a=1"),
        row("a domain below", "example.com", "a=1; Domain=www.example.com", asked: "www.example.com", sent: nil),
        row("a domain beside", "a.example.com", "a=1; Domain=b.example.com", asked: "b.example.com", sent: nil),
        row("another domain", "example.com", "a=1; Domain=example.org", asked: "example.org", sent: nil),
        row("another domain, back", "example.com", "a=1; Domain=example.org", asked: "example.com", sent: nil),
        row("an end that is no label", "example.com", "a=1; Domain=ample.com", asked: "ample.com", sent: nil),
        row("an end of another", "example.com", "a=1; Domain=example.com", asked: "badexample.com", sent: nil),
        row("case of the attribute", "example.com", "a=1; DOMAIN=EXAMPLE.com", asked: "www.example.com", sent: "a=1"),
        row("case of the host", "Example.COM", "a=1", asked: "eXample.com", sent: "a=1"),
        row("an empty domain", "example.com", "a=1; Domain=", asked: "example.com", sent: "a=1"),
        row("an empty domain is host-only", "example.com", "a=1; Domain=", asked: "www.example.com", sent: nil),
        row(
            "the last of two", "a.example.com", "a=1; Domain=example.com; Domain=a.example.com",
            asked: "example.com", sent: nil),
        row("ports are one", "example.com:8080", "a=1", asked: "example.com:9090", sent: "a=1"),
        row("an address", "127.0.0.1", "a=1", asked: "127.0.0.1", sent: "a=1"),
        row("an address's domain", "127.0.0.1", "a=1; Domain=127.0.0.1", asked: "127.0.0.1", sent: "a=1"),
        row("a part of an address", "127.0.0.1", "a=1; Domain=0.0.1", asked: "127.0.0.1", sent: nil),
        row("another address", "127.0.0.1", "a=1", asked: "127.0.0.2", sent: nil),
        row("an IPv6 address", "[::1]", "a=1", asked: "[::1]", sent: "a=1"),
        row("a name of one label", "localhost", "a=1", asked: "localhost", sent: "a=1"),
        row("below a name of one label", "localhost", "a=1; Domain=localhost", asked: "a.localhost", sent: nil),
    ]

    /// Below which paths a cookie is sent (RFC 6265 §5.1.4).
    static let paths: [CookieRow] = [
        row("the path", "example.com/", "a=1; Path=/p", asked: "example.com/p", sent: "a=1"),
        row("with a slash", "example.com/", "a=1; Path=/p", asked: "example.com/p/", sent: "a=1"),
        row("below", "example.com/", "a=1; Path=/p", asked: "example.com/p/q/r", sent: "a=1"),
        row("with a query", "example.com/", "a=1; Path=/p", asked: "example.com/p?q=/", sent: "a=1"),
        row("a longer name", "example.com/", "a=1; Path=/p", asked: "example.com/pq", sent: nil),
        row("above", "example.com/", "a=1; Path=/p", asked: "example.com/", sent: nil),
        row("beside", "example.com/p", "a=1; Path=/p", asked: "example.com/q", sent: nil),
        row("paths have case", "example.com/", "a=1; Path=/p", asked: "example.com/P", sent: nil),
        row("another path than that asked for", "example.com/x/y", "a=1; Path=/p", asked: "example.com/p", sent: "a=1"),
        row("the root", "example.com/x", "a=1; Path=/", asked: "example.com/any/where", sent: "a=1"),
        row("the default", "example.com/p/q", "a=1", asked: "example.com/p/r", sent: "a=1"),
        row("the default, above", "example.com/p/q", "a=1", asked: "example.com/", sent: nil),
        row("the default of a file at the root", "example.com/p", "a=1", asked: "example.com/q", sent: "a=1"),
        row("the default of no path", "example.com", "a=1", asked: "example.com/q", sent: "a=1"),
        row("the default itself", "example.com/p/q/r", "a=1", asked: "example.com/p/q", sent: "a=1"),
        row("the default leaves the query out", "example.com/p/q?r=/s/t", "a=1", asked: "example.com/p/x", sent: "a=1"),
        row("the last of two", "example.com/", "a=1; Path=/p; Path=/q", asked: "example.com/p", sent: nil),
        row(
            "the longest goes first", "example.com/p/q", "a=1; Path=/", "b=2; Path=/p/q", "c=3; Path=/p",
            asked: "example.com/p/q", sent: "b=2; c=3; a=1"),
        row(
            "one name on two paths", "example.com/p", "a=1; Path=/", "a=2; Path=/p", asked: "example.com/p",
            sent: "a=2; a=1"),
        row("a slash at the end", "example.com/", "a=1; Path=/p/q/", asked: "example.com/p/q", sent: nil),
        row("a slash at the end of both", "example.com/", "a=1; Path=/p/q/", asked: "example.com/p/q/", sent: "a=1"),
        row("below a slash at the end", "example.com/", "a=1; Path=/p/q/", asked: "example.com/p/q/r", sent: "a=1"),
        row(
            "beside a slash at the end", "example.com/", "a=1; Path=/p/", "b=2; Path=/p", "c=3; Path=/",
            asked: "example.com/p", sent: "b=2; c=3"),
        row(
            "without a slash after with one", "example.com/", "a=1; Path=/p/", "a=2; Path=/p", asked: "example.com/p",
            sent: "a=2"),
        row(
            "with a slash after without one", "example.com/", "a=1; Path=/p", "a=2; Path=/p/", asked: "example.com/p",
            sent: "a=1"),
        row("two slashes", "example.com/", "a=1; Path=//", asked: "example.com/", sent: nil),
        row("quotes", "example.com/x/y", "a=1; Path=\"/p/q\"", asked: "example.com/p/q", sent: nil),
        row("quotes are the default", "example.com/x/y", "a=1; Path=\"/p/q\"", asked: "example.com/x", sent: "a=1"),
        row("no slash", "example.com/x/y", "a=1; Path=p", asked: "example.com/p", sent: nil),
        row("no slash is the default", "example.com/x/y", "a=1; Path=p", asked: "example.com/x/z", sent: "a=1"),
        row("an empty path", "example.com/x/y", "a=1; Path=", asked: "example.com/", sent: nil),
        row("an empty path is the default", "example.com/x/y", "a=1; Path=", asked: "example.com/x/z", sent: "a=1"),
    ]

    /// Secure cookies, and the rules of name prefixes (RFC 6265bis §4.1.3).
    static let secure: [CookieRow] = [
        row("without TLS", "example.com", "a=1; Secure", asked: "example.com", sent: nil),
        row("with a value", "example.com", "a=1; Secure=", asked: "example.com", sent: nil),
        row("on this machine", "localhost", "a=1; Secure", asked: "localhost", sent: "a=1"),
        row("on this machine by address", "127.0.0.1", "a=1; Secure", asked: "127.0.0.1", sent: "a=1"),
        row("on this machine by its other address", "[::1]", "a=1; Secure", asked: "[::1]", sent: "a=1"),
        row("__Secure-", "localhost", "__Secure-a=1; Secure", asked: "localhost", sent: "__Secure-a=1"),
        row("__Secure- that is not", "localhost", "__Secure-a=1", asked: "localhost", sent: nil),
        row("__Secure- without TLS", "example.com", "__Secure-a=1; Secure", asked: "example.com", sent: nil),
        row("__Secure- in other case", "localhost", "__secure-a=1", asked: "localhost", sent: nil),
        row("__Host-", "localhost", "__Host-a=1; Secure; Path=/", asked: "localhost", sent: "__Host-a=1"),
        row("__Host- that is not secure", "localhost", "__Host-a=1; Path=/", asked: "localhost", sent: nil),
        row("__Host- with a path", "localhost", "__Host-a=1; Secure; Path=/p", asked: "localhost/p", sent: nil),
        row("__Host- in other case", "localhost", "__HOST-a=1; Path=/", asked: "localhost", sent: nil),
        row(
            "__Host- in other case, with a path", "localhost", "b=1; Path=/p", "__HOST-a=2; Secure; Path=/p",
            "c=3; Secure", asked: "localhost/p", sent: "b=1; c=3"),
        row(
            "__Host- in other case, as it is to be", "localhost", "__HOST-a=2; Secure; Path=/", "b=1",
            asked: "localhost", sent: "__HOST-a=2; b=1"),
        row("HttpOnly is for pages", "example.com", "a=1; HttpOnly", asked: "example.com", sent: "a=1"),
        row("SameSite is for pages", "example.com", "a=1; SameSite=Strict", asked: "example.com", sent: "a=1"),
    ]

    /// How long cookies last (RFC 6265 §5.2.1, §5.2.2, §5.3).
    static let expiry: [CookieRow] = [
        row("Max-Age", "example.com", "a=1; Max-Age=1000", asked: "example.com", sent: "a=1"),
        row("Max-Age of no time", "example.com", "a=1; Max-Age=0", asked: "example.com", sent: nil),
        row("Max-Age of less", "example.com", "a=1; Max-Age=-1", asked: "example.com", sent: nil),
        row("Max-Age too large", "example.com", "a=1; Max-Age=99999999999999999999", asked: "example.com", sent: "a=1"),
        row("Max-Age ends an earlier one", "example.com", "a=1", "a=2; Max-Age=0", asked: "example.com", sent: nil),
        row("only the same one", "example.com/", "a=1; Path=/p", "a=2; Max-Age=0", asked: "example.com/p", sent: "a=1"),
        row("Expires", "example.com", "a=1; Expires=Fri, 01 Jan 2100 00:00:00 GMT", asked: "example.com", sent: "a=1"),
        row(
            "Expires as of old", "example.com", "a=1; Expires=Wednesday, 09-Nov-99 23:12:40 GMT",
            asked: "example.com", sent: nil),
        row(
            "Expires with hyphens", "example.com", "a=1; Expires=Fri, 01-Jan-2100 00:00:00 GMT",
            asked: "example.com", sent: "a=1"),
        row(
            "Expires as C writes it", "example.com", "a=1; Expires=Sun Nov  6 08:49:37 1994", asked: "example.com",
            sent: nil),
        row(
            "Expires long ago", "example.com", "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", asked: "example.com",
            sent: nil),
        row(
            "Expires ends an earlier one", "example.com", "a=1", "a=; Expires=Thu, 01 Jan 1970 00:00:01 GMT",
            asked: "example.com", sent: nil),
        row("Expires that is no date", "example.com", "a=1; Expires=tomorrow", asked: "example.com", sent: "a=1"),
        row(
            "Max-Age before Expires", "example.com", "a=1; Max-Age=1000; Expires=Thu, 01 Jan 1970 00:00:01 GMT",
            asked: "example.com", sent: "a=1"),
        row(
            "Max-Age before Expires, the other way", "example.com",
            "a=1; Expires=Fri, 01 Jan 2100 00:00:00 GMT; Max-Age=0", asked: "example.com", sent: nil),
    ]

    /// Valid names and values (RFC 6265 §5.2).
    static let values: [CookieRow] = [
        row("white space around", "example.com", "  a  =  1  ; Path=/", asked: "example.com", sent: "a=1"),
        row("white space within", "example.com", "a=1 2", asked: "example.com", sent: "a=1 2"),
        row("an equals sign", "example.com", "a=b=c==", asked: "example.com", sent: "a=b=c=="),
        row("quotes stay", "example.com", "a=\"1, 2\"", asked: "example.com", sent: "a=\"1, 2\""),
        row("no value", "example.com", "a=", asked: "example.com", sent: "a="),
        row("not in ASCII", "example.com", "a=ä", asked: "example.com", sent: "a=ä"),
        row("a name alone", "example.com", "a", asked: "example.com", sent: nil),
        row("a value alone", "example.com", "=1", asked: "example.com", sent: nil),
        row("a value alone, and another", "example.com", "b=2", "=1", "a=1", asked: "example.com", sent: "b=2; a=1"),
        row("an unknown attribute", "example.com", "a=1; Colour=blue; ;", asked: "example.com", sent: "a=1"),
        row("the later one", "example.com", "a=1", "a=2", asked: "example.com", sent: "a=2"),
        row("a tab", "example.com", "a=1\t2", asked: "example.com", sent: nil),
        row(
            "4,096 bytes", "example.com", "a=" + String(repeating: "v", count: 4000), asked: "example.com",
            sent: "a=" + String(repeating: "v", count: 4000)),
        row("more", "example.com", "a=" + String(repeating: "v", count: 4100), asked: "example.com", sent: nil),
    ]

    static let all = domains + paths + secure + expiry + values

    private static func row(
        _ rule: String, _ from: String, _ sets: String..., asked: String, sent: String?
    ) -> CookieRow {
        CookieRow(rule: rule, from: "http://" + from, sets: sets, asked: "http://" + asked, sent: sent)
    }
}
