import Bluebonnet
import FoundationEssentials
import Testing

struct URLRedactionTests {
    @Test(arguments: [
        ("https://h/a", "https://h/a"),
        ("https://h/a?token=x&a=b", "https://h/a?token=<redacted>&a=<redacted>"),
        ("https://h/?", "https://h/?"),
        ("https://h/?a&b=&=c&&d==e", "https://h/?<redacted>&b=<redacted>&=<redacted>&&d=<redacted>"),
        ("https://me:pw@h:80/a", "https://h:80/a"),
        ("https://me@h/@b:c", "https://h/@b:c"),
        ("https://me:p@w@h/", "https://h/"),
        ("https://medium.com/@someone", "https://medium.com/@someone"),
        ("https://h:8080/@someone", "https://h:8080/@someone"),
        ("https://[::1]:80/@someone", "https://[::1]:80/@someone"),
        ("https://me:p/w@h/a", "https://h/a"),
        ("https://h/a#part", "https://h/a#part"),
        ("https://h/a#access_token=x&state=y", "https://h/a#access_token=<redacted>&state=<redacted>"),
        ("https://h/a?b=c#d?e", "https://h/a?b=<redacted>#d?e"),
        ("me:pw@h/a", "h/a"),
        ("", ""),
        ("not a url", "not a url"),
        ("http://h/\r\nX: y", "http://h/%0D%0AX: y"),
        ("http://h/\u{7f}\u{0}é", "http://h/%7F%00é"),
        ("http://", "http://"),
        ("://u:p@h", "://h"),
        ("mailto:a@b", "mailto:a@b"), ("MailTo:a@b?subject=c", "MailTo:a@b?subject=<redacted>"),
        ("mailtoo:a@b", "b"),
    ])
    func `no user info and no query values are shown`(text: String, expected: String) {
        #expect(redactedURL(text) == expected)
    }

    @Test func `a URL is redacted like its text`() throws {
        let url = try #require(URL(string: "https://me:pw@h/a?b=c#d"))
        #expect(url.redactedDescription == "https://h/a?b=<redacted>#d")
    }
}
